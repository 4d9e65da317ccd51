//! Entry points of the fuzz targets: readers of files and of messages, without files and peers.

use phineus_bytecode::{Column, ElementType, Encoding};
use phineus_session::agreement;
use phineus_tables::{Content, Input, TextKey, open};

/// Rows of a table that is read: a header may promise any number.
const ROWS_MAX: u64 = 1 << 12;

/// Reads an input table, CSV or NumPy, with columns of every kind.
pub fn read_table(bytes: &[u8]) {
    let Ok(source) = open(Content::Bytes(bytes.to_vec())) else { return };
    let Ok(input) = Input::count(source) else { return };
    if input.rows > ROWS_MAX {
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
        column("g", ElementType::unsigned(32), Encoding::Float),
    ];
    for columns in [&all[..], &all[..1], &all[..2], &all[1..2], &all[2..5], &all[5..]] {
        if let Ok(read) = input.read(columns, &[], &TextKey::within_a_file()) {
            let rows = (read.table.row_count(), read.lines.len() as u64);
            assert_eq!(rows, (input.rows, input.rows));
        }
    }
}

/// Reads what a peer proposes, what it agrees to, and what a plan costs it.
pub fn read_agreement(bytes: &[u8]) {
    agreement::read_any(bytes);
}
