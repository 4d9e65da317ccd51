//! LLVM's module to ours: every operand, layout and address resolved once, before anything runs.

pub(crate) mod blocks;
pub(crate) mod constants;
pub(crate) mod floats;
pub(crate) mod globals;
pub(crate) mod instructions;
pub(crate) mod llvm;
pub(crate) mod multiples;
pub(crate) mod names;
pub(crate) mod types;
pub(crate) mod uses;

use std::collections::HashMap;

use inkwell::module::Module as LlvmModule;

use crate::compiler::library;
use crate::ir::module::IrModule;
use crate::reader::llvm::{TargetLayout, ValueRef};

/// Reads a module, after its passes.
pub(crate) fn read(module: &LlvmModule<'_>) -> IrModule {
    let (functions, globals) = (llvm::functions(module), llvm::globals(module));
    let library = functions.iter().zip(0..).filter_map(|(function, index)| {
        Some((function.name().strip_prefix(library::PREFIX)?.to_owned(), index))
    });
    let mut reader = ModuleReader {
        library: library.collect(),
        layout: llvm::layout(module),
        functions: functions.iter().copied().zip(0..).collect(),
        globals: globals.iter().copied().zip(0..).collect(),
        files: Vec::new(),
    };
    let globals = globals.into_iter().map(|global| reader.global(global)).collect();
    let functions = functions.into_iter().map(|function| reader.function(function)).collect();
    IrModule { functions, globals, files: reader.files }
}

pub(crate) struct ModuleReader<'m> {
    pub(crate) layout: TargetLayout<'m>,
    pub(crate) functions: HashMap<ValueRef<'m>, u32>,
    /// Functions of C's library, by their names there.
    pub(crate) library: HashMap<String, u32>,
    globals: HashMap<ValueRef<'m>, u32>,
    files: Vec<String>,
}
