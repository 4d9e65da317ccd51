//! Forward: what follows from the facts of operands for the results of each operation.
//!
//! Sound for every operation of the op table at every width: `tests/narrow.rs` evaluates random programs,
//! and the tests beside this file all values of up to four bits.

use phineus_bytecode::{Instruction, Op};

use super::facts::{Facts, above, bit_length, mask, signed_bounds};

/// Results of an instruction; the second one is of operations that have two.
pub(crate) type ResultFacts = [Facts; 2];

/// Facts of the results of `i`, whose operands have the facts `o`.
pub(crate) fn results(i: &Instruction, o: &[Facts]) -> ResultFacts {
    let width = |k: usize| if k < i.result_count() { i.result_shape(k).width } else { 1 };
    let unknown = [Facts::unknown(width(0)), Facts::unknown(width(1))];
    let is_tracked = o.iter().chain(&unknown).all(Facts::is_tracked);
    if !is_tracked || i.op.info().meaning.is_none() {
        return unknown;
    }
    let one = |facts: Facts| [facts, unknown[1]];
    match i.op {
        Op::CondSwap => cond_swap(o),
        Op::DivRem => [divide(i, o), remainder(i, o)],
        Op::LaneDeinterleave => [o[0], o[0]],
        _ => one(result(i, o, unknown[0])),
    }
}

/// Facts of the only result; `unknown` has its width.
fn result(i: &Instruction, o: &[Facts], unknown: Facts) -> Facts {
    let w = unknown.width;
    let is_signed = i.element.is_signed();
    let is_same = i.operands().len() == 2 && i.operands[0] == i.operands[1];
    match i.op {
        Op::Constant => {
            let [low, high, ..] = i.immediates.map(u128::from);
            Facts::constant(w, high << 64 | low)
        }
        Op::And => {
            let (zeros, ones) = (o[0].zeros | o[1].zeros, o[0].ones & o[1].ones);
            unknown.with_bits(zeros, ones).with_unsigned(Some((0, o[0].high.min(o[1].high))))
        }
        Op::Or => {
            let (zeros, ones) = (o[0].zeros & o[1].zeros, o[0].ones | o[1].ones);
            let low = o[0].low.max(o[1].low);
            unknown.with_bits(zeros, ones).with_unsigned(Some((low, mask(w))))
        }
        Op::Xor if is_same => Facts::constant(w, 0),
        Op::Xor => {
            let zeros = o[0].zeros & o[1].zeros | o[0].ones & o[1].ones;
            let ones = o[0].zeros & o[1].ones | o[0].ones & o[1].zeros;
            unknown.with_bits(zeros, ones)
        }
        Op::Not => complement(&o[0]),
        Op::Add => sum(&o[0], &o[1]),
        Op::Sub if is_same => Facts::constant(w, 0),
        Op::Sub => difference(&o[0], &o[1]),
        Op::Neg => difference(&Facts::constant(w, 0), &o[0]),
        Op::Mul => product(unknown, &o[0], &o[1], is_same),
        Op::MulFull => full_product(unknown, o, (is_signed, is_same)),
        Op::Div => divide(i, o),
        Op::Rem => remainder(i, o),
        Op::Abs if is_signed => absolute(unknown, &o[0]),
        Op::Abs => o[0],
        Op::Min | Op::Max => extreme(i, o),
        Op::Eq | Op::Ne => {
            let equal = if is_same { Some(true) } else { equal(&o[0], &o[1]) };
            Facts::bit(equal.map(|equal| equal == (i.op == Op::Eq)))
        }
        Op::Lt if is_same => Facts::bit(Some(false)),
        Op::Le if is_same => Facts::bit(Some(true)),
        Op::Lt => Facts::bit(less(&o[0], &o[1], is_signed)),
        Op::Le => Facts::bit(less(&o[1], &o[0], is_signed).map(|less| !less)),
        Op::Mux => match o[0].as_constant() {
            Some(1) => o[1],
            Some(_) => o[2],
            None => o[1].union(o[2]),
        },
        Op::Mask => match o[0].as_constant() {
            Some(1) => o[1],
            Some(_) => Facts::constant(w, 0),
            None => o[1].union(Facts::constant(w, 0)),
        },
        Op::ShiftLeft => shifted_left(&o[0], i.immediates[0]),
        Op::ShiftRight => shifted_right(&o[0], i.immediates[0], is_signed),
        Op::RotateLeft => rotated(&o[0], i.immediates[0]),
        Op::ShiftLeftBy => shifted_left_by(&o[0], &o[1]),
        Op::ShiftRightBy => shifted_right_by(&o[0], &o[1], is_signed),
        Op::RotateLeftBy => match o[1].as_constant() {
            Some(amount) => rotated(&o[0], (amount % u128::from(w)) as u64),
            None => unknown,
        },
        Op::Popcount => {
            let from = u128::from(o[0].width);
            let (fewest, clear) = (o[0].ones.count_ones(), o[0].zeros.count_ones());
            unknown.with_unsigned(Some((fewest.into(), from - u128::from(clear))))
        }
        Op::LeadingZeros => {
            let count = |value: u128| u128::from(o[0].width - bit_length(value));
            unknown.with_unsigned(Some((count(o[0].high), count(o[0].low))))
        }
        Op::AllBits => Facts::bit(if o[0].zeros != 0 {
            Some(false)
        } else {
            (o[0].ones == mask(o[0].width)).then_some(true)
        }),
        Op::AnyBit => Facts::bit(if !o[0].may_be_zero() {
            Some(true)
        } else {
            (o[0].high == 0).then_some(false)
        }),
        Op::Parity => {
            let parity = |value: u128| value.count_ones() % 2 == 1;
            Facts::bit((o[0].known() == mask(o[0].width)).then(|| parity(o[0].ones)))
        }
        Op::Cast => cast(&o[0], w, i.immediates[1] == 1),
        Op::BitSlice => {
            let start = i.immediates[0];
            let has_sign = u64::from(o[0].signed_width()) <= start + u64::from(w);
            let signed = has_sign.then(|| (o[0].least >> start, o[0].most >> start));
            cast(&shifted_right(&o[0], start, false), w, false).with_signed(signed)
        }
        Op::BitConcat => {
            let low = i.immediates[0] as u32;
            let joined = |low_part: u128, high_part: u128| low_part | high_part << low;
            let (zeros, ones) = (joined(o[0].zeros, o[1].zeros), joined(o[0].ones, o[1].ones));
            let bounds = (joined(o[0].low, o[1].low), joined(o[0].high, o[1].high));
            let signed = |low_part: u128, high_part: i128| low_part as i128 | high_part << low;
            let signed = (signed(o[0].low, o[1].least), signed(o[0].high, o[1].most));
            unknown.with_bits(zeros, ones).with_unsigned(Some(bounds)).with_signed(Some(signed))
        }
        // Bits move to other lanes.
        Op::Reshape if o[0].width == w => o[0],
        Op::Reshape => unknown,
        Op::Convert | Op::Reduce => o[0],
        Op::ReversePieces => {
            let reversed = |bits: u128| reversed_pieces(bits, w, i.immediates[0]);
            unknown.with_bits(reversed(o[0].zeros), reversed(o[0].ones))
        }
        Op::LaneSlice | Op::LaneReverse | Op::LaneTile | Op::LaneRepeat => o[0],
        Op::LaneConcat | Op::LaneInterleave => o[0].union(o[1]),
        Op::LaneSum => lane_sum(unknown, &o[0], i.immediates[1], is_signed),
        Op::LaneAnd => unknown.with_bits(o[0].zeros, o[0].ones).with_unsigned(Some((0, o[0].high))),
        Op::LaneOr => {
            unknown.with_bits(o[0].zeros, o[0].ones).with_unsigned(Some((o[0].low, mask(w))))
        }
        Op::LaneXor => match i.immediates[0] % 2 {
            0 => unknown.with_bits(o[0].known(), 0),
            _ => unknown.with_bits(o[0].zeros, o[0].ones),
        },
        Op::MatMul => mat_mul(unknown, o, i.immediates[0]),
        Op::Aes128 | Op::Aes128KeySchedule | Op::Aes128RoundKeys | Op::Sha256Compress => unknown,
        // Of two results, or without a meaning.
        Op::CondSwap | Op::DivRem | Op::LaneDeinterleave => unreachable!("it has two results"),
        Op::Input | Op::Output | Op::Load | Op::Store | Op::RequireZero | Op::Round => unknown,
        Op::Reveal | Op::RegionLoad | Op::RegionStore => unknown,
        Op::RegionLoadAt | Op::RegionStoreAt => unknown,
        Op::Switches | Op::Origins | Op::Tell | Op::SwapKnown | Op::Locate => unknown,
        Op::MemorySet | Op::MemoryOpen | Op::MemoryCell | Op::MemoryChange => unknown,
        Op::MemoryLink | Op::MemoryFollow | Op::MemoryNext => unknown,
        Op::TableSet | Op::TableLookUp | Op::TableTell | Op::TableOpen => unknown,
        Op::PartyKey | Op::PartyPad => unknown,
        Op::SharedSet | Op::SharedHide | Op::SharedLookUp | Op::SharedAdd => unknown,
        Op::IssueSwapIn | Op::FinishSwapIn | Op::IssueSwapOut | Op::FinishSwapOut => unknown,
    }
}

fn cond_swap(o: &[Facts]) -> ResultFacts {
    match o[0].as_constant() {
        Some(1) => [o[2], o[1]],
        Some(_) => [o[1], o[2]],
        None => [o[1].union(o[2]); 2],
    }
}

fn complement(a: &Facts) -> Facts {
    let flip = |value: u128| !value & mask(a.width);
    Facts::unknown(a.width)
        .with_bits(a.ones, a.zeros)
        .with_unsigned(Some((flip(a.high), flip(a.low))))
        .with_signed(Some((!a.most, !a.least)))
}

/// Known zeros and ones of `a + b + carry`, with those of `b` given: a bit of the sum is known if those of
/// both, and the carry into it, are.
fn sum_bits(a: &Facts, (b_zeros, b_ones): (u128, u128), carry: bool) -> (u128, u128) {
    let carry = u128::from(carry);
    let most = (!a.zeros).wrapping_add(!b_zeros).wrapping_add(carry);
    let least = a.ones.wrapping_add(b_ones).wrapping_add(carry);
    let carry_zeros = !(most ^ a.zeros ^ b_zeros);
    let carry_ones = least ^ a.ones ^ b_ones;
    let known = (a.zeros | a.ones) & (b_zeros | b_ones) & (carry_zeros | carry_ones);
    (!most & known, least & known)
}

fn sum(a: &Facts, b: &Facts) -> Facts {
    let (zeros, ones) = sum_bits(a, (b.zeros, b.ones), false);
    let unsigned = a.low.checked_add(b.low).zip(a.high.checked_add(b.high));
    let signed = a.least.checked_add(b.least).zip(a.most.checked_add(b.most));
    Facts::unknown(a.width).with_bits(zeros, ones).with_unsigned(unsigned).with_signed(signed)
}

fn difference(a: &Facts, b: &Facts) -> Facts {
    // `a + !b + 1`.
    let (zeros, ones) = sum_bits(a, (b.ones, b.zeros), true);
    let unsigned = a.low.checked_sub(b.high).zip(a.high.checked_sub(b.low));
    let signed = a.least.checked_sub(b.most).zip(a.most.checked_sub(b.least));
    Facts::unknown(a.width).with_bits(zeros, ones).with_unsigned(unsigned).with_signed(signed)
}

/// The least and the greatest product of numbers in two intervals.
fn signed_product(a: (i128, i128), b: (i128, i128)) -> Option<(i128, i128)> {
    let mut bounds: Option<(i128, i128)> = None;
    for x in [a.0, a.1] {
        for y in [b.0, b.1] {
            let product = x.checked_mul(y)?;
            let (least, most) = bounds.unwrap_or((product, product));
            bounds = Some((least.min(product), most.max(product)));
        }
    }
    bounds
}

/// The interval of a square of a number in an interval.
fn square((least, most): (i128, i128)) -> Option<(i128, i128)> {
    let (least_size, most_size) = (least.checked_abs()?, most.checked_abs()?);
    let nearest = if least <= 0 && most >= 0 { 0 } else { least_size.min(most_size) };
    let farthest = least_size.max(most_size);
    nearest.checked_mul(nearest).zip(farthest.checked_mul(farthest))
}

/// Known low bits of a product: as many as are known of both factors, and zeros of both.
fn low_product_bits(a: &Facts, b: &Facts, width: u16) -> (u128, u128) {
    let zeros = mask((a.trailing_zeros() + b.trailing_zeros()).min(width));
    let known = a.known().trailing_ones().min(b.known().trailing_ones()) as u16;
    let low = a.ones.wrapping_mul(b.ones) & mask(known);
    (zeros | !low & mask(known), low)
}

fn product(unknown: Facts, a: &Facts, b: &Facts, is_square: bool) -> Facts {
    let (zeros, ones) = low_product_bits(a, b, unknown.width);
    // A square is 0 or 1 modulo 4.
    let zeros = if is_square { zeros | 2 } else { zeros };
    let unsigned = a.low.checked_mul(b.low).zip(a.high.checked_mul(b.high));
    let signed = match is_square {
        true => square((a.least, a.most)),
        false => signed_product((a.least, a.most), (b.least, b.most)),
    };
    // A difference of either sign may have a square that only fits unsigned.
    let magnitude = signed.filter(|bounds| bounds.0 >= 0).map(|(l, m)| (l as u128, m as u128));
    unknown
        .with_bits(zeros, ones)
        .with_unsigned(unsigned)
        .with_unsigned(magnitude)
        .with_signed(signed)
}

fn full_product(unknown: Facts, o: &[Facts], (is_signed, is_square): (bool, bool)) -> Facts {
    let wide = |half: &Facts| cast(half, unknown.width, is_signed);
    product(unknown, &wide(&o[0]), &wide(&o[1]), is_square)
}

/// The quotient; by zero it has all bits set.
fn divide(i: &Instruction, o: &[Facts]) -> Facts {
    let (a, b) = (&o[0], &o[1]);
    let unknown = Facts::unknown(a.width);
    if !i.element.is_signed() {
        return match (b.may_be_zero(), b.high) {
            (_, 0) => Facts::constant(a.width, mask(a.width)),
            (true, high) => unknown.with_unsigned(Some((a.low / high, mask(a.width)))),
            (false, high) => unknown.with_unsigned(Some((a.low / high, a.high / b.low.max(1)))),
        };
    }
    let (lowest, _) = signed_bounds(a.width);
    if a.least == lowest && b.least <= -1 && b.most >= -1 {
        return unknown;
    }
    let parts = [(b.least, b.most.min(-1)), (b.least.max(1), b.most)];
    let mut bounds = b.may_be_zero().then_some((-1, -1));
    for (first, last) in parts.into_iter().filter(|part| part.0 <= part.1) {
        for dividend in [a.least, a.most] {
            for divisor in [first, last] {
                let Some(quotient) = dividend.checked_div(divisor) else { return unknown };
                let (least, most) = bounds.unwrap_or((quotient, quotient));
                bounds = Some((least.min(quotient), most.max(quotient)));
            }
        }
    }
    unknown.with_signed(bounds)
}

/// The remainder; by zero it is the dividend.
fn remainder(i: &Instruction, o: &[Facts]) -> Facts {
    let (a, b) = (&o[0], &o[1]);
    let unknown = Facts::unknown(a.width);
    if !i.element.is_signed() {
        if a.high < b.low {
            return *a;
        }
        let high = if b.may_be_zero() { a.high } else { a.high.min(b.high - 1) };
        return unknown.with_unsigned(Some((0, high)));
    }
    let dividends = (a.least.min(0), a.most.max(0));
    if b.may_be_zero() {
        return unknown.with_signed(Some(dividends));
    }
    // The magnitude is less than that of the divisor, at most 2^127 - 1.
    let farthest = b.least.unsigned_abs().max(b.most.unsigned_abs());
    let bound = (farthest - 1) as i128;
    unknown.with_signed(Some((dividends.0.max(-bound), dividends.1.min(bound))))
}

/// The magnitude of a signed integer. That of the least one is its own bits.
fn absolute(unknown: Facts, a: &Facts) -> Facts {
    let (first, last) = (a.least.unsigned_abs(), a.most.unsigned_abs());
    let nearest = if a.least <= 0 && a.most >= 0 { 0 } else { first.min(last) };
    unknown.with_unsigned(Some((nearest, first.max(last))))
}

fn extreme(i: &Instruction, o: &[Facts]) -> Facts {
    let (a, b) = (&o[0], &o[1]);
    if let Some(second) = picks_second(i, a, b) {
        return if second { *b } else { *a };
    }
    let either = a.union(*b);
    match (i.op == Op::Min, i.element.is_signed()) {
        (true, false) => either.with_unsigned(Some((a.low.min(b.low), a.high.min(b.high)))),
        (false, false) => either.with_unsigned(Some((a.low.max(b.low), a.high.max(b.high)))),
        (true, true) => either.with_signed(Some((a.least.min(b.least), a.most.min(b.most)))),
        (false, true) => either.with_signed(Some((a.least.max(b.least), a.most.max(b.most)))),
    }
}

/// Returns whether the least or greatest of two is the second one, if that is always or never so.
pub(super) fn picks_second(i: &Instruction, a: &Facts, b: &Facts) -> Option<bool> {
    match i.op {
        Op::Min => less(b, a, i.element.is_signed()),
        _ => less(a, b, i.element.is_signed()),
    }
}

fn equal(a: &Facts, b: &Facts) -> Option<bool> {
    let differs = a.zeros & b.ones | a.ones & b.zeros != 0;
    let is_apart = a.high < b.low || b.high < a.low || a.most < b.least || b.most < a.least;
    if differs || is_apart {
        return Some(false);
    }
    a.as_constant().zip(b.as_constant()).map(|(a, b)| a == b)
}

/// Returns whether `a < b`, if that is always or never so.
fn less(a: &Facts, b: &Facts, is_signed: bool) -> Option<bool> {
    let (always, never) = match is_signed {
        true => (a.most < b.least, a.least >= b.most),
        false => (a.high < b.low, a.low >= b.high),
    };
    if always { Some(true) } else { never.then_some(false) }
}

fn shifted_left(a: &Facts, amount: u64) -> Facts {
    let w = a.width;
    if amount >= u64::from(w) {
        return Facts::constant(w, 0);
    }
    let amount = amount as u32;
    let (zeros, ones) = (a.zeros << amount | mask(amount as u16), a.ones << amount);
    let fits = bit_length(a.high) + amount as u16 <= w;
    let unsigned = fits.then(|| (a.low << amount, a.high << amount));
    let stays = a.signed_width() + amount as u16 <= w;
    let signed = stays.then(|| (a.least << amount, a.most << amount));
    Facts::unknown(w).with_bits(zeros, ones).with_unsigned(unsigned).with_signed(signed)
}

fn shifted_right(a: &Facts, amount: u64, is_signed: bool) -> Facts {
    let w = a.width;
    if is_signed {
        let amount = amount.min(u64::from(w) - 1) as u32;
        let copies = mask(w) & above(w - amount as u16);
        let sign = |bits: u128| if bits >> (w - 1) & 1 == 1 { copies } else { 0 };
        let (zeros, ones) = (a.zeros >> amount | sign(a.zeros), a.ones >> amount | sign(a.ones));
        let signed = (a.least >> amount, a.most >> amount);
        return Facts::unknown(w).with_bits(zeros, ones).with_signed(Some(signed));
    }
    if amount >= u64::from(w) {
        return Facts::constant(w, 0);
    }
    let amount = amount as u32;
    let zeros = a.zeros >> amount | mask(w) & above(w - amount as u16);
    let unsigned = (a.low >> amount, a.high >> amount);
    Facts::unknown(w).with_bits(zeros, a.ones >> amount).with_unsigned(Some(unsigned))
}

fn rotated(a: &Facts, amount: u64) -> Facts {
    let (zeros, ones) =
        (rotated_bits(a.zeros, a.width, amount), rotated_bits(a.ones, a.width, amount));
    Facts::unknown(a.width).with_bits(zeros, ones)
}

/// The lowest `width` bits, rotated left.
pub(super) fn rotated_bits(bits: u128, width: u16, amount: u64) -> u128 {
    let amount = (amount % u64::from(width)) as u32;
    match amount {
        0 => bits,
        _ => (bits << amount | bits >> (u32::from(width) - amount)) & mask(width),
    }
}

/// An amount as a shift takes it: at most the width.
fn clamped(amount: u128, width: u16) -> u64 {
    amount.min(u128::from(width)) as u64
}

fn shifted_left_by(a: &Facts, by: &Facts) -> Facts {
    let w = a.width;
    if let Some(amount) = by.as_constant() {
        return shifted_left(a, clamped(amount, w));
    }
    let (fewest, most) = (clamped(by.low, w), clamped(by.high, w));
    let zeros = mask((a.trailing_zeros() + fewest as u16).min(w));
    let fits = u64::from(bit_length(a.high)) + most <= u64::from(w);
    let unsigned = fits.then(|| (a.low << fewest.min(127), a.high << most.min(127)));
    let unsigned = if a.high == 0 { Some((0, 0)) } else { unsigned };
    Facts::unknown(w).with_bits(zeros, 0).with_unsigned(unsigned)
}

fn shifted_right_by(a: &Facts, by: &Facts, is_signed: bool) -> Facts {
    let w = a.width;
    let (fewest, most) = (clamped(by.low, w), clamped(by.high, w));
    let ends = [fewest, most].map(|amount| shifted_right(a, amount, is_signed));
    if by.as_constant().is_some() {
        return ends[0];
    }
    // A result lies between those of the fewest and the most places, in the order of its own type. Of bits,
    // and in the other order, nothing follows.
    let either = ends[0].union(ends[1]);
    match is_signed {
        true => Facts::unknown(w).with_signed(Some((either.least, either.most))),
        false => Facts::unknown(w).with_unsigned(Some((either.low, either.high))),
    }
}

/// Cut or extended.
fn cast(a: &Facts, width: u16, is_signed: bool) -> Facts {
    let unknown = Facts::unknown(width);
    if !a.is_tracked() || !unknown.is_tracked() {
        return unknown;
    }
    if width <= a.width {
        return unknown
            .with_bits(a.zeros, a.ones)
            .with_unsigned(Some((a.low, a.high)))
            .with_signed(Some((a.least, a.most)));
    }
    let added = mask(width) & above(a.width);
    if !is_signed {
        return unknown.with_bits(a.zeros | added, a.ones).with_unsigned(Some((a.low, a.high)));
    }
    let sign = |bits: u128| if bits >> (a.width - 1) & 1 == 1 { bits | added } else { bits };
    unknown.with_bits(sign(a.zeros), sign(a.ones)).with_signed(Some((a.least, a.most)))
}

/// The pieces of `piece` bits in reverse order.
pub(super) fn reversed_pieces(bits: u128, width: u16, piece: u64) -> u128 {
    let piece = piece as u16;
    let pieces = (0..width).step_by(piece.into());
    pieces.fold(0, |reversed, at| reversed << (piece % 128) | bits >> at & mask(piece))
}

fn lane_sum(unknown: Facts, term: &Facts, lanes: u64, is_signed: bool) -> Facts {
    let count = u128::from(lanes);
    let unsigned = term.low.checked_mul(count).zip(term.high.checked_mul(count));
    let signed = signed_product((term.least, term.most), (count as i128, count as i128));
    let zeros = mask(term.trailing_zeros().min(unknown.width));
    match is_signed && !term.is_natural() {
        // Each term is extended by its sign.
        true => unknown.with_bits(zeros, 0).with_signed(signed),
        false => unknown.with_bits(zeros, 0).with_unsigned(unsigned),
    }
}

fn mat_mul(unknown: Facts, o: &[Facts], columns: u64) -> Facts {
    let (a, b, count) = (&o[0], &o[1], u128::from(columns));
    let term = |x: u128, y: u128| x.checked_mul(y)?.checked_mul(count);
    let unsigned = term(a.low, b.low).zip(term(a.high, b.high));
    let product = signed_product((a.least, a.most), (b.least, b.most));
    let signed = product.and_then(|term| signed_product(term, (count as i128, count as i128)));
    let (zeros, _) = low_product_bits(a, b, unknown.width);
    let zeros = zeros & mask((a.trailing_zeros() + b.trailing_zeros()).min(unknown.width));
    unknown.with_bits(zeros, 0).with_unsigned(unsigned).with_signed(signed)
}
