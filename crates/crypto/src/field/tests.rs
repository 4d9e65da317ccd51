//! Every operation against the clear meaning, every width against the portable one.

use super::*;
use crate::{Block, SecretBit};
use plain::Big;

/// Arithmetic modulo any 128-bit number, bit by bit: slow and plain.
mod plain {
    pub struct Big;

    impl Big {
        pub fn add(a: u128, b: u128, modulus: u128) -> u128 {
            let room = modulus - a;
            if b >= room { b - room } else { a + b }
        }

        pub fn mul(a: u128, b: u128, modulus: u128) -> u128 {
            (0..128).rev().fold(0, |product, bit| {
                let doubled = Big::add(product, product, modulus);
                if b >> bit & 1 == 1 { Big::add(doubled, a, modulus) } else { doubled }
            })
        }
    }
}

fn prg(seed: u128) -> Prg {
    Prg::from_seed(Block::from_bits(seed))
}

/// Numbers where carries and reductions begin and end, and random ones.
fn samples<F: Field>(count: usize, seed: u128) -> Vec<F> {
    let p = F::MODULUS;
    let edges = [0, 1, 2, p - 1, p - 2, p / 2, p / 2 + 1, 1 << 31, (1 << 31) - 1, 1 << 16];
    let mut x = vec![F::ZERO; count];
    let mut prg = prg(seed);
    F::fill_random(&mut prg, &mut x);
    for (i, x) in x.iter_mut().enumerate() {
        let choice = prg.next_block().to_bits() as usize;
        if choice.is_multiple_of(3) || i < edges.len() && seed.is_multiple_of(2) {
            *x = F::new(edges[(choice / 3) % edges.len()] % p);
        }
    }
    x
}

fn single_elements_mean_what_they_say<F: Field>() {
    let p = F::MODULUS;
    let x = samples::<F>(60, 2);
    for &a in &x {
        assert!(a.value() < p && F::new(a.value()) == a);
        for &b in &x {
            let [m, n] = [a, b].map(F::value);
            assert!(a.add(b).value() == Big::add(m, n, p));
            assert!(a.sub(b).value() == Big::add(m, (p - n) % p, p));
            assert!(a.mul(b).value() == Big::mul(m, n, p), "{m} * {n} in {}", F::NAME);
            assert!(a.mul_in_lane(b).value() == Big::mul(m, n, p), "{m} * {n} in {}", F::NAME);
            for sum in [F::wide_mul_add, F::wide_mul_add_in_lane] {
                let sum = sum(sum(F::Wide::default(), a, b), b, b);
                let expected = Big::add(Big::mul(m, n, p), Big::mul(n, n, p), p);
                assert!(F::narrow(sum).value() == expected);
                assert!(F::narrow(F::fold(sum)).value() == expected);
            }
        }
        assert!(a.neg().add(a) == F::ZERO);
        if a != F::ZERO {
            assert!(a.inverse().mul(a) == F::ONE);
        }
        let root = a.mul(a).square_root().expect("a square has a root");
        assert!(root == a || root == a.neg());
        let other = a.mul(a).mul(F::new(F::NON_SQUARE));
        assert!(other.square_root().is_none() || a == F::ZERO);
        let differs = a.equals(a.add(F::ONE)) | a.equals(a.add(F::new(F::MODULUS / 2)));
        assert!((a.equals(a) & !differs).mask() == u64::MAX);
        assert!(a.and_bit(SecretBit::public(true)) == a);
        assert!(a.and_bit(SecretBit::public(false)) == F::ZERO);
    }
    for value in [0, 1, p - 1, p, p.wrapping_add(1), p.wrapping_mul(2), 1 << 64, u128::MAX] {
        assert!(F::new(value).value() == value % p, "{value} in {}", F::NAME);
    }
    for value in [0, 1, -1, 12345, -12345, i128::MAX, i128::MIN] {
        let size = value.unsigned_abs() % p;
        let expected = if value < 0 { (p - size) % p } else { size };
        assert!(F::from_signed(value).value() == expected, "{value} in {}", F::NAME);
    }
    assert!(F::BYTES == size_of::<F>() && p >> (F::BITS - 1) == 1);
}

#[test]
fn elements_mean_what_they_say() {
    single_elements_mean_what_they_say::<F61>();
    single_elements_mean_what_they_say::<F32>();
    single_elements_mean_what_they_say::<F128>();
}

fn loops_mean_what_elements_mean<F: Field>(simd: Simd) {
    for len in (0..=70).chain([1000]) {
        let seed = len as u128;
        let [x, y, start] = [1, 2, 3].map(|i| samples::<F>(len, 100 * i + seed));
        let k = samples::<F>(12, seed)[len % 12];
        let what = || format!("{len} elements, {} in {}", simd.name(), F::NAME);
        let each = |out: Vec<F>, expected: &dyn Fn(usize) -> F| {
            let right = out.iter().enumerate().all(|(i, out)| *out == expected(i));
            assert!(right, "{}", what());
        };
        let with = |run: &dyn Fn(&mut [F])| {
            let mut out = start.clone();
            run(&mut out);
            out
        };
        each(with(&|out| kernels::add_assign(simd, out, &x)), &|i| start[i].add(x[i]));
        each(with(&|out| kernels::sub_assign(simd, out, &x)), &|i| start[i].sub(x[i]));
        each(with(&|out| kernels::scale_add(simd, out, k, &x)), &|i| start[i].add(x[i].mul(k)));
        let before = samples::<F>(2 * len, 12 + seed);
        let (mut pairs, ks) = (before.clone(), [k, F::new(seed)]);
        kernels::scale_add_pairs(simd, &mut pairs, ks, &y);
        let factor = |i: usize| ks[i % 2];
        each(pairs, &|i| before[i].add(y[i / 2].mul(factor(i))));
        each(with(&|out| kernels::scale_assign(simd, out, k)), &|i| start[i].mul(k));
        each(with(&|out| kernels::mul_slices(simd, out, &x, &y)), &|i| x[i].mul(y[i]));
        let sums = with(&|out| kernels::mul_add_assign(simd, out, &x, &y));
        each(sums, &|i| start[i].add(x[i].mul(y[i])));
        let sum = x.iter().fold(F::ZERO, |sum, x| sum.add(*x));
        assert!(kernels::sum(simd, &x) == sum, "{}", what());
        let dot = x.iter().zip(&y).fold(F::ZERO, |sum, (x, y)| sum.add(x.mul(*y)));
        assert!(kernels::dot(simd, &x, &y) == dot, "{}", what());
        assert!(kernels::are_reduced(simd, &x), "{}", what());
    }
}

#[test]
fn loops_mean_the_same_at_every_width() {
    for simd in Simd::supported() {
        loops_mean_what_elements_mean::<F61>(simd);
        loops_mean_what_elements_mean::<F32>(simd);
        loops_mean_what_elements_mean::<F128>(simd);
    }
}

fn matrices_times_vectors<F: Field>(simd: Simd) {
    let sizes = [(0, 3), (3, 0), (1, 1), (70, 9), (17, 64), (8, 4), (64, 5), (2049, 6), (4101, 3)];
    for (rows, cols) in sizes.into_iter().chain((0..40).map(|i| (i, 41 - i))) {
        let (matrix, vector) = (samples::<F>(rows * cols, 5), samples::<F>(cols, 6));
        let mut out = samples::<F>(rows, 7);
        let expected: Vec<F> = (0..rows)
            .map(|i| (0..cols).fold(out[i], |sum, j| sum.add(matrix[j * rows + i].mul(vector[j]))))
            .collect();
        F::mat_vec_add_on(simd, 1, &mut out, &matrix, &vector);
        assert!(out == expected, "{rows} by {cols}, {} in {}", simd.name(), F::NAME);
        let mut threaded = samples::<F>(rows, 7);
        F::mat_vec_add_on(simd, 3, &mut threaded, &matrix, &vector);
        assert!(threaded == expected, "{rows} by {cols} on 3 threads in {}", F::NAME);
    }
    // The largest sums that there can be.
    let last = F::new(F::MODULUS - 1);
    let (rows, cols) = (40, 20_000);
    let mut out = vec![last; rows];
    F::mat_vec_add_on(simd, 1, &mut out, &vec![last; rows * cols], &vec![last; cols]);
    assert!(out.iter().all(|out| *out == F::new(cols as u128 - 1)), "{}", simd.name());
    let ones = vec![last; 100_000];
    assert!(kernels::dot(simd, &ones, &ones) == F::new(100_000), "{}", simd.name());
}

#[test]
fn matrices_mean_the_same_at_every_width() {
    for simd in Simd::supported() {
        matrices_times_vectors::<F61>(simd);
        matrices_times_vectors::<F32>(simd);
        matrices_times_vectors::<F128>(simd);
    }
}

fn only_reduced_bytes_are_read<F: Field>() {
    let x = samples::<F>(50, 8);
    for simd in Simd::supported() {
        for at in 0..x.len() {
            let mut wrong = x.clone();
            assert!(kernels::are_reduced(simd, &wrong));
            let bytes = &mut wrong[at..=at];
            bytes.as_mut_bytes().copy_from_slice(&F::MODULUS.to_le_bytes()[..F::BYTES]);
            assert!(!kernels::are_reduced(simd, &wrong), "{} in {}", simd.name(), F::NAME);
            let mut out = x.clone();
            assert!(F::read(wrong.as_bytes(), &mut out) == Err(NotReduced));
            assert!(out.iter().all(|out| *out == F::ZERO));
            assert!(F::read(x.as_bytes(), &mut out) == Ok(()) && out == x);
        }
    }
}

#[test]
fn bytes_are_read_if_they_are_reduced() {
    only_reduced_bytes_are_read::<F61>();
    only_reduced_bytes_are_read::<F32>();
    only_reduced_bytes_are_read::<F128>();
}

fn random_elements_are_uniform<F: Field>() {
    let mut widths = Simd::supported().map(|simd| {
        let mut x = vec![F::ZERO; 30_000];
        kernels::fill_random(simd, &mut prg(9), &mut x[..20_000]);
        kernels::fill_random(simd, &mut prg(10), &mut x[20_000..]);
        x
    });
    let x = widths.next().expect("portable is always supported");
    assert!(widths.all(|other| other == x), "every width gives the same elements");
    assert!(x.iter().all(|x| x.value() < F::MODULUS));
    // Each bit is one in half of them: six standard deviations are 520.
    for bit in 0..F::BITS {
        let ones = x.iter().filter(|x| x.value() >> bit & 1 == 1).count();
        assert!(ones.abs_diff(x.len() / 2) < 520, "bit {bit} in {}", F::NAME);
    }
}

#[test]
fn random_elements_are_uniform_in_every_field() {
    random_elements_are_uniform::<F61>();
    random_elements_are_uniform::<F32>();
    random_elements_are_uniform::<F128>();
}

#[test]
fn the_primes_are_prime_and_the_non_squares_none() {
    fn check<F: Field>() {
        // Fermat with the first primes as bases.
        for base in [2, 3, 5, 7, 11, 13, 17, 19, 23, 29] {
            assert!(F::new(base).pow_vartime(F::MODULUS - 1) == F::ONE);
        }
        let power = F::new(F::NON_SQUARE).pow_vartime((F::MODULUS - 1) / 2);
        assert!(power == F::ONE.neg(), "{}", F::NAME);
    }
    check::<F61>();
    check::<F32>();
    check::<F128>();
}

#[test]
fn names_round_trip() {
    for field in FieldName::ALL {
        assert_eq!(FieldName::from_name(field.name()), Some(field));
        assert_eq!(field.bytes(), field.bits().div_ceil(32) as usize * 4);
        assert_eq!(128 - field.modulus().leading_zeros(), field.bits());
    }
    assert_eq!(FieldName::from_name("2^62-1"), None);
}

/// Sizes of small matrices, of strips of all kinds and of what is left, and of large ones.
const PRODUCT_SIZES: [(usize, usize); 13] = [
    (0, 3),
    (1, 1),
    (3, 0),
    (2, 3),
    (5, 4),
    (130, 1),
    (64, 9),
    (16, 8),
    (27, 5),
    (8, 129),
    (300, 14),
    (259, 131),
    (17, 259),
];

fn products_are_sums_of_products<F: Field>() {
    for (i, (rows, columns)) in PRODUCT_SIZES.into_iter().enumerate() {
        let seed = 40 + i as u128;
        for (width, count) in [(1, 1), (2, 1), (3, 1), (1, 6), (2, 8), (3, 3)] {
            let all = width * count;
            let (matrix, shared) = (
                samples::<F>(rows * columns, seed),
                samples::<F>(width * rows * columns, seed + 1),
            );
            let (vectors, factors) =
                (samples::<F>(columns * all, seed), samples::<F>(columns * count, seed));
            let start = samples::<F>(rows * all, seed + 2);
            let mut out = start.clone();
            let terms = [
                ProductTerm { matrix: &shared, vectors: &factors, width: 1, count },
                ProductTerm { matrix: &matrix, vectors: &vectors, width, count },
            ];
            assert!(MatrixProducts::<F>::takes(&OnCpu, 0));
            OnCpu.add(&mut [MatrixProduct { out: &mut out, terms }]);
            for (at, out) in out.iter().enumerate() {
                let (tuple, place) = (at / (rows * width), at % (rows * width));
                let (row, k) = (place / width, place % width);
                let expected = (0..columns).fold(start[at], |sum, c| {
                    let entry = tuple * columns + c;
                    let first = shared[c * rows * width + place].mul(factors[entry]);
                    sum.add(first).add(matrix[c * rows + row].mul(vectors[entry * width + k]))
                });
                let what = (rows, columns, width, count);
                assert!(*out == expected, "{what:?} in {}", F::NAME);
            }
        }
    }
}

fn several_vectors_mean_the_same_at_every_width<F: Field>() {
    for (rows, columns) in PRODUCT_SIZES {
        for (width, count) in [(1, 3), (1, 8), (2, 1), (2, 5), (3, 2)] {
            let all = width * count;
            let (matrix, vectors) =
                (samples::<F>(rows * columns, 71), samples::<F>(columns * all, 72));
            let start = samples::<F>(rows * all, 73);
            let mut results = Simd::supported().map(|simd| {
                let mut out = start.clone();
                F::mat_mul_add_on(simd, &mut out, (&matrix, columns), (&vectors, width));
                out
            });
            let portable = results.next().expect("portable is always supported");
            let what = (rows, columns, width, count);
            assert!(results.all(|out| out == portable), "{what:?} in {}", F::NAME);
        }
    }
}

#[test]
fn several_vectors_at_every_width() {
    several_vectors_mean_the_same_at_every_width::<F32>();
    several_vectors_mean_the_same_at_every_width::<F61>();
    several_vectors_mean_the_same_at_every_width::<F128>();
}

#[test]
fn products_of_matrices_are_sums_of_products() {
    products_are_sums_of_products::<F32>();
    products_are_sums_of_products::<F61>();
    products_are_sums_of_products::<F128>();
}
