//! Products of integers, also wider than the field, of matrices, and squares.

use phineus_bytecode::random::random_inputs;
use phineus_bytecode::{
    Column, Description, ElementType, Encoding, InputPort, Instruction, Op, OutputPort,
};
use phineus_crypto::field::{F32, F61, F128, Field, FieldName};

use super::{number, planned, run_all};
use crate::harness::{expected, read, write};

#[test]
fn products_of_a_matrix_and_a_vector() {
    let (rows, columns) = (16u32, 8u64);
    let column = |name: &str, width: u16| Column {
        name: name.to_string(),
        element: ElementType::signed(width),
        encoding: Encoding::Number,
    };
    let description = Description {
        name: "layer".to_string(),
        parties: vec!["a".to_string(), "b".to_string()],
        inputs: vec![
            InputPort {
                name: "matrix".to_string(),
                party: 0,
                rows: u64::from(rows) * columns,
                columns: vec![column("entry", 16)],
                order: Default::default(),
            },
            InputPort {
                name: "vector".to_string(),
                party: 1,
                rows: columns,
                columns: vec![column("entry", 16)],
                order: Default::default(),
            },
        ]
        .into(),
        outputs: vec![OutputPort {
            name: "product".to_string(),
            parties: vec![1],
            rows: u64::from(rows),
            columns: vec![column("entry", 16)],
            rows_of: None,
        }]
        .into(),
        ..Description::default()
    };
    let element = ElementType::signed(16);
    let mut matrix = Instruction::new(Op::Input, element, rows * columns as u32);
    matrix.immediates = [0, 0, 0, 0];
    let mut vector = Instruction::new(Op::Input, element, columns as u32);
    (vector.immediates, vector.results[0]) = ([1, 0, 0, 0], 1);
    let mut product = Instruction::new(Op::MatMul, element, rows);
    product.immediates[..2].copy_from_slice(&[columns, 1]);
    (product.operands, product.results[0]) = ([0, 1, 0], 2);
    let mut output = Instruction::new(Op::Output, element, rows);
    output.operands[0] = 2;
    let program = write(&[matrix, vector, product, output], &description);
    let bytes = planned::<F61>(&program, 2, FieldName::F61, 64).expect("it can be planned");
    let costs = read(&bytes).description().plan.clone().expect("planned").costs;
    let masks = (costs["bit_masks_0"], costs["bit_masks_1"], costs["masks_1"]);
    assert_eq!((costs["matrices_16_8"], masks), (1, (16 * 128, 16 * 8, 16)));
    // Inputs, the product, the reduction to 16 bits, the output.
    assert_eq!((costs["rounds"], costs["random_bits"]), (1 + 1 + 8 + 1, 61 * u64::from(rows)));
    let inputs = random_inputs(9, &description);
    run_all::<F61>(&bytes, 2, FieldName::F61, &inputs, &expected(&program, &inputs));
}

/// Of products of matrices.
const VECTORS: u32 = 3;

/// A product of what two parties bring, `lanes` or a matrix of so many columns by another. If
/// `is_computed`, the factors are sums, whose bits nobody has.
fn product(
    op: Op,
    element: ElementType,
    (lanes, columns): (u32, u64),
    is_computed: bool,
) -> (Vec<u8>, Description) {
    let half = ElementType::integer(element.width() / 2, element.is_signed());
    let factor = if op == Op::MulFull { half } else { element };
    let sizes = match op {
        Op::MatMul => [lanes / VECTORS * columns as u32, columns as u32 * VECTORS],
        _ => [lanes; 2],
    };
    let port = |party: u16, name: &str| InputPort {
        name: name.to_string(),
        party,
        rows: u64::from(sizes[usize::from(party)]),
        columns: vec![number(name, factor)],
        order: Default::default(),
    };
    let description = Description {
        name: "product".to_string(),
        parties: vec!["a".to_string(), "b".to_string()],
        inputs: vec![port(0, "x"), port(1, "y")].into(),
        outputs: vec![OutputPort {
            name: "z".to_string(),
            parties: vec![0, 1],
            rows: u64::from(lanes),
            columns: vec![number("z", element)],
            rows_of: None,
        }]
        .into(),
        ..Description::default()
    };
    let mut program = Vec::new();
    let mut names = [0, 1];
    for (party, size) in sizes.into_iter().enumerate() {
        let mut input = Instruction::new(Op::Input, factor, size);
        (input.immediates[0], input.results[0]) = (party as u64, party as u64);
        program.push(input);
    }
    let mut next = 2;
    if is_computed {
        for (party, name) in names.iter_mut().enumerate() {
            let mut sum = Instruction::new(Op::Add, factor, sizes[party]);
            (sum.operands, sum.results[0]) = ([*name, *name, 0], next);
            program.push(sum);
            (*name, next) = (next, next + 1);
        }
    }
    let mut product = Instruction::new(op, element, lanes);
    (product.operands, product.results[0]) = ([names[0], names[1], 0], next);
    if op == Op::MatMul {
        product.immediates[..2].copy_from_slice(&[columns, VECTORS.into()]);
    }
    program.push(product);
    let mut output = Instruction::new(Op::Output, element, lanes);
    output.operands[0] = next;
    program.push(output);
    (write(&program, &description), description)
}

/// Runs [`product`] on random inputs and on the largest ones; returns what the plan states.
fn runs_product<F: Field>(
    field: FieldName,
    op: Op,
    element: ElementType,
    is_computed: bool,
) -> std::collections::BTreeMap<String, u64> {
    let lanes = if op == Op::MatMul { 2 * VECTORS } else { 3 };
    let (program, description) = product(op, element, (lanes, 5), is_computed);
    let bytes = planned::<F>(&program, 2, field, 1 << 10).expect("it can be planned");
    let mut inputs = random_inputs(u64::from(element.width()), &description);
    for table in &mut inputs {
        table.set_cell(
            0,
            0,
            phineus_bytecode::mask_of(description.inputs[0].columns[0].element.width()),
        );
    }
    run_all::<F>(&bytes, 2, field, &inputs, &expected(&program, &inputs));
    read(&bytes).description().plan.clone().expect("planned").costs
}

/// Products modulo `2^w`, of bits and of sums, signed and unsigned; the planner has all widths.
#[test]
fn products_that_are_wider_than_the_field() {
    for (k, width) in [1, 16, 30, 32, 33, 47, 57, 59, 60, 64].into_iter().enumerate() {
        for computed in [false, true] {
            let element = ElementType::integer(width, (k & 1 == 1) != computed);
            runs_product::<F61>(FieldName::F61, Op::Mul, element, computed);
        }
    }
    for width in [15, 16, 19, 20, 29, 32, 64] {
        let element = ElementType::integer(width, width % 3 == 0);
        runs_product::<F32>(FieldName::F32, Op::Mul, element, width % 2 == 0);
    }
    for width in [1, 31, 60, 63, 64] {
        for computed in [false, true] {
            let element = ElementType::integer(width, width % 2 == 0);
            runs_product::<F128>(FieldName::F128, Op::Mul, element, computed);
        }
    }
}

#[test]
fn full_products_and_matrices_that_are_wider_than_the_field() {
    for width in [24, 58, 60, 64, 128] {
        for signed in [false, true] {
            let element = ElementType::integer(width, signed);
            runs_product::<F61>(FieldName::F61, Op::MulFull, element, signed);
        }
    }
    for (width, computed) in
        [(28, true), (30, false), (32, false), (32, true), (58, true), (64, false)]
    {
        let element = ElementType::integer(width, computed);
        runs_product::<F61>(FieldName::F61, Op::MatMul, element, computed);
    }
    for signed in [false, true] {
        let element = ElementType::integer(128, signed);
        runs_product::<F128>(FieldName::F128, Op::MulFull, element, signed);
        let element = ElementType::integer(64, signed);
        runs_product::<F128>(FieldName::F128, Op::MatMul, element, signed);
        runs_product::<F32>(FieldName::F32, Op::MatMul, ElementType::integer(24, signed), false);
    }
}

/// Compares the costs of a product of 32-bit integers modulo 2^61 - 1 with the documentation.
#[test]
fn costs_of_products_that_are_wider_than_the_field() {
    let element = ElementType::unsigned(32);
    let fitting = runs_product::<F61>(FieldName::F61, Op::Mul, ElementType::unsigned(29), false);
    let of_bits = runs_product::<F61>(FieldName::F61, Op::Mul, element, false);
    let of_sums = runs_product::<F61>(FieldName::F61, Op::Mul, element, true);
    let in_bits = runs_product::<F61>(FieldName::F61, Op::Mul, ElementType::unsigned(64), false);
    let of = |costs: &std::collections::BTreeMap<String, u64>, name: &str| costs[name] / 3;
    let all = [&fitting, &of_bits, &of_sums, &in_bits]
        .map(|costs| (of(costs, "triples"), of(costs, "random_bits"), costs["rounds"]));
    // Besides a product where it fits: that and the reduction of the output.
    assert_eq!(all, [(91, 61, 10), (92, 61, 10), (272, 183, 26), (788, 183, 30)]);
}

/// `x * x` where `x` is a sum that is wider than its type, under the field.
fn square_of_a_wide_sum<F: Field>(field: FieldName, width: u16, doublings: u32) {
    let element = ElementType::signed(width);
    let column = |name: &str, width: u16| Column {
        name: name.to_string(),
        element: ElementType::signed(width),
        encoding: Encoding::Number,
    };
    let lanes = 8u32;
    let description = Description {
        name: "square".to_string(),
        parties: vec!["a".to_string(), "b".to_string()],
        inputs: vec![InputPort {
            name: "x".to_string(),
            party: 0,
            rows: u64::from(lanes),
            columns: vec![column("x", width)],
            order: Default::default(),
        }]
        .into(),
        outputs: vec![OutputPort {
            name: "square".to_string(),
            parties: vec![0, 1],
            rows: u64::from(lanes),
            columns: vec![column("square", width)],
            rows_of: None,
        }]
        .into(),
        ..Description::default()
    };
    let mut program = vec![Instruction::new(Op::Input, element, lanes)];
    let mut last = 0;
    let mut push = |op: Op, operands: [u64; 3]| {
        let mut instruction = Instruction::new(op, element, lanes);
        last += 1;
        (instruction.operands, instruction.results[0]) = (operands, last);
        program.push(instruction);
        last
    };
    let mut sum = 0;
    for _ in 0..doublings {
        sum = push(Op::Add, [sum, sum, 0]);
    }
    sum = push(Op::Add, [sum, 0, 0]);
    let square = push(Op::Mul, [sum, sum, 0]);
    let mut output = Instruction::new(Op::Output, element, lanes);
    output.operands[0] = square;
    program.push(output);
    let program = write(&program, &description);
    let bytes = planned::<F>(&program, 2, field, 64).expect("it can be planned");
    let inputs = random_inputs(11, &description);
    run_all::<F>(&bytes, 2, field, &inputs, &expected(&program, &inputs));
}

#[test]
fn squares_are_of_one_number() {
    square_of_a_wide_sum::<F61>(FieldName::F61, 16, 40);
    square_of_a_wide_sum::<F128>(FieldName::F128, 32, 60);
    square_of_a_wide_sum::<F128>(FieldName::F128, 64, 3);
}
