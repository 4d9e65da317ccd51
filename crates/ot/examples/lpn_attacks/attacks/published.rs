//! Attacks of the literature, by the formulas of their papers, on a random code over F_2.
//!
//! * ePrint 2022/712: Liu, Wang, Yang, Yu, "The Hardness of LPN over Any Integer Ring and Field for
//!   PCG Applications", EUROCRYPT 2024, and its script: Gauss, statistical decoding, ISD.
//! * ePrint 2023/176: Briaud, Øygarden, "A New Algebraic Approach to the Regular Syndrome Decoding
//!   Problem and Implications for PCG Constructions", EUROCRYPT 2023.
//! * ePrint 2023/1568: Esser, Santini, "Not Just Regular Decoding: Asymptotics and Improvements of
//!   Regular Syndrome Decoding Attacks", CRYPTO 2024: the concrete costs of its appendix.
//! * ePrint 2025/1284: the hybrid of guessing and linearised quadratic equations.
//!
//! The formulas follow the scripts of the authors (lpnestimator.com); the tests compare with what
//! those print. They charge linear algebra on all `n` samples; `local::dense_isd` does not.

use super::{Instance, log2_binomial, log2_sum};

/// Gaussian elimination on random samples until all are free of errors (2022/712): `k^2.8`
/// divided by the probability.
pub fn gauss(Instance { n, k, t }: Instance) -> f64 {
    let chance = log2_binomial(n - k, t) - log2_binomial(n, t);
    2.8 * k.min(n - k).log2() - chance
}

/// Statistical decoding by parity checks (2022/712): `(k + 1) ((n - t + 1) / (n - k - t))^(2 t)`.
pub fn statistical_decoding(Instance { n, k, t }: Instance) -> f64 {
    (k + 1.0).log2() + 2.0 * t * ((n - t + 1.0) / (n - k - t)).log2()
}

/// Statistical decoding 2.0, bounded as in 2022/712: a part of the secret, as long as Gauss has
/// bits, is for free.
pub fn statistical_decoding_2(instance: Instance) -> f64 {
    let free = gauss(instance).floor();
    statistical_decoding(Instance { k: instance.k - free, ..instance })
}

/// Information-set decoding of Stern and Dumer (2022/712, "SD-ISD").
pub fn stern(instance: Instance) -> f64 {
    let mut least = f64::INFINITY;
    for p in (0..=40).step_by(2) {
        let list = log2_binomial(instance.k / 2.0, f64::from(p) / 2.0);
        for window in 0..=(3.0 * list) as i32 + 40 {
            least = least.min(stern_with(instance, f64::from(p), f64::from(window)));
        }
    }
    least
}

fn stern_with(Instance { n, k, t }: Instance, p: f64, window: f64) -> f64 {
    let window = ((k + window) / 2.0).floor() * 2.0 - k + 2.0;
    let rest = n - k - window;
    let list = log2_binomial((k + window) / 2.0, p / 2.0);
    let matches = 2.0 * list - window;
    let chance = log2_binomial(rest, t - p) - log2_binomial(n, t) + window + matches;
    if rest < 2.0 || chance >= 0.0 {
        return f64::INFINITY;
    }
    let elimination = rest.log2() + n.log2() - rest.log2().log2();
    n.log2() + log2_sum(&[elimination, 1.0 + list, 1.0 + matches]) - chance
}

/// Information-set decoding of Becker, Joux, May, Meurer in depth 3 (2022/712 after Hamdaoui and
/// Sendrier, ePrint 2013/162).
pub fn bjmm(instance: Instance) -> f64 {
    bjmm_up_to(instance, f64::INFINITY)
}

/// Costs of BJMM with collisions on at most `window_max` positions: the authors' script stops at an
/// eighth of the samples beyond the dimension, which in small instances is not enough.
pub fn bjmm_up_to(instance: Instance, window_max: f64) -> f64 {
    let mut least = f64::INFINITY;
    for p2 in (2..=10).step_by(2) {
        let list = log2_binomial(instance.k / 2.0, f64::from(p2) / 2.0);
        for window in 0..=(6.0 * list + 20.0).min(window_max) as i32 {
            for e2 in 0..p2 {
                for e1 in 0..2 * (p2 - e2) {
                    let (p2, e1, e2) = (f64::from(p2), f64::from(e1), f64::from(e2));
                    least = least.min(bjmm_with(instance, p2, f64::from(window), e1, e2));
                }
            }
        }
    }
    least
}

fn bjmm_with(Instance { n, k, t }: Instance, p2: f64, window: f64, e1: f64, e2: f64) -> f64 {
    let window = ((k + window) / 2.0).floor() * 2.0 - k + 2.0;
    let (m, p1) = (k + window, 2.0 * (p2 - e2));
    let p = 2.0 * (p1 - e1);
    let rest = n - m;
    if p > t || rest < 2.0 {
        return f64::INFINITY;
    }
    let half = log2_binomial(m / 2.0, p2 / 2.0);
    let overlap = |p: f64, e: f64| log2_binomial(p, e) + log2_binomial(m - p, p - e);
    let mu2 = overlap(p2, e2) - log2_binomial(m, p2);
    let mu1 = overlap(p1, e1) - log2_binomial(m, p1);
    let r2 = (mu2 + 4.0 * half - log2_binomial(m, p1)).trunc().clamp(0.0, window - 1.0);
    let r1 = overlap(p1, e1) + log2_binomial(m, p1) - log2_binomial(m, p);
    let r1 = (r1.trunc() - r2).clamp(0.0, window - r2 - 1.0);
    let c3 = 2.0 * half - r2;
    let c2 = 2.0 * c3 - r1;
    let s1 = (mu2 + c2).min(log2_binomial(m, p1) - r1 - r2);
    let c1 = 2.0 * s1 - window + r1 + r2;
    let s0 = (mu1 + c1).min(log2_binomial(m, p) - window);
    let chance = log2_binomial(rest, t - p) + window + s0 - log2_binomial(n, t);
    if chance >= 0.0 {
        return f64::INFINITY;
    }
    let elimination = rest.log2() + n.log2() - rest.log2().log2();
    n.log2() + log2_sum(&[elimination, 3.0 + half, 2.0 + c3, 1.0 + c2, 1.0 + c1]) - chance
}

/// Regular ISD by permutations: Prange in blocks, with the parities (2023/1568).
pub fn regular_permutation(instance: Instance) -> f64 {
    let Instance { n, k, t } = whole_blocks(instance);
    let k = k - t;
    2.0 * (n - k).log2() + n.log2() - t * (1.0 - k / n).log2()
}

/// Regular ISD by enumeration: Stern in blocks, with the parities (2023/1568).
pub fn regular_enumeration(instance: Instance) -> f64 {
    let Instance { n, k, t } = whole_blocks(instance);
    let (k, block) = (k - t, instance.block());
    let mut least = f64::INFINITY;
    for p in (0..30).step_by(2).map(f64::from) {
        let list =
            |window: f64| log2_binomial(t / 2.0, p / 2.0) + p / 2.0 * ((k + window) / t).log2();
        for window in (list(0.0) * 0.5) as i32..=(list(0.0) * 1.5) as i32 + 1 {
            let window = f64::from(window);
            let inside = (k + window) / t / block;
            if inside >= 1.0 || p > t {
                continue;
            }
            let chance = regular_chance(t, p, inside);
            let list = list(window);
            let work = (2.0 * (n - k).log2()).max(1.0 + list).max(2.0 * list - window);
            least = least.min(n.log2() + work - chance);
        }
    }
    least
}

/// Regular ISD by representations in depth 2, with the parities (2023/1568).
pub fn regular_representations(instance: Instance) -> f64 {
    let Instance { n, k, t } = whole_blocks(instance);
    let (k, block) = (k - t, instance.block());
    representations(t, k, block, |work| n.log2() + work.max(2.0 * (n - k).log2()))
}

/// The least cost of an iteration by `charge`, from the cost of its lists, over its probability.
pub(super) fn representations(t: f64, k: f64, block: f64, charge: impl Fn(f64) -> f64) -> f64 {
    let mut least = f64::INFINITY;
    for p in (0..40).step_by(4).map(f64::from) {
        for extra in (0..32).step_by(2).map(f64::from) {
            let weight = p / 2.0 + extra;
            let representations =
                log2_binomial(p / 2.0, p / 4.0) + log2_binomial(t / 2.0 - p / 2.0, extra / 2.0);
            let constraint = (2.0 * representations).floor().max(0.0);
            let rough = log2_binomial(t / 2.0, weight / 2.0) + weight / 2.0 * k.log2();
            for window in rough as i32..=(3.0 * rough) as i32 + 1 {
                let window = f64::from(window);
                let inside = (k + window) / t / block;
                if inside >= 1.0 || p > t {
                    continue;
                }
                let first =
                    log2_binomial(t / 2.0, weight / 2.0) + weight / 2.0 * ((k + window) / t).log2();
                let second = 2.0 * first - constraint;
                let last = 2.0 * second - (window - constraint);
                let work = (2.0 + first).max(1.0 + second).max(last);
                least = least.min(charge(work) - regular_chance(t, p, inside));
            }
        }
    }
    least
}

/// log2 of the probability that `p` of the errors, half of them in each half of the blocks, are
/// inside where a part `inside` of each block is.
pub(super) fn regular_chance(t: f64, p: f64, inside: f64) -> f64 {
    2.0 * log2_binomial(t / 2.0, p / 2.0) + p * inside.log2() + (t - p) * (1.0 - inside).log2()
}

/// The algebraic attack with guesses of `zeros` positions without error in `guessed` blocks
/// (2023/176): the witness degree from the Hilbert series, at most 4, then Wiedemann on the
/// Macaulay matrix with rows of `k + 1 - guessed zeros` entries.
pub fn algebraic(instance: Instance) -> f64 {
    let Instance { n, k, t } = instance;
    let block = instance.block();
    let mut least = f64::INFINITY;
    for guessed in 0..=t as usize {
        for zeros in 0..block as usize {
            let (f, mu) = (guessed as f64, zeros as f64);
            if f * mu > k {
                break;
            }
            let monomials = product(&powers(block - mu - 1.0, f), &powers(block - 1.0, t - f));
            let series = product(&monomials, &inverse_power(n - k - 1.0));
            let mut columns = monomials[1];
            for degree in 2..=4 {
                columns += monomials[degree];
                if series[degree] < 1.0 {
                    let cost = 2.0 * columns.log2() + (3.0 * (k + 1.0 - f * mu)).log2();
                    least = least.min(cost - f * (1.0 - mu / block).log2());
                    break;
                }
            }
            if guessed == 0 {
                break;
            }
        }
    }
    least
}

/// The first coefficients of `(1 + a z)^m`.
fn powers(a: f64, m: f64) -> [f64; 5] {
    let mut terms = [1.0; 5];
    for i in 1..5 {
        terms[i] = terms[i - 1] * a * (m - (i - 1) as f64) / i as f64;
    }
    terms
}

/// The first coefficients of `(1 + z)^-m`.
fn inverse_power(m: f64) -> [f64; 5] {
    let mut terms = [1.0; 5];
    for i in 1..5 {
        terms[i] = -terms[i - 1] * (m + (i - 1) as f64) / i as f64;
    }
    terms
}

fn product(a: &[f64; 5], b: &[f64; 5]) -> [f64; 5] {
    std::array::from_fn(|degree| (0..=degree).map(|i| a[i] * b[degree - i]).sum())
}

/// The hybrid attack (2025/1284): `zeros` or one more positions without error are guessed in all
/// blocks but `known`, whose error is guessed; the quadratic equations of the rest are linearised.
pub fn hybrid(instance: Instance) -> f64 {
    let instance = whole_blocks(instance);
    let block = instance.block();
    let cost = |known: usize, zeros: usize, more: usize| {
        hybrid_with(instance, zeros as f64, more as f64, known as f64)
    };
    let zeros_max = block as usize - 3;
    let mut least = (f64::INFINITY, 0, 0);
    for known in 0..40.min(instance.t as usize) {
        let open = instance.t as usize - known;
        for zeros in 0..=zeros_max {
            for more in (0..64).map(|part| part * open / 64) {
                let bits = cost(known, zeros, more);
                if bits < least.0 {
                    least = (bits, known, zeros);
                }
            }
        }
    }
    let (bits, known, zeros) = least;
    let near = zeros.saturating_sub(1)..=(zeros + 1).min(zeros_max);
    let fine =
        near.flat_map(|zeros| (0..instance.t as usize - known).map(move |more| (zeros, more)));
    fine.map(|(zeros, more)| cost(known, zeros, more)).fold(bits, f64::min)
}

fn hybrid_with(instance: Instance, zeros: f64, more: f64, known: f64) -> f64 {
    let Instance { n, k, t } = instance;
    let block = instance.block();
    let chance = more * (1.0 - (zeros + 1.0) / block).log2()
        + (t - known - more) * (1.0 - zeros / block).log2();
    let unknown = k - t - (zeros + 1.0) * more - (t - more - known) * zeros;
    let solved = ((n - k) / (block - 1.0)).floor();
    let rest = n - k - solved * (block - zeros - 2.0);
    let elimination = (rest.max(1.0) * (n - k) * (rest + unknown).max(1.0)).max(1.0).log2();
    if unknown <= 0.0 {
        return elimination - chance;
    }
    let equations = (t - more - known) * (block - zeros - 2.0) * (block - zeros - 1.0) / 2.0
        + more * (block - zeros - 2.0) * (block - zeros - 3.0) / 2.0;
    let guessed = (block - 1.0) * known;
    let free = unknown - guessed;
    if free < 0.0 || free > (2.0 * equations).sqrt() - 2.0 {
        return f64::INFINITY;
    }
    let linearise = 4.0 * free.max(1.0).log2() + 2.0 * unknown.log2()
        - 3.0
        - (free * free / 2.0).max(2.0).log2().log2();
    let update = 1.25 * (2.0 * free * free * guessed + free * guessed * guessed)
        + (2.5 * free).powi(3) / (2.5 * free).max(2.0).log2();
    let attempts = block.log2() * known;
    log2_sum(&[elimination, linearise.max(0.0), update.max(1.0).log2() + attempts]) - chance
}

/// The instance with blocks of a whole number of samples: what is left over is not used.
fn whole_blocks(instance: Instance) -> Instance {
    let n = instance.block() * instance.t;
    Instance { n, k: n - (instance.n - instance.k), ..instance }
}
