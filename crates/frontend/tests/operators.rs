//! Typed values against Rust's own integers.

mod common;

use common::{column, run_on};
use phineus_frontend::{Bit, Element, I8, I16, U8, U16, U32, Vector, select};

/// Bytes that meet every corner: extremes, signs, powers of two.
const BYTES: [u64; 12] = [0, 1, 2, 3, 7, 100, 126, 127, 128, 129, 254, 255];

/// All pairs of [`BYTES`].
fn pairs() -> Vec<(u8, u8)> {
    let one = |a: u64| BYTES.map(move |b| (a as u8, b as u8));
    BYTES.into_iter().flat_map(one).collect()
}

/// Runs a binary function on all pairs of bytes.
fn on_pairs<T: phineus_frontend::Element + 'static>(
    function: impl Fn(&Vector<U8>, &Vector<U8>) -> Vector<T> + Send + Sync + 'static,
) -> Vec<u64> {
    let rows: Vec<u64> = pairs().iter().map(|&(a, _)| u64::from(a)).collect();
    let outputs = run_on(8, &rows, move |t| {
        let a = t.input("a", 144).number::<U8>("x").vector::<U8>();
        let seconds = pairs().into_iter().map(|(_, b)| b);
        // Masking hides that the second operands are public.
        let zero = &a - &a.clone();
        let b = &Vector::<U8>::constants(t, seconds) ^ &zero;
        t.output("y", &["a"]).vector("y", function(&a, &b)).write();
    });
    column(&outputs[0], 0)
}

fn expected(function: impl Fn(u8, u8) -> u64) -> Vec<u64> {
    pairs().into_iter().map(|(a, b)| function(a, b)).collect()
}

#[test]
fn unsigned_operators() {
    let byte = u64::from;
    assert_eq!(on_pairs(|a, b| a + b), expected(|a, b| byte(a.wrapping_add(b))));
    assert_eq!(on_pairs(|a, b| a - b), expected(|a, b| byte(a.wrapping_sub(b))));
    assert_eq!(on_pairs(|a, b| a * b), expected(|a, b| byte(a.wrapping_mul(b))));
    assert_eq!(on_pairs(|a, b| a / b), expected(|a, b| byte(a.checked_div(b).unwrap_or(255))));
    assert_eq!(on_pairs(|a, b| a % b), expected(|a, b| byte(a.checked_rem(b).unwrap_or(a))));
    assert_eq!(on_pairs(|a, b| a & b), expected(|a, b| byte(a & b)));
    assert_eq!(on_pairs(|a, b| a | b), expected(|a, b| byte(a | b)));
    assert_eq!(on_pairs(|a, b| a ^ b), expected(|a, b| byte(a ^ b)));
    assert_eq!(on_pairs(|a, _| !a), expected(|a, _| byte(!a)));
    assert_eq!(on_pairs(|a, _| -a), expected(|a, _| byte(a.wrapping_neg())));
    assert_eq!(
        on_pairs(|a, b| a.zip(b, |a, b| a.full_mul::<16>(b))),
        expected(|a, b| byte(a) * byte(b))
    );
    assert_eq!(on_pairs(|a, b| a.zip(b, |a, b| a.min(b))), expected(|a, b| byte(a.min(b))));
    assert_eq!(on_pairs(|a, b| a.zip(b, |a, b| a.max(b))), expected(|a, b| byte(a.max(b))));
}

#[test]
fn comparisons_and_choices() {
    let bit = u64::from;
    assert_eq!(on_pairs(|a, b| a.zip(b, |a, b| a.lt(b))), expected(|a, b| bit(a < b)));
    assert_eq!(on_pairs(|a, b| a.zip(b, |a, b| a.le(b))), expected(|a, b| bit(a <= b)));
    assert_eq!(on_pairs(|a, b| a.zip(b, |a, b| a.gt(b))), expected(|a, b| bit(a > b)));
    assert_eq!(on_pairs(|a, b| a.zip(b, |a, b| a.ge(b))), expected(|a, b| bit(a >= b)));
    assert_eq!(on_pairs(|a, b| a.zip(b, |a, b| a.eq(b))), expected(|a, b| bit(a == b)));
    assert_eq!(on_pairs(|a, b| a.zip(b, |a, b| a.ne(b))), expected(|a, b| bit(a != b)));
    assert_eq!(
        on_pairs(|a, b| a.zip(b, |a, b| select(&a.bit(0), a + 1, b))),
        expected(|a, b| u64::from(if a & 1 == 1 { a.wrapping_add(1) } else { b }))
    );
    assert_eq!(
        on_pairs(|a, b| a.zip(b, |a, b| a.gt(b).swap(a, b).0)),
        expected(|a, b| u64::from(a.min(b)))
    );
    assert_eq!(
        on_pairs(|a, b| a.zip(b, |a, b| a.lt(b).mask(b))),
        expected(|a, b| if a < b { u64::from(b) } else { 0 })
    );
}

#[test]
fn signed_operators() {
    let byte = |x: i8| u64::from(x as u8);
    let signed = |function: fn(&I8, &I8) -> I8| {
        on_pairs(move |a, b| a.to::<I8>().zip(&b.to::<I8>(), function))
    };
    let expected =
        |function: fn(i8, i8) -> i8| expected(move |a, b| byte(function(a as i8, b as i8)));
    assert_eq!(signed(|a, b| a / b), expected(|a, b| if b == 0 { -1 } else { a.wrapping_div(b) }));
    assert_eq!(signed(|a, b| a % b), expected(|a, b| if b == 0 { a } else { a.wrapping_rem(b) }));
    assert_eq!(signed(|a, b| a.min(b)), expected(|a, b| a.min(b)));
    assert_eq!(signed(|a, _| a.abs()), expected(|a, _| a.wrapping_abs()));
    assert_eq!(signed(|a, _| a >> 3), expected(|a, _| a >> 3));
    assert_eq!(signed(|a, _| a << 3), expected(|a, _| a << 3));
    assert_eq!(signed(|a, b| a.lt(b).select(a, b)), expected(|a, b| if a < b { a } else { b }));
    assert_eq!(
        signed(|a, _| a.is_negative().select(a, -a)),
        expected(|a, _| if a < 0 { a } else { a.wrapping_neg() })
    );
    assert_eq!(
        on_pairs(|a, b| a.to::<I8>().zip(&b.to::<I8>(), |a, b| a.full_mul::<16>(b))),
        self::expected(|a, b| u64::from((i16::from(a as i8) * i16::from(b as i8)) as u16))
    );
    assert_eq!(
        on_pairs(|a, _| a.to::<I8>().map(|a| a.to::<I16>())),
        self::expected(|a, _| u64::from(i16::from(a as i8) as u16))
    );
}

#[test]
fn bits_and_shifts() {
    assert_eq!(
        on_pairs(|a, b| a.zip(b, |a, b| a.shl_by(&b.bits::<3>(0)))),
        expected(|a, b| u64::from(a << (b & 7)))
    );
    assert_eq!(
        on_pairs(|a, b| a.zip(b, |a, b| a.shr_by(b))),
        expected(|a, b| u64::from(a.checked_shr(b.into()).unwrap_or(0)))
    );
    assert_eq!(
        on_pairs(|a, b| a.zip(b, |a, b| a.rotate_left_by(&b.bits::<3>(0)))),
        expected(|a, b| u64::from(a.rotate_left(u32::from(b & 7))))
    );
    assert_eq!(
        on_pairs(|a, _| a.map(|a| a.rotate_left(11))),
        expected(|a, _| u64::from(a.rotate_left(3)))
    );
    assert_eq!(
        on_pairs(|a, _| a.map(|a| a.popcount::<4>())),
        expected(|a, _| u64::from(a.count_ones()))
    );
    assert_eq!(
        on_pairs(|a, _| a.map(|a| a.leading_zeros::<4>())),
        expected(|a, _| u64::from(a.leading_zeros()))
    );
    assert_eq!(
        on_pairs(|a, _| a.map(|a| a.any_bit() & !a.all_bits())),
        expected(|a, _| u64::from(a != 0 && a != 255))
    );
    assert_eq!(
        on_pairs(|a, b| a.zip(b, |a, b| a.bit(7) ^ b.bit(0) | a.bit(1))),
        expected(|a, b| u64::from((a >> 7) ^ (b & 1) | (a >> 1 & 1)))
    );
}

#[test]
fn lanes_move() {
    let outputs = run_on(8, &[10, 20, 30, 40, 50], |t| {
        let v = t.input("a", 5).number::<U8>("x").vector::<U8>();
        let x = U8::from_value(v.chunks()[0].clone());
        let out = |name: &str, value: &U8| t.output(name, &["a"]).number("y", value).write();
        out("slice", &x.slice(1, 3));
        out("concat", &x.slice(3, 2).concat(&x.slice(0, 1)));
        out("reverse", &x.reverse());
        out("rotate", &x.rotate(2));
        out("tile", &x.slice(0, 2).tile(4));
        out("repeat", &x.slice(0, 2).repeat(4));
        out("scalar", &(&x + x.slice(0, 1)));
        let sum: U16 = x.sum();
        t.output("sum", &["a"]).number("y", &sum).write();
        let count: U32 = x.gt(15).count();
        t.output("count", &["a"]).number("y", &count).write();
        let bits = [x.gt(5).all(), x.gt(45).any(), x.gt(50).any()];
        let [a, b, c] = bits;
        let bits: Bit = a.concat(&b).concat(&c);
        t.output("bits", &["a"]).number("y", &bits).write();
    });
    let found: Vec<Vec<u64>> = outputs.iter().map(|table| column(table, 0)).collect();
    let expected: [&[u64]; 10] = [
        &[20, 30, 40],
        &[40, 50, 10],
        &[50, 40, 30, 20, 10],
        &[30, 40, 50, 10, 20],
        &[10, 20, 10, 20],
        &[10, 10, 20, 20],
        &[20, 30, 40, 50, 60],
        &[150],
        &[4],
        &[1, 1, 0],
    ];
    assert_eq!(found, expected);
}
