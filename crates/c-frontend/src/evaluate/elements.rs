//! Operations on vectors, element by element, and on integers that differ between lanes.

use crate::data::Data;
use crate::evaluate::Evaluator;
use crate::evaluate::report::Stop;

/// The operation on one element of each operand.
type Apply<'a, M> = &'a mut dyn FnMut(&mut M, &[&Data]) -> Result<Data, Stop>;

impl Evaluator {
    /// Applies to each element where one operand is a vector.
    pub(crate) fn elements(
        &mut self,
        operands: &[&Data],
        apply: Apply<'_, Self>,
    ) -> Option<Result<Data, Stop>> {
        let length = operands.iter().find_map(|data| match data {
            Data::Many(elements) => Some(elements.len()),
            _ => None,
        })?;
        let mut results = Vec::with_capacity(length);
        for index in 0..length {
            let parts: Vec<Data> = operands
                .iter()
                .map(|data| match data {
                    Data::Many(elements) => elements[index].clone(),
                    other => (*other).clone(),
                })
                .collect();
            let parts: Vec<&Data> = parts.iter().collect();
            match apply(self, &parts) {
                Ok(result) => results.push(result),
                Err(stop) => return Some(Err(stop)),
            }
        }
        Some(Ok(Data::Many(results.into())))
    }

    /// A public function of public operands that differ between lanes.
    pub(crate) fn by_lane(
        &self,
        operands: &[&Data],
        apply: impl Fn(&[u128]) -> u128,
    ) -> Option<Data> {
        let mut lanes = 1;
        for data in operands {
            match data {
                Data::Public(_) => {}
                Data::Spread(values) => lanes = values.len(),
                _ => return None,
            }
        }
        let at = |lane: usize| {
            let values: Vec<u128> = operands
                .iter()
                .map(|data| match data {
                    Data::Spread(values) => values[lane],
                    Data::Public(value) => *value,
                    _ => unreachable!("all are public"),
                })
                .collect();
            apply(&values)
        };
        Some(Data::Spread((0..lanes).map(at).collect()))
    }
}
