//! Logs: contents of cells before or after changes.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use crate::memory::cell::{MemoryCell, PairHasher, finer};

pub(super) type Cells = HashMap<(u32, u32), MemoryCell, BuildHasherDefault<PairHasher>>;

/// Contents of cells before or after changes.
#[derive(Default)]
pub(crate) struct Log {
    /// By object and index of the cell.
    pub(crate) cells: Cells,
    /// Stores to a place for each lane: object, places, bytes.
    pub(crate) vectors: Vec<(u32, Rc<[i64]>, u64)>,
    /// The granule of each object in it when it was closed.
    pub(super) granules: Vec<(u32, u64)>,
}

/// Makes an object's cells in a log finer.
pub(super) fn refine_log(log: &mut Log, object: u32, factor: u32) {
    let log = &mut log.cells;
    let keys: Vec<_> = log.keys().copied().filter(|(owner, _)| *owner == object).collect();
    let taken: Vec<_> =
        keys.into_iter().filter_map(|key| Some((key.1, log.remove(&key)?))).collect();
    for (index, cell) in taken {
        let fine = finer(cell, factor).into_iter().zip(index * factor..);
        fine.for_each(|(cell, index)| drop(log.insert((object, index), cell)));
    }
}
