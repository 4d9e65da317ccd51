//! How each instruction is computed on its sharing, and [`MixedRounds`]: what the planner must know of
//! that.

use std::sync::Arc;

use phineus_bytecode::{
    ElementType, Instruction, Interaction, Op, Phase, RoundModel, Sharing, layout::SHARE_UNIT_BYTES,
};
use phineus_circuits::record::CircuitTemplate;
use phineus_engine::bits::Family;
use phineus_engine::packed;

use serde::{Deserialize, Serialize};

use super::look_up::LookUpFlight;
use super::selection::{is_selection, owners};
use super::shared_rows::AddFlight;
use crate::bmr::costs::evaluation_ns;
use crate::bmr::{TemplateRows, is_linear};
use crate::garbled::GarbledCosts;
use crate::shares::values::sent_share_bytes;
use crate::shares::words::words;
use crate::templates::{Templates, is_masked, sum_of_shares};

/// Memory of a waiting output besides its shares: an entry in a list that doubles, and an
/// allocation.
const OUTPUT_BYTES: u64 = 384;

/// How garbled values become additive shares (Braun et al., "MOTION", section 7.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum YaoToArithmetic {
    /// As XOR shares, with a shared bit for each bit, in one round.
    #[default]
    SharedBits,
    /// By masks that are added to the garbled value, without a round: at most
    /// `(N - 1)(w - 1)` garbled ANDs for `w` bits.
    Masks,
}

/// How garbled values are garbled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GarblingScheme {
    /// By all parties together, before the run or beside it ([`crate::bmr`]).
    #[default]
    Joint,
    /// By the first of two parties for the other one, in the run ([`super::HalfGateGarbling`]).
    HalfGates,
}

/// The addition of two garbled values of the shape of `instruction`, a conversion.
pub(super) fn sum_of_two(instruction: &Instruction) -> Instruction {
    let element = ElementType::unsigned(instruction.element.width()).shared(Sharing::Garbled);
    Instruction::new(Op::Add, element, instruction.lanes)
}

/// Gates, memory and time of an instruction on garbled values.
#[derive(Clone, Copy, Default)]
pub(super) struct GarbledWork {
    pub(super) gates: u64,
    pub(super) scratch_bytes: u64,
    pub(super) duration_ns: u64,
}

/// How an instruction is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Without the others, on packed XOR shares.
    Packed,
    /// By a template on XOR shares; with rounds if it has ANDs.
    Circuit,
    /// Without the others, on additive shares.
    Ring,
    /// One opening with a multiplication triple each lane.
    Product,
    /// One opening with a square pair each lane.
    Square,
    /// One opening with a shared bit each bit.
    BooleanToArithmetic,
    /// A template that adds the parties' shares.
    ArithmeticToBoolean,
    /// A copy of the shares.
    Copy,
    /// Without the others and without gates, on garbled values.
    Linear,
    /// By a template on garbled values, without the others: it was garbled before.
    Garbled,
    /// XOR shares to garbled values, or an input to one: mask bits, then keys.
    ToGarbled,
    /// The parties' additive shares to garbled values, which are added.
    ArithmeticToGarbled,
    /// This party's share of a garbled value.
    GarbledToBoolean,
    /// Masks are added to a garbled value, and the first party learns the sum.
    GarbledToArithmetic,
    /// Rows of a table are set, without the others and without values.
    TableSet,
    /// One opening of all bits, which become rows of a table.
    TableOpen,
    /// A key of a party, or pads under it: its share.
    PartyKey,
    /// Rows of a shared table are set without the others, or opened under pads at once.
    SharedTable,
    /// One opening with a point function.
    SharedAdd,
    /// One opening with a point function for each lane.
    LookUp,
    /// One exchange with a triple of a bit that one party knows for each lane, and for each party unless one knows all
    /// bits.
    Selection,
}

/// How `instruction` is done on the sharing that it names; of inputs, garbled ones only.
///
/// A conversion from garbled to additive is by shared bits if it comes in two parts, and else by
/// masks: so an ordered program says which.
pub(super) fn method(instruction: &Instruction) -> Method {
    use Sharing::{Arithmetic, Garbled};
    let to = instruction.element.sharing();
    match instruction.op {
        Op::Input => return Method::ToGarbled,
        Op::TableSet => return Method::TableSet,
        Op::TableOpen => return Method::TableOpen,
        Op::PartyKey | Op::PartyPad => return Method::PartyKey,
        Op::TableLookUp | Op::SharedLookUp => return Method::LookUp,
        Op::SharedSet | Op::SharedHide => return Method::SharedTable,
        Op::SharedAdd => return Method::SharedAdd,
        Op::Convert => {
            let from = Sharing::from_code(instruction.immediates[0]).unwrap_or_default();
            return match (from, to) {
                (Arithmetic, Arithmetic) | (Garbled, Garbled) => Method::Copy,
                (Arithmetic, Garbled) => Method::ArithmeticToGarbled,
                (_, Garbled) => Method::ToGarbled,
                (Arithmetic, _) => Method::ArithmeticToBoolean,
                (Garbled, Arithmetic) if instruction.phase == Phase::Whole => {
                    Method::GarbledToArithmetic
                }
                (_, Arithmetic) => Method::BooleanToArithmetic,
                (Garbled, _) => Method::GarbledToBoolean,
                _ => Method::Copy,
            };
        }
        _ => {}
    }
    match (to, instruction.op) {
        (Garbled, _) if is_linear(instruction) => Method::Linear,
        (Garbled, _) => Method::Garbled,
        (Arithmetic, Op::Mul) if instruction.is_square() => Method::Square,
        (Arithmetic, Op::Mul) => Method::Product,
        (Arithmetic, _) => Method::Ring,
        _ if packed::is_local(instruction) => Method::Packed,
        _ if is_selection(instruction) => Method::Selection,
        _ => Method::Circuit,
    }
}

/// The rounds of the instructions of mixed protocols.
pub struct MixedRounds {
    parties: usize,
    y2a: YaoToArithmetic,
    shallow: Templates,
    small: Templates,
    /// Costs of half gates, if garbled values take them.
    half_gates: Option<GarbledCosts>,
}

impl MixedRounds {
    /// For so many parties.
    pub fn new(parties: usize) -> MixedRounds {
        MixedRounds {
            parties,
            y2a: YaoToArithmetic::default(),
            shallow: Templates::new(Family::LeastDepth),
            small: Templates::new(Family::FewestAnds),
            half_gates: None,
        }
    }

    /// Sets how garbled values are garbled.
    #[must_use]
    pub fn with_scheme(self, scheme: GarblingScheme) -> MixedRounds {
        let half_gates = (scheme == GarblingScheme::HalfGates).then(GarbledCosts::default);
        MixedRounds { half_gates, ..self }
    }

    /// How garbled values are garbled.
    pub(super) fn scheme(&self) -> GarblingScheme {
        match self.half_gates {
            None => GarblingScheme::Joint,
            Some(_) => GarblingScheme::HalfGates,
        }
    }

    /// Sets the conversion of garbled values to additive shares.
    #[must_use]
    pub fn with_y2a(self, y2a: YaoToArithmetic) -> MixedRounds {
        MixedRounds { y2a, ..self }
    }

    /// Bytes of all circuits met so far, and of the largest one.
    pub(super) fn circuit_bytes(&self) -> [u64; 2] {
        let all = self.shallow.memory_bytes().chain(self.small.memory_bytes());
        all.fold([0, 0], |[sum, largest], bytes| [sum + bytes, largest.max(bytes)])
    }

    /// How an instruction that is not ordered yet will be computed.
    fn planned_method(&self, instruction: &Instruction) -> Method {
        match method(instruction) {
            // A single bit takes no AND, and nothing bounds what ANDs do not.
            Method::GarbledToArithmetic
                if self.y2a == YaoToArithmetic::SharedBits || instruction.element.width() < 2 =>
            {
                Method::BooleanToArithmetic
            }
            method => method,
        }
    }

    /// The template of an instruction that has one, and the lanes of its rows.
    pub(super) fn template(
        &mut self,
        instruction: &Instruction,
    ) -> Option<(Arc<CircuitTemplate>, usize)> {
        match method(instruction) {
            Method::Circuit => Some(self.shallow.of(instruction)),
            Method::Garbled => Some(self.small.of(instruction)),
            method @ (Method::ArithmeticToBoolean
            | Method::ArithmeticToGarbled
            | Method::GarbledToArithmetic) => {
                let sum = sum_of_shares(instruction, self.parties);
                let is_shared = method == Method::ArithmeticToBoolean;
                let templates = if is_shared { &mut self.shallow } else { &mut self.small };
                Some((templates.of(&sum).0, instruction.lanes as usize))
            }
            _ => None,
        }
    }

    /// Garbled ANDs of an instruction, with the memory and time that they take.
    pub(super) fn garbled(&mut self, instruction: &Instruction) -> GarbledWork {
        let is_garbled = instruction.element.sharing() == Sharing::Garbled;
        if instruction.result_count() == 0 || !is_garbled && !is_masked(instruction) {
            return GarbledWork::default();
        }
        let method = method(instruction);
        if let Some(half_gates) = &mut self.half_gates {
            return by_half_gates(half_gates, method, instruction);
        }
        let (gates, scratch_bytes) = self.joint(method, instruction);
        GarbledWork { gates, scratch_bytes, duration_ns: gates * evaluation_ns(self.parties) }
    }

    /// ANDs that all parties garble together, and the bytes of rows.
    fn joint(&mut self, method: Method, instruction: &Instruction) -> (u64, u64) {
        match method {
            Method::Garbled | Method::ArithmeticToGarbled | Method::GarbledToArithmetic => {
                let (template, lanes) = self.template(instruction).expect("it is a circuit");
                let gates = (template.and_count() * lanes) as u64;
                let parties = self.parties;
                let bytes = match method {
                    Method::Garbled => {
                        TemplateRows::part_bytes(&template, (parties, parties), lanes)
                    }
                    _ => TemplateRows::bytes(&template, parties, lanes),
                };
                (gates, bytes)
            }
            _ => (0, 0),
        }
    }

    /// Wires that become garbled when `instruction` does.
    pub(super) fn garbled_wires(&self, instruction: &Instruction) -> usize {
        let wires = instruction.shape().wires() as usize;
        match method(instruction) {
            Method::ToGarbled => wires,
            // The garbler knows the label of its own share.
            Method::ArithmeticToGarbled if self.half_gates.is_some() => wires,
            Method::ArithmeticToGarbled => wires * self.parties,
            _ => 0,
        }
    }
}

/// The work of half gates for an instruction on garbled values.
fn by_half_gates(
    costs: &mut GarbledCosts,
    method: Method,
    instruction: &Instruction,
) -> GarbledWork {
    let wires = u64::from(instruction.shape().wires());
    let (cost, more_wires) = match method {
        Method::Linear | Method::Garbled => (costs.cost(instruction), 0),
        Method::ArithmeticToGarbled => (costs.cost(&sum_of_two(instruction)), 0),
        // Labels of the mask, and of the sum.
        Method::GarbledToArithmetic => (costs.cost(&sum_of_two(instruction)), 2 * wires),
        // Without gates, or not on garbled values.
        Method::Copy
        | Method::ToGarbled
        | Method::GarbledToBoolean
        | Method::BooleanToArithmetic
        | Method::Packed
        | Method::Circuit
        | Method::Ring
        | Method::Product
        | Method::Square
        | Method::ArithmeticToBoolean
        | Method::TableSet
        | Method::TableOpen
        | Method::PartyKey
        | Method::SharedTable
        | Method::SharedAdd
        | Method::LookUp
        | Method::Selection => return GarbledWork::default(),
    };
    GarbledWork {
        gates: cost.and_gates,
        scratch_bytes: (cost.scratch_wires + more_wires) * SHARE_UNIT_BYTES as u64,
        duration_ns: cost.duration_ns,
    }
}

impl RoundModel for MixedRounds {
    fn interaction(&mut self, instruction: &Instruction) -> Interaction {
        let shape = instruction.shape();
        match instruction.op {
            Op::Input if shape.sharing == Sharing::Garbled => {}
            Op::Input | Op::Constant | Op::Round => return Interaction::default(),
            // What they open is exchanged when they are reached.
            op if op.is_stateful() => return Interaction::default(),
            // A share that waits; to each other party one in a buffer that doubles and one on its way,
            // and as many from it.
            Op::Output => {
                let copies = 1 + 4 * (self.parties as u64 - 1);
                let held_bytes = sent_share_bytes(shape) as u64 * copies + OUTPUT_BYTES;
                return Interaction { rounds: 1, held_bytes };
            }
            _ => {}
        }
        // Openings are held here, on their way to the others, and on theirs to here.
        let copies = 1 + 2 * self.parties as u64;
        let wires = u64::from(shape.wires());
        match self.planned_method(instruction) {
            Method::Packed | Method::Ring | Method::Copy | Method::GarbledToArithmetic => {
                Interaction::default()
            }
            Method::Linear | Method::Garbled | Method::GarbledToBoolean => Interaction::default(),
            Method::TableSet | Method::PartyKey | Method::SharedTable => Interaction::default(),
            Method::SharedAdd => {
                let opened = AddFlight::opened_bits(instruction).div_ceil(8) as u64;
                let held_bytes = AddFlight::held_bytes(instruction) + copies * opened;
                Interaction { rounds: 1, held_bytes }
            }
            Method::TableOpen => {
                Interaction { rounds: 1, held_bytes: wires.div_ceil(8) * copies + 64 }
            }
            Method::ToGarbled | Method::ArithmeticToGarbled if self.half_gates.is_some() => {
                // Labels, those of another summand, those of the round, and shares at both.
                let held_bytes = wires * 3 * SHARE_UNIT_BYTES as u64 + 2 * (wires.div_ceil(8) + 8);
                Interaction { rounds: 1, held_bytes }
            }
            Method::ToGarbled | Method::ArithmeticToGarbled => {
                // Own keys and those of all, those of all on their way, and masked bits.
                let wires = self.garbled_wires(instruction) as u64;
                let keys = SHARE_UNIT_BYTES as u64 * (2 + self.parties as u64 + copies);
                Interaction { rounds: 2, held_bytes: wires * keys + wires.div_ceil(8) * copies }
            }
            Method::Product => {
                let bytes = 8 * u64::from(shape.lanes);
                Interaction { rounds: 1, held_bytes: bytes * (3 + 2 * copies) }
            }
            Method::Square => {
                let bytes = 8 * u64::from(shape.lanes);
                Interaction { rounds: 1, held_bytes: bytes * (2 + copies) }
            }
            Method::BooleanToArithmetic => {
                Interaction { rounds: 1, held_bytes: 8 * wires + wires.div_ceil(8) * copies }
            }
            Method::LookUp => {
                let held_bytes = LookUpFlight::held_bytes(instruction);
                let opened = instruction.immediates[1] * u64::from(shape.lanes);
                Interaction { rounds: 1, held_bytes: held_bytes + copies * opened.div_ceil(8) }
            }
            Method::Selection => {
                // Bits, rows, two of them exchanged, and the result; of each owner its part of triples, and what is told.
                let owners = owners(instruction, self.parties).len() as u64;
                let string = 8 * words(shape.lanes as usize) as u64;
                let row = string * u64::from(shape.width);
                let held_bytes =
                    string + (4 + 2 * owners) * row + owners * copies * wires.div_ceil(8);
                Interaction { rounds: 1, held_bytes }
            }
            Method::Circuit | Method::ArithmeticToBoolean => {
                let (template, lanes) = self.template(instruction).expect("it is a circuit");
                let widest = template.ands_per_level().into_iter().max().unwrap_or(0);
                let rows = template.slot_count as usize * words(lanes);
                let held = rows + words(widest * lanes) * (3 + 2 * copies as usize);
                Interaction { rounds: template.depth() as u32, held_bytes: 8 * held as u64 }
            }
        }
    }
}
