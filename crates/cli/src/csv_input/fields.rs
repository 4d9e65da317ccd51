//! The value of a field: numbers of a declared width, bits in hexadecimal, hashed text, fractions.

use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{Column, ElementType, Encoding, Lane};

use super::text::normalized;
use crate::decimal;
use crate::text_key::TextKey;

/// Bits of the widest integers of which a program states values.
const STATED_WIDTH_MAX: u16 = 128;

/// Characters of a wrong value that are shown.
const SHOWN_CHARACTERS: usize = 40;

/// The value of one field, or what is wrong with it.
pub(crate) fn parse_field(
    field: &str,
    element: ElementType,
    encoding: Encoding,
    text_key: &TextKey,
) -> Result<Lane, String> {
    match encoding {
        Encoding::Number => parse_number(field.trim(), element),
        Encoding::Hex => {
            let digits = field.trim();
            let digits = digits.strip_prefix("0x").unwrap_or(digits);
            parse_digits(digits, 16, field, element)
        }
        Encoding::Text => Ok(hash_text(&normalized(field), element.width(), text_key)),
        Encoding::Fixed(fraction) => decimal::parse(field.trim(), element, fraction),
    }
}

/// Any text, hashed to `width` bits: the first of its hash, lowest byte first.
pub(super) fn hash_text(text: &str, width: u16, key: &TextKey) -> Lane {
    Lane::from_le_bytes(key.hash(text.as_bytes())) & mask_of(width)
}

fn parse_number(text: &str, element: ElementType) -> Result<Lane, String> {
    if element == ElementType::BIT {
        match text {
            "true" | "True" | "TRUE" => return Ok(Lane::ONE),
            "false" | "False" | "FALSE" => return Ok(Lane::ZERO),
            _ => {}
        }
    }
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (radix, digits) = match magnitude.get(..2) {
        Some("0x") => (16, &magnitude[2..]),
        Some("0b") => (2, &magnitude[2..]),
        _ => (10, magnitude),
    };
    // A pattern of bits, such as 0xff, may fill a signed type.
    let is_pattern = radix != 10;
    if !negative && (is_pattern || !element.is_signed()) {
        return parse_digits(digits, radix, text, element);
    }
    let value = digits_value(digits, radix, text)?;
    let width = usize::from(element.width());
    // The most negative value has a magnitude of 2^(width - 1), the largest is one less.
    let bound = Lane::ONE << (width - 1);
    let fits = match (element.is_signed(), negative) {
        (true, true) => value.is_some_and(|value| value <= bound),
        (true, false) => value.is_some_and(|value| value < bound),
        (false, _) => value.is_some_and(|value| value.is_zero()),
    };
    match value {
        Some(value) if fits && negative => Ok(value.wrapping_neg() & mask_of(element.width())),
        Some(value) if fits => Ok(value),
        _ => Err(misfit(text, element)),
    }
}

/// Reads digits of a value without a sign.
fn parse_digits(
    digits: &str,
    radix: u64,
    field: &str,
    element: ElementType,
) -> Result<Lane, String> {
    match digits_value(digits, radix, field)? {
        Some(value) if value.bit_len() <= usize::from(element.width()) => Ok(value),
        _ if radix == 10 => Err(misfit(field, element)),
        _ => Err(format!("'{}' has more than {} bits", shown(field), element.width())),
    }
}

/// The value of digits; `None` if it has more than 256 bits.
fn digits_value(digits: &str, radix: u64, field: &str) -> Result<Option<Lane>, String> {
    let known = |c: char| c.is_digit(radix as u32);
    if digits.is_empty() || !digits.chars().all(known) {
        let what = match radix {
            2 => "a binary number",
            16 => "a hexadecimal number",
            _ => "a whole number",
        };
        return Err(match field.trim() {
            "" => format!("it is empty and should be {what}"),
            field => format!("'{}' is not {what}{}", shown(field), hint(field)),
        });
    }
    Ok(Lane::from_str_radix(digits, radix).ok())
}

/// Remedy for a text that is no whole number, if its form shows what was meant.
fn hint(field: &str) -> &'static str {
    let is = |allowed: &str| field.chars().all(|c| c.is_ascii_digit() || allowed.contains(c));
    let digits = field.chars().filter(char::is_ascii_digit).count();
    match field {
        "NULL" | "null" | "NaN" | "nan" | "NA" | "N/A" | "#N/A" | "None" | "none" | "-" => {
            ": leave out rows without a value, or write the number that stands for none"
        }
        _ if digits == 0 => "",
        _ if is("+") && field.starts_with('+') => ": write it without '+'",
        _ if is("-,'_ ") && field.contains([',', '\'', '_', ' ']) => {
            ": write it without separators between the digits"
        }
        _ if is("-/.:T Z") && digits >= 6 && field.matches(['-', '/', '.']).count() == 2 => {
            ": write dates as numbers, such as 20240131"
        }
        _ if is("-.") && field.matches('.').count() == 1 => {
            ": write it without a fraction (in cents, say)"
        }
        _ if field.parse::<f64>().is_ok() => ": write out all its digits",
        _ => "",
    }
}

/// What is said of a number that is none of the column's type, where a program states its values.
pub(super) fn outside(text: &str, column: &Column, stated: Option<&String>) -> Option<String> {
    let stated = stated?;
    let is_number = parse_field(
        text,
        ElementType::signed(STATED_WIDTH_MAX),
        column.encoding,
        &TextKey::within_a_file(),
    )
    .is_ok();
    is_number.then(|| format!("'{}' is not within {stated}", shown(text)))
}

fn misfit(text: &str, element: ElementType) -> String {
    let width = usize::from(element.width());
    let range = match (element.is_signed(), width) {
        (_, 129..) => String::new(),
        (false, _) => format!(" (0 to {})", mask_of(element.width())),
        (true, _) => {
            let bound = Lane::ONE << (width - 1);
            format!(" (-{bound} to {})", bound - Lane::ONE)
        }
    };
    format!("'{}' does not fit {element}{range}", shown(text))
}

fn shown(text: &str) -> String {
    if text.chars().count() <= SHOWN_CHARACTERS {
        return text.to_owned();
    }
    text.chars().take(SHOWN_CHARACTERS).chain("...".chars()).collect()
}
