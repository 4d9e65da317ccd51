//! Binary floating-point numbers as text: `1.25`, `-3e-7`, `inf`, `NaN`.
//!
//! A text is read as the nearest number, ties to even; of 16 bits as the number nearest to the nearest one of 64. What
//! is written is the shortest text that is read as the same number.

use phineus_bytecode::Lane;

use crate::cell::shown_float;

/// Characters of the longest text of a number: `-2.2250738585072014e-308`.
pub(crate) const TEXT_BYTES_MAX: u64 = 24;

/// The one NaN of computations (`phineus_frontend::Float`).
const NAN_16: u16 = 0x7e00;
const NAN_32: u32 = 0x7fc0_0000;
const NAN_64: u64 = 0x7ff8_0000_0000_0000;

/// The bits of the number of `width` bits that is nearest to a text.
///
/// # Errors
/// What is wrong with the text.
pub(crate) fn parse(text: &str, width: u16) -> Result<Lane, String> {
    let shown: String = text.chars().take(40).collect();
    let wrong = || match text {
        "" => "it is empty and should be a number".to_owned(),
        _ => format!("'{shown}' is not a number"),
    };
    let bits = match width {
        // Rounded once, from the text.
        32 => bits_of_single(text.parse().map_err(|_| wrong())?),
        _ => bits_of(text.parse().map_err(|_| wrong())?, width),
    };
    if number_of(bits, width).is_infinite() && !text.to_ascii_lowercase().contains("inf") {
        return Err(format!("'{shown}' is beyond the largest number of {width} bits"));
    }
    Ok(Lane::from(bits))
}

/// The text of a number of `width` bits.
pub(crate) fn format(value: Lane, width: u16) -> String {
    let bits = value.as_limbs()[0];
    match width {
        64 => shown_float(f64::from_bits(bits)),
        // A half has at most 11 bits, which any single holds; its shortest text may be longer than it must.
        _ => shown_float(number_of(bits, width) as f32),
    }
}

/// The bits of the number of `width` bits nearest to a double.
pub(crate) fn bits_of(number: f64, width: u16) -> u64 {
    match width {
        16 => u64::from(half_bits(number)),
        32 => bits_of_single(number as f32),
        _ if number.is_nan() => NAN_64,
        _ => number.to_bits(),
    }
}

fn bits_of_single(number: f32) -> u64 {
    u64::from(if number.is_nan() { NAN_32 } else { number.to_bits() })
}

/// A number of `width` bits as a double, which is exact.
pub(crate) fn number_of(bits: u64, width: u16) -> f64 {
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
    fn every_half_is_its_text_again() {
        for bits in 0..=u16::MAX {
            let is_nan = bits & 0x7fff > 0x7c00;
            let expected = if is_nan { NAN_16 } else { bits };
            assert_eq!(half_bits(half_number(bits)), expected);
            let text = format(Lane::from(bits), 16);
            assert_eq!(parse(&text, 16), Ok(Lane::from(expected)), "{text}");
        }
    }

    #[test]
    fn numbers_are_their_texts_again() {
        let mut state = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
        println!("seed: {state}");
        for _ in 0..100_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let mixed = state ^ state >> 29;
            for (width, bits) in [(32, mixed & 0xffff_ffff), (64, mixed)] {
                let text = format(Lane::from(bits), width);
                assert!(text.len() as u64 <= TEXT_BYTES_MAX, "{text}");
                let expected = bits_of(number_of(bits, width), width);
                assert_eq!(parse(&text, width), Ok(Lane::from(expected)), "{text}");
            }
        }
    }

    #[test]
    fn edges_are_read_as_stated() {
        let read = |text: &str, width| parse(text, width).map(|bits| bits.as_limbs()[0]);
        assert_eq!(read("0.1", 32), Ok(u64::from(0.1f32.to_bits())));
        assert_eq!(read("-0", 64), Ok(1 << 63));
        assert_eq!(read("1e-50", 32), Ok(0));
        assert_eq!(read("-Infinity", 16), Ok(0xfc00));
        assert_eq!(read("nan", 64), Ok(NAN_64));
        assert_eq!(read("65519.9", 16), Ok(0x7bff));
        for (text, width) in [("65520", 16), ("1e39", 32), ("-1e400", 64)] {
            let what = format!("'{text}' is beyond the largest number of {width} bits");
            assert_eq!(read(text, width), Err(what));
        }
        assert_eq!(read("", 32), Err("it is empty and should be a number".to_owned()));
        assert_eq!(read("1,5", 32), Err("'1,5' is not a number".to_owned()));
    }
}
