//! Folding of operations with public operands: to constants, or to operations with fewer ANDs.

use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{ElementType, Instruction, Lane, Op};

use crate::value::Value;

/// The result of an elementwise operation on public values alone.
pub(crate) fn constant(
    op: Op,
    element: ElementType,
    operands: &[&Value],
    immediates: [u64; 4],
) -> Option<Value> {
    let mut lanes = Vec::new();
    for operand in operands {
        lanes.push(vec![operand.public()?]);
    }
    let mut instruction = Instruction::new(op, element, 1);
    instruction.immediates = immediates;
    // A violation is left to the emission, which reports it.
    (op.info().rule)(&instruction).ok()?;
    let fits = op
        .info()
        .operands
        .iter()
        .zip(operands)
        .all(|(role, operand)| role.shape(&instruction).width == operand.width());
    if !fits {
        return None;
    }
    let meaning = op.info().meaning?;
    let result = meaning(&instruction, &lanes)[0][0];
    let width = op.info().results[0].shape(&instruction).width;
    let element = if width == element.width() { element } else { ElementType::unsigned(width) };
    let first = operands.first()?;
    Some(Value::known(first.tracer(), element, first.lanes(), result))
}

/// A cheaper way to an operation on two values of one type, at least one of them public.
#[track_caller]
pub(crate) fn binary(op: Op, a: &Value, b: &Value) -> Option<Value> {
    if a.lanes() != b.lanes() {
        return None;
    }
    if let Some(constant) = constant(op, a.element(), &[a, b], [0; 4]) {
        return Some(constant);
    }
    let commutes = matches!(op, Op::And | Op::Or | Op::Xor | Op::Add | Op::Mul);
    match (a.public(), b.public()) {
        (_, Some(public)) => with_public(op, a, public),
        (Some(public), None) if commutes => with_public(op, b, public),
        // c - x = !(x + !c), and x + constant can be cheaper.
        (Some(public), None) if op == Op::Sub => Some(a.like(!public).add(b).not()),
        // c < x where c is one less than x <= c.
        (Some(public), None) if op == Op::Lt => le_public(b, public).map(|le| le.not()),
        (Some(public), None) if op == Op::Le => lt_public(b, public).map(|lt| lt.not()),
        _ => None,
    }
}

/// A cheaper way to an operation on arithmetic shares, one of the operands public.
///
/// Sums and differences are computed by each party alone, so a product with a public factor needs
/// no multiplication triple: doublings, and an addition or subtraction for each digit of the
/// factor's non-adjacent form.
#[track_caller]
pub(crate) fn arithmetic(op: Op, a: &Value, b: &Value) -> Option<Value> {
    match (op, a.public(), b.public()) {
        (Op::Mul, Some(public), _) => Some(multiple(b, public)),
        (Op::Mul, _, Some(public)) => Some(multiple(a, public)),
        (Op::Add | Op::Sub, _, Some(public)) if public.is_zero() => Some(a.clone()),
        (Op::Add, Some(public), _) if public.is_zero() => Some(b.clone()),
        (Op::Sub, Some(public), _) if public.is_zero() => Some(b.neg()),
        _ => None,
    }
}

/// `x * public` in doublings, sums and differences.
#[track_caller]
fn multiple(x: &Value, public: Lane) -> Value {
    let mut sum: Option<Value> = None;
    for digit in digits(public, x.width()).into_iter().rev() {
        sum = sum.map(|sum| sum.add(&sum));
        sum = match (sum, digit) {
            (sum, 0) => sum,
            (None, 1) => Some(x.clone()),
            (None, _) => Some(x.neg()),
            (Some(sum), 1) => Some(sum.add(x)),
            (Some(sum), _) => Some(sum.sub(x)),
        };
    }
    sum.unwrap_or_else(|| x.like(Lane::ZERO))
}

#[track_caller]
fn with_public(op: Op, x: &Value, public: Lane) -> Option<Value> {
    let mask = mask_of(x.width());
    match op {
        Op::And => Some(and(x, public)),
        Op::Or => Some(and(&x.not(), !public & mask).not()),
        Op::Xor if public.is_zero() => Some(x.clone()),
        Op::Xor if public == mask => Some(x.not()),
        Op::Add => add(x, public),
        Op::Sub => Some(
            add(x, public.wrapping_neg() & mask)
                .unwrap_or_else(|| x.add(&x.like(public.wrapping_neg()))),
        ),
        Op::Mul => mul(x, public),
        Op::Div if !x.element().is_signed() => {
            log2(public).map(|amount| x.shift_right(amount as u64))
        }
        Op::Rem if !x.element().is_signed() => log2(public).map(|_| and(x, public - Lane::ONE)),
        Op::Lt => lt_public(x, public),
        Op::Le => le_public(x, public),
        _ => None,
    }
}

/// `k` if the value is 2^k.
fn log2(value: Lane) -> Option<usize> {
    (value.count_ones() == 1).then(|| value.trailing_zeros())
}

/// Adjacent bits that are equal.
struct Bits {
    start: u16,
    width: u16,
    bit: bool,
}

/// The runs of equal bits of `value`, from the lowest.
fn runs(value: Lane, width: u16) -> Vec<Bits> {
    let mut runs: Vec<Bits> = Vec::new();
    for index in 0..width {
        let bit = value.bit(usize::from(index));
        match runs.last_mut() {
            Some(run) if run.bit == bit => run.width += 1,
            _ => runs.push(Bits { start: index, width: 1, bit }),
        }
    }
    runs
}

/// `x & public` without an AND: pieces of `x` and of zeros.
#[track_caller]
fn and(x: &Value, public: Lane) -> Value {
    let width = x.width();
    if public.is_zero() {
        return x.like(Lane::ZERO);
    }
    if public == mask_of(width) {
        return x.clone();
    }
    let zero =
        |width| Value::known(x.tracer(), ElementType::unsigned(width), x.lanes(), Lane::ZERO);
    let pieces = runs(public, width).into_iter().map(|Bits { start, width, bit }| {
        if bit { x.bit_slice(start, width) } else { zero(width) }
    });
    pieces
        .reduce(|low, high| low.bit_concat(&high))
        .map_or_else(|| x.clone(), |all| all.with_sign(x.element().is_signed()))
}

/// `x + public` without the adder's lowest bits where `public` has zeros.
#[track_caller]
fn add(x: &Value, public: Lane) -> Option<Value> {
    if public.is_zero() {
        return Some(x.clone());
    }
    let zeros = public.trailing_zeros() as u16;
    if zeros == 0 {
        return None;
    }
    let high_width = x.width() - zeros;
    let high = x.bit_slice(zeros, high_width);
    let sum = high.add(&high.like(public >> usize::from(zeros)));
    let low = x.bit_slice(0, zeros);
    Some(low.bit_concat(&sum).with_sign(x.element().is_signed()))
}

/// The digits of the non-adjacent form of `value` modulo two to the `width`, the lowest first.
///
/// A run of ones has two digits; there are at most `(width + 1) / 2` digits that are not 0.
fn digits(value: Lane, width: u16) -> Vec<i8> {
    let width = usize::from(width);
    let mut rest = value;
    (0..width)
        .map(|index| {
            let odd = rest.bit(0);
            let negative = odd && rest.bit(1) && index + 1 < width;
            rest >>= 1;
            if negative {
                rest = rest.wrapping_add(Lane::ONE);
            }
            if negative { -1 } else { i8::from(odd) }
        })
        .collect()
}

/// `x * public` as shifted sums and differences: one for each digit of the non-adjacent form.
///
/// An addition costs fewer than `w` ANDs and there are at most `(w + 1) / 2` digits, where a
/// product costs about `w^2`.
#[track_caller]
fn mul(x: &Value, public: Lane) -> Option<Value> {
    let mut result: Option<Value> = None;
    for (index, digit) in digits(public, x.width()).into_iter().enumerate() {
        if digit == 0 {
            continue;
        }
        let term = x.shift_left(index as u64);
        result = Some(match (result, digit) {
            (None, 1) => term,
            (None, _) => term.neg(),
            (Some(sum), 1) => add_shifted(&sum, &term, index as u16, Op::Add),
            (Some(sum), _) => add_shifted(&sum, &term, index as u16, Op::Sub),
        });
    }
    Some(result.unwrap_or_else(|| x.like(Lane::ZERO)))
}

/// `sum ± term` where the lowest `zeros` bits of `term` are 0: they cost nothing.
#[track_caller]
fn add_shifted(sum: &Value, term: &Value, zeros: u16, op: Op) -> Value {
    let high_width = sum.width() - zeros;
    let (a, b) = (sum.bit_slice(zeros, high_width), term.bit_slice(zeros, high_width));
    let high = if op == Op::Add { a.add(&b) } else { a.sub(&b) };
    if zeros == 0 {
        return high.with_sign(sum.element().is_signed());
    }
    sum.bit_slice(0, zeros).bit_concat(&high).with_sign(sum.element().is_signed())
}

/// The sign bit.
#[track_caller]
fn sign(x: &Value) -> Value {
    x.bit_slice(x.width() - 1, 1)
}

/// `x < public` where that is cheaper than a comparison.
#[track_caller]
fn lt_public(x: &Value, public: Lane) -> Option<Value> {
    if x.element().is_signed() {
        return public.is_zero().then(|| sign(x));
    }
    if public.is_zero() {
        let bit = ElementType::BIT;
        return Some(Value::known(x.tracer(), bit, x.lanes(), Lane::ZERO));
    }
    let zeros = log2(public)? as u16;
    Some(x.bit_slice(zeros, x.width() - zeros).any_bit().not())
}

/// `x <= public` where that is cheaper than a comparison.
#[track_caller]
fn le_public(x: &Value, public: Lane) -> Option<Value> {
    let mask = mask_of(x.width());
    if x.element().is_signed() {
        return (public == mask).then(|| sign(x));
    }
    if public == mask {
        let bit = ElementType::BIT;
        return Some(Value::known(x.tracer(), bit, x.lanes(), Lane::ONE));
    }
    lt_public(x, public + Lane::ONE)
}

/// A choice that is public, or between public values, without an AND.
#[track_caller]
pub(crate) fn select(select: &Value, a: &Value, b: &Value) -> Option<Value> {
    if let Some(public) = select.public() {
        return Some(if public.is_zero() { b.clone() } else { a.clone() });
    }
    let (one, zero) = (a.public()?, b.public()?);
    if a.lanes() != b.lanes() || select.lanes() != a.lanes() {
        return None;
    }
    if one ^ zero == Lane::ONE {
        // Only the lowest bit differs.
        let lowest = if one.bit(0) { select.clone() } else { select.not() };
        let (width, high) = (a.width(), one >> 1usize);
        let whole = match (width, high.is_zero()) {
            (1, _) => lowest,
            (_, true) => lowest.with_sign(false).cast(ElementType::unsigned(width)),
            (_, false) => {
                let element = ElementType::unsigned(width - 1);
                lowest.bit_concat(&Value::known(a.tracer(), element, a.lanes(), high))
            }
        };
        return Some(whole.with_sign(a.element().is_signed()));
    }
    let everywhere = select.with_sign(true).cast(a.element());
    Some(and(&everywhere, one ^ zero).xor(b))
}
