//! Forward again: each instruction in the least width that gives the needed bits of its results.

mod added_constants;
mod arithmetic;
mod constants;
mod known_divisors;
mod orders;
mod products;
mod quotients;
mod sums;

use std::collections::HashMap;

use phineus_bytecode::limits::RESULTS_MAX;
use phineus_bytecode::{ElementType, Instruction, Op};

use super::demand::{self, Extent, extent, is_known};
use super::facts::{Facts, mask};
use super::notes::InstructionNotes;
use super::recent::{ComparedBit, RecentOrders};
use super::views::{Emitter, NarrowedValue, View};
use super::{NarrowClaim, NarrowOptions};
use crate::error::Error;
use crate::name_table::NameTable;

use sums::{Gathered, PendingSum};

/// Where the results of an instruction are.
type ResultViews = [Option<View>; RESULTS_MAX];

/// The state of the last pass.
pub(super) struct Narrowing<'a, E, C> {
    pub(super) options: NarrowOptions<'a>,
    pub(super) emitter: Emitter<E>,
    pub(super) values: NameTable<NarrowedValue>,
    pub(super) claim: C,
    /// Whether anything is computed in another form than in the program, or left out.
    pub(super) is_narrower: bool,
    /// Sums that are not computed yet, by the name of the value, and the wires of their terms.
    pending: HashMap<u64, Box<PendingSum>>,
    held_wires: u64,
    /// The results of comparisons; none of leasts and greatests.
    compared: RecentOrders<Option<ComparedBit>>,
}

impl<E, C> Narrowing<'_, E, C>
where
    E: FnMut(&Instruction) -> Result<(), Error>,
    C: FnMut(&NarrowClaim),
{
    pub(super) fn new(
        options: NarrowOptions<'_>,
        emitter: Emitter<E>,
        claim: C,
    ) -> Narrowing<'_, E, C> {
        let (values, pending, compared) = (NameTable::new(), HashMap::new(), RecentOrders::new());
        let (is_narrower, held_wires) = (false, 0);
        Narrowing { options, emitter, values, claim, is_narrower, pending, held_wires, compared }
    }

    pub(super) fn step(&mut self, i: &Instruction, notes: &InstructionNotes) -> Result<(), Error> {
        let gathered = match notes.is_needed {
            true => self.gathered(i, notes)?,
            false => Gathered::No,
        };
        let mut views = [None; RESULTS_MAX];
        let mut later = None;
        match gathered {
            Gathered::No if notes.is_needed => {
                self.settle_operands(i)?;
                self.emitter.forget_computed();
                views = self.emit(i, notes)?;
                self.is_narrower |= !self.emitter.has_computed(i);
            }
            Gathered::No => self.is_narrower |= !self.emitter.has_computed(i),
            Gathered::Now(view) => views[0] = Some(view),
            Gathered::Later(sum) => later = Some(sum),
        }
        self.emitter.forget_computed();
        for (k, &operand) in i.operands().iter().enumerate() {
            if notes.last_uses[k] {
                self.values.remove(operand);
            }
        }
        for (k, &result) in i.results().iter().enumerate() {
            let (facts, mut demanded) = (notes.facts[k], notes.demanded[k]);
            if demanded == 0 || !notes.is_used[k] {
                continue;
            }
            if let Some(sum) = later.take() {
                // Of what is not computed yet, no bit is anywhere.
                demanded = 0;
                self.pending.insert(result, sum);
            }
            let view = views[k].filter(|_| !is_known(&facts, demanded));
            let shape = i.result_shape(k);
            let value = NarrowedValue::new((facts, demanded), shape.lanes, shape.sharing, view);
            (self.claim)(&NarrowClaim::of(result, &value));
            self.values.insert(result, value);
        }
        Ok(())
    }

    /// Facts about an operand; none about one that is not needed.
    fn facts(&self, i: &Instruction, k: usize) -> Facts {
        let name = i.operands[k];
        match self.values.contains(name) {
            true => self.values[name].facts,
            false => Facts::unknown(i.operand_shape(k).width),
        }
    }

    /// The bits from `low` on before `high` of an operand.
    fn part(&mut self, i: &Instruction, k: usize, low: u16, high: u16) -> Result<u64, Error> {
        let Narrowing { values, emitter, .. } = self;
        match values.get_mut(i.operands[k]) {
            Some(value) => emitter.part(value, low, high),
            None => {
                let shape = i.operand_shape(k);
                let element = ElementType::unsigned(high - low).shared(shape.sharing);
                emitter.make(Op::Constant, (element, shape.lanes), &[], &[])
            }
        }
    }

    /// All bits of an operand.
    fn whole_part(&mut self, i: &Instruction, k: usize) -> Result<u64, Error> {
        self.part(i, k, 0, i.operand_shape(k).width)
    }

    /// The bits of an operand from `from` on, as those that `extent` names.
    fn moved(
        &mut self,
        i: &Instruction,
        (k, from): (usize, u16),
        extent: Extent,
    ) -> Result<View, Error> {
        let name = i.operands[k];
        let view = if self.values.contains(name) { self.values[name].view } else { None };
        match view.and_then(|view| view.moved(from, extent)) {
            Some(view) => Ok(view),
            None => {
                let part = self.part(i, k, from, from + (extent.high - extent.low))?;
                Ok(View::of_extent(part, extent))
            }
        }
    }

    /// Emits `i` as it is, on whole operands; returns it with its new names.
    fn emit_whole(&mut self, i: &Instruction) -> Result<Instruction, Error> {
        let mut made = *i;
        for k in 0..i.operands().len() {
            made.operands[k] = self.whole_part(i, k)?;
        }
        self.emitter.define(made)
    }

    /// Emits `i` whole; its results are as they are.
    fn whole(&mut self, i: &Instruction) -> Result<ResultViews, Error> {
        let made = self.emit_whole(i)?;
        let view = |k: usize| match k < made.result_count() {
            true => Some(View::whole(made.results[k], made.result_shape(k).width)),
            false => None,
        };
        Ok([view(0), view(1)])
    }

    /// Emits `i` whole; of its results only the bits that are wanted are as they are, since no others of its
    /// operands need be.
    fn whole_within(
        &mut self,
        i: &Instruction,
        notes: &InstructionNotes,
    ) -> Result<ResultViews, Error> {
        let made = self.emit_whole(i)?;
        let view = |k: usize| {
            let e = extent(&notes.facts[k], notes.demanded[k]);
            let is_wanted = k < made.result_count() && e.high > 0;
            is_wanted.then(|| View::within(made.results[k], made.result_shape(k).width, e))
        };
        Ok([view(0), view(1)])
    }

    /// Emits `i`, all of whose operands and results have its width, on the bits that `extent` names.
    /// The first `skipped` operands are bits.
    fn on_extent(
        &mut self,
        i: &Instruction,
        extent: Extent,
        skipped: usize,
    ) -> Result<Instruction, Error> {
        let mut made = *i;
        made.element = of_width(i.element, extent.high - extent.low);
        for k in 0..i.operands().len() {
            made.operands[k] = match k < skipped {
                true => self.whole_part(i, k)?,
                false => self.part(i, k, extent.low, extent.high)?,
            };
        }
        self.emitter.define(made)
    }

    /// As [`Narrowing::on_extent`]; returns where the results are.
    fn at_extent(
        &mut self,
        i: &Instruction,
        extent: Extent,
        skipped: usize,
    ) -> Result<ResultViews, Error> {
        let made = self.on_extent(i, extent, skipped)?;
        let view =
            |k: usize| (k < made.result_count()).then(|| View::of_extent(made.results[k], extent));
        Ok([view(0), view(1)])
    }

    fn emit(&mut self, i: &Instruction, notes: &InstructionNotes) -> Result<ResultViews, Error> {
        let has_meaning = i.op.info().meaning.is_some();
        if !has_meaning || i.result_count() == 0 || demand::is_left_whole(i) {
            return self.whole(i);
        }
        let e = extent(&notes.facts[0], notes.demanded[0]);
        let is_tracked = (0..i.operands().len()).all(|k| self.facts(i, k).is_tracked())
            && notes.facts.iter().all(Facts::is_tracked);
        let is_moved_in_lanes = i.op.is_movement() && !i.op.is_lane_movement();
        // Of a wide value a part may be moved, which has facts again.
        if !(is_tracked || is_moved_in_lanes && notes.facts[0].is_tracked()) {
            return self.whole_within(i, notes);
        }
        let one = |view: View| Ok([Some(view), None]);
        match i.op {
            Op::Constant => self.whole(i),
            Op::And | Op::Or | Op::Xor => one(self.logic(i, e)?),
            Op::Not => self.at_extent(i, e, 0),
            Op::Add | Op::Sub | Op::Neg => one(self.sum(i, e)?),
            Op::Mul | Op::MulFull => one(self.product(i, e)?),
            Op::MatMul => one(self.low_bits(i, e)?),
            Op::Div | Op::Rem | Op::DivRem => self.quotient(i, notes),
            Op::Abs => one(self.absolute(i, e)?),
            Op::Min | Op::Max => one(self.extreme(i, e)?),
            Op::Eq | Op::Ne | Op::Lt | Op::Le => one(self.comparison(i)?),
            Op::Mux => match self.facts(i, 0).as_constant() {
                Some(1) => one(self.moved(i, (1, e.low), e)?),
                Some(_) => one(self.moved(i, (2, e.low), e)?),
                None => match self.chosen(i, e)? {
                    Some(view) => one(view),
                    None => self.at_extent(i, e, 1),
                },
            },
            Op::CondSwap => self.cond_swap(i, notes),
            Op::Mask => match self.facts(i, 0).as_constant() {
                Some(_) => one(self.moved(i, (1, e.low), e)?),
                None => match self.chosen(i, e)? {
                    Some(view) => one(view),
                    None => self.at_extent(i, e, 1),
                },
            },
            Op::ShiftLeft | Op::ShiftRight | Op::RotateLeft => one(self.shift(i, e)?),
            Op::ShiftLeftBy | Op::ShiftRightBy | Op::RotateLeftBy => one(self.shift_by(i, e)?),
            Op::Popcount | Op::LeadingZeros => one(self.count(i, e)?),
            Op::AllBits | Op::AnyBit | Op::Parity => one(self.reduction(i)?),
            Op::Cast => one(self.moved(i, (0, e.low), e)?),
            Op::BitSlice => one(self.moved(i, (0, i.immediates[0] as u16 + e.low), e)?),
            Op::BitConcat => one(self.concatenation(i, e)?),
            Op::Reshape if i.operand_shape(0) == i.shape() => one(self.moved(i, (0, e.low), e)?),
            Op::Reshape | Op::ReversePieces => self.whole_within(i, notes),
            Op::Convert if i.operand_shape(0) == i.shape() => one(self.moved(i, (0, e.low), e)?),
            Op::Convert | Op::Reduce => self.at_extent(i, e, 0),
            Op::LaneSlice | Op::LaneConcat | Op::LaneReverse | Op::LaneTile => {
                self.at_extent(i, e, 0)
            }
            Op::LaneRepeat | Op::LaneDeinterleave | Op::LaneInterleave => self.at_extent(i, e, 0),
            Op::LaneSum => one(self.lane_sum(i, e)?),
            Op::LaneAnd | Op::LaneOr | Op::LaneXor => self.at_extent(i, e, 0),
            Op::Aes128 | Op::Aes128KeySchedule | Op::Aes128RoundKeys | Op::Sha256Compress => {
                self.whole_within(i, notes)
            }
            // These have no meaning by themselves, and are whole above.
            Op::Input | Op::Output | Op::Load | Op::Store | Op::RequireZero | Op::Round => {
                self.whole(i)
            }
            Op::Reveal | Op::RegionLoad | Op::RegionStore => self.whole(i),
            Op::RegionLoadAt | Op::RegionStoreAt => self.whole(i),
            Op::Switches | Op::Origins | Op::Tell | Op::SwapKnown | Op::Locate => self.whole(i),
            Op::MemorySet | Op::MemoryOpen | Op::MemoryCell | Op::MemoryChange => self.whole(i),
            Op::MemoryLink | Op::MemoryFollow | Op::MemoryNext => self.whole(i),
            Op::TableSet | Op::TableLookUp | Op::TableTell | Op::TableOpen => self.whole(i),
            Op::PartyKey | Op::PartyPad => self.whole(i),
            Op::SharedSet | Op::SharedHide | Op::SharedLookUp | Op::SharedAdd => self.whole(i),
            Op::IssueSwapIn | Op::FinishSwapIn | Op::IssueSwapOut | Op::FinishSwapOut => {
                self.whole(i)
            }
        }
    }

    /// Bitwise and, or, exclusive or; of an operand that changes nothing, the other one.
    fn logic(&mut self, i: &Instruction, e: Extent) -> Result<View, Error> {
        let facts = [self.facts(i, 0), self.facts(i, 1)];
        for k in 0..2 {
            let other = facts[1 - k];
            let neutral = if i.op == Op::And { other.ones } else { other.zeros };
            if e.wanted & !neutral == 0 {
                return self.moved(i, (k, e.low), e);
            }
        }
        if let Some(view) = self.masked(i, e)? {
            return Ok(view);
        }
        // Where no bit is 1 in both, there is nothing to compute.
        let is_apart = e.wanted & !(facts[0].zeros | facts[1].zeros) == 0;
        let op = if i.op == Op::Or && is_apart { Op::Xor } else { i.op };
        let made = self.on_extent(&Instruction { op, ..*i }, e, 0)?;
        Ok(View::of_extent(made.results[0], e))
    }

    fn cond_swap(
        &mut self,
        i: &Instruction,
        notes: &InstructionNotes,
    ) -> Result<ResultViews, Error> {
        let Some(selected) = self.facts(i, 0).as_constant() else {
            return self.at_extent(i, extent(&notes.facts[0], notes.demanded[0]), 1);
        };
        let mut views = [None; RESULTS_MAX];
        for (k, view) in views.iter_mut().enumerate() {
            let e = extent(&notes.facts[k], notes.demanded[k]);
            if e.high > 0 {
                let operand = if (selected == 1) == (k == 0) { 2 } else { 1 };
                *view = Some(self.moved(i, (operand, e.low), e)?);
            }
        }
        Ok(views)
    }

    /// Shifts and rotations by public amounts.
    fn shift(&mut self, i: &Instruction, e: Extent) -> Result<View, Error> {
        let (w, amount) = (i.element.width(), i.immediates[0]);
        let from = match i.op {
            Op::ShiftLeft => {
                let from = u64::from(e.low).checked_sub(amount);
                from.expect("bits that are shifted in are known") as u16
            }
            Op::ShiftRight => e.low + amount.min(u64::from(w) - 1) as u16,
            op => {
                assert_eq!(op, Op::RotateLeft, "it moves bits by a public amount");
                (e.low + w - (amount % u64::from(w)) as u16) % w
            }
        };
        let wraps = i.op == Op::RotateLeft && from + (e.high - e.low) > w;
        match wraps {
            true => Ok(View::within(self.emit_whole(i)?.results[0], w, e)),
            false => self.moved(i, (0, from), e),
        }
    }

    fn concatenation(&mut self, i: &Instruction, e: Extent) -> Result<View, Error> {
        let low_width = i.immediates[0] as u16;
        if e.high <= low_width {
            return self.moved(i, (0, e.low), e);
        }
        if e.low >= low_width {
            return self.moved(i, (1, e.low - low_width), e);
        }
        let parts = [self.part(i, 0, e.low, low_width)?, self.part(i, 1, 0, e.high - low_width)?];
        let shape = (of_width(i.element, e.high - e.low), i.lanes);
        let low = u64::from(low_width - e.low);
        let name = self.emitter.make(Op::BitConcat, shape, &parts, &[low])?;
        Ok(View::of_extent(name, e))
    }

    /// The number of ANDs for a lane of an operation without immediates, on different operands.
    fn cost(&self, op: Op, element: ElementType) -> u64 {
        let made = Instruction::new(op, element, 1);
        (self.options.and_gates)(&Instruction { operands: [0, 1, 2], ..made })
    }

    /// As [`Narrowing::cost`], of the product of a value with itself.
    fn cost_of_square(&self, op: Op, element: ElementType) -> u64 {
        (self.options.and_gates)(&Instruction::new(op, element, 1))
    }
}

/// The type with another width.
fn of_width(element: ElementType, width: u16) -> ElementType {
    ElementType::integer(width, element.is_signed()).shared(element.sharing())
}

/// The unsigned type of this sharing.
fn natural(element: ElementType, width: u16) -> ElementType {
    ElementType::unsigned(width).shared(element.sharing())
}

/// The result from bit 0 on.
fn from_zero(e: Extent) -> Extent {
    Extent { low: 0, wanted: mask(e.high), ..e }
}
