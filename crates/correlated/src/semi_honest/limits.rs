//! The limits of preprocessing, related to each other by compile-time assertions.

use phineus_channels::SEND_AHEAD_BYTES;
use phineus_ot::{LpnParameters, OtKind};

use crate::demand::BatchScale;

/// OTs that a batch takes in each direction between two parties, at most.
///
/// A round trip is paid once for so many: at 32 bits each they are 256 KiB on the wire. One word
/// of pad each is 512 KiB of memory for every peer.
pub const BATCH_OTS: usize = 1 << 16;

/// Elements of a batch, at most; so a column of words is 512 KiB.
pub const BATCH_ELEMENTS: usize = 1 << 16;

/// Bits of the rows of triples with a known bit of which a batch is as large as its OTs allow; of wider rows it has
/// fewer. So a column of rows is 128 KiB.
pub(super) const KNOWN_ROW_BITS: usize = 16;

/// Leaves of all functions of a batch that are 1 at one point: 16 MiB, all of the largest function. A batch takes a round
/// for each level, which smaller ones share.
pub(super) const POINT_BATCH_LEAVES: usize = 1 << 20;

/// OTs of such a batch in each direction: with both directions and all messages, 384 KiB.
pub(super) const POINT_BATCH_OTS: usize = 1 << 13;

/// The smallest `k` of the extension, whose messages are the longest: 128 / k bits per OT.
pub const FIELD_BITS_MIN: usize = 2;

/// Limit on the memory of batches between the thread that makes them and the protocol that uses
/// them.
///
/// A batch takes a message in each direction, and so does a round: where some rounds need many
/// batches and some none, making goes on only as long as there is space. 32 batches of triples of
/// bits, 11 of square pairs of 32 bits.
const AHEAD_BYTES: usize = 768 << 10;

/// How many there are at the most, where the largest takes so many bytes.
pub(crate) fn batches_ahead(largest_bytes: u64, scale: BatchScale) -> usize {
    (scale.of(AHEAD_BYTES) / largest_bytes.max(1) as usize).clamp(2, 32)
}

/// The most batches between two parties that are in progress at once. Extensions of 31 bits an OT for 4 batches of 2^16 OTs are
/// 0.97 MiB, nearly all that a channel takes without its reader. Triples of 64 bits have longer answers, so 3 of their batches
/// are in progress.
///
/// All parties take the same steps in the same order. A batch in progress has one message in transit in each direction: first
/// the extension, then the answer. So what the party that has taken fewer steps has sent and its peer has not taken are at
/// most the longer of both for each batch. If a channel takes these, one of two parties always can go on.
pub const BATCHES_BEGUN: usize = 4;

/// Bytes of memory of the other batches in progress, at the most: 0.5 MiB of shared bits each, and a word of pad for each OT.
pub const IN_PROGRESS_BYTES: u64 =
    ((BATCHES_BEGUN - 1) * (BATCH_ELEMENTS * 8 + BATCH_ELEMENTS / 8 + BATCH_OTS * 8)) as u64;

/// The most bytes of the messages of all batches in progress between `parties`.
pub(super) fn begun_bytes_max(parties: usize, kind: OtKind, ahead_bytes: usize) -> u64 {
    match kind {
        // Between three parties and more, pairs of parties are served one after another.
        OtKind::SoftSpoken(_) if parties == 2 => ahead_bytes as u64,
        // The parties reserve OTs one after the other.
        OtKind::SoftSpoken(_) | OtKind::Silent(_) => 0,
    }
}

/// A party sends all extensions of a batch and all its offers without waiting for a peer: an
/// extension is at most `128 / k` bits per OT, the offers of products at most `(64 + 1) / 2` bits.
const _: () =
    assert!(BATCH_OTS / 8 * (128 / FIELD_BITS_MIN) + BATCH_OTS / 8 * 33 <= SEND_AHEAD_BYTES);
const _: () = assert!(BATCH_OTS >= 64 && BATCH_ELEMENTS.is_multiple_of(128));
/// The OTs of a batch can be reserved in one piece.
const _: () = assert!(BATCH_OTS <= LpnParameters::SMALL.output_ots());
