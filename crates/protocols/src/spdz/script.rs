//! [`Script`]: an operation on authenticated shares, recorded once, level by level.
//!
//! A script computes on *rows*: one element for each lane. Between two levels lies one round, in
//! which all products and openings of the level are done together. The same script says what an
//! operation costs: products, squares, random bits, opened elements and rounds.
//!
//! Sources: products and squares with triples and square pairs: Beaver, CRYPTO 1991. XOR of shared
//! bits as `a + b - 2ab`, and operations on the bits of an integer through an opening under a mask
//! whose bits are shared: Damgard, Fitzi, Kiltz, Nielsen, Toft, "Unconditionally Secure Constant-
//! Rounds Multi-party Computation for Equality, Comparison, Bits and Exponentiation", TCC 2006;
//! the least significant bit for comparisons: Nishide, Ohta, PKC 2007.
//!
//! Integers of few bits hide behind those bits and a bounded integer of each party on top: what is
//! opened is at a distance of 2^-40 from what it would be for any other value (Catrina, de Hoogh,
//! "Improved Primitives for Secure Multiparty Integer Computation", SCN 2010). Where the field has
//! no space for that, masks are uniform over the whole field, up to a distance of `(2^k - p) / 2^k`
//! for a prime of `k` bits, and what is opened says nothing about the value, however large that is.

use std::collections::HashMap;

use super::Masks;
use nodes::Sum;
pub(super) use nodes::{BitPair, LocalOperation, RoundOperation};
use phineus_correlated::authenticated::BOUNDED_BITS;

pub(super) mod integers;
mod nodes;
mod schedule;
#[cfg(test)]
mod tests;

/// A row of shares in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ShareRow(u32);

/// A row of numbers that all parties know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PublicRow(u32);

impl PublicRow {
    pub(super) fn slot(self) -> usize {
        self.0 as usize
    }
}

/// A number to look at the bits of: an opened one, or that plus the prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenedNumber {
    pub(super) public: PublicRow,
    pub(super) plus_prime: bool,
}

/// Parameters of scripts besides the operation: the prime, and the number of parties that add to
/// masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Modulus {
    pub(super) prime: u128,
    /// Integers below two to the power of one more may hide behind so many bits and a bounded
    /// integer of each party; 0 if none may.
    hidden_bits: u32,
}

impl Modulus {
    pub(super) fn new(prime: u128, parties: usize, masks: Masks) -> Modulus {
        // An integer, the bits, and the bounded integers on top must not reach the prime.
        let fits = |bits: &u32| {
            let top = (parties as u128).checked_shl(bits + BOUNDED_BITS);
            let top = top.filter(|top| top >> (bits + BOUNDED_BITS) == parties as u128);
            top.and_then(|top| top.checked_add(2 << bits)).is_some_and(|sum| sum <= prime)
        };
        let hidden_bits = match masks {
            Masks::Narrow => (1..128 - BOUNDED_BITS).rev().find(fits).unwrap_or(0),
            Masks::Whole => 0,
        };
        Modulus { prime, hidden_bits }
    }
}

#[derive(Clone, Debug)]
enum RecordedNode {
    Input,
    Local(LocalOperation<ShareRow>),
    Joint(RoundOperation<ShareRow>),
}

/// Records a script.
pub(super) struct ScriptRecorder {
    nodes: Vec<RecordedNode>,
    levels: Vec<u32>,
    input_count: u32,
    bit_count: u32,
    bounded_count: u32,
    whole_count: u32,
    products: HashMap<(ShareRow, ShareRow), ShareRow>,
    /// Bits of the prime.
    pub(super) prime_bits: u32,
    pub(super) modulus: Modulus,
}

/// A local step; rows are slots.
#[derive(Clone, Debug)]
pub(super) struct LocalStep {
    pub(super) out: u32,
    pub(super) what: LocalOperation<u32>,
}

/// A step that takes a round; `out` is a slot, or for openings the number of a public row.
#[derive(Clone, Copy, Debug)]
pub(super) struct JointStep {
    pub(super) out: u32,
    pub(super) what: RoundOperation<u32>,
}

/// First the local steps, in order, then all that takes a round, together.
#[derive(Clone, Debug, Default)]
pub(super) struct ScriptLevel {
    pub(super) local: Vec<LocalStep>,
    pub(super) joint: Vec<JointStep>,
}

/// A recorded script.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// Rows of operands, in the first slots.
    pub(super) input_count: u32,
    /// Random bits, in the slots behind them.
    pub(super) bit_count: u32,
    /// Bounded integers, in the slots behind those.
    pub(super) bounded_count: u32,
    /// Openings under a mask of shared bits over the whole field.
    pub(super) whole_count: u32,
    pub(super) slot_count: u32,
    pub(super) public_count: u32,
    /// One for each round, and a last one without joint steps.
    pub(super) levels: Vec<ScriptLevel>,
    pub(super) outputs: Vec<u32>,
}

/// Amounts of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LevelCounts {
    pub(super) products: usize,
    pub(super) squares: usize,
    pub(super) openings: usize,
}

impl LevelCounts {
    /// Elements that are opened.
    pub(super) fn opened(self) -> usize {
        2 * self.products + self.squares + self.openings
    }
}

impl ScriptLevel {
    pub(super) fn amounts(&self) -> LevelCounts {
        let mut amounts = LevelCounts::default();
        for step in &self.joint {
            match step.what {
                RoundOperation::Product { .. } => amounts.products += 1,
                RoundOperation::Square { .. } => amounts.squares += 1,
                RoundOperation::Open { .. } => amounts.openings += 1,
            }
        }
        amounts
    }
}

impl Script {
    pub(super) fn rounds(&self) -> usize {
        self.levels.len() - 1
    }

    /// Whether its first round opens something behind a mask that is not uniform over the field, and so
    /// only if all that was opened before is right.
    pub(super) fn opens_narrowly(&self) -> bool {
        self.bounded_count > 0
    }

    /// Bytes that the script itself takes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let apart = |step: &LocalStep| match &step.what {
            // Two allocations, each with its header.
            LocalOperation::Combine(sum) => size_of_val(&**sum) + size_of_val(&sum.terms[..]) + 32,
            LocalOperation::LessOfTwo(two) | LocalOperation::EqualOfTwo(two) => {
                size_of_val(&**two) + 16
            }
            _ => 0,
        };
        let level = |level: &ScriptLevel| {
            let sums: usize = level.local.iter().map(apart).sum();
            let steps = level.local.capacity() * size_of::<LocalStep>();
            size_of_val(level) + sums + steps + level.joint.capacity() * size_of::<JointStep>()
        };
        let levels: usize = self.levels.iter().map(level).sum();
        (size_of::<Script>() + levels + size_of_val(&self.outputs[..])) as u64
    }
}

impl ScriptRecorder {
    pub(super) fn new(modulus: Modulus) -> ScriptRecorder {
        ScriptRecorder {
            nodes: Vec::new(),
            levels: Vec::new(),
            input_count: 0,
            bit_count: 0,
            bounded_count: 0,
            whole_count: 0,
            products: HashMap::new(),
            prime_bits: 128 - modulus.prime.leading_zeros(),
            modulus,
        }
    }

    /// The next `count` rows of operands.
    pub(super) fn inputs(&mut self, count: usize) -> Vec<ShareRow> {
        assert_eq!(self.nodes.len(), self.input_count as usize, "operands come first");
        self.input_count += count as u32;
        (0..count).map(|_| self.push(RecordedNode::Input, 0)).collect()
    }

    /// The next `count` rows of random bits.
    pub(super) fn random_bits(&mut self, count: u32) -> Vec<ShareRow> {
        assert_eq!(
            self.nodes.len(),
            self.given() as usize,
            "random bits come right behind operands"
        );
        self.bit_count += count;
        (0..count).map(|_| self.push(RecordedNode::Input, 0)).collect()
    }

    /// A bounded integer, behind the random bits.
    pub(super) fn bounded(&mut self) -> ShareRow {
        assert_eq!(self.nodes.len(), self.given() as usize, "it comes right behind random bits");
        self.bounded_count += 1;
        self.push(RecordedNode::Input, 0)
    }

    /// Rows that there are before anything is computed.
    fn given(&self) -> u32 {
        self.input_count + self.bit_count + self.bounded_count
    }

    /// `constant + sum of factor * row`.
    pub(super) fn combine(&mut self, terms: &[(ShareRow, i128)], constant: i128) -> ShareRow {
        if let ([(row, 1)], 0) = (terms, constant) {
            return *row;
        }
        let level = terms.iter().map(|(row, _)| self.level(*row)).max().unwrap_or(0);
        self.local(LocalOperation::Combine(Box::new(Sum { terms: terms.into(), constant })), level)
    }

    pub(super) fn constant(&mut self, value: i128) -> ShareRow {
        self.combine(&[], value)
    }

    pub(super) fn add(&mut self, a: ShareRow, b: ShareRow) -> ShareRow {
        self.combine(&[(a, 1), (b, 1)], 0)
    }

    pub(super) fn sub(&mut self, a: ShareRow, b: ShareRow) -> ShareRow {
        self.combine(&[(a, 1), (b, -1)], 0)
    }

    /// `1 - a`
    pub(super) fn not(&mut self, a: ShareRow) -> ShareRow {
        self.local(LocalOperation::Not { a }, self.level(a))
    }

    /// `a * b`
    pub(super) fn product(&mut self, a: ShareRow, b: ShareRow) -> ShareRow {
        let key = (a.min(b), a.max(b));
        if let Some(&known) = self.products.get(&key) {
            return known;
        }
        let level = self.level(a).max(self.level(b)) + 1;
        let joint =
            if a == b { RoundOperation::Square { a } } else { RoundOperation::Product { a, b } };
        let row = self.push(RecordedNode::Joint(joint), level);
        self.products.insert(key, row);
        row
    }

    /// Exclusive or of bits.
    pub(super) fn xor(&mut self, a: ShareRow, b: ShareRow) -> ShareRow {
        if a == b {
            return self.constant(0);
        }
        let product = self.product(a, b);
        self.local(LocalOperation::Xor { a, b, product }, self.level(product))
    }

    /// Or of bits.
    pub(super) fn or(&mut self, a: ShareRow, b: ShareRow) -> ShareRow {
        let product = self.product(a, b);
        self.combine(&[(a, 1), (b, 1), (product, -1)], 0)
    }

    /// `selector ? a : b` for any rows.
    pub(super) fn select(&mut self, selector: ShareRow, a: ShareRow, b: ShareRow) -> ShareRow {
        let difference = self.sub(a, b);
        let chosen = self.product(selector, difference);
        self.add(chosen, b)
    }

    /// Tells everybody what is in a row.
    pub(super) fn open(&mut self, a: ShareRow) -> PublicRow {
        let level = self.level(a) + 1;
        PublicRow(self.push(RecordedNode::Joint(RoundOperation::Open { a }), level).0)
    }

    pub(super) fn less(&mut self, number: OpenedNumber, bit: u32, shared: ShareRow) -> ShareRow {
        let level = self.level_with(number, shared);
        self.local(LocalOperation::Less { shared, number, bit }, level)
    }

    pub(super) fn equal(&mut self, number: OpenedNumber, bit: u32, shared: ShareRow) -> ShareRow {
        let level = self.level_with(number, shared);
        self.local(LocalOperation::Equal { shared, number, bit }, level)
    }

    /// Whether two bits of a number, from `bit` on, are less than two shared ones, and whether they
    /// are equal: one product, which does not depend on the number.
    pub(super) fn order_of_two(
        &mut self,
        number: OpenedNumber,
        bit: u32,
        shared: [ShareRow; 2],
    ) -> [ShareRow; 2] {
        let [low, high] = shared;
        let both = self.product(low, high);
        let level = self.level_with(number, both);
        let two = Box::new(BitPair { low, high, both, number, bit });
        let less = self.local(LocalOperation::LessOfTwo(two.clone()), level);
        [less, self.local(LocalOperation::EqualOfTwo(two), level)]
    }

    pub(super) fn differs(&mut self, number: OpenedNumber, bit: u32, shared: ShareRow) -> ShareRow {
        let level = self.level_with(number, shared);
        self.local(LocalOperation::Differs { shared, number, bit }, level)
    }

    /// `row + (number mod 2^bits)`
    pub(super) fn add_low(&mut self, row: ShareRow, number: OpenedNumber, bits: u32) -> ShareRow {
        let level = self.level_with(number, row);
        self.local(LocalOperation::AddLow { row, number, bits }, level)
    }

    /// `row * (number mod 2^bits)`
    pub(super) fn times_low(&mut self, row: ShareRow, number: OpenedNumber, bits: u32) -> ShareRow {
        let level = self.level_with(number, row);
        self.local(LocalOperation::TimesLow { row, number, bits }, level)
    }

    /// `row / 2^times`, of a multiple of it.
    pub(super) fn halved(&mut self, row: ShareRow, times: u32) -> ShareRow {
        self.local(LocalOperation::Halved { row, times }, self.level(row))
    }

    fn level(&self, row: ShareRow) -> u32 {
        self.levels[row.0 as usize]
    }

    fn level_with(&self, number: OpenedNumber, row: ShareRow) -> u32 {
        self.levels[number.public.0 as usize].max(self.level(row))
    }

    fn local(&mut self, what: LocalOperation<ShareRow>, level: u32) -> ShareRow {
        self.push(RecordedNode::Local(what), level)
    }

    fn push(&mut self, node: RecordedNode, level: u32) -> ShareRow {
        self.nodes.push(node);
        self.levels.push(level);
        ShareRow(self.nodes.len() as u32 - 1)
    }

    /// The script from the operands to `outputs`.
    pub(super) fn finish(mut self, outputs: &[ShareRow]) -> Script {
        // Nothing is recorded any more, and scheduling takes memory of its own.
        self.products = HashMap::new();
        self.nodes.shrink_to_fit();
        self.levels.shrink_to_fit();
        let script = schedule::schedule(&self, outputs);
        let later = script.levels[1..].iter().any(|level| level.amounts().openings > 0);
        assert!(!(script.opens_narrowly() && later), "what hides narrowly is opened first");
        script
    }
}
