//! Every kernel against the truth table and against the portable kernel.

use super::*;
use crate::SecretBit;

const START: Block = Block::from_bits(0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978);

fn bits(blocks: &[Block]) -> Vec<u128> {
    blocks.iter().map(|block| block.to_bits()).collect()
}

/// Batch sizes around every width and chunk that a kernel has.
fn sizes() -> impl Iterator<Item = usize> {
    (0..=40).chain([63, 64, 65, 127, 128, 129, 200])
}

#[test]
fn every_kernel_computes_and() {
    for kernel in Kernel::supported() {
        let mut prg = Prg::from_seed(Block::from_bits(1));
        let delta = Delta::random(&mut prg);
        let gates = HalfGates::with_kernel(kernel, START);
        for n in sizes() {
            let (mut a, mut b) = (vec![Block::ZERO; n], vec![Block::ZERO; n]);
            prg.fill_blocks(&mut a);
            prg.fill_blocks(&mut b);
            let mut zero_labels = vec![Block::ZERO; n];
            let mut rows = vec![0; n * GarbledGate::BYTES];
            let first = AndIndex(n as u64 * 1000);
            gates.garble(&delta, first, &a, &b, &mut zero_labels, &mut rows);

            for case in 0..4 {
                let (x, y) = (case & 1 == 1, case & 2 == 2);
                let active_a: Vec<_> =
                    a.iter().map(|&a| a ^ delta.block().and_bit(SecretBit::public(x))).collect();
                let active_b: Vec<_> =
                    b.iter().map(|&b| b ^ delta.block().and_bit(SecretBit::public(y))).collect();
                let mut out = vec![Block::ZERO; n];
                gates.evaluate(first, &active_a, &active_b, &mut out, &rows);
                let want: Vec<_> = zero_labels
                    .iter()
                    .map(|&z| z ^ delta.block().and_bit(SecretBit::public(x & y)))
                    .collect();
                assert!(bits(&out) == bits(&want), "{} n={n} x={x} y={y}", kernel.name());
            }
        }
    }
}

#[test]
fn every_kernel_agrees_with_the_portable_one() {
    // Indices whose tweaks carry out of 32 bits within a batch, and the last one that exists.
    let firsts = |n: u64| [0, (1 << 31) - 3, (1 << 40) + 12_345, AndIndex::COUNT_MAX - n];
    for kernel in Kernel::supported() {
        let mut prg = Prg::from_seed(Block::from_bits(2));
        let delta = Delta::random(&mut prg);
        for n in sizes() {
            for period in (1..=n).filter(|period| n.is_multiple_of(*period)) {
                for first in firsts(n as u64).map(AndIndex) {
                    let seed = prg.next_block();
                    let [want, got] = [Kernel::PORTABLE, kernel]
                        .map(|kernel| transcript(kernel, &delta, first, n, period, seed));
                    assert!(want == got, "{} n={n} b={period} {first:?}", kernel.name());
                }
            }
        }
    }
}

/// All that garbling and then evaluating the false labels writes, at an odd alignment of rows.
fn transcript(
    kernel: Kernel,
    delta: &Delta,
    first: AndIndex,
    n: usize,
    period: usize,
    seed: Block,
) -> (Vec<u128>, Vec<u128>, Vec<u8>) {
    let mut prg = Prg::with_kernel(Kernel::PORTABLE, seed);
    let (mut a, mut b) = (vec![Block::ZERO; n], vec![Block::ZERO; period]);
    prg.fill_blocks(&mut a);
    prg.fill_blocks(&mut b);
    let gates = HalfGates::with_kernel(kernel, START);
    let (mut garbled, mut evaluated) = (vec![Block::ZERO; n], vec![Block::ZERO; n]);
    let mut bytes = vec![0xA5; n * GarbledGate::BYTES + 2];
    let rows = 1..1 + n * GarbledGate::BYTES;
    gates.garble(delta, first, &a, &b, &mut garbled, &mut bytes[rows.clone()]);
    gates.evaluate(first, &a, &b, &mut evaluated, &bytes[rows]);
    assert!(bytes[0] == 0xA5 && bytes[n * GarbledGate::BYTES + 1] == 0xA5, "wrote outside rows");
    (bits(&garbled), bits(&evaluated), bytes)
}

/// Labels of the row-major bits that `bit(i)` gives.
fn active(labels: &[Block], delta: &Delta, bit: impl Fn(usize) -> bool) -> Vec<Block> {
    let label =
        |(i, &label): (usize, &Block)| label ^ delta.block().and_bit(SecretBit::public(bit(i)));
    labels.iter().enumerate().map(label).collect()
}

#[test]
fn a_chain_is_its_gates_one_row_after_the_other() {
    for kernel in Kernel::supported() {
        let mut prg = Prg::from_seed(Block::from_bits(4));
        let delta = Delta::random(&mut prg);
        let gates = HalfGates::with_kernel(kernel, START);
        for (lanes, width) in (1..=6).flat_map(|lanes| [0, 1, 2, 3, 8, 31].map(|w| (lanes, w))) {
            let count = width * lanes;
            let (mut a, mut x) = (vec![Block::ZERO; count], vec![Block::ZERO; count + lanes]);
            prg.fill_blocks(&mut a);
            prg.fill_blocks(&mut x);
            let random = prg.next_block().to_bits();
            for first in [0, (1 << 31) - 3, random as u64 >> 2, AndIndex::COUNT_MAX - count as u64]
            {
                let first = AndIndex(first);
                let mut product = vec![Block::ZERO; lanes];
                let mut got = x.clone();
                let mut bytes = vec![0xA5; count * GarbledGate::BYTES + 2];
                let rows = 1..1 + count * GarbledGate::BYTES;
                let written = &mut bytes[rows.clone()];
                gates.garble_chain(&delta, first, &a, &mut got, &mut product, written);
                let name = format!("{} {lanes} lanes, {width} rows, {first:?}", kernel.name());
                assert!(bytes[0] == 0xA5 && bytes[rows.end] == 0xA5, "{name}: outside rows");

                let (mut want, mut want_rows) = (x.clone(), vec![0; rows.len()]);
                let portable = HalfGates::with_kernel(Kernel::PORTABLE, START);
                for i in (0..count).step_by(lanes) {
                    let (below, above) = want.split_at_mut(i + lanes);
                    let row = &mut want_rows[32 * i..32 * (i + lanes)];
                    let (a, b) = (&a[i..i + lanes], &below[i..]);
                    portable.garble(&delta, first.advance(i), a, b, &mut product, row);
                    above.iter_mut().zip(&product).for_each(|(x, &product)| *x ^= product);
                }
                assert!(bits(&got) == bits(&want), "{name}: labels");
                assert!(bytes[rows.clone()] == want_rows, "{name}: rows");

                // Evaluated on random bits: x[i + 1] ^= a[i] & x[i].
                let bit = |i: usize| random.rotate_left(7 * i as u32) & 1 == 1;
                let mut values: Vec<bool> = (0..count + lanes).map(|i| bit(i + 1000)).collect();
                let mut evaluated = active(&x, &delta, |i| values[i]);
                let active_a = active(&a, &delta, bit);
                let read = &bytes[rows];
                gates.evaluate_chain(first, &active_a, &mut evaluated, &mut product, read);
                (0..count).for_each(|i| values[i + lanes] ^= bit(i) & values[i]);
                let want = active(&want, &delta, |i| values[i]);
                assert!(bits(&evaluated) == bits(&want), "{name}: evaluated");
            }
        }
    }
}

#[test]
#[should_panic(expected = "one row more")]
fn a_chain_without_its_last_row_is_refused() {
    let gates = HalfGates::new(START);
    let (a, mut x, mut product) = ([Block::ZERO; 4], [Block::ZERO; 5], [Block::ZERO; 2]);
    gates.evaluate_chain(AndIndex(0), &a, &mut x, &mut product, &[0; 128]);
}

#[test]
fn delta_has_its_select_bit() {
    assert_eq!(Delta::from_block(Block::ZERO).block().select_u64(), 1);
}

#[test]
fn equal_labels_under_different_indices_give_different_rows() {
    for kernel in Kernel::supported() {
        let mut prg = Prg::from_seed(Block::from_bits(3));
        let delta = Delta::random(&mut prg);
        let gates = HalfGates::with_kernel(kernel, START);
        let (label, mut out) = ([prg.next_block(); 64], [Block::ZERO; 64]);
        let mut rows = [0; 64 * GarbledGate::BYTES];
        gates.garble(&delta, AndIndex(7), &label, &label, &mut out, &mut rows);
        let mut halves: Vec<_> = rows.chunks_exact(16).collect();
        halves.sort_unstable();
        halves.dedup();
        assert!(halves.len() == 128, "{}: a tweak was used twice", kernel.name());
    }
}

#[test]
#[should_panic(expected = "at most 2^63 AND gates")]
fn exhausted_indices_stop_the_process() {
    let gates = HalfGates::new(START);
    let (label, mut out) = ([Block::ZERO; 2], [Block::ZERO; 2]);
    let last = AndIndex(AndIndex::COUNT_MAX - 1);
    gates.evaluate(last, &label, &label, &mut out, &[0; 64]);
}

#[test]
#[should_panic(expected = "b repeats")]
fn a_period_that_does_not_divide_is_refused() {
    let gates = HalfGates::new(START);
    let (a, b, mut out) = ([Block::ZERO; 5], [Block::ZERO; 2], [Block::ZERO; 5]);
    gates.evaluate(AndIndex(0), &a, &b, &mut out, &[0; 160]);
}
