//! What a run on replicated shares costs: exact totals of an ordered program, and predicted time.

use std::collections::BTreeMap;
use std::sync::Arc;

use phineus_bytecode::layout::ring_bytes;
use phineus_bytecode::{BlockCosts, CostModel, Description, Instruction, Op, Phase, RoundModel};
use phineus_circuits::record::Template;

use super::PARTIES;
use super::circuits::level_words;
use super::client::{RECEIVER, TwoComponentsEach, seed_bytes};
use super::keys::neighbours;
use super::rounds::{Method, Rep3Rounds, addition, masked_bit_bytes, method};
use crate::mixed::totals as shared;
use crate::shares::client::{Outsourcing, brings};
use crate::shares::values::sent_share_bytes;

/// The names of the totals that other protocols on shares do not have; the rest is in
/// [`crate::mixed::totals`].
pub mod totals {
    /// Products in `Z_2^width`, each of which sends one element; those of a sum of products count once.
    pub fn products(width: u16) -> String {
        format!("products_{width}")
    }

    /// Values of `width` bits that become ring elements.
    pub fn to_arithmetic(width: u16) -> String {
        format!("to_arithmetic_{width}")
    }

    /// Values of `width` bits that become XOR shares.
    pub fn to_boolean(width: u16) -> String {
        format!("to_boolean_{width}")
    }
}

/// Bytes of the key that each party sends to the one before.
const SEED_BYTES: u64 = 16;

/// Nanoseconds for a round on one machine (see `mixed/costs.rs`, whose messages go the same way).
const NS_PER_ROUND: u64 = 45_000;

/// Nanoseconds for an instruction besides its gates and products.
const NS_PER_INSTRUCTION: u64 = 300;

/// Picoseconds of one party for an AND of one lane, its share of local gates included, and for a
/// multiplication (`examples/rep3_speed.rs`).
const PS_PER_AND: u64 = 400;
const PS_PER_MULTIPLICATION: u64 = 500;

/// Picoseconds for a byte that is sent and received, masks included.
const PS_PER_BYTE: u64 = 1_000;

/// Circuits with the same template that begin together: the template, the lanes, and the level whose ANDs are
/// sent.
struct Group {
    template: Arc<Template>,
    lanes: usize,
    level: usize,
}

/// Circuits that begin with the same round.
#[derive(Default)]
struct Start(Vec<Group>);

impl Start {
    fn push(&mut self, (template, lanes): (Arc<Template>, usize)) {
        match self.0.iter_mut().find(|group| Arc::ptr_eq(&group.template, &template)) {
            Some(group) => group.lanes += lanes,
            None => self.0.push(Group { template, lanes, level: 0 }),
        }
    }
}

/// What is counted of one block, or of several.
#[derive(Clone, Default)]
struct Counted {
    rounds: u64,
    and_gates: u64,
    /// Results of products and of conversions, by the name of their total.
    values: BTreeMap<String, u64>,
    /// Bytes of ANDs and products that each party sends to the one before.
    product_bytes: u64,
    /// Bytes of inputs and conversions that each party sends to the one behind.
    share_bytes: [u64; PARTIES],
    /// Bytes of outputs by learner: what one sender sends to it.
    output_bytes: Vec<u64>,
    /// Bytes of inputs by client.
    client_bytes: Vec<u64>,
    peak_held_bytes: u64,
    compute_ns: u64,
}

impl Counted {
    fn add(&mut self, other: &Counted, times: u64) {
        self.rounds += other.rounds * times;
        self.and_gates += other.and_gates * times;
        for (name, count) in &other.values {
            *self.values.entry(name.clone()).or_default() += count * times;
        }
        self.product_bytes += other.product_bytes * times;
        let sums = self.share_bytes.iter_mut().zip(other.share_bytes);
        sums.for_each(|(sum, bytes)| *sum += bytes * times);
        for (sums, bytes) in [
            (&mut self.output_bytes, &other.output_bytes),
            (&mut self.client_bytes, &other.client_bytes),
        ] {
            sums.resize(sums.len().max(bytes.len()), 0);
            sums.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes * times);
        }
        self.peak_held_bytes = self.peak_held_bytes.max(other.peak_held_bytes);
        self.compute_ns += other.compute_ns * times;
    }
}

/// The cost model of computation on replicated shares.
#[derive(Default)]
pub struct Rep3Costs {
    model: Rep3Rounds,
    coming: Start,
    following: Start,
    groups: Vec<Group>,
    /// Bytes of elements that the coming round sends, and the one after it.
    element_bytes: u64,
    following_bytes: u64,
    counted: Counted,
    held_bytes: u64,
    /// What the outputs of this round hold.
    outputs_held_bytes: u64,
    /// Of the circuits of blocks, and the largest one.
    circuit_bytes: [u64; 2],
}

impl Rep3Costs {
    /// Counts what the coming round sends, and goes on to the next one.
    fn round(&mut self) {
        self.groups.append(&mut self.coming.0);
        let words = self.groups.iter();
        let words = words.map(|group| level_words(&group.template, group.level, group.lanes));
        self.counted.product_bytes += 8 * words.sum::<usize>() as u64 + self.element_bytes;
        self.counted.rounds += 1;
        self.outputs_held_bytes = 0;
        self.groups.iter_mut().for_each(|group| group.level += 1);
        self.groups.retain(|group| !group.template.levels[group.level].ands.is_empty());
        std::mem::swap(&mut self.coming, &mut self.following);
        (self.element_bytes, self.following_bytes) = (self.following_bytes, 0);
    }

    fn issue(&mut self, instruction: &Instruction, description: &Description) {
        let (width, lanes) = (instruction.element.width(), u64::from(instruction.lanes));
        if instruction.op == Op::Input {
            return self.input(instruction, description);
        }
        let element_bytes = ring_bytes(width) as u64 * lanes;
        let name = match method(instruction) {
            Method::Circuit => {
                let circuit = self.model.template(instruction);
                self.counted.and_gates += (circuit.0.and_count() * circuit.1) as u64;
                self.coming.push(circuit);
                return;
            }
            Method::ArithmeticToBoolean => {
                let addition = addition(instruction);
                self.counted.share_bytes[0] += sent_share_bytes(addition.shape()) as u64;
                let circuit = self.model.template(&addition);
                self.counted.and_gates += (circuit.0.and_count() * circuit.1) as u64;
                self.following.push(circuit);
                totals::to_boolean(width)
            }
            Method::Product => {
                self.element_bytes += element_bytes;
                totals::products(width)
            }
            Method::BooleanToArithmetic => {
                let masked = masked_bit_bytes(width, instruction.lanes);
                self.counted.share_bytes[0] += masked as u64;
                self.following_bytes += element_bytes;
                totals::to_arithmetic(width)
            }
            Method::Packed | Method::Ring | Method::Copy => {
                unreachable!("{} has no rounds", instruction.op.info().name)
            }
        };
        *self.counted.values.entry(name).or_default() += lanes;
    }

    fn input(&mut self, instruction: &Instruction, description: &Description) {
        let bytes = sent_share_bytes(instruction.shape()) as u64;
        let port = &description.inputs[instruction.immediates[0] as usize];
        match usize::from(port.party).checked_sub(PARTIES) {
            None => self.counted.share_bytes[usize::from(port.party)] += bytes,
            Some(client) => {
                // The party that gets it tells the one behind.
                self.counted.share_bytes[RECEIVER] += bytes;
                let sums = &mut self.counted.client_bytes;
                sums.resize(sums.len().max(client + 1), 0);
                sums[client] += bytes;
            }
        }
    }

    fn output(&mut self, instruction: &Instruction, description: &Description) {
        self.outputs_held_bytes += self.model.interaction(instruction).held_bytes;
        let bytes = sent_share_bytes(instruction.shape()) as u64;
        let port = &description.outputs[instruction.immediates[0] as usize];
        let sums = &mut self.counted.output_bytes;
        sums.resize(sums.len().max(description.parties.len()), 0);
        port.parties.iter().for_each(|&learner| sums[usize::from(learner)] += bytes);
    }

    fn hold(&mut self, instruction: &Instruction) {
        match instruction.phase {
            Phase::Issue => self.held_bytes += self.model.interaction(instruction).held_bytes,
            Phase::Finish => self.held_bytes -= self.model.interaction(instruction).held_bytes,
            Phase::Whole => {}
        }
        let held_bytes = self.held_bytes + self.outputs_held_bytes;
        self.counted.peak_held_bytes = self.counted.peak_held_bytes.max(held_bytes);
    }

    /// Bytes of all circuits, and of the largest one.
    fn circuit_bytes(&self) -> [u64; 2] {
        let [sum, largest] = self.model.circuit_bytes();
        [self.circuit_bytes[0] + sum, self.circuit_bytes[1].max(largest)]
    }
}

impl CostModel for Rep3Costs {
    fn duration_ns(&mut self, instruction: &Instruction) -> u64 {
        let moved = u64::from(instruction.shape().wires()) / 64;
        if instruction.op == Op::Round {
            return NS_PER_ROUND;
        }
        let is_computed = instruction.phase == Phase::Issue && instruction.op != Op::Input;
        if !is_computed {
            return NS_PER_INSTRUCTION + moved;
        }
        let ands = |costs: &mut Rep3Costs, circuit: &Instruction| {
            let (template, lanes) = costs.model.template(circuit);
            (template.and_count() * lanes) as u64 * PS_PER_AND
        };
        let lanes = u64::from(instruction.lanes);
        let bytes = ring_bytes(instruction.element.width()) as u64 * lanes;
        let ps = match method(instruction) {
            Method::Circuit => ands(self, instruction),
            Method::ArithmeticToBoolean => ands(self, &addition(instruction)),
            Method::Product => {
                let terms =
                    if instruction.op == Op::MatMul { instruction.immediates[0] } else { 1 };
                2 * lanes * terms * PS_PER_MULTIPLICATION + bytes * PS_PER_BYTE
            }
            Method::BooleanToArithmetic => {
                let masked = masked_bit_bytes(instruction.element.width(), instruction.lanes);
                (bytes + masked as u64) * PS_PER_BYTE
            }
            Method::Packed | Method::Ring | Method::Copy => 0,
        };
        NS_PER_INSTRUCTION + moved + ps / 1_000
    }

    fn count(&mut self, instruction: &Instruction, description: &Description) {
        match (instruction.op, instruction.phase) {
            (Op::Round, _) => self.round(),
            (Op::Output, _) => self.output(instruction, description),
            (_, Phase::Issue) => self.issue(instruction, description),
            // A circuit without ANDs takes memory, too.
            (op, Phase::Whole) if !op.is_carrying() && !op.is_directive() => {
                if method(instruction) == Method::Circuit {
                    self.model.template(instruction);
                }
            }
            (_, Phase::Whole | Phase::Finish) => {}
        }
        self.hold(instruction);
        self.counted.compute_ns += self.duration_ns(instruction);
    }

    fn totals(&self, description: &Description) -> BTreeMap<String, u64> {
        let counted = &self.counted;
        let mut entries = counted.values.clone();
        let output_bytes =
            |party: usize| counted.output_bytes.get(party).copied().unwrap_or_default();
        let mut brought = [0; PARTIES];
        let mut learned = 0;
        for client in PARTIES..description.parties.len() {
            let inputs = counted.client_bytes.get(client - PARTIES).copied().unwrap_or_default();
            let outputs = output_bytes(client);
            let seeds = |party| if brings(description, client) { seed_bytes(party) } else { 0 };
            (0..PARTIES).for_each(|party| brought[party] += seeds(party));
            brought[RECEIVER] += inputs;
            learned += outputs;
            let sent = inputs + (0..PARTIES).map(seeds).sum::<u64>();
            entries.insert(shared::client_input_bytes(client), inputs);
            entries.insert(shared::client_output_bytes(client), outputs);
            entries.insert(shared::sent_bytes(client), sent);
            entries.insert(shared::received_bytes(client), 2 * outputs);
        }
        for (party, brought) in brought.into_iter().enumerate() {
            let (previous, _) = neighbours(party);
            let to_clients = if TwoComponentsEach::sends(party) { learned } else { 0 };
            let both_ways = SEED_BYTES + counted.product_bytes;
            let sent = both_ways + counted.share_bytes[party] + output_bytes(previous) + to_clients;
            let received =
                both_ways + counted.share_bytes[previous] + output_bytes(party) + brought;
            entries.insert(shared::online_bytes(party), sent);
            entries.insert(shared::sent_bytes(party), sent);
            entries.insert(shared::received_bytes(party), received);
        }
        let [circuit_bytes, largest_circuit_bytes] = self.circuit_bytes();
        for (name, value) in [
            (shared::ROUNDS, counted.rounds),
            (shared::AND_GATES, counted.and_gates),
            (shared::HELD_BYTES, counted.peak_held_bytes),
            (shared::CIRCUIT_BYTES, circuit_bytes),
            (shared::LARGEST_CIRCUIT_BYTES, largest_circuit_bytes),
            (shared::COMPUTE_NS, counted.compute_ns),
        ] {
            entries.insert(name.to_owned(), value);
        }
        entries
    }
}

impl BlockCosts for Rep3Costs {
    /// A round follows the last output, so nothing is left to do.
    fn end_block(&mut self) {}

    fn add_block(&mut self, block: &Rep3Costs, times: u64) {
        self.counted.add(&block.counted, times);
        let [circuits, largest] = block.circuit_bytes();
        // At the most: two blocks may have circuits in common.
        self.circuit_bytes = [self.circuit_bytes[0] + circuits, self.circuit_bytes[1].max(largest)];
    }
}
