//! Backward: which bits of its operands an instruction depends on, given those needed of its results.
//!
//! Bits that are not needed may be anything in the narrowed program. Known bits between needed ones are
//! computed along with them, so they count as needed; those above and below are not computed.

use phineus_bytecode::limits::{OPERANDS_MAX, RESULTS_MAX};
use phineus_bytecode::{Instruction, Op, Sharing};

use super::facts::{Facts, above, bit_length, mask};
use super::transfer::{reversed_pieces, rotated_bits};

/// Needed bits of each operand.
pub(super) type OperandBits = [u128; OPERANDS_MAX];

/// Bits of a value that are computed; all others are known, copies of the highest one, or not needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The lowest bit, and the first one behind the highest.
    pub(super) low: u16,
    pub(super) high: u16,
    /// Whether the bits above are copies of the highest one; else they are 0 where they are needed.
    pub(super) is_signed: bool,
    /// Needed bits among them.
    pub(super) wanted: u128,
}

/// Returns whether the needed bits of a value are known, so that nothing of it is computed.
pub(super) fn is_known(facts: &Facts, demanded: u128) -> bool {
    demanded == 0 || facts.is_tracked() && demanded & !facts.known() == 0
}

/// The bits to compute of a value with these facts; none if those that are needed are known.
pub(super) fn extent(facts: &Facts, demanded: u128) -> Extent {
    let width = facts.width;
    if is_known(facts, demanded) {
        return Extent { low: 0, high: 0, is_signed: false, wanted: 0 };
    }
    if !facts.is_tracked() {
        return Extent { low: 0, high: width, is_signed: false, wanted: u128::MAX };
    }
    let (zero_end, sign_end) = (bit_length(demanded & !facts.zeros), facts.signed_width());
    let is_signed = sign_end < zero_end;
    let (high, folded) = match is_signed {
        true => (sign_end, demanded & mask(sign_end) | 1 << (sign_end - 1)),
        false => (zero_end, demanded & mask(zero_end)),
    };
    let low = ((folded & !facts.known()).trailing_zeros() as u16).min(high - 1);
    Extent { low, high, is_signed, wanted: folded & above(low) }
}

/// Returns whether an instruction is left at its width: sums and products modulo a power of two are of
/// shares.
pub(super) fn is_left_whole(i: &Instruction) -> bool {
    let is_arithmetic = |sharing: Sharing| match sharing {
        Sharing::Arithmetic => true,
        Sharing::Any | Sharing::Boolean | Sharing::Garbled => false,
    };
    let converts = i.op == Op::Convert && is_arithmetic(i.operand_shape(0).sharing);
    is_arithmetic(i.element.sharing()) || converts
}

/// Needed bits of results that an instruction gives together: all of those in arithmetic sharing,
/// and the same bits of both.
pub(super) fn joined(i: &Instruction, demanded: [u128; RESULTS_MAX]) -> [u128; RESULTS_MAX] {
    let whole = |k: usize| match k < i.result_count() && demanded != [0; RESULTS_MAX] {
        true => mask(i.result_shape(k).width),
        false => 0,
    };
    match i.op {
        _ if is_left_whole(i) => [whole(0), whole(1)],
        // Both results have the same bits.
        Op::CondSwap | Op::LaneDeinterleave => [demanded[0] | demanded[1]; 2],
        _ => demanded,
    }
}

/// Bits of the operands that are needed for `demanded` bits of the results.
pub(super) fn operands(
    i: &Instruction,
    facts: &[Facts; RESULTS_MAX],
    demanded: [u128; RESULTS_MAX],
) -> OperandBits {
    let all = [0, 1, 2].map(|k| match k < i.operands().len() {
        true => mask(i.operand_shape(k).width),
        false => 0,
    });
    if is_left_whole(i) || i.op.info().meaning.is_none() || i.result_count() == 0 {
        return all;
    }
    let [Extent { high, wanted, .. }, second] = [0, 1].map(|k| extent(&facts[k], demanded[k]));
    // Results of an exchange differ if it is known.
    let wanted = if i.result_count() == 2 { wanted | second.wanted } else { wanted };
    // Carries go upwards only.
    let low = if facts[0].is_tracked() { mask(high) } else { u128::MAX };
    let is_signed = i.element.is_signed();
    let w = i.element.width();
    let same = |bits: u128| [bits & all[0], bits & all[1], bits & all[2]];
    match i.op {
        Op::Constant => all,
        Op::And | Op::Or | Op::Xor | Op::Not => same(wanted),
        Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::MulFull | Op::MatMul => same(low),
        Op::Abs if !is_signed => same(wanted),
        Op::Div | Op::Rem | Op::DivRem | Op::Abs | Op::Min | Op::Max => all,
        Op::Eq | Op::Ne | Op::Lt | Op::Le => all,
        Op::Mux | Op::CondSwap => [1, wanted & all[1], wanted & all[2]],
        Op::Mask => [1, wanted & all[1], 0],
        _ if !facts[0].is_tracked() => all,
        Op::ShiftLeft => match i.immediates[0] {
            amount if amount < u64::from(w) => same(wanted >> amount),
            _ => [0; OPERANDS_MAX],
        },
        Op::ShiftRight => same(before_shift_right(wanted, w, i.immediates[0], is_signed)),
        Op::RotateLeft => {
            let back = u64::from(w) - i.immediates[0] % u64::from(w);
            same(rotated_bits(wanted, w, back))
        }
        Op::ShiftLeftBy => [low & all[0], all[1], 0],
        Op::ShiftRightBy | Op::RotateLeftBy => all,
        Op::Popcount | Op::LeadingZeros | Op::AllBits | Op::AnyBit | Op::Parity => all,
        Op::Cast => before_cast(i, wanted, all),
        Op::BitSlice => match all[0] == mask(super::facts::TRACKED_WIDTH_MAX) {
            // The operand may be wider than a mask.
            true => all,
            false => same(wanted << i.immediates[0]),
        },
        Op::BitConcat => [wanted & all[0], wanted >> i.immediates[0] & all[1], 0],
        Op::Reshape if i.operand_shape(0).width == w => same(wanted),
        Op::Reshape => all,
        Op::Convert | Op::Reduce => same(wanted),
        Op::ReversePieces => same(reversed_pieces(wanted, w, i.immediates[0])),
        Op::LaneSlice | Op::LaneReverse | Op::LaneTile | Op::LaneRepeat => same(wanted),
        Op::LaneConcat | Op::LaneDeinterleave | Op::LaneInterleave => same(wanted),
        Op::LaneSum => same(low),
        Op::LaneAnd | Op::LaneOr | Op::LaneXor => same(wanted),
        Op::Aes128 | Op::Aes128KeySchedule | Op::Aes128RoundKeys | Op::Sha256Compress => all,
        // These have no meaning by themselves.
        Op::Input | Op::Output | Op::Load | Op::Store | Op::RequireZero | Op::Round => all,
        Op::Reveal | Op::RegionLoad | Op::RegionStore => all,
        Op::RegionLoadAt | Op::RegionStoreAt => all,
        Op::Switches | Op::Origins | Op::Tell | Op::SwapKnown | Op::Locate => all,
        Op::MemorySet | Op::MemoryOpen | Op::MemoryCell | Op::MemoryChange => all,
        Op::MemoryLink | Op::MemoryFollow | Op::MemoryNext => all,
        Op::TableSet | Op::TableLookUp | Op::TableTell | Op::TableOpen => all,
        Op::PartyKey | Op::PartyPad => all,
        Op::SharedSet | Op::SharedHide | Op::SharedLookUp | Op::SharedAdd => all,
        Op::IssueSwapIn | Op::FinishSwapIn | Op::IssueSwapOut | Op::FinishSwapOut => all,
    }
}

/// Bits that a right shift by a public amount moves to `wanted`.
fn before_shift_right(wanted: u128, width: u16, amount: u64, is_signed: bool) -> u128 {
    let sign = 1u128 << (width - 1);
    match (amount < u64::from(width), is_signed) {
        (true, _) => {
            let copies = wanted & above(width - amount as u16);
            (wanted << amount) & mask(width) | if is_signed && copies != 0 { sign } else { 0 }
        }
        (false, true) => sign,
        (false, false) => 0,
    }
}

/// Bits of the operand of a cast.
fn before_cast(i: &Instruction, wanted: u128, all: OperandBits) -> OperandBits {
    let from = i.operand_shape(0).width;
    let copies = i.immediates[1] == 1 && from < 128 && wanted & above(from) != 0;
    let sign = if copies { 1 << (from - 1) } else { 0 };
    match from > super::facts::TRACKED_WIDTH_MAX {
        // Of such a value all is needed.
        true => all,
        false => [wanted & all[0] | sign, 0, 0],
    }
}
