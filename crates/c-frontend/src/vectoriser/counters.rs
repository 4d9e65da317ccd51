//! Counters of a loop, and its number of iterations.

use crate::data::{Data, fold, mask};
use crate::frame::Frame;
use crate::patterns::pattern::{Pattern, Recurrence, Step};

/// A counter in `lanes` iterations from `first` on.
pub(super) fn counted(frame: &Frame<'_>, start: &Data, step: Step, first: u64, lanes: u64) -> Data {
    if lanes == 1 {
        return stepped(frame, start, step, first);
    }
    let each = (first..first + lanes).map(|k| stepped(frame, start, step, k));
    match start {
        Data::Pointer(object, _) => {
            let places = each.map(|data| match data {
                Data::Pointer(_, at) => at,
                _ => 0,
            });
            Data::Places(*object, places.collect())
        }
        _ => {
            let values = each.map(|data| match data {
                Data::Public(value) => value,
                _ => 0,
            });
            Data::Spread(values.collect())
        }
    }
}

/// A counter after some steps.
pub(super) fn stepped(frame: &Frame<'_>, start: &Data, step: Step, times: u64) -> Data {
    match (start, step) {
        (Data::Public(value), Step::Add(operand, width)) => match frame.get(operand) {
            Data::Public(step) => {
                let all = value.wrapping_add(step.wrapping_mul(u128::from(times)));
                Data::Public(all & mask(width))
            }
            _ => Data::Poison,
        },
        (Data::Pointer(object, at), Step::Bytes(bytes)) => {
            Data::Pointer(*object, at.wrapping_add(bytes.wrapping_mul(times as i64)))
        }
        _ => Data::Poison,
    }
}

/// How often the loop runs, if that is public and all counters are.
pub(super) fn iterations(frame: &Frame<'_>, pattern: &Pattern, state: &[Data]) -> Option<u64> {
    for (carried, start) in pattern.carried.iter().zip(state) {
        let fits = match carried {
            Recurrence::Counter(_) => !matches!(stepped_of(frame, carried, start), Data::Poison),
            Recurrence::Reduction(..) | Recurrence::ArgMinMax => {
                start.is_secret() || matches!(start, Data::Public(_))
            }
        };
        if !fits {
            return None;
        }
    }
    let Recurrence::Counter(step) = pattern.carried[pattern.condition.counter] else { return None };
    let number = |data: Data| match data {
        Data::Public(value) => Some(value),
        Data::Pointer(_, at) => Some(fold::place(at)),
        _ => None,
    };
    let bound_data = frame.get(pattern.condition.bound);
    let start = &state[pattern.condition.counter];
    match (start, &bound_data) {
        (Data::Public(_), Data::Public(_)) => {}
        (Data::Pointer(a, _), Data::Pointer(b, _)) if a == b => {}
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

fn stepped_of(frame: &Frame<'_>, carried: &Recurrence, start: &Data) -> Data {
    match carried {
        Recurrence::Counter(step) => stepped(frame, start, *step, 1),
        _ => Data::Poison,
    }
}
