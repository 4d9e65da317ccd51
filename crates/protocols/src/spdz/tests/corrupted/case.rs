//! The programs of the runs with a corrupted party: every kind of correlated randomness and of
//! message, once in one program and once in programs of one kind each, whose runs are short.

use phineus_bytecode::random::random_inputs;
use phineus_bytecode::{
    Column, Description, ElementType, Encoding, InputPort, Instruction, Op, OutputPort, Table,
};
use phineus_crypto::field::{Field, FieldName};

use crate::harness::{expected, write};
use crate::spdz::tests::runs::planned_with;

/// A planned program with inputs and what it must give.
pub(super) struct CorruptedCase {
    pub(super) part: TestComputation,
    pub(super) bytes: Vec<u8>,
    pub(super) parties: usize,
    pub(super) field: FieldName,
    pub(super) inputs: Vec<Table>,
    pub(super) expected: Vec<Table>,
}

/// Computation of a program on inputs of the first and the last party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestComputation {
    /// Everything below; one output to all, and one to the first party.
    All,
    /// A sum of inputs that are proven to be in range, to all.
    Inputs,
    /// A sum of inputs that are not, as in all that follows, to all.
    Sum,
    /// A product, to all.
    Product,
    /// A square, to the first party.
    Square,
    /// A comparison, to all.
    Comparison,
    /// A matrix times a vector, to all.
    Matrix,
    /// Whether a product of inputs that are proven to be in range is less than the last party's, to all.
    ComparedProduct,
}

const ELEMENT: ElementType = ElementType::signed(4);
const LANES: u32 = 2;

/// An instruction of two lanes.
fn instruction(
    op: Op,
    element: ElementType,
    operands: [u64; 3],
    immediates: [u64; 4],
    result: Option<u64>,
) -> Instruction {
    let mut instruction = Instruction::new(op, element, LANES);
    (instruction.operands, instruction.immediates) = (operands, immediates);
    result.into_iter().for_each(|result| instruction.results[0] = result);
    instruction
}

/// Holds sums and products of two elements, so that nothing is reduced, which takes random bits.
const WIDE: ElementType = ElementType::signed(12);

/// The instructions after the inputs, which are values 0 (where there is a matrix, that) and 1; and
/// the outputs, each an element and a value.
fn instructions(part: TestComputation) -> (Vec<Instruction>, Vec<(ElementType, u64)>) {
    let bit = ElementType::unsigned(1);
    let of = |op: Op, element, a: u64, b: u64, result: u64| {
        instruction(op, element, [a, b, 0], [0; 4], Some(result))
    };
    let matrix = |element, a: u64, b: u64, result: u64| {
        instruction(Op::MatMul, element, [a, b, 0], [2, 1, 0, 0], Some(result))
    };
    let wide = |value: u64, lanes: u32, result: u64| Instruction {
        lanes,
        ..instruction(Op::Cast, WIDE, [value, 0, 0], [4, 1, 0, 0], Some(result))
    };
    let widened = |entries: u32, last: Instruction| {
        (vec![wide(0, entries, 2), wide(1, LANES, 3), last], vec![(WIDE, 4)])
    };
    match part {
        TestComputation::All => {
            let all = vec![
                matrix(ELEMENT, 0, 1, 2),
                of(Op::Mul, ELEMENT, 1, 2, 3),
                of(Op::Mul, ELEMENT, 1, 1, 4),
                of(Op::Add, ELEMENT, 3, 4, 5),
                of(Op::Lt, ELEMENT, 1, 5, 6),
            ];
            (all, vec![(bit, 6), (ELEMENT, 5)])
        }
        TestComputation::Inputs | TestComputation::Sum => {
            widened(LANES, of(Op::Add, WIDE, 2, 3, 4))
        }
        TestComputation::Product => widened(LANES, of(Op::Mul, WIDE, 2, 3, 4)),
        TestComputation::Square => widened(LANES, of(Op::Mul, WIDE, 3, 3, 4)),
        TestComputation::Comparison => (vec![of(Op::Lt, ELEMENT, 0, 1, 2)], vec![(bit, 2)]),
        TestComputation::ComparedProduct => {
            let (mut instructions, _) = widened(LANES, of(Op::Mul, WIDE, 3, 2, 4));
            instructions.push(of(Op::Lt, WIDE, 4, 3, 5));
            (instructions, vec![(bit, 5)])
        }
        TestComputation::Matrix => widened(LANES * LANES, matrix(WIDE, 2, 3, 4)),
    }
}

/// The program of a part for so many parties.
pub(super) fn case<F: Field>(
    part: TestComputation,
    parties: usize,
    field: FieldName,
) -> CorruptedCase {
    let column = |name: &str, element| Column {
        name: name.to_string(),
        element,
        encoding: Encoding::Number,
    };
    let input = |name: &str, party, rows: u32| InputPort {
        name: name.to_string(),
        party,
        rows: rows.into(),
        columns: vec![column("x", ELEMENT)],
        order: Default::default(),
    };
    let output = |number: usize, element| OutputPort {
        name: format!("output_{number}"),
        parties: match (part, number) {
            (TestComputation::Square, _) | (_, 1) => vec![0],
            _ => (0..parties as u16).collect(),
        },
        rows: LANES.into(),
        columns: vec![column("y", element)],
        rows_of: None,
    };
    let entries = if matches!(part, TestComputation::All | TestComputation::Matrix) {
        LANES * LANES
    } else {
        LANES
    };
    let (instructions, results) = instructions(part);
    let outputs = results.iter().enumerate().map(|(i, &(element, _))| output(i, element));
    let description = Description {
        name: format!("{part:?}"),
        parties: (0..parties).map(|party| format!("p{party}")).collect(),
        inputs: vec![input("first", 0, entries), input("last", parties as u16 - 1, LANES)].into(),
        outputs: outputs.collect(),
        ..Description::default()
    };
    let mut program = vec![
        Instruction::new(Op::Input, ELEMENT, entries),
        instruction(Op::Input, ELEMENT, [0; 3], [1, 0, 0, 0], Some(1)),
    ];
    program.extend(instructions);
    program.extend(results.iter().enumerate().map(|(i, &(element, value))| {
        instruction(Op::Output, element, [value, 0, 0], [i as u64, 0, 0, 0], None)
    }));
    let program = write(&program, &description);
    let proven = matches!(
        part,
        TestComputation::All | TestComputation::Inputs | TestComputation::ComparedProduct
    );
    let bytes = planned_with::<F>(&program, parties, field, (16, proven));
    let bytes = bytes.expect("it can be planned");
    let inputs = random_inputs(17, &description);
    let expected = expected(&program, &inputs);
    CorruptedCase { part, bytes, parties, field, inputs, expected }
}
