//! From a program to its command stream, and from a file to a command stream.

use std::io::Write;
use std::path::Path;

use phineus_bytecode::{Description, FileKind, Hash};
use phineus_overlay::OverlayError;
use phineus_overlay::netlist::{NODES_MAX, Netlist};
use phineus_overlay::operations::operations;
use phineus_overlay::parameters::Parameters;
use phineus_overlay::schedule::{Figures, schedule};
use phineus_overlay::stream::Stream;
use phineus_session::candidates::candidates;
use phineus_session::failure::Failure;
use phineus_session::output_file::check_writable;
use phineus_session::overlay::{self, failure};
use phineus_session::program_file::ProgramFile;
use phineus_session::registry::Registry;
use phineus_session::scratch::scratch_of;
use phineus_session::settings::{ProtocolVariant, protocols};
use phineus_session::sizing::{self, PlanParameters};

use crate::arguments::HardwareProgram;
use crate::leftovers::leftovers;

/// A program as a netlist and as a command stream.
pub(super) struct Compiled {
    #[cfg(feature = "verilator")]
    pub(super) netlist: Netlist,
    pub(super) stream: Stream,
    pub(super) figures: Figures,
}

/// Plans a program as a run with garbled circuits does, records its gates, and schedules them.
pub(super) fn compile(registry: &Registry, program: &HardwareProgram) -> Result<Compiled, Failure> {
    let (netlist, hash) = gates(registry, program)?;
    let parameters = Parameters::with_cells(program.cells.unwrap_or(1));
    let schedule = schedule(&operations(&netlist), parameters).map_err(failure)?;
    let stream = Stream::new(&schedule, parameters, hash.0);
    let figures = schedule.figures;
    Ok(Compiled {
        #[cfg(feature = "verilator")]
        netlist,
        stream,
        figures,
    })
}

/// The gates of a program, as a run with garbled circuits garbles them.
pub(super) fn recorded(registry: &Registry, program: &HardwareProgram) -> Result<Netlist, Failure> {
    gates(registry, program).map(|(netlist, _)| netlist)
}

fn gates(registry: &Registry, program: &HardwareProgram) -> Result<(Netlist, Hash), Failure> {
    let (file, description, hash) = planned(registry, program)?;
    let settings = program.resources.settings();
    let directory = settings.swap_dir.unwrap_or_else(std::env::temp_dir);
    let netlist =
        overlay::recorded(&file, &description, (&directory, settings.storage), NODES_MAX)?;
    Ok((netlist, hash))
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

/// Writes a command stream; returns its length.
pub(super) fn save(stream: &Stream, path: &Path) -> Result<u64, Failure> {
    check_writable(path)?;
    let bytes = stream.to_bytes();
    let mut file = std::fs::File::create(path).map_err(|error| Failure::file(path, &error))?;
    file.write_all(&bytes).map_err(|error| Failure::file(path, &error))?;
    Ok(bytes.len() as u64)
}

/// Reads a command stream.
pub(super) fn open(path: &Path) -> Result<Stream, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
    Stream::from_bytes(&bytes).map_err(|error| failure(error).in_file(path))
}
