//! Merges the arms of a secret branch: a selection for each cell and phi that differs.

use crate::access::MemoryModel;
use crate::data::CellValue;
use crate::evaluate::report::ExecutionStop;
use crate::frame::{ExecutionOutcome, Frame, PathOutcome};
use crate::ir::Binary;
use crate::memory::log::Log;

impl MemoryModel {
    /// The ends of all paths, one for each place where they end.
    pub(super) fn gather_arms(
        &mut self,
        frame: &Frame<'_>,
        paths: &[(CellValue, u32)],
        mut arms: Vec<Vec<PathOutcome>>,
    ) -> Result<Vec<PathOutcome>, ExecutionStop> {
        let first = arms.iter().flatten().next().map(|outcome| outcome.end.key());
        let is_simple = |outcome: &PathOutcome| {
            Some(outcome.end.key()) == first && matches!(outcome.condition, CellValue::Public(1))
        };
        let meets = arms.iter().flatten().all(is_simple);
        let mut all = arms.pop().expect("there is a default");
        if meets {
            // The usual case: all paths meet, so that nothing waits for a condition.
            for ((condition, _), arm) in paths.iter().zip(arms).rev() {
                for outcome in arm {
                    self.add_outcome(frame, condition, outcome, &mut all)?;
                }
            }
            return Ok(all);
        }
        for ((condition, _), arm) in paths.iter().zip(arms).rev() {
            let no = CellValue::bit(false);
            for outcome in &mut all {
                outcome.condition = self.values.select(condition, &no, &outcome.condition, 1)?;
            }
            for outcome in arm {
                let own = self.values.binary(Binary::And, 1, condition, &outcome.condition)?;
                self.add_outcome(
                    frame,
                    condition,
                    PathOutcome { condition: own, ..outcome },
                    &mut all,
                )?;
            }
        }
        Ok(all)
    }

    /// Adds an end that is reached only where `chosen` holds.
    pub(super) fn add_outcome(
        &mut self,
        frame: &Frame<'_>,
        chosen: &CellValue,
        new: PathOutcome,
        all: &mut Vec<PathOutcome>,
    ) -> Result<(), ExecutionStop> {
        let Some(at) = all.iter().position(|known| known.end.key() == new.end.key()) else {
            all.push(new);
            return Ok(());
        };
        let old = all.swap_remove(at);
        let condition = self.values.binary(Binary::Or, 1, &old.condition, &new.condition)?;
        self.memory.open_log();
        let end = self.merge(frame, chosen, new, old);
        let log = self.memory.undo();
        all.push(PathOutcome { condition, end: end?, log });
        Ok(())
    }

    /// The end of a path that is taken where `condition` holds, and of another that ends at the
    /// same place; memory becomes what a choice between what both left is.
    fn merge(
        &mut self,
        frame: &Frame<'_>,
        condition: &CellValue,
        mut yes: PathOutcome,
        mut no: PathOutcome,
    ) -> Result<ExecutionOutcome, ExecutionStop> {
        // One path may have made cells finer that the other one changed before.
        self.memory.renew(&mut yes.log);
        self.memory.renew(&mut no.log);
        let end = match (yes.end, no.end) {
            (ExecutionOutcome::Reached(block, a), ExecutionOutcome::Reached(_, b)) => {
                let phis = &frame.function.blocks[block as usize].phis;
                let mut values = Vec::with_capacity(a.len());
                for ((a, b), phi) in a.iter().zip(&b).zip(phis) {
                    values.push(self.values.select(condition, a, b, phi.width)?);
                }
                ExecutionOutcome::Reached(block, values)
            }
            (ExecutionOutcome::Returned(a), ExecutionOutcome::Returned(b)) => {
                let width = frame.function.result.width();
                ExecutionOutcome::Returned(self.values.select(condition, &a, &b, width)?)
            }
            _ => unreachable!("both end at the same place"),
        };
        self.merge_memory(condition, &yes.log, &no.log)?;
        Ok(end)
    }

    fn merge_memory(
        &mut self,
        condition: &CellValue,
        yes: &Log,
        no: &Log,
    ) -> Result<(), ExecutionStop> {
        let chosen = self.merge_vectors(condition, yes, no)?;
        let changed = yes.cells.keys().chain(no.cells.keys()).copied();
        let mut keys: Vec<(u32, u32)> = changed.filter(|key| !chosen.cells.contains(key)).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut done = (u32::MAX, 0);
        // Written when all was looked at: what one path did not change is what lies there now.
        let mut merged = Vec::new();
        for (object, index) in keys {
            if !self.memory.object(object).is_alive || (object == done.0 && index < done.1) {
                continue;
            }
            let granule = self.memory.object(object).granule;
            let (data, cells) = match self.entries([yes, no], object, index)? {
                [Some((a, n)), Some((b, m))] if n == m => {
                    let width = (u64::from(n) * granule * 8) as u16;
                    (self.select_stored(condition, a, b, width)?, n)
                }
                [Some(_), Some((b, n))] if self.is_undefined(yes, object, index, n) => {
                    let width = (u64::from(n) * granule * 8) as u16;
                    (self.select_stored(condition, CellValue::Undefined, b, width)?, n)
                }
                [Some((a, n)), Some(_)] if self.is_undefined(no, object, index, n) => {
                    let width = (u64::from(n) * granule * 8) as u16;
                    (self.select_stored(condition, a, CellValue::Undefined, width)?, n)
                }
                _ => {
                    let a = self.piece(yes, object, index)?;
                    let b = self.piece(no, object, index)?;
                    (self.values.select(condition, &a, &b, (granule * 8) as u16)?, 1)
                }
            };
            let bytes = u64::from(cells) * granule;
            merged.push((object, u64::from(index) * granule, bytes as u8, data));
            done = (object, index + cells);
            if self.values.scope.lanes > 1 && self.values.scope.dry_run.is_none() {
                self.private_places.push((object, u64::from(index) * granule, bytes));
            }
        }
        for (object, offset, bytes, data) in merged {
            self.memory.put(object, offset, bytes, &data);
        }
        for (object, places, bytes, data) in chosen.all {
            self.scatter(object, &places, bytes, &data)?;
        }
        Ok(())
    }

    /// A choice between what lies in cells.
    fn select_stored(
        &mut self,
        condition: &CellValue,
        a: CellValue,
        b: CellValue,
        width: u16,
    ) -> Result<CellValue, ExecutionStop> {
        if a.is_same(&b) {
            return Ok(a);
        }
        if let Some(settled) = self.conditional_writes.settled(condition, &a, &b) {
            return Ok(settled);
        }
        let (a, b) = (self.stored(a), self.stored(b));
        self.values.select(condition, &a, &b, width)
    }
}
