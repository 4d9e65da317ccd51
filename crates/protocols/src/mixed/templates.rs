//! [`Templates`]: the recorded circuit of each kind of instruction, made once; [`MixedRounds`]:
//! what the planner must know of them.

use std::collections::HashMap;
use std::sync::Arc;

use phineus_bytecode::{
    ElementType, Instruction, Interaction, Op, RoundModel, Sharing, layout::ring_bytes,
};
use phineus_circuits::record::Template;
use phineus_engine::bits::{Family, record, template_lanes};
use phineus_engine::packed;

use super::words::words;

/// What makes two instructions have the same template.
type Key = (Op, u16, bool, u32, [u64; 4]);

/// Least-depth circuits of the instructions met so far.
#[derive(Default)]
pub(super) struct Templates {
    by_key: HashMap<Key, Arc<Template>>,
}

impl Templates {
    /// The template of an instruction on XOR shares, and the lanes of its rows.
    pub(super) fn of(&mut self, instruction: &Instruction) -> (Arc<Template>, usize) {
        let lanes = template_lanes(instruction);
        // Where rows are whole lane vectors, the circuit does not depend on how many lanes.
        let key_lanes = if lanes == 1 { instruction.lanes } else { 0 };
        let element = instruction.element;
        let key = (
            instruction.op,
            element.width(),
            element.is_signed(),
            key_lanes,
            instruction.immediates,
        );
        let template = self
            .by_key
            .entry(key)
            .or_insert_with(|| Arc::new(record(instruction, Family::LeastDepth)));
        (template.clone(), lanes as usize)
    }
}

/// The instruction whose template adds the parties' shares of `instruction`, a conversion.
pub(super) fn sum_of_shares(instruction: &Instruction, parties: usize) -> Instruction {
    let width = instruction.element.width();
    let mut sum = Instruction::new(Op::LaneSum, ElementType::unsigned(width), 1);
    sum.immediates = [u64::from(width), parties as u64, 0, 0];
    sum
}

/// How an instruction is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
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
    /// The same shares again.
    Copy,
}

/// How `instruction`, a computation, is done on the sharing that it names.
pub(super) fn way(instruction: &Instruction) -> Way {
    let boolean = |sharing: Sharing| !matches!(sharing, Sharing::Arithmetic);
    let to = instruction.element.sharing();
    if instruction.op == Op::Convert {
        let from = Sharing::from_code(instruction.immediates[0]).unwrap_or_default();
        return match (boolean(from), boolean(to)) {
            (true, false) => Way::BooleanToArithmetic,
            (false, true) => Way::ArithmeticToBoolean,
            _ => Way::Copy,
        };
    }
    if boolean(to) {
        return if packed::is_local(instruction) { Way::Packed } else { Way::Circuit };
    }
    match instruction.op {
        Op::Mul if instruction.operands[0] == instruction.operands[1] => Way::Square,
        Op::Mul => Way::Product,
        _ => Way::Ring,
    }
}

/// The rounds of the instructions of mixed protocols.
pub struct MixedRounds {
    parties: usize,
    templates: Templates,
}

impl MixedRounds {
    /// For so many parties.
    pub fn new(parties: usize) -> MixedRounds {
        MixedRounds { parties, templates: Templates::default() }
    }

    /// The template of an instruction that has one, and the lanes of its rows.
    pub(super) fn template(&mut self, instruction: &Instruction) -> Option<(Arc<Template>, usize)> {
        match way(instruction) {
            Way::Circuit => Some(self.templates.of(instruction)),
            Way::ArithmeticToBoolean => {
                let (template, _) = self.templates.of(&sum_of_shares(instruction, self.parties));
                Some((template, instruction.lanes as usize))
            }
            _ => None,
        }
    }
}

impl RoundModel for MixedRounds {
    fn interaction(&mut self, instruction: &Instruction) -> Interaction {
        let shape = instruction.shape();
        match instruction.op {
            Op::Input | Op::Constant | Op::Round => return Interaction::default(),
            // Shares go to all others, and as many come from them.
            Op::Output => {
                let held_bytes = (ring_bytes(shape.width) * shape.lanes as usize) as u64;
                return Interaction { rounds: 1, held_bytes };
            }
            _ => {}
        }
        // Openings are held here, on their way to the others, and on theirs to here.
        let copies = 1 + 2 * self.parties as u64;
        let wires = u64::from(shape.wires());
        match way(instruction) {
            Way::Packed | Way::Ring | Way::Copy => Interaction::default(),
            Way::Product => {
                let bytes = 8 * u64::from(shape.lanes);
                Interaction { rounds: 1, held_bytes: bytes * (3 + 2 * copies) }
            }
            Way::Square => {
                let bytes = 8 * u64::from(shape.lanes);
                Interaction { rounds: 1, held_bytes: bytes * (2 + copies) }
            }
            Way::BooleanToArithmetic => {
                Interaction { rounds: 1, held_bytes: 8 * wires + wires.div_ceil(8) * copies }
            }
            Way::Circuit | Way::ArithmeticToBoolean => {
                let (template, lanes) = self.template(instruction).expect("it is a circuit");
                let widest = template.ands_per_level().into_iter().max().unwrap_or(0);
                let rows = template.slot_count as usize * words(lanes);
                let held = rows + words(widest * lanes) * (3 + 2 * copies as usize);
                Interaction { rounds: template.depth() as u32, held_bytes: 8 * held as u64 }
            }
        }
    }
}
