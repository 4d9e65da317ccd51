//! Every integer circuit against big integers, its AND count against its formula, its scratch
//! bound exactly: all operands up to 4 bits, random ones up to 256, several numbers of lanes.

mod common;

use common::{Big, TestRng, from_wires, to_wires, unwritten};
use phineus_circuits::{BitAlgebra, ClearAlgebra, CountingAlgebra, DepthAlgebra};
use phineus_circuits::{adder, comparison, divider, multiplier, reduction, selection, shift};

type Circuit<W, A> = fn(&mut A, &mut [W], &[W], &[W], usize, &mut [W]);

struct Case {
    name: &'static str,
    clear: Circuit<u8, ClearAlgebra>,
    count: Circuit<(), CountingAlgebra>,
    scratch: fn(usize, usize) -> usize,
    width_out: fn(usize) -> usize,
    ands: fn(usize) -> u64,
    oracle: fn(Big, Big, usize) -> Big,
}

macro_rules! case {
    ($circuit:ident, $scratch:expr, $width_out:expr, $ands:expr, $oracle:expr) => {
        Case {
            name: stringify!($circuit),
            clear: circuits::$circuit::<ClearAlgebra>,
            count: circuits::$circuit::<CountingAlgebra>,
            scratch: $scratch,
            width_out: $width_out,
            ands: $ands,
            oracle: $oracle,
        }
    };
}

/// Every circuit in one shape: two operands of `w` bits. Selectors are the low bit of `a`.
mod circuits {
    use super::*;

    macro_rules! binary {
        ($($module:ident::$name:ident),* $(,)?) => {$(
            pub fn $name<A: BitAlgebra>(
                alg: &mut A,
                out: &mut [A::Wire],
                a: &[A::Wire],
                b: &[A::Wire],
                lanes: usize,
                scratch: &mut [A::Wire],
            ) {
                $module::$name(alg, out, a, b, lanes, scratch);
            }
        )*};
    }
    binary!(
        adder::add,
        adder::sub,
        comparison::eq,
        comparison::ne,
        comparison::lt_unsigned,
        comparison::lt_signed,
        comparison::le_unsigned,
        comparison::le_signed,
        selection::min_unsigned,
        selection::max_unsigned,
        selection::min_signed,
        selection::max_signed,
        multiplier::mul,
        multiplier::mul_full_unsigned,
        multiplier::mul_full_signed,
        divider::div_unsigned,
        divider::rem_unsigned,
        divider::div_signed,
        divider::rem_signed,
        shift::shl,
        shift::shr,
        shift::sar,
        shift::rotl,
    );

    macro_rules! adapter {
        ($name:ident, |$alg:ident, $out:ident, $a:ident, $b:ident, $lanes:ident, $scratch:ident|
            $body:expr) => {
            pub fn $name<A: BitAlgebra>(
                $alg: &mut A,
                $out: &mut [A::Wire],
                $a: &[A::Wire],
                $b: &[A::Wire],
                $lanes: usize,
                $scratch: &mut [A::Wire],
            ) {
                $body
            }
        };
    }
    adapter!(neg, |alg, out, a, _b, lanes, scratch| adder::neg(alg, out, a, lanes, scratch));
    adapter!(abs, |alg, out, a, _b, lanes, scratch| adder::abs(alg, out, a, lanes, scratch));
    adapter!(square, |alg, out, a, _b, lanes, scratch| {
        multiplier::square(alg, out, a, lanes, scratch);
    });
    adapter!(square_full_unsigned, |alg, out, a, _b, lanes, scratch| {
        multiplier::square_full_unsigned(alg, out, a, lanes, scratch);
    });
    adapter!(square_full_signed, |alg, out, a, _b, lanes, scratch| {
        multiplier::square_full_signed(alg, out, a, lanes, scratch);
    });
    adapter!(negate_if, |alg, out, a, b, lanes, scratch| {
        adder::negate_if(alg, out, &a[..lanes], b, scratch);
    });
    adapter!(mux, |alg, out, a, b, lanes, scratch| {
        selection::mux(alg, out, &a[..lanes], a, b, scratch);
    });
    adapter!(cond_swap, |alg, out, a, b, lanes, scratch| {
        let (low, high) = out.split_at_mut(a.len());
        selection::cond_swap(alg, low, high, &a[..lanes], a, b, scratch);
    });
    adapter!(and_mask, |alg, out, a, b, lanes, _scratch| {
        selection::and_mask(alg, out, &a[..lanes], b);
    });
    adapter!(divrem_unsigned, |alg, out, a, b, lanes, scratch| {
        let (quotient, remainder) = out.split_at_mut(a.len());
        divider::divrem_unsigned(alg, quotient, remainder, a, b, lanes, scratch);
    });
    adapter!(divrem_signed, |alg, out, a, b, lanes, scratch| {
        let (quotient, remainder) = out.split_at_mut(a.len());
        divider::divrem_signed(alg, quotient, remainder, a, b, lanes, scratch);
    });
    adapter!(bit_and, |alg, out, a, b, _lanes, _scratch| {
        selection::bit_and(alg, out, a, b);
    });
    adapter!(bit_or, |alg, out, a, b, _lanes, _scratch| selection::bit_or(alg, out, a, b));
    adapter!(bit_xor, |alg, out, a, b, _lanes, _scratch| {
        selection::bit_xor(alg, out, a, b);
    });
    adapter!(bit_not, |alg, out, a, _b, _lanes, _scratch| {
        selection::bit_not(alg, out, a);
    });
    adapter!(and_reduce, |alg, out, a, _b, lanes, scratch| {
        reduction::and_reduce(alg, out, a, lanes, scratch);
    });
    adapter!(or_reduce, |alg, out, a, _b, lanes, scratch| {
        reduction::or_reduce(alg, out, a, lanes, scratch);
    });
    adapter!(xor_reduce, |alg, out, a, _b, lanes, _scratch| {
        reduction::xor_reduce(alg, out, a, lanes);
    });
    adapter!(popcount, |alg, out, a, _b, lanes, scratch| {
        reduction::popcount(alg, out, a, lanes, scratch);
    });
    adapter!(popcount_low, |alg, out, a, _b, lanes, scratch| {
        reduction::popcount(alg, out, a, lanes, scratch);
    });
    adapter!(leading_zeros, |alg, out, a, _b, lanes, scratch| {
        reduction::leading_zeros(alg, out, a, lanes, scratch);
    });
    adapter!(shl_narrow, |alg, out, a, b, lanes, scratch| {
        shift::shl(alg, out, a, &b[..(b.len()).min(3 * lanes)], lanes, scratch);
    });
    adapter!(shr_narrow, |alg, out, a, b, lanes, scratch| {
        shift::shr(alg, out, a, &b[..(b.len()).min(3 * lanes)], lanes, scratch);
    });
    adapter!(rotl_narrow, |alg, out, a, b, lanes, scratch| {
        shift::rotl(alg, out, a, &b[..(b.len()).min(3 * lanes)], lanes, scratch);
    });
}

fn same(w: usize) -> usize {
    w
}

fn double(w: usize) -> usize {
    2 * w
}

fn one(_: usize) -> usize {
    1
}

/// Bits of a number from 0 to `w`.
fn count_width(w: usize) -> usize {
    (usize::BITS - w.leading_zeros()) as usize
}

fn pair(low: Big, high: Big, w: usize) -> Big {
    low.low(w).add(high.low(w).shl(w))
}

fn flag(value: bool) -> Big {
    Big::from_u64(u64::from(value))
}

fn less_signed(a: Big, b: Big, w: usize) -> bool {
    a.signed(w).sub(b.signed(w)).is_negative()
}

fn magnitude(a: Big, w: usize) -> Big {
    if a.bit(w - 1) { a.signed(w).neg() } else { a }
}

fn div_unsigned(a: Big, b: Big, w: usize) -> (Big, Big) {
    if b.is_zero() { (Big::ZERO.not().low(w), a) } else { a.divrem(b) }
}

fn div_signed(a: Big, b: Big, w: usize) -> (Big, Big) {
    if b.is_zero() {
        return (Big::ZERO.not(), a);
    }
    let (quotient, remainder) = magnitude(a, w).divrem(magnitude(b, w));
    let negative = a.bit(w - 1) != b.bit(w - 1);
    (
        if negative { quotient.neg() } else { quotient },
        if a.bit(w - 1) { remainder.neg() } else { remainder },
    )
}

/// A shift amount, cut where every shift already gives the same.
fn amount(b: Big, w: usize) -> usize {
    if b.less(Big::from_u64(w as u64)) { b.0[0] as usize } else { w }
}

fn modulo(b: Big, w: usize) -> usize {
    b.divrem(Big::from_u64(w as u64)).1.0[0] as usize
}

fn rotate_left(a: Big, by: usize, w: usize) -> Big {
    a.shl(by).low(w).add(a.shr(w - by))
}

fn log2_ceil(w: usize) -> usize {
    (0..).find(|&k| 1usize << k >= w).expect("some power of two is large enough")
}

fn shift_ands(w: usize, moving: usize, v: usize) -> u64 {
    let stages = log2_ceil(w);
    let beyond = if v > stages { moving + v - stages - 1 } else { 0 };
    (moving * v.min(stages) + beyond) as u64
}

fn rotate_ands(w: usize, v: usize) -> u64 {
    let gcd = |mut a: usize, mut b: usize| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let (mut step, mut ands) = (1 % w, 0);
    for _ in 0..v {
        ands += w - gcd(w, step);
        step = 2 * step % w;
    }
    ands as u64
}

fn arithmetic_cases() -> Vec<Case> {
    let s = adder::scratch_wires;
    let m = multiplier::scratch_wires;
    let d = divider::scratch_wires;
    vec![
        case!(add, s, same, |w| w as u64 - 1, |a, b, _| a.add(b)),
        case!(sub, s, same, |w| w as u64 - 1, |a, b, _| a.sub(b)),
        case!(neg, s, same, |w| (w as u64).saturating_sub(2), |a, _, _| a.neg()),
        case!(abs, s, same, |w| w as u64 - 1, |a, _, w| magnitude(a, w)),
        case!(negate_if, s, same, |w| w as u64 - 1, |a, b, _| if a.bit(0) { b.neg() } else { b }),
        case!(mul, m, same, multiplier::mul_ands, |a, b, _| a.mul(b)),
        case!(mul_full_unsigned, m, double, multiplier::mul_full_ands, |a, b, _| a.mul(b)),
        case!(mul_full_signed, m, double, multiplier::mul_full_signed_ands, |a, b, w| a
            .signed(w)
            .mul(b.signed(w))),
        case!(square, m, same, |w| multiplier::square_ands(w, w, false), |a, _, _| a.mul(a)),
        case!(
            square_full_unsigned,
            m,
            double,
            |w| multiplier::square_ands(w, 2 * w, false),
            |a, _, _| a.mul(a)
        ),
        case!(
            square_full_signed,
            m,
            double,
            |w| multiplier::square_ands(w, 2 * w, true),
            |a, _, w| a.signed(w).mul(a.signed(w))
        ),
        case!(div_unsigned, d, same, divider::div_unsigned_ands, |a, b, w| div_unsigned(a, b, w).0),
        case!(rem_unsigned, d, same, divider::divrem_unsigned_ands, |a, b, w| {
            div_unsigned(a, b, w).1
        }),
        case!(divrem_unsigned, d, double, divider::divrem_unsigned_ands, |a, b, w| {
            let (quotient, remainder) = div_unsigned(a, b, w);
            pair(quotient, remainder, w)
        }),
        case!(div_signed, d, same, divider::div_signed_ands, |a, b, w| { div_signed(a, b, w).0 }),
        case!(rem_signed, d, same, divider::rem_signed_ands, |a, b, w| { div_signed(a, b, w).1 }),
        case!(divrem_signed, d, double, divider::divrem_signed_ands, |a, b, w| {
            let (quotient, remainder) = div_signed(a, b, w);
            pair(quotient, remainder, w)
        }),
    ]
}

fn order_cases() -> Vec<Case> {
    let c = comparison::scratch_wires;
    let s = selection::scratch_wires;
    let one_less = |w| w as u64 - 1;
    let w_ands = |w| w as u64;
    let twice = |w| 2 * w as u64;
    vec![
        case!(eq, c, one, one_less, |a, b, _| flag(a == b)),
        case!(ne, c, one, one_less, |a, b, _| flag(a != b)),
        case!(lt_unsigned, c, one, w_ands, |a, b, _| flag(a.less(b))),
        case!(lt_signed, c, one, w_ands, |a, b, w| flag(less_signed(a, b, w))),
        case!(le_unsigned, c, one, w_ands, |a, b, _| flag(!b.less(a))),
        case!(le_signed, c, one, w_ands, |a, b, w| flag(!less_signed(b, a, w))),
        case!(min_unsigned, s, same, twice, |a, b, _| if a.less(b) { a } else { b }),
        case!(max_unsigned, s, same, twice, |a, b, _| if a.less(b) { b } else { a }),
        case!(min_signed, s, same, twice, |a, b, w| if less_signed(a, b, w) { a } else { b }),
        case!(max_signed, s, same, twice, |a, b, w| if less_signed(a, b, w) { b } else { a }),
        case!(mux, s, same, w_ands, |a, b, _| if a.bit(0) { a } else { b }),
        case!(cond_swap, s, double, w_ands, |a, b, w| {
            if a.bit(0) { pair(b, a, w) } else { pair(a, b, w) }
        }),
        case!(and_mask, s, same, w_ands, |a, b, _| if a.bit(0) { b } else { Big::ZERO }),
        case!(bit_and, s, same, w_ands, |a, b, _| Big(std::array::from_fn(|i| a.0[i] & b.0[i]))),
        case!(bit_or, s, same, w_ands, |a, b, _| Big(std::array::from_fn(|i| a.0[i] | b.0[i]))),
        case!(bit_xor, s, same, |_| 0, |a, b, _| Big(std::array::from_fn(|i| a.0[i] ^ b.0[i]))),
        case!(bit_not, s, same, |_| 0, |a, _, _| a.not()),
    ]
}

fn bit_cases() -> Vec<Case> {
    let r = reduction::scratch_wires;
    let s = |w, n| shift::scratch_wires(w, w, n);
    let narrow = |w, n| shift::scratch_wires(w, 3, n);
    let one_less = |w| w as u64 - 1;
    vec![
        case!(and_reduce, r, one, one_less, |a, _, w| flag(a.ones() == w as u64)),
        case!(or_reduce, r, one, one_less, |a, _, _| flag(!a.is_zero())),
        case!(xor_reduce, r, one, |_| 0, |a, _, _| flag(a.ones() % 2 == 1)),
        case!(popcount, r, count_width, |w| w as u64 - u64::from(w.count_ones()), |a, _, _| {
            Big::from_u64(a.ones())
        }),
        case!(popcount_low, r, |_| 12, |w| w as u64 - u64::from(w.count_ones()), |a, _, _| {
            Big::from_u64(a.ones())
        }),
        case!(leading_zeros, r, count_width, one_less, |a, _, w| {
            let zeros = (0..w).rev().take_while(|&i| !a.bit(i)).count();
            Big::from_u64(zeros as u64)
        }),
        case!(shl, s, same, |w| shift_ands(w, w, w), |a, b, w| a.shl(amount(b, w))),
        case!(shr, s, same, |w| shift_ands(w, w, w), |a, b, w| a.shr(amount(b, w))),
        case!(sar, s, same, |w| shift_ands(w, w - 1, w), |a, b, w| {
            a.signed(w).shr(amount(b, w).min(w - 1)).signed(512 - w)
        }),
        case!(rotl, s, same, |w| rotate_ands(w, w), |a, b, w| rotate_left(a, modulo(b, w), w)),
        case!(shl_narrow, narrow, same, |w| shift_ands(w, w, w.min(3)), |a, b, w| {
            a.shl(amount(b.low(3), w))
        }),
        case!(shr_narrow, narrow, same, |w| shift_ands(w, w, w.min(3)), |a, b, w| {
            a.shr(amount(b.low(3), w))
        }),
        case!(rotl_narrow, narrow, same, |w| rotate_ands(w, w.min(3)), |a, b, w| {
            rotate_left(a, modulo(b.low(3), w), w)
        }),
    ]
}

fn cases() -> Vec<Case> {
    let mut cases = arithmetic_cases();
    cases.extend(order_cases());
    cases.extend(bit_cases());
    cases
}

/// Runs one case on lanes of values, in poisoned memory of exactly the promised size.
fn check(case: &Case, a: &[Big], b: &[Big], w: usize) {
    let lanes = a.len();
    let width_out = (case.width_out)(w);
    let mut out = unwritten(width_out * lanes);
    let bound = (case.scratch)(w, lanes);
    assert!(bound <= phineus_circuits::scratch_wires(w, lanes), "{}", case.name);
    let mut scratch = unwritten(bound);
    let (a_wires, b_wires) = (to_wires(a, w), to_wires(b, w));
    (case.clear)(&mut ClearAlgebra, &mut out, &a_wires, &b_wires, lanes, &mut scratch);
    for (j, got) in from_wires(&out, lanes).into_iter().enumerate() {
        let wanted = (case.oracle)(a[j], b[j], w).low(width_out);
        assert_eq!(got, wanted, "{} of {} bits: {:?}, {:?}", case.name, w, a[j], b[j]);
    }
}

#[test]
fn all_operands_up_to_four_bits() {
    for case in cases() {
        for w in 1..=4 {
            let values = || (0..1u64 << w).map(Big::from_u64);
            let pairs: Vec<_> = values().flat_map(|a| values().map(move |b| (a, b))).collect();
            let (a, b): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
            check(&case, &a, &b, w);
            for (a, b) in pairs {
                check(&case, &[a], &[b], w);
            }
        }
    }
}

#[test]
fn random_operands_up_to_256_bits() {
    let seed = 0x5eed_0001;
    println!("seed {seed:#x}");
    let mut random = TestRng(seed);
    let widths = (5..=24).chain([31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 200, 255, 256]);
    for w in widths {
        for case in cases() {
            for lanes in [1, 2, 3, 7, 16, 33] {
                let a: Vec<_> = (0..lanes).map(|_| random.value(w)).collect();
                let b: Vec<_> = (0..lanes).map(|_| random.value(w)).collect();
                check(&case, &a, &b, w);
            }
        }
    }
}

#[test]
fn and_counts_are_exact_at_every_width() {
    for case in cases() {
        for w in 1..=256 {
            for lanes in [1, 5] {
                let mut counter = CountingAlgebra::default();
                let operand = vec![(); w * lanes];
                let mut out = vec![(); (case.width_out)(w) * lanes];
                let mut scratch = vec![(); (case.scratch)(w, lanes)];
                (case.count)(&mut counter, &mut out, &operand, &operand, lanes, &mut scratch);
                let wanted = (case.ands)(w) * lanes as u64;
                assert_eq!(counter.ands, wanted, "{} of {w} bits, {lanes} lanes", case.name);
            }
        }
    }
}

#[test]
fn the_figures_that_documents_quote() {
    let mul = [8, 16, 32, 64, 128, 256].map(multiplier::mul_ands);
    let full = [8, 16, 32, 64, 128, 256].map(multiplier::mul_full_ands);
    let signed = [8, 16, 32, 64, 128, 256].map(multiplier::mul_full_signed_ands);
    let square = [8, 16, 32, 64, 128, 256].map(|w| multiplier::square_ands(w, w, false));
    let square_full = [8, 16, 32, 64, 128, 256].map(|w| multiplier::square_ands(w, 2 * w, false));
    let div = [8, 16, 32, 64, 128, 256].map(divider::div_unsigned_ands);
    let divrem = [8, 16, 32, 64, 128, 256].map(divider::divrem_unsigned_ands);
    assert_eq!(mul, [43, 151, 559, 2143, 7574, 25303]);
    assert_eq!(full, [79, 287, 1034, 3451, 11054, 34567]);
    assert_eq!(signed, [79, 287, 1087, 3663, 11518, 35539]);
    assert_eq!(square, [15, 63, 255, 1023, 4095, 16383]);
    assert_eq!(square_full, [38, 142, 542, 2110, 8318, 33022]);
    assert_eq!(div, [49, 165, 589, 2205, 8509, 33405]);
    assert_eq!(divrem, [64, 196, 652, 2332, 8764, 33916]);
}

/// A full adder by hand, in each algebra that this crate has.
#[test]
fn the_algebras_agree_on_what_a_gate_is() {
    fn circuit<A: BitAlgebra>(alg: &mut A, a: &[A::Wire], b: &[A::Wire]) -> Vec<A::Wire> {
        let [mut x, mut y] = [(); 2].map(|()| vec![A::Wire::default(); 4]);
        alg.and(&mut x, a, b);
        alg.not(&mut y, &x);
        alg.xor(&mut x, &y, a);
        alg.constant(&mut y[..1], true);
        alg.xor_assign(&mut x, &y);
        x
    }
    // a = 1100, b = 10 repeated: a & b = 1000, its complement 0111, ^ a = 1011, ^ 1111.
    assert_eq!(circuit(&mut ClearAlgebra, &[1, 1, 0, 0], &[1, 0]), [0, 1, 0, 0]);
    let mut counter = CountingAlgebra::default();
    circuit(&mut counter, &[(); 4], &[(); 2]);
    assert_eq!(counter, CountingAlgebra { ands: 4, and_batches: 1, xors: 8 });
    // Depths: 1 + the larger of a and b; then the larger with the depths that follow.
    assert_eq!(circuit(&mut DepthAlgebra, &[5, 0, 0, 9], &[1, 2]), [6, 3, 2, 10]);
}
