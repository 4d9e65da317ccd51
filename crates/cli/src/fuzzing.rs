//! What the fuzz targets call: reading what files and peers bring, as far as it goes without them.

use phineus_bytecode::{Column, ElementType, Encoding};

use crate::agreement;
use crate::csv_input::{self, Source, count_rows};

/// Rows of a table that is read: a header may promise any number.
const ROWS_MAX: u64 = 1 << 12;

/// Reads an input table, CSV or NumPy, with columns of every kind.
pub fn read_table(bytes: &[u8]) {
    let Ok(counted) = count_rows(Source::Bytes(bytes.to_vec())) else { return };
    if counted.rows > ROWS_MAX {
        return;
    }
    let column = |name: &str, element, encoding| Column { name: name.into(), element, encoding };
    let all = [
        column("a", ElementType::unsigned(32), Encoding::Number),
        column("b", ElementType::signed(9), Encoding::Number),
        column("c", ElementType::unsigned(64), Encoding::Text),
        column("d", ElementType::unsigned(128), Encoding::Hex),
        column("e", ElementType::signed(40), Encoding::Fixed(17)),
        column("f", ElementType::BIT, Encoding::Number),
    ];
    for columns in [&all[..], &all[..1], &all[..2], &all[1..2], &all[2..5], &all[5..]] {
        if let Ok((table, lines)) = csv_input::read_table(&counted, columns) {
            assert_eq!((table.row_count(), lines.len() as u64), (counted.rows, counted.rows));
        }
    }
}

/// Reads what a peer wishes, what it agrees to, and what a plan costs it.
pub fn read_agreement(bytes: &[u8]) {
    agreement::read_any(bytes);
}
