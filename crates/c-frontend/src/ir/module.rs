//! The program: functions and global variables.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::diagnostic::SourceLocation;
use crate::ir::bounds::Bounds;
use crate::ir::control_flow::ControlFlowGraph;
use crate::ir::{Constant, InstructionLocation, IrBlock, IrOperand, OperationKind, Type};

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) result: Type,
    pub(crate) registers: u32,
    pub(crate) constants: Vec<Constant>,
    /// Parameters that point to structures that are passed by value: their bytes and granule.
    pub(crate) copied: Vec<(usize, u64, u8)>,
    /// Of each register, whether it is a load that is only stored again, in the same block.
    pub(crate) moved: Vec<bool>,
    /// Registers that are choices between integers: condition and both.
    pub(crate) choices: HashMap<u32, [IrOperand; 3]>,
    pub(crate) bounds: Bounds,
    /// The first is where it begins; none if it is only declared.
    pub(crate) blocks: Vec<IrBlock>,
    pub(crate) shape: ControlFlowGraph,
    /// Which registers are needed in each block, once it was asked (`liveness.rs`).
    pub(crate) live: OnceLock<Vec<Vec<bool>>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Global {
    pub(crate) name: String,
    /// Its bytes.
    pub(crate) size: u64,
    pub(crate) granule: u8,
    /// `None` if it is not set, or defined elsewhere.
    pub(crate) initial: Option<Initial>,
    pub(crate) is_constant: bool,
    pub(crate) place: InstructionLocation,
}

/// The initial value of a global variable: zeros but for some scalars.
#[derive(Clone, Debug)]
pub(crate) struct Initial {
    /// Where the scalars of an element lie, with their bytes; the variable repeats it.
    pub(crate) zeros: Vec<(u64, u8)>,
    pub(crate) element_bytes: u64,
    /// Scalars that are not zero: first byte, bytes, value.
    pub(crate) scalars: Vec<(u64, u8, Constant)>,
}

#[derive(Clone, Debug)]
pub(crate) struct IrModule {
    pub(crate) functions: Vec<Function>,
    pub(crate) globals: Vec<Global>,
    pub(crate) files: Vec<String>,
}

impl IrModule {
    /// Whether anything is opened when the program runs.
    pub(crate) fn reveals(&self) -> bool {
        let blocks = self.functions.iter().flat_map(|function| &function.blocks);
        let mut all = blocks.flat_map(|block| &block.instructions);
        all.any(|instruction| matches!(instruction.kind, OperationKind::Reveal(..)))
    }

    /// A place for people.
    pub(crate) fn spot(&self, place: InstructionLocation) -> SourceLocation {
        place.spot(&self.files)
    }

    pub(crate) fn function(&self, name: &str) -> Option<u32> {
        let found = self.functions.iter().position(|function| function.name == name);
        found.map(|index| index as u32)
    }
}
