//! Sharings of values: what is brought in, and what is converted.

use std::io::Cursor;

use phineus_bytecode::{
    Column, Description, ElementType, Encoding, FileKind, InputPort, Instruction, Op, OutputPort,
    ProgramReader, ProgramWriter, RowOrder, Sharing,
};
use phineus_plan::{Assignment, assign};

const BYTE: ElementType = ElementType::unsigned(8);

fn description() -> Description {
    let column = Column { name: "x".to_owned(), element: BYTE, encoding: Encoding::Number };
    Description {
        name: "test".to_owned(),
        parties: vec!["a".to_owned(), "b".to_owned()],
        inputs: vec![InputPort {
            name: "x".to_owned(),
            party: 0,
            rows: 4,
            columns: vec![column.clone()],
            order: RowOrder::Given,
        }]
        .into(),
        outputs: vec![OutputPort {
            name: "y".to_owned(),
            parties: vec![0, 1],
            rows: 4,
            columns: vec![column],
            rows_of: None,
        }]
        .into(),
        ..Description::default()
    }
}

/// The instructions of `program` with sharings.
fn assigned(program: &[Instruction], assignment: Assignment) -> Vec<Instruction> {
    let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("memory");
    program.iter().for_each(|i| writer.push(i).expect("memory"));
    let bytes = writer.finish(&description()).expect("a valid description").0;
    let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
    let scratch = tempfile::tempfile().expect("a temporary file");
    let made = assign(&mut reader, Vec::new(), scratch, assignment, 64 << 20);
    let mut reader = ProgramReader::open(Cursor::new(made.expect("it is valid").0));
    let mut all = Vec::new();
    let reader = reader.as_mut().expect("just written");
    let visit = |i: &Instruction| -> Result<(), phineus_bytecode::Error> {
        all.push(*i);
        Ok(())
    };
    reader.for_each(visit).expect("just written");
    all
}

fn input(element: ElementType, result: u64) -> Instruction {
    let mut input = Instruction::new(Op::Input, element, 4);
    input.results[0] = result;
    input
}

#[test]
fn an_input_that_is_brought_in_again_comes_once() {
    // What a front end makes of `x.to_bmr()`: the input as it was, which nothing uses then.
    let garbled = BYTE.shared(Sharing::Garbled);
    let mut product = Instruction::new(Op::Mul, garbled, 4);
    (product.operands, product.results[0]) = ([1, 1, 0], 2);
    let mut output = Instruction::new(Op::Output, garbled, 4);
    output.operands[0] = 2;
    let program = [input(BYTE, 0), input(garbled, 1), product, output];
    for assignment in [
        Assignment::Stated(Sharing::Boolean),
        Assignment::Stated(Sharing::Garbled),
        Assignment::Uniform(Sharing::Garbled),
        Assignment::Uniform(Sharing::Boolean),
    ] {
        let made = assigned(&program, assignment);
        let inputs: Vec<_> = made.iter().filter(|i| i.op == Op::Input).collect();
        assert_eq!(inputs.len(), 1, "{assignment:?}");
        let ops: Vec<Op> = made.iter().map(|i| i.op).collect();
        assert_eq!(ops, [Op::Input, Op::Mul, Op::Output], "{assignment:?}");
        let last = made.last().expect("an output");
        assert_eq!(last.operands[0], made[1].results[0], "{assignment:?}");
    }
}

#[test]
fn an_input_that_is_used_in_two_sharings_comes_in_both() {
    let garbled = BYTE.shared(Sharing::Garbled);
    let mut sum = Instruction::new(Op::Add, BYTE, 4);
    (sum.operands, sum.results[0]) = ([0, 0, 0], 1);
    let mut product = Instruction::new(Op::Mul, garbled, 4);
    (product.operands, product.results[0]) = ([0, 0, 0], 2);
    let mut outputs = [Instruction::new(Op::Output, BYTE, 4); 2];
    (outputs[0].operands[0], outputs[1].operands[0]) = (1, 2);
    let program = [input(BYTE, 0), sum, product, outputs[0], outputs[1]];
    let made = assigned(&program, Assignment::Stated(Sharing::Boolean));
    let sharings: Vec<Sharing> =
        made.iter().filter(|i| i.op == Op::Input).map(|i| i.element.sharing()).collect();
    assert_eq!(sharings, [Sharing::Boolean, Sharing::Garbled]);
    assert!(made.iter().all(|i| i.op != Op::Convert || i.immediates[0] == 3));
}

/// The carries out of shares modulo 2^8 are not known, so a sum of 16 bits is of bits.
#[test]
fn a_sum_that_widens_is_no_sum_of_arithmetic_shares() {
    let mut product = Instruction::new(Op::Mul, BYTE, 4);
    (product.operands, product.results[0]) = ([0, 0, 0], 1);
    let wide = ElementType::unsigned(16);
    for (element, sharing) in [(wide, Sharing::Boolean), (BYTE, Sharing::Arithmetic)] {
        let mut sum = Instruction::new(Op::LaneSum, element, 1);
        (sum.operands[0], sum.results[0], sum.immediates) = (1, 2, [8, 4, 0, 0]);
        let made = assigned(&[input(BYTE, 0), product, sum], Assignment::Arithmetic);
        let sum = made.iter().find(|i| i.op == Op::LaneSum).expect("it is there");
        assert_eq!(sum.element.sharing(), sharing, "{element}");
    }
}

/// What is computed in arithmetic sharing stays there; nothing is converted to it but factors.
#[test]
fn products_are_arithmetic_and_sums_of_bits_are_not() {
    let apply = |op: Op, operands: [u64; 3], result: u64| {
        let mut instruction = Instruction::new(op, BYTE, 4);
        (instruction.operands, instruction.results[0]) = (operands, result);
        instruction
    };
    let mut matrix = apply(Op::MatMul, [3, 3, 0], 6);
    matrix.immediates = [2, 2, 0, 0];
    let program = [
        input(BYTE, 0),
        input(BYTE.shared(Sharing::Garbled), 1),
        apply(Op::Add, [0, 0, 0], 2),
        apply(Op::Mul, [0, 1, 0], 3),
        apply(Op::Add, [1, 1, 0], 4),
        apply(Op::Add, [3, 2, 0], 5),
        matrix,
        apply(Op::Xor, [4, 1, 0], 7),
        apply(Op::Add, [7, 7, 0], 8),
        apply(Op::Add, [8, 4, 0], 9),
        apply(Op::Sub, [9, 6, 0], 10),
        apply(Op::Max, [10, 5, 0], 11),
    ];
    let made = assigned(&program, Assignment::ArithmeticProducts);
    let found: Vec<(Op, Sharing)> = made.iter().map(|i| (i.op, i.element.sharing())).collect();
    use Sharing::{Arithmetic, Boolean};
    let expected = [
        // Stated: it comes in as it is stated, and again where it is needed otherwise.
        (Op::Input, Boolean),
        (Op::Input, Arithmetic),
        (Op::Add, Arithmetic),
        (Op::Input, Arithmetic),
        (Op::Mul, Arithmetic),
        (Op::Add, Arithmetic),
        (Op::Add, Arithmetic),
        (Op::MatMul, Arithmetic),
        (Op::Convert, Boolean),
        (Op::Xor, Boolean),
        (Op::Add, Boolean),
        (Op::Convert, Arithmetic),
        (Op::Add, Arithmetic),
        (Op::Sub, Arithmetic),
        (Op::Convert, Boolean),
        (Op::Convert, Boolean),
        (Op::Max, Boolean),
    ];
    assert_eq!(found, expected);
}
