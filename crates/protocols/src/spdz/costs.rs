//! Costs of a run on authenticated shares: exact totals of an ordered program, and predicted time.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Seek};

use phineus_bytecode::layout::element_count;
use phineus_bytecode::{
    BlockCosts, CostModel, Description, Instruction, Op, Phase, PlanDescription, ProgramReader,
    RoundModel, Settings, Sharing,
};
use phineus_correlated::CorrelatedError;
use phineus_correlated::authenticated::MatrixSize;
use phineus_correlated::demand::BatchScale;
use phineus_correlated::mascot::costs::{PartyPair, demand_costs, setup_costs};
use phineus_correlated::mascot::{Demand, Kind};
use phineus_correlated::semi_honest::costs::PairCosts;
use phineus_crypto::field::{F32, F61, F128, Field, FieldName};
use phineus_ot::FieldBits;

use super::Masks;
use super::check::{check_cost, confirm_cost, message_bytes};
use super::distance::checks_of_batch;
use super::operations::{Method, SpdzRounds, matrix_size, method};
use super::script::Script;
use super::settings::SpdzSettings;
use crate::mixed::totals as shared;

/// The names of the totals that other protocols on shares do not have.
pub mod totals {
    use phineus_correlated::authenticated::MatrixSize;

    /// Multiplication triples.
    pub const TRIPLES: &str = "triples";
    /// Square pairs.
    pub const SQUARES: &str = "squares";
    /// Shared random bits.
    pub const BITS: &str = "random_bits";
    /// Sums of a bounded integer of each party.
    pub const BOUNDED: &str = "bounded_integers";
    /// Rounds that check MACs.
    pub const CHECK_ROUNDS: &str = "check_rounds";
    /// Checks of MACs.
    pub const MAC_CHECKS: &str = "mac_checks";
    /// Openings under masks of shared bits over the whole field.
    pub const WHOLE_OPENINGS: &str = "whole_mask_openings";
    /// Batches of bounded integers, each with a proof of each party.
    pub const BOUNDED_BATCHES: &str = "bounded_integer_batches";
    /// Batches of bits that a party knows, each with a proof.
    pub const BIT_MASK_BATCHES: &str = "bit_mask_batches";
    /// Checks in making correlated randomness that a lie passes with probability 1/p.
    pub const PREPROCESSING_CHECKS: &str = "material_checks";
    /// Elements opened to all.
    pub const OPENED: &str = "opened_elements";

    /// Payload bytes that a party receives in the online phase.
    pub fn online_received_bytes(party: usize) -> String {
        format!("online_received_bytes_{party}")
    }

    /// Input masks of a party.
    pub fn masks(party: usize) -> String {
        format!("masks_{party}")
    }

    /// Bits that a party knows.
    pub fn bit_masks(party: usize) -> String {
        format!("bit_masks_{party}")
    }

    /// Matrix triples of a size; with one vector that is not said.
    pub fn matrices(size: MatrixSize) -> String {
        let MatrixSize { rows, cols, vectors } = size;
        match vectors {
            1 => format!("matrices_{rows}_{cols}"),
            _ => format!("matrices_{rows}_{cols}_{vectors}"),
        }
    }
}

/// The name of a kind's total.
fn name_of(kind: Kind) -> String {
    match kind {
        Kind::Triple => totals::TRIPLES.to_owned(),
        Kind::Square => totals::SQUARES.to_owned(),
        Kind::Bit => totals::BITS.to_owned(),
        Kind::Mask { owner } => totals::masks(usize::from(owner)),
        Kind::BitMask { owner } => totals::bit_masks(usize::from(owner)),
        Kind::Bounded => totals::BOUNDED.to_owned(),
        Kind::Matrix(size) => totals::matrices(size),
    }
}

/// The correlated randomness that the totals of a plan state.
pub fn stated_demand(plan: &PlanDescription) -> Demand {
    demand_of_totals(&plan.costs, SpdzSettings::stated(plan).batch_halvings)
}

/// Demand that totals state, in batches of this size.
pub fn demand_of_totals(totals: &BTreeMap<String, u64>, scale: BatchScale) -> Demand {
    let mut demand = Demand::scaled(scale);
    for (name, &count) in totals {
        let kind = match name.as_str() {
            totals::TRIPLES => Some(Kind::Triple),
            totals::SQUARES => Some(Kind::Square),
            totals::BITS => Some(Kind::Bit),
            totals::BOUNDED => Some(Kind::Bounded),
            _ => mask_or_matrix(name),
        };
        if let Some(kind) = kind {
            demand.add(kind, count as usize);
        }
    }
    demand
}

fn mask_or_matrix(name: &str) -> Option<Kind> {
    if let Some(owner) = name.strip_prefix("masks_") {
        return Some(Kind::Mask { owner: owner.parse().ok()? });
    }
    if let Some(owner) = name.strip_prefix("bit_masks_") {
        return Some(Kind::BitMask { owner: owner.parse().ok()? });
    }
    let mut sides = name.strip_prefix("matrices_")?.split('_').map(|side| side.parse().ok());
    let (rows, cols) = (sides.next()??, sides.next()??);
    let vectors = sides.next().unwrap_or(Some(1))?;
    sides.next().is_none().then_some(Kind::Matrix(MatrixSize { rows, cols, vectors }))
}

/// Amounts that the instructions of an ordered program need and open.
struct ProgramCounts {
    parties: usize,
    model: SpdzRounds,
    /// Openings under masks of the whole field.
    whole_openings: u64,
}

impl ProgramCounts {
    fn new(parties: usize, field: FieldName, masks: Masks) -> ProgramCounts {
        let model = SpdzRounds::new(field, parties).with_masks(masks);
        ProgramCounts { parties, model, whole_openings: 0 }
    }

    /// Calls `need` for the correlated randomness of an instruction; returns how many elements it
    /// opens, and how many its owner tells.
    fn step(
        &mut self,
        instruction: &Instruction,
        description: &Description,
        mut need: impl FnMut(Kind, usize),
    ) -> (u64, u64) {
        let count = element_count(instruction.shape()) as usize;
        match (instruction.op, instruction.phase) {
            (Op::Round, _) | (_, Phase::Finish) => (0, 0),
            (Op::Output, _) => {
                let learners = &description.outputs[instruction.immediates[0] as usize].parties;
                if learners.len() == self.parties {
                    return (count as u64, 0);
                }
                learners.iter().for_each(|&owner| need(Kind::Mask { owner }, count));
                ((learners.len() * count) as u64, 0)
            }
            // A script without rounds needs nothing.
            (_, Phase::Whole) => (0, 0),
            (_, Phase::Issue) => self.issue(instruction, description, need),
        }
    }

    fn issue(
        &mut self,
        instruction: &Instruction,
        description: &Description,
        mut need: impl FnMut(Kind, usize),
    ) -> (u64, u64) {
        match method(instruction) {
            Method::Linear | Method::Movement => (0, 0),
            Method::Input => {
                let count = element_count(instruction.shape()) as usize;
                let owner = description.inputs[instruction.immediates[0] as usize].party;
                let kind = match instruction.element.sharing() {
                    Sharing::Arithmetic => Kind::Mask { owner },
                    _ => Kind::BitMask { owner },
                };
                need(kind, count);
                (0, count as u64)
            }
            Method::Zeros => (element_count(instruction.shape()).into(), 0),
            Method::MatMul => {
                let size = matrix_size(instruction);
                need(Kind::Matrix(size), 1);
                ((size.entries() + size.factors()) as u64, 0)
            }
            Method::Script => {
                let (script, lanes) = self.model.scripts.of(instruction);
                self.whole_openings += u64::from(script.whole_count) * lanes as u64;
                (script_needs(&script, lanes, need), 0)
            }
        }
    }
}

/// Calls `need` for what a script takes on so many lanes; returns how many elements it opens.
fn script_needs(script: &Script, lanes: usize, mut need: impl FnMut(Kind, usize)) -> u64 {
    need(Kind::Bit, script.bit_count as usize * lanes);
    need(Kind::Bounded, script.bounded_count as usize * lanes);
    let mut opened = 0;
    for level in &script.levels {
        let amounts = level.amounts();
        need(Kind::Triple, amounts.products * lanes);
        need(Kind::Square, amounts.squares * lanes);
        opened += (amounts.opened() * lanes) as u64;
    }
    opened
}

/// The correlated randomness that a planned program needs, in about the order in which it needs it,
/// and the same for all parties.
pub struct PlanDemand<R> {
    planned: ProgramReader<R>,
    walk: ProgramCounts,
    frame: usize,
    instructions: Vec<Instruction>,
    found: VecDeque<(Kind, usize)>,
}

impl<R: Read + Seek> PlanDemand<R> {
    /// Of `planned`, for so many parties.
    pub fn new(planned: ProgramReader<R>, parties: usize, field: FieldName) -> PlanDemand<R> {
        let walk = ProgramCounts::new(parties, field, Masks::of(planned.description()));
        PlanDemand { planned, walk, frame: 0, instructions: Vec::new(), found: VecDeque::new() }
    }
}

impl<R: Read + Seek> Iterator for PlanDemand<R> {
    type Item = Result<(Kind, usize), CorrelatedError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(need) = self.found.pop_front() {
                return Some(Ok(need));
            }
            if self.frame == self.planned.frame_count() {
                return None;
            }
            if let Err(error) = self.planned.read_frame(self.frame, &mut self.instructions) {
                self.frame = self.planned.frame_count();
                return Some(Err(error.into()));
            }
            self.frame += 1;
            for instruction in &self.instructions {
                let found = &mut self.found;
                self.walk.step(instruction, self.planned.description(), |kind, count| {
                    if count > 0 {
                        found.push_back((kind, count));
                    }
                });
            }
        }
    }
}

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
                Method::Input => 0,
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
        if (self.outputs_wait || is_narrow) && self.pending {
            self.check();
        }
        self.rounds += 1;
        self.held_bytes[OUTPUTS] = 0;
        // What is opened was counted when it was issued: this is what comes with it.
        self.common_bytes += message_bytes(self.element_bytes, 0, 0, true, self.pending);
        self.pending = true;
        if self.outputs_wait {
            self.check();
            self.outputs_wait = false;
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
            _ => {}
        }
        if told > 0 {
            let owner = description.inputs[instruction.immediates[0] as usize].party;
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
