//! The checker of narrowing: proves what it claims to know of values.
//!
//! Independent of the stage (`narrow.rs`), with which it shares no code: it goes through the program that
//! was narrowed, finds the bits and the bounds of each value from types, constants and operations alone,
//! and accepts a claim that follows from them. Bits are three-valued and go through ripple-carry adders
//! one by one; bounds are integers of 256 bits, in which nothing overflows.
//!
//! It proves nothing of the narrowed program: that needed bits are where a claim places them, tests
//! find by computing both (`tests/narrow.rs`). What is claimed of carried values, regions, tables and memories
//! ([`state`]) it proves first.
//!
//! Memory: 300 bytes per value.

mod integers;
mod repeated;
mod rules;
mod state;

use std::collections::HashMap;
use std::io::{Read, Seek};

use phineus_bytecode::{Instruction, ProgramReader};

use crate::error::Error;
use crate::narrow::{NarrowClaim, StateClaim, StatePlace};
use integers::{Integer, at_most, of_signed, of_unsigned, power};
use state::{KnownState, known_of};

pub use state::check_state;

/// Faults are reported up to this many.
const FAULTS_MAX: usize = 20;

/// Bits of values that anything is known of.
const WIDTH_MAX: u16 = 128;

/// A bit, if it is the same in all lanes, for all inputs.
type Trit = Option<bool>;

/// From the first to the second, both included.
type Bounds = (Integer, Integer);

/// Derived facts about a value.
#[derive(Clone, Debug)]
struct Known {
    width: u16,
    /// From the least significant one on.
    bits: Vec<Trit>,
    unsigned: Bounds,
    signed: Bounds,
}

impl Known {
    fn nothing(width: u16) -> Known {
        let half = power(width - 1);
        let unsigned = (Integer::ZERO, power(width) - Integer::ONE);
        let signed = (half.wrapping_neg(), half - Integer::ONE);
        let bits = if width > WIDTH_MAX { Vec::new() } else { vec![None; width.into()] };
        Known { width, bits, unsigned, signed }
    }

    fn is_followed(&self) -> bool {
        self.width <= WIDTH_MAX
    }

    fn of(width: u16, bits: Vec<Trit>, bounds: &[Option<Bounds>]) -> Known {
        let mut known = Known { bits, ..Known::nothing(width) };
        let (unsigned, signed) = (known.unsigned, known.signed);
        let fits = |(low, high): Bounds, of: Bounds| at_most(of.0, low) && at_most(high, of.1);
        for &bounds in bounds.iter().flatten() {
            // The integer is the value, where the type has it as it is.
            if fits(bounds, unsigned) {
                known.unsigned = meet(known.unsigned, bounds);
            }
            if fits(bounds, signed) {
                known.signed = meet(known.signed, bounds);
            }
        }
        known.settled()
    }

    /// Within these bounds, too.
    fn meeting(mut self, unsigned: Bounds, signed: Bounds) -> Known {
        self.unsigned = meet(self.unsigned, unsigned);
        self.signed = meet(self.signed, signed);
        self.settled()
    }

    /// With all that bits and bounds say of each other.
    fn settled(mut self) -> Known {
        loop {
            let before = self.clone();
            self.bounds_from_bits();
            self.bits_from_bounds();
            self.bounds_from_bounds();
            let is_same = before.bits == self.bits
                && (before.unsigned, before.signed) == (self.unsigned, self.signed);
            if is_same {
                return self;
            }
        }
    }

    /// The least and the greatest integer with these bits.
    fn bounds_from_bits(&mut self) {
        let at = |k: u16, when: Trit, otherwise: bool| match when.unwrap_or(otherwise) {
            true => power(k),
            false => Integer::ZERO,
        };
        let (mut low, mut high) = (Integer::ZERO, Integer::ZERO);
        for (k, &bit) in (0..).zip(&self.bits) {
            (low, high) = (low + at(k, bit, false), high + at(k, bit, true));
        }
        self.unsigned = meet(self.unsigned, (low, high));
        let top = self.width - 1;
        let (rest, sign) = (power(top), self.bits[usize::from(top)]);
        let rest_of = |value: Integer| value & (rest - Integer::ONE);
        let (low, high) = (rest_of(low), rest_of(high));
        let least = if sign == Some(false) { low } else { low.wrapping_sub(rest) };
        let most = if sign == Some(true) { high.wrapping_sub(rest) } else { high };
        self.signed = meet(self.signed, (least, most));
    }

    /// Upper bits in which the bounds agree, and copies of the sign above what the signed bounds need.
    fn bits_from_bounds(&mut self) {
        let (low, high) = self.unsigned;
        for k in (0..usize::from(self.width)).rev() {
            if low.bit(k) != high.bit(k) {
                break;
            }
            self.bits[k] = Some(low.bit(k));
        }
        let needs = |k: u16, value: Integer| {
            !(at_most(power(k).wrapping_neg(), value) && at_most(value, power(k) - Integer::ONE))
        };
        let copies = (0..self.width).rev();
        let is_copy = |&k: &u16| !needs(k, self.signed.0) && !needs(k, self.signed.1);
        let copies: Vec<u16> = copies.take_while(is_copy).collect();
        if let Some(sign) = copies.iter().find_map(|&k| self.bits[usize::from(k)]) {
            copies.iter().for_each(|&k| self.bits[usize::from(k)] = Some(sign));
        }
    }

    /// Between bounds, on one side of the sign.
    fn bounds_from_bounds(&mut self) {
        let (half, whole) = (power(self.width - 1), power(self.width));
        let (low, high) = self.unsigned;
        if at_most(high, half - Integer::ONE) {
            self.signed = meet(self.signed, (low, high));
        } else if at_most(half, low) {
            let bounds = (low.wrapping_sub(whole), high.wrapping_sub(whole));
            self.signed = meet(self.signed, bounds);
        }
        let (least, most) = self.signed;
        if at_most(Integer::ZERO, least) {
            self.unsigned = meet(self.unsigned, (least, most));
        } else if !at_most(Integer::ZERO, most) {
            let bounds = (least.wrapping_add(whole), most.wrapping_add(whole));
            self.unsigned = meet(self.unsigned, bounds);
        }
    }

    /// One of two values.
    fn either(&self, other: &Known) -> Known {
        if !self.is_followed() {
            return Known::nothing(self.width);
        }
        let pairs = self.bits.iter().zip(&other.bits);
        let bits = pairs.map(|(&a, &b)| if a == b { a } else { None }).collect();
        let span = |a: Bounds, b: Bounds| (least(a.0, b.0), greatest(a.1, b.1));
        let (unsigned, signed) =
            (span(self.unsigned, other.unsigned), span(self.signed, other.signed));
        Known { width: self.width, bits, unsigned, signed }.settled()
    }

    /// The value, if there is only one.
    fn only(&self) -> Option<Integer> {
        (self.is_followed() && self.unsigned.0 == self.unsigned.1).then_some(self.unsigned.0)
    }

    fn may_be_zero(&self) -> bool {
        self.unsigned.0 == Integer::ZERO
    }

    /// A value of which all that is claimed is true.
    fn claimed(width: u16, claim: &StateClaim) -> Known {
        let nothing = Known::nothing(width);
        if !nothing.is_followed() {
            return nothing;
        }
        let bit = |k: u16| match (claim.zeros >> k & 1, claim.ones >> k & 1) {
            (0, 0) => None,
            (_, one) => Some(one == 1),
        };
        let unsigned = (of_unsigned(claim.unsigned.0), of_unsigned(claim.unsigned.1));
        let signed = (of_signed(claim.signed.0), of_signed(claim.signed.1));
        let known = Known { bits: (0..width).map(bit).collect(), unsigned, signed, ..nothing };
        known.settled()
    }

    /// Returns the first part of a claim that does not follow: bits that are 0 and that are 1, unsigned and signed bounds.
    fn refutes_facts(
        &self,
        (zeros, ones): (u128, u128),
        (unsigned, signed): ((u128, u128), (i128, i128)),
    ) -> Option<String> {
        let claimed = |k: u16| match (zeros >> k & 1, ones >> k & 1) {
            (0, 0) => None,
            (_, one) => Some(one == 1),
        };
        if !self.is_followed() {
            let is_silent = zeros | ones == 0;
            return (!is_silent).then(|| "it has too many bits to know any".to_owned());
        }
        let wrong = (0..self.width)
            .find(|&k| claimed(k).is_some_and(|bit| self.bits[usize::from(k)] != Some(bit)));
        if let Some(k) = wrong {
            return Some(format!("bit {k} is not known to be {:?}", claimed(k)));
        }
        let outside = |claimed: Bounds, found: Bounds| {
            !(at_most(claimed.0, found.0) && at_most(found.1, claimed.1))
        };
        let unsigned = (of_unsigned(unsigned.0), of_unsigned(unsigned.1));
        let signed = (of_signed(signed.0), of_signed(signed.1));
        if outside(unsigned, self.unsigned) {
            return Some(format!("unsigned it is from {:?}", self.unsigned));
        }
        outside(signed, self.signed).then(|| format!("signed it is from {:?}", self.signed))
    }
}

fn least(a: Integer, b: Integer) -> Integer {
    if at_most(a, b) { a } else { b }
}

fn greatest(a: Integer, b: Integer) -> Integer {
    if at_most(a, b) { b } else { a }
}

fn meet(a: Bounds, b: Bounds) -> Bounds {
    (greatest(a.0, b.0), least(a.1, b.1))
}

/// Returns the claims about values of `program` that do not follow from it; nothing if all do.
///
/// Of a block of a program of several, `state` is what [`check_state`] has proven of places.
///
/// # Errors
/// If the program cannot be read.
pub fn check_narrow<R: Read + Seek>(
    program: &mut ProgramReader<R>,
    claims: &[NarrowClaim],
    state: Option<&[StateClaim]>,
) -> Result<Vec<String>, Error> {
    let claims: HashMap<u64, &NarrowClaim> =
        claims.iter().map(|claim| (claim.value, claim)).collect();
    let description = program.description().clone();
    let assumed = known_of(&description, state.unwrap_or_default());
    let mut places = match state {
        Some(_) => KnownState::claimed(&assumed),
        None => KnownState::of_block(&description, !description.is_block),
    };
    let mut faults = Vec::new();
    for_each_known(program, &mut places, |number, i, _, found, _| {
        for (&name, known) in i.results().iter().zip(found) {
            let refutes = |claim: &&NarrowClaim| {
                let bounds = (claim.unsigned, claim.signed);
                known.refutes_facts((claim.zeros, claim.ones), bounds)
            };
            let fault = claims.get(&name).and_then(refutes);
            if let Some(fault) = fault.filter(|_| faults.len() < FAULTS_MAX) {
                let op = i.op.info().name;
                faults.push(format!("instruction {number}, %{name} = {op}: {fault}"));
            }
        }
    })?;
    Ok(faults)
}

/// Calls `visit` for each instruction, by number, with what is known of its operands, of its results, and of what it writes to
/// a place.
fn for_each_known<R: Read + Seek>(
    program: &mut ProgramReader<R>,
    places: &mut KnownState<'_>,
    mut visit: impl FnMut(u64, &Instruction, &[&Known], &[Known], Option<(StatePlace, Known)>),
) -> Result<(), Error> {
    let mut values: HashMap<u64, Known> = HashMap::new();
    let mut number = 0u64;
    program.for_each(|i| -> Result<(), Error> {
        let operands: Vec<&Known> = i.operands().iter().map(|name| &values[name]).collect();
        let mut found = rules::results(i, &operands);
        if let Some(known) = places.read(i) {
            found[0] = known;
        }
        let written = places.write(i, &operands);
        visit(number, i, &operands, &found, written);
        values.extend(i.results().iter().copied().zip(found));
        number += 1;
        Ok(())
    })
}
