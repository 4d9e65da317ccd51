//! Costs of a run on authenticated shares: exact totals of an ordered program, and predicted time.

mod counts;
mod demand;
pub mod totals;

use std::collections::BTreeMap;

use phineus_bytecode::{
    BlockCosts, CostModel, Description, Instruction, Op, Phase, RoundModel, Settings,
};
use phineus_correlated::demand::BatchScale;
use phineus_correlated::mascot::costs::{demand_costs, setup_costs};
use phineus_correlated::mascot::{Demand, Kind};
use phineus_correlated::semi_honest::costs::{PairCosts, PartyPair};
use phineus_crypto::field::{F32, F61, F128, Field, FieldName};
use phineus_engine::OwnPermutations;
use phineus_ot::FieldBits;

use super::Masks;
use super::check::{check_cost, confirm_cost, message_bytes};
use super::distance::checks_of_batch;
use super::operations::{Method, method};
use super::settings::SpdzSettings;
use crate::mixed::totals as shared;

pub use counts::PlanDemand;
use counts::ProgramCounts;
use demand::name_of;
pub use demand::{demand_of_totals, stated_demand};

/// Nanoseconds of computation for a round, besides what it opens.
const NS_PER_ROUND: u64 = 25_000;

/// For an instruction, besides its elements.
const NS_PER_INSTRUCTION: u64 = 400;

/// To open an element, with its check.
const NS_PER_OPENED: u64 = 12;

/// For an oblivious transfer of preprocessing, with what is done to its outcome.
const NS_PER_OT: u64 = 45;

/// Time of an OT in batches of a quarter or less, whose rows are shorter than a tile of OTs.
const NS_PER_OT_OF_SMALL: u64 = 110;

/// Nanoseconds of set-up with one other party: base OTs in both directions, the keys that are shared
/// with them, and the first, smallest batches: `millionaires` runs for 60 ms on one machine, of which 7 are
/// counted otherwise.
const SETUP_NS: u64 = 50_000_000;

/// To make a bit that a party knows, and a bounded integer.
const fn chosen_ns(field: FieldName) -> [u64; 2] {
    match field {
        FieldName::F32 => [80, 1_000],
        FieldName::F61 => [200, 5_400],
        FieldName::F128 => [1_300, 45_000],
    }
}

/// The cost model of computation on authenticated shares.
pub struct SpdzCosts {
    parties: usize,
    element_bytes: usize,
    field: FieldName,
    masks: Masks,
    walk: ProgramCounts,
    demand: Demand,
    rounds: u64,
    check_rounds: u64,
    checks: u64,
    /// Bytes from each party to each other for everything but what it tells of inputs.
    common_bytes: u64,
    /// Bytes that each party tells each other of its inputs.
    told_bytes: Vec<u64>,
    opened: u64,
    /// Whether something was opened since the last check; whether an output waits.
    pending: bool,
    outputs_wait: bool,
    /// Whether a value waits that is opened into a register.
    reveals_wait: bool,
    /// Whether something hides behind a bounded integer in what is opened next.
    is_narrow: bool,
    /// Of inputs, products of matrices, all else, and outputs. Each has buffers that stay as large as
    /// they ever were, so it is their peaks that add up.
    held_bytes: [u64; 4],
    peak_held_bytes: [u64; 4],
    /// Of the scripts of blocks, and the largest one.
    script_bytes: [u64; 2],
    compute_ns: u64,
    /// Demands of blocks, and the number of their runs; `demand` is their sum.
    blocks: Vec<(Demand, u64)>,
}

/// The place of outputs among what is held.
const OUTPUTS: usize = 3;

impl SpdzCosts {
    /// For so many parties and this field.
    pub fn new(parties: usize, field: FieldName) -> SpdzCosts {
        SpdzCosts {
            parties,
            element_bytes: field.bytes(),
            field,
            masks: Masks::Narrow,
            walk: ProgramCounts::new(parties, field, Masks::Narrow),
            demand: Demand::default(),
            rounds: 0,
            check_rounds: 0,
            checks: 0,
            common_bytes: 0,
            told_bytes: vec![0; parties],
            opened: 0,
            pending: false,
            outputs_wait: false,
            reveals_wait: false,
            is_narrow: false,
            held_bytes: [0; 4],
            peak_held_bytes: [0; 4],
            script_bytes: [0; 2],
            compute_ns: 0,
            blocks: Vec::new(),
        }
    }

    /// Sets the size of the batches of correlated randomness.
    #[must_use]
    pub fn with_scale(self, scale: BatchScale) -> SpdzCosts {
        SpdzCosts { demand: Demand::scaled(scale), ..self }
    }

    /// Costs if comparisons use these masks.
    #[must_use]
    pub fn with_masks(self, masks: Masks) -> SpdzCosts {
        let walk = ProgramCounts::new(self.parties, self.field, masks);
        SpdzCosts { masks, walk, ..self }
    }

    /// Batches of bounded integers and of bits that a party knows, and checks of all correlated
    /// randomness that a lie passes with probability 1/p.
    fn batch_checks(&self) -> [u64; 3] {
        let mut sums = [0; 3];
        self.for_demands(|demand, times| {
            for (kind, _) in demand.batches() {
                sums[0] += if kind == Kind::Bounded { times } else { 0 };
                sums[1] += if matches!(kind, Kind::BitMask { .. }) { times } else { 0 };
                sums[2] += times * checks_of_batch(kind, self.parties);
            }
        });
        sums
    }

    /// Calls `with` for each demand and how often it is made: each run of a block has its own batches.
    fn for_demands(&self, mut with: impl FnMut(&Demand, u64)) {
        match &self.blocks[..] {
            [] => with(&self.demand, 1),
            blocks => blocks.iter().for_each(|(demand, times)| with(demand, *times)),
        }
    }

    /// Bytes of all scripts, and of the largest one.
    fn script_bytes(&self) -> [u64; 2] {
        let ([sum, largest], [own, own_largest]) =
            (self.script_bytes, self.walk.model.scripts.memory_bytes());
        [sum + own, largest.max(own_largest)]
    }

    fn hold(&mut self, instruction: &Instruction) {
        let interaction = self.walk.model.interaction(&instruction.part(Phase::Whole));
        let of = match instruction.op {
            Op::Output => OUTPUTS,
            _ => match method(instruction) {
                Method::Input | Method::Switches => 0,
                Method::MatMul => 1,
                _ => 2,
            },
        };
        match instruction.phase {
            // Until the round ends.
            Phase::Whole if of == OUTPUTS => self.held_bytes[of] += interaction.held_bytes,
            Phase::Issue => self.held_bytes[of] += interaction.held_bytes,
            Phase::Finish => self.held_bytes[of] -= interaction.held_bytes,
            Phase::Whole => {}
        }
        self.peak_held_bytes[of] = self.peak_held_bytes[of].max(self.held_bytes[of]);
    }

    /// Bytes that two parties send each other to make all correlated randomness, including set-up.
    fn pair(&self, pair: PartyPair) -> PairCosts {
        fn costs<F: Field>(demands: &[(Demand, u64)], pair: PartyPair) -> PairCosts {
            let ot = FieldBits::DEFAULT;
            let mut costs = setup_costs::<F>(ot);
            for (demand, times) in demands {
                costs.add_times(demand_costs::<F>(demand, ot, pair), *times);
            }
            costs
        }
        // Each run of a block has batches of its own.
        let whole = [(self.demand.clone(), 1)];
        let demands = if self.blocks.is_empty() { &whole[..] } else { &self.blocks };
        match self.field {
            FieldName::F61 => costs::<F61>(demands, pair),
            FieldName::F32 => costs::<F32>(demands, pair),
            FieldName::F128 => costs::<F128>(demands, pair),
        }
    }

    fn check(&mut self) {
        let (rounds, bytes) = check_cost(self.element_bytes, self.pending);
        self.check_rounds += rounds;
        self.checks += 1;
        self.common_bytes += bytes;
        self.pending = false;
    }

    fn round(&mut self) {
        let is_narrow = std::mem::take(&mut self.is_narrow);
        let is_open =
            std::mem::take(&mut self.outputs_wait) | std::mem::take(&mut self.reveals_wait);
        if (is_open || is_narrow) && self.pending {
            self.check();
        }
        self.rounds += 1;
        self.held_bytes[OUTPUTS] = 0;
        // What is opened was counted when it was issued: this is what comes with it.
        self.common_bytes += message_bytes(self.element_bytes, 0, 0, true, self.pending);
        self.pending = true;
        if is_open {
            self.check();
        }
    }
}

impl CostModel for SpdzCosts {
    fn settings(&self) -> Settings {
        let batch_halvings = self.demand.scale();
        SpdzSettings { masks: self.masks, batch_halvings }.to_stored()
    }

    fn duration_ns(&mut self, instruction: &Instruction) -> u64 {
        match instruction.op {
            Op::Round => NS_PER_ROUND,
            _ => NS_PER_INSTRUCTION,
        }
    }

    fn count(&mut self, instruction: &Instruction, description: &Description) {
        let (demand, is_narrow) = (&mut self.demand, &mut self.is_narrow);
        let (opened, told) = self.walk.step(instruction, description, |kind, count| {
            demand.add(kind, count);
            *is_narrow |= kind == Kind::Bounded && count > 0;
        });
        match instruction.op {
            Op::Round => self.round(),
            Op::Output => self.outputs_wait = true,
            Op::Reveal if instruction.phase == Phase::Issue => self.reveals_wait = true,
            _ => {}
        }
        if told > 0 {
            let owner = match instruction.op {
                Op::Switches => OwnPermutations::owner(description, instruction),
                _ => description.inputs[instruction.immediates[0] as usize].party,
            };
            self.told_bytes[usize::from(owner)] += told * self.element_bytes as u64;
        }
        self.opened += opened;
        self.common_bytes += opened * self.element_bytes as u64;
        if instruction.op != Op::Round {
            self.hold(instruction);
        }
        self.compute_ns += self.duration_ns(instruction) + opened * NS_PER_OPENED;
    }

    fn totals(&self, _: &Description) -> BTreeMap<String, u64> {
        let mut entries = BTreeMap::new();
        let others = self.parties as u64 - 1;
        let (confirm_rounds, confirm_bytes) = confirm_cost(self.parties);
        let common_bytes = self.common_bytes + confirm_bytes;
        let told: u64 = self.told_bytes.iter().sum();
        let mut making = vec![(0, 0); self.parties];
        let (mut ots, mut making_rounds) = (0, 0);
        for lower in 0..self.parties {
            for higher in lower + 1..self.parties {
                let pair = self.pair(PartyPair { lower, higher, parties: self.parties });
                making[lower].0 += pair.from_lower_bytes;
                making[lower].1 += pair.from_higher_bytes;
                making[higher].0 += pair.from_higher_bytes;
                making[higher].1 += pair.from_lower_bytes;
                ots = ots.max(pair.ots);
                making_rounds = making_rounds.max(pair.rounds);
            }
        }
        for (party, (made_sent, made_received)) in making.into_iter().enumerate() {
            let own = self.told_bytes[party];
            let sent = others * (common_bytes + own);
            let received = others * common_bytes + told - own;
            entries.insert(shared::online_bytes(party), sent);
            entries.insert(totals::online_received_bytes(party), received);
            entries.insert(shared::sent_bytes(party), sent + made_sent);
            entries.insert(shared::received_bytes(party), received + made_received);
        }
        for (kind, count) in self.demand.kinds() {
            entries.insert(name_of(kind), count as u64);
        }
        let is_small = self.demand.scale().halvings() >= 2;
        let making_ns = ots * others * if is_small { NS_PER_OT_OF_SMALL } else { NS_PER_OT };
        let [of_bit, of_bounded] = chosen_ns(self.field);
        let chosen_ns = self.demand.kinds().map(|(kind, count)| match kind {
            Kind::BitMask { .. } => count as u64 * of_bit,
            Kind::Bounded => count as u64 * of_bounded,
            _ => 0,
        });
        let setup_ns = if ots > 0 { SETUP_NS * others } else { 0 };
        let making_ns = making_ns + setup_ns + chosen_ns.sum::<u64>() * others;
        let [script_bytes, largest_script_bytes] = self.script_bytes();
        let [bounded_batches, bit_mask_batches, preprocessing_checks] = self.batch_checks();
        for (name, value) in [
            (totals::MAC_CHECKS, self.checks),
            (totals::WHOLE_OPENINGS, self.walk.whole_openings),
            (totals::BOUNDED_BATCHES, bounded_batches),
            (totals::BIT_MASK_BATCHES, bit_mask_batches),
            (totals::PREPROCESSING_CHECKS, preprocessing_checks),
            (totals::CHECK_ROUNDS, self.check_rounds + confirm_rounds),
            (totals::OPENED, self.opened),
            (shared::ROUNDS, self.rounds),
            (shared::HELD_BYTES, self.peak_held_bytes.iter().sum()),
            (shared::CIRCUIT_BYTES, script_bytes),
            (shared::LARGEST_CIRCUIT_BYTES, largest_script_bytes),
            (shared::OTS, ots),
            (shared::PREPROCESSING_ROUNDS, making_rounds),
            (shared::COMPUTE_NS, self.compute_ns + making_ns),
            (shared::PREPROCESSING_NS, making_ns),
            (shared::SETUP_NS, setup_ns),
        ] {
            entries.insert(name.to_owned(), value);
        }
        entries
    }
}

impl BlockCosts for SpdzCosts {
    fn end_block(&mut self) {
        if self.pending {
            self.check();
        }
    }

    fn add_block(&mut self, block: &SpdzCosts, times: u64) {
        self.blocks.push((block.demand.clone(), times));
        for (kind, count) in block.demand.kinds() {
            self.demand.add(kind, count * times as usize);
        }
        self.rounds += block.rounds * times;
        self.check_rounds += block.check_rounds * times;
        self.checks += block.checks * times;
        self.walk.whole_openings += block.walk.whole_openings * times;
        self.common_bytes += block.common_bytes * times;
        let told = self.told_bytes.iter_mut().zip(&block.told_bytes);
        told.for_each(|(sum, bytes)| *sum += bytes * times);
        self.opened += block.opened * times;
        self.peak_held_bytes = self.peak_held_bytes.max(block.peak_held_bytes);
        let [scripts, largest] = block.script_bytes();
        // At the most: two blocks may have scripts in common.
        self.script_bytes = [self.script_bytes[0] + scripts, self.script_bytes[1].max(largest)];
        self.compute_ns += block.compute_ns * times;
    }
}
