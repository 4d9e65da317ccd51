//! [`DeviceElement`]: types of matrix elements on a device.

use phineus_crypto::field::{F32, F61, Field, OnCpu, ProductTerm};
use phineus_crypto::{Simd, ring};
use zerocopy::{FromBytes, Immutable, IntoBytes};
use zeroize::DefaultIsZeroes;

mod sealed {
    pub trait Sealed {}
}

/// An element of Z_2^32, Z_2^64, F_(2^32-5) or F_(2^61-1).
pub trait DeviceElement:
    sealed::Sealed
    + DefaultIsZeroes
    + PartialEq
    + FromBytes
    + IntoBytes
    + Immutable
    + Send
    + Sync
    + 'static
{
    /// The ring as names of kernels begin with it.
    #[doc(hidden)]
    const PREFIX: &'static str;
    /// Where its kernels are among all: the place of the name in [`PREFIXES`].
    #[doc(hidden)]
    const RING: usize;

    /// Whether a device gave an element of the ring.
    #[doc(hidden)]
    fn is_element(self) -> bool;

    /// `out += x`, element by element.
    #[doc(hidden)]
    fn add_assign(out: &mut [Self], x: &[Self]);

    /// Adds a term to `out` on the processor: what kernels do, in plain.
    #[doc(hidden)]
    fn add_term(out: &mut [Self], term: &ProductTerm<'_, Self>);
}

/// The names of all rings.
pub(crate) const PREFIXES: [&str; 4] = ["r32", "r64", "f32", "f61"];

macro_rules! ring_element {
    ($word:ty, $ring:literal, $mat_vec:ident, $mat_mul:ident) => {
        impl sealed::Sealed for $word {}

        impl DeviceElement for $word {
            const PREFIX: &'static str = PREFIXES[$ring];
            const RING: usize = $ring;

            fn is_element(self) -> bool {
                true
            }

            fn add_assign(out: &mut [$word], x: &[$word]) {
                assert_eq!(out.len(), x.len(), "slices of one length");
                for (out, x) in out.iter_mut().zip(x) {
                    *out = out.wrapping_add(*x);
                }
            }

            fn add_term(out: &mut [$word], term: &ProductTerm<'_, $word>) {
                let (matrix, vectors) = (term.matrix, term.vectors);
                match term.all() {
                    1 => ring::$mat_vec(Simd::selected(), 1, out, matrix, vectors),
                    _ => {
                        let (matrix, vectors) = ((matrix, term.columns()), (vectors, term.width));
                        ring::$mat_mul(Simd::selected(), out, matrix, vectors);
                    }
                }
            }
        }
    };
}

macro_rules! field_element {
    ($field:ty, $ring:literal) => {
        impl sealed::Sealed for $field {}

        impl DeviceElement for $field {
            const PREFIX: &'static str = PREFIXES[$ring];
            const RING: usize = $ring;

            fn is_element(self) -> bool {
                self.is_reduced()
            }

            fn add_assign(out: &mut [$field], x: &[$field]) {
                <$field as Field>::add_assign(out, x);
            }

            fn add_term(out: &mut [$field], term: &ProductTerm<'_, $field>) {
                OnCpu.add_term(out, term);
            }
        }
    };
}

ring_element!(u32, 0, mat_vec_add_32, mat_mul_add_32);
ring_element!(u64, 1, mat_vec_add_64, mat_mul_add_64);
field_element!(F32, 2);
field_element!(F61, 3);
