//! Instructions as narrowing will leave them, as far as their cost depends on that.

use phineus_bytecode::limits::OPERANDS_MAX;
use phineus_bytecode::{ElementType, Instruction, Op};

/// Bits of the operands and of the wider result that narrowing leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeftBits {
    pub(super) operands: [u16; OPERANDS_MAX],
    pub(super) result: u16,
}

/// An instruction that costs as much as `i` after narrowing; nothing if it will be left out.
///
/// Operations whose widths depend on immediates stay as they are, but for sums and counts.
pub(super) fn narrowed(i: &Instruction, bits: LeftBits) -> Option<Instruction> {
    if bits.result == 0 && i.result_count() > 0 {
        return None;
    }
    let whole = i.element.width();
    let with = |made: &Instruction, width: u16| {
        let element = ElementType::integer(width.max(1), i.element.is_signed());
        Instruction { element: element.shared(i.element.sharing()), ..*made }
    };
    let of_operands = bits.operands[0].max(bits.operands[1]).clamp(1, whole);
    Some(match i.op {
        Op::And
        | Op::Or
        | Op::Xor
        | Op::Not
        | Op::Add
        | Op::Sub
        | Op::Neg
        | Op::Mux
        | Op::CondSwap
        | Op::Mask
        | Op::MatMul => with(i, bits.result.min(whole)),
        Op::Eq
        | Op::Ne
        | Op::Lt
        | Op::Le
        | Op::Min
        | Op::Max
        | Op::Abs
        | Op::Div
        | Op::Rem
        | Op::DivRem
        | Op::AllBits
        | Op::AnyBit
        | Op::Parity => with(i, of_operands),
        Op::Mul => {
            let factors = bits.operands[0].clamp(1, whole) + bits.operands[1].clamp(1, whole);
            match factors <= bits.result.min(whole) {
                true => with(&Instruction { op: Op::MulFull, ..*i }, 2 * of_operands),
                false => with(i, bits.result.min(whole)),
            }
        }
        Op::LaneSum | Op::Popcount => {
            let from = u64::from(bits.operands[0].max(1)).min(i.immediates[0]);
            let mut made = with(i, bits.result.min(whole));
            made.immediates[0] = from;
            made
        }
        // Others have widths that belong together, or none that cost anything.
        _ => *i,
    })
}
