//! Runs a planned program: memory, driver, results.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use phineus_bytecode::{Description, Instruction, Lane, PlanDescription, Table};
use phineus_channels::{Channel, FramedChannel, Traffic};
use phineus_crypto::Prg;
use phineus_engine::{
    BlockProgram, Carried, Driver, FrameMemory, Inputs, RegionSwap, Regions, RunMemory, Storage,
    StorageBackend, StorageConfig, StorageError, StorageStatistics, run, run_blocks,
};

use crate::cancel::{Cancel, MEMORY_PAUSE};
use crate::correlated::Source;
use crate::disclosed::Disclosed;
use crate::failure::{Failure, codes};
use crate::planned::PlannedFile;
use crate::progress::{ComputationWatch, Progress};
use crate::statistics::{OverlayFigures, Phases};

/// Transfers in flight at the device.
pub const STORAGE_DEPTH: u32 = 32;

/// Inputs of a run: the program, the party and its resources.
pub struct Job<'a> {
    pub planned: &'a PlannedFile,
    pub party: u16,
    pub inputs: Vec<Option<Table>>,
    pub backend: StorageBackend,
    pub swap_dir: &'a Path,
    pub limit_bytes: u64,
    /// Where triples come from, for protocols on shares.
    pub source: Source,
    /// How often a block may run.
    pub turns_max: u64,
    /// Threads that compute, where a protocol has use for more than one.
    pub threads: usize,
    /// The least second-level cache of all who compute.
    pub cache_bytes: usize,
    pub progress: &'a Progress,
}

/// Results and measurements of a run.
pub struct RunResult {
    /// By output port; for the clear protocol, those of all parties.
    pub outputs: Vec<Option<Table>>,
    pub and_gates: Option<u64>,
    /// AND gates on garbled values, where parties compute on shares.
    pub garbled_and_gates: Option<u64>,
    /// Oblivious transfers, of each two parties.
    pub ots: Option<u64>,
    /// Rounds of the online phase; `None` if one process computed for all parties, and the report is about all
    /// of them.
    pub rounds: Option<u64>,
    /// Messages from a peer before the run.
    pub exchanges: u64,
    pub phases: Phases,
    pub traffic: Traffic,
    pub wire_traffic: Traffic,
    pub storage: StorageStatistics,
    /// Pages of regions that were moved on demand.
    pub regions: StorageStatistics,
    pub storage_name: &'static str,
    /// The overlay, if it garbled.
    pub overlay: Option<OverlayFigures>,
    pub running: Duration,
    /// An estimate, from samples.
    pub blocked_on_network: Duration,
    /// Why the peer did not say goodbye, if so; the results are whole nonetheless.
    pub farewell: Option<String>,
}

/// A driver whose outputs are counted, so that a failure can say what was revealed before it.
pub struct CountingDriver<'a, D> {
    pub driver: D,
    description: &'a Description,
    cancel: Cancel,
    /// Cells given out, by output port.
    revealed: Vec<u64>,
    /// Values opened inside the program.
    opened_inside: u64,
    /// When the memory limit was looked at before such a value was opened.
    looked: Option<Instant>,
}

impl<'a, D> CountingDriver<'a, D> {
    pub fn new(driver: D, description: &'a Description, cancel: &Cancel) -> CountingDriver<'a, D> {
        let revealed = vec![0; description.outputs.len()];
        CountingDriver {
            driver,
            description,
            cancel: cancel.clone(),
            revealed,
            opened_inside: 0,
            looked: None,
        }
    }

    /// One sentence about what the parties have learned.
    fn sentence(&self) -> String {
        let parts: Vec<String> = self
            .description
            .outputs
            .iter()
            .zip(&self.revealed)
            .enumerate()
            .filter(|(_, (_, cells))| **cells > 0)
            .map(|(index, (port, cells))| {
                if self.description.is_opened(index) {
                    return format!("'{}' {cells} times to all", port.name);
                }
                let names: Vec<&str> = port
                    .parties
                    .iter()
                    .map(|&party| self.description.parties[usize::from(party)].as_str())
                    .collect();
                let (name, all) = (&port.name, port.rows * port.columns.len() as u64);
                format!("up to {cells} of {all} values of '{name}' to {}", names.join(" and "))
            })
            .collect();
        let inside = match self.opened_inside {
            0 => String::new(),
            count => format!(", and {count} places of memory were opened to all"),
        };
        match parts.as_slice() {
            [] => format!("no output was revealed{inside}"),
            parts => format!("revealed so far: {}{inside}", parts.join("; ")),
        }
    }
}

impl<D: Driver> Driver for CountingDriver<'_, D> {
    type Wire = D::Wire;
    type Error = D::Error;

    fn input(&mut self, i: &Instruction, wires: &mut [D::Wire]) -> Result<(), D::Error> {
        self.driver.input(i, wires)
    }

    fn output(&mut self, i: &Instruction, wires: &[D::Wire]) -> Result<(), D::Error> {
        // Whoever passed its memory limit reveals nothing any more; the message fails.
        if self.revealed.iter().all(|&cells| cells == 0) {
            self.cancel.stop_if_over_limit();
        }
        self.revealed[i.immediates[0] as usize] += u64::from(i.lanes);
        self.driver.output(i, wires)
    }

    #[inline]
    fn compute(
        &mut self,
        i: &Instruction,
        results: &mut [&mut [D::Wire]],
        operands: &[&[D::Wire]],
    ) -> Result<(), D::Error> {
        self.driver.compute(i, results, operands)
    }

    fn reveal(&mut self, i: &Instruction, wires: &[D::Wire]) -> Result<Lane, D::Error> {
        // A look takes as long as a round trip between two processes.
        if self.looked.is_none_or(|looked| looked.elapsed() >= MEMORY_PAUSE) {
            self.cancel.stop_if_over_limit();
            self.looked = Some(Instant::now());
        }
        self.opened_inside += 1;
        self.driver.reveal(i, wires)
    }

    fn permute(
        &mut self,
        i: &Instruction,
        results: &mut [&mut [D::Wire]],
        operands: &[&[D::Wire]],
    ) -> Result<(), D::Error> {
        self.driver.permute(i, results, operands)
    }

    fn round(&mut self) -> Result<(), D::Error> {
        self.driver.round()
    }

    fn end_block(&mut self) -> Result<(), D::Error> {
        self.driver.end_block()
    }

    fn opened(&self, port: u32) -> Result<Lane, D::Error> {
        self.driver.opened(port)
    }

    fn finish(&mut self) -> Result<(), D::Error> {
        self.driver.finish()
    }
}

/// Frames and swap file for `plan`, whose sizes are below 2^32.
pub fn frames_and_swap(
    plan: &PlanDescription,
    directory: &Path,
    backend: StorageBackend,
) -> Result<RunMemory, StorageError> {
    let page_bytes = plan.page_bytes() as u32;
    let frames = FrameMemory::new(plan.frame_count.max(1) as u32, page_bytes)?;
    let slots = plan.spill_slot_count as u32;
    let directory = directory.to_owned();
    let config = StorageConfig { directory, page_bytes, slots, backend, depth: STORAGE_DEPTH };
    let storage = (slots > 0).then(|| Storage::new(&config, &frames)).transpose()?;
    Ok(RunMemory::new(frames, storage))
}

impl Job<'_> {
    /// Makes frames and swap file for the plan.
    pub fn memory(&self) -> Result<RunMemory, Failure> {
        self.memory_of(self.planned.plan())
    }

    /// As [`Job::memory`], with values of another layout than the plan states.
    pub fn memory_of(&self, plan: &PlanDescription) -> Result<RunMemory, Failure> {
        let page_bytes = plan.page_bytes();
        let region_pages = Regions::pages(&self.planned.description, plan.layout);
        for (number, what) in [
            (region_pages, "pages of regions"),
            (page_bytes, "wires in a page"),
            (plan.frame_count, "frames"),
            (plan.spill_slot_count, "spill slots"),
        ] {
            if u32::try_from(number).is_err() {
                let message = format!("the plan has too many {what}");
                return Err(Failure::new(codes::TOO_LARGE_A_PLAN, message));
            }
        }
        let mut memory = frames_and_swap(plan, self.swap_dir, self.backend)?;
        let (frames, directory, backend) = (plan.region_frames, self.swap_dir, self.backend);
        let swap = RegionSwap { frames, directory, backend };
        memory.regions = Regions::new(&self.planned.description, plan.layout, swap)?;
        Ok(memory)
    }

    /// Runs the plan; `entered` is told which blocks run, if there are several.
    pub fn drive<D: Driver>(
        &self,
        recorded: &mut CountingDriver<'_, D>,
        memory: &mut RunMemory,
        watch: &ComputationWatch,
        entered: Option<Sender<usize>>,
    ) -> Result<(), Failure>
    where
        Failure: From<D::Error>,
    {
        let progress = &mut |done| watch.advance(done);
        let ran = match &self.planned.blocks {
            None => run(&mut self.planned.file.reader()?, recorded, memory, progress),
            Some(blocks) => {
                let readers = blocks.parts.iter().map(|part| part.file.reader());
                let mut readers = readers.collect::<Result<Vec<_>, _>>()?;
                let mut carried = Carried::new(blocks.carried.own.clone())?;
                let enter = &mut |block| {
                    blocks.enter(block);
                    // Whoever makes correlated randomness may have failed, which is found when it
                    // is taken.
                    let _ = entered.as_ref().map(|entered| entered.send(block));
                };
                let program = BlockProgram {
                    blocks: &mut readers,
                    flow: &blocks.flow,
                    description: &self.planned.description,
                };
                let room = (memory, &mut carried);
                run_blocks(program, recorded, room, self.turns_max, enter, progress)
            }
        };
        ran.map_err(|error| {
            let failure: Failure = error.into();
            recorded.cancel.or_reason(failure).revealed(recorded.sentence())
        })
    }

    pub fn total(&self) -> Result<u64, Failure> {
        match &self.planned.blocks {
            None => Ok(self.planned.file.reader()?.instruction_count()),
            Some(blocks) => Ok(blocks.instruction_count()),
        }
    }
}

pub fn storage_figures(memory: &RunMemory) -> (StorageStatistics, &'static str) {
    match &memory.storage {
        Some(storage) => (storage.statistics(), storage.backend_name()),
        None => (StorageStatistics::default(), "none"),
    }
}

/// A failure before the first output, or the reason for which the session was ended.
pub fn unrevealed(failure: Failure, cancel: &Cancel) -> Failure {
    cancel.or_reason(failure).revealed(Disclosed::Proposal.sentence())
}

/// Everything of our own that can fail before the protocol begins.
pub fn prepare(job: &mut Job<'_>) -> Result<(Inputs, Prg, RunMemory), Failure> {
    let inputs = Inputs::new(&job.planned.description, std::mem::take(&mut job.inputs))?;
    let prg = Prg::from_os().map_err(|error| {
        Failure::new(codes::NO_RANDOMNESS, format!("the system gives no random bytes: {error}"))
    })?;
    Ok((inputs, prg, job.memory()?))
}

/// Payload and bytes on the wire of all channels together.
pub fn traffic_of<'a>(channels: impl Iterator<Item = &'a FramedChannel>) -> (Traffic, Traffic) {
    let add = |sum: Traffic, one: Traffic| Traffic {
        sent_bytes: sum.sent_bytes + one.sent_bytes,
        received_bytes: sum.received_bytes + one.received_bytes,
    };
    channels.fold((Traffic::default(), Traffic::default()), |(payload, wire), channel| {
        (add(payload, Channel::traffic(channel)), add(wire, channel.wire_traffic()))
    })
}
