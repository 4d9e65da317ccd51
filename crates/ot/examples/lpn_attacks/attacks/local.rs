//! Attacks on a part of the code, made possible by rows with few entries.
//!
//! A row of `d` entries lies within `v` of the `k` columns with probability about `(v / k)^d`. If
//! `v` columns hold more than `v` whole rows, these rows are an instance of their own: its dimension
//! is `v`, its errors are those of the same blocks. Random columns do for `v = k (k / n)^(1 / (d -
//! 1))` (the domain reduction of Chen, Shu, Zhou, "Algorithms for Sparse LPN and LSPN Against
//! Low-noise", arXiv 2407.19215); columns can be chosen better. [`best_fraction`] does not ask how:
//! below it no choice exists but with negligible probability, by a union bound over all choices.
//!
//! Charged less than in `published`: an iteration of ISD costs `v^2` bit operations of linear
//! algebra, as if exchanging one row gave a fresh information set, and its lists; sparse systems are
//! solved by Wiedemann's algorithm. The parities of whole blocks are not available within a part.

use super::published::{regular_chance, representations};
use super::{Instance, log2_binomial, log2_sum};

/// Regular ISD on the whole code at `k^2` an iteration.
pub fn dense_isd(instance: Instance) -> f64 {
    isd(instance, instance.k - instance.t)
}

/// ISD on the rows within random columns.
pub fn random_isd(instance: Instance, entries: usize) -> f64 {
    isd(instance, instance.k * random_fraction(instance, entries))
}

/// ISD on the rows within the smallest set of columns that holds enough rows.
pub fn best_isd(instance: Instance, entries: usize) -> f64 {
    isd(instance, instance.k * best_fraction(instance, entries))
}

/// The fraction of the columns, taken at random, that holds as many rows as columns.
pub fn random_fraction(Instance { n, k, .. }: Instance, entries: usize) -> f64 {
    (k / n).powf(1.0 / (entries as f64 - 1.0))
}

/// No smaller fraction of the columns holds as many rows as columns.
pub fn best_fraction(instance: Instance, entries: usize) -> f64 {
    let (mut below, mut above) = (0.01, 1.0);
    for _ in 0..50 {
        let middle = (below + above) / 2.0;
        if rows_at_most(instance, entries, middle) < middle * instance.k {
            below = middle;
        } else {
            above = middle;
        }
    }
    below
}

/// No choice of this fraction of the columns holds more rows.
///
/// There are at most `exp(k H(x))` choices, `H` being the entropy; each holds a number of rows that
/// is binomial with mean `n x^d`, and `m` or more with probability at most
/// `exp(-(m ln(m / mean) - m + mean))` (Chernoff).
fn rows_at_most(Instance { n, k, .. }: Instance, entries: usize, fraction: f64) -> f64 {
    if fraction >= 1.0 {
        return n;
    }
    let mean = n * fraction.powi(entries as i32);
    let choices = -k * (fraction * fraction.ln() + (1.0 - fraction) * (1.0 - fraction).ln());
    let (mut below, mut above) = (mean, n);
    for _ in 0..60 {
        let rows = (below + above) / 2.0;
        if rows * (rows / mean).ln() - rows + mean < choices {
            below = rows;
        } else {
            above = rows;
        }
    }
    above
}

/// The better of enumeration and representations (ePrint 2023/1568) on `dimension` independent rows.
fn isd(instance: Instance, dimension: f64) -> f64 {
    let Instance { n, t, .. } = instance;
    let elimination = 2.0 * dimension.log2();
    let charge = |work: f64| log2_sum(&[elimination, work]);
    let mut least = representations(t, dimension, n / t, charge);
    for p in (0..30).step_by(2).map(f64::from) {
        // Two lists and as many matches: the window is as long as a list.
        let list = log2_binomial(t / 2.0, p / 2.0) + p / 2.0 * (dimension / t).log2();
        let chance = regular_chance(t, p, (dimension + list.max(0.0)) / n);
        least = least.min(charge(list + 3f64.log2()) - chance);
    }
    least
}

/// Linearisation in the secret's bits: within a block the product of any two errors is 0, and an
/// error is a sum of `entries` bits of the secret and a constant. `zeros` samples of each block are
/// guessed to be free of error, which gives as many linear equations; then the products by all
/// monomials are solved at the degree of a semi-regular system (as in ePrint 2023/176, but in the
/// secret's bits, where equations have at most `(entries + 1)^2` terms), by Wiedemann: 3 operations
/// for each term and monomial, squared. With the columns chosen as well as can be.
pub fn algebraic(instance: Instance, entries: usize) -> f64 {
    let terms = ((entries + 1) * (entries + 1)) as f64;
    let mut least = f64::INFINITY;
    for percent in (40..=100).step_by(2) {
        let fraction = f64::from(percent) / 100.0;
        let (columns, rows) = (fraction * instance.k, rows_at_most(instance, entries, fraction));
        let parities = if percent == 100 { instance.t } else { 0.0 };
        for degree in 2..=6 {
            if let Some(zeros) = guesses(instance, columns - parities, rows, degree) {
                let monomials = log2_binomial(columns, degree as f64);
                let chance = instance.t * (1.0 - zeros / instance.block()).log2();
                least = least.min((3.0 * terms).log2() + 2.0 * monomials - chance);
            }
        }
    }
    least
}

/// The fewest guesses in each block that let `degree` do.
fn guesses(instance: Instance, columns: f64, rows: f64, degree: usize) -> Option<f64> {
    let block = rows / instance.t;
    let does = |zeros: f64| {
        let open = block - zeros;
        solves(columns - zeros * instance.t, instance.t * open * (open - 1.0) / 2.0, degree)
    };
    (0..block as usize).map(|zeros| zeros as f64).find(|&zeros| does(zeros))
}

/// Returns whether a semi-regular system of `equations` in `unknowns` bits is solved at `degree`: a
/// coefficient of `(1 + z)^unknowns / (1 + z^2)^equations` up to it is not positive.
fn solves(unknowns: f64, equations: f64, degree: usize) -> bool {
    if unknowns <= 0.0 {
        return true;
    }
    let mut monomials = vec![1.0];
    let mut syzygies = vec![1.0];
    for i in 1..=degree {
        monomials.push(monomials[i - 1] * (unknowns - (i - 1) as f64) / i as f64);
        syzygies.push(-syzygies[i - 1] * (equations + (i - 1) as f64) / i as f64);
    }
    (2..=degree).any(|d| {
        let coefficient: f64 = (0..=d / 2).map(|i| syzygies[i] * monomials[d - 2 * i]).sum();
        coefficient <= 0.0
    })
}

/// The lightest parity check of a code: what tests of one linear combination can rest on.
pub struct LightestCheck {
    /// Rows that add up to nothing: no fewer do, but with negligible probability.
    pub rows: f64,
    /// log2 of the bias that a check of so many samples has at most.
    pub bias: f64,
    /// log2 of the random information sets that finding it takes.
    pub finding: f64,
}

/// The fewest rows of `entries` random entries whose sum is expected to vanish anywhere, above the
/// handful that birthdays would bring.
pub fn lightest_check(instance: Instance, entries: usize) -> LightestCheck {
    let Instance { n, k, .. } = instance;
    let (mut below, mut above) = (64.0, k);
    while above - below > 1.0 {
        let rows = f64::floor((below + above) / 2.0);
        if log2_checks(instance, entries, rows) < 0.0 {
            below = rows;
        } else {
            above = rows;
        }
    }
    LightestCheck {
        rows: above,
        bias: above * (1.0 - 2.0 / instance.block()).log2(),
        finding: log2_binomial(n, above) - log2_binomial(k, above),
    }
}

/// log2 of at most how many sets of `rows` rows are expected to add up to nothing: every column must
/// be hit an even number of times, whose generating function is `cosh(z)^k`.
fn log2_checks(Instance { n, k, .. }: Instance, entries: usize, rows: f64) -> f64 {
    let hits = rows * entries as f64;
    // The best z of the bound: k z tanh(z) = hits.
    let (mut below, mut above) = (1e-9, hits / k + 1.0);
    for _ in 0..60 {
        let z = f64::midpoint(below, above);
        if k * z * z.tanh() < hits { below = z } else { above = z }
    }
    let z = above;
    let orders = super::ln_factorial(hits) - hits * k.ln();
    let even = k * z.cosh().ln() - hits * z.ln();
    log2_binomial(n, rows) + (orders + even) / std::f64::consts::LN_2
}
