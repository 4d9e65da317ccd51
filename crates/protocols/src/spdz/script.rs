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
pub(super) use nodes::{Joint, Local, Two};
use phineus_correlated::authenticated::BOUNDED_BITS;

pub(super) mod integers;
mod nodes;
mod schedule;
#[cfg(test)]
mod tests;

/// A row of shares in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Row(u32);

/// A row of numbers that all parties know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Public(u32);

impl Public {
    pub(super) fn slot(self) -> usize {
        self.0 as usize
    }
}

/// A number to look at the bits of: an opened one, or that plus the prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) public: Public,
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
enum Node {
    Input,
    Local(Local<Row>),
    Joint(Joint<Row>),
}

/// Records a script.
pub(super) struct Recorder {
    nodes: Vec<Node>,
    levels: Vec<u32>,
    input_count: u32,
    bit_count: u32,
    bounded_count: u32,
    whole_count: u32,
    products: HashMap<(Row, Row), Row>,
    /// Bits of the prime.
    pub(super) prime_bits: u32,
    pub(super) modulus: Modulus,
}

/// A local step; rows are slots.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) out: u32,
    pub(super) what: Local<u32>,
}

/// A step that takes a round; `out` is a slot, or for openings the number of a public row.
#[derive(Clone, Copy, Debug)]
pub(super) struct JointStep {
    pub(super) out: u32,
    pub(super) what: Joint<u32>,
}

/// First the local steps, in order, then all that takes a round, together.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    pub(super) local: Vec<Step>,
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
    pub(super) levels: Vec<Level>,
    pub(super) outputs: Vec<u32>,
}

/// Amounts of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amounts {
    pub(super) products: usize,
    pub(super) squares: usize,
    pub(super) openings: usize,
}

impl Amounts {
    /// Elements that are opened.
    pub(super) fn opened(self) -> usize {
        2 * self.products + self.squares + self.openings
    }
}

impl Level {
    pub(super) fn amounts(&self) -> Amounts {
        let mut amounts = Amounts::default();
        for step in &self.joint {
            match step.what {
                Joint::Product { .. } => amounts.products += 1,
                Joint::Square { .. } => amounts.squares += 1,
                Joint::Open { .. } => amounts.openings += 1,
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
        let apart = |step: &Step| match &step.what {
            // Two allocations, each with its header.
            Local::Combine(sum) => size_of_val(&**sum) + size_of_val(&sum.terms[..]) + 32,
            Local::LessOfTwo(two) | Local::EqualOfTwo(two) => size_of_val(&**two) + 16,
            _ => 0,
        };
        let level = |level: &Level| {
            let sums: usize = level.local.iter().map(apart).sum();
            let steps = level.local.capacity() * size_of::<Step>();
            size_of_val(level) + sums + steps + level.joint.capacity() * size_of::<JointStep>()
        };
        let levels: usize = self.levels.iter().map(level).sum();
        (size_of::<Script>() + levels + size_of_val(&self.outputs[..])) as u64
    }
}

impl Recorder {
    pub(super) fn new(modulus: Modulus) -> Recorder {
        Recorder {
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
    pub(super) fn inputs(&mut self, count: usize) -> Vec<Row> {
        assert_eq!(self.nodes.len(), self.input_count as usize, "operands come first");
        self.input_count += count as u32;
        (0..count).map(|_| self.push(Node::Input, 0)).collect()
    }

    /// The next `count` rows of random bits.
    pub(super) fn random_bits(&mut self, count: u32) -> Vec<Row> {
        assert_eq!(
            self.nodes.len(),
            self.given() as usize,
            "random bits come right behind operands"
        );
        self.bit_count += count;
        (0..count).map(|_| self.push(Node::Input, 0)).collect()
    }

    /// A bounded integer, behind the random bits.
    pub(super) fn bounded(&mut self) -> Row {
        assert_eq!(self.nodes.len(), self.given() as usize, "it comes right behind random bits");
        self.bounded_count += 1;
        self.push(Node::Input, 0)
    }

    /// Rows that there are before anything is computed.
    fn given(&self) -> u32 {
        self.input_count + self.bit_count + self.bounded_count
    }

    /// `constant + sum of factor * row`.
    pub(super) fn combine(&mut self, terms: &[(Row, i128)], constant: i128) -> Row {
        if let ([(row, 1)], 0) = (terms, constant) {
            return *row;
        }
        let level = terms.iter().map(|(row, _)| self.level(*row)).max().unwrap_or(0);
        self.local(Local::Combine(Box::new(Sum { terms: terms.into(), constant })), level)
    }

    pub(super) fn constant(&mut self, value: i128) -> Row {
        self.combine(&[], value)
    }

    pub(super) fn add(&mut self, a: Row, b: Row) -> Row {
        self.combine(&[(a, 1), (b, 1)], 0)
    }

    pub(super) fn sub(&mut self, a: Row, b: Row) -> Row {
        self.combine(&[(a, 1), (b, -1)], 0)
    }

    /// `1 - a`
    pub(super) fn not(&mut self, a: Row) -> Row {
        self.local(Local::Not { a }, self.level(a))
    }

    /// `a * b`
    pub(super) fn product(&mut self, a: Row, b: Row) -> Row {
        let key = (a.min(b), a.max(b));
        if let Some(&known) = self.products.get(&key) {
            return known;
        }
        let level = self.level(a).max(self.level(b)) + 1;
        let joint = if a == b { Joint::Square { a } } else { Joint::Product { a, b } };
        let row = self.push(Node::Joint(joint), level);
        self.products.insert(key, row);
        row
    }

    /// Exclusive or of bits.
    pub(super) fn xor(&mut self, a: Row, b: Row) -> Row {
        if a == b {
            return self.constant(0);
        }
        let product = self.product(a, b);
        self.local(Local::Xor { a, b, product }, self.level(product))
    }

    /// Or of bits.
    pub(super) fn or(&mut self, a: Row, b: Row) -> Row {
        let product = self.product(a, b);
        self.combine(&[(a, 1), (b, 1), (product, -1)], 0)
    }

    /// `selector ? a : b` for any rows.
    pub(super) fn select(&mut self, selector: Row, a: Row, b: Row) -> Row {
        let difference = self.sub(a, b);
        let chosen = self.product(selector, difference);
        self.add(chosen, b)
    }

    /// Tells everybody what is in a row.
    pub(super) fn open(&mut self, a: Row) -> Public {
        let level = self.level(a) + 1;
        Public(self.push(Node::Joint(Joint::Open { a }), level).0)
    }

    pub(super) fn less(&mut self, number: Number, bit: u32, shared: Row) -> Row {
        let level = self.level_with(number, shared);
        self.local(Local::Less { shared, number, bit }, level)
    }

    pub(super) fn equal(&mut self, number: Number, bit: u32, shared: Row) -> Row {
        let level = self.level_with(number, shared);
        self.local(Local::Equal { shared, number, bit }, level)
    }

    /// Whether two bits of a number, from `bit` on, are less than two shared ones, and whether they
    /// are equal: one product, which does not depend on the number.
    pub(super) fn order_of_two(&mut self, number: Number, bit: u32, shared: [Row; 2]) -> [Row; 2] {
        let [low, high] = shared;
        let both = self.product(low, high);
        let level = self.level_with(number, both);
        let two = Box::new(Two { low, high, both, number, bit });
        let less = self.local(Local::LessOfTwo(two.clone()), level);
        [less, self.local(Local::EqualOfTwo(two), level)]
    }

    pub(super) fn differs(&mut self, number: Number, bit: u32, shared: Row) -> Row {
        let level = self.level_with(number, shared);
        self.local(Local::Differs { shared, number, bit }, level)
    }

    /// `row + (number mod 2^bits)`
    pub(super) fn add_low(&mut self, row: Row, number: Number, bits: u32) -> Row {
        let level = self.level_with(number, row);
        self.local(Local::AddLow { row, number, bits }, level)
    }

    /// `row * (number mod 2^bits)`
    pub(super) fn times_low(&mut self, row: Row, number: Number, bits: u32) -> Row {
        let level = self.level_with(number, row);
        self.local(Local::TimesLow { row, number, bits }, level)
    }

    /// `row / 2^times`, of a multiple of it.
    pub(super) fn halved(&mut self, row: Row, times: u32) -> Row {
        self.local(Local::Halved { row, times }, self.level(row))
    }

    fn level(&self, row: Row) -> u32 {
        self.levels[row.0 as usize]
    }

    fn level_with(&self, number: Number, row: Row) -> u32 {
        self.levels[number.public.0 as usize].max(self.level(row))
    }

    fn local(&mut self, what: Local<Row>, level: u32) -> Row {
        self.push(Node::Local(what), level)
    }

    fn push(&mut self, node: Node, level: u32) -> Row {
        self.nodes.push(node);
        self.levels.push(level);
        Row(self.nodes.len() as u32 - 1)
    }

    /// The script from the operands to `outputs`.
    pub(super) fn finish(mut self, outputs: &[Row]) -> Script {
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
