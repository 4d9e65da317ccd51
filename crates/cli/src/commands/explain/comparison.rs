//! `explain --protocols a,b,c`: one program under several protocols, side by side.

use std::time::Duration;

use phineus_plan::Scratch;
use phineus_protocols::bmr::costs::totals as garbling;
use phineus_protocols::garbled::totals;
use phineus_protocols::mixed::totals::{client_input_bytes, client_output_bytes};
use phineus_protocols::mixed::{self, Broadcast, YaoToArithmetic};
use phineus_session::candidates::{Candidate, candidates, cheapest, reason};
use phineus_session::failure::Failure;
use phineus_session::planned::PlannedFile;
use phineus_session::prediction::{
    Prediction, correlated, is_shared, link_bytes, link_bytes_before, rounds_before, sent_bytes,
};
use phineus_session::settings::{Choice, Protocol, ProtocolVariant};
use phineus_session::sizing::PlanParameters;
use phineus_session::traced::TracedFile;
use phineus_tables::quantity;
use serde_json::json;

use crate::arguments::ExplainArguments;
use crate::output::Console;

/// Columns for the names of figures; five protocols of [`FIGURE_WIDTH`] leave a line of 98.
const NAME_WIDTH: usize = 23;
const FIGURE_WIDTH: usize = 14;

/// Prints what the program costs under each protocol, and which is the cheapest.
pub(super) fn run(
    traced: &TracedFile,
    explain: &ExplainArguments,
    terms: PlanParameters,
    scratch: &Scratch,
    console: &Console,
) -> Result<(), Failure> {
    let variants = explain.variants.choices().variants(explain.ot.extensions());
    let candidates = candidates(traced, (&explain.protocols, &variants), terms, scratch);
    let best = cheapest(&candidates);
    if console.is_json {
        console.document(to_json(&candidates, best.as_ref().ok().copied()));
        return best.map(drop);
    }
    let (fitting, refused): (Vec<_>, Vec<_>) =
        candidates.iter().partition(|candidate| candidate.outcome.is_ok());
    let mut columns: Vec<ProtocolFigures> = Vec::new();
    for Candidate { protocol, variant, outcome } in fitting {
        if let Ok((planned, time)) = outcome {
            columns.push(column(*protocol, *variant, planned, time));
        }
    }
    print(&columns, console)?;
    for Candidate { protocol, outcome, .. } in refused {
        let why = outcome.as_ref().err().map_or(String::new(), Failure::message);
        console.print(&format!("{:<NAME_WIDTH$} {why}", protocol.name()))?;
    }
    let best = best?;
    let network = if explain.net.is_some() { "on that network" } else { "on one machine" };
    console.print(&format!("cheapest  {network}: {}", reason(&candidates, best)))
}

/// A protocol's figures, by name.
struct ProtocolFigures {
    protocol: Protocol,
    figures: Vec<(String, String)>,
}

fn column(
    protocol: Protocol,
    variant: ProtocolVariant,
    planned: &PlannedFile,
    time: &Prediction,
) -> ProtocolFigures {
    let plan = planned.plan();
    let total = |name: &str| plan.costs.get(name).copied();
    let count = |name: &str| total(name).map(quantity::count);
    let seconds = |seconds: f64| quantity::duration(Duration::from_secs_f64(seconds));
    let mut figures: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, figure: Option<String>| {
        if let Some(figure) = figure {
            figures.push((name.to_owned(), figure));
        }
    };
    add("AND gates", count(totals::AND_GATES));
    if total(garbling::Y_AND_GATES).is_some_and(|gates| gates > 0) {
        add("garbled AND gates", count(garbling::Y_AND_GATES));
    }
    if is_shared(plan) {
        add("triples of 1 bit", count(totals::AND_GATES));
    }
    for (what, amount) in correlated(plan) {
        add(&what.replace("multiplication ", ""), Some(quantity::count(amount)));
    }
    let transfers = match total(mixed::totals::OTS) {
        Some(ots) => {
            let of_garbling = [garbling::GARBLING_OTS, mixed::totals::ENTERING_OTS];
            Some(ots + of_garbling.into_iter().filter_map(total).sum::<u64>())
        }
        None => total(totals::EVALUATOR_INPUT_BITS),
    };
    if variant.ot.is_silent() {
        add("OT extension", Some(variant.ot.name().to_owned()));
    }
    if variant.y2a == YaoToArithmetic::Masks {
        add("Y2A by", Some("masks".to_owned()));
    }
    if variant.broadcast == Broadcast::Star {
        add("broadcast by", Some("star".to_owned()));
    }
    add("OTs of two parties", transfers.map(quantity::count));
    add("rounds", count(totals::ROUNDS));
    if is_shared(plan) {
        add("rounds before", Some(quantity::count(rounds_before(plan))));
    }
    add("bytes per link", Some(quantity::count(link_bytes(planned))));
    add("  of them before", Some(quantity::count(link_bytes_before(planned))));
    if planned.computing < planned.description.parties.len() {
        add("bytes of client link", Some(quantity::count(client_link_bytes(planned))));
    }
    add("memory", Some(quantity::bytes(planned.budget.total())));
    if is_shared(plan) {
        add("time before", Some(seconds(time.preprocessing.total())));
        add("time online", Some(seconds(time.online.total())));
    }
    add("time, interleaved", Some(seconds(time.whole.total())));
    ProtocolFigures { protocol, figures }
}

/// The most that goes between a client and a party in one direction.
fn client_link_bytes(planned: &PlannedFile) -> u64 {
    let total = |name: String| planned.plan().costs.get(&name).copied().unwrap_or(0);
    let clients = planned.computing..planned.description.parties.len();
    let both = |client| [total(client_input_bytes(client)), total(client_output_bytes(client))];
    clients.flat_map(both).max().unwrap_or(0)
}

/// Figures below each other, protocols beside each other.
fn print(columns: &[ProtocolFigures], console: &Console) -> Result<(), Failure> {
    let line = |name: &str, cells: &[&str]| {
        let cells: String = cells.iter().map(|cell| format!(" {cell:>FIGURE_WIDTH$}")).collect();
        console.print(&format!("{name:<NAME_WIDTH$}{cells}"))
    };
    let protocols: Vec<&str> = columns.iter().map(|column| column.protocol.name()).collect();
    line("", &protocols)?;
    for name in figure_names(columns) {
        let of = |column: &'_ ProtocolFigures| -> String {
            let figure = column.figures.iter().find(|(known, _)| *known == name);
            figure.map_or_else(|| "-".to_owned(), |(_, figure)| figure.clone())
        };
        let cells: Vec<String> = columns.iter().map(of).collect();
        line(&name, &cells.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// The names of all columns: each after the one that it follows in its own column.
fn figure_names(columns: &[ProtocolFigures]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in columns {
        let mut place = 0;
        for (name, _) in &column.figures {
            match names.iter().position(|known| known == name) {
                Some(known) => place = known + 1,
                None => {
                    names.insert(place, name.clone());
                    place += 1;
                }
            }
        }
    }
    names
}

fn to_json(candidates: &[Candidate], best: Option<&Candidate>) -> serde_json::Value {
    let lines: Vec<serde_json::Value> = candidates
        .iter()
        .map(|Candidate { protocol, variant, outcome }| match outcome {
            Ok((planned, time)) => json!({
                "protocol": protocol.name(),
                "ot": variant.ot.name(),
                "variant": variant.words(),
                "fits": true,
                "settings": planned.plan().settings,
                "costs": planned.plan().costs,
                "sent_bytes": sent_bytes(planned),
                "link_bytes": link_bytes(planned),
                "link_bytes_before": link_bytes_before(planned),
                "peak_memory_bytes": planned.budget.total(),
                "preprocessing_seconds": time.preprocessing.total(),
                "online_seconds": time.online.total(),
                "seconds": time.whole.total(),
                "limited_by": time.whole.bound(),
            }),
            Err(failure) => json!({
                "protocol": protocol.name(),
                "fits": false,
                "why": failure.message(),
            }),
        })
        .collect();
    json!({
        "protocols": lines,
        "cheapest": best.map(|best| best.protocol.name()),
        "reason": best.map(|best| reason(candidates, best)),
    })
}
