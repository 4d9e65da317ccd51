//! [`LinearScan`]: every access touches every row.

use std::ops::Range;

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{Records, Value};

use super::period::RowSharing;
use super::{in_range, index_bits, numbers, one_hot};

/// Bits of the number of a chunk in its group: a value has at most 4096 of them in its lanes.
const GROUP_BITS: u16 = 12;

/// The row of an access.
pub(super) enum ScannedRow {
    /// The row at a secret index, and whether there is one; nothing if there always is.
    Secret { index: Value, valid: Option<Value> },
    /// A row that is known when the program is traced.
    Public { chunk: usize, lane: u32 },
    /// A public index beyond the last row.
    Nowhere,
}

/// An array that is scanned.
pub(super) struct LinearScan {
    records: Records,
    is_changed: bool,
    /// Whether rows are elements of a field: then a choice costs one product, and so does an exclusive or of bits.
    is_in_field: bool,
}

impl LinearScan {
    pub(super) fn new(records: Records, rows: RowSharing) -> LinearScan {
        let is_in_field = match rows {
            RowSharing::Labels | RowSharing::Shares { .. } => false,
            RowSharing::Elements { .. } => true,
        };
        LinearScan { records, is_changed: false, is_in_field }
    }

    /// One bit for each number of so many bits of the index, as [`one_hot`].
    #[track_caller]
    fn hot(&self, index: &Value, bits: Range<u16>, enable: &Value) -> Value {
        match self.is_in_field {
            true => one_hot_in_field(index, bits, enable),
            false => one_hot(index, bits, enable),
        }
    }

    /// The rows, if any may have changed.
    pub(super) fn into_changed(self) -> Option<Records> {
        self.is_changed.then_some(self.records)
    }

    /// One bit for each row, in the chunks of the records.
    ///
    /// Cost: an AND for each row, about.
    #[track_caller]
    fn selection(&self, index: &Value, valid: Option<&Value>) -> Vec<Value> {
        let (bits, lanes) = (index.width(), self.records.chunk_lanes());
        let always = || index.tracer().constant(ElementType::BIT, Lane::ONE);
        let valid = valid.cloned().unwrap_or_else(always);
        // The low bits select a lane, those above a chunk of a group, the others a group.
        let lane_bits = (lanes.trailing_zeros() as u16).min(bits);
        let chunk_bits = (bits - lane_bits).min(GROUP_BITS);
        let group_bits = bits - lane_bits - chunk_bits;
        let yes = index.tracer().constant(ElementType::BIT, Lane::ONE);
        let lane = self.hot(index, 0..lane_bits, &valid);
        let chunk = self.hot(index, lane_bits..lane_bits + chunk_bits, &yes);
        let group = self.hot(index, bits - group_bits..bits, &yes);
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

    /// The row at `index`.
    #[track_caller]
    pub(super) fn open(&self, index: &Value) -> ScannedRow {
        let Some(index) = index.public() else {
            let rows = self.records.rows();
            let (index, valid) = in_range(index, index_bits(rows), rows);
            return ScannedRow::Secret { index, valid };
        };
        let row = u64::try_from(index).ok().filter(|row| *row < self.records.rows());
        let lanes = u64::from(self.records.chunk_lanes());
        row.map_or(ScannedRow::Nowhere, |row| ScannedRow::Public {
            chunk: (row / lanes) as usize,
            lane: (row % lanes) as u32,
        })
    }

    /// The cell of a column in a row: zeros if it is none.
    #[track_caller]
    pub(super) fn cell(&self, row: &ScannedRow, column: usize) -> Value {
        let chunks = self.records.chunks(column);
        match row {
            ScannedRow::Secret { index, valid } => {
                let bit = |bit| index.bit_slice(bit, 1);
                let cell = chosen(chunks, self.records.chunk_lanes(), index.width(), bit);
                match valid {
                    Some(valid) => valid.mask(&cell),
                    None => cell,
                }
            }
            &ScannedRow::Public { chunk, lane } => chunks[chunk].lane_slice(lane, 1),
            ScannedRow::Nowhere => {
                self.records.tracer().constant(self.records.elements()[column], Lane::ZERO)
            }
        }
    }

    /// Replaces the cells of a row where there is a new one; `cells` are those that were read of it.
    #[track_caller]
    pub(super) fn close(
        &mut self,
        row: &ScannedRow,
        cells: &[Option<Value>],
        new: &[Option<Value>],
    ) {
        if new.iter().all(Option::is_none) {
            return;
        }
        self.is_changed = true;
        match row {
            ScannedRow::Nowhere => {}
            &ScannedRow::Public { chunk, lane } => {
                let rows = self.records.chunk(chunk);
                let with = |(rows, new): (Value, &Option<Value>)| match new {
                    None => rows,
                    Some(new) => {
                        let behind = rows.lanes() - lane - 1;
                        let before = (lane > 0).then(|| rows.lane_slice(0, lane));
                        let after = (behind > 0).then(|| rows.lane_slice(lane + 1, behind));
                        let parts = [before, Some(new.clone()), after];
                        Value::joined(parts.into_iter().flatten().collect()).expect("one is new")
                    }
                };
                let rows = rows.into_iter().zip(new).map(with).collect();
                self.records.set_chunk(chunk, rows);
            }
            ScannedRow::Secret { index, valid } => {
                self.write(&self.selection(index, valid.as_ref()), cells, new);
            }
        }
    }

    /// Replaces rows that are elements, by a choice for each.
    #[track_caller]
    fn write_in_field(&mut self, selection: &[Value], new: &[Option<Value>]) {
        let new: Vec<Option<Value>> =
            new.iter().map(|new| new.as_ref().map(Value::reduced)).collect();
        for (number, selected) in selection.iter().enumerate() {
            let rows = self.records.chunk(number).into_iter().zip(&new);
            let chosen = rows.map(|(rows, new)| match new {
                Some(new) => selected.select(&new.tile(rows.lanes()), &rows),
                None => rows,
            });
            let chosen = chosen.collect();
            self.records.set_chunk(number, chosen);
        }
    }

    #[track_caller]
    fn write(&mut self, selection: &[Value], cells: &[Option<Value>], new: &[Option<Value>]) {
        if self.is_in_field {
            return self.write_in_field(selection, new);
        }
        for (number, selected) in selection.iter().enumerate() {
            let rows = self.records.chunk(number);
            let all = rows.iter().zip(cells).zip(new).map(|((rows, cell), new)| {
                let Some(new) = new else { return rows.clone() };
                // What differs is the same for all rows, or zeros where no row is selected.
                let differences = match cell {
                    Some(cell) => cell.xor(new).tile(rows.lanes()),
                    None => rows.xor(&new.tile(rows.lanes())),
                };
                rows.xor(&selected.mask(&differences))
            });
            let all = all.collect();
            self.records.set_chunk(number, all);
        }
    }
}

/// As [`one_hot`], by a choice for each number: `2^w - 1` products for `w` bits.
#[track_caller]
fn one_hot_in_field(index: &Value, bits: Range<u16>, enable: &Value) -> Value {
    let mut hot = enable.clone();
    for bit in bits {
        let bit = index.bit_slice(bit, 1);
        let zeros = numbers(index.tracer(), ElementType::BIT, 0, 1).tile(hot.lanes());
        let (low, high) = match hot.public() {
            Some(one) if !one.is_zero() => (bit.not(), bit),
            _ => bit.swap(&hot, &zeros),
        };
        hot = low.lane_concat(&high);
    }
    hot
}

/// The lane of a column that an index says, by a tree of choices; any if it says none.
///
/// `chunks` have `lanes` lanes each, a power of two, but for the last one; `bit` is each of so many `bits` of the index.
/// Cost: n - 1 choices for n rows.
#[track_caller]
pub(super) fn chosen(
    chunks: &[Value],
    lanes: u32,
    bits: u16,
    bit_of: impl Fn(u16) -> Value,
) -> Value {
    let lane_bits = lanes.trailing_zeros() as u16;
    let mut rows = chunks.to_vec();
    for bit in (lane_bits..bits).rev() {
        let half = 1usize << (bit - lane_bits).min(32);
        if rows.len() > half {
            let high = rows.split_off(half);
            let choice = bit_of(bit);
            for (low, high) in rows.iter_mut().zip(&high) {
                *low = either(&choice, high, low);
            }
        }
    }
    let mut rows = rows.swap_remove(0);
    for bit in (0..lane_bits.min(bits)).rev() {
        let half = 1 << bit;
        if rows.lanes() > half {
            let high = rows.lane_slice(half, rows.lanes() - half);
            rows = either(&bit_of(bit), &high, &rows.lane_slice(0, half));
        }
    }
    rows
}

/// The lanes of `high` if `choice` is 1, and otherwise of `low`, which may have more of them.
#[track_caller]
fn either(choice: &Value, high: &Value, low: &Value) -> Value {
    let lanes = high.lanes();
    match low.lanes() - lanes {
        0 => choice.select(high, low),
        more => {
            let both = choice.select(high, &low.lane_slice(0, lanes));
            both.lane_concat(&low.lane_slice(lanes, more))
        }
    }
}
