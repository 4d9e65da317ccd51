//! Counters of a loop, and its number of iterations.

use crate::data::{CellValue, fold, mask};
use crate::frame::Frame;
use crate::patterns::pattern::{IterationStep, Pattern, Recurrence};

/// A counter in `lanes` iterations from `first` on.
pub(super) fn counted(
    frame: &Frame<'_>,
    start: &CellValue,
    step: IterationStep,
    first: u64,
    lanes: u64,
) -> CellValue {
    if lanes == 1 {
        return stepped(frame, start, step, first);
    }
    let each = (first..first + lanes).map(|k| stepped(frame, start, step, k));
    match start {
        CellValue::Pointer(object, _) => {
            let places = each.map(|data| match data {
                CellValue::Pointer(_, at) => at,
                _ => 0,
            });
            CellValue::Places(*object, places.collect())
        }
        _ => {
            let values = each.map(|data| match data {
                CellValue::Public(value) => value,
                _ => 0,
            });
            CellValue::Spread(values.collect())
        }
    }
}

/// A counter after some steps.
pub(super) fn stepped(
    frame: &Frame<'_>,
    start: &CellValue,
    step: IterationStep,
    times: u64,
) -> CellValue {
    match (start, step) {
        (CellValue::Public(value), IterationStep::Add(operand, width)) => {
            match frame.get(operand) {
                CellValue::Public(step) => {
                    let all = value.wrapping_add(step.wrapping_mul(u128::from(times)));
                    CellValue::Public(all & mask(width))
                }
                _ => CellValue::Poison,
            }
        }
        (CellValue::Pointer(object, at), IterationStep::Bytes(bytes)) => {
            CellValue::Pointer(*object, at.wrapping_add(bytes.wrapping_mul(times as i64)))
        }
        _ => CellValue::Poison,
    }
}

/// How often the loop runs, if that is public and all counters are.
pub(super) fn iterations(frame: &Frame<'_>, pattern: &Pattern, state: &[CellValue]) -> Option<u64> {
    for (carried, start) in pattern.carried.iter().zip(state) {
        let fits = match carried {
            Recurrence::Counter(_) => {
                !matches!(stepped_of(frame, carried, start), CellValue::Poison)
            }
            Recurrence::Reduction(..) | Recurrence::ArgMinMax => {
                start.is_secret() || matches!(start, CellValue::Public(_))
            }
        };
        if !fits {
            return None;
        }
    }
    let Recurrence::Counter(step) = pattern.carried[pattern.condition.counter] else { return None };
    let number = |data: CellValue| match data {
        CellValue::Public(value) => Some(value),
        CellValue::Pointer(_, at) => Some(fold::place(at)),
        _ => None,
    };
    let bound_data = frame.get(pattern.condition.bound);
    let start = &state[pattern.condition.counter];
    match (start, &bound_data) {
        (CellValue::Public(_), CellValue::Public(_)) => {}
        (CellValue::Pointer(a, _), CellValue::Pointer(b, _)) if a == b => {}
        _ => return None,
    }
    let bound = number(bound_data)?;
    let mut count = 0u64;
    loop {
        let times = if pattern.condition.is_stepped { count + 1 } else { count };
        let value = number(stepped(frame, start, step, times))?;
        let (a, b) = if pattern.condition.is_bound_first { (bound, value) } else { (value, bound) };
        let goes_on = fold::compare(pattern.condition.compare, pattern.condition.width, a, b)
            == pattern.condition.continues_if;
        let is_at_end = pattern.exit.0 != pattern.header;
        if !goes_on {
            return Some(count + u64::from(is_at_end));
        }
        count += 1;
        if count > u64::from(u32::MAX) {
            return None;
        }
    }
}

fn stepped_of(frame: &Frame<'_>, carried: &Recurrence, start: &CellValue) -> CellValue {
    match carried {
        Recurrence::Counter(step) => stepped(frame, start, *step, 1),
        _ => CellValue::Poison,
    }
}
