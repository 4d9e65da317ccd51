//! [`Memory`]: an array whose rows are read and written at secret indices.
//!
//! Cost in ANDs, of `n` rows of `b` bits with `k = log2 n`: an access by [`MemoryMethod::Scan`] takes `(n - 1) b`
//! to read and `n (b + 1)` to change; one by [`MemoryMethod::SquareRoot`] some `sqrt(n log n) (b + 2k)`, and an
//! opened index for each level; one by [`MemoryMethod::Dpf`] takes none; one by [`MemoryMethod::Circuit`] takes some
//! `(8 k + 70) (b + 2 k)` for each of `k / 3` trees.

mod accesses;
mod changing;
mod circuit;
mod constants;
mod expand;
mod hidden;
mod in_field;
mod limbs;
mod linked;
mod period;
mod position_map;
mod scan;
mod shuffle;
mod square_root;
mod tables;
mod usage;

use std::ops::Range;

use phineus_bytecode::{ElementType, Lane};
pub use phineus_bytecode::{Memory as MemoryShape, MemoryMethod};
use phineus_frontend::{Records, SecretMemory, Tracer, Value};

pub use expand::{ProgramBlocks, Unrolling, expand};
pub use period::{MemoryTerms, RowSharing};
pub use usage::{
    MemoryUsage, RowKnowledge, accesses_of_a_turn, circuit_access_ands, instructions_of_a_turn,
    sample, usages,
};

/// Rows of some columns, read and changed at secret indices.
pub struct Memory {
    memory: SecretMemory,
    rows: u64,
}

impl Memory {
    /// A memory of the rows of `records`, accessed by `method`; if it is none, by the one that costs least, which is
    /// decided when the program is planned.
    ///
    /// With [`MemoryMethod::SquareRoot`] there are at most 2^24 rows.
    #[track_caller]
    pub fn new(records: Records, method: impl Into<Option<MemoryMethod>>) -> Memory {
        let name = format!("memory {}", records.tracer().memory_count() + 1);
        Memory::named(&name, records, method)
    }

    /// As [`Memory::new`], with a name for the user.
    #[track_caller]
    pub fn named(name: &str, records: Records, method: impl Into<Option<MemoryMethod>>) -> Memory {
        let (tracer, columns) = (records.tracer(), records.elements());
        let memory = Memory::zeros(tracer, name, columns, records.rows(), method);
        set_all(&memory.memory, &records);
        memory
    }

    /// A memory of rows of zeros, before [`Memory::set_each_iteration`].
    pub fn zeros(
        tracer: &Tracer,
        name: &str,
        columns: &[ElementType],
        rows: u64,
        method: impl Into<Option<MemoryMethod>>,
    ) -> Memory {
        let columns = columns.to_vec();
        let shape = MemoryShape {
            name: name.to_owned(),
            columns,
            rows,
            method: method.into(),
            is_linked: false,
        };
        Memory { memory: tracer.secret_memory(shape), rows }
    }

    /// Sets the row `first`, and where the block at hand is repeated, one `stride` rows further in each iteration; before any
    /// access.
    #[track_caller]
    pub fn set_each_iteration(&self, first: u64, stride: u64, row: &[Value]) {
        for (column, cell) in row.iter().enumerate() {
            self.memory.set_each_iteration(column, first, stride, cell);
        }
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The row at `index`, an unsigned integer of one lane; zeros beyond the last row.
    #[track_caller]
    pub fn read(&mut self, index: &Value) -> Vec<Value> {
        self.memory.open(index);
        self.memory.cells()
    }

    /// Replaces the row at `index`; writes nothing beyond the last row.
    #[track_caller]
    pub fn write(&mut self, index: &Value, row: &[Value]) {
        self.memory.open(index);
        for (column, cell) in row.iter().enumerate() {
            self.memory.change(column, cell);
        }
    }

    /// Replaces the row at `index` by `function` of it, and returns what it was: one access.
    #[track_caller]
    pub fn update(
        &mut self,
        index: &Value,
        function: impl FnOnce(&[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        self.memory.open(index);
        let row = self.memory.cells();
        for (column, cell) in changed(&row, function).iter().enumerate() {
            self.memory.change(column, cell);
        }
        row
    }
}

/// Rows that follow each other, of which each is read once at most: by a link, and then the link to the row behind it.
///
/// Source: the oblivious linked lists of Doerner, Evans, shelat, "Secure Stable Matching at Scale", ACM CCS 2016.
pub struct LinkedRows {
    memory: SecretMemory,
}

impl LinkedRows {
    /// The rows of `records`. At most 2^24, unless all are scanned.
    #[track_caller]
    pub fn named(
        name: &str,
        records: Records,
        method: impl Into<Option<MemoryMethod>>,
    ) -> LinkedRows {
        let (rows, columns) = (records.rows(), records.elements().to_vec());
        let (name, method) = (name.to_owned(), method.into());
        let shape = MemoryShape { name, columns, rows, method, is_linked: true };
        let memory = records.tracer().secret_memory(shape);
        set_all(&memory, &records);
        LinkedRows { memory }
    }

    /// The link to a row; the first one in a program is made where nothing is repeated.
    #[track_caller]
    pub fn link(&self, row: u64) -> Value {
        self.memory.link(row)
    }

    /// The row that a link leads to, and the link to the row behind it; behind the last row is the first.
    ///
    /// # Security
    /// No row is read twice, whatever the data: the place of a row that is read is opened.
    #[track_caller]
    pub fn read(&mut self, link: &Value) -> (Vec<Value>, Value) {
        self.memory.follow(link);
        (self.memory.cells(), self.memory.next_link())
    }
}

#[track_caller]
fn set_all(memory: &SecretMemory, records: &Records) {
    for column in 0..records.elements().len() {
        let mut row = 0;
        for chunk in records.chunks(column) {
            memory.set(column, row, chunk);
            row += u64::from(chunk.lanes());
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
    // In words of one lane: on shares a word is selected in one piece.
    let mut words = vec![enable.clone()];
    for bit in bits {
        let bit = index.bit_slice(bit, 1);
        let mut above: Vec<Value> = words.iter().map(|word| bit.mask(word)).collect();
        words.iter_mut().zip(&above).for_each(|(word, above)| *word = word.xor(above));
        if words.len() == 1 && words[0].width() < WORD_BITS {
            words[0] = words[0].bit_concat(&above[0]);
        } else {
            words.append(&mut above);
        }
    }
    let lanes = words.iter().map(|word| word.reshape(1)).collect();
    Value::joined(lanes).expect("there is a word")
}

/// Bits of a word that is selected in one piece.
const WORD_BITS: u16 = 128;

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
