//! Which masks authenticated integers of few bits hide behind (decision 0033): decided once for a
//! program while it is planned, from what all parties agree on, so that all decide alike.

use phineus_bytecode::{CostModel, Description, Flow};
use phineus_crypto::field::FieldName;
use phineus_plan::{Scratch, lower_to_field};
use phineus_protocols::demand::BatchScale;
use phineus_protocols::spdz::costs::totals;
use phineus_protocols::spdz::distance::{DISTANCE_MAX, narrow_openings};
use phineus_protocols::spdz::{Distance, Masks, STATISTICAL_BITS, SpdzCosts};
use phineus_tables::quantity;
use serde_json::json;

use crate::blocks::TracedBlocks;
use crate::failure::{Failure, codes};
use crate::memory_budget::Situation;
use crate::planning::{PlannedFile, magnitude_bits, planner_memory};
use crate::program_file::ProgramFile;
use crate::resolve::TracedFile;
use crate::settings::{Choice, NarrowMasks, Protocol};

/// Returns whether so many openings under narrow masks alone pass the limit.
fn are_too_many(openings: u64) -> bool {
    openings as f64 / (1u64 << STATISTICAL_BITS) as f64 > DISTANCE_MAX
}

/// The distance that a plan states, if it is on authenticated shares.
pub fn distance(planned: &PlannedFile) -> Option<Distance> {
    let plan = planned.plan();
    let field = Protocol::from_name(&plan.protocol)?.field()?;
    Some(Distance::stated(&plan.costs, field, planned.computing))
}

/// A lowered program of one block in rounds, under the masks of `choice`; `in_rounds` orders it.
///
/// Few comparisons are ordered with narrow masks, and once more if that turns out to be too far from
/// an ideal run: the checks of MACs follow the order.
pub fn ordered(
    lowered: &ProgramFile,
    description: &Description,
    (field, parties, scale): (FieldName, usize, BatchScale),
    choice: NarrowMasks,
    in_rounds: impl Fn(Masks) -> Result<TracedFile, Failure>,
) -> Result<(TracedFile, Masks), Failure> {
    let with = |masks| Ok((in_rounds(masks)?, masks));
    match choice {
        NarrowMasks::Always => return with(Masks::Narrow),
        NarrowMasks::Never => return with(Masks::Whole),
        NarrowMasks::Auto => {}
    }
    match narrow_openings(&mut lowered.reader()?, field, parties)? {
        0 => return with(Masks::Narrow),
        openings if are_too_many(openings) => return with(Masks::Whole),
        _ => {}
    }
    let narrow = in_rounds(Masks::Narrow)?;
    let mut costs = SpdzCosts::new(parties, field).with_scale(scale);
    narrow.file.reader()?.for_each::<Failure>(|instruction| {
        costs.count(instruction, description);
        Ok(())
    })?;
    match Distance::stated(&costs.totals(description), field, parties).is_too_large() {
        true => with(Masks::Whole),
        false => Ok((narrow, Masks::Narrow)),
    }
}

/// The choice for all blocks of a program. How often a block runs that may run again is not known, and
/// the default of `--max-iterations` bounds nothing: if such a block opens anything under a narrow
/// mask, no block does. The others run once at most.
pub fn of_blocks(
    blocks: &TracedBlocks,
    protocol: Protocol,
    situation: &Situation,
    scratch: &Scratch,
) -> Result<NarrowMasks, Failure> {
    let (Some(field), NarrowMasks::Auto) = (protocol.field(), situation.variant.masks) else {
        return Ok(situation.variant.masks);
    };
    let mut all = 0;
    for (number, part) in blocks.parts.iter().enumerate() {
        let (output, notes) = (scratch.file(), scratch.file());
        let lowering = (magnitude_bits(field), situation.prove_inputs);
        let memory = planner_memory(situation)?;
        let (file, _) = lower_to_field(&mut part.file.reader()?, output, notes, lowering, memory)?;
        let lowered = ProgramFile::new_block(file, part.file.program());
        let openings = narrow_openings(&mut lowered.reader()?, field, situation.parties)?;
        if openings > 0 && may_run_again(&blocks.flow, number) {
            return Ok(NarrowMasks::Never);
        }
        all += openings;
    }
    Ok(match are_too_many(all) {
        true => NarrowMasks::Never,
        false => NarrowMasks::Always,
    })
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
    let (is_narrow, is_whole) = (total(totals::BOUNDED) > 0, total(totals::WHOLE_MASKS) > 0);
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
    Err(Failure::new(codes::PLAN_FOR_OTHER_MASKS, message)
        .remedy(format!("state --narrow-masks {masks} at all parties, or plan it again")))
}

/// The lines of `explain` about the distance: the total, then its terms.
pub fn distance_lines(planned: &PlannedFile) -> Vec<String> {
    let Some(distance) = distance(planned) else { return Vec::new() };
    let power = |value: f64| format!("2^{:.1}", value.log2());
    let each = match &planned.blocks {
        Some(_) => ", if each block runs once",
        None => "",
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
        "narrow_masks": Masks::stated(&planned.plan().costs) == Masks::Narrow,
        "if_each_block_runs_once": planned.blocks.is_some() && !is_over,
        "terms": terms.collect::<Vec<_>>(),
    })
}

/// Returns whether a block may run again after itself.
fn may_run_again(flow: &Flow, block: usize) -> bool {
    let mut is_reached = vec![false; flow.blocks.len()];
    let mut waiting: Vec<usize> = flow.blocks[block].next.blocks().collect();
    while let Some(next) = waiting.pop() {
        if !std::mem::replace(&mut is_reached[next], true) {
            waiting.extend(flow.blocks[next].next.blocks());
        }
    }
    is_reached[block]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_openings_are_too_many() {
        assert!(!are_too_many(1023) && !are_too_many(1024) && are_too_many(1025));
    }
}
