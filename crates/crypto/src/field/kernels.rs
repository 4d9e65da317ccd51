//! The loops of [`super::loops`], compiled for each width of vectors and chosen by a [`Simd`].

use super::Field;
use super::loops::{self, InLanes, InWords};
use crate::matrix::{Factors, MatrixRows, Strip, StripKernel, add_products_of_several};
use crate::{Prg, SecretBit, Simd, Width};
use zerocopy::IntoBytes;

/// Makes, for every loop, a function that runs it at a given width.
macro_rules! at_every_width {
    ($(fn $name:ident$(<const $size:ident>)?($($arg:ident: $ty:ty),*) $(-> $out:ty)?;)*) => {$(
        pub(super) fn $name<F: Field$(, const $size: usize)?>(simd: Simd, $($arg: $ty),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi2")]
            fn avx2<F: Field$(, const $size: usize)?>($($arg: $ty),*) $(-> $out)? {
                loops::$name::<F, InLanes$(, $size)?>($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
            fn avx512<F: Field$(, const $size: usize)?>($($arg: $ty),*) $(-> $out)? {
                loops::$name::<F, InLanes$(, $size)?>($($arg),*)
            }
            match simd.width() {
                _ if !F::IN_LANES => loops::$name::<F, InWords$(, $size)?>($($arg),*),
                // SAFETY: a `Simd` exists only for a width whose features this CPU has.
                #[cfg(target_arch = "x86_64")]
                Width::Avx512 => unsafe { avx512::<F$(, $size)?>($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Width::Avx2 => unsafe { avx2::<F$(, $size)?>($($arg),*) },
                _ => loops::$name::<F, InWords$(, $size)?>($($arg),*),
            }
        }
    )*};
}

at_every_width! {
    fn truncate(x: &mut [F]) -> bool;
    fn are_reduced(x: &[F]) -> bool;
    fn add_assign(out: &mut [F], x: &[F]);
    fn sub_assign(out: &mut [F], x: &[F]);
    fn scale_add(out: &mut [F], k: F, x: &[F]);
    fn scale_add_pairs(out: &mut [F], k: [F; 2], x: &[F]);
    fn scale_assign(out: &mut [F], k: F);
    fn mul_slices(out: &mut [F], x: &[F], y: &[F]);
    fn mul_add_assign(out: &mut [F], x: &[F], y: &[F]);
    fn sum(x: &[F]) -> F;
    fn dot(x: &[F], y: &[F]) -> F;
    fn mat_vec_add(out: &mut [F], rows: MatrixRows<'_, F>, vector: &[F]);
    fn mat_mul_blocks(out: &mut [F], rows: usize, factors: Factors<'_, F>);
    fn mat_mul_strip<const ROWS>(out: &mut [F], factors: Factors<'_, F>, strip: Strip);
}

/// Parts of a product of a matrix with several vectors, each in a function of its own: all in one would
/// be too long for `scripts/kernel-branches`.
struct SeparateParts(Simd);

impl<F: Field> StripKernel<F> for SeparateParts {
    const STRIP_ROWS: usize = loops::strip_rows::<F>();

    fn add_blocks(&self, out: &mut [F], rows: usize, factors: Factors<'_, F>) {
        mat_mul_blocks(self.0, out, rows, factors);
    }

    fn add_strip<const ROWS: usize>(&self, out: &mut [F], factors: Factors<'_, F>, strip: Strip) {
        mat_mul_strip::<F, ROWS>(self.0, out, factors, strip);
    }
}

pub(super) fn mat_mul_add<F: Field>(
    simd: Simd,
    out: &mut [F],
    rows: usize,
    factors: Factors<'_, F>,
) {
    add_products_of_several(out, rows, factors, &SeparateParts(simd));
}

/// Elements that are drawn and then looked at while they lie in the first-level cache; whole
/// blocks of the generator for every field.
const PIECE: usize = 1024;

/// Why it is public whether a draw is an element.
const REJECTED: &str = "draws that are rejected say nothing about those that are kept";

pub(super) fn fill_random<F: Field>(simd: Simd, prg: &mut Prg, out: &mut [F]) {
    for piece in out.chunks_mut(PIECE) {
        prg.fill_bytes(piece.as_mut_bytes());
        if SecretBit::carry(truncate(simd, piece)).declassify(REJECTED) {
            continue;
        }
        // Rare: below 2^-20 per piece for the worst prime.
        for element in piece {
            while !SecretBit::carry(element.is_reduced()).declassify(REJECTED) {
                let mut again = [F::ZERO];
                prg.fill_bytes(again.as_mut_bytes());
                *element = again[0].truncated();
            }
        }
    }
}
