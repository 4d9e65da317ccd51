//! `hw`: compiles programs for the garbling overlay, and states what a run on it takes.

mod compiled;
mod explain;
mod linked;
mod show;
mod sifo;
mod simulate;

use phineus_session::failure::Failure;
use phineus_session::registry::Registry;
use phineus_tables::quantity;
use serde_json::json;

use crate::arguments::{CompileArguments, HardwareAction, HardwareArguments};
use crate::output::Console;

use compiled::compile_into;

/// Runs one of the commands.
pub(crate) fn run(
    registry: &Registry,
    arguments: &HardwareArguments,
    console: &Console,
) -> Result<(), Failure> {
    match &arguments.action {
        HardwareAction::Compile(arguments) => compile_file(registry, arguments, console),
        HardwareAction::Show(arguments) => show::show(arguments, console),
        HardwareAction::Explain(arguments) => explain::explain(registry, arguments, console),
        HardwareAction::Simulate(arguments) => simulate::simulate(registry, arguments, console),
    }
}

fn compile_file(
    registry: &Registry,
    arguments: &CompileArguments,
    console: &Console,
) -> Result<(), Failure> {
    let (figures, bytes) = compile_into(&arguments.out, registry, &arguments.program)?;
    if console.is_json {
        console.document(json!({
            "file": arguments.out,
            "and_gates": figures.ands,
            "words": figures.words,
            "cycles": figures.cycles,
            "stream_bytes": bytes,
        }));
    }
    console.say(&format!(
        "{}: {} AND gates in {} cycles, {}",
        arguments.out.display(),
        quantity::count(figures.ands),
        quantity::count(figures.cycles),
        quantity::bytes(bytes)
    ));
    Ok(())
}
