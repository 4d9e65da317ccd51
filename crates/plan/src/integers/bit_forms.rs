//! The bits of values: which ones are known, and how they are put together.
//!
//! A value that is computed of bits, or was decomposed once, has a [`BitView`]. Elements are made of it
//! where one is needed, by a public linear combination of its bits. So only integers that were added,
//! multiplied or compared before are ever decomposed, and each at most once.

use std::rc::Rc;

use phineus_bytecode::{ElementType, Instruction, Lane, Op, Sharing};

use super::Lowering;
use super::bit_movements::DeferredMovement;
use super::bit_view::{BitRun, BitSource, BitView, HeldBit};
use super::claims::{Claim, LoweringOutput, RangedElement};
use super::range::Range;
use crate::error::Error;

/// What is known of the bits of a value.
#[derive(Clone, Default)]
pub(super) enum BitForm {
    /// They are found by a decomposition.
    #[default]
    Unknown,
    View(BitView),
    /// They are those of other values, which are moved when the bits are needed.
    Deferred(Rc<DeferredMovement>),
}

impl BitForm {
    pub(super) fn is_known(&self) -> bool {
        !matches!(self, BitForm::Unknown)
    }

    pub(super) fn count(&self) -> u32 {
        match self {
            BitForm::Deferred(movement) => movement.count,
            BitForm::Unknown | BitForm::View(_) => 0,
        }
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        match self {
            BitForm::Unknown => 0,
            BitForm::View(view) => view.memory_bytes(),
            BitForm::Deferred(movement) => {
                let operands = movement.operands.iter().map(BitForm::memory_bytes);
                size_of::<DeferredMovement>() as u64
                    + size_of_val(&movement.operands[..]) as u64
                    + operands.sum::<u64>()
            }
        }
    }
}

/// What a bit of a result of an operation on bits is.
pub(super) enum ResultBit {
    Known(BitSource),
    /// It must be computed of these bits, and inverted then or not.
    Computed {
        operands: [BitSource; 2],
        is_inverted: bool,
    },
}

impl<S: LoweringOutput> Lowering<S> {
    /// The form of a value's bits, without any instruction.
    pub(super) fn bit_form(&self, name: u64) -> BitForm {
        let value = self.value(name);
        match value.constant {
            Some(constant) => BitForm::View(BitView::of_constant(constant, value.width)),
            None => value.bits.clone(),
        }
    }

    /// Returns whether the bits of a value are known without a decomposition.
    pub(super) fn has_bits(&self, name: u64) -> bool {
        let value = self.value(name);
        value.bits.is_known() || value.constant.is_some()
    }

    /// The bits of a value, if they are known without a decomposition.
    pub(super) fn known_view(&mut self, name: u64) -> Result<Option<BitView>, Error> {
        let view = match self.bit_form(name) {
            BitForm::Unknown => return Ok(None),
            BitForm::View(view) => return Ok(Some(view)),
            form => self.moved(&form)?,
        };
        self.set_view_of(name, view.clone());
        Ok(Some(view))
    }

    /// The bits of a value; decomposes it if need be.
    pub(super) fn view(&mut self, name: u64) -> Result<BitView, Error> {
        if let Some(view) = self.known_view(name)? {
            return Ok(view);
        }
        let value = self.value(name);
        let (width, lanes) = (value.width, value.lanes);
        let mut integer = value.integer.expect("a value has some form");
        if width == 1 {
            // An element that is 0 or 1 is a bit.
            integer = self.canonical(name, false)?.unwrap_or(integer);
        }
        let view = self.view_of_elements(integer, width, lanes)?;
        self.set_view_of(name, view.clone());
        Ok(view)
    }

    /// The low `width` bits of elements; above those of its range there are only copies of the sign.
    fn view_of_elements(
        &mut self,
        integer: RangedElement,
        width: u16,
        lanes: u32,
    ) -> Result<BitView, Error> {
        let range = integer.range();
        if range.is_within(Range::BIT.neg()) {
            // Minus a bit.
            let bit = self.one(Op::Neg, (1, lanes), &[integer], 0, range.neg())?;
            let bit = self.bits_of_elements(bit, 1, lanes)?;
            return Ok(BitView::of_name(bit, 1).slice(0, width, true));
        }
        let least = range.least_type();
        let (count, signed) = match least.width() < width {
            true => (least.width(), least.is_signed()),
            false => (width, false),
        };
        let bits = self.bits_of_elements(integer, count, lanes)?;
        Ok(BitView::of_name(bits, count).slice(0, width, signed))
    }

    /// Notes where the bits of `name`, a value of the program, are found.
    fn set_view_of(&mut self, name: u64, view: BitView) {
        self.set_form(name, BitForm::View(view));
    }

    /// Claims that the bits of `source`, a value of the program, are those of the view.
    pub(super) fn claim_view(&mut self, view: &BitView, source: u64) {
        let mut first = 0;
        for &BitRun { first: bit, count, is_repeated } in view.runs() {
            let to = (first, count);
            self.sink.claim(match bit {
                BitSource::Constant(value) => Claim::Known { source, to, value },
                BitSource::Held(HeldBit { name: value, at, inverted, .. }) => {
                    Claim::Bits { source, to, value, at, is_repeated, inverted }
                }
            });
            first += count;
        }
    }

    /// The value as bits under one name.
    pub(super) fn bits(&mut self, name: u64) -> Result<u64, Error> {
        let view = self.view(name)?;
        if let Some(whole) = view.whole() {
            return Ok(whole);
        }
        if view.as_constant().is_some() {
            let lanes = self.value(name).lanes;
            return self.under_one_name(&view, lanes);
        }
        let view = self.compact(name)?;
        let lanes = self.value(name).lanes;
        self.under_one_name(&view, lanes)
    }

    /// The bits of a value, those that are not constants under one name, which is remembered.
    pub(super) fn compact(&mut self, name: u64) -> Result<BitView, Error> {
        let view = self.view(name)?;
        let held = view.runs().iter().filter(|run| matches!(run.first, BitSource::Held(_)));
        if held.count() <= 1 {
            return Ok(view);
        }
        let bits = view.bits();
        let held = |bit: &BitSource| matches!(bit, BitSource::Held(_));
        let plain = BitView::of(bits.iter().copied().filter(held).map(BitSource::plain));
        let (width, lanes) = (plain.width(), self.value(name).lanes);
        let joined = self.under_one_name(&plain, lanes)?;
        let mut at = 0;
        let compact = bits.into_iter().map(|bit| match bit {
            BitSource::Constant(_) => bit,
            BitSource::Held(HeldBit { inverted, .. }) => {
                at += 1;
                BitSource::Held(HeldBit { name: joined, width, at: at - 1, inverted })
            }
        });
        let compact = BitView::of(compact);
        if self.value(name).constant.is_none() {
            self.set_view_of(name, compact.clone());
        }
        Ok(compact)
    }

    /// The bits of a view under one name.
    pub(super) fn under_one_name(&mut self, view: &BitView, lanes: u32) -> Result<u64, Error> {
        if let Some(whole) = view.whole() {
            return Ok(whole);
        }
        let significant = view.significant();
        if 0 < significant && significant < view.width() {
            let low = self.under_one_name(&view.slice(0, significant, false), lanes)?;
            return self.extended(low, significant, (view.width(), lanes), false);
        }
        let mut pieces = Vec::new();
        let mut constant: Vec<bool> = Vec::new();
        for &run in view.runs() {
            let is_constant = match run.first {
                BitSource::Constant(value) => {
                    constant.extend(std::iter::repeat_n(value, usize::from(run.count)));
                    true
                }
                BitSource::Held(_) => false,
            };
            if !is_constant {
                pieces.extend(self.constant_piece(&mut constant, lanes)?);
                pieces.push((self.held_piece(run, lanes)?, run.count));
            }
        }
        pieces.extend(self.constant_piece(&mut constant, lanes)?);
        // Pairs, so that no bit moves more often than the logarithm of their number.
        while pieces.len() > 1 {
            let mut pairs = Vec::new();
            for pair in pieces.chunks(2) {
                pairs.push(match *pair {
                    [low, high] => self.above(Some(low), high, lanes)?,
                    _ => pair[0],
                });
            }
            pieces = pairs;
        }
        Ok(pieces[0].0)
    }

    /// Bits that all parties know, if there are any, under a name.
    fn constant_piece(
        &mut self,
        bits: &mut Vec<bool>,
        lanes: u32,
    ) -> Result<Option<(u64, u16)>, Error> {
        if bits.is_empty() {
            return Ok(None);
        }
        let width = bits.len() as u16;
        let mut value = Lane::ZERO;
        bits.drain(..).enumerate().for_each(|(k, bit)| value.set_bit(k, bit));
        let element = ElementType::unsigned(width).shared(Sharing::Boolean);
        let mut constant = Instruction::new(Op::Constant, element, lanes);
        constant.immediates = value.into_limbs();
        Ok(Some((self.define(constant)?, width)))
    }

    fn held_piece(&mut self, run: BitRun, lanes: u32) -> Result<u64, Error> {
        let BitSource::Held(held) = run.first else { unreachable!("constants are no held bits") };
        let count = if run.is_repeated { 1 } else { run.count };
        let mut bits = self.slice(held.name, held.width, (held.at, count), lanes)?;
        if held.inverted {
            bits = self.on_bits(Op::Not, (count, lanes), [bits, 0], [0; 2])?;
        }
        self.extended(bits, count, (run.count, lanes), true)
    }

    /// The elements that a view is the bits of, of the type with the fewest bits.
    pub(super) fn elements_of_view(
        &mut self,
        view: &BitView,
        lanes: u32,
        signed: Option<bool>,
    ) -> Result<Option<RangedElement>, Error> {
        if let Some(constant) = view.as_constant().filter(|constant| constant.is_zero()) {
            return Ok(Some(self.constant((constant, Range::ZERO), 1, lanes, false)?));
        }
        let [plain, with_sign] = [view.significant(), view.signed()];
        let has_sign = plain == view.width();
        let (count, signed) = match signed {
            Some(true) if has_sign => (with_sign, true),
            Some(false) => (plain, false),
            // Fewer bits and a sign, or what is never negative.
            None if has_sign && with_sign < plain => (with_sign, true),
            Some(true) | None => (plain, false),
        };
        if !self.holds(count) {
            return Ok(None);
        }
        let bits = self.under_one_name(&view.slice(0, count, false), lanes)?;
        let element = ElementType::integer(count, signed).shared(Sharing::Arithmetic);
        let mut convert = Instruction::new(Op::Convert, element, lanes);
        convert.immediates[0] = Sharing::Boolean as u64;
        convert.operands[0] = bits;
        Ok(Some(self.define_integer(convert, Range::of_type(count, signed))?))
    }

    /// Emits an operation on those bits that must be computed; the bits of each of its results.
    pub(super) fn computed(
        &mut self,
        i: &Instruction,
        selector: Option<u64>,
        wanted: Vec<ResultBit>,
    ) -> Result<Vec<BitView>, Error> {
        let side = |k: usize| {
            let computed = wanted.iter().filter_map(|bit| match bit {
                ResultBit::Computed { operands, .. } => Some(operands[k]),
                ResultBit::Known(_) => None,
            });
            BitView::of(computed)
        };
        let (first, second) = (side(0), side(1));
        let width = first.width();
        let results = i.results().len();
        let mut names = [0; 2];
        if width > 0 {
            let mut made = *i;
            made.element = ElementType::unsigned(width).shared(Sharing::Boolean);
            let lanes = self.operand_lanes(i);
            let mut operands: Vec<u64> = selector.into_iter().collect();
            for (view, lanes) in [first, second].iter().zip(lanes) {
                if operands.len() < i.operands().len() {
                    operands.push(self.under_one_name(view, lanes)?);
                }
            }
            made.operands[..operands.len()].copy_from_slice(&operands);
            for (name, result) in names.iter_mut().zip(&mut made.results).take(results) {
                (*name, *result) = (self.next_name, self.next_name);
                self.next_name += 1;
            }
            self.sink.emit(&made)?;
        }
        let view = |name: u64| {
            let mut at = 0;
            BitView::of(wanted.iter().map(|bit| match *bit {
                ResultBit::Known(bit) => bit,
                ResultBit::Computed { is_inverted: inverted, .. } => {
                    at += 1;
                    BitSource::Held(HeldBit { name, width, at: at - 1, inverted })
                }
            }))
        };
        Ok(names[..results].iter().map(|&name| view(name)).collect())
    }
}
