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
        let counter = self.counter_of(bytes.len());
        self.cipher.fill_keystream(counter, bytes);
    }

    /// As [`Prg::fill_bytes`], adding to `bytes` what that would write.
    pub fn xor_bytes(&mut self, bytes: &mut [u8]) {
        let counter = self.counter_of(bytes.len());
        self.cipher.xor_keystream(counter, bytes);
    }

    /// The counter of the next bytes, which are used up.
    fn counter_of(&mut self, bytes: usize) -> u128 {
        let counter = self.counter;
        let used = bytes.div_ceil(size_of::<Block>()) as u64;
        self.counter = counter.checked_add(used).expect("a seed gives at most 2^64 blocks");
        u128::from(counter)
    }

    /// The next pseudorandom block.
    pub fn next_block(&mut self) -> Block {
        let mut block = [Block::ZERO];
        self.fill_blocks(&mut block);
        block[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(prg: &mut Prg, count: usize) -> Vec<u128> {
        let mut blocks = vec![Block::ZERO; count];
        prg.fill_blocks(&mut blocks);
        blocks.into_iter().map(Block::to_bits).collect()
    }

    #[test]
    fn pieces_continue_one_stream_on_every_kernel() {
        let seed = Block::from_bits(42);
        let whole = blocks(&mut Prg::with_kernel(Kernel::PORTABLE, seed), 150);
        for kernel in Kernel::supported() {
            let mut prg = Prg::with_kernel(kernel, seed);
            let pieces = [1, 0, 2, 7, 33, 64, 43].map(|count| blocks(&mut prg, count));
            assert!(pieces.concat() == whole, "{}", kernel.name());
        }
    }

    #[test]
    fn a_partial_block_is_not_continued() {
        let seed = Block::from_bits(43);
        let whole = blocks(&mut Prg::from_seed(seed), 3);
        let mut prg = Prg::from_seed(seed);
        let mut bytes = [0; 17];
        prg.fill_bytes(&mut bytes);
        assert!(bytes[16] == whole[1].to_le_bytes()[0]);
        assert!(prg.next_block().to_bits() == whole[2]);
    }

    #[test]
    fn the_operating_system_gives_different_seeds() {
        let mut first = Prg::from_os().expect("this machine has randomness");
        let mut second = Prg::from_os().expect("this machine has randomness");
        assert!(first.next_block().to_bits() != second.next_block().to_bits());
    }

    #[test]
    #[should_panic(expected = "at most 2^64 blocks")]
    fn an_exhausted_seed_stops_the_process() {
        let mut prg = Prg { counter: u64::MAX, ..Prg::from_seed(Block::ZERO) };
        prg.fill_blocks(&mut [Block::ZERO; 2]);
    }
}
