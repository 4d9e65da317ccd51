//! `--repeat-keys count-once`: rows of a file that repeat one before them are left out.
//!
//! This happens before the parties meet: how many rows a party brings is public, and with repeated
//! rows left out it is the number of different keys. The others learn that number in place of the
//! number of rows, and nothing about which keys were repeated or how often.

use std::cmp::Ordering;

use phineus_bytecode::{InputPort, RowOrder, Table};

use crate::error::{Error, RefusalKind};
use crate::input::Input;
use crate::quantity;
use crate::text_key::TextKey;

/// Leaves out the rows of `input` that repeat others, if `port` wants each key once.
///
/// Reads the table once more; memory is the table and 8 bytes for each row, less than what
/// [`crate::row_order::arrange`] takes later, and all of it is given back.
///
/// # Errors
/// If two rows have the same key and differ otherwise; names the lines.
pub fn leave_out(input: Input, port: &InputPort) -> Result<Input, Error> {
    let RowOrder::Sorted { columns, unique: true, .. } = port.order else { return Ok(input) };
    let read = input.read(&port.columns, &[], &TextKey::within_a_file())?;
    let (table, lines) = (read.table, read.lines);
    let repeated = repeated(&table, usize::from(columns)).map_err(|(first, second)| {
        let place = |row: u32| input.place(row, &lines);
        let names = |range: &[phineus_bytecode::Column]| {
            let names = range.iter().map(|column| input.name_of(&column.name));
            names.collect::<Vec<_>>().join(" and ")
        };
        let (keys, others) = table.columns().split_at(usize::from(columns));
        let what = format!(
            "the same {} as in {} and another {}: only equal rows count once",
            names(keys),
            place(first),
            names(others)
        );
        Error::refused_row(RefusalKind::RowsDiffer, input.source.name(), place(second), what)
            .remedy("leave one of the two rows and run again; nothing was sent")
    })?;
    let rows = input.rows - repeated.len() as u64;
    Ok(Input { rows, repeated, ..input })
}

/// The rows that repeat one before them, ascending; or two rows of the same key, the first
/// `key_columns` columns, that differ.
fn repeated(table: &Table, key_columns: usize) -> Result<Vec<u32>, (u32, u32)> {
    let mut rows: Vec<u32> = (0..table.row_count().min(u64::from(u32::MAX)) as u32).collect();
    let compare = |a: u32, b: u32, columns: std::ops::Range<usize>| -> Ordering {
        let cells = |row: u32, column| table.cell(u64::from(row), column);
        let mut orders = columns.map(|column| cells(a, column).cmp(&cells(b, column)));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    // Equal keys keep the order of the file, so the first of them is the one that stays.
    rows.sort_by(|&a, &b| compare(a, b, 0..key_columns));
    let mut repeated = Vec::new();
    for group in rows.chunk_by(|&a, &b| compare(a, b, 0..key_columns).is_eq()) {
        for &row in &group[1..] {
            if compare(group[0], row, key_columns..table.columns().len()).is_ne() {
                return Err((group[0], row));
            }
            repeated.push(row);
        }
    }
    repeated.sort_unstable();
    Ok(repeated)
}

/// A note for the owner about rows that were left out.
pub fn note(input: &Input) -> Option<String> {
    let count = input.repeated.len() as u64;
    let name = input.source.name();
    let (rows, repeated) = (quantity::count(input.rows), quantity::count(count));
    match count {
        0 => None,
        1 => Some(format!("{name}: 1 row repeats another and was left out; all see {rows} rows")),
        _ => Some(format!(
            "{name}: {repeated} rows repeat others and were left out; all see {rows} rows"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_order::tests::table;

    #[test]
    fn only_equal_rows_count_once() {
        let rows = table(&[[3, 0], [1, 1], [3, 0], [2, 0], [3, 0], [1, 1]]);
        assert_eq!(repeated(&rows, 1), Ok(vec![2, 4, 5]));
        assert_eq!(repeated(&rows, 2), Ok(vec![2, 4, 5]));
        assert_eq!(repeated(&table(&[[3, 0], [1, 1], [3, 1]]), 1), Err((0, 2)));
        assert_eq!(repeated(&table(&[[3, 0], [1, 1], [3, 1]]), 2), Ok(vec![]));
        assert_eq!(repeated(&table(&[]), 1), Ok(vec![]));
    }
}
