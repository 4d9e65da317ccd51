//! [`CostReplay`]: openings and correlated randomness of a run, without values: the same steps as
//! [`super::MixedDriver`].

use std::collections::VecDeque;
use std::sync::Arc;

use phineus_bytecode::layout::ring_bytes;
use phineus_bytecode::{Instruction, Op, Phase, Sharing};
use phineus_circuits::record::CircuitTemplate;
use phineus_correlated::semi_honest::Kind;

use super::broadcast::{OpenedSizes, Region};
use super::known::{kinds, private_bits};
use super::selection::owners;
use super::shared_rows::{AddFlight, tree_of};
use super::templates::{GarblingScheme, Method, MixedRounds, method};
use crate::templates::is_masked;

/// A circuit in flight: the level whose ANDs are being opened.
struct CircuitReplay {
    template: Arc<CircuitTemplate>,
    lanes: usize,
    level: usize,
}

/// Walks through an ordered program as a driver does.
pub(super) struct CostReplay {
    pub(super) model: MixedRounds,
    circuits: VecDeque<CircuitReplay>,
    /// Correlated randomness in the order in which it is used; for the caller to take.
    pub(super) needs: VecDeque<(Kind, usize)>,
    /// Bits and ring elements that the coming round opens.
    opened_bits: usize,
    opened: OpenedSizes,
    parties: usize,
    /// Bits that the coming round tells one party alone, by sender and then by receiver.
    private_bits: Vec<usize>,
    /// Keys that the coming round tells.
    pub(super) told_keys: usize,
    /// Keys that the round after it tells.
    later_keys: usize,
    /// Wires that become garbled in the coming round by an OT each.
    pub(super) entering_wires: usize,
    /// Garbled ANDs so far, and whether anything is garbled.
    pub(super) garbled_gates: u64,
    pub(super) is_garbled: bool,
    /// Bytes for values that become additive, which each party but the first sends to it while
    /// garbling.
    pub(super) decoding_bytes: u64,
    /// Values that become additive from garbled ones, so far.
    pub(super) garbled_to_arithmetic: u64,
    /// Bytes of the rows of the largest garbled circuit.
    pub(super) scratch_bytes: u64,
}

impl CostReplay {
    pub(super) fn new(parties: usize) -> CostReplay {
        CostReplay {
            model: MixedRounds::new(parties),
            circuits: VecDeque::new(),
            needs: VecDeque::new(),
            opened_bits: 0,
            opened: OpenedSizes::default(),
            parties,
            private_bits: vec![0; parties * parties],
            told_keys: 0,
            later_keys: 0,
            entering_wires: 0,
            garbled_gates: 0,
            is_garbled: false,
            decoding_bytes: 0,
            garbled_to_arithmetic: 0,
            scratch_bytes: 0,
        }
    }

    /// Sets how garbled values are garbled.
    pub(super) fn with_scheme(self, scheme: GarblingScheme) -> CostReplay {
        CostReplay { model: self.model.with_scheme(scheme), ..self }
    }

    /// Amount that the coming round opens.
    pub(super) fn opened(&mut self) -> &OpenedSizes {
        self.opened.bit_bytes = self.opened_bits.div_ceil(8);
        &self.opened
    }

    /// Bits that the coming round opens, those of ring elements among them.
    pub(super) fn all_opened_bits(&self) -> u64 {
        let elements: usize = self.opened.regions.iter().map(|region| region.length()).sum();
        (self.opened_bits + 8 * elements) as u64
    }

    /// Takes the next instruction.
    ///
    /// Before a [`Op::Round`], the caller takes note of what it opens.
    pub(super) fn step(&mut self, instruction: &Instruction) {
        self.step_of(instruction, false);
    }

    /// As [`Self::step`]; the instruction may be an input of the garbler, whose labels both parties draw.
    pub(super) fn step_of(&mut self, instruction: &Instruction, is_of_garbler: bool) {
        match instruction.phase {
            // What blocks carry is copied, by nobody's protocol.
            _ if instruction.op.is_carrying() => {}
            // What is opened there is counted by the caller.
            _ if instruction.op.is_stateful() => {}
            Phase::Whole if instruction.op == Op::Round => self.round(),
            Phase::Issue => self.issue(instruction, is_of_garbler),
            Phase::Whole | Phase::Finish => self.garbled(instruction),
        }
    }

    fn garbled(&mut self, instruction: &Instruction) {
        let is_masked = is_masked(instruction);
        if is_masked {
            self.decoding_bytes += u64::from(instruction.shape().wires().div_ceil(8));
        }
        let is_garbled = instruction.element.sharing() == Sharing::Garbled;
        if is_masked || is_garbled && instruction.result_count() > 0 {
            let work = self.model.garbled(&instruction.part(Phase::Whole));
            self.is_garbled = true;
            self.garbled_gates += work.gates;
            self.scratch_bytes = self.scratch_bytes.max(work.scratch_bytes);
        }
        let from = Sharing::from_code(instruction.immediates[0]).unwrap_or_default();
        let is_additive = instruction.element.sharing() == Sharing::Arithmetic;
        if instruction.op == Op::Convert && from == Sharing::Garbled && is_additive {
            self.garbled_to_arithmetic += u64::from(instruction.lanes);
        }
    }

    fn issue(&mut self, instruction: &Instruction, is_of_garbler: bool) {
        let (width, lanes) = (instruction.element.width(), instruction.lanes as usize);
        let ring = || Region { bytes: ring_bytes(width), count: lanes };
        match method(instruction) {
            Method::Product => {
                self.needs.push_back((Kind::RingTriple { width }, lanes));
                self.opened.regions.extend([ring(), ring()]);
            }
            Method::Square => {
                self.needs.push_back((Kind::SquarePair { width }, lanes));
                self.opened.regions.push(ring());
            }
            Method::BooleanToArithmetic => {
                let bits = usize::from(width) * lanes;
                self.needs.push_back((Kind::SharedBit { width }, bits));
                self.opened_bits += bits;
            }
            Method::Circuit | Method::ArithmeticToBoolean => {
                let template = self.model.template(instruction);
                let (template, lanes) = template.expect("this method has a template");
                let circuit = CircuitReplay { template, lanes, level: 0 };
                self.open(&circuit);
                self.circuits.push_back(circuit);
            }
            Method::ToGarbled | Method::ArithmeticToGarbled => {
                let wires = self.model.garbled_wires(instruction);
                match self.model.scheme() {
                    GarblingScheme::Joint => {
                        self.opened_bits += wires;
                        self.later_keys += wires;
                    }
                    GarblingScheme::HalfGates if is_of_garbler => {}
                    GarblingScheme::HalfGates => self.entering_wires += wires,
                }
            }
            Method::Selection => self.select(instruction),
            Method::LookUp => {
                let bits = instruction.immediates[1] as u16;
                self.needs.push_back((Kind::PointFunction { bits }, lanes));
                self.opened_bits += usize::from(bits) * lanes;
            }
            Method::TableOpen => self.opened_bits += usize::from(width) * lanes,
            Method::Packed | Method::Ring | Method::Copy => {}
            Method::TableSet | Method::PartyKey | Method::SharedTable => {}
            Method::SharedAdd => {
                let bits = tree_of(instruction.immediates[1] as u16).get() as u16;
                self.needs.push_back((Kind::PointFunction { bits }, 1));
                self.opened_bits += AddFlight::opened_bits(instruction);
            }
            Method::Linear | Method::Garbled => {}
            Method::GarbledToBoolean | Method::GarbledToArithmetic => {}
        }
    }

    fn select(&mut self, instruction: &Instruction) {
        let (width, lanes) = (instruction.element.width(), instruction.lanes as usize);
        let [bits, rows] = private_bits(width, lanes);
        for owner in owners(instruction, self.parties) {
            self.needs.extend(kinds(owner, width).map(|kind| (kind, lanes)));
            for peer in (0..self.parties).filter(|&peer| peer != owner) {
                self.private_bits[owner * self.parties + peer] += bits;
                self.private_bits[peer * self.parties + owner] += rows;
            }
        }
    }

    /// Bytes that the coming round tells one party alone: sender, receiver and bytes.
    pub(super) fn private(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        let bits = self.private_bits.iter().enumerate();
        let bits = bits.filter(|&(_, &bits)| bits > 0);
        bits.map(|(k, bits)| (k / self.parties, k % self.parties, bits.div_ceil(8) as u64))
    }

    fn open(&mut self, circuit: &CircuitReplay) {
        let count = circuit.template.levels[circuit.level].ands.len() * circuit.lanes;
        self.needs.push_back((Kind::BitTriple, count));
        self.opened_bits += 2 * count;
    }

    fn round(&mut self) {
        (self.opened_bits, self.entering_wires) = (0, 0);
        self.opened.regions.clear();
        self.private_bits.fill(0);
        (self.told_keys, self.later_keys) = (self.later_keys, 0);
        for _ in 0..self.circuits.len() {
            let mut circuit = self.circuits.pop_front().expect("just counted");
            circuit.level += 1;
            if !circuit.template.levels[circuit.level].ands.is_empty() {
                self.open(&circuit);
                self.circuits.push_back(circuit);
            }
        }
    }
}
