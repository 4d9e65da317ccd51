//! Lookup in a table of constants: what each bit of a row is of the bits of the index.
//!
//! Every bit of a row is a polynomial over GF(2) in the bits of the index, its *algebraic normal form*. Polynomials that
//! differ by an affine one cost the same, so a basis of them is computed, and the rest is XORs. To compute polynomials
//! in `k` variables, either all products of variables are made, `2^k - k - 1` ANDs, or the highest variable `x` is taken
//! out, `p = q + x r`: an AND for each of the `r` that are independent, and then polynomials in `k - 1` variables.
//!
//! Source: Boyar, Peralta, Pochuev, "On the multiplicative complexity of Boolean functions over the basis (and, xor, 1)",
//! Theoretical Computer Science 235, 2000, for one function: about `2^(k/2 + 1)` ANDs. Tables whose bits are
//! combinations of those of the AES S-box, or of its inverse, take its 32 ANDs: so do tables that hold its multiples.
//!
//! ANDs of a random table with rows of 1, 4, 8 and 32 bits: by an index of 4 bits 4, 8, 11, 11; of 6 bits 11, 23, 33, 57;
//! of 8 bits 26, 54, 80, 151. A tree of choices takes some `2^(k-1)` for each bit of a row.

use crate::record::{Recorder, Wire};
use crate::sbox::{PLANES, Planes};

/// The most bits of an index: a table of 4096 rows.
pub const INDEX_BITS_MAX: u16 = 12;

/// Products of variables that are summed by one lookup of their sums.
const GROUP: usize = 4;

/// Coefficients of a polynomial: bit `s` of the words is that of the product of the variables in the set `s`.
#[derive(Clone, PartialEq, Eq)]
struct Polynomial(Vec<u64>);

impl Polynomial {
    fn zero(variables: u16) -> Polynomial {
        Polynomial(vec![0; (1usize << variables).div_ceil(64)])
    }

    /// The polynomial with these values.
    fn of_values(variables: u16, value: impl Fn(usize) -> bool) -> Polynomial {
        let size = 1usize << variables;
        let mut coefficients: Vec<bool> = (0..size).map(value).collect();
        for variable in 0..variables {
            let step = 1 << variable;
            for set in (0..size).filter(|set| set & step != 0) {
                coefficients[set] ^= coefficients[set ^ step];
            }
        }
        let mut found = Polynomial::zero(variables);
        coefficients
            .iter()
            .enumerate()
            .filter(|(_, one)| **one)
            .for_each(|(set, _)| found.flip(set));
        found
    }

    fn flip(&mut self, set: usize) {
        self.0[set / 64] ^= 1 << (set % 64);
    }

    fn coefficient(&self, set: usize) -> bool {
        self.0[set / 64] >> (set % 64) & 1 == 1
    }

    fn add(&mut self, other: &Polynomial) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word ^= other);
    }

    /// Without the coefficients that `free` has.
    fn without(&self, free: &Polynomial) -> Polynomial {
        Polynomial(self.0.iter().zip(&free.0).map(|(word, free)| word & !free).collect())
    }

    /// The highest product in it.
    fn leading(&self) -> Option<usize> {
        let (at, word) = self.0.iter().enumerate().rev().find(|(_, word)| **word != 0)?;
        Some(at * 64 + 63 - word.leading_zeros() as usize)
    }

    /// `q` and `r`, in one variable fewer, of `q + x r` with the highest variable `x`.
    fn split_highest(&self, variables: u16) -> [Polynomial; 2] {
        let half = 1usize << (variables - 1);
        [0, half].map(|from| {
            let mut part = Polynomial::zero(variables - 1);
            (0..half).filter(|set| self.coefficient(from + set)).for_each(|set| part.flip(set));
            part
        })
    }
}

/// The constant 1, and with `degree` 1 all variables too, as coefficients that cost nothing.
fn free(variables: u16, degree: u32) -> Polynomial {
    let mut free = Polynomial::zero(variables);
    free.flip(0);
    (0..variables).filter(|_| degree == 1).for_each(|variable| free.flip(1 << variable));
    free
}

/// Polynomials as sums of independent ones and of what is free.
struct Basis {
    members: Vec<Polynomial>,
    /// Of each polynomial, which members its sum has, and its free part.
    sums: Vec<(Vec<usize>, Polynomial)>,
}

impl Basis {
    fn of(polynomials: &[Polynomial], free: &Polynomial) -> Basis {
        let (mut members, mut leading): (Vec<Polynomial>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut reduced = |polynomial: &Polynomial| {
            let (mut rest, mut sum) = (polynomial.clone(), Vec::new());
            while let Some(highest) = rest.without(free).leading() {
                let known = leading.iter().position(|&leading| leading == highest);
                let member = known.unwrap_or_else(|| {
                    members.push(rest.without(free));
                    leading.push(highest);
                    members.len() - 1
                });
                rest.add(&members[member]);
                sum.push(member);
            }
            (sum, rest)
        };
        let sums = polynomials.iter().map(&mut reduced).collect();
        Basis { members, sums }
    }
}

/// The members `q + x r` of a basis, in one variable fewer.
struct Halves {
    /// As many independent `r` as there are, and then each `q`.
    polynomials: Vec<Polynomial>,
    products: usize,
    /// Of each member, the sum that its `r` is.
    factors: Vec<(Vec<usize>, Polynomial)>,
}

impl Halves {
    fn of(members: &[Polynomial], variables: u16) -> Halves {
        let halves = members.iter().map(|member| member.split_highest(variables));
        let (remainders, factors): (Vec<_>, Vec<_>) = halves.map(|[q, r]| (q, r)).unzip();
        let Basis { members: independent, sums } = Basis::of(&factors, &free(variables - 1, 0));
        let products = independent.len();
        let polynomials = independent.into_iter().chain(remainders).collect();
        Halves { polynomials, products, factors: sums }
    }
}

/// ANDs of all products of this many variables.
fn all_products(variables: u16) -> usize {
    (1 << variables) - usize::from(variables) - 1
}

/// ANDs of polynomials in so many variables.
fn and_count(polynomials: &[Polynomial], variables: u16) -> usize {
    let basis = Basis::of(polynomials, &free(variables, 1));
    if basis.members.is_empty() {
        return 0;
    }
    all_products(variables).min(ands_of_halves(&Halves::of(&basis.members, variables), variables))
}

fn ands_of_halves(halves: &Halves, variables: u16) -> usize {
    halves.products + and_count(&halves.polynomials, variables - 1)
}

/// Records the bits of the row at an index, the lowest first, of a table with these rows; rows behind the last are zeros.
///
/// # Panics
/// If there are more rows than the index has values, or the index has no bits or more than [`INDEX_BITS_MAX`].
pub fn look_up(recorder: &mut Recorder, index: &[Wire], rows: &[u128], width: u16) -> Vec<Wire> {
    let variables = index.len() as u16;
    assert!((1..=INDEX_BITS_MAX).contains(&variables), "an index of 1 to 12 bits");
    assert!(rows.len() <= 1 << variables, "the index has a value for each row");
    let bit = |row: usize, bit: u16| rows.get(row).is_some_and(|row| row >> bit & 1 == 1);
    let polynomials: Vec<Polynomial> =
        (0..width).map(|at| Polynomial::of_values(variables, |row| bit(row, at))).collect();
    let known = (variables == 8 && and_count(&polynomials, 8) > SBOX_ANDS)
        .then(|| of_sbox(recorder, index, &polynomials));
    known.flatten().unwrap_or_else(|| record(recorder, index, &polynomials))
}

/// Records polynomials in the variables `index`.
fn record(recorder: &mut Recorder, index: &[Wire], polynomials: &[Polynomial]) -> Vec<Wire> {
    let variables = index.len() as u16;
    let basis = Basis::of(polynomials, &free(variables, 1));
    let mut members = Vec::new();
    if !basis.members.is_empty() {
        let halves = Halves::of(&basis.members, variables);
        members = match ands_of_halves(&halves, variables) < all_products(variables) {
            true => record_halves(recorder, index, &halves),
            false => {
                let products = products(recorder, index);
                record_sums(recorder, &products, &basis.members)
            }
        };
    }
    let sum =
        |(sum, affine): &(Vec<usize>, Polynomial)| sum_of(recorder, index, &members, (sum, affine));
    basis.sums.iter().map(sum).collect()
}

/// A sum of members and an affine polynomial.
fn sum_of(
    recorder: &mut Recorder,
    index: &[Wire],
    members: &[Wire],
    (sum, affine): (&[usize], &Polynomial),
) -> Wire {
    let terms = sum.iter().map(|&member| members[member]);
    let variables = index.iter().enumerate();
    let linear = variables.filter(|(at, _)| affine.coefficient(1 << at)).map(|(_, &wire)| wire);
    let terms: Vec<Wire> = terms.chain(linear).collect();
    xor_all(recorder, terms).not_if(affine.coefficient(0))
}

/// The sum of these wires, as a tree: in a field an XOR takes a round.
fn xor_all(recorder: &mut Recorder, mut wires: Vec<Wire>) -> Wire {
    while wires.len() > 1 {
        let pair = |pair: &[Wire]| pair.iter().copied().reduce(|a, b| recorder.xor2(a, b));
        wires = wires.chunks(2).filter_map(pair).collect();
    }
    wires.pop().unwrap_or(Wire::ZERO)
}

/// The members of which these are the halves.
fn record_halves(recorder: &mut Recorder, index: &[Wire], halves: &Halves) -> Vec<Wire> {
    let (&highest, lower) = index.split_last().expect("there is a variable");
    let wires = record(recorder, lower, &halves.polynomials);
    let (factors, remainders) = wires.split_at(halves.products);
    let products: Vec<Wire> =
        factors.iter().map(|&factor| recorder.and2(highest, factor)).collect();
    let member = |((sum, constant), &remainder): (&(Vec<usize>, Polynomial), &Wire)| {
        let free = if constant.coefficient(0) { highest } else { Wire::ZERO };
        let terms = sum.iter().map(|&factor| products[factor]).chain([free, remainder]);
        let terms = terms.filter(|&term| term != Wire::ZERO).collect();
        xor_all(recorder, terms)
    };
    halves.factors.iter().zip(remainders).map(member).collect()
}

/// The product of each set of wires, by its number: those of two halves, and theirs by each other.
fn products(recorder: &mut Recorder, wires: &[Wire]) -> Vec<Wire> {
    match wires {
        [] => vec![Wire::ONE],
        &[wire] => vec![Wire::ONE, wire],
        _ => {
            let (low, high) = wires.split_at(wires.len() / 2);
            let (low, high) = (products(recorder, low), products(recorder, high));
            let mut all = Vec::with_capacity(low.len() * high.len());
            for &above in &high {
                all.extend(low.iter().map(|&below| recorder.and2(above, below)));
            }
            all
        }
    }
}

/// Sums of products, by the method of the four Russians: all sums of [`GROUP`] products are made once.
fn record_sums(recorder: &mut Recorder, products: &[Wire], sums: &[Polynomial]) -> Vec<Wire> {
    let mut of_groups = Vec::new();
    for group in products.chunks(GROUP) {
        let mut of_sets = vec![Wire::ZERO];
        for &product in group {
            for set in 0..of_sets.len() {
                of_sets.push(recorder.xor2(of_sets[set], product));
            }
        }
        of_groups.push(of_sets);
    }
    let sum = |sum: &Polynomial| {
        let groups = of_groups.iter().zip((0..).step_by(GROUP));
        let parts = groups.map(|(of_sets, first)| {
            let bits = (0..GROUP.min(products.len() - first)).rev();
            of_sets[bits.fold(0, |set, at| set << 1 | usize::from(sum.coefficient(first + at)))]
        });
        let parts = parts.filter(|&part| part != Wire::ZERO).collect();
        xor_all(recorder, parts)
    };
    sums.iter().map(sum).collect()
}

/// ANDs of the AES S-box.
const SBOX_ANDS: usize = 32;

/// Records polynomials that are sums of bits of the AES S-box, or of its inverse; nothing if they are not.
fn of_sbox(
    recorder: &mut Recorder,
    index: &[Wire],
    polynomials: &[Polynomial],
) -> Option<Vec<Wire>> {
    let (forward, backward) = sbox_tables();
    [(forward, false), (backward, true)].into_iter().find_map(|(table, is_inverse)| {
        let bits = |at: u16| Polynomial::of_values(8, |row| table[row] >> at & 1 == 1);
        let both: Vec<Polynomial> = (0..8).map(bits).chain(polynomials.iter().cloned()).collect();
        let basis = Basis::of(&both, &free(8, 1));
        if basis.members.len() > 8 {
            return None;
        }
        let substituted = match is_inverse {
            false => record_sbox(recorder, index),
            true => {
                let inner = inverse_affine(recorder, index);
                let substituted = record_sbox(recorder, &inner);
                inverse_affine(recorder, &substituted)
            }
        };
        // Each bit of the box is a member and earlier ones.
        let (of_box, wanted) = basis.sums.split_at(8);
        let mut members = Vec::new();
        for (&bit, (sum, affine)) in substituted.iter().zip(of_box) {
            let (_, earlier) = sum.split_last().expect("bits of the box are independent");
            let rest = sum_of(recorder, index, &members, (earlier, affine));
            members.push(recorder.xor2(bit, rest));
        }
        let sum = |(sum, affine): &(Vec<usize>, Polynomial)| {
            sum_of(recorder, index, &members, (sum, affine))
        };
        Some(wanted.iter().map(sum).collect())
    })
}

/// The AES S-box and its inverse.
fn sbox_tables() -> ([u8; 256], [u8; 256]) {
    let mut recorder = Recorder::new();
    let index = recorder.inputs(8);
    let outputs = record_sbox(&mut recorder, &index);
    let template = recorder.finish(&outputs);
    let (mut table, mut inverse) = ([0; 256], [0; 256]);
    for row in 0..=u8::MAX {
        let bits: Vec<u64> = (0..8).map(|at| u64::from(row >> at & 1)).collect();
        let found = template.evaluate_clear(&bits);
        let value = found.iter().rev().fold(0, |value, bit| value << 1 | (bit & 1) as u8);
        (table[usize::from(row)], inverse[usize::from(value)]) = (value, row);
    }
    (table, inverse)
}

/// The AES S-box.
fn record_sbox(recorder: &mut Recorder, index: &[Wire]) -> Vec<Wire> {
    let mut scratch = [Wire::ZERO; PLANES];
    let mut planes = Planes::new(&mut scratch, 1);
    index.iter().enumerate().for_each(|(at, &wire)| planes.input(at)[0] = wire);
    planes.substitute(recorder);
    (0..8).map(|at| planes.output(at)[0]).collect()
}

/// The inverse of the affine map of the S-box (FIPS 197, section 5.3.2).
fn inverse_affine(recorder: &mut Recorder, byte: &[Wire]) -> Vec<Wire> {
    let bit = |at: usize| {
        let sum = recorder.xor2(byte[(at + 2) % 8], byte[(at + 5) % 8]);
        recorder.xor2(sum, byte[(at + 7) % 8]).not_if(0x05 >> at & 1 == 1)
    };
    (0..8).map(bit).collect()
}

#[cfg(test)]
mod tests;
