//! Lookups against the tables themselves, and their ANDs.

use super::*;
use crate::record::CircuitTemplate;

/// Numbers that look random (xorshift64*).
fn numbers(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// The circuit of a table, after all of its rows were looked up.
fn checked(index_bits: u16, rows: &[u128], width: u16) -> CircuitTemplate {
    let mut recorder = Recorder::new();
    let index = recorder.inputs(index_bits.into());
    let outputs = look_up(&mut recorder, &index, rows, width);
    let template = recorder.finish(&outputs);
    for first in (0..1usize << index_bits).step_by(64) {
        let word =
            |at: u16| (0..64).fold(0, |w, lane| w | ((first + lane) as u64 >> at & 1) << lane);
        let inputs: Vec<u64> = (0..index_bits).map(word).collect();
        let found = template.evaluate_clear(&inputs);
        for row in first..(first + 64).min(1 << index_bits) {
            let lane = row - first;
            let value = found.iter().rev().fold(0, |v, bit| v << 1 | u128::from(bit >> lane & 1));
            assert_eq!(value, rows.get(row).copied().unwrap_or(0), "row {row} of {rows:?}");
        }
    }
    template
}

#[test]
fn every_row_of_random_tables_is_found() {
    let seed = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_nanos() as u64 | 1;
    println!("seed {seed}");
    let mut next = numbers(seed);
    for _ in 0..200 {
        let (index_bits, width) = (1 + (next() % 9) as u16, 1 + (next() % 40) as u16);
        let count = 1 + next() as usize % (1 << index_bits);
        // Of some, all rows are made of few bits, so that columns depend on each other.
        let (mask, times) = match next() % 3 {
            0 => (u64::MAX, 1),
            1 => (3, next()),
            _ => (15, 0x1111_1111_1111),
        };
        let row = |_| u128::from((next() & mask).wrapping_mul(times)) & ((1 << width) - 1);
        let rows: Vec<u128> = (0..count).map(row).collect();
        checked(index_bits, &rows, width);
    }
}

#[test]
fn every_table_of_two_and_three_bits_is_found() {
    for table in 0..256u32 {
        let rows: Vec<u128> = (0..8).map(|row| u128::from(table >> row & 1)).collect();
        // No function of three bits takes more than two ANDs; the method takes three of some.
        assert!(checked(3, &rows, 1).and_count() <= 3, "{table:#x}");
        assert!(checked(2, &rows[..4], 1).and_count() <= 1, "{table:#x}");
    }
}

#[test]
fn tables_of_aes_take_the_ands_of_its_s_box() {
    let (forward, backward) = sbox_tables();
    assert_eq!((forward[0], forward[0x53], backward[0x63]), (0x63, 0xed, 0));
    let double = |byte: u8| byte << 1 ^ if byte >> 7 == 1 { 0x1b } else { 0 };
    let words = forward.map(|byte| {
        let twice = double(byte);
        u128::from(u32::from_be_bytes([twice, byte, byte, twice ^ byte]))
    });
    for (rows, width) in [(forward.map(u128::from), 8), (backward.map(u128::from), 8), (words, 32)]
    {
        assert_eq!(checked(8, &rows, width).and_count(), 32);
    }
}

#[test]
fn ands_and_depth_of_tables() {
    let mut next = numbers(20_260_101);
    let rows: Vec<u128> = (0..256).map(|_| u128::from(next())).collect();
    let mut found = Vec::new();
    for index_bits in [4, 6, 8] {
        for width in [1, 4, 8, 32] {
            let rows: Vec<u128> =
                rows[..1 << index_bits].iter().map(|row| row & ((1 << width) - 1)).collect();
            let template = checked(index_bits, &rows, width);
            found.push((template.and_count(), template.depth()));
        }
    }
    let of_four = [(4, 3), (8, 3), (11, 2), (11, 2)];
    let of_six = [(11, 4), (23, 4), (33, 4), (57, 3)];
    let of_eight = [(26, 6), (54, 6), (80, 6), (151, 5)];
    assert_eq!(found, [of_four, of_six, of_eight].concat());
}

#[test]
fn constant_and_linear_tables_take_no_ands() {
    let rows: Vec<u128> = (0..64).map(|row: u128| row ^ row >> 1).collect();
    assert_eq!(checked(6, &rows, 6).and_count(), 0);
    assert_eq!(checked(6, &[5; 64], 3).and_count(), 0);
    assert_eq!(checked(6, &[], 3).and_count(), 0);
}
