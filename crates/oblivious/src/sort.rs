//! Sorting: about `n log2(n)^2 / 4` comparators, depth-first.
//!
//! Halves are sorted one after the other, each down to single chunks, and then merged; so whatever
//! fits memory is read once, sorted completely and written once, and only the log(n / M) merges
//! above it touch storage again.

use phineus_frontend::Records;

use crate::key::SortKey;
use crate::merge::ChunkedRecords;
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
    sort_chunks(&mut network, 0, count, SortOrder::Ascending);
    network.into_records()
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
