//! Garbling on the overlay of `docs/hardware.md` instead of in software, at the garbler's side of a run with `garbled`.
//!
//! [`CompiledOverlay`] is the command stream, made when the program is planned, so that whatever the overlay refuses is
//! refused before a secret is used. [`OverlayRun`] lets a device garble while the run goes on. The messages are those of the
//! software garbler: the other party learns nothing of it, and does not agree to it.

mod compile;
mod running;

use crate::failure::{Failure, codes};

pub use compile::{CompilePlace, CompiledOverlay, failure, recorded};
pub use running::OverlayRun;

/// A sentence that users read before a run with the simulation.
pub const WARNING: &str =
    "INSECURE: the simulation of the overlay takes time that depends on secrets";

/// Refuses the simulation in a build that has none.
pub fn check_build() -> Result<(), Failure> {
    if cfg!(feature = "verilator") {
        return Ok(());
    }
    let message = "this build of phineus has no simulator of the overlay";
    Err(Failure::new(codes::NO_SIMULATOR, message)
        .remedy("install Verilator, then build with `--features verilator`"))
}
