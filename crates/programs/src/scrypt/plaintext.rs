//! Scrypt in plain Rust, word by word as RFC 7914 has it: the plaintext reference.

use sha2::{Digest, Sha256};

use super::Cost;

fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0u8; 64];
    if key.len() > block.len() {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message);
    let outer = Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c));
    outer.chain_update(inner.finalize()).finalize().into()
}

/// PBKDF2-HMAC-SHA-256 of one iteration.
pub(super) fn pbkdf2(password: &[u8], salt: &[u8], length: usize) -> Vec<u8> {
    let mut key = Vec::new();
    for number in 1u32.. {
        if key.len() >= length {
            break;
        }
        let message = [salt, &number.to_be_bytes()].concat();
        key.extend(hmac(password, &message));
    }
    key.truncate(length);
    key
}

/// Section 3.
fn salsa20_8(block: &mut [u32]) {
    const COLUMNS: [[usize; 4]; 4] = [[0, 4, 8, 12], [5, 9, 13, 1], [10, 14, 2, 6], [15, 3, 7, 11]];
    const ROWS: [[usize; 4]; 4] = [[0, 1, 2, 3], [5, 6, 7, 4], [10, 11, 8, 9], [15, 12, 13, 14]];
    let mut x = block.to_vec();
    for _ in 0..4 {
        for [a, b, c, d] in COLUMNS.into_iter().chain(ROWS) {
            x[b] ^= x[a].wrapping_add(x[d]).rotate_left(7);
            x[c] ^= x[b].wrapping_add(x[a]).rotate_left(9);
            x[d] ^= x[c].wrapping_add(x[b]).rotate_left(13);
            x[a] ^= x[d].wrapping_add(x[c]).rotate_left(18);
        }
    }
    block.iter_mut().zip(x).for_each(|(word, mixed)| *word = word.wrapping_add(mixed));
}

/// Section 4.
fn block_mix(blocks: &[u32]) -> Vec<u32> {
    let mut x = blocks[blocks.len() - 16..].to_vec();
    let (mut even, mut odd) = (Vec::new(), Vec::new());
    for (index, block) in blocks.chunks(16).enumerate() {
        x.iter_mut().zip(block).for_each(|(word, other)| *word ^= other);
        salsa20_8(&mut x);
        if index % 2 == 0 { &mut even } else { &mut odd }.extend_from_slice(&x);
    }
    [even, odd].concat()
}

/// Section 5.
pub(super) fn ro_mix(bytes: &[u8], n: u64) -> Vec<u8> {
    let words = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")));
    let mut x: Vec<u32> = words.collect();
    let mut rows = Vec::new();
    for _ in 0..n {
        rows.push(x.clone());
        x = block_mix(&x);
    }
    for _ in 0..n {
        let row = &rows[x[x.len() - 16] as usize % n as usize];
        x.iter_mut().zip(row).for_each(|(word, other)| *word ^= other);
        x = block_mix(&x);
    }
    x.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Section 6.
pub(super) fn scrypt(password: &[u8], salt: &[u8], cost: &Cost) -> Vec<u8> {
    let mut bytes = pbkdf2(password, salt, 128 * (cost.r * cost.p) as usize);
    for part in bytes.chunks_mut(128 * cost.r as usize) {
        let mixed = ro_mix(part, cost.n);
        part.copy_from_slice(&mixed);
    }
    pbkdf2(password, &bytes, cost.length as usize)
}
