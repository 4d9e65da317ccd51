//! The limits of oblivious transfer, related to each other by compile-time assertions.

use phineus_channels::{MAX_BORROW_BYTES, SEND_AHEAD_BYTES};

/// Base OTs per session: one for every bit of the offset, which has as many bits as a label.
pub const BASE_OT_COUNT: usize = 128;

/// Base OTs whose points travel in one message.
///
/// The receiver makes a chunk in 16 * 18 µs = 0.29 ms, the sender needs 16 * 48 µs = 0.77 ms for
/// it: after the first chunk the sender never waits.
pub const BASE_OT_CHUNK: usize = 16;

/// OTs expanded, corrected and transposed at a time.
///
/// The leaves of one tree of 2^4 take 16 * 4096 / 8 = 8 KiB and stay in the first level of cache,
/// the 128 columns of a tile 128 * 4096 / 8 = 64 KiB in the second. A leaf is 4096 / 128 = 32
/// blocks long: what the widest AES kernel makes in one step (8 vectors of 4 blocks).
pub const TILE_OTS: usize = 4096;

/// OTs after which the receiver of an extension flushes: 16384 OTs are 64 KiB at 4 bits per field
/// element, enough to amortise a message and little enough that the sender starts early.
pub const BATCH_OTS: usize = 16384;

/// Batches that the receiver of chosen OTs sends before it takes the messages of the first one,
/// so that a round trip passes while others are on the way.
pub const BATCHES_AHEAD: usize = 3;

/// Blocks that are hashed at a time: both sides of them (2 * 512 * 16 bytes) stay in the first
/// level of cache, and it is 16 steps of the widest AES kernel.
pub const HASH_BLOCKS: usize = 512;

/// The largest field: 2^8 leaves a tree; beyond that, computation doubles to save 1/8 of the bytes.
pub const FIELD_BITS_MAX: usize = 8;

/// OTs one session can give: the tweaks of the hash count them in 64 bits.
pub const OT_COUNT_MAX: u64 = 1 << 63;

/// Columns are packed into whole blocks and the tile is an exact part of a batch.
const _: () = assert!(TILE_OTS.is_multiple_of(128) && BATCH_OTS.is_multiple_of(TILE_OTS));
const _: () = assert!(TILE_OTS.is_multiple_of(HASH_BLOCKS) && HASH_BLOCKS.is_multiple_of(64));
/// A tile is lent by the channel in one piece, also with one row per column.
const _: () = assert!(BASE_OT_COUNT * TILE_OTS / 8 <= MAX_BORROW_BYTES);
const _: () = assert!(BASE_OT_COUNT.is_multiple_of(BASE_OT_CHUNK));
/// The receiver of chosen OTs can always send its batches ahead without waiting, so it always
/// comes to receive: the two parties cannot wait for each other.
/// (A tile that is checked is one block in 32 longer, and 48 bytes.)
const _: () = assert!(BATCHES_AHEAD * BATCH_OTS * BASE_OT_COUNT / 8 * 34 / 32 <= SEND_AHEAD_BYTES);
