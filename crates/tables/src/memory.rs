//! [`MemoryTable`]: a table whose columns the caller has in memory.

use std::borrow::Cow;
use std::fmt;

use crate::cell::{CellType, TableCell, WholeNumber};
use crate::content::ContentHash;
use crate::error::{Error, RefusalKind, RowLocation};
use crate::source::{ReadFault, RowReader, Survey, TableHeader, TableSource};

/// The values of a column, one for each row.
///
/// The values are secrets: there is no `Debug`.
#[derive(Clone)]
pub enum Values {
    /// Whole numbers from 0 on.
    Unsigned(Vec<u64>),
    /// Whole numbers.
    Signed(Vec<i64>),
    /// Numbers with a fraction.
    Floating(Vec<f64>),
    /// Truth values.
    Boolean(Vec<bool>),
    /// Texts.
    Text(Vec<String>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Unsigned(values) => values.len(),
            Values::Signed(values) => values.len(),
            Values::Floating(values) => values.len(),
            Values::Boolean(values) => values.len(),
            Values::Text(values) => values.len(),
        }
    }

    fn cell_type(&self) -> CellType {
        match self {
            Values::Unsigned(_) => CellType::Integer { width: 64, is_signed: false },
            Values::Signed(_) => CellType::Integer { width: 64, is_signed: true },
            Values::Floating(_) => CellType::Double,
            Values::Boolean(_) => CellType::Boolean,
            Values::Text(_) => CellType::Text,
        }
    }

    fn cell(&self, row: usize) -> TableCell<'_> {
        match self {
            Values::Unsigned(values) => TableCell::Integer(WholeNumber::from(values[row])),
            Values::Signed(values) => {
                TableCell::Integer(WholeNumber::from(i128::from(values[row])))
            }
            Values::Floating(values) => TableCell::Double(values[row]),
            Values::Boolean(values) => TableCell::Boolean(values[row]),
            Values::Text(values) => TableCell::Text(Cow::Borrowed(&values[row])),
        }
    }
}

/// A column of values of one type.
macro_rules! from_values {
    ($($value:ty => $form:ident),*) => {
        $(impl From<Vec<$value>> for Values {
            fn from(values: Vec<$value>) -> Values {
                Values::$form(values)
            }
        })*
    };
}

from_values!(u64 => Unsigned, i64 => Signed, f64 => Floating, bool => Boolean, String => Text);

/// A table in memory, for owners without a file.
#[derive(Clone, Default)]
pub struct MemoryTable {
    name: String,
    names: Vec<String>,
    columns: Vec<Values>,
}

impl MemoryTable {
    /// Makes a table without columns; `name` identifies it in messages.
    pub fn new(name: impl Into<String>) -> MemoryTable {
        MemoryTable { name: name.into(), ..MemoryTable::default() }
    }

    /// Adds a column. All columns have the same length, which is checked when the table is used.
    pub fn with(mut self, name: impl Into<String>, values: impl Into<Values>) -> MemoryTable {
        self.names.push(name.into());
        self.columns.push(values.into());
        self
    }

    fn rows(&self) -> usize {
        self.columns.first().map_or(0, Values::len)
    }
}

impl fmt::Debug for MemoryTable {
    /// Omits the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryTable { name, names, .. } = self;
        f.debug_struct("MemoryTable")
            .field("name", name)
            .field("columns", names)
            .finish_non_exhaustive()
    }
}

impl TableSource for MemoryTable {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn survey(&self) -> Result<Survey, Error> {
        let refused = |what: String| Err(Error::refused(RefusalKind::Malformed, &self.name, what));
        for (place, (name, values)) in self.names.iter().zip(&self.columns).enumerate() {
            if self.names[..place].contains(name) {
                return refused(format!("has two columns '{name}'"));
            }
            if values.len() != self.rows() {
                let (found, first, rows) = (values.len(), &self.names[0], self.rows());
                let what =
                    format!("column '{name}' has {found} values, and column '{first}' {rows}");
                return refused(what);
            }
        }
        Ok(Survey { rows: self.rows() as u64, hash: None, buffer_bytes: 0 })
    }

    fn open(&self) -> Result<Box<dyn RowReader + '_>, Error> {
        Ok(Box::new(MemoryReader { table: self, next: 0 }))
    }

    fn still_has(&self, _: &ContentHash) -> bool {
        true
    }
}

struct MemoryReader<'a> {
    table: &'a MemoryTable,
    next: usize,
}

impl RowReader for MemoryReader<'_> {
    fn header(&self) -> TableHeader<'_> {
        TableHeader::Named(&self.table.names, None)
    }

    fn cell_type(&self, column: usize) -> Option<CellType> {
        Some(self.table.columns[column].cell_type())
    }

    fn advance(&mut self) -> Result<bool, ReadFault> {
        let has_more = self.next < self.table.rows();
        self.next += usize::from(has_more);
        Ok(has_more)
    }

    fn place(&self) -> RowLocation {
        RowLocation::Row(self.next as u64)
    }

    fn cell(&self, column: usize) -> TableCell<'_> {
        self.table.columns[column].cell(self.next - 1)
    }

    fn finish(self: Box<Self>) -> Result<Option<ContentHash>, String> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use phineus_bytecode::{Column, ElementType, Encoding, Lane};

    use super::*;
    use crate::{Input, TextKey};

    fn column(name: &str, element: ElementType) -> Column {
        Column { name: name.to_owned(), element, encoding: Encoding::Number }
    }

    #[test]
    fn columns_become_a_packed_table() {
        let table = MemoryTable::new("orders")
            .with("price", vec![-3i64, 7])
            .with("paid", vec![true, false])
            .with("note", vec!["a".to_owned(), "b".to_owned()]);
        let input = Input::count(Arc::new(table)).expect("its columns are as long as each other");
        assert_eq!(input.rows, 2);
        let wanted =
            [column("paid", ElementType::unsigned(1)), column("price", ElementType::signed(8))];
        let read = input.read(&wanted, &[], &TextKey::within_a_file()).expect("all values fit");
        let cells = |row| [0, 1].map(|place| read.table.cell(row, place));
        assert_eq!(cells(0), [Lane::from(1u8), Lane::from(0xfdu8)]);
        assert_eq!(cells(1), [Lane::from(0u8), Lane::from(7u8)]);
    }

    #[test]
    fn faults_name_the_table_the_row_and_the_column() {
        let table = MemoryTable::new("orders").with("price", vec![1u64, 300]);
        let input = Input::count(Arc::new(table)).expect("it has one column");
        let wanted = [column("price", ElementType::unsigned(8))];
        let refused = input.read(&wanted, &[], &TextKey::within_a_file()).err();
        let refused = refused.expect("300 has nine bits").to_string();
        assert!(refused.starts_with("orders: row 2, column 'price': '300'"), "{refused}");
        let uneven = MemoryTable::new("t").with("a", vec![1u64]).with("b", vec![1u64, 2]);
        let refused = uneven.survey().expect_err("b is longer").to_string();
        assert_eq!(refused, "t: column 'b' has 2 values, and column 'a' 1");
        let twice = MemoryTable::new("t").with("a", vec![1u64]).with("a", vec![2u64]);
        assert_eq!(twice.survey().expect_err("two").to_string(), "t: has two columns 'a'");
    }
}
