//! Totals that a plan on shares states: its correlated randomness, the order in which it is needed,
//! and its settings.

use std::io::{Read, Seek};

use phineus_bytecode::{Description, Instruction, PlanDescription, ProgramReader};
use phineus_correlated::semi_honest::costs::ots_of_a_direction;
use phineus_correlated::semi_honest::limits::BATCHES_BEGUN;
use phineus_correlated::semi_honest::{Demand, Kind};
use phineus_ot::{FieldBits, LpnParameters, OtKind};

use super::costs::totals;
use super::replay::CostReplay;
use super::settings::MixedSettings;

/// The beginning of the names of totals of triples with a known bit.
const KNOWN_TRIPLES: &str = "known_triples_";

/// The beginning of the names of totals of point functions.
pub const POINT_FUNCTIONS: &str = "point_functions_";

/// The name of a kind's total.
pub(super) fn name_of(kind: Kind) -> String {
    match kind {
        Kind::BitTriple => totals::AND_GATES.to_owned(),
        Kind::RingTriple { width } => format!("triples_{width}"),
        Kind::SquarePair { width } => format!("square_pairs_{width}"),
        Kind::SharedBit { width } => format!("shared_bits_{width}"),
        Kind::KnownTriple { owner, width } => format!("{KNOWN_TRIPLES}{width}_of_{owner}"),
        Kind::PointFunction { bits } => format!("{POINT_FUNCTIONS}{bits}"),
    }
}

/// The owner and the width of triples with a known bit of which a plan states a total.
pub fn known_triples(name: &str) -> Option<(u16, u16)> {
    let (width, owner) = name.strip_prefix(KNOWN_TRIPLES)?.split_once("_of_")?;
    Some((owner.parse().ok()?, width.parse().ok()?))
}

/// The demand that the totals of a plan state.
///
/// # Panics
/// If the program is not planned for shares.
pub fn demand(description: &Description) -> Demand {
    stated_demand(description.plan.as_ref().expect("the program is planned"))
}

/// Whether a plan needs any correlated randomness.
pub fn needs_correlated_randomness(plan: &PlanDescription) -> bool {
    stated_demand(plan).kinds().next().is_some()
}

/// The OT extension that makes the correlated randomness of a plan.
pub fn ot_kind(plan: &PlanDescription) -> OtKind {
    kind_of(&stated_demand(plan), MixedSettings::stated(plan).ot.is_silent())
}

/// Silent OT is as large as one direction of a pair needs.
pub(super) fn kind_of(demand: &Demand, is_silent: bool) -> OtKind {
    match is_silent {
        true => OtKind::Silent(LpnParameters::for_ots(ots_of_a_direction(demand))),
        false => OtKind::SoftSpoken(FieldBits::DEFAULT),
    }
}

/// Bytes of correlated randomness that lie ready at the most.
pub fn ready_randomness_bytes(plan: &PlanDescription) -> u64 {
    stated_demand(plan).ready_bytes(batches_begun(plan))
}

/// Rounds less than stated in which all of it is made just ahead of its use, in a program of one block:
/// batches are begun before those before them are finished.
pub fn overlapped_rounds(plan: &PlanDescription) -> u64 {
    match batches_begun(plan) {
        0 => 0,
        _ => stated_demand(plan).overlapped_rounds(),
    }
}

/// Batches that are in progress at once, at the most.
fn batches_begun(plan: &PlanDescription) -> usize {
    let is_silent = MixedSettings::stated(plan).ot.is_silent();
    match plan.computing == Some(2) && !plan.layout.is_in_field() && !is_silent {
        true => BATCHES_BEGUN,
        false => 0,
    }
}

fn stated_demand(plan: &PlanDescription) -> Demand {
    let mut demand = Demand::scaled(MixedSettings::stated(plan).batch_halvings);
    for (name, &count) in &plan.costs {
        let width = |prefix: &str| name.strip_prefix(prefix).and_then(|width| width.parse().ok());
        let kind = match name.as_str() {
            totals::AND_GATES => Some(Kind::BitTriple),
            _ => width("triples_")
                .map(|width| Kind::RingTriple { width })
                .or(width("square_pairs_").map(|width| Kind::SquarePair { width }))
                .or(width("shared_bits_").map(|width| Kind::SharedBit { width }))
                .or(width(POINT_FUNCTIONS).map(|bits| Kind::PointFunction { bits }))
                .or(known_triples(name).map(|(owner, width)| Kind::KnownTriple { owner, width })),
        };
        if let Some(kind) = kind {
            demand.add(kind, count as usize);
        }
    }
    demand
}

/// Correlated randomness that a planned program needs, in the order in which it needs it.
pub struct PlanDemand<R> {
    planned: ProgramReader<R>,
    replay: CostReplay,
    frame: usize,
    instructions: Vec<Instruction>,
}

impl<R: Read + Seek> PlanDemand<R> {
    /// Of `planned`, for so many parties.
    pub fn new(planned: ProgramReader<R>, parties: usize) -> PlanDemand<R> {
        PlanDemand { planned, replay: CostReplay::new(parties), frame: 0, instructions: Vec::new() }
    }
}

impl<R: Read + Seek> Iterator for PlanDemand<R> {
    type Item = Result<(Kind, usize), phineus_bytecode::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(need) = self.replay.needs.pop_front() {
                return Some(Ok(need));
            }
            if self.frame == self.planned.frame_count() {
                return None;
            }
            if let Err(error) = self.planned.read_frame(self.frame, &mut self.instructions) {
                self.frame = self.planned.frame_count();
                return Some(Err(error));
            }
            self.frame += 1;
            self.instructions.iter().for_each(|instruction| self.replay.step(instruction));
        }
    }
}
