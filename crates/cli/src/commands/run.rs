//! `run`: as one party, locally as all of them, or in the clear.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use phineus_bytecode::{Description, Table};
use phineus_frontend::same_rows;
use phineus_session::binding::{self, PartyTables};
use phineus_session::correlated::Source;
use phineus_session::execute::Job;
use phineus_session::failure::{Failure, codes};
use phineus_session::learnt::{self, Assumption};
use phineus_session::output_file::check_writable;
use phineus_session::outputs::Destinations;
use phineus_session::own_rows;
use phineus_session::party::{self, check_garbler, check_preprocessed};
use phineus_session::ports::Files;
use phineus_session::protocol::{Protocol, clear_has_no_parties, run_clear};
use phineus_session::registry::Registry;
use phineus_session::repeated::{Repeated, repeated};
use phineus_session::report::{OutputReport, RunReport, write_json};
use phineus_session::resolve::shape;
use phineus_session::resolve::{Resolved, ready, resolve, trace};
use phineus_session::roles::Roles;
use phineus_session::scratch::scratch_of;
use phineus_session::settings::{
    Choice, InputTable, PreprocessingMode, ProtocolChoice, Run, protocols,
};
use phineus_session::stored::check_preprocessing;
use phineus_session::text_key;
use phineus_session::verify::{self, Verified};
use phineus_tables::TextKey;
use phineus_tables::refuse_pipe;
use serde_json::json;

use crate::arguments;
use crate::cancel::cancel;
use crate::commands::local::{self, LocalRun};
use crate::display::Display;
use crate::leftovers::leftovers;
use crate::output::Console;
use crate::results;
use crate::signals;
use crate::verify_c;

/// A session, and what the command line does with its results.
#[derive(Clone)]
pub(crate) struct RunCommand {
    pub(crate) run: Run,
    /// Whether all parties run on this machine, each in a process of its own.
    pub(crate) local: bool,
    /// In such a process: the directory for its results.
    pub(crate) child: Option<PathBuf>,
    /// Whether the answer is compared with the plaintext one.
    pub(crate) verify: bool,
    /// How many times it runs.
    pub(crate) repeat: u32,
    /// Where predicted and measured figures go; `none` for nowhere.
    pub(crate) report: PathBuf,
}

impl Deref for RunCommand {
    type Target = Run;

    fn deref(&self) -> &Run {
        &self.run
    }
}

impl From<arguments::RunArguments> for RunCommand {
    fn from(typed: arguments::RunArguments) -> RunCommand {
        let run = typed.settings();
        let arguments::RunArguments { together, verify, repeat, report, .. } = typed;
        let (local, child) = (together.local, together.child);
        RunCommand { run, local, child, verify, repeat, report }
    }
}

/// Runs what the command line says.
pub(crate) fn run(registry: &Registry, run: &RunCommand, console: &Console) -> Result<(), Failure> {
    // Before the first secret is in memory.
    phineus_engine::forbid_core_dumps()?;
    if let Some(directory) = &run.child {
        return run_child(registry, run, directory);
    }
    if run.report != Path::new("none") {
        check_writable(&run.report)?;
    }
    run.inputs.iter().filter_map(|input| input.from.file()).try_for_each(refuse_pipe)?;
    if run.together.protocol == ProtocolChoice::This(protocols::CLEAR) {
        check_preprocessed(run)?;
        check_garbler(run)?;
        if run.outsourcing.is_stated() {
            return Err(Failure::usage("the clear protocol has nobody who computes for others"));
        }
        if run.repeat > 1 {
            return Err(Failure::usage("--repeat needs parties, and the clear protocol has none"));
        }
        if run.together.as_party.is_some() && !run.local {
            return Err(clear_has_no_parties());
        }
        return run_in_the_clear(registry, &with_text_key(run)?, console);
    }
    if run.local {
        return run_locally(registry, &with_text_key(run)?, console);
    }
    for (is_given, why) in [
        (run.verify, "--verify needs the inputs of all parties, so it needs --local"),
        (run.repeat > 1, "--repeat starts all parties again, so it needs --local"),
    ] {
        if is_given {
            return Err(Failure::usage(why));
        }
    }
    let display = console.display();
    let result = party::run(registry, run, &display.progress());
    display.clear();
    let mut finished = result?;
    let (description, outputs) = (&finished.description, &finished.outputs);
    let (target, report) = ((&finished.destinations, &finished.files), &mut finished.report);
    results::print(description, outputs, target, &mut report.outputs, console.is_json)?;
    say_learnt(console, run, (description, outputs), (&report.protocol, &report.outputs));
    own_rows::notes(description, outputs, &finished.files).iter().for_each(|n| console.say(n));
    let notes = report.notes.clone();
    if let Some(withheld) = results::withheld(description, finished.party) {
        report.notes.push(withheld);
    }
    write_report(run, report)?;
    if console.is_json {
        let outputs = results::to_json(description, outputs, &finished.files)?;
        console.document(json!({ "outputs": outputs, "report": report }));
    }
    print_summary(console, report, &notes);
    report.verdict()
}

/// Prints who learnt what, before anything else about a run.
fn say_learnt(
    console: &Console,
    run: &RunCommand,
    (description, outputs): (&Description, &[Option<Table>]),
    (protocol, places): (&str, &[OutputReport]),
) {
    let protocol = Protocol::from_name(protocol).expect("a report names a protocol of the list");
    let basis = Assumption::of(protocol, &run.preprocessing);
    for sentence in learnt::sentences(description, outputs, places, basis) {
        console.say(&sentence);
    }
}

/// As a child of `run --local`: results and reports go to the parent's directory.
fn run_child(registry: &Registry, run: &RunCommand, directory: &Path) -> Result<(), Failure> {
    let cluster = local::cluster(run);
    signals::end_with_parent(&cluster.file);
    let display = Display::for_parent();
    let text_key = text_key::stored(&cluster.id_dir.join(local::TEXT_KEY))?;
    let run = &with_key(run, text_key);
    let result = party::run(registry, run, &display.progress());
    let result = result.and_then(|finished| {
        results::leave(directory, &finished.outputs)?;
        local::write_description(directory, &finished.description)?;
        // Whether the plan was kept the parent says, when it has given out what came.
        write_json(&run.report, &finished.report, leftovers())
    });
    display.ended(result.as_ref().map(drop));
    // The parent prints it.
    result.map_err(|failure| Failure { silent: true, ..failure })
}

fn write_report(run: &RunCommand, report: &impl serde::Serialize) -> Result<(), Failure> {
    if run.report == Path::new("none") {
        return Ok(());
    }
    write_json(&run.report, report, leftovers())
}

/// Prints what the user should know of a run, and its figures for those who ask for them.
fn print_summary(console: &Console, report: &RunReport, notes: &[String]) {
    notes.iter().for_each(|note| console.say(&format!("note: {note}")));
    if console.is_verbose {
        console.say("");
        report.summary().iter().for_each(|line| console.say(line));
        report.details().iter().for_each(|line| console.say(line));
    }
}

/// Everything about a local run that its caller may print.
pub(crate) struct LocalResult {
    pub(crate) description: Description,
    pub(crate) outputs: Vec<Option<Table>>,
    pub(crate) reports: Vec<RunReport>,
    /// The inputs as they were before the run; those from stdin are missing.
    pub(crate) files: Files,
    pub(crate) verified: Option<Verified>,
    /// Means over all runs, if there were several; the rest is of the last one.
    pub(crate) repeated: Vec<Repeated>,
}

/// Runs all parties on this machine and prints what came out.
fn run_locally(registry: &Registry, run: &RunCommand, console: &Console) -> Result<(), Failure> {
    let mut answer = answer_locally(registry, run, console)?;
    let LocalResult { description, outputs, reports, files, repeated, .. } = &mut answer;
    let (description, outputs, files) = (&*description, &*outputs, &*files);
    let destinations = Destinations::new(run, description, None)?;
    let mut places = results_of(description);
    // Before they are compared: whatever comes of that, here they are.
    destinations.write(description, outputs, files, &mut places)?;
    let target = (&destinations, files);
    results::print(description, outputs, target, &mut places, console.is_json)?;
    // Children leave whole tables; which rows are written is known here.
    for report in reports.iter_mut() {
        let written = report.outputs.iter_mut().zip(&places);
        written.for_each(|(output, place)| output.rows = place.rows);
    }
    let protocol = &reports.first().expect("each party reports").protocol;
    say_learnt(console, run, (description, outputs), (protocol, &places));
    own_rows::notes(description, outputs, files).iter().for_each(|note| console.say(note));
    let verified = compare_if_asked(registry, run, description, outputs, console)?;
    let verified = verified.as_ref();
    let merged = json!({
        "parties": reports,
        "repeated": repeated,
        "verified": verified.and_then(Verified::is_equal),
        "not_verified": verified.and_then(Verified::why_unknown),
        "outputs": places,
    });
    write_report(run, &merged)?;
    if console.is_json {
        let outputs = results::to_json(description, outputs, files)?;
        console.document(json!({ "outputs": outputs, "report": merged }));
    }
    reports.iter().for_each(|report| print_summary(console, report, &report.notes));
    for party in repeated {
        console.say("");
        party.lines().iter().for_each(|line| console.say(line));
    }
    say_verified(console, verified)?;
    reports.iter().try_for_each(RunReport::verdict)
}

fn results_of(description: &Description) -> Vec<phineus_session::report::OutputReport> {
    phineus_session::report::outputs(description)
}

/// Says whether the answer is right; a failure if it is not, or not known.
pub(crate) fn say_verified(console: &Console, verified: Option<&Verified>) -> Result<(), Failure> {
    let Some(verified) = verified else { return Ok(()) };
    let answer = match verified.is_equal() {
        Some(true) => "yes",
        Some(false) => "NO",
        None => "not known",
    };
    console.say(&format!("equals {}: {answer}", verified.reference.name()));
    verified.check()
}

/// Runs all parties on this machine; nothing is compared yet.
pub(crate) fn answer_locally(
    registry: &Registry,
    run: &RunCommand,
    console: &Console,
) -> Result<LocalResult, Failure> {
    if !run.outputs.is_empty() {
        let scratch = scratch_of(&run.resources)?;
        let resolved = resolve(registry, run.choice.program.as_deref(), &scratch, leftovers())?;
        let (_, mut description) = shape(&resolved, &run.choice.parameters)?;
        Roles::new(&description, &run.outsourcing, None)?.apply(&mut description)?;
        Destinations::new(run, &description, None)?;
    }
    check_repeatable(run)?;
    let display = console.display();
    if run.verify {
        verify_c::check_plain_c(registry, run)?;
    }
    let result = run_all(registry, run, &display);
    display.clear();
    let released = cancel().release();
    let (LocalRun { description, reports, outputs, files }, repeated) = result?;
    released?;
    Ok(LocalResult { description, outputs, reports, files, verified: None, repeated })
}

/// Runs all parties locally, and compares the result if this was requested.
pub(crate) fn verified_locally(
    registry: &Registry,
    run: &RunCommand,
    console: &Console,
) -> Result<LocalResult, Failure> {
    let run = &with_text_key(run)?;
    let answer = answer_locally(registry, run, console)?;
    let (description, outputs) = (&answer.description, &answer.outputs);
    let verified = compare_if_asked(registry, run, description, outputs, console)?;
    Ok(LocalResult { verified, ..answer })
}

/// Refuses to run several times what can be run once.
fn check_repeatable(run: &RunCommand) -> Result<(), Failure> {
    let from_stdin = |input: &InputTable| input.from.is_stdin();
    let once = match &run.preprocessing {
        _ if run.repeat == 1 => return Ok(()),
        PreprocessingMode::Stored(_) => "stored preprocessing serves one run",
        _ if run.inputs.iter().any(from_stdin) => "stdin can be read once",
        _ => return Ok(()),
    };
    Err(Failure::usage(format!("--repeat {}: {once}", run.repeat)))
}

/// Runs once or several times, always with the same result.
fn run_all(
    registry: &Registry,
    run: &RunCommand,
    display: &Display,
) -> Result<(LocalRun, Vec<Repeated>), Failure> {
    let mut last = local::run(registry, run, display)?;
    if run.repeat == 1 {
        return Ok((last, Vec::new()));
    }
    let mut reports = vec![last.reports.clone()];
    for _ in 1..run.repeat {
        let next = local::run(registry, run, display)?;
        let pairs = next.outputs.iter().zip(&last.outputs);
        let is_same = |(next, last): (&Option<Table>, &Option<Table>)| match (next, last) {
            (Some(next), Some(last)) => same_rows(next, last),
            _ => next.is_none() && last.is_none(),
        };
        if !pairs.into_iter().all(is_same) {
            let message = "the same inputs gave other results in another run";
            return Err(Failure::new(codes::OTHER_RESULTS, message)
                .remedy("this is a bug in Phineus, please report it"));
        }
        last.reports.iter().try_for_each(RunReport::verdict)?;
        reports.push(next.reports.clone());
        last = next;
    }
    Ok((last, repeated(&reports)?))
}

/// Adds a text key that this process chooses for all parties, so that repetitions and the plaintext
/// answer hash texts under the same key.
fn with_text_key(run: &RunCommand) -> Result<RunCommand, Failure> {
    Ok(with_key(run, Some(text_key::fresh()?)))
}

fn with_key(run: &RunCommand, text_key: Option<TextKey>) -> RunCommand {
    let mut run = run.clone();
    run.run.reading.text_key = text_key;
    run
}

fn compare_if_asked(
    registry: &Registry,
    run: &RunCommand,
    description: &Description,
    outputs: &[Option<Table>],
    console: &Console,
) -> Result<Option<Verified>, Failure> {
    if !run.verify {
        return Ok(None);
    }
    let display = console.display();
    display.progress().stage("computing the plaintext answer");
    let verified = verify::compare(registry, run, description, outputs);
    display.clear();
    verified.map(Some)
}

/// Runs in one process without any protection.
fn run_in_the_clear(
    registry: &Registry,
    run: &RunCommand,
    console: &Console,
) -> Result<(), Failure> {
    let scratch = scratch_of(&run.resources)?;
    let resolved = resolve(registry, run.choice.program.as_deref(), &scratch, leftovers())?;
    let (arguments, probed) = shape(&resolved, &run.choice.parameters)?;
    let assigned = binding::assign(&probed, &run.inputs, &[], None)?;
    binding::require_all(&probed, &assigned, None)?;
    let destinations = Destinations::new(run, &probed, None)?;
    let files = binding::count_all(&probed, &assigned, &run.reading, (&[], None))?;
    binding::check_headers(&probed, &files)?;
    let display = console.display();
    let progress = display.progress();
    if run.verify {
        verify_c::check_plain_c(registry, run)?;
    }
    progress.stage("tracing the program");
    let (traced, ranges) = match (&resolved, arguments) {
        (Resolved::File(file), _) => {
            binding::check_rows(&probed, &files)?;
            (ready(file)?, Vec::new())
        }
        (resolved, Some(mut arguments)) => {
            binding::set_rows(&mut arguments, &files);
            let program = resolved.program().expect("only files have none");
            (trace(program, &arguments, &scratch)?, program.ranges(&arguments)?)
        }
        (_, None) => unreachable!("a program has arguments"),
    };
    let text_key = run.reading.text_key.as_ref().expect("it was put in before");
    let PartyTables { tables: inputs, notes, arrangements } =
        binding::read_inputs(&traced.description, &files, &ranges, text_key)?;
    check_preprocessing(&traced, &run.preprocessing, false)?;
    let limit_bytes = run.resources.memory.bytes();
    progress.stage("planning");
    let optimisation = run.together.variants.optimisation;
    let planned = verify::in_the_clear(traced, limit_bytes, optimisation, &scratch)?;
    progress.stage("computing");
    let job = Job {
        planned: &planned,
        party: 0,
        inputs,
        backend: run.resources.storage,
        swap_dir: scratch.directory(),
        limit_bytes,
        source: Source::Interleaved,
        turns_max: run.max_iterations,
        threads: 1,
        cache_bytes: 0,
        progress: &progress,
    };
    let executed = run_clear(job)?;
    display.clear();
    let planned = planned.after_run()?;
    let name = protocols::CLEAR.name();
    let mut report = RunReport::new(&planned, 0, (name, None), (limit_bytes, None), &executed);
    report.notes.extend(notes);
    let description = &planned.description;
    let outputs = &arrangements.in_file_order(description, executed.outputs);
    report.notes.extend(own_rows::notes(description, outputs, &files));
    destinations.write(description, outputs, &files, &mut report.outputs)?;
    let target = (&destinations, &files);
    results::print(description, outputs, target, &mut report.outputs, console.is_json)?;
    say_learnt(console, run, (description, outputs), (name, &report.outputs));
    let verified = compare_if_asked(registry, run, description, outputs, console)?;
    write_report(run, &report)?;
    if console.is_json {
        let outputs = results::to_json(description, outputs, &files)?;
        console.document(json!({ "outputs": outputs, "report": report }));
    }
    print_summary(console, &report, &report.notes);
    say_verified(console, verified.as_ref())?;
    report.verdict()
}
