//! [`LinearScan`]: every access touches every row.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{Records, Value};

use super::{changed, in_range, index_bits, one_hot, selected};

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
        let lane = one_hot(&index, 0..lane_bits, &valid);
        let chunk = one_hot(&index, lane_bits..lane_bits + chunk_bits, &yes);
        let group = one_hot(&index, bits - group_bits..bits, &yes);
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
    fn row(&self, selection: &[Value]) -> Vec<Value> {
        let cell = |column| selected(selection, self.records.chunks(column));
        let columns = 0..self.records.elements().len();
        columns.map(|column| cell(column).expect("there is a row")).collect()
    }

    #[track_caller]
    pub(super) fn read(&self, index: &Value) -> Vec<Value> {
        self.row(&self.selection(index))
    }

    #[track_caller]
    pub(super) fn update(
        &mut self,
        index: &Value,
        function: impl FnOnce(&[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let selection = self.selection(index);
        let row = self.row(&selection);
        let changed = changed(&row, function);
        let both = row.iter().zip(&changed);
        let differences: Vec<Value> = both.map(|(old, new)| old.xor(new)).collect();
        for (number, selected) in selection.iter().enumerate() {
            let rows = self.records.chunk(number);
            let new = rows
                .iter()
                .zip(&differences)
                .map(|(rows, difference)| rows.xor(&selected.mask(&difference.tile(rows.lanes()))));
            let new = new.collect();
            self.records.set_chunk(number, new);
        }
        row
    }
}
