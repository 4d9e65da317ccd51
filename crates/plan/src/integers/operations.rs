//! Lowering of each operation.

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{ElementType, Instruction, Lane, Op, Sharing, mask_of};

use super::bit_forms::BitForm;
use super::claims::{LoweringOutput, RangedElement};
use super::range::Range;
use super::{LoweredValue, Lowering, carried_in_field};
use crate::error::Error;

/// Whether an operation is done.
pub(super) type Done = Result<bool, Error>;

pub(super) fn arithmetic(element: ElementType) -> ElementType {
    element.shared(Sharing::Arithmetic)
}

impl<S: LoweringOutput> Lowering<S> {
    pub(super) fn lower(&mut self, i: &Instruction) -> Result<(), Error> {
        let done = match i.op {
            Op::RequireZero => {
                let what = "require_zero belongs into plans only";
                return Err(Error::Invalid { instruction: self.index, what });
            }
            Op::Input => self.input(i)?,
            Op::Constant => self.new_constant(i),
            Op::Load => self.load(i)?,
            Op::Store => self.store(i)?,
            Op::Output => self.output(i)?,
            Op::Reduce => self.reduction(i)?,
            Op::Convert => {
                let value = self.value(i.operands[0]).clone();
                self.set_value(i.results[0], value);
                true
            }
            Op::Add | Op::Sub => self.sum(i)?,
            Op::Neg | Op::Not => self.negation(i)?,
            Op::Mul | Op::MatMul => self.product(i)?,
            Op::MulFull => self.full_product(i)?,
            Op::LaneSum => self.lane_sum(i)?,
            Op::And | Op::Or | Op::Xor => self.bitwise(i)?,
            Op::Eq | Op::Ne | Op::Lt | Op::Le => self.comparison(i)?,
            Op::Min | Op::Max => self.extreme(i)?,
            Op::Abs => self.absolute(i)?,
            Op::Mux | Op::CondSwap | Op::Mask => self.choice(i)?,
            Op::ShiftLeft => self.left_shift(i)?,
            Op::ShiftRight => self.right_shift(i)?,
            Op::Cast => self.cast(i)?,
            Op::BitSlice => self.bit_slice(i)?,
            Op::BitConcat => self.bit_concat(i)?,
            Op::RotateLeft | Op::ReversePieces => self.bit_movement(i)?,
            op if op.is_lane_movement() => self.movement(i)?,
            op if op.is_about_state() => self.state(i)?,
            _ => false,
        };
        if done { Ok(()) } else { self.circuit(i) }
    }

    /// The same value, its elements in the range of its type if the field has that.
    fn reduction(&mut self, i: &Instruction) -> Done {
        let reduced = self.canonical(i.operands[0], i.element.is_signed())?;
        let value = self.value(i.operands[0]).clone();
        let integer = reduced.or(value.integer);
        self.set_value(i.results[0], LoweredValue { integer, ..value });
        Ok(true)
    }

    /// Lowers an operation to the same operation on bits.
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
        self.sink.emit(&made)
    }

    /// Emits `made`, whose results, all of them within `range`, are those of `i`.
    pub(super) fn emit_integers(
        &mut self,
        i: &Instruction,
        mut made: Instruction,
        range: Range,
    ) -> Result<(), Error> {
        for (k, name) in made.results.iter_mut().take(i.results().len()).enumerate() {
            *name = self.next_name + k as u64;
        }
        self.next_name += i.results().len() as u64;
        self.sink.emit(&made)?;
        for (k, &result) in i.results().iter().enumerate() {
            let integer = self.claim(made.results[k], range);
            self.set_integer(result, i.result_shape(k), integer);
        }
        Ok(())
    }

    /// Emits `op` on elements, with one result, which is within `range`.
    pub(super) fn apply(
        &mut self,
        i: &Instruction,
        op: Op,
        operands: &[RangedElement],
        range: Range,
    ) -> Result<RangedElement, Error> {
        let mut made = Instruction::new(op, arithmetic(i.element), i.lanes);
        made.immediates = i.immediates;
        for (place, operand) in made.operands.iter_mut().zip(operands) {
            *place = operand.name();
        }
        self.define_integer(made, range)
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
        let range = Range::of_type(width, signed);
        if sharing == Sharing::Arithmetic {
            let name = self.define(made)?;
            let integer = self.claim(name, range);
            self.set_integer(result, shape, integer);
            return Ok(true);
        }
        let name = self.read_rows(i)?;
        self.set_bits(result, shape, name);
        if is_integer {
            let mut convert = Instruction::new(Op::Convert, arithmetic(i.element), i.lanes);
            convert.immediates[0] = Sharing::Boolean as u64;
            convert.operands[0] = name;
            let integer = self.define_integer(convert, range)?;
            self.means(integer.name(), result);
            self.value_mut(result).integer = Some(integer);
        }
        Ok(true)
    }

    /// Loads a carried value, which is in the range of its type.
    fn load(&mut self, i: &Instruction) -> Done {
        let mut made = *i;
        made.element = carried_in_field(i.element, self.magnitude_bits);
        let name = self.define(made)?;
        if made.element.sharing() == Sharing::Arithmetic {
            let range = Range::of_type(i.element.width(), i.element.is_signed());
            let integer = self.claim(name, range);
            self.set_integer(i.results[0], i.shape(), integer);
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
            reduced.expect("a field holds the integers that are carried as elements").name()
        } else {
            self.bits(i.operands[0])?
        };
        self.sink.emit(&made)?;
        Ok(true)
    }

    pub(super) fn new_constant(&mut self, i: &Instruction) -> bool {
        let constant = Some(Lane::from_limbs(i.immediates));
        self.set_value(i.results[0], LoweredValue { constant, ..LoweredValue::of(i.shape()) });
        true
    }

    /// Reduces an output before it is opened: an unreduced element would reveal more than the
    /// value.
    fn output(&mut self, i: &Instruction) -> Done {
        self.prove_orders()?;
        let width = i.element.width();
        let integer = self.integer(i.operands[0])?;
        let is_within = |signed| {
            integer.is_some_and(|known| known.range().is_within(Range::of_type(width, signed)))
        };
        let signed = !is_within(false) && is_within(true);
        let mut made = *i;
        let canonical = self.canonical(i.operands[0], signed)?;
        let (sharing, name) = match canonical {
            Some(integer) => (Sharing::Arithmetic, integer.name()),
            None => (Sharing::Boolean, self.bits(i.operands[0])?),
        };
        made.element = i.element.shared(sharing);
        made.operands[0] = name;
        self.sink.emit(&made)?;
        Ok(true)
    }

    /// Both as elements, reduced as far as it takes to make `range` of them fit; `None` if they
    /// cannot be held so. The last result says whether it fits.
    fn pair(
        &mut self,
        names: [u64; 2],
        range: impl Fn(Range, Range) -> Range,
    ) -> Result<Option<([RangedElement; 2], bool)>, Error> {
        let (Some(a), Some(b)) = (self.integer(names[0])?, self.integer(names[1])?) else {
            return Ok(None);
        };
        let mut pair = [a, b];
        for _ in 0..2 {
            if self.fits(range(pair[0].range(), pair[1].range())) {
                return Ok(Some((pair, true)));
            }
            let size = |range: Range| range.magnitude_bits();
            let wider = usize::from(size(pair[1].range()) > size(pair[0].range()));
            for k in [wider, 1 - wider] {
                let signed = Range::of_type(self.value(names[k]).width, true);
                if !pair[k].range().is_within(signed)
                    && size(pair[k].range()) > size(signed)
                    && let Some(reduced) = self.canonical(names[k], true)?
                {
                    pair[k] = reduced;
                    if names[0] == names[1] {
                        pair = [reduced; 2];
                    }
                    break;
                }
            }
        }
        let fits = self.fits(range(pair[0].range(), pair[1].range()));
        Ok(Some((pair, fits)))
    }

    fn sum(&mut self, i: &Instruction) -> Done {
        let known = self.disjoint_sum(i);
        let is_integer = |&name: &u64| self.value(name).integer.is_some();
        if let Some(view) = known.clone().filter(|_| !i.operands().iter().all(is_integer)) {
            self.set_view(i.results[0], i.shape(), view);
            return Ok(true);
        }
        let is_add = i.op == Op::Add;
        let range = |a: Range, b: Range| if is_add { a.add(b) } else { a.sub(b) };
        let Some(([a, b], true)) = self.pair([i.operands[0], i.operands[1]], range)? else {
            return Ok(false);
        };
        let sum = self.apply(i, i.op, &[a, b], range(a.range(), b.range()))?;
        self.set_integer(i.results[0], i.shape(), sum);
        if let Some(view) = known {
            self.set_form(i.results[0], BitForm::View(view));
        }
        Ok(true)
    }

    /// `-x`, and `!x = -1 - x`.
    pub(super) fn negation(&mut self, i: &Instruction) -> Done {
        if i.op == Op::Not && self.has_bits(i.operands[0]) {
            return self.bit_movement(i);
        }
        let Some(a) = self.integer(i.operands[0])? else { return Ok(false) };
        let width = i.element.width();
        if width == 1 && i.op == Op::Not {
            let Some(a) = self.canonical(i.operands[0], false)? else { return Ok(false) };
            let not = self.apply(i, Op::Not, &[a], Range::BIT)?;
            self.set_integer(i.results[0], i.shape(), not);
            return Ok(true);
        }
        let minus_one = Range { low: -1, high: -1 };
        let known = a.range();
        let range = if i.op == Op::Neg { known.neg() } else { minus_one.sub(known) };
        if !self.fits(range) {
            return Ok(false);
        }
        let result = if i.op == Op::Neg {
            self.apply(i, Op::Neg, &[a], range)?
        } else {
            let ones = self.constant((mask_of(width), minus_one), width, i.lanes, true)?;
            self.apply(i, Op::Sub, &[ones, a], range)?
        };
        self.set_integer(i.results[0], i.shape(), result);
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
        if widens || !self.fits(term.range().times(terms)) {
            let Some(reduced) = self.canonical(operand, signed)? else { return Ok(false) };
            term = reduced;
        }
        let range = term.range().times(terms);
        if !self.fits(range) || i.element.width() > RING_WIDTH_MAX {
            return Ok(false);
        }
        let sum = self.apply(i, Op::LaneSum, &[term], range)?;
        self.set_integer(i.results[0], i.shape(), sum);
        Ok(true)
    }
}
