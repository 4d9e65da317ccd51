//! Conversions of all widths, products, and numbers of lanes at the edges of words and chunks.

use std::collections::BTreeSet;

use phineus_bytecode::{Column, Encoding, InputPort, OutputPort, PlanDescription, RowOrder};

use super::*;

/// A program in the making, whose values are named in order.
#[derive(Default)]
struct ProgramBuilder {
    instructions: Vec<Instruction>,
    inputs: Vec<InputPort>,
    outputs: Vec<OutputPort>,
    values: u64,
}

fn column(width: u16) -> Vec<Column> {
    let element = ElementType::unsigned(width);
    vec![Column { name: "x".to_owned(), element, encoding: Encoding::Number }]
}

impl ProgramBuilder {
    fn push(&mut self, mut instruction: Instruction) -> u64 {
        instruction.results[0] = self.values;
        self.values += 1;
        self.instructions.push(instruction);
        self.values - 1
    }

    /// An input of `owner`, shared as `element` says.
    fn input(&mut self, owner: u16, element: ElementType, lanes: u32) -> u64 {
        let mut input = Instruction::new(Op::Input, element, lanes);
        input.immediates[0] = self.inputs.len() as u64;
        self.inputs.push(InputPort {
            name: format!("input_{}", self.inputs.len()),
            party: owner,
            rows: lanes.into(),
            columns: column(element.width()),
            order: RowOrder::Given,
        });
        self.push(input)
    }

    fn apply(&mut self, op: Op, element: ElementType, lanes: u32, operands: [u64; 3]) -> u64 {
        self.push(Instruction { operands, ..Instruction::new(op, element, lanes) })
    }

    fn convert(&mut self, value: u64, (from, to): (Sharing, ElementType), lanes: u32) -> u64 {
        let mut convert = Instruction::new(Op::Convert, to, lanes);
        (convert.immediates[0], convert.operands[0]) = (from as u64, value);
        self.push(convert)
    }

    fn output(&mut self, value: u64, element: ElementType, lanes: u32, learners: &[u16]) {
        let mut output = Instruction::new(Op::Output, element, lanes);
        (output.immediates[0], output.operands[0]) = (self.outputs.len() as u64, value);
        self.outputs.push(OutputPort {
            name: format!("output_{}", self.outputs.len()),
            parties: BTreeSet::from_iter(learners.iter().copied()).into_iter().collect(),
            rows: lanes.into(),
            columns: column(element.width()),
            rows_of: None,
        });
        self.instructions.push(output);
    }

    /// Runs it with so many clients, against the clear driver; returns the costs and the plan.
    fn check(self, seed: u64, clients: usize) -> PlanDescription {
        let description = Description {
            name: "test".to_owned(),
            parties: (0..PARTIES + clients).map(|party| format!("party_{party}")).collect(),
            inputs: self.inputs.into(),
            outputs: self.outputs.into(),
            ..Description::default()
        };
        let tables = random_inputs(seed, &description);
        let any = |instruction: &Instruction| {
            let element = instruction.element.shared(Sharing::Any);
            let mut any = Instruction { element, ..*instruction };
            if any.op == Op::Convert {
                any.immediates[0] = Sharing::Any as u64;
            }
            any
        };
        let clear: Vec<Instruction> = self.instructions.iter().map(any).collect();
        let expected = expected(&write(&clear, &description), &tables);
        let plans = planned(&write(&self.instructions, &description), 16);
        run_all(&plans, seed, &tables, &expected);
        read(&plans.program).description().plan.clone().expect("it is planned")
    }
}

const A: Sharing = Sharing::Arithmetic;
const B: Sharing = Sharing::Boolean;

/// Both conversions of every width, at lane counts on both sides of words, bytes and chunks.
#[test]
fn conversions_of_all_widths() {
    let seed = Seeds::fresh().draw();
    for (k, lanes) in [1, 63, 64, 65].into_iter().enumerate() {
        let mut builder = ProgramBuilder::default();
        for width in 1..=64 {
            if u32::from(width) * lanes > 4096 {
                continue;
            }
            let [a, b] = [A, B].map(|sharing| ElementType::unsigned(width).shared(sharing));
            let owner = width % 3;
            let bits = builder.input(owner, b, lanes);
            let elements = builder.convert(bits, (B, a), lanes);
            let sum = builder.apply(Op::Add, a, lanes, [elements, elements, 0]);
            let back = builder.convert(sum, (A, b), lanes);
            let both = builder.apply(Op::Xor, b, lanes, [back, bits, 0]);
            builder.output(both, b, lanes, &[(width + 1) % 3]);
            builder.output(sum, a, lanes, &[owner]);
        }
        builder.check(seed + k as u64, 0);
    }
}

/// Groups of lanes that begin and end anywhere in words and chunks, of one circuit.
#[test]
fn lanes_of_groups() {
    let seed = Seeds::fresh().draw();
    let (byte, bit) = (ElementType::unsigned(8).shared(B), ElementType::unsigned(1).shared(B));
    for counts in [
        &[0][..],
        &[1],
        &[127],
        &[128],
        &[129],
        &[512],
        &[1, 511, 1],
        &[8, 129, 7, 500, 64, 3, 512, 65, 1],
    ] {
        let mut builder = ProgramBuilder::default();
        let learned = builder.input(0, byte, 1);
        builder.output(learned, byte, 1, &[0, 1, 2]);
        for &lanes in counts.iter().filter(|&&lanes| lanes > 0) {
            let (x, y) = (builder.input(0, byte, lanes), builder.input(2, byte, lanes));
            let product = builder.apply(Op::Mul, byte, lanes, [x, y, 0]);
            let is_less = builder.apply(Op::Lt, byte, lanes, [x, y, 0]);
            let chosen = builder.apply(Op::Mux, byte, lanes, [is_less, product, y]);
            builder.output(chosen, byte, lanes, &[1]);
            builder.output(is_less, bit, lanes, &[0, 2]);
        }
        builder.check(seed, 0);
    }
}

/// Products, squares and matrices in rings of all widths, with inputs and outputs of clients.
#[test]
fn products_of_all_widths() {
    let seed = Seeds::fresh().draw();
    let mut builder = ProgramBuilder::default();
    for width in 1..=64 {
        let a = ElementType::unsigned(width).shared(A);
        let (rows, columns, vectors) = (1 + u32::from(width) % 5, 3, 4);
        let x = builder.input(width % 5, a, rows * columns);
        let y = builder.input((width + 1) % 5, a, columns * vectors);
        let square = builder.apply(Op::Mul, a, rows * columns, [x, x, 0]);
        let difference = builder.apply(Op::Sub, a, rows * columns, [square, x, 0]);
        let product = builder.apply(Op::Mul, a, rows * columns, [difference, x, 0]);
        let mut matrix = Instruction::new(Op::MatMul, a, rows * vectors);
        matrix.immediates = [columns.into(), vectors.into(), 0, 0];
        matrix.operands = [product, y, 0];
        let matrix = builder.push(matrix);
        builder.output(matrix, a, rows * vectors, &[width % 5, (width + 2) % 5]);
    }
    builder.check(seed, 2);
}

/// More values than there are frames for, which go to storage and come back.
#[test]
fn values_that_swap() {
    let mut builder = ProgramBuilder::default();
    let [a, b] = [A, B].map(|sharing| ElementType::unsigned(32).shared(sharing));
    let values: Vec<(u64, u64)> = (0..900)
        .map(|k| (builder.input(k % 3, a, 128), builder.input((k + 1) % 3, b, 128)))
        .collect();
    for pair in values.windows(2).rev().step_by(2) {
        let product = builder.apply(Op::Mul, a, 128, [pair[0].0, pair[1].0, 0]);
        let smaller = builder.apply(Op::Min, b, 128, [pair[0].1, pair[1].1, 0]);
        builder.output(product, a, 128, &[0]);
        builder.output(smaller, b, 128, &[1]);
    }
    let plan = builder.check(Seeds::fresh().draw(), 0);
    assert!(plan.spill_slot_count > 0, "nothing was swapped");
}

/// Bytes by hand, of ANDs, products and a conversion.
#[test]
fn costs_by_hand() {
    let [a, b] = [A, B].map(|sharing| ElementType::unsigned(32).shared(sharing));
    let mut builder = ProgramBuilder::default();
    let (x, y) = (builder.input(0, a, 64), builder.input(1, b, 64));
    let product = builder.apply(Op::Mul, a, 64, [x, x, 0]);
    let conjunction = builder.apply(Op::And, b, 64, [y, y, 0]);
    let joined = builder.convert(y, (B, a), 64);
    let sum = builder.apply(Op::Add, a, 64, [product, joined, 0]);
    builder.output(sum, a, 64, &[2]);
    builder.output(conjunction, b, 64, &[1]);
    let costs = builder.check(Seeds::fresh().draw(), 0).costs;
    // The key, products, resent sums and ANDs; then what each sends of inputs, of outputs to the party before,
    // and party 0 of masked bits.
    let all = 16 + 2 * 64 * 4 + 64 * 32 / 8;
    let masked = 64 * (15 * 4 + 8 * 2 + 8);
    assert_eq!(costs[&totals::sent_bytes(0)], all + 64 * 4 + 64 * 4 + masked);
    assert_eq!(costs[&totals::sent_bytes(1)], all + 64 * 4);
    assert_eq!(costs[&totals::sent_bytes(2)], all + 64 * 4);
    assert_eq!(costs[totals::ROUNDS], 4);
    assert_eq!(costs[totals::AND_GATES], 64 * 32);
}
