//! `--verify` of C programs: checks that are made before the run.

use std::path::Path;

use phineus_session::binding;
use phineus_session::failure::Failure;
use phineus_session::registry::Registry;
use phineus_session::resolve::shape;
use phineus_session::resolve::{is_c, resolve};
use phineus_session::roles::Roles;
use phineus_session::scratch::scratch_of;
use phineus_session::settings::Run;
use phineus_session::verify::refuse_stdin;

use crate::leftovers::leftovers;

/// Refuses, before the run, C that is no plain C, as nothing could be compared with it. What is wrong
/// with the inputs the run itself says.
pub fn check_plain_c(registry: &Registry, run: &Run) -> Result<(), Failure> {
    if !is_plain_c(run) {
        return Ok(());
    }
    let scratch = scratch_of(&run.resources)?;
    let resolved = resolve(registry, run.choice.program.as_deref(), &scratch, leftovers())?;
    let (arguments, mut description) = shape(&resolved, &run.choice.parameters)?;
    let (Some(program), Some(mut arguments)) = (resolved.program(), arguments) else {
        return Ok(());
    };
    Roles::new(&description, &run.outsourcing, None)?.apply(&mut description)?;
    let assigned = binding::assign(&description, &run.inputs, &[], None)?;
    binding::require_all(&description, &assigned, None)?;
    refuse_stdin(&assigned)?;
    let files = binding::count_all(&description, &assigned, &run.reading, (&[], None))?;
    binding::set_rows(&mut arguments, &files);
    if program.ranges(&arguments).is_err() {
        return Ok(());
    }
    Ok(program.prepare_reference(&arguments)?)
}

/// Whether the program is compared with the same file as plain C.
fn is_plain_c(run: &Run) -> bool {
    run.choice.program.as_ref().is_some_and(|name| is_c(Path::new(name)))
}
