//! How much memory would be enough for a program that does not fit: tried, not estimated.

use phineus_plan::limits::PLANNER_MEMORY_BYTES;

use super::planner_memory;
use crate::failure::Failure;
use crate::memory_budget::{Situation, does_not_fit};

/// How often more memory is tried until a plan fits, to say what is enough: the planner's memory
/// doubles eight times from a megabyte to its most.
const NEEDS_TRIED: u32 = 12;

/// How often less is tried then, where what is enough was guessed.
const BISECTIONS: u32 = 3;

/// `failure` to plan for a limit, with what is enough, if more memory mends it. `attempt` gives the
/// failure of planning for another limit.
pub(super) fn stated(
    failure: Failure,
    limit_bytes: u64,
    attempt: impl Fn(u64) -> Option<Failure>,
) -> Failure {
    match enough(&failure, limit_bytes, attempt) {
        None => failure,
        Some(enough) if failure.is_of_planning() => {
            let remedy = format!(
                "give --memory {}MiB, with which it can be planned, or plan it with that elsewhere \
                 and run the plan here",
                enough.div_ceil(1 << 20)
            );
            Failure { needed_bytes: Some(enough), ..failure.remedy(remedy) }
        }
        Some(enough) => does_not_fit(limit_bytes, enough),
    }
}

/// Where planning itself needs more than is left for it, twice that is tried next.
pub(super) fn next(failure: Failure, situation: &Situation) -> Failure {
    match planner_memory(situation) {
        Ok(left) if failure.is_of_planning() && failure.needed_bytes.is_none() => {
            // What is kept of files grows with the limit, too.
            let more = (situation.limit_bytes + left + left / 8).div_ceil(1 << 20) << 20;
            let needed_bytes = (left < PLANNER_MEMORY_BYTES).then_some(more);
            Failure { needed_bytes, ..failure }
        }
        _ => failure,
    }
}

/// What was tried and is enough, if `failure` is one that more memory mends: what is said to be
/// needed may not be all, as some shares grow with the limit.
fn enough(
    failure: &Failure,
    limit_bytes: u64,
    attempt: impl Fn(u64) -> Option<Failure>,
) -> Option<u64> {
    let (mut too_little, mut tried) = (limit_bytes, failure.needed_bytes?);
    let mut is_guess = failure.is_of_planning();
    for _ in 0..NEEDS_TRIED {
        let Some(failure) = attempt(tried) else { break };
        let more = failure.needed_bytes.filter(|&more| more > tried)?;
        is_guess |= failure.is_of_planning();
        (too_little, tried) = (tried, more);
    }
    for _ in 0..if is_guess { BISECTIONS } else { 0 } {
        let between = (too_little + (tried - too_little) / 2) >> 20 << 20;
        if between <= too_little {
            break;
        }
        match attempt(between) {
            None => tried = between,
            Some(_) => too_little = between,
        }
    }
    Some(tried)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    const MIB: u64 = 1 << 20;

    /// Planning fails below `enough`, and twice what it has is to be tried next.
    fn planning(enough: u64) -> impl Fn(u64) -> Option<Failure> {
        move |limit| {
            let failure = Failure::new(Exit::DoesNotFit, 102, "planning needs more");
            let needed_bytes = Some(2 * limit);
            (limit < enough).then_some(Failure { needed_bytes, ..failure })
        }
    }

    #[test]
    fn what_is_stated_was_tried_and_little_more_than_enough() {
        for enough in [33 * MIB, 45 * MIB, 100 * MIB, 1000 * MIB] {
            let attempt = planning(enough);
            let failure = attempt(32 * MIB).expect("it is too little");
            let stated = stated(failure, 32 * MIB, &attempt);
            let needed = stated.needed_bytes.expect("it is tried");
            assert!(attempt(needed).is_none() && needed <= enough * 9 / 8 + MIB, "{needed}");
            let remedy = stated.remedy.expect("a figure is a remedy");
            assert!(remedy.contains(&format!("--memory {}MiB", needed / MIB)), "{remedy}");
        }
    }

    #[test]
    fn what_more_memory_does_not_mend_has_no_figure() {
        let failure = Failure::new(Exit::DoesNotFit, 102, "it needs more than there may be");
        assert_eq!(stated(failure, MIB, |_| unreachable!("nothing to try")).needed_bytes, None);
        // A run that needs more and more, and at last something else.
        let refused = || Failure::new(Exit::ProgramRefused, 110, "refused");
        let stated = stated(does_not_fit(MIB, 2 * MIB), MIB, |_| Some(refused()));
        assert_eq!(stated.needed_bytes, Some(2 * MIB));
    }
}
