//! The order in which the owner of an input brings in its rows.

use std::cmp::Ordering;

use phineus_bytecode::{RowOrder, Table};

use crate::failure::{Exit, Failure};

/// The rows of `table` in `order`; `lines` are where they stand in `file`, for messages.
///
/// Sorts an index of 4 bytes a row, so that memory is that of two tables.
///
/// # Errors
/// If keys must be unique and two rows have the same; names the lines.
pub(crate) fn arrange(
    table: Table,
    order: &RowOrder,
    file: &str,
    lines: &[u32],
) -> Result<Table, Failure> {
    let RowOrder::Sorted { columns, descending, unique } = *order else {
        return Ok(table);
    };
    let key_columns = 0..usize::from(columns);
    let compare = |a: u32, b: u32| -> Ordering {
        let (a, b) = (u64::from(a), u64::from(b));
        key_columns
            .clone()
            .map(|column| table.cell(a, column).cmp(&table.cell(b, column)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    };
    let count = u32::try_from(table.row_count()).map_err(|_| {
        Failure::new(Exit::BadInput, 103, format!("{file}: has more than 2^32 rows"))
    })?;
    let mut rows: Vec<u32> = (0..count).collect();
    // Equal keys keep the given order either way.
    rows.sort_by(|&a, &b| if descending { compare(b, a) } else { compare(a, b) });
    if unique && let Some(pair) = rows.windows(2).find(|pair| compare(pair[0], pair[1]).is_eq()) {
        let line = |row: u32| lines.get(row as usize).copied().unwrap_or(row + 1);
        let names: Vec<&str> =
            table.columns()[key_columns].iter().map(|column| column.name.as_str()).collect();
        let (first, second) = (line(pair[0]), line(pair[1]));
        let message = format!(
            "{file}:{second}: the same {} as in line {first}; every row needs another",
            names.join(" and ")
        );
        return Err(Failure::new(Exit::BadInput, 112, message)
            .remedy("remove the repetitions and run again; nothing was sent"));
    }
    let mut arranged = Table::zeros(table.columns().to_vec(), table.row_count());
    for (target, &source) in rows.iter().enumerate() {
        for column in 0..table.columns().len() {
            arranged.set_cell(target as u64, column, table.cell(u64::from(source), column));
        }
    }
    Ok(arranged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use phineus_bytecode::{Column, ElementType, Encoding, Lane};

    fn table(rows: &[[u64; 2]]) -> Table {
        let columns = ["k", "v"].map(|name| Column {
            name: name.to_owned(),
            element: ElementType::unsigned(8),
            encoding: Encoding::Number,
        });
        let mut table = Table::new(columns.to_vec());
        rows.iter().for_each(|row| table.push(&row.map(Lane::from)));
        table
    }

    #[test]
    fn rows_are_sorted_as_the_front_end_defines_it() {
        let given = table(&[[3, 0], [1, 1], [2, 2], [1, 3], [3, 4]]);
        for descending in [false, true] {
            for columns in [1, 2] {
                let order = RowOrder::Sorted { columns, descending, unique: false };
                let ours = arrange(given.clone(), &order, "f", &[]).expect("nothing to refuse");
                let theirs = phineus_frontend::arranged(&given, &order).expect("nothing to refuse");
                assert!(phineus_frontend::same_rows(&ours, &theirs));
            }
        }
    }

    #[test]
    fn repeated_keys_name_both_lines() {
        let order = RowOrder::Sorted { columns: 1, descending: false, unique: true };
        let failure = arrange(table(&[[3, 0], [1, 1], [3, 2]]), &order, "a.csv", &[2, 3, 4])
            .err()
            .expect("3 is there twice");
        assert_eq!(failure.message, "a.csv:4: the same k as in line 2; every row needs another");
    }
}
