//! Programs with chosen sharings: costs of their parts, and the program that a choice gives.

use std::sync::Arc;

use phineus_bytecode::{Description, SharingRule, SharingSetting};
use phineus_plan::{
    ChosenSharings, ProgramPart, Scratch, SharingModel, ValueWidths, assign_chosen,
};
use phineus_protocols::mixed::{MixedSharingCosts, SharingTerms};

use super::narrowing::{blocks_with_state, claims_of_narrowing};
use crate::choices::ProtocolVariant;
use crate::failure::Failure;
use crate::protocol::Protocol;
use crate::traced::{TracedBlocks, TracedFile};

/// Costs of the parts of `traced` in each sharing, on the network of `setting`.
///
/// # Errors
/// If there is too little memory, or a file cannot be read.
pub fn sharing_model(
    traced: &TracedFile,
    (protocol, variant): (Protocol, ProtocolVariant),
    setting: SharingSetting,
    (planner_memory_bytes, scratch): (u64, &Scratch),
) -> Result<SharingModel, Failure> {
    let mut costs = MixedSharingCosts::new(SharingTerms {
        parties: traced.computing,
        is_silent: variant.ot.is_silent(),
        y2a: variant.y2a,
        scheme: protocol.garbling_scheme(traced.computing),
        round_trip_ns: setting.round_trip_ns,
        bits_per_second: setting.bits_per_second,
    });
    let mut model = SharingModel::new();
    // Before the choice nothing is garbled that the program does not state so.
    let variant = ProtocolVariant { sharings: None, ..variant };
    let mut collect = |part: &TracedFile, times: u64| {
        let mut widths = ValueWidths::new(scratch.file());
        let claim = |claim: &_| widths.note(claim);
        claims_of_narrowing(part, (protocol, variant), planner_memory_bytes, scratch, claim)?;
        let part = ProgramPart { program: &mut part.file.reader()?, widths, times };
        Ok::<(), Failure>(model.collect(part, scratch, &mut costs, planner_memory_bytes)?)
    };
    match &traced.blocks {
        None => collect(traced, 1)?,
        Some(blocks) => {
            let times = blocks.flow.times_or_once();
            let run = (protocol, variant);
            let blocks = blocks_with_state(blocks, run, planner_memory_bytes, scratch)?;
            blocks.parts.iter().zip(times).try_for_each(|(part, times)| collect(part, times))?;
        }
    }
    Ok(model)
}

/// `traced` with sharings for all that it leaves open.
pub fn with_sharings(
    traced: &TracedFile,
    chosen: &ChosenSharings,
    (planner_memory_bytes, scratch): (u64, &Scratch),
) -> Result<TracedFile, Failure> {
    let written = |part: &TracedFile| -> Result<TracedFile, Failure> {
        let (program, output) = (&mut part.file.reader()?, scratch.file());
        let (file, written) =
            assign_chosen(program, output, scratch.file(), chosen, planner_memory_bytes)?;
        Ok(part.rewritten(file, written.hash))
    };
    let Some(blocks) = &traced.blocks else { return written(traced) };
    let parts = blocks.parts.iter().map(written).collect::<Result<Vec<_>, Failure>>()?;
    let mut description = traced.description.clone();
    for (number, slot) in (0..).zip(&mut description.slots) {
        slot.element = chosen.carried(number, slot.element);
    }
    let of_block = Arc::new(Description { plan: None, ..description.of_block() });
    let blocks = TracedBlocks { flow: blocks.flow.clone(), parts }.of_program(&of_block);
    Ok(TracedFile { description, blocks: Some(Arc::new(blocks)), ..traced.clone() })
}

/// `traced` with the sharings that a plan states to have chosen; itself if it chose none.
///
/// # Errors
/// As [`sharing_model`].
pub fn with_stated_sharings(
    traced: TracedFile,
    (protocol, variant): (Protocol, ProtocolVariant),
    memory: (u64, &Scratch),
) -> Result<TracedFile, Failure> {
    let Some(setting) = variant.sharings else { return Ok(traced) };
    let chosen = match setting.rule {
        SharingRule::Boolean => return Ok(traced),
        SharingRule::Garbled | SharingRule::Arithmetic => SharingModel::new().chosen(setting.rule),
        SharingRule::Cheapest(..) => {
            sharing_model(&traced, (protocol, variant), setting, memory)?.chosen(setting.rule)
        }
    };
    with_sharings(&traced, &chosen, memory)
}
