//! [`Rep3Rounds`]: how each instruction is computed, and what the planner must know of it.

use std::sync::Arc;

use phineus_bytecode::layout::{ring_bytes, share_bytes};
use phineus_bytecode::{ElementType, Instruction, Interaction, Op, RoundModel, Sharing};
use phineus_circuits::record::CircuitTemplate;
use phineus_engine::bits::Family;
use phineus_engine::packed;

use super::circuits::operand_bytes;
use crate::shares::values::sent_share_bytes;
use crate::templates::Templates;

/// What an instruction in flight takes besides shares: itself, twice, and its places in lists that double.
pub(super) const FLIGHT_BYTES: u64 = 512;

/// How an instruction is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Without the others, on packed rows.
    Packed,
    /// By a recorded circuit; with rounds if it has ANDs.
    Circuit,
    /// Without the others, on ring elements.
    Ring,
    /// Own terms, then one element of each result to a neighbour.
    Product,
    /// The first party shares the XOR of its components, and an inner product.
    BooleanToArithmetic,
    /// The first party shares the sum of its components, and a circuit adds the third one.
    ArithmeticToBoolean,
    /// The same components again; of one bit from one sharing to the other.
    Copy,
}

/// Whether values of this sharing are ring elements; all others are XOR shares.
pub(super) fn is_arithmetic(sharing: Sharing) -> bool {
    match sharing {
        Sharing::Arithmetic => true,
        // Garbled sharing has no meaning of its own here.
        Sharing::Any | Sharing::Boolean | Sharing::Garbled => false,
    }
}

/// The sharing from which a conversion comes.
pub(super) fn converted_from(instruction: &Instruction) -> Sharing {
    Sharing::from_code(instruction.immediates[0]).unwrap_or_default()
}

/// How `instruction` is computed, which is neither an input nor an output.
pub(super) fn method(instruction: &Instruction) -> Method {
    let to = is_arithmetic(instruction.element.sharing());
    match instruction.op {
        Op::Convert => match (is_arithmetic(converted_from(instruction)), to) {
            (false, true) if instruction.element.width() > 1 => Method::BooleanToArithmetic,
            (true, false) if instruction.element.width() > 1 => Method::ArithmeticToBoolean,
            _ => Method::Copy,
        },
        Op::Mul | Op::MatMul if to => Method::Product,
        _ if to => Method::Ring,
        _ if packed::is_local(instruction) => Method::Packed,
        _ => Method::Circuit,
    }
}

/// The addition that ends a conversion from ring elements to bits.
pub(super) fn addition(instruction: &Instruction) -> Instruction {
    let element = ElementType::unsigned(instruction.element.width()).shared(Sharing::Boolean);
    Instruction::new(Op::Add, element, instruction.lanes)
}

/// Bytes that convert `lanes` values of `width` bits to ring elements, in the first round: for each bit but
/// the last an element of the bits above it.
pub(super) fn masked_bit_bytes(width: u16, lanes: u32) -> usize {
    (1..width).map(ring_bytes).sum::<usize>() * lanes as usize
}

/// The rounds of the instructions on replicated shares.
pub struct Rep3Rounds {
    templates: Templates,
}

impl Default for Rep3Rounds {
    fn default() -> Rep3Rounds {
        Rep3Rounds { templates: Templates::new(Family::LeastDepthApart) }
    }
}

impl Rep3Rounds {
    /// Bytes of all circuits met so far, and of the largest one.
    pub(super) fn circuit_bytes(&self) -> [u64; 2] {
        let all = self.templates.memory_bytes();
        all.fold([0, 0], |[sum, largest], bytes| [sum + bytes, largest.max(bytes)])
    }

    /// The circuit of an instruction, and its lanes.
    pub(super) fn template(&mut self, circuit: &Instruction) -> (Arc<CircuitTemplate>, usize) {
        self.templates.of(circuit)
    }

    /// The rounds of a circuit, and bytes that it holds from issue to finish: its operands, its rows, and the
    /// bits of its widest level, as they are made, sent and received. Rows of a group are shared out to its
    /// lanes.
    fn circuit(&mut self, circuit: &Instruction) -> (u32, u64) {
        let (template, lanes) = self.template(circuit);
        let widest = template.ands_per_level().into_iter().max().unwrap_or(0);
        let bits = (2 * template.slot_count as usize + 3 * widest) * lanes;
        (template.depth() as u32, (operand_bytes(circuit) + bits.div_ceil(8)) as u64)
    }
}

impl RoundModel for Rep3Rounds {
    fn interaction(&mut self, instruction: &Instruction) -> Interaction {
        let shape = instruction.shape();
        let sent = sent_share_bytes(shape) as u64;
        let (rounds, held_bytes) = match instruction.op {
            Op::Input => (1, 2 * share_bytes(shape) as u64 + sent),
            // To a neighbour or to a client, what this party learns, and its own part of that.
            Op::Output => (1, 4 * sent),
            Op::Round | Op::Load | Op::Store => (0, 0),
            _ => match method(instruction) {
                Method::Packed | Method::Ring | Method::Copy => (0, 0),
                Method::Circuit => self.circuit(instruction),
                Method::Product => (1, 4 * sent),
                Method::BooleanToArithmetic => {
                    let masked = masked_bit_bytes(shape.width, shape.lanes) as u64;
                    (2, 4 * sent + masked + 8 * u64::from(shape.lanes))
                }
                Method::ArithmeticToBoolean => {
                    let addition = addition(instruction);
                    let (rounds, held_bytes) = self.circuit(&addition);
                    (1 + rounds, held_bytes + 3 * sent_share_bytes(addition.shape()) as u64)
                }
            },
        };
        match rounds {
            0 => Interaction::default(),
            rounds => Interaction { rounds, held_bytes: held_bytes + FLIGHT_BYTES },
        }
    }
}
