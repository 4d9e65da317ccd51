//! Elements of every field, single and in slices.
//!
//! Everything is computed on arguments that the compiler does not know, among them those at the ends of
//! a field, whose sums and differences carry.

use std::hint::black_box;

use phineus_crypto::field::{F32, F61, F128, Field};
use phineus_crypto::secret::classify;
use phineus_crypto::{Block, Prg, SecretBit, Simd};

/// Not a multiple of any vector's length, so that what is left over runs in words.
const LEN: usize = 77;

fn secret<F: Field>(seed: u128, len: usize) -> Vec<F> {
    let mut elements = vec![F::ZERO; len];
    F::fill_random(&mut Prg::from_seed(Block::from_bits(seed)), &mut elements);
    for (i, element) in elements.iter_mut().enumerate().take(8) {
        // Carries and borrows at the ends of the field.
        *element = [F::ZERO, F::ONE, F::ONE.neg(), F::new(F::MODULUS / 2)][i % 4];
    }
    classify(&mut elements[..]);
    elements
}

/// Has the compiler compute what nobody uses.
fn done<F: Field>(elements: &[F]) {
    black_box(elements);
}

#[inline(never)]
fn single_elements<F: Field>(x: &[F], y: &[F], out: &mut [F]) {
    for (out, (&x, &y)) in out.iter_mut().zip(x.iter().zip(y)) {
        let bit = SecretBit::lowest(x.value() as u64);
        let sum = x.add(y).sub(x.mul(y)).neg().and_bit(bit);
        *out = sum.add(F::new(x.value() ^ y.value())).mul_in_lane(y);
    }
}

#[inline(never)]
fn signed<F: Field>(numbers: &[i128], out: &mut [F]) {
    for (out, &number) in out.iter_mut().zip(numbers) {
        *out = F::from_signed(number);
    }
}

fn slices<F: Field>(simd: Simd) {
    let (x, y, k) = (secret::<F>(1, LEN), secret::<F>(2, LEN), secret::<F>(3, 2));
    let mut out = secret::<F>(4, LEN);
    F::add_assign(&mut out, &x);
    F::sub_assign(&mut out, &y);
    F::scale_add(&mut out, k[0], &x);
    F::scale_assign(&mut out, k[1]);
    done(&out);
    F::mul_add_assign(&mut out, &x, &y);
    done(&out);
    F::mul_slices(&mut out, &x, &y);
    done(&[F::dot(&out, &x), F::sum(&y)]);
    let mut pairs = secret::<F>(5, 2 * LEN);
    F::scale_add_pairs(&mut pairs, [k[0], k[1]], &x);
    done(&pairs);
    let (matrix, vectors) = (secret::<F>(6, 7 * LEN), secret::<F>(7, 7 * 3));
    F::mat_vec_add_on(simd, 1, &mut out, &matrix, &vectors[..7]);
    done(&out);
    let mut products = secret::<F>(8, 3 * LEN);
    F::mat_mul_add_on(simd, &mut products, (&matrix, 7), (&vectors, 3));
    done(&products);
}

fn of_a_field<F: Field>() {
    let (x, y) = (secret::<F>(9, LEN), secret::<F>(10, LEN));
    let mut out = vec![F::ZERO; LEN];
    single_elements(black_box(&x), black_box(&y), &mut out);
    done(&out);
    let mut numbers: Vec<i128> = (0..LEN as i128).map(|i| (i - 40) << i).collect();
    classify(&mut numbers[..]);
    signed(black_box(&numbers), &mut out);
    done(&out);
    done(&[black_box(x[9]).pow_vartime(F::MODULUS - 2)]);
    for simd in Simd::supported() {
        slices::<F>(simd);
    }
}

pub fn all() {
    of_a_field::<F32>();
    of_a_field::<F61>();
    of_a_field::<F128>();
}
