//! Functions, block by block.

use std::collections::HashMap;

use crate::ir::control_flow::Shape;
use crate::ir::module::Function;
use crate::ir::{Block, Constant, Instruction, Kind, Operand, Phi, Place, Terminator};
use crate::reader::Reader;
use crate::reader::constants::integer;
use crate::reader::llvm::{Blk, LLVMOpcode, Val};
use crate::reader::names::Names;
use crate::reader::uses::{choices, moved};

impl<'m> Reader<'m> {
    pub(crate) fn operand(&self, names: &mut Names<'m>, value: Val<'m>) -> Operand {
        if let Some(&register) = names.registers.get(&value) {
            return Operand::Register(register);
        }
        if let Some(&index) = names.known.get(&value) {
            return Operand::Constant(index);
        }
        let constant =
            if value.is_constant() { self.constant(value) } else { Constant::Unsupported };
        let index = names.constants.len() as u32;
        names.constants.push(constant);
        names.known.insert(value, index);
        Operand::Constant(index)
    }

    pub(crate) fn place(&mut self, value: Val<'m>, before: Place) -> Place {
        let Some((name, line, column)) = value.place() else { return before };
        let file = self.files.iter().position(|file| *file == name).unwrap_or_else(|| {
            self.files.push(name);
            self.files.len() - 1
        });
        Place { file: file as u16, line, column: column.min(u32::from(u16::MAX)) as u16 }
    }

    pub(crate) fn function(&mut self, function: Val<'m>) -> Function {
        let blocks = function.blocks();
        let mut names = Names {
            registers: HashMap::new(),
            blocks: blocks.iter().copied().zip(0..).collect(),
            constants: Vec::new(),
            known: HashMap::new(),
        };
        let parameters = function.parameters();
        let all = blocks.iter().flat_map(|block| block.instructions());
        names.registers = parameters.iter().copied().chain(all).zip(0..).collect();
        let mut place = self.place(function, Place::default());
        let read: Vec<Block> =
            blocks.iter().map(|block| self.block(&mut names, *block, &mut place)).collect();
        let copied = (0..parameters.len()).filter_map(|at| {
            let typ = function.by_value(at as u32)?;
            Some((at, self.layout.size(typ), self.granule(typ)))
        });
        Function {
            copied: copied.collect(),
            moved: moved(&read, names.registers.len()),
            choices: choices(&read),
            bounds: crate::ir::bounds::bounds(&read),
            name: function.name(),
            result: self.typ(function.function_type().result()),
            registers: names.registers.len() as u32,
            constants: names.constants,
            shape: if read.is_empty() { Shape::default() } else { Shape::new(&read) },
            blocks: read,
            live: Default::default(),
        }
    }

    fn block(&mut self, names: &mut Names<'m>, block: Blk<'m>, place: &mut Place) -> Block {
        let (mut phis, mut instructions) = (Vec::new(), Vec::new());
        let all = block.instructions();
        let (last, body) = all.split_last().expect("a block has a terminator");
        for &instruction in body {
            *place = self.place(instruction, *place);
            let result = names.registers[&instruction];
            if instruction.opcode() == LLVMOpcode::LLVMPHI {
                let incoming = instruction.incoming().into_iter();
                let incoming: Vec<(u32, Operand)> = incoming
                    .map(|(from, value)| (names.blocks[&from], self.operand(names, value)))
                    .collect();
                let width = self.typ(instruction.typ()).width();
                if let Some(kind) = names.lacks(incoming.iter().map(|(_, operand)| *operand)) {
                    instructions.push(Instruction { result, place: *place, kind });
                }
                phis.push(Phi { result, width, incoming });
            } else if let Some(kind) = self.kind(names, instruction) {
                let kind = names.lacks(kind.operands().into_iter()).unwrap_or(kind);
                instructions.push(Instruction { result, place: *place, kind });
            }
        }
        *place = self.place(*last, *place);
        let terminator = self.terminator(names, *last);
        let fault = match &terminator {
            Ok(terminator) => names.lacks(terminator.operand().into_iter()),
            Err((what, remedy)) => Some(Kind::Unsupported(what.clone(), remedy.clone())),
        };
        let terminator = match (terminator, fault) {
            (Ok(terminator), None) => terminator,
            (_, fault) => {
                let result = names.registers[last];
                let faults = fault.map(|kind| Instruction { result, place: *place, kind });
                instructions.extend(faults);
                Terminator::Unreachable
            }
        };
        let assumes = body.iter().any(|instruction| instruction.is_call_of("llvm.assume"));
        Block { phis, instructions, terminator, place: *place, assumes }
    }

    fn terminator(
        &self,
        names: &mut Names<'m>,
        last: Val<'m>,
    ) -> Result<Terminator, (String, String)> {
        let targets: Vec<u32> =
            last.successors().into_iter().map(|block| names.blocks[&block]).collect();
        let operands = last.operands();
        Ok(match last.opcode() {
            LLVMOpcode::LLVMBr => match targets.as_slice() {
                [target] => Terminator::Jump(*target),
                [yes, no] => Terminator::Branch(self.operand(names, operands[0]), *yes, *no),
                _ => unreachable!("a branch goes to one or two blocks"),
            },
            LLVMOpcode::LLVMSwitch => {
                // Condition, default, then a value and a block for each case.
                let values = operands.iter().skip(2).step_by(2).map(|value| integer(*value));
                let cases = values.zip(targets[1..].iter().copied()).collect();
                Terminator::Switch(self.operand(names, operands[0]), cases, targets[0])
            }
            LLVMOpcode::LLVMRet => {
                Terminator::Return(operands.first().map(|value| self.operand(names, *value)))
            }
            LLVMOpcode::LLVMUnreachable => Terminator::Unreachable,
            LLVMOpcode::LLVMIndirectBr => {
                let remedy = "write a switch instead of a computed goto";
                return Err(("a computed goto".to_owned(), remedy.to_owned()));
            }
            _ => {
                let what = "a jump that is no branch, switch or return".to_owned();
                return Err((what, "write it as an if or a loop".to_owned()));
            }
        })
    }
}
