//! [`F128`]: the integers modulo 2^128 - 159, the largest prime below 2^128; two words each.
//!
//! Because 2^128 = 159 modulo the prime, a number is reduced by adding 159 times its upper bits to
//! its lower 128. Cost of a product: four 64 x 64 multiplications, and three to reduce it; in sums
//! of products only the sum is reduced. There is no vector form: no vector unit multiplies words.

use super::Field;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
use zeroize::DefaultIsZeroes;

const OFFSET: u128 = 159;
const P: u128 = OFFSET.wrapping_neg();

/// An element of the field of 2^128 - 159 elements; the lower word first.
#[derive(Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(transparent)]
pub struct F128([u64; 2]);

impl DefaultIsZeroes for F128 {}

#[inline(always)]
fn element(value: u128) -> F128 {
    F128([value as u64, (value >> 64) as u64])
}

#[inline(always)]
fn number(element: F128) -> u128 {
    u128::from(element.0[1]) << 64 | u128::from(element.0[0])
}

/// All ones if `bit`, else zero.
#[inline(always)]
fn spread(bit: bool) -> u128 {
    u128::from(bit).wrapping_neg()
}

/// A number below 2^128, reduced.
#[inline(always)]
fn below_2_to_128(value: u128) -> F128 {
    let (more, carry) = value.overflowing_add(OFFSET);
    element(value ^ ((value ^ more) & spread(carry)))
}

/// `low + 2^128 * high` for a `high` below 2^96.
#[inline(always)]
fn reduce(low: u128, high: u128) -> F128 {
    // Below 159 * 2^96.
    let (sum, carry) = low.overflowing_add(OFFSET * high);
    // After a carry the sum is small: this does not carry again.
    below_2_to_128(sum.wrapping_add(OFFSET & spread(carry)))
}

/// The product of two numbers as two halves, lower first.
#[inline(always)]
fn product(a: F128, b: F128) -> (u128, u128) {
    let times = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let ([a0, a1], [b0, b1]) = (a.0, b.0);
    let low = times(a0, b0);
    // Below 2^128: (2^64 - 1)^2 and two numbers below 2^64.
    let middle = times(a0, b1) + (low >> 64);
    let other = times(a1, b0) + u128::from(middle as u64);
    let high = times(a1, b1) + (middle >> 64) + (other >> 64);
    (low as u64 as u128 | other << 64, high)
}

/// `low + 2^128 * high` for any `high`: its words are brought down one after the other.
#[inline(always)]
fn reduce_product(low: u128, high: u128) -> F128 {
    let times = |word: u64| u128::from(word) * OFFSET;
    let first = times(high as u64) + u128::from(low as u64);
    let second = times((high >> 64) as u64) + (low >> 64) + (first >> 64);
    reduce(u128::from(first as u64) | second << 64, second >> 64)
}

/// A sum of products: 128 bits, 128 bits, and what carried beyond.
#[derive(Clone, Copy, Default)]
pub struct Wide {
    low: u128,
    high: u128,
    carries: u64,
}

impl DefaultIsZeroes for Wide {}

impl Field for F128 {
    const BITS: u32 = 128;
    const BYTES: usize = 16;
    const MODULUS: u128 = P;
    const NAME: &'static str = "2^128-159";
    const ZERO: F128 = F128([0, 0]);
    const ONE: F128 = F128([1, 0]);
    const IN_LANES: bool = false;
    const NON_SQUARE: u128 = 5;

    type Wide = Wide;
    const WIDE_TERMS: usize = usize::MAX;

    #[inline]
    fn new(value: u128) -> F128 {
        below_2_to_128(value)
    }

    #[inline(always)]
    fn value(self) -> u128 {
        number(self)
    }

    #[inline(always)]
    fn add(self, other: F128) -> F128 {
        // `a + b + 159` carries exactly if `a + b` is not below the prime, and is then right.
        let (sum, first) = number(self).overflowing_add(number(other));
        let (more, second) = sum.overflowing_add(OFFSET);
        element(sum ^ ((sum ^ more) & spread(first | second)))
    }

    #[inline(always)]
    fn sub(self, other: F128) -> F128 {
        let (difference, borrow) = number(self).overflowing_sub(number(other));
        element(difference.wrapping_sub(OFFSET & spread(borrow)))
    }

    #[inline(always)]
    fn mul(self, other: F128) -> F128 {
        let (low, high) = product(self, other);
        reduce_product(low, high)
    }

    #[inline(always)]
    fn and_bit(self, bit: bool) -> F128 {
        element(number(self) & spread(bit))
    }

    #[inline(always)]
    fn is_reduced(self) -> bool {
        number(self) < P
    }

    #[inline(always)]
    fn truncated(self) -> F128 {
        self
    }

    #[inline(always)]
    fn wide_mul_add(sum: Wide, a: F128, b: F128) -> Wide {
        let (low, high) = product(a, b);
        let (low, first) = sum.low.overflowing_add(low);
        // The product's upper half is below 2^128 - 1.
        let (high, second) = sum.high.overflowing_add(high + u128::from(first));
        Wide { low, high, carries: sum.carries + u64::from(second) }
    }

    #[inline(always)]
    fn fold(sum: Wide) -> Wide {
        sum
    }

    #[inline(always)]
    fn narrow(sum: Wide) -> F128 {
        // 2^256 = 159^2.
        let carried = element(u128::from(sum.carries) * (OFFSET * OFFSET));
        reduce_product(sum.low, sum.high).add(carried)
    }
}
