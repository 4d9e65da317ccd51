//! Input tables: columns of rows that are read as needed.

use std::rc::Rc;

use phineus_bytecode::{ElementType, Encoding};
use phineus_frontend::untyped::Value;

use crate::data::CellValue;

/// A column of an input table.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Its type in the CSV file; in memory it has all its bytes.
    pub(crate) element: ElementType,
    /// How it is written there.
    pub(crate) encoding: Encoding,
}

/// An input that is read when it is used.
pub(crate) struct InputMemory {
    pub(crate) port: u64,
    /// The first of its columns in the port.
    pub(crate) first_column: u64,
    pub(crate) rows: u64,
    pub(crate) row_bytes: u64,
    pub(crate) leaves: Vec<TableColumn>,
    /// The leaf that each byte of a row belongs to.
    pub(crate) leaf_at: Vec<Option<u32>>,
    /// Rows of a chunk, by leaf.
    pub(crate) lanes: Vec<u32>,
    /// The chunks of each leaf.
    pub(crate) chunks: Vec<Vec<Option<Rc<Value>>>>,
}

impl InputMemory {
    /// A cell, if its chunk was read.
    pub(crate) fn cell(&self, leaf: u32, row: u64) -> Option<CellValue> {
        let lanes = u64::from(self.lanes[leaf as usize]);
        let chunk = self.chunks[leaf as usize][(row / lanes) as usize].as_ref()?;
        Some(match chunk.lanes() {
            1 => CellValue::Secret(chunk.clone()),
            _ => CellValue::Lane(chunk.clone(), (row % lanes) as u32),
        })
    }
}
