//! Derivation of facts about the results of each operation.

use phineus_bytecode::{Instruction, Lane, Op};

use super::integers::{Integer, at_most, divided, halved, is_negative, magnitude, power, times};
use super::{Bounds, Known, Trit, greatest, least};

/// Derives facts about the results of `i`.
pub(super) fn results(i: &Instruction, o: &[&Known]) -> Vec<Known> {
    let count = i.result_count();
    let nothing: Vec<Known> = (0..count).map(|k| Known::nothing(i.result_shape(k).width)).collect();
    let has_meaning = i.op.info().meaning.is_some();
    if !has_meaning || !nothing.iter().chain(o.iter().copied()).all(Known::is_followed) {
        return nothing;
    }
    match i.op {
        Op::DivRem => vec![quotient(i, o), remainder(i, o)],
        Op::CondSwap => vec![picked(o[0], o[2], o[1]), picked(o[0], o[1], o[2])],
        Op::LaneDeinterleave => vec![o[0].clone(); 2],
        _ => vec![result(i, o, &nothing[0])],
    }
}

fn result(i: &Instruction, o: &[&Known], nothing: &Known) -> Known {
    let w = nothing.width;
    let is_signed = i.element.is_signed();
    let is_same = i.operands().len() == 2 && i.operands[0] == i.operands[1];
    let bit = |when: Trit| Known::of(1, vec![when], &[]);
    let bits = |f: &dyn Fn(usize) -> Trit| (0..usize::from(w)).map(f).collect::<Vec<Trit>>();
    let only = |value: Integer| Known::of(w, bits(&|k| Some(value.bit(k))), &[]);
    let all = power(w) - Integer::ONE;
    match i.op {
        Op::Constant => only(Lane::from_limbs(i.immediates)),
        Op::And => {
            let upper = (Integer::ZERO, least(o[0].unsigned.1, o[1].unsigned.1));
            let each = |k: usize| both(o[0].bits[k], o[1].bits[k]);
            Known::of(w, bits(&each), &[Some(upper)])
        }
        Op::Or => {
            let lower = (greatest(o[0].unsigned.0, o[1].unsigned.0), all);
            let each = |k: usize| any(o[0].bits[k], o[1].bits[k]);
            Known::of(w, bits(&each), &[Some(lower)])
        }
        Op::Xor | Op::Sub if is_same => only(Integer::ZERO),
        Op::Xor => Known::of(w, bits(&|k| odd(o[0].bits[k], o[1].bits[k])), &[]),
        Op::Not => {
            let (low, high) = o[0].signed;
            let signed = (!high, !low);
            let unsigned = (all - o[0].unsigned.1, all - o[0].unsigned.0);
            Known::of(w, flipped(&o[0].bits), &[Some(signed), Some(unsigned)])
        }
        Op::Add => added(w, o[0], o[1]),
        Op::Sub => subtracted(w, o[0], o[1]),
        Op::Neg => subtracted(w, &only(Integer::ZERO), o[0]),
        Op::Mul => multiplied(w, o[0], o[1], is_same),
        Op::MulFull => {
            let wide = [cast(o[0], w, is_signed), cast(o[1], w, is_signed)];
            multiplied(w, &wide[0], &wide[1], is_same)
        }
        Op::Div => quotient(i, o),
        Op::Rem => remainder(i, o),
        Op::Abs if is_signed => {
            let sizes = sizes(o[0].signed);
            Known::of(w, bits(&|_| None), &[Some(sizes)])
        }
        Op::Abs | Op::Convert | Op::Reduce => o[0].clone(),
        Op::Min | Op::Max => extreme(i, o),
        Op::Eq if is_same => bit(Some(true)),
        Op::Ne if is_same => bit(Some(false)),
        Op::Eq => bit(equal(o[0], o[1])),
        Op::Ne => bit(equal(o[0], o[1]).map(|equal| !equal)),
        Op::Lt | Op::Le if is_same => bit(Some(i.op == Op::Le)),
        Op::Lt => bit(below(o[0], o[1], is_signed)),
        Op::Le => bit(below(o[1], o[0], is_signed).map(|below| !below)),
        Op::Mux => picked(o[0], o[1], o[2]),
        Op::Mask => picked(o[0], o[1], &only(Integer::ZERO)),
        Op::ShiftLeft => left(o[0], i.immediates[0].min(w.into()) as u16),
        Op::ShiftRight => right(o[0], i.immediates[0].min(w.into()) as u16, is_signed),
        Op::RotateLeft => rotated(o[0], i.immediates[0]),
        Op::ShiftLeftBy => left_by(o[0], o[1]),
        Op::ShiftRightBy => right_by(o[0], o[1], is_signed),
        Op::RotateLeftBy => match o[1].only() {
            Some(amount) => rotated(o[0], (amount % Integer::from(w)).as_limbs()[0]),
            None => nothing.clone(),
        },
        Op::Popcount => {
            let count = |when: Trit| o[0].bits.iter().filter(|&&bit| bit == when).count();
            let fewest = count(Some(true));
            let bounds = (Integer::from(fewest), Integer::from(fewest + count(None)));
            Known::of(w, bits(&|_| None), &[Some(bounds)])
        }
        Op::LeadingZeros => {
            let count = |value: Integer| Integer::from(usize::from(o[0].width) - value.bit_len());
            let bounds = (count(o[0].unsigned.1), count(o[0].unsigned.0));
            Known::of(w, bits(&|_| None), &[Some(bounds)])
        }
        Op::AllBits => bit(joined(o[0], both)),
        Op::AnyBit if !o[0].may_be_zero() => bit(Some(true)),
        Op::AnyBit => bit(joined(o[0], any)),
        Op::Parity => bit(joined(o[0], odd)),
        Op::Cast => cast(o[0], w, i.immediates[1] == 1),
        Op::BitSlice => {
            let start = i.immediates[0] as u16;
            let slice = cast(&right(o[0], start, false), w, false);
            // If copies of the sign are left out alone, the integer is halved so many times.
            let (low, high) = o[0].signed;
            let end = power(start + w - 1);
            let has_sign = at_most(end.wrapping_neg(), low) && at_most(high, end - Integer::ONE);
            let signed =
                if has_sign { (halved(low, start), halved(high, start)) } else { slice.signed };
            slice.clone().meeting(slice.unsigned, signed)
        }
        Op::BitConcat => {
            let low = i.immediates[0] as u16;
            let joined = [&o[0].bits[..], &o[1].bits[..]].concat();
            let at = |low_part: Integer, high_part: Integer| low_part + high_part * power(low);
            let (a, b, signed) = (o[0].unsigned, o[1].unsigned, o[1].signed);
            let unsigned = (at(a.0, b.0), at(a.1, b.1));
            let high = |part: Integer| times(part, power(low)).expect("256 bits hold it");
            let signed = (a.0.wrapping_add(high(signed.0)), a.1.wrapping_add(high(signed.1)));
            Known::of(w, joined, &[]).meeting(unsigned, signed)
        }
        Op::Reshape if o[0].width == w => o[0].clone(),
        Op::ReversePieces => {
            let piece = i.immediates[0] as usize;
            let pieces = o[0].bits.chunks(piece).rev();
            Known::of(w, pieces.flatten().copied().collect(), &[])
        }
        Op::LaneSlice | Op::LaneReverse | Op::LaneTile | Op::LaneRepeat => o[0].clone(),
        Op::LaneConcat | Op::LaneInterleave => o[0].either(o[1]),
        Op::LaneSum => {
            let count = Integer::from(i.immediates[1]);
            let is_extended = is_signed && is_negative(o[0].signed.0);
            let (low, high) = if is_extended { o[0].signed } else { o[0].unsigned };
            let bounds = times(low, count).zip(times(high, count));
            Known::of(w, zeros_below(w, even(o[0])), &[bounds])
        }
        Op::LaneAnd => Known::of(w, o[0].bits.clone(), &[Some((Integer::ZERO, o[0].unsigned.1))]),
        Op::LaneOr => Known::of(w, o[0].bits.clone(), &[Some((o[0].unsigned.0, all))]),
        Op::LaneXor => {
            let is_even = i.immediates[0].is_multiple_of(2);
            let each = |k: usize| o[0].bits[k].map(|bit| bit && !is_even);
            Known::of(w, bits(&each), &[])
        }
        Op::MatMul => {
            let count = Integer::from(i.immediates[0]);
            let sum = |(low, high): Bounds| times(low, count).zip(times(high, count));
            let unsigned = products(o[0].unsigned, o[1].unsigned);
            let signed = products(o[0].signed, o[1].signed);
            let bounds = [unsigned, signed].map(|bounds| bounds.and_then(sum));
            Known::of(w, zeros_below(w, even(o[0]) + even(o[1])), &bounds)
        }
        // Anything: of ciphers, of bits that change lanes, and where an operation is new.
        _ => nothing.clone(),
    }
}

fn both(a: Trit, b: Trit) -> Trit {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn any(a: Trit, b: Trit) -> Trit {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

fn odd(a: Trit, b: Trit) -> Trit {
    a.zip(b).map(|(a, b)| a != b)
}

/// All bits, one after the other.
fn joined(a: &Known, f: fn(Trit, Trit) -> Trit) -> Trit {
    a.bits.iter().copied().reduce(f).expect("a value has bits")
}

fn majority(a: Trit, b: Trit, c: Trit) -> Trit {
    any(both(a, b), any(both(a, c), both(b, c)))
}

fn flipped(bits: &[Trit]) -> Vec<Trit> {
    bits.iter().map(|bit| bit.map(|bit| !bit)).collect()
}

/// A ripple-carry adder.
fn rippled(a: &[Trit], b: &[Trit], mut carry: Trit) -> Vec<Trit> {
    let mut sum = Vec::new();
    for (&a, &b) in a.iter().zip(b) {
        sum.push(odd(odd(a, b), carry));
        carry = majority(a, b, carry);
    }
    sum
}

fn added(w: u16, a: &Known, b: &Known) -> Known {
    let sum = |a: Bounds, b: Bounds| Some((a.0.wrapping_add(b.0), a.1.wrapping_add(b.1)));
    let bounds = [sum(a.unsigned, b.unsigned), sum(a.signed, b.signed)];
    Known::of(w, rippled(&a.bits, &b.bits, Some(false)), &bounds)
}

fn subtracted(w: u16, a: &Known, b: &Known) -> Known {
    let less = |a: Bounds, b: Bounds| Some((a.0.wrapping_sub(b.1), a.1.wrapping_sub(b.0)));
    let bounds = [less(a.unsigned, b.unsigned), less(a.signed, b.signed)];
    Known::of(w, rippled(&a.bits, &flipped(&b.bits), Some(true)), &bounds)
}

/// Bounds of products: at corners.
fn products(a: Bounds, b: Bounds) -> Option<Bounds> {
    let mut bounds: Option<Bounds> = None;
    for (a, b) in [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)] {
        let product = times(a, b)?;
        let (low, high) = bounds.unwrap_or((product, product));
        bounds = Some((least(low, product), greatest(high, product)));
    }
    bounds
}

/// Bounds of magnitudes.
fn sizes((low, high): Bounds) -> Bounds {
    let ends = (magnitude(low), magnitude(high));
    let has_zero = !(is_negative(high) || at_most(Integer::ONE, low));
    let nearest = if has_zero { Integer::ZERO } else { least(ends.0, ends.1) };
    (nearest, greatest(ends.0, ends.1))
}

/// How many of the lowest bits are 0.
fn even(a: &Known) -> u16 {
    a.bits.iter().take_while(|&&bit| bit == Some(false)).count() as u16
}

/// Bits of which so many of the lowest are 0.
fn zeros_below(w: u16, count: u16) -> Vec<Trit> {
    (0..w).map(|k| (k < count).then_some(false)).collect()
}

fn multiplied(w: u16, a: &Known, b: &Known, is_square: bool) -> Known {
    let mut bits = zeros_below(w, even(a) + even(b));
    let certain = a.bits.iter().zip(&b.bits).take_while(|(a, b)| a.is_some() && b.is_some());
    let certain = certain.count();
    let value = |known: &Known| {
        let ones = (0..certain).filter(|&k| known.bits[k] == Some(true));
        ones.fold(Integer::ZERO, |sum, k| sum + power(k as u16))
    };
    let low = value(a).wrapping_mul(value(b));
    for (k, bit) in bits.iter_mut().enumerate().take(certain) {
        *bit = Some(low.bit(k));
    }
    if is_square && w > 1 {
        // 0 or 1 modulo 4.
        bits[1] = Some(false);
    }
    let signed = match is_square {
        true => {
            let (near, far) = sizes(a.signed);
            times(near, near).zip(times(far, far))
        }
        false => products(a.signed, b.signed),
    };
    Known::of(w, bits, &[products(a.unsigned, b.unsigned), signed])
}

/// All bits are 1 by zero.
fn quotient(i: &Instruction, o: &[&Known]) -> Known {
    let (a, b) = (o[0], o[1]);
    let w = a.width;
    let is_signed = i.element.is_signed();
    let (a, (first, last)) = match is_signed {
        true => (a.signed, b.signed),
        false => (a.unsigned, b.unsigned),
    };
    let minus_one = Integer::ZERO.wrapping_sub(Integer::ONE);
    let by_zero = if is_signed { minus_one } else { power(w) - Integer::ONE };
    let negative = (first, least(last, minus_one));
    let positive = (greatest(first, Integer::ONE), last);
    let mut found = Vec::new();
    for (near, far) in [negative, positive] {
        if at_most(near, far) {
            let corners = [(a.0, near), (a.0, far), (a.1, near), (a.1, far)];
            found.extend(corners.map(|(a, b)| divided(a, b)));
        }
    }
    if b.may_be_zero() {
        found.push(by_zero);
    }
    let bounds = (found.iter().copied().reduce(least)).zip(found.iter().copied().reduce(greatest));
    Known::of(w, vec![None; w.into()], &[bounds])
}

/// The dividend by zero.
fn remainder(i: &Instruction, o: &[&Known]) -> Known {
    let (a, b) = (o[0], o[1]);
    let nothing = |bounds: Bounds| Known::of(a.width, vec![None; a.width.into()], &[Some(bounds)]);
    if !i.element.is_signed() {
        if !at_most(b.unsigned.0, a.unsigned.1) {
            return a.clone();
        }
        let bound = match b.may_be_zero() {
            true => a.unsigned.1,
            false => least(a.unsigned.1, b.unsigned.1 - Integer::ONE),
        };
        return nothing((Integer::ZERO, bound));
    }
    let (mut low, mut high) =
        (least(a.signed.0, Integer::ZERO), greatest(a.signed.1, Integer::ZERO));
    if !b.may_be_zero() {
        let bound = sizes(b.signed).1 - Integer::ONE;
        (low, high) = (greatest(low, bound.wrapping_neg()), least(high, bound));
    }
    nothing((low, high))
}

fn extreme(i: &Instruction, o: &[&Known]) -> Known {
    let is_signed = i.element.is_signed();
    let is_least = i.op == Op::Min;
    let (a, b) = (o[0], o[1]);
    let second = if is_least { below(b, a, is_signed) } else { below(a, b, is_signed) };
    if let Some(second) = second {
        return if second { b.clone() } else { a.clone() };
    }
    let pick = if is_least { least } else { greatest };
    let of = |a: Bounds, b: Bounds| (pick(a.0, b.0), pick(a.1, b.1));
    let mut known = a.either(b);
    match is_signed {
        true => known.signed = super::meet(known.signed, of(a.signed, b.signed)),
        false => known.unsigned = super::meet(known.unsigned, of(a.unsigned, b.unsigned)),
    }
    known.settled()
}

fn equal(a: &Known, b: &Known) -> Trit {
    let differ = a.bits.iter().zip(&b.bits).any(|(&a, &b)| odd(a, b) == Some(true));
    let apart = |a: Bounds, b: Bounds| !at_most(a.0, b.1) || !at_most(b.0, a.1);
    if differ || apart(a.unsigned, b.unsigned) || apart(a.signed, b.signed) {
        return Some(false);
    }
    a.only().zip(b.only()).map(|(a, b)| a == b)
}

/// Whether `a < b`.
fn below(a: &Known, b: &Known, is_signed: bool) -> Trit {
    let (a, b) = if is_signed { (a.signed, b.signed) } else { (a.unsigned, b.unsigned) };
    match (at_most(b.0, a.1), at_most(b.1, a.0)) {
        (false, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

fn picked(selector: &Known, first: &Known, second: &Known) -> Known {
    match selector.bits[0] {
        Some(true) => first.clone(),
        Some(false) => second.clone(),
        None => first.either(second),
    }
}

fn cast(a: &Known, width: u16, is_signed: bool) -> Known {
    let above = if is_signed { a.bits[a.bits.len() - 1] } else { Some(false) };
    let mut bits = a.bits.clone();
    bits.resize(width.into(), above);
    let bounds = match (width <= a.width, is_signed) {
        (true, _) => [Some(a.unsigned), Some(a.signed)],
        (false, true) => [Some(a.signed), None],
        (false, false) => [Some(a.unsigned), None],
    };
    Known::of(width, bits, &bounds)
}

fn left(a: &Known, amount: u16) -> Known {
    let mut bits = vec![Some(false); amount.into()];
    bits.extend(&a.bits);
    bits.truncate(a.width.into());
    let moved = |(low, high): Bounds| times(low, power(amount)).zip(times(high, power(amount)));
    // By the width, nothing is left, and the integers do not say so.
    let bounds = if amount < a.width { [moved(a.unsigned), moved(a.signed)] } else { [None; 2] };
    Known::of(a.width, bits, &bounds)
}

fn right(a: &Known, amount: u16, is_signed: bool) -> Known {
    let above = if is_signed { a.bits[a.bits.len() - 1] } else { Some(false) };
    let mut bits = a.bits[usize::from(amount.min(a.width))..].to_vec();
    bits.resize(a.width.into(), above);
    let (low, high) = if is_signed { a.signed } else { a.unsigned };
    Known::of(a.width, bits, &[Some((halved(low, amount), halved(high, amount)))])
}

fn rotated(a: &Known, amount: u64) -> Known {
    let mut bits = a.bits.clone();
    bits.rotate_right((amount % u64::from(a.width)) as usize);
    Known::of(a.width, bits, &[])
}

/// The fewest and the most places that an amount shifts by, at most the width.
fn places(by: &Known, width: u16) -> (u16, u16) {
    let place = |amount: Integer| least(amount, Integer::from(width)).as_limbs()[0] as u16;
    (place(by.unsigned.0), place(by.unsigned.1))
}

fn left_by(a: &Known, by: &Known) -> Known {
    let (fewest, most) = places(by, a.width);
    if by.only().is_some() {
        return left(a, fewest);
    }
    let (low, high) = a.unsigned;
    let bounds = times(low, power(fewest)).zip(times(high, power(most)));
    Known::of(a.width, zeros_below(a.width, even(a) + fewest), &[bounds])
}

fn right_by(a: &Known, by: &Known, is_signed: bool) -> Known {
    let (fewest, most) = places(by, a.width);
    let ends = [right(a, fewest, is_signed), right(a, most, is_signed)];
    if by.only().is_some() {
        return ends[0].clone();
    }
    let bounds = |known: &Known| if is_signed { known.signed } else { known.unsigned };
    let (first, second) = (bounds(&ends[0]), bounds(&ends[1]));
    let either = (least(first.0, second.0), greatest(first.1, second.1));
    Known::of(a.width, vec![None; a.width.into()], &[Some(either)])
}
