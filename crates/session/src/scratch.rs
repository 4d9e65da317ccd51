//! Files that planning writes and reads again.

use phineus_plan::Scratch;

use crate::failure::{Failure, Remedy, RunField, codes};
use crate::memory_budget::scratch_memory;
use crate::settings::Resources;

/// Where what planning writes goes, for a party of these resources.
///
/// # Errors
/// If a directory is stated and nothing can be written there.
pub fn scratch_of(resources: &Resources) -> Result<Scratch, Failure> {
    let limit_bytes = resources.memory.bytes();
    let Some(directory) = &resources.swap_dir else { return Ok(scratch_within(limit_bytes)) };
    // Found now, and not in the middle of a run that comes to need it.
    tempfile::tempfile_in(directory).map_err(|error| {
        let message = format!("cannot make a temporary file in {}: {error}", directory.display());
        Failure::new(codes::SCRATCH_DIRECTORY, message)
            .remedy(Remedy::new("name another directory with ").field(RunField::SwapDir))
    })?;
    Ok(Scratch::new(directory.clone(), scratch_memory(limit_bytes)))
}

/// Scratch files in the system's directory for temporary files.
pub fn scratch_within(limit_bytes: u64) -> Scratch {
    Scratch::new(std::env::temp_dir(), scratch_memory(limit_bytes))
}
