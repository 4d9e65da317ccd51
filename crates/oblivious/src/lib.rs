//! Oblivious algorithms on lane vectors: sort, merge, compaction, scans, joins, memory, queues.
//!
//! What they touch, and in which order, depends on the sizes alone. They go depth-first and
//! divide the work like a cache-oblivious algorithm, so that out of core a sort makes about
//! log(n / M) passes over storage and not log n.

mod adjacent;
mod compaction;
mod join;
mod key;
mod lanes;
mod matching;
pub mod memory;
mod merge;
mod network;
mod queue;
mod scan;
mod sort;

pub use adjacent::adjacent;
pub use compaction::compact;
pub use join::{group_begins, join_unique, loop_join};
pub use key::SortKey;
pub use matching::Matching;
pub use memory::{LinkedRows, Memory, MemoryMethod};
pub use merge::{MergeRecord, merge, merge_bitonic, merge_recorded};
pub use network::{merge_comparators, sort_comparators};
pub use queue::Queue;
pub use scan::{group_sums, last_valid, prefix_sum, scan};
pub use sort::sort;
