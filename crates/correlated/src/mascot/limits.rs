//! The limits of preprocessing, related to each other by compile-time assertions.

use phineus_channels::{MAX_BORROW_BYTES, SEND_AHEAD_BYTES, SEND_AHEAD_BYTES_MIN};
use phineus_crypto::field::{F128, Field};
use phineus_ot::limits::{BASE_OT_COUNT, TILE_OTS};

use crate::demand::BatchScale;

/// The most bytes of an element.
pub const ELEMENT_BYTES_MAX: usize = 16;

/// Elements that are authenticated, and products that are made, in one row of a message: a tile of
/// OTs, so that one row is the OTs of one bit. A row has at most 64 KiB.
pub const ROW_ELEMENTS: usize = TILE_OTS;

/// Triples of a full batch: two rows. A batch takes ten rounds and at least 3 MB in each direction
/// between two parties, so that 40 ms of delay weigh as much as the bytes on a line of 0.1 Gbit/s.
pub const BATCH_ELEMENTS: usize = 2 * ROW_ELEMENTS;

/// Rows of so many elements that a party sends before it takes the first one of its peer, so that the
/// time of a message to arrive passes while others are on the way: half of what a channel takes
/// without its reader, as a peer may be as far behind as this party is ahead of what it has taken.
pub const fn rows_ahead<F: Field>(elements: usize, ahead_bytes: usize) -> usize {
    (ahead_bytes / (elements * F::BYTES) - 1) / 2
}

/// Bytes of a tile of OTs, half a row for each bit of the offset (in fields of 2^2 elements) and a
/// check, and of the messages of its OTs.
const fn tile_bytes<F: Field>(elements: usize) -> usize {
    let row = elements.div_ceil(128) * 16 + 16;
    BASE_OT_COUNT / 2 * row + 48 + elements * F::BYTES
}

/// Tiles of so many OTs that are on the way together, either as choices or as messages: as many as
/// a channel takes without its reader, and as there is space for.
pub const fn tiles_on_the_way<F: Field>(elements: usize, ahead_bytes: usize) -> usize {
    let room = tiles_room::<F>(ahead_bytes) / elements;
    let sent = ahead_bytes / tile_bytes::<F>(elements);
    if sent < room { sent } else { room }
}

/// Elements of all tiles that are on the way.
pub const fn tiles_room<F: Field>(ahead_bytes: usize) -> usize {
    ahead_bytes / tile_bytes::<F>(ROW_ELEMENTS) * ROW_ELEMENTS
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
const _: () = assert!(rows_ahead::<F128>(ROW_ELEMENTS, SEND_AHEAD_BYTES) >= 6);
const _: () = assert!(tiles_on_the_way::<F128>(ROW_ELEMENTS, SEND_AHEAD_BYTES) >= 9);
/// Where channels take least, batches are small too.
const LEAST_ELEMENTS: usize = BatchScale::ALL[2].of(BATCH_ELEMENTS);
const _: () = assert!(BatchScale::ALL[2].ahead_bytes() == SEND_AHEAD_BYTES_MIN);
const _: () = assert!(rows_ahead::<F128>(LEAST_ELEMENTS, SEND_AHEAD_BYTES_MIN) >= 3);
const _: () = assert!(tiles_on_the_way::<F128>(LEAST_ELEMENTS, SEND_AHEAD_BYTES_MIN) >= 4);

/// Masks of a full batch: four rows.
pub const MASK_BATCH_ELEMENTS: usize = 4 * ROW_ELEMENTS;

/// Bounded integers of a full batch: 11 elements each are authenticated, less than of triples.
pub const BOUNDED_BATCH_ITEMS: usize = BATCH_ELEMENTS / 4;

/// Elements of the matrices of a batch, times their vectors: the shares of the products of all
/// columns wait for their combination, 2^16 * 16 bytes * `tau` at 128 bits. A larger product is a
/// batch by itself.
pub const MATRIX_ELEMENTS_MAX: usize = 1 << 16;

/// Columns of matrices whose OTs are made together: at 61 bits 3 * 61 * 256 OTs, whose messages
/// wait as 47 k blocks and pairs of blocks, 2.2 MB. Fewer where channels take less.
pub const fn column_piece(ahead_bytes: usize) -> usize {
    if ahead_bytes < SEND_AHEAD_BYTES { 128 * ahead_bytes / SEND_AHEAD_BYTES } else { 256 }
}

/// Rows of a matrix: one column, and one row more, is a message; 8191 at 128 bits.
pub const fn matrix_rows_max<F: Field>() -> usize {
    MAX_BORROW_BYTES / F::BYTES - 1
}

/// Bytes of the columns that are offered together, where they have fewer than that.
pub const fn offer_bytes(ahead_bytes: usize) -> usize {
    let bytes = ahead_bytes / 8;
    if bytes < MAX_BORROW_BYTES { bytes } else { MAX_BORROW_BYTES }
}

/// Offers, of so many bytes each, that a party sends before it takes the first one of its peer.
pub const fn offers_ahead(bytes: usize, ahead_bytes: usize) -> usize {
    (ahead_bytes / 8 * 3 / bytes).saturating_sub(1)
}

const _: () = assert!(offers_ahead(MAX_BORROW_BYTES, SEND_AHEAD_BYTES) == 2);

/// A party that offers matrices has sent the OTs of a piece, and may be ahead by some offers.
const _: () = {
    let mut k = 0;
    while k < BatchScale::ALL.len() {
        let ahead = BatchScale::ALL[k].ahead_bytes();
        let columns = column_piece(ahead);
        let ots = 2 * 128 * columns * 64 / 8 + columns * 256 / TILE_OTS * (64 * 16 + 48);
        assert!(ots + ahead / 8 * 3 <= ahead && ots + MAX_BORROW_BYTES <= ahead);
        k += 1;
    }
};

/// Finished batches that wait for use while the next one is being made.
pub const BATCHES_AHEAD: usize = 2;
