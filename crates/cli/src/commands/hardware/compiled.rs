//! From a program to its command stream, and from a file to a command stream.

use std::path::Path;

use phineus_bytecode::{Description, FileKind, Hash};
use phineus_overlay::netlist::Netlist;
use phineus_overlay::parameters::Parameters;
use phineus_overlay::schedule::Figures;
use phineus_overlay::stream::Stream;
use phineus_overlay::{MemoryBound, OverlayError, RecordedGates, compile_to_file};
use phineus_plan::Scratch;
use phineus_session::candidates::candidates;
use phineus_session::failure::Failure;
use phineus_session::output_file::{check_writable, write_atomically};
use phineus_session::overlay::{self, failure};
use phineus_session::program_file::ProgramFile;
use phineus_session::registry::Registry;
use phineus_session::scratch::scratch_of;
use phineus_session::settings::{ProtocolVariant, protocols};
use phineus_session::sizing::{self, PlanParameters};

use crate::arguments::HardwareProgram;
use crate::leftovers::leftovers;

/// Plans a program as a run with garbled circuits does, records its gates, and makes its command stream in memory.
pub(super) fn compile(
    registry: &Registry,
    program: &HardwareProgram,
) -> Result<(Stream, Figures), Failure> {
    let scratch = scratch_of(&program.resources.settings())?;
    let (gates, device) = gates(registry, program, &scratch)?;
    phineus_overlay::compile(gates, device, &scratch, &MemoryBound::none()).map_err(failure)
}

/// As [`compile`], but the stream goes into a file as it is made. Returns the length of the file, too.
pub(super) fn compile_into(
    path: &Path,
    registry: &Registry,
    program: &HardwareProgram,
) -> Result<(Figures, u64), Failure> {
    check_writable(path)?;
    let scratch = scratch_of(&program.resources.settings())?;
    let (gates, device) = gates(registry, program, &scratch)?;
    let mut figures = Figures::default();
    let mut length = 0;
    write_atomically(path, leftovers(), |file| {
        figures = compile_to_file(gates, device, file.get_mut(), &scratch).map_err(failure)?;
        length = file.get_ref().metadata().map_or(0, |data| data.len());
        Ok(())
    })?;
    Ok((figures, length))
}

/// The gates of a program in a scratch file, the device that they are for, and the hash of the planned program.
fn gates(
    registry: &Registry,
    program: &HardwareProgram,
    scratch: &Scratch,
) -> Result<(RecordedGates, (Parameters, [u8; 32])), Failure> {
    let (file, description, hash) = planned(registry, program)?;
    let storage = program.resources.settings().storage;
    let gates = overlay::recorded_gates(&file, &description, (scratch, storage))?;
    Ok((gates, (Parameters::with_cells(program.cells.unwrap_or(1)), hash.0)))
}

/// The gates of a program in memory, as a run with garbled circuits garbles them.
pub(super) fn recorded(registry: &Registry, program: &HardwareProgram) -> Result<Netlist, Failure> {
    let (file, description, _) = planned(registry, program)?;
    let settings = program.resources.settings();
    let directory = settings.swap_dir.unwrap_or_else(std::env::temp_dir);
    overlay::recorded(&file, &description, (&directory, settings.storage))
}

/// The planned program: made here, or planned before.
fn planned(
    registry: &Registry,
    program: &HardwareProgram,
) -> Result<(ProgramFile, Description, Hash), Failure> {
    let settings = program.resources.settings();
    let scratch = scratch_of(&settings)?;
    let (choice, sizes) = (program.choice.settings(), program.sizes.settings());
    let clients = program.outsourcing.clone().settings();
    let (traced, _) =
        sizing::traced_for(registry, &choice, &clients, &sizes, &scratch, leftovers())?;
    if traced.blocks.is_some() {
        let what = "programs of several blocks".to_owned();
        return Err(failure(OverlayError::Unsupported { what }));
    }
    if traced.kind == FileKind::Planned {
        let protocol = traced.description.plan.as_ref().map(|plan| plan.protocol.as_str());
        if protocol != Some(protocols::GARBLED.name()) {
            let what = format!("plans for the protocol {}", protocol.unwrap_or("clear"));
            return Err(failure(OverlayError::Unsupported { what }));
        }
        return Ok((traced.file, traced.description, traced.hash));
    }
    let limit_bytes = program.resources.limit().bytes();
    let terms = PlanParameters { limit_bytes, net: None, is_dealt: false, is_compared: false };
    let run = (&[protocols::GARBLED][..], &[ProtocolVariant::default()][..]);
    let candidate = candidates(&traced, run, terms, &scratch).pop();
    let (planned, _) = candidate.expect("one protocol was asked for").outcome?;
    if planned.blocks.is_some() {
        let what = "programs of several blocks".to_owned();
        return Err(failure(OverlayError::Unsupported { what }));
    }
    Ok((planned.file, planned.description, planned.hash))
}

/// Reads a command stream.
pub(super) fn open(path: &Path) -> Result<Stream, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
    Stream::from_bytes(&bytes).map_err(|error| failure(error).in_file(path))
}
