//! The program of the runs with a corrupted party: every kind of material and of message once.

use phineus_bytecode::random::Random;
use phineus_bytecode::{
    Column, Description, ElementType, Encoding, InputPort, Instruction, Op, OutputPort, Table,
};
use phineus_crypto::field::{Field, FieldName};

use crate::harness::{expected, random_inputs, write};
use crate::spdz::runs::planned;

/// A planned program with inputs and what it must give.
pub(super) struct Case {
    pub(super) bytes: Vec<u8>,
    pub(super) parties: usize,
    pub(super) field: FieldName,
    pub(super) inputs: Vec<Table>,
    pub(super) expected: Vec<Table>,
}

/// Every way to use material: inputs of two parties, a matrix, a product, a square, a comparison,
/// outputs to all and to one.
pub(super) fn case<F: Field>(parties: usize, field: FieldName) -> Case {
    let element = ElementType::signed(4);
    let column = |name: &str, element| Column {
        name: name.to_string(),
        element,
        encoding: Encoding::Number,
    };
    let input = |name: &str, party, rows| InputPort {
        name: name.to_string(),
        party,
        rows,
        columns: vec![column("x", element)],
        order: Default::default(),
    };
    let output = |name: &str, parties: Vec<u16>, element| OutputPort {
        name: name.to_string(),
        parties,
        rows: 2,
        columns: vec![column("y", element)],
    };
    let last = parties as u16 - 1;
    let bit = ElementType::unsigned(1);
    let description = Description {
        name: "all kinds".to_string(),
        parties: (0..parties).map(|party| format!("p{party}")).collect(),
        inputs: vec![input("matrix", 0, 4), input("vector", last, 2)],
        outputs: vec![
            output("less", (0..parties as u16).collect(), bit),
            output("sum", vec![0], element),
        ],
        ..Description::default()
    };
    let mut program = vec![Instruction::new(Op::Input, element, 4)];
    let mut push =
        |op: Op, element, operands: [u64; 3], immediates: [u64; 4], result: Option<u64>| {
            let mut instruction = Instruction::new(op, element, 2);
            (instruction.operands, instruction.immediates) = (operands, immediates);
            result.into_iter().for_each(|result| instruction.results[0] = result);
            program.push(instruction);
        };
    push(Op::Input, element, [0; 3], [1, 0, 0, 0], Some(1));
    push(Op::MatMul, element, [0, 1, 0], [2, 1, 0, 0], Some(2));
    push(Op::Mul, element, [1, 2, 0], [0; 4], Some(3));
    push(Op::Mul, element, [1, 1, 0], [0; 4], Some(4));
    push(Op::Add, element, [3, 4, 0], [0; 4], Some(5));
    push(Op::Lt, element, [1, 5, 0], [0; 4], Some(6));
    push(Op::Output, bit, [6, 0, 0], [0; 4], None);
    push(Op::Output, element, [5, 0, 0], [1, 0, 0, 0], None);
    let program = write(&program, &description);
    let bytes = planned::<F>(&program, parties, field, 64).expect("it can be planned");
    let inputs = random_inputs(&description, &mut Random::new(17));
    let expected = expected(&program, &inputs);
    Case { bytes, parties, field, inputs, expected }
}
