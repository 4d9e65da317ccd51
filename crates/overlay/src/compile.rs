//! From the gates of a program to a command stream: in passes over scratch files, so that memory does not grow with the
//! program.

use std::fs::File;

use phineus_plan::Scratch;

use crate::OverlayError;
use crate::fuse::fuse;
use crate::gates::RecordedGates;
use crate::memory::{MemoryBound, Place};
use crate::netlist::Netlist;
use crate::parameters::Parameters;
use crate::schedule::{Figures, Scheduled, schedule};
use crate::stream::Stream;
use crate::stream_writer::Target;

/// The command stream of some gates, and figures of its schedule; `program` is the hash of the planned program.
///
/// # Errors
/// If the program does not fit into the device, or the stream not into the bound.
pub fn compile(
    gates: RecordedGates,
    (parameters, program): (Parameters, [u8; 32]),
    scratch: &Scratch,
    bound: &MemoryBound,
) -> Result<(Stream, Figures), OverlayError> {
    let mut quads = Vec::new();
    let target = Target::Memory(&mut quads);
    let place = Place { scratch, bound };
    let (figures, [loads, outputs]) = scheduled(gates, (parameters, program), target, place)?;
    Ok((Stream { parameters, program, quads, loads, outputs }, figures))
}

/// As [`compile`], of a netlist that is in memory.
///
/// # Errors
/// If the program does not fit into the device, or a temporary file cannot be written.
pub fn compile_netlist(
    netlist: &Netlist,
    parameters: Parameters,
    program: [u8; 32],
) -> Result<(Stream, Figures), OverlayError> {
    let scratch = Scratch::new(std::env::temp_dir(), SCRATCH_BYTES);
    let gates = RecordedGates::of(netlist, &scratch)?;
    compile(gates, (parameters, program), &scratch, &MemoryBound::none())
}

/// Memory of scratch files of a netlist that is in memory itself.
const SCRATCH_BYTES: u64 = 1 << 20;

/// As [`compile`], but writes the stream into an empty file as it is made. The memory that it takes does not grow with
/// the program, but with the wires that live at once.
///
/// # Errors
/// If the program does not fit into the device, or a file cannot be written.
pub fn compile_to_file(
    gates: RecordedGates,
    (parameters, program): (Parameters, [u8; 32]),
    file: &mut File,
    scratch: &Scratch,
) -> Result<Figures, OverlayError> {
    let bound = MemoryBound::none();
    let place = Place { scratch, bound: &bound };
    Ok(scheduled(gates, (parameters, program), Target::File(file), place)?.0)
}

fn scheduled(
    gates: RecordedGates,
    device: (Parameters, [u8; 32]),
    target: Target<'_>,
    place: Place<'_>,
) -> Result<Scheduled, OverlayError> {
    let known = gates.known(place)?;
    let operations = fuse(known, place)?;
    schedule(operations, device, target, place)
}
