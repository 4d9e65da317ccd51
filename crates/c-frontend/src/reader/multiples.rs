//! Indices that are multiples of others, as steps of those others.
//!
//! LLVM computes `p[3 * n]` as the byte `12 * n` behind `p`. With a secret `n` that would mean every byte of the array; with
//! steps of 12 bytes it means a third of the elements.

use std::collections::{HashMap, HashSet};

use crate::ir::{Binary, Constant, IrBlock, IrInstruction, IrOperand, OperationKind, Unary};

/// Bits of an address: a product of as many wraps as the address does.
const ADDRESS_BITS: u16 = 64;

/// Bytes that an index may move an address in one step.
const STRIDE_MAX: i64 = 1 << 31;

/// What a register is of another one.
#[derive(Clone, Copy)]
enum Derived {
    /// `factor * of`, modulo two to the width; also as signed integers if it is exact.
    Multiple { of: IrOperand, factor: i64, is_exact: bool },
    /// The same signed integer, of that many bits before.
    Extended { of: IrOperand, width: u16 },
}

/// Makes of each index that is derived from another integer that integer, with other steps. What nothing else uses goes.
///
/// `exact` are the registers whose signed integer does not wrap, as C says.
pub(super) fn step_by_multiples(
    blocks: &mut [IrBlock],
    constants: &[Constant],
    exact: &HashSet<u32>,
) {
    let all = blocks.iter().flat_map(|block| &block.instructions);
    let derived: HashMap<u32, Derived> = all
        .filter_map(|one| Some((one.result, derived(one, constants, exact.contains(&one.result))?)))
        .collect();
    let mut replaced = HashSet::new();
    for instruction in blocks.iter_mut().flat_map(|block| &mut block.instructions) {
        let OperationKind::Address(_, _, indices) = &mut instruction.kind else { continue };
        for index in indices.iter_mut().filter(|index| index.bound.is_none()) {
            while let IrOperand::Register(register) = index.operand
                && let Some(found) = derived.get(&register)
            {
                match *found {
                    Derived::Multiple { of, factor, is_exact }
                        if is_exact || index.width == ADDRESS_BITS =>
                    {
                        let stride = index.stride.checked_mul(factor);
                        let stride = stride.filter(|stride| stride.abs() <= STRIDE_MAX);
                        let Some(stride) = stride else { break };
                        (index.operand, index.stride) = (of, stride);
                    }
                    // Worth it only if something is derived below.
                    Derived::Extended { of: IrOperand::Register(below), width }
                        if matches!(
                            derived.get(&below),
                            Some(Derived::Multiple { is_exact: true, .. })
                        ) =>
                    {
                        (index.operand, index.width) = (IrOperand::Register(below), width);
                    }
                    Derived::Multiple { .. } | Derived::Extended { .. } => break,
                }
                replaced.insert(register);
            }
        }
    }
    remove_unused(blocks, &replaced);
}

fn derived(instruction: &IrInstruction, constants: &[Constant], is_exact: bool) -> Option<Derived> {
    let integer = |operand: IrOperand, width: u16| match operand {
        IrOperand::Constant(constant) => match constants[constant as usize] {
            Constant::Integer(value) => {
                let unused = 64 - u32::from(width);
                Some((value as u64) << unused).map(|bits| bits as i64 >> unused)
            }
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

/// Removes those of some instructions that nothing uses, the last one of a chain first.
fn remove_unused(blocks: &mut [IrBlock], instructions: &HashSet<u32>) {
    loop {
        let used = used(blocks);
        let is_unused = |result: &u32| instructions.contains(result) && !used.contains(result);
        let mut is_done = true;
        for block in &mut *blocks {
            let before = block.instructions.len();
            block.instructions.retain(|instruction| !is_unused(&instruction.result));
            is_done &= block.instructions.len() == before;
        }
        if is_done {
            return;
        }
    }
}

/// All registers that something uses.
fn used(blocks: &[IrBlock]) -> HashSet<u32> {
    let mut used = HashSet::new();
    for block in blocks {
        let phis = block.phis.iter().flat_map(|phi| &phi.incoming).map(|(_, incoming)| *incoming);
        let operands = block.instructions.iter().flat_map(|one| one.kind.operands());
        let all = phis.chain(operands).chain(block.terminator.operand());
        used.extend(all.filter_map(|operand| match operand {
            IrOperand::Register(register) => Some(register),
            IrOperand::Constant(_) => None,
        }));
    }
    used
}
