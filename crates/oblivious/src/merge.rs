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
//! section 3). The comparators and their results are the same as level by level, which is how they come where
//! the tracer goes by levels: for memory that is not short, and parties that are far from each other.

use std::collections::BTreeMap;

use phineus_frontend::{Records, Value};

use crate::key::SortKey;
use crate::lanes::{self, ComparatorSet};
use crate::network::{Rows, SortOrder, exchange, is_wrong, swap};

/// Merges rows that descend and then ascend by `key`; the result ascends.
///
/// [`crate::merge_comparators`] of them, of `key + record` ANDs each.
#[track_caller]
pub fn merge_bitonic(records: Records, key: &SortKey) -> Records {
    if records.rows() == 0 {
        return records;
    }
    let mut network = ChunkedRecords::new(records, key);
    let count = network.chunks.len();
    network.merge(0, count, SortOrder::Ascending);
    network.into_records()
}

/// Merges two sequences that both ascend by `key`. Turning the first round moves lanes, no gates.
#[track_caller]
pub fn merge(first: Records, second: Records, key: &SortKey) -> Records {
    merge_bitonic(first.reverse().concat(second), key)
}

/// Merges like [`merge`], and keeps what it decided, so that the merge can be undone.
///
/// The decisions are secret bits, one for each of the [`crate::merge_comparators`].
#[track_caller]
pub fn merge_recorded(first: Records, second: Records, key: &SortKey) -> (Records, MergeRecord) {
    let first_rows = first.rows();
    let records = first.reverse().concat(second);
    let lanes = records.chunk_lanes();
    if records.rows() == 0 {
        return (records, MergeRecord { swaps: BTreeMap::new(), first_rows, lanes });
    }
    let mut network = ChunkedRecords::new(records, key);
    network.swaps = Some(BTreeMap::new());
    let count = network.chunks.len();
    network.merge(0, count, SortOrder::Ascending);
    let swaps = network.swaps.take().unwrap_or_default();
    (network.into_records(), MergeRecord { swaps, first_rows, lanes })
}

/// Where a comparator stands: its two chunks, and within one chunk its stride and part.
type Place = (usize, usize, u32, ComparatorSet);

/// The decisions of a merge; see [`merge_recorded`].
pub struct MergeRecord {
    swaps: BTreeMap<Place, Value>,
    first_rows: u64,
    lanes: u32,
}

impl MergeRecord {
    /// Brings rows that stand in the merged order back to where they came from: those of the first
    /// sequence in its order, and those of the second.
    ///
    /// The rows may have any columns; `w` bits a row cost `w` ANDs a comparator.
    #[track_caller]
    pub fn undo(&self, records: Records) -> (Records, Records) {
        let rows = records.rows();
        if rows == 0 {
            return (records.clone(), records);
        }
        let key = SortKey::column(0);
        let mut network = ChunkedRecords::new(records.rechunked(self.lanes), &key);
        let count = network.chunks.len();
        network.undo(count, &self.swaps);
        let records = network.into_records();
        let first = records.slice(0, self.first_rows).reverse();
        (first, records.slice(self.first_rows, rows - self.first_rows))
    }
}

/// Records on which a network works chunk by chunk.
pub(crate) struct ChunkedRecords<'a> {
    key: &'a SortKey,
    tracer: phineus_frontend::Tracer,
    lanes: u32,
    pub(crate) chunks: Vec<Rows>,
    /// Decisions of the comparators, if they are recorded.
    swaps: Option<BTreeMap<Place, Value>>,
}

impl ChunkedRecords<'_> {
    pub(crate) fn new<'a>(records: Records, key: &'a SortKey) -> ChunkedRecords<'a> {
        let (tracer, lanes) = (records.tracer().clone(), records.chunk_lanes());
        let mut chunks: Vec<Rows> = vec![Vec::new(); records.chunk_count()];
        for column in records.into_columns() {
            for (rows, value) in chunks.iter_mut().zip(column) {
                rows.push(value);
            }
        }
        ChunkedRecords { key, tracer, lanes, chunks, swaps: None }
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

    /// Whether everything comes level by level.
    pub(crate) fn goes_by_levels(&self) -> bool {
        self.tracer.goes_by_levels()
    }

    /// Sorts chunks by themselves, each stage of all together.
    #[track_caller]
    pub(crate) fn sort_all(&mut self, chunks: &[Stretch]) {
        let lanes = self.lanes;
        let is_whole = |rows: &Rows| lanes::lane_count(rows) == lanes && lanes.is_power_of_two();
        for stage in lanes::block_stages(lanes.next_power_of_two()) {
            for &Stretch { first, direction, .. } in chunks {
                if is_whole(&self.chunks[first]) {
                    let rows = std::mem::take(&mut self.chunks[first]);
                    self.chunks[first] = lanes::sort_blocks(self.key, direction, rows, stage);
                }
            }
        }
        let (whole, others): (Vec<Stretch>, Vec<Stretch>) =
            chunks.iter().partition(|chunk| is_whole(&self.chunks[chunk.first]));
        self.merge_all(&whole);
        others.iter().for_each(|chunk| self.sort_chunk(chunk.first, chunk.direction));
    }

    /// Merges the bitonic sequences in several stretches, each level of all together.
    #[track_caller]
    pub(crate) fn merge_all(&mut self, stretches: &[Stretch]) {
        let most = stretches.iter().map(|stretch| stretch.count).max().unwrap_or(1);
        for level in (0..most.next_power_of_two().trailing_zeros()).rev() {
            for &stretch in stretches {
                let mut merge = ChunkMerge { network: self, stretch };
                let upper = (0..stretch.count).filter(|chunk| chunk >> level & 1 == 0);
                upper.for_each(|chunk| merge.exchange(chunk, chunk + (1 << level)));
            }
        }
        for level in (0..self.lanes.next_power_of_two().trailing_zeros()).rev() {
            for &stretch in stretches {
                let mut merge = ChunkMerge { network: self, stretch };
                (0..stretch.count).for_each(|chunk| merge.inner_stage(chunk, 1 << level));
            }
        }
    }

    /// Sorts chunk `index` by itself.
    #[track_caller]
    pub(crate) fn sort_chunk(&mut self, index: usize, direction: SortOrder) {
        let rows = std::mem::take(&mut self.chunks[index]);
        self.chunks[index] = lanes::sort(self.key, direction, rows);
    }

    /// Merges the bitonic sequence in the `count` chunks from `first` on.
    #[track_caller]
    pub(crate) fn merge(&mut self, first: usize, count: usize, direction: SortOrder) {
        let stretch = Stretch { first, count, direction };
        if self.goes_by_levels() {
            return self.merge_all(&[stretch]);
        }
        let bits = count.next_power_of_two().trailing_zeros();
        ChunkMerge { network: self, stretch }.levels(0, 0, bits, true);
    }

    /// Undoes a merge of all `count` chunks that made these decisions.
    #[track_caller]
    fn undo(&mut self, count: usize, swaps: &BTreeMap<Place, Value>) {
        let bits = count.next_power_of_two().trailing_zeros();
        let goes_by_levels = self.goes_by_levels();
        let mut undo = ReverseMerge { chunks: &mut self.chunks, swaps };
        if !goes_by_levels {
            return undo.levels(0, 0, bits, true);
        }
        for level in 0..self.lanes.next_power_of_two().trailing_zeros() {
            (0..count).for_each(|chunk| undo.inner_stage(chunk, 1 << level));
        }
        for level in 0..bits {
            let upper = (0..count).filter(|chunk| chunk >> level & 1 == 0);
            upper.for_each(|chunk| undo.exchange(chunk, chunk + (1 << level)));
        }
    }
}

/// `count` chunks from `first` on, and the order that they will be in.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) first: usize,
    pub(crate) count: usize,
    pub(crate) direction: SortOrder,
}

/// The merge of one stretch of chunks.
struct ChunkMerge<'n, 'k> {
    network: &'n mut ChunkedRecords<'k>,
    stretch: Stretch,
}

impl ChunkMerge<'_, '_> {
    /// The levels of `bits` bits from `low` on, for the chunks that agree with `base` elsewhere;
    /// afterwards, if they are the `last` levels, the strides within each chunk.
    #[track_caller]
    fn levels(&mut self, base: usize, low: u32, bits: u32, last: bool) {
        if base >= self.stretch.count {
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
        let Stretch { first, count, direction } = self.stretch;
        if b >= count {
            return;
        }
        let (a, b) = (first + a, first + b);
        let ChunkedRecords { key, chunks, swaps, .. } = &mut *self.network;
        exchange_chunks(chunks, (a, b), |low, high| match swaps {
            None => exchange(key, direction, low, high),
            Some(swaps) => {
                let wrong = is_wrong(key, direction, low, high);
                let swapped = swap(&wrong, low, high);
                swaps.insert((a, b, 0, ComparatorSet::Blocks), wrong);
                swapped
            }
        });
    }

    /// All strides within a chunk.
    #[track_caller]
    fn inner(&mut self, chunk: usize) {
        let Stretch { first, count, .. } = self.stretch;
        if chunk < count {
            let strides = lanes::strides(&self.network.chunks[first + chunk]);
            strides.rev().for_each(|stride| self.inner_stage(chunk, stride));
        }
    }

    /// One stride within a chunk, if the chunk is as long.
    #[track_caller]
    fn inner_stage(&mut self, chunk: usize, stride: u32) {
        let Stretch { first, direction, .. } = self.stretch;
        let at = first + chunk;
        let ChunkedRecords { key, chunks, swaps, .. } = &mut *self.network;
        if lanes::lane_count(&chunks[at]) <= stride {
            return;
        }
        let rows = std::mem::take(&mut chunks[at]);
        chunks[at] = lanes::stage(rows, stride, |part, low, high| match swaps {
            None => exchange(key, direction, low, high),
            Some(swaps) => {
                let wrong = is_wrong(key, direction, low, high);
                let swapped = swap(&wrong, low, high);
                swaps.insert((at, at, stride, part), wrong);
                swapped
            }
        });
    }
}

/// Applies `compare` to the rows of two chunks; the second may be shorter.
#[track_caller]
fn exchange_chunks(
    chunks: &mut [Rows],
    (a, b): (usize, usize),
    compare: impl FnOnce(&Rows, &Rows) -> (Rows, Rows),
) {
    let (first, second) = (&chunks[a], &chunks[b]);
    let (all, paired) = (first[0].lanes(), second[0].lanes());
    if all == paired {
        let (low, high) = compare(first, second);
        (chunks[a], chunks[b]) = (low, high);
        return;
    }
    let part = |start, lanes| -> Rows {
        let cut = |value: &Value| value.lane_slice(start, lanes);
        first.iter().map(cut).collect()
    };
    let (low, high) = compare(&part(0, paired), second);
    let rest = part(paired, all - paired);
    let whole = low.iter().zip(&rest).map(|(a, b)| a.lane_concat(b));
    (chunks[a], chunks[b]) = (whole.collect(), high);
}

/// A merge backwards: [`ChunkMerge`] with its levels, parts and strides in reverse order.
struct ReverseMerge<'n> {
    chunks: &'n mut Vec<Rows>,
    swaps: &'n BTreeMap<Place, Value>,
}

impl ReverseMerge<'_> {
    #[track_caller]
    fn levels(&mut self, base: usize, low: u32, bits: u32, last: bool) {
        if base >= self.chunks.len() {
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
                if last {
                    self.inner(other);
                    self.inner(base);
                }
                self.exchange(base, other);
            }
            _ => {
                let lower = bits / 2;
                for part in (0..1 << (bits - lower)).rev() {
                    self.levels(base + (part << (low + lower)), low, lower, last);
                }
                for part in (0..1 << lower).rev() {
                    self.levels(base + (part << low), low + lower, bits - lower, false);
                }
            }
        }
    }

    #[track_caller]
    fn exchange(&mut self, a: usize, b: usize) {
        if b < self.chunks.len() {
            let wrong = &self.swaps[&(a, b, 0, ComparatorSet::Blocks)];
            exchange_chunks(self.chunks, (a, b), |low, high| swap(wrong, low, high));
        }
    }

    #[track_caller]
    fn inner(&mut self, at: usize) {
        if at < self.chunks.len() {
            let strides = lanes::strides(&self.chunks[at]);
            strides.for_each(|stride| self.inner_stage(at, stride));
        }
    }

    /// One stride within a chunk, if the chunk is as long.
    #[track_caller]
    fn inner_stage(&mut self, at: usize, stride: u32) {
        if lanes::lane_count(&self.chunks[at]) <= stride {
            return;
        }
        let rows = std::mem::take(&mut self.chunks[at]);
        self.chunks[at] = lanes::stage(rows, stride, |part, low, high| {
            swap(&self.swaps[&(at, at, stride, part)], low, high)
        });
    }
}
