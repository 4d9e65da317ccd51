//! Binary floating-point numbers of IEEE 754 as the integers of their bits: 16, 32 or 64.
//!
//! All NaNs have the same bits: machines differ in those that they compute.

/// The positive quiet NaN without payload.
const NAN_16: u16 = 0x7e00;
const NAN_32: u32 = 0x7fc0_0000;
const NAN_64: u64 = 0x7ff8_0000_0000_0000;

/// The bits of the number of `width` bits nearest to a double.
pub fn bits_of(number: f64, width: u16) -> u64 {
    match width {
        16 => u64::from(half_bits(number)),
        32 => bits_of_single(number as f32),
        _ if number.is_nan() => NAN_64,
        _ => number.to_bits(),
    }
}

/// The bits of a number of 32 bits.
pub fn bits_of_single(number: f32) -> u64 {
    u64::from(if number.is_nan() { NAN_32 } else { number.to_bits() })
}

/// A number of `width` bits as a double, which is exact.
pub fn number_of(bits: u64, width: u16) -> f64 {
    match width {
        16 => half_number(bits as u16),
        32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// The least exponent of a half that is normal, and bits of its fraction.
const HALF_EXPONENT_MIN: i32 = -14;
const HALF_FRACTION: i32 = 10;

fn half_bits(number: f64) -> u16 {
    if number.is_nan() {
        return NAN_16;
    }
    let exponent_of = |number: f64| (number.to_bits() >> 52) as i32 - 1023;
    let sign = u16::from(number.is_sign_negative()) << 15;
    let magnitude = number.abs();
    let unit = 2f64.powi(exponent_of(magnitude).max(HALF_EXPONENT_MIN) - HALF_FRACTION);
    let rounded = (magnitude / unit).round_ties_even() * unit;
    if rounded >= 65_536.0 {
        return sign | 0x7c00;
    }
    let exponent = exponent_of(rounded).max(HALF_EXPONENT_MIN);
    let fraction = (rounded / 2f64.powi(exponent - HALF_FRACTION)) as u16;
    // The bit before the point is added to the exponent, which is stored less 1 for it.
    sign | ((((exponent - HALF_EXPONENT_MIN) as u16) << HALF_FRACTION) + fraction)
}

fn half_number(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> HALF_FRACTION & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(HALF_EXPONENT_MIN - HALF_FRACTION),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 1 + HALF_EXPONENT_MIN - HALF_FRACTION),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_its_number_again() {
        for bits in 0..=u16::MAX {
            let is_nan = bits & 0x7fff > 0x7c00;
            let expected = if is_nan { NAN_16 } else { bits };
            assert_eq!(half_bits(half_number(bits)), expected);
        }
    }
}
