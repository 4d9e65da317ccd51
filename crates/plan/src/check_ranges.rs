//! The checker of ranges: proves the claims of the lowering to a field.
//!
//! Independent of the lowering (`integers.rs`): it computes an interval for each element of the lowered
//! program, from the types of what comes in and from the operations alone, and shares no code with what
//! made the claims. It proves, for all inputs:
//!
//! 1. every claimed range contains the interval of its value;
//! 2. operands of comparisons, `abs` and right shifts are in the type of their instruction, and the
//!    difference of two compared ones fits the field: no mask is too small for what it hides;
//! 3. what is reduced or decomposed fits the field, as does whatever it was computed from;
//! 4. selectors, and operands of logic, are 0 or 1;
//! 5. what is given out is in the range of a type of its width, and what is carried in that of its own;
//! 6. what is taken for bits of a value are bits that the program has: elements that are 0 or 1.
//!
//! A product of one value with itself is taken for a square only if every entry is one. It proves nothing
//! of what values mean: a claim that is true of a wrong value passes. Tests compute both programs for
//! that (`tests/ranges.rs`).
//!
//! Memory: 100 bytes per value.

use std::collections::HashMap;
use std::io::{Read, Seek};

use phineus_bytecode::{ElementType, Instruction, Lane, Op, ProgramReader, Sharing, mask_of};

use crate::error::Error;
use crate::integers::Claim;

/// Faults are reported up to this many.
const FAULTS_MAX: usize = 20;

/// The claims about the elements of a lowered program.
#[derive(Default)]
pub struct Claims {
    /// By name: the intersection of all claims about a value.
    ranges: Vec<Option<Interval>>,
    /// By name: how many bits a value is taken to have at least; 0 if it is not taken for bits.
    bits: Vec<u16>,
}

impl Claims {
    /// Takes a claim; those about meaning are for tests.
    pub fn note(&mut self, claim: Claim) {
        if let Claim::Bits { to: (_, count), value, at, is_repeated, .. } = claim {
            let (at_value, end) = (value as usize, at + if is_repeated { 1 } else { count });
            self.bits.resize(self.bits.len().max(at_value + 1), 0);
            self.bits[at_value] = self.bits[at_value].max(end);
        }
        let Claim::InRange { value, low, high } = claim else { return };
        let at = value as usize;
        if at >= self.ranges.len() {
            self.ranges.resize(at + 1, None);
        }
        let known = self.ranges[at].unwrap_or(Interval { low, high });
        self.ranges[at] = Some(Interval { low: known.low.max(low), high: known.high.min(high) });
    }
}

/// From `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    low: i128,
    high: i128,
}

/// `None` where nothing is known: beyond 127 bits.
type Known = Option<Interval>;

const BIT: Interval = Interval { low: 0, high: 1 };

impl Interval {
    fn of(element: ElementType) -> Known {
        let (width, signed) = (u32::from(element.width()), element.is_signed());
        let bits = width - u32::from(signed);
        let end = if bits < 127 { 1i128 << bits } else { return None };
        Some(Interval { low: if signed { -end } else { 0 }, high: end - 1 })
    }

    fn is_within(self, other: Interval) -> bool {
        other.low <= self.low && self.high <= other.high
    }

    fn union(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn add(self, other: Interval) -> Known {
        let low = self.low.checked_add(other.low)?;
        Some(Interval { low, high: self.high.checked_add(other.high)? })
    }

    fn neg(self) -> Known {
        Some(Interval { low: self.high.checked_neg()?, high: self.low.checked_neg()? })
    }

    fn sub(self, other: Interval) -> Known {
        self.add(other.neg()?)
    }

    fn mul(self, other: Interval) -> Known {
        let mut all: Option<Interval> = None;
        for a in [self.low, self.high] {
            for b in [other.low, other.high] {
                let product = a.checked_mul(b)?;
                let point = Interval { low: product, high: product };
                all = Some(all.map_or(point, |all| all.union(point)));
            }
        }
        all
    }

    /// Of magnitudes: 0 if it is in between, and the larger end.
    fn magnitude(self) -> Known {
        let ends = [self.low.checked_abs()?, self.high.checked_abs()?];
        let has_zero = self.low <= 0 && self.high >= 0;
        let low = if has_zero { 0 } else { ends[0].min(ends[1]) };
        Some(Interval { low, high: ends[0].max(ends[1]) })
    }

    /// Of the sum of `count` numbers.
    fn times(self, count: u64) -> Known {
        let count = i128::from(count);
        self.mul(Interval { low: count, high: count })
    }
}

/// A value made by shifts, so that its difference from the original is a remainder.
#[derive(Clone, Copy)]
enum ShiftOrigin {
    /// A value shifted right.
    Right { of: u64, amount: u64 },
    /// A value shifted right and left again by the same amount.
    Multiple { of: u64, amount: u64 },
}

/// The intervals so far.
struct Prover<'a> {
    claims: &'a Claims,
    magnitude_bits: u32,
    known: Vec<Known>,
    /// By name: how many bits a value that is not defined so far is taken to have.
    wanted_bits: Vec<u16>,
    shifted: HashMap<u64, ShiftOrigin>,
}

/// Returns the claims that are not proven about `lowered`, a program lowered to a field of integers
/// below `2^magnitude_bits` in magnitude; nothing if all of them hold.
///
/// # Errors
/// If the program cannot be read.
pub fn check_ranges<R: Read + Seek>(
    lowered: &mut ProgramReader<R>,
    claims: &Claims,
    magnitude_bits: u32,
) -> Result<Vec<String>, Error> {
    let known = vec![None; claims.ranges.len()];
    let (wanted_bits, shifted) = (claims.bits.clone(), HashMap::new());
    let mut prover = Prover { claims, magnitude_bits, known, wanted_bits, shifted };
    let mut faults = Vec::new();
    let mut number = 0u64;
    lowered.for_each(|i| -> Result<(), Error> {
        if faults.len() < FAULTS_MAX
            && let Err(fault) = prover.step(i)
        {
            faults.push(format!("lowered instruction {number}, {}: {fault}", i.op.info().name));
        }
        number += 1;
        Ok(())
    })?;
    let undefined = prover.wanted_bits.iter().position(|&bits| bits > 0);
    faults.extend(undefined.map(|name| format!("%{name} is claimed to be bits, and is not there")));
    faults.truncate(FAULTS_MAX);
    Ok(faults)
}

impl Prover<'_> {
    fn step(&mut self, i: &Instruction) -> Result<(), String> {
        self.needs(i)?;
        let intervals = match i.element.sharing() {
            Sharing::Arithmetic => self.results(i),
            // Bits are bits, whatever they are.
            Sharing::Any | Sharing::Boolean | Sharing::Garbled => [None; 2],
        };
        for (&name, interval) in i.results().iter().zip(intervals) {
            let at = name as usize;
            if at >= self.known.len() {
                self.known.resize(at + 1, None);
            }
            self.known[at] = interval;
            let bits = self.wanted_bits.get_mut(at).map_or(0, std::mem::take);
            let is_integer = i.element.sharing() == Sharing::Arithmetic;
            if bits > 0 && (is_integer || i.element.width() < bits) {
                return Err(format!("%{name} is claimed to be {bits} bits, and is {}", i.element));
            }
            let claimed = self.claims.ranges.get(at).copied().flatten();
            if let Some(claimed) = claimed
                && !interval.is_some_and(|interval| interval.is_within(claimed))
            {
                let found = interval.map_or("anything".to_owned(), |found| {
                    format!("from {} to {}", found.low, found.high)
                });
                return Err(format!(
                    "%{name} is claimed to be from {} to {}, and may be {found}",
                    claimed.low, claimed.high
                ));
            }
        }
        Ok(())
    }

    fn operand(&self, i: &Instruction, k: usize) -> Known {
        self.known.get(i.operands[k] as usize).copied().flatten()
    }

    /// Returns whether scripts on elements are right for these integers. Only a value's bits from number
    /// `magnitude_bits` on cannot be told if it is two to this power: where types are narrower than
    /// that, it may be.
    fn fits(&self, known: Known) -> bool {
        let bound = 1i128 << self.magnitude_bits;
        let most = if self.magnitude_bits > 64 { bound } else { bound - 1 };
        known.is_some_and(|known| -bound < known.low && known.high <= most)
    }

    /// Checks the ranges that an instruction requires of its operands.
    fn needs(&self, i: &Instruction) -> Result<(), String> {
        let is_integer = i.element.sharing() == Sharing::Arithmetic;
        let within = |k: usize, wanted: Known| {
            let found = self.operand(i, k);
            match (found, wanted) {
                (Some(found), Some(wanted)) if found.is_within(wanted) => Ok(()),
                _ => Err(format!("operand {k} is {found:?}, and must be {wanted:?}")),
            }
        };
        let fits = |what: &str, known: Known| {
            if self.fits(known) { Ok(()) } else { Err(format!("{what} does not fit: {known:?}")) }
        };
        let of_type = Interval::of(i.element);
        match i.op {
            // It is taken for the bit.
            Op::Convert if !is_integer && i.element.width() == 1 => within(0, Some(BIT)),
            Op::Convert if !is_integer => fits("the operand", self.operand(i, 0)),
            _ if !is_integer => Ok(()),
            Op::Eq | Op::Ne | Op::Lt | Op::Le => {
                within(0, of_type)?;
                within(1, of_type)?;
                let both = self.operand(i, 0).zip(self.operand(i, 1));
                fits("the difference", both.and_then(|(a, b)| a.sub(b)))
            }
            Op::Abs | Op::ShiftRight => {
                within(0, of_type)?;
                fits("the operand", self.operand(i, 0))
            }
            // What is 0 in the field must be 0.
            Op::Reduce | Op::RequireZero => fits("the operand", self.operand(i, 0)),
            Op::And | Op::Or | Op::Xor => within(0, Some(BIT)).and(within(1, Some(BIT))),
            Op::Not | Op::Mux | Op::CondSwap | Op::Mask => within(0, Some(BIT)),
            Op::Store | Op::RegionStore | Op::RegionStoreAt | Op::Reveal => within(0, of_type),
            Op::Output => {
                let kinds = [false, true].map(|s| ElementType::integer(i.element.width(), s));
                let [unsigned, signed] = kinds.map(Interval::of);
                within(0, unsigned).or_else(|_| within(0, signed))
            }
            // These are right for all elements of the field.
            Op::Input | Op::Constant | Op::Load | Op::Convert => Ok(()),
            Op::Switches | Op::RegionLoad | Op::RegionLoadAt => Ok(()),
            Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::MatMul | Op::ShiftLeft | Op::LaneSum => {
                Ok(())
            }
            op if op.is_lane_movement() || op.is_directive() || op == Op::Round => Ok(()),
            op => Err(format!("{} is no operation on elements of the field", op.info().name)),
        }
    }

    /// The intervals of the results of an instruction on elements.
    fn results(&mut self, i: &Instruction) -> [Known; 2] {
        let [a, b, c] = [0, 1, 2].map(|k| match k < i.operands().len() {
            true => self.operand(i, k),
            false => None,
        });
        let both = a.zip(b);
        let power = |amount: u64| {
            let power = 1i128.checked_shl(amount.min(200) as u32).filter(|power| *power > 0)?;
            Some(Interval { low: power, high: power })
        };
        let one = match i.op {
            Op::Constant => constant(i),
            // Convert: from bits, which are those of a number of this type.
            Op::Input | Op::Load | Op::Convert | Op::Reduce => Interval::of(i.element),
            // All that is stored is in the range of the type, and so are the zeros before.
            Op::RegionLoad | Op::RegionLoadAt => Interval::of(i.element),
            Op::Switches => Some(BIT),
            Op::And | Op::Or | Op::Xor | Op::Eq | Op::Ne | Op::Lt | Op::Le => Some(BIT),
            Op::Not => a.and_then(|a| BIT_HIGH.sub(a)),
            Op::Add => both.and_then(|(a, b)| a.add(b)),
            Op::Sub => self.remainder(i).or_else(|| both.and_then(|(a, b)| a.sub(b))),
            Op::Neg => a.and_then(Interval::neg),
            Op::Abs => a.and_then(Interval::magnitude),
            Op::Mul if i.is_square() => square(a),
            Op::Mul => both.and_then(|(a, b)| a.mul(b)),
            // One row times itself; every other product of a value with itself has other terms, too.
            Op::MatMul if i.operands[0] == i.operands[1] && i.lanes == 1 => {
                square(a).and_then(|term| term.times(i.immediates[0]))
            }
            Op::MatMul => {
                both.and_then(|(a, b)| a.mul(b)).and_then(|term| term.times(i.immediates[0]))
            }
            Op::LaneSum => a.and_then(|a| a.times(i.immediates[1])),
            Op::Mask => b.map(|b| b.union(Interval { low: 0, high: 0 })),
            Op::Mux | Op::CondSwap => b.zip(c).map(|(b, c)| b.union(c)),
            Op::ShiftLeft => {
                self.note_multiple(i);
                a.zip(power(i.immediates[0])).and_then(|(a, power)| a.mul(power))
            }
            Op::ShiftRight => {
                let amount = i.immediates[0];
                let from = ShiftOrigin::Right { of: i.operands[0], amount };
                self.shifted.insert(i.results[0], from);
                let by = amount.min(126) as u32;
                a.map(|a| Interval { low: a.low >> by, high: a.high >> by })
            }
            op if op.is_lane_movement() && i.operands().len() == 2 => both.map(|(a, b)| a.union(b)),
            op if op.is_lane_movement() => a,
            _ => None,
        };
        [one; 2]
    }

    /// Notes a multiple of a power of two that is a value without its low bits.
    fn note_multiple(&mut self, i: &Instruction) {
        if let Some(&ShiftOrigin::Right { of, amount }) = self.shifted.get(&i.operands[0])
            && amount == i.immediates[0]
        {
            self.shifted.insert(i.results[0], ShiftOrigin::Multiple { of, amount });
        }
    }

    /// The interval of `x - (x >> k << k)`.
    fn remainder(&self, i: &Instruction) -> Known {
        match self.shifted.get(&i.operands[1]) {
            Some(&ShiftOrigin::Multiple { of, amount }) if of == i.operands[0] && amount < 127 => {
                Some(Interval { low: 0, high: (1 << amount) - 1 })
            }
            _ => None,
        }
    }
}

const BIT_HIGH: Interval = Interval { low: 1, high: 1 };

fn square(known: Known) -> Known {
    let magnitude = known?.magnitude()?;
    magnitude.mul(magnitude)
}

fn constant(i: &Instruction) -> Known {
    let (value, width) = (Lane::from_limbs(i.immediates), i.element.width());
    let is_negative = i.element.is_signed() && value.bit(usize::from(width) - 1);
    let magnitude = if is_negative { value.wrapping_neg() & mask_of(width) } else { value };
    let magnitude = i128::try_from(magnitude).ok()?;
    let exact = if is_negative { -magnitude } else { magnitude };
    Some(Interval { low: exact, high: exact })
}
