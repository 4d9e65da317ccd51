//! From a program to a planned program: the two passes, joined.
//!
//! Backward: [`annotate`](crate::annotate) finds next uses. Forward: placement and replacement
//! turn each instruction into events, scheduling turns events into the planned program. The
//! result depends on nothing but the program and the options.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;

use phineus_bytecode::limits::FRAME_INSTRUCTIONS;
use phineus_bytecode::{
    CostModel, Instruction, Kind, PlanDescription, ProgramReader, ProgramWriter, Written,
};

use crate::ahead::{BATCHES_AHEAD, ahead};
use crate::annotate::{Annotations, NextUses, annotate};
use crate::error::Error;
use crate::limits::{FRAMES_MIN, PAGE_WIRES_MIN, PREFETCH_FRAMES_MIN};
use crate::replace::{Event, Replacer};
use crate::schedule::{Lookahead, Scheduler};

/// What a plan is made for.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// The protocol's name.
    pub protocol: String,
    /// The memory limit as the user stated it; only recorded.
    pub memory_limit_bytes: u64,
    /// Frames that fit into it, all buffers accounted for.
    pub frame_count: u64,
    /// Wires in a page, a power of two.
    pub page_wires: u64,
    /// Bytes in a wire.
    pub wire_bytes: u64,
    /// How far to look ahead.
    pub lookahead: Lookahead,
    /// The most memory that planning itself may take.
    pub planner_memory_bytes: u64,
}

/// Plans `program` into `output`; `scratch` is an empty file for the next uses.
///
/// Reading ahead, and encoding and compressing the plan, run in threads of their own.
///
/// # Errors
/// [`Error::TooFewFrames`] and [`Error::PlannerMemory`] if it does not fit; [`Error::Invalid`] if
/// the program is not one that the verifier accepts.
pub fn plan<R: Read + Seek + Send, W: Write + Send>(
    program: &mut ProgramReader<R>,
    output: W,
    scratch: File,
    options: &PlanOptions,
    costs: &mut impl CostModel,
) -> Result<(W, PlanDescription, Written), Error> {
    assert!(options.page_wires >= PAGE_WIRES_MIN, "any value fits into a page");
    if options.frame_count < FRAMES_MIN {
        return Err(Error::TooFewFrames { frames: options.frame_count, needed: FRAMES_MIN });
    }
    let annotations = annotate(program, scratch, options.planner_memory_bytes)?;
    thread::scope(|scope| {
        let (batches, received) = sync_channel::<Vec<Instruction>>(BATCHES_AHEAD);
        let (spare, returned) = channel::<Vec<Instruction>>();
        let writer = scope.spawn(move || write(output, &received, &spare));
        let mut batch = Vec::with_capacity(FRAME_INSTRUCTIONS);
        let mut emit = |instruction: &Instruction| {
            batch.push(*instruction);
            if batch.len() == FRAME_INSTRUCTIONS {
                let empty = returned.try_recv().unwrap_or_default();
                let full = std::mem::replace(&mut batch, empty);
                // If the writer has failed it says why when it is joined.
                batches.send(full).map_err(|_| Error::WriterStopped)?;
            }
            Ok(())
        };
        let planned = forward(program, annotations, options, costs, &mut emit);
        let planned = planned.and_then(|plan| match batches.send(batch) {
            Ok(()) => Ok(plan),
            Err(_) => Err(Error::WriterStopped),
        });
        drop(batches);
        let written = writer.join().expect("the writer does not panic");
        if let Err(Error::WriterStopped) = planned {
            written?;
            return Err(Error::WriterStopped);
        }
        let (plan, writer) = (planned?, written?);
        let mut description = program.description().clone();
        description.plan = Some(plan.clone());
        let (output, written) = writer.finish(&description)?;
        Ok((output, plan, written))
    })
}

/// Writes the planned instructions, and gives the batches back.
fn write<W: Write>(
    output: W,
    batches: &Receiver<Vec<Instruction>>,
    spare: &Sender<Vec<Instruction>>,
) -> Result<ProgramWriter<W>, Error> {
    let mut writer = ProgramWriter::new(output, Kind::Planned)?;
    for mut batch in batches {
        batch.iter().try_for_each(|instruction| writer.push(instruction))?;
        batch.clear();
        // The planner may have ended; then nobody needs the batch.
        let _ = spare.send(batch);
    }
    Ok(writer)
}

/// The forward pass: emits the planned instructions and returns the plan's figures.
fn forward<R: Read + Seek + Send>(
    program: &mut ProgramReader<R>,
    mut annotations: Annotations,
    options: &PlanOptions,
    costs: &mut impl CostModel,
    emit: &mut impl FnMut(&Instruction) -> Result<(), Error>,
) -> Result<PlanDescription, Error> {
    let description = program.description().clone();
    // The spare frames are at most a quarter of all.
    let most = (options.frame_count / 4).max(PREFETCH_FRAMES_MIN);
    let frames = options.lookahead.frames.clamp(PREFETCH_FRAMES_MIN, most);
    let lookahead = Lookahead { frames, ..options.lookahead };
    let mut replacer = Replacer::new(options.page_wires, options.frame_count - frames);
    let mut scheduler = Scheduler::new(options.page_wires, options.frame_count, lookahead, emit);
    let mut index = 0;
    let mut unread = 0..program.frame_count();
    let (reader, notes) = (&mut *program, &mut annotations);
    let read = |(instructions, uses): &mut (Vec<Instruction>, Vec<NextUses>)| {
        let Some(frame) = unread.next() else { return Ok(false) };
        reader.read_frame(frame, instructions)?;
        notes.read_frame(frame, instructions, uses)?;
        Ok(true)
    };
    ahead(read, |(instructions, uses)| {
        for (instruction, uses) in instructions.iter().zip(&*uses) {
            costs.count(instruction, &description);
            let duration_ns = costs.duration_ns(instruction);
            replacer.step(index, instruction, uses, &mut |event| {
                let duration_ns = if matches!(event, Event::Run(_)) { duration_ns } else { 0 };
                scheduler.push(event, duration_ns)
            })?;
            index += 1;
        }
        if replacer.memory_bytes() > options.planner_memory_bytes {
            return Err(Error::PlannerMemory {
                limit_bytes: options.planner_memory_bytes,
                live_values: replacer.live_values(),
            });
        }
        Ok(())
    })?;
    scheduler.finish()?;
    Ok(PlanDescription {
        program_hash: program.hash().to_string(),
        protocol: options.protocol.clone(),
        memory_limit_bytes: options.memory_limit_bytes,
        page_wires: options.page_wires,
        wire_bytes: options.wire_bytes,
        frame_count: scheduler.frames_used(),
        spill_slot_count: u64::from(replacer.slots_used),
        swap_in_count: scheduler.swap_in_count,
        swap_out_count: scheduler.swap_out_count,
        unbounded_page_count: replacer.peak_pages(),
        peak_wire_count: annotations.peak_wires,
        instruction_count: index,
        costs: costs.totals(&description),
    })
}
