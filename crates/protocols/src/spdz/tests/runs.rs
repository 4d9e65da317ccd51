//! Runs on authenticated shares against the meanings of the op table.

use std::thread;

use phineus_bytecode::random::{RandomOptions, Seeds, random_inputs, random_program};
use phineus_bytecode::{
    Column, Description, ElementType, Encoding, InputPort, Instruction, Lane, Op, OutputPort, Table,
};
use phineus_channels::memory_mesh;
use phineus_correlated::authenticated::{AuthenticatedRandomness, Dealer, Share};
use phineus_crypto::field::{F32, F61, F128, Field, FieldName};
use phineus_crypto::{Block, Prg};
use phineus_engine::run;
use phineus_ot::SessionId;
use phineus_plan::{Claims, Error, check_ranges, lower_with_claims};

use super::altered::{Alteration, Altered, TestedRandomness};
use crate::harness::{
    self, assert_learned, expected, memory, options, own, read, scratch, sent_bytes, write,
};
use crate::mixed::totals;
use crate::spdz::{Opening, SpdzCosts, SpdzDriver, SpdzRounds};

/// Lowers, orders and plans `program`, whose inputs are proven; all checkers agree.
fn planned<F: Field>(
    program: &[u8],
    parties: usize,
    field: FieldName,
    frame_count: u64,
) -> Result<Vec<u8>, Error> {
    planned_with::<F>(program, parties, field, (frame_count, true))
}

/// Plans a program whose inputs are proven to be in the range of their types, or not.
pub(super) fn planned_with<F: Field>(
    program: &[u8],
    parties: usize,
    field: FieldName,
    (frame_count, prove_inputs): (u64, bool),
) -> Result<Vec<u8>, Error> {
    let lowering = (F::BITS - 2, prove_inputs);
    let mut claims = Claims::default();
    let note = |claim| claims.note(claim);
    let program = &mut read(program);
    let lowered = lower_with_claims(program, Vec::new(), scratch(), lowering, 64 << 20, note)?.0;
    let faults = check_ranges(&mut read(&lowered), &claims, F::BITS - 2)?;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let layout = crate::spdz::layout(F::BYTES);
    let mut model = SpdzRounds::new(field, parties);
    let ordered = harness::ordered(&lowered, layout, &mut model)?;
    let mut costs = SpdzCosts::new(parties, field);
    let page_wires = layout.units_max().next_power_of_two().max(4096);
    let options = options("spdz", layout, page_wires, frame_count);
    harness::planned(&ordered, &options, &mut costs)
}

/// Runs all parties in threads; each learns what it should, and sends what the plan states. Once more
/// with masks of zero, where what hides behind few bits shows whether it has no more.
fn run_all<F: Field>(
    bytes: &[u8],
    count: usize,
    field: FieldName,
    inputs: &[Table],
    expected: &[Table],
) {
    run_with::<F>(bytes, count, field, (inputs, expected), false);
    run_with::<F>(bytes, count, field, (inputs, expected), true);
}

fn run_with<F: Field>(
    bytes: &[u8],
    count: usize,
    field: FieldName,
    (inputs, expected): (&[Table], &[Table]),
    is_bare: bool,
) {
    let description = read(bytes).description().clone();
    let costs = description.plan.as_ref().expect("it is planned").costs.clone();
    let handles: Vec<_> = memory_mesh(count)
        .into_iter()
        .map(|parties| {
            let me = parties.me();
            let inputs = own(&description, inputs, me);
            let (bytes, description) = (bytes.to_vec(), description.clone());
            thread::spawn(move || {
                let dealer = Dealer::<F>::insecure(Block::from_bits(5), me, count);
                let prg = Prg::from_seed(Block::from_bits(7 + me as u128));
                let session = SessionId::new([3; 32]);
                let opening = Opening::new(me, count, dealer.delta(), &session, prg);
                let alteration = if is_bare { Masks::Zero } else { Masks::Dealt };
                let correlated = Altered { correlated: dealer, alteration };
                let mut driver =
                    SpdzDriver::new(parties, correlated, opening, &description, inputs, field);
                let mut memory = memory(&description);
                run(&mut read(&bytes), &mut driver, &mut memory, &mut |_| true).expect("it runs");
                let rounds = driver.rounds();
                let (parties, outputs, _) = driver.into_parts();
                (outputs.into_tables(), parties.traffic(), rounds)
            })
        })
        .collect();
    for (me, handle) in handles.into_iter().enumerate() {
        let (outputs, traffic, rounds) = handle.join().expect("no party panics");
        assert_eq!(rounds, costs[totals::ROUNDS], "rounds");
        assert_eq!(sent_bytes(&traffic), costs[&totals::online_bytes(me)], "bytes of party {me}");
        assert_learned(&description, me, outputs, expected);
    }
}

/// How many of the programs the field is large enough for.
fn random_programs<F: Field>(
    field: FieldName,
    options: &RandomOptions,
    count: usize,
    frame_count: u64,
) -> usize {
    let (mut runs, mut seeds) = (0, Seeds::fresh());
    for _ in 0..count {
        let seed = seeds.draw();
        let (program, description) = random_program(seed, options);
        let program = write(&program, &description);
        let parties = usize::from(options.party_count);
        let bytes = match planned::<F>(&program, parties, field, frame_count) {
            Err(Error::FieldTooSmall { .. }) => continue,
            planned => planned.expect("it can be planned"),
        };
        let inputs = random_inputs(seed, &description);
        run_all::<F>(&bytes, parties, field, &inputs, &expected(&program, &inputs));
        runs += 1;
    }
    runs
}

fn small(party_count: u16) -> RandomOptions {
    RandomOptions {
        instruction_count: 60,
        width_max: 20,
        wires_max: 160,
        party_count,
        ..RandomOptions::default()
    }
}

#[test]
fn random_programs_of_all_operations() {
    assert_eq!(random_programs::<F61>(FieldName::F61, &small(2), 12, 1 << 12), 12);
    assert_eq!(random_programs::<F128>(FieldName::F128, &small(3), 5, 1 << 12), 5);
    assert_eq!(random_programs::<F61>(FieldName::F61, &small(5), 2, 1 << 12), 2);
}

#[test]
fn integers_of_all_widths() {
    let ops = [
        Op::Constant,
        Op::Add,
        Op::Sub,
        Op::Neg,
        Op::Lt,
        Op::Eq,
        Op::Mux,
        Op::Min,
        Op::Abs,
        Op::Cast,
        Op::ShiftLeft,
        Op::ShiftRight,
        Op::BitSlice,
        Op::BitConcat,
        Op::LaneSum,
        Op::LaneConcat,
        Op::Mul,
        Op::MulFull,
        Op::MatMul,
        Op::And,
        Op::Not,
    ];
    let options = RandomOptions {
        instruction_count: 60,
        width_max: 80,
        wires_max: 400,
        ops: Some(ops.to_vec()),
        ..RandomOptions::default()
    };
    assert_eq!(random_programs::<F61>(FieldName::F61, &options, 20, 1 << 12), 20);
    assert_eq!(random_programs::<F128>(FieldName::F128, &options, 5, 1 << 12), 5);
    let narrow = RandomOptions { width_max: 30, ..options };
    assert_eq!(random_programs::<F32>(FieldName::F32, &narrow, 10, 1 << 12), 10);
}

#[test]
fn swapping_changes_nothing() {
    let options =
        RandomOptions { instruction_count: 150, live_max: 150, wires_max: 2048, ..small(2) };
    assert!(random_programs::<F61>(FieldName::F61, &options, 3, 12) >= 1);
}

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

/// A column of integers, as products need it.
fn number(name: &str, element: ElementType) -> Column {
    Column { name: name.to_string(), element, encoding: Encoding::Number }
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

/// The integers of a type that are at its edges, and at those of its half.
fn edges(element: ElementType) -> Vec<Lane> {
    let mask = phineus_bytecode::mask_of(element.width());
    let half = mask ^ (mask >> 1);
    let mut edges = vec![Lane::ZERO, Lane::ONE, mask, half, mask - Lane::ONE];
    edges.extend([half.wrapping_sub(Lane::ONE) & mask, (half | Lane::ONE) & mask]);
    edges.sort();
    edges.dedup();
    edges
}

/// Comparisons, absolute values and right shifts of one width, of every two edges.
fn compared<F: Field>(field: FieldName, parties: usize, element: ElementType) {
    let (bit, edges) = (ElementType::unsigned(1), edges(element));
    let lanes = (edges.len() * edges.len()) as u32;
    let input = |party: u16| InputPort {
        name: ["x", "y"][usize::from(party)].to_string(),
        party,
        rows: lanes.into(),
        columns: vec![number("v", element)],
        order: Default::default(),
    };
    let shifts = [1, element.width() / 2, element.width() - 1].map(u64::from);
    let ops = [Op::Lt, Op::Le, Op::Eq, Op::Ne].map(|op| (op, bit, 0));
    let ops = ops.into_iter().chain([(Op::Abs, element, 0), (Op::Min, element, 0)]);
    let ops = ops.chain(shifts.map(|amount| (Op::ShiftRight, element, amount)));
    let ops: Vec<_> = ops.filter(|&(op, ..)| op != Op::Abs || element.is_signed()).collect();
    let output = |(i, (_, element, _)): (usize, &(Op, ElementType, u64))| OutputPort {
        name: format!("z{i}"),
        parties: (0..parties as u16).collect(),
        rows: lanes.into(),
        columns: vec![number("v", *element)],
        rows_of: None,
    };
    let description = Description {
        name: "edges".to_string(),
        parties: (0..parties).map(|party| format!("p{party}")).collect(),
        inputs: vec![input(0), input(1)].into(),
        outputs: ops.iter().enumerate().map(output).collect(),
        ..Description::default()
    };
    let mut program = Vec::new();
    for party in 0..2 {
        let mut input = Instruction::new(Op::Input, element, lanes);
        (input.immediates[0], input.results[0]) = (party, party);
        program.push(input);
    }
    for (i, &(op, result, immediate)) in ops.iter().enumerate() {
        let (i, mut made) = (i as u64, Instruction::new(op, element, lanes));
        (made.operands, made.results[0], made.immediates[0]) = ([0, 1, 0], 2 + i, immediate);
        made.operands[op.info().operands.len()..].fill(0);
        let mut output = Instruction::new(Op::Output, result, lanes);
        (output.operands[0], output.immediates[0]) = (2 + i, i);
        program.extend([made, output]);
    }
    let program = write(&program, &description);
    let bytes = planned::<F>(&program, parties, field, 1 << 10).expect("it can be planned");
    let mut inputs = random_inputs(1, &description);
    for row in 0..lanes as usize {
        let pair = [edges[row / edges.len()], edges[row % edges.len()]];
        pair.iter().zip(&mut inputs).for_each(|(&v, table)| table.set_cell(row as u64, 0, v));
    }
    run_all::<F>(&bytes, parties, field, &inputs, &expected(&program, &inputs));
}

/// As narrow as they may be, beyond that, and beyond the field.
#[test]
fn comparisons_of_all_widths_at_their_edges() {
    for width in 1..=64 {
        for signed in [false, true] {
            let element = ElementType::integer(width, signed);
            compared::<F61>(FieldName::F61, 2, element);
            match width % 4 {
                0 => compared::<F61>(FieldName::F61, 3, element),
                1 => compared::<F128>(FieldName::F128, 2, element),
                2 => compared::<F61>(FieldName::F61, 5, element),
                _ => compared::<F128>(FieldName::F128, 3, element),
            }
            if width <= 32 && width % 3 == 0 {
                compared::<F32>(FieldName::F32, 2, element);
            }
        }
    }
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Masks {
    Dealt,
    /// Of what scripts open.
    Zero,
    /// A party tells what is no bit where it brings one.
    NoBit,
}

impl Alteration for Masks {
    fn shares<F: Field>(&mut self, of: TestedRandomness, columns: &mut [&mut [Share<F>]]) {
        let is_mask = matches!(of, TestedRandomness::Bits | TestedRandomness::Bounded);
        if is_mask && *self == Masks::Zero {
            columns.iter_mut().for_each(|column| column.fill(Share::ZERO));
        }
    }

    fn values<F: Field>(&mut self, of: TestedRandomness, values: &mut [F]) {
        let is_of_bits = matches!(of, TestedRandomness::BitMasks { .. });
        if is_of_bits && *self == Masks::NoBit {
            values[0] = values[0].add(F::new(3));
        }
    }

    fn opened_narrowly<F: Field>(&self, opened: &[F], hidden_bits: u32) {
        for value in opened.iter().filter(|_| *self == Masks::Zero) {
            let value = value.value();
            assert!(value >> hidden_bits == 0, "{value} has more than {hidden_bits} bits");
        }
    }
}

#[test]
fn who_brings_what_is_no_bit_is_caught() {
    let element = ElementType::unsigned(64);
    let column = Column { name: "x".to_string(), element, encoding: Encoding::Number };
    let description = Description {
        name: "wide".to_string(),
        parties: vec!["a".to_string(), "b".to_string()],
        inputs: vec![InputPort {
            name: "x".to_string(),
            party: 1,
            rows: 2,
            columns: vec![column.clone()],
            order: Default::default(),
        }]
        .into(),
        outputs: vec![OutputPort {
            name: "y".to_string(),
            parties: vec![0, 1],
            rows: 2,
            columns: vec![column],
            rows_of: None,
        }]
        .into(),
        ..Description::default()
    };
    let program =
        [Instruction::new(Op::Input, element, 2), Instruction::new(Op::Output, element, 2)];
    let program = write(&program, &description);
    let bytes = planned::<F61>(&program, 2, FieldName::F61, 64).expect("it can be planned");
    let inputs = random_inputs(3, &description);
    run_all::<F61>(&bytes, 2, FieldName::F61, &inputs, &expected(&program, &inputs));
    let handles: Vec<_> = memory_mesh(2)
        .into_iter()
        .map(|parties| {
            let me = parties.me();
            let description = read(&bytes).description().clone();
            let inputs = own(&description, &inputs, me);
            let bytes = bytes.clone();
            thread::spawn(move || {
                let dealer = Dealer::<F61>::insecure(Block::from_bits(5), me, 2);
                let prg = Prg::from_seed(Block::from_bits(7 + me as u128));
                let session = SessionId::new([3; 32]);
                let opening = Opening::new(me, 2, dealer.delta(), &session, prg);
                let field = FieldName::F61;
                let mut memory = memory(&description);
                let alteration = if me == 1 { Masks::NoBit } else { Masks::Dealt };
                let correlated = Altered { correlated: dealer, alteration };
                let mut driver =
                    SpdzDriver::new(parties, correlated, opening, &description, inputs, field);
                run(&mut read(&bytes), &mut driver, &mut memory, &mut |_| true).map(|_| ())
            })
        })
        .collect();
    let ends: Vec<_> =
        handles.into_iter().map(|handle| handle.join().expect("no party panics")).collect();
    let honest = ends[0].as_ref().expect_err("a party lied");
    assert!(honest.to_string().contains("an input is made of bits"), "{honest}");
}
