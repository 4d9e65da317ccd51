//! [`LinearScan`]: every access touches every row.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{Records, Value};

use super::{in_range, index_bits, one_hot};

/// Bits of the number of a chunk in its group: a value has at most 4096 of them in its lanes.
const GROUP_BITS: u16 = 12;

/// An array that is scanned.
pub(super) struct LinearScan {
    records: Records,
}

impl LinearScan {
    pub(super) fn new(records: Records) -> LinearScan {
        LinearScan { records }
    }

    /// One bit for each row, in the chunks of the records.
    #[track_caller]
    fn selection(&self, index: &Value) -> Vec<Value> {
        let (rows, lanes) = (self.records.rows(), self.records.chunk_lanes());
        let bits = index_bits(rows);
        let (index, valid) = in_range(index, bits, rows);
        let valid = valid.unwrap_or_else(|| index.tracer().constant(ElementType::BIT, Lane::ONE));
        // The low bits select a lane, those above a chunk of a group, the others a group.
        let lane_bits = (lanes.trailing_zeros() as u16).min(bits);
        let chunk_bits = (bits - lane_bits).min(GROUP_BITS);
        let group_bits = bits - lane_bits - chunk_bits;
        let yes = index.tracer().constant(ElementType::BIT, Lane::ONE);
        let lane = one_hot_or(&index, 0..lane_bits, &valid);
        let chunk = one_hot_or(&index, lane_bits..lane_bits + chunk_bits, &yes);
        let group = one_hot_or(&index, bits - group_bits..bits, &yes);
        let size = 1 << chunk_bits;
        let mut chunks = chunk.clone();
        let select = |number: usize| {
            let rows = self.records.chunks(0)[number].lanes();
            let lane = if rows < lane.lanes() { lane.lane_slice(0, rows) } else { lane.clone() };
            let (group_number, at) = ((number / size) as u32, (number % size) as u32);
            if at == 0 && group_bits > 0 {
                chunks = group.lane_slice(group_number, 1).mask(&chunk);
            }
            match bits == lane_bits {
                true => lane,
                false => chunks.lane_slice(at, 1).mask(&lane),
            }
        };
        (0..self.records.chunk_count()).map(select).collect()
    }

    #[track_caller]
    pub(super) fn read(&self, index: &Value) -> Vec<Value> {
        let selection = self.selection(index);
        let column = |column: usize| {
            let chunks = self.records.chunks(column).iter().zip(&selection);
            let parts = chunks.map(|(rows, selected)| selected.mask(rows).lane_xor());
            parts.reduce(|sum, part| sum.xor(&part)).expect("there is a row")
        };
        (0..self.records.elements().len()).map(column).collect()
    }

    #[track_caller]
    pub(super) fn update(
        &mut self,
        index: &Value,
        function: impl FnOnce(&[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let selection = self.selection(index);
        let columns = 0..self.records.elements().len();
        let row: Vec<Value> = columns
            .map(|column| {
                let chunks = self.records.chunks(column).iter().zip(&selection);
                let parts = chunks.map(|(rows, selected)| selected.mask(rows).lane_xor());
                parts.reduce(|sum, part| sum.xor(&part)).expect("there is a row")
            })
            .collect();
        let mut changed = function(&row);
        if changed.len() != row.len() {
            let (wanted, found) = (row.len(), changed.len());
            let fault = format!("a row of the memory has {wanted} cells, not {found}");
            index.tracer().fault(fault);
            changed = row.clone();
        }
        for (number, selected) in selection.iter().enumerate() {
            let rows = self.records.chunk(number);
            let difference = row.iter().zip(&changed).map(|(old, new)| old.xor(new));
            let new = rows.iter().zip(difference).map(|(rows, difference)| {
                let lanes = difference.tile(rows.lanes());
                rows.xor(&selected.mask(&lanes))
            });
            let new = new.collect();
            self.records.set_chunk(number, new);
        }
        row
    }
}

/// As [`one_hot`], of some bits of the index, of which there may be none.
#[track_caller]
fn one_hot_or(index: &Value, bits: std::ops::Range<u16>, enable: &Value) -> Value {
    match bits.len() {
        0 => enable.clone(),
        width => one_hot(&index.bit_slice(bits.start, width as u16), enable),
    }
}
