//! The phineus command line: options, printed text, exit codes and signals.
//!
//! [`main`] is a match over commands; each is a module of `commands`. What they do stands in the crate
//! `phineus-session`; here are options (`arguments`), printed text (`display`, `output`, `results`),
//! and settings of the process (`heap`, `signals`, `leftovers`).

mod arguments;
mod cancel;
mod commands;
mod display;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod heap;
mod leftovers;
mod output;
mod results;
mod signals;
mod verify_c;
mod words;

use std::process::ExitCode;

use clap::Parser;

pub use phineus_session::failure::{Exit, Failure, codes};
pub use phineus_session::registry::Registry;

use arguments::{Cli, Command};
use leftovers::leftovers;
use output::Console;
use phineus_session::c_reader;
use signals::ExitNotice;
use words::worded;

/// The whole command line, for the programs of `registry`.
pub fn main(registry: Registry) -> ExitCode {
    let registry = registry.with_unlisted(commands::bench::measured::all());
    heap::configure();
    install_panic_hook();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not errors; they go to stdout with exit code 0.
            let code = u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8);
            if error.use_stderr() && asks_for_json() {
                let text = error.render().to_string();
                let text = text.trim_start_matches("error: ").trim();
                let _ = output::print_document(Some(&Failure::usage(text)));
            } else {
                let _ = error.print();
            }
            return ExitCode::from(code);
        }
    };
    let console = Console { is_json: cli.json, is_quiet: cli.quiet, is_verbose: cli.verbose > 0 };
    signals::install(match (cli.command.is_child(), cli.json) {
        (true, _) => ExitNotice::Nothing,
        (false, true) => ExitNotice::Json,
        (false, false) => ExitNotice::Text,
    });
    let is_json = cli.json && !cli.command.is_child();
    let result = dispatch(&registry, cli.command, &console);
    signals::end_if_orphaned();
    ExitCode::from(finish(result, is_json) as u8)
}

/// Says how the command ended, and prints the document of `--json`.
fn finish(result: Result<(), Failure>, is_json: bool) -> Exit {
    let failure = result.err();
    if !is_json {
        let Some(failure) = failure else { return Exit::Success };
        if !failure.silent {
            display::say(&worded(&failure).to_string());
        }
        return failure.code.exit;
    }
    let unprinted = output::print_document(failure.as_ref()).err();
    if let Some(unprinted) = unprinted.as_ref().filter(|unprinted| !unprinted.silent) {
        // Nothing of it is on stdout, so why the command failed goes where it can be read.
        failure
            .iter()
            .chain([unprinted])
            .for_each(|failure| display::say(&worded(failure).to_string()));
    }
    failure.or(unprinted).map_or(Exit::Success, |failure| failure.code.exit)
}

/// Whether `--json` was typed, on a command line that cannot be read as a whole.
fn asks_for_json() -> bool {
    let mut options = std::env::args_os().skip(1).take_while(|argument| argument != "--");
    options.any(|argument| argument == "--json")
}

fn dispatch(registry: &Registry, command: Command, console: &Console) -> Result<(), Failure> {
    match command {
        Command::Demo(demo) => commands::demo::run(registry, &demo, console),
        Command::Run(run) => commands::run::run(registry, &run.into(), console),
        Command::Preprocess(make) => commands::preprocess::run(registry, &make, console),
        Command::Explain(explain) => commands::explain::run(registry, &explain, console),
        Command::Plan(plan) => commands::plan::plan(registry, &plan, console),
        Command::Show(show) => commands::plan::show(registry, &show, console),
        Command::Check(check) => commands::plan::check_file(registry, &check, console),
        Command::Programs(programs) => commands::programs::list(registry, &programs, console),
        Command::Data(data) => commands::programs::data(registry, &data, console),
        Command::Doctor(doctor) => commands::doctor::run(&doctor, console),
        Command::Id(id) => commands::id::run(&id, console),
        Command::Bench(bench) => commands::bench::run(registry, &bench, console),
        Command::Hardware(hw) => commands::hardware::run(registry, &hw, console),
        Command::Help(help) => commands::help::run(&help, console),
        Command::ReadC(read) => {
            // The inputs of a plaintext reference come here: they must not get into a core file.
            phineus_engine::forbid_core_dumps()?;
            signals::leave_to_parent();
            c_reader::answer(registry, &read.program, signals::end_group)
        }
    }
}

/// A panic is a bug of ours: one sentence with its place, and never what it was about, which
/// could be secret.
fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        // The library that decodes a damaged file gives up so; the reader makes an error of it.
        if phineus_tables::is_reading_foreign() {
            return;
        }
        let place = panic.location().map_or_else(String::new, |location| {
            let file = location.file().rsplit('/').next().unwrap_or_default();
            format!(" at {file}:{}", location.line())
        });
        let message =
            format!("this is a bug in Phineus{place}; please report it with what you did");
        let failure = Failure::new(codes::PANIC, message);
        display::say(&failure.to_string());
        if signals::tells_in_json() {
            let _ = output::print_document(Some(&failure));
        }
        leftovers().remove();
        // Another thread may wait for this one for ever, so the process ends here.
        std::process::exit(Exit::RunTime as i32);
    }));
}
