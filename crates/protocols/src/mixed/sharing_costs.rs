//! [`MixedSharingCosts`]: what an instruction costs in each sharing, for the choice of sharings.
//!
//! The openings, keys, gates and correlated randomness are those of [`CostReplay`], and their times and bytes those of
//! [`super::MixedCosts`]. Left out is what does not depend on sharings: set-up, and batches that are not full.

use std::collections::HashMap;

use phineus_bytecode::layout::SHARE_UNIT_BYTES;
use phineus_bytecode::{ElementType, Instruction, Op, Phase, RoundModel, SharingCosts, StepCost};
use phineus_correlated::demand::BatchScale;
use phineus_correlated::semi_honest::Kind;
use phineus_correlated::semi_honest::costs::{PartyPair, kind_costs, ots_of_a_party};
use phineus_crypto::GarbledGate;
use phineus_ot::{FieldBits, LpnParameters, OtKind};

use super::costs::{NS_PER_INSTRUCTION, NS_PER_OT, NS_PER_ROUND, NS_PER_SILENT_OT};
use super::half_gates::entering_bytes;
use super::replay::CostReplay;
use super::templates::{GarblingScheme, MixedRounds, YaoToArithmetic};
use crate::bmr::costs::{GarbledAmounts, evaluation_ns, garbling_costs, garbling_ns};

/// Correlated randomness and gates whose bytes are counted: so many that what a batch has besides them is little.
const COUNTED: usize = 1 << 18;

/// Instructions whose costs are known are forgotten when there are more than this.
const KNOWN_MAX: usize = 1 << 14;

/// Bytes of one item on a link, in 2^-10 bytes.
const PARTS_OF_A_BYTE: u64 = 1 << 10;

/// Parameters of the choice besides the program.
#[derive(Clone, Copy, Debug)]
pub struct SharingTerms {
    /// How many parties compute.
    pub parties: usize,
    /// Whether preprocessing uses silent OT.
    pub is_silent: bool,
    /// How garbled values become additive.
    pub y2a: YaoToArithmetic,
    /// How they are garbled.
    pub scheme: GarblingScheme,
    /// Nanoseconds from question to answer.
    pub round_trip_ns: u64,
    /// Bits that a link carries in a second each way; 0 if nothing limits it.
    pub bits_per_second: u64,
}

/// Costs of instructions in each sharing.
pub struct MixedSharingCosts {
    terms: SharingTerms,
    rounds: MixedRounds,
    replay: CostReplay,
    /// Picoseconds and parts of a byte for one item.
    kinds: HashMap<Kind, (u64, u64)>,
    gate: (u64, u64),
    known: HashMap<Instruction, StepCost>,
}

impl MixedSharingCosts {
    /// Under these terms.
    pub fn new(terms: SharingTerms) -> MixedSharingCosts {
        let SharingTerms { parties, y2a, scheme, .. } = terms;
        let garbled = GarbledAmounts { gates: COUNTED as u64, decoding_bytes: 0 };
        let bytes = |party| {
            let sizes = (FieldBits::DEFAULT, BatchScale::FULL);
            garbling_costs(party, parties, garbled, sizes).sent_bytes
        };
        let most = (0..parties).map(bytes).max().unwrap_or(0);
        let parts = most / (parties as u64 - 1) * PARTS_OF_A_BYTE / COUNTED as u64;
        let gate_ps = 1000 * (garbling_ns(parties) + evaluation_ns(parties));
        MixedSharingCosts {
            terms,
            rounds: MixedRounds::new(parties).with_y2a(y2a).with_scheme(scheme),
            replay: CostReplay::new(parties).with_scheme(scheme),
            kinds: HashMap::new(),
            gate: match scheme {
                GarblingScheme::Joint => (gate_ps, parts),
                // What instructions take counts their gates.
                GarblingScheme::HalfGates => (0, GarbledGate::BYTES as u64 * PARTS_OF_A_BYTE),
            },
            known: HashMap::new(),
        }
    }

    /// Picoseconds to send parts of a byte over a link.
    fn sending_ps(&self, parts: u64) -> u64 {
        match self.terms.bits_per_second {
            0 => 0,
            bits => {
                let ps = u128::from(parts) * 8 * 1_000_000_000_000 / u128::from(PARTS_OF_A_BYTE);
                (ps / u128::from(bits)).min(u128::from(u64::MAX)) as u64
            }
        }
    }

    /// Picoseconds of making one item, and parts of a byte that it takes.
    fn kind(&mut self, kind: Kind) -> (u64, u64) {
        let SharingTerms { parties, is_silent, .. } = self.terms;
        *self.kinds.entry(kind).or_insert_with(|| {
            // One point function takes as many leaves as it has.
            let count = if matches!(kind, Kind::PointFunction { .. }) { 16 } else { COUNTED };
            let ot = match is_silent {
                true => OtKind::Silent(LpnParameters::for_ots(1 << 24)),
                false => FieldBits::DEFAULT.into(),
            };
            let costs = kind_costs(kind, count, PartyPair::of(0, 1, parties), ot);
            let bytes = costs.from_lower_bytes.max(costs.from_higher_bytes);
            let ots = ots_of_a_party(kind, count, parties) as u64;
            let each_ns = NS_PER_OT + if is_silent { NS_PER_SILENT_OT } else { 0 };
            let count = count as u64;
            (ots * each_ns * 1000 / count, bytes * PARTS_OF_A_BYTE / count)
        })
    }

    fn compute(&mut self, i: &Instruction) -> StepCost {
        let rounds = self.rounds.interaction(i).rounds;
        let gates = self.replay.garbled_gates;
        let decoding = self.replay.decoding_bytes;
        let (mut parts, mut entering) = (0, 0);
        match rounds {
            0 => self.replay.step(i),
            _ => {
                self.replay.step(&i.part(Phase::Issue));
                let round = Instruction::new(Op::Round, ElementType::BIT, 1);
                for _ in 0..rounds {
                    let opened = self.replay.all_opened_bits();
                    let private =
                        self.replay.private().map(|(_, _, bytes)| bytes).max().unwrap_or(0);
                    let keys = (self.replay.told_keys * SHARE_UNIT_BYTES) as u64;
                    parts += opened * PARTS_OF_A_BYTE / 8 + (private + keys) * PARTS_OF_A_BYTE;
                    entering += self.replay.entering_wires;
                    self.replay.step(&round);
                }
                self.replay.step(&i.part(Phase::Finish));
            }
        }
        let (gate_ps, gate_parts) = self.gate;
        let gates = self.replay.garbled_gates - gates;
        let mut ps = gates * gate_ps
            + 1000
                * match (self.terms.scheme, self.replay.model.garbled(i).duration_ns) {
                    (GarblingScheme::HalfGates, garbled @ 1..) => garbled,
                    (GarblingScheme::HalfGates, 0) | (GarblingScheme::Joint, _) => {
                        NS_PER_INSTRUCTION
                    }
                };
        ps += 1000 * NS_PER_OT * entering as u64;
        parts += entering_bytes(entering) * PARTS_OF_A_BYTE;
        parts += gates * gate_parts;
        parts += (self.replay.decoding_bytes - decoding) * PARTS_OF_A_BYTE;
        while let Some((kind, count)) = self.replay.needs.pop_front() {
            let (made_ps, made_parts) = self.kind(kind);
            ps += made_ps.saturating_mul(count as u64);
            parts += made_parts.saturating_mul(count as u64);
        }
        StepCost { rounds, work_ps: ps.saturating_add(self.sending_ps(parts)) }
    }
}

impl SharingCosts for MixedSharingCosts {
    fn cost(&mut self, i: &Instruction) -> StepCost {
        if let Some(&known) = self.known.get(i) {
            return known;
        }
        let cost = self.compute(i);
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(*i, cost);
        cost
    }

    fn round_ps(&self) -> u64 {
        1000 * (self.terms.round_trip_ns / 2 + NS_PER_ROUND)
    }
}
