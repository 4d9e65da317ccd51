//! What each operation becomes.

use phineus_bytecode::{ElementType, Instruction, Lane, Op, Shape, Sharing, mask_of};

use super::range::Range;
use super::{Integer, Lowering, Value};
use crate::error::Error;

/// Whether an operation is done.
type Done = Result<bool, Error>;

fn arithmetic(element: ElementType) -> ElementType {
    element.shared(Sharing::Arithmetic)
}

impl<E: FnMut(&Instruction) -> Result<(), Error>> Lowering<E> {
    pub(super) fn lower(&mut self, i: &Instruction) -> Result<(), Error> {
        let done = match i.op {
            Op::Input => self.input(i)?,
            Op::Constant => self.new_constant(i),
            Op::Output => self.output(i)?,
            Op::Convert | Op::Reduce => {
                let value = self.value(i.operands[0]).clone();
                self.values.insert(i.results[0], value);
                true
            }
            Op::Add | Op::Sub => self.sum(i)?,
            Op::Neg | Op::Not => self.negation(i)?,
            Op::Mul => self.product(i, [i.operands[0], i.operands[1]])?,
            Op::MulFull => self.full_product(i)?,
            Op::MatVec | Op::LaneSum => self.lane_sum(i)?,
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
            op if is_lane_movement(op) => self.movement(i)?,
            _ => false,
        };
        if done { Ok(()) } else { self.circuit(i) }
    }

    /// The same operation on bits.
    fn circuit(&mut self, i: &Instruction) -> Result<(), Error> {
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
    fn apply(&mut self, i: &Instruction, op: Op, operands: &[u64]) -> Result<u64, Error> {
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

    fn new_constant(&mut self, i: &Instruction) -> bool {
        let value = Value {
            width: i.element.width(),
            lanes: i.lanes,
            integer: None,
            reduced: [None; 2],
            bits: None,
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
    fn negation(&mut self, i: &Instruction) -> Done {
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

    fn too_small(&self, i: &Instruction, range: Range) -> Error {
        Error::FieldTooSmall {
            instruction: self.index,
            op: i.op.info().name,
            needed_bits: range.magnitude_bits() + 2,
        }
    }

    fn product(&mut self, i: &Instruction, names: [u64; 2]) -> Done {
        let is_square = names[0] == names[1];
        let range = |a: Range, b: Range| if is_square { a.square() } else { a.mul(b) };
        let Some(([a, b], fits)) = self.pair(names, range)? else {
            let width = Range::of_type(i.element.width(), true);
            return Err(self.too_small(i, width.mul(width)));
        };
        let product = range(a.range, b.range);
        if !fits {
            return Err(self.too_small(i, product));
        }
        let name = self.apply(i, Op::Mul, &[a.name, b.name])?;
        self.set_integer(i.results[0], i.shape(), name, product);
        Ok(true)
    }

    fn full_product(&mut self, i: &Instruction) -> Done {
        let (width, signed) = (i.element.width(), i.element.is_signed());
        let half = Range::of_type(width / 2, signed);
        let product = half.mul(half);
        if width > phineus_bytecode::limits::RING_WIDTH_MAX || !self.fits(product) {
            return Err(self.too_small(i, product));
        }
        let mut wide = [0; 2];
        for (wide, operand) in wide.iter_mut().zip(i.operands()) {
            let Some(name) = self.canonical(*operand, signed)? else { return Ok(false) };
            *wide = name;
        }
        let name = self.apply(i, Op::Mul, &wide)?;
        self.set_integer(i.results[0], i.shape(), name, product);
        Ok(true)
    }

    /// Sums of many terms: lanes, or the products of a matrix and a vector.
    fn lane_sum(&mut self, i: &Instruction) -> Done {
        if i.op == Op::MatVec {
            let columns = i.immediates[0];
            let range = |a: Range, b: Range| a.mul(b).times(columns);
            let names = [i.operands[0], i.operands[1]];
            let Some(([a, b], fits)) = self.pair(names, range)? else {
                let width = Range::of_type(i.element.width(), true);
                return Err(self.too_small(i, width.mul(width).times(columns)));
            };
            let range = range(a.range, b.range);
            if !fits {
                return Err(self.too_small(i, range));
            }
            let name = self.apply(i, Op::MatVec, &[a.name, b.name])?;
            self.set_integer(i.results[0], i.shape(), name, range);
            return Ok(true);
        }
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
        if !self.fits(range) || i.element.width() > phineus_bytecode::limits::RING_WIDTH_MAX {
            return Ok(false);
        }
        let name = self.apply(i, Op::LaneSum, &[term.name])?;
        self.set_integer(i.results[0], i.shape(), name, range);
        Ok(true)
    }

    /// On single bits.
    fn logic(&mut self, i: &Instruction) -> Done {
        let (Some(a), Some(b)) =
            (self.canonical(i.operands[0], false)?, self.canonical(i.operands[1], false)?)
        else {
            return Ok(false);
        };
        let name = self.apply(i, i.op, &[a, b])?;
        self.set_integer(i.results[0], i.shape(), name, Range { low: 0, high: 1 });
        Ok(true)
    }

    /// `x & (2^k - 1)` is `x` modulo `2^k`.
    fn masked(&mut self, i: &Instruction) -> Done {
        let [a, b] = [i.operands[0], i.operands[1]];
        for (operand, mask) in [(a, b), (b, a)] {
            let Some(mask) = self.value(mask).constant else { continue };
            let kept = mask.bit_len();
            let is_low = mask.wrapping_add(Lane::ONE).count_ones() <= 1;
            if !is_low || kept == 0 || self.integer(operand)?.is_none() {
                continue;
            }
            let low = self.cut(operand, kept as u16)?;
            if let Some((name, range)) = low {
                self.set_integer(i.results[0], i.shape(), name, range);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The low `width` bits of a value as unsigned integers.
    fn cut(&mut self, operand: u64, width: u16) -> Result<Option<(u64, Range)>, Error> {
        let Some(integer) = self.integer(operand)? else { return Ok(None) };
        let lanes = self.value(operand).lanes;
        let narrow = Range::of_type(width, false);
        if integer.range.is_within(narrow) {
            return Ok(Some((integer.name, integer.range)));
        }
        if !self.holds(width) {
            return Ok(None);
        }
        let element = arithmetic(ElementType::unsigned(width));
        let mut reduce = Instruction::new(Op::Reduce, element, lanes);
        reduce.operands[0] = integer.name;
        Ok(Some((self.define(reduce)?, narrow)))
    }

    /// `x ^ (2^w - 1)` is `-1 - x`.
    fn complement(&mut self, i: &Instruction) -> Done {
        let ones = mask_of(i.element.width());
        let [a, b] = [i.operands[0], i.operands[1]];
        for (operand, constant) in [(a, b), (b, a)] {
            if self.value(constant).constant == Some(ones) {
                let mut not = *i;
                not.op = Op::Not;
                not.operands = [operand, 0, 0];
                return self.negation(&not);
            }
        }
        Ok(false)
    }

    /// Both operands as integers of the same kind, of which signed ones are as good for equality.
    fn comparable(&mut self, i: &Instruction) -> Result<Option<[u64; 2]>, Error> {
        let mut signed = i.element.is_signed();
        let pair = [i.operands[0], i.operands[1]];
        if matches!(i.op, Op::Eq | Op::Ne) {
            let ranges = [self.integer(pair[0])?, self.integer(pair[1])?];
            let all_within = |signed| {
                let range = Range::of_type(i.element.width(), signed);
                ranges.iter().all(|known| known.is_some_and(|known| known.range.is_within(range)))
            };
            signed = !all_within(false) && all_within(true);
        }
        let width = Range::of_type(i.element.width(), signed);
        if !self.fits(width.sub(width)) {
            // Where all is known to be small, the type does not matter.
            let ranges = [self.integer(pair[0])?, self.integer(pair[1])?];
            let small = ranges.map(|known| known.filter(|known| known.range.is_within(width)));
            let [Some(a), Some(b)] = small else { return Ok(None) };
            return Ok(self.fits(a.range.sub(b.range)).then_some([a.name, b.name]));
        }
        let (Some(a), Some(b)) =
            (self.canonical(pair[0], signed)?, self.canonical(pair[1], signed)?)
        else {
            return Ok(None);
        };
        Ok(Some([a, b]))
    }

    fn comparison(&mut self, i: &Instruction) -> Done {
        let Some([a, b]) = self.comparable(i)? else { return Ok(false) };
        let name = self.apply(i, i.op, &[a, b])?;
        self.set_integer(i.results[0], i.result_shape(0), name, Range { low: 0, high: 1 });
        Ok(true)
    }

    /// The range of an operand as an integer of the instruction's type, if it is known to be one.
    fn range_of_kind(&self, name: u64, i: &Instruction) -> Option<Range> {
        let (width, signed) = (i.element.width(), i.element.is_signed());
        let value = self.value(name);
        if let Some(constant) = value.constant {
            return super::range::constant_as(constant, width, signed);
        }
        let known = value.integer.map(|integer| integer.range);
        known.filter(|known| known.is_within(Range::of_type(width, signed)))
    }

    fn extreme(&mut self, i: &Instruction) -> Done {
        let [x, y] = [i.operands[0], i.operands[1]];
        if let (Some(a), Some(b)) = (self.range_of_kind(x, i), self.range_of_kind(y, i))
            && (a.high <= b.low || b.high <= a.low)
        {
            // Nothing is left to compare.
            let is_first_less = a.high <= b.low;
            let chosen = if is_first_less == (i.op == Op::Min) { x } else { y };
            let value = self.value(chosen).clone();
            self.values.insert(i.results[0], value);
            return Ok(true);
        }
        let Some([a, b]) = self.comparable(i)? else { return Ok(false) };
        let less = self.apply(i, Op::Lt, &[a, b])?;
        let chosen = if i.op == Op::Min { [less, a, b] } else { [less, b, a] };
        let name = self.apply(i, Op::Mux, &chosen)?;
        let range = |value: u64| self.value(value).integer.map(|integer| integer.range);
        let kind = Range::of_type(i.element.width(), i.element.is_signed());
        let known = |value: u64| range(value).filter(|known| known.is_within(kind)).unwrap_or(kind);
        let union = known(i.operands[0]).union(known(i.operands[1]));
        self.set_integer(i.results[0], i.shape(), name, union);
        Ok(true)
    }

    fn absolute(&mut self, i: &Instruction) -> Done {
        if !i.element.is_signed() {
            let value = self.value(i.operands[0]).clone();
            self.values.insert(i.results[0], value);
            return Ok(true);
        }
        let Some(a) = self.canonical(i.operands[0], true)? else { return Ok(false) };
        let kind = Range::of_type(i.element.width(), true);
        if !self.fits(kind) {
            return Ok(false);
        }
        let name = self.apply(i, Op::Abs, &[a])?;
        self.set_integer(i.results[0], i.shape(), name, Range { low: 0, high: -kind.low });
        Ok(true)
    }

    fn choice(&mut self, i: &Instruction) -> Done {
        let selector = i.operands[0];
        let has_integer = |name: u64| {
            let value = self.value(name);
            value.integer.is_some() || value.constant.is_some()
        };
        let choices = &i.operands()[1..];
        if !choices.iter().any(|&name| has_integer(name)) {
            // Bits stay bits: the selector is one anyhow.
            return Ok(false);
        }
        let mut operands = vec![0; 1];
        let mut union: Option<Range> = (i.op == Op::Mask).then_some(Range { low: 0, high: 0 });
        let names: Vec<u64> = choices.to_vec();
        for name in names {
            let Some(integer) = self.integer(name)? else { return Ok(false) };
            operands.push(integer.name);
            union = Some(union.map_or(integer.range, |range| range.union(integer.range)));
        }
        let Some(bit) = self.canonical(selector, false)? else { return Ok(false) };
        operands[0] = bit;
        let range = union.expect("a choice has something to choose");
        // The difference of the two is multiplied by the selector.
        if !self.fits(range.sub(range)) {
            return Ok(false);
        }
        let mut made = Instruction::new(i.op, arithmetic(i.element), i.lanes);
        made.operands[..operands.len()].copy_from_slice(&operands);
        for (k, &result) in i.results().iter().enumerate() {
            made.results[k] = self.next_name;
            self.set_integer(result, i.result_shape(k), self.next_name, range);
            self.next_name += 1;
        }
        (self.emit)(&made)?;
        Ok(true)
    }

    fn left_shift(&mut self, i: &Instruction) -> Done {
        let (width, amount) = (u64::from(i.element.width()), i.immediates[0]);
        if amount >= width || self.integer(i.operands[0])?.is_none() {
            return Ok(false);
        }
        let factor = Range { low: 1 << amount.min(100), high: 1 << amount.min(100) };
        let mut integer = self.integer(i.operands[0])?.expect("just looked");
        if !self.fits(integer.range.mul(factor)) {
            // What is shifted out need not be there.
            let kept = (width - amount) as u16;
            let Some((name, range)) = self.cut(i.operands[0], kept)? else { return Ok(false) };
            integer = Integer { name, range };
        }
        let range = integer.range.mul(factor);
        if !self.fits(range) {
            return Ok(false);
        }
        let name = self.apply(i, Op::ShiftLeft, &[integer.name])?;
        self.set_integer(i.results[0], i.shape(), name, range);
        Ok(true)
    }

    fn right_shift(&mut self, i: &Instruction) -> Done {
        let signed = i.element.is_signed();
        let amount = i.immediates[0].min(u64::from(i.element.width()));
        let Some(a) = self.canonical(i.operands[0], signed)? else { return Ok(false) };
        let from = Range::of_type(i.element.width(), signed);
        let name = self.apply(i, Op::ShiftRight, &[a])?;
        let amount = amount.min(126) as u32;
        let range = Range { low: from.low >> amount, high: from.high >> amount };
        self.set_integer(i.results[0], i.shape(), name, range);
        Ok(true)
    }

    fn cast(&mut self, i: &Instruction) -> Done {
        let (from, signed) = (i.immediates[0] as u16, i.immediates[1] == 1);
        let width = i.element.width();
        let operand = i.operands[0];
        if let Some(constant) = self.value(operand).constant {
            let negative = signed && constant.bit(usize::from(from) - 1);
            let extended = if negative { constant | !mask_of(from) } else { constant };
            let mut made = *i;
            made.immediates = (extended & mask_of(width)).into_limbs();
            return Ok(self.new_constant(&made));
        }
        if width > phineus_bytecode::limits::RING_WIDTH_MAX || self.value(operand).integer.is_none()
        {
            return Ok(false);
        }
        let known = self.integer(operand)?.expect("just looked");
        let (name, range) = if width > from {
            let Some(name) = self.canonical(operand, signed)? else { return Ok(false) };
            let kind = Range::of_type(from, signed);
            (name, if name == known.name { known.range } else { kind })
        } else {
            (known.name, known.range)
        };
        self.set_integer(i.results[0], i.shape(), name, range);
        Ok(true)
    }

    fn bit_slice(&mut self, i: &Instruction) -> Done {
        let (start, from) = (i.immediates[0], i.immediates[1] as u16);
        let operand = i.operands[0];
        if self.value(operand).integer.is_none() || from > phineus_bytecode::limits::RING_WIDTH_MAX
        {
            return Ok(false);
        }
        let (name, mut range);
        if start == 0 {
            let known = self.integer(operand)?.expect("just looked");
            (name, range) = (known.name, known.range);
        } else {
            let Some(a) = self.canonical(operand, false)? else { return Ok(false) };
            let element = arithmetic(ElementType::unsigned(from));
            let mut shift = Instruction::new(Op::ShiftRight, element, i.lanes);
            shift.immediates[0] = start;
            shift.operands[0] = a;
            name = self.define(shift)?;
            range = Range::of_type(from, false);
            range.high >>= start.min(126);
        }
        self.set_integer(i.results[0], i.shape(), name, range);
        Ok(true)
    }

    /// `low + 2^k high`.
    fn bit_concat(&mut self, i: &Instruction) -> Done {
        let (low_width, width) = (i.immediates[0] as u16, i.element.width());
        let [low, high] = [i.operands[0], i.operands[1]];
        let is_known = |name: u64| {
            let value = self.value(name);
            value.integer.is_some() || value.constant.is_some()
        };
        if !self.holds(width) || !is_known(low) || !is_known(high) {
            return Ok(false);
        }
        let known = self.value(low).integer.map(|integer| integer.range);
        let kind = Range::of_type(low_width, false);
        let (Some(low), Some(shifted)) =
            (self.canonical(low, false)?, self.canonical(high, false)?)
        else {
            return Ok(false);
        };
        if self.value(high).constant.is_some_and(|constant| constant.is_zero()) {
            // A widening cast in other words.
            let range = known.filter(|known| known.is_within(kind)).unwrap_or(kind);
            self.set_integer(i.results[0], i.shape(), low, range);
            return Ok(true);
        }
        let high = shifted;
        let mut shift = *i;
        shift.immediates = [u64::from(low_width), 0, 0, 0];
        let high = self.apply(&shift, Op::ShiftLeft, &[high])?;
        shift.immediates = [0; 4];
        let name = self.apply(&shift, Op::Add, &[low, high])?;
        self.set_integer(i.results[0], i.shape(), name, Range::of_type(width, false));
        Ok(true)
    }

    /// Lanes move in whichever form all operands have.
    fn movement(&mut self, i: &Instruction) -> Done {
        let operands: Vec<u64> = i.operands().to_vec();
        let all_bits = operands.iter().all(|&name| {
            let value = self.value(name);
            value.integer.is_none() && value.constant.is_none()
        });
        if all_bits {
            return Ok(false);
        }
        let mut made = *i;
        made.element = arithmetic(i.element);
        let mut union: Option<Range> = None;
        for (k, name) in operands.into_iter().enumerate() {
            let Some(integer) = self.integer(name)? else { return Ok(false) };
            made.operands[k] = integer.name;
            union = Some(union.map_or(integer.range, |range| range.union(integer.range)));
        }
        let range = union.expect("a movement has an operand");
        for (k, &result) in i.results().iter().enumerate() {
            made.results[k] = self.next_name;
            let shape: Shape = i.result_shape(k);
            self.set_integer(result, shape, self.next_name, range);
            self.next_name += 1;
        }
        (self.emit)(&made)?;
        Ok(true)
    }
}

fn is_lane_movement(op: Op) -> bool {
    matches!(
        op,
        Op::LaneSlice
            | Op::LaneConcat
            | Op::LaneReverse
            | Op::LaneTile
            | Op::LaneRepeat
            | Op::LaneDeinterleave
            | Op::LaneInterleave
    )
}
