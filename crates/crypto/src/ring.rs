//! Matrices times one or several vectors in `Z_2^32` and `Z_2^64`: on additive shares, a public or
//! own matrix times vectors of shares.
//!
//! Cost: a multiplication and an addition of words per element, in vectors; out of cache, memory is
//! the limit. Constant time.

#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use crate::matrix::{
    Factors, Inlined, MatrixRows, SumOfProducts, add_products, add_products_of_several, on_threads,
};
use crate::{Simd, Width};

macro_rules! ring {
    ($name:ident, $several:ident, $products:ident, $word:ty, $doc:literal) => {
        struct $products;

        impl SumOfProducts for $products {
            type Element = $word;
            type Sum = $word;
            const TERMS: usize = usize::MAX;
            const STRIP_ROWS: usize = 8;

            #[inline(always)]
            fn mul_add(sum: $word, a: $word, b: $word) -> $word {
                sum.wrapping_add(a.wrapping_mul(b))
            }

            #[inline(always)]
            fn fold(sum: $word) -> $word {
                sum
            }

            #[inline(always)]
            fn finish(out: $word, sum: $word) -> $word {
                out.wrapping_add(sum)
            }
        }

        #[doc = $doc]
        ///
        /// The matrix lies column by column, `out.len()` rows by `vector.len()` columns. The rows
        /// are shared out to `threads` threads, which pays for matrices of megabytes.
        ///
        /// # Panics
        /// If the matrix has another size.
        pub fn $name(
            simd: Simd,
            threads: usize,
            out: &mut [$word],
            matrix: &[$word],
            vector: &[$word],
        ) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi2")]
            fn avx2(out: &mut [$word], rows: MatrixRows<'_, $word>, vector: &[$word]) {
                add_products::<$products>(out, rows, vector);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
            fn avx512(out: &mut [$word], rows: MatrixRows<'_, $word>, vector: &[$word]) {
                add_products::<$products>(out, rows, vector);
            }
            let rows = MatrixRows::all(matrix, out.len(), vector.len());
            on_threads(threads, out, rows, |out, rows| match simd.width() {
                // SAFETY: a `Simd` exists only for a width whose features this CPU has.
                #[cfg(target_arch = "x86_64")]
                Width::Avx512 => unsafe { avx512(out, rows, vector) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Width::Avx2 => unsafe { avx2(out, rows, vector) },
                _ => add_products::<$products>(out, rows, vector),
            });
        }

        #[doc = $doc]
        ///
        /// For tuples of `width` vectors, one after the other: entry `c` of vector `k` of tuple `t`
        /// is number `(t * columns + c) * width + k`, and so for the results. The matrix lies
        /// column by column and is read once for all vectors.
        ///
        /// # Panics
        /// If the sizes do not fit together.
        pub fn $several(
            simd: Simd,
            out: &mut [$word],
            (matrix, columns): (&[$word], usize),
            (vectors, width): (&[$word], usize),
        ) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi2")]
            fn avx2(out: &mut [$word], rows: usize, factors: Factors<'_, $word>) {
                add_products_of_several(out, rows, factors, &Inlined::<$products>(PhantomData));
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2")]
            fn avx512(out: &mut [$word], rows: usize, factors: Factors<'_, $word>) {
                add_products_of_several(out, rows, factors, &Inlined::<$products>(PhantomData));
            }
            let rows = if columns == 0 { 0 } else { matrix.len() / columns };
            let factors = Factors { matrix, vectors, columns, width };
            match simd.width() {
                // SAFETY: a `Simd` exists only for a width whose features this CPU has.
                #[cfg(target_arch = "x86_64")]
                Width::Avx512 => unsafe { avx512(out, rows, factors) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Width::Avx2 => unsafe { avx2(out, rows, factors) },
                _ => {
                    add_products_of_several(out, rows, factors, &Inlined::<$products>(PhantomData))
                }
            }
        }
    };
}

ring!(mat_vec_add_32, mat_mul_add_32, Products32, u32, "`out += matrix * vectors` modulo 2^32.");
ring!(mat_vec_add_64, mat_mul_add_64, Products64, u64, "`out += matrix * vectors` modulo 2^64.");
