//! Operations on the bits of values: each bit of a result is known, or computed with one product.

use phineus_bytecode::{Instruction, Lane, Op, mask_of};

use super::Lowering;
use super::bit_forms::{BitForm, ResultBit};
use super::bit_view::{BitSource, BitView};
use super::claims::LoweringOutput;
use super::operations::Done;
use crate::error::Error;

const ZERO: BitSource = BitSource::Constant(false);
const ONE: BitSource = BitSource::Constant(true);

/// A bit of `x & y`, `x | y` or `x ^ y`.
fn of_two(op: Op, x: BitSource, y: BitSource) -> ResultBit {
    let is_opposite = x == y.inverted();
    let known = match op {
        Op::And => match (x, y) {
            (ZERO, _) | (_, ZERO) => Some(ZERO),
            (ONE, other) | (other, ONE) => Some(other),
            _ if is_opposite => Some(ZERO),
            _ => (x == y).then_some(x),
        },
        Op::Or => match (x, y) {
            (ONE, _) | (_, ONE) => Some(ONE),
            (ZERO, other) | (other, ZERO) => Some(other),
            _ if is_opposite => Some(ONE),
            _ => (x == y).then_some(x),
        },
        _ => match (x, y) {
            (ZERO, other) | (other, ZERO) => Some(other),
            (ONE, other) | (other, ONE) => Some(other.inverted()),
            _ if is_opposite => Some(ONE),
            _ => (x == y).then_some(ZERO),
        },
    };
    match known {
        Some(bit) => ResultBit::Known(bit),
        None if op == Op::Xor => ResultBit::Computed {
            operands: [x.plain(), y.plain()],
            is_inverted: x.is_inverted() != y.is_inverted(),
        },
        None => ResultBit::Computed { operands: [x, y], is_inverted: false },
    }
}

/// A bit of a choice between `x` and `y` by `selector`.
fn of_choice(op: Op, selector: BitSource, x: BitSource, y: BitSource) -> ResultBit {
    let known = match (op, x, y) {
        _ if x == y => Some(x),
        (Op::Mux | Op::Mask, ONE, ZERO) => Some(selector),
        (Op::Mux, ZERO, ONE) => Some(selector.inverted()),
        _ => None,
    };
    match known {
        Some(bit) => ResultBit::Known(bit),
        None => ResultBit::Computed { operands: [x, y], is_inverted: false },
    }
}

impl<S: LoweringOutput> Lowering<S> {
    /// And, or, exclusive or.
    pub(super) fn bitwise(&mut self, i: &Instruction) -> Done {
        let names = [i.operands[0], i.operands[1]];
        let are_known = names.iter().all(|&name| self.has_bits(name));
        if i.element.width() == 1 {
            // Of elements that are bits, if there is something to compute.
            return Ok(are_known && self.known_results(i)?.is_some() || self.logic(i)?);
        }
        if !are_known && (self.masked(i)? || self.complement(i)?) {
            return Ok(true);
        }
        if self.known_results(i)?.is_some() {
            return Ok(true);
        }
        let [x, y] = names.map(|name| self.compact(name));
        let bits = x?.bits().into_iter().zip(y?.bits());
        let wanted = bits.map(|(x, y)| of_two(i.op, x, y)).collect();
        let views = self.computed(i, None, wanted)?;
        self.set_views(i, views)
    }

    /// Notes the result if nothing need be computed.
    fn known_results(&mut self, i: &Instruction) -> Result<Option<()>, Error> {
        let [x, y] = [self.view(i.operands[0])?.bits(), self.view(i.operands[1])?.bits()];
        let known = x.into_iter().zip(y).map(|(x, y)| match of_two(i.op, x, y) {
            ResultBit::Known(bit) => Some(bit),
            ResultBit::Computed { .. } => None,
        });
        let Some(bits) = known.collect::<Option<Vec<_>>>() else { return Ok(None) };
        self.set_view(i.results[0], i.shape(), BitView::of(bits));
        Ok(Some(()))
    }

    fn set_views(&mut self, i: &Instruction, views: Vec<BitView>) -> Done {
        for (k, (&result, view)) in i.results().iter().zip(views).enumerate() {
            self.set_view(result, i.result_shape(k), view);
        }
        Ok(true)
    }

    /// `x & (2^k - 1)` is `x` modulo `2^k`: of elements, if their bits are not needed otherwise.
    fn masked(&mut self, i: &Instruction) -> Done {
        let [a, b] = [i.operands[0], i.operands[1]];
        for (operand, mask) in [(a, b), (b, a)] {
            let Some(mask) = self.value(mask).constant else { continue };
            let kept = mask.bit_len();
            let is_low = mask.wrapping_add(Lane::ONE).count_ones() <= 1;
            if i.op != Op::And || !is_low || kept == 0 || self.integer(operand)?.is_none() {
                continue;
            }
            let low = self.cut(operand, kept as u16)?;
            if let Some(low) = low {
                self.set_integer(i.results[0], i.shape(), low);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `x ^ (2^w - 1)` is `-1 - x`.
    fn complement(&mut self, i: &Instruction) -> Done {
        let ones = mask_of(i.element.width());
        let [a, b] = [i.operands[0], i.operands[1]];
        for (operand, constant) in [(a, b), (b, a)] {
            if i.op == Op::Xor && self.value(constant).constant == Some(ones) {
                let mut not = *i;
                not.op = Op::Not;
                not.operands = [operand, 0, 0];
                return self.negation(&not);
            }
        }
        Ok(false)
    }

    /// A choice between values that are held as bits, which stays bits.
    ///
    /// Elements take one product, whatever their width. So with a constant, which is as good as elements, only what
    /// takes no more is made of bits.
    pub(super) fn choice_of_bits(&mut self, i: &Instruction) -> Done {
        let choices = &i.operands()[1..];
        let is_integer = |&name: &u64| self.value(name).integer.is_some();
        if choices.iter().any(is_integer) || !choices.iter().all(|&name| self.has_bits(name)) {
            return Ok(false);
        }
        let has_constant = choices.iter().any(|&name| self.value(name).constant.is_some());
        let mut bits = Vec::new();
        for &name in choices {
            bits.push(self.view(name)?.bits());
        }
        bits.resize(2, vec![ZERO; bits[0].len()]);
        let selector = self.view(i.operands[0])?.bits()[0];
        let wanted = bits[0].iter().zip(&bits[1]);
        let wanted: Vec<ResultBit> =
            wanted.map(|(&x, &y)| of_choice(i.op, selector, x, y)).collect();
        let is_computed = |bit: &&ResultBit| matches!(bit, ResultBit::Computed { .. });
        let count = wanted.iter().filter(is_computed).count();
        if has_constant && count > 1 {
            return Ok(false);
        }
        let selector = if count > 0 { self.bits(i.operands[0])? } else { 0 };
        let views = self.computed(i, Some(selector), wanted)?;
        self.set_views(i, views)
    }

    /// The sum of two values of which no bit is 1 in both, where that is known.
    pub(super) fn disjoint_sum(&self, i: &Instruction) -> Option<BitView> {
        let [BitForm::View(x), BitForm::View(y)] =
            [i.operands[0], i.operands[1]].map(|name| self.bit_form(name))
        else {
            return None;
        };
        if i.op != Op::Add || ![&x, &y].iter().any(|view| view.has_zeros()) {
            return None;
        }
        let bits = x.bits().into_iter().zip(y.bits()).map(|bits| match bits {
            (ZERO, other) | (other, ZERO) => Some(other),
            _ => None,
        });
        bits.collect::<Option<Vec<_>>>().map(BitView::of)
    }

    /// A movement of bits, or their inversion.
    pub(super) fn bit_movement(&mut self, i: &Instruction) -> Done {
        let mut views = Vec::new();
        for &name in i.operands() {
            views.push(self.view(name)?);
        }
        let views = self.movement_of(i, &views)?;
        self.set_views(i, views)
    }

    /// Notes what is known of the bits of `result`, which has elements.
    pub(super) fn set_form(&mut self, result: u64, form: BitForm) {
        if let BitForm::View(view) = &form {
            self.claim_view(view, result);
        }
        let value = self.value_mut(result);
        let before = value.bits.memory_bytes();
        let after = form.memory_bytes();
        value.bits = form;
        self.forms_bytes = self.forms_bytes + after - before;
    }
}
