//! [`CrHash`]: a tweakable correlation-robust hash from one fixed-key AES, for OT outputs.
//!
//! Source: Guo, Katz, Wang, Yu, "Efficient and Secure Multiparty Computation from Fixed-Key Block
//! Ciphers", IEEE S&P 2020 (ePrint 2019/074), the construction TMMO:
//! `H(x, i) = P(P(x) ^ i) ^ P(x)` for a public random permutation `P`; here `P` is AES-128 under a
//! public key that the session chooses, so that sessions do not share precomputation.
//!
//! Cost: two AES calls per block.
//! Invariants: the caller never hashes under one tweak inputs that belong to different instances.
//! Not protected: this is not the hash for garbled gates; see [`crate::HalfGates`].

use crate::cipher::Cipher;
use crate::{Block, Kernel};

/// A tweakable hash under a session's public key.
pub struct CrHash {
    cipher: Cipher,
}

impl CrHash {
    /// The hash of the session with this public identifier.
    pub fn new(session: Block) -> CrHash {
        CrHash::with_kernel(Kernel::selected(), session)
    }

    /// As [`CrHash::new`], on a given kernel.
    pub fn with_kernel(kernel: Kernel, session: Block) -> CrHash {
        CrHash { cipher: Cipher::new(kernel, session) }
    }

    /// Replaces block `i` by its hash under the tweak `first_tweak + i`.
    ///
    /// # Panics
    /// If a tweak exceeds 64 bits.
    pub fn hash_blocks(&self, first_tweak: u64, blocks: &mut [Block]) {
        self.cipher.hash_tweaked(first_tweak, blocks);
    }

    /// The first half of hashes whose inputs are hashed under several tweaks: replaces every block
    /// `x` by `P(x)`, on which [`CrHash::add_pairs`] and [`CrHash::add_gates`] go on, one AES call
    /// a hash.
    pub fn permute(&self, blocks: &mut [Block]) {
        self.cipher.permute(blocks);
    }

    /// Adds to `sums[k]` the hashes of `a` and `b` under the tweaks `first_tweaks` and `k` more, of
    /// which `permuted` has `P(a)` and `P(b)` at `k`.
    ///
    /// # Panics
    /// If the lengths differ or a tweak exceeds 64 bits.
    pub fn add_pairs(&self, first_tweaks: [u64; 2], permuted: [&[Block]; 2], sums: &mut [Block]) {
        self.cipher.add_pairs(first_tweaks, permuted, sums);
    }

    /// Adds the hashes of both halves of gates to their three rows: of `permuted`, which has the
    /// images of `a_0`, `a_1`, `b_0` and `b_1`, and with tweaks as in [`CrHash::add_pairs`],
    /// `H(a_0) ^ H(a_1)`, `H(b_0) ^ H(b_1)` and `H(a_0) ^ H(b_0)`.
    ///
    /// # Panics
    /// If the lengths differ or a tweak exceeds 64 bits.
    pub fn add_gates(
        &self,
        first_tweaks: [u64; 2],
        permuted: [&[Block]; 4],
        rows: [&mut [Block]; 3],
    ) {
        self.cipher.add_gates(first_tweaks, permuted, rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes::Aes128;
    use aes::cipher::{BlockCipherEncrypt, KeyInit};

    fn permute(session: u128, x: u128) -> u128 {
        let mut state = x.to_le_bytes().into();
        Aes128::new(&session.to_le_bytes().into()).encrypt_block(&mut state);
        u128::from_le_bytes(state.into())
    }

    #[test]
    fn every_kernel_computes_the_construction() {
        let session = 0xfeed_beef;
        for kernel in Kernel::supported() {
            let hash = CrHash::with_kernel(kernel, Block::from_bits(session));
            for count in [0, 1, 3, 4, 5, 31, 32, 33, 100] {
                let mut blocks: Vec<_> = (0..count).map(|i| Block::from_bits(i * i + 7)).collect();
                hash.hash_blocks(1 << 40, &mut blocks);
                for (i, block) in (0..count).zip(&blocks) {
                    let outer = permute(session, i * i + 7);
                    let expected = permute(session, outer ^ ((1 << 40) + i)) ^ outer;
                    assert!(block.to_bits() == expected, "{} block {i}", kernel.name());
                }
            }
        }
    }

    #[test]
    fn sums_of_hashes_in_two_halves() {
        let session = 0x5eed;
        for kernel in Kernel::supported() {
            let hash = CrHash::with_kernel(kernel, Block::from_bits(session));
            for count in [0, 1, 3, 4, 5, 15, 16, 17, 64, 100] {
                let plain: [Vec<Block>; 4] = std::array::from_fn(|k| {
                    (0..count).map(|i| Block::from_bits(i * 77 + 1000 * k as u128)).collect()
                });
                let hashed = |k: usize, tweak: u64| {
                    let mut blocks = plain[k].clone();
                    hash.hash_blocks(tweak, &mut blocks);
                    blocks
                };
                let mut halves = plain.clone();
                halves.iter_mut().for_each(|blocks| hash.permute(blocks));
                let halves = halves.each_ref().map(|blocks| &blocks[..]);
                let tweaks = [1 << 50, (1 << 40) + 3];
                let before: Vec<Block> = (0..count).map(|i| Block::from_bits(i + 9)).collect();
                let check = |what: &str, found: &[Block], [a, b]: [Vec<Block>; 2]| {
                    for i in 0..found.len() {
                        let expected = before[i] ^ a[i] ^ b[i];
                        let is_right = found[i].to_bits() == expected.to_bits();
                        assert!(is_right, "{} {what} {i} of {count}", kernel.name());
                    }
                };
                let mut sums = before.clone();
                hash.add_pairs(tweaks, [halves[1], halves[2]], &mut sums);
                check("sum", &sums, [hashed(1, tweaks[0]), hashed(2, tweaks[1])]);
                let mut rows = [0; 3].map(|_| before.clone());
                hash.add_gates(tweaks, halves, rows.each_mut().map(|row| &mut row[..]));
                check("first", &rows[0], [hashed(0, tweaks[0]), hashed(1, tweaks[0])]);
                check("second", &rows[1], [hashed(2, tweaks[1]), hashed(3, tweaks[1])]);
                check("third", &rows[2], [hashed(0, tweaks[0]), hashed(2, tweaks[1])]);
            }
        }
    }
}
