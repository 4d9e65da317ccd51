//! `preprocess`: makes and stores the correlated randomness of a later run, before its inputs are
//! known.

use std::path::Path;
use std::time::Duration;

use phineus_session::failure::Failure;
use phineus_session::party::{self, StoredReport};
use phineus_session::registry::Registry;
use phineus_session::report::write_json;
use phineus_session::settings::{PreprocessSettings, Run};
use phineus_session::statistics::kind_words;
use phineus_tables::quantity;
use serde_json::json;

use crate::arguments::PreprocessArguments;
use crate::cancel::cancel;
use crate::commands::local;
use crate::display::Display;
use crate::leftovers::leftovers;
use crate::output::Console;
use crate::signals;

/// Makes this party's file, or with `--local` those of all.
pub(crate) fn run(
    registry: &Registry,
    preprocess: &PreprocessArguments,
    console: &Console,
) -> Result<(), Failure> {
    // Before the first secret is in memory.
    phineus_engine::forbid_core_dumps()?;
    let run = preprocess.settings();
    let making = run.making.as_ref().expect("just put in");
    if let Some(directory) = &preprocess.together.child {
        return run_child(registry, &run, making, directory);
    }
    let display = console.display();
    let stored = if preprocess.together.local {
        local::preprocess(registry, &run, making, &display)
    } else {
        party::preprocess(registry, &run, making, &display.progress()).map(|stored| vec![stored])
    };
    display.clear();
    let released = cancel().release();
    let stored = stored?;
    released?;
    if console.is_json {
        console.document(json!({ "stored": stored }));
        return Ok(());
    }
    stored.iter().flat_map(lines).for_each(|line| console.say(&line));
    Ok(())
}

/// As a child of `preprocess --local`: the report goes to the parent's directory.
fn run_child(
    registry: &Registry,
    run: &Run,
    making: &PreprocessSettings,
    directory: &Path,
) -> Result<(), Failure> {
    signals::end_with_parent(&local::cluster(run).file);
    let display = Display::for_parent();
    let result = party::preprocess(registry, run, making, &display.progress())
        .and_then(|stored| write_json(&local::report_beside(directory), &stored, leftovers()));
    display.ended(result.as_ref().map(drop));
    // The parent prints it.
    result.map_err(|failure| Failure { silent: true, ..failure })
}

fn lines(stored: &StoredReport) -> Vec<String> {
    let time = |seconds: f64| quantity::duration(Duration::from_secs_f64(seconds));
    let amounts: Vec<String> = stored
        .amounts
        .iter()
        .map(|(name, &count)| format!("{} {}", quantity::count(count), kind_words(name)))
        .collect();
    let amounts = if amounts.is_empty() { "nothing".to_owned() } else { amounts.join(", ") };
    let sent = stored.set_up.sent_bytes + stored.preprocessing.sent_bytes;
    vec![
        format!(
            "{}: {} for one run of {}",
            stored.file,
            quantity::bytes(stored.file_bytes),
            stored.party
        ),
        format!("  {amounts}"),
        format!(
            "  set-up {}, making {}, {} OTs with each party, {} sent",
            time(stored.set_up.seconds),
            time(stored.preprocessing.seconds),
            quantity::count(stored.oblivious_transfers),
            quantity::bytes(sent)
        ),
    ]
}
