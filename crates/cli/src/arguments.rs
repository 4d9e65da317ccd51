//! The command line as it is typed; each option is described once, here.

mod choices;
mod hardware;
mod inputs;
mod parties;
mod plans;
mod program;
mod runs;
mod tools;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use phineus_channels::NetworkModel;

pub(crate) use hardware::{
    CompileArguments, ExplainHardwareArguments, HardwareAction, HardwareArguments, HardwareProgram,
    OverlayChoice, ShowStreamArguments, SimulateArguments,
};
pub(crate) use plans::{CheckArguments, ExplainArguments, PlanArguments, ShowArguments};
pub(crate) use program::ProgramArguments;
pub(crate) use runs::{PreprocessArguments, RunArguments};
pub(crate) use tools::{
    BenchArguments, BenchSubject, DataArguments, DemoArguments, DemoSubject, DoctorArguments,
    IdAction, IdArguments,
};

/// Printed below the help.
const AFTER_HELP: &str = "\
Exit codes: 0 ok, 1 run-time error, 2 usage, 3 program refused, 4 peer lost, 5 peer cheated,
6 does not fit, 7 parties disagree, 8 bad input, 130 interrupted.
Results go to stdout or --out, everything else to stderr. A flag takes precedence over a PHINEUS_*
variable, the variable over cluster.toml, and cluster.toml over the default.
Start with `phineus demo`.";

/// Computes on the combined data of several parties without showing it to any of them.
#[derive(Parser)]
#[command(name = "phineus", version, after_help = AFTER_HELP, arg_required_else_help = true)]
#[command(propagate_version = true, infer_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Print one JSON document to stdout instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print more: after a run, predicted and measured figures, and each phase
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run an example on this machine: generated data, a memory limit, and a check of the answer
    Demo(DemoArguments),
    /// Run a program as one party, or with --local all parties on this machine
    Run(RunArguments),
    /// Make the triples and garbled tables of a later run together with the other parties, and store
    /// them encrypted
    ///
    /// This needs only the numbers of rows, not the inputs. The file serves one run
    /// (--preprocessing stored=FILE) of the same program and sizes by the same parties. Once a run has
    /// begun to use it, it cannot be used again, even if that run fails. It is encrypted under a key
    /// that stays in --id-dir: without the key, or after the run, nobody can read it.
    Preprocess(PreprocessArguments),
    /// State exactly what a run would cost and reveal, without running it
    Explain(ExplainArguments),
    /// Plan a program and write the plan to a file
    Plan(PlanArguments),
    /// Print a program or a planned program as text
    Show(ShowArguments),
    /// Prove that a plan computes its program, or check a program; for C, state what it would leak
    Check(CheckArguments),
    /// List the built-in programs
    Programs(ProgramsArguments),
    /// Generate input files for a program
    Data(DataArguments),
    /// Report the kernels, storage, memory and peers of this machine
    Doctor(DoctorArguments),
    /// Make keys, and trust the keys of other parties
    Id(IdArguments),
    /// Measure the speed of this machine
    Bench(BenchArguments),
    /// Compile programs for the garbling overlay (hardware), explain and simulate it
    #[command(name = "hw")]
    Hardware(HardwareArguments),
    /// Explain a command or an error code
    Help(HelpArguments),
    /// Read a C program for another process of Phineus, which asks on stdin
    #[command(hide = true)]
    ReadC(ReadC),
}

#[derive(Args)]
pub(crate) struct HelpArguments {
    /// A command such as `run` or `id trust`, or an error code such as E4102
    #[arg(value_name = "COMMAND OR CODE")]
    pub(crate) what: Vec<String>,
}

#[derive(Args)]
pub(crate) struct ReadC {
    /// The C program
    pub(crate) program: PathBuf,
}

impl Command {
    /// Returns whether this process is one party of a local run; its parent prints for all parties.
    pub(crate) fn is_child(&self) -> bool {
        match self {
            Command::Run(run) => run.together.child.is_some(),
            Command::Preprocess(make) => make.together.child.is_some(),
            _ => false,
        }
    }
}

#[derive(Args)]
pub(crate) struct ProgramsArguments {
    /// Describe one program: a name, a circuit, a directory of circuits or a C program
    pub(crate) name: Option<String>,
    /// A public parameter, on which the columns of tables may depend, as in key=id:u64
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parse_pair, requires = "name")]
    pub(crate) parameters: Vec<(String, String)>,
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("'{text}' is not NAME=VALUE")),
    }
}

fn parse_network(text: &str) -> Result<NetworkModel, String> {
    NetworkModel::parse(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_options_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
