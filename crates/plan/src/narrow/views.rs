//! Values of the program as bits of narrower values of the narrowed one.
//!
//! A [`View`] places some bits of a narrow value; bits below are known, and those above are 0 or copies
//! of its highest bit. So casts and shifts by public amounts move no wires until someone needs them:
//! [`NarrowedValue::part`] then makes what an instruction takes, once for each range of bits.
//!
//! Invariant: each bit of the value that is needed is the same in the view.

use phineus_bytecode::{ElementType, Instruction, Lane, Op, Sharing};

use super::demand::{Extent, is_known};
use super::facts::{Facts, mask};
use crate::error::Error;

/// Ranges of bits of a value that are remembered once they are made.
const PARTS_MAX: usize = 3;

/// Where the bits of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct View {
    /// The narrow value, and its width.
    pub(super) name: u64,
    pub(super) source_width: u16,
    /// Its first bit that counts, and how many do.
    pub(super) start: u16,
    pub(super) length: u16,
    /// Which bit of the value that first one is.
    pub(super) offset: u16,
    /// Whether the bits above are copies of the last one; else they are 0.
    pub(super) is_signed: bool,
}

impl View {
    /// All bits of a value.
    pub(super) fn whole(name: u64, width: u16) -> View {
        let (start, offset, is_signed) = (0, 0, false);
        View { name, source_width: width, start, length: width, offset, is_signed }
    }

    /// The bits that `extent` names, from a value that has just these.
    pub(super) fn of_extent(name: u64, extent: Extent) -> View {
        let Extent { low, high, is_signed, .. } = extent;
        View { offset: low, is_signed, ..View::whole(name, high - low) }
    }

    /// The bits that `extent` names, from a value of `width` bits that has all from bit 0 on.
    pub(super) fn within(name: u64, width: u16, extent: Extent) -> View {
        let Extent { low, high, is_signed, .. } = extent;
        assert!(high <= width, "the value has all bits that are needed");
        let (start, length) = (low, high - low);
        View { name, source_width: width, start, length, offset: low, is_signed }
    }

    /// The bits from `from` on, as those that `extent` names, if this view has them all.
    pub(super) fn moved(self, from: u16, extent: Extent) -> Option<View> {
        let Extent { low, high, is_signed, .. } = extent;
        let length = high - low;
        let has_all = self.offset <= from && from + length <= self.end();
        let start = self.start + from.saturating_sub(self.offset);
        has_all.then_some(View { start, length, offset: low, is_signed, ..self })
    }

    /// The first bit behind those that are placed.
    pub(super) fn end(&self) -> u16 {
        self.offset + self.length
    }
}

/// A value of the program, as it is in the narrowed one.
#[derive(Clone, Debug)]
pub(super) struct NarrowedValue {
    pub(super) facts: Facts,
    pub(super) demanded: u128,
    pub(super) lanes: u32,
    pub(super) sharing: Sharing,
    /// `None` if all bits that are needed are known.
    pub(super) view: Option<View>,
    /// Ranges of bits, and the values that hold them.
    parts: [Option<(u16, u16, u64)>; PARTS_MAX],
    next_part: usize,
}

impl NarrowedValue {
    pub(super) fn new(
        (facts, demanded): (Facts, u128),
        lanes: u32,
        sharing: Sharing,
        view: Option<View>,
    ) -> NarrowedValue {
        assert!(
            view.is_some() || is_known(&facts, demanded),
            "a value that is needed is somewhere"
        );
        NarrowedValue {
            facts,
            demanded,
            lanes,
            sharing,
            view,
            parts: [None; PARTS_MAX],
            next_part: 0,
        }
    }

    fn remember(&mut self, part: (u16, u16, u64)) {
        self.parts[self.next_part] = Some(part);
        self.next_part = (self.next_part + 1) % PARTS_MAX;
    }
}

/// Writes the narrowed program.
pub(super) struct Emitter<E> {
    emit: E,
    next_name: u64,
    /// Instructions that were emitted for the one at hand, without movements and constants.
    computed: Vec<Instruction>,
}

impl<E: FnMut(&Instruction) -> Result<(), Error>> Emitter<E> {
    pub(super) fn new(emit: E) -> Emitter<E> {
        Emitter { emit, next_name: 0, computed: Vec::new() }
    }

    /// Returns whether what was computed since the last call is `i`, or nothing if it only moves bits.
    pub(super) fn has_computed(&mut self, i: &Instruction) -> bool {
        let is_same = match &self.computed[..] {
            [] => !computes(i),
            [made] => {
                let of = |i: &Instruction| (i.op, i.element, i.lanes, i.immediates);
                of(made) == of(i)
            }
            _ => false,
        };
        self.computed.clear();
        is_same
    }

    /// Forgets what was computed since the last call.
    pub(super) fn forget_computed(&mut self) {
        self.computed.clear();
    }

    /// Emits an instruction with fresh names for its results.
    pub(super) fn define(&mut self, mut i: Instruction) -> Result<Instruction, Error> {
        for k in 0..i.result_count() {
            i.results[k] = self.next_name;
            self.next_name += 1;
        }
        if computes(&i) {
            self.computed.push(i);
        }
        (self.emit)(&i)?;
        Ok(i)
    }

    /// Emits an instruction of one result of this type; returns its name.
    pub(super) fn make(
        &mut self,
        op: Op,
        (element, lanes): (ElementType, u32),
        operands: &[u64],
        immediates: &[u64],
    ) -> Result<u64, Error> {
        let mut i = Instruction::new(op, element, lanes);
        i.operands[..operands.len()].copy_from_slice(operands);
        i.immediates[..immediates.len()].copy_from_slice(immediates);
        Ok(self.define(i)?.results[0])
    }

    /// The bits from `low` on before `high` of a value, as a value of their own; those that are not
    /// needed may be anything.
    pub(super) fn part(
        &mut self,
        value: &mut NarrowedValue,
        low: u16,
        high: u16,
    ) -> Result<u64, Error> {
        assert!(low < high && high <= value.facts.width, "a part has bits of its value");
        let made = value.parts.iter().flatten().find(|part| (part.0, part.1) == (low, high));
        if let Some(&(_, _, name)) = made {
            return Ok(name);
        }
        let name = self.make_part(value, low, high)?;
        if value.view.is_none_or(|view| view.name != name) {
            value.remember((low, high, name));
        }
        Ok(name)
    }

    fn make_part(&mut self, value: &NarrowedValue, low: u16, high: u16) -> Result<u64, Error> {
        let shape = |width: u16| (ElementType::unsigned(width).shared(value.sharing), value.lanes);
        let Some(view) = value.view else {
            let bits = value.facts.ones.checked_shr(low.into()).unwrap_or(0) & mask(high - low);
            return self.make(Op::Constant, shape(high - low), &[], &limbs(bits));
        };
        if low < view.offset {
            let end = high.min(view.offset);
            let bits = value.facts.ones >> low & mask(end - low);
            let known = self.make(Op::Constant, shape(end - low), &[], &limbs(bits))?;
            if high == end {
                return Ok(known);
            }
            let rest = self.make_part(value, end, high)?;
            let low_width = u64::from(end - low);
            return self.make(Op::BitConcat, shape(high - low), &[known, rest], &[low_width]);
        }
        if low >= view.end() && !view.is_signed {
            return self.make(Op::Constant, shape(high - low), &[], &limbs(0));
        }
        // Of copies of the highest bit, that bit.
        let from = low.min(view.end() - 1);
        let until = high.min(view.end());
        let slice = self.slice(value, view, (from, until.max(from + 1)))?;
        if high <= view.end() {
            return Ok(slice);
        }
        let from_width = u64::from(until.max(from + 1) - from);
        let immediates = [from_width, u64::from(view.is_signed)];
        match from_width == u64::from(high - low) {
            true => Ok(slice),
            false => self.make(Op::Cast, shape(high - low), &[slice], &immediates),
        }
    }

    /// Bits that the view has.
    fn slice(
        &mut self,
        value: &NarrowedValue,
        view: View,
        (low, high): (u16, u16),
    ) -> Result<u64, Error> {
        let start = view.start + (low - view.offset);
        let width = high - low;
        if start == 0 && width == view.source_width {
            return Ok(view.name);
        }
        let shape = (ElementType::unsigned(width).shared(value.sharing), value.lanes);
        let source = u64::from(view.source_width);
        match start {
            0 => self.make(Op::Cast, shape, &[view.name], &[source, 0]),
            _ => self.make(Op::BitSlice, shape, &[view.name], &[u64::from(start), source]),
        }
    }
}

/// Returns whether an instruction takes more than moving bits.
fn computes(i: &Instruction) -> bool {
    let is_same = i.op == Op::Convert && i.operand_shape(0) == i.shape();
    !i.op.is_movement() && i.op != Op::Constant && !is_same
}

/// A constant as immediates.
pub(super) fn limbs(bits: u128) -> [u64; 4] {
    Lane::from(bits).into_limbs()
}

/// How many of the lowest bits are known and equal in both.
pub(super) fn equal_low_bits(a: &Facts, b: &Facts) -> u16 {
    (a.zeros & b.zeros | a.ones & b.ones).trailing_ones() as u16
}
