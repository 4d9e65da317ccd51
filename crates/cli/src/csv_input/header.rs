//! The header of a CSV file, and where the columns stand that an input wants.

use std::collections::{HashMap, HashSet};

use csv::StringRecord;
use phineus_bytecode::Column;

use super::followed::Followed;
use super::{Counted, Faults, kind, report};
use crate::failure::Failure;
use crate::npy;

/// Column names that are shown where one is missing.
const NAMES_MAX: usize = 20;

/// Remedy for fields that are not separated by commas.
const COMMAS: &str = "save it with commas between the fields (and points in numbers), in Python: \
                      pandas.read_csv(f, sep=None, engine='python').to_csv(g, index=False)";

/// The names of the columns; none if the header is no header, which is reported. Columns without a
/// name (an index, a comma at the end of each line) are no fault: nobody can ask for them.
pub(super) fn check_header(header: &StringRecord, faults: &mut Faults) -> Vec<String> {
    let names: Vec<String> = header.iter().map(clean).collect();
    if names.iter().all(String::is_empty) {
        faults.add(None, "is empty; the first line must name the columns");
        return Vec::new();
    }
    if let [name] = &names[..]
        && let Some(separator) = kind::separator(name)
    {
        let what = format!("the fields are separated by {separator}, not by commas: '{name}'");
        faults.add(Some(1), &what);
        faults.advise(COMMAS);
        return Vec::new();
    }
    let mut known = HashSet::with_capacity(names.len());
    for name in names.iter().filter(|name| !name.is_empty()) {
        if !known.insert(name) {
            faults.add(Some(1), &format!("two columns are called '{name}'"));
            faults.advise("give each column a name of its own, or remove one, and run again");
        }
    }
    names
}

/// A column's name without the mark that some programs put before a UTF-8 file, and spaces.
pub(super) fn clean(name: &str) -> String {
    name.trim_start_matches('\u{feff}').trim().to_owned()
}

/// Refuses a file with more columns of a number than are wanted: a matrix of another size, of which
/// the first columns would be computed on. Columns of other names are nobody's business.
fn check_numbered(header: &StringRecord, columns: &[Column], faults: &mut Faults) {
    let Some([.., before, last]) = columns.last_chunk::<2>().map(|chunk| chunk.each_ref()) else {
        return;
    };
    let numbered = |column: &Column| -> Option<(String, u64)> {
        let prefix = column.name.trim_end_matches(|c: char| c.is_ascii_digit());
        Some((prefix.to_owned(), column.name[prefix.len()..].parse().ok()?))
    };
    let (Some((first, a)), Some((prefix, b))) = (numbered(before), numbered(last)) else { return };
    let next = format!("{prefix}{}", b.saturating_add(1));
    if first == prefix && a.checked_add(1) == Some(b) && header.iter().any(|n| clean(n) == next) {
        let (count, last) = (columns.len(), &last.name);
        let what =
            format!("has a column '{next}', and what is computed has {count}, up to '{last}'");
        faults.add(Some(1), &what);
    }
}

/// Refuses a file with a second column of a number beside the only one that is wanted, as of a
/// matrix of another size, unless another input wants that one.
pub(crate) fn check_only_column(
    counted: &Counted,
    column: &Column,
    is_wanted_elsewhere: impl Fn(&str) -> bool,
) -> Result<(), Failure> {
    let stem = column.name.trim_end_matches(|c: char| c.is_ascii_digit());
    let Ok(number) = column.name[stem.len()..].parse::<u64>() else { return Ok(()) };
    let next = format!("{stem}{}", number.saturating_add(1));
    let is_other = npy::open(&counted.source)?.is_some() || !counted.names.is_empty();
    if is_other || is_wanted_elsewhere(&next) {
        return Ok(());
    }
    let mut faults = Faults::new(&counted.source);
    let followed = Followed::new();
    let mut reader = followed.reader(counted.source.reader()?);
    if reader.headers().is_ok_and(|header| header.iter().any(|name| clean(name) == next)) {
        let name = &column.name;
        let what = format!("has a column '{next}', and what is computed has only '{name}'");
        faults.add(Some(1), &what);
    }
    faults.check()
}

/// Checks, before anybody is met, that the file has `columns`.
pub(crate) fn check_columns(counted: &Counted, columns: &[Column]) -> Result<(), Failure> {
    if npy::open(&counted.source)?.is_some() {
        return Ok(());
    }
    let mut faults = Faults::new(&counted.source);
    let followed = Followed::new();
    let mut reader = followed.reader(counted.source.reader()?);
    match reader.headers() {
        Ok(header) => drop(place_columns(header, counted, columns, &mut faults)),
        Err(error) => report(&error, &[], Some(1), &mut faults),
    }
    faults.check()
}

/// Where the columns stand in a file; nowhere if one is missing, which is reported.
pub(super) fn places_in(
    header: &StringRecord,
    counted: &Counted,
    columns: &[Column],
    faults: &mut Faults,
) -> Vec<usize> {
    if counted.names.is_empty() {
        check_numbered(header, columns, faults);
    }
    place_columns(header, counted, columns, faults)
}

fn place_columns(
    header: &StringRecord,
    counted: &Counted,
    columns: &[Column],
    faults: &mut Faults,
) -> Vec<usize> {
    let names: Vec<String> = header.iter().map(clean).collect();
    let known: HashMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
    let (mut places, mut missing) = (Vec::with_capacity(columns.len()), Vec::new());
    for column in columns {
        let (wanted, name) = (&column.name, counted.name_of(&column.name));
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
                faults.add(Some(1), &what);
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
            true => format!("let the first line name the columns, or say which one it is with {option}"),
            false => format!("say which column it is with {option}"),
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
