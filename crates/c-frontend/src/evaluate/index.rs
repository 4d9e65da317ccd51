//! Address computations: offsets and indices, public or secret.

use std::rc::Rc;

use crate::data::{CellValue, IndexTerm, Indexed, moved, signed};
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::frame::Frame;
use crate::ir::{Index, IrOperand, Multiple};

/// Choices that an address is made of, and their sides; with more the index is looked for as any
/// secret one is.
const CHOICES_MAX: u32 = 128;

impl OperationEvaluator {
    /// The address with an offset and indices added.
    pub(crate) fn address(
        &mut self,
        frame: &Frame<'_>,
        base: CellValue,
        offset: i64,
        indices: &[Index],
    ) -> Result<CellValue, ExecutionStop> {
        let mut place = moved(base, offset);
        for index in indices {
            place = self.further(frame, place, index, index.operand)?;
        }
        Ok(place)
    }

    /// The address with one index added. Where that is a secret choice between public ones, as LLVM
    /// makes it of a choice between addresses, it is a choice between addresses again.
    fn further(
        &mut self,
        frame: &Frame<'_>,
        place: CellValue,
        index: &Index,
        operand: IrOperand,
    ) -> Result<CellValue, ExecutionStop> {
        let given = frame.get(operand);
        if let (IrOperand::Register(register), true) = (operand, given.is_secret())
            && let Some([condition, a, b]) = frame.function.choices.get(&register)
            && self.is_few(frame, operand, &mut { CHOICES_MAX })
        {
            let yes = self.further(frame, place.clone(), index, *a)?;
            let no = self.further(frame, place, index, *b)?;
            return self.select(&frame.get(*condition), &yes, &no, 64);
        }
        if let (Some(multiple), true) = (index.multiple, given.is_secret())
            && self.is_multiple(frame, index, multiple)
        {
            let Multiple { operand, width, factor, .. } = multiple;
            let stride = index.stride * factor;
            let index = Index { operand, width, stride, bound: None, multiple: None };
            return self.further(frame, place, &index, operand);
        }
        match place {
            CellValue::Chosen(choices) => self.each_place(&choices, |evaluator, place| {
                evaluator.stepped(place, given.clone(), index)
            }),
            place => self.stepped(place, given, index),
        }
    }

    /// Whether the steps of an index can be those of what it is a multiple of: no product wraps.
    fn is_multiple(&self, frame: &Frame<'_>, index: &Index, multiple: Multiple) -> bool {
        let of = frame.get(multiple.operand);
        let greatest = self.emit.greatest(&of, multiple.width);
        let last = greatest.checked_mul((index.stride * multiple.factor) as u128);
        of.is_secret() && (multiple.is_exact || last.is_some_and(|last| last <= i64::MAX as u128))
    }

    /// Whether an index is public, or one of a few public ones. What is chosen between may have
    /// been chosen itself, and one choice may be a side of several: `left` counts down with each
    /// that is looked at.
    fn is_few(&self, frame: &Frame<'_>, operand: IrOperand, left: &mut u32) -> bool {
        let Some(rest) = left.checked_sub(1) else { return false };
        *left = rest;
        match (frame.get(operand), operand) {
            (CellValue::Public(_) | CellValue::Spread(_), _) => true,
            (given, IrOperand::Register(register)) if given.is_secret() => {
                let sides = frame.function.choices.get(&register);
                sides.is_some_and(|[_, a, b]| {
                    self.is_few(frame, *a, left) && self.is_few(frame, *b, left)
                })
            }
            _ => false,
        }
    }

    /// The address with one index added.
    pub(crate) fn stepped(
        &mut self,
        place: CellValue,
        given: CellValue,
        index: &Index,
    ) -> Result<CellValue, ExecutionStop> {
        let steps = |v: &u128| (signed(*v, index.width) as i64) * index.stride;
        Ok(match (place, given) {
            (CellValue::Poison, _) | (_, CellValue::Poison) => CellValue::Poison,
            (_, CellValue::Undefined) => {
                return self.error("this index is not set", "set it first");
            }
            (place, CellValue::Public(value)) => {
                let steps = signed(value, index.width) as i64;
                moved(place, steps.wrapping_mul(index.stride))
            }
            (CellValue::Pointer(object, at), CellValue::Spread(values)) => {
                CellValue::Places(object, values.iter().map(|v| at + steps(v)).collect())
            }
            (CellValue::Places(object, at), CellValue::Spread(values)) => {
                let both = at.iter().zip(values.iter());
                CellValue::Places(object, both.map(|(at, v)| at + steps(v)).collect())
            }
            (place, secret) if secret.is_secret() => {
                let Index { width, stride, bound, .. } = *index;
                self.indexed(place, IndexTerm { index: secret, width, stride, bound })?
            }
            _ => return self.error("this index is no integer", "use an integer"),
        })
    }

    /// An address with one more secret index.
    pub(crate) fn indexed(
        &mut self,
        place: CellValue,
        term: IndexTerm,
    ) -> Result<CellValue, ExecutionStop> {
        let indexed = match place {
            CellValue::Pointer(object, offset) => Indexed { object, offset, terms: vec![term] },
            CellValue::Indexed(indexed) => {
                let mut indexed = (*indexed).clone();
                indexed.terms.push(term);
                indexed
            }
            CellValue::Chosen(choices) => {
                return self.each_place(&choices, |evaluator, place| {
                    evaluator.indexed(place, term.clone())
                });
            }
            CellValue::Places(..) => return Err(ExecutionStop::Abandon),
            _ => return self.error("this indexes something that is no array", "use an array"),
        };
        Ok(CellValue::Indexed(Rc::new(indexed)))
    }
}
