//! `demo`: the whole system in a minute, for new users.

mod mixed;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Parser;
use phineus_bytecode::Column;
use phineus_session::failure::{Failure, codes};
use phineus_session::private_directory::PrivateDirectory;
use phineus_session::registry::Registry;
use phineus_session::report::{RunReport, write_json};
use phineus_session::verify::Verified;
use phineus_tables::format_value;
use phineus_tables::quantity;
use sha2::{Digest, Sha256};

use crate::arguments::{Cli, Command, DemoArguments, DemoSubject};
use crate::commands::run::{LocalResult, RunCommand, say_verified, verified_locally};
use crate::leftovers::leftovers;
use crate::output::Console;

const PROGRAM: &str = "password-reuse";

/// One user in this many is on both sites, and half of those reuse their password.
const SHARED_ONE_IN: u64 = 10;

/// Users of each site where nothing is said.
const USERS: u64 = 100_000;

/// Runs the demonstration.
pub(crate) fn run(
    registry: &Registry,
    demo: &DemoArguments,
    console: &Console,
) -> Result<(), Failure> {
    if demo.rows == Some(0) {
        return Err(Failure::usage("--rows: at least one user is needed, or one row"));
    }
    match demo.what {
        DemoSubject::Passwords => passwords(registry, demo, console),
        DemoSubject::Mixed => mixed::run(registry, demo, console),
    }
}

fn passwords(registry: &Registry, demo: &DemoArguments, console: &Console) -> Result<(), Failure> {
    let start = Instant::now();
    let users = demo.rows.unwrap_or(USERS);
    let rows = quantity::count(users);
    let memory = quantity::bytes(demo.memory);
    console.say(&format!("Two sites, site_a and site_b, have {rows} users each."));
    console.say("They want to know how many people use the same password on both sites,");
    console.say("and neither may see a single user name or password hash of the other.");
    let temporary = PrivateDirectory::new(leftovers())?;
    let directory = demo.keep.clone().unwrap_or_else(|| temporary.path().to_owned());
    std::fs::create_dir_all(&directory).map_err(|error| Failure::file(&directory, &error))?;
    let files = write_sites(&directory, users)?;
    console.say("");
    console.say("Each site is a process of its own here; they talk over TLS. One turns the");
    console.say("computation into a garbled circuit, the other evaluates it without seeing");
    console.say("what flows through it. All that both learn is the one number at the end.");
    // 128 bits of 16 bytes for each of the users of both sites.
    let wires = 2 * users * 128 * 16;
    console.say(&format!(
        "The computation holds {} of encrypted wires; each process may use {memory},",
        quantity::bytes(wires)
    ));
    console.say("so what to keep, drop, write and read ahead is planned before it starts.");
    console.say("");
    let run = run_arguments(&files, demo)?;
    let answer = verified_locally(registry, &run, console)?;
    let count = first_row(&answer)?.remove(0).1;
    let shared = quantity::count(users / SHARED_ONE_IN);
    let typed = format!(
        "phineus run {PROGRAM} --local --in site_a={} --in site_b={} --memory 48MiB",
        files[0].display(),
        files[1].display()
    );
    let shown = DemoResult {
        text: format!("reused passwords: {count} (of {shared} users on both sites)"),
        name: "reused_passwords",
        value: count.into(),
        keep: demo.keep.as_deref().map(|keep| (keep, typed)),
    };
    shown.tell(&answer, &run, start, console)
}

/// Result of a demonstration, and the commands that repeat it.
struct DemoResult<'a> {
    text: String,
    /// Name for JSON.
    name: &'a str,
    value: serde_json::Value,
    /// The directory of the files, if they are kept, and what to type.
    keep: Option<(&'a Path, String)>,
}

impl DemoResult<'_> {
    /// Prints the answer, whether it is right, and what was predicted and measured.
    fn tell(
        self,
        answer: &LocalResult,
        run: &RunCommand,
        start: Instant,
        console: &Console,
    ) -> Result<(), Failure> {
        write_json(&run.report, &serde_json::json!({ "parties": &answer.reports }), leftovers())?;
        if console.is_json {
            console.document(serde_json::json!({
                self.name: self.value,
                "verified": answer.verified.as_ref().and_then(Verified::is_equal),
                "seconds": start.elapsed().as_secs_f64(),
                "parties": &answer.reports,
            }));
        } else {
            console.print(&self.text)?;
        }
        say_verified(console, answer.verified.as_ref())?;
        for report in &answer.reports {
            console.say("");
            report.summary().iter().for_each(|line| console.say(line));
        }
        console.say(&format!("\nall of it took {}", quantity::duration(start.elapsed())));
        if let Some((directory, typed)) = self.keep {
            console
                .say(&format!("the files are in {}; try it with your own:", directory.display()));
            console.say(&format!("  {typed}"));
        }
        answer.reports.iter().try_for_each(RunReport::verdict)
    }
}

/// The columns of the first row of the first output, with their names.
fn first_row(answer: &LocalResult) -> Result<Vec<(String, String)>, Failure> {
    let port = &answer.description.outputs[0];
    let table = answer.outputs[0]
        .as_ref()
        .ok_or_else(|| Failure::new(codes::NO_DEMO_RESULT, "the demo gave no result"))?;
    let cells = port.columns.iter().enumerate();
    let cell = |(k, column): (usize, &Column)| {
        (column.name.clone(), format_value(table.cell(0, k), column))
    };
    Ok(cells.map(cell).collect())
}

/// Arguments as a user would type them.
fn run_arguments(files: &[PathBuf; 2], demo: &DemoArguments) -> Result<RunCommand, Failure> {
    let input = |name: &str, file: &Path| format!("{name}={}", file.display());
    let report = files[0].with_file_name("run.json");
    typed_run([
        "phineus".to_owned(),
        "run".to_owned(),
        PROGRAM.to_owned(),
        "--local".to_owned(),
        "--verify".to_owned(),
        "--in".to_owned(),
        input("site_a", &files[0]),
        "--in".to_owned(),
        input("site_b", &files[1]),
        "--memory".to_owned(),
        demo.memory.to_string(),
        "--report".to_owned(),
        report.display().to_string(),
    ])
}

/// The arguments of `run` as if they were typed.
fn typed_run(typed: impl IntoIterator<Item = String>) -> Result<RunCommand, Failure> {
    match Cli::try_parse_from(typed).map(|cli| cli.command) {
        Ok(Command::Run(run)) => Ok(RunCommand::from(run)),
        Ok(_) => unreachable!("`run` was typed"),
        Err(error) => Err(Failure::usage(error.to_string())),
    }
}

/// Two sites with users, some of them on both, half of those with the same password.
fn write_sites(directory: &Path, rows: u64) -> Result<[PathBuf; 2], Failure> {
    let files = ["site_a.csv", "site_b.csv"].map(|name| directory.join(name));
    for (site, path) in files.iter().enumerate() {
        let failed = |error: std::io::Error| Failure::file(path, &error);
        let mut file = BufWriter::new(std::fs::File::create(path).map_err(failed)?);
        let mut write = || -> std::io::Result<()> {
            writeln!(file, "user,password_hash")?;
            for row in 0..rows {
                writeln!(file, "{}", line(site as u64, row, rows))?;
            }
            file.flush()
        };
        write().map_err(failed)?;
    }
    Ok(files)
}

/// One user of a site. The first tenth of the users is on both sites.
fn line(site: u64, row: u64, rows: u64) -> String {
    let is_shared = row < rows / SHARED_ONE_IN;
    let user = if is_shared { row } else { (site + 1) * rows + row };
    let is_reused = is_shared && row.is_multiple_of(2);
    let password = if is_reused { user } else { user + (site + 3) * 10 * rows };
    let hash: [u8; 32] = Sha256::digest(password.to_le_bytes()).into();
    let hash: String = hash[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("user{user:09}@mail.example,{hash}")
}
