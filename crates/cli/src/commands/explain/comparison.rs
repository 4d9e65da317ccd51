//! `explain --protocols a,b,c`: one program under several protocols, side by side.

use std::path::Path;
use std::time::Duration;

use phineus_protocols::garbled::totals;
use phineus_protocols::mixed;
use serde_json::json;

use super::{predict, sent_bytes};
use crate::arguments::{Explain, Protocol};
use crate::failure::{Exit, Failure};
use crate::output::Console;
use crate::planning::PlannedFile;
use crate::quantity;
use crate::resolve::TracedFile;
use crate::sizing;

/// One protocol's line.
struct Candidate {
    protocol: Protocol,
    outcome: Result<(PlannedFile, f64, &'static str), Failure>,
}

/// Prints what the program costs under each protocol, and which is the cheapest.
pub(super) fn run(
    traced: &TracedFile,
    explain: &Explain,
    limit: u64,
    scratch: &Path,
    console: &Console,
) -> Result<(), Failure> {
    let candidate = |&protocol: &Protocol| Candidate {
        protocol,
        outcome: sizing::planned(traced, protocol, limit, scratch).map(|planned| {
            let time = predict(&planned, explain);
            (planned, time.total(), time.bound())
        }),
    };
    let candidates: Vec<Candidate> = explain.protocols.iter().map(candidate).collect();
    let seconds = |candidate: &&Candidate| candidate.outcome.as_ref().map_or(f64::MAX, |it| it.1);
    let best = candidates.iter().min_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    let best = best.filter(|best| best.outcome.is_ok());
    if console.is_json {
        return console.document(&to_json(&candidates, best));
    }
    console.print(&format!(
        "{:<9} {:>14} {:>14} {:>8} {:>12} {:>12} {:>10}",
        "protocol", "AND gates", "transfers", "rounds", "sent at most", "memory", "time"
    ))?;
    for Candidate { protocol, outcome } in &candidates {
        let name = protocol.name();
        let Ok((planned, seconds, _)) = outcome else {
            let why = outcome.as_ref().err().map(|failure| failure.message.clone());
            console.print(&format!("{name:<9} {}", why.unwrap_or_default()))?;
            continue;
        };
        let total = |name: &str| planned.plan().costs.get(name).copied().unwrap_or(0);
        console.print(&format!(
            "{name:<9} {:>14} {:>14} {:>8} {:>12} {:>12} {:>10}",
            quantity::count(total(totals::AND_GATES) + total("y_and_gates")),
            quantity::count(total(totals::EVALUATOR_INPUT_BITS) + total(mixed::totals::OTS)),
            quantity::count(total(totals::ROUNDS)),
            quantity::bytes(sent_bytes(planned).into_iter().max().unwrap_or(0)),
            quantity::bytes(planned.budget.total()),
            quantity::duration(Duration::from_secs_f64(*seconds)),
        ))?;
    }
    let Some(Candidate { protocol, outcome: Ok((_, seconds, bound)) }) = best else {
        return Err(Failure::new(Exit::DoesNotFit, 121, "no protocol can run this program here")
            .remedy("give more memory, or other protocols"));
    };
    console.print(&format!(
        "cheapest  {}: about {}, limited by {bound}",
        protocol.name(),
        quantity::duration(Duration::from_secs_f64(*seconds))
    ))
}

fn to_json(candidates: &[Candidate], best: Option<&Candidate>) -> serde_json::Value {
    let lines: Vec<serde_json::Value> = candidates
        .iter()
        .map(|Candidate { protocol, outcome }| match outcome {
            Ok((planned, seconds, bound)) => json!({
                "protocol": protocol.name(),
                "fits": true,
                "costs": planned.plan().costs,
                "sent_bytes": sent_bytes(planned),
                "peak_memory_bytes": planned.budget.total(),
                "seconds": seconds,
                "limited_by": bound,
            }),
            Err(failure) => json!({
                "protocol": protocol.name(),
                "fits": false,
                "why": failure.message,
            }),
        })
        .collect();
    json!({ "protocols": lines, "cheapest": best.map(|best| best.protocol.name()) })
}
