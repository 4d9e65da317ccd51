//! Operations on [`Data`]: public ones are done, secret ones recorded, vectors taken apart.

use phineus_bytecode::{ElementType, Lane};

use crate::access::chosen::is_address;
use crate::data::fold;
use crate::data::{Data, mask};
use crate::emit::casts::cast;
use crate::emit::zeros::Zeros;
use crate::interpreter::{Machine, Stop};
use crate::ir::{Binary, Compare, Unary};
use phineus_frontend::untyped::Value;

/// What is done to each element.
type Apply<'a, M> = &'a mut dyn FnMut(&mut M, &[&Data]) -> Result<Data, Stop>;

const DIVIDES: &str = "this divides by zero: the divisor is public, and it is 0 here";
const NOT_ZERO: &str = "test it before with an `if`, or see which size or index makes it 0";
const UNSET: &str = "set it before it is used";

impl Machine<'_> {
    /// The width of a secret; 64 of anything else.
    pub(crate) fn width_of(&self, data: &Data) -> u16 {
        match data {
            Data::Secret(value) | Data::Lane(value, _) => value.width(),
            _ => 64,
        }
    }

    /// Reports what stands where an integer is needed; `None` if it is one.
    pub(crate) fn unfit(&mut self, data: &Data) -> Option<Result<Data, Stop>> {
        Some(match data {
            Data::Poison => Ok(Data::Poison),
            Data::Undefined => self.error("this uses a value that is not set", UNSET),
            data if is_address(data) => {
                self.error("this computes with an address", "use indices instead of addresses")
            }
            Data::Function(_) => self.error("this computes with a function", "use integers"),
            _ => return None,
        })
    }

    /// Applies to each element where one operand is a vector.
    pub(crate) fn elements(
        &mut self,
        operands: &[&Data],
        apply: Apply<'_, Self>,
    ) -> Option<Result<Data, Stop>> {
        let length = operands.iter().find_map(|data| match data {
            Data::Many(elements) => Some(elements.len()),
            _ => None,
        })?;
        let mut results = Vec::with_capacity(length);
        for index in 0..length {
            let parts: Vec<Data> = operands
                .iter()
                .map(|data| match data {
                    Data::Many(elements) => elements[index].clone(),
                    other => (*other).clone(),
                })
                .collect();
            let parts: Vec<&Data> = parts.iter().collect();
            match apply(self, &parts) {
                Ok(result) => results.push(result),
                Err(stop) => return Some(Err(stop)),
            }
        }
        Some(Ok(Data::Many(results.into())))
    }

    /// A public function of public operands that differ between lanes.
    pub(crate) fn by_lane(
        &self,
        operands: &[&Data],
        apply: impl Fn(&[u128]) -> u128,
    ) -> Option<Data> {
        let mut lanes = 1;
        for data in operands {
            match data {
                Data::Public(_) => {}
                Data::Spread(values) => lanes = values.len(),
                _ => return None,
            }
        }
        let at = |lane: usize| {
            let values: Vec<u128> = operands
                .iter()
                .map(|data| match data {
                    Data::Spread(values) => values[lane],
                    Data::Public(value) => *value,
                    _ => unreachable!("all are public"),
                })
                .collect();
            apply(&values)
        };
        Some(Data::Spread((0..lanes).map(at).collect()))
    }

    pub(crate) fn binary(
        &mut self,
        op: Binary,
        width: u16,
        a: &Data,
        b: &Data,
    ) -> Result<Data, Stop> {
        match (a, b) {
            (Data::Public(x), Data::Public(y)) => {
                return match fold::binary(op, width, *x, *y) {
                    Some(result) => Ok(Data::Public(result)),
                    None => self.error(DIVIDES, NOT_ZERO),
                };
            }
            (Data::Pointer(p, x), Data::Pointer(q, y)) if op == Binary::Sub && p == q => {
                return Ok(Data::Public((x - y) as u64 as u128 & mask(width)));
            }
            (Data::Pointer(p, x), Data::Public(y)) if op == Binary::Add => {
                return Ok(Data::Pointer(*p, x.wrapping_add(*y as i64)));
            }
            _ => {}
        }
        let mut each =
            |machine: &mut Self, parts: &[&Data]| machine.binary(op, width, parts[0], parts[1]);
        if let Some(results) = self.elements(&[a, b], &mut each) {
            return results;
        }
        if let Some(found) = self.binary_chosen(op, width, a, b) {
            return found;
        }
        if let Some(unfit) = self.unfit(a).or_else(|| self.unfit(b)) {
            return unfit;
        }
        let divides = matches!(op, Binary::UDiv | Binary::SDiv | Binary::URem | Binary::SRem);
        if divides && is_zero_somewhere(b) {
            return self.error(DIVIDES, NOT_ZERO);
        }
        if let Some(opened) = self.opened_binary(op, width, a, b) {
            return Ok(opened);
        }
        let apply = |v: &[u128]| fold::binary(op, width, v[0], v[1]).unwrap_or_default();
        if let Some(spread) = self.by_lane(&[a, b], apply) {
            return Ok(spread);
        }
        if let Some(rehearsal) = &mut self.rehearsal {
            let is_exact = matches!(op, Binary::UAddSat | Binary::SAddSat | Binary::SSubSat);
            return Ok(rehearsal.hidden(width + u16::from(is_exact)));
        }
        if matches!(op, Binary::Shl | Binary::LShr | Binary::AShr)
            && let Some(shifted) = self.shifted(op, width, a, b)
        {
            return Ok(shifted);
        }
        if matches!(op, Binary::Or | Binary::Xor | Binary::Add)
            && let Some(both) = self.side_by_side(width, a, b)
        {
            return Ok(both);
        }
        if op == Binary::Mul
            && let Some(product) = self.delayed_product(a, b)
        {
            return Ok(product);
        }
        let (x, y) = (self.value(a, width), self.value(b, width));
        let result = self.known(record_binary(op, &x, &y));
        let (of_a, of_b) = (self.zeros(a, width), self.zeros(b, width));
        let zeros = match op {
            Binary::And => Zeros { low: of_a.low.max(of_b.low), high: of_a.high.max(of_b.high) },
            Binary::URem => Zeros { low: 0, high: of_a.high.max(of_b.high) },
            Binary::UDiv => Zeros { low: 0, high: of_a.high },
            _ => Zeros::default(),
        };
        Ok(self.with_zeros(result, zeros))
    }

    pub(crate) fn compare(
        &mut self,
        op: Compare,
        width: u16,
        a: &Data,
        b: &Data,
    ) -> Result<Data, Stop> {
        match (a, b) {
            (Data::Public(x), Data::Public(y)) => {
                return Ok(Data::bit(fold::compare(op, width, *x, *y)));
            }
            (Data::Pointer(p, x), Data::Pointer(q, y)) => {
                let (x, y) = if p == q { (*x, *y) } else { (0, 1) };
                if p == q || matches!(op, Compare::Eq | Compare::Ne) {
                    let (x, y) = (fold::place(x), fold::place(y));
                    return Ok(Data::bit(fold::compare(op, 64, x, y)));
                }
            }
            (Data::Pointer(..), Data::Public(0)) | (Data::Public(0), Data::Pointer(..)) => {
                return Ok(Data::bit(op == Compare::Ne));
            }
            _ => {}
        }
        let mut each =
            |machine: &mut Self, parts: &[&Data]| machine.compare(op, width, parts[0], parts[1]);
        if let Some(results) = self.elements(&[a, b], &mut each) {
            return results;
        }
        if let Some(found) = self.compare_chosen(op, a, b) {
            return found;
        }
        if let Some(unfit) = self.unfit(a).or_else(|| self.unfit(b)) {
            return unfit;
        }
        if let Some(opened) = self.opened_compare(op, width, a, b) {
            return Ok(opened);
        }
        let apply = |v: &[u128]| u128::from(fold::compare(op, width, v[0], v[1]));
        if let Some(spread) = self.by_lane(&[a, b], apply) {
            return Ok(spread);
        }
        if let Some(rehearsal) = &mut self.rehearsal {
            return Ok(rehearsal.hidden(width));
        }
        let (x, y) = (self.value(a, width), self.value(b, width));
        Ok(self.known(compared(op, &x, &y)))
    }

    pub(crate) fn unary(&mut self, op: Unary, from: u16, to: u16, a: &Data) -> Result<Data, Stop> {
        if let Data::Public(value) = a {
            return Ok(Data::Public(fold::unary(op, from, to, *value)));
        }
        if let Data::Undefined = a {
            return Ok(Data::Undefined);
        }
        let mut each = |machine: &mut Self, parts: &[&Data]| machine.unary(op, from, to, parts[0]);
        if let Some(results) = self.elements(&[a], &mut each) {
            return results;
        }
        if from == to && matches!(op, Unary::Truncate | Unary::ZeroExtend | Unary::SignExtend) {
            return Ok(a.clone());
        }
        if is_address(a) && op == Unary::Truncate && to >= 32 {
            // Of a difference of addresses, which LLVM makes one of narrower ones.
            return Ok(a.clone());
        }
        if let Some(unfit) = self.unfit(a) {
            return unfit;
        }
        if let Some(opened) = self.opened_unary(op, from, to, a) {
            return Ok(opened);
        }
        if let Some(spread) = self.by_lane(&[a], |v| fold::unary(op, from, to, v[0])) {
            return Ok(spread);
        }
        if let Some(rehearsal) = &mut self.rehearsal {
            return Ok(rehearsal.hidden(from.max(to)));
        }
        let before = self.zeros(a, from);
        let zeros = match op {
            Unary::ZeroExtend => Zeros { low: before.low, high: before.high + to - from },
            Unary::Truncate => {
                Zeros { low: before.low.min(to), high: before.high.saturating_sub(from - to) }
            }
            Unary::SignExtend if before.high > 0 => {
                Zeros { low: before.low, high: before.high + to - from }
            }
            _ => Zeros::default(),
        };
        if let Some(result) = self.cast_once(op, to, a) {
            return Ok(self.with_zeros(result, zeros));
        }
        let value = self.value(a, from);
        let result = match op {
            Unary::Truncate | Unary::ZeroExtend | Unary::SignExtend => cast(op, to, &value),
            Unary::Abs => value.with_sign(true).abs().with_sign(false),
            Unary::PopCount => value.popcount(to),
            Unary::LeadingZeros => value.leading_zeros(to),
            Unary::TrailingZeros => {
                let ones = self.constant_value(from, u128::MAX);
                value.not().and(&value.add(&ones)).popcount(to)
            }
            Unary::ByteSwap => reversed(&value, 8),
            Unary::BitReverse => reversed(&value, 1),
        };
        let result = self.known(result);
        Ok(self.with_zeros(result, zeros))
    }
}

fn is_zero_somewhere(data: &Data) -> bool {
    match data {
        Data::Public(value) => *value == 0,
        Data::Spread(values) => values.contains(&0),
        _ => false,
    }
}

/// Bits that count up to `width - 1`.
pub(crate) fn log2(width: u16) -> u16 {
    (u16::BITS - (width - 1).leading_zeros()).max(1) as u16
}

pub(crate) fn shift(op: Binary, value: &Value, amount: u64) -> Value {
    match op {
        Binary::Shl => value.shift_left(amount),
        Binary::LShr => value.shift_right(amount),
        _ => value.with_sign(true).shift_right(amount).with_sign(false),
    }
}

/// The parts of `unit` bits in reverse order.
fn reversed(value: &Value, unit: u16) -> Value {
    let parts = (0..value.width() / unit).rev().map(|part| value.bit_slice(part * unit, unit));
    parts.reduce(|low, high| low.bit_concat(&high)).expect("a value has bits")
}

fn record_binary(op: Binary, x: &Value, y: &Value) -> Value {
    let width = x.width();
    let (sx, sy) = (x.with_sign(true), y.with_sign(true));
    let amount = || y.bit_slice(0, log2(width));
    let wide = |is_signed| ElementType::integer(width + 1, is_signed);
    let saturated = |exact: Value| {
        let constant = |value: Lane| x.tracer().constant(wide(true), value);
        let all = (Lane::ONE << usize::from(width + 1)) - Lane::ONE;
        let high = (Lane::ONE << usize::from(width - 1)) - Lane::ONE;
        let low = all - high;
        exact.min(&constant(high)).max(&constant(low)).bit_slice(0, width)
    };
    match op {
        Binary::Add => x.add(y),
        Binary::Sub => x.sub(y),
        Binary::Mul => product(x, y),
        Binary::UDiv => x.div(y),
        Binary::URem => x.rem(y),
        Binary::SDiv => sx.div(&sy).with_sign(false),
        Binary::SRem => sx.rem(&sy).with_sign(false),
        Binary::Shl => x.shift_left_by(&amount()),
        Binary::LShr => x.shift_right_by(&amount()),
        Binary::AShr => sx.shift_right_by(&amount()).with_sign(false),
        Binary::And => x.and(y),
        Binary::Or => x.or(y),
        Binary::Xor => x.xor(y),
        Binary::UMin => x.min(y),
        Binary::UMax => x.max(y),
        Binary::SMin => sx.min(&sy).with_sign(false),
        Binary::SMax => sx.max(&sy).with_sign(false),
        Binary::UAddSat => {
            let sum = x.cast(wide(false)).add(&y.cast(wide(false)));
            let all = x.tracer().constant(ElementType::unsigned(width), Lane::from(mask(width)));
            sum.bit_slice(width, 1).select(&all, &sum.bit_slice(0, width))
        }
        Binary::USubSat => y.le(x).mask(&x.sub(y)),
        Binary::SAddSat => saturated(sx.cast(wide(true)).add(&sy.cast(wide(true)))),
        Binary::SSubSat => saturated(sx.cast(wide(true)).sub(&sy.cast(wide(true)))),
    }
}

/// A product; of a vector with one factor for all lanes a matrix of one column by a vector, which
/// protocols on shares do for half the price of a product lane by lane.
fn product(x: &Value, y: &Value) -> Value {
    let (vector, factor) = if x.lanes() == 1 { (y, x) } else { (x, y) };
    let is_public = x.public().is_some() || y.public().is_some();
    if is_public || factor.lanes() != 1 || vector.lanes() == 1 {
        return x.mul(y);
    }
    vector.mat_vec(factor)
}

/// The recorded comparison.
pub(crate) fn compared(compare: Compare, x: &Value, y: &Value) -> Value {
    let (sx, sy) = (x.with_sign(true), y.with_sign(true));
    match compare {
        Compare::Eq => x.eq(y),
        Compare::Ne => x.ne(y),
        Compare::Ult => x.lt(y),
        Compare::Ule => x.le(y),
        Compare::Ugt => y.lt(x),
        Compare::Uge => y.le(x),
        Compare::Slt => sx.lt(&sy),
        Compare::Sle => sx.le(&sy),
        Compare::Sgt => sy.lt(&sx),
        Compare::Sge => sy.le(&sx),
    }
}
