//! [`CompiledOverlay`]: the command stream of a planned program.

use std::path::Path;
use std::sync::Arc;

use phineus_bytecode::Description;
use phineus_engine::{RunError, StorageBackend, run};
use phineus_overlay::garbling::garbling_bytes;
use phineus_overlay::netlist::{NODES_MAX, Netlist, Node};
use phineus_overlay::parameters::Parameters;
use phineus_overlay::record::NetlistDriver;
use phineus_overlay::schedule::Figures;
use phineus_overlay::stream::Stream;
use phineus_overlay::{MemoryBound, OverlayError};
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

/// Memory of each cell of the simulated device: the model with its wire memory, and its code. Measured at 7 MiB for one cell.
const MODEL_BYTES: u64 = 10 << 20;

/// Resources of compiling.
#[derive(Clone, Copy)]
pub struct CompilePlace<'a> {
    /// The directory of the swap file of a plan that needs one.
    pub directory: &'a Path,
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
        let CompilePlace { directory, backend, limit_bytes, process_bytes } = place;
        let left = |taken: u64| limit_bytes.saturating_sub(taken);
        let unsupported = |what: String| Err(failure(OverlayError::Unsupported { what }));
        if planned.blocks.is_some() {
            return unsupported("programs of several blocks".to_owned());
        }
        if !are_labels_known_ahead(description) {
            let most = quantity::count(EVALUATOR_BITS_MAX);
            return unsupported(format!("more than {most} input bits of the evaluator in a run"));
        }
        let (node_bytes, running_bytes) = (size_of::<Node>() as u64, planned.budget.running());
        let nodes_max = (left(running_bytes) / node_bytes) as usize;
        let netlist = recorded(&planned.file, description, (directory, backend), nodes_max)?;
        heap::trim();
        let recording_bytes = running_bytes + node_bytes * netlist.nodes.len() as u64;
        let input_count = netlist.inputs.len() as u64;
        // Frames are gone.
        let bound = MemoryBound::of(left(process_bytes));
        let program = planned.hash.0;
        let parameters = Parameters::with_cells(cells);
        let compiled = phineus_overlay::compile(netlist, parameters, program, &bound);
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

/// Records the gates of a planned program of one block, at most `nodes_max` of them.
///
/// # Errors
/// If the overlay cannot garble it.
pub fn recorded(
    file: &ProgramFile,
    description: &Description,
    (directory, backend): (&Path, StorageBackend),
    nodes_max: usize,
) -> Result<Netlist, Failure> {
    let driver = NetlistDriver::new(description).map_err(failure)?;
    let mut driver = driver.with_nodes_max(nodes_max);
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
    driver.into_netlist().map_err(failure)
}

/// An error of the overlay as a failure.
pub fn failure(error: OverlayError) -> Failure {
    let message = error.to_string();
    match error {
        OverlayError::Unsupported { .. } => Failure::new(codes::NOT_FOR_OVERLAY, message),
        OverlayError::TooManyGates { nodes_max } if nodes_max < NODES_MAX as u64 => {
            let most = quantity::count(nodes_max);
            too_little_memory(format!("{most} of them fit, and the program has more"))
        }
        OverlayError::Memory { limit_bytes, .. } => too_little_memory(format!(
            "scheduling them takes more than the {} that are left",
            quantity::bytes(limit_bytes)
        )),
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

/// The refusal of a program whose gates do not fit into the memory limit.
fn too_little_memory(what: String) -> Failure {
    let message = format!("the gates do not fit into the memory limit as a whole: {what}");
    Failure::new(codes::OVERLAY_MEMORY, message)
        .remedy(Remedy::new("give more ").field(RunField::Memory).and(", or garble in software"))
}
