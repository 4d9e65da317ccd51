//! [`MixedDriver`]: one party's side of a run on shares.

use std::collections::VecDeque;

use phineus_bytecode::layout::share_bytes;
use phineus_bytecode::{Description, Instruction, Lane, Op, Phase, Shape, Sharing};
use phineus_channels::{Channel, Parties};
use phineus_correlated::semi_honest::CorrelatedRandomness;
use phineus_crypto::secret::classify;
use phineus_crypto::{Block, Prg, declassify_value};
use phineus_engine::{Driver, Inputs, Outputs, OwnPermutations, bits, packed};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::broadcast::Broadcast;
use super::client::OneShareEach;
use super::clock::RoundClock;
use super::flight::{CircuitFlight, ConversionFlight, Flight, FlightContext, ProductFlight};
use super::half_gates::HalfGateGarbling;
use super::look_up::{LookUpFlight, OpenedRows, PublicTables};
use super::openings::Openings;
use super::party_keys::PartyKeys;
use super::rows::{self, write_circuit};
use super::selection::SelectionFlight;
use super::shared_rows::AddFlight;
use super::templates::{GarblingScheme, Method, MixedRounds, method};
use crate::ProtocolError;
use crate::bmr::{Evaluation, GarbledTables};
use crate::shares::client::Clients;
use crate::shares::elements::execute;
use crate::shares::ring;
use crate::shares::transpose::to_rows;
use crate::shares::values::{add_share, blank, bytes, bytes_mut, lanes_of_share, without_gaps};
use crate::shares::words::words;

/// An output whose shares are on their way.
struct PendingOutput {
    instruction: Instruction,
    /// Our share, packed without gaps.
    share: Zeroizing<Vec<u8>>,
    at: usize,
}

/// One party of a computation on shares.
pub struct MixedDriver<C, P> {
    pub(super) parties: Parties<C>,
    /// Those who bring inputs and learn outputs, and do not compute.
    pub(super) clients: Clients<C>,
    correlated: P,
    /// Evaluation of garbled values, if there are any.
    pub(super) evaluation: Option<Evaluation>,
    /// Garbled values of two parties, if they take half gates.
    pub(super) half_gates: Option<HalfGateGarbling<C>>,
    pub(super) description: Description,
    pub(super) inputs: Inputs,
    outputs: Outputs,
    /// For each other party, the generator that only it and this party know.
    pub(super) common: Vec<Option<Prg>>,
    pub(super) rounds_model: MixedRounds,
    pub(super) openings: Openings,
    pub(super) in_flight: VecDeque<(Instruction, Flight)>,
    done: VecDeque<(Instruction, Flight)>,
    pending: Vec<PendingOutput>,
    pub(super) clock: RoundClock,
    pub(super) permutations: OwnPermutations,
    /// Draws the own permutations and keys, if the program may have any.
    pub(super) draws: Option<Prg>,
    pub(super) tables: PublicTables,
    keys: PartyKeys,
}

impl<C: Channel, P: CorrelatedRandomness> MixedDriver<C, P> {
    /// Agrees on the generators that each two parties have in common.
    ///
    /// Cost: 16 bytes from each party to each of higher number.
    ///
    /// # Errors
    /// When a channel fails.
    pub fn new(
        mut parties: Parties<C>,
        correlated: P,
        prg: &mut Prg,
        description: &Description,
        inputs: Inputs,
    ) -> Result<MixedDriver<C, P>, ProtocolError> {
        let (me, count) = (parties.me(), parties.count());
        let mut seeds = Zeroizing::new(vec![Block::ZERO; count]);
        for peer in parties.peers().filter(|&peer| peer > me) {
            seeds[peer] = prg.next_block();
            parties.channel(peer).send(seeds[peer].as_bytes())?;
        }
        parties.flush()?;
        for peer in parties.peers().filter(|&peer| peer < me) {
            parties.channel(peer).recv(seeds[peer].as_mut_bytes())?;
            // Known to these two alone, though it was sent.
            classify(&mut seeds[peer]);
        }
        let common =
            seeds.iter().enumerate().map(|(k, &seed)| (k != me).then(|| Prg::from_seed(seed)));
        let draws = !description.permutations.is_empty() || !description.tables.is_empty();
        Ok(MixedDriver {
            permutations: OwnPermutations::new(description),
            draws: draws.then(|| Prg::from_seed(prg.next_block())),
            common: common.collect(),
            tables: PublicTables::new(description),
            keys: PartyKeys::default(),
            openings: Openings::new(count, Broadcast::default()),
            rounds_model: MixedRounds::new(count),
            outputs: Outputs::new(description, me as u16),
            description: description.clone(),
            parties,
            clients: Clients::default(),
            correlated,
            evaluation: None,
            half_gates: None,
            inputs,
            in_flight: VecDeque::new(),
            done: VecDeque::new(),
            pending: Vec::new(),
            clock: RoundClock::default(),
        })
    }

    /// Adds the garbled tables of the program, which a program with garbled values needs.
    ///
    /// # Panics
    /// If as many parties did not garble them.
    #[must_use]
    pub fn with_tables(mut self, tables: GarbledTables) -> MixedDriver<C, P> {
        assert_eq!(tables.parties(), self.parties.count(), "all parties garbled");
        self.evaluation = Some(Evaluation::new(tables, self.parties.me()));
        self
    }

    /// Adds what garbles between two parties, which a program with garbled values needs under
    /// [`GarblingScheme::HalfGates`].
    #[must_use]
    pub fn with_half_gates(self, garbling: HalfGateGarbling<C>) -> MixedDriver<C, P> {
        let rounds_model = self.rounds_model.with_scheme(GarblingScheme::HalfGates);
        MixedDriver { half_gates: Some(garbling), rounds_model, ..self }
    }

    /// Takes what garbles between two parties, after [`Driver::finish`].
    pub fn take_half_gates(&mut self) -> Option<HalfGateGarbling<C>> {
        self.half_gates.take()
    }

    /// Sets how openings are sent, the same at all parties.
    #[must_use]
    pub fn with_broadcast(mut self, broadcast: Broadcast) -> MixedDriver<C, P> {
        self.openings = Openings::new(self.parties.count(), broadcast);
        self
    }

    /// Adds channels to the clients: the parties of the description after the computing ones, in
    /// its order.
    ///
    /// Cost: 16 bytes from each client that brings something, except at the last party.
    ///
    /// # Errors
    /// When a channel fails.
    ///
    /// # Panics
    /// If there are more or fewer channels than clients.
    pub fn with_clients(mut self, channels: Vec<C>) -> Result<MixedDriver<C, P>, ProtocolError> {
        let (me, count) = (self.parties.me(), self.parties.count());
        assert_eq!(count + channels.len(), self.description.parties.len(), "all clients are there");
        self.clients = Clients::meet::<OneShareEach>(channels, &self.description, me, count)?;
        Ok(self)
    }

    /// The channels to the clients, after [`Driver::finish`].
    pub fn take_clients(&mut self) -> Vec<C> {
        std::mem::take(&mut self.clients).into_channels()
    }

    /// Rounds so far.
    pub fn rounds(&self) -> u64 {
        self.clock.total(self.half_gates.is_some())
    }

    /// AND gates on garbled values so far.
    pub fn garbled_gates(&self) -> u64 {
        let half_gates = self.half_gates.as_ref().map(HalfGateGarbling::gates);
        half_gates.or(self.evaluation.as_ref().map(Evaluation::gates)).unwrap_or(0)
    }

    /// The channels.
    pub fn parties(&self) -> &Parties<C> {
        &self.parties
    }

    /// Channels, outputs and what is left of the preprocessing, after [`Driver::finish`].
    pub fn into_parts(self) -> (Parties<C>, Outputs, P) {
        (self.parties, self.outputs, self.correlated)
    }

    fn assert_done(&self) {
        let is_done = self.in_flight.is_empty() && self.pending.is_empty();
        assert!(is_done, "an ordered program ends when everything is done");
    }

    /// Lets the evaluator go on before this party may wait for it, or for correlated randomness that both make.
    pub(super) fn flush_tables(&mut self) -> Result<(), ProtocolError> {
        self.half_gates.as_mut().map_or(Ok(()), HalfGateGarbling::flush)
    }

    fn first(&self) -> bool {
        self.parties.me() == 0
    }

    pub(super) fn context(&mut self) -> FlightContext<'_, P> {
        let (me, first) = (self.parties.me(), self.first());
        let MixedDriver { openings, correlated, tables, .. } = self;
        FlightContext { openings, correlated, first, me, tables }
    }

    /// The circuit of an instruction with its inputs, not run yet.
    fn circuit(
        &mut self,
        method: Method,
        instruction: &Instruction,
        operands: &[&[u8]],
    ) -> CircuitFlight {
        match method {
            Method::ArithmeticToBoolean => self.sum_circuit(instruction, operands[0]),
            _ => self.operand_circuit(instruction, operands),
        }
    }

    /// The operands as inputs of the instruction's own circuit.
    fn operand_circuit(&mut self, instruction: &Instruction, operands: &[&[u8]]) -> CircuitFlight {
        let template = self.rounds_model.template(instruction);
        let (template, lanes) = template.expect("this method has a template");
        let mut slots = blank(template.slot_count as usize * words(lanes));
        let mut at = 0;
        for (k, bytes) in operands.iter().enumerate() {
            let shape = instruction.operand_shape(k);
            let whole = lanes == shape.lanes as usize && !bits::is_repeated(instruction, k);
            let rows = if whole { usize::from(shape.width) } else { shape.wires() as usize };
            let size = rows * words(lanes);
            let slots = &mut slots[at..at + size];
            if whole {
                packed::rows_to_words(slots, bytes, lanes);
            } else {
                rows::load_repeated(slots, bytes, shape.lanes as usize, lanes);
            }
            at += size;
        }
        CircuitFlight::new(template, lanes, slots)
    }

    /// The parties' additive shares as XOR-shared inputs of the circuit that adds them.
    fn sum_circuit(&mut self, instruction: &Instruction, operand: &[u8]) -> CircuitFlight {
        let (template, lanes) =
            self.rounds_model.template(instruction).expect("this method has a template");
        let (count, me, width) =
            (self.parties.count(), self.parties.me(), instruction.element.width());
        let (w, n) = (usize::from(width), words(lanes));
        let mut slots = blank(template.slot_count as usize * n);
        let shape = Shape { sharing: Sharing::Boolean, ..instruction.shape() };
        let mut share = Zeroizing::new(vec![0; share_bytes(shape)]);
        let mut own = Zeroizing::new(vec![0; share_bytes(shape)]);
        let mut elements = blank(lanes);
        ring::load(&mut elements, operand, width);
        to_rows(&elements, &mut own);
        let mut rows = blank(w * n);
        for owner in 0..count {
            let values = (owner == me).then_some(own.as_slice());
            self.share_bits(owner, shape, &mut share, values);
            packed::rows_to_words(&mut rows, &share, lanes);
            for bit in 0..w {
                let slot = (bit * count + owner) * n;
                slots[slot..slot + n].copy_from_slice(&rows[bit * n..(bit + 1) * n]);
            }
        }
        CircuitFlight::new(template, lanes, slots)
    }

    fn issue(
        &mut self,
        instruction: &Instruction,
        operands: &[&[u8]],
    ) -> Result<Flight, ProtocolError> {
        let ring_operands = |k: usize| {
            let shape = instruction.operand_shape(k);
            let mut elements = blank(shape.lanes as usize);
            ring::load(&mut elements, operands[k], shape.width);
            elements
        };
        match method(instruction) {
            method @ (Method::Circuit | Method::ArithmeticToBoolean) => {
                let mut circuit = self.circuit(method, instruction, operands);
                let issued = circuit.issue(&mut self.context())?;
                assert!(issued, "an instruction without rounds is not issued");
                Ok(Flight::Circuit(Box::new(circuit)))
            }
            Method::Product => {
                let (x, y) = (ring_operands(0), ring_operands(1));
                let product = ProductFlight::issue(&mut self.context(), instruction, &x, Some(&y))?;
                Ok(Flight::Product(Box::new(product)))
            }
            Method::Square => {
                let x = ring_operands(0);
                let product = ProductFlight::issue(&mut self.context(), instruction, &x, None)?;
                Ok(Flight::Product(Box::new(product)))
            }
            Method::BooleanToArithmetic => {
                let bits = without_gaps(operands[0], instruction.operand_shape(0));
                let issued = ConversionFlight::issue(&mut self.context(), instruction, &bits)?;
                Ok(Flight::Conversion(Box::new(issued)))
            }
            Method::TableOpen => {
                let rows = OpenedRows::issue(&mut self.openings, instruction, operands[0]);
                Ok(Flight::TableOpening(rows))
            }
            Method::LookUp => {
                let issued = LookUpFlight::issue(&mut self.context(), instruction, operands[0])?;
                Ok(Flight::LookUp(Box::new(issued)))
            }
            Method::SharedAdd => {
                Ok(Flight::Add(AddFlight::issue(&mut self.context(), instruction, operands)?))
            }
            Method::Selection => {
                let issued = SelectionFlight::issue(&mut self.context(), instruction, operands)?;
                Ok(Flight::Selection(Box::new(issued)))
            }
            _ => unreachable!("{} has no rounds", instruction.op.info().name),
        }
    }

    fn whole(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [u8]],
        operands: &[&[u8]],
    ) -> Result<(), ProtocolError> {
        match method(instruction) {
            Method::Packed => {
                let done = packed::execute(instruction, results, operands, self.first());
                assert!(done, "this method is local");
            }
            Method::Copy => results[0].copy_from_slice(operands[0]),
            Method::Ring => {
                let shape = |k: usize| instruction.operand_shape(k);
                let operands: Vec<Zeroizing<Vec<u64>>> = operands
                    .iter()
                    .enumerate()
                    .map(|(k, bytes)| {
                        let mut elements = Zeroizing::new(vec![0; shape(k).lanes as usize]);
                        ring::load(&mut elements, bytes, shape(k).width);
                        elements
                    })
                    .collect();
                let mut values: Vec<Zeroizing<Vec<u64>>> = (0..results.len())
                    .map(|k| Zeroizing::new(vec![0; instruction.result_shape(k).lanes as usize]))
                    .collect();
                let operands: Vec<&[u64]> = operands.iter().map(|words| &words[..]).collect();
                let mut into: Vec<&mut [u64]> =
                    values.iter_mut().map(|words| &mut words[..]).collect();
                execute(instruction, &mut into, &operands, self.first());
                for (bytes, values) in results.iter_mut().zip(&values) {
                    ring::store(bytes, values, instruction.element.width());
                }
            }
            method @ (Method::Circuit | Method::ArithmeticToBoolean) => {
                let mut circuit = self.circuit(method, instruction, operands);
                let issued = circuit.issue(&mut self.context())?;
                assert!(!issued, "an instruction with rounds is issued and finished");
                write_circuit(instruction, &circuit, results);
            }
            _ => unreachable!("{} has rounds", instruction.op.info().name),
        }
        Ok(())
    }

    /// Writes the results of an instruction that is done.
    fn finish_flight(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Block]],
    ) -> Result<(), ProtocolError> {
        let (issued, flight) = self.done.pop_front().expect("the planner finishes what is done");
        assert_eq!(issued.op, instruction.op, "the planner finishes in the right order");
        let width = instruction.element.width();
        if let Flight::Entry(entry) = &flight {
            return self.finish_garbled(instruction, entry, results[0]);
        }
        if let Flight::Labels(entry) = &flight {
            return self.finish_labels(instruction, entry, results[0]);
        }
        let mut results = bytes_mut(instruction, results, 1);
        match &flight {
            Flight::Circuit(circuit) => write_circuit(instruction, circuit, &mut results),
            Flight::Product(product) => ring::store(results[0], product.shares(), width),
            Flight::Conversion(done) => ring::store(results[0], done.shares(), width),
            Flight::Selection(done) => done.write(&mut results),
            Flight::LookUp(done) => done.write(results[0]),
            Flight::TableOpening(_) | Flight::Add(_) => {}
            Flight::Entry(_) | Flight::Labels(_) => unreachable!("done above"),
        }
        Ok(())
    }

    /// Reads and reconstructs the outputs whose shares came in the last round.
    fn write_outputs(&mut self) {
        for pending in self.pending.drain(..) {
            let PendingOutput { instruction, mut share, at } = pending;
            let shape = instruction.shape();
            for peer in self.parties.peers() {
                let theirs = &self.openings.output(peer)[at..at + share.len()];
                add_share(shape, &mut share, theirs);
            }
            self.outputs.write(&instruction, lanes_of_share(shape, &share).into_iter());
        }
    }
}

/// Whether an instruction has garbled operands or results.
fn is_garbled(instruction: &Instruction) -> bool {
    let from = Sharing::from_code(instruction.immediates[0]).unwrap_or_default();
    instruction.element.sharing() == Sharing::Garbled
        || instruction.op == Op::Convert && from == Sharing::Garbled
}

impl<C: Channel, P: CorrelatedRandomness> Driver for MixedDriver<C, P> {
    type Wire = Block;
    type Error = ProtocolError;

    fn input(
        &mut self,
        instruction: &Instruction,
        wires: &mut [Block],
    ) -> Result<(), ProtocolError> {
        if instruction.phase == Phase::Finish {
            return self.finish_flight(instruction, &mut [wires]);
        }
        let (shape, bytes) = (instruction.shape(), wires.as_mut_bytes());
        if shape.sharing == Sharing::Arithmetic {
            ring::store(bytes, &self.input_ring(instruction)?, shape.width);
            return Ok(());
        }
        self.input_bits(instruction, shape, &mut bytes[..share_bytes(shape)])
    }

    fn output(&mut self, instruction: &Instruction, wires: &[Block]) -> Result<(), ProtocolError> {
        let shape = instruction.shape();
        let share = if shape.sharing == Sharing::Arithmetic {
            Zeroizing::new(wires.as_bytes()[..share_bytes(shape)].to_vec())
        } else {
            let bits = match shape.sharing {
                Sharing::Garbled if self.half_gates.is_some() => self.label_shares(wires),
                Sharing::Garbled => self.garbled_shares(wires, shape),
                _ => without_gaps(&wires.as_bytes()[..share_bytes(shape)], shape),
            };
            let length = (shape.wires() as usize).div_ceil(8);
            Zeroizing::new(bits.as_bytes()[..length].to_vec())
        };
        let learners = &self.description.outputs[instruction.immediates[0] as usize].parties;
        let (me, count) = (self.parties.me(), self.parties.count());
        for learner in learners.iter().map(|&party| usize::from(party)) {
            match learner.checked_sub(count) {
                Some(client) => self.clients.push_output(client, &share),
                None if learner != me => self.openings.push_output(learner, &share),
                None => {}
            }
        }
        if learners.iter().any(|&party| usize::from(party) == me) {
            let at = self.openings.expect_output(share.len());
            self.pending.push(PendingOutput { instruction: *instruction, share, at });
        }
        Ok(())
    }

    fn compute(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        match instruction.phase {
            Phase::Issue => {
                self.flush_tables()?;
                let flight = match is_garbled(instruction) {
                    true if self.half_gates.is_some() => {
                        self.issue_labels(instruction, operands)?
                    }
                    true => self.issue_garbled(instruction, operands)?,
                    false => self.issue(instruction, &bytes(instruction, operands, 1))?,
                };
                self.in_flight.push_back((*instruction, flight));
                Ok(())
            }
            Phase::Whole if instruction.op.is_of_party_key() => {
                let (me, draws) = (self.parties.me(), self.draws.as_mut());
                self.keys.bring(instruction, me, draws, bytes_mut(instruction, results, 1)[0]);
                Ok(())
            }
            Phase::Whole if instruction.op == Op::TableSet => {
                self.tables.set(instruction);
                Ok(())
            }
            Phase::Whole if instruction.op == Op::SharedSet => {
                self.tables.set_shared(instruction, bytes(instruction, operands, 1)[0]);
                Ok(())
            }
            Phase::Whole if instruction.op == Op::SharedHide => {
                self.hide_now(instruction, bytes_mut(instruction, results, 1)[0])
            }
            Phase::Whole if is_garbled(instruction) && self.half_gates.is_some() => {
                self.whole_on_labels(instruction, results, operands)
            }
            Phase::Whole if is_garbled(instruction) => {
                self.whole_garbled(instruction, results, operands)
            }
            Phase::Whole => {
                let operands = bytes(instruction, operands, 1);
                self.whole(instruction, &mut bytes_mut(instruction, results, 1), &operands)
            }
            Phase::Finish => self.finish_flight(instruction, results),
        }
    }

    fn reveal(&mut self, i: &Instruction, wires: &[Block]) -> Result<Lane, ProtocolError> {
        assert_eq!(i.op, Op::Reveal, "no table of one party is on shares");
        self.open_now(i, wires)
    }

    fn permute(
        &mut self,
        i: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        match i.op {
            Op::Tell => self.tell_now(i, operands[0]),
            Op::Switches | Op::Origins => {
                self.bring(i, results[0]);
                Ok(())
            }
            Op::SwapKnown => self.compute(i, results, operands),
            op => unreachable!("{} is about no permutation", op.info().name),
        }
    }

    fn round(&mut self) -> Result<(), ProtocolError> {
        assert!(self.done.is_empty(), "the planner finishes what is done before the next round");
        self.exchange_with_labels()?;
        self.clients.send_outputs()?;
        self.write_outputs();
        let (me, first) = (self.parties.me(), self.first());
        let MixedDriver { openings, correlated, tables, in_flight, done, .. } = self;
        let mut context = FlightContext { openings, correlated, first, me, tables };
        for _ in 0..in_flight.len() {
            let (instruction, mut flight) = in_flight.pop_front().expect("just counted");
            if flight.step(&mut context)? {
                done.push_back((instruction, flight));
            } else {
                in_flight.push_back((instruction, flight));
            }
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), ProtocolError> {
        self.assert_done();
        self.clock.end_block();
        self.flush_tables()?;
        if let Some(evaluation) = &self.evaluation {
            evaluation.end_block();
        }
        Ok(self.parties.flush()?)
    }

    fn opened(&self, port: u32) -> Result<Lane, ProtocolError> {
        let opened = self.outputs.opened(port).into_limbs();
        let opened = Lane::from_limbs(declassify_value(opened, "opened to all parties"));
        if let Some(evaluation) = &self.evaluation {
            evaluation.tell(opened);
        }
        Ok(opened)
    }

    fn finish(&mut self) -> Result<(), ProtocolError> {
        self.assert_done();
        self.flush_tables()?;
        if let Some(evaluation) = &mut self.evaluation {
            evaluation.finish()?;
        }
        Ok(self.parties.flush()?)
    }
}
