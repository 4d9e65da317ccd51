//! The cipher on the `aes` crate.

use crate::Block;
use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use zerocopy::IntoBytes;

/// Blocks encrypted at once: as many as the bit-sliced form of the `aes` crate takes or more, and
/// few enough for the stack (16 * 16 = 256 bytes).
const BATCH_BLOCKS: usize = 16;

/// An expanded key.
pub(super) struct Key(Aes128);

impl Key {
    pub(super) fn new(key: Block) -> Key {
        Key(Aes128::new(&key.to_bits().to_le_bytes().into()))
    }

    pub(super) fn xor_keystream(&self, counter: u128, bytes: &mut [u8]) {
        let mut counter = counter;
        for batch in bytes.chunks_mut(BATCH_BLOCKS * size_of::<Block>()) {
            let mut stream = [Block::ZERO; BATCH_BLOCKS];
            for block in &mut stream {
                *block = Block::from_bits(counter);
                counter += 1;
            }
            self.encrypt(&mut stream);
            for (byte, mask) in batch.iter_mut().zip(stream.as_bytes()) {
                *byte ^= mask;
            }
        }
    }

    pub(super) fn hash_tweaked(&self, first_tweak: u64, blocks: &mut [Block]) {
        let mut tweak = u128::from(first_tweak);
        for batch in blocks.chunks_mut(BATCH_BLOCKS) {
            let mut inner = [Block::ZERO; BATCH_BLOCKS];
            let inner = &mut inner[..batch.len()];
            self.encrypt(batch);
            for (inner, outer) in inner.iter_mut().zip(batch.iter()) {
                *inner = *outer ^ Block::from_bits(tweak);
                tweak += 1;
            }
            self.encrypt(inner);
            for (outer, inner) in batch.iter_mut().zip(inner.iter()) {
                *outer ^= *inner;
            }
        }
    }

    /// Encrypts at most [`BATCH_BLOCKS`] blocks, each by itself.
    fn encrypt(&self, blocks: &mut [Block]) {
        let mut batch = [aes::Block::default(); BATCH_BLOCKS];
        let batch = &mut batch[..blocks.len()];
        for (state, block) in batch.iter_mut().zip(blocks.iter()) {
            *state = block.to_bits().to_le_bytes().into();
        }
        self.0.encrypt_blocks(batch);
        for (state, block) in batch.iter().zip(blocks) {
            *block = Block::from_bits(u128::from_le_bytes((*state).into()));
        }
    }
}
