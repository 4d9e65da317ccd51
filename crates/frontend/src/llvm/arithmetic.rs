//! Operations on [`Data`]: public ones are done, secret ones recorded, vectors taken apart.

use std::rc::Rc;

use phineus_bytecode::{ElementType, Lane};

use super::data::{Data, mask};
use super::ir::{Binary, Compare, Unary};
use super::machine::{Machine, Stop};
use super::public;
use crate::value::Value;

/// Constants that differ between lanes and are remembered.
const SPREADS_KEPT: usize = 256;
const UNSET: &str = "set it before it is used";

impl Machine<'_> {
    /// The width of a secret; 64 of anything else.
    pub(super) fn width_of(&self, data: &Data) -> u16 {
        match data {
            Data::Secret(value) | Data::Lane(value, _) => value.width(),
            _ => 64,
        }
    }

    /// The result of an operation as data: known values are public.
    pub(super) fn known(&self, value: Value) -> Data {
        match value.public() {
            Some(lane) => Data::Public(low_bits(lane)),
            None => Data::Secret(Rc::new(value)),
        }
    }

    pub(super) fn constant_value(&self, width: u16, value: u128) -> Value {
        self.tracer.constant(ElementType::unsigned(width), Lane::from(value & mask(width)))
    }

    /// An integer as a value of `width` bits, its lanes cut out if they were not.
    pub(super) fn value(&mut self, data: &Data, width: u16) -> Rc<Value> {
        match data {
            Data::Public(value) => Rc::new(self.constant_value(width, *value)),
            Data::Secret(value) => value.clone(),
            Data::Lane(value, lane) => self.slice(value, *lane),
            Data::Spread(values) => self.spread(width, values),
            _ => unreachable!("only integers become values"),
        }
    }

    /// A constant that differs between lanes, recorded once.
    fn spread(&mut self, width: u16, values: &Rc<[u128]>) -> Rc<Value> {
        let key = (width, values.clone());
        if let Some(known) = self.spreads.get(&key) {
            return known.clone();
        }
        if self.spreads.len() >= SPREADS_KEPT {
            self.spreads.clear();
        }
        let made = self.spread_anew(width, values);
        self.spreads.insert(key, made.clone());
        made
    }

    /// Counting numbers have their low bits from a constant that all strips share; anything else is
    /// joined from its runs.
    fn spread_anew(&mut self, width: u16, values: &Rc<[u128]>) -> Rc<Value> {
        let lanes = values.len() as u128;
        let first = values[0];
        let low_bits = (128 - (lanes - 1).leading_zeros()) as u16;
        let counts = values.iter().zip(first..).all(|(value, expected)| *value == expected);
        let is_aligned = first & mask(low_bits) == 0;
        if counts && is_aligned && low_bits > 0 && low_bits < width {
            let low: Rc<[u128]> = (0..lanes).collect();
            let low = self.spread(low_bits, &low);
            let high = self.constant_value(width - low_bits, first >> low_bits);
            return Rc::new(low.bit_concat(&high.tile(lanes as u32)));
        }
        let cells: Vec<Data> = values.iter().map(|value| Data::Public(*value)).collect();
        self.pack(&cells, width)
    }

    /// One lane, which is cut out once while it is remembered.
    fn slice(&mut self, value: &Rc<Value>, lane: u32) -> Rc<Value> {
        let address = Rc::as_ptr(value) as usize / 16;
        let slot = (address.wrapping_mul(31) + lane as usize) % self.slices.len();
        if let Some((known, at, cut)) = &self.slices[slot]
            && Rc::ptr_eq(known, value)
            && *at == lane
        {
            return cut.clone();
        }
        let cut = Rc::new(value.lane_slice(lane, 1));
        self.slices[slot] = Some((value.clone(), lane, cut.clone()));
        cut
    }

    /// Reports what stands where an integer is needed; `None` if it is one.
    fn unfit(&mut self, data: &Data) -> Option<Result<Data, Stop>> {
        Some(match data {
            Data::Poison => Ok(Data::Poison),
            Data::Undefined => self.error("this uses a value that is not set", UNSET),
            Data::Pointer(..) | Data::Indexed(_) | Data::Places(..) => {
                self.error("this computes with an address", "use indices instead of addresses")
            }
            Data::Function(_) => self.error("this computes with a function", "use integers"),
            _ => return None,
        })
    }

    /// Applies to each element where one operand is a vector.
    fn elements(
        &mut self,
        operands: &[&Data],
        apply: &mut dyn FnMut(&mut Self, &[&Data]) -> Result<Data, Stop>,
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
    fn by_lane(&self, operands: &[&Data], apply: impl Fn(&[u128]) -> u128) -> Option<Data> {
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

    pub(super) fn binary(
        &mut self,
        op: Binary,
        width: u16,
        a: &Data,
        b: &Data,
    ) -> Result<Data, Stop> {
        match (a, b) {
            (Data::Public(x), Data::Public(y)) => {
                return match public::binary(op, width, *x, *y) {
                    Some(result) => Ok(Data::Public(result)),
                    None => self.error("this divides by zero", "divide by something else"),
                };
            }
            (Data::Pointer(p, x), Data::Pointer(q, y)) if op == Binary::Sub && p == q => {
                return Ok(Data::Public((x - y) as u64 as u128));
            }
            (Data::Pointer(p, x), Data::Public(y)) if op == Binary::Add => {
                return Ok(Data::Pointer(*p, x.wrapping_add(*y as i64)));
            }
            _ => {}
        }
        let mut each = |machine: &mut Self, parts: &[&Data]| {
            machine.binary(op, width, parts[0], parts[1])
        };
        if let Some(results) = self.elements(&[a, b], &mut each) {
            return results;
        }
        if let Some(unfit) = self.unfit(a).or_else(|| self.unfit(b)) {
            return unfit;
        }
        let divides = matches!(op, Binary::UDiv | Binary::SDiv | Binary::URem | Binary::SRem);
        if divides && is_zero_somewhere(b) {
            return self.error("this divides by zero", "divide by something else");
        }
        let apply = |v: &[u128]| public::binary(op, width, v[0], v[1]).unwrap_or_default();
        if let Some(spread) = self.by_lane(&[a, b], apply) {
            return Ok(spread);
        }
        if let Some(rehearsal) = &mut self.rehearsal {
            return Ok(rehearsal.hidden(width));
        }
        if let Data::Public(amount) = b
            && matches!(op, Binary::Shl | Binary::LShr | Binary::AShr)
        {
            let value = self.value(a, width);
            return Ok(self.known(shift(op, &value, *amount as u64)));
        }
        let (x, y) = (self.value(a, width), self.value(b, width));
        let result = record_binary(op, &x, &y);
        Ok(self.known(result))
    }

    pub(super) fn compare(
        &mut self,
        op: Compare,
        width: u16,
        a: &Data,
        b: &Data,
    ) -> Result<Data, Stop> {
        match (a, b) {
            (Data::Public(x), Data::Public(y)) => {
                return Ok(Data::bit(public::compare(op, width, *x, *y)));
            }
            (Data::Pointer(p, x), Data::Pointer(q, y)) => {
                let (x, y) = if p == q { (*x as u64, *y as u64) } else { (0, 1) };
                if p == q || matches!(op, Compare::Eq | Compare::Ne) {
                    return Ok(Data::bit(public::compare(op, 64, x.into(), y.into())));
                }
            }
            (Data::Pointer(..), Data::Public(0)) | (Data::Public(0), Data::Pointer(..)) => {
                return Ok(Data::bit(op == Compare::Ne));
            }
            _ => {}
        }
        let mut each = |machine: &mut Self, parts: &[&Data]| {
            machine.compare(op, width, parts[0], parts[1])
        };
        if let Some(results) = self.elements(&[a, b], &mut each) {
            return results;
        }
        if let Some(unfit) = self.unfit(a).or_else(|| self.unfit(b)) {
            return unfit;
        }
        let apply = |v: &[u128]| u128::from(public::compare(op, width, v[0], v[1]));
        if let Some(spread) = self.by_lane(&[a, b], apply) {
            return Ok(spread);
        }
        if let Some(rehearsal) = &mut self.rehearsal {
            return Ok(rehearsal.hidden(width));
        }
        let (x, y) = (self.value(a, width), self.value(b, width));
        let (sx, sy) = (x.with_sign(true), y.with_sign(true));
        let result = match op {
            Compare::Eq => x.eq(&y),
            Compare::Ne => x.ne(&y),
            Compare::Ult => x.lt(&y),
            Compare::Ule => x.le(&y),
            Compare::Ugt => y.lt(&x),
            Compare::Uge => y.le(&x),
            Compare::Slt => sx.lt(&sy),
            Compare::Sle => sx.le(&sy),
            Compare::Sgt => sy.lt(&sx),
            Compare::Sge => sy.le(&sx),
        };
        Ok(self.known(result))
    }

    pub(super) fn unary(
        &mut self,
        op: Unary,
        from: u16,
        to: u16,
        a: &Data,
    ) -> Result<Data, Stop> {
        if let Data::Public(value) = a {
            return Ok(Data::Public(public::unary(op, from, to, *value)));
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
        if let Some(unfit) = self.unfit(a) {
            return unfit;
        }
        if let Some(spread) = self.by_lane(&[a], |v| public::unary(op, from, to, v[0])) {
            return Ok(spread);
        }
        if let Some(rehearsal) = &mut self.rehearsal {
            return Ok(rehearsal.hidden(from.max(to)));
        }
        let value = self.value(a, from);
        let result = match op {
            Unary::Truncate => value.bit_slice(0, to),
            Unary::ZeroExtend => value.cast(ElementType::unsigned(to)),
            Unary::SignExtend => {
                value.with_sign(true).cast(ElementType::signed(to)).with_sign(false)
            }
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
        Ok(self.known(result))
    }

    /// `a` where the condition holds, else `b`, integers of `width` bits or addresses.
    pub(super) fn select(
        &mut self,
        condition: &Data,
        a: &Data,
        b: &Data,
        width: u16,
    ) -> Result<Data, Stop> {
        if let Data::Public(bit) = condition {
            return Ok(if bit & 1 == 1 { a.clone() } else { b.clone() });
        }
        let is_vector = |data: &Data| matches!(data, Data::Many(_));
        if a.is_same(b) && !is_vector(condition) {
            return Ok(a.clone());
        }
        match (a, b) {
            (Data::Poison, _) | (_, Data::Poison) => return Ok(Data::Poison),
            (Data::Undefined, other) | (other, Data::Undefined) => return Ok(other.clone()),
            _ => {}
        }
        let mut each = |machine: &mut Self, p: &[&Data]| machine.select(p[0], p[1], p[2], width);
        if let Some(results) = self.elements(&[condition, a, b], &mut each) {
            return results;
        }
        if let Some(unfit) = self.unfit(condition) {
            return unfit;
        }
        let is_address =
            |data: &Data| matches!(data, Data::Pointer(..) | Data::Indexed(_) | Data::Places(..));
        if is_address(a) || is_address(b) {
            return self.select_address(condition, a, b);
        }
        if matches!((a, b), (Data::Function(_), _) | (_, Data::Function(_))) {
            return self.error(
                "which function this is depends on a secret",
                "call both, and choose between what they return",
            );
        }
        if let Some(unfit) = self.unfit(a).or_else(|| self.unfit(b)) {
            return unfit;
        }
        let choose = |v: &[u128]| if v[0] & 1 == 1 { v[1] } else { v[2] };
        if let Some(spread) = self.by_lane(&[condition, a, b], choose) {
            return Ok(spread);
        }
        if let Some(rehearsal) = &mut self.rehearsal {
            return Ok(rehearsal.hidden(width));
        }
        let condition = self.value(condition, 1);
        let (x, y) = (self.value(a, width), self.value(b, width));
        Ok(self.known(condition.select(&x, &y)))
    }

    /// The low and high half of a double width shift.
    pub(super) fn funnel(
        &mut self,
        left: bool,
        width: u16,
        operands: [&Data; 3],
    ) -> Result<Data, Stop> {
        let mut each = |machine: &mut Self, p: &[&Data]| {
            machine.funnel(left, width, [p[0], p[1], p[2]])
        };
        if let Some(results) = self.elements(&operands, &mut each) {
            return results;
        }
        for data in operands {
            if let Some(unfit) = self.unfit(data) {
                return unfit;
            }
        }
        let [high, low, amount] = operands;
        if let (Data::Public(h), Data::Public(l), Data::Public(s)) = (high, low, amount) {
            return Ok(Data::Public(public::funnel(left, width, *h, *l, *s)));
        }
        if let Some(rehearsal) = &mut self.rehearsal {
            return Ok(rehearsal.hidden(2 * width));
        }
        let (h, l) = (self.value(high, width), self.value(low, width));
        let result = match amount {
            Data::Public(amount) => {
                let amount = (*amount % u128::from(width)) as u16;
                // Left by a is right by width - a, but for 0.
                let start = match (left, amount) {
                    (true, amount) => width - amount,
                    (false, amount) => amount,
                };
                l.bit_concat(&h).bit_slice(start, width)
            }
            _ => {
                let amount = self.value(amount, width).bit_slice(0, log2(width));
                let both = l.bit_concat(&h);
                if left {
                    both.shift_left_by(&amount).bit_slice(width, width)
                } else {
                    both.shift_right_by(&amount).bit_slice(0, width)
                }
            }
        };
        Ok(self.known(result))
    }

    /// The wrapped result of a sum, difference or product and whether it wrapped.
    pub(super) fn overflow(
        &mut self,
        op: Binary,
        is_signed: bool,
        width: u16,
        a: &Data,
        b: &Data,
    ) -> Result<Data, Stop> {
        if let Some(unfit) = self.unfit(a).or_else(|| self.unfit(b)) {
            return unfit;
        }
        let pair = |a, b| Ok(Data::Many([a, b].into()));
        if let (Data::Public(x), Data::Public(y)) = (a, b) {
            let (result, wrapped) = public::overflow(op, is_signed, width, *x, *y);
            return pair(Data::Public(result), Data::bit(wrapped));
        }
        if let Some(rehearsal) = &mut self.rehearsal {
            let hidden = rehearsal.hidden(2 * width);
            return pair(hidden.clone(), hidden);
        }
        let wide = ElementType::integer(if op == Binary::Mul { 2 * width } else { width + 1 }, is_signed);
        let x = self.value(a, width).with_sign(is_signed);
        let y = self.value(b, width).with_sign(is_signed);
        let exact = match op {
            Binary::Mul => x.mul_full(&y),
            Binary::Add => x.cast(wide).add(&y.cast(wide)),
            _ => x.cast(wide).sub(&y.cast(wide)),
        };
        let result = exact.bit_slice(0, width);
        let again = result.with_sign(is_signed).cast(wide).with_sign(false);
        let wrapped = again.ne(&exact.with_sign(false));
        pair(self.known(result), self.known(wrapped))
    }
}

fn is_zero_somewhere(data: &Data) -> bool {
    match data {
        Data::Public(value) => *value == 0,
        Data::Spread(values) => values.contains(&0),
        _ => false,
    }
}

/// The low 128 bits of a lane.
fn low_bits(lane: Lane) -> u128 {
    let limbs = lane.as_limbs();
    u128::from(limbs[0]) | u128::from(limbs[1]) << 64
}

/// Bits that count up to `width - 1`.
fn log2(width: u16) -> u16 {
    (u16::BITS - (width - 1).leading_zeros()).max(1) as u16
}

fn shift(op: Binary, value: &Value, amount: u64) -> Value {
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
        Binary::Mul => x.mul(y),
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
