//! The reader's part for operations on floating-point numbers.

use phineus_frontend::Rounding;

use crate::ir::OperationKind;
use crate::ir::float::{FloatOperation, FloatPredicate};
use crate::reader::ModuleReader;
use crate::reader::llvm::{LLVMOpcode, LLVMRealPredicate, ValueRef};
use crate::reader::names::FunctionNames;

impl<'m> ModuleReader<'m> {
    pub(super) fn float(
        &self,
        names: &mut FunctionNames<'m>,
        operation: FloatOperation,
        (from, to): (u16, u16),
        operands: &[ValueRef<'m>],
    ) -> OperationKind {
        let operands = operands.iter().map(|operand| self.operand(names, *operand)).collect();
        OperationKind::Float(operation, from, to, operands)
    }
}

/// The operation of an instruction, if it is one on floating-point numbers.
pub(super) fn float_operation(instruction: ValueRef<'_>) -> Option<FloatOperation> {
    Some(match instruction.opcode() {
        LLVMOpcode::LLVMFAdd => FloatOperation::Add,
        LLVMOpcode::LLVMFSub => FloatOperation::Subtract,
        LLVMOpcode::LLVMFMul => FloatOperation::Multiply,
        LLVMOpcode::LLVMFDiv => FloatOperation::Divide,
        LLVMOpcode::LLVMFNeg => FloatOperation::Negate,
        LLVMOpcode::LLVMFCmp => FloatOperation::Compare(predicate(instruction.float_predicate())),
        LLVMOpcode::LLVMSIToFP => FloatOperation::FromSigned,
        LLVMOpcode::LLVMUIToFP => FloatOperation::FromUnsigned,
        LLVMOpcode::LLVMFPToSI => FloatOperation::ToSigned,
        LLVMOpcode::LLVMFPToUI => FloatOperation::ToUnsigned,
        LLVMOpcode::LLVMFPExt | LLVMOpcode::LLVMFPTrunc => FloatOperation::ToWidth,
        _ => return None,
    })
}

/// The operation of a function that LLVM defines, by the words of its name.
pub(super) fn float_intrinsic(name: &[&str]) -> Option<FloatOperation> {
    Some(match name {
        ["fabs", ..] => FloatOperation::Absolute,
        ["sqrt", ..] => FloatOperation::SquareRoot,
        ["minnum", ..] => FloatOperation::Minimum,
        ["maxnum", ..] => FloatOperation::Maximum,
        ["copysign", ..] => FloatOperation::CopySign,
        ["floor", ..] => FloatOperation::Integral(Rounding::Down),
        ["ceil", ..] => FloatOperation::Integral(Rounding::Up),
        ["trunc", ..] => FloatOperation::Integral(Rounding::TowardsZero),
        ["round", ..] => FloatOperation::Integral(Rounding::TiesAway),
        ["rint" | "nearbyint" | "roundeven", ..] => FloatOperation::Integral(Rounding::TiesToEven),
        ["fptosi", "sat", ..] => FloatOperation::ToSigned,
        ["fptoui", "sat", ..] => FloatOperation::ToUnsigned,
        _ => return None,
    })
}

fn predicate(predicate: LLVMRealPredicate) -> FloatPredicate {
    // Its number has a bit for each case.
    let cases = predicate as u32;
    FloatPredicate {
        equal: cases & 1 != 0,
        greater: cases & 2 != 0,
        less: cases & 4 != 0,
        unordered: cases & 8 != 0,
    }
}
