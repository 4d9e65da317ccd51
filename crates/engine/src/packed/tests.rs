//! Local operations on packed rows against the meanings in the op table.

use phineus_bytecode::random::{RandomOptions, SeededRng, Seeds, random_program};
use phineus_bytecode::{Instruction, Lane, Lanes, OPS, Op};

use super::{execute, row_bytes, row_words, rows_to_words, words_to_rows};

/// The operations that are local, by name.
const LOCAL: [&str; 21] = [
    "constant",
    "xor",
    "not",
    "shift_left",
    "shift_right",
    "rotate_left",
    "parity",
    "cast",
    "bit_slice",
    "bit_concat",
    "reshape",
    "reverse_pieces",
    "lane_slice",
    "lane_concat",
    "lane_reverse",
    "lane_tile",
    "lane_repeat",
    "lane_deinterleave",
    "lane_interleave",
    "lane_xor",
    "abs",
];

/// Spreads `count` lanes into rows.
fn to_bits(lanes: impl Iterator<Item = Lane>, count: usize, rows: &mut [u8]) {
    rows.fill(0);
    for (j, lane) in lanes.enumerate() {
        let limbs = lane.as_limbs();
        for (i, row) in rows.chunks_exact_mut(row_bytes(count)).enumerate() {
            row[j / 8] |= ((limbs[i / 64] >> (i % 64) & 1) as u8) << (j % 8);
        }
    }
}

/// The inverse of `to_bits`: lane `j` of `count`.
fn from_bits(rows: &[u8], count: usize, j: usize) -> Lane {
    let mut limbs = [0u64; 4];
    for (i, row) in rows.chunks_exact(row_bytes(count)).enumerate() {
        limbs[i / 64] |= u64::from(row[j / 8] >> (j % 8) & 1) << (i % 64);
    }
    Lane::from_limbs(limbs)
}

fn pack(lanes: &Lanes, width: u16) -> Vec<u8> {
    let mut rows = vec![0xa5; usize::from(width) * row_bytes(lanes.len())];
    to_bits(lanes.iter().copied(), lanes.len(), &mut rows);
    rows
}

/// Results of all local operations on random shapes, byte for byte (so the padding too), shared
/// between two parties of which one adds constants.
#[test]
fn local_operations_compute_what_the_table_says() {
    let mut seeds = Seeds::fresh();
    for info in OPS.iter().filter(|info| info.meaning.is_some()) {
        let is_local = LOCAL.contains(&info.name);
        for width_max in [4, 40, 256].repeat(60) {
            let seed = seeds.draw();
            let options = RandomOptions {
                instruction_count: 8,
                width_max,
                wires_max: 4096,
                ops: Some(vec![Op::Input, info.op]),
                ..RandomOptions::default()
            };
            let (program, _) = random_program(seed, &options);
            let mut random = SeededRng::new(seed);
            for instruction in program.iter().filter(|i| i.op == info.op) {
                // The absolute value of a signed integer is no movement.
                let is_local = is_local && (info.op != Op::Abs || !instruction.element.is_signed());
                check(instruction, is_local, &mut random);
            }
        }
    }
}

fn check(instruction: &Instruction, is_local: bool, random: &mut SeededRng) {
    let info = instruction.op.info();
    let shapes: Vec<_> = (0..info.operands.len()).map(|k| instruction.operand_shape(k)).collect();
    let mut draw = || -> Vec<Lanes> {
        let lanes = shapes.iter().map(|s| (0..s.lanes).map(|_| random.lane(s.width)).collect());
        lanes.collect()
    };
    let (values, masks) = (draw(), draw());
    let mut sums: Vec<Vec<u8>> = (0..info.results.len())
        .map(|k| instruction.result_shape(k))
        .map(|shape| vec![0; usize::from(shape.width) * row_bytes(shape.lanes as usize)])
        .collect();
    for first in [true, false] {
        let operands: Vec<Vec<u8>> = (0..shapes.len())
            .map(|k| {
                let both = values[k].iter().zip(&masks[k]);
                let share = both.map(|(&value, &mask)| if first { value ^ mask } else { mask });
                pack(&share.collect(), shapes[k].width)
            })
            .collect();
        let operands: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
        let mut results: Vec<Vec<u8>> = sums.iter().map(|sum| vec![0x5a; sum.len()]).collect();
        let mut slices: Vec<&mut [u8]> = results.iter_mut().map(Vec::as_mut_slice).collect();
        assert_eq!(
            execute(instruction, &mut slices, &operands, first),
            is_local,
            "{instruction:?}"
        );
        for (sum, result) in sums.iter_mut().zip(results) {
            super::xor_assign(sum, &result);
        }
    }
    if !is_local {
        return;
    }
    let meaning = info.meaning.expect("only computations are drawn");
    for (k, expected) in meaning(instruction, &values).iter().enumerate() {
        let expected = pack(expected, instruction.result_shape(k).width);
        assert_eq!(sums[k], expected, "result {k} of {instruction:?} on {values:?}");
    }
}

#[test]
fn rows_of_bytes_words_and_lanes_agree() {
    let mut random = SeededRng::new(3);
    for lanes in [1, 7, 8, 9, 63, 64, 65, 130] {
        for width in [1u16, 5, 64, 256] {
            let value: Lanes = (0..lanes).map(|_| random.lane(width)).collect();
            let rows = pack(&value, width);
            let back: Lanes = (0..lanes).map(|j| from_bits(&rows, lanes, j)).collect();
            assert_eq!(back, value);
            let mut words = vec![u64::MAX; usize::from(width) * row_words(lanes)];
            rows_to_words(&mut words, &rows, lanes);
            for (i, row) in words.chunks_exact(row_words(lanes)).enumerate() {
                for j in 0..64 * row.len() {
                    let expected = j < lanes && value[j].bit(i);
                    assert_eq!(row[j / 64] >> (j % 64) & 1 == 1, expected, "bit {i} of lane {j}");
                }
            }
            // What is beyond the lanes is dropped.
            if lanes % 64 != 0 {
                words
                    .iter_mut()
                    .skip(row_words(lanes) - 1)
                    .step_by(row_words(lanes))
                    .for_each(|word| *word |= u64::MAX << (lanes % 64));
            }
            let mut again = vec![0x77; rows.len()];
            words_to_rows(&mut again, &words, lanes);
            assert_eq!(again, rows);
        }
    }
}
