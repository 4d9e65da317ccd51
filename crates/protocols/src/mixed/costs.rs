//! Costs of a run on shares: exact totals of an ordered program, and predicted time.

use std::collections::BTreeMap;

use phineus_bytecode::layout::SHARE_UNIT_BYTES;
use phineus_bytecode::{
    BlockCosts, CostModel, Description, Instruction, Op, Phase, RoundModel, Settings, Sharing,
    SharingSetting,
};
use phineus_correlated::demand::BatchScale;
use phineus_correlated::semi_honest::costs::{
    PairCosts, PartyPair, demand_costs, demands_costs, ots_of_a_direction, ots_of_a_party,
    setup_costs,
};
use phineus_correlated::semi_honest::{Demand, Kind};
use phineus_crypto::GarbledGate;
use phineus_crypto::point_function::PointBits;
use phineus_engine::OwnPermutations;
use phineus_ot::{FieldBits, OtKind};

use super::broadcast::Broadcast;
use super::clock::{BOTH_SEND, RoundClock};
use super::half_gates::{entering_bytes, memory_bytes, set_up_bytes};
use super::replay::CostReplay;
use super::settings::{MixedSettings, OtExtension};
use super::shared_rows::{SharedRows, tree_of};
use super::stated::{kind_of, name_of};
use super::templates::{GarblingScheme, YaoToArithmetic};
use crate::bmr::costs::{
    GarbledAmounts, PartyCosts, garbling_costs_of_blocks, garbling_ns, totals as garbling_totals,
};
use crate::garbled::{EVALUATOR, GARBLER, SETUP_NS as HALF_GATES_SETUP_NS};
use crate::shares::values::sent_share_bytes;

/// The names of the totals.
pub mod totals {
    /// Rounds of the online phase; with half gates also those of their set-up.
    pub const ROUNDS: &str = "rounds";
    /// AND gates on XOR shares, which are also the multiplication triples in `Z_2`.
    pub const AND_GATES: &str = "and_gates";
    /// Bytes that the instructions in flight hold at the most.
    pub const HELD_BYTES: &str = "held_bytes";
    /// Bytes of recorded circuits.
    pub const CIRCUIT_BYTES: &str = "circuit_bytes";
    /// Bytes of the largest of them.
    pub const LARGEST_CIRCUIT_BYTES: &str = "largest_circuit_bytes";
    /// Oblivious transfers of a pair of parties, the most.
    pub const OTS: &str = "ots";
    /// Oblivious transfers for wires that become garbled by half gates; not stated if nothing is garbled so.
    pub const ENTERING_OTS: &str = "y_ots";
    /// Rounds of the preprocessing, if it is made in one go.
    pub const PREPROCESSING_ROUNDS: &str = "preprocessing_rounds";
    /// Values that become additive from garbled ones.
    pub const GARBLED_TO_ARITHMETIC: &str = "y2a_values";
    /// Bytes that each party but the first tells it while garbling, so that it can take masks off.
    pub const DECODING_BYTES: &str = "y2a_decoding_bytes";
    /// Predicted nanoseconds of computation of one party.
    pub const COMPUTE_NS: &str = "compute_ns";
    /// Time for making correlated randomness; part of the time above.
    pub const PREPROCESSING_NS: &str = "preprocessing_ns";
    /// Time of the base OTs, during which everything else waits; part of the time above.
    pub const SETUP_NS: &str = "setup_ns";

    /// Payload bytes that a party sends in all.
    pub fn sent_bytes(party: usize) -> String {
        format!("sent_bytes_{party}")
    }

    /// Payload bytes that a party receives in all.
    pub fn received_bytes(party: usize) -> String {
        format!("received_bytes_{party}")
    }

    /// Bytes of inputs that a client sends to the last computing party.
    pub fn client_input_bytes(party: usize) -> String {
        format!("client_input_bytes_{party}")
    }

    /// Bytes of outputs that each computing party sends to a client.
    pub fn client_output_bytes(party: usize) -> String {
        format!("client_output_bytes_{party}")
    }

    /// Payload bytes that a party sends in the online phase.
    pub fn online_bytes(party: usize) -> String {
        format!("online_bytes_{party}")
    }

    /// Oblivious transfers of a party with all others.
    pub fn party_ots(party: usize) -> String {
        format!("ots_{party}")
    }

    /// Payload bytes that a party sends for correlated randomness, set-up included.
    pub fn made_sent_bytes(party: usize) -> String {
        format!("made_sent_bytes_{party}")
    }

    /// Payload bytes that a party receives for correlated randomness, set-up included.
    pub fn made_received_bytes(party: usize) -> String {
        format!("made_received_bytes_{party}")
    }
}

/// Nanoseconds for a round on one machine: messages to and from all others through TLS, and the
/// threads that wait for them. SHA-256 of one block, which does little else, takes 37 us for each of its
/// 452 rounds where processors are idle, and 120 us on an older, busy machine (`benches/predictions.py`).
pub(super) const NS_PER_ROUND: u64 = 45_000;

/// Nanoseconds for an instruction besides its gates.
pub(super) const NS_PER_INSTRUCTION: u64 = 300;

/// Nanoseconds of an oblivious transfer with one other party, and of what is made of it.
pub(super) const NS_PER_OT: u64 = 13;

/// Additional time for each silent OT: both roles of two parties together make 29 million a second,
/// and SoftSpoken 100 million.
pub(super) const NS_PER_SILENT_OT: u64 = 24;

/// Nanoseconds of 128 base OTs in both directions with one other party: 9.2 ms of computation, the
/// other's as much on the same machine at the same time, and the start of the threads.
const SETUP_NS: u64 = 16_000_000;

/// Nanoseconds for a leaf of a point function, with the nodes above it: 6.2 ns at 2^16 points, with AES on vectors of
/// 512 bits. Making one takes as long.
const NS_PER_LEAF: u64 = 8;

/// Bytes of rows that a lookup adds up in a nanosecond: 51 of 16 MiB, and 60 of 1 MiB, read by two parties at a time.
const ROW_BYTES_PER_NS: u64 = 32;

/// Nanoseconds for a leaf of a function that changes a row: 6.3 ns for the nodes and the block, and 5.2 ns for the row that it
/// changes in memory, at 2^20 rows.
const NS_PER_CHANGED_LEAF: u64 = 12;

/// Nanoseconds for a row that is opened under pads, or set: 140 ns and 150 ns at 2^20 rows of 16 bytes, most of them for the
/// bits, each of which has a string of its own.
const NS_PER_HIDDEN_ROW: u64 = 160;

/// Nanoseconds of rows that are opened or set.
fn rows_ns(instruction: &Instruction) -> u64 {
    NS_PER_INSTRUCTION + u64::from(instruction.lanes) * NS_PER_HIDDEN_ROW
}

/// Nanoseconds of a lookup in a table that all parties know.
fn look_up_ns(instruction: &Instruction) -> u64 {
    let points = PointBits::new(instruction.immediates[1] as u16);
    let row_bytes = (u64::from(instruction.element.width()) << points.get()) / 8;
    let evaluating = points.leaves() as u64 * NS_PER_LEAF;
    NS_PER_INSTRUCTION + u64::from(instruction.lanes) * (evaluating + row_bytes / ROW_BYTES_PER_NS)
}

/// Time of the set-up of garbling, with the first tables.
const GARBLING_SETUP_NS: u64 = 20_000_000;

/// The cost model of computation on shares.
pub struct MixedCosts {
    parties: usize,
    is_silent: bool,
    y2a: YaoToArithmetic,
    broadcast: Broadcast,
    /// How sharings were chosen; only stated.
    sharings: Option<SharingSetting>,
    replay: CostReplay,
    demand: Demand,
    clock: RoundClock,
    /// Wires that become garbled by OTs, and the bytes of their messages.
    entered_wires: u64,
    entering_bytes: u64,
    /// Bytes of what is opened.
    opened_bytes: u64,
    /// Bytes that each party sums for star openings; part of the bytes above.
    summed_bytes: Vec<u64>,
    /// Bytes of keys that everybody sends to each other party.
    key_bytes: u64,
    /// Bytes of what is opened at once, outside of rounds, from each party to each other.
    revealed_bytes: u64,
    /// Bytes for one other party alone that each party sends, and receives.
    private_sent_bytes: Vec<u64>,
    private_received_bytes: Vec<u64>,
    /// Bytes of outputs by learner, and of permutations that it is told: what each other computing party sends to it.
    output_bytes: Vec<u64>,
    /// Bytes of inputs by client, the parties that do not compute.
    client_bytes: Vec<u64>,
    held_bytes: u64,
    /// Whether the garbler and the evaluator of half gates learn an output in this round.
    is_learned_by: [bool; 2],
    /// Bytes that the outputs of this round hold.
    outputs_held_bytes: u64,
    peak_held_bytes: u64,
    /// Of the circuits of blocks, and the largest one.
    circuit_bytes: [u64; 2],
    compute_ns: u64,
    preprocessing_ns: u64,
    /// Demands and garbled amounts of blocks, and the number of their runs; `demand` is their sum.
    blocks: Vec<(Demand, GarbledAmounts, u64)>,
    /// Whether these numbers are known when the OTs are set up.
    are_stated: bool,
}

impl MixedCosts {
    /// For so many parties that compute.
    pub fn new(parties: usize) -> MixedCosts {
        MixedCosts {
            parties,
            is_silent: false,
            y2a: YaoToArithmetic::default(),
            broadcast: Broadcast::default(),
            sharings: None,
            replay: CostReplay::new(parties),
            demand: Demand::default(),
            clock: RoundClock::default(),
            entered_wires: 0,
            entering_bytes: 0,
            opened_bytes: 0,
            summed_bytes: vec![0; parties],
            key_bytes: 0,
            revealed_bytes: 0,
            private_sent_bytes: vec![0; parties],
            private_received_bytes: vec![0; parties],
            output_bytes: vec![0; parties],
            client_bytes: Vec::new(),
            held_bytes: 0,
            is_learned_by: [false; 2],
            outputs_held_bytes: 0,
            peak_held_bytes: 0,
            circuit_bytes: [0, 0],
            compute_ns: 0,
            preprocessing_ns: 0,
            blocks: Vec::new(),
            are_stated: false,
        }
    }

    /// Sets whether it is known how often blocks run when the OTs are set up.
    #[must_use]
    pub fn of_stated_blocks(self, are_stated: bool) -> MixedCosts {
        MixedCosts { are_stated, ..self }
    }

    /// Sets whether preprocessing uses silent OT.
    #[must_use]
    pub fn with_silent_ot(self, is_silent: bool) -> MixedCosts {
        MixedCosts { is_silent, ..self }
    }

    /// Sets the size of the batches of correlated randomness.
    #[must_use]
    pub fn with_scale(self, scale: BatchScale) -> MixedCosts {
        MixedCosts { demand: Demand::scaled(scale), ..self }
    }

    /// Sets the conversion of garbled values to additive shares that the order was made for.
    #[must_use]
    pub fn with_y2a(self, y2a: YaoToArithmetic) -> MixedCosts {
        MixedCosts { y2a, ..self }
    }

    /// Sets how garbled values are garbled.
    #[must_use]
    pub fn with_scheme(self, scheme: GarblingScheme) -> MixedCosts {
        MixedCosts { replay: self.replay.with_scheme(scheme), ..self }
    }

    /// Sets how openings are sent.
    #[must_use]
    pub fn with_broadcast(self, broadcast: Broadcast) -> MixedCosts {
        MixedCosts { broadcast, ..self }
    }

    /// Sets how sharings were chosen that the program leaves open.
    #[must_use]
    pub fn with_sharings(self, sharings: Option<SharingSetting>) -> MixedCosts {
        MixedCosts { sharings, ..self }
    }

    /// Counts what the coming round sends.
    fn round(&mut self) {
        let entering = self.replay.entering_wires;
        self.entered_wires += entering as u64;
        self.entering_bytes += entering_bytes(entering);
        let [to_garbler, to_evaluator] = std::mem::take(&mut self.is_learned_by);
        let mut sends = [to_evaluator, to_garbler || entering > 0];
        for (sender, ..) in self.replay.private() {
            // With half gates there are two parties.
            sends[sender.min(1)] = true;
        }
        let opened = self.replay.opened();
        let length = opened.length();
        sends.iter_mut().for_each(|sends| *sends |= length > 0);
        self.outputs_held_bytes = 0;
        self.opened_bytes += length as u64;
        let is_star = self.broadcast == Broadcast::Star && length > 0;
        self.clock.round(if is_star { 2 } else { 1 }, sends);
        if is_star {
            for (party, bytes) in self.summed_bytes.iter_mut().enumerate() {
                *bytes += opened.part(party, self.parties).len() as u64;
            }
        }
        self.key_bytes += (self.replay.told_keys * SHARE_UNIT_BYTES) as u64;
        for (sender, receiver, bytes) in self.replay.private() {
            self.private_sent_bytes[sender] += bytes;
            self.private_received_bytes[receiver] += bytes;
        }
    }

    /// Bytes that `party` sends to all others to open values and to tell keys; it receives as many.
    fn told_bytes(&self, party: usize) -> u64 {
        let peers = self.parties as u64 - 1;
        let opened = match self.broadcast {
            Broadcast::Direct => peers * self.opened_bytes,
            // Everybody's part, but the own one; and the sums of that, to all.
            Broadcast::Star => self.opened_bytes + (peers - 1) * self.summed_bytes[party],
        };
        opened + peers * (self.key_bytes + self.revealed_bytes)
    }

    /// Nanoseconds of base OTs before the first triple and the first table.
    fn setup_ns(&self, is_garbled: bool) -> u64 {
        let of_preprocessing = if self.needs_correlated_randomness() { SETUP_NS } else { 0 };
        let of_garbling = match self.replay.model.scheme() {
            _ if !is_garbled => 0,
            GarblingScheme::Joint => GARBLING_SETUP_NS,
            GarblingScheme::HalfGates => HALF_GATES_SETUP_NS,
        };
        (self.parties as u64 - 1) * (of_preprocessing + of_garbling)
    }

    /// Nanoseconds of whole iterations of silent OT.
    fn silent_ns(&self, kind: OtKind) -> u64 {
        let silent = match kind {
            OtKind::Silent(size) if self.needs_correlated_randomness() => {
                let iterations = kind.reservations(ots_of_a_direction(&self.demand)).max(1);
                iterations * size.output_ots() as u64 * NS_PER_SILENT_OT
            }
            _ => 0,
        };
        (self.parties as u64 - 1) * silent
    }

    /// The OTs that correlated randomness is made of: of blocks as large as one run of each needs,
    /// if how often they run is not known when the OTs are set up.
    fn ot_kind(&self) -> OtKind {
        if self.blocks.is_empty() || self.are_stated {
            return kind_of(&self.demand, self.is_silent);
        }
        let mut once = Demand::scaled(self.demand.scale());
        for (demand, ..) in &self.blocks {
            demand.kinds().for_each(|(kind, count)| once.add(kind, count));
        }
        kind_of(&once, self.is_silent)
    }

    /// Whether correlated randomness is made at all: it is set up too for blocks that may run, and
    /// do not.
    fn needs_correlated_randomness(&self) -> bool {
        let blocks = self.blocks.iter().map(|(demand, ..)| demand);
        blocks.chain([&self.demand]).any(|demand| demand.kinds().next().is_some())
    }

    /// Bytes that `party` sends for half gates.
    fn half_gates_bytes(&self, party: usize) -> u64 {
        let CostReplay { garbled_gates, decoding_bytes, .. } = self.replay;
        set_up_bytes()[party]
            + match party == usize::from(GARBLER) {
                true => garbled_gates * GarbledGate::BYTES as u64 + decoding_bytes,
                false => self.entering_bytes,
            }
    }

    /// Garbled amounts of one run.
    fn garbled(&self) -> GarbledAmounts {
        let CostReplay { garbled_gates: gates, decoding_bytes, .. } = self.replay;
        GarbledAmounts { gates, decoding_bytes }
    }

    /// Bytes of all circuits, and of the largest one.
    fn circuit_bytes(&self) -> [u64; 2] {
        let ([sum, largest], [own, own_largest]) =
            (self.circuit_bytes, self.replay.model.circuit_bytes());
        [sum + own, largest.max(own_largest)]
    }

    /// Nanoseconds of OTs for wires that become garbled by half gates.
    fn entering_ns(&self, instruction: &Instruction) -> u64 {
        match (self.replay.model.scheme(), instruction.phase) {
            (GarblingScheme::HalfGates, Phase::Issue) => {
                NS_PER_OT * self.replay.model.garbled_wires(instruction) as u64
            }
            (GarblingScheme::HalfGates, Phase::Whole | Phase::Finish)
            | (GarblingScheme::Joint, _) => 0,
        }
    }

    fn hold(&mut self, instruction: &Instruction) {
        let interaction = self.replay.model.interaction(&instruction.part(Phase::Whole));
        match instruction.phase {
            Phase::Issue => self.held_bytes += interaction.held_bytes,
            Phase::Finish => self.held_bytes -= interaction.held_bytes,
            Phase::Whole => {}
        }
        self.peak_held_bytes = self.peak_held_bytes.max(self.held_bytes + self.outputs_held_bytes);
    }

    fn output(&mut self, instruction: &Instruction, description: &Description) {
        self.outputs_held_bytes += self.replay.model.interaction(instruction).held_bytes;
        self.peak_held_bytes = self.peak_held_bytes.max(self.held_bytes + self.outputs_held_bytes);
        let bytes = sent_share_bytes(instruction.shape()) as u64;
        let port = &description.outputs[instruction.immediates[0] as usize];
        self.output_bytes.resize(description.parties.len(), 0);
        for &learner in &port.parties {
            self.output_bytes[usize::from(learner)] += bytes;
            if let Some(learns) = self.is_learned_by.get_mut(usize::from(learner)) {
                *learns = usize::from(learner) < self.parties;
            }
        }
    }

    /// Counts what is opened inside the block, or told to a party, at once.
    fn exchange(&mut self, instruction: &Instruction, description: &Description) {
        let bytes = sent_share_bytes(instruction.shape()) as u64;
        match instruction.op {
            Op::Reveal => {
                self.revealed_bytes += bytes;
                self.clock.round(1, BOTH_SEND);
            }
            Op::Tell => {
                let owner = OwnPermutations::owner(description, instruction);
                self.output_bytes.resize(description.parties.len(), 0);
                self.output_bytes[usize::from(owner)] += bytes;
                if OwnPermutations::is_last_told(description, instruction) {
                    self.clock.round(1, BOTH_SEND);
                    self.compute_ns += NS_PER_ROUND;
                }
            }
            // What is moved or brought costs nothing but time.
            op => assert!(!op.opens_inside(), "no plan on shares has {}", op.info().name),
        }
    }

    /// Counts rows that are opened under pads, at once.
    fn hide(&mut self, instruction: &Instruction, description: &Description) {
        let table = &description.tables[instruction.immediates[0] as usize];
        self.revealed_bytes += SharedRows::sent_bytes(table);
        self.clock.round(1, BOTH_SEND);
        self.compute_ns += NS_PER_ROUND + table.rows * NS_PER_HIDDEN_ROW;
    }

    /// The costs of a pair for correlated randomness, set-up included, of OTs of this kind.
    fn pair(&self, pair: PartyPair, ot: OtKind) -> PairCosts {
        let mut costs = match self.blocks.is_empty() {
            true => demand_costs(&self.demand, pair, ot),
            // Each run of a block has batches of its own.
            false => {
                let blocks = self.blocks.iter().map(|(demand, _, times)| (demand, *times));
                demands_costs(blocks, pair, ot)
            }
        };
        if self.needs_correlated_randomness() {
            costs.add_times(setup_costs(ot), 1);
        }
        costs
    }

    /// Adds the totals of what correlated randomness costs each party; returns those of the pair that takes most.
    fn making(&self, ot: OtKind, entries: &mut BTreeMap<String, u64>) -> PairCosts {
        let (mut sent, mut received) = (vec![0; self.parties], vec![0; self.parties]);
        let (mut ots, mut most) = (vec![0; self.parties], PairCosts::default());
        for pair in PartyPair::all(self.parties) {
            let costs = self.pair(pair, ot);
            for (from, to, bytes) in [
                (pair.lower, pair.higher, costs.from_lower_bytes),
                (pair.higher, pair.lower, costs.from_higher_bytes),
            ] {
                sent[from] += bytes;
                received[to] += bytes;
                ots[from] += costs.ots;
            }
            most.ots = most.ots.max(costs.ots);
            most.rounds = most.rounds.max(costs.rounds);
        }
        for party in 0..self.parties {
            entries.insert(totals::made_sent_bytes(party), sent[party]);
            entries.insert(totals::made_received_bytes(party), received[party]);
            entries.insert(totals::party_ots(party), ots[party]);
        }
        most
    }

    /// Counts what a client shares.
    fn input(&mut self, instruction: &Instruction, description: &Description) {
        let owner = description.inputs[instruction.immediates[0] as usize].party;
        if let Some(client) = usize::from(owner).checked_sub(self.parties) {
            self.client_bytes.resize(description.parties.len() - self.parties, 0);
            self.client_bytes[client] += sent_share_bytes(instruction.shape()) as u64;
        }
    }

    /// Adds the totals of clients; returns bytes of all clients' inputs, and how many bring any.
    fn clients(
        &self,
        description: &Description,
        entries: &mut BTreeMap<String, u64>,
    ) -> (u64, u64) {
        let (mut all_bytes, mut seeds) = (0, 0);
        for client in self.parties..description.parties.len() {
            let has_inputs =
                description.inputs.iter().any(|port| usize::from(port.party) == client);
            let inputs = self.client_bytes.get(client - self.parties).copied().unwrap_or(0);
            let outputs = self.output_bytes.get(client).copied().unwrap_or(0);
            let sent = inputs + if has_inputs { 16 * (self.parties as u64 - 1) } else { 0 };
            (all_bytes, seeds) = (all_bytes + inputs, seeds + u64::from(has_inputs));
            entries.insert(totals::client_input_bytes(client), inputs);
            entries.insert(totals::client_output_bytes(client), outputs);
            entries.insert(totals::sent_bytes(client), sent);
            entries.insert(totals::received_bytes(client), outputs * self.parties as u64);
        }
        (all_bytes, seeds)
    }
}

impl CostModel for MixedCosts {
    fn settings(&self) -> Settings {
        let settings = MixedSettings {
            ot: if self.is_silent { OtExtension::Silent } else { OtExtension::Softspoken },
            y2a: self.y2a,
            broadcast: self.broadcast,
            batch_halvings: self.demand.scale(),
            sharings: self.sharings,
        };
        settings.to_stored()
    }

    fn duration_ns(&mut self, instruction: &Instruction) -> u64 {
        match instruction.op {
            Op::Round if self.broadcast == Broadcast::Star => 2 * NS_PER_ROUND,
            Op::Round | Op::Reveal => NS_PER_ROUND,
            Op::TableSet => NS_PER_INSTRUCTION + u64::from(instruction.shape().wires()),
            Op::SharedSet => rows_ns(instruction),
            Op::TableOpen if instruction.phase == Phase::Finish => rows_ns(instruction),
            Op::TableLookUp | Op::SharedLookUp if instruction.phase == Phase::Finish => {
                look_up_ns(instruction)
            }
            Op::SharedAdd if instruction.phase == Phase::Finish => {
                let leaves = tree_of(instruction.immediates[1] as u16).leaves() as u64;
                NS_PER_INSTRUCTION + leaves * NS_PER_CHANGED_LEAF
            }
            _ => {
                let garbled = self.replay.model.garbled(instruction).duration_ns;
                match self.replay.model.scheme() {
                    // All of an instruction.
                    GarblingScheme::HalfGates if garbled > 0 => garbled,
                    GarblingScheme::HalfGates | GarblingScheme::Joint => {
                        NS_PER_INSTRUCTION + garbled + self.entering_ns(instruction)
                    }
                }
            }
        }
    }

    fn count(&mut self, instruction: &Instruction, description: &Description) {
        match instruction.op {
            Op::Round => self.round(),
            Op::Output => self.output(instruction, description),
            op if op.is_stateful() => self.exchange(instruction, description),
            Op::SharedHide => self.hide(instruction, description),
            _ => self.hold(instruction),
        }
        if instruction.op == Op::Input && instruction.phase != Phase::Finish {
            self.input(instruction, description);
        }
        let is_of_garbler = instruction.op == Op::Input
            && description.inputs[instruction.immediates[0] as usize].party == GARBLER;
        let gates = self.replay.garbled_gates;
        self.replay.step_of(instruction, is_of_garbler);
        let is_by_half_gates = self.replay.model.scheme() == GarblingScheme::HalfGates;
        if is_by_half_gates && self.replay.garbled_gates > gates {
            self.clock.tables();
        }
        self.compute_ns += self.duration_ns(instruction);
        for (kind, count) in self.replay.needs.drain(..) {
            let of_points = if let Kind::PointFunction { bits } = kind {
                count as u64 * PointBits::new(bits).leaves() as u64 * NS_PER_LEAF
            } else {
                0
            };
            let made_ns = NS_PER_OT * ots_of_a_party(kind, count, self.parties) as u64 + of_points;
            self.compute_ns += made_ns;
            self.preprocessing_ns += made_ns;
            self.demand.add(kind, count);
        }
    }

    fn totals(&self, description: &Description) -> BTreeMap<String, u64> {
        let mut entries = BTreeMap::new();
        let scale = self.demand.scale();
        // What is public may be carried as a garbled value, too.
        let is_garbled = self.replay.is_garbled
            || description.slots.iter().any(|slot| slot.element.sharing() == Sharing::Garbled);
        let garbled: Vec<(GarbledAmounts, u64)> = match self.blocks.is_empty() {
            true => vec![(self.garbled(), 1)],
            false => self.blocks.iter().map(|&(_, garbled, times)| (garbled, times)).collect(),
        };
        let is_by_half_gates =
            is_garbled && self.replay.model.scheme() == GarblingScheme::HalfGates;
        let garbling = |party| match is_garbled && !is_by_half_gates {
            true => {
                let sizes = (FieldBits::DEFAULT, scale);
                garbling_costs_of_blocks(party, self.parties, &garbled, sizes)
            }
            false => PartyCosts::default(),
        };
        let (client_bytes, client_seeds) = self.clients(description, &mut entries);
        let gates = self.replay.garbled_gates;
        let kind = self.ot_kind();
        let made = self.making(kind, &mut entries);
        for party in 0..self.parties {
            let (lower, higher) = ((party) as u64, (self.parties - 1 - party) as u64);
            let outputs: u64 = self.output_bytes.iter().sum::<u64>() - self.output_bytes[party];
            // Seeds of the common generators go to the parties of higher number.
            let told = self.told_bytes(party);
            let half_gates =
                |party| if is_by_half_gates { self.half_gates_bytes(party) } else { 0 };
            let online =
                told + self.private_sent_bytes[party] + outputs + 16 * higher + half_gates(party);
            let preprocessing = entries[&totals::made_sent_bytes(party)];
            let garbling = garbling(party);
            let garbling_bytes = garbling.sent_bytes;
            entries.insert(garbling_totals::garbling_bytes(party), garbling_bytes);
            entries.insert(totals::online_bytes(party), online);
            entries.insert(totals::sent_bytes(party), online + preprocessing + garbling_bytes);
            let clients = if higher == 0 { client_bytes } else { 16 * client_seeds };
            let received = told
                + self.private_received_bytes[party]
                + (lower + higher) * self.output_bytes[party]
                + clients
                + 16 * lower
                + entries[&totals::made_received_bytes(party)]
                + half_gates(usize::from(EVALUATOR) - party.min(1))
                + garbling.received_bytes;
            entries.insert(totals::received_bytes(party), received);
        }
        entries.insert(totals::AND_GATES.to_owned(), 0);
        for (kind, count) in self.demand.kinds() {
            entries.insert(name_of(kind), count as u64);
        }
        let garbling = garbling(0);
        let setup_ns = self.setup_ns(is_garbled);
        let before_ns = self.preprocessing_ns + setup_ns + self.silent_ns(kind);
        let before_ns =
            before_ns + if is_by_half_gates { 0 } else { gates * garbling_ns(self.parties) };
        let held_bytes = self.peak_held_bytes + if is_by_half_gates { memory_bytes() } else { 0 };
        if is_by_half_gates {
            entries.insert(totals::ENTERING_OTS.to_owned(), self.entered_wires);
        }
        let [circuit_bytes, largest_circuit_bytes] = self.circuit_bytes();
        for (name, value) in [
            (garbling_totals::Y_AND_GATES, gates),
            (garbling_totals::GARBLING_ROUNDS, garbling.rounds),
            (garbling_totals::GARBLING_OTS, garbling.ots),
            (garbling_totals::GARBLING_OT_BYTES, garbling.ot_bytes),
            (garbling_totals::SCRATCH_BYTES, self.replay.scratch_bytes),
            (totals::ROUNDS, self.clock.total(is_by_half_gates)),
            (totals::GARBLED_TO_ARITHMETIC, self.replay.garbled_to_arithmetic),
            (totals::DECODING_BYTES, self.replay.decoding_bytes),
            (totals::HELD_BYTES, held_bytes),
            (totals::CIRCUIT_BYTES, circuit_bytes),
            (totals::LARGEST_CIRCUIT_BYTES, largest_circuit_bytes),
            (totals::OTS, made.ots),
            (totals::PREPROCESSING_ROUNDS, made.rounds),
            (totals::COMPUTE_NS, self.compute_ns + before_ns - self.preprocessing_ns),
            (totals::PREPROCESSING_NS, before_ns),
            (totals::SETUP_NS, setup_ns),
        ] {
            entries.insert(name.to_owned(), value);
        }
        entries
    }
}

impl BlockCosts for MixedCosts {
    /// A round follows the last output, so nothing is left to do.
    fn end_block(&mut self) {}

    fn add_block(&mut self, block: &MixedCosts, times: u64) {
        self.blocks.push((block.demand.clone(), block.garbled(), times));
        for (kind, count) in block.demand.kinds() {
            self.demand.add(kind, count * times as usize);
        }
        self.clock.add_block(&block.clock, times);
        self.entered_wires += block.entered_wires * times;
        self.entering_bytes += block.entering_bytes * times;
        self.opened_bytes += block.opened_bytes * times;
        self.key_bytes += block.key_bytes * times;
        self.revealed_bytes += block.revealed_bytes * times;
        for (sum, bytes) in [
            (&mut self.summed_bytes, &block.summed_bytes),
            (&mut self.private_sent_bytes, &block.private_sent_bytes),
            (&mut self.private_received_bytes, &block.private_received_bytes),
            (&mut self.output_bytes, &block.output_bytes),
            (&mut self.client_bytes, &block.client_bytes),
        ] {
            sum.resize(sum.len().max(bytes.len()), 0);
            sum.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes * times);
        }
        self.peak_held_bytes = self.peak_held_bytes.max(block.peak_held_bytes);
        let [circuits, largest] = block.circuit_bytes();
        // At the most: two blocks may have circuits in common.
        self.circuit_bytes = [self.circuit_bytes[0] + circuits, self.circuit_bytes[1].max(largest)];
        self.compute_ns += block.compute_ns * times;
        self.preprocessing_ns += block.preprocessing_ns * times;
        self.replay.garbled_gates += block.replay.garbled_gates * times;
        self.replay.is_garbled |= block.replay.is_garbled;
        self.replay.decoding_bytes += block.replay.decoding_bytes * times;
        self.replay.garbled_to_arithmetic += block.replay.garbled_to_arithmetic * times;
        self.replay.scratch_bytes = self.replay.scratch_bytes.max(block.replay.scratch_bytes);
    }
}
