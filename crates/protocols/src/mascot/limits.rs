//! The limits of preprocessing, related to each other by compile-time assertions.

use phineus_channels::{MAX_BORROW_BYTES, SEND_AHEAD_BYTES};
use phineus_crypto::field::{F128, Field};

use crate::ot::limits::{BASE_OT_COUNT, TILE_OTS};

/// The most bytes of an element.
pub const ELEMENT_BYTES_MAX: usize = 16;

/// Elements that are authenticated, and products that are made, in one row of a message: a tile of
/// OTs, so that one row is the OTs of one bit. A row has at most 64 KiB.
pub const ROW_ELEMENTS: usize = TILE_OTS;

/// Triples of a full batch: two rows. A batch takes ten rounds and at least 3 MB each way between
/// two parties, so that 40 ms of delay weigh as much as the bytes on a line of 0.1 Gbit/s.
pub const BATCH_ELEMENTS: usize = 2 * ROW_ELEMENTS;

/// Rows of so many elements that a party sends before it takes the first one of its peer, so that the
/// time of a message to arrive passes while others are on the way: half of what a channel takes
/// without its reader, as a peer may be as far behind as this party is ahead of what it has taken.
pub const fn rows_ahead<F: Field>(elements: usize) -> usize {
    (SEND_AHEAD_BYTES / (elements * F::BYTES) - 1) / 2
}

/// Bytes of a tile of OTs, half a row for each bit of the offset (in fields of 2^2 elements) and a
/// check, and of the messages of its OTs.
const fn tile_bytes<F: Field>(elements: usize) -> usize {
    let row = elements.div_ceil(128) * 16 + 16;
    BASE_OT_COUNT / 2 * row + 48 + elements * F::BYTES
}

/// Tiles of so many OTs that are on the way together, either as choices or as messages: as many as
/// a channel takes without its reader, and as there is room for.
pub const fn tiles_on_the_way<F: Field>(elements: usize) -> usize {
    let room = tiles_room::<F>() / elements;
    let sent = SEND_AHEAD_BYTES / tile_bytes::<F>(elements);
    if sent < room { sent } else { room }
}

/// Elements of all tiles that are on the way.
pub const fn tiles_room<F: Field>() -> usize {
    SEND_AHEAD_BYTES / tile_bytes::<F>(ROW_ELEMENTS) * ROW_ELEMENTS
}

/// Statistical security in bits of the privacy amplification, where the field is large enough.
pub const AMPLIFICATION_BITS: u32 = 64;

/// Vectors of factors that are combined to the factors of triples: `tau` of the paper.
///
/// A cheating peer may learn `s` bits of these factors, with probability 2^-s; two random
/// combinations of `tau` factors of `k` bits are then at a distance of at most
/// 2^(-s) * 2^(-((tau - 2) k - s) / 2) from uniform (leftover hash lemma), whose largest value is
/// 2^(-(tau - 2) k / 2). It should be `k` bits or [`AMPLIFICATION_BITS`]: four for 2^32 - 5 and
/// 2^61 - 1, three for 2^128 - 159, which give 32, 61 and 64 bits.
pub const fn tau<F: Field>() -> usize {
    amplified::<F>(2)
}

/// As [`tau`] where only one combination is used: one less.
pub const fn matrix_tau<F: Field>() -> usize {
    amplified::<F>(1)
}

const fn amplified<F: Field>(combinations: usize) -> usize {
    let bits = if F::BITS < AMPLIFICATION_BITS { F::BITS } else { AMPLIFICATION_BITS };
    combinations + (2 * bits).div_ceil(F::BITS) as usize
}

/// The most that [`tau`] is.
pub const TAU_MAX: usize = 4;

const _: () = assert!(ROW_ELEMENTS * ELEMENT_BYTES_MAX <= MAX_BORROW_BYTES);
/// At the largest elements there is something to wait for beside each.
const _: () = assert!(rows_ahead::<F128>(ROW_ELEMENTS) >= 6);
const _: () = assert!(tiles_on_the_way::<F128>(ROW_ELEMENTS) >= 9);

/// Masks of a full batch: four rows.
pub const MASK_BATCH_ELEMENTS: usize = 4 * ROW_ELEMENTS;

/// Elements of the matrices of a batch: the shares of the products of all columns wait for their
/// combination, 2^16 * 16 bytes * `tau` at 128 bits. A larger matrix is a batch by itself.
pub const MATRIX_ELEMENTS_MAX: usize = 1 << 16;

/// Columns of matrices whose OTs are made together: at 61 bits 3 * 61 * 256 OTs, whose messages
/// wait as 47 k blocks and pairs of blocks, 2.2 MB.
pub const COLUMN_PIECE: usize = 256;

/// Rows of a matrix: one column, and one row more, is a message; 8191 at 128 bits.
pub const fn matrix_rows_max<F: Field>() -> usize {
    MAX_BORROW_BYTES / F::BYTES - 1
}

/// Offers of columns that a party sends before it takes the first one of its peer.
pub const COLUMNS_AHEAD: usize = 2;

/// Bytes of the columns that are offered together, where they have fewer than that.
pub const OFFER_BYTES: usize = MAX_BORROW_BYTES;

/// A party that offers matrices has sent the OTs of a piece, and may be ahead by as many offers.
const _: () = assert!(
    2 * 128 * COLUMN_PIECE * 64 / 8
        + (COLUMNS_AHEAD + 1) * MAX_BORROW_BYTES
        + COLUMN_PIECE * 256 / TILE_OTS * (64 * 16 + 48)
        <= SEND_AHEAD_BYTES
);

/// Finished batches that wait for use while the next one is being made.
pub const BATCHES_AHEAD: usize = 2;
