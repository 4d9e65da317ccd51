//! The element of a row that a secret index means: of constants by a circuit made for them, else by a tree of choices.
//!
//! Cost of a tree: `n - 1` choices; many at once where the elements are lanes of a vector, which each bit of
//! the index halves.

use std::rc::Rc;

use phineus_frontend::ConstantTable;
use phineus_frontend::untyped::Value;

use crate::data::{CellValue, is_single_integer};
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::ir::{Binary, Unary};

const WIRES: usize = phineus_bytecode::limits::VALUE_WIRES_MAX as usize;

/// A choice between two constants takes no AND.
const CONSTANTS_MIN: usize = 3;

/// Fewer elements are chosen between one by one.
const ELEMENTS_MIN: usize = 8;

/// How many parts the elements are made of: lanes that follow each other in one vector are one.
fn runs(elements: &[CellValue]) -> usize {
    let follows = |pair: &&[CellValue]| match (&pair[0], &pair[1]) {
        (CellValue::Lane(a, i), CellValue::Lane(b, j)) => Rc::ptr_eq(a, b) && i + 1 == *j,
        _ => false,
    };
    elements.len() - elements.windows(2).filter(follows).count()
}

impl OperationEvaluator {
    /// Whether all of these are integers that are the same in all lanes, in numbers that pay.
    pub(crate) fn is_row(&self, elements: &[CellValue], index: &CellValue) -> bool {
        self.is_at_single_secret(index)
            && elements.len() >= ELEMENTS_MIN
            && elements.iter().all(is_single_integer)
    }

    /// Whether something is recorded at a secret index, and once for all lanes.
    pub(crate) fn is_at_single_secret(&self, index: &CellValue) -> bool {
        self.scope.dry_run.is_none()
            && self.scope.lanes == 1
            && is_single_integer(index)
            && !matches!(index, CellValue::Public(_))
    }

    /// The circuit of a row, if all of its elements are constants; those that no index means are 0.
    pub(crate) fn constants(
        &mut self,
        row: &[Option<CellValue>],
        own: u16,
    ) -> Option<Rc<ConstantTable>> {
        if !(CONSTANTS_MIN..=ConstantTable::ROWS_MAX).contains(&row.len()) {
            return None;
        }
        let constant = |element: &Option<CellValue>| match element {
            Some(CellValue::Public(value)) => Some(*value),
            Some(_) => None,
            None => Some(0),
        };
        let rows = row.iter().map(constant).collect::<Option<Vec<u128>>>()?;
        Some(self.emit.constant_table(rows, own))
    }

    /// The element that a secret index says; those that it never means are
    /// none.
    pub(crate) fn pick(
        &mut self,
        mut row: Vec<Option<CellValue>>,
        index: &CellValue,
        width: u16,
        own: u16,
    ) -> Result<Option<CellValue>, ExecutionStop> {
        if let Some(table) = self.constants(&row, own)
            && matches!(index, CellValue::Secret(_) | CellValue::Lane(..) | CellValue::Hidden)
        {
            if let Some(dry_run) = &mut self.scope.dry_run {
                return Ok(Some(dry_run.hidden(own)));
            }
            let index = self.emit.value(index, width);
            return Ok(Some(self.emit.known(table.look_up(&index))));
        }
        let mut bit = 0;
        while row.len() > 1 {
            let whole: Option<Vec<CellValue>> = row.iter().cloned().collect();
            let found = whole.and_then(|row| self.pick_at_once(&row, index, bit as u16, own));
            if found.is_some() {
                return Ok(found);
            }
            let moved = self.binary(Binary::LShr, width, index, &CellValue::Public(bit))?;
            let odd = self.unary(Unary::Truncate, width, 1, &moved)?;
            let mut half = Vec::with_capacity(row.len().div_ceil(2));
            for pair in row.chunks(2) {
                half.push(match pair {
                    [Some(even), Some(high)] => Some(self.select(&odd, high, even, own)?),
                    [even, high] => even.clone().or_else(|| high.clone()),
                    _ => pair[0].clone(),
                });
            }
            row = half;
            bit += 1;
        }
        Ok(row.pop().flatten())
    }

    /// The element of `row` that an index says, if it can be found so; `bit` is the first bit of
    /// the index that is not used yet.
    pub(crate) fn pick_at_once(
        &mut self,
        row: &[CellValue],
        index: &CellValue,
        mut bit: u16,
        own: u16,
    ) -> Option<CellValue> {
        // Where each element lies for itself, bringing them together costs what choosing does.
        if !self.is_row(row, index) || 2 * runs(row) > row.len() {
            return None;
        }
        let bits = self.emit.value(index, 0);
        let most = 1 << (WIRES / usize::from(own)).ilog2();
        let mut row = row.to_vec();
        while row.len() > 1 {
            let mut rest = Vec::with_capacity(row.len().div_ceil(most));
            let first = bit;
            for part in row.chunks(most) {
                let mut vector = (*self.emit.pack(part, own)).clone();
                let mut at = first;
                // All parts use the same bits, also the last one, which may be smaller.
                while vector.lanes() > 1 && at < bits.width() {
                    vector = halved(&vector, &bits.bit_slice(at, 1));
                    at += 1;
                }
                bit = bit.max(at);
                rest.push(self.emit.known(vector.lane_slice(0, 1)));
            }
            row = rest;
        }
        row.pop()
    }
}

/// Of each two lanes the second where the bit is 1; a last one without a partner stays.
fn halved(vector: &Value, bit: &Value) -> Value {
    let (pairs, odd) = (vector.lanes() / 2, vector.lanes() % 2);
    let (even, second) = vector.lane_slice(0, 2 * pairs).deinterleave(1);
    let chosen = bit.select(&second, &even);
    match odd {
        1 => chosen.lane_concat(&vector.lane_slice(2 * pairs, 1)),
        _ => chosen,
    }
}
