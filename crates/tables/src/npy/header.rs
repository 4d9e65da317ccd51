//! [`NpyHeader`]: the first bytes of a `.npy` file, which are a Python dictionary.

use std::io::Read;

/// First bytes of such a file.
pub(crate) const MAGIC: [u8; 6] = *b"\x93NUMPY";

/// A header is shorter than that: NumPy itself takes no more than 10,000 bytes.
const DICTIONARY_BYTES_MAX: usize = 10_000;

/// The data after the header begins at a multiple of this.
const ALIGNMENT: usize = 64;

/// The type of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// 1, 2, 4 or 8; of floating-point numbers not 1.
    pub(crate) bytes: usize,
    pub(crate) kind: NumberKind,
}

/// What the bits of a number stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberKind {
    Unsigned,
    Signed,
    Float,
}

/// A table of numbers, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NpyHeader {
    pub(crate) numbers: Numbers,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
}

impl NpyHeader {
    /// Reads what follows [`MAGIC`]; or what is wrong with it.
    pub(super) fn read(input: &mut impl Read) -> Result<NpyHeader, String> {
        let mut take = |bytes: &mut [u8]| {
            input.read_exact(bytes).map_err(|_| "ends within its header".to_owned())
        };
        let mut version = [0; 2];
        take(&mut version)?;
        let mut length = [0; 4];
        match version {
            [1, 0] => take(&mut length[..2])?,
            [2 | 3, 0] => take(&mut length)?,
            [major, minor] => {
                return Err(format!("is an .npy file of version {major}.{minor}, not 1.0 to 3.0"));
            }
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > DICTIONARY_BYTES_MAX {
            return Err(format!("has a header of {length} bytes"));
        }
        let mut bytes = vec![0; length];
        take(&mut bytes)?;
        let text = str::from_utf8(&bytes).map_err(|_| "has a header that is no text".to_owned())?;
        parse(text)
    }

    /// All of it, from [`MAGIC`] on, in version 1.0.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let NpyHeader { numbers: Numbers { bytes, kind }, rows, columns } = self;
        let order = if *bytes == 1 { '|' } else { '<' };
        let kind = match kind {
            NumberKind::Unsigned => 'u',
            NumberKind::Signed => 'i',
            NumberKind::Float => 'f',
        };
        let shape = match columns {
            1 => format!("({rows},)"),
            _ => format!("({rows}, {columns})"),
        };
        let dictionary = format!(
            "{{'descr': '{order}{kind}{bytes}', 'fortran_order': False, 'shape': {shape}, }}"
        );
        // The magic, the version, the length, and a line break at the end.
        let fixed = MAGIC.len() + 4;
        let length = (fixed + dictionary.len() + 1).next_multiple_of(ALIGNMENT) - fixed;
        let mut header = [&MAGIC[..], &[1, 0], &(length as u16).to_le_bytes()].concat();
        header.extend(dictionary.bytes());
        header.resize(fixed + length - 1, b' ');
        header.push(b'\n');
        header
    }
}

/// A value of the dictionary.
enum PythonLiteral<'a> {
    Text(&'a str),
    Truth(bool),
    Sizes(Vec<u64>),
}

/// Understands `{'descr': '<i4', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse(text: &str) -> Result<NpyHeader, String> {
    let mut rest = text.trim();
    let (mut numbers, mut order, mut sizes) = (None, None, None);
    skip(&mut rest, '{')?;
    while !rest.starts_with('}') {
        let PythonLiteral::Text(key) = next_value(&mut rest)? else { return Err(unclear(rest)) };
        skip(&mut rest, ':')?;
        let value = next_value(&mut rest)?;
        match (key, value) {
            ("descr", PythonLiteral::Text(name)) if numbers.is_none() => numbers = Some(name),
            ("fortran_order", PythonLiteral::Truth(is_set)) if order.is_none() => {
                order = Some(is_set)
            }
            ("shape", PythonLiteral::Sizes(found)) if sizes.is_none() => sizes = Some(found),
            _ => return Err(format!("has a header with '{}'", shown(key))),
        }
        if !rest.starts_with('}') {
            skip(&mut rest, ',')?;
        }
    }
    skip(&mut rest, '}')?;
    let (Some(name), Some(is_fortran), Some(sizes), "") = (numbers, order, sizes, rest) else {
        return Err("has a header without its type, order and shape".to_owned());
    };
    let numbers = numbers_named(name)?;
    let (rows, columns) = match sizes[..] {
        [] => (1, 1),
        [rows] => (rows, 1),
        [rows, columns] => (rows, columns),
        _ => return Err(format!("has {} dimensions, not one or two", sizes.len())),
    };
    if is_fortran && rows > 1 && columns > 1 {
        return Err("is in Fortran order, column by column".to_owned());
    }
    if columns == 0 {
        return Err("has no columns".to_owned());
    }
    let bytes = rows.checked_mul(columns).and_then(|n| n.checked_mul(numbers.bytes as u64));
    // A file has fewer bytes, and so has memory.
    if bytes.is_none_or(|bytes| bytes > 1 << 62) {
        return Err(format!("has {rows} rows of {columns} columns"));
    }
    Ok(NpyHeader { numbers, rows, columns })
}

/// The type that NumPy calls `name`.
fn numbers_named(name: &str) -> Result<Numbers, String> {
    let numbers = |bytes: usize, kind: NumberKind| Ok(Numbers { bytes, kind });
    match name {
        "|u1" | "|b1" | "<u1" => numbers(1, NumberKind::Unsigned),
        "|i1" | "<i1" => numbers(1, NumberKind::Signed),
        "<u2" => numbers(2, NumberKind::Unsigned),
        "<i2" => numbers(2, NumberKind::Signed),
        "<u4" => numbers(4, NumberKind::Unsigned),
        "<i4" => numbers(4, NumberKind::Signed),
        "<u8" => numbers(8, NumberKind::Unsigned),
        "<i8" => numbers(8, NumberKind::Signed),
        "<f2" => numbers(2, NumberKind::Float),
        "<f4" => numbers(4, NumberKind::Float),
        "<f8" => numbers(8, NumberKind::Float),
        _ if name.starts_with('>') => Err(format!("is big-endian ('{}')", shown(name))),
        _ => Err(format!(
            "has values of type '{}', not integers or floating-point numbers",
            shown(name)
        )),
    }
}

/// Takes the next text, truth value or tuple.
fn next_value<'a>(rest: &mut &'a str) -> Result<PythonLiteral<'a>, String> {
    *rest = rest.trim_start();
    for (word, truth) in [("True", true), ("False", false)] {
        if let Some(after) = rest.strip_prefix(word) {
            *rest = after.trim_start();
            return Ok(PythonLiteral::Truth(truth));
        }
    }
    if let Some(quote @ ('\'' | '"')) = rest.chars().next() {
        let (text, after) = rest[1..].split_once(quote).ok_or_else(|| unclear(rest))?;
        *rest = after.trim_start();
        return Ok(PythonLiteral::Text(text));
    }
    if rest.starts_with('[') {
        return Err("has rows of several types (a structured array)".to_owned());
    }
    let whole = *rest;
    skip(rest, '(')?;
    let (inside, after) = rest.split_once(')').ok_or_else(|| unclear(whole))?;
    *rest = after.trim_start();
    let inside = inside.trim();
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    if inside.is_empty() {
        return Ok(PythonLiteral::Sizes(Vec::new()));
    }
    let sizes = inside.split(',').map(|size| size.trim().trim_end_matches('L').parse());
    sizes.collect::<Result<_, _>>().map(PythonLiteral::Sizes).map_err(|_| unclear(whole))
}

/// Takes `mark` and the spaces around it.
fn skip(rest: &mut &str, mark: char) -> Result<(), String> {
    let after = rest.trim_start().strip_prefix(mark).ok_or_else(|| unclear(rest))?;
    *rest = after.trim_start();
    Ok(())
}

fn unclear(rest: &str) -> String {
    format!("has a header that is not clear at '{}'", shown(rest))
}

/// The beginning of foreign text, without what would disturb a terminal.
fn shown(text: &str) -> String {
    text.chars().take(20).map(|c| if c.is_control() { '?' } else { c }).collect()
}
