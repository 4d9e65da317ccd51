//! Rows that permutations of both parties move, one after the other, as XOR shares under garbled circuits.

use phineus_bytecode::random::random_inputs;
use phineus_bytecode::{
    Column, Description, ElementType, Encoding, InputPort, Op, OutputPort, Permutation,
    PermutationKind, RowOrder,
};
use phineus_circuits::permutation::layers;

use crate::look_ups::Draft;
use crate::programs::Program;

/// Wider than what is hashed at a time.
const ROW: ElementType = ElementType::unsigned(150);
const ITEMS: u32 = 16;

/// The first party brings rows; all learn the sum of all of them.
pub fn program(seed: u64) -> Program {
    let mut draft = Draft::default();
    let (all, half) = ((ROW, ITEMS), (ROW, ITEMS / 2));
    let mut rows = draft.push(Op::Input, all, &[], [0; 4]);
    for party in 0..2 {
        let mut first = 0;
        for layer in layers(ITEMS.into()) {
            let count = layer.switches as u32;
            let switches = (ElementType::BIT, count);
            let bits = draft.push(Op::Switches, switches, &[], [party, first, 0, 0]);
            let odd = draft.push(Op::LaneDeinterleave, half, &[rows], [layer.stride, 0, 0, 0]);
            let mut pair = [odd - 1, odd];
            let rest = ITEMS / 2 - count;
            let whole = u64::from(ITEMS / 2);
            let slice = |draft: &mut Draft, of: u64, from: u32, lanes: u32| {
                let immediates = [from.into(), whole, 0, 0];
                draft.push(Op::LaneSlice, (ROW, lanes), &[of], immediates)
            };
            let moved = pair.map(|of| slice(&mut draft, of, 0, count));
            let operands = [bits, moved[0], moved[1]];
            let second = draft.push(Op::SwapKnown, (ROW, count), &operands, [party, 0, 0, 0]);
            pair = [(pair[0], second - 1), (pair[1], second)].map(|(old, moved)| match rest {
                0 => moved,
                _ => {
                    let rest = slice(&mut draft, old, count, rest);
                    let immediates = [count.into(), 0, 0, 0];
                    draft.push(Op::LaneConcat, half, &[moved, rest], immediates)
                }
            });
            rows = draft.push(Op::LaneInterleave, all, &pair, [layer.stride, 0, 0, 0]);
            first += layer.switches;
        }
    }
    // In whatever order they are, all are there.
    let sum = draft.push(Op::LaneXor, (ROW, 1), &[rows], [ITEMS.into(), 0, 0, 0]);
    draft.push(Op::Output, (ROW, 1), &[sum], [0; 4]);
    let column = || vec![Column { name: "c".to_owned(), element: ROW, encoding: Encoding::Hex }];
    let permutation = |party| Permutation { party, items: ITEMS, kind: PermutationKind::Random };
    let description = Description {
        name: "moved-rows".to_owned(),
        parties: vec!["a".to_owned(), "b".to_owned()],
        inputs: vec![InputPort {
            name: "rows".to_owned(),
            party: 0,
            rows: ITEMS.into(),
            columns: column(),
            order: RowOrder::Given,
        }]
        .into(),
        outputs: vec![OutputPort {
            name: "sum".to_owned(),
            parties: vec![0, 1],
            rows: 1,
            columns: column(),
            rows_of: None,
        }]
        .into(),
        permutations: vec![permutation(0), permutation(1)].into(),
        ..Description::default()
    };
    let tables = random_inputs(seed, &description);
    Program { instructions: draft.instructions, description, tables }
}
