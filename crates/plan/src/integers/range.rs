//! [`Range`]: the possible integers of an element.

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{ElementType, Lane, mask_of};

/// From `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) low: i128,
    pub(super) high: i128,
}

/// Ranges beyond this magnitude are all alike: they fit into no field.
const BEYOND: i128 = i128::MAX;
/// Integers of the largest field have a smaller magnitude than two to this power, or this one.
const MAGNITUDE_BITS_MAX: u32 = 126;

impl Range {
    fn new(low: Option<i128>, high: Option<i128>) -> Range {
        Range {
            low: low.unwrap_or(-BEYOND).clamp(-BEYOND, BEYOND),
            high: high.unwrap_or(BEYOND).clamp(-BEYOND, BEYOND),
        }
    }

    pub(super) const ZERO: Range = Range { low: 0, high: 0 };
    pub(super) const BIT: Range = Range { low: 0, high: 1 };

    /// All integers of a type.
    pub(super) fn of_type(width: u16, signed: bool) -> Range {
        let power = |bits: u16| 1i128.checked_shl(u32::from(bits)).filter(|_| bits < 126);
        if signed {
            Range::new(power(width - 1).map(|x| -x), power(width - 1).map(|x| x - 1))
        } else {
            Range { low: 0, ..Range::new(None, power(width).map(|x| x - 1)) }
        }
    }

    /// Whether scripts on elements give the right result for all of them. Only a value's bits
    /// from number `magnitude_bits` on cannot be told if it is two to this power itself: where
    /// the field has more than any type has, that may be one, such as the square of -2^63.
    pub(super) fn fits(self, magnitude_bits: u32) -> bool {
        let bound = 1i128 << magnitude_bits.min(MAGNITUDE_BITS_MAX);
        let most = if magnitude_bits > u32::from(RING_WIDTH_MAX) { bound } else { bound - 1 };
        -bound < self.low && self.high <= most
    }

    /// The least power of two that is larger than any magnitude in it.
    pub(super) fn magnitude_bits(self) -> u32 {
        let magnitude = self.low.unsigned_abs().max(self.high.unsigned_abs());
        128 - magnitude.leading_zeros()
    }

    /// The type of the fewest bits that has all of them.
    pub(super) fn least_type(self) -> ElementType {
        let bits = |size: i128| (128 - size.leading_zeros()) as u16;
        match self.low < 0 {
            true => ElementType::signed(1 + bits(self.high.max(-(self.low + 1))).max(1)),
            false => ElementType::unsigned(bits(self.high).max(1)),
        }
    }

    pub(super) fn is_within(self, other: Range) -> bool {
        other.low <= self.low && self.high <= other.high
    }

    pub(super) fn add(self, other: Range) -> Range {
        Range::new(self.low.checked_add(other.low), self.high.checked_add(other.high))
    }

    pub(super) fn neg(self) -> Range {
        Range { low: -self.high, high: -self.low }
    }

    pub(super) fn sub(self, other: Range) -> Range {
        self.add(other.neg())
    }

    pub(super) fn mul(self, other: Range) -> Range {
        let corners = [
            self.low.checked_mul(other.low),
            self.low.checked_mul(other.high),
            self.high.checked_mul(other.low),
            self.high.checked_mul(other.high),
        ];
        if corners.contains(&None) {
            return Range { low: -BEYOND, high: BEYOND };
        }
        let corners = corners.map(|corner| corner.expect("just looked"));
        Range::new(corners.iter().min().copied(), corners.iter().max().copied())
    }

    /// Of a sum of `count` of them.
    pub(super) fn times(self, count: u64) -> Range {
        self.mul(Range { low: i128::from(count), high: i128::from(count) })
    }

    pub(super) fn union(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Shifted right by `amount` bits, rounded down.
    pub(super) fn shifted_right(self, amount: u64) -> Range {
        let amount = amount.min(126) as u32;
        Range { low: self.low >> amount, high: self.high >> amount }
    }

    /// Of the square of one number: its factors have the same sign.
    pub(super) fn square(self) -> Range {
        let product = self.mul(self);
        Range { low: product.low.max(0), ..product }
    }
}

/// A constant read as a signed or unsigned integer; `None` if that is beyond all fields.
pub(super) fn constant_as(value: Lane, width: u16, signed: bool) -> Option<Range> {
    let negative = signed && value.bit(usize::from(width) - 1);
    let magnitude = if negative { value.wrapping_neg() & mask_of(width) } else { value };
    let magnitude = i128::try_from(u128::try_from(magnitude).ok()?).ok()?;
    // The least signed integer is its own negation.
    let exact = if negative { -magnitude } else { magnitude };
    Some(Range { low: exact, high: exact })
}

/// The range of a constant, and whether it is read as a signed integer: where it looks like a small
/// negative one, such as the addend of a decrement.
pub(super) fn of_constant(value: Lane, width: u16) -> Option<(Range, bool)> {
    let [plain, signed] = [false, true].map(|signed| constant_as(value, width, signed));
    let is_small = |range: &Range| range.low < 0 && range.magnitude_bits() <= u32::from(width) / 2;
    match signed.filter(|range| width >= 16 && is_small(range)) {
        Some(negative) => Some((negative, true)),
        None => plain.map(|range| (range, false)).or(signed.map(|range| (range, true))),
    }
}
