//! [`HalfGateGarbling`]: garbled values of two parties, as Yao's garbled circuits with half gates.
//!
//! Sources: those of [`crate::garbled`] for gates and labels. Demmler, Schneider, Zohner, "ABY", NDSS 2015, section IV, for
//! conversions: XOR shares become labels by correlated OTs (IV-C3), and select bits are XOR shares (IV-C1).
//!
//! A value has one label a wire at each party: the garbler (party 0) has that of *false*, the evaluator the one of the value.
//! Tables are garbled where an instruction is met, and sent over a channel of their own.
//!
//! Cost: 32 bytes from garbler to evaluator for each AND, 32 bits back for each wire that becomes garbled. What the garbler
//! alone knows becomes garbled without a message: both draw the evaluator's label from a common generator.
//!
//! Invariants: one offset and one start value a session; the number of an AND never repeats, also not in another block; both
//! parties meet gates and wires in the same order.
//!
//! Not protected: against a party that deviates.

use phineus_bytecode::Instruction;
use phineus_channels::{Channel, Parties};
use phineus_crypto::{AndIndex, Block, Delta, HalfGates, Prg, SecretBit};
use phineus_engine::bits;
use phineus_ot::limits::TILE_OTS;
use phineus_ot::{
    CorrelatedOtReceiver, CorrelatedOtSender, FieldBits, SessionId, SoftSpokenReceiver,
    SoftSpokenSender, extension_bytes, setup_bytes, state_bytes,
};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use crate::ProtocolError;
use crate::bmr::{grow, pack};
use crate::garbled::{EvaluatorAlgebra, GARBLER, GarblerAlgebra};
use crate::shares::values::{Words, blank};
use crate::shares::words::{put, words};

/// The extension of the OTs.
const FIELD: FieldBits = FieldBits::DEFAULT;

/// Bytes of an OT's message.
const OT_BYTES: usize = FIELD.vole_count() / 8;

/// Bytes that the garbler sends at the set-up, and the evaluator.
pub(super) fn set_up_bytes() -> [u64; 2] {
    let (from_sender, from_receiver) = setup_bytes(FIELD);
    [(2 * size_of::<Block>()) as u64 + from_sender, from_receiver]
}

/// Bytes that the evaluator sends in a round in which so many wires become garbled.
pub(super) fn entering_bytes(wires: usize) -> u64 {
    extension_bytes(wires as u64, FIELD)
}

/// Memory of a party besides scratch wires and values in flight.
pub(super) fn memory_bytes() -> u64 {
    state_bytes(FIELD) as u64 + (64 << 10)
}

/// Which of the two parties this is.
enum Side<C> {
    Garbler { algebra: Box<GarblerAlgebra<C>>, ot: Box<SoftSpokenSender> },
    Evaluator { algebra: Box<EvaluatorAlgebra<C>>, ot: Box<SoftSpokenReceiver> },
}

/// One of two parties that garble and evaluate.
///
/// Has no `Debug`: it holds the offset.
pub struct HalfGateGarbling<C> {
    side: Side<C>,
    /// Active labels of values that the garbler alone knows.
    labels: Prg,
    /// Masks of the garbler.
    draws: Prg,
    scratch: Zeroizing<Vec<Block>>,
    ots: u64,
    /// Whether there are tables that the evaluator may wait for.
    is_unflushed: bool,
}

impl<C: Channel> HalfGateGarbling<C> {
    /// Agrees on the start value and a common generator, and sets up oblivious transfers.
    ///
    /// `parties` are channels that nobody else uses; `session` is the same at both parties and was never used before.
    ///
    /// # Errors
    /// When the channel fails or the peer sends what no honest peer sends.
    ///
    /// # Panics
    /// If there are more than two parties.
    pub fn set_up(
        parties: Parties<C>,
        prg: &mut Prg,
        session: &SessionId,
    ) -> Result<HalfGateGarbling<C>, ProtocolError> {
        assert_eq!(parties.count(), 2, "half gates are for two parties");
        let is_garbler = parties.me() == usize::from(GARBLER);
        let channels = parties.into_channels().into_iter();
        let mut channel = channels.flatten().next().expect("each of two parties has a channel");
        let mut public = [Block::ZERO; 2];
        if is_garbler {
            public = [prg.next_block(), prg.next_block()];
            channel.send(public.as_bytes())?;
            channel.flush()?;
        } else {
            channel.recv(public.as_mut_bytes())?;
        }
        let [start, seed] = public;
        let (gates, next) = (HalfGates::new(start), AndIndex::default());
        let side = match is_garbler {
            true => {
                let delta = Delta::random(prg);
                let ot = SoftSpokenSender::setup(&mut channel, prg, session, FIELD, delta.clone())?;
                let algebra =
                    GarblerAlgebra { channel, delta, gates, next, rows: None, failure: None };
                Side::Garbler { algebra: Box::new(algebra), ot: Box::new(ot) }
            }
            false => {
                let ot = SoftSpokenReceiver::setup(&mut channel, prg, session, FIELD)?;
                let algebra = EvaluatorAlgebra { channel, gates, next, failure: None };
                Side::Evaluator { algebra: Box::new(algebra), ot: Box::new(ot) }
            }
        };
        Ok(HalfGateGarbling {
            side,
            labels: Prg::from_seed(seed),
            draws: Prg::from_seed(prg.next_block()),
            scratch: Zeroizing::default(),
            ots: 0,
            is_unflushed: false,
        })
    }

    /// The channels.
    pub fn into_parties(self) -> Parties<C> {
        match self.side {
            Side::Garbler { algebra, .. } => Parties::new(0, vec![None, Some(algebra.channel)]),
            Side::Evaluator { algebra, .. } => Parties::new(1, vec![Some(algebra.channel), None]),
        }
    }

    /// Oblivious transfers so far.
    pub fn ots(&self) -> u64 {
        self.ots
    }

    /// AND gates so far.
    pub(super) fn gates(&self) -> u64 {
        match &self.side {
            Side::Garbler { algebra, .. } => algebra.next.0,
            Side::Evaluator { algebra, .. } => algebra.next.0,
        }
    }

    /// Whether this is the garbler.
    pub(super) fn is_garbler(&self) -> bool {
        matches!(self.side, Side::Garbler { .. })
    }

    /// Does an operation on labels.
    pub(super) fn compute(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        let before = self.gates();
        grow(&mut self.scratch, bits::scratch_wires(instruction));
        let scratch = &mut self.scratch;
        let failure = match &mut self.side {
            Side::Garbler { algebra, .. } => {
                bits::execute(&mut **algebra, instruction, results, operands, scratch);
                algebra.failure.take()
            }
            Side::Evaluator { algebra, .. } => {
                bits::execute(&mut **algebra, instruction, results, operands, scratch);
                algebra.failure.take()
            }
        };
        self.is_unflushed |= self.gates() > before;
        failure.map_or(Ok(()), Err)
    }

    /// Hands tables to the transport. Before this party waits for the peer, the peer must be able to go on.
    pub(super) fn flush(&mut self) -> Result<(), ProtocolError> {
        if let Side::Garbler { algebra, .. } = &mut self.side
            && std::mem::take(&mut self.is_unflushed)
        {
            algebra.channel.flush()?;
        }
        Ok(())
    }

    /// Labels of bits that the garbler alone knows; the evaluator gives none.
    pub(super) fn enter_known(&mut self, known: Option<&[u64]>, labels: &mut [Block]) {
        self.labels.fill_blocks(labels);
        if let (Side::Garbler { algebra, .. }, Some(known)) = (&self.side, known) {
            shift(labels, known, algebra.delta.block());
        }
    }

    /// Labels of a mask of `bits` bits that the garbler draws, and the mask at the garbler.
    pub(super) fn enter_mask(&mut self, bits: usize, labels: &mut [Block]) -> Words {
        let mut mask = blank(words(bits));
        if self.is_garbler() {
            self.draws.fill_bytes(mask.as_mut_bytes());
        }
        self.enter_known(Some(&mask), labels);
        mask
    }

    /// OTs whose messages the evaluator may send before the garbler receives any: whole tiles.
    fn ots_ahead(&self) -> usize {
        match &self.side {
            Side::Garbler { .. } => 0,
            Side::Evaluator { algebra, .. } => {
                algebra.channel.ahead_bytes() / 2 / OT_BYTES / TILE_OTS * TILE_OTS
            }
        }
    }

    /// Before a round: sends what the garbler needs of the evaluator's shares of wires that become garbled, as far as that
    /// does not wait for the garbler; returns how many labels are done.
    pub(super) fn begin_round(
        &mut self,
        shares: &[u64],
        labels: &mut [Block],
    ) -> Result<usize, ProtocolError> {
        self.flush()?;
        let ahead = self.ots_ahead().min(labels.len());
        self.choose(&shares[..words(ahead)], &mut labels[..ahead])?;
        Ok(ahead)
    }

    /// After a round: completes the labels of all wires from number `done` on.
    pub(super) fn end_round(
        &mut self,
        shares: &[u64],
        labels: &mut [Block],
        done: usize,
    ) -> Result<(), ProtocolError> {
        self.choose(&shares[done / 64..], &mut labels[done..])
    }

    /// Labels of the XOR of both parties' shares.
    fn choose(&mut self, shares: &[u64], labels: &mut [Block]) -> Result<(), ProtocolError> {
        if labels.is_empty() {
            return Ok(());
        }
        self.ots += labels.len() as u64;
        match &mut self.side {
            Side::Garbler { algebra, ot } => {
                ot.extend(&mut algebra.channel, labels)?;
                shift(labels, shares, algebra.delta.block());
            }
            Side::Evaluator { algebra, ot } => {
                ot.extend(&mut algebra.channel, shares, labels)?;
                algebra.channel.flush()?;
            }
        }
        Ok(())
    }

    /// Tells the evaluator the value of `wires`, beside the tables: packed bits, at the evaluator.
    pub(super) fn decode(
        &mut self,
        wires: &[Block],
        bits: &mut [u64],
    ) -> Result<(), ProtocolError> {
        pack(wires, bits);
        let length = wires.len().div_ceil(8);
        match &mut self.side {
            Side::Garbler { algebra, .. } => {
                self.is_unflushed = true;
                algebra.channel.send(&bits.as_bytes()[..length])?;
            }
            Side::Evaluator { algebra, .. } => {
                let mut theirs = blank(bits.len());
                algebra.channel.recv(&mut theirs.as_mut_bytes()[..length])?;
                bits.iter_mut().zip(&*theirs).for_each(|(bits, theirs)| *bits ^= theirs);
            }
        }
        Ok(())
    }
}

/// Makes labels of *false* of labels of `values`.
fn shift(labels: &mut [Block], values: &[u64], delta: Block) {
    for (wire, label) in labels.iter_mut().enumerate() {
        *label ^= delta.and_bit(SecretBit::of_packed(values, wire));
    }
}

/// Wires that become garbled; done after one round.
pub(super) struct EnteringLabels {
    /// This party's shares of the wires that take OTs, packed.
    shares: Words,
    /// Their labels, after the round.
    pub(super) labels: Zeroizing<Vec<Block>>,
    /// Labels of the garbler's summand, if one of each party is added.
    pub(super) summand: Zeroizing<Vec<Block>>,
}

impl EnteringLabels {
    /// Wires of which this party has these shares.
    pub(super) fn new(shares: Words, wires: usize) -> EnteringLabels {
        let labels = Zeroizing::new(vec![Block::ZERO; wires]);
        EnteringLabels { shares, labels, summand: Zeroizing::default() }
    }

    /// Adds the labels of another summand, which the garbler alone knows.
    pub(super) fn with_summand(self, summand: Zeroizing<Vec<Block>>) -> EnteringLabels {
        EnteringLabels { summand, ..self }
    }

    /// Wires whose labels are there: the garbler alone knows them.
    pub(super) fn known(labels: Zeroizing<Vec<Block>>) -> EnteringLabels {
        EnteringLabels { shares: blank(0), labels, summand: Zeroizing::default() }
    }

    /// Wires that take OTs.
    pub(super) fn wires(&self) -> usize {
        if self.shares.is_empty() { 0 } else { self.labels.len() }
    }

    /// Appends the shares to those of other wires, of which there are `at`.
    pub(super) fn collect(&self, all: &mut [u64], at: usize) {
        put(all, at, &self.shares, self.wires());
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use phineus_channels::memory_mesh;

    use super::*;

    /// More wires than the evaluator takes OTs for before the round, and a rest that fills no tile.
    const WIRES: usize = (1 << 17) + 3 * TILE_OTS + 77;

    #[test]
    fn shares_become_labels_however_many_there_are() {
        let handles: Vec<_> = memory_mesh(2)
            .into_iter()
            .map(|parties| {
                let mut prg = Prg::from_seed(Block::from_bits(3 + parties.me() as u128));
                thread::spawn(move || {
                    let session = SessionId::new([9; 32]);
                    let mut party = HalfGateGarbling::set_up(parties, &mut prg, &session)
                        .expect("both are honest");
                    let (mut shares, mut masked) = (blank(words(WIRES)), blank(words(100)));
                    prg.fill_bytes(shares.as_mut_bytes());
                    let mut labels = vec![Block::ZERO; WIRES];
                    let done = party.begin_round(&shares, &mut labels).expect("it is sent");
                    assert_eq!(done, if party.is_garbler() { 0 } else { 1 << 17 });
                    party.end_round(&shares, &mut labels, done).expect("it is sent");
                    let mut mask = vec![Block::ZERO; 100];
                    let drawn = party.enter_mask(100, &mut mask);
                    party.decode(&mask, &mut masked).expect("it is sent");
                    party.flush().expect("it is sent");
                    let delta = match &party.side {
                        Side::Garbler { algebra, .. } => algebra.delta.block(),
                        Side::Evaluator { .. } => Block::ZERO,
                    };
                    assert_eq!(party.ots(), WIRES as u64);
                    (shares, labels, delta, [drawn, masked])
                })
            })
            .collect();
        let mut parties = handles.into_iter().map(|handle| handle.join().expect("no panic"));
        let (own, zeros, delta, [drawn, _]) = parties.next().expect("two parties");
        let (other, active, _, [_, masked]) = parties.next().expect("two parties");
        for wire in 0..WIRES {
            let value = SecretBit::of_packed(&own, wire) ^ SecretBit::of_packed(&other, wire);
            let label = zeros[wire] ^ delta.and_bit(value);
            assert_eq!(active[wire].to_bits(), label.to_bits(), "wire {wire}");
        }
        for wire in 0..100 {
            let bit = |words: &[u64]| words[wire / 64] >> (wire % 64) & 1;
            assert_eq!(bit(&drawn), bit(&masked), "bit {wire}");
        }
    }
}
