//! Functions, block by block.

use std::collections::{HashMap, HashSet};

use crate::ir::control_flow::ControlFlowGraph;
use crate::ir::module::Function;
use crate::ir::{
    Constant, InstructionLocation, IrBlock, IrInstruction, IrOperand, OperationKind, Phi,
    Terminator,
};
use crate::reader::ModuleReader;
use crate::reader::constants::integer;
use crate::reader::llvm::{BlockRef, LLVMOpcode, ValueRef};
use crate::reader::multiples::note_multiples;
use crate::reader::names::FunctionNames;
use crate::reader::uses::{choices, moved};

impl<'m> ModuleReader<'m> {
    pub(crate) fn operand(&self, names: &mut FunctionNames<'m>, value: ValueRef<'m>) -> IrOperand {
        if let Some(&register) = names.registers.get(&value) {
            return IrOperand::Register(register);
        }
        if let Some(&index) = names.known.get(&value) {
            return IrOperand::Constant(index);
        }
        let constant =
            if value.is_constant() { self.constant(value) } else { Constant::Unsupported };
        let index = names.constants.len() as u32;
        names.constants.push(constant);
        names.known.insert(value, index);
        IrOperand::Constant(index)
    }

    pub(crate) fn place(
        &mut self,
        value: ValueRef<'m>,
        before: InstructionLocation,
    ) -> InstructionLocation {
        let Some((name, line, column)) = value.place() else { return before };
        let file = self.files.iter().position(|file| *file == name).unwrap_or_else(|| {
            self.files.push(name);
            self.files.len() - 1
        });
        InstructionLocation {
            file: file as u16,
            line,
            column: column.min(u32::from(u16::MAX)) as u16,
        }
    }

    pub(crate) fn function(&mut self, function: ValueRef<'m>) -> Function {
        let blocks = function.blocks();
        let mut names = FunctionNames {
            registers: HashMap::new(),
            blocks: blocks.iter().copied().zip(0..).collect(),
            constants: Vec::new(),
            known: HashMap::new(),
            exact: HashSet::new(),
        };
        let parameters = function.parameters();
        let all = blocks.iter().flat_map(|block| block.instructions());
        names.registers = parameters.iter().copied().chain(all).zip(0..).collect();
        let mut place = self.place(function, InstructionLocation::default());
        let mut read: Vec<IrBlock> =
            blocks.iter().map(|block| self.block(&mut names, *block, &mut place)).collect();
        note_multiples(&mut read, &names.constants, &names.exact);
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
            shape: if read.is_empty() {
                ControlFlowGraph::default()
            } else {
                ControlFlowGraph::new(&read)
            },
            blocks: read,
            live: Default::default(),
        }
    }

    fn block(
        &mut self,
        names: &mut FunctionNames<'m>,
        block: BlockRef<'m>,
        place: &mut InstructionLocation,
    ) -> IrBlock {
        let (mut phis, mut instructions) = (Vec::new(), Vec::new());
        let all = block.instructions();
        let (last, body) = all.split_last().expect("a block has a terminator");
        for &instruction in body {
            *place = self.place(instruction, *place);
            let result = names.registers[&instruction];
            if instruction.opcode() == LLVMOpcode::LLVMPHI {
                let incoming = instruction.incoming().into_iter();
                let incoming: Vec<(u32, IrOperand)> = incoming
                    .map(|(from, value)| (names.blocks[&from], self.operand(names, value)))
                    .collect();
                let width = self.typ(instruction.typ()).width();
                if let Some(kind) = names.lacks(incoming.iter().map(|(_, operand)| *operand)) {
                    instructions.push(IrInstruction { result, place: *place, kind });
                }
                phis.push(Phi { result, width, incoming });
            } else if let Some(kind) = self.kind(names, instruction) {
                if instruction.is_exact() {
                    names.exact.insert(result);
                }
                let kind = names.lacks(kind.operands().into_iter()).unwrap_or(kind);
                instructions.push(IrInstruction { result, place: *place, kind });
            }
        }
        *place = self.place(*last, *place);
        let terminator = self.terminator(names, *last);
        let fault = match &terminator {
            Ok(terminator) => names.lacks(terminator.operand().into_iter()),
            Err((what, remedy)) => Some(OperationKind::Unsupported(what.clone(), remedy.clone())),
        };
        let terminator = match (terminator, fault) {
            (Ok(terminator), None) => terminator,
            (_, fault) => {
                let result = names.registers[last];
                let faults = fault.map(|kind| IrInstruction { result, place: *place, kind });
                instructions.extend(faults);
                Terminator::Unreachable
            }
        };
        let assumes = body.iter().any(|instruction| instruction.is_call_of("llvm.assume"));
        IrBlock { phis, instructions, terminator, place: *place, assumes }
    }

    fn terminator(
        &self,
        names: &mut FunctionNames<'m>,
        last: ValueRef<'m>,
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
