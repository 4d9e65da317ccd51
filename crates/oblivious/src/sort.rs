//! Sorting: about `n log2(n)^2 / 4` comparators, depth-first.
//!
//! Halves are sorted one after the other, each down to single chunks, and then merged; so whatever
//! fits memory is read once, sorted completely and written once, and only the log(n / M) merges
//! above it touch storage again. Where the tracer goes by levels
//! ([`Tracer::goes_by_levels`](phineus_frontend::Tracer::goes_by_levels)), all chunks are sorted stage by stage, and
//! merges of one size take each level together: the same comparators, and a level can share its rounds.

use phineus_frontend::Records;

use crate::key::SortKey;
use crate::merge::{ChunkedRecords, Stretch};
use crate::network::SortOrder;

/// Sorts rows so that they ascend by `key`; rows with equal keys come in any order.
///
/// [`crate::sort_comparators`] of them, of `key + record` ANDs each.
#[track_caller]
pub fn sort(records: Records, key: &SortKey) -> Records {
    if records.rows() == 0 {
        return records;
    }
    let mut network = ChunkedRecords::new(records, key);
    let count = network.chunks.len();
    if network.goes_by_levels() {
        sort_by_levels(&mut network);
    } else {
        sort_chunks(&mut network, 0, count, SortOrder::Ascending);
    }
    network.into_records()
}

/// The same sort, each level of all its merges of one size together.
#[track_caller]
fn sort_by_levels(network: &mut ChunkedRecords<'_>) {
    let whole = Stretch { first: 0, count: network.chunks.len(), direction: SortOrder::Ascending };
    let (mut sizes, mut chunks) = (vec![vec![whole]], Vec::new());
    loop {
        let mut halves = Vec::new();
        let last = sizes.last_mut().expect("it begins with one");
        last.retain(|&stretch| {
            let Stretch { first, count, direction } = stretch;
            if count == 1 {
                chunks.push(stretch);
                return false;
            }
            let half = count.div_ceil(2);
            halves.push(Stretch { first, count: half, direction: direction.reversed() });
            halves.push(Stretch { first: first + half, count: count - half, direction });
            true
        });
        if halves.is_empty() {
            break;
        }
        sizes.push(halves);
    }
    network.sort_all(&chunks);
    sizes.iter().rev().for_each(|merges| network.merge_all(merges));
}

#[track_caller]
fn sort_chunks(network: &mut ChunkedRecords<'_>, first: usize, count: usize, direction: SortOrder) {
    match count {
        0 => {}
        1 => network.sort_chunk(first, direction),
        _ => {
            let half = count.div_ceil(2);
            sort_chunks(network, first, half, direction.reversed());
            sort_chunks(network, first + half, count - half, direction);
            network.merge(first, count, direction);
        }
    }
}
