//! Indices that are multiples of others, as steps of those others.
//!
//! LLVM computes `p[3 * n]` as the byte `12 * n` behind `p`. With a secret `n` that would mean every byte of the array; with
//! steps of 12 bytes it means a third of the elements. Whether the product may wrap is seen when the address is computed.

use std::collections::{HashMap, HashSet};

use crate::data::signed;
use crate::ir::{
    Binary, Constant, IrBlock, IrInstruction, IrOperand, Multiple, OperationKind, Unary,
};

/// Bits of an address: a product of as many wraps as the address does.
const ADDRESS_BITS: u16 = 64;

/// Bytes that an index may move an address in one step.
const STRIDE_MAX: i64 = 1 << 31;

/// How a register follows from another one.
#[derive(Clone, Copy)]
enum Derived {
    /// `factor * of`, modulo two to the width; also as signed integers if it is exact.
    Multiple { of: IrOperand, factor: i64, is_exact: bool },
    /// Equal to `of`, a signed integer of `width` bits.
    Extended { of: IrOperand, width: u16 },
}

/// Notes of each index what it is a positive multiple of.
///
/// `exact` are the registers whose signed integer does not wrap, as C says.
pub(super) fn note_multiples(blocks: &mut [IrBlock], constants: &[Constant], exact: &HashSet<u32>) {
    let all = blocks.iter().flat_map(|block| &block.instructions);
    let derived: HashMap<u32, Derived> = all
        .filter_map(|one| Some((one.result, derived(one, constants, exact.contains(&one.result))?)))
        .collect();
    for instruction in blocks.iter_mut().flat_map(|block| &mut block.instructions) {
        let OperationKind::Address(_, _, indices) = &mut instruction.kind else { continue };
        for index in indices.iter_mut().filter(|index| index.bound.is_none() && index.stride > 0) {
            index.multiple = multiple(&derived, (index.operand, index.width), index.stride);
        }
    }
}

/// Follows products and extensions back from an index with this stride, as long as its steps stay short.
fn multiple(
    derived: &HashMap<u32, Derived>,
    (mut operand, mut width): (IrOperand, u16),
    stride: i64,
) -> Option<Multiple> {
    let (mut found, mut factor, mut is_exact) = (None, 1, true);
    while let IrOperand::Register(register) = operand
        && let Some(link) = derived.get(&register)
    {
        match *link {
            Derived::Multiple { of, factor: by, is_exact: exact }
                if exact || width == ADDRESS_BITS =>
            {
                let all = by.checked_mul(factor).and_then(|all| all.checked_mul(stride));
                if all.is_none_or(|all| !(1..=STRIDE_MAX).contains(&all)) {
                    break;
                }
                (operand, factor, is_exact) = (of, factor * by, is_exact && exact);
                found = Some(Multiple { operand, width, factor, is_exact });
            }
            // Worth it only if something is derived below.
            Derived::Extended { of: IrOperand::Register(below), width: before }
                if matches!(
                    derived.get(&below),
                    Some(Derived::Multiple { is_exact: true, .. })
                ) =>
            {
                (operand, width) = (IrOperand::Register(below), before);
            }
            Derived::Multiple { .. } | Derived::Extended { .. } => break,
        }
    }
    found
}

fn derived(instruction: &IrInstruction, constants: &[Constant], is_exact: bool) -> Option<Derived> {
    let integer = |operand: IrOperand, width: u16| match operand {
        IrOperand::Constant(constant) => match constants[constant as usize] {
            Constant::Integer(value) => Some(signed(value, width) as i64),
            _ => None,
        },
        IrOperand::Register(_) => None,
    };
    match instruction.kind {
        OperationKind::Binary(op, width, [a, b]) if width <= ADDRESS_BITS => {
            let (of, constant) = match (integer(a, width), integer(b, width)) {
                (None, Some(constant)) => (a, constant),
                (Some(constant), None) if op == Binary::Mul => (b, constant),
                _ => return None,
            };
            let factor = match op {
                Binary::Mul => constant,
                Binary::Shl if (0..31).contains(&constant) => 1 << constant,
                _ => return None,
            };
            Some(Derived::Multiple { of, factor, is_exact })
        }
        OperationKind::Unary(Unary::SignExtend | Unary::ZeroExtend, width, ADDRESS_BITS, of)
            if is_exact =>
        {
            Some(Derived::Extended { of, width })
        }
        _ => None,
    }
}
