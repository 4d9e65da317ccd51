//! Positions of the columns that an input needs in a table.

use std::collections::HashMap;

use phineus_bytecode::Column;

use crate::error::{Error, RowLocation, TableFaults};
use crate::input::Input;
use crate::source::TableHeader;

/// Column names that are shown where one is missing.
const NAMES_MAX: usize = 20;

/// Refuses a file with more columns of a number than are wanted: a matrix of another size, of which
/// the first columns would be computed on. Columns of other names are nobody's business.
fn check_numbered(names: &[String], columns: &[Column], line: Line, faults: &mut TableFaults) {
    let Some([.., before, last]) = columns.last_chunk::<2>().map(|chunk| chunk.each_ref()) else {
        return;
    };
    let numbered = |column: &Column| -> Option<(String, u64)> {
        let prefix = column.name.trim_end_matches(|c: char| c.is_ascii_digit());
        Some((prefix.to_owned(), column.name[prefix.len()..].parse().ok()?))
    };
    let (Some((first, a)), Some((prefix, b))) = (numbered(before), numbered(last)) else { return };
    let next = format!("{prefix}{}", b.saturating_add(1));
    if first == prefix && a.checked_add(1) == Some(b) && names.contains(&next) {
        let (count, last) = (columns.len(), &last.name);
        let what =
            format!("has a column '{next}', and what is computed has {count}, up to '{last}'");
        faults.add(line, what);
    }
}

/// Refuses a file with a second column of a number beside the only one that is wanted, as of a
/// matrix of another size, unless another input wants that one.
///
/// # Errors
/// That refusal, and a table that cannot be read any more.
pub fn check_only_column(
    input: &Input,
    column: &Column,
    is_wanted_elsewhere: impl Fn(&str) -> bool,
) -> Result<(), Error> {
    let stem = column.name.trim_end_matches(|c: char| c.is_ascii_digit());
    let Ok(number) = column.name[stem.len()..].parse::<u64>() else { return Ok(()) };
    let next = format!("{stem}{}", number.saturating_add(1));
    if !input.names.is_empty() || is_wanted_elsewhere(&next) {
        return Ok(());
    }
    let reader = input.source.open()?;
    let TableHeader::Named(names, line) = reader.header() else { return Ok(()) };
    let mut faults = TableFaults::new(input.source.name());
    if names.contains(&next) {
        let name = &column.name;
        let what = format!("has a column '{next}', and what is computed has only '{name}'");
        faults.add(line.map(RowLocation::Line), what);
    }
    faults.check()
}

/// Checks, before anybody is met, that the table has `columns`. Columns without names are checked when
/// they are read.
///
/// # Errors
/// Names the columns that are missing.
pub fn check_columns(input: &Input, columns: &[Column]) -> Result<(), Error> {
    let reader = input.source.open()?;
    let TableHeader::Named(names, line) = reader.header() else { return Ok(()) };
    let mut faults = TableFaults::new(input.source.name());
    named_places(names, line.map(RowLocation::Line), input, columns, &mut faults);
    faults.check()
}

/// Where the header stands.
type Line = Option<RowLocation>;

/// Where the columns stand in a table; nowhere if one is missing, which is reported.
pub(crate) fn places_in(
    header: &TableHeader<'_>,
    input: &Input,
    columns: &[Column],
    faults: &mut TableFaults,
) -> Vec<usize> {
    match header {
        TableHeader::Named(names, line) => {
            let line = line.map(RowLocation::Line);
            if input.names.is_empty() {
                check_numbered(names, columns, line, faults);
            }
            named_places(names, line, input, columns, faults)
        }
        TableHeader::Numbered(count) => numbered_places(*count, input, columns, faults),
    }
}

/// Which columns of a table without names are wanted: all, in the order of the input, or with
/// `--column` those with the numbers that it gives, from 0 on. Those that it does not give have their
/// own place.
fn numbered_places(
    found: u64,
    input: &Input,
    columns: &[Column],
    faults: &mut TableFaults,
) -> Vec<usize> {
    let wanted = columns.len();
    if input.names.is_empty() && found != wanted as u64 {
        faults.add(None, format!("has {found} columns, and what is computed has {wanted}"));
        faults
            .advise("give as many columns, or say with --column NAME=NUMBER which ones, from 0 on");
        return Vec::new();
    }
    let mut places = Vec::with_capacity(wanted);
    for (own, column) in columns.iter().enumerate() {
        let place = match input.names.get(&column.name) {
            None => Some(own),
            Some(text) => text.parse().ok(),
        };
        match place.filter(|place| (*place as u64) < found) {
            Some(place) => places.push(place),
            None => {
                let name = &column.name;
                let number = input.names.get(name).cloned().unwrap_or_else(|| own.to_string());
                let what = format!(
                    "has no column '{number}' for '{name}': columns of .npy files have numbers, here \
                     0 to {}",
                    found.saturating_sub(1)
                );
                faults.add(None, what);
                faults.advise(format!("give the number with --column {name}=NUMBER"));
            }
        }
    }
    places
}

fn named_places(
    names: &[String],
    line: Line,
    input: &Input,
    columns: &[Column],
    faults: &mut TableFaults,
) -> Vec<usize> {
    let known: HashMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
    let (mut places, mut missing) = (Vec::with_capacity(columns.len()), Vec::new());
    for column in columns {
        let (wanted, name) = (&column.name, input.name_of(&column.name));
        match known.get(name) {
            Some(&place) => places.push(place),
            None => {
                let count = names.len();
                let found = names[..count.min(NAMES_MAX)].join(", ");
                let more = if count > NAMES_MAX { ", ..." } else { "" };
                let why = match wanted == name {
                    true => String::new(),
                    false => format!(", which --column names for '{wanted}'"),
                };
                let what =
                    format!("there is no column '{name}'{why}; the header has {found}{more}");
                faults.add(line, what);
                let like = names.iter().find(|found| is_like(found, name));
                missing.push((wanted, wanted != name, like));
            }
        }
    }
    if let Some((wanted, is_renamed, like)) = missing.first() {
        places.clear();
        let is_numbered = wanted.ends_with(|c: char| c.is_ascii_digit());
        let option = match like {
            Some(like) => format!("--column {wanted}={like} (if that is it)"),
            None => format!("--column {wanted}=NAME"),
        };
        faults.advise(match missing.len() == columns.len() && !is_renamed {
            true if is_numbered => format!(
                "give a column for each that the program wants, or say which one it is with {option}"
            ),
            true if line.is_some() => format!("let the first line name the columns, or say which one it is with {option}"),
            _ => format!("say which column it is with {option}"),
        });
    }
    places
}

/// Returns whether a file's column name resembles the wanted one.
fn is_like(name: &str, wanted: &str) -> bool {
    let letters = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    letters(name) == letters(wanted)
}
