//! The evaluator: holds one label per wire, consumes rows.

mod algebra;
mod rows;

use std::collections::VecDeque;

use phineus_bytecode::{Description, Instruction, Lane, Op};
use phineus_channels::Channel;
use phineus_crypto::{AndIndex, Block, Delta, HalfGates, Prg, declassify_value};
use phineus_engine::{Driver, Inputs, Outputs, OwnPermutations, bits, from_bits, to_bits};
use phineus_ot::{
    CorrelatedOtReceiver, FieldBits, SessionId, SoftSpokenReceiver, SoftSpokenSender, setup_both,
};
use zerocopy::IntoBytes;
use zeroize::{Zeroize, Zeroizing};

use crate::ProtocolError;
use crate::garbled::batches::LabelBatches;
use crate::garbled::limits::{BATCHES_AHEAD, OTS_PER_BATCH, PENDING_MESSAGES, PENDING_OUTPUT_BITS};
use crate::garbled::lookup::Lookups;
use crate::garbled::rounds::RoundCount;
use crate::garbled::row_swaps::RowSwaps;
use crate::garbled::share_labels::{RandomChoices, packed_share, write_rows};
use crate::garbled::switch_ots::SwitchOts;
use crate::garbled::tables::{EvaluatorTables, is_last_told};
use crate::garbled::{
    EVALUATOR, GARBLER, Upcoming, is_on_shares, is_share, learns, owner, packed_bit, packed_bytes,
    takes_transfers, takes_transfers_back, totals,
};

pub(crate) use algebra::EvaluatorAlgebra;

/// Bytes of outputs for the garbler that may wait in the buffer for more.
const FLUSH_OUTPUT_BYTES: usize = PENDING_OUTPUT_BITS / 8 / 4;

/// Outputs for the garbler that may wait in the buffer: fewer than the garbler waits for.
const FLUSH_OUTPUT_MESSAGES: usize = PENDING_MESSAGES / 4;

/// The evaluator's input bits in program order, read ahead of the computation.
struct InputChoices {
    upcoming: Upcoming,
    /// Bits of the instruction that was read last, from `position` on not used yet.
    bits: Zeroizing<Vec<u8>>,
    position: usize,
    /// Origins of this party's permutations that came up, and which are shares.
    origins: VecDeque<Zeroizing<Vec<u32>>>,
}

/// The evaluating party.
pub struct Evaluator<C> {
    algebra: EvaluatorAlgebra<C>,
    description: Description,
    labels: Prg,
    ot: Option<SoftSpokenReceiver>,
    /// For switches of the garbler.
    ot_back: Option<SoftSpokenSender>,
    choices: InputChoices,
    /// Labels of our input bits, by batch, not yet used.
    batches: LabelBatches,
    unsent: u64,
    unflushed_bytes: usize,
    unflushed_messages: usize,
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
    /// Whether the garbler waits for something that may still be in the buffer.
    owes: bool,
    lookups: Lookups,
    tables: EvaluatorTables,
    scratch: Zeroizing<Vec<Block>>,
    bits: Zeroizing<Vec<u8>>,
    words: Zeroizing<Vec<u64>>,
}

impl<C: Channel> Evaluator<C> {
    /// Runs the set-up over `channel` and sends the first batches of OTs.
    ///
    /// `upcoming` are the program's input instructions in order; `description` is that of the
    /// planned program; `session` is new and common to both.
    ///
    /// # Errors
    /// When the channel fails or the peer misbehaves.
    ///
    /// # Panics
    /// If the description has no totals: it is not planned.
    pub fn new(
        mut channel: C,
        prg: &mut Prg,
        session: &SessionId,
        description: &Description,
        inputs: Inputs,
        upcoming: Upcoming,
    ) -> Result<Evaluator<C>, ProtocolError> {
        let mut public = [Block::ZERO; 2];
        channel.recv(public.as_mut_bytes())?;
        let [start, seed] = public;
        let ots = totals::value(description, totals::EVALUATOR_INPUT_BITS);
        let labelled = totals::or_none(description, totals::LABELLED_SHARE_BITS);
        let back = totals::or_none(description, totals::GARBLER_SWITCHES) > 0;
        let field = FieldBits::DEFAULT;
        let (ot, ot_back) = match (ots + labelled > 0, back) {
            (false, false) => (None, None),
            (true, false) => {
                (Some(SoftSpokenReceiver::setup(&mut channel, prg, session, field)?), None)
            }
            (true, true) => {
                let (offset, sessions) = (Delta::random(prg), (&session.reversed(), session));
                let ends = setup_both(&mut channel, prg, sessions, field, offset)?;
                (Some(ends.1), Some(ends.0))
            }
            (false, true) => {
                let (offset, session) = (Delta::random(prg), &session.reversed());
                let back = SoftSpokenSender::setup(&mut channel, prg, session, field, offset)?;
                (None, Some(back))
            }
        };
        let has_transfers = ot.is_some() || ot_back.is_some();
        let gates = HalfGates::new(start);
        let next = AndIndex::default();
        let scratch_wires = totals::value(description, totals::SCRATCH_WIRES) as usize;
        let mut evaluator = Evaluator {
            algebra: EvaluatorAlgebra { channel, gates, next, failure: None },
            description: description.clone(),
            labels: Prg::from_seed(seed),
            ot,
            ot_back,
            choices: InputChoices {
                upcoming,
                bits: Zeroizing::default(),
                position: 0,
                origins: VecDeque::new(),
            },
            batches: LabelBatches::new(),
            unsent: ots,
            unflushed_bytes: 0,
            unflushed_messages: 0,
            rounds: RoundCount::set_up(has_transfers),
            transfers: 0,
            inputs,
            outputs: Outputs::new(description, EVALUATOR),
            permutations: OwnPermutations::new(description),
            draws: Prg::from_seed(prg.next_block()),
            swaps: RowSwaps::new(start),
            switch_ots: SwitchOts::default(),
            random_choices: RandomChoices::new(labelled),
            owes: false,
            lookups: Lookups::new(start),
            tables: EvaluatorTables::default(),
            scratch: Zeroizing::new(vec![Block::ZERO; scratch_wires]),
            bits: Zeroizing::default(),
            words: Zeroizing::default(),
        };
        (0..BATCHES_AHEAD).try_for_each(|_| evaluator.send_batch())?;
        Ok(evaluator)
    }

    /// AND gates evaluated so far.
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

    /// Sends the OTs of the next batch of input bits, if any are left.
    fn send_batch(&mut self) -> Result<(), ProtocolError> {
        let count = self.unsent.min(OTS_PER_BATCH as u64) as usize;
        if count == 0 {
            return Ok(());
        }
        self.unsent -= count as u64;
        self.words.clear();
        self.words.resize(count.div_ceil(64), 0);
        for i in 0..count {
            self.words[i / 64] |= self.next_choice()? << (i % 64);
        }
        let mut batch = self.batches.blank(count);
        let ot = self.ot.as_mut().expect("a program with OTs sets them up");
        ot.extend(&mut self.algebra.channel, &self.words, &mut batch)?;
        self.words.zeroize();
        self.batches.push(batch);
        Ok(())
    }

    /// Our next input bit in program order.
    fn next_choice(&mut self) -> Result<u64, ProtocolError> {
        while self.choices.position == self.choices.bits.len() {
            self.read_upcoming()?;
        }
        let choices = &mut self.choices;
        choices.position += 1;
        Ok(u64::from(std::mem::take(&mut choices.bits[choices.position - 1])))
    }

    /// Reads the next instruction that brings something in; all choices before it are used.
    fn read_upcoming(&mut self) -> Result<(), ProtocolError> {
        let choices = &mut self.choices;
        let next = choices.upcoming.next();
        let instruction = next.expect("the plan states how many input bits there are")?;
        if owner(&self.description, &instruction) != EVALUATOR {
            return Ok(());
        }
        let (lanes, draws) = (instruction.lanes as usize, &mut self.draws);
        let draw = &mut |words: &mut [u64]| draws.fill_bytes(words.as_mut_bytes());
        if !takes_transfers(&self.description, &instruction) {
            if instruction.op == Op::Origins {
                // Where it is met its permutation may be that of a later iteration.
                choices.origins.push_back(self.permutations.bring(&instruction, draw));
            }
            return Ok(());
        }
        choices.bits.resize(instruction.shape().wires() as usize, 0);
        match instruction.op {
            Op::Input => to_bits(self.inputs.lanes(&instruction), lanes, &mut choices.bits),
            Op::TableLookUp => self.tables.draw(draws, &mut choices.bits),
            Op::Switches | Op::Origins => {
                let values = self.permutations.bring(&instruction, draw);
                let values = values.iter().map(|&value| Lane::from(value));
                to_bits(values, lanes, &mut choices.bits);
            }
            op => unreachable!("{} takes no transfers", op.info().name),
        }
        choices.position = 0;
        Ok(())
    }

    /// Lets the garbler have what it waits for, before this party waits for the garbler.
    fn settle(&mut self) -> Result<(), ProtocolError> {
        if std::mem::take(&mut self.owes) {
            self.algebra.channel.flush()?;
            (self.unflushed_bytes, self.unflushed_messages) = (0, 0);
        }
        Ok(())
    }

    /// Tells the garbler the select bits of wires that it may learn.
    fn answer(&mut self, i: &Instruction, wires: &[Block]) -> Result<(), ProtocolError> {
        let (channel, length) = (&mut self.algebra.channel, packed_bytes(i));
        let is_share = is_share(&self.description, i);
        channel.send(&packed_share(i, wires, is_share))?;
        self.unflushed_bytes += length;
        self.unflushed_messages += 1;
        if self.unflushed_bytes > FLUSH_OUTPUT_BYTES
            || self.unflushed_messages > FLUSH_OUTPUT_MESSAGES
        {
            channel.flush()?;
            (self.unflushed_bytes, self.unflushed_messages) = (0, 0);
        }
        Ok(())
    }

    /// Looks an item up in what the garbler was told, and tells it which place that comes from.
    fn locate(&mut self, i: &Instruction, wires: &[Block]) -> Result<Lane, ProtocolError> {
        let channel = &mut self.algebra.channel;
        let position = self.lookups.evaluate(wires, i.element.width(), channel)?;
        let place = self.permutations.place(i, position as u32);
        self.permutations.end_located(i);
        let place = declassify_value(u64::from(place), "opened to all parties");
        let bytes = packed_bytes(i);
        channel.send(&place.to_le_bytes()[..bytes])?;
        self.end_opening();
        Ok(Lane::from(place))
    }

    /// An instruction on a table of the garbler.
    fn look_up(
        &mut self,
        i: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        match i.op {
            Op::TableSet => Ok(()),
            Op::TableTell => {
                self.answer(i, operands[0])?;
                if is_last_told(&self.description, i) {
                    self.end_opening();
                }
                Ok(())
            }
            op => {
                assert_eq!(op, Op::TableLookUp, "it is about a table");
                let channel = &mut self.algebra.channel;
                let table = (i, operands[0]);
                let mut masked = self.tables.evaluate(table, &mut self.lookups, channel)?;
                self.own_labels(results[0])?;
                self.tables.add_choices(i, &mut masked);
                self.algebra.channel.send(&masked)?;
                self.end_opening();
                Ok(())
            }
        }
    }

    /// The garbler waits for what it was told: with what follows from a place that was opened it is one message.
    fn end_opening(&mut self) {
        self.owes = true;
        self.rounds.opened();
    }

    /// Labels of our input bits.
    fn own_labels(&mut self, mut wires: &mut [Block]) -> Result<(), ProtocolError> {
        self.transfers += wires.len() as u64;
        while !wires.is_empty() {
            let (count, is_used_up) = self.batches.take(wires);
            wires = &mut wires[count..];
            if is_used_up {
                self.send_batch()?;
            }
        }
        Ok(())
    }
}

impl<C: Channel> Driver for Evaluator<C> {
    type Wire = Block;
    type Error = ProtocolError;

    fn input(
        &mut self,
        instruction: &Instruction,
        wires: &mut [Block],
    ) -> Result<(), ProtocolError> {
        let is_own = owner(&self.description, instruction) == EVALUATOR;
        if is_share(&self.description, instruction) {
            wires.fill(Block::ZERO);
            if is_own {
                let lanes = self.inputs.lanes(instruction);
                write_rows(instruction, lanes, &mut self.bits, wires);
            }
            return Ok(());
        }
        self.settle()?;
        if is_own {
            return self.own_labels(wires);
        }
        self.labels.fill_blocks(wires);
        Ok(())
    }

    fn output(&mut self, instruction: &Instruction, wires: &[Block]) -> Result<(), ProtocolError> {
        self.settle()?;
        let (channel, length) = (&mut self.algebra.channel, packed_bytes(instruction));
        if learns(&self.description, instruction, EVALUATOR) {
            self.rounds.spoken();
            let bits = &mut self.bits;
            bits.resize(wires.len(), 0);
            channel.recv_with(length, |theirs| {
                for (i, (bit, wire)) in bits.iter_mut().zip(wires).enumerate() {
                    *bit = packed_bit(theirs, i) ^ wire.select_u64() as u8;
                }
            })?;
            let lanes = instruction.lanes as usize;
            let values = (0..lanes).map(|lane| from_bits(bits, lanes, lane));
            self.outputs.write(instruction, values);
            bits.zeroize();
        }
        if learns(&self.description, instruction, GARBLER) {
            self.answer(instruction, wires)?;
            self.rounds.answered();
        }
        Ok(())
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
        self.settle()?;
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
        self.settle()?;
        if i.op == Op::Locate {
            return self.locate(i, wires);
        }
        let own = packed_share(i, wires, is_share(&self.description, i));
        let mut value = 0;
        self.algebra.channel.recv_with(packed_bytes(i), |theirs| {
            for (byte, (own, theirs)) in own.iter().zip(theirs).enumerate() {
                value |= u64::from(own ^ theirs) << (8 * byte);
            }
        })?;
        self.answer(i, wires)?;
        self.end_opening();
        Ok(Lane::from(declassify_value(value, "opened to all parties")))
    }

    fn permute(
        &mut self,
        i: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        if i.op == Op::Tell {
            self.answer(i, operands[0])?;
            if OwnPermutations::is_last_told(&self.description, i) {
                self.end_opening();
            }
            return Ok(());
        }
        let owner = owner(&self.description, i);
        if i.op == Op::SwapKnown {
            if owner == EVALUATOR {
                self.settle()?;
            }
            return self.swap_rows((i, owner), results, operands);
        }
        if i.op == Op::Origins && is_share(&self.description, i) {
            results[0].fill(Block::ZERO);
            if owner == EVALUATOR {
                while self.choices.origins.is_empty() {
                    self.read_upcoming()?;
                }
                let origins = self.choices.origins.pop_front().expect("just read");
                let origins = origins.iter().map(|&origin| Lane::from(origin));
                write_rows(i, origins, &mut self.bits, results[0]);
            }
            return Ok(());
        }
        if takes_transfers_back(&self.description, i) {
            return self.garbler_switches(i, results[0]);
        }
        self.settle()?;
        match (i.op, owner) {
            (Op::Switches, EVALUATOR) => {
                self.own_labels(results[0])?;
                let wires = &mut *results[0];
                self.algebra.channel.recv_with(packed_bytes(i), |permuted| {
                    for (k, wire) in wires.iter_mut().enumerate() {
                        *wire ^= Block::from_bits(packed_bit(permuted, k).into());
                    }
                })?;
                self.rounds.spoken();
            }
            (Op::Origins, EVALUATOR) => self.own_labels(results[0])?,
            (Op::Switches, _) => results[0].fill(Block::ZERO),
            (Op::Origins, _) => self.labels.fill_blocks(results[0]),
            (op, _) => unreachable!("{} brings nothing", op.info().name),
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
        self.owes = false;
        self.rounds.end();
        Ok(())
    }
}
