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

/// Batches of triples of two parties of which a party sends its part before it takes that of the first,
/// at the most: 1 MiB, all that a channel takes, with 32 bits an OT.
pub(crate) const BATCHES_BEGUN: usize = 4;

/// How many there are with such OTs, where a channel takes `ahead_bytes` without its reader. Who has
/// finished fewer batches than the peer has space to send all that it begins: so one of two always
/// can go on.
pub(super) fn begun_max(kind: OtKind, scale: BatchScale, ahead_bytes: usize) -> usize {
    match kind {
        // The parties reserve them in turn.
        OtKind::Silent(_) => 0,
        OtKind::SoftSpoken(_) => {
            let batch_bytes = kind.random_extension_bytes(scale.of(BATCH_OTS) as u64);
            BATCHES_BEGUN.min(ahead_bytes / batch_bytes as usize)
        }
    }
}

/// A party sends all extensions of a batch and all its offers without waiting for a peer: an
/// extension is at most `128 / k` bits per OT, the offers of products at most `(64 + 1) / 2` bits.
const _: () =
    assert!(BATCH_OTS / 8 * (128 / FIELD_BITS_MIN) + BATCH_OTS / 8 * 33 <= SEND_AHEAD_BYTES);
const _: () = assert!(BATCH_OTS >= 64 && BATCH_ELEMENTS.is_multiple_of(128));
/// The OTs of a batch can be reserved in one piece.
const _: () = assert!(BATCH_OTS <= LpnParameters::SMALL.output_ots());
