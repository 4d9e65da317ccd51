//! The meaning of operations on public integers: LLVM's, with everything wrapping.

use crate::data::{mask, signed};
use crate::ir::{Binary, Compare, Unary};

/// `None` for a division by zero.
pub(crate) fn binary(op: Binary, width: u16, a: u128, b: u128) -> Option<u128> {
    let (x, y) = (signed(a, width), signed(b, width));
    let all = mask(width);
    let low = signed(1u128 << (width - 1), width);
    let high = (all >> 1) as i128;
    let within = b < u128::from(width);
    let result = match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::UDiv => a.checked_div(b)?,
        Binary::URem => a.checked_rem(b)?,
        Binary::SDiv if y == 0 => return None,
        Binary::SDiv => x.wrapping_div(y) as u128,
        Binary::SRem if y == 0 => return None,
        Binary::SRem => x.wrapping_rem(y) as u128,
        Binary::Shl if within => a << b,
        Binary::LShr if within => a >> b,
        Binary::AShr if within => (x >> b) as u128,
        Binary::Shl | Binary::LShr | Binary::AShr => 0,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::UMin => a.min(b),
        Binary::UMax => a.max(b),
        Binary::SMin => x.min(y) as u128,
        Binary::SMax => x.max(y) as u128,
        Binary::UAddSat => a.checked_add(b).map_or(all, |sum| sum.min(all)),
        Binary::USubSat => a.saturating_sub(b),
        Binary::SAddSat => x.saturating_add(y).clamp(low, high) as u128,
        Binary::SSubSat => x.saturating_sub(y).clamp(low, high) as u128,
    };
    Some(result & all)
}

/// The identity element of an operation.
pub(crate) fn identity(op: Binary, width: u16) -> u128 {
    match op {
        Binary::Mul => 1,
        Binary::And | Binary::UMin => mask(width),
        Binary::SMin => mask(width) >> 1,
        Binary::SMax => 1 << (width - 1),
        _ => 0,
    }
}

/// The order of a place in an object: one before its first byte is less, as with addresses.
pub(crate) fn place(offset: i64) -> u128 {
    u128::from(offset as u64 ^ 1 << 63)
}

pub(crate) fn compare(op: Compare, width: u16, a: u128, b: u128) -> bool {
    let (x, y) = (signed(a, width), signed(b, width));
    match op {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Ult => a < b,
        Compare::Ule => a <= b,
        Compare::Ugt => a > b,
        Compare::Uge => a >= b,
        Compare::Slt => x < y,
        Compare::Sle => x <= y,
        Compare::Sgt => x > y,
        Compare::Sge => x >= y,
    }
}

pub(crate) fn unary(op: Unary, from: u16, to: u16, a: u128) -> u128 {
    let width = u32::from(from);
    let result = match op {
        Unary::Truncate | Unary::ZeroExtend => a,
        Unary::SignExtend => signed(a, from) as u128,
        Unary::Abs => signed(a, from).wrapping_abs() as u128,
        Unary::PopCount => u128::from(a.count_ones()),
        Unary::LeadingZeros => u128::from(a.leading_zeros() - (128 - width)),
        Unary::TrailingZeros => u128::from(a.trailing_zeros().min(width)),
        Unary::ByteSwap => a.swap_bytes() >> (128 - width),
        Unary::BitReverse => a.reverse_bits() >> (128 - width),
    };
    result & mask(to)
}

/// A funnel shift: of `high` and `low` together, left or right.
pub(crate) fn funnel(left: bool, width: u16, high: u128, low: u128, amount: u128) -> u128 {
    let amount = (amount % u128::from(width)) as u32;
    let rest = u32::from(width) - amount;
    let result = match (left, amount) {
        (true, 0) => high,
        (false, 0) => low,
        (true, _) => high << amount | low >> rest,
        (false, _) => low >> amount | high << rest,
    };
    result & mask(width)
}

/// The wrapped result, and whether it wrapped.
pub(crate) fn overflow(op: Binary, is_signed: bool, width: u16, a: u128, b: u128) -> (u128, bool) {
    let result = binary(op, width, a, b).expect("sums and products always are");
    let exact = if is_signed {
        let (x, y) = (signed(a, width), signed(b, width));
        let exact = match op {
            Binary::Add => x.checked_add(y),
            Binary::Sub => x.checked_sub(y),
            _ => x.checked_mul(y),
        };
        exact == Some(signed(result, width))
    } else {
        let exact = match op {
            Binary::Add => a.checked_add(b),
            Binary::Sub => a.checked_sub(b),
            _ => a.checked_mul(b),
        };
        exact == Some(result)
    };
    (result, !exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_narrow_widths() {
        assert_eq!(binary(Binary::SDiv, 8, 0x80, 0xFF), Some(0x80));
        assert_eq!(binary(Binary::SRem, 8, 0x80, 0xFF), Some(0));
        assert_eq!(binary(Binary::UDiv, 8, 1, 0), None);
        assert_eq!(binary(Binary::SAddSat, 8, 0x7F, 1), Some(0x7F));
        assert_eq!(binary(Binary::SSubSat, 8, 0x80, 1), Some(0x80));
        assert_eq!(binary(Binary::AShr, 8, 0x80, 7), Some(0xFF));
        assert_eq!(unary(Unary::LeadingZeros, 8, 8, 1), 7);
        assert_eq!(unary(Unary::TrailingZeros, 8, 8, 0), 8);
        assert_eq!(unary(Unary::ByteSwap, 16, 16, 0x1234), 0x3412);
        assert_eq!(unary(Unary::Abs, 8, 8, 0x80), 0x80);
        assert_eq!(funnel(true, 8, 0x81, 0x40, 9), 0x02);
        assert_eq!(overflow(Binary::Mul, true, 8, 0x40, 2), (0x80, true));
        assert_eq!(overflow(Binary::Sub, false, 8, 1, 2), (0xFF, true));
        assert!(compare(Compare::Slt, 8, 0xFF, 0));
    }
}
