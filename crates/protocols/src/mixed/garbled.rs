//! Garbled values in a run on shares: conversions to and from them.
//!
//! Sources: Braun et al., "MOTION" (ePrint 2020/1137), sections 7.2 to 7.6. A value on XOR shares
//! becomes garbled in two rounds: all open it masked by the mask bits of new wires, and all tell
//! their keys for what was opened. Deviation: inputs and additive shares go the same way, as XOR
//! shares that are free, so that there is one way in; it costs a bit more a wire than if their
//! owner alone masked them, beside 128 bits for the key. A share of the mask bits is a share of
//! the value, so the way out is free. Garbled values become additive by shared bits, in one round;
//! or without one, by masks of all parties but the first, which are garbled with the value: the
//! first party decodes the sum and has it for its share, the others' shares are their masks,
//! negative (section 7.6; how and why it differs is in `docs/protocols/bmr.md`).
//!
//! Cost of a wire that becomes garbled: 1 bit and 16 bytes from each party to each other one, in
//! two rounds. Garbled to XOR shares: nothing.
//! Not protected: a party can tell a wrong key; only its select bit is looked at.

use phineus_bytecode::layout::share_bytes;
use phineus_bytecode::{Instruction, Phase, Shape, Sharing};
use phineus_channels::{Channel, Parties};
use phineus_correlated::semi_honest::CorrelatedRandomness;
use phineus_crypto::{Block, SecretBit};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::driver::MixedDriver;
use super::flight::{ConversionFlight, Flight};
use super::openings::Openings;
use super::templates::{Method, method};
use crate::ProtocolError;
use crate::bmr::Evaluation;
use crate::shares::ring;
use crate::shares::transpose::to_rows;
use crate::shares::values::{Words, blank, with_gaps, without_gaps};
use crate::shares::words::{put, words};

/// Wires that become garbled; done after two rounds.
pub(super) struct EnteringWires {
    /// Own zero-keys with own shares of the masks; then own active keys with the same.
    own: Zeroizing<Vec<Block>>,
    offset: Block,
    at: usize,
    /// Whether the masked bits are there and the keys are being told.
    is_masked: bool,
    /// Masked bits that were opened.
    opened: Vec<u64>,
}

impl EnteringWires {
    /// Opens `bits`, of which this is a share, masked by the masks of `own`, new wires.
    pub(super) fn issue(
        openings: &mut Openings,
        own: Zeroizing<Vec<Block>>,
        offset: Block,
        bits: &mut [u64],
    ) -> EnteringWires {
        for (word, keys) in bits.iter_mut().zip(own.chunks(64)) {
            for (k, key) in keys.iter().enumerate() {
                *word ^= key.select_u64() << k;
            }
        }
        let at = openings.push_bits(bits, own.len());
        EnteringWires { own, offset, at, is_masked: false, opened: vec![0; bits.len()] }
    }

    fn opened(&self, wire: usize) -> SecretBit {
        SecretBit::of_packed(&self.opened, wire)
    }

    /// Goes on after a round; whether all keys are there.
    pub(super) fn step(&mut self, openings: &mut Openings) -> bool {
        if self.is_masked {
            return true;
        }
        self.is_masked = true;
        openings.bits(self.at, &mut self.opened, self.own.len());
        let active = |(wire, key): (usize, &Block)| {
            let public = self.opened(wire);
            let zero = key.with_select_bit(SecretBit::public(false));
            zero ^ self.offset.and_bit(public)
        };
        let active: Zeroizing<Vec<Block>> =
            Zeroizing::new(self.own.iter().enumerate().map(active).collect());
        self.at = openings.push_keys(&active);
        for (own, active) in self.own.iter_mut().zip(&*active) {
            *own = active.with_select_bit(own.select_bit());
        }
        false
    }

    /// Writes the planes of all parties, right after the round that brought the keys.
    fn store<C: Channel>(
        &self,
        parties: &Parties<C>,
        openings: &Openings,
        planes: &mut [Block],
    ) -> Result<(), ProtocolError> {
        for (party, plane) in planes.chunks_exact_mut(self.own.len()).enumerate() {
            if party == parties.me() {
                plane.copy_from_slice(&self.own);
                continue;
            }
            openings.keys(party, self.at, plane);
            let keys = plane.iter().enumerate();
            let wrong = keys.fold(SecretBit::public(false), |wrong, (wire, key)| {
                wrong | (key.select_bit() ^ self.opened(wire))
            });
            if wrong.declassify("whether the peer told keys for what was opened") {
                return Err(ProtocolError::Misbehaved { during: "telling the keys of wires" });
            }
        }
        Ok(())
    }
}

impl<C: Channel, P: CorrelatedRandomness> MixedDriver<C, P> {
    pub(super) fn evaluation(&mut self) -> &mut Evaluation {
        self.evaluation.as_mut().expect("a run with garbled values has garbled tables")
    }

    /// Does an instruction on garbled values that needs nobody.
    pub(super) fn whole_garbled(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        match method(instruction) {
            Method::Copy => results[0].copy_from_slice(operands[0]),
            Method::Linear => self.evaluation().linear(instruction, results, operands),
            Method::Garbled => {
                let template = self.rounds_model.template(instruction);
                let (template, lanes) = template.expect("this method has a template");
                let circuit = (&*template, lanes);
                self.evaluation().circuit(instruction, circuit, results, operands)?;
            }
            Method::GarbledToBoolean => {
                let shape = Shape { sharing: Sharing::Boolean, ..instruction.shape() };
                let bits = self.garbled_shares(operands[0], shape);
                with_gaps(&bits, shape, &mut results[0].as_mut_bytes()[..share_bytes(shape)]);
            }
            Method::GarbledToArithmetic => {
                let shape = instruction.shape();
                let (template, lanes) =
                    self.rounds_model.template(instruction).expect("this method has a template");
                let mut share = blank(lanes);
                self.evaluation().masked_sum(&template, shape, operands[0], &mut share)?;
                let bytes = &mut results[0].as_mut_bytes()[..share_bytes(shape)];
                ring::store(bytes, &share, shape.width);
            }
            _ => unreachable!("{} is not on garbled values", instruction.op.info().name),
        }
        Ok(())
    }

    /// Brings an instruction from or to garbled values on its way.
    pub(super) fn issue_garbled(
        &mut self,
        instruction: &Instruction,
        operands: &[&[Block]],
    ) -> Result<Flight, ProtocolError> {
        let shape = Shape { sharing: Sharing::Boolean, ..instruction.shape() };
        let method = method(instruction);
        let instruction = &instruction.part(Phase::Whole);
        let mut bits = match method {
            Method::BooleanToArithmetic => {
                let bits = self.garbled_shares(operands[0], shape);
                let issued = ConversionFlight::issue(&mut self.context(), instruction, &bits)?;
                return Ok(Flight::Conversion(Box::new(issued)));
            }
            Method::ToGarbled if operands.is_empty() => {
                let mut share = Zeroizing::new(vec![0; share_bytes(shape)]);
                self.input_bits(instruction, shape, &mut share)?;
                without_gaps(&share, shape)
            }
            Method::ToGarbled => without_gaps(&operands[0].as_bytes()[..share_bytes(shape)], shape),
            Method::ArithmeticToGarbled => self.summand_bits(instruction, operands[0].as_bytes()),
            _ => unreachable!("{} does not begin or end garbled", instruction.op.info().name),
        };
        let mut own =
            Zeroizing::new(vec![Block::ZERO; self.rounds_model.garbled_wires(instruction)]);
        let evaluation = self.evaluation();
        evaluation.fresh(&mut own);
        let offset = evaluation.offset();
        Ok(Flight::Entry(Box::new(EnteringWires::issue(
            &mut self.openings,
            own,
            offset,
            &mut bits,
        ))))
    }

    /// Completes what began with [`MixedDriver::issue_garbled`] and is garbled now.
    pub(super) fn finish_garbled(
        &mut self,
        instruction: &Instruction,
        entry: &EnteringWires,
        result: &mut [Block],
    ) -> Result<(), ProtocolError> {
        let whole = instruction.part(Phase::Whole);
        if method(&whole) == Method::ToGarbled {
            return entry.store(&self.parties, &self.openings, result);
        }
        let mut planes = Zeroizing::new(vec![Block::ZERO; entry.own.len() * self.parties.count()]);
        entry.store(&self.parties, &self.openings, &mut planes)?;
        let (template, _) = self.rounds_model.template(&whole).expect("this method has a template");
        self.evaluation().sum(&template, whole.shape(), &planes, result)
    }

    /// This party's XOR shares of a garbled value, without gaps.
    pub(super) fn garbled_shares(&mut self, value: &[Block], shape: Shape) -> Words {
        let mut bits = blank(words(shape.wires() as usize));
        self.evaluation().shares(value, &mut bits);
        bits
    }

    /// This party's XOR shares of every party's additive share, one after the other.
    fn summand_bits(&mut self, instruction: &Instruction, operand: &[u8]) -> Words {
        let shape = Shape { sharing: Sharing::Boolean, ..instruction.shape() };
        let wires = shape.wires() as usize;
        let own = rows_of_elements(shape, operand);
        let mut share = Zeroizing::new(vec![0; own.len()]);
        let count = self.parties.count();
        let mut bits = blank(words(count * wires));
        for owner in 0..count {
            let values = (owner == self.parties.me()).then_some(own.as_slice());
            self.share_bits(owner, shape, &mut share, values);
            put(&mut bits, owner * wires, &without_gaps(&share, shape), wires);
        }
        bits
    }
}

/// The bits of an additive share, as packed rows of `shape`.
pub(super) fn rows_of_elements(shape: Shape, operand: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut elements = blank(shape.lanes as usize);
    ring::load(&mut elements, operand, shape.width);
    let mut rows = Zeroizing::new(vec![0; share_bytes(shape)]);
    to_rows(&elements, &mut rows);
    rows
}
