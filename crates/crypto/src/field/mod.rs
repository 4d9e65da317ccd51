//! [`Field`]: the prime fields of authenticated shares, and loops over their elements.
//!
//! | type | prime | bytes | a lie passes the check of SPDZ MACs with probability |
//! |---|---|---|---|
//! | [`F61`] | 2^61 - 1 | 8 | 2^-60 |
//! | [`F32`] | 2^32 - 5 | 4 | 2^-31: only to compare with the literature |
//! | [`F128`] | 2^128 - 159 | 16 | 2^-127 |
//!
//! Elements are stored reduced, little-endian, in exactly [`Field::BYTES`]; bytes of a peer become
//! elements only through [`Field::read`]. Methods on single elements are for few elements; the
//! loops over slices run on the widest vectors of the machine ([`Simd`]).
//! Cost of the loops: see [`measure`]. Invariants: nothing branches on or is indexed by an element, but
//! `==` and functions that say that they are for public values; elements have no `Debug`.
//! Not protected: an element on the stack is not wiped, whoever owns the slices wipes those.

mod f128;
mod f32;
mod f61;
mod kernels;
mod loops;
pub mod measure;
mod powers;
mod products;
#[cfg(test)]
mod tests;

pub use f32::F32;
pub use f61::F61;
pub use f128::F128;
pub use products::{MatrixProduct, MatrixProducts, OnCpu, ProductTerm};

use crate::matrix::{Factors, MatrixRows, on_threads};
use crate::{Prg, SecretBit, Simd};
use zerocopy::{FromBytes, Immutable, IntoBytes};
use zeroize::{DefaultIsZeroes, Zeroize};

const _: () = assert!(cfg!(target_endian = "little"), "elements lie in memory as on the wire");

/// Bytes that are no element: their number is not below the prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are no reduced elements of the field")]
pub struct NotReduced;

/// The integers modulo a prime; `size_of::<Self>() == Self::BYTES`.
pub trait Field:
    Copy + Eq + DefaultIsZeroes + FromBytes + IntoBytes + Immutable + Send + Sync + 'static
{
    /// Bits of the prime.
    const BITS: u32;
    /// Bytes of an element in memory, in files and in messages.
    const BYTES: usize;
    /// The prime.
    const MODULUS: u128;
    /// The prime as users write it, such as `2^61-1`.
    const NAME: &'static str;
    /// The neutral element of addition.
    const ZERO: Self;
    /// The neutral element of multiplication.
    const ONE: Self;
    /// A small number that is no square.
    const NON_SQUARE: u128;

    /// Whether vector units have what it takes.
    #[doc(hidden)]
    const IN_LANES: bool;
    /// A sum of products that is not reduced.
    #[doc(hidden)]
    type Wide: DefaultIsZeroes + Send;
    /// How many products a [`Field::Wide`] can take before [`Field::fold`].
    #[doc(hidden)]
    const WIDE_TERMS: usize;

    /// `value` modulo the prime.
    fn new(value: u128) -> Self;
    /// The number in `0..MODULUS` that this element is.
    fn value(self) -> u128;
    /// The sum.
    fn add(self, other: Self) -> Self;
    /// The difference.
    fn sub(self, other: Self) -> Self;
    /// The product.
    fn mul(self, other: Self) -> Self;
    /// As [`Field::mul`], in operations that a vector unit has.
    #[doc(hidden)]
    #[inline(always)]
    fn mul_in_lane(self, other: Self) -> Self {
        self.mul(other)
    }
    /// `self` if `bit`, else zero; without a branch.
    fn and_bit(self, bit: SecretBit) -> Self;
    /// Whether the bytes that this element was made from are below the prime.
    #[doc(hidden)]
    fn is_reduced(self) -> bool;
    /// Drops the bits above [`Field::BITS`]; what remains may still not be reduced.
    #[doc(hidden)]
    fn truncated(self) -> Self;
    /// `sum + a * b`.
    #[doc(hidden)]
    fn wide_mul_add(sum: Self::Wide, a: Self, b: Self) -> Self::Wide;
    /// As [`Field::wide_mul_add`], in operations that a vector unit has.
    #[doc(hidden)]
    #[inline(always)]
    fn wide_mul_add_in_lane(sum: Self::Wide, a: Self, b: Self) -> Self::Wide {
        Self::wide_mul_add(sum, a, b)
    }
    /// An equal sum that can take [`Field::WIDE_TERMS`] products again.
    #[doc(hidden)]
    fn fold(sum: Self::Wide) -> Self::Wide;
    /// The element that a sum is.
    #[doc(hidden)]
    fn narrow(sum: Self::Wide) -> Self;

    /// `value` modulo the prime; negative numbers count down from the prime. Constant time.
    #[inline]
    fn from_signed(value: i128) -> Self {
        let negative = SecretBit::lowest((value >> 127) as u64);
        let size = Self::new(value.unsigned_abs());
        size.sub(size.add(size).and_bit(negative))
    }

    /// Returns whether both are the same element. Constant time.
    #[inline]
    fn equals(self, other: Self) -> SecretBit {
        let difference = self.value() ^ other.value();
        SecretBit::is_zero(difference as u64 | (difference >> 64) as u64)
    }

    /// Zero minus this element.
    #[inline(always)]
    fn neg(self) -> Self {
        Self::ZERO.sub(self)
    }

    /// The power with a public exponent. Constant time in `self`.
    fn pow_vartime(self, exponent: u128) -> Self {
        powers::power(self, exponent)
    }

    /// The element that gives one when multiplied by this one. Constant time, but for zero.
    ///
    /// # Panics
    /// If this is zero.
    fn inverse(self) -> Self {
        assert!(self != Self::ZERO, "zero has no inverse");
        self.pow_vartime(Self::MODULUS - 2)
    }

    /// One of the two square roots, always the same one, if there is one. For public values.
    fn square_root(self) -> Option<Self> {
        powers::square_root(self)
    }

    /// Fills `out` with uniform elements.
    ///
    /// By rejection: a number of [`Field::BITS`] bits that is not below the prime is drawn again.
    /// How often says nothing about the elements that are kept. Cost: [`Field::BYTES`] of the
    /// generator each, whole blocks per call.
    fn fill_random(prg: &mut Prg, out: &mut [Self]) {
        kernels::fill_random(Simd::selected(), prg, out);
    }

    /// Reads a peer's elements.
    ///
    /// # Errors
    /// If one of them is not below the prime; then `out` is all zeros.
    ///
    /// # Panics
    /// If the lengths differ.
    fn read(bytes: &[u8], out: &mut [Self]) -> Result<(), NotReduced> {
        out.as_mut_bytes().copy_from_slice(bytes);
        let are_reduced = SecretBit::carry(kernels::are_reduced(Simd::selected(), out));
        if are_reduced.declassify("who sent the bytes learns whether they are elements") {
            return Ok(());
        }
        out.zeroize();
        Err(NotReduced)
    }

    /// `out += x`, element by element.
    ///
    /// # Panics
    /// If the lengths differ, as all functions on slices.
    fn add_assign(out: &mut [Self], x: &[Self]) {
        kernels::add_assign(Simd::selected(), out, x);
    }

    /// `out -= x`, element by element.
    fn sub_assign(out: &mut [Self], x: &[Self]) {
        kernels::sub_assign(Simd::selected(), out, x);
    }

    /// `out += k * x`, element by element.
    fn scale_add(out: &mut [Self], k: Self, x: &[Self]) {
        kernels::scale_add(Simd::selected(), out, k, x);
    }

    /// `out[2 i] += k[0] * x[i]` and `out[2 i + 1] += k[1] * x[i]`.
    ///
    /// # Panics
    /// If `out` is not twice as long. For public `x`, which is copied.
    fn scale_add_pairs(out: &mut [Self], k: [Self; 2], x: &[Self]) {
        kernels::scale_add_pairs(Simd::selected(), out, k, x);
    }

    /// `out *= k`, element by element.
    fn scale_assign(out: &mut [Self], k: Self) {
        kernels::scale_assign(Simd::selected(), out, k);
    }

    /// `out = x * y`, element by element.
    fn mul_slices(out: &mut [Self], x: &[Self], y: &[Self]) {
        kernels::mul_slices(Simd::selected(), out, x, y);
    }

    /// `out += x * y`, element by element.
    fn mul_add_assign(out: &mut [Self], x: &[Self], y: &[Self]) {
        kernels::mul_add_assign(Simd::selected(), out, x, y);
    }

    /// The sum of the products of `x` and `y`.
    fn dot(x: &[Self], y: &[Self]) -> Self {
        kernels::dot(Simd::selected(), x, y)
    }

    /// The sum of all elements.
    fn sum(x: &[Self]) -> Self {
        kernels::sum(Simd::selected(), x)
    }

    /// `out += matrix * vector`; the matrix lies column by column, `out.len()` rows by
    /// `vector.len()` columns.
    ///
    /// # Panics
    /// If the matrix has another size.
    fn mat_vec_add(out: &mut [Self], matrix: &[Self], vector: &[Self]) {
        Self::mat_vec_add_on(Simd::selected(), 1, out, matrix, vector);
    }

    /// As [`Field::mat_vec_add`] at a given width, the rows shared out to `threads` threads, which
    /// pays for matrices of megabytes.
    fn mat_vec_add_on(
        simd: Simd,
        threads: usize,
        out: &mut [Self],
        matrix: &[Self],
        vector: &[Self],
    ) {
        let rows = MatrixRows::all(matrix, out.len(), vector.len());
        on_threads(threads, out, rows, |out, rows| kernels::mat_vec_add(simd, out, rows, vector));
    }

    /// `out += matrix * vectors` for tuples of `width` vectors, one after the other: entry `c` of
    /// vector `k` of tuple `t` is number `(t * columns + c) * width + k`, and so for the results.
    /// The matrix lies column by column and is read once for all vectors.
    ///
    /// # Panics
    /// If the sizes do not fit together.
    fn mat_mul_add(out: &mut [Self], matrix: (&[Self], usize), vectors: (&[Self], usize)) {
        Self::mat_mul_add_on(Simd::selected(), out, matrix, vectors);
    }

    /// As [`Field::mat_mul_add`] at a given width of the vector unit.
    fn mat_mul_add_on(
        simd: Simd,
        out: &mut [Self],
        (matrix, columns): (&[Self], usize),
        (vectors, width): (&[Self], usize),
    ) {
        let rows = matrix.len().checked_div(columns).unwrap_or(0);
        kernels::mat_mul_add(simd, out, rows, Factors { matrix, vectors, columns, width });
    }
}

/// The fields by name: what a user chooses and a file states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldName {
    /// [`F61`].
    F61,
    /// [`F32`]: too small for security, to compare with the literature.
    F32,
    /// [`F128`].
    F128,
}

impl FieldName {
    /// All of them, the default first.
    pub const ALL: [FieldName; 3] = [FieldName::F61, FieldName::F32, FieldName::F128];

    /// The prime as users write it.
    pub const fn name(self) -> &'static str {
        match self {
            FieldName::F61 => F61::NAME,
            FieldName::F32 => F32::NAME,
            FieldName::F128 => F128::NAME,
        }
    }

    /// The field with this name.
    pub fn from_name(name: &str) -> Option<FieldName> {
        FieldName::ALL.into_iter().find(|field| field.name() == name)
    }

    /// Bits of the prime.
    pub const fn bits(self) -> u32 {
        match self {
            FieldName::F61 => F61::BITS,
            FieldName::F32 => F32::BITS,
            FieldName::F128 => F128::BITS,
        }
    }

    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            FieldName::F61 => F61::BYTES,
            FieldName::F32 => F32::BYTES,
            FieldName::F128 => F128::BYTES,
        }
    }

    /// The prime.
    pub const fn modulus(self) -> u128 {
        match self {
            FieldName::F61 => F61::MODULUS,
            FieldName::F32 => F32::MODULUS,
            FieldName::F128 => F128::MODULUS,
        }
    }
}
