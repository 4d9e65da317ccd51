//! Local computation on additive shares in `Z_2^w`.

use phineus_bytecode::{Instruction, Op};
use zeroize::Zeroizing;

/// Computes a local operation: elements in, elements out, not reduced.
///
/// # Panics
/// If the operation is not local on additive shares.
pub(super) fn execute(
    instruction: &Instruction,
    results: &mut [Zeroizing<Vec<u64>>],
    operands: &[Zeroizing<Vec<u64>>],
    first: bool,
) {
    let [one, two, ..] = instruction.immediates.map(|word| word as usize);
    let n = instruction.lanes as usize;
    let Some((out, more)) = results.split_first_mut() else { unreachable!("it has a result") };
    let a = operands.first().map_or(&[][..], |elements| elements.as_slice());
    let b = operands.get(1).map_or(&[][..], |elements| elements.as_slice());
    let mut each = |from: &dyn Fn(usize) -> u64| {
        out.iter_mut().enumerate().for_each(|(j, out)| *out = from(j));
    };
    match instruction.op {
        Op::Constant => {
            let value = if first { instruction.immediates[0] } else { 0 };
            each(&|_| value);
        }
        Op::Add => each(&|j| a[j].wrapping_add(b[j])),
        Op::Sub => each(&|j| a[j].wrapping_sub(b[j])),
        Op::Neg => each(&|j| a[j].wrapping_neg()),
        Op::LaneSlice => each(&|j| a[one + j]),
        Op::LaneConcat => each(&|j| if j < one { a[j] } else { b[j - one] }),
        Op::LaneReverse => each(&|j| a[n - 1 - j]),
        Op::LaneTile => each(&|j| a[j % one]),
        Op::LaneRepeat => each(&|j| a[j / (n / one)]),
        Op::LaneDeinterleave => {
            each(&|j| a[2 * (j / one) * one + j % one]);
            let odd = more[0].iter_mut().enumerate();
            odd.for_each(|(j, out)| *out = a[(2 * (j / one) + 1) * one + j % one]);
        }
        Op::LaneInterleave => each(&|j| {
            let from = if (j / one).is_multiple_of(2) { a } else { b };
            from[j / (2 * one) * one + j % one]
        }),
        Op::LaneSum => each(&|_| a[..two].iter().fold(0, |sum, &a| sum.wrapping_add(a))),
        _ => unreachable!("{} is not local on additive shares", instruction.op.info().name),
    }
}
