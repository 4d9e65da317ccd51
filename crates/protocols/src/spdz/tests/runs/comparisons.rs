//! Comparisons, absolute values and shifts at the edges of their types.

use phineus_bytecode::random::random_inputs;
use phineus_bytecode::{Description, ElementType, InputPort, Instruction, Lane, Op, OutputPort};
use phineus_crypto::field::{F32, F61, F128, Field, FieldName};

use super::{number, planned, run_all};
use crate::harness::{expected, write};

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
