//! Sharings of values: what is brought in, and what is converted.

use std::io::Cursor;

use phineus_bytecode::{
    Column, Description, ElementType, Encoding, FileKind, InputPort, Instruction, Op, OutputPort,
    Permutation, PermutationKind, ProgramReader, ProgramWriter, RowOrder, Sharing,
};
use phineus_plan::{Assignment, Error, assign};

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
    try_assigned(program, &description(), assignment).expect("it is valid")
}

/// As [`assigned`], of a program with any description.
fn try_assigned(
    program: &[Instruction],
    description: &Description,
    assignment: Assignment,
) -> Result<Vec<Instruction>, Error> {
    let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("memory");
    program.iter().for_each(|i| writer.push(i).expect("memory"));
    let bytes = writer.finish(description).expect("a valid description").0;
    let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
    let scratch = tempfile::tempfile().expect("a temporary file");
    let made = assign(&mut reader, Vec::new(), scratch, assignment, 64 << 20)?;
    let mut reader = ProgramReader::open(Cursor::new(made.0));
    let mut all = Vec::new();
    let reader = reader.as_mut().expect("just written");
    let visit = |i: &Instruction| -> Result<(), phineus_bytecode::Error> {
        all.push(*i);
        Ok(())
    };
    reader.for_each(visit).expect("just written");
    Ok(all)
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

/// Lanes of inputs that were moved before a product came in as bits, and were converted: 32 shared bits for each of 32 bits.
#[test]
fn movements_of_inputs_have_the_sharing_of_their_only_use() {
    let movement = |op: Op, lanes: u32, immediates: [u64; 4], result: u64| {
        let mut instruction = Instruction::new(op, BYTE, lanes);
        (instruction.immediates, instruction.results[0]) = (immediates, result);
        instruction
    };
    let first = input(BYTE, 0);
    let mut slice = movement(Op::LaneSlice, 2, [0, 4, 0, 0], 1);
    let mut reverse = movement(Op::LaneReverse, 2, [0; 4], 2);
    reverse.operands[0] = 1;
    let mut product = movement(Op::Mul, 2, [0; 4], 3);
    product.operands = [2, 1, 0];
    let mut second = movement(Op::LaneSlice, 2, [2, 4, 0, 0], 4);
    let mut bits = movement(Op::And, 2, [0; 4], 5);
    bits.operands = [4, 4, 0];
    (slice.operands[0], second.operands[0]) = (0, 0);
    let program = [first, slice, reverse, product, second, bits];
    for assignment in [Assignment::Arithmetic, Assignment::ArithmeticProducts] {
        let made = assigned(&program, assignment);
        let found: Vec<(Op, Sharing)> = made.iter().map(|i| (i.op, i.element.sharing())).collect();
        use Sharing::{Arithmetic, Boolean};
        let expected = [
            (Op::Input, Arithmetic),
            (Op::LaneSlice, Arithmetic),
            (Op::LaneReverse, Arithmetic),
            (Op::Mul, Arithmetic),
            (Op::Input, Boolean),
            (Op::LaneSlice, Boolean),
            (Op::And, Boolean),
        ];
        assert_eq!(found, expected, "{assignment:?}");
    }
    // The slice is needed as bits, too.
    let mut also = movement(Op::And, 2, [0; 4], 4);
    also.operands = [1, 1, 0];
    let made = assigned(&[first, slice, reverse, product, also], Assignment::Arithmetic);
    assert_eq!(made.iter().filter(|i| i.op == Op::Convert).count(), 2, "{made:?}");
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

/// Where all else is garbled, rows are moved as shares and become garbled again, and switches select rows and nothing else.
#[test]
fn rows_that_permutations_move_are_shares() {
    let permutation = Permutation { party: 0, items: 4, kind: PermutationKind::Random };
    let description = Description { permutations: vec![permutation].into(), ..description() };
    let switches = |result: u64| {
        let mut switches = Instruction::new(Op::Switches, ElementType::BIT, 4);
        switches.results[0] = result;
        switches
    };
    let mut swap = Instruction::new(Op::SwapKnown, BYTE, 4);
    (swap.operands, swap.results) = ([1, 0, 0], [2, 3]);
    let mut product = Instruction::new(Op::Mul, BYTE, 4);
    (product.operands, product.results[0]) = ([2, 3, 0], 4);
    let program = [input(BYTE, 0), switches(1), swap, product];
    let assignment = Assignment::GarbledBesideRows;
    let made = try_assigned(&program, &description, assignment).expect("it is valid");
    let sharings = |op: Op| -> Vec<Sharing> {
        made.iter().filter(|i| i.op == op).map(|i| i.element.sharing()).collect()
    };
    assert_eq!(sharings(Op::Input), [Sharing::Garbled, Sharing::Boolean]);
    assert_eq!(sharings(Op::Switches), [Sharing::Garbled]);
    assert_eq!(sharings(Op::SwapKnown), [Sharing::Boolean]);
    assert_eq!(sharings(Op::Convert), [Sharing::Garbled; 2]);
    assert_eq!(sharings(Op::Mul), [Sharing::Garbled]);
    let mut both = Instruction::new(Op::And, ElementType::BIT, 4);
    (both.operands, both.results[0]) = ([1, 1, 0], 2);
    let misused = try_assigned(&[input(BYTE, 0), switches(1), both], &description, assignment);
    assert!(misused.is_err(), "switches are no values");
    // Switches of pairs are.
    let pairs = Permutation { kind: PermutationKind::RandomPairs, ..permutation };
    let description = Description { permutations: vec![pairs].into(), ..description };
    let used = try_assigned(&[input(BYTE, 0), switches(1), both], &description, assignment);
    assert!(used.is_ok(), "random bits are values");
    let moved = try_assigned(&program, &description, assignment);
    assert!(moved.is_err(), "random bits are no switches of rows");
}
