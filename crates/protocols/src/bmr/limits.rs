//! The limits of BMR garbling, related to each other by compile-time assertions.

use phineus_bytecode::limits::VALUE_WIRES_MAX;
use phineus_channels::MAX_BORROW_BYTES;
use phineus_crypto::Block;
use phineus_ot::FieldBits;
use phineus_ot::limits::{BASE_OT_COUNT, HASH_BLOCKS, TILE_OTS};

use phineus_correlated::demand::BatchScale;

/// Keys of a garbled gate for each party.
pub const ROWS: usize = 3;

/// Bytes of garbled tables that are made together, about: large enough that two messages in each
/// direction are a small part of the time on a network of 10 ms, small enough for the second level
/// of cache.
#[cfg(not(test))]
pub const BATCH_BYTES: usize = 3 << 20;

/// In tests a batch is as small as can be, so that there are many.
#[cfg(test)]
pub const BATCH_BYTES: usize = 0;

/// Gates that are hashed together: for two parties 4 KiB of keys, in the first level of cache.
pub const GATES_PER_CHUNK: usize = 64;

/// Finished batches that wait for the evaluation: one where memory is as short as can be.
pub const fn batches_ahead(scale: BatchScale) -> usize {
    if scale.of(8) > 1 { 2 } else { 1 }
}

/// Opened values of a program of several blocks that wait for the garbling to take note of them.
pub const OPENED_AHEAD: usize = 64;

/// The fewest gates of a batch.
const GATES_PER_BATCH_MIN: usize = TILE_OTS / 4;

/// Bytes that a party is ahead of what its peer has sent, where channels take so many without their
/// reader.
pub const fn window_bytes(ahead_bytes: usize) -> usize {
    ahead_bytes / 2
}

/// The longest ahead that is of use: the corrections and tables of a batch fit into the window, so that a
/// step waits for its two rounds and no more.
pub const LONGEST_AHEAD_BYTES: usize = 4 << 20;

/// The smallest `k` of the OT extension, whose messages are the longest.
pub const FIELD_BITS_MIN: usize = 4;

/// Parties whose tables a party of so many keeps: of two, only the peer's (`garbler`).
pub const fn planes_kept(parties: usize) -> usize {
    if parties == 2 { 1 } else { parties }
}

/// AND gates whose tables are made together by so many parties: whole tiles of the OT extension, or
/// a part of one where memory is short and parties are many.
pub const fn gates_per_batch(parties: usize, scale: BatchScale) -> usize {
    let gates = scale.of(BATCH_BYTES) / (ROWS * parties * size_of::<Block>());
    let unit = if gates < TILE_OTS { HASH_BLOCKS } else { TILE_OTS };
    let gates = gates / unit * unit;
    if gates < GATES_PER_BATCH_MIN { GATES_PER_BATCH_MIN } else { gates }
}

/// Bytes that garbling so many gates holds beside its frames: the batches on their way with all
/// their keys, those that wait and the one in use, the state of the OTs, and what the largest
/// circuit needs. On their way are the one that is being filled, that whose masks are multiplied,
/// that whose tables are made, and with more than two parties that of which sums are missing.
/// Memory that has never been used is not there yet: fewer gates hold less, but the keys of results
/// are drawn for whole batches, also for that behind the last one.
pub fn memory_bytes(
    parties: usize,
    sizes: (FieldBits, BatchScale),
    scratch_bytes: u64,
    all_gates: u64,
) -> u64 {
    let batches = all_gates.div_ceil(gates_per_batch(parties, sizes.1) as u64);
    held_bytes(parties, sizes, scratch_bytes, (all_gates, batches))
}

/// Memory for a program of several blocks, none of which has more than `gates` gates. Batches of
/// several blocks are held at once, so this counts the most that can ever be held.
pub fn memory_bytes_of_blocks(
    parties: usize,
    sizes: (FieldBits, BatchScale),
    scratch_bytes: u64,
    gates: u64,
) -> u64 {
    held_bytes(parties, sizes, scratch_bytes, (gates, u64::MAX))
}

/// Memory for this number of gates of a program or block, and this number of batches in a run.
fn held_bytes(
    parties: usize,
    (field, scale): (FieldBits, BatchScale),
    scratch_bytes: u64,
    (all_gates, batches): (u64, u64),
) -> u64 {
    let whole = gates_per_batch(parties, scale);
    let [all, batch_count] =
        [all_gates, batches].map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    // Rounded up to tiles, in which OTs are made.
    let gates = whole.min(all.div_ceil(TILE_OTS).saturating_mul(TILE_OTS));
    let tables = gates * (ROWS * parties * size_of::<Block>() + 1) + gates / 4;
    let kept = gates * ((ROWS * planes_kept(parties) + 1) * size_of::<Block>() + 1) + gates / 4;
    let keys = gates * (ROWS + 1) * size_of::<Block>();
    // An AND of a sum comes with two bits to decode at the most, which of a value of one lane take
    // a byte; a value's may come a batch later.
    let decoding = gates + VALUE_WIRES_MAX as usize / 8;
    let bits = gates / 8 * (5 + 3 * parties) + decoding;
    let links = 2 * phineus_ot::state_bytes(field) * (parties - 1);
    let on_their_way = if parties == 2 { 3 } else { 4 };
    let made = batch_count.saturating_add(1).min(on_their_way);
    let drawn = (whole - gates) * size_of::<Block>();
    let batches =
        made * (tables + keys + bits + drawn) + batch_count.min(batches_ahead(scale) + 2) * kept;
    (batches + links) as u64 + scratch_bytes
}

/// Before a party waits, it has sent what is left of the last exchange and the choices of the OTs
/// of three operands of each gate: then its peer can always come to receive.
const _: () = {
    let mut k = 0;
    while k < BatchScale::ALL.len() {
        let scale = BatchScale::ALL[k];
        let (ahead, gates) = (scale.ahead_bytes(), gates_per_batch(2, scale));
        let choices = ROWS * gates / 8 * (BASE_OT_COUNT / FIELD_BITS_MIN);
        assert!(window_bytes(ahead) + choices <= ahead);
        assert!(window_bytes(ahead).is_multiple_of(MAX_BORROW_BYTES));
        assert!(gates.is_multiple_of(GATES_PER_CHUNK));
        assert!(gates_per_batch(16, scale).is_multiple_of(GATES_PER_CHUNK));
        k += 1;
    }
};
/// Of two parties a table's three keys go to the peer; of more those of the peer, and the sums.
const _: () = {
    let mut parties = 2;
    while parties <= 16 {
        let gates = gates_per_batch(parties, BatchScale::FULL);
        let keys = if parties == 2 { ROWS } else { 2 * ROWS };
        let corrected = gates * keys * size_of::<Block>() + gates / 8;
        assert!(corrected <= window_bytes(LONGEST_AHEAD_BYTES));
        parties += 1;
    }
};
/// The number of a gate in its batch fits below that of a party in a tweak (`hash`).
const _: () = assert!(gates_per_batch(2, BatchScale::FULL) as u64 <= 1 << 32);
