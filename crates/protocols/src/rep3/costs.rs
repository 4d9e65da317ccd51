//! What a run on replicated shares costs: exact totals of an ordered program, and predicted time.

use std::collections::BTreeMap;

use phineus_bytecode::layout::{ring_bytes, share_bytes};
use phineus_bytecode::{BlockCosts, CostModel, Description, Instruction, Op, Phase};

use super::PARTIES;
use super::circuits::{CircuitGroup, join_group, operand_bytes};
use super::client::{RECEIVER, TwoComponentsEach, seed_bytes};
use super::keys::neighbours;
use super::rounds::{FLIGHT_BYTES, Method, Rep3Rounds, addition, masked_bit_bytes, method};
use crate::mixed::totals as shared;
use crate::shares::client::{ClientSharing, has_inputs};
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

/// Nanoseconds for a round on one machine: `aes128 n=1000` takes 8.9 ms for its 82 rounds, among three
/// processes that share two cores. Between two, a round takes 45 us (`mixed/costs.rs`).
const NS_PER_ROUND: u64 = 100_000;

/// Nanoseconds for an instruction besides its gates and products.
const NS_PER_INSTRUCTION: u64 = 300;

/// Picoseconds of one party for an AND of one lane, its share of local gates included, and for a
/// multiplication (`examples/rep3_speed.rs`).
const PS_PER_AND: u64 = 400;
const PS_PER_MULTIPLICATION: u64 = 500;

/// Picoseconds for a byte that is sent and received, masks included.
const PS_PER_BYTE: u64 = 1_000;

/// What is counted of one block, or of several.
#[derive(Clone, Default)]
struct CountedAmounts {
    /// Rounds, ANDs, nanoseconds, results of products and of conversions, by the name of their total.
    sums: BTreeMap<String, u64>,
    /// Bytes of ANDs and products that each party sends to the one before.
    product_bytes: u64,
    /// Bytes of inputs and conversions that each party sends to the one behind, and of inputs of clients.
    share_bytes: Vec<u64>,
    /// Bytes of outputs by learner: what one sender sends to it.
    output_bytes: Vec<u64>,
    peak_held_bytes: u64,
}

impl CountedAmounts {
    fn add(&mut self, other: &CountedAmounts, times: u64) {
        for (name, count) in &other.sums {
            self.sum(name, count * times);
        }
        self.product_bytes += other.product_bytes * times;
        for (sums, bytes) in [
            (&mut self.share_bytes, &other.share_bytes),
            (&mut self.output_bytes, &other.output_bytes),
        ] {
            bytes.iter().enumerate().for_each(|(party, bytes)| add_at(sums, party, bytes * times));
        }
        self.peak_held_bytes = self.peak_held_bytes.max(other.peak_held_bytes);
    }

    fn sum(&mut self, name: &str, count: u64) {
        *self.sums.entry(name.to_owned()).or_default() += count;
    }
}

fn add_at(sums: &mut Vec<u64>, party: usize, bytes: u64) {
    sums.resize(sums.len().max(party + 1), 0);
    sums[party] += bytes;
}

fn at(sums: &[u64], party: usize) -> u64 {
    sums.get(party).copied().unwrap_or_default()
}

/// The cost model of computation on replicated shares.
#[derive(Default)]
pub struct Rep3Costs {
    model: Rep3Rounds,
    /// Circuits that begin with the coming round, the bytes of their operands, and additions that begin with
    /// the round after it.
    coming: Vec<CircuitGroup>,
    operand_bytes: usize,
    following: Vec<Instruction>,
    running: Vec<CircuitGroup>,
    /// Bytes of rows of the groups that were done in the last round.
    finished_bytes: usize,
    /// Bytes of products that the coming round sends, and the one after it, and of the longest round.
    products: [usize; 2],
    longest: usize,
    /// Bytes of shares of inputs and outputs that the round sends or brings, and of the longest round.
    shares: u64,
    longest_shares: u64,
    /// Other bytes that instructions in flight hold.
    flights_bytes: u64,
    counted: CountedAmounts,
    /// Of the circuits of blocks, and the largest one.
    circuit_bytes: [u64; 2],
}

impl Rep3Costs {
    /// Counts what the coming round sends, and goes on to the next one, as [`super::Rep3Driver`] does.
    fn round(&mut self) {
        for group in std::mem::take(&mut self.coming) {
            self.send(0, group.sent_bytes(), 8);
            self.running.push(group);
        }
        self.hold();
        (self.finished_bytes, self.operand_bytes) = (0, 0);
        self.counted.product_bytes += self.products[0] as u64;
        self.counted.sum(shared::ROUNDS, 1);
        for mut group in std::mem::take(&mut self.running) {
            let goes_on = group.goes_on();
            self.send(1, group.sent_bytes(), 8);
            match goes_on {
                true => self.running.push(group),
                false => self.finished_bytes += group.row_bytes(),
            }
        }
        (self.products, self.shares) = ([self.products[1], 0], 0);
        for addition in std::mem::take(&mut self.following) {
            self.circuit(&addition);
        }
        self.hold();
    }

    /// Products that the coming round sends, or the one after it.
    fn send(&mut self, round: usize, bytes: usize, size: usize) {
        self.products[round] = self.products[round].next_multiple_of(size) + bytes;
        self.longest = self.longest.max(self.products[round]);
    }

    fn circuit(&mut self, circuit: &Instruction) {
        let (template, lanes) = self.model.template(circuit);
        self.counted.sum(shared::AND_GATES, (template.and_count() * lanes) as u64);
        join_group(&mut self.coming, circuit, (template, lanes));
        self.operand_bytes += operand_bytes(circuit);
    }

    /// A share that `party` sends to the one behind.
    fn share(&mut self, party: usize, bytes: usize) {
        add_at(&mut self.counted.share_bytes, party, bytes as u64);
        self.hold_shares(bytes as u64);
    }

    fn hold_shares(&mut self, bytes: u64) {
        self.shares += bytes;
        self.longest_shares = self.longest_shares.max(self.shares);
    }

    fn issue(&mut self, instruction: &Instruction, description: &Description) {
        let (width, lanes) = (instruction.element.width(), u64::from(instruction.lanes));
        if instruction.op == Op::Input {
            return self.input(instruction, description);
        }
        let size = ring_bytes(width);
        let element_bytes = size * instruction.lanes as usize;
        let name = match method(instruction) {
            Method::Circuit => return self.circuit(instruction),
            Method::ArithmeticToBoolean => {
                let addition = addition(instruction);
                self.share(0, sent_share_bytes(addition.shape()));
                self.following.push(addition);
                totals::to_boolean(width)
            }
            Method::Product => {
                self.send(0, element_bytes, size);
                totals::products(width)
            }
            Method::BooleanToArithmetic => {
                self.share(0, masked_bit_bytes(width, instruction.lanes));
                self.send(1, element_bytes, size);
                totals::to_arithmetic(width)
            }
            Method::Packed | Method::Ring | Method::Copy => {
                unreachable!("{} has no rounds", instruction.op.info().name)
            }
        };
        self.counted.sum(&name, lanes);
    }

    fn input(&mut self, instruction: &Instruction, description: &Description) {
        let bytes = sent_share_bytes(instruction.shape());
        let owner = description.inputs[instruction.immediates[0] as usize].party;
        let is_client = usize::from(owner) >= PARTIES;
        // The party that gets what a client brings tells the one behind.
        self.share(if is_client { RECEIVER } else { owner.into() }, bytes);
        if is_client {
            add_at(&mut self.counted.share_bytes, owner.into(), bytes as u64);
        }
    }

    fn output(&mut self, instruction: &Instruction, description: &Description) {
        let bytes = sent_share_bytes(instruction.shape()) as u64;
        let port = &description.outputs[instruction.immediates[0] as usize];
        for &learner in &port.parties {
            add_at(&mut self.counted.output_bytes, learner.into(), bytes);
        }
        // To all but itself; what it learns, and its own part of that.
        self.hold_shares(bytes * (port.parties.len() as u64 + 2));
    }

    /// Takes note of what an instruction in flight holds: the values of inputs and what conversions know, until
    /// they are written.
    fn fly(&mut self, instruction: &Instruction) {
        let lanes = u64::from(instruction.lanes);
        let own = match instruction.op {
            Op::Input => 2 * share_bytes(instruction.shape()) as u64,
            // The operands of an addition, or what is known of bits.
            Op::Convert => 4 * share_bytes(addition(instruction).shape()) as u64 + 8 * lanes,
            _ => 0,
        };
        match instruction.phase {
            Phase::Issue => self.flights_bytes += own + FLIGHT_BYTES,
            Phase::Finish => self.flights_bytes -= own + FLIGHT_BYTES,
            Phase::Whole => {}
        }
    }

    /// Takes note of what is held now.
    fn hold(&mut self) {
        let rows: usize = self.running.iter().map(CircuitGroup::row_bytes).sum();
        // Sent and received, of this round and the next, in buffers that grow by a quarter.
        let products = 5 * self.longest;
        let held = (rows + self.operand_bytes + self.finished_bytes + products) as u64;
        let held = held + self.flights_bytes + self.longest_shares;
        self.counted.peak_held_bytes = self.counted.peak_held_bytes.max(held);
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
        self.fly(instruction);
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
        let ns = self.duration_ns(instruction);
        self.counted.sum(shared::COMPUTE_NS, ns);
    }

    fn totals(&self, description: &Description) -> BTreeMap<String, u64> {
        let counted = &self.counted;
        let mut entries =
            BTreeMap::from([shared::ROUNDS, shared::AND_GATES].map(|name| (name.to_owned(), 0)));
        entries.extend(counted.sums.clone());
        let mut brought = [0; PARTIES];
        let mut learned = 0;
        for client in PARTIES..description.parties.len() {
            let inputs = at(&counted.share_bytes, client);
            let outputs = at(&counted.output_bytes, client);
            let seeds = |party| if has_inputs(description, client) { seed_bytes(party) } else { 0 };
            (0..PARTIES).for_each(|party| brought[party] += seeds(party));
            brought[RECEIVER] += inputs;
            learned += outputs;
            let sent = inputs + (0..PARTIES).map(seeds).sum::<u64>();
            entries.insert(shared::client_input_bytes(client), inputs);
            entries.insert(shared::client_output_bytes(client), outputs);
            entries.insert(shared::sent_bytes(client), sent);
            entries.insert(shared::received_bytes(client), 2 * outputs);
        }
        let both_directions = SEED_BYTES + counted.product_bytes;
        let share_bytes = |party| both_directions + at(&counted.share_bytes, party);
        for (party, brought) in brought.into_iter().enumerate() {
            let (previous, _) = neighbours(party);
            let to_clients = if TwoComponentsEach::sends(party) { learned } else { 0 };
            let sent = share_bytes(party) + at(&counted.output_bytes, previous) + to_clients;
            let received = share_bytes(previous) + at(&counted.output_bytes, party) + brought;
            entries.insert(shared::online_bytes(party), sent);
            entries.insert(shared::sent_bytes(party), sent);
            entries.insert(shared::received_bytes(party), received);
        }
        let [circuit_bytes, largest_circuit_bytes] = self.circuit_bytes();
        for (name, value) in [
            (shared::HELD_BYTES, counted.peak_held_bytes),
            (shared::CIRCUIT_BYTES, circuit_bytes),
            (shared::LARGEST_CIRCUIT_BYTES, largest_circuit_bytes),
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
