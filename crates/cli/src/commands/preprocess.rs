//! `preprocess`: makes and keeps what a later run needs, before its inputs are known.

use std::path::Path;
use std::time::Duration;

use phineus_tables::quantity;
use serde_json::json;

use crate::arguments::{Making, Preprocess, Run};
use crate::commands::local;
use crate::commands::party::{self, KeptReport};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::Console;
use crate::progress::Progress;
use crate::registry::Registry;
use crate::report::write_json;
use crate::statistics::kind_words;

/// Makes this party's file, or with `--local` those of all.
pub(crate) fn run(
    registry: &Registry,
    preprocess: &Preprocess,
    console: &Console,
) -> Result<(), Failure> {
    // Before the first secret is in memory.
    phineus_engine::forbid_core_dumps()?;
    let run = preprocess.as_run();
    let making = run.making.as_ref().expect("just put in");
    if let Some(directory) = &run.together.child {
        return run_child(registry, &run, making, directory);
    }
    let progress = console.progress();
    let kept = if run.together.local {
        local::preprocess(registry, &run, making, &progress)
    } else {
        party::preprocess(registry, &run, making, &progress).map(|kept| vec![kept])
    };
    progress.clear();
    let released = interrupt::release();
    let kept = kept?;
    released?;
    if console.is_json {
        console.document(json!({ "stored": kept }));
        return Ok(());
    }
    kept.iter().flat_map(lines).for_each(|line| console.say(&line));
    Ok(())
}

/// As a child of `preprocess --local`: the report goes to the parent's directory.
fn run_child(
    registry: &Registry,
    run: &Run,
    making: &Making,
    directory: &Path,
) -> Result<(), Failure> {
    interrupt::end_with_parent(&run.together.cluster);
    let progress = Progress::for_parent();
    let result = party::preprocess(registry, run, making, &progress)
        .and_then(|kept| write_json(&local::report_beside(directory), &kept));
    progress.ended(result.as_ref().map(drop));
    // The parent prints it.
    result.map_err(|failure| Failure { silent: true, ..failure })
}

fn lines(kept: &KeptReport) -> Vec<String> {
    let time = |seconds: f64| quantity::duration(Duration::from_secs_f64(seconds));
    let amounts: Vec<String> = kept
        .amounts
        .iter()
        .map(|(name, &count)| format!("{} {}", quantity::count(count), kind_words(name)))
        .collect();
    let amounts = if amounts.is_empty() { "nothing".to_owned() } else { amounts.join(", ") };
    let sent = kept.set_up.sent_bytes + kept.preprocessing.sent_bytes;
    vec![
        format!(
            "{}: {} for one run of {}",
            kept.file,
            quantity::bytes(kept.file_bytes),
            kept.party
        ),
        format!("  {amounts}"),
        format!(
            "  set-up {}, making {}, {} OTs with each party, {} sent",
            time(kept.set_up.seconds),
            time(kept.preprocessing.seconds),
            quantity::count(kept.oblivious_transfers),
            quantity::bytes(sent)
        ),
    ]
}
