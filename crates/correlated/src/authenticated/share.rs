//! [`Share`]: one party's share of a value and of its MAC.
//!
//! Everything here is local. The MAC of a value `x` is `x * delta`, shared as `x` is; so sums and
//! public multiples of shares are shares, and a public `k` is added by adding `k` to the value of
//! the first party and `k * delta_i` to the MAC of each.

use phineus_crypto::SecretBit;
use phineus_crypto::field::Field;
use zerocopy::{FromBytes, Immutable, IntoBytes};
use zeroize::DefaultIsZeroes;

/// A share of a value and of its MAC, value first: a slice of shares is a slice of twice as many
/// elements, see [`Share::elements`].
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Share<F: Field> {
    /// This party's summand of the value.
    pub value: F,
    /// This party's summand of the value times the key.
    pub mac: F,
}

impl<F: Field> DefaultIsZeroes for Share<F> {}

#[allow(clippy::should_implement_trait, reason = "the names that elements of a field have")]
impl<F: Field> Share<F> {
    /// The share of zero that has no randomness in it.
    pub const ZERO: Share<F> = Share { value: F::ZERO, mac: F::ZERO };

    /// Party `me`'s share of a value that all know.
    #[inline]
    pub fn public(value: F, me: usize, delta: F) -> Share<F> {
        Share { value: value.and_bit(SecretBit::public(me == 0)), mac: delta.mul(value) }
    }

    /// A share of the sum.
    #[inline]
    pub fn add(self, other: Share<F>) -> Share<F> {
        Share { value: self.value.add(other.value), mac: self.mac.add(other.mac) }
    }

    /// A share of the difference.
    #[inline]
    pub fn sub(self, other: Share<F>) -> Share<F> {
        Share { value: self.value.sub(other.value), mac: self.mac.sub(other.mac) }
    }

    /// A share of `k` times the value.
    #[inline]
    pub fn scale(self, k: F) -> Share<F> {
        Share { value: self.value.mul(k), mac: self.mac.mul(k) }
    }

    /// Party `me`'s share of the value plus `k`.
    #[inline]
    pub fn add_public(self, k: F, me: usize, delta: F) -> Share<F> {
        self.add(Share::public(k, me, delta))
    }

    /// The shares as elements: value, MAC, value, MAC, and so on. Sums and public multiples of
    /// shares are those of their elements, so the loops of [`Field`] work on them.
    #[inline]
    pub fn elements(shares: &[Share<F>]) -> &[F] {
        <[F]>::ref_from_bytes(shares.as_bytes()).expect("a share is two elements, aligned as one")
    }

    /// As [`Share::elements`], to write.
    #[inline]
    pub fn elements_mut(shares: &mut [Share<F>]) -> &mut [F] {
        <[F]>::mut_from_bytes(shares.as_mut_bytes())
            .expect("a share is two elements, aligned as one")
    }
}
