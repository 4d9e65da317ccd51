//! Planned programs, and the shares of memory that a run of them takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use phineus_bytecode::{Description, Flow, Hash, PlanDescription};
use phineus_correlated::demand::BatchScale;
use phineus_engine::{CarriedLayout, Regions};
use phineus_protocols::batch_scale;
use phineus_protocols::mixed::totals::ENTERING_OTS;

use crate::failure::Failure;
use crate::memory_choice::MemoryChoice;
use crate::program_file::ProgramFile;
use crate::sharing_choice::SharingChoice;

/// Wires of a page: the largest value, and 64 KiB of labels, at which disks reach their bandwidth.
pub const PAGE_WIRES: u64 = 4096;

/// A planned program and what it takes.
pub struct PlannedFile {
    pub file: ProgramFile,
    pub description: Description,
    pub hash: Hash,
    pub budget: Budget,
    /// Bytes that a party may be ahead of another while authenticated correlated randomness is made
    /// or gates are garbled, as far as its own memory allows.
    pub ahead_bytes: usize,
    pub planning: Duration,
    /// How many of the parties compute, the first ones; the others are clients.
    pub computing: usize,
    /// Plan of the garbling beside the run, if anything is garbled.
    pub garbling: Option<GarblingPlan>,
    /// How memories are accessed; nothing if that was decided before this plan.
    pub memories: Vec<MemoryChoice>,
    /// The sharings that were chosen; nothing if that was decided before this plan.
    pub sharings: Option<Box<SharingChoice>>,
    /// The blocks, if there are several; the file is then that of the first.
    pub blocks: Option<Arc<PlannedBlocks>>,
}

impl PlannedFile {
    /// The figures of the plan.
    pub fn plan(&self) -> &PlanDescription {
        self.description.plan.as_ref().expect("made by the planner, or checked when opened")
    }

    /// How large the batches of the plan are.
    pub fn scale(&self) -> BatchScale {
        batch_scale(self.plan())
    }

    /// How often this party has space to double the usual window.
    pub fn window_doublings(&self) -> u32 {
        (self.ahead_bytes / self.scale().ahead_bytes()).ilog2()
    }

    /// Whether anything is garbled beside a run.
    pub fn is_garbled(&self) -> bool {
        let of_blocks = self.blocks.as_ref().is_some_and(|blocks| blocks.parts[0].is_garbled());
        self.garbling.is_some() || of_blocks
    }

    /// Whether values are garbled by half gates in a run.
    pub fn takes_half_gates(&self) -> bool {
        self.plan().costs.contains_key(ENTERING_OTS)
    }

    /// How many pages of regions are touched that may not be in memory: as many at most are read in, and written out.
    pub fn region_touches(&self) -> Result<u64, Failure> {
        let times = self.blocks.as_ref().map(|blocks| blocks.flow.times_or_once());
        let parts = match &self.blocks {
            None => vec![(&self.file, 1)],
            Some(blocks) => {
                let files = blocks.parts.iter().map(|part| &part.file);
                files.zip(times.into_iter().flatten()).collect()
            }
        };
        let (description, layout) = (&self.description, self.plan().layout);
        let mut touches = 0u64;
        if self.plan().region_frames == 0 {
            return Ok(touches);
        }
        for (file, times) in parts {
            let mut of_one = 0;
            file.reader()?.for_each::<Failure>(|instruction| {
                if instruction.op.is_region() {
                    of_one += Regions::touched_pages(description, layout, instruction);
                }
                Ok(())
            })?;
            touches = touches.saturating_add(of_one * times);
        }
        Ok(touches)
    }

    /// Bytes of the plan.
    pub fn length_bytes(&self) -> Result<u64, Failure> {
        match &self.blocks {
            None => self.file.length_bytes(),
            Some(blocks) => blocks.parts.iter().map(|part| part.file.length_bytes()).sum(),
        }
    }
}

/// The blocks of a planned program.
pub struct PlannedBlocks {
    pub flow: Flow,
    pub parts: Vec<PlannedFile>,
    pub carried: CarriedPlaces,
    /// How often each has run, counted by the run.
    pub turns: Vec<AtomicU64>,
}

/// Where blocks carry values.
#[derive(Clone)]
pub struct CarriedPlaces {
    pub own: CarriedLayout,
    /// Where what is garbled beside them carries its own, if anything is.
    pub garbled: Option<CarriedLayout>,
}

impl PlannedBlocks {
    /// Instructions of all blocks, each as often as the program states, or once.
    pub fn instruction_count(&self) -> u64 {
        let times = self.flow.times_or_once();
        let parts = self.parts.iter().zip(times);
        parts.map(|(part, times)| part.plan().instruction_count * times).sum()
    }

    /// Notes that a block begins.
    pub fn enter(&self, block: usize) {
        self.turns[block].fetch_add(1, Ordering::Relaxed);
    }

    /// How often each block has run.
    pub fn counted(&self) -> Vec<u64> {
        self.turns.iter().map(|turns| turns.load(Ordering::Relaxed)).collect()
    }
}

/// The planned garbling program of a program with garbled values.
pub struct GarblingPlan {
    pub(crate) file: ProgramFile,
    /// All that garbling holds, frames included.
    pub bytes: u64,
    pub(crate) needs: GarblingNeeds,
    pub(crate) scale: BatchScale,
}

/// Figures of a plan that the memory of garbling depends on.
#[derive(Clone, Copy, Default)]
pub(crate) struct GarblingNeeds {
    pub(crate) frames: u64,
    pub(crate) slots: u64,
    pub(crate) circuit_bytes: u64,
    pub(crate) gates: u64,
}

/// A share of memory for each purpose, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    pub process: u64,
    pub tables: u64,
    pub channel: u64,
    pub driver: u64,
    pub scratch: u64,
    pub readers: u64,
    pub storage: u64,
    pub frames: u64,
    /// All that planning takes, before the run and in place of it.
    pub planning: u64,
}

impl Budget {
    /// As much of each as the other has, if that is more.
    pub fn raise_to(&mut self, other: &Budget) {
        for (own, other) in [
            (&mut self.process, other.process),
            (&mut self.tables, other.tables),
            (&mut self.channel, other.channel),
            (&mut self.driver, other.driver),
            (&mut self.scratch, other.scratch),
            (&mut self.readers, other.readers),
            (&mut self.storage, other.storage),
            (&mut self.frames, other.frames),
            (&mut self.planning, other.planning),
        ] {
            *own = (*own).max(other);
        }
    }

    /// The most that the process will have resident.
    pub fn total(&self) -> u64 {
        self.running().max(self.planning)
    }

    /// The shares of a run together.
    pub fn running(&self) -> u64 {
        self.process
            + self.tables
            + self.channel
            + self.driver
            + self.scratch
            + self.readers
            + self.storage
            + self.frames
    }
}
