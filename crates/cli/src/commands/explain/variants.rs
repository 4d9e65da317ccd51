//! The other variants with which a protocol could run a program, and their costs.

use std::time::Duration;

use phineus_protocols::garbled::totals;
use phineus_protocols::mixed::{self, Broadcast, YaoToArithmetic};
use phineus_session::planned::PlannedFile;
use phineus_session::prediction::{is_shared, link_bytes, link_bytes_before, predict};
use phineus_session::protocol::ProtocolOption;
use phineus_session::settings::{Protocol, ProtocolVariant};
use phineus_tables::quantity;
use serde_json::json;

use crate::arguments::ExplainArguments;

/// The other variants with which the same protocol could run a program.
pub(super) fn alternatives(
    variant: ProtocolVariant,
    planned: &PlannedFile,
) -> Vec<ProtocolVariant> {
    let total = |name: &str| planned.plan().costs.get(name).copied().unwrap_or(0);
    let mut others = Vec::new();
    if total(mixed::totals::GARBLED_TO_ARITHMETIC) > 0 {
        let y2a = match variant.y2a {
            YaoToArithmetic::SharedBits => YaoToArithmetic::Masks,
            YaoToArithmetic::Masks => YaoToArithmetic::SharedBits,
        };
        others.push(ProtocolVariant { y2a, ..variant });
    }
    if is_shared(planned.plan()) && variants_matter(planned) && planned.computing > 2 {
        let broadcast = match variant.broadcast {
            Broadcast::Direct => Broadcast::Star,
            Broadcast::Star => Broadcast::Direct,
        };
        others.push(ProtocolVariant { broadcast, ..variant });
    }
    others
}

/// Whether the protocol of a plan has variants that open values differently.
fn variants_matter(planned: &PlannedFile) -> bool {
    let protocol = Protocol::of_plan(planned.plan());
    protocol.is_some_and(|protocol| protocol.settings().contains(&ProtocolOption::Broadcast))
}

/// The names of the options that choose `variant`.
fn options(variant: ProtocolVariant) -> [(&'static str, &'static str); 2] {
    let y2a = match variant.y2a {
        YaoToArithmetic::SharedBits => "bits",
        YaoToArithmetic::Masks => "masks",
    };
    let broadcast = match variant.broadcast {
        Broadcast::Direct => "direct",
        Broadcast::Star => "star",
    };
    [("y2a", y2a), ("broadcast", broadcast)]
}

/// Rounds, bytes and time of one of several variants.
pub(super) fn variant_line(
    variant: ProtocolVariant,
    planned: &PlannedFile,
    explain: &ExplainArguments,
) -> String {
    let options = options(variant).map(|(name, value)| format!("--{name} {value}")).join(" ");
    let rounds = planned.plan().costs.get(totals::ROUNDS).copied().unwrap_or(0);
    let time = predict(planned, explain.net).whole.total();
    format!(
        "{:<9} {options}: {rounds} rounds, {} a link, {} of them before, about {}",
        "variant",
        quantity::bytes(link_bytes(planned)),
        quantity::bytes(link_bytes_before(planned)),
        quantity::duration(Duration::from_secs_f64(time))
    )
}

pub(super) fn variant_to_json(
    variant: ProtocolVariant,
    planned: &PlannedFile,
    explain: &ExplainArguments,
) -> serde_json::Value {
    let [(_, y2a), (_, broadcast)] = options(variant);
    json!({
        "y2a": y2a,
        "broadcast": broadcast,
        "rounds": planned.plan().costs.get(totals::ROUNDS),
        "link_bytes": link_bytes(planned),
        "link_bytes_before": link_bytes_before(planned),
        "seconds": predict(planned, explain.net).whole.total(),
    })
}
