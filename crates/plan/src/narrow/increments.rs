//! [`Increments`]: by how much a block changes the values that it carries.
//!
//! A counter or a sum that a block stores is what the block loaded, and a term. If the block runs a stated number of times in
//! a row, it is then at most so many terms from where it began, which no repeated pass finds.
//!
//! A value is followed if it is a carried value plus something, as integers without or with sign: nothing wraps.

use phineus_bytecode::{Instruction, Op};

use super::facts::{Facts, mask, signed_bounds};
use super::forget;
use crate::annotate::NextUses;
use crate::name_table::NameTable;

/// The least and the most that is added.
type Added = (i128, i128);

/// A value that is a carried value of the beginning of the block, and what is added to it as an integer without sign and as
/// one with a sign; nothing where that may wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Increment {
    pub(super) slot: u64,
    unsigned: Option<Added>,
    signed: Option<Added>,
}

/// The values of a block that are increments of carried values.
pub(super) struct Increments {
    values: NameTable<Increment>,
    iterations: u64,
}

impl Increments {
    pub(super) fn new(iterations: u64) -> Increments {
        Increments { values: NameTable::new(), iterations }
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.values.memory_bytes_after(1)
    }

    /// What `i` stores, if that is an increment of what it replaces, and how often.
    pub(super) fn of_store(&mut self, i: &Instruction) -> Option<(Increment, u64)> {
        let is_store = i.op == Op::Store;
        let stored = self.of(i.operands[0]).filter(|stored| stored.slot == i.immediates[0]);
        stored.filter(|_| is_store).map(|stored| (stored, self.iterations))
    }

    fn of(&mut self, name: u64) -> Option<Increment> {
        self.values.get_mut(name).copied()
    }

    /// Takes note of the result of `i`, whose operands have these facts, and forgets what is not used again.
    pub(super) fn note(&mut self, i: &Instruction, o: &[Facts], uses: &NextUses) {
        let found = self.result(i, o);
        forget(&mut self.values, i, uses);
        if let (Some(found), Some(&result)) = (found, i.results().first())
            && uses.results[0] != 0
        {
            self.values.insert(result, found);
        }
    }

    fn result(&mut self, i: &Instruction, o: &[Facts]) -> Option<Increment> {
        let [first, second, third] = i.operands;
        match i.op {
            Op::Load => {
                let none = Some((0, 0));
                Some(Increment { slot: i.immediates[0], unsigned: none, signed: none })
            }
            Op::Add => match (self.of(first), self.of(second)) {
                (Some(_), Some(_)) | (None, None) => None,
                (Some(one), None) => one.plus((&o[0], &o[1]), i.op),
                (None, Some(one)) => one.plus((&o[1], &o[0]), i.op),
            },
            Op::Sub => match self.of(second) {
                Some(_) => None,
                None => self.of(first)?.plus((&o[0], &o[1]), i.op),
            },
            Op::Mux => self.of(second)?.or(self.of(third)?),
            Op::Min | Op::Max => self.of(first)?.or(self.of(second)?),
            Op::Convert | Op::Reduce => self.of(first),
            _ => None,
        }
    }
}

impl Increment {
    /// This value, with the facts `value`, and a term, or without it.
    fn plus(self, (value, term): (&Facts, &Facts), op: Op) -> Option<Increment> {
        let Increment { slot, unsigned, signed } = self;
        if !value.is_tracked() {
            return None;
        }
        let (lowest, highest) = signed_bounds(value.width);
        let term_signed = match op {
            Op::Sub => (term.most.checked_neg()?, term.least.checked_neg()?),
            _ => (term.least, term.most),
        };
        let stays_signed = value.least.checked_add(term_signed.0).is_some_and(|low| low >= lowest)
            && value.most.checked_add(term_signed.1).is_some_and(|high| high <= highest);
        let stays_unsigned = match op {
            Op::Sub => value.low >= term.high,
            _ => value.high.checked_add(term.high).is_some_and(|high| high <= mask(value.width)),
        };
        let term_unsigned = i128::try_from(term.low).ok().zip(i128::try_from(term.high).ok());
        let term_unsigned = match op {
            Op::Sub => term_unsigned.map(|(low, high)| (-high, -low)),
            _ => term_unsigned,
        };
        let unsigned = sum(unsigned, term_unsigned.filter(|_| stays_unsigned));
        let signed = sum(signed, Some(term_signed).filter(|_| stays_signed));
        (unsigned.is_some() || signed.is_some()).then_some(Increment { slot, unsigned, signed })
    }

    /// One of two.
    fn or(self, other: Increment) -> Option<Increment> {
        let span = |a: Option<Added>, b: Option<Added>| {
            a.zip(b).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)))
        };
        let (unsigned, signed) =
            (span(self.unsigned, other.unsigned), span(self.signed, other.signed));
        (self.slot == other.slot).then_some(Increment { slot: self.slot, unsigned, signed })
    }

    /// Facts about what is carried after up to so many iterations, if it has the facts `begin` before the first; `facts` are
    /// true after each.
    pub(super) fn after(self, (begin, iterations): (&Facts, u64), facts: Facts) -> Facts {
        let count = i128::from(iterations);
        let signed = self.signed.and_then(|(low, high)| {
            let least = begin.least.checked_add(low.min(0).checked_mul(count)?)?;
            let most = begin.most.checked_add(high.max(0).checked_mul(count)?)?;
            Some((least, most))
        });
        let unsigned = self.unsigned.and_then(|(low, high)| {
            let (first, last) = (i128::try_from(begin.low).ok()?, i128::try_from(begin.high).ok()?);
            let least = first.checked_add(low.min(0).checked_mul(count)?)?;
            let most = last.checked_add(high.max(0).checked_mul(count)?)?;
            Some((u128::try_from(least).ok()?, u128::try_from(most).ok()?))
        });
        // As far as it ever gets, though the facts are still those of few iterations. What the type does not hold says nothing.
        let unknown = Facts::unknown(facts.width);
        let bounded = unknown.with_unsigned(unsigned).with_signed(signed);
        let low_bits = mask((facts.known().trailing_ones() as u16).min(facts.width));
        match bounded == unknown {
            true => facts,
            false => bounded.with_bits(facts.zeros & low_bits, facts.ones & low_bits),
        }
    }
}

fn sum(a: Option<Added>, b: Option<Added>) -> Option<Added> {
    let (a, b) = (a?, b?);
    Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?))
}
