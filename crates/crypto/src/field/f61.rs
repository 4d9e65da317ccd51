//! [`F61`]: the integers modulo the Mersenne prime 2^61 - 1, one per 64-bit word.
//!
//! Because 2^61 = 1 modulo the prime, a number is reduced by adding its upper bits to its lower
//! 61. Cost of a product: one 64 x 64 multiplication, or four of 32 x 32 in a vector lane.

use super::Field;
use crate::SecretBit;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
use zeroize::DefaultIsZeroes;

const P: u64 = (1 << 61) - 1;

/// An element of the field of 2^61 - 1 elements.
#[derive(Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(transparent)]
pub struct F61(pub(super) u64);

impl DefaultIsZeroes for F61 {}

/// A number below 2p, reduced: the difference wraps to something large when it should not be used.
#[inline(always)]
fn below_2p(value: u64) -> F61 {
    F61(value.min(value.wrapping_sub(P)))
}

/// Any number, brought below 2^61 + 8.
#[inline(always)]
fn partly(value: u64) -> u64 {
    (value & P) + (value >> 61)
}

/// A product in 32 x 32 multiplications: congruent, below 2^63.
///
/// With `a = a1 * 2^31 + a0` and so for `b`: `a * b = a1 b1 * 2^62 + m * 2^31 + a0 b0`, and
/// 2^62 = 2, `m * 2^31 = (m mod 2^30) * 2^31 + (m / 2^30)`. The four terms are below
/// 2^61, 2^61, 2^32, 2^62.
#[inline(always)]
fn product_in_lane(a: u64, b: u64) -> u64 {
    const LOW: u64 = (1 << 31) - 1;
    let (a0, a1, b0, b1) = (a & LOW, a >> 31, b & LOW, b >> 31);
    let middle = a0 * b1 + a1 * b0;
    2 * (a1 * b1) + ((middle & ((1 << 30) - 1)) << 31) + (middle >> 30) + a0 * b0
}

impl Field for F61 {
    const BITS: u32 = 61;
    const BYTES: usize = 8;
    const MODULUS: u128 = P as u128;
    const NAME: &'static str = "2^61-1";
    const ZERO: F61 = F61(0);
    const ONE: F61 = F61(1);
    const IN_LANES: bool = true;
    const NON_SQUARE: u128 = P as u128 - 1;

    /// Below 2^61 + 8 after each product.
    type Wide = u64;
    const WIDE_TERMS: usize = usize::MAX;

    #[inline]
    fn new(value: u128) -> F61 {
        let (low, middle) = (value as u64 & P, (value >> 61) as u64 & P);
        below_2p(partly(low + middle + (value >> 122) as u64))
    }

    #[inline(always)]
    fn value(self) -> u128 {
        u128::from(self.0)
    }

    #[inline(always)]
    fn add(self, other: F61) -> F61 {
        below_2p(self.0 + other.0)
    }

    #[inline(always)]
    fn sub(self, other: F61) -> F61 {
        below_2p(self.0 + (P - other.0))
    }

    #[inline(always)]
    fn mul(self, other: F61) -> F61 {
        let product = u128::from(self.0) * u128::from(other.0);
        below_2p((product as u64 & P) + (product >> 61) as u64)
    }

    #[inline(always)]
    fn mul_in_lane(self, other: F61) -> F61 {
        below_2p(partly(product_in_lane(self.0, other.0)))
    }

    #[inline(always)]
    fn and_bit(self, bit: SecretBit) -> F61 {
        F61(self.0 & bit.mask())
    }

    #[inline(always)]
    fn is_reduced(self) -> bool {
        self.0 < P
    }

    #[inline(always)]
    fn truncated(self) -> F61 {
        F61(self.0 & P)
    }

    #[inline(always)]
    fn wide_mul_add(sum: u64, a: F61, b: F61) -> u64 {
        let product = u128::from(a.0) * u128::from(b.0);
        // Below 3 * 2^61 + 8.
        partly(sum + (product as u64 & P) + (product >> 61) as u64)
    }

    #[inline(always)]
    fn wide_mul_add_in_lane(sum: u64, a: F61, b: F61) -> u64 {
        // Below 2^63 + 2^61 + 8.
        partly(sum + product_in_lane(a.0, b.0))
    }

    #[inline(always)]
    fn fold(sum: u64) -> u64 {
        sum
    }

    #[inline(always)]
    fn narrow(sum: u64) -> F61 {
        below_2p(sum)
    }
}
