//! The circuits of least depth against big integers: all operands up to 4 bits, random ones at
//! every width up to 256; and their exact ANDs and depth.

mod common;

use common::{Big, TestRng};
use phineus_circuits::ClearAlgebra;
use phineus_circuits::least_depth::{adder, aes, count, divider, multiplier, order, sha256, shift};
use phineus_circuits::record::{CircuitTemplate, Recorder, Wire};

type Circuit = fn(&mut Recorder, &[Wire], &[Wire]) -> Vec<Wire>;
type Oracle = fn(Big, Big, usize) -> Big;

struct Case {
    name: &'static str,
    circuit: Circuit,
    oracle: Oracle,
    /// ANDs and depth at 8, 16, 32 and 64 bits.
    costs: [(usize, usize); 4],
    /// The widest value in the tests of every width: recording long ones takes a while.
    width_max: usize,
}

fn record(circuit: Circuit, width: usize) -> CircuitTemplate {
    let mut r = Recorder::new();
    let (a, b) = (r.inputs(width), r.inputs(width));
    let out = circuit(&mut r, &a, &b);
    r.finish(&out)
}

fn flag(value: bool) -> Big {
    Big::from_u64(u64::from(value))
}

fn both(low: Big, high: Big, w: usize) -> Big {
    low.low(w).add(high.low(w).shl(w))
}

fn less(a: Big, b: Big, w: usize, signed: bool) -> bool {
    if signed { a.signed(w).sub(b.signed(w)).is_negative() } else { a.less(b) }
}

fn magnitude(a: Big, w: usize) -> Big {
    if a.bit(w - 1) { a.signed(w).neg() } else { a }
}

fn divide(a: Big, b: Big, w: usize, signed: bool) -> Big {
    if b.is_zero() {
        return both(Big::ZERO.not(), a, w);
    }
    if !signed {
        let (quotient, remainder) = a.divrem(b);
        return both(quotient, remainder, w);
    }
    let (quotient, remainder) = magnitude(a, w).divrem(magnitude(b, w));
    let negate = |x: Big, when: bool| if when { x.neg() } else { x };
    both(negate(quotient, a.bit(w - 1) != b.bit(w - 1)), negate(remainder, a.bit(w - 1)), w)
}

fn pair((low, high): (Vec<Wire>, Vec<Wire>)) -> Vec<Wire> {
    [low, high].concat()
}

/// A shift amount, cut where every shift already gives the same.
fn amount(b: Big, w: usize) -> usize {
    if b.less(Big::from_u64(w as u64)) { b.0[0] as usize } else { w }
}

fn modulo(b: Big, w: usize) -> usize {
    b.divrem(Big::from_u64(w as u64)).1.0[0] as usize
}

macro_rules! case {
    ($name:literal, $width_max:literal, $costs:expr, $circuit:expr, $oracle:expr) => {
        Case {
            name: $name,
            circuit: $circuit,
            oracle: $oracle,
            costs: $costs,
            width_max: $width_max,
        }
    };
}

fn arithmetic_cases() -> Vec<Case> {
    vec![
        case!(
            "add",
            256,
            [(20, 3), (54, 4), (132, 5), (304, 6)],
            |r, a, b| adder::add(r, a, b),
            |a, b, _| a.add(b)
        ),
        case!(
            "sub",
            256,
            [(20, 3), (54, 4), (132, 5), (304, 6)],
            |r, a, b| adder::sub(r, a, b),
            |a, b, _| a.sub(b)
        ),
        case!(
            "neg",
            256,
            [(9, 3), (27, 4), (69, 5), (162, 6)],
            |r, a, _| adder::neg(r, a),
            |a, _, _| a.neg()
        ),
        case!(
            "abs",
            256,
            [(12, 3), (31, 4), (74, 5), (168, 6)],
            |r, a, _| adder::abs(r, a),
            |a, _, w| magnitude(a, w)
        ),
        case!(
            "negate_if",
            256,
            [(12, 3), (31, 4), (74, 5), (168, 6)],
            |r, a, b| adder::negate_if(r, a[0], b),
            |a, b, _| if a.bit(0) { b.neg() } else { b }
        ),
        case!(
            "mul",
            80,
            [(60, 6), (168, 9), (625, 11), (2332, 13)],
            |r, a, b| multiplier::mul(r, a, b),
            |a, b, _| a.mul(b)
        ),
        case!(
            "square",
            96,
            [(20, 5), (87, 8), (336, 10), (1243, 12)],
            |r, a, _| multiplier::mul(r, a, a),
            |a, _, _| a.mul(a)
        ),
        case!(
            "mul_full_unsigned",
            64,
            [(109, 8), (374, 10), (1315, 12), (4770, 14)],
            |r, a, b| multiplier::mul_full(r, a, b, false),
            |a, b, _| a.mul(b)
        ),
        case!(
            "mul_full_signed",
            64,
            [(101, 8), (358, 10), (1283, 12), (4706, 14)],
            |r, a, b| multiplier::mul_full(r, a, b, true),
            |a, b, w| a.signed(w).mul(b.signed(w))
        ),
        case!(
            "square_full_signed",
            64,
            [(63, 7), (220, 9), (753, 11), (2624, 13)],
            |r, a, _| multiplier::mul_full(r, a, a, true),
            |a, _, w| a.signed(w).mul(a.signed(w))
        ),
        case!(
            "div_unsigned",
            40,
            [(297, 12), (1188, 28), (5168, 59), (22605, 137)],
            |r, a, b| divider::divrem_unsigned(r, a, b).0,
            |a, b, w| divide(a, b, w, false).low(w)
        ),
        case!(
            "divrem_unsigned",
            40,
            [(369, 13), (1393, 29), (5730, 60), (24014, 138)],
            |r, a, b| pair(divider::divrem_unsigned(r, a, b)),
            |a, b, w| divide(a, b, w, false)
        ),
        case!(
            "divrem_signed",
            40,
            [(425, 19), (1538, 37), (6079, 70), (24844, 150)],
            |r, a, b| pair(divider::divrem_signed(r, a, b)),
            |a, b, w| divide(a, b, w, true)
        ),
    ]
}

fn order_cases() -> Vec<Case> {
    vec![
        case!(
            "eq",
            256,
            [(7, 3), (15, 4), (31, 5), (63, 6)],
            |r, a, b| vec![order::eq(r, a, b)],
            |a, b, _| flag(a == b)
        ),
        case!(
            "lt_unsigned",
            256,
            [(14, 4), (31, 5), (66, 6), (137, 7)],
            |r, a, b| vec![order::lt(r, a, b, false)],
            |a, b, w| flag(less(a, b, w, false))
        ),
        case!(
            "le_signed",
            256,
            [(14, 4), (31, 5), (66, 6), (137, 7)],
            |r, a, b| vec![order::le(r, a, b, true)],
            |a, b, w| flag(!less(b, a, w, true))
        ),
        case!(
            "min_signed",
            256,
            [(22, 5), (47, 6), (98, 7), (201, 8)],
            |r, a, b| order::min(r, a, b, true),
            |a, b, w| if less(a, b, w, true) { a } else { b }
        ),
        case!(
            "max_unsigned",
            256,
            [(22, 5), (47, 6), (98, 7), (201, 8)],
            |r, a, b| order::max(r, a, b, false),
            |a, b, w| if less(a, b, w, false) { b } else { a }
        ),
        case!(
            "cond_swap",
            256,
            [(8, 1), (16, 1), (32, 1), (64, 1)],
            |r, a, b| pair(order::cond_swap(r, a[0], a, b)),
            |a, b, w| if a.bit(0) { both(b, a, w) } else { both(a, b, w) }
        ),
    ]
}

fn bit_cases() -> Vec<Case> {
    vec![
        case!(
            "shl",
            256,
            [(44, 3), (99, 4), (259, 4), (774, 4)],
            |r, a, b| shift::shl(r, a, &b[..b.len().min(7)]),
            |a, b, w| a.shl(amount(b.low(7), w))
        ),
        case!(
            "shl_by_any",
            256,
            [(45, 4), (108, 5), (284, 6), (831, 7)],
            |r, a, b| shift::shl(r, a, b),
            |a, b, w| a.shl(amount(b, w))
        ),
        case!(
            "shr_unsigned",
            256,
            [(45, 4), (108, 5), (284, 6), (831, 7)],
            |r, a, b| shift::shr(r, a, b, false),
            |a, b, w| a.shr(amount(b, w))
        ),
        case!(
            "shr_signed",
            256,
            [(40, 4), (102, 5), (276, 6), (819, 7)],
            |r, a, b| shift::shr(r, a, b, true),
            |a, b, w| a.signed(w).shr(amount(b, w).min(w - 1)).signed(512 - w)
        ),
        case!(
            "rotl",
            256,
            [(29, 2), (73, 3), (210, 3), (678, 3)],
            |r, a, b| shift::rotl(r, a, &b[..b.len().min(9)]),
            |a, b, w| {
                let by = modulo(b.low(9), w);
                a.shl(by).low(w).add(a.shr(w - by))
            }
        ),
        case!(
            "popcount",
            256,
            [(7, 3), (15, 4), (31, 5), (63, 6)],
            |r, a, _| count::popcount(r, a, 9),
            |a, _, _| Big::from_u64(a.ones())
        ),
        case!(
            "leading_zeros",
            256,
            [(11, 3), (26, 4), (57, 5), (120, 6)],
            |r, a, _| count::leading_zeros(r, a, 9),
            |a, _, w| {
                let zeros = (0..w).rev().take_while(|&i| !a.bit(i)).count();
                Big::from_u64(zeros as u64)
            }
        ),
        case!(
            "all",
            256,
            [(7, 3), (15, 4), (31, 5), (63, 6)],
            |r, a, _| vec![order::all(r, a)],
            |a, _, w| flag(a.ones() == w as u64)
        ),
    ]
}

fn cases() -> Vec<Case> {
    let mut cases = arithmetic_cases();
    cases.extend(order_cases());
    cases.extend(bit_cases());
    cases
}

/// Runs a template on up to 64 pairs of operands.
fn run(template: &CircuitTemplate, pairs: &[(Big, Big)], w: usize) -> Vec<Big> {
    let row = |bit: &dyn Fn(&(Big, Big)) -> bool| {
        pairs.iter().enumerate().fold(0, |row, (j, pair)| row | u64::from(bit(pair)) << j)
    };
    let mut inputs: Vec<u64> = (0..w).map(|i| row(&|pair| pair.0.bit(i))).collect();
    inputs.extend((0..w).map(|i| row(&|pair| pair.1.bit(i))));
    let rows = template.evaluate_clear(&inputs);
    (0..pairs.len())
        .map(|j| {
            let bits = rows.iter().enumerate();
            bits.fold(Big::ZERO, |out, (i, row)| out.with_bit(i, row >> j & 1 == 1))
        })
        .collect()
}

fn check(case: &Case, template: &CircuitTemplate, pairs: &[(Big, Big)], w: usize) {
    for chunk in pairs.chunks(64) {
        for (&(a, b), found) in chunk.iter().zip(run(template, chunk, w)) {
            let wanted = (case.oracle)(a, b, w).low(template.outputs.len());
            assert_eq!(found, wanted, "{} of {w} bits: {a:?}, {b:?}", case.name);
        }
    }
}

#[test]
fn all_operands_up_to_four_bits() {
    for case in cases() {
        for w in 1..=4 {
            let values = || (0..1u64 << w).map(Big::from_u64);
            let pairs: Vec<_> = values().flat_map(|a| values().map(move |b| (a, b))).collect();
            check(&case, &record(case.circuit, w), &pairs, w);
        }
    }
}

#[test]
fn random_operands_at_every_width() {
    let seed = 0x5eed_0002;
    println!("seed {seed:#x}");
    let mut random = TestRng(seed);
    for case in cases() {
        // Every width where that is quick, then a few up to 256.
        let more = [100, 127, 128, 129, 200, 255, 256].into_iter().filter(|&w| w > case.width_max);
        let quick = case.name.starts_with("div") || case.name.contains("full");
        for w in (5..=case.width_max).chain(more.take(if quick { 1 } else { 4 })) {
            let pairs: Vec<_> = (0..64).map(|_| (random.value(w), random.value(w))).collect();
            check(&case, &record(case.circuit, w), &pairs, w);
        }
    }
}

#[test]
fn costs_are_exact() {
    for case in cases() {
        let costs = [8, 16, 32, 64].map(|w| {
            let template = record(case.circuit, w);
            (template.and_count(), template.depth())
        });
        assert_eq!(costs, case.costs, "{}", case.name);
    }
}

/// Runs a template and a circuit of the other family on the same 64 lanes.
fn same_results(template: &CircuitTemplate, wires_out: usize, other: impl Fn(&mut [u8], &[u8])) {
    let mut random = TestRng(0x5eed_0003);
    let rows: Vec<u64> = (0..template.input_count).map(|_| random.word()).collect();
    let wires: Vec<u8> =
        rows.iter().flat_map(|row| (0..64).map(move |j| (row >> j & 1) as u8)).collect();
    let mut out = common::unwritten(wires_out * 64);
    other(&mut out, &wires);
    let expected: Vec<u64> = out
        .chunks_exact(64)
        .map(|row| row.iter().enumerate().fold(0, |word, (j, &bit)| word | u64::from(bit) << j))
        .collect();
    assert_eq!(template.evaluate_clear(&rows), expected);
}

#[test]
fn aes_is_the_same_at_depth_40() {
    let mut r = Recorder::new();
    let (key, block) = (r.inputs(128), r.inputs(128));
    let out = aes::aes128(&mut r, &key, &block);
    let template = r.finish(&out);
    assert_eq!((template.and_count(), template.depth()), (200 * 34, 40));
    same_results(&template, 128, |out, wires| {
        let (key, block) = wires.split_at(128 * 64);
        let mut scratch = common::unwritten(phineus_circuits::aes::scratch_wires(64));
        phineus_circuits::aes::aes128(&mut ClearAlgebra, out, key, block, 64, &mut scratch);
    });
    let mut r = Recorder::new();
    let key = r.inputs(128);
    let keys = aes::key_schedule(&mut r, &key);
    let schedule = r.finish(&keys.concat());
    assert_eq!((schedule.and_count(), schedule.depth()), (40 * 34, 40));
}

#[test]
fn sha256_is_the_same_at_depth_451() {
    let mut r = Recorder::new();
    let (state, block) = (r.inputs(256), r.inputs(512));
    let out = sha256::sha256_compress(&mut r, &state, &block);
    let template = r.finish(&out);
    assert_eq!((template.and_count(), template.depth()), (47_133, 451));
    same_results(&template, 256, |out, wires| {
        let (state, block) = wires.split_at(256 * 64);
        let mut scratch = common::unwritten(phineus_circuits::sha256::scratch_wires(64));
        let alg = &mut ClearAlgebra;
        phineus_circuits::sha256::sha256_compress(alg, out, state, block, 64, &mut scratch);
    });
}
