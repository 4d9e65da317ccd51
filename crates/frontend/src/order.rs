//! Order of an input's rows, in which its owner brings them.

use phineus_bytecode::{Lane, RowOrder, Table};

use crate::error::ProgramError;

/// The rows of `table` in `order`.
///
/// # Errors
/// If keys must be unique and two rows have the same; says which rows, counted from 1, not the key.
pub fn arranged(table: &Table, order: &RowOrder) -> Result<Table, ProgramError> {
    let RowOrder::Sorted { columns, descending, unique, repeats_max } = *order else {
        return Ok(table.clone());
    };
    let key = |row: u64| -> Vec<Lane> {
        (0..usize::from(columns)).map(|column| table.cell(row, column)).collect()
    };
    let mut rows: Vec<(Vec<Lane>, u64)> =
        (0..table.row_count()).map(|row| (key(row), row)).collect();
    rows.sort_by(|a, b| if descending { b.0.cmp(&a.0) } else { a.0.cmp(&b.0) });
    if unique && let Some(pair) = rows.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let (first, second) = (pair[0].1 + 1, pair[1].1 + 1);
        return Err(ProgramError::Refused(format!(
            "rows {first} and {second} have the same key, and every key must be there once"
        )));
    }
    if let Some(most) = repeats_max
        && let Some(run) =
            rows.windows(most as usize + 1).find(|run| run[0].0 == run[most as usize].0)
    {
        let row = run[most as usize].1 + 1;
        return Err(ProgramError::Refused(format!(
            "row {row} has the key of {most} rows before it, and at most {most} may have the same"
        )));
    }
    let mut result = Table::new(table.columns().to_vec());
    for (_, row) in rows {
        result.push(&table.row(row));
    }
    Ok(result)
}
