//! Powers and square roots in any of the fields.
//!
//! Source: Shanks, "Five number-theoretic algorithms", 1973 (Tonelli's square root); with
//! `p - 1 = 2^s * q` it takes `s^2 / 2` squarings besides two powers. For 2^61 - 1 and 2^32 - 5,
//! `s` is 1, for 2^128 - 159 it is 5.

use super::Field;

/// `base^exponent`. Its time depends on the exponent only.
pub(super) fn power<F: Field>(base: F, exponent: u128) -> F {
    let mut result = F::ONE;
    for bit in (0..u128::BITS - exponent.leading_zeros()).rev() {
        result = result.mul(result);
        if exponent >> bit & 1 == 1 {
            result = result.mul(base);
        }
    }
    result
}

/// A square root of a public element.
pub(super) fn square_root<F: Field>(square: F) -> Option<F> {
    let twos = (F::MODULUS - 1).trailing_zeros();
    let odd = (F::MODULUS - 1) >> twos;
    // Invariant: root^2 = square * rest, and the order of `rest` divides 2^(twos - 1) if there is
    // a root; `unit` has order 2^order.
    let half = power(square, odd >> 1);
    let mut root = half.mul(square);
    let mut rest = root.mul(half);
    let mut unit = power(F::new(F::NON_SQUARE), odd);
    let mut order = twos;
    while rest != F::ONE && rest != F::ZERO {
        let mut squarings = 0;
        let mut power = rest;
        while power != F::ONE {
            power = power.mul(power);
            squarings += 1;
            if squarings >= order {
                return None;
            }
        }
        for _ in squarings + 1..order {
            unit = unit.mul(unit);
        }
        root = root.mul(unit);
        unit = unit.mul(unit);
        rest = rest.mul(unit);
        order = squarings;
    }
    Some(root)
}
