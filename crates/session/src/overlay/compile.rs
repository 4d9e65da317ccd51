//! [`CompiledOverlay`]: the command stream of a planned program.

use std::path::Path;
use std::sync::Arc;

use phineus_bytecode::Description;
use phineus_engine::{RunError, StorageBackend, run};
use phineus_overlay::garbling::garbling_bytes;
use phineus_overlay::netlist::Netlist;
use phineus_overlay::parameters::Parameters;
use phineus_overlay::record::NetlistDriver;
use phineus_overlay::schedule::Figures;
use phineus_overlay::stream::Stream;
use phineus_overlay::{MemoryBound, OverlayError, RecordedGates};
use phineus_plan::Scratch;
use phineus_protocols::garbled::row_source::{EVALUATOR_BITS_MAX, are_labels_known_ahead};
use phineus_tables::quantity;

use crate::choices::GarblerChoice;
use crate::execute::frames_and_swap;
use crate::failure::{Failure, Remedy, RunField, codes};
use crate::heap;
use crate::planned::PlannedFile;
use crate::program_file::ProgramFile;

/// A program for the overlay.
pub struct CompiledOverlay {
    pub choice: GarblerChoice,
    pub cells: u32,
    pub stream: Arc<Stream>,
    pub figures: Figures,
    input_count: u64,
    peak_bytes: u64,
}

/// Memory of recording the gates: a block of the file, and the XORs that are looked at again.
const RECORDING_BYTES: u64 = 1 << 20;

/// Memory of each cell of the simulated device: the model with its wire memory, and its code. Measured at 7 MiB for one cell.
const MODEL_BYTES: u64 = 10 << 20;

/// Resources of compiling.
#[derive(Clone, Copy)]
pub struct CompilePlace<'a> {
    /// Where files go: those of passes over the gates, and the swap file of a plan that needs one.
    pub scratch: &'a Scratch,
    pub backend: StorageBackend,
    /// The memory limit of the process.
    pub limit_bytes: u64,
    /// What the process holds of it without frames, tables included.
    pub process_bytes: u64,
}

impl CompiledOverlay {
    /// Records the gates of a planned program, and schedules them for the device that was chosen.
    ///
    /// # Errors
    /// If the overlay cannot garble it, or memory is too little.
    pub fn new(
        planned: &PlannedFile,
        (choice, cells): (GarblerChoice, u32),
        place: CompilePlace<'_>,
    ) -> Result<CompiledOverlay, Failure> {
        let description = &planned.description;
        let CompilePlace { scratch, backend, limit_bytes, process_bytes } = place;
        let left = |taken: u64| limit_bytes.saturating_sub(taken);
        let unsupported = |what: String| Err(failure(OverlayError::Unsupported { what }));
        if planned.blocks.is_some() {
            return unsupported("programs of several blocks".to_owned());
        }
        if !are_labels_known_ahead(description) {
            let most = quantity::count(EVALUATOR_BITS_MAX);
            return unsupported(format!("more than {most} input bits of the evaluator in a run"));
        }
        let running_bytes = planned.budget.running();
        let gates = recorded_gates(&planned.file, description, (scratch, backend))?;
        heap::trim();
        let recording_bytes = running_bytes + RECORDING_BYTES;
        let input_count = gates.input_count.into();
        // Frames are gone.
        let bound = MemoryBound::of(left(process_bytes));
        let program = planned.hash.0;
        let parameters = Parameters::with_cells(cells);
        let compiled = phineus_overlay::compile(gates, (parameters, program), scratch, &bound);
        let (stream, figures) = compiled.map_err(failure)?;
        heap::trim();
        let peak_bytes = recording_bytes.max(process_bytes + bound.peak_bytes());
        Ok(CompiledOverlay {
            choice,
            cells,
            stream: Arc::new(stream),
            figures,
            input_count,
            peak_bytes,
        })
    }

    /// The most that compiling took, with the frames that it ran on.
    pub fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    /// Memory of a run on the simulated device.
    pub fn run_bytes(&self) -> u64 {
        MODEL_BYTES * u64::from(self.cells)
            + self.stream.memory_bytes()
            + garbling_bytes(&self.stream, self.input_count)
    }
}

/// Records the gates of a planned program of one block in memory.
///
/// # Errors
/// If the overlay cannot garble it.
pub fn recorded(
    file: &ProgramFile,
    description: &Description,
    (directory, backend): (&Path, StorageBackend),
) -> Result<Netlist, Failure> {
    let driver = NetlistDriver::new(description).map_err(failure)?;
    record(file, description, (directory, backend), driver)?.into_netlist().map_err(failure)
}

/// As [`recorded`], in a scratch file.
///
/// # Errors
/// If the overlay cannot garble it.
pub fn recorded_gates(
    file: &ProgramFile,
    description: &Description,
    (scratch, backend): (&Scratch, StorageBackend),
) -> Result<RecordedGates, Failure> {
    let driver = NetlistDriver::in_scratch(description, scratch).map_err(failure)?;
    let driver = record(file, description, (scratch.directory(), backend), driver)?;
    driver.into_gates().map_err(failure)
}

/// Runs a planned program with a driver that records its gates.
fn record(
    file: &ProgramFile,
    description: &Description,
    (directory, backend): (&Path, StorageBackend),
    mut driver: NetlistDriver,
) -> Result<NetlistDriver, Failure> {
    let plan = description.plan.as_ref().expect("it is planned");
    let (frames, slots) = (plan.frame_count, plan.spill_slot_count);
    if [plan.page_bytes(), frames, slots].iter().any(|&number| u32::try_from(number).is_err()) {
        return Err(Failure::new(codes::TOO_LARGE_A_PLAN, "the plan has too many pages"));
    }
    let mut memory = frames_and_swap(plan, directory, backend)?;
    let ran = run(&mut file.reader()?, &mut driver, &mut memory, &mut |_| true);
    ran.map_err(|error| match error {
        RunError::Driver(error) => failure(error),
        other => Failure::new(codes::RUN, other.to_string()),
    })?;
    Ok(driver)
}

/// An error of the overlay as a failure.
pub fn failure(error: OverlayError) -> Failure {
    let message = error.to_string();
    match error {
        OverlayError::Unsupported { .. } => Failure::new(codes::NOT_FOR_OVERLAY, message),
        OverlayError::Memory { limit_bytes, .. } => {
            let left = quantity::bytes(limit_bytes);
            let what = "the command stream of the overlay does not fit into the memory limit";
            let message = format!("{what}: making it takes more than the {left} that are left");
            let remedy = Remedy::new("give more ").field(RunField::Memory);
            Failure::new(codes::OVERLAY_MEMORY, message)
                .remedy(remedy.and(", or garble in software"))
        }
        OverlayError::Scratch { .. } => Failure::new(codes::SCRATCH_DIRECTORY, message)
            .remedy(Remedy::new("name another directory with ").field(RunField::SwapDir)),
        OverlayError::File { .. } => Failure::new(codes::FILE, message),
        OverlayError::TooManyGates { .. } | OverlayError::WireMemory { .. } => {
            Failure::new(codes::OVERLAY_TOO_SMALL, message)
        }
        OverlayError::NotAStream
        | OverlayError::OtherVersion { .. }
        | OverlayError::OtherParameters { .. }
        | OverlayError::CutOff
        | OverlayError::Corrupt { .. } => {
            Failure::new(codes::NOT_A_STREAM, message).remedy("compile the program again")
        }
        OverlayError::NoThread { .. } => Failure::new(codes::NO_THREAD, message),
        OverlayError::NotSimulated { cells, .. } => Failure::new(codes::NO_SIMULATOR, message)
            .remedy(format!(
                "state another number, or build with PHINEUS_OVERLAY_CELLS={cells} in the environment"
            )),
        OverlayError::Stopped { .. } | OverlayError::Interrupted => {
            Failure::new(codes::OVERLAY_STOPPED, message)
        }
    }
}
