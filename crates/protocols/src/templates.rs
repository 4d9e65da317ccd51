//! [`Templates`]: the recorded circuit of each kind of instruction, made once.

use std::collections::HashMap;
use std::sync::Arc;

use phineus_bytecode::{ElementType, Instruction, Op, Phase, Sharing};
use phineus_circuits::record::CircuitTemplate;
use phineus_engine::bits::{Family, record, template_lanes};

use crate::recorded::RecordedCircuits;

/// Key of instructions with the same template.
type Key = (Op, u16, bool, u32, [u64; 4], bool);

static RECORDED: RecordedCircuits<(Family, Key), CircuitTemplate> = RecordedCircuits::new();

/// The circuit of `family` for an instruction with this key.
fn recorded(family: Family, key: Key, instruction: &Instruction) -> Arc<CircuitTemplate> {
    RECORDED.get((family, key), || {
        let template = record(instruction, family);
        let bytes = template.memory_bytes();
        (template, bytes)
    })
}

/// Circuits of one family for the instructions met so far.
pub(crate) struct Templates {
    family: Family,
    by_key: HashMap<Key, Arc<CircuitTemplate>>,
}

impl Templates {
    pub(crate) fn new(family: Family) -> Templates {
        Templates { family, by_key: HashMap::new() }
    }

    /// The template of an instruction, and the lanes of its rows.
    pub(crate) fn of(&mut self, instruction: &Instruction) -> (Arc<CircuitTemplate>, usize) {
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
            self.family == Family::FewestAnds && instruction.is_square(),
        );
        let new = || recorded(self.family, key, instruction);
        (self.by_key.entry(key).or_insert_with(new).clone(), lanes as usize)
    }

    /// Bytes of each of them.
    pub(crate) fn memory_bytes(&self) -> impl Iterator<Item = u64> {
        self.by_key.values().map(|template| template.memory_bytes())
    }
}

/// The instruction whose template adds the parties' shares of `instruction`, a conversion; or to a
/// garbled value a mask of each party but the first.
pub(crate) fn sum_of_shares(instruction: &Instruction, parties: usize) -> Instruction {
    let width = instruction.element.width();
    let mut sum = Instruction::new(Op::LaneSum, ElementType::unsigned(width), 1);
    sum.immediates = [u64::from(width), parties as u64, 0, 0];
    sum
}

/// Whether an instruction of an ordered program makes a garbled value additive by masks.
pub(crate) fn is_masked(instruction: &Instruction) -> bool {
    let from = Sharing::from_code(instruction.immediates[0]).unwrap_or_default();
    let sharings = (from, instruction.element.sharing());
    instruction.op == Op::Convert
        && sharings == (Sharing::Garbled, Sharing::Arithmetic)
        && instruction.phase == Phase::Whole
}
