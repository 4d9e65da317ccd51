//! Costs of garbling, exact to the byte.

use std::collections::BTreeMap;

use phineus_bytecode::{CostModel, Description, Instruction, Op};
use phineus_circuits::record::CircuitTemplate;
use phineus_correlated::demand::BatchScale;
use phineus_crypto::Block;
use phineus_engine::bits::Family;
use phineus_ot::{FieldBits, extension_bytes, setup_bytes};

use super::garbler::summed_bytes;
use super::limits::{ROWS, gates_per_batch, planes_kept};
use super::program::SUMS;
use super::{TemplateRows, is_linear};
use crate::templates::{Templates, sum_of_shares};

/// The names of the totals.
pub mod totals {
    /// AND gates on garbled values.
    pub const Y_AND_GATES: &str = "y_and_gates";
    /// Rounds of garbling, if nothing but the network takes time.
    pub const GARBLING_ROUNDS: &str = "garbling_rounds";
    /// Correlated oblivious transfers of each pair of parties.
    pub const GARBLING_OTS: &str = "garbling_ots";
    /// Payload bytes of them and of their set-up, that each party sends and receives.
    pub const GARBLING_OT_BYTES: &str = "garbling_ot_bytes";
    /// Bytes that the largest circuit takes beside the frames, in the garbling pass or (in the plan
    /// of a whole program) in the evaluation.
    pub const SCRATCH_BYTES: &str = "y_scratch_bytes";
    /// Predicted nanoseconds of computation of one party.
    pub const COMPUTE_NS: &str = "compute_ns";

    /// Payload bytes that a party sends to garble.
    pub fn garbling_bytes(party: usize) -> String {
        format!("garbling_bytes_{party}")
    }
}

/// Nanoseconds of a garbled AND for each pair of parties: oblivious transfers and tables; and of
/// each hash, in the garbling as in the evaluation. AES-128, sorting and biometric matching of two parties on two
/// cores take 220 to 240 ns for each AND, everything included (`benches/predictions.py`); by these figures 232.
const NS_PER_AND_AND_PEER: u64 = 160;
const NS_PER_HASH: u64 = 6;

/// Amounts that are garbled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GarbledAmounts {
    /// AND gates.
    pub gates: u64,
    /// Bytes that each party but the first tells it, so that it can decode sums.
    pub decoding_bytes: u64,
}

/// Garbling costs of one party, if anything is garbled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartyCosts {
    /// Payload bytes that it sends.
    pub sent_bytes: u64,
    /// Payload bytes that it receives.
    pub received_bytes: u64,
    /// Messages that wait for one another.
    pub rounds: u64,
    /// Correlated oblivious transfers with each peer, both directions together.
    pub ots: u64,
    /// Bytes of oblivious transfers and their set-up, in each direction; part of the bytes above.
    pub ot_bytes: u64,
}

impl PartyCosts {
    /// Of the set-up among so many parties.
    fn of_set_up(parties: usize, field: FieldBits) -> PartyCosts {
        let peers = parties as u64 - 1;
        let (from_sender, from_receiver) = setup_bytes(field);
        let ot_bytes = peers * (from_sender + from_receiver);
        let bytes = ot_bytes + peers * size_of::<Block>() as u64;
        PartyCosts { sent_bytes: bytes, received_bytes: bytes, rounds: 3, ots: 0, ot_bytes }
    }

    fn add_times(&mut self, other: PartyCosts, times: u64) {
        self.sent_bytes += other.sent_bytes * times;
        self.received_bytes += other.received_bytes * times;
        self.rounds += other.rounds * times;
        self.ots += other.ots * times;
        self.ot_bytes += other.ot_bytes * times;
    }
}

/// The costs of `party` of so many, for what is `garbled`; set-up included.
pub fn garbling_costs(
    party: usize,
    parties: usize,
    garbled: GarbledAmounts,
    sizes: (FieldBits, BatchScale),
) -> PartyCosts {
    garbling_costs_of_blocks(party, parties, &[(garbled, 1)], sizes)
}

/// Garbling costs of blocks with these amounts, each run the given number of times; each run has
/// batches of its own.
pub fn garbling_costs_of_blocks(
    party: usize,
    parties: usize,
    blocks: &[(GarbledAmounts, u64)],
    sizes: (FieldBits, BatchScale),
) -> PartyCosts {
    let mut costs = PartyCosts::of_set_up(parties, sizes.0);
    for &(garbled, times) in blocks {
        costs.add_times(batches_costs(party, parties, garbled, sizes), times);
    }
    costs
}

/// The costs of the batches alone.
fn batches_costs(
    party: usize,
    parties: usize,
    GarbledAmounts { gates, decoding_bytes }: GarbledAmounts,
    (field, scale): (FieldBits, BatchScale),
) -> PartyCosts {
    let peers = parties as u64 - 1;
    let batch = gates_per_batch(parties, scale);
    let (full, rest) = (gates / batch as u64, (gates % batch as u64) as usize);
    let sum = |of: &dyn Fn(usize) -> u64| full * of(batch) + of(rest);
    let bytes = sum(&|gates| batch_bytes(party, parties, gates, field));
    let batches = gates.div_ceil(batch as u64);
    // A batch ends one step after it begins, with three parties or more two.
    let more = if batches == 0 { 0 } else { 2 + u64::from(parties > 2) };
    PartyCosts {
        sent_bytes: bytes + if party == 0 { 0 } else { decoding_bytes },
        received_bytes: bytes + if party == 0 { peers * decoding_bytes } else { 0 },
        rounds: 2 * batches + more,
        ots: 2 * ROWS as u64 * gates,
        ot_bytes: peers * sum(&|gates| ROWS as u64 * extension_bytes(gates as u64, field)),
    }
}

/// Bytes that each party keeps of a gate that was garbled before: the rows of those whose keys it
/// evaluates, and its own key.
pub const fn kept_bytes(parties: usize) -> u64 {
    ((planes_kept(parties) * ROWS + 1) * size_of::<Block>()) as u64
}

/// Bytes that `party` sends for a batch of `gates` gates.
fn batch_bytes(party: usize, parties: usize, gates: usize, field: FieldBits) -> u64 {
    let peers = parties as u64 - 1;
    let ots = ROWS as u64 * extension_bytes(gates as u64, field) + gates.div_ceil(8) as u64;
    let tables = |party| summed_bytes(gates, party, parties).len() as u64;
    let others = (0..parties).filter(|&other| other != party).map(tables).sum::<u64>();
    let sums = if parties == 2 { 0 } else { peers * tables(party) };
    peers * ots + others + sums
}

/// Predicted nanoseconds of garbling an AND.
pub fn garbling_ns(parties: usize) -> u64 {
    NS_PER_AND_AND_PEER * (parties as u64 - 1) + NS_PER_HASH * 4 * parties as u64
}

/// Predicted nanoseconds of evaluating an AND.
pub(crate) fn evaluation_ns(parties: usize) -> u64 {
    NS_PER_HASH * 2 * (parties * (parties - 1)) as u64
}

/// The cost model of a garbling program.
pub struct GarblingCosts {
    parties: usize,
    field: FieldBits,
    scale: BatchScale,
    templates: Templates,
    garbled: GarbledAmounts,
    scratch_bytes: u64,
    compute_ns: u64,
}

impl GarblingCosts {
    /// For so many parties.
    pub fn new(parties: usize) -> GarblingCosts {
        GarblingCosts {
            parties,
            field: FieldBits::DEFAULT,
            scale: BatchScale::FULL,
            templates: Templates::new(Family::FewestAnds),
            garbled: GarbledAmounts::default(),
            scratch_bytes: 0,
            compute_ns: 0,
        }
    }

    /// Sets the size of the batches of tables.
    #[must_use]
    pub fn with_scale(self, scale: BatchScale) -> GarblingCosts {
        GarblingCosts { scale, ..self }
    }

    /// ANDs of an instruction and the bytes of its rows.
    fn measure(&mut self, instruction: &Instruction) -> (u64, u64) {
        let ands = |template: &CircuitTemplate, lanes: usize| (template.and_count() * lanes) as u64;
        match instruction.op {
            Op::Input if instruction.immediates[0] != SUMS => (0, 0),
            Op::Input | Op::Output => {
                let sum = sum_of_shares(instruction, self.parties);
                let (sum, lanes) = (self.templates.of(&sum).0, instruction.lanes as usize);
                (ands(&sum, lanes), TemplateRows::bytes(&sum, 1, lanes))
            }
            _ if is_linear(instruction) => (0, 0),
            _ => {
                let (template, lanes) = self.templates.of(instruction);
                let planes = (1, self.parties);
                (ands(&template, lanes), TemplateRows::part_bytes(&template, planes, lanes))
            }
        }
    }
}

impl CostModel for GarblingCosts {
    fn duration_ns(&mut self, instruction: &Instruction) -> u64 {
        let (gates, _) = self.measure(instruction);
        100 + gates * garbling_ns(self.parties)
    }

    fn count(&mut self, instruction: &Instruction, _: &Description) {
        let (gates, scratch_bytes) = self.measure(instruction);
        self.garbled.gates += gates;
        if instruction.op == Op::Output {
            self.garbled.decoding_bytes += u64::from(instruction.shape().wires().div_ceil(8));
        }
        self.scratch_bytes = self.scratch_bytes.max(scratch_bytes);
        self.compute_ns += self.duration_ns(instruction);
    }

    fn totals(&self, _: &Description) -> BTreeMap<String, u64> {
        let costs =
            |party| garbling_costs(party, self.parties, self.garbled, (self.field, self.scale));
        let mut entries = BTreeMap::new();
        for party in 0..self.parties {
            entries.insert(totals::garbling_bytes(party), costs(party).sent_bytes);
        }
        for (name, value) in [
            (totals::Y_AND_GATES, self.garbled.gates),
            (totals::GARBLING_ROUNDS, costs(0).rounds),
            (totals::GARBLING_OTS, costs(0).ots),
            (totals::GARBLING_OT_BYTES, costs(0).ot_bytes),
            (totals::SCRATCH_BYTES, self.scratch_bytes),
            (totals::COMPUTE_NS, self.compute_ns),
        ] {
            entries.insert(name.to_owned(), value);
        }
        entries
    }
}
