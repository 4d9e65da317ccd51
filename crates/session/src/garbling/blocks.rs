//! Garbling beside a program of several blocks: one plan for each block, also where it garbles
//! nothing, and one pass through all that run.
//!
//! In a file the plans of the blocks are a file of several blocks, too; how they follow each other
//! stands in the plan that they lie beside.

use std::io::Write;
use std::path::Path;

use phineus_bytecode::binary::finish_blocks;
use phineus_bytecode::{BlockEnd, FileSummary, Flow, Successor};
use phineus_crypto::Prg;
use phineus_engine::StorageBackend;
use phineus_ot::{FieldBits, SessionId};
use phineus_protocols::bmr::GarblingBlocks;
use phineus_protocols::bmr::limits::memory_bytes_of_blocks;

use super::{Started, Stream, no_thread, set_up_any};
use crate::execute::frames_and_swap;
use crate::failure::Failure;
use crate::planned::{GarblingNeeds, GarblingPlan, PlannedBlocks, PlannedFile};

/// Memory of garbling if any of these blocks may run, for this number of parties.
pub fn bytes_of_blocks<'a>(plans: impl Iterator<Item = &'a GarblingPlan>, parties: usize) -> u64 {
    let (mut most, mut scale) = (GarblingNeeds::default(), None);
    for plan in plans {
        let GarblingNeeds { frames, slots, circuit_bytes, gates } = plan.needs;
        most = GarblingNeeds {
            frames: most.frames.max(frames),
            slots: most.slots.max(slots),
            circuit_bytes: most.circuit_bytes.max(circuit_bytes),
            gates: most.gates.max(gates),
        };
        scale = Some(plan.scale);
    }
    scale.map_or(0, |scale| {
        let sizes = (FieldBits::DEFAULT, scale);
        let state = memory_bytes_of_blocks(parties, sizes, most.circuit_bytes, most.gates);
        most.paged_bytes() + state
    })
}

/// Writes the plans of all blocks as one file; returns its length.
pub fn write_blocks<'a>(
    plans: impl Iterator<Item = &'a GarblingPlan>,
    mut output: impl Write,
) -> Result<u64, Failure> {
    let (mut written, mut description) = (Vec::new(), None);
    for plan in plans {
        let file_bytes = std::io::copy(&mut plan.file.view(), &mut output)?;
        let reader = plan.file.reader()?;
        let (hash, instruction_count) = (reader.hash(), reader.instruction_count());
        written.push(FileSummary { hash, instruction_count, file_bytes });
        description.get_or_insert_with(|| reader.description().clone());
    }
    let description = description.expect("a program of several blocks has some");
    let end = BlockEnd { steps: Vec::new(), next: Successor::End };
    let flow = Flow { registers: 0, blocks: vec![end; written.len()] };
    let (_, written) = finish_blocks(output, &written, &description, &flow)?;
    Ok(written.file_bytes)
}

/// Sets garbling up and starts its thread.
pub(super) fn start(
    (planned, blocks): (&PlannedFile, &PlannedBlocks),
    parties: Stream,
    prg: Prg,
    session: (&SessionId, bool),
    (swap_dir, backend): (&Path, StorageBackend),
    turns_max: u64,
) -> Result<Started, Failure> {
    let plans = || blocks.parts.iter().filter_map(|part| part.garbling.as_ref());
    let scale = plans().map(|plan| plan.scale).next().unwrap_or_default();
    let readers = plans().map(|plan| plan.file.reader()).collect::<Result<Vec<_>, _>>()?;
    let mut figures = readers[0].description().plan.clone().expect("it was planned");
    for plan in plans() {
        figures.frame_count = figures.frame_count.max(plan.needs.frames);
        figures.spill_slot_count = figures.spill_slot_count.max(plan.needs.slots);
    }
    let garbling = set_up_any(parties, prg, session)?.with_scale(scale);
    let walked = GarblingBlocks {
        blocks: readers,
        flow: blocks.flow.clone(),
        description: planned.description.clone(),
        carried: blocks.carried.garbled.clone().expect("what garbled blocks carry has its places"),
        turns_max,
    };
    let directory = swap_dir.to_owned();
    let memory = move || frames_and_swap(&figures, &directory, backend);
    garbling.start_blocks(walked, memory).map_err(no_thread)
}
