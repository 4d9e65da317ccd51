//! Costs of breaking learning parity with noise at a given size: log2 of the operations.
//!
//! `published` holds the formulas of the literature as their papers state them, for a random code;
//! `local` what follows from rows with few entries. The unit tests of the library compile these
//! files too and assert the least for every size in use.
//!
//! Conventions: operations are those of each paper (bit operations, but word operations in
//! [`published::gauss`]); memory and its latency are free; a table entry is the expected work to
//! solve one instance, so an attacker who stops after a fraction f of the work succeeds with
//! probability about f.

pub mod local;
pub mod published;

/// An instance with regular noise: `t` blocks of `n / t` samples with one error each.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    /// Samples.
    pub n: f64,
    /// Length of the secret.
    pub k: f64,
    /// Errors.
    pub t: f64,
}

impl Instance {
    pub fn new(n: usize, k: usize, t: usize) -> Instance {
        Instance { n: n as f64, k: k as f64, t: t as f64 }
    }

    /// Samples of a block.
    pub fn block(self) -> f64 {
        (self.n / self.t).floor()
    }

    /// Uses what the sum of each block says: one equation without noise a block (ePrint 2022/712,
    /// section 5, and ePrint 2023/1568), so an instance of `n - t` samples and dimension `k - t`.
    pub fn without_parities(self) -> Instance {
        Instance { n: self.n - self.t, k: self.k - self.t, t: self.t }
    }
}

/// The name of an attack, where it is from, and log2 of what it costs.
pub struct Estimate {
    pub attack: &'static str,
    pub source: &'static str,
    pub bits: f64,
}

/// All attacks on an instance whose code has rows of `entries` entries.
pub fn all(instance: Instance, entries: usize) -> Vec<Estimate> {
    let dense = instance.without_parities();
    let row = |attack, source, bits| Estimate { attack, source, bits };
    vec![
        row("pooled Gauss", "2022/712", published::gauss(dense)),
        row("statistical decoding", "2022/712", published::statistical_decoding(dense)),
        row("statistical decoding 2.0", "2022/712", published::statistical_decoding_2(dense)),
        row("ISD: Stern, Dumer", "2022/712", published::stern(dense)),
        row("ISD: BJMM", "2022/712", published::bjmm(dense)),
        row("regular ISD: permutation", "2023/1568", published::regular_permutation(instance)),
        row("regular ISD: enumeration", "2023/1568", published::regular_enumeration(instance)),
        row(
            "regular ISD: representations",
            "2023/1568",
            published::regular_representations(instance),
        ),
        row("algebraic, hybrid", "2023/176", published::algebraic(instance)),
        row("hybrid with quadratic equations", "2025/1284", published::hybrid(instance)),
        row("regular ISD, free linear algebra", "here", local::dense_isd(instance)),
        row("local: algebraic, sparse solver", "here", local::algebraic(instance, entries)),
        row("local: ISD, random columns", "2407.19215", local::random_isd(instance, entries)),
        row("local: ISD, best columns", "here, a bound", local::best_isd(instance, entries)),
    ]
}

/// The cheapest attack.
pub fn least(estimates: &[Estimate]) -> &Estimate {
    let by_bits = |a: &&Estimate, b: &&Estimate| a.bits.total_cmp(&b.bits);
    estimates.iter().min_by(by_bits).expect("there are attacks")
}

/// log2 of the number of `k`-subsets of `n`.
pub fn log2_binomial(n: f64, k: f64) -> f64 {
    if k < 0.0 || k > n {
        return f64::NEG_INFINITY;
    }
    (ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)) / std::f64::consts::LN_2
}

/// ln of `x` factorial: a product to 20, from there Stirling's series.
fn ln_factorial(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 20.0 {
        x += 1.0;
        below += x.ln();
    }
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    x * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI * x).ln() + series - below
}

/// log2 of the sum of powers of two.
pub fn log2_sum(exponents: &[f64]) -> f64 {
    let most = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + exponents.iter().map(|exponent| (exponent - most).exp2()).sum::<f64>().log2()
}
