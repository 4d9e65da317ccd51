//! Finds the protocol with the least predicted time among those that could run a program.

use std::time::Duration;

use phineus_plan::Scratch;
use phineus_protocols::garbled::totals;
use phineus_protocols::mixed;
use phineus_tables::quantity;

use crate::failure::{Exit, Failure, codes};
use crate::planned::PlannedFile;
use crate::prediction::{Prediction, predict};
use crate::protocol::{Protocol, ProtocolOption};
use crate::settings::{Choice, ProtocolVariant};
use crate::sizing::{self, PlanParameters};
use crate::traced::TracedFile;

/// Predicted times that differ by less than this are the same.
const SAME_TIME: f64 = 1.01;

/// A protocol that could run a program, and what that would take.
pub struct Candidate {
    pub protocol: Protocol,
    /// Variant, of a protocol that has several.
    pub variant: ProtocolVariant,
    /// Or why it cannot.
    pub outcome: Result<(PlannedFile, Prediction), Failure>,
}

impl Candidate {
    /// Rounds of the online phase; none of a plan that does not fit.
    fn rounds(&self) -> u64 {
        let planned = self.outcome.as_ref().map(|(planned, _)| planned);
        planned.map_or(0, |planned| planned.plan().costs.get(totals::ROUNDS).copied().unwrap_or(0))
    }

    fn seconds(&self) -> f64 {
        self.outcome.as_ref().map_or(f64::MAX, |(_, time)| time.whole.total())
    }
}

/// Plans `traced` under each protocol, for the party that needs more memory; of several variants in the
/// one that takes the least time.
pub fn candidates(
    traced: &TracedFile,
    (protocols, variants): (&[Protocol], &[ProtocolVariant]),
    terms: PlanParameters,
    scratch: &Scratch,
) -> Vec<Candidate> {
    let plan = |protocol: Protocol, variant: ProtocolVariant| Candidate {
        protocol,
        variant,
        outcome: sizing::planned(traced, (protocol, variant), terms, scratch).map(|planned| {
            let time = predict(&planned, terms.net);
            (planned, time)
        }),
    };
    let best = |&protocol: &Protocol| {
        let has_variants = protocol.settings().contains(&ProtocolOption::Ot);
        let ProtocolVariant { masks, optimisation, .. } = variants[0];
        let only = [ProtocolVariant { masks, optimisation, ..ProtocolVariant::default() }];
        let variants = if has_variants { variants } else { &only };
        let first = plan(protocol, *variants.first().expect("there is a variant"));
        let others = variants.iter().skip(1).filter(|other| matter(&first, **other));
        let others: Vec<Candidate> = others.map(|&other| plan(protocol, other)).collect();
        let planned: Vec<Candidate> = std::iter::once(first).chain(others).collect();
        let least = planned.iter().map(Candidate::seconds).fold(f64::INFINITY, f64::min);
        // What is predicted to take the same time takes less with fewer rounds, if anything.
        let near = planned.into_iter().filter(|one| one.seconds() <= least * SAME_TIME);
        near.min_by_key(Candidate::rounds).expect("there is a candidate")
    };
    protocols.iter().map(best).collect()
}

/// Whether a plan made for the `other` variant would be another one.
fn matter(first: &Candidate, other: ProtocolVariant) -> bool {
    let Ok((planned, _)) = &first.outcome else { return true };
    let variant = first.variant;
    let total = |name: &str| planned.plan().costs.get(name).copied().unwrap_or(0);
    let has_conversions = total(mixed::totals::GARBLED_TO_ARITHMETIC) > 0;
    variant.ot != other.ot
        || variant.y2a != other.y2a && has_conversions
        || variant.broadcast != other.broadcast && planned.computing > 2
}

/// The candidate that takes the least time, the first of those that take the same.
///
/// # Errors
/// If there is none: the reason, where it is the same for all; or the reason of each, with exit 6 if
/// one of them would with more memory.
pub fn cheapest(candidates: &[Candidate]) -> Result<&Candidate, Failure> {
    let best = candidates.iter().min_by(|a, b| a.seconds().total_cmp(&b.seconds()));
    best.filter(|best| best.outcome.is_ok()).ok_or_else(|| none_can(candidates))
}

fn none_can(candidates: &[Candidate]) -> Failure {
    let failures = || candidates.iter().filter_map(|one| Some((one, one.outcome.as_ref().err()?)));
    let (_, first) = failures().next().expect("there are candidates, and none can");
    if failures().all(|(_, failure)| failure.faults == first.faults) {
        return first.clone();
    }
    let reasons: Vec<String> = failures()
        .map(|(one, failure)| format!("{}: {}", one.protocol.name(), failure.message()))
        .collect();
    let message = format!("no protocol can run this program here\n{}", reasons.join("\n"));
    match failures().any(|(_, failure)| failure.code.exit == Exit::DoesNotFit) {
        true => Failure::new(codes::NO_PROTOCOL_FITS, message)
            .remedy("give more memory, or other protocols"),
        false => Failure::new(codes::NO_PROTOCOL, message).remedy("give other protocols"),
    }
}

/// One line: which is taken, what it is predicted to take, and what the others would.
pub fn reason(candidates: &[Candidate], best: &Candidate) -> String {
    let time = |candidate: &Candidate| {
        let seconds = Duration::from_secs_f64(candidate.seconds());
        let mut words = vec![candidate.protocol.name()];
        words.extend(candidate.variant.words());
        format!("{} {}", words.join(" "), quantity::duration(seconds))
    };
    let bound = best.outcome.as_ref().map_or("", |(_, time)| time.whole.bound());
    let others: Vec<String> = candidates
        .iter()
        .filter(|other| other.protocol != best.protocol && other.outcome.is_ok())
        .map(time)
        .collect();
    let others = if others.is_empty() { "no other".to_owned() } else { others.join(", ") };
    format!("{}, limited by {bound} (others: {others})", time(best))
}
