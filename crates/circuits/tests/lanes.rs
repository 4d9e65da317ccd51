//! Operations over lanes, shifts by public amounts, changes of width.

mod common;

use common::{Big, TestRng, from_wires, to_wires, unwritten};
use phineus_circuits::{ClearAlgebra, CountingAlgebra};
use phineus_circuits::{reduction, shift};

const LANES: [usize; 9] = [1, 2, 3, 4, 7, 16, 31, 33, 100];

fn counted(f: impl FnOnce(&mut CountingAlgebra)) -> u64 {
    let mut counter = CountingAlgebra::default();
    f(&mut counter);
    counter.ands
}

#[test]
fn reductions_over_lanes() {
    let seed = 0x5eed_0002;
    println!("seed {seed:#x}");
    let mut random = TestRng(seed);
    for w in [1, 2, 3, 8, 31, 32, 64, 100, 256] {
        for lanes in LANES {
            let values: Vec<_> = (0..lanes).map(|_| random.value(w)).collect();
            let a = to_wires(&values, w);
            let fold = |f: fn(u64, u64) -> u64| {
                let folded = values
                    .iter()
                    .copied()
                    .reduce(|x, y| Big(std::array::from_fn(|i| f(x.0[i], y.0[i]))));
                folded.expect("there is a lane")
            };
            let run = |f: fn(&mut ClearAlgebra, &mut [u8], &[u8], usize, &mut [u8]), out| {
                let mut out = unwritten(out);
                let mut scratch = unwritten(reduction::scratch_wires(w, lanes));
                f(&mut ClearAlgebra, &mut out, &a, lanes, &mut scratch);
                from_wires(&out, 1)[0]
            };
            assert_eq!(run(reduction::lane_xor, w), fold(|x, y| x ^ y), "{w} bits, {lanes} lanes");
            assert_eq!(run(reduction::lane_and, w), fold(|x, y| x & y), "{w} bits, {lanes} lanes");
            assert_eq!(run(reduction::lane_or, w), fold(|x, y| x | y), "{w} bits, {lanes} lanes");
            let sum = values.iter().copied().fold(Big::ZERO, Big::add);
            for out in [1, w.div_ceil(2), w, w + 1, w + 7, w + 10] {
                assert_eq!(run(reduction::lane_sum, out), sum.low(out), "{w} bits, {lanes} lanes");
            }
        }
    }
}

#[test]
fn and_counts_of_reductions_over_lanes() {
    for w in [1, 2, 8, 32, 256] {
        for lanes in LANES {
            let a = vec![(); w * lanes];
            let mut scratch = vec![(); reduction::scratch_wires(w, lanes)];
            let product = (w * (lanes - 1)) as u64;
            let mut out = vec![(); w];
            let ands = counted(|alg| reduction::lane_and(alg, &mut out, &a, lanes, &mut scratch));
            assert_eq!(ands, product, "lane_and, {w} bits, {lanes} lanes");
            let ands = counted(|alg| reduction::lane_or(alg, &mut out, &a, lanes, &mut scratch));
            assert_eq!(ands, product, "lane_or, {w} bits, {lanes} lanes");
            let ands = counted(|alg| reduction::lane_xor(alg, &mut out, &a, lanes, &mut scratch));
            assert_eq!(ands, 0, "lane_xor, {w} bits, {lanes} lanes");

            for width_out in [1, w, w + 1, w + 10] {
                let mut out = vec![(); width_out];
                let ands =
                    counted(|alg| reduction::lane_sum(alg, &mut out, &a, lanes, &mut scratch));
                // Column by column: each carry that leaves a column is one AND.
                let (mut wanted, mut carries) = (0, 0);
                for k in 0..width_out - 1 {
                    carries = (if k < w { lanes } else { 0 } + carries) / 2;
                    wanted += carries as u64;
                }
                assert_eq!(ands, wanted, "lane_sum, {w} to {width_out} bits, {lanes} lanes");
                assert_eq!(ands, reduction::lane_sum_ands(w, width_out, lanes));
            }
        }
    }
    // Fewer than a tree of adders: for 32 lanes of 32 bits 31 sums of 31 ANDs.
    assert!(reduction::lane_sum_ands(32, 32, 32) < 31 * 31);
}

#[test]
fn public_shifts_and_changes_of_width() {
    let seed = 0x5eed_0004;
    println!("seed {seed:#x}");
    let mut random = TestRng(seed);
    for w in [1, 2, 3, 8, 33, 64, 256] {
        let lanes = 3;
        let values: Vec<_> = (0..lanes).map(|_| random.value(w)).collect();
        let a = to_wires(&values, w);
        let expect = |wires: &[u8], oracle: &dyn Fn(Big) -> Big| {
            let width = wires.len() / lanes;
            let wanted: Vec<_> = values.iter().map(|&value| oracle(value).low(width)).collect();
            assert_eq!(from_wires(wires, lanes), wanted, "{w} to {width} bits");
        };
        let alg = &mut ClearAlgebra;
        for amount in [0, 1, 2, w / 2, w - 1, w, w + 1, 3 * w] {
            let mut out = unwritten(w * lanes);
            shift::shl_const(alg, &mut out, &a, amount, lanes);
            expect(&out, &|value| value.shl(amount.min(w)));
            shift::shr_const(alg, &mut out, &a, amount, lanes);
            expect(&out, &|value| value.shr(amount.min(w)));
            shift::sar_const(&mut out, &a, amount, lanes);
            expect(&out, &|value| value.signed(w).shr(amount.min(w)));
            let by = amount % w;
            shift::rotl_const(&mut out, &a, amount, lanes);
            expect(&out, &|value| value.shl(by).add(value.shr(w - by)));
        }
        for width in [1, w.div_ceil(2), w, w + 1, 2 * w] {
            let mut out = unwritten(width * lanes);
            shift::cast_unsigned(alg, &mut out, &a);
            expect(&out, &|value| value);
            shift::cast_signed(&mut out, &a, lanes);
            expect(&out, &|value| value.signed(w));
        }
    }
}
