//! The cipher on the `aes` crate.

use crate::Block;
use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use zerocopy::IntoBytes;

/// Blocks encrypted at once: as many as the bit-sliced form of the `aes` crate takes or more, and
/// few enough for the stack (16 * 16 = 256 bytes).
const BATCH_BLOCKS: usize = 16;

/// An expanded key.
pub(super) struct ExpandedKey(Aes128);

impl ExpandedKey {
    pub(super) fn new(key: Block) -> ExpandedKey {
        ExpandedKey(Aes128::new(&key.to_bits().to_le_bytes().into()))
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

    pub(super) fn permute(&self, blocks: &mut [Block]) {
        blocks.chunks_mut(BATCH_BLOCKS).for_each(|batch| self.encrypt(batch));
    }

    pub(super) fn add_pairs(
        &self,
        first_tweaks: [u64; 2],
        permuted: [&[Block]; 2],
        sums: &mut [Block],
    ) {
        for (tweak, permuted) in first_tweaks.into_iter().zip(permuted) {
            self.add_hashes(tweak, permuted, sums);
        }
    }

    pub(super) fn add_gates(
        &self,
        [a, b]: [u64; 2],
        [a0, a1, b0, b1]: [&[Block]; 4],
        [first, second, third]: [&mut [Block]; 3],
    ) {
        self.add_pairs([a, a], [a0, a1], first);
        self.add_pairs([b, b], [b0, b1], second);
        self.add_pairs([a, b], [a0, b0], third);
    }

    /// Adds the hash of each block whose image is in `permuted`.
    fn add_hashes(&self, first_tweak: u64, permuted: &[Block], sums: &mut [Block]) {
        let mut tweak = u128::from(first_tweak);
        for (sums, outer) in sums.chunks_mut(BATCH_BLOCKS).zip(permuted.chunks(BATCH_BLOCKS)) {
            let mut inner = [Block::ZERO; BATCH_BLOCKS];
            let inner = &mut inner[..outer.len()];
            for (inner, outer) in inner.iter_mut().zip(outer) {
                *inner = *outer ^ Block::from_bits(tweak);
                tweak += 1;
            }
            self.encrypt(inner);
            for (sum, (inner, outer)) in sums.iter_mut().zip(inner.iter().zip(outer)) {
                *sum ^= *inner ^ *outer;
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
