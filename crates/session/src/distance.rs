//! Statistical distance of a run on authenticated shares from an ideal one (decision 0033).

use phineus_protocols::spdz::costs::totals;
use phineus_protocols::spdz::distance::DISTANCE_MAX;
use phineus_protocols::spdz::{Distance, Masks, SpdzSettings};
use phineus_tables::quantity;
use serde_json::json;

use crate::choices::NarrowMasks;
use crate::failure::{Failure, Remedy, RunField, codes};
use crate::planned::PlannedFile;
use crate::protocol::Protocol;

/// The distance that a plan states, if it is on authenticated shares.
pub fn distance(planned: &PlannedFile) -> Option<Distance> {
    let plan = planned.plan();
    let field = Protocol::of_plan(plan)?.field()?;
    Some(Distance::stated(&plan.costs, field, planned.computing))
}

/// Returns whether a plan with narrow masks is too far from an ideal run.
pub fn are_too_far(planned: &PlannedFile) -> bool {
    let is_narrow = planned.plan().costs.get(totals::BOUNDED).is_some_and(|&count| count > 0);
    is_narrow && distance(planned).is_some_and(|distance| distance.is_too_large())
}

/// Refuses a plan that was made before, with other masks than this party's `choice` would have given.
///
/// # Errors
/// Says what was planned, and what to do.
pub fn check_planned(planned: &PlannedFile, choice: NarrowMasks) -> Result<(), Failure> {
    let total = |name: &str| planned.plan().costs.get(name).copied().unwrap_or(0);
    let is_narrow = total(totals::BOUNDED) > 0;
    let is_whole = SpdzSettings::stated(planned.plan()).masks == Masks::Whole;
    let message = match choice {
        NarrowMasks::Never if is_narrow => "the plan has narrow masks".to_owned(),
        NarrowMasks::Auto if are_too_far(planned) => {
            let bits = distance(planned).map_or(0.0, |distance| -distance.total().log2());
            format!(
                "the plan has narrow masks, with which a run is 2^-{bits:.1} from an ideal one, more \
                 than 2^-30"
            )
        }
        NarrowMasks::Always if is_whole => "the plan has masks of the whole field".to_owned(),
        _ => return Ok(()),
    };
    let masks = if is_narrow { "always" } else { "never" };
    Err(Failure::new(codes::PLAN_FOR_OTHER_MASKS, message).remedy(
        Remedy::new("state ")
            .field(RunField::NarrowMasks)
            .and(format!(" {masks} at all parties, or plan it again")),
    ))
}

/// The lines of `explain` about the distance: the total, then its terms.
pub fn distance_lines(planned: &PlannedFile) -> Vec<String> {
    let Some(distance) = distance(planned) else { return Vec::new() };
    let power = |value: f64| format!("2^{:.1}", value.log2());
    let each = match &planned.blocks {
        Some(blocks) if blocks.flow.times().is_none() => ", if each block runs once",
        Some(_) | None => "",
    };
    let total = power(distance.total());
    let mut lines = vec![format!("at most {total} from an ideal run, statistically{each}")];
    for term in &distance.terms {
        let count = quantity::count(term.count);
        let (what, each, sum) = (term.what, power(term.each), power(term.sum()));
        lines.push(format!("  {count} {what}, {each} each: {sum}"));
    }
    lines
}

/// The distance as JSON, before a run or after it: `null` if nothing is statistical.
pub fn distance_json(planned: &PlannedFile, is_over: bool) -> serde_json::Value {
    let Some(distance) = distance(planned) else { return serde_json::Value::Null };
    let terms = distance.terms.iter().map(|term| {
        json!({
            "what": term.what,
            "count": term.count,
            "each_log2": term.each.log2(),
            "sum_log2": term.sum().log2(),
        })
    });
    json!({
        "log2": distance.total().log2(),
        "limit_log2": DISTANCE_MAX.log2(),
        "narrow_masks": SpdzSettings::stated(planned.plan()).masks == Masks::Narrow,
        "if_each_block_runs_once": !is_over
            && planned.blocks.as_ref().is_some_and(|blocks| blocks.flow.times().is_none()),
        "terms": terms.collect::<Vec<_>>(),
    })
}
