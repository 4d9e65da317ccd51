//! Selections for places that differ between lanes: all lanes at once.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use crate::access::MemoryModel;
use crate::data::CellValue;
use crate::evaluate::report::ExecutionStop;
use crate::memory::LoadResult;
use crate::memory::cell::PairHasher;
use crate::memory::log::Log;

/// Values at places that each lane has of its own: object, places, bytes, values.
#[derive(Default)]
pub(super) struct Vectors {
    pub(super) all: Vec<(u32, Rc<[i64]>, u64, CellValue)>,
    /// Objects and indices of cells that are among the places.
    pub(super) cells: HashSet<(u32, u32), BuildHasherDefault<PairHasher>>,
}

impl MemoryModel {
    /// The choices for places that lanes have of their own: all lanes at once.
    pub(super) fn merge_vectors(
        &mut self,
        condition: &CellValue,
        yes: &Log,
        no: &Log,
    ) -> Result<Vectors, ExecutionStop> {
        let mut all: Vec<(u32, Rc<[i64]>, u64)> = yes.vectors.clone();
        for vector in &no.vectors {
            if !all.contains(vector) {
                all.push(vector.clone());
            }
        }
        all.retain(|(object, ..)| self.memory.object(*object).is_alive);
        if all.is_empty() {
            return Ok(Vectors::default());
        }
        let mut views = Vec::with_capacity(2);
        for log in [yes, no] {
            self.memory.open_log();
            self.memory.apply(log);
            let found: Result<Vec<Option<CellValue>>, ExecutionStop> = all
                .iter()
                .map(|(object, places, bytes)| self.view(*object, places, *bytes))
                .collect();
            drop(self.memory.undo());
            views.push(found?);
        }
        let (no, yes) = (views.pop().unwrap_or_default(), views.pop().unwrap_or_default());
        let mut chosen = Vectors::default();
        for (((object, places, bytes), a), b) in all.into_iter().zip(yes).zip(no) {
            // What is no vector is chosen between cell by cell.
            let (Some(a), Some(b)) = (a, b) else { continue };
            let data = self.values.select(condition, &a, &b, bytes as u16 * 8)?;
            let granule = self.memory.object(object).granule;
            for place in places.iter().map(|place| *place as u64) {
                let cells = place / granule..(place + bytes).div_ceil(granule);
                chosen.cells.extend(cells.map(|cell| (object, cell as u32)));
            }
            chosen.all.push((object, places, bytes, data));
        }
        Ok(chosen)
    }

    /// The values at the places of all lanes; undefined if none is set. `None` if some are set and some
    /// not, or if they are addresses: the iterations then run one by one.
    fn view(
        &mut self,
        object: u32,
        places: &Rc<[i64]>,
        bytes: u64,
    ) -> Result<Option<CellValue>, ExecutionStop> {
        let is_unset = |place: &i64| {
            let found = self.memory.find(object, *place as u64, bytes as u8);
            matches!(found, LoadResult::Whole(CellValue::Undefined))
        };
        if places.iter().all(is_unset) {
            return Ok(Some(CellValue::Undefined));
        }
        match self.gather(object, places, bytes) {
            Err(ExecutionStop::Abandon) if self.values.scope.lanes == 1 => Ok(None),
            found => found.map(Some),
        }
    }
}
