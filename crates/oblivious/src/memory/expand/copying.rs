//! [`Copying`]: instructions of an old program, recorded again under new names.

use std::collections::{BTreeMap, HashMap};

use phineus_bytecode::{ElementType, Instruction, Lane, Lanes, Op, Sharing};
use phineus_frontend::{Tracer, Value};

use crate::memory::constants::Constants;

/// Copies the instructions of one iteration of an old block after another.
pub(super) struct Copying {
    tracer: Tracer,
    /// The sharing of all instructions; [`Sharing::Any`] leaves it as they say.
    sharing: Sharing,
    /// From which name of the old block on, what is added to a name in the new one; ascending.
    renamed: Vec<(u64, u64)>,
    /// Constants of one lane, by their old names.
    constants: HashMap<u64, Lane>,
    /// All values that follow from constants, if they are asked for.
    derived: Option<Constants>,
    /// Carried values that iterations of the new block have stored, and those that the iteration at hand stores.
    carried: BTreeMap<u32, Value>,
    stored: BTreeMap<u32, Value>,
}

impl Copying {
    /// Copies to `tracer`, and notes values that follow from constants if that is asked for.
    pub(super) fn new(tracer: &Tracer, sharing: Sharing, notes_constants: bool) -> Copying {
        Copying {
            tracer: tracer.clone(),
            sharing,
            renamed: Vec::new(),
            constants: HashMap::new(),
            derived: notes_constants.then(Constants::default),
            carried: BTreeMap::new(),
            stored: BTreeMap::new(),
        }
    }

    pub(super) fn step(&mut self, instruction: &Instruction) {
        if let Some(derived) = &mut self.derived {
            derived.step(instruction);
        }
        if instruction.op == Op::Constant && instruction.lanes == 1 {
            let lane = Lane::from_limbs(instruction.immediates);
            self.constants.insert(instruction.results[0], lane);
        }
        let slot = instruction.immediates[0] as u32;
        let result = match instruction.op {
            Op::Load => {
                let value = match self.carried.get(&slot) {
                    Some(value) => value.clone(),
                    None => self.tracer.carried(slot),
                };
                self.tracer.name_of_value(&value)
            }
            Op::Store => {
                self.stored.insert(slot, self.named(instruction));
                None
            }
            _ => {
                let mut copy = *instruction;
                copy.element = self.stated(instruction.op, copy.element);
                for (place, &operand) in copy.operands.iter_mut().zip(instruction.operands()) {
                    *place = self.name(operand);
                }
                self.tracer.copy(&copy)
            }
        };
        if let (Some(new), Some(&old)) = (result, instruction.results().first()) {
            self.rename(old, new);
        }
    }

    /// The type of an instruction as the new program states it.
    fn stated(&self, op: Op, element: ElementType) -> ElementType {
        match (self.sharing, op) {
            (Sharing::Any, _) => element,
            // They are brought in again in every sharing that they are needed in.
            (_, Op::Input | Op::Constant) => element.shared(Sharing::Any),
            (sharing, _) => element.shared(sharing),
        }
    }

    /// Takes note that the result of `instruction` is `value`.
    pub(super) fn replace(&mut self, instruction: &Instruction, value: &Value) {
        if let Some(new) = self.tracer.name_of_value(value) {
            self.rename(instruction.results[0], new);
        }
    }

    /// Takes note that `old`, and what is defined behind it, is now called `new`.
    fn rename(&mut self, old: u64, new: u64) {
        let shift = new.wrapping_sub(old);
        if self.renamed.last().is_none_or(|&(_, last)| last != shift) {
            self.renamed.push((old, shift));
        }
    }

    fn name(&self, old: u64) -> u64 {
        let index = self.renamed.partition_point(|&(first, _)| first <= old);
        let shift = index.checked_sub(1).map_or(0, |index| self.renamed[index].1);
        old.wrapping_add(shift)
    }

    /// The value of one operand, of the instruction's own shape, for a memory that is scanned or accessed otherwise.
    pub(super) fn operand(&self, instruction: &Instruction, is_scanned: bool) -> Value {
        let element = match (self.sharing, is_scanned) {
            (Sharing::Any, _) => instruction.element,
            (Sharing::Arithmetic | Sharing::Boolean | Sharing::Garbled, true) => {
                instruction.element.shared(self.sharing)
            }
            (Sharing::Arithmetic | Sharing::Boolean | Sharing::Garbled, false) => {
                instruction.element.shared(Sharing::Any)
            }
        };
        match self.constants.get(&instruction.operands[0]) {
            Some(&lane) if instruction.lanes == 1 => self.tracer.constant(element, lane),
            _ => self.named(&Instruction { element, ..*instruction }),
        }
    }

    /// The lanes of that operand, if it is a constant and constants are noted.
    pub(super) fn constant(&self, instruction: &Instruction) -> Option<&Lanes> {
        self.derived.as_ref()?.lanes(instruction.operands[0])
    }

    fn named(&self, instruction: &Instruction) -> Value {
        let name = self.name(instruction.operands[0]);
        self.tracer.named(name, instruction.element, instruction.lanes)
    }

    /// Ends an iteration of the old block: what it stored is what the next one loads.
    pub(super) fn end_iteration(&mut self) {
        self.carried.append(&mut self.stored);
        self.renamed.clear();
        self.constants.clear();
        self.derived.iter_mut().for_each(Constants::clear);
    }

    /// Ends the new block.
    pub(super) fn end_block(&mut self) {
        for (slot, value) in std::mem::take(&mut self.carried) {
            self.tracer.carry(slot, &value);
        }
    }
}
