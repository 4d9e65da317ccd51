//! [`Cipher`]: AES-128 under one key, used many times: the generator, the page cipher and the
//! fixed-key hash stand on it. (The re-keyed hash of half gates has its own kernels.)
//!
//! Source: FIPS 197 (AES), NIST SP 800-38A section 6.5 (counter mode).
//! Cost: one AES call per 16 bytes; creating a `Cipher` costs one key schedule.

use crate::{Block, Kernel};
use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use zerocopy::IntoBytes;

/// AES-128 with an expanded key, wiped on drop.
pub(crate) struct Cipher {
    aes: Aes128,
}

impl Cipher {
    pub(crate) fn new(kernel: Kernel, key: Block) -> Cipher {
        let _ = kernel;
        Cipher { aes: Aes128::new(&key.to_bits().to_le_bytes().into()) }
    }

    /// Sets `bytes` to the key stream that starts at block `counter`.
    pub(crate) fn fill_keystream(&self, counter: u128, bytes: &mut [u8]) {
        bytes.fill(0);
        self.xor_keystream(counter, bytes);
    }

    /// XORs the key stream that starts at block `counter` into `bytes`. The counter wraps.
    pub(crate) fn xor_keystream(&self, counter: u128, bytes: &mut [u8]) {
        let mut stream = [Block::ZERO; BATCH_BLOCKS];
        let mut counter = counter;
        for batch in bytes.chunks_mut(BATCH_BLOCKS * size_of::<Block>()) {
            for block in &mut stream {
                *block = Block::from_bits(counter);
                counter = counter.wrapping_add(1);
            }
            self.encrypt(&mut stream);
            for (byte, mask) in batch.iter_mut().zip(stream.as_bytes()) {
                *byte ^= mask;
            }
        }
    }

    /// Encrypts every block by itself.
    pub(crate) fn encrypt(&self, blocks: &mut [Block]) {
        for block in blocks {
            let mut state = block.to_bits().to_le_bytes().into();
            self.aes.encrypt_block(&mut state);
            *block = Block::from_bits(u128::from_le_bytes(state.into()));
        }
    }
}

/// Blocks that the portable code encrypts at once: enough for the bit-sliced form of the `aes`
/// crate (8 blocks) and small enough for the stack (16 * 16 = 256 bytes).
const BATCH_BLOCKS: usize = 16;
