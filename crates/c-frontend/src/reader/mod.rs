//! LLVM's module to ours: every operand, layout and address resolved once, before anything runs.

pub(crate) mod globals;
pub(crate) mod instructions;
pub(crate) mod llvm;

use std::collections::HashMap;

use inkwell::module::Module as LlvmModule;

use crate::compiler::library;
use crate::ir::control_flow::Shape;
use crate::ir::module::{Function, Module};
use crate::ir::{Block, Constant, Index, Instruction, Kind, Operand, Phi, Place, Terminator, Type};
use crate::reader::instructions::NO_FLOAT;
use crate::reader::llvm::{Blk, LLVMOpcode, LLVMTypeKind, Layout, Typ, Val};

/// What a type is that is floating point.
const FLOAT: &str = "floating point";

/// Reads a module, after its passes.
pub(crate) fn read(module: &LlvmModule<'_>) -> Module {
    let (functions, globals) = (llvm::functions(module), llvm::globals(module));
    let library = functions.iter().zip(0..).filter_map(|(function, index)| {
        Some((function.name().strip_prefix(library::PREFIX)?.to_owned(), index))
    });
    let mut reader = Reader {
        library: library.collect(),
        layout: llvm::layout(module),
        functions: functions.iter().copied().zip(0..).collect(),
        globals: globals.iter().copied().zip(0..).collect(),
        files: Vec::new(),
    };
    let globals = globals.into_iter().map(|global| reader.global(global)).collect();
    let functions = functions.into_iter().map(|function| reader.function(function)).collect();
    Module { functions, globals, files: reader.files }
}

pub(crate) struct Reader<'m> {
    pub(crate) layout: Layout<'m>,
    pub(crate) functions: HashMap<Val<'m>, u32>,
    /// Functions of C's library, by their names there.
    pub(crate) library: HashMap<String, u32>,
    globals: HashMap<Val<'m>, u32>,
    files: Vec<String>,
}

/// What is known while one function is read.
pub(crate) struct Names<'m> {
    registers: HashMap<Val<'m>, u32>,
    blocks: HashMap<Blk<'m>, u32>,
    constants: Vec<Constant>,
    known: HashMap<Val<'m>, u32>,
}

impl Names<'_> {
    /// What is said if one of the operands is a constant that nothing is known of.
    fn lacks(&self, operands: impl Iterator<Item = Operand>) -> Option<Kind> {
        let constants = operands.filter_map(|operand| match operand {
            Operand::Constant(index) => Some(&self.constants[index as usize]),
            Operand::Register(_) => None,
        });
        let (mut is_float, mut is_unknown) = (false, false);
        for constant in constants {
            is_float |= matches!(constant, Constant::Float);
            is_unknown |= matches!(constant, Constant::Unsupported);
        }
        let (what, remedy) = match (is_float, is_unknown) {
            (true, _) => (FLOAT, NO_FLOAT),
            (false, true) => (
                "a constant that is no integer and no address of a variable or function",
                "use a variable or a function of this file",
            ),
            (false, false) => return None,
        };
        Some(Kind::Unsupported(what.to_owned(), remedy.to_owned()))
    }
}

impl<'m> Reader<'m> {
    /// The type with its layout.
    pub(crate) fn typ(&self, typ: Typ<'m>) -> Type {
        let elements = |element: Typ<'m>, count: u64| {
            let (type_, size) = (self.typ(element), self.layout.size(element));
            Type::Many((0..count).map(|i| (type_.clone(), i * size)).collect(), count * size)
        };
        match typ.kind() {
            LLVMTypeKind::LLVMVoidTypeKind => Type::Void,
            LLVMTypeKind::LLVMIntegerTypeKind if typ.width() <= 128 => {
                Type::Integer(typ.width() as u16)
            }
            LLVMTypeKind::LLVMIntegerTypeKind => {
                Type::Unsupported(format!("an integer of {} bits", typ.width()))
            }
            LLVMTypeKind::LLVMPointerTypeKind => Type::Pointer,
            LLVMTypeKind::LLVMArrayTypeKind => elements(typ.element(), typ.array_length()),
            LLVMTypeKind::LLVMVectorTypeKind => elements(typ.element(), typ.vector_length()),
            LLVMTypeKind::LLVMStructTypeKind => {
                let fields = typ.fields().into_iter().zip(0..);
                let fields = fields.map(|(f, at)| (self.typ(f), self.layout.offset(typ, at)));
                Type::Many(fields.collect(), self.layout.size(typ))
            }
            LLVMTypeKind::LLVMHalfTypeKind
            | LLVMTypeKind::LLVMBFloatTypeKind
            | LLVMTypeKind::LLVMFloatTypeKind
            | LLVMTypeKind::LLVMDoubleTypeKind
            | LLVMTypeKind::LLVMX86_FP80TypeKind
            | LLVMTypeKind::LLVMFP128TypeKind => Type::Unsupported(FLOAT.to_owned()),
            _ => Type::Unsupported("a type that is no integer".to_owned()),
        }
    }

    /// The largest power of two that divides all offsets and sizes of scalars in the type.
    pub(crate) fn granule(&self, typ: Typ<'m>) -> u8 {
        fn gcd(a: u64, b: u64) -> u64 {
            if b == 0 { a } else { gcd(b, a % b) }
        }
        let size = self.layout.size(typ).max(1);
        let inner = match typ.kind() {
            LLVMTypeKind::LLVMArrayTypeKind | LLVMTypeKind::LLVMVectorTypeKind => {
                u64::from(self.granule(typ.element()))
            }
            LLVMTypeKind::LLVMStructTypeKind => {
                typ.fields().into_iter().zip(0..).fold(0, |all, (field, at)| {
                    let own = gcd(self.layout.offset(typ, at), u64::from(self.granule(field)));
                    gcd(all, own)
                })
            }
            _ => size,
        };
        let granule = gcd(size, inner).max(1);
        (1u64 << granule.trailing_zeros()).min(16) as u8
    }

    /// A constant that is known before the program runs.
    pub(crate) fn constant(&self, value: Val<'m>) -> Constant {
        if value.is_undefined() {
            return Constant::Undefined;
        }
        if let Some(&index) = self.functions.get(&value) {
            return Constant::Function(index);
        }
        if let Some(&index) = self.globals.get(&value) {
            return Constant::Global(index, 0);
        }
        if value.is_integer() {
            return Constant::Integer(integer(value));
        }
        match self.typ(value.typ()) {
            Type::Pointer if value.is_null() => Constant::Null,
            Type::Unsupported(what) if what == FLOAT => Constant::Float,
            Type::Many(elements, _) => {
                let element = |(index, (type_, _)): (usize, &(Type, u64))| match value
                    .aggregate_element(index as u32)
                {
                    Some(element) => self.constant(element),
                    None => zero(type_),
                };
                Constant::Many(elements.iter().enumerate().map(element).collect())
            }
            _ => self.expression(value),
        }
    }

    fn expression(&self, value: Val<'m>) -> Constant {
        if value.expression() == Some(LLVMOpcode::LLVMGetElementPtr) {
            let operands = value.operands();
            if let Constant::Global(global, base) = self.constant(operands[0])
                && let Some(offset) = self.constant_offset(value, &operands[1..])
            {
                return Constant::Global(global, base + offset);
            }
        }
        Constant::Unsupported
    }

    fn constant_offset(&self, address: Val<'m>, indices: &[Val<'m>]) -> Option<i64> {
        let (offset, rest) = self.address(address.source_element(), indices, &mut |_| None)?;
        rest.is_empty().then_some(offset)
    }

    /// Constant offset and open indices of an address computation.
    pub(crate) fn address(
        &self,
        source: Typ<'m>,
        indices: &[Val<'m>],
        open: &mut dyn FnMut(Val<'m>) -> Option<Operand>,
    ) -> Option<(i64, Vec<Index>)> {
        let (mut offset, mut found) = (0i64, Vec::new());
        let mut typ = source;
        for (level, &index) in indices.iter().enumerate() {
            let mut bound = None;
            if level > 0 {
                if typ.kind() == LLVMTypeKind::LLVMStructTypeKind {
                    let field = index.low() as u32;
                    offset += self.layout.offset(typ, field) as i64;
                    typ = typ.fields()[field as usize];
                    continue;
                }
                bound = (typ.kind() == LLVMTypeKind::LLVMArrayTypeKind)
                    .then(|| typ.array_length())
                    .filter(|&length| length > 0);
                typ = typ.element();
            }
            let stride = self.layout.size(typ) as i64;
            if index.is_integer() {
                let width = index.typ().width();
                let signed =
                    (integer(index) as i64) << (64 - width.min(64)) >> (64 - width.min(64));
                offset += signed * stride;
            } else {
                let width = match index.typ().kind() {
                    LLVMTypeKind::LLVMIntegerTypeKind => index.typ().width() as u16,
                    _ => return None,
                };
                found.push(Index { operand: open(index)?, width, stride, bound });
            }
        }
        Some((offset, found))
    }

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

    fn function(&mut self, function: Val<'m>) -> Function {
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

/// Which registers are loads that are only stored again, in the block of the load: how clang copies
/// small structures.
fn moved(blocks: &[Block], registers: usize) -> Vec<bool> {
    let (mut loaded, mut used) = (vec![None; registers], vec![false; registers]);
    let operand = |used: &mut Vec<bool>, operand: &Operand| {
        if let Operand::Register(register) = operand {
            used[*register as usize] = true;
        }
    };
    for (block, code) in blocks.iter().enumerate() {
        let phis = code.phis.iter().flat_map(|phi| &phi.incoming);
        phis.for_each(|(_, incoming)| operand(&mut used, incoming));
        code.terminator.operand().iter().for_each(|condition| operand(&mut used, condition));
        for instruction in &code.instructions {
            match &instruction.kind {
                Kind::Store(_, [Operand::Register(data), place])
                    if loaded[*data as usize] == Some(block) =>
                {
                    operand(&mut used, place);
                }
                kind => kind.operands().iter().for_each(|one| operand(&mut used, one)),
            }
            if let Kind::Load(Type::Integer(_), _) = &instruction.kind {
                loaded[instruction.result as usize] = Some(block);
            }
        }
    }
    loaded.iter().zip(used).map(|(loaded, used)| loaded.is_some() && !used).collect()
}

/// The choices between integers, by register.
fn choices(blocks: &[Block]) -> HashMap<u32, [Operand; 3]> {
    let all = blocks.iter().flat_map(|block| &block.instructions);
    let choice = |instruction: &Instruction| match &instruction.kind {
        Kind::Select(_, operands) => Some((instruction.result, *operands)),
        _ => None,
    };
    all.filter_map(choice).collect()
}

/// A constant integer's bits.
fn integer(value: Val<'_>) -> u128 {
    let width = value.typ().width();
    if width <= 64 {
        return u128::from(value.low());
    }
    let printed = value.printed();
    let number = printed.rsplit(' ').next().unwrap_or_default();
    let bits = match number.parse::<i128>() {
        Ok(number) => number as u128,
        Err(_) => number.parse().unwrap_or_default(),
    };
    if width < 128 { bits & ((1 << width) - 1) } else { bits }
}

fn zero(type_: &Type) -> Constant {
    match type_ {
        Type::Pointer => Constant::Null,
        Type::Many(elements, _) => {
            Constant::Many(elements.iter().map(|(element, _)| zero(element)).collect())
        }
        _ => Constant::Integer(0),
    }
}
