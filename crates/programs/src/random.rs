//! Seeded random tables. Not for secrets.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, Lane, Table};

/// A table of random cells.
pub fn random_table(columns: Vec<Column>, rows: u64, random: &mut SeededRng) -> Table {
    let mut table = Table::new(columns.clone());
    for _ in 0..rows {
        let row: Vec<Lane> =
            columns.iter().map(|column| random.bits(column.element.width())).collect();
        table.push(&row);
    }
    table
}
