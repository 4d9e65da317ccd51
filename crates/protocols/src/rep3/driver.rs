//! [`Rep3Driver`]: one party's side of a run on replicated shares.

use std::collections::VecDeque;

use phineus_bytecode::{Description, Instruction, Lane, Op, Phase};
use phineus_channels::{Channel, Parties};
use phineus_crypto::{Block, Prg, declassify_value};
use phineus_engine::{Driver, Inputs, Outputs, packed};
use zeroize::Zeroizing;

use super::PARTIES;
use super::circuits::{Circuits, GroupSlot, run_whole};
use super::client::TwoComponentsEach;
use super::keys::Keys;
use super::messages::RoundMessages;
use super::ring::{self, SentProduct};
use super::rounds::{Method, Rep3Rounds, is_arithmetic, method};
use super::sharing::{BitsToRing, SharedValue, Split};
use crate::ProtocolError;
use crate::shares::client::Clients;
use crate::shares::ring::store;
use crate::shares::transpose::{to_integers, to_rows};
use crate::shares::values::{add_share, blank, bytes, bytes_mut, lanes_of_share};

/// An instruction between its issue and its finish.
pub(super) enum Flight {
    Circuit(GroupSlot),
    /// Elements that are sent in its last round.
    Product(SentProduct),
    Input(SharedValue),
}

/// The number and the instruction of a flight.
struct InFlight {
    issued: (u64, Instruction),
    flight: Flight,
}

/// An output whose last component is on its way.
pub(super) struct PendingOutput {
    pub(super) instruction: Instruction,
    /// The sum of the own components, packed without gaps.
    pub(super) sum: Zeroizing<Vec<u8>>,
    pub(super) at: usize,
}

/// One party of a computation on replicated shares.
pub struct Rep3Driver<C> {
    pub(super) parties: Parties<C>,
    pub(super) clients: Clients<C>,
    pub(super) description: Description,
    pub(super) inputs: Inputs,
    outputs: Outputs,
    pub(super) keys: Keys,
    pub(super) model: Rep3Rounds,
    pub(super) circuits: Circuits,
    pub(super) messages: RoundMessages,
    /// Bits that become ring elements when the round is over.
    pub(super) joins: Vec<BitsToRing>,
    /// Ring elements that become bits by a circuit that begins when the round is over.
    pub(super) splits: Vec<Split>,
    /// Instructions that were issued so far.
    issued: u64,
    /// What is done after the coming round, the one after it, and so on.
    flights: VecDeque<Vec<InFlight>>,
    done: VecDeque<InFlight>,
    pub(super) pending: Vec<PendingOutput>,
    rounds: u64,
}

impl<C: Channel> Rep3Driver<C> {
    /// Agrees on the generators that each two parties have in common.
    ///
    /// Cost: 16 bytes from each party to the one before.
    ///
    /// # Errors
    /// When a channel fails.
    ///
    /// # Panics
    /// If there are not three parties.
    pub fn new(
        mut parties: Parties<C>,
        prg: &mut Prg,
        description: &Description,
        inputs: Inputs,
    ) -> Result<Rep3Driver<C>, ProtocolError> {
        assert_eq!(parties.count(), PARTIES, "three parties compute");
        let keys = Keys::agree(&mut parties, prg)?;
        Ok(Rep3Driver {
            keys,
            outputs: Outputs::new(description, parties.me() as u16),
            description: description.clone(),
            parties,
            clients: Clients::default(),
            inputs,
            model: Rep3Rounds::default(),
            circuits: Circuits::default(),
            messages: RoundMessages::default(),
            joins: Vec::new(),
            splits: Vec::new(),
            issued: 0,
            flights: VecDeque::new(),
            done: VecDeque::new(),
            pending: Vec::new(),
            rounds: 0,
        })
    }

    /// The same driver with channels to its clients: the parties of the description after those
    /// that compute, in its order.
    ///
    /// Cost: 32, 16 and 16 bytes to the three parties from each client that brings something.
    ///
    /// # Errors
    /// When a channel fails.
    ///
    /// # Panics
    /// If there are more or fewer channels than clients.
    pub fn with_clients(mut self, channels: Vec<C>) -> Result<Rep3Driver<C>, ProtocolError> {
        let count = PARTIES + channels.len();
        assert_eq!(count, self.description.parties.len(), "all clients are there");
        self.clients =
            Clients::meet::<TwoComponentsEach>(channels, &self.description, self.me(), PARTIES)?;
        Ok(self)
    }

    /// The channels to the clients, after [`Driver::finish`].
    pub fn take_clients(&mut self) -> Vec<C> {
        std::mem::take(&mut self.clients).into_channels()
    }

    /// Rounds so far.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// ANDs of one lane so far.
    pub fn and_gates(&self) -> u64 {
        self.circuits.and_gates()
    }

    /// The channels.
    pub fn parties(&self) -> &Parties<C> {
        &self.parties
    }

    /// Channels and outputs, after [`Driver::finish`].
    pub fn into_parts(self) -> (Parties<C>, Outputs) {
        (self.parties, self.outputs)
    }

    pub(super) fn me(&self) -> usize {
        self.parties.me()
    }

    /// Whether public values are added to the own first component, and to the second one: all of them
    /// are in component 0.
    fn adds_constants(&self) -> [bool; 2] {
        [self.me() == 0, self.me() == 2]
    }

    fn assert_done(&self) {
        let is_done = self.circuits.is_empty()
            && self.splits.is_empty()
            && self.pending.is_empty()
            && self.flights.iter().all(Vec::is_empty);
        assert!(is_done, "an ordered program ends when everything is done");
    }

    /// Takes note of an instruction that is done after so many rounds.
    pub(super) fn launch(&mut self, issued: (u64, Instruction), rounds: u32, flight: Flight) {
        let rounds = rounds as usize;
        if self.flights.len() < rounds {
            self.flights.resize_with(rounds, Vec::new);
        }
        self.flights[rounds - 1].push(InFlight { issued, flight });
    }

    fn issue(
        &mut self,
        instruction: &Instruction,
        operands: &[&[u8]],
    ) -> Result<(), ProtocolError> {
        self.issued += 1;
        let issued = (self.issued, *instruction);
        if instruction.op == Op::Input {
            let flight = Flight::Input(self.share_input(instruction)?);
            self.launch(issued, 1, flight);
            return Ok(());
        }
        let (rounds, flight) = match method(instruction) {
            Method::Circuit => {
                let circuit = self.model.template(instruction);
                let rounds = circuit.0.depth() as u32;
                (rounds, Flight::Circuit(self.circuits.push(instruction, circuit, operands)))
            }
            Method::Product => {
                let (width, count) = (instruction.element.width(), instruction.lanes as usize);
                let sent =
                    SentProduct::push(&mut self.messages.coming, &mut self.keys, width, count);
                let factors = [operands[0], operands[1]];
                sent.multiply(instruction, &mut self.messages.coming, factors);
                (1, Flight::Product(sent))
            }
            Method::ArithmeticToBoolean => {
                self.split(issued, operands[0]);
                return Ok(());
            }
            Method::BooleanToArithmetic => {
                (2, Flight::Product(self.join(instruction, operands[0])))
            }
            Method::Packed | Method::Ring | Method::Copy => {
                unreachable!("{} has no rounds", instruction.op.info().name)
            }
        };
        self.launch(issued, rounds, flight);
        Ok(())
    }

    fn whole(&mut self, instruction: &Instruction, results: &mut [&mut [u8]], operands: &[&[u8]]) {
        let adds = self.adds_constants();
        let one: Compute = match method(instruction) {
            Method::Packed => |instruction, results, operands, adds| {
                let is_done = packed::execute(instruction, results, operands, adds);
                assert!(is_done, "this operation is local");
            },
            Method::Ring => ring::execute,
            Method::Copy => |instruction, results, operands, _| {
                copy(instruction, results[0], operands[0]);
            },
            Method::Circuit => {
                let circuit = self.model.template(instruction);
                let operands = Zeroizing::new(operands.concat());
                return run_whole(instruction, circuit, &operands, results, adds);
            }
            Method::Product | Method::ArithmeticToBoolean | Method::BooleanToArithmetic => {
                unreachable!("{} has rounds", instruction.op.info().name)
            }
        };
        for (component, adds) in adds.into_iter().enumerate() {
            let operands: Vec<&[u8]> = operands
                .iter()
                .map(|both| &both[component * (both.len() / 2)..][..both.len() / 2])
                .collect();
            let mut results: Vec<&mut [u8]> =
                results.iter_mut().map(|both| half_mut(both, component)).collect();
            one(instruction, &mut results, &operands, adds);
        }
    }

    /// Writes the results of an instruction that is done.
    fn finish_flight(&mut self, instruction: &Instruction, results: &mut [&mut [Block]]) {
        let done = self.done.pop_front().expect("the planner finishes what is done");
        assert_eq!(done.issued.1.op, instruction.op, "the planner finishes in the right order");
        let (mut results, messages) = (bytes_mut(instruction, results, 2), &self.messages);
        match &done.flight {
            Flight::Circuit(place) => self.circuits.write(*place, instruction, &mut results),
            Flight::Product(sent) => sent.store(results[0], &messages.sent, &messages.received),
            Flight::Input(value) => value.write(instruction.shape(), messages, results[0]),
        }
    }

    /// Adds the components of outputs that the round brought, and writes the values.
    fn write_outputs(&mut self) {
        for PendingOutput { instruction, mut sum, at } in self.pending.drain(..) {
            let shape = instruction.shape();
            let last = self.messages.output(at, sum.len());
            add_share(shape, &mut sum, last);
            self.outputs.write(&instruction, lanes_of_share(shape, &sum).into_iter());
        }
    }
}

/// Computes an operation on one component of its operands; the last argument: whether it adds constants.
type Compute = fn(&Instruction, &mut [&mut [u8]], &[&[u8]], bool);

fn half_mut(value: &mut [u8], component: usize) -> &mut [u8] {
    let size = value.len() / 2;
    &mut value[component * size..][..size]
}

/// A conversion that changes nothing but where bits lie.
fn copy(instruction: &Instruction, result: &mut [u8], value: &[u8]) {
    let (from, to) = (instruction.operand_shape(0).sharing, instruction.element.sharing());
    match (is_arithmetic(from), is_arithmetic(to)) {
        (false, false) | (true, true) => result.copy_from_slice(value),
        (true, false) => to_rows(&ring::to_words(value, 1), result),
        (false, true) => {
            let mut bits = blank(result.len());
            to_integers(value, &mut bits);
            store(result, &bits, 1);
        }
    }
}

impl<C: Channel> Driver for Rep3Driver<C> {
    type Wire = Block;
    type Error = ProtocolError;

    fn input(
        &mut self,
        instruction: &Instruction,
        wires: &mut [Block],
    ) -> Result<(), ProtocolError> {
        assert_eq!(instruction.phase, Phase::Finish, "an input takes a round");
        self.finish_flight(instruction, &mut [wires]);
        Ok(())
    }

    fn output(&mut self, instruction: &Instruction, wires: &[Block]) -> Result<(), ProtocolError> {
        self.share_output(instruction, bytes(instruction, &[wires], 2)[0]);
        Ok(())
    }

    fn compute(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        let operands = bytes(instruction, operands, 2);
        match instruction.phase {
            Phase::Issue => return self.issue(instruction, &operands),
            Phase::Whole => {
                self.whole(instruction, &mut bytes_mut(instruction, results, 2), &operands);
            }
            Phase::Finish => self.finish_flight(instruction, results),
        }
        Ok(())
    }

    fn round(&mut self) -> Result<(), ProtocolError> {
        assert!(self.done.is_empty(), "the planner finishes what is done before the next round");
        let adds = self.adds_constants();
        self.circuits.start(&mut self.messages.coming, &mut self.keys, adds);
        self.messages.exchange(&mut self.parties)?;
        self.rounds += 1;
        self.clients.send_outputs()?;
        self.write_outputs();
        self.circuits.advance(&mut self.messages, &mut self.keys, adds);
        self.take_shares();
        self.messages.turn();
        if let Some(mut done) = self.flights.pop_front() {
            // Splits are noted late.
            done.sort_unstable_by_key(|done| done.issued.0);
            self.done.extend(done);
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), ProtocolError> {
        self.assert_done();
        Ok(self.parties.flush()?)
    }

    fn opened(&self, port: u32) -> Result<Lane, ProtocolError> {
        let opened = self.outputs.opened(port).into_limbs();
        Ok(Lane::from_limbs(declassify_value(opened, "opened to all parties")))
    }

    fn finish(&mut self) -> Result<(), ProtocolError> {
        self.assert_done();
        Ok(self.parties.flush()?)
    }
}
