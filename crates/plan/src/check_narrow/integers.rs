//! Integers of 256 bits in two's complement: enough for products of two of 128.

use phineus_bytecode::Lane;

/// An integer in two's complement.
pub(super) type Integer = Lane;

/// Two to this power, at most 128.
pub(super) fn power(exponent: u16) -> Integer {
    Integer::ONE << usize::from(exponent)
}

pub(super) fn is_negative(value: Integer) -> bool {
    value.bit(255)
}

/// Whether `a <= b`.
pub(super) fn at_most(a: Integer, b: Integer) -> bool {
    match (is_negative(a), is_negative(b)) {
        (true, false) => true,
        (false, true) => false,
        _ => a <= b,
    }
}

pub(super) fn of_unsigned(value: u128) -> Integer {
    Integer::from(value)
}

pub(super) fn of_signed(value: i128) -> Integer {
    let magnitude = Integer::from(value.unsigned_abs());
    if value < 0 { magnitude.wrapping_neg() } else { magnitude }
}

pub(super) fn magnitude(value: Integer) -> Integer {
    if is_negative(value) { value.wrapping_neg() } else { value }
}

/// The product, if 256 bits certainly hold it.
pub(super) fn times(a: Integer, b: Integer) -> Option<Integer> {
    let bits = magnitude(a).bit_len() + magnitude(b).bit_len();
    (bits < 255).then(|| a.wrapping_mul(b))
}

/// The quotient, rounded towards zero; `b` is not 0.
pub(super) fn divided(a: Integer, b: Integer) -> Integer {
    let quotient = magnitude(a) / magnitude(b);
    if is_negative(a) == is_negative(b) { quotient } else { quotient.wrapping_neg() }
}

/// Shifted right, rounded down.
pub(super) fn halved(value: Integer, times: u16) -> Integer {
    let times = usize::from(times.min(255));
    match (times, is_negative(value)) {
        (0, _) => value,
        (_, false) => value >> times,
        (_, true) => !(!value >> times),
    }
}
