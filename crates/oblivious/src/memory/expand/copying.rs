//! [`Copying`]: instructions of an old program, recorded again under new names.

use std::collections::{BTreeMap, HashMap};

use phineus_bytecode::{Instruction, Lane, Op};
use phineus_frontend::{Tracer, Value};

/// Copies the instructions of one iteration of an old block after another.
pub(super) struct Copying {
    tracer: Tracer,
    /// From which name of the old block on, what is added to a name in the new one; ascending.
    renamed: Vec<(u64, u64)>,
    /// Constants of one lane, by their old names.
    constants: HashMap<u64, Lane>,
    /// Carried values that iterations of the new block have stored, and those that the iteration at hand stores.
    carried: BTreeMap<u32, Value>,
    stored: BTreeMap<u32, Value>,
}

impl Copying {
    pub(super) fn new(tracer: &Tracer) -> Copying {
        Copying {
            tracer: tracer.clone(),
            renamed: Vec::new(),
            constants: HashMap::new(),
            carried: BTreeMap::new(),
            stored: BTreeMap::new(),
        }
    }

    pub(super) fn step(&mut self, instruction: &Instruction) {
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

    /// The value of one operand, of the instruction's own shape.
    pub(super) fn operand(&self, instruction: &Instruction) -> Value {
        match self.constants.get(&instruction.operands[0]) {
            Some(&lane) if instruction.lanes == 1 => {
                self.tracer.constant(instruction.element, lane)
            }
            _ => self.named(instruction),
        }
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
    }

    /// Ends the new block.
    pub(super) fn end_block(&mut self) {
        for (slot, value) in std::mem::take(&mut self.carried) {
            self.tracer.carry(slot, &value);
        }
    }
}
