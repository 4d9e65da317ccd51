//! Templates of both families against the meanings in the op table.

use phineus_bytecode::random::{RandomOptions, SeededRng, Seeds, random_program};
use phineus_bytecode::{Instruction, Lanes, OPS, Op};

use super::{Family, record, template_lanes};
use crate::to_bits;

const COPIES: usize = 64;

/// Every operation of the table on random operands of random shapes: 64 bundles of operands at a
/// time where a row is one lane, else one.
#[test]
fn templates_compute_what_the_table_says() {
    // A conversion between sharings is no circuit.
    let computed = |op: Op| op.info().meaning.is_some() && op != Op::Convert;
    let mut seeds = Seeds::fresh();
    for info in OPS.iter().filter(|info| computed(info.op)) {
        for width_max in [4, 32, 256].repeat(4) {
            let seed = seeds.draw();
            let is_heavy = matches!(info.op, Op::Div | Op::Rem | Op::DivRem);
            let options = RandomOptions {
                instruction_count: 6,
                width_max: if is_heavy { width_max.min(128) } else { width_max },
                wires_max: 2048,
                ops: Some(vec![Op::Input, info.op]),
                ..RandomOptions::default()
            };
            let (program, _) = random_program(seed, &options);
            let mut random = SeededRng::new(seed);
            for instruction in program.iter().filter(|i| i.op == info.op) {
                for family in [Family::FewestAnds, Family::LeastDepth, Family::LeastDepthApart] {
                    check(instruction, family, &mut random, seed);
                }
            }
        }
    }
}

fn check(instruction: &Instruction, family: Family, random: &mut SeededRng, seed: u64) {
    let info = instruction.op.info();
    let template = record(instruction, family);
    let is_flat = template_lanes(instruction) == 1;
    // Rows are words: each of their bits is a copy of a one-lane template, or a lane of another.
    let copies = if is_flat { COPIES } else { 1 };
    let lane_wise = Instruction { lanes: COPIES as u32, ..*instruction };
    let instruction = if is_flat { instruction } else { &lane_wise };
    let bundles: Vec<Vec<Lanes>> = (0..copies)
        .map(|_| {
            let operands = (0..info.operands.len()).map(|k| instruction.operand_shape(k));
            let mut lanes = |count, width| (0..count).map(|_| random.lane(width)).collect();
            let mut operands: Vec<Lanes> =
                operands.map(|shape| lanes(shape.lanes, shape.width)).collect();
            // Of a square both are the same.
            if instruction.is_square() {
                operands[1] = operands[0].clone();
            }
            operands
        })
        .collect();
    let widths = |k: usize| instruction.operand_shape(k).width;
    let inputs = rows(&bundles, info.operands.len(), widths, is_flat);
    let outputs = template.evaluate_clear(&inputs);
    let meaning = info.meaning.expect("only computations are drawn");
    let expected: Vec<Vec<Lanes>> =
        bundles.iter().map(|operands| meaning(instruction, operands)).collect();
    let widths = |k: usize| instruction.result_shape(k).width;
    let expected = rows(&expected, info.results.len(), widths, is_flat);
    assert_eq!(outputs, expected, "{family:?} of {instruction:?}, seed {seed}");
}

/// The rows of all values of all bundles, the values bit-major.
fn rows(
    bundles: &[Vec<Lanes>],
    values: usize,
    width: impl Fn(usize) -> u16,
    is_flat: bool,
) -> Vec<u64> {
    let mut out = Vec::new();
    for k in 0..values {
        let bits = |lanes: &Lanes| {
            let mut bits = vec![0; usize::from(width(k)) * lanes.len()];
            to_bits(lanes.iter().copied(), lanes.len(), &mut bits);
            bits
        };
        if is_flat {
            let bundles: Vec<Vec<u8>> = bundles.iter().map(|values| bits(&values[k])).collect();
            out.extend((0..bundles[0].len()).map(|wire| {
                let copies = bundles.iter().enumerate();
                copies.fold(0, |row, (copy, bits)| row | u64::from(bits[wire]) << copy)
            }));
        } else if bundles[0][k].len() != COPIES {
            // Repeated in all lanes of a row.
            out.extend(bits(&bundles[0][k]).iter().map(|&bit| u64::from(bit).wrapping_neg()));
        } else {
            let lanes = &bundles[0][k];
            let bits = bits(lanes);
            out.extend(bits.chunks_exact(lanes.len()).map(|row| {
                row.iter().enumerate().fold(0, |word, (lane, &bit)| word | u64::from(bit) << lane)
            }));
        }
    }
    out
}
