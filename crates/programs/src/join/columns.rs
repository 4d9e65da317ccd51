//! The columns of a join, as parameters name them: `id:text,amount:u32`.

use phineus_bytecode::{Column, ElementType, Encoding};
use phineus_frontend::{Arguments, ProgramError, column};

/// Bits that a text is hashed to.
const TEXT_BITS: u16 = 64;

/// Bits of numbers with a fraction.
const FIXED_BITS: u16 = 64;

const EXPECTED: &str = "NAME:TYPE, several separated by commas; types are text, bit, u8 to u128, \
                        i8 to i128, and fixed16 for numbers with 16 binary places";

/// Types that columns may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinds {
    /// Anything: texts are compared.
    All,
    /// No texts: only their hashes would enter, which are of no use to a receiver.
    Numbers,
}

/// The columns that parameter `name` lists; none if it is empty.
pub(super) fn columns(
    arguments: &Arguments,
    name: &str,
    kinds: Kinds,
) -> Result<Vec<Column>, ProgramError> {
    let text: String = arguments.parsed(name, EXPECTED)?;
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let one = |part: &str| {
        let (column_name, kind) =
            part.rsplit_once(':').ok_or_else(|| arguments.bad(name, EXPECTED))?;
        let (element, encoding) =
            of_kind(kind.trim()).ok_or_else(|| arguments.bad(name, EXPECTED))?;
        let column_name = column_name.trim();
        if column_name.is_empty() {
            return Err(arguments.bad(name, EXPECTED));
        }
        if encoding == Encoding::Text && kinds == Kinds::Numbers {
            let expected = "columns of numbers: a text of the other party cannot be given out, \
                            since only a hash of it enters the computation";
            return Err(arguments.bad(name, expected));
        }
        Ok(column(column_name, element, encoding))
    };
    let columns: Vec<Column> = text.split(',').map(one).collect::<Result<_, _>>()?;
    let is_repeated = |(k, c): (usize, &Column)| columns[..k].iter().any(|d| d.name == c.name);
    if columns.iter().enumerate().any(is_repeated) {
        return Err(arguments.bad(name, "columns with a name each of its own"));
    }
    Ok(columns)
}

fn of_kind(kind: &str) -> Option<(ElementType, Encoding)> {
    if let Some(fraction) = kind.strip_prefix("fixed") {
        let fraction = fraction.parse().ok().filter(|fraction| *fraction <= 48)?;
        return Some((ElementType::signed(FIXED_BITS), Encoding::Fixed(fraction)));
    }
    let width = |digits: &str| digits.parse::<u16>().ok().filter(|width| (1..=128).contains(width));
    match kind.split_at_checked(1)? {
        _ if kind == "text" => Some((ElementType::unsigned(TEXT_BITS), Encoding::Text)),
        _ if kind == "bit" => Some((ElementType::BIT, Encoding::Number)),
        ("u", digits) => Some((ElementType::unsigned(width(digits)?), Encoding::Number)),
        ("i", digits) => Some((ElementType::signed(width(digits)?), Encoding::Number)),
        _ => None,
    }
}

/// Bits of all columns together.
pub(super) fn width_of(columns: &[Column]) -> u16 {
    columns.iter().map(|column| column.element.width()).fold(0, u16::saturating_add)
}
