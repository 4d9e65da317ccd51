//! Tables, rows and columns of a type.

use phineus_bytecode::limits::FRACTION_BITS_MAX;
use phineus_bytecode::{ElementType, Encoding};

use crate::compiler::debug_types::CType;
use crate::memory::table::TableColumn;
use crate::signature::RowType;

/// A fault of a parameter, and the remedy.
pub(super) type Wrong = (String, &'static str);

/// Columns of a table: more would not fit a program's description.
const COLUMNS_MAX: u64 = 1 << 20;

/// The tables of a row of which there is one: each array in it, and all else. For each its name,
/// the path of its columns, its first byte and its type.
pub(super) fn tables(name: &str, row: CType) -> Vec<(String, String, u64, CType)> {
    let (mut arrays, mut others) = (Vec::new(), Vec::new());
    let size = row.size_bytes();
    match row {
        CType::Struct(fields, _) => split("", 0, fields, &mut arrays, &mut others),
        row => return vec![(name.to_owned(), String::new(), 0, row)],
    }
    if let ([(path, 0, array)], []) = (arrays.as_slice(), others.as_slice()) {
        return vec![(name.to_owned(), path.clone(), 0, array.clone())];
    }
    let named =
        |(path, at, array): (String, u64, CType)| (format!("{name}.{path}"), path, at, array);
    let rest = (name.to_owned(), String::new(), 0, CType::Struct(others.clone(), size));
    let rest = (!others.is_empty()).then_some(rest);
    rest.into_iter().chain(arrays.into_iter().map(named)).collect()
}

type Field = (String, u64, CType);

/// The arrays among fields, and the others, with their paths and places.
fn split(
    path: &str,
    base: u64,
    fields: Vec<Field>,
    arrays: &mut Vec<Field>,
    others: &mut Vec<Field>,
) {
    for (field, at, inner) in fields {
        let path = if path.is_empty() { field } else { format!("{path}_{field}") };
        match inner {
            CType::Struct(fields, _) => split(&path, base + at, fields, arrays, others),
            CType::Array(..) => arrays.push((path, base + at, inner)),
            _ => others.push((path, base + at, inner)),
        }
    }
}

/// The rows and columns of a table.
pub(super) fn rows_of(
    name: &str,
    path: &str,
    mut row: CType,
    rows: Option<u64>,
    range: Option<(i128, i128)>,
) -> Result<RowType, Wrong> {
    let mut count = rows.unwrap_or(1);
    if let (false, CType::Array(inner, length, _)) = (path.is_empty(), &row) {
        count = *length;
        row = (**inner).clone();
    }
    while let CType::Array(inner, length, _) = &row {
        if !matches!(**inner, CType::Array(..) | CType::Struct(..)) {
            break;
        }
        count = count.saturating_mul(*length);
        row = (**inner).clone();
    }
    if count == 0 {
        return Err((format!("'{name}' has no elements"), "give it a size of at least 1"));
    }
    if row.scalars() > COLUMNS_MAX {
        let what =
            format!("a row of '{name}' has {} columns, and 2^20 are the most", row.scalars());
        return Err((what, "make them rows, by a dimension more"));
    }
    let mut leaves = Vec::new();
    collect(name, path, 0, &row, &mut leaves)?;
    if let Some(range) = range {
        narrow(name, &mut leaves, range)?;
    }
    Ok(RowType { rows: count, row_bytes: row.size_bytes(), leaves })
}

/// The scalars of a row, named by their fields and indices.
fn collect(
    parameter: &str,
    path: &str,
    offset: u64,
    typ: &CType,
    leaves: &mut Vec<TableColumn>,
) -> Result<(), Wrong> {
    match typ {
        CType::Integer { fraction: Some(fraction), .. } if *fraction > FRACTION_BITS_MAX => {
            let what = format!("'{parameter}' has {fraction} bits behind the point");
            Err((what, "63 are the most"))
        }
        CType::Integer { bytes, signed, is_bool, fraction } => {
            let name = if path.is_empty() { parameter } else { path };
            let width = if *is_bool { 1 } else { *bytes as u16 * 8 };
            let element = ElementType::integer(width, *signed);
            let encoding = fraction.map_or(Encoding::Number, Encoding::Fixed);
            leaves.push(TableColumn {
                name: name.to_owned(),
                offset,
                bytes: *bytes,
                element,
                encoding,
            });
            Ok(())
        }
        CType::Float { bytes } => {
            let name = if path.is_empty() { parameter } else { path };
            leaves.push(TableColumn {
                name: name.to_owned(),
                offset,
                bytes: *bytes,
                element: ElementType::unsigned(*bytes as u16 * 8),
                encoding: Encoding::Float,
            });
            Ok(())
        }
        CType::Array(inner, count, _) => {
            let name = if path.is_empty() { parameter } else { path };
            for index in 0..*count {
                let at = offset + index * inner.size_bytes();
                collect(parameter, &format!("{name}{index}"), at, inner, leaves)?;
            }
            Ok(())
        }
        CType::Struct(fields, _) => {
            for (field, at, inner) in fields {
                let name = if path.is_empty() { field.clone() } else { format!("{path}_{field}") };
                collect(parameter, &name, offset + at, inner, leaves)?;
            }
            Ok(())
        }
        CType::Unsupported(what) if what.contains("float") || what.contains("double") => {
            let what = format!("'{parameter}' is {what}, floating point of another format");
            Err((what, "make it float or double, or ph_fixed of phineus.h, which costs less"))
        }
        CType::Unsupported(what) => {
            Err((format!("'{parameter}' has {what}"), "use integers, arrays and structures"))
        }
        CType::Pointer(_) => {
            Err((format!("'{parameter}' has a pointer in it"), "use an array, or an index"))
        }
        CType::Void => Err((format!("'{parameter}' points to nothing known"), "give it a type")),
    }
}

/// Makes the columns as narrow as the range allows.
fn narrow(name: &str, leaves: &mut [TableColumn], (low, high): (i128, i128)) -> Result<(), Wrong> {
    if low > high {
        return Err((format!("the range of '{name}' is empty"), "write the smaller bound first"));
    }
    if leaves.iter().any(|leaf| leaf.encoding == Encoding::Float) {
        let what = format!("'{name}' is floating point and has a range");
        return Err((what, "leave the range out, or make it an integer or ph_fixed"));
    }
    let bits = |value: i128| 128 - value.max(!value).leading_zeros() as u16;
    for leaf in leaves {
        let element = match low < 0 {
            true => ElementType::signed(bits(low).max(bits(high)) + 1),
            false => ElementType::unsigned(bits(high).max(1)),
        };
        let width_max = leaf.element.width() - u16::from(leaf.element.is_signed() && low >= 0);
        if element.width() > width_max || (low < 0 && !leaf.element.is_signed()) {
            let what = format!("the range of '{name}' does not fit its type, {}", leaf.element);
            return Err((what, "give a smaller range or a wider type"));
        }
        leaf.element = element;
    }
    Ok(())
}
