//! Which masks authenticated integers of few bits hide behind (decision 0033): decided once for a
//! program while it is planned, from what all parties agree on, so that all decide alike.

use phineus_bytecode::{CostModel, Description, Flow};
use phineus_correlated::authenticated::STATISTICAL_BITS;
use phineus_correlated::demand::BatchScale;
use phineus_crypto::field::FieldName;
use phineus_plan::{Scratch, lower_to_field};
use phineus_protocols::spdz::distance::{DISTANCE_MAX, narrow_openings};
use phineus_protocols::spdz::{Distance, Masks, SpdzCosts};

use super::{magnitude_bits, planner_memory};
use crate::choices::NarrowMasks;
use crate::failure::Failure;
use crate::memory_budget::BudgetParameters;
use crate::program_file::ProgramFile;
use crate::protocol::Protocol;
use crate::traced::{TracedBlocks, TracedFile};

/// Returns whether so many openings under narrow masks alone pass the limit.
fn are_too_many(openings: u64) -> bool {
    openings as f64 / (1u64 << STATISTICAL_BITS) as f64 > DISTANCE_MAX
}

/// What decides which masks values are opened under.
#[derive(Clone, Copy)]
pub struct MaskSituation {
    pub field: FieldName,
    pub parties: usize,
    pub scale: BatchScale,
    pub choice: NarrowMasks,
}

/// A lowered program of one block in rounds, under the masks of `choice`; `in_rounds` orders it.
///
/// Few comparisons are ordered with narrow masks, and once more if that turns out to be too far from
/// an ideal run: the checks of MACs follow the order.
pub fn ordered(
    lowered: &ProgramFile,
    description: &Description,
    MaskSituation { field, parties, scale, choice }: MaskSituation,
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
    situation: &BudgetParameters,
    scratch: &Scratch,
) -> Result<NarrowMasks, Failure> {
    let (Some(field), NarrowMasks::Auto) = (protocol.field(), situation.variant.masks) else {
        return Ok(situation.variant.masks);
    };
    let mut all = 0;
    let times = blocks.flow.times();
    for (number, part) in blocks.parts.iter().enumerate() {
        let (output, notes) = (scratch.file(), scratch.file());
        let lowering = (magnitude_bits(field), situation.prove_inputs);
        let memory = planner_memory(situation)?;
        let (file, _) = lower_to_field(&mut part.file.reader()?, output, notes, lowering, memory)?;
        let lowered = ProgramFile::new_block(file, part.file.program());
        let openings = narrow_openings(&mut lowered.reader()?, field, situation.parties)?;
        let times = match &times {
            Some(times) => times[number],
            None if openings > 0 && may_run_again(&blocks.flow, number) => {
                return Ok(NarrowMasks::Never);
            }
            None => 1,
        };
        all += openings.saturating_mul(times);
    }
    Ok(match are_too_many(all) {
        true => NarrowMasks::Never,
        false => NarrowMasks::Always,
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
