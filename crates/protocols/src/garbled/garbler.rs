//! The garbler: chooses labels, garbles gates, sends rows.

mod algebra;
mod messages;
mod rows;

use std::collections::VecDeque;

use phineus_bytecode::{Description, Instruction, Lane, Op};
use phineus_channels::Channel;
use phineus_crypto::{AndIndex, Block, Delta, HalfGates, Prg, SecretBit, declassify_value};
use phineus_engine::{
    Driver, Inputs, NotAPermutation, Outputs, OwnPermutations, bits, from_bits, to_bits,
};
use phineus_ot::{
    CorrelatedOtSender, FieldBits, SessionId, SoftSpokenReceiver, SoftSpokenSender, setup_both,
};
use zerocopy::IntoBytes;
use zeroize::{Zeroize, Zeroizing};

use crate::ProtocolError;
use crate::garbled::batches::LabelBatches;
use crate::garbled::limits::{BATCHES_AHEAD, OTS_PER_BATCH, PENDING_MESSAGES, PENDING_OUTPUT_BITS};
use crate::garbled::lookup::Lookups;
use crate::garbled::rounds::RoundCount;
use crate::garbled::row_source::{RowSecrets, RowSource, are_labels_known_ahead};
use crate::garbled::row_swaps::RowSwaps;
use crate::garbled::share_labels::{RandomChoices, packed_share, write_rows};
use crate::garbled::switch_ots::SwitchOts;
use crate::garbled::tables::{GarblerTables, is_last_told, lanes_of};
use crate::garbled::{
    EVALUATOR, GARBLER, Upcoming, is_on_shares, is_share, learns, owner, pack, packed_bytes,
    takes_transfers, takes_transfers_back, totals,
};

pub(crate) use algebra::GarblerAlgebra;

use messages::{PendingMessage, combine};

/// The garbling party.
///
/// Has no `Debug`: it holds the offset.
pub struct Garbler<C> {
    algebra: GarblerAlgebra<C>,
    description: Description,
    labels: Prg,
    ot: Option<SoftSpokenSender>,
    /// For switches of this party.
    ot_back: Option<SoftSpokenReceiver>,
    /// Labels of *false* for inputs of the evaluator, by batch, not yet used.
    batches: LabelBatches,
    /// OTs of batches that the evaluator has not been allowed to send yet.
    unsent: u64,
    expected: VecDeque<PendingMessage>,
    pending_bits: usize,
    rounds: RoundCount,
    /// Oblivious transfers that were used.
    transfers: u64,
    inputs: Inputs,
    outputs: Outputs,
    permutations: OwnPermutations,
    /// Generator for the permutations of this party.
    draws: Prg,
    swaps: RowSwaps,
    switch_ots: SwitchOts,
    random_choices: RandomChoices,
    lookups: Lookups,
    tables: GarblerTables,
    scratch: Zeroizing<Vec<Block>>,
    bits: Zeroizing<Vec<u8>>,
}

impl<C: Channel> Garbler<C> {
    /// Runs the set-up over `channel`: start value, seed of labels, base OTs.
    ///
    /// `description` is that of the planned program; `session` is new and common to both.
    ///
    /// # Errors
    /// When the channel fails or the peer misbehaves.
    ///
    /// # Panics
    /// If the description has no totals: it is not planned.
    pub fn new(
        channel: C,
        prg: &mut Prg,
        session: &SessionId,
        description: &Description,
        inputs: Inputs,
    ) -> Result<Garbler<C>, ProtocolError> {
        Ok(Garbler::set_up(channel, prg, session, description, inputs)?.0)
    }

    /// As [`Garbler::new`], but `source` makes the rows. `upcoming` are the program's input instructions in order.
    ///
    /// # Errors
    /// As [`Garbler::new`], and if the source can make no rows.
    ///
    /// # Panics
    /// As [`Garbler::new`]; if not [all labels are known ahead](are_labels_known_ahead); if a value is no circuit of AND
    /// and XOR.
    pub fn with_rows(
        channel: C,
        prg: &mut Prg,
        session: &SessionId,
        description: &Description,
        inputs: Inputs,
        (mut source, upcoming): (Box<dyn RowSource>, Upcoming),
    ) -> Result<Garbler<C>, ProtocolError> {
        assert!(are_labels_known_ahead(description), "the evaluator sends all transfers ahead");
        let (mut garbler, start, seed) =
            Garbler::set_up(channel, prg, session, description, inputs)?;
        let labels = garbler.labels_ahead(seed, upcoming)?;
        let delta = garbler.algebra.delta.clone();
        source.begin(RowSecrets { start, delta, labels })?;
        garbler.algebra.rows = Some(source);
        Ok(garbler)
    }

    /// The garbler, the start value, and the seed of the labels of its inputs.
    fn set_up(
        mut channel: C,
        prg: &mut Prg,
        session: &SessionId,
        description: &Description,
        inputs: Inputs,
    ) -> Result<(Garbler<C>, Block, Block), ProtocolError> {
        let (start, seed) = (prg.next_block(), prg.next_block());
        channel.send([start, seed].as_bytes())?;
        channel.flush()?;
        let delta = Delta::random(prg);
        let ots = totals::value(description, totals::EVALUATOR_INPUT_BITS);
        let labelled = totals::or_none(description, totals::LABELLED_SHARE_BITS);
        let back = totals::or_none(description, totals::GARBLER_SWITCHES) > 0;
        let (field, offset) = (FieldBits::DEFAULT, || delta.clone());
        let (ot, ot_back) = match (ots + labelled > 0, back) {
            (false, false) => (None, None),
            (true, false) => {
                let sender = SoftSpokenSender::setup(&mut channel, prg, session, field, offset())?;
                (Some(sender), None)
            }
            (true, true) => {
                let (channel, sessions) = (&mut channel, (session, &session.reversed()));
                let ends = setup_both(channel, prg, sessions, field, offset())?;
                (Some(ends.0), Some(ends.1))
            }
            (false, true) => {
                let (channel, session) = (&mut channel, &session.reversed());
                (None, Some(SoftSpokenReceiver::setup(channel, prg, session, field)?))
            }
        };
        let has_transfers = ot.is_some() || ot_back.is_some();
        let gates = HalfGates::new(start);
        let next = AndIndex::default();
        let scratch_wires = totals::value(description, totals::SCRATCH_WIRES) as usize;
        let mut garbler = Garbler {
            algebra: GarblerAlgebra { channel, delta, gates, next, rows: None, failure: None },
            description: description.clone(),
            labels: Prg::from_seed(seed),
            ot,
            ot_back,
            batches: LabelBatches::new(),
            unsent: ots,
            expected: VecDeque::new(),
            pending_bits: 0,
            rounds: RoundCount::set_up(has_transfers),
            transfers: 0,
            inputs,
            outputs: Outputs::new(description, GARBLER),
            permutations: OwnPermutations::new(description),
            draws: Prg::from_seed(prg.next_block()),
            swaps: RowSwaps::new(start),
            switch_ots: SwitchOts::default(),
            random_choices: RandomChoices::new(labelled),
            lookups: Lookups::new(start),
            tables: GarblerTables::new(description),
            scratch: Zeroizing::new(vec![Block::ZERO; scratch_wires]),
            bits: Zeroizing::default(),
        };
        (0..BATCHES_AHEAD).for_each(|_| garbler.expect_batch());
        Ok((garbler, start, seed))
    }

    /// Labels of false of all inputs, before the first gate.
    fn labels_ahead(
        &mut self,
        seed: Block,
        upcoming: Upcoming,
    ) -> Result<Zeroizing<Vec<Block>>, ProtocolError> {
        // All that the evaluator has sent without waiting.
        self.receive_all()?;
        let count = totals::value(&self.description, totals::EVALUATOR_INPUT_BITS)
            + totals::value(&self.description, totals::GARBLER_INPUT_BITS);
        let mut labels = Zeroizing::new(Vec::with_capacity(count as usize));
        let (mut own, mut theirs) = (Prg::from_seed(seed), self.batches.labels());
        let (mut bits, delta) = (Zeroizing::new(Vec::new()), self.algebra.delta.block());
        for instruction in upcoming {
            let instruction = instruction?;
            let wires = instruction.shape().wires() as usize;
            if takes_transfers(&self.description, &instruction) {
                labels.extend(theirs.by_ref().take(wires));
                continue;
            }
            let first = labels.len();
            labels.resize(first + wires, Block::ZERO);
            own.fill_blocks(&mut labels[first..]);
            bits.resize(wires, 0);
            to_bits(self.inputs.lanes(&instruction), instruction.lanes as usize, &mut bits);
            shift_labels(&mut labels[first..], &bits, delta);
        }
        assert_eq!(labels.len(), count as usize, "the plan states how many input bits there are");
        Ok(labels)
    }

    /// AND gates garbled so far.
    pub fn and_gates(&self) -> u64 {
        self.algebra.next.0
    }

    /// Oblivious transfers that were used so far, in both directions.
    pub fn transfers(&self) -> u64 {
        self.transfers
    }

    /// Messages so far that waited for one another.
    pub fn rounds(&self) -> u64 {
        self.rounds.total()
    }

    /// The channel and the outputs, after [`Driver::finish`].
    pub fn into_parts(self) -> (C, Outputs) {
        (self.algebra.channel, self.outputs)
    }

    /// The channel.
    pub fn channel(&self) -> &C {
        &self.algebra.channel
    }

    fn expect_batch(&mut self) {
        let count = self.unsent.min(OTS_PER_BATCH as u64);
        if count > 0 {
            self.unsent -= count;
            self.expected.push_back(PendingMessage::Batch(count as usize));
        }
    }

    /// Receives the next message that the evaluator owes.
    fn receive(&mut self) -> Result<(), ProtocolError> {
        let channel = &mut self.algebra.channel;
        match self.expected.pop_front().expect("the evaluator owes a message") {
            PendingMessage::Batch(count) => {
                let mut batch = self.batches.blank(count);
                let ot = self.ot.as_mut().expect("a program with OTs sets them up");
                ot.extend(channel, &mut batch)?;
                self.batches.push(batch);
            }
            PendingMessage::Output { instruction, select_bits } => {
                let count = instruction.shape().wires() as usize;
                combine(channel, &mut self.bits, count, &select_bits)?;
                let (lanes, bits) = (instruction.lanes as usize, &mut self.bits);
                self.pending_bits -= count;
                self.outputs
                    .write(&instruction, (0..lanes).map(|lane| from_bits(bits, lanes, lane)));
                bits.zeroize();
            }
            PendingMessage::Opening { count, select_bits } => {
                combine(channel, &mut self.bits, count, &select_bits)?;
            }
            PendingMessage::Told { instruction, select_bits } => {
                let count = instruction.shape().wires() as usize;
                combine(channel, &mut self.bits, count, &select_bits)?;
                self.pending_bits -= count;
                let told = lanes_of(&instruction, &self.bits);
                if instruction.op == Op::TableTell {
                    self.tables.tell(&instruction, told);
                    self.bits.zeroize();
                    return Ok(());
                }
                let told = self.permutations.tell(&instruction, told);
                self.bits.zeroize();
                let during = "a permutation that is told";
                told.map_err(|NotAPermutation| ProtocolError::Misbehaved { during })?;
            }
        }
        Ok(())
    }

    /// Waits for all that the evaluator owes; what follows depends on it.
    fn wait(&mut self) -> Result<(), ProtocolError> {
        self.receive_all()?;
        self.rounds.opened();
        Ok(())
    }

    /// Receives all that the evaluator owes.
    fn receive_all(&mut self) -> Result<(), ProtocolError> {
        self.algebra.channel.flush()?;
        while !self.expected.is_empty() {
            self.receive()?;
        }
        Ok(())
    }

    /// Reads messages of the evaluator if too many wait.
    fn relieve(&mut self) -> Result<(), ProtocolError> {
        let is_full = |garbler: &Self, share: usize| {
            garbler.pending_bits > PENDING_OUTPUT_BITS / share
                || garbler.expected.len() > PENDING_MESSAGES / share
        };
        if is_full(self, 1) {
            self.algebra.channel.flush()?;
            while is_full(self, 2) {
                self.receive()?;
            }
        }
        Ok(())
    }

    /// Labels of *false* for input bits of the garbler, which are in `bits`.
    fn own_labels(&mut self, wires: &mut [Block]) {
        self.labels.fill_blocks(wires);
        self.shift_labels(wires);
    }

    /// Makes the evaluator's labels of the bits in `bits` labels of *false*.
    fn shift_labels(&mut self, wires: &mut [Block]) {
        shift_labels(wires, &self.bits, self.algebra.delta.block());
        self.bits.zeroize();
    }

    /// This party's share of a value, packed.
    fn packed(&self, i: &Instruction, wires: &[Block]) -> Zeroizing<Vec<u8>> {
        packed_share(i, wires, is_share(&self.description, i))
    }

    /// Sends where an item is in what this party was told; the evaluator answers where that place comes from.
    fn locate(&mut self, i: &Instruction, wires: &[Block]) -> Result<Lane, ProtocolError> {
        let GarblerAlgebra { channel, delta, .. } = &mut self.algebra;
        self.rounds.spoken();
        let table = self.permutations.told_positions(i);
        self.lookups.garble(delta, wires, (table, i.element.width(), 0), channel)?;
        self.permutations.end_located(i);
        // The answer is the place itself.
        let select_bits = Zeroizing::new(vec![0; packed_bytes(i)]);
        self.expected.push_back(PendingMessage::Opening { count: wires.len(), select_bits });
        self.wait()?;
        Ok(from_bits(&self.bits, 1, 0))
    }

    /// Expects the select bits of a value that this party is told; waits for them after the last part.
    fn expect_told(
        &mut self,
        i: &Instruction,
        wires: &[Block],
        is_last: bool,
    ) -> Result<(), ProtocolError> {
        let (instruction, select_bits) = (*i, self.packed(i, wires));
        self.pending_bits += i.shape().wires() as usize;
        self.expected.push_back(PendingMessage::Told { instruction, select_bits });
        if is_last { self.wait() } else { self.relieve() }
    }

    /// An instruction on a table.
    fn look_up(
        &mut self,
        i: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        match i.op {
            Op::TableSet => self.tables.set(i),
            Op::TableTell => {
                let is_last = is_last_told(&self.description, i);
                return self.expect_told(i, operands[0], is_last);
            }
            op => {
                assert_eq!(op, Op::TableLookUp, "it is about a table");
                let GarblerAlgebra { channel, delta, .. } = &mut self.algebra;
                let sources = (&mut self.lookups, &*delta, &mut self.draws);
                let masks = self.tables.garble((i, operands[0]), sources, channel)?;
                self.evaluator_labels(results[0])?;
                let (count, select_bits) = (results[0].len(), masks);
                self.expected.push_back(PendingMessage::Opening { count, select_bits });
                self.wait()?;
                self.shift_labels(results[0]);
            }
        }
        Ok(())
    }

    /// Labels of *false* for inputs of the evaluator.
    fn evaluator_labels(&mut self, mut wires: &mut [Block]) -> Result<(), ProtocolError> {
        self.transfers += wires.len() as u64;
        while !wires.is_empty() {
            if self.batches.is_empty() {
                self.algebra.channel.flush()?;
            }
            while self.batches.is_empty() {
                self.receive()?;
            }
            let (count, is_used_up) = self.batches.take(wires);
            wires = &mut wires[count..];
            if is_used_up {
                self.expect_batch();
            }
        }
        Ok(())
    }
}

/// Makes labels of the values `bits` labels of *false*.
fn shift_labels(labels: &mut [Block], bits: &[u8], delta: Block) {
    for (label, bit) in labels.iter_mut().zip(bits) {
        *label ^= delta.and_bit(SecretBit::lowest(u64::from(*bit)));
    }
}

impl<C: Channel> Driver for Garbler<C> {
    type Wire = Block;
    type Error = ProtocolError;

    fn input(
        &mut self,
        instruction: &Instruction,
        wires: &mut [Block],
    ) -> Result<(), ProtocolError> {
        if is_share(&self.description, instruction) {
            wires.fill(Block::ZERO);
            if owner(&self.description, instruction) == GARBLER {
                let lanes = self.inputs.lanes(instruction);
                write_rows(instruction, lanes, &mut self.bits, wires);
            }
            return Ok(());
        }
        if takes_transfers(&self.description, instruction) {
            return self.evaluator_labels(wires);
        }
        self.bits.resize(wires.len(), 0);
        to_bits(self.inputs.lanes(instruction), instruction.lanes as usize, &mut self.bits);
        self.own_labels(wires);
        Ok(())
    }

    fn output(&mut self, instruction: &Instruction, wires: &[Block]) -> Result<(), ProtocolError> {
        let select_bits = || wires.iter().map(|wire| wire.select_u64());
        if learns(&self.description, instruction, EVALUATOR) {
            let length = packed_bytes(instruction);
            self.algebra.channel.send_with(length, |bytes| pack(select_bits(), bytes))?;
            self.rounds.spoken();
        }
        if learns(&self.description, instruction, GARBLER) {
            self.pending_bits += wires.len();
            let (instruction, select_bits) = (*instruction, self.packed(instruction, wires));
            self.expected.push_back(PendingMessage::Output { instruction, select_bits });
            self.rounds.answered();
        }
        self.relieve()
    }

    fn compute(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        if is_on_shares(&self.description, instruction) {
            return self.compute_on_shares(instruction, results, operands);
        }
        if instruction.op.is_of_table() {
            return self.look_up(instruction, results, operands);
        }
        let before = self.algebra.next.0;
        bits::execute(&mut self.algebra, instruction, results, operands, &mut self.scratch);
        if self.algebra.next.0 > before {
            self.rounds.spoken();
        }
        self.algebra.failure.take().map_or(Ok(()), Err)
    }

    fn reveal(&mut self, i: &Instruction, wires: &[Block]) -> Result<Lane, ProtocolError> {
        if i.op == Op::Locate {
            return self.locate(i, wires);
        }
        let select_bits = self.packed(i, wires);
        self.algebra.channel.send(&select_bits)?;
        let count = i.shape().wires() as usize;
        self.expected.push_back(PendingMessage::Opening { count, select_bits });
        self.wait()?;
        let opened = from_bits(&self.bits, 1, 0).into_limbs();
        Ok(Lane::from_limbs(declassify_value(opened, "opened to all parties")))
    }

    fn permute(
        &mut self,
        i: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        let lanes = i.lanes as usize;
        if i.op == Op::Tell {
            assert_eq!(owner(&self.description, i), GARBLER, "the garbler alone is told");
            let is_last = OwnPermutations::is_last_told(&self.description, i);
            return self.expect_told(i, operands[0], is_last);
        }
        let owner = owner(&self.description, i);
        if i.op == Op::SwapKnown {
            return self.swap_rows((i, owner), results, operands);
        }
        if takes_transfers_back(&self.description, i) {
            return self.own_switches(i, results[0]);
        }
        let is_share = is_share(&self.description, i);
        if owner == EVALUATOR && is_share {
            results[0].fill(Block::ZERO);
            return Ok(());
        }
        if owner == EVALUATOR {
            self.evaluator_labels(results[0])?;
            if i.op == Op::Switches {
                // Labels of false have the select bit 0 from here on: the evaluator knows its own bits.
                let length = packed_bytes(i);
                self.algebra.channel.send_with(length, |bytes| {
                    pack(results[0].iter().map(|wire| wire.select_u64()), bytes);
                })?;
                self.rounds.spoken();
                let no = SecretBit::public(false);
                results[0].iter_mut().for_each(|label| *label = label.with_select_bit(no));
            }
            return Ok(());
        }
        let draws = &mut self.draws;
        let values =
            self.permutations.bring(i, &mut |words| draws.fill_bytes(words.as_mut_bytes()));
        let values = values.iter().map(|&value| Lane::from(value));
        if is_share {
            results[0].fill(Block::ZERO);
            write_rows(i, values, &mut self.bits, results[0]);
            return Ok(());
        }
        self.bits.resize(results[0].len(), 0);
        to_bits(values, lanes, &mut self.bits);
        match i.op {
            // The evaluator's labels are 0.
            Op::Switches => {
                results[0].fill(Block::ZERO);
                self.shift_labels(results[0]);
            }
            Op::Origins => self.own_labels(results[0]),
            op => unreachable!("{} brings nothing", op.info().name),
        }
        Ok(())
    }

    fn opened(&self, port: u32) -> Result<Lane, ProtocolError> {
        let opened = self.outputs.opened(port).into_limbs();
        Ok(Lane::from_limbs(declassify_value(opened, "opened to all parties")))
    }

    fn end_block(&mut self) -> Result<(), ProtocolError> {
        self.finish()?;
        self.rounds.go_on();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), ProtocolError> {
        self.algebra.channel.flush()?;
        while !self.expected.is_empty() {
            self.receive()?;
        }
        self.rounds.end();
        Ok(())
    }
}
