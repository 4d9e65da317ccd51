//! Choices between two values by a condition.

use std::rc::Rc;

use crate::data::{CellValue, Choices, is_address, mask};
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::ir::{Binary, Compare};

impl OperationEvaluator {
    /// `a` where the condition holds, else `b`, integers of `width` bits or addresses. An integer
    /// that is not set is 0 there: with the other one in its place who sees the result would learn
    /// what the condition keeps back.
    pub(crate) fn select(
        &mut self,
        condition: &CellValue,
        a: &CellValue,
        b: &CellValue,
        width: u16,
    ) -> Result<CellValue, ExecutionStop> {
        if let CellValue::Public(bit) = condition {
            return Ok(if bit & 1 == 1 { a.clone() } else { b.clone() });
        }
        let is_vector = |data: &CellValue| matches!(data, CellValue::Many(_));
        if a.is_same(b) && !is_vector(condition) {
            return Ok(a.clone());
        }
        match (a, b) {
            (CellValue::Poison, _) | (_, CellValue::Poison) => return Ok(CellValue::Poison),
            // An address that is not set means no place.
            (CellValue::Undefined, other) | (other, CellValue::Undefined)
                if is_address(other) || matches!(other, CellValue::Function(_)) =>
            {
                return Ok(other.clone());
            }
            _ => {}
        }
        let mut each =
            |evaluator: &mut Self, p: &[&CellValue]| evaluator.select(p[0], p[1], p[2], width);
        if let Some(results) = self.elements(&[condition, a, b], &mut each) {
            return results;
        }
        let zero = &CellValue::Public(0);
        let set = |data| if matches!(data, &CellValue::Undefined) { zero } else { data };
        let (a, b) = (set(a), set(b));
        if let Some(unfit) = self.unfit(condition) {
            return unfit;
        }
        if is_address(a) || is_address(b) {
            return self.select_address(condition, a, b);
        }
        if matches!((a, b), (CellValue::Function(_), _) | (_, CellValue::Function(_))) {
            if let CellValue::Opened(_) = condition {
                return self.address_differs(&[a.clone(), b.clone()]);
            }
            return self.error(
                "which function this is depends on a secret",
                "call both, and choose between what they return",
            );
        }
        if let Some(unfit) = self.unfit(a).or_else(|| self.unfit(b)) {
            return unfit;
        }
        if let Some(opened) = self.emit.opened_select(condition, a, b, width) {
            return Ok(opened);
        }
        let choose = |v: &[u128]| if v[0] & 1 == 1 { v[1] } else { v[2] };
        if let Some(spread) = self.by_lane(&[condition, a, b], choose) {
            return Ok(spread);
        }
        if let Some(dry_run) = &mut self.scope.dry_run {
            return Ok(dry_run.hidden(width));
        }
        // A constant is added where the condition holds, or where it does not.
        for (sum, base, is_where) in [(a, b, true), (b, a, false)] {
            if let Some(added) = self.emit.added(sum, |term| term.is_same(base)) {
                let [yes, no] = if is_where { [&added, zero] } else { [zero, &added] };
                let added = self.emit.record_select(condition, yes, no, width);
                return self.binary(Binary::Add, width, base, &added);
            }
        }
        Ok(self.emit.record_select(condition, a, b, width))
    }

    /// One of two addresses by a secret.
    pub(crate) fn select_address(
        &mut self,
        condition: &CellValue,
        a: &CellValue,
        b: &CellValue,
    ) -> Result<CellValue, ExecutionStop> {
        let one = CellValue::bit(true);
        let not = self.binary(Binary::Xor, 1, condition, &one)?;
        let mut all: Vec<(CellValue, CellValue)> = Vec::new();
        for (condition, side) in [(condition, a), (&not, b)] {
            let places: Choices = match side {
                CellValue::Chosen(places) => places.clone(),
                other if is_address(other) || matches!(other, CellValue::Public(_)) => {
                    Rc::new([(one.clone(), other.clone())])
                }
                _ => {
                    let remedy =
                        "keep them in fields of their own, or set the pointer on both paths";
                    return self.error("a secret decides whether this is an address", remedy);
                }
            };
            for (bit, place) in places.iter() {
                let bit = self.binary(Binary::And, 1, condition, bit)?;
                match all.iter().position(|(_, known)| known.is_same(place)) {
                    Some(at) => {
                        all[at].0 = self.binary(Binary::Xor, 1, &all[at].0.clone(), &bit)?
                    }
                    None => all.push((bit, place.clone())),
                }
            }
        }
        if all.len() > PLACES_MAX {
            let what = "an address that a secret chooses can mean too many places";
            self.error(what, "use an index into one array")?;
            return Err(ExecutionStop::Fatal);
        }
        Ok(CellValue::Chosen(all.into()))
    }

    /// The conditions of a switch's cases, one for each target.
    pub(crate) fn cases(
        &mut self,
        value: &CellValue,
        cases: &[(u128, u32)],
    ) -> Result<Vec<(CellValue, u32)>, ExecutionStop> {
        let width = self.width_of(value);
        let mut arms: Vec<(CellValue, u32)> = Vec::new();
        for (case, target) in cases {
            let case = CellValue::Public(*case & mask(width));
            let hit = self.compare(Compare::Eq, width, value, &case)?;
            match arms.iter().position(|(_, known)| known == target) {
                Some(at) => arms[at].0 = self.binary(Binary::Or, 1, &arms[at].0.clone(), &hit)?,
                None => arms.push((hit, *target)),
            }
        }
        Ok(arms)
    }
}

/// Places that an address may mean.
const PLACES_MAX: usize = 1 << 12;
