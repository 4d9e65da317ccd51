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
}
