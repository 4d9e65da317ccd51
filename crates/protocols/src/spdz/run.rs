//! [`ScriptExecution`]: execution of a script on one instruction's rows, level by level.

use std::sync::Arc;

use phineus_correlated::authenticated::{AuthenticatedRandomness, Share};
use phineus_crypto::field::Field;
use zeroize::Zeroizing;

use super::Opening;
use super::script::{JointStep, LocalOperation, LocalStep, OpenedNumber, RoundOperation, Script};
use crate::ProtocolError;

/// Shares, wiped when they go.
pub(super) type ShareBuffer<F> = Zeroizing<Vec<Share<F>>>;

pub(super) fn blank<F: Field>(count: usize) -> ShareBuffer<F> {
    Zeroizing::new(vec![Share::ZERO; count])
}

/// State of the driver that a flight needs.
pub(super) struct FlightContext<'a, F: Field, M> {
    pub(super) opening: &'a mut Opening<F>,
    pub(super) correlated: &'a mut M,
    pub(super) me: usize,
    pub(super) delta: F,
}

/// Products, squares and openings on their way.
struct RoundQueue<F: Field> {
    /// Of triples, then of square pairs.
    a: ShareBuffer<F>,
    b: ShareBuffer<F>,
    c: ShareBuffer<F>,
    /// Where the opened differences and numbers are.
    at: usize,
}

/// A script on rows of so many lanes.
pub(super) struct ScriptExecution<F: Field> {
    pub(super) script: Arc<Script>,
    pub(super) lanes: usize,
    pub(super) rows: ShareBuffer<F>,
    pub(super) publics: Vec<F>,
    level: usize,
    in_flight: RoundQueue<F>,
}

impl<F: Field> ScriptExecution<F> {
    /// `rows` holds the operands in the first slots.
    pub(super) fn new<M: AuthenticatedRandomness<F>>(
        script: Arc<Script>,
        lanes: usize,
        mut rows: ShareBuffer<F>,
        context: &mut FlightContext<'_, F, M>,
    ) -> Result<ScriptExecution<F>, ProtocolError> {
        let (inputs, bits) = (script.input_count as usize, script.bit_count as usize);
        assert!(rows.len() == script.slot_count as usize * lanes, "a row for each slot");
        if bits > 0 {
            context.correlated.bits(&mut rows[inputs * lanes..(inputs + bits) * lanes])?;
        }
        if script.bounded_count > 0 {
            let at = (inputs + bits) * lanes;
            let count = script.bounded_count as usize * lanes;
            context.correlated.bounded(&mut rows[at..at + count])?;
        }
        let publics = vec![F::ZERO; script.public_count as usize * lanes];
        let in_flight = RoundQueue { a: blank(0), b: blank(0), c: blank(0), at: 0 };
        Ok(ScriptExecution { script, lanes, rows, publics, level: 0, in_flight })
    }

    /// The rows of output `k`.
    pub(super) fn output(&self, k: usize) -> &[Share<F>] {
        let slot = self.script.outputs[k] as usize * self.lanes;
        &self.rows[slot..slot + self.lanes]
    }

    /// Does what the next level can do alone and begins what it does together; whether there is
    /// any.
    pub(super) fn issue<M: AuthenticatedRandomness<F>>(
        &mut self,
        context: &mut FlightContext<'_, F, M>,
    ) -> Result<bool, ProtocolError> {
        let script = self.script.clone();
        let level = &script.levels[self.level];
        for step in &level.local {
            self.step(step, context);
        }
        let amounts = level.amounts();
        if amounts.opened() == 0 {
            return Ok(false);
        }
        let lanes = self.lanes;
        let (products, squares) = (amounts.products * lanes, amounts.squares * lanes);
        let RoundQueue { a, b, c, at } = &mut self.in_flight;
        a.resize(products + squares, Share::ZERO);
        b.resize(products, Share::ZERO);
        c.resize(products + squares, Share::ZERO);
        if products > 0 {
            context.correlated.triples(&mut a[..products], b, &mut c[..products])?;
        }
        if squares > 0 {
            context.correlated.squares(&mut a[products..], &mut c[products..])?;
        }
        // In the order of steps: of products x - a, then all y - b, then squares, then openings.
        let mut masked = blank(amounts.opened() * lanes);
        let (x, rest) = masked.split_at_mut(products);
        let (y, rest) = rest.split_at_mut(products);
        let (s, o) = rest.split_at_mut(squares);
        let (mut product, mut square, mut open) = (0, 0, 0);
        let row = |slot: u32| &self.rows[slot as usize * lanes..(slot as usize + 1) * lanes];
        for step in &level.joint {
            match step.what {
                RoundOperation::Product { a, b } => {
                    x[product..product + lanes].copy_from_slice(row(a));
                    y[product..product + lanes].copy_from_slice(row(b));
                    product += lanes;
                }
                RoundOperation::Square { a } => {
                    s[square..square + lanes].copy_from_slice(row(a));
                    square += lanes;
                }
                RoundOperation::Open { a } => {
                    o[open..open + lanes].copy_from_slice(row(a));
                    open += lanes;
                }
            }
        }
        F::sub_assign(Share::elements_mut(x), Share::elements(&a[..products]));
        F::sub_assign(Share::elements_mut(y), Share::elements(b));
        F::sub_assign(Share::elements_mut(s), Share::elements(&a[products..]));
        *at = context.opening.push(&masked);
        Ok(true)
    }

    /// Takes what was opened: `xy = c + d b + e a + d e` for `d = x - a` and `e = y - b`;
    /// `x^2 = c + 2 d a + d^2`.
    pub(super) fn take<M: AuthenticatedRandomness<F>>(
        &mut self,
        context: &mut FlightContext<'_, F, M>,
    ) {
        let script = self.script.clone();
        let level = &script.levels[self.level];
        let lanes = self.lanes;
        let amounts = level.amounts();
        let (products, squares) = (amounts.products * lanes, amounts.squares * lanes);
        let RoundQueue { a, b, c, at } = &self.in_flight;
        let opened = context.opening.opened(*at, amounts.opened() * lanes);
        let (d, rest) = opened.split_at(products);
        let (e, rest) = rest.split_at(products);
        let (s, o) = rest.split_at(squares);
        if self.level == 0 && script.opens_narrowly() {
            let hidden_bits = script.bit_count / script.bounded_count + 1;
            context.correlated.opened_narrowly(o, hidden_bits);
        }
        let (mut product, mut square, mut open) = (0, 0, 0);
        for &JointStep { out, what } in &level.joint {
            let range = out as usize * lanes..(out as usize + 1) * lanes;
            match what {
                RoundOperation::Product { .. } => {
                    for (k, row) in self.rows[range].iter_mut().enumerate() {
                        let k = product + k;
                        let both = Share::public(d[k].mul(e[k]), context.me, context.delta);
                        let cross = b[k].scale(d[k]).add(a[k].scale(e[k]));
                        *row = c[k].add(cross).add(both);
                    }
                    product += lanes;
                }
                RoundOperation::Square { .. } => {
                    for (k, row) in self.rows[range].iter_mut().enumerate() {
                        let (d, pair) = (s[square + k], products + square + k);
                        let both = Share::public(d.mul(d), context.me, context.delta);
                        *row = c[pair].add(a[pair].scale(d.add(d))).add(both);
                    }
                    square += lanes;
                }
                RoundOperation::Open { .. } => {
                    self.publics[range].copy_from_slice(&o[open..open + lanes]);
                    open += lanes;
                }
            }
        }
        self.level += 1;
    }

    fn step<M>(&mut self, step: &LocalStep, context: &FlightContext<'_, F, M>) {
        let lanes = self.lanes;
        let LocalStep { out, what } = step;
        let mut result = blank::<F>(lanes);
        let row = |slot: u32| &self.rows[slot as usize * lanes..(slot as usize + 1) * lanes];
        let public = |value: F| Share::public(value, context.me, context.delta);
        match what {
            LocalOperation::Combine(combined) => {
                if combined.constant != 0 {
                    result.fill(public(F::from_signed(combined.constant)));
                }
                let sum = Share::elements_mut(&mut result);
                for (slot, factor) in &combined.terms {
                    let row = Share::elements(row(*slot));
                    match factor {
                        1 => F::add_assign(sum, row),
                        -1 => F::sub_assign(sum, row),
                        _ => F::scale_add(sum, F::from_signed(*factor), row),
                    }
                }
            }
            LocalOperation::Xor { a, b, product } => {
                result.copy_from_slice(row(*a));
                let (sum, product) = (Share::elements_mut(&mut result), row(*product));
                F::add_assign(sum, Share::elements(row(*b)));
                F::sub_assign(sum, Share::elements(product));
                F::sub_assign(sum, Share::elements(product));
            }
            LocalOperation::Not { a } => {
                result.fill(public(F::ONE));
                F::sub_assign(Share::elements_mut(&mut result), Share::elements(row(*a)));
            }
            LocalOperation::Less { shared, number, bit } => {
                let digits = self.digits(*number, *bit);
                for ((out, r), digit) in result.iter_mut().zip(row(*shared)).zip(digits) {
                    *out = if digit { Share::ZERO } else { *r };
                }
            }
            LocalOperation::Equal { shared, number, bit } => {
                let digits = self.digits(*number, *bit);
                for ((out, r), digit) in result.iter_mut().zip(row(*shared)).zip(digits) {
                    *out = if digit { *r } else { public(F::ONE).sub(*r) };
                }
            }
            LocalOperation::LessOfTwo(two) => {
                let [low, high, both] = [two.low, two.high, two.both].map(row);
                let digits = self.pairs_of_digits(two.number, two.bit);
                for (k, (out, digits)) in result.iter_mut().zip(digits).enumerate() {
                    *out = match digits {
                        [false, false] => high[k].add(low[k]).sub(both[k]),
                        [true, false] => high[k],
                        [false, true] => both[k],
                        [true, true] => Share::ZERO,
                    };
                }
            }
            LocalOperation::EqualOfTwo(two) => {
                let [low, high, both] = [two.low, two.high, two.both].map(row);
                let digits = self.pairs_of_digits(two.number, two.bit);
                for (k, (out, digits)) in result.iter_mut().zip(digits).enumerate() {
                    *out = match digits {
                        [false, false] => public(F::ONE).sub(high[k]).sub(low[k]).add(both[k]),
                        [true, false] => low[k].sub(both[k]),
                        [false, true] => high[k].sub(both[k]),
                        [true, true] => both[k],
                    };
                }
            }
            LocalOperation::Differs { shared, number, bit } => {
                let digits = self.digits(*number, *bit);
                for ((out, r), digit) in result.iter_mut().zip(row(*shared)).zip(digits) {
                    *out = if digit { public(F::ONE).sub(*r) } else { *r };
                }
            }
            LocalOperation::AddLow { row: slot, number, bits } => {
                let lows = self.lows(*number, *bits);
                for ((out, r), low) in result.iter_mut().zip(row(*slot)).zip(lows) {
                    *out = r.add(public(low));
                }
            }
            LocalOperation::TimesLow { row: slot, number, bits } => {
                let lows = self.lows(*number, *bits);
                for ((out, r), low) in result.iter_mut().zip(row(*slot)).zip(lows) {
                    *out = r.scale(low);
                }
            }
            LocalOperation::Halved { row: slot, times } => {
                let factor = F::new(1 << *times).inverse();
                F::scale_add(Share::elements_mut(&mut result), factor, Share::elements(row(*slot)));
            }
        }
        let at = *out as usize * lanes;
        self.rows[at..at + lanes].copy_from_slice(&result);
    }

    /// A public number in each lane.
    fn numbers(&self, number: OpenedNumber) -> impl Iterator<Item = u128> + '_ {
        let at = number.public.slot() * self.lanes;
        let plus = if number.plus_prime { F::MODULUS } else { 0 };
        self.publics[at..at + self.lanes].iter().map(move |c| c.value().wrapping_add(plus))
    }

    fn digits(&self, number: OpenedNumber, bit: u32) -> impl Iterator<Item = bool> + '_ {
        self.numbers(number).map(move |number| number >> bit & 1 == 1)
    }

    /// The lower and the higher of two bits of a number.
    fn pairs_of_digits(
        &self,
        number: OpenedNumber,
        bit: u32,
    ) -> impl Iterator<Item = [bool; 2]> + '_ {
        self.numbers(number).map(move |number| [bit, bit + 1].map(|bit| number >> bit & 1 == 1))
    }

    fn lows(&self, number: OpenedNumber, bits: u32) -> impl Iterator<Item = F> + '_ {
        self.numbers(number).map(move |number| F::new(number & ((1 << bits) - 1)))
    }
}
