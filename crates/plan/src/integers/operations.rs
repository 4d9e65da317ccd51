//! What each operation becomes.

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{ElementType, Instruction, Lane, Op, Sharing, mask_of};

use super::range::Range;
use super::{Integer, Lowering, Value, carried_in_field};
use crate::error::Error;

/// Whether an operation is done.
pub(super) type Done = Result<bool, Error>;

pub(super) fn arithmetic(element: ElementType) -> ElementType {
    element.shared(Sharing::Arithmetic)
}

impl<E: FnMut(&Instruction) -> Result<(), Error>> Lowering<E> {
    pub(super) fn lower(&mut self, i: &Instruction) -> Result<(), Error> {
        let done = match i.op {
            Op::Input => self.input(i)?,
            Op::Constant => self.new_constant(i),
            Op::Load => self.load(i)?,
            Op::Store => self.store(i)?,
            Op::Output => self.output(i)?,
            Op::Convert | Op::Reduce => {
                let value = self.value(i.operands[0]).clone();
                self.values.insert(i.results[0], value);
                true
            }
            Op::Add | Op::Sub => self.sum(i)?,
            Op::Neg | Op::Not => self.negation(i)?,
            Op::Mul | Op::MatMul => self.product(i)?,
            Op::MulFull => self.full_product(i)?,
            Op::LaneSum => self.lane_sum(i)?,
            Op::And | Op::Or | Op::Xor if i.element.width() == 1 => self.logic(i)?,
            Op::And => self.masked(i)?,
            Op::Xor => self.complement(i)?,
            Op::Eq | Op::Ne | Op::Lt | Op::Le => self.comparison(i)?,
            Op::Min | Op::Max => self.extreme(i)?,
            Op::Abs => self.absolute(i)?,
            Op::Mux | Op::CondSwap | Op::Mask => self.choice(i)?,
            Op::ShiftLeft => self.left_shift(i)?,
            Op::ShiftRight => self.right_shift(i)?,
            Op::Cast => self.cast(i)?,
            Op::BitSlice => self.bit_slice(i)?,
            Op::BitConcat => self.bit_concat(i)?,
            op if op.is_lane_movement() => self.movement(i)?,
            _ => false,
        };
        if done { Ok(()) } else { self.circuit(i) }
    }

    /// The same operation on bits.
    pub(super) fn circuit(&mut self, i: &Instruction) -> Result<(), Error> {
        let mut made = *i;
        made.element = i.element.shared(Sharing::Boolean);
        for (k, operand) in i.operands().iter().enumerate() {
            made.operands[k] = self.bits(*operand)?;
        }
        for (k, &result) in i.results().iter().enumerate() {
            made.results[k] = self.next_name;
            self.set_bits(result, i.result_shape(k), self.next_name);
            self.next_name += 1;
        }
        (self.emit)(&made)
    }

    /// Emits `op` on elements, with one result.
    pub(super) fn apply(
        &mut self,
        i: &Instruction,
        op: Op,
        operands: &[u64],
    ) -> Result<u64, Error> {
        let mut made = Instruction::new(op, arithmetic(i.element), i.lanes);
        made.immediates = i.immediates;
        made.operands[..operands.len()].copy_from_slice(operands);
        self.define(made)
    }

    /// Inputs come in bits, which the protocol proves to be bits, so that nobody brings an integer
    /// that its type does not have; if that is not asked for, as elements.
    fn input(&mut self, i: &Instruction) -> Done {
        let (width, signed) = (i.element.width(), i.element.is_signed());
        let (mut made, result, shape) = (*i, i.results[0], i.shape());
        let is_integer = self.holds(width);
        let sharing = match is_integer && !self.prove_inputs {
            true => Sharing::Arithmetic,
            false => Sharing::Boolean,
        };
        made.element = i.element.shared(sharing);
        let name = self.define(made)?;
        let range = Range::of_type(width, signed);
        if sharing == Sharing::Arithmetic {
            self.set_integer(result, shape, name, range);
            return Ok(true);
        }
        self.set_bits(result, shape, name);
        if is_integer {
            let mut convert = Instruction::new(Op::Convert, arithmetic(i.element), i.lanes);
            convert.immediates[0] = Sharing::Boolean as u64;
            convert.operands[0] = name;
            let name = self.define(convert)?;
            self.value_mut(result).integer = Some(Integer { name, range });
        }
        Ok(true)
    }

    /// What is carried is in the range of its type.
    fn load(&mut self, i: &Instruction) -> Done {
        let mut made = *i;
        made.element = carried_in_field(i.element, self.magnitude_bits);
        let name = self.define(made)?;
        if made.element.sharing() == Sharing::Arithmetic {
            let range = Range::of_type(i.element.width(), i.element.is_signed());
            self.set_integer(i.results[0], i.shape(), name, range);
        } else {
            self.set_bits(i.results[0], i.shape(), name);
        }
        Ok(true)
    }

    fn store(&mut self, i: &Instruction) -> Done {
        let mut made = *i;
        made.element = carried_in_field(i.element, self.magnitude_bits);
        made.operands[0] = if made.element.sharing() == Sharing::Arithmetic {
            let reduced = self.canonical(i.operands[0], i.element.is_signed())?;
            reduced.expect("a field holds the integers that are carried as elements")
        } else {
            self.bits(i.operands[0])?
        };
        (self.emit)(&made)?;
        Ok(true)
    }

    pub(super) fn new_constant(&mut self, i: &Instruction) -> bool {
        let value = Value {
            width: i.element.width(),
            lanes: i.lanes,
            integer: None,
            reduced: [None; 2],
            bits: None,
            widened: None,
            constant: Some(Lane::from_limbs(i.immediates)),
        };
        self.values.insert(i.results[0], value);
        true
    }

    /// What is opened must say nothing but the value: an element that is not reduced would.
    fn output(&mut self, i: &Instruction) -> Done {
        let width = i.element.width();
        let integer = self.integer(i.operands[0])?;
        let signed = integer
            .is_some_and(|integer| !integer.range.is_within(Range::of_type(width, false)))
            && integer.is_some_and(|known| known.range.is_within(Range::of_type(width, true)));
        let mut made = *i;
        let canonical = self.canonical(i.operands[0], signed)?;
        let (sharing, name) = match canonical {
            Some(name) => (Sharing::Arithmetic, name),
            None => (Sharing::Boolean, self.bits(i.operands[0])?),
        };
        made.element = i.element.shared(sharing);
        made.operands[0] = name;
        (self.emit)(&made)?;
        Ok(true)
    }

    /// Both as elements, reduced as far as it takes to make `range` of them fit; `None` if they
    /// cannot be held so. The last result says whether it fits.
    fn pair(
        &mut self,
        names: [u64; 2],
        range: impl Fn(Range, Range) -> Range,
    ) -> Result<Option<([Integer; 2], bool)>, Error> {
        let (Some(a), Some(b)) = (self.integer(names[0])?, self.integer(names[1])?) else {
            return Ok(None);
        };
        let mut pair = [a, b];
        for _ in 0..2 {
            if self.fits(range(pair[0].range, pair[1].range)) {
                return Ok(Some((pair, true)));
            }
            let size = |integer: &Integer| integer.range.magnitude_bits();
            let wider = usize::from(size(&pair[1]) > size(&pair[0]));
            for k in [wider, 1 - wider] {
                let signed = Range::of_type(self.value(names[k]).width, true);
                if !pair[k].range.is_within(signed)
                    && size(&pair[k]) > size(&Integer { range: signed, ..pair[k] })
                    && let Some(name) = self.canonical(names[k], true)?
                {
                    pair[k] = Integer { name, range: signed };
                    if names[0] == names[1] {
                        // The range of a square holds for one number twice.
                        pair = [pair[k]; 2];
                    }
                    break;
                }
            }
        }
        let fits = self.fits(range(pair[0].range, pair[1].range));
        Ok(Some((pair, fits)))
    }

    fn sum(&mut self, i: &Instruction) -> Done {
        let is_add = i.op == Op::Add;
        let range = |a: Range, b: Range| if is_add { a.add(b) } else { a.sub(b) };
        let Some(([a, b], true)) = self.pair([i.operands[0], i.operands[1]], range)? else {
            return Ok(false);
        };
        let name = self.apply(i, i.op, &[a.name, b.name])?;
        self.set_integer(i.results[0], i.shape(), name, range(a.range, b.range));
        Ok(true)
    }

    /// `-x`, and `!x = -1 - x`.
    pub(super) fn negation(&mut self, i: &Instruction) -> Done {
        let Some(a) = self.integer(i.operands[0])? else { return Ok(false) };
        let width = i.element.width();
        if width == 1 && i.op == Op::Not {
            let Some(a) = self.canonical(i.operands[0], false)? else { return Ok(false) };
            let name = self.apply(i, Op::Not, &[a])?;
            self.set_integer(i.results[0], i.shape(), name, Range { low: 0, high: 1 });
            return Ok(true);
        }
        let minus_one = Range { low: -1, high: -1 };
        let range = if i.op == Op::Neg { a.range.neg() } else { minus_one.sub(a.range) };
        if !self.fits(range) {
            return Ok(false);
        }
        let name = if i.op == Op::Neg {
            self.apply(i, Op::Neg, &[a.name])?
        } else {
            let ones = self.constant(mask_of(width), width, i.lanes, true)?;
            self.apply(i, Op::Sub, &[ones, a.name])?
        };
        self.set_integer(i.results[0], i.shape(), name, range);
        Ok(true)
    }

    pub(super) fn too_small(&self, i: &Instruction, range: Range) -> Error {
        Error::FieldTooSmall {
            instruction: self.index,
            op: i.op.info().name,
            needed_bits: range.magnitude_bits() + 2,
        }
    }

    /// Sums of many lanes.
    fn lane_sum(&mut self, i: &Instruction) -> Done {
        let (from_width, terms) = (i.immediates[0] as u16, i.immediates[1]);
        let signed = i.element.is_signed();
        let operand = i.operands[0];
        let widens = from_width < i.element.width();
        let Some(mut term) = self.integer(operand)? else { return Ok(false) };
        if widens || !self.fits(term.range.times(terms)) {
            let Some(name) = self.canonical(operand, signed)? else { return Ok(false) };
            let known = Range::of_type(from_width, signed);
            let range = if name == term.name { term.range } else { known };
            term = Integer { name, range };
        }
        let range = term.range.times(terms);
        if !self.fits(range) || i.element.width() > RING_WIDTH_MAX {
            return Ok(false);
        }
        let name = self.apply(i, Op::LaneSum, &[term.name])?;
        self.set_integer(i.results[0], i.shape(), name, range);
        Ok(true)
    }
}
