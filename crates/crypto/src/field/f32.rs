//! [`F32`]: the integers modulo 2^32 - 5, one per 32-bit word.
//!
//! Too small for security (a lie passes a MAC check with probability 2^-31): it is here because
//! the literature measures with it. Because 2^32 = 5 modulo the prime, a number is reduced by
//! adding five times its upper bits to its lower 32. Cost of a product: one 32 x 32
//! multiplication.

use super::Field;
use crate::SecretBit;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
use zeroize::DefaultIsZeroes;

const P: u32 = 5u32.wrapping_neg();

/// An element of the field of 2^32 - 5 elements.
#[derive(Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(transparent)]
pub struct F32(pub(super) u32);

impl DefaultIsZeroes for F32 {}

/// Any number, brought below 6 * 2^32.
#[inline(always)]
fn partly(value: u64) -> u64 {
    (value & 0xFFFF_FFFF) + 5 * (value >> 32)
}

/// A number below 6 * 2^32, reduced: [`partly`] leaves at most 2^32 + 24, which is below 2p.
#[inline(always)]
fn below_6_words(value: u64) -> F32 {
    let value = partly(value);
    F32(value.min(value.wrapping_sub(u64::from(P))) as u32)
}

impl Field for F32 {
    const BITS: u32 = 32;
    const BYTES: usize = 4;
    const MODULUS: u128 = P as u128;
    const NAME: &'static str = "2^32-5";
    const ZERO: F32 = F32(0);
    const ONE: F32 = F32(1);
    const IN_LANES: bool = true;
    const NON_SQUARE: u128 = P as u128 - 1;

    /// Each product adds less than 6 * 2^32, which is below 2^35.
    type Wide = u64;
    const WIDE_TERMS: usize = 1 << 28;

    #[inline]
    fn new(value: u128) -> F32 {
        let word = |shift: u32| u64::from((value >> shift) as u32);
        // The fourth powers of 2^32 = 5; the sum is below 156 * 2^32.
        below_6_words(partly(word(0) + 5 * word(32) + 25 * word(64) + 125 * word(96)))
    }

    #[inline(always)]
    fn value(self) -> u128 {
        u128::from(self.0)
    }

    #[inline(always)]
    fn add(self, other: F32) -> F32 {
        self.sub(F32(P - other.0))
    }

    /// `other` may be the prime itself.
    #[inline(always)]
    fn sub(self, other: F32) -> F32 {
        let difference = self.0.wrapping_sub(other.0);
        let borrow = u32::from(self.0 < other.0).wrapping_neg();
        F32(difference.wrapping_add(P & borrow))
    }

    #[inline(always)]
    fn mul(self, other: F32) -> F32 {
        below_6_words(partly(u64::from(self.0) * u64::from(other.0)))
    }

    #[inline(always)]
    fn and_bit(self, bit: SecretBit) -> F32 {
        F32(self.0 & bit.mask() as u32)
    }

    #[inline(always)]
    fn is_reduced(self) -> bool {
        self.0 < P
    }

    #[inline(always)]
    fn truncated(self) -> F32 {
        self
    }

    #[inline(always)]
    fn wide_mul_add(sum: u64, a: F32, b: F32) -> u64 {
        sum + partly(u64::from(a.0) * u64::from(b.0))
    }

    #[inline(always)]
    fn fold(sum: u64) -> u64 {
        partly(sum)
    }

    #[inline(always)]
    fn narrow(sum: u64) -> F32 {
        below_6_words(partly(sum))
    }
}
