//! Garbled values of two parties in a run on shares: conversions to and from labels.
//!
//! Source: Demmler, Schneider, Zohner, "ABY", NDSS 2015, sections IV-C1 to IV-C3 and IV-D. Deviation: there the OTs send keys that the
//! garbler chose. Here they are correlated under the garbling offset, as for inputs of [`crate::garbled`], and the garbler takes
//! what they give it, shifted by its share, for the label of *false*: so a wire takes a message in one direction.
//! Deviation: a value becomes additive with a mask of the garbler that is added garbled, and that the evaluator decodes, as
//! [`super::garbled`] does for more parties.
//!
//! Cost: of a wire that becomes garbled 32 bits from the evaluator to the garbler, in one round; of one that the garbler alone
//! knows nothing. Garbled to XOR shares: nothing.

use phineus_bytecode::layout::share_bytes;
use phineus_bytecode::{Instruction, Op, Phase, Shape, Sharing};
use phineus_channels::Channel;
use phineus_correlated::semi_honest::CorrelatedRandomness;
use phineus_crypto::Block;
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::clock::BOTH_SEND;
use super::driver::MixedDriver;
use super::flight::{ConversionFlight, Flight};
use super::garbled::rows_of_elements;
use super::half_gates::{EnteringLabels, HalfGateGarbling};
use super::templates::{Method, method, sum_of_two};
use crate::ProtocolError;
use crate::bmr::pack;
use crate::garbled::GARBLER;
use crate::shares::client::input_values;
use crate::shares::ring;
use crate::shares::transpose::to_integers;
use crate::shares::values::{Words, blank, with_gaps, without_gaps};
use crate::shares::words::words;

impl<C: Channel, P: CorrelatedRandomness> MixedDriver<C, P> {
    fn half_gates(&mut self) -> &mut HalfGateGarbling<C> {
        self.half_gates.as_mut().expect("the caller has looked")
    }

    /// Does an operation on labels, and notes that the evaluator waits for tables if it has gates.
    fn on_labels(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        let before = self.garbled_gates();
        self.half_gates().compute(instruction, results, operands)?;
        if self.garbled_gates() > before {
            self.clock.tables();
        }
        Ok(())
    }

    /// Does an instruction on labels that takes no round.
    pub(super) fn whole_on_labels(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        let shape = instruction.shape();
        match method(instruction) {
            Method::Copy => results[0].copy_from_slice(operands[0]),
            Method::Linear | Method::Garbled => self.on_labels(instruction, results, operands)?,
            Method::GarbledToBoolean => {
                let shape = Shape { sharing: Sharing::Boolean, ..shape };
                let bits = self.label_shares(operands[0]);
                with_gaps(&bits, shape, &mut results[0].as_mut_bytes()[..share_bytes(shape)]);
            }
            Method::GarbledToArithmetic => {
                let mut share = blank(shape.lanes as usize);
                self.masked_label_sum(instruction, operands[0], &mut share)?;
                let bytes = &mut results[0].as_mut_bytes()[..share_bytes(shape)];
                ring::store(bytes, &share, shape.width);
            }
            _ => unreachable!("{} is not on garbled values", instruction.op.info().name),
        }
        Ok(())
    }

    /// Additive shares of a garbled value: the garbler's mask, negative, and at the evaluator the sum of value and mask.
    fn masked_label_sum(
        &mut self,
        instruction: &Instruction,
        value: &[Block],
        share: &mut [u64],
    ) -> Result<(), ProtocolError> {
        let blank_labels = || Zeroizing::new(vec![Block::ZERO; value.len()]);
        let (mut mask, mut sum) = (blank_labels(), blank_labels());
        let drawn = self.half_gates().enter_mask(value.len(), &mut mask);
        self.on_labels(&sum_of_two(instruction), &mut [&mut sum], &[value, &mask])?;
        let mut bits = blank(words(value.len()));
        self.half_gates().decode(&sum, &mut bits)?;
        let is_garbler = self.half_gates().is_garbler();
        let shape = Shape { sharing: Sharing::Boolean, ..instruction.shape() };
        let mut rows = Zeroizing::new(vec![0; share_bytes(shape)]);
        with_gaps(if is_garbler { &drawn } else { &bits }, shape, &mut rows);
        to_integers(&rows, share);
        if is_garbler {
            share.iter_mut().for_each(|share| *share = share.wrapping_neg());
        }
        Ok(())
    }

    /// This party's XOR shares of a garbled value, without gaps.
    pub(super) fn label_shares(&self, value: &[Block]) -> Words {
        let mut bits = blank(words(value.len()));
        pack(value, &mut bits);
        bits
    }

    /// Brings an instruction from or to labels on its way.
    pub(super) fn issue_labels(
        &mut self,
        instruction: &Instruction,
        operands: &[&[Block]],
    ) -> Result<Flight, ProtocolError> {
        let shape = Shape { sharing: Sharing::Boolean, ..instruction.shape() };
        let wires = shape.wires() as usize;
        let method = method(instruction);
        let instruction = &instruction.part(Phase::Whole);
        let entering = match method {
            Method::BooleanToArithmetic => {
                let bits = self.label_shares(operands[0]);
                let issued = ConversionFlight::issue(&mut self.context(), instruction, &bits)?;
                return Ok(Flight::Conversion(Box::new(issued)));
            }
            Method::ToGarbled
                if instruction.op == Op::Input
                    && self.owner(instruction) == usize::from(GARBLER) =>
            {
                let known = self.half_gates().is_garbler().then(|| {
                    let rows = input_values(&self.inputs, instruction);
                    without_gaps(&rows, shape)
                });
                let mut labels = Zeroizing::new(vec![Block::ZERO; wires]);
                self.half_gates().enter_known(known.as_ref().map(|bits| &bits[..]), &mut labels);
                EnteringLabels::known(labels)
            }
            Method::ToGarbled if operands.is_empty() => {
                let mut share = Zeroizing::new(vec![0; share_bytes(shape)]);
                self.input_bits(instruction, shape, &mut share)?;
                EnteringLabels::new(without_gaps(&share, shape), wires)
            }
            Method::ToGarbled => {
                let share = &operands[0].as_bytes()[..share_bytes(shape)];
                EnteringLabels::new(without_gaps(share, shape), wires)
            }
            Method::ArithmeticToGarbled => self.enter_summands(shape, operands[0].as_bytes()),
            _ => unreachable!("{} does not begin or end garbled", instruction.op.info().name),
        };
        Ok(Flight::Labels(Box::new(entering)))
    }

    /// The garbler's additive share, whose labels it knows, and the evaluator's, which takes OTs.
    fn enter_summands(&mut self, shape: Shape, operand: &[u8]) -> EnteringLabels {
        let wires = shape.wires() as usize;
        let own = without_gaps(&rows_of_elements(shape, operand), shape);
        let mut summand = Zeroizing::new(vec![Block::ZERO; wires]);
        self.half_gates().enter_known(Some(&own), &mut summand);
        let others = if self.half_gates().is_garbler() { blank(own.len()) } else { own };
        EnteringLabels::new(others, wires).with_summand(summand)
    }

    /// Completes what began with [`MixedDriver::issue_labels`].
    pub(super) fn finish_labels(
        &mut self,
        instruction: &Instruction,
        entry: &EnteringLabels,
        result: &mut [Block],
    ) -> Result<(), ProtocolError> {
        let whole = instruction.part(Phase::Whole);
        if method(&whole) == Method::ToGarbled {
            result.copy_from_slice(&entry.labels);
            return Ok(());
        }
        self.on_labels(&sum_of_two(&whole), &mut [result], &[&entry.summand, &entry.labels])
    }

    /// Exchanges the messages of a round; all wires that become garbled take their OTs together.
    pub(super) fn exchange_with_labels(&mut self) -> Result<(), ProtocolError> {
        let MixedDriver { half_gates, in_flight, openings, parties, clock, .. } = self;
        let Some(half_gates) = half_gates else {
            clock.round(openings.exchange(parties)?, BOTH_SEND);
            return Ok(());
        };
        let mut entering: Vec<&mut EnteringLabels> = Vec::new();
        for (_, flight) in in_flight.iter_mut() {
            if let Flight::Labels(labels) = flight {
                entering.push(labels);
            }
        }
        let count = entering.iter().map(|entry| entry.wires()).sum();
        let mut shares = blank(words(count));
        let mut labels = Zeroizing::new(vec![Block::ZERO; count]);
        let mut at = 0;
        for entry in &entering {
            entry.collect(&mut shares, at);
            at += entry.wires();
        }
        let done = half_gates.begin_round(&shares, &mut labels)?;
        let me = parties.me();
        let [own, theirs] = openings.sends(1 - me);
        let sends = if me == 0 { [own, theirs] } else { [theirs, own] };
        let sends = [sends[0], sends[1] || count > 0];
        clock.round(openings.exchange(parties)?, sends);
        half_gates.end_round(&shares, &mut labels, done)?;
        let mut rest = &labels[..];
        for entry in entering {
            let (own, others) = rest.split_at(entry.wires());
            entry.labels[..own.len()].copy_from_slice(own);
            rest = others;
        }
        Ok(())
    }
}
