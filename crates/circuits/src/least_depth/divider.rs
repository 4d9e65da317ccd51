//! Division, digit by digit in a large radix.
//!
//! Each step brings `DIGIT_BITS` bits of the dividend down and compares the partial remainder
//! with all multiples `m D` of the divisor at once, by subtracting them. The comparisons are a
//! thermometer: the digit's bits are XORs of them, and the next remainder is
//! `R ^ XOR over m of (R >= m D) & ((R - m D) ^ (R - (m - 1) D))`, one level of ANDs. The bits
//! brought down are there early, so only the carry through the others takes time; and a
//! remainder never has more bits than were brought down, so early steps are narrow.
//!
//! Depth of a step: `ceil(log2(j + 2)) + 1` with `j` bits of remainder before it. Larger digits
//! buy depth with ANDs; a quotient has these ANDs and this depth:
//!
//! | digit | 32 bits | 64 bits |
//! |---|---|---|
//! | 1 bit | 2,286 at 172 | 10,007 at 398 |
//! | 2 bits | 3,306 at 86 | 14,664 at 199 |
//! | **3 bits** | 5,168 at 59 | 22,605 at 137 |
//! | 4 bits | 8,164 at 46 | 35,872 at 103 |
//!
//! The product of both is least for 2 bits and 7 % more for 3, which are a third faster where
//! rounds are what counts; 4 bits pay 60 % more ANDs for a quarter less depth. Division by
//! Goldschmidt's or Newton's multiplications was estimated, not built: about 75 levels for 32 bits
//! (normalisation, three products of 12 levels after a table, one more to correct the last place).
//!
//! By zero all comparisons hold and nothing is subtracted: the quotient is all ones, the remainder
//! the dividend, as the meaning of the operation asks for.

use super::adder::{complement, negate_if, sum};
use super::columns::WeightColumns;
use super::order::{all, any};
use super::plan::BestNetworks;
use super::prefix::{PrefixElement, carries, columns};
use crate::record::{Recorder, Wire};

/// Bits of a quotient digit.
pub const DIGIT_BITS: usize = 3;

/// Quotient and remainder of unsigned integers; by zero all ones and the dividend.
pub fn divrem_unsigned(r: &mut Recorder, a: &[Wire], b: &[Wire]) -> (Vec<Wire>, Vec<Wire>) {
    divrem_by_digits(r, a, b, DIGIT_BITS)
}

/// Quotient rounded towards zero and remainder with the dividend's sign; by zero all ones and the
/// dividend. The smallest integer by -1 is itself.
pub fn divrem_signed(r: &mut Recorder, a: &[Wire], b: &[Wire]) -> (Vec<Wire>, Vec<Wire>) {
    let (a_sign, b_sign) = (a[a.len() - 1], b[b.len() - 1]);
    let (a_size, b_size) = (negate_if(r, a_sign, a), negate_if(r, b_sign, b));
    let (quotient, remainder) = divrem_unsigned(r, &a_size, &b_size);
    // All ones by zero stay.
    let signs_differ = r.xor2(a_sign, b_sign);
    let some = any(r, b);
    let negative = r.and2(signs_differ, some);
    (negate_if(r, negative, &quotient), negate_if(r, a_sign, &remainder))
}

/// The multiples `D` to `(2^digit_bits - 1) D` of the divisor, what tells whether they fit, and
/// the networks to subtract them.
struct Divisor {
    /// `multiples[m - 1]` is `m D`.
    multiples: Vec<Vec<Wire>>,
    divisor: Vec<Wire>,
    plans: BestNetworks,
}

pub(super) fn divrem_by_digits(
    r: &mut Recorder,
    a: &[Wire],
    b: &[Wire],
    digit_bits: usize,
) -> (Vec<Wire>, Vec<Wire>) {
    let width = a.len();
    let mut plans = BestNetworks::default();
    let multiples = multiples(r, &mut plans, b, digit_bits);
    let mut divisor = Divisor { multiples, divisor: b.to_vec(), plans };
    let mut remainder: Vec<Wire> = Vec::new();
    let mut quotient = Vec::new();
    // Digits from the top; the first takes what is left over.
    let first = (width - 1) % digit_bits + 1;
    let ends = (0..width).step_by(digit_bits).map(|done| width - (first + done).min(width));
    let mut high = width;
    for low in ends {
        let mut partial = a[low..high].to_vec();
        partial.extend_from_slice(&remainder);
        let (digit, next) = divisor.step(r, &partial, high - low);
        remainder = next;
        quotient.splice(0..0, digit);
        high = low;
    }
    (quotient, remainder)
}

/// All multiples up to `2^digit_bits - 1`, each `digit_bits` wider than the divisor.
fn multiples(
    r: &mut Recorder,
    plans: &mut BestNetworks,
    b: &[Wire],
    digit_bits: usize,
) -> Vec<Vec<Wire>> {
    let width = b.len() + digit_bits;
    let shifted = |by: usize| -> Vec<Wire> {
        let mut value = vec![Wire::ZERO; by];
        value.extend_from_slice(b);
        value.resize(width, Wire::ZERO);
        value
    };
    let mut out: Vec<Vec<Wire>> = Vec::new();
    for m in 1usize..1 << digit_bits {
        let value = if m.is_power_of_two() {
            shifted(m.ilog2() as usize)
        } else if m.is_multiple_of(2) {
            let mut half = out[m / 2 - 1].clone();
            half.pop();
            half.insert(0, Wire::ZERO);
            half
        } else if (m + 1).is_power_of_two() {
            let above = shifted((m + 1).ilog2() as usize);
            sum(r, plans, &above, &complement(&shifted(0)), Wire::ONE)
        } else {
            let mut columns = WeightColumns::new(width);
            (0..digit_bits)
                .filter(|bit| m >> bit & 1 == 1)
                .for_each(|bit| columns.push_value(bit, b));
            columns.sum(r, plans)
        };
        out.push(value);
    }
    out
}

impl Divisor {
    /// The next digit and the remainder after it; `fresh` low bits of `partial` were brought down.
    fn step(&mut self, r: &mut Recorder, partial: &[Wire], fresh: usize) -> (Vec<Wire>, Vec<Wire>) {
        let n = partial.len();
        // D < 2^n; then m D has no bits beyond n + fresh.
        let divisor_fits = all(r, &complement(self.divisor.get(n..).unwrap_or_default()));
        let mut digit = vec![Wire::ZERO; fresh];
        let mut remainder = partial.to_vec();
        let mut last_difference = partial.to_vec();
        for m in 1usize..1 << fresh {
            let multiple = &self.multiples[m - 1];
            let end = multiple.len().min(n + fresh);
            let mut beyond: Vec<Wire> = complement(multiple.get(n..end).unwrap_or_default());
            beyond.push(divisor_fits);
            let fits = all(r, &beyond);
            let subtrahend = complement(&multiple[..n]);
            let (difference, holds) = self.subtract(r, partial, &subtrahend, fits, fresh);
            for (bit, wire) in digit.iter_mut().enumerate() {
                // Bit k of the digit changes at each multiple of 2^k.
                if m.is_multiple_of(1 << bit) {
                    *wire = r.xor2(*wire, holds);
                }
            }
            for (i, wire) in remainder.iter_mut().enumerate() {
                let change = r.xor2(difference[i], last_difference[i]);
                let applied = r.and2(holds, change);
                *wire = r.xor2(*wire, applied);
            }
            last_difference = difference;
        }
        (digit, remainder)
    }

    /// `a - b` from the complement of `b`, and whether `a >= b` given that `b` `fits`.
    fn subtract(
        &mut self,
        r: &mut Recorder,
        a: &[Wire],
        not_b: &[Wire],
        fits: Wire,
        fresh: usize,
    ) -> (Vec<Wire>, Wire) {
        let mut elements = columns(a, not_b);
        elements.push(PrefixElement::Group(Wire::ZERO, fits));
        let mut all_carries = vec![Wire::ONE];
        let (early, late) = elements.split_at(fresh);
        all_carries.extend(carries(r, &mut self.plans, early, Wire::ONE));
        let middle = all_carries[fresh];
        all_carries.extend(carries(r, &mut self.plans, late, middle));
        let difference = a.iter().zip(not_b).zip(&all_carries).map(|((&a, &b), &carry)| {
            let half = r.xor2(a, b);
            r.xor2(half, carry)
        });
        let difference = difference.collect();
        (difference, all_carries[a.len() + 1])
    }
}
