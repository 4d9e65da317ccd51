//! [`TableCell`]: one value of a table as its owner has it, and its conversion to the program's
//! type.
//!
//! Invariant: a conversion is exact, or it is an error. Fractions are the one exception: a decimal
//! or a float becomes the nearest multiple of `2^-f`, as [`crate::decimal`] states.

use std::borrow::Cow;

use phineus_bytecode::float::{bits_of, number_of};
use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{Column, ElementType, Encoding, Lane};

use crate::text::normalized;
use crate::text_key::TextKey;
use crate::{decimal, float};

/// Bits of the widest integers of which a program states values.
const STATED_WIDTH_MAX: u16 = 128;

/// Characters of a wrong value that are shown.
const SHOWN_CHARACTERS: usize = 40;

/// One value of a table as its owner has it.
#[derive(Clone, Debug, PartialEq)]
pub enum TableCell<'a> {
    /// No value.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(WholeNumber),
    /// `number / 10^scale`; a negative scale multiplies.
    Decimal {
        /// All digits.
        number: WholeNumber,
        /// Digits behind the point.
        scale: i32,
    },
    /// A binary floating-point number of 16 bits.
    Half(f32),
    /// A binary floating-point number of 32 bits.
    Single(f32),
    /// A binary floating-point number of 64 bits.
    Double(f64),
    /// Text; in a text format every cell is text, also a number.
    Text(Cow<'a, str>),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A calendar date, as the days since 1970-01-01.
    Date(i32),
}

/// The type of a column's cells, any of which may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellType {
    /// [`TableCell::Boolean`].
    Boolean,
    /// [`TableCell::Integer`] of so many bits: 8, 16, 32 or 64.
    Integer {
        /// Bits, with the sign.
        width: u16,
        /// Whether there are numbers below zero.
        is_signed: bool,
    },
    /// [`TableCell::Decimal`] of at most so many digits, 76 or fewer.
    Decimal {
        /// All digits.
        digits: u8,
        /// Digits behind the point.
        scale: i8,
    },
    /// [`TableCell::Half`] or [`TableCell::Single`].
    Single,
    /// [`TableCell::Double`].
    Double,
    /// [`TableCell::Text`].
    Text,
    /// [`TableCell::Bytes`].
    Bytes,
    /// [`TableCell::Date`].
    Date,
}

/// A whole number of at most 256 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeNumber {
    /// True if it is below zero.
    pub is_negative: bool,
    /// The number without its sign.
    pub magnitude: Lane,
}

impl WholeNumber {
    /// The number with its sign in all 256 bits.
    pub(crate) fn bits(self) -> Lane {
        if self.is_negative { self.magnitude.wrapping_neg() } else { self.magnitude }
    }
}

impl From<i128> for WholeNumber {
    fn from(value: i128) -> WholeNumber {
        WholeNumber { is_negative: value < 0, magnitude: Lane::from(value.unsigned_abs()) }
    }
}

impl From<u64> for WholeNumber {
    fn from(value: u64) -> WholeNumber {
        WholeNumber { is_negative: false, magnitude: Lane::from(value) }
    }
}

impl std::fmt::Display for WholeNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", if self.is_negative { "-" } else { "" }, self.magnitude)
    }
}

impl TableCell<'_> {
    /// The value of the cell in the type of `column`. Text is hashed under `text_key`.
    ///
    /// # Errors
    /// The reason why the column cannot hold it.
    pub fn value(&self, column: &Column, text_key: &TextKey) -> Result<Lane, String> {
        let (element, encoding) = (column.element, column.encoding);
        let parsed = |text: &str| parse_text(text, element, encoding, text_key);
        let refused = |is: &str| Err(format!("is {is}, and the program wants {}", wanted(column)));
        match (self, encoding) {
            (TableCell::Null, Encoding::Text) => Err(NULL_TEXT.to_owned()),
            (TableCell::Null, _) => Err(NULL.to_owned()),
            (TableCell::Text(text), _) => parsed(text),
            (TableCell::Boolean(bit), Encoding::Number | Encoding::Hex) => {
                integer(WholeNumber::from(u64::from(*bit)), column)
            }
            (TableCell::Boolean(_), _) => refused("true or false"),
            (TableCell::Integer(number), Encoding::Number | Encoding::Hex) => {
                integer(*number, column)
            }
            // A whole number has one text only.
            (TableCell::Integer(number), Encoding::Text | Encoding::Fixed(_) | Encoding::Float) => {
                parsed(&number.to_string())
            }
            (TableCell::Decimal { number, scale }, Encoding::Number) => {
                match whole(&decimal_text(number, *scale)) {
                    Some(text) => parsed(&text),
                    None => {
                        let text = decimal_text(number, *scale);
                        Err(format!("'{}' is not a whole number{IN_CENTS}", shown(&text)))
                    }
                }
            }
            (TableCell::Decimal { number, scale }, Encoding::Fixed(_) | Encoding::Float) => {
                parsed(&decimal_text(number, *scale))
            }
            (TableCell::Decimal { .. }, _) => refused("a decimal number"),
            (TableCell::Half(number), Encoding::Number) => {
                parsed(&whole_float((*number).into(), &number.to_string(), HALF_MAX)?)
            }
            (TableCell::Single(number), Encoding::Number) => {
                parsed(&whole_float((*number).into(), &number.to_string(), SINGLE_MAX)?)
            }
            (TableCell::Double(number), Encoding::Number) => {
                parsed(&whole_float(*number, &number.to_string(), DOUBLE_MAX)?)
            }
            // The shortest decimal that is read as the same number, as a CSV file would have it.
            (TableCell::Half(number) | TableCell::Single(number), Encoding::Fixed(_)) => {
                parsed(&number.to_string())
            }
            (TableCell::Double(number), Encoding::Fixed(_)) => parsed(&number.to_string()),
            (TableCell::Half(number) | TableCell::Single(number), Encoding::Float) => {
                nearest_float((*number).into(), element.width())
            }
            (TableCell::Double(number), Encoding::Float) => nearest_float(*number, element.width()),
            (TableCell::Half(_) | TableCell::Single(_) | TableCell::Double(_), _) => {
                refused("a floating-point number")
            }
            (TableCell::Bytes(bytes), Encoding::Hex) => {
                parsed(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
            }
            (TableCell::Bytes(_), _) => refused("binary"),
            (TableCell::Date(days), Encoding::Text) => parsed(&date_text(*days)),
            (TableCell::Date(days), Encoding::Number | Encoding::Fixed(_) | Encoding::Float) => {
                Err(format!("'{}' is a date{DATES}", date_text(*days)))
            }
            (TableCell::Date(_), Encoding::Hex) => refused("a date"),
        }
    }

    /// The cell as text, as it is shown beside a result in a text format.
    pub fn shown(&self) -> String {
        match self {
            TableCell::Null => String::new(),
            TableCell::Boolean(bit) => bit.to_string(),
            TableCell::Integer(number) => number.to_string(),
            TableCell::Decimal { number, scale } => decimal_text(number, *scale),
            TableCell::Half(number) | TableCell::Single(number) => shown_float(*number),
            TableCell::Double(number) => shown_float(*number),
            TableCell::Date(days) => date_text(*days),
            TableCell::Text(text) => text.clone().into_owned(),
            TableCell::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

const NULL: &str =
    "is null: leave out rows without a value, or write the number that stands for none";
const NULL_TEXT: &str =
    "is null: leave out rows without a value, or write a text that stands for none";
const IN_CENTS: &str = ": write it without a fraction (in cents, say)";
const DATES: &str = ": write dates as numbers, such as 20240131";

fn wanted(column: &Column) -> String {
    match column.encoding {
        Encoding::Number => format!("a whole number ({})", column.element),
        Encoding::Hex => format!("{} bits in hexadecimal", column.element.width()),
        Encoding::Text => "text".to_owned(),
        Encoding::Fixed(_) => "a decimal number".to_owned(),
        Encoding::Float => format!("a floating-point number of {} bits", column.element.width()),
    }
}

/// The bits of the number of `width` bits nearest to a float of a file.
fn nearest_float(number: f64, width: u16) -> Result<Lane, String> {
    let bits = bits_of(number, width);
    if number_of(bits, width).is_infinite() && number.is_finite() {
        let text = shown_float(number);
        return Err(format!("'{text}' is beyond the largest number of {width} bits"));
    }
    Ok(Lane::from(bits))
}

/// Largest whole number up to which a float of 16 bits represents all of them.
const HALF_MAX: f64 = (1u64 << 11) as f64;
/// Largest whole number up to which a float of 32 bits represents all of them.
const SINGLE_MAX: f64 = (1u64 << 24) as f64;
/// Largest whole number up to which a float of 64 bits represents all of them.
const DOUBLE_MAX: f64 = (1u64 << 53) as f64;

/// The digits of a float that is a whole number: software without missing integers stores such
/// columns as floats.
fn whole_float(number: f64, text: &str, most: f64) -> Result<String, String> {
    if !number.is_finite() {
        return Err(format!("'{text}' is not a whole number: leave out rows without a value"));
    }
    if number.fract() != 0.0 {
        return Err(format!("'{text}' is not a whole number{IN_CENTS}"));
    }
    if number.abs() > most {
        return Err(format!(
            "'{text}' is a floating-point number too large to be exact: write it as an integer"
        ));
    }
    Ok(format!("{number:.0}"))
}

/// The value of a whole number, if the column can hold it. A pattern of bits may fill a signed type.
fn integer(number: WholeNumber, column: &Column) -> Result<Lane, String> {
    let WholeNumber { is_negative, magnitude } = number;
    let (width, is_signed) = (usize::from(column.element.width()), column.element.is_signed());
    let sign_bits = usize::from(is_signed && column.encoding != Encoding::Hex);
    let bits = width - sign_bits;
    let fits = match is_negative {
        true => sign_bits == 1 && magnitude <= Lane::ONE << bits,
        false => magnitude.bit_len() <= bits,
    };
    match fits {
        true => Ok(number.bits() & mask_of(width as u16)),
        false => Err(misfit(&number.to_string(), column.element)),
    }
}

/// The text of `number / 10^scale`.
fn decimal_text(number: &WholeNumber, scale: i32) -> String {
    let digits = number.magnitude.to_string();
    let sign = if number.is_negative { "-" } else { "" };
    let places = scale.unsigned_abs() as usize;
    match scale {
        ..=0 if number.magnitude.is_zero() => "0".to_owned(),
        ..=0 => format!("{sign}{digits}{}", "0".repeat(places)),
        1.. => {
            let digits = format!("{digits:0>width$}", width = places + 1);
            let (whole, behind) = digits.split_at(digits.len() - places);
            format!("{sign}{whole}.{behind}")
        }
    }
}

/// A float without a long row of zeros.
pub(crate) fn shown_float(
    number: impl Into<f64> + Copy + std::fmt::Display + std::fmt::LowerExp,
) -> String {
    match number.into().abs() {
        0.0 | 1e-5..1e16 => number.to_string(),
        _ if number.into().is_finite() => format!("{number:e}"),
        _ => number.to_string(),
    }
}

/// The date that is so many days after 1970-01-01, as `2024-01-31`.
///
/// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`: years begin in
/// March, and 400 of them are 146,097 days.
fn date_text(days: i32) -> String {
    let days = i64::from(days) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The digits of a decimal without an exponent whose fraction is zero.
fn whole(text: &str) -> Option<String> {
    match text.split_once('.') {
        None => text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()).then(|| text.into()),
        Some((whole, behind)) => behind.bytes().all(|byte| byte == b'0').then(|| whole.into()),
    }
}

/// A value as text: numbers in decimal, text in hexadecimal.
pub fn format_value(value: Lane, column: &Column) -> String {
    let ElementType::Bits { width, signed, .. } = column.element else {
        unreachable!("tables hold bits only");
    };
    match column.encoding {
        Encoding::Number if signed && value.bit(usize::from(width) - 1) => {
            format!("-{}", value.wrapping_neg() & mask_of(width))
        }
        Encoding::Number => value.to_string(),
        Encoding::Hex | Encoding::Text => hexadecimal(value, usize::from(width).div_ceil(4)),
        Encoding::Fixed(fraction) => decimal::format(value, column.element, fraction),
        Encoding::Float => float::format(value, width),
    }
}

/// The lowest hexadecimal digits of a value, as many as are wanted: formatting of the library takes ten times as long.
fn hexadecimal(value: Lane, digits: usize) -> String {
    let digit = |place: usize| value.as_limbs()[place / 16] >> (4 * (place % 16)) & 15;
    let digits =
        (0..digits).rev().map(|place| char::from(b"0123456789abcdef"[digit(place) as usize]));
    digits.collect()
}

/// The value of hexadecimal digits; `None` if it has more than 256 bits.
fn hexadecimal_value(digits: &str) -> Option<Lane> {
    let mut limbs = [0; 4];
    for (place, digit) in digits.chars().rev().enumerate() {
        match (digit.to_digit(16)?, limbs.get_mut(place / 16)) {
            (digit, Some(limb)) => *limb |= u64::from(digit) << (4 * (place % 16)),
            (0, None) => {}
            (_, None) => return None,
        }
    }
    Some(Lane::from_limbs(limbs))
}

/// The value of a text.
///
/// # Errors
/// States what is wrong with it.
pub fn parse_text(
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
        Encoding::Float => float::parse(field.trim(), element.width()),
    }
}

/// Any text, hashed to `width` bits: the first of its hash, lowest byte first.
pub(crate) fn hash_text(text: &str, width: u16, key: &TextKey) -> Lane {
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
    match radix {
        16 => Ok(hexadecimal_value(digits)),
        _ => Ok(Lane::from_str_radix(digits, radix).ok()),
    }
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
        _ if is("-/.:T Z") && digits >= 6 && field.matches(['-', '/', '.']).count() == 2 => DATES,
        _ if is("-.") && field.matches('.').count() == 1 => IN_CENTS,
        _ if field.parse::<f64>().is_ok() => ": write out all its digits",
        _ => "",
    }
}

/// The fault of a number that the column's type cannot hold, where a program states its values.
pub(crate) fn outside(
    cell: &TableCell<'_>,
    column: &Column,
    stated: Option<&String>,
) -> Option<String> {
    let stated = stated?;
    let wide = Column { element: ElementType::signed(STATED_WIDTH_MAX), ..column.clone() };
    let is_number = cell.value(&wide, &TextKey::within_a_file()).is_ok();
    is_number.then(|| format!("'{}' is not within {stated}", shown(&cell.shown())))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_are_the_librarys() {
        let all = Lane::from_limbs([u64::MAX, 0x0123_4567_89ab_cdef, 1, u64::MAX / 3]);
        for width in 1..=256 {
            let (value, digits) = (all & mask_of(width), usize::from(width).div_ceil(4));
            let text = format!("{value:0digits$x}");
            assert_eq!(hexadecimal(value, digits), text);
            assert_eq!(hexadecimal_value(&text.to_uppercase()), Some(value));
            assert_eq!(hexadecimal_value(&format!("{}{text}", "0".repeat(70))), Some(value));
        }
        assert_eq!(hexadecimal_value(&format!("1{}", "0".repeat(64))), None);
    }
}
