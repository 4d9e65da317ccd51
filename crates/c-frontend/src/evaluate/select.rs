//! Choices, and operations of two results or of twice the width.

use std::rc::Rc;

use crate::access::chosen::is_address;
use crate::data::Data;
use crate::data::fold;
use crate::emit::zeros::Zeros;
use crate::evaluate::arithmetic::log2;
use crate::interpreter::{Machine, Stop};
use crate::ir::Binary;
use phineus_bytecode::ElementType;

impl Machine<'_> {
    /// `a` where the condition holds, else `b`, integers of `width` bits or addresses. An integer that
    /// is not set is 0 there: with the other one in its place who sees the result would learn what
    /// the condition keeps back.
    pub(crate) fn select(
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
            // An address that is not set means no place.
            (Data::Undefined, other) | (other, Data::Undefined)
                if is_address(other) || matches!(other, Data::Function(_)) =>
            {
                return Ok(other.clone());
            }
            _ => {}
        }
        let mut each = |machine: &mut Self, p: &[&Data]| machine.select(p[0], p[1], p[2], width);
        if let Some(results) = self.elements(&[condition, a, b], &mut each) {
            return results;
        }
        let zero = Data::Public(0);
        let set = |data| if matches!(data, &Data::Undefined) { &zero } else { data };
        let (a, b) = (set(a), set(b));
        if let Some(unfit) = self.unfit(condition) {
            return unfit;
        }
        if is_address(a) || is_address(b) {
            return self.select_address(condition, a, b);
        }
        if matches!((a, b), (Data::Function(_), _) | (_, Data::Function(_))) {
            if let Data::Opened(_) = condition {
                return self.address_differs(&[a.clone(), b.clone()]);
            }
            return self.error(
                "which function this is depends on a secret",
                "call both, and choose between what they return",
            );
        }
        if let Some(unfit) = self.unfit(a).or_else(|| self.unfit(b)) {
            return unfit;
        }
        if let Some(opened) = self.opened_select(condition, a, b, width) {
            return Ok(opened);
        }
        let choose = |v: &[u128]| if v[0] & 1 == 1 { v[1] } else { v[2] };
        if let Some(spread) = self.by_lane(&[condition, a, b], choose) {
            return Ok(spread);
        }
        if let Some(rehearsal) = &mut self.rehearsal {
            return Ok(rehearsal.hidden(width));
        }
        let condition = self.value(condition, 1);
        let (of_a, of_b) = (self.zeros(a, width), self.zeros(b, width));
        let zeros = Zeros { low: of_a.low.min(of_b.low), high: of_a.high.min(of_b.high) };
        let chosen = match (a, b) {
            (Data::Public(_), Data::Public(_)) => None,
            (a, Data::Public(0)) => Some((condition.clone(), self.value(a, width))),
            (Data::Public(0), b) => Some((Rc::new(condition.not()), self.value(b, width))),
            _ => None,
        };
        let chosen = match chosen {
            Some((bit, value)) if value.lanes() < bit.lanes() => bit.mask(&value.tile(bit.lanes())),
            Some((bit, value)) => bit.mask(&value),
            None => condition.select(&self.value(a, width), &self.value(b, width)),
        };
        let chosen = self.known(chosen);
        Ok(self.with_zeros(chosen, zeros))
    }

    /// The low and high half of a double width shift.
    pub(crate) fn funnel(
        &mut self,
        left: bool,
        width: u16,
        operands: [&Data; 3],
    ) -> Result<Data, Stop> {
        let mut each =
            |machine: &mut Self, p: &[&Data]| machine.funnel(left, width, [p[0], p[1], p[2]]);
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
            return Ok(Data::Public(fold::funnel(left, width, *h, *l, *s)));
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
    pub(crate) fn overflow(
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
            let (result, wrapped) = fold::overflow(op, is_signed, width, *x, *y);
            return pair(Data::Public(result), Data::bit(wrapped));
        }
        if let Some(rehearsal) = &mut self.rehearsal {
            let hidden = rehearsal.hidden(2 * width);
            return pair(hidden.clone(), hidden);
        }
        let wide =
            ElementType::integer(if op == Binary::Mul { 2 * width } else { width + 1 }, is_signed);
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
