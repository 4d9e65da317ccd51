//! [`Workload`]: generated inputs of one program, and how it is run on them.

use std::path::{Path, PathBuf};

use clap::Parser;
use phineus_frontend::Program;
use phineus_session::failure::Failure;
use phineus_session::outputs::write_file;
use phineus_session::private_directory::PrivateDirectory;
use phineus_session::registry::Registry;
use phineus_session::report::RunReport;
use phineus_session::resolve::arguments_of;
use phineus_session::settings::{Choice, Protocol, protocols};

use super::sized;
use crate::arguments::{Cli, Command, RunArguments};
use crate::commands::local;
use crate::commands::programs::random_tables;
use crate::commands::run::RunCommand;
use crate::display::Display;
use crate::leftovers::leftovers;

/// Generated inputs of one program, and how it is run.
pub(super) struct Workload {
    pub(super) directory: PrivateDirectory,
    pub(super) program: String,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) protocol: Protocol,
    /// Other options of `run`, by name.
    pub(super) options: Vec<(String, String)>,
    pub(super) inputs: Vec<(String, PathBuf)>,
    /// Options without a value.
    pub(super) flags: Vec<String>,
}

impl Workload {
    pub(super) fn new(program: &dyn Program, n: u64) -> Result<Workload, Failure> {
        Workload::with(program, sized(program, n), protocols::GARBLED)
    }

    pub(super) fn with(
        program: &dyn Program,
        parameters: Vec<(String, String)>,
        protocol: Protocol,
    ) -> Result<Workload, Failure> {
        let directory = PrivateDirectory::new(leftovers())?;
        let arguments = arguments_of(program, &parameters)?;
        let description = phineus_session::resolve::probe(program, &arguments)?;
        let tables = program.generate(&arguments, 1);
        let tables = tables.unwrap_or_else(|| random_tables(&description, 1));
        let mut inputs = Vec::new();
        for (port, table) in description.inputs.iter().zip(&tables) {
            let path = directory.path().join(format!("{}.csv", inputs.len()));
            write_file(&path, table, leftovers())?;
            inputs.push((port.name.clone(), path));
        }
        let (program, options) = (program.name().to_owned(), Vec::new());
        let flags = Vec::new();
        Ok(Workload { directory, program, parameters, protocol, options, inputs, flags })
    }

    pub(super) fn run(
        &self,
        registry: &Registry,
        memory: u64,
        plain: bool,
    ) -> Result<Vec<RunReport>, Failure> {
        let out = self.directory.path().join("out.csv");
        let mut typed: Vec<String> =
            ["phineus", "run", self.program.as_str(), "--local", "--report", "none"]
                .map(str::to_owned)
                .to_vec();
        let mut option = |name: &str, value: String| typed.extend([name.to_owned(), value]);
        for (name, value) in &self.parameters {
            option("--param", format!("{name}={value}"));
        }
        option("--protocol", self.protocol.name().to_owned());
        for (name, value) in &self.options {
            option(name, value.clone());
        }
        option("--memory", memory.to_string());
        option("--out", shown(&out));
        for (port, path) in &self.inputs {
            option("--in", format!("{port}={}", shown(path)));
        }
        typed.extend(self.flags.iter().cloned());
        typed.extend(plain.then(|| "--plain".to_owned()));
        let command = RunCommand::from(parse(typed)?);
        let reports = local::run(registry, &command, &Display::for_user(true, false))?.reports;
        reports.iter().try_for_each(RunReport::verdict)?;
        Ok(reports)
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn parse(typed: Vec<String>) -> Result<RunArguments, Failure> {
    match Cli::try_parse_from(typed).map(|cli| cli.command) {
        Ok(Command::Run(run)) => Ok(run),
        Ok(_) => unreachable!("`run` was typed"),
        Err(error) => Err(Failure::usage(error.to_string())),
    }
}
