//! From a program to a planned program: the two passes, joined.
//!
//! Backward: [`annotate`](crate::annotate) finds next uses. Forward: placement and replacement
//! turn each instruction into events, scheduling turns events into the planned program. The
//! result depends on nothing but the program and the options.

use std::collections::BTreeMap;
use std::io::{Read, Seek, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use phineus_bytecode::limits::FRAME_INSTRUCTIONS;
use phineus_bytecode::{
    CostModel, FileKind, FileSummary, Hash, Instruction, Layout, Optimisation, PlanDescription,
    PortOrder, ProgramReader, ProgramWriter, Settings,
};

use crate::ahead::BATCHES_AHEAD;
use crate::annotate::{NextUseFile, NextUses, annotate, for_each_frame};
use crate::error::Error;
use crate::limits::{FRAMES_MIN, PAGE_WIRES_MIN, PREFETCH_FRAMES_MIN};
use crate::near::HeldInputs;
use crate::replace::{PlanEvent, Replacer};
use crate::schedule::{Lookahead, Scheduler};
use crate::scratch::{Position, ScratchFile};

/// Nanoseconds to copy a value to or from where it is carried, 64 KiB at most.
const NS_PER_CARRIED: u64 = 1000;

/// Options of a plan.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// The protocol's name.
    pub protocol: String,
    /// Whether the program was optimised before; only recorded.
    pub optimisation: Optimisation,
    /// Where inputs and outputs come. Protocols with rounds have them where ordering put them.
    pub port_order: PortOrder,
    /// The memory limit as the user stated it; only recorded.
    pub memory_limit_bytes: u64,
    /// Pages of regions that a run holds in memory, if not all; only recorded.
    pub region_frames: u64,
    /// Frames that fit into it, all buffers accounted for.
    pub frame_count: u64,
    /// How many of the program's parties compute, if not all.
    pub computing: Option<u16>,
    /// How values lie in memory.
    pub layout: Layout,
    /// Units of the layout in a page: a power of two that holds any value of the program, see
    /// [`page_units`](crate::page_units).
    pub page_wires: u64,
    /// How far to look ahead.
    pub lookahead: Lookahead,
    /// The most memory that planning itself may take.
    pub planner_memory_bytes: u64,
}

/// Plans `program` into `output`; `scratch` is an empty file for the next uses.
///
/// Reading, placement with replacement, and scheduling with writing run in a thread each.
///
/// # Errors
/// [`Error::TooFewFrames`] and [`Error::PlannerMemory`] if it does not fit;
/// [`Error::PageTooSmall`] if a page does not hold each value; [`Error::Invalid`] if
/// the program is not one that the verifier accepts.
pub fn plan<R: Read + Seek + Send, W: Write + Send>(
    program: &mut ProgramReader<R>,
    output: W,
    scratch: impl Into<ScratchFile>,
    options: &PlanOptions,
    costs: &mut impl CostModel,
) -> Result<(W, PlanDescription, FileSummary), Error> {
    assert!(options.page_wires >= PAGE_WIRES_MIN, "a page is not smaller than the smallest");
    if options.frame_count < FRAMES_MIN {
        return Err(Error::TooFewFrames { frames: options.frame_count, needed: FRAMES_MIN });
    }
    // The spare frames are at most a quarter of all.
    let most = (options.frame_count / 4).max(PREFETCH_FRAMES_MIN);
    let frames = match options.lookahead.frames {
        0 => 0,
        frames => frames.clamp(PREFETCH_FRAMES_MIN, most),
    };
    let options =
        &PlanOptions { lookahead: Lookahead { frames, ..options.lookahead }, ..options.clone() };
    let annotations =
        annotate(program, scratch.into(), options.planner_memory_bytes, options.port_order)?;
    let (placed, scheduled) = thread::scope(|scope| {
        let (batches, received) = sync_channel(BATCHES_AHEAD);
        let (spare, returned) = channel();
        let second = scope.spawn(move || schedule(output, options, &received, &spare));
        let mut events = EventBatches { batch: Vec::new(), batches, returned };
        let placed = place_and_replace(program, annotations, options, costs, &mut events);
        let placed = placed.and_then(|placed| events.send().map(|()| placed));
        drop(events);
        (placed, second.join().expect("the scheduling thread does not panic"))
    });
    // If the second thread failed, the first has only noticed that it did.
    let scheduled = scheduled?;
    let plan = scheduled.figures(placed?, program.hash(), options);
    let mut description = program.description().clone();
    description.plan = Some(plan.clone());
    let (output, written) = scheduled.writer.finish(&description)?;
    Ok((output, plan, written))
}

type Batch = Vec<(PlanEvent, u64)>;

/// Events on their way from the first to the second thread.
struct EventBatches {
    batch: Batch,
    batches: SyncSender<Batch>,
    returned: Receiver<Batch>,
}

impl EventBatches {
    #[inline]
    fn push(&mut self, event: PlanEvent, duration_ns: u64) -> Result<(), Error> {
        self.batch.push((event, duration_ns));
        if self.batch.len() == FRAME_INSTRUCTIONS { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), Error> {
        let empty = self.returned.try_recv().unwrap_or_default();
        let full = std::mem::replace(&mut self.batch, empty);
        self.batches.send(full).map_err(|_| Error::WriterStopped)
    }
}

/// Result of placement and replacement.
struct Placed {
    spill_slot_count: u64,
    unbounded_page_count: u64,
    peak_wire_count: u64,
    instruction_count: u64,
    settings: Settings,
    costs: BTreeMap<String, u64>,
    planner_bytes: u64,
}

/// The first thread: turns instructions into events.
fn place_and_replace<R: Read + Seek + Send>(
    program: &mut ProgramReader<R>,
    mut annotations: NextUseFile,
    options: &PlanOptions,
    costs: &mut impl CostModel,
    events: &mut EventBatches,
) -> Result<Placed, Error> {
    let description = program.description().clone();
    let mut tables = annotations.tables.clone();
    let frame_count = options.frame_count - options.lookahead.frames;
    let mut replacer = Replacer::new(options.layout, options.page_wires, frame_count);
    let (mut inputs, mut given) = (HeldInputs::new(), Vec::new());
    let (mut index, instruction_count) = (0, program.instruction_count());
    let mut place = |index, instruction: &Instruction, uses: &NextUses, replacer: &mut Replacer| {
        let duration_ns = match instruction.op.is_carrying() {
            true => NS_PER_CARRIED,
            false => costs.count_and_predict(instruction, &description),
        };
        replacer.step(index, instruction, uses, &mut |event| {
            if matches!(event, PlanEvent::Evict { .. }) && options.lookahead.frames == 0 {
                return Err(Error::TooFewFrames { frames: frame_count, needed: frame_count + 1 });
            }
            let duration_ns = if matches!(event, PlanEvent::Run(_)) { duration_ns } else { 0 };
            events.push(event, duration_ns)
        })
    };
    for_each_frame(program, &mut annotations, |instructions, uses| {
        for (instruction, uses) in instructions.iter().zip(uses) {
            let is_held = options.port_order == PortOrder::Near
                && inputs.read(index, instruction, uses, &mut given);
            for (time, moved, uses) in given.drain(..) {
                place(time, &moved, &uses, &mut replacer)?;
            }
            if !is_held {
                place(index, instruction, uses, &mut replacer)?;
            }
            index += 1;
        }
        let bytes = replacer.memory_bytes() + inputs.memory_bytes();
        tables.count(
            bytes,
            replacer.live_values() as usize,
            Position { read: index, all: instruction_count },
        )
    })?;
    assert!(inputs.is_empty(), "an input that is held is used");
    Ok(Placed {
        spill_slot_count: u64::from(replacer.slots_used),
        unbounded_page_count: replacer.peak_pages(),
        peak_wire_count: replacer.peak_wires,
        instruction_count: index,
        settings: costs.settings(),
        costs: costs.totals(&description),
        planner_bytes: tables.peak_bytes(),
    })
}

/// Result of scheduling, and the file without its end.
struct Scheduled<W: Write> {
    writer: ProgramWriter<W>,
    frame_count: u64,
    swap_in_count: u64,
    swap_out_count: u64,
}

/// The second thread: turns events into the planned program, and gives their batches back.
fn schedule<W: Write>(
    output: W,
    options: &PlanOptions,
    batches: &Receiver<Batch>,
    spare: &Sender<Batch>,
) -> Result<Scheduled<W>, Error> {
    let mut writer = ProgramWriter::new(output, FileKind::Planned)?;
    let emit = |instruction: &_| Ok(writer.push(instruction)?);
    let mut scheduler =
        Scheduler::new(options.page_wires, options.frame_count, options.lookahead, emit);
    for mut batch in batches {
        batch.drain(..).try_for_each(|(event, duration)| scheduler.push(event, duration))?;
        // The first thread may have ended; then nobody needs the batch.
        let _ = spare.send(batch);
    }
    scheduler.finish()?;
    let (frame_count, swap_in_count, swap_out_count) =
        (scheduler.frames_used(), scheduler.swap_in_count, scheduler.swap_out_count);
    Ok(Scheduled { writer, frame_count, swap_in_count, swap_out_count })
}

impl<W: Write> Scheduled<W> {
    fn figures(&self, placed: Placed, program: Hash, options: &PlanOptions) -> PlanDescription {
        PlanDescription {
            program_hash: program.to_string(),
            protocol: options.protocol.clone(),
            optimisation: options.optimisation,
            port_order: options.port_order,
            memory_limit_bytes: options.memory_limit_bytes,
            region_frames: options.region_frames,
            computing: options.computing,
            layout: options.layout,
            page_wires: options.page_wires,
            frame_count: self.frame_count,
            spill_slot_count: placed.spill_slot_count,
            swap_in_count: self.swap_in_count,
            swap_out_count: self.swap_out_count,
            unbounded_page_count: placed.unbounded_page_count,
            peak_wire_count: placed.peak_wire_count,
            instruction_count: placed.instruction_count,
            planner_bytes: placed.planner_bytes,
            settings: placed.settings,
            costs: placed.costs,
        }
    }
}
