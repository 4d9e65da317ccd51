//! Names of one function: its registers, blocks and constants.

use std::collections::{HashMap, HashSet};

use crate::ir::{Constant, IrOperand, OperationKind};
use crate::reader::llvm::{BlockRef, ValueRef};
use crate::reader::types::OTHER_FLOAT;

/// Remedy for floating point that is not supported.
pub(crate) const USE_DOUBLE: &str =
    "use float or double, or ph_fixed of phineus.h, which costs less";

/// Registers, blocks and constants of the function that is being read.
pub(crate) struct FunctionNames<'m> {
    pub(super) registers: HashMap<ValueRef<'m>, u32>,
    pub(super) blocks: HashMap<BlockRef<'m>, u32>,
    pub(super) constants: Vec<Constant>,
    pub(super) known: HashMap<ValueRef<'m>, u32>,
    /// Registers whose signed integer is what the operation gives of signed integers, without wrapping.
    pub(super) exact: HashSet<u32>,
}

impl FunctionNames<'_> {
    /// The fault of an instruction with a constant operand that the reader does not support.
    pub(super) fn lacks(&self, operands: impl Iterator<Item = IrOperand>) -> Option<OperationKind> {
        let constants = operands.filter_map(|operand| match operand {
            IrOperand::Constant(index) => Some(&self.constants[index as usize]),
            IrOperand::Register(_) => None,
        });
        let (mut is_float, mut is_unknown) = (false, false);
        for constant in constants {
            is_float |= matches!(constant, Constant::UnsupportedFloat);
            is_unknown |= matches!(constant, Constant::Unsupported);
        }
        let (what, remedy) = match (is_float, is_unknown) {
            (true, _) => (OTHER_FLOAT, USE_DOUBLE),
            (false, true) => (
                "a constant that is no integer and no address of a variable or function",
                "use a variable or a function of this file",
            ),
            (false, false) => return None,
        };
        Some(OperationKind::Unsupported(what.to_owned(), remedy.to_owned()))
    }
}
