//! [`Memory`]: an array whose rows are read and written at secret indices.
//!
//! Cost in ANDs, of `n` rows of `b` bits with `k = log2 n`: an access by [`MemoryMethod::Scan`] takes `n (b + 1)`
//! to read and twice that to change; one by [`MemoryMethod::SquareRoot`] some `sqrt(2 n k) (b + k)`, one opened
//! index, and a message of `2^k` numbers of rows. `docs/protocols/oram.md` has the exact costs.

mod position_map;
mod scan;
mod shuffle;
mod square_root;

use std::ops::Range;

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{Records, Tracer, Value};

use scan::LinearScan;
use square_root::SquareRoot;

/// How a memory finds a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryMethod {
    /// Each access touches all rows.
    Scan,
    /// Rows lie in a secret order, and an access opens a place that was not touched before: Zahur, Wang, Raykova,
    /// Gascón, Doerner, Evans, Katz, "Revisiting Square-Root ORAM", IEEE S&P 2016. Two parties, semi-honest.
    SquareRoot,
}

/// Rows of some columns, read and changed at secret indices.
pub struct Memory {
    access: MemoryAccess,
    rows: u64,
}

enum MemoryAccess {
    Scan(LinearScan),
    SquareRoot(Box<SquareRoot>),
}

impl Memory {
    /// A memory of the rows of `records`.
    ///
    /// With [`MemoryMethod::SquareRoot`] there are at most 2^24 rows.
    #[track_caller]
    pub fn new(records: Records, method: MemoryMethod) -> Memory {
        let rows = records.rows();
        let access = match method {
            MemoryMethod::Scan => MemoryAccess::Scan(LinearScan::new(records)),
            MemoryMethod::SquareRoot => {
                MemoryAccess::SquareRoot(Box::new(SquareRoot::new(records)))
            }
        };
        Memory { access, rows }
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The row at `index`, an unsigned integer of one lane; zeros beyond the last row.
    #[track_caller]
    pub fn read(&mut self, index: &Value) -> Vec<Value> {
        match &mut self.access {
            MemoryAccess::Scan(scan) => scan.read(index),
            MemoryAccess::SquareRoot(memory) => memory.read(index),
        }
    }

    /// Replaces the row at `index`; writes nothing beyond the last row.
    #[track_caller]
    pub fn write(&mut self, index: &Value, row: &[Value]) {
        match &mut self.access {
            MemoryAccess::Scan(scan) => {
                scan.update(index, |_| row.to_vec());
            }
            MemoryAccess::SquareRoot(memory) => memory.write(index, row),
        }
    }

    /// Replaces the row at `index` by `function` of it, and returns what it was: one access.
    #[track_caller]
    pub fn update(
        &mut self,
        index: &Value,
        function: impl FnOnce(&[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        match &mut self.access {
            MemoryAccess::Scan(scan) => scan.update(index, function),
            MemoryAccess::SquareRoot(memory) => memory.update(index, function),
        }
    }
}

/// Bits that number so many rows.
fn index_bits(rows: u64) -> u16 {
    rows.next_power_of_two().trailing_zeros().max(1) as u16
}

/// `index` in `bits` bits, and whether it is below `rows`; `None` if it always is.
#[track_caller]
fn in_range(index: &Value, bits: u16, rows: u64) -> (Value, Option<Value>) {
    let index = index.with_sign(false);
    let is_always = u32::from(index.width()) < 64 && 1u64 << index.width() <= rows;
    let valid = (!is_always).then(|| {
        let last = index.tracer().constant(index.integer(), Lane::from(rows - 1));
        index.le(&last)
    });
    (index.cast(ElementType::unsigned(bits)), valid)
}

/// One bit for each number of so many `bits` of the index, in lanes: `enable` at the number that they are, and 0
/// elsewhere.
///
/// Cost: 2^w - 1 ANDs for w bits.
#[track_caller]
fn one_hot(index: &Value, bits: Range<u16>, enable: &Value) -> Value {
    bits.fold(enable.clone(), |below, bit| {
        let above = index.bit_slice(bit, 1).mask(&below);
        below.xor(&above).lane_concat(&above)
    })
}

/// The row of a column where one bit is 1 at most: zeros if none is, and nothing if there are no rows.
#[track_caller]
fn selected(selection: &[Value], chunks: &[Value]) -> Option<Value> {
    let parts = selection.iter().zip(chunks).map(|(bits, rows)| bits.mask(rows).lane_xor());
    parts.reduce(|sum, part| sum.xor(&part))
}

/// What `function` makes of a row; a fault, and the row, if it has not as many cells.
#[track_caller]
fn changed(row: &[Value], function: impl FnOnce(&[Value]) -> Vec<Value>) -> Vec<Value> {
    let changed = function(row);
    if changed.len() == row.len() {
        return changed;
    }
    let (wanted, found) = (row.len(), changed.len());
    let fault = format!("a row of the memory has {wanted} cells, not {found}");
    row[0].tracer().fault(fault);
    row.to_vec()
}

/// The numbers `from`, `from + 1`, ... as public lanes.
#[track_caller]
fn numbers(tracer: &Tracer, element: ElementType, from: u64, lanes: u32) -> Value {
    let number = |number: u64| tracer.constant(element, Lane::from(number));
    let all = (from..from + u64::from(lanes)).map(number).collect();
    Value::joined(all).expect("there is a lane")
}

#[cfg(test)]
mod tests;
