//! Cell values recorded in logs of secret branches and of branches at run time.

use crate::access::MemoryModel;
use crate::data::{CellValue, is_address};
use crate::evaluate::report::ExecutionStop;
use crate::ir::{Binary, Unary};
use crate::memory::log::Log;

/// Returns whether the value is never split into bytes in memory.
fn stays_whole(data: &CellValue) -> bool {
    is_address(data) || matches!(data, CellValue::Function(_))
}

impl MemoryModel {
    /// The values that begin in a cell, in each of two logs. Where one of them is an address, smaller
    /// values in the other, such as zeros of a cleared structure, are read as one value.
    pub(crate) fn entries(
        &mut self,
        logs: [&Log; 2],
        object: u32,
        index: u32,
    ) -> Result<[Option<(CellValue, u32)>; 2], ExecutionStop> {
        let mut found = logs.map(|log| self.memory.entry(log, object, index));
        for (one, other) in [(0, 1), (1, 0)] {
            let cells = match (&found[one], &found[other]) {
                (Some((data, n)), Some((_, m))) if n > m && stays_whole(data) => *n,
                _ => continue,
            };
            if let Some(data) = self.as_one(logs[other], object, (index, cells))? {
                found[other] = Some((data, cells));
            }
        }
        Ok(found)
    }

    /// The values in so many cells as one; `None` where one lies across their end.
    fn as_one(
        &mut self,
        log: &Log,
        object: u32,
        (first, cells): (u32, u32),
    ) -> Result<Option<CellValue>, ExecutionStop> {
        let granule = self.memory.object(object).granule;
        let (mut parts, mut at) = (Vec::new(), first);
        while at < first + cells {
            let Some((data, own)) = self.memory.entry(log, object, at) else { return Ok(None) };
            parts.push((
                self.stored(data),
                (u64::from(at) * granule) as i64,
                (u64::from(own) * granule) as u8,
            ));
            at += own;
        }
        if at > first + cells {
            return Ok(None);
        }
        let (offset, bytes) = (u64::from(first) * granule, u64::from(cells) * granule);
        self.values.join(parts, offset, bytes as u8).map(Some)
    }

    /// The cells of an address that begins in a cell in one of the logs.
    pub(crate) fn address_cells(&self, logs: &[&Log], object: u32, index: u32) -> Option<u32> {
        let entries = logs.iter().filter_map(|log| self.memory.entry(log, object, index));
        entries.filter(|(data, _)| stays_whole(data)).map(|(_, cells)| cells).max()
    }

    /// The stretches of memory that one of the logs changes.
    pub(crate) fn stretches(&self, logs: &[&Log]) -> Vec<(u32, u64, u8)> {
        let mut keys: Vec<(u32, u32)> =
            logs.iter().flat_map(|log| log.cells.keys().copied()).collect();
        keys.sort_unstable();
        keys.dedup();
        let (mut found, mut done) = (Vec::new(), (u32::MAX, 0));
        for (object, index) in keys {
            if !self.memory.object(object).is_alive || (object == done.0 && index < done.1) {
                continue;
            }
            let granule = self.memory.object(object).granule;
            let entries = logs.iter().map(|log| self.memory.entry(log, object, index));
            let sizes = entries.map(|entry| match entry {
                Some((CellValue::Undefined, _)) => Some(0),
                entry => entry.map(|(_, cells)| cells),
            });
            let cells = sizes
                .reduce(|a, b| match (a, b) {
                    (Some(0), other) | (other, Some(0)) => other,
                    (Some(a), Some(b)) if a == b => Some(a),
                    _ => None,
                })
                .flatten();
            let cells = self.address_cells(logs, object, index).or(cells);
            let cells = cells.unwrap_or(1).max(1);
            let bytes = (u64::from(cells) * granule) as u8;
            found.push((object, u64::from(index) * granule, bytes));
            done = (object, index + cells);
        }
        found
    }

    /// Whether nothing is known of any of these cells.
    pub(crate) fn is_undefined(&self, log: &Log, object: u32, first: u32, cells: u32) -> bool {
        let mut at = first;
        while at < first + cells {
            match self.memory.entry(log, object, at) {
                Some((CellValue::Undefined, n)) => at += n,
                _ => return false,
            }
        }
        true
    }

    /// The part in one cell of the value that it belongs to.
    pub(crate) fn piece(
        &mut self,
        log: &Log,
        object: u32,
        index: u32,
    ) -> Result<CellValue, ExecutionStop> {
        let granule = self.memory.object(object).granule;
        let mut head = index;
        let (data, cells) = loop {
            match self.memory.entry(log, object, head) {
                Some(entry) => break entry,
                None => head -= 1,
            }
        };
        if matches!(data, CellValue::Undefined) {
            return Ok(data);
        }
        let data = self.stored(data);
        let width = (u64::from(cells) * granule * 8) as u16;
        let shift = u64::from(index - head) * granule * 8;
        let moved =
            self.values.binary(Binary::LShr, width, &data, &CellValue::Public(shift.into()))?;
        self.values.unary(Unary::Truncate, width, (granule * 8) as u16, &moved)
    }
}
