//! Sums of many terms over several instructions: all terms are added at once where that takes fewer ANDs.
//!
//! The number of ones among `n` bits takes `n` ANDs less the ones of `n`, but a sum of the counts of parts of them takes
//! more: each part ends with half adders, whose carries are made in vain. So counts of bits, sums of lanes and sums whose
//! only use is in another sum soon after are put off ([`PendingSum`]) with their terms. Then terms of equal width are
//! the lanes of one sum, or the bits of one count; or the sum is computed as the program has it.
//!
//! Terms that are put off are alive longer than sums of them would be: by [`HELD_WIRES_MAX`] wires at most.

mod joined;

use phineus_bytecode::limits::{VALUE_WIRES_MAX, WIDTH_MAX};
use phineus_bytecode::{ElementType, Instruction, Op, Sharing};

use super::{Narrowing, natural};
use crate::error::Error;
use crate::narrow::NarrowClaim;
use crate::narrow::demand::{self, Extent, extent};
use crate::narrow::facts::{Facts, mask};
use crate::narrow::notes::InstructionNotes;
use crate::narrow::views::View;

/// The most wires of all terms that are put off: four pages of labels.
const HELD_WIRES_MAX: u64 = 4 * VALUE_WIRES_MAX as u64;

/// An unsigned value of the narrowed program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Term {
    name: u64,
    width: u16,
    lanes: u32,
}

/// A sum as the program has it, modulo two to the number of bits that it states.
#[derive(Debug)]
enum Node {
    Value(Term),
    Constant(u128),
    /// The ones of each lane.
    Count(Term, u16),
    /// The sum of all of so many lanes.
    Lanes(Box<Node>, u32, u16),
    Sum(Box<[Node; 2]>, u16),
}

/// A sum that is not computed yet.
#[derive(Debug)]
pub(super) struct PendingSum {
    node: Node,
    /// Gives the lanes and the sharing of the sum.
    context: Instruction,
    /// Bits that are wanted of it.
    high: u16,
    /// What it is at most, before it is cut to these.
    most: u128,
    /// Wires of all terms.
    wires: u64,
    /// ANDs as the program has it.
    ands: u64,
    /// Whether anything has fewer bits than in the program.
    is_narrower: bool,
    facts: Facts,
    demanded: u128,
}

/// What becomes of an instruction.
pub(super) enum Gathered {
    /// It is not of a sum that is put off.
    No,
    Later(Box<PendingSum>),
    Now(View),
}

impl<E, C> Narrowing<'_, E, C>
where
    E: FnMut(&Instruction) -> Result<(), Error>,
    C: FnMut(&NarrowClaim),
{
    /// Takes `i` for a part of a sum of many terms, if it is one.
    pub(super) fn gathered(
        &mut self,
        i: &Instruction,
        notes: &InstructionNotes,
    ) -> Result<Gathered, Error> {
        let is_sum = matches!(i.op, Op::Popcount | Op::LaneSum | Op::Cast | Op::Add);
        let has_pending = i.operands().iter().any(|name| self.pending.contains_key(name));
        if !is_sum || !(notes.is_addend || has_pending) {
            return Ok(Gathered::No);
        }
        let e = extent(&notes.facts[0], notes.demanded[0]);
        let is_tracked = notes.facts[0].is_tracked()
            && (0..i.operands().len()).all(|k| self.facts(i, k).is_tracked());
        let is_whole = demand::is_left_whole(i) || i.element.sharing() == Sharing::Arithmetic;
        if !self.options.gathers_sums || !is_tracked || is_whole || e.is_signed || e.high == 0 {
            return Ok(Gathered::No);
        }
        let found = match i.op {
            Op::Popcount => self.gathered_count(i, e)?,
            Op::LaneSum => self.gathered_lanes(i, notes.is_addend, e)?,
            Op::Cast => self.gathered_cast(i, e),
            Op::Add => self.gathered_sum(i, notes.is_addend, e)?,
            op => unreachable!("{} is no sum", op.info().name),
        };
        let Some(sum) = found else { return Ok(Gathered::No) };
        let sum = PendingSum { facts: notes.facts[0], demanded: notes.demanded[0], ..sum };
        self.held_wires += sum.wires;
        if notes.is_addend {
            return Ok(Gathered::Later(Box::new(sum)));
        }
        Ok(Gathered::Now(self.computed(&sum, e)?))
    }

    /// Computes the operands of `i` that were put off, for an instruction that is not of a sum.
    pub(super) fn settle_operands(&mut self, i: &Instruction) -> Result<(), Error> {
        for &name in i.operands() {
            let Some(sum) = self.pending.remove(&name) else { continue };
            let view = self.computed(&sum, extent(&sum.facts, sum.demanded))?;
            let value = self.values.get_mut(name).expect("its facts are known");
            (value.demanded, value.view) = (sum.demanded, Some(view));
        }
        Ok(())
    }

    /// A new sum of the lanes and the sharing of `i`.
    fn pending(&self, i: &Instruction, node: Node, high: u16) -> PendingSum {
        PendingSum {
            node,
            context: Instruction::new(Op::Add, natural(i.element, 1), i.lanes),
            high,
            most: 0,
            wires: 0,
            ands: 0,
            is_narrower: false,
            facts: Facts::unknown(1),
            demanded: 0,
        }
    }

    /// Returns whether so many more wires, beside those of operands that were put off, may be.
    fn has_space(&self, i: &Instruction, more: u64) -> bool {
        let own = i.operands().iter().filter_map(|name| self.pending.get(name));
        let wires = own.map(|sum| sum.wires).sum::<u64>() + more;
        let is_counted = i.lanes == 1 || wires <= u64::from(WIDTH_MAX) * u64::from(i.lanes);
        let held = self.held_wires + more;
        wires <= VALUE_WIRES_MAX.into() && is_counted && held <= HELD_WIRES_MAX
    }

    /// Takes an operand that was put off.
    fn take_pending(&mut self, name: u64) -> Option<PendingSum> {
        let sum = *self.pending.remove(&name)?;
        self.held_wires -= sum.wires;
        Some(sum)
    }

    fn gathered_count(&mut self, i: &Instruction, e: Extent) -> Result<Option<PendingSum>, Error> {
        let width = self.facts(i, 0).unsigned_width().max(1);
        let wires = u64::from(width) * u64::from(i.lanes);
        if !self.has_space(i, wires) {
            return Ok(None);
        }
        let term = Term { name: self.part(i, 0, 0, width)?, width, lanes: i.lanes };
        let mut sum = self.pending(i, Node::Count(term, e.high), e.high);
        let made = Instruction { immediates: [width.into(), 0, 0, 0], lanes: 1, ..*i };
        let made = Instruction { element: natural(i.element, e.high), ..made };
        sum.ands = (self.options.and_gates)(&made) * u64::from(i.lanes);
        (sum.most, sum.wires) = (width.into(), wires);
        sum.is_narrower = i.immediates[0] != u64::from(width) || i.element.width() != e.high;
        Ok(Some(sum))
    }

    fn gathered_lanes(
        &mut self,
        i: &Instruction,
        is_addend: bool,
        e: Extent,
    ) -> Result<Option<PendingSum>, Error> {
        let ([from_width, lanes, ..], name) = (i.immediates, i.operands[0]);
        let (facts, before) = (self.facts(i, 0), self.pending.get(&name));
        let widens = from_width < i.element.width().into();
        let is_cut = match before {
            Some(sum) => widens && sum.most > mask(from_width as u16),
            None => is_addend && facts.unsigned_width() > e.high,
        };
        let is_signed = i.element.is_signed() && !facts.is_natural();
        let width = facts.unsigned_width().clamp(1, e.high);
        let wires = if before.is_none() { u64::from(width) * lanes } else { 0 };
        if is_signed || is_cut || !self.has_space(i, wires) {
            return Ok(None);
        }
        let term = match before {
            Some(_) => None,
            None => Some(self.part(i, 0, 0, width)?),
        };
        let lanes = lanes as u32;
        let before = self.take_pending(name).unwrap_or_else(|| {
            let term = Term { name: term.expect("it was not put off"), width, lanes };
            let most = mask(width);
            PendingSum { most, wires, ..self.pending(i, Node::Value(term), width) }
        });
        let mut made = Instruction::new(Op::LaneSum, natural(i.element, e.high), 1);
        made.immediates[..2].copy_from_slice(&[before.high.into(), lanes.into()]);
        let is_less = from_width != u64::from(before.high) || i.element.width() != e.high;
        let node = Node::Lanes(Box::new(before.node), lanes, e.high);
        Ok(Some(PendingSum {
            most: before.most.saturating_mul(lanes.into()),
            wires: before.wires,
            ands: before.ands + (self.options.and_gates)(&made),
            is_narrower: before.is_narrower || is_less,
            ..self.pending(i, node, e.high)
        }))
    }

    /// Of a sum that was put off, if no carry is cut off.
    fn gathered_cast(&mut self, i: &Instruction, e: Extent) -> Option<PendingSum> {
        let [from, is_signed, ..] = i.immediates;
        let sum = self.pending.get(&i.operands[0])?;
        let widens = from < i.element.width().into();
        let is_natural = is_signed == 0 || self.facts(i, 0).is_natural();
        if widens && !(is_natural && sum.most <= mask(from as u16)) {
            return None;
        }
        let sum = self.take_pending(i.operands[0])?;
        Some(PendingSum { high: e.high, ..sum })
    }

    fn gathered_sum(
        &mut self,
        i: &Instruction,
        is_addend: bool,
        e: Extent,
    ) -> Result<Option<PendingSum>, Error> {
        let facts = [self.facts(i, 0), self.facts(i, 1)];
        let is_pending = [0, 1].map(|k| self.pending.contains_key(&i.operands[k]));
        let constants = [0, 1].map(|k| facts[k].as_constant().filter(|_| !is_pending[k]));
        let widths = [0, 1].map(|k| facts[k].unsigned_width().clamp(1, e.high));
        let is_cut = (0..2)
            .any(|k: usize| !is_pending[k] && is_addend && facts[k].unsigned_width() > e.high);
        let is_xor = mask(e.high) & !(facts[0].zeros | facts[1].zeros) == 0;
        let has_low_zeros =
            (0..2).any(|k: usize| constants[k].is_none() && facts[k].trailing_zeros() > 0);
        let are_both = is_pending == [true; 2];
        // A sum of two values gains where it grows by a bit that another sum is waiting for.
        let grows = is_addend
            && constants == [None; 2]
            && widths.iter().all(|&width| width < e.high)
            && (i.lanes == 1 || widths.contains(&1));
        let is_worth_it =
            are_both || !self.options.has_rounds && (is_pending != [false; 2] || grows);
        let is_new = |k: usize| !is_pending[k] && constants[k].is_none();
        let new = (0..2).filter(|&k| is_new(k)).map(|k| u64::from(widths[k])).sum::<u64>();
        let wires = new * u64::from(i.lanes);
        if is_cut || is_xor || has_low_zeros || !is_worth_it || !self.has_space(i, wires) {
            return Ok(None);
        }
        let mut sum = self.pending(i, Node::Constant(0), e.high);
        sum.is_narrower = i.element.width() != e.high;
        let known = constants[0].or(constants[1]);
        let ands = match known {
            Some(constant) => self.cost_of_constant(constant, e.high),
            None => self.cost(Op::Add, ElementType::unsigned(e.high)),
        };
        (sum.ands, sum.wires) = (ands * u64::from(i.lanes), wires);
        let mut nodes = [Node::Constant(0), Node::Constant(0)];
        for (k, node) in nodes.iter_mut().enumerate() {
            let most = match (self.take_pending(i.operands[k]), constants[k]) {
                (Some(before), _) => {
                    *node = before.node;
                    sum.wires += before.wires;
                    sum.ands += before.ands;
                    sum.is_narrower |= before.is_narrower;
                    before.most
                }
                (None, Some(constant)) => {
                    *node = Node::Constant(constant & mask(e.high));
                    constant & mask(e.high)
                }
                (None, None) => {
                    let name = self.part(i, k, 0, widths[k])?;
                    *node = Node::Value(Term { name, width: widths[k], lanes: i.lanes });
                    mask(widths[k])
                }
            };
            sum.most = sum.most.saturating_add(most);
        }
        sum.node = Node::Sum(Box::new(nodes), e.high);
        Ok(Some(sum))
    }
}
