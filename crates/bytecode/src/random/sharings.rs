//! Gives the values of a program the sharings that a test picks.

use crate::instruction::{ElementType, Instruction, Sharing};
use crate::ops::Op;

/// `program` with each value in the sharing that `pick` gives for its instruction, and with conversions where
/// uses differ. The values of `program` must be named in order, from 0.
pub fn with_sharings(
    program: &[Instruction],
    mut pick: impl FnMut(&Instruction) -> Sharing,
) -> Vec<Instruction> {
    let mut made: Vec<Instruction> = Vec::new();
    // New name and sharing of each old value.
    let mut values: Vec<(u64, Sharing)> = Vec::new();
    let mut next = 0;
    for instruction in program {
        let sharing = pick(instruction);
        let mut instruction = *instruction;
        instruction.element = instruction.element.shared(sharing);
        if instruction.op == Op::Convert {
            // Its operand is brought to the same sharing below.
            instruction.immediates[0] = sharing as u64;
        }
        for k in 0..instruction.operands().len() {
            let (name, from) = values[instruction.operands[k] as usize];
            instruction.operands[k] = name;
            if from != sharing {
                let shape = instruction.operand_shape(k);
                let element = ElementType::unsigned(shape.width).shared(sharing);
                let mut convert = Instruction::new(Op::Convert, element, shape.lanes);
                convert.immediates[0] = from as u64;
                convert.operands[0] = name;
                convert.results[0] = next;
                made.push(convert);
                instruction.operands[k] = next;
                next += 1;
            }
        }
        for k in 0..instruction.results().len() {
            instruction.results[k] = next;
            values.push((next, sharing));
            next += 1;
        }
        made.push(instruction);
    }
    made
}
