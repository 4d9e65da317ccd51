//! Loads and stores while iterations run together, and their record in a dry run.

use std::rc::Rc;

use crate::access::MemoryModel;
use crate::data::CellValue;
use crate::data::lanes::last_lane;
use crate::evaluate::report::ExecutionStop;
use crate::memory::LoadResult;
use crate::memory::object::ObjectStorage;

impl MemoryModel {
    /// Loads from a place for each lane.
    pub(crate) fn gather(
        &mut self,
        object: u32,
        places: &Rc<[i64]>,
        bytes: u64,
    ) -> Result<CellValue, ExecutionStop> {
        for place in [places.iter().min(), places.iter().max()].into_iter().flatten() {
            if let Err(error) = self.memory.check(object, *place, bytes) {
                return self.outside(object, *place, error);
            }
        }
        if places.iter().all(|place| *place == places[0]) {
            self.note_read(object, places[0], bytes)?;
            return self.read(object, places[0] as u64, bytes as u8);
        }
        let width = bytes as u16 * 8;
        if let Some(dry_run) = &mut self.values.scope.dry_run {
            if matches!(self.memory.object(object).storage, ObjectStorage::Table(_)) {
                return Ok(dry_run.hidden(width));
            }
            dry_run.read(object, places, bytes);
        }
        let cells = self.memory.column(object, places, bytes).map(Ok);
        let cells = cells.unwrap_or_else(|| {
            let read = |place: &i64| self.read(object, *place as u64, bytes as u8);
            places.iter().map(read).collect::<Result<Vec<_>, ExecutionStop>>()
        })?;
        let publics = cells.iter().map(|cell| match cell {
            CellValue::Public(value) => Some(*value),
            _ => None,
        });
        if let Some(values) = publics.collect::<Option<Rc<[u128]>>>() {
            return Ok(CellValue::Spread(values));
        }
        if !cells.iter().all(|cell| cell.is_secret() || matches!(cell, CellValue::Public(_))) {
            return Err(ExecutionStop::Abandon);
        }
        match &mut self.values.scope.dry_run {
            Some(dry_run) => Ok(dry_run.hidden(width)),
            // As a bias that was stored for all of them.
            None if cells.iter().all(|cell| cell.is_same(&cells[0])) => Ok(cells[0].clone()),
            None => Ok(CellValue::Secret(self.values.emit.pack_once(&cells, width))),
        }
    }

    /// Stores to a place for each lane.
    pub(crate) fn scatter(
        &mut self,
        object: u32,
        places: &Rc<[i64]>,
        bytes: u64,
        data: &CellValue,
    ) -> Result<(), ExecutionStop> {
        for place in [places.iter().min(), places.iter().max()].into_iter().flatten() {
            if let Err(error) = self.memory.check(object, *place, bytes) {
                self.outside(object, *place, error)?;
                return Ok(());
            }
        }
        if self.memory.object(object).is_constant {
            self.values.error("this writes to a constant", "write to a copy")?;
            return Ok(());
        }
        if let Some(dry_run) = &mut self.values.scope.dry_run {
            if matches!(data, CellValue::Indexed(_) | CellValue::Chosen(_)) {
                return Err(ExecutionStop::Abandon);
            }
            dry_run.write(object, places, bytes);
        }
        for (lane, place) in places.iter().enumerate() {
            let cell = match data {
                CellValue::Secret(value) if value.lanes() > 1 => {
                    CellValue::Lane(value.clone(), lane as u32)
                }
                CellValue::Spread(values) => CellValue::Public(values[lane]),
                CellValue::Places(object, places) => CellValue::Pointer(*object, places[lane]),
                other => other.clone(),
            };
            self.write(object, *place as u64, bytes as u8, &cell)?;
        }
        if self.values.scope.secret_branches > 0 {
            self.memory.log_vector(object, places, bytes);
        }
        Ok(())
    }

    /// Notes a read of the same place by all lanes.
    pub(crate) fn note_read(
        &mut self,
        object: u32,
        at: i64,
        bytes: u64,
    ) -> Result<(), ExecutionStop> {
        if let Some(dry_run) = &mut self.values.scope.dry_run
            && !matches!(self.memory.object(object).storage, ObjectStorage::Table(_))
        {
            dry_run.read(object, &[at], bytes);
        }
        Ok(())
    }

    /// Notes a write to the same place by all lanes.
    pub(crate) fn note_write(
        &mut self,
        object: u32,
        at: i64,
        bytes: u64,
    ) -> Result<(), ExecutionStop> {
        let arms = self.values.scope.secret_branches;
        if let Some(dry_run) = &mut self.values.scope.dry_run {
            // In an arm the old value may stay, so that it is read.
            if dry_run.is_in_arm(arms) && !dry_run.is_own(object) {
                dry_run.read(object, &[at], bytes);
            }
            dry_run.write(object, &[at], bytes);
        } else if self.values.scope.lanes > 1 {
            self.private_places.push((object, at as u64, bytes));
        }
        Ok(())
    }

    /// Places that were each lane's own keep the last lane's value.
    pub(crate) fn keep_last(&mut self, lanes: u32) {
        for (object, offset, bytes) in std::mem::take(&mut self.private_places) {
            if !self.memory.object(object).is_alive {
                continue;
            }
            let mut at = offset;
            while at < offset + bytes {
                let size = self.memory.size_at(object, at).max(1);
                if let LoadResult::Whole(data) = self.memory.find(object, at, size.min(16) as u8)
                    && let Some(last) = last_lane(&data)
                {
                    self.memory.put(object, at, size as u8, &last);
                }
                at += size;
            }
        }
        debug_assert!(lanes > 0, "a strip has iterations");
    }
}
