//! `demo mixed`: three parties match a sample against a database that two of them hold.

use std::time::Instant;

use super::typed_run;
use crate::arguments::Demo;
use crate::commands::run::{answer_locally, say_verified};
use crate::csv_output::{format_value, write_atomically, write_table};
use crate::failure::{Exit, Failure};
use crate::output::Console;
use crate::quantity;
use crate::registry::Registry;
use crate::report::{RunReport, write_json};
use crate::resolve::{arguments_of, probe};

const PROGRAM: &str = "biometric";

/// Rows of the database where nothing is said.
const ROWS: u64 = 4096;

/// Runs the demonstration.
pub(super) fn run(registry: &Registry, demo: &Demo, console: &Console) -> Result<(), Failure> {
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
    let temporary = tempfile::Builder::new().prefix("phineus-demo-").tempdir()?;
    crate::interrupt::remember(temporary.path());
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
        write_atomically(&path, |file| write_table(table, file))?;
        typed.extend(["--in".to_owned(), format!("{}={}", port.name, path.display())]);
    }
    let report = directory.join("run.json");
    typed.extend(["--memory".to_owned(), demo.memory.to_string()]);
    typed.extend(["--report".to_owned(), report.display().to_string()]);
    let run = typed_run(typed.clone())?;
    let answer = answer_locally(registry, &run, console)?;
    let port = &answer.description.outputs[0];
    let table = answer.outputs[0]
        .as_ref()
        .ok_or_else(|| Failure::new(Exit::RunTime, 180, "the demo gave no result"))?;
    let cells = port.columns.iter().enumerate();
    let result: Vec<String> = cells
        .map(|(k, column)| format!("{} {}", column.name, format_value(table.cell(0, k), column)))
        .collect();
    write_json(&run.report, &serde_json::json!({ "parties": &answer.reports }))?;
    if console.is_json {
        console.document(&serde_json::json!({
            "nearest": result,
            "verified": answer.verified.map(|(_, equal)| equal),
            "seconds": start.elapsed().as_secs_f64(),
            "parties": &answer.reports,
        }))?;
    } else {
        console.print(&format!("nearest match: {}", result.join(", ")))?;
    }
    say_verified(console, answer.verified)?;
    for report in &answer.reports {
        console.say("");
        report.summary().iter().for_each(|line| console.say(line));
    }
    console.say(&format!("\nall of it took {}", quantity::duration(start.elapsed())));
    if let Some(keep) = &demo.keep {
        console.say(&format!("the files are in {}; try it with your own:", keep.display()));
        console.say(&format!("  {}", typed[..typed.len() - 2].join(" ")));
    }
    crate::interrupt::forget(temporary.path());
    answer.reports.iter().try_for_each(RunReport::verdict)
}
