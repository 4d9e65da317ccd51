//! The choice of sharings for a program that leaves them open, by predicted time.
//!
//! Candidates are everything in one sharing, sums and products in arithmetic sharing, and the assignments of least cost
//! under several weights (`phineus_plan::SharingModel`). Each is planned and predicted as `explain` does. The one with the
//! least predicted time is taken, so no choice takes longer than the best sharing for everything.
//!
//! The network is the stated one, or else one machine: all parties know it, and what is stored for a later run stays of
//! use then.

use phineus_bytecode::{FileKind, SharingRule, SharingSetting};
use phineus_channels::NetworkModel;
use phineus_plan::limits::PLANNER_MEMORY_BYTES;
use phineus_plan::{ChosenSharings, Scratch, SharingModel};
use phineus_protocols::mixed::{YaoToArithmetic, totals};

use crate::choices::{Optimisation, ProtocolVariant};
use crate::failure::Failure;
use crate::memories::COMPARED_FROM_BYTES;
use crate::planned::PlannedFile;
use crate::planning::{sharing_model, with_sharings};
use crate::prediction::predict;
use crate::protocol::Protocol;
use crate::sharing_choice::{SharedPart, SharingChoice};
use crate::traced::TracedFile;

/// Above so many instructions only one assignment of least cost is compared with the uniform ones, and no candidate that
/// costs [`TOO_DEAR`] times as much by the sum of rounds and work: each candidate is planned as a whole.
const INSTRUCTIONS_COMPARED_MAX: u64 = 1 << 17;

/// A run takes as long as the longest of latency, sending and computing. So what takes more than three times the sum of
/// another one's takes longer; and a third more, since sums are estimates.
const TOO_DEAR: u64 = 4;

/// The most assignments of least cost that are planned, besides the two exceptions in [`candidates`].
const CHEAPEST_MAX: usize = 4;

/// Part of the memory limit that the tables of the choice may take.
const LIMIT_PARTS: u64 = 4;

/// A program with chosen sharings.
pub struct Chosen {
    /// The program, in which everything has a sharing unless that is Boolean for all.
    pub traced: TracedFile,
    /// The variant that states the choice.
    pub variant: ProtocolVariant,
    /// What was chosen and why.
    pub choice: SharingChoice,
    /// The plan that was predicted to take the least time.
    pub planned: PlannedFile,
}

/// Plans a program with sharings under a variant.
pub type Planning<'a> = &'a dyn Fn(&TracedFile, ProtocolVariant) -> Result<PlannedFile, Failure>;

/// Chooses sharings for `traced`; nothing if the protocol or the program leaves none open, if the parties want the program as
/// it is, or if there is too little memory to compare choices.
///
/// # Errors
/// If a file fails.
pub fn choose(
    traced: &TracedFile,
    (protocol, variant): (Protocol, ProtocolVariant),
    (net, limit_bytes): (Option<NetworkModel>, u64),
    scratch: &Scratch,
    plan: Planning<'_>,
) -> Result<Option<Chosen>, Failure> {
    if !is_open(protocol, variant, traced) || limit_bytes < COMPARED_FROM_BYTES {
        return Ok(None);
    }
    let memory = ((limit_bytes / LIMIT_PARTS).min(PLANNER_MEMORY_BYTES), scratch);
    let network = SharingSetting {
        rule: SharingRule::Boolean,
        round_trip_ns: net.map_or(0, |net| net.rtt.as_nanos() as u64),
        bits_per_second: net.and_then(|net| net.bandwidth_bits_per_second).unwrap_or(0),
    };
    let model = match sharing_model(traced, (protocol, variant), network, memory) {
        Ok(model) => model,
        Err(failure) if failure.is_of_planning() => return Ok(None),
        Err(failure) => return Err(failure),
    };
    if !model.has_choices() {
        return Ok(None);
    }
    let instructions = instruction_count(traced)?;
    let (mut best, mut times): (Option<Chosen>, Vec<(SharingRule, f64)>) = (None, Vec::new());
    for (rule, chosen) in candidates(&model, instructions) {
        let setting = SharingSetting { rule, ..network };
        let variant = ProtocolVariant { sharings: Some(setting), ..variant };
        let written = match rule {
            SharingRule::Boolean => traced.clone(),
            SharingRule::Garbled | SharingRule::Arithmetic | SharingRule::Cheapest(..) => {
                match with_sharings(traced, &chosen, memory) {
                    Ok(written) => written,
                    Err(failure) if failure.is_of_planning() => continue,
                    Err(failure) => return Err(failure),
                }
            }
        };
        let Ok(planned) = plan(&written, variant) else { continue };
        let seconds = predict(&planned, net).whole.total();
        let is_better = times.iter().all(|&(_, other)| seconds < other);
        times.push((rule, seconds));
        if is_better {
            let parts = parts(&model, &chosen);
            let (is_assumed, candidates) = (net.is_none(), Vec::new());
            let choice = SharingChoice { setting, is_assumed, candidates, parts };
            best = Some(Chosen { traced: written, variant, choice, planned });
        }
    }
    if let Some(chosen) = &mut best {
        let rule = chosen.choice.setting.rule;
        let own = times.iter_mut().find(|(other, _)| *other == rule);
        try_masks(chosen, &mut own.expect("it was noted").1, net, plan);
    }
    times.sort_by(|a, b| a.1.total_cmp(&b.1));
    Ok(best.map(|chosen| Chosen {
        choice: SharingChoice { candidates: times, ..chosen.choice },
        ..chosen
    }))
}

/// Converts garbled values to arithmetic shares by masks if that takes less than `seconds`.
fn try_masks(
    chosen: &mut Chosen,
    seconds: &mut f64,
    net: Option<NetworkModel>,
    plan: Planning<'_>,
) {
    let conversions = chosen.planned.plan().costs.get(totals::GARBLED_TO_ARITHMETIC).copied();
    if !chosen.variant.compares_masks || conversions.unwrap_or(0) == 0 {
        return;
    }
    let variant = ProtocolVariant { y2a: YaoToArithmetic::Masks, ..chosen.variant };
    let Ok(planned) = plan(&chosen.traced, variant) else { return };
    let with_masks = predict(&planned, net).whole.total();
    if with_masks < *seconds {
        (chosen.variant, chosen.planned, *seconds) = (variant, planned, with_masks);
    }
}

/// Returns whether sharings are chosen at all.
fn is_open(protocol: Protocol, variant: ProtocolVariant, traced: &TracedFile) -> bool {
    protocol.chooses_sharings()
        && variant.optimisation == Optimisation::On
        && variant.sharings.is_none()
        && traced.kind == FileKind::Program
}

fn instruction_count(traced: &TracedFile) -> Result<u64, Failure> {
    match &traced.blocks {
        None => Ok(traced.file.reader()?.instruction_count()),
        Some(blocks) => {
            let count = |part: &TracedFile| Ok(part.file.reader()?.instruction_count());
            blocks.parts.iter().map(count).sum()
        }
    }
}

/// Rules and what they give, each only once.
fn candidates(model: &SharingModel, instructions: u64) -> Vec<(SharingRule, ChosenSharings)> {
    let chosen = |rule: SharingRule| (rule, model.chosen(rule));
    let mut all: Vec<(SharingRule, ChosenSharings)> =
        SharingRule::UNIFORM.into_iter().map(chosen).collect();
    let uniform = all.len();
    let is_long = instructions > INSTRUCTIONS_COMPARED_MAX;
    let most = if is_long { 1 } else { CHEAPEST_MAX };
    // An assignment whose parts all have one sharing, but which moves lanes in another, has other conversions than a uniform
    // one. One such is planned in addition to `most`.
    let mut moved = 0;
    for (rule, chosen) in SharingRule::cheapest().map(chosen) {
        if all.len() == uniform + moved + most {
            break;
        }
        let ChosenSharings::Classes(classes) = &chosen else { continue };
        let is_new = all.iter().all(|(_, known)| *known != chosen) && !model.is_uniform(classes);
        let parts = model.described(classes);
        let is_of_movements = parts.iter().all(|part| part.3 == parts[0].3);
        if is_new && (!is_of_movements || moved == 0) {
            moved += usize::from(is_of_movements);
            all.push((rule, chosen));
        }
        if is_long {
            break;
        }
    }
    let joint = chosen(SharingRule::JOINT);
    let is_new = all.iter().all(|(_, known)| *known != joint.1);
    if let ChosenSharings::Classes(classes) = &joint.1
        && is_new
        && !model.is_uniform(classes)
    {
        all.push(joint);
    }
    if is_long {
        let given: Vec<ChosenSharings> = all.iter().map(|(_, chosen)| chosen.clone()).collect();
        let estimates = model.estimates(&given);
        let least = estimates.iter().min().copied().unwrap_or(0);
        let mut estimates = estimates.into_iter();
        all.retain(|_| estimates.next().is_some_and(|cost| cost / TOO_DEAR <= least));
    }
    all
}

fn parts(model: &SharingModel, chosen: &ChosenSharings) -> Vec<SharedPart> {
    let ChosenSharings::Classes(classes) = chosen else { return Vec::new() };
    let parts = model.described(classes).into_iter();
    parts
        .map(|(op, width, instructions, sharing)| SharedPart { op, width, instructions, sharing })
        .collect()
}
