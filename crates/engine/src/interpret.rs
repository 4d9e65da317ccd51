//! The interpreter: runs a planned program, instruction by instruction.

use std::io::{Read, Seek};
use std::ops::Range;

use phineus_bytecode::limits::FRAME_INSTRUCTIONS;
use phineus_bytecode::{Instruction, Layout, Op, Phase, ProgramReader};

use crate::blocks::Carried;
use crate::driver::Driver;
use crate::regions::{NoSuchRow, RegionError, Regions};
use crate::storage::{FrameIndex, FrameMemory, SpillSlot, Storage, StorageError};

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E: std::error::Error + 'static> {
    /// The plan cannot be read.
    #[error(transparent)]
    Program(#[from] phineus_bytecode::Error),
    /// The swap file failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A register selects a row that a region does not have.
    #[error(transparent)]
    Row(#[from] NoSuchRow),
    /// The protocol failed.
    #[error("{0}")]
    Driver(#[source] E),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A block ran more often than it may.
    #[error("block {block} ran {turns} times, and may run no more often")]
    TooManyTurns {
        /// The block.
        block: usize,
        /// How often it ran.
        turns: u64,
    },
}

impl<E: std::error::Error + 'static> From<RegionError> for RunError<E> {
    fn from(error: RegionError) -> RunError<E> {
        match error {
            RegionError::Row(error) => error.into(),
            RegionError::Storage(error) => error.into(),
        }
    }
}

/// Instructions between two looks at the clock and at the caller's request to stop.
pub const INSTRUCTIONS_PER_PROGRESS: u64 = 1024;

/// The memory of a run.
pub struct RunMemory {
    /// The frames that instructions compute on.
    pub frames: FrameMemory,
    /// The swap file, if the plan uses one.
    pub storage: Option<Storage>,
    /// Arrays that opened registers select from.
    pub regions: Regions,
}

/// Runs `planned` from first to last instruction with `driver`.
///
/// `progress` is called now and then with the number of instructions done; it returns whether to
/// go on.
///
/// # Errors
/// [`RunError`]; the driver and the memory must not be used after one.
///
/// # Panics
/// If the plan is wrong: the checker accepts none that is.
pub fn run<R: Read + Seek, D: Driver>(
    planned: &mut ProgramReader<R>,
    driver: &mut D,
    memory: &mut RunMemory,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), RunError<D::Error>> {
    let (mut done, mut instructions) = (0, Vec::with_capacity(FRAME_INSTRUCTIONS));
    let room = BlockMemory { memory, carried: None, instructions: &mut instructions };
    run_instructions(planned, driver, room, (&mut done, &mut *progress))?;
    driver.finish().map_err(RunError::Driver)?;
    progress(done);
    memory.drain()?;
    Ok(())
}

/// Memory of a block, or of a program without blocks, while it runs.
pub(crate) struct BlockMemory<'a> {
    pub(crate) memory: &'a mut RunMemory,
    /// Values that blocks hand to each other.
    pub(crate) carried: Option<&'a mut Carried>,
    /// Room for those of a frame of the file.
    pub(crate) instructions: &'a mut Vec<Instruction>,
}

impl RunMemory {
    /// Frames and a swap file, for a program without regions.
    pub fn new(frames: FrameMemory, storage: Option<Storage>) -> RunMemory {
        RunMemory { frames, storage, regions: Regions::default() }
    }

    /// Finishes all transfers between frames and swap file.
    pub(crate) fn drain(&mut self) -> Result<(), StorageError> {
        match &mut self.storage {
            Some(storage) => storage.drain(&mut self.frames),
            None => Ok(()),
        }
    }
}

/// Runs all instructions of `planned`, which are read into `instructions`; `done` counts them.
pub(crate) fn run_instructions<R: Read + Seek, D: Driver>(
    planned: &mut ProgramReader<R>,
    driver: &mut D,
    BlockMemory { memory, mut carried, instructions }: BlockMemory<'_>,
    (done, progress): (&mut u64, &mut dyn FnMut(u64) -> bool),
) -> Result<(), RunError<D::Error>> {
    let layout = planned.description().plan.as_ref().map(|plan| plan.layout).unwrap_or_default();
    for frame in 0..planned.frame_count() {
        planned.read_frame(frame, instructions)?;
        for instruction in &*instructions {
            if instruction.op.is_directive() {
                direct(instruction, memory)?;
            } else if instruction.op.is_carrying() {
                let carried = carried.as_deref_mut().expect("only blocks carry values");
                carried.step::<D::Wire>(instruction, &mut memory.frames);
            } else if instruction.op.is_region() {
                memory.regions.step::<D::Wire>(instruction, &mut memory.frames)?;
            } else {
                step(instruction, layout, driver, memory).map_err(RunError::Driver)?;
            }
            *done += 1;
            if done.is_multiple_of(INSTRUCTIONS_PER_PROGRESS) && !progress(*done) {
                return Err(RunError::Interrupted);
            }
        }
    }
    Ok(())
}

fn direct(directive: &Instruction, memory: &mut RunMemory) -> Result<(), StorageError> {
    let [frame, slot, ..] = directive.immediates;
    let frame = FrameIndex(u32::try_from(frame).expect("a plan has fewer than 2^32 frames"));
    let slot = SpillSlot(u32::try_from(slot).expect("a plan has fewer than 2^32 slots"));
    let frames = &mut memory.frames;
    let storage = memory.storage.as_mut().expect("a plan with transfers has a swap file");
    match directive.op {
        Op::IssueSwapIn => storage.issue_in(frames, frame, slot),
        Op::FinishSwapIn => storage.finish_in(frames, frame),
        Op::IssueSwapOut => storage.issue_out(frames, frame, slot),
        _ => storage.finish_out(frames, frame),
    }
}

fn step<D: Driver>(
    instruction: &Instruction,
    layout: Layout,
    driver: &mut D,
    RunMemory { frames, regions, storage: _ }: &mut RunMemory,
) -> Result<(), D::Error> {
    let result = |k: usize| {
        let start = instruction.results[k] as usize;
        start..start + layout.units(instruction.result_shape(k)) as usize
    };
    let operand = |k: usize| {
        let start = instruction.operands[k] as usize;
        start..start + layout.units(instruction.operand_shape(k)) as usize
    };
    match (instruction.result_count(), instruction.operand_count()) {
        (0, 0) if instruction.op == Op::Round => driver.round(),
        // What was issued has been opened.
        (0, 0) if instruction.op.opens_inside() => {
            let value = driver.reveal(instruction, &[])?;
            regions.set(instruction.immediates[0], value);
            Ok(())
        }
        // The issue of an input.
        (0, 0) => driver.compute(instruction, &mut [], &[]),
        (1, 0) if instruction.op == Op::Input => {
            driver.input(instruction, frames.slice_mut(result(0)))
        }
        (0, _) if instruction.op == Op::Output => {
            driver.output(instruction, frames.slice(operand(0)))
        }
        (0, 1) if instruction.op.opens_inside() && instruction.phase == Phase::Whole => {
            let value = driver.reveal(instruction, frames.slice(operand(0)))?;
            regions.set(instruction.immediates[0], value);
            Ok(())
        }
        (0, 1) => call(instruction, driver, frames, [], [operand(0)]),
        (0, 2) => call(instruction, driver, frames, [], [operand(0), operand(1)]),
        (0, _) => call(instruction, driver, frames, [], [operand(0), operand(1), operand(2)]),
        (1, 0) => call(instruction, driver, frames, [result(0)], []),
        (1, 1) => call(instruction, driver, frames, [result(0)], [operand(0)]),
        (1, 2) => call(instruction, driver, frames, [result(0)], [operand(0), operand(1)]),
        (1, _) => {
            let operands = [operand(0), operand(1), operand(2)];
            call(instruction, driver, frames, [result(0)], operands)
        }
        (_, 0) => call(instruction, driver, frames, [result(0), result(1)], []),
        (_, 1) => call(instruction, driver, frames, [result(0), result(1)], [operand(0)]),
        (_, 2) => {
            let operands = [operand(0), operand(1)];
            call(instruction, driver, frames, [result(0), result(1)], operands)
        }
        _ => {
            let operands = [operand(0), operand(1), operand(2)];
            call(instruction, driver, frames, [result(0), result(1)], operands)
        }
    }
}

#[inline]
fn call<D: Driver, const RESULTS: usize, const OPERANDS: usize>(
    instruction: &Instruction,
    driver: &mut D,
    frames: &mut FrameMemory,
    results: [Range<usize>; RESULTS],
    operands: [Range<usize>; OPERANDS],
) -> Result<(), D::Error> {
    let (mut results, operands) = frames.operands::<D::Wire, RESULTS, OPERANDS>(results, operands);
    match instruction.op.is_of_permutation() {
        true => driver.permute(instruction, &mut results, &operands),
        false => driver.compute(instruction, &mut results, &operands),
    }
}
