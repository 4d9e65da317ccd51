//! [`F128`]: the integers modulo 2^128 - 159, the largest prime below 2^128; two words each.
//!
//! Because 2^128 = 159 modulo the prime, a number is reduced by adding 159 times its upper bits to
//! its lower 128. Cost of a product: four 64 x 64 multiplications, and three to reduce it; in sums
//! of products only the sum is reduced. There is no vector form: no vector unit multiplies words.

use super::Field;
use crate::SecretBit;
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

/// `a + b` reduced, if the sum is below twice the prime.
///
/// The sum plus 159 carries, or the sum itself did, exactly if the sum is not below the prime; it is
/// then right without the carry. The compiler makes jumps of carries, so they stay in instructions that
/// it does not see into.
#[inline(always)]
fn sum(a: u128, b: u128) -> u128 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let [mut low, mut high] = [a as u64, (a >> 64) as u64];
        // SAFETY: only the registers named here and the flags change.
        unsafe {
            std::arch::asm!(
                "add {low}, {b_low}",
                "adc {high}, {b_high}",
                "sbb {carried}, {carried}",
                "mov {less_low}, {low}",
                "mov {less_high}, {high}",
                "add {less_low}, {offset}",
                "adc {less_high}, 0",
                "sbb {carried}, 0",
                "cmovnz {low}, {less_low}",
                "cmovnz {high}, {less_high}",
                low = inout(reg) low,
                high = inout(reg) high,
                b_low = in(reg) b as u64,
                b_high = in(reg) (b >> 64) as u64,
                carried = out(reg) _,
                less_low = out(reg) _,
                less_high = out(reg) _,
                offset = const OFFSET,
                options(pure, nomem, nostack)
            );
        }
        u128::from(high) << 64 | u128::from(low)
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        let (sum, first) = a.overflowing_add(b);
        let (less, second) = sum.overflowing_add(OFFSET);
        let carried = SecretBit::carry(first) | SecretBit::carry(second);
        sum ^ ((sum ^ less) & carried.wide_mask())
    }
}

/// `a - b` of reduced numbers.
#[inline(always)]
fn difference(a: u128, b: u128) -> u128 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let [mut low, mut high] = [a as u64, (a >> 64) as u64];
        // SAFETY: only the registers named here and the flags change.
        unsafe {
            std::arch::asm!(
                "sub {low}, {b_low}",
                "sbb {high}, {b_high}",
                "sbb {borrowed}, {borrowed}",
                "and {borrowed}, {offset}",
                "sub {low}, {borrowed}",
                "sbb {high}, 0",
                low = inout(reg) low,
                high = inout(reg) high,
                b_low = in(reg) b as u64,
                b_high = in(reg) (b >> 64) as u64,
                borrowed = out(reg) _,
                offset = const OFFSET,
                options(pure, nomem, nostack)
            );
        }
        u128::from(high) << 64 | u128::from(low)
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        let (difference, borrow) = a.overflowing_sub(b);
        difference.wrapping_sub(OFFSET & SecretBit::carry(borrow).wide_mask())
    }
}

/// `low + 2^128 * high` for a `high` below 2^96.
#[inline(always)]
fn reduce(low: u128, high: u128) -> F128 {
    // The second number is below 159 * 2^96.
    element(sum(low, OFFSET * high))
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
pub struct WideSum {
    low: u128,
    high: u128,
    carries: u64,
}

impl DefaultIsZeroes for WideSum {}

impl Field for F128 {
    const BITS: u32 = 128;
    const BYTES: usize = 16;
    const MODULUS: u128 = P;
    const NAME: &'static str = "2^128-159";
    const ZERO: F128 = F128([0, 0]);
    const ONE: F128 = F128([1, 0]);
    const IN_LANES: bool = false;
    const NON_SQUARE: u128 = 5;

    type Wide = WideSum;
    const WIDE_TERMS: usize = usize::MAX;

    #[inline]
    fn new(value: u128) -> F128 {
        element(sum(value, 0))
    }

    #[inline(always)]
    fn value(self) -> u128 {
        number(self)
    }

    #[inline(always)]
    fn add(self, other: F128) -> F128 {
        element(sum(number(self), number(other)))
    }

    #[inline(always)]
    fn sub(self, other: F128) -> F128 {
        element(difference(number(self), number(other)))
    }

    #[inline(always)]
    fn mul(self, other: F128) -> F128 {
        let (low, high) = product(self, other);
        reduce_product(low, high)
    }

    #[inline(always)]
    fn and_bit(self, bit: SecretBit) -> F128 {
        element(number(self) & bit.wide_mask())
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
    fn wide_mul_add(sum: WideSum, a: F128, b: F128) -> WideSum {
        let (low, high) = product(a, b);
        let (low, first) = sum.low.overflowing_add(low);
        // The product's upper half is below 2^128 - 1.
        let (high, second) = sum.high.overflowing_add(high + u128::from(first));
        WideSum { low, high, carries: sum.carries + u64::from(second) }
    }

    #[inline(always)]
    fn fold(sum: WideSum) -> WideSum {
        sum
    }

    #[inline(always)]
    fn narrow(sum: WideSum) -> F128 {
        // 2^256 = 159^2.
        let carried = element(u128::from(sum.carries) * (OFFSET * OFFSET));
        reduce_product(sum.low, sum.high).add(carried)
    }
}
