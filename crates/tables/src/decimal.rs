//! Fixed-point numbers as text: decimals such as `-1.25`, exact in between.
//!
//! A number is an integer of `w` bits divided by `2^f`. A text is read as the nearest one, of two
//! equally near ones the one away from zero (as C's `round`); what is written is the shortest text
//! that is read as the same number.
//!
//! Invariant: nothing leaves 256 bits. Of what is read, digits and bits behind the point are counted;
//! of what is written, `2^128 * 10^20 < 2^195`.

use phineus_bytecode::limits::FRACTION_BITS_MAX;
use phineus_bytecode::{ElementType, Lane};

/// Digits that a field may have, after leading zeros: `10^76 < 2^256`.
const DIGITS_MAX: usize = 76;
/// The largest exponent that a field may state.
const EXPONENT_MAX: i32 = 300;
/// `10^19 < 2^64`: digits that tell all fractions of 63 bits apart.
const FRACTION_DIGITS_MAX: u32 = 20;
const _: () = assert!(FRACTION_BITS_MAX < 64);

/// `base` to the power of `exponent`, modulo `2^256`.
pub(crate) fn power(base: u64, exponent: u32) -> Lane {
    Lane::from(base).wrapping_pow(Lane::from(exponent))
}

fn power_of_ten(exponent: u32) -> Lane {
    power(10, exponent)
}

/// `dividend / divisor`, to the nearest integer, halves up.
fn rounded(dividend: Lane, divisor: Lane) -> Lane {
    let half = divisor >> 1;
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    let is_up = match divisor.bit(0) {
        true => rest > half,
        false => rest >= half,
    };
    quotient + Lane::from(u64::from(is_up))
}

/// The integer that the text of a number stands for.
///
/// # Errors
/// What is wrong with the text.
pub(crate) fn parse(text: &str, element: ElementType, fraction: u8) -> Result<Lane, String> {
    let shown: String = text.chars().take(40).collect();
    let no_number = || match text {
        "" => "it is empty and should be a number".to_owned(),
        _ => format!("'{shown}' is not a decimal number"),
    };
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match magnitude.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| no_number())?),
        None => (magnitude, 0),
    };
    let (whole, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{behind}");
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit()) {
        return Err(no_number());
    }
    let digits = digits.trim_start_matches('0');
    let misfit = || {
        let (low, high) = bounds(element, fraction);
        format!("'{shown}' does not fit a number from {low} to {high}")
    };
    if digits.is_empty() {
        return Ok(Lane::ZERO);
    }
    let too_long = || format!("'{shown}' has too many digits or a huge exponent");
    if digits.len() > DIGITS_MAX || !(-EXPONENT_MAX..=EXPONENT_MAX).contains(&exponent) {
        return Err(too_long());
    }
    let value = Lane::from_str_radix(digits, 10).map_err(|_| no_number())?;
    if value.bit_len() + usize::from(fraction) > 255 {
        return Err(too_long());
    }
    let scaled = value << usize::from(fraction);
    let places = exponent - behind.len() as i32;
    let magnitude = match places.unsigned_abs() {
        // Nearest to 0: less than half of `2^255 / 10^77`.
        down if places < 0 && down > 77 => Lane::ZERO,
        // No power of 256 bits; what is divided is less than 2^255 < 10^77.
        down if places < 0 && down == 77 => rounded(scaled / Lane::from(10), power_of_ten(76)),
        down if places < 0 => rounded(scaled, power_of_ten(down)),
        up if up > 40 => return Err(misfit()),
        // What wraps is far beyond the type: the digits are checked before.
        up => match scaled.checked_mul(power_of_ten(up)) {
            Some(magnitude) => magnitude,
            None => return Err(misfit()),
        },
    };
    let room = usize::from(element.width()) - usize::from(element.is_signed());
    let bound = Lane::ONE << room;
    let fits = match (element.is_signed(), negative) {
        (true, true) => magnitude <= bound,
        (false, true) => magnitude.is_zero(),
        (_, false) => magnitude < bound,
    };
    match fits {
        false => Err(misfit()),
        true if negative => {
            Ok(magnitude.wrapping_neg() & phineus_bytecode::meaning::mask_of(element.width()))
        }
        true => Ok(magnitude),
    }
}

/// The least and the largest number of a type, as text.
fn bounds(element: ElementType, fraction: u8) -> (String, String) {
    let room = usize::from(element.width()) - usize::from(element.is_signed());
    let most = Lane::ONE << room;
    let low =
        if element.is_signed() { format!("-{}", decimal(most, fraction)) } else { "0".into() };
    (low, decimal(most - Lane::ONE, fraction))
}

/// The number that an integer stands for, as text.
pub(crate) fn format(value: Lane, element: ElementType, fraction: u8) -> String {
    let width = element.width();
    if element.is_signed() && value.bit(usize::from(width) - 1) {
        let magnitude = value.wrapping_neg() & phineus_bytecode::meaning::mask_of(width);
        return format!("-{}", decimal(magnitude, fraction));
    }
    decimal(value, fraction)
}

/// The shortest decimal that is nearest to `magnitude / 2^fraction`.
fn decimal(magnitude: Lane, fraction: u8) -> String {
    let one = Lane::ONE << usize::from(fraction);
    let (mut digits, mut shown) = (0, magnitude / one);
    for count in 0..=FRACTION_DIGITS_MAX {
        let power = power_of_ten(count);
        (digits, shown) = (count, rounded(magnitude * power, one));
        if rounded(shown * one, power) == magnitude {
            break;
        }
    }
    let text = format!("{shown:0>width$}", width = digits as usize + 1);
    let (whole, behind) = text.split_at(text.len() - digits as usize);
    if behind.is_empty() { whole.to_owned() } else { format!("{whole}.{behind}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const Q16: ElementType = ElementType::signed(32);

    #[test]
    fn texts_are_read_as_the_nearest_number() {
        let read = |text| parse(text, Q16, 16);
        let number = |value: i32| Ok(Lane::from(value as u32));
        for (text, value) in [
            ("1.25", 0x1_4000),
            ("-1.25", -0x1_4000),
            ("+3", 3 << 16),
            (".5", 0x8000),
            ("2.", 2 << 16),
            ("0.1", 6554),
            ("1e-1", 6554),
            ("12.5E1", 125 << 16),
            ("0.00000762939453125", 1),
            ("-0.00000762939453125", -1),
            ("0.00000762939453124", 0),
            ("-32768", i32::MIN),
            ("32767.99998", i32::MAX),
            ("0e299", 0),
            ("1e-299", 0),
            ("-0", 0),
        ] {
            assert_eq!(read(text), number(value), "{text}");
        }
        assert_eq!(read(""), Err("it is empty and should be a number".to_owned()));
        for text in ["x", "1.2.3", "--1", "1e", "0x10", "1,5", "e5", ".", "1e99999999999"] {
            assert_eq!(read(text), Err(format!("'{text}' is not a decimal number")));
        }
        let misfit = "does not fit a number from -32768 to 32767.99998";
        for text in ["32768", "-32768.1", "1e30", "1e290", "40000000000000000000000000000000"] {
            assert_eq!(read(text), Err(format!("'{text}' {misfit}")));
        }
        let unsigned = parse("-0.5", ElementType::unsigned(17), 16);
        assert_eq!(unsigned, Err("'-0.5' does not fit a number from 0 to 1.99998".to_owned()));
    }

    #[test]
    fn what_is_written_is_short_and_read_back() {
        let written = |value: i64, fraction| {
            let lane = Lane::from(value as u64);
            format(lane, ElementType::signed(64), fraction)
        };
        assert_eq!(written(6554, 16), "0.1");
        assert_eq!(written(-0x1_4000, 16), "-1.25");
        assert_eq!(written(7 << 20, 20), "7");
        assert_eq!(written(1, 16), "0.00002");
        assert_eq!(written(-5, 0), "-5");
        let mut state = 1u64;
        for fraction in 0..=FRACTION_BITS_MAX {
            for width in [8, 33, 64, 128] {
                for is_signed in [false, true] {
                    let element = ElementType::integer(width, is_signed);
                    let mask = phineus_bytecode::meaning::mask_of(width);
                    let extremes =
                        [Lane::ZERO, Lane::ONE, mask, mask >> 1, (mask >> 1) + Lane::ONE];
                    let random = std::array::from_fn::<Lane, 5, _>(|_| {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695041);
                        Lane::from((u128::from(state) * u128::from(state | 1)) << 3) & mask
                    });
                    for value in extremes.into_iter().chain(random) {
                        let text = format(value, element, fraction);
                        let read = parse(&text, element, fraction);
                        assert_eq!(read, Ok(value), "{text} of {element} with {fraction}");
                    }
                }
            }
        }
    }
}
