//! The parts of the networks that stay within one chunk.

use phineus_bytecode::ElementType;
use phineus_frontend::{Bit, Element, Value, Vector};

use crate::key::SortKey;
use crate::network::{Rows, SortOrder, exchange, swap};

pub(crate) fn lane_count(rows: &Rows) -> u32 {
    rows.first().map_or(0, Value::lanes)
}

#[track_caller]
fn each(rows: &Rows, function: impl Fn(&Value) -> Value) -> Rows {
    rows.iter().map(function).collect()
}

#[track_caller]
fn joined(first: Rows, second: &Rows) -> Rows {
    if lane_count(second) == 0 {
        return first;
    }
    first.iter().zip(second).map(|(a, b)| a.lane_concat(b)).collect()
}

/// The strides below the number of lanes, of the merge of one chunk: it becomes sorted.
#[track_caller]
fn merge(key: &SortKey, direction: SortOrder, mut rows: Rows) -> Rows {
    for stride in strides(&rows).rev() {
        rows = stage(rows, stride, |_, a, b| exchange(key, direction, a, b));
    }
    rows
}

/// The strides within a chunk of these rows, smallest first.
pub(crate) fn strides(rows: &Rows) -> impl DoubleEndedIterator<Item = u32> + use<> {
    let levels = lane_count(rows).next_power_of_two().trailing_zeros();
    (0..levels).map(|level| 1 << level)
}

/// Which comparators of a stride are meant: those of whole blocks, or those of the rest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ComparatorSet {
    Blocks,
    Rest,
}

/// One stride: whole blocks of `2 stride` lanes together, then what is left of the last block.
#[track_caller]
pub(crate) fn stage(
    rows: Rows,
    stride: u32,
    mut compare: impl FnMut(ComparatorSet, &Rows, &Rows) -> (Rows, Rows),
) -> Rows {
    let lanes = lane_count(&rows);
    let whole = lanes / (2 * stride) * (2 * stride);
    if whole == lanes {
        return blocks(rows, stride, |a, b| compare(ComparatorSet::Blocks, a, b));
    }
    let rest = each(&rows, |value| value.lane_slice(whole, lanes - whole));
    let rest = partial(rest, stride, |a, b| compare(ComparatorSet::Rest, a, b));
    if whole == 0 {
        return rest;
    }
    let front = each(&rows, |value| value.lane_slice(0, whole));
    let front = blocks(front, stride, |a, b| compare(ComparatorSet::Blocks, a, b));
    joined(front, &rest)
}

/// Applies `exchange` to the even and odd blocks of `stride` lanes.
#[track_caller]
pub(crate) fn blocks(
    rows: Rows,
    stride: u32,
    exchange: impl FnOnce(&Rows, &Rows) -> (Rows, Rows),
) -> Rows {
    let (even, odd): (Rows, Rows) = rows.iter().map(|value| value.deinterleave(stride)).unzip();
    let (even, odd) = exchange(&even, &odd);
    even.iter().zip(&odd).map(|(even, odd)| even.interleave(odd, stride)).collect()
}

/// The pairs `i`, `i + stride` of fewer than `2 stride` lanes.
#[track_caller]
fn partial(rows: Rows, stride: u32, exchange: impl FnOnce(&Rows, &Rows) -> (Rows, Rows)) -> Rows {
    let lanes = lane_count(&rows);
    if lanes <= stride {
        return rows;
    }
    let pairs = lanes - stride;
    let (low, high) = exchange(
        &each(&rows, |value| value.lane_slice(0, pairs)),
        &each(&rows, |value| value.lane_slice(stride, pairs)),
    );
    if pairs == stride {
        return joined(low, &high);
    }
    let middle = each(&rows, |value| value.lane_slice(pairs, stride - pairs));
    joined(joined(low, &middle), &high)
}

/// Sorts one chunk.
#[track_caller]
pub(crate) fn sort(key: &SortKey, direction: SortOrder, rows: Rows) -> Rows {
    let lanes = lane_count(&rows);
    if lanes.is_power_of_two() {
        sort_power(key, direction, rows)
    } else {
        sort_any(key, direction, rows)
    }
}

/// A power of two: all blocks of one size together, every other block the other way round.
#[track_caller]
fn sort_power(key: &SortKey, direction: SortOrder, mut rows: Rows) -> Rows {
    for stage in block_stages(lane_count(&rows)) {
        rows = sort_blocks(key, direction, rows, stage);
    }
    merge(key, direction, rows)
}

/// A stage of sorting blocks of lanes: the lanes of a block, and the stride.
type BlockStage = (u32, u32);

/// The stages before the last merge of a sort of so many lanes, a power of two.
pub(crate) fn block_stages(lanes: u32) -> impl Iterator<Item = BlockStage> {
    let bits = lanes.trailing_zeros();
    (1..bits).flat_map(|block| (0..block).rev().map(move |stride| (1 << block, 1 << stride)))
}

/// One stage of a chunk whose number of lanes is a power of two.
#[track_caller]
pub(crate) fn sort_blocks(
    key: &SortKey,
    direction: SortOrder,
    rows: Rows,
    (block, stride): BlockStage,
) -> Rows {
    // Comparator j of a stage belongs to block j / (block / 2). The last block of each merge ascends where
    // the whole does, so those with an even number are turned round.
    let per_block = block / 2;
    let turned = |j: u32| {
        let odd = j / per_block % 2 == 1;
        odd == (direction == SortOrder::Descending)
    };
    blocks(rows, stride, |a, b| {
        let wrong = key.lt(b, a);
        let pattern = pattern(&wrong, turned);
        swap(&wrong.xor(&pattern), a, b)
    })
}

/// Public bits, lane `j` being `bit(j)`, beside `value`.
#[track_caller]
fn pattern(value: &Value, bit: impl Fn(u32) -> bool) -> Value {
    debug_assert_eq!(value.integer(), ElementType::BIT);
    let bits = Vector::<Bit>::constants(value.tracer(), (0..value.lanes()).map(bit));
    bits.chunks()
        .iter()
        .cloned()
        .reduce(|a, b| a.lane_concat(&b))
        .unwrap_or_else(|| Bit::constant(value.tracer(), false).value().clone())
}

/// Any number of lanes: halves, then a merge.
#[track_caller]
fn sort_any(key: &SortKey, direction: SortOrder, rows: Rows) -> Rows {
    let lanes = lane_count(&rows);
    if lanes < 2 {
        return rows;
    }
    let half = lanes.div_ceil(2);
    let first = each(&rows, |value| value.lane_slice(0, half));
    let second = each(&rows, |value| value.lane_slice(half, lanes - half));
    let first = sort_any(key, direction.reversed(), first);
    let second = sort_any(key, direction, second);
    merge(key, direction, joined(first, &second))
}
