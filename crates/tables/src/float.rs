//! Binary floating-point numbers as text: `1.25`, `-3e-7`, `inf`, `NaN`.
//!
//! A text is read as the nearest number, ties to even; of 16 bits as the number nearest to the nearest one of 64. What
//! is written is the shortest text that is read as the same number.

use phineus_bytecode::Lane;
use phineus_bytecode::float::{bits_of, bits_of_single, number_of};

use crate::cell::shown_float;

/// Characters of the longest text of a number: `-2.2250738585072014e-308`.
pub(crate) const TEXT_BYTES_MAX: u64 = 24;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_its_text_again() {
        for bits in 0..=u64::from(u16::MAX) {
            let text = format(Lane::from(bits), 16);
            let expected = Lane::from(bits_of(number_of(bits, 16), 16));
            assert_eq!(parse(&text, 16), Ok(expected), "{text}");
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
        assert_eq!(read("nan", 64), Ok(0x7ff8_0000_0000_0000));
        assert_eq!(read("65519.9", 16), Ok(0x7bff));
        for (text, width) in [("65520", 16), ("1e39", 32), ("-1e400", 64)] {
            let what = format!("'{text}' is beyond the largest number of {width} bits");
            assert_eq!(read(text, width), Err(what));
        }
        assert_eq!(read("", 32), Err("it is empty and should be a number".to_owned()));
        assert_eq!(read("1,5", 32), Err("'1,5' is not a number".to_owned()));
    }
}
