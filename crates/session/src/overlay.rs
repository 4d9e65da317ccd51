//! Garbling on the overlay of `docs/hardware.md` instead of in software, at the garbler's side of a run with `garbled`.
//!
//! [`CompiledOverlay`] is the command stream, made when the program is planned, so that whatever the overlay refuses is
//! refused before a secret is used. [`OverlayRun`] lets a device garble while the run goes on. The messages are those of the
//! software garbler: the other party learns nothing of it, and does not agree to it.

mod compile;
mod running;

use crate::failure::Failure;
#[cfg(not(feature = "verilator"))]
use crate::failure::codes;

pub use compile::{CompilePlace, CompiledOverlay, failure, recorded, recorded_gates};
pub use running::OverlayRun;

/// A sentence that users read before a run with the simulation.
pub const WARNING: &str =
    "INSECURE: the simulation of the overlay takes time that depends on secrets";

/// Refuses the simulation of a number of cells that this build has no model of.
#[cfg(feature = "verilator")]
pub fn check_build(cells: u32) -> Result<(), Failure> {
    let simulated = phineus_overlay::simulation::simulated_cells();
    match simulated.contains(&cells) {
        true => Ok(()),
        false => Err(failure(phineus_overlay::OverlayError::NotSimulated { cells, simulated })),
    }
}

/// Refuses the simulation: this build has none.
#[cfg(not(feature = "verilator"))]
pub fn check_build(_cells: u32) -> Result<(), Failure> {
    let message = "this build of phineus has no simulator of the overlay";
    Err(Failure::new(codes::NO_SIMULATOR, message)
        .remedy("install Verilator, then build with `--features verilator`"))
}
