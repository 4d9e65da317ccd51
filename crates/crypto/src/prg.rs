//! [`Prg`]: the pseudorandom generator, AES-128 in counter mode under a secret seed.
//!
//! Source: NIST SP 800-38A section 6.5 (counter mode); the seed is the key, the counter starts at
//! zero. Cost: one AES call per 16 bytes, one key schedule per seed.
//! Invariants: no counter value is used twice; seed and expanded key are wiped on drop.
//! Not protected: whoever sees a generator's memory can recompute what it gave before.

use crate::cipher::Cipher;
use crate::{Block, Kernel};
use zerocopy::IntoBytes;

/// A pseudorandom generator. Two generators with the same seed give the same blocks.
pub struct Prg {
    cipher: Cipher,
    /// Blocks given so far; the next block is the encryption of this number.
    counter: u64,
}

impl Prg {
    /// The generator whose key is `seed`.
    pub fn from_seed(seed: Block) -> Prg {
        Prg::with_kernel(Kernel::selected(), seed)
    }

    /// As [`Prg::from_seed`], on a given kernel.
    pub fn with_kernel(kernel: Kernel, seed: Block) -> Prg {
        Prg { cipher: Cipher::new(kernel, seed), counter: 0 }
    }

    /// A generator with a fresh seed from the operating system.
    ///
    /// # Errors
    /// When the operating system has no randomness to give.
    pub fn from_os() -> Result<Prg, getrandom::Error> {
        let mut seed = zeroize::Zeroizing::new(Block::ZERO);
        getrandom::fill(seed.as_mut_bytes())?;
        Ok(Prg::from_seed(*seed))
    }

    /// Fills `blocks` with the next pseudorandom blocks.
    ///
    /// # Panics
    /// After 2^64 blocks.
    pub fn fill_blocks(&mut self, blocks: &mut [Block]) {
        self.fill_bytes(blocks.as_mut_bytes());
    }

    /// Fills `bytes`; uses whole blocks, so what is left of the last one is dropped.
    ///
    /// # Panics
    /// After 2^64 blocks.
    pub fn fill_bytes(&mut self, bytes: &mut [u8]) {
        let counter = self.counter;
        let used = bytes.len().div_ceil(size_of::<Block>()) as u64;
        self.counter = counter.checked_add(used).expect("a seed gives at most 2^64 blocks");
        self.cipher.fill_keystream(u128::from(counter), bytes);
    }

    /// The next pseudorandom block.
    pub fn next_block(&mut self) -> Block {
        let mut block = [Block::ZERO];
        self.fill_blocks(&mut block);
        block[0]
    }
}
