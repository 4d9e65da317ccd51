//! Merging two sorted sequences: `n log2(n) / 2` comparators, `log(n) / log(M)` passes.
//!
//! The network is Batcher's bitonic merge (see `network.rs`); the order of its comparators is what
//! this module is about. Level by level, every level would read and write all `n` rows, which is
//! log n passes over storage. But level `s` only pairs chunks whose numbers differ in bit `s`, so
//! the upper half of the levels never mixes chunks that differ in a lower bit, and the lower half
//! never mixes chunks that differ in a higher one: the levels fall apart into independent
//! sub-networks, like the rows and columns of a six-step FFT. Dividing the bits in halves, again
//! and again, any memory of M chunks sees sub-networks of log M levels which fit it, without
//! knowing M (Frigo, Leiserson, Prokop, Ramachandran, "Cache-Oblivious Algorithms", FOCS 1999,
//! section 3). The comparators and their results are the same as level by level.

use phineus_frontend::{Records, Value};

use crate::key::Key;
use crate::lanes;
use crate::network::{Direction, Rows, exchange};

/// Merges rows that descend and then ascend by `key`; the result ascends.
///
/// [`crate::merge_comparators`] of them, of `key + record` ANDs each.
#[track_caller]
pub fn merge_bitonic(records: Records, key: &Key) -> Records {
    let mut network = Network::new(records, key);
    let count = network.chunks.len();
    network.merge(0, count, Direction::Ascending);
    network.into_records()
}

/// Merges two sequences that both ascend by `key`. Turning the first round moves lanes, no gates.
#[track_caller]
pub fn merge(first: Records, second: Records, key: &Key) -> Records {
    merge_bitonic(first.reverse().concat(second), key)
}

/// Records on which a network works chunk by chunk.
pub(crate) struct Network<'a> {
    key: &'a Key,
    tracer: phineus_frontend::Tracer,
    lanes: u32,
    pub(crate) chunks: Vec<Rows>,
}

impl Network<'_> {
    pub(crate) fn new<'a>(records: Records, key: &'a Key) -> Network<'a> {
        let (tracer, lanes) = (records.tracer().clone(), records.chunk_lanes());
        let mut chunks: Vec<Rows> = vec![Vec::new(); records.chunk_count()];
        for column in records.into_columns() {
            for (rows, value) in chunks.iter_mut().zip(column) {
                rows.push(value);
            }
        }
        Network { key, tracer, lanes, chunks }
    }

    #[track_caller]
    pub(crate) fn into_records(self) -> Records {
        let column_count = self.chunks.first().map_or(0, Vec::len);
        let mut columns: Vec<Vec<Value>> = vec![Vec::new(); column_count];
        for rows in self.chunks {
            for (column, value) in columns.iter_mut().zip(rows) {
                column.push(value);
            }
        }
        Records::from_columns(&self.tracer, self.lanes, columns)
    }

    /// Sorts chunk `index` by itself.
    #[track_caller]
    pub(crate) fn sort_chunk(&mut self, index: usize, direction: Direction) {
        let rows = std::mem::take(&mut self.chunks[index]);
        self.chunks[index] = lanes::sort(self.key, direction, rows);
    }

    /// Merges the bitonic sequence in the `count` chunks from `first` on.
    #[track_caller]
    pub(crate) fn merge(&mut self, first: usize, count: usize, direction: Direction) {
        let bits = count.next_power_of_two().trailing_zeros();
        let mut merge = Merge { network: self, first, count, direction };
        merge.levels(0, 0, bits, true);
    }
}

/// The merge of one stretch of chunks.
struct Merge<'n, 'k> {
    network: &'n mut Network<'k>,
    first: usize,
    count: usize,
    direction: Direction,
}

impl Merge<'_, '_> {
    /// The levels of `bits` bits from `low` on, for the chunks that agree with `base` elsewhere;
    /// afterwards, if they are the `last` levels, the strides within each chunk.
    #[track_caller]
    fn levels(&mut self, base: usize, low: u32, bits: u32, last: bool) {
        if base >= self.count {
            return;
        }
        match bits {
            0 => {
                if last {
                    self.inner(base);
                }
            }
            1 => {
                let other = base + (1 << low);
                self.exchange(base, other);
                if last {
                    self.inner(base);
                    self.inner(other);
                }
            }
            _ => {
                let lower = bits / 2;
                for part in 0..1 << lower {
                    self.levels(base + (part << low), low + lower, bits - lower, false);
                }
                for part in 0..1 << (bits - lower) {
                    self.levels(base + (part << (low + lower)), low, lower, last);
                }
            }
        }
    }

    /// Compares two chunks row by row; the second may be short or missing.
    #[track_caller]
    fn exchange(&mut self, a: usize, b: usize) {
        if b >= self.count {
            return;
        }
        let chunks = &mut self.network.chunks;
        let (a, b) = (self.first + a, self.first + b);
        let (first, second) = (&chunks[a], &chunks[b]);
        let (all, paired) = (first[0].lanes(), second[0].lanes());
        let key = self.network.key;
        if all == paired {
            let (low, high) = exchange(key, self.direction, first, second);
            (chunks[a], chunks[b]) = (low, high);
            return;
        }
        let part = |start, lanes| -> Rows {
            let cut = |value: &Value| value.lane_slice(start, lanes);
            first.iter().map(cut).collect()
        };
        let (low, high) = exchange(key, self.direction, &part(0, paired), second);
        let rest = part(paired, all - paired);
        let whole = low.iter().zip(&rest).map(|(a, b)| a.lane_concat(b));
        (chunks[a], chunks[b]) = (whole.collect(), high);
    }

    #[track_caller]
    fn inner(&mut self, chunk: usize) {
        if chunk < self.count {
            let rows = &mut self.network.chunks[self.first + chunk];
            let taken = std::mem::take(rows);
            *rows = lanes::merge(self.network.key, self.direction, taken);
        }
    }
}
