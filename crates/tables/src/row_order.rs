//! The order in which the owner of an input brings in its rows.

use std::cmp::Ordering;

use phineus_bytecode::{RowOrder, Table};

use crate::error::{Error, RefusalKind};
use crate::input::Input;

/// The rows of `table` in `order`, and which row of `table` each of them is, if they were moved; `lines` are where they stand in the file, for messages.
///
/// Sorts an index of 4 bytes a row, so that memory is that of two tables.
///
/// # Errors
/// If keys must be unique and two rows have the same; names the lines.
pub fn arrange(
    table: Table,
    order: &RowOrder,
    input: &Input,
    lines: &[u32],
) -> Result<(Table, Option<Vec<u32>>), Error> {
    let RowOrder::Sorted { columns, descending, unique, repeats_max } = *order else {
        return Ok((table, None));
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
    let file = input.source.name();
    let count = u32::try_from(table.row_count()).map_err(|_| {
        Error::refused(RefusalKind::TooLong, file.clone(), "has more than 2^32 rows")
    })?;
    let mut rows: Vec<u32> = (0..count).collect();
    // Equal keys keep the given order either way.
    rows.sort_by(|&a, &b| if descending { compare(b, a) } else { compare(a, b) });
    if unique && let Some(pair) = rows.windows(2).find(|pair| compare(pair[0], pair[1]).is_eq()) {
        let place = |row: u32| input.place(row, lines);
        let names: Vec<&str> =
            table.columns()[key_columns].iter().map(|c| input.name_of(&c.name)).collect();
        let (first, second) = (place(pair[0]), place(pair[1]));
        let what =
            format!("the same {} as in {first}; every row needs another", names.join(" and "));
        return Err(Error::refused_row(RefusalKind::KeyRepeated, file, second, what).remedy(
            "remove the repetitions, count equal rows once with --repeat-keys count-once, or allow more \
             where the program has a parameter for it (join: `repeats`); no value of the file was sent",
        ));
    }
    if let Some(most) = repeats_max
        && let Some(run) =
            rows.windows(most as usize + 1).find(|run| compare(run[0], run[most as usize]).is_eq())
    {
        let place = |row: u32| input.place(row, lines);
        let names: Vec<&str> =
            table.columns()[key_columns].iter().map(|c| input.name_of(&c.name)).collect();
        let (names, first) = (names.join(" and "), place(run[0]));
        let what =
            format!("more than {most} rows have the same {names}, the first of them in {first}");
        let last = place(run[most as usize]);
        return Err(Error::refused_row(RefusalKind::TooManyOfAKey, file, last, what)
            .remedy("raise the bound that both parties state (join: the parameter `repeats`), or remove rows; no value of the file was sent"));
    }
    let mut arranged = Table::zeros(table.columns().to_vec(), table.row_count());
    for (target, &source) in rows.iter().enumerate() {
        for column in 0..table.columns().len() {
            arranged.set_cell(target as u64, column, table.cell(u64::from(source), column));
        }
    }
    Ok((arranged, Some(rows)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::content::Content;
    use crate::csv::CsvFile;
    use phineus_bytecode::{Column, ElementType, Encoding, Lane};
    use std::sync::Arc;

    fn file(name: &str) -> Input {
        Input::of(Arc::new(CsvFile::new(Content::Path(name.into()))), 0)
    }

    /// A table of two columns of 8 bits.
    pub(crate) fn table(rows: &[[u64; 2]]) -> Table {
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
                let order =
                    RowOrder::Sorted { columns, descending, unique: false, repeats_max: None };
                let (ours, _) =
                    arrange(given.clone(), &order, &file("f"), &[]).expect("nothing to refuse");
                let theirs = phineus_frontend::arranged(&given, &order).expect("nothing to refuse");
                assert!(phineus_frontend::same_rows(&ours, &theirs));
            }
        }
    }

    #[test]
    fn repeated_keys_name_both_lines() {
        let order =
            RowOrder::Sorted { columns: 1, descending: false, unique: true, repeats_max: None };
        let rows = table(&[[3, 0], [1, 1], [3, 2]]);
        let failure = arrange(rows, &order, &file("a.csv"), &[2, 3, 4]);
        let failure = failure.err().expect("3 is there twice");
        assert_eq!(
            failure.to_string(),
            "a.csv: row 4: the same k as in row 2; every row needs another"
        );
    }
}
