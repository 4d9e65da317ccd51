//! Bytes that SoftSpoken OT sends, exact.

use phineus_crypto::Block;

use super::consistency::{DIGEST_BYTES, OPENING_BYTES, PROOF_BYTES};
use super::limits::{BASE_OT_COUNT, TILE_OTS};
use super::parameters::FieldBits;
use super::{base, pprf};

/// Bytes from receiver to sender of one `extend` by `count` OTs.
pub fn extension_bytes(count: u64, field: FieldBits) -> u64 {
    field.vole_count() as u64 * count.div_ceil(8)
}

/// Bytes from receiver to sender of one `extend_random` by `count` OTs.
pub fn random_extension_bytes(count: u64, field: FieldBits) -> u64 {
    (field.vole_count() as u64 - 1) * count.div_ceil(8)
}

/// Bytes that the sender sends in a set-up (8 KiB), and the receiver (3 KiB for `k` = 4).
pub fn setup_bytes(field: FieldBits) -> (u64, u64) {
    let messages = field.voles().map(|(_, width)| pprf::message_blocks(width));
    let blocks: usize = messages.sum();
    let (from_base_receiver, from_base_sender) = base::message_bytes(BASE_OT_COUNT);
    (from_base_receiver, from_base_sender + (blocks * size_of::<Block>()) as u64)
}

/// As [`setup_bytes`], with the checks.
pub fn malicious_setup_bytes(field: FieldBits) -> (u64, u64) {
    let (sent, received) = setup_bytes(field);
    (sent, received + (field.vole_count() * (OPENING_BYTES + DIGEST_BYTES)) as u64)
}

/// As [`extension_bytes`], with the checks.
pub fn malicious_extension_bytes(count: u64, field: FieldBits) -> u64 {
    checked_bytes(count, field.vole_count() as u64)
}

/// As [`random_extension_bytes`], with the checks.
pub fn malicious_random_extension_bytes(count: u64, field: FieldBits) -> u64 {
    checked_bytes(count, field.vole_count() as u64 - 1)
}

/// Rows of whole blocks with one more, and a proof, for each tile.
fn checked_bytes(count: u64, rows: u64) -> u64 {
    let tiles = count.div_ceil(TILE_OTS as u64);
    rows * (count.div_ceil(128) + tiles) * size_of::<Block>() as u64 + tiles * PROOF_BYTES as u64
}
