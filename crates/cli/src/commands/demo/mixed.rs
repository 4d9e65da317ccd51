//! `demo mixed`: three parties match a sample against a database that two of them hold.

use std::time::Instant;

use phineus_session::failure::Failure;
use phineus_session::outputs::write_file;
use phineus_session::private_directory::PrivateDirectory;
use phineus_session::registry::Registry;
use phineus_session::resolve::{arguments_of, probe};
use phineus_tables::quantity;

use super::{DemoResult, first_row, typed_run};
use crate::arguments::DemoArguments;
use crate::commands::run::verified_locally;
use crate::leftovers::leftovers;
use crate::output::Console;

const PROGRAM: &str = "biometric";

/// Rows of the database where nothing is said.
const ROWS: u64 = 4096;

/// Runs the demonstration.
pub(super) fn run(
    registry: &Registry,
    demo: &DemoArguments,
    console: &Console,
) -> Result<(), Failure> {
    let start = Instant::now();
    let rows = demo.rows.unwrap_or(ROWS);
    console.say("A traveller's features were measured at site_a. Two agencies, site_b and site_c,");
    console.say(&format!("hold {} known ones between them.", quantity::count(rows)));
    console.say("Which is the nearest? Nobody may see the others' measurements.");
    console.say("");
    console.say("Squared distances are computed on additive shares, where a square costs one");
    console.say("opening; the smallest is found on XOR shares. Any two parties together learn");
    console.say("nothing of the third's data but the answer.");
    console.say("");
    let program = registry.find(PROGRAM);
    let program = program.ok_or_else(|| Failure::usage("this build has no biometric matching"))?;
    let parameters = [("n".to_owned(), rows.to_string()), ("parties".to_owned(), "3".to_owned())];
    let arguments = arguments_of(program, &parameters)?;
    let description = probe(program, &arguments)?;
    let tables = program.generate(&arguments, 1);
    let tables = tables.ok_or_else(|| Failure::usage("this build generates no measurements"))?;
    let temporary = PrivateDirectory::new(leftovers())?;
    let directory = demo.keep.clone().unwrap_or_else(|| temporary.path().to_owned());
    std::fs::create_dir_all(&directory).map_err(|error| Failure::file(&directory, &error))?;
    let mut typed: Vec<String> =
        ["phineus", "run", PROGRAM, "--local", "--verify", "--protocol", "mixed"]
            .map(str::to_owned)
            .to_vec();
    for (name, value) in &parameters {
        typed.extend(["--param".to_owned(), format!("{name}={value}")]);
    }
    for (port, table) in description.inputs.iter().zip(&tables) {
        let path = directory.join(format!("{}.csv", port.name));
        write_file(&path, table, leftovers())?;
        typed.extend(["--in".to_owned(), format!("{}={}", port.name, path.display())]);
    }
    let report = directory.join("run.json");
    typed.extend(["--memory".to_owned(), demo.memory.to_string()]);
    typed.extend(["--report".to_owned(), report.display().to_string()]);
    let run = typed_run(typed.clone())?;
    let answer = verified_locally(registry, &run, console)?;
    let result: Vec<String> =
        first_row(&answer)?.into_iter().map(|(name, value)| format!("{name} {value}")).collect();
    let shown = DemoResult {
        text: format!("nearest match: {}", result.join(", ")),
        name: "nearest",
        value: result.into(),
        keep: demo.keep.as_deref().map(|keep| (keep, typed[..typed.len() - 2].join(" "))),
    };
    shown.tell(&answer, &run, start, console)
}
