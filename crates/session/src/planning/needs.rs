//! Finds the least memory limit for a program that does not fit, by trying limits.

use phineus_plan::limits::PLANNER_MEMORY_BYTES;

use super::planner_memory;
use crate::failure::Failure;
use crate::memory_budget::{BudgetParameters, does_not_fit, more_memory};

/// How often more memory is tried until a plan fits, to say what is enough: the planner's memory
/// doubles eight times from a megabyte to its most.
const NEEDS_TRIED: u32 = 12;

const MIB: u64 = 1 << 20;

/// `failure` to plan for a limit, with the least whole number of mebibytes that is enough, if more
/// memory mends it. `attempt` gives the failure of planning for another limit.
pub(super) fn stated(
    failure: Failure,
    limit_bytes: u64,
    attempt: impl Fn(u64) -> Option<Failure>,
) -> Failure {
    match least(&failure, limit_bytes, attempt) {
        None => failure,
        Some(enough) if failure.is_of_planning() => {
            let failure = failure.remedy(more_memory(enough));
            Failure { needed_bytes: Some(enough), ..failure }
        }
        Some(enough) => does_not_fit(limit_bytes, enough),
    }
}

/// Where planning itself needs more than is left for it, twice that is tried next.
pub(super) fn next(failure: Failure, situation: &BudgetParameters) -> Failure {
    match planner_memory(situation) {
        Ok(left) if failure.is_of_planning() && failure.needed_bytes.is_none() => {
            // What is kept of files grows with the limit, too.
            let more = (situation.limit_bytes + left + left / 8).div_ceil(MIB) * MIB;
            let needed_bytes = (left < PLANNER_MEMORY_BYTES).then_some(more);
            Failure { needed_bytes, ..failure }
        }
        _ => failure,
    }
}

/// Searches for the least limit that works: it was tried, and one mebibyte less was tried and fails.
/// Returns nothing if more memory does not help against `failure`. The need that a failure states is
/// an estimate only: some parts of the budget grow with the limit.
fn least(
    failure: &Failure,
    limit_bytes: u64,
    attempt: impl Fn(u64) -> Option<Failure>,
) -> Option<u64> {
    // In mebibytes: this is too little, and that is tried.
    let (mut too_little, mut tried) = (limit_bytes / MIB, failure.needed_bytes?.div_ceil(MIB));
    for _ in 0..NEEDS_TRIED {
        let Some(failure) = attempt(tried * MIB) else { break };
        too_little = tried;
        tried = failure.needed_bytes.map(|more| more.div_ceil(MIB)).filter(|&more| more > tried)?;
    }
    let mut step = 1;
    while tried > too_little + 1 {
        // Estimates are seldom far off: steps that grow find out soon how much less would do.
        let between = tried.saturating_sub(step).max((too_little + tried) / 2);
        match attempt(between * MIB) {
            None => (tried, step) = (between, 2 * step),
            Some(_) => too_little = between,
        }
    }
    Some(tried * MIB)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::codes;

    /// Planning fails below `enough`, and twice what it has is to be tried next.
    fn planning(enough: u64) -> impl Fn(u64) -> Option<Failure> {
        move |limit| {
            let failure = Failure::new(codes::PLANNER_MEMORY, "planning needs more");
            let needed_bytes = Some(2 * limit);
            (limit < enough).then_some(Failure { needed_bytes, ..failure })
        }
    }

    #[test]
    fn what_is_stated_is_the_least_that_is_enough() {
        for enough in [33 * MIB, 45 * MIB, 100 * MIB, 1000 * MIB] {
            let attempt = planning(enough);
            let failure = attempt(32 * MIB).expect("it is too little");
            let stated = stated(failure, 32 * MIB, &attempt);
            let needed = stated.needed_bytes.expect("it is tried");
            assert_eq!(needed, enough);
            let remedy = stated.remedy.expect("a figure is a remedy");
            assert!(
                remedy.to_string().contains(&format!("resources.memory {}MiB", needed / MIB)),
                "{remedy}"
            );
        }
    }

    #[test]
    fn what_more_memory_does_not_mend_has_no_figure() {
        let failure = Failure::new(codes::PLANNER_MEMORY, "it needs more than there may be");
        assert_eq!(stated(failure, MIB, |_| unreachable!("nothing to try")).needed_bytes, None);
        // A run that needs more and more, and at last something else.
        let refused = || Failure::new(codes::PROGRAM, "refused");
        let stated = stated(does_not_fit(MIB, 2 * MIB), MIB, |_| Some(refused()));
        assert_eq!(stated.needed_bytes, Some(2 * MIB));
    }
}
