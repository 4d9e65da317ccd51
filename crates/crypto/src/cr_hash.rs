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

/// Blocks hashed at a time: 64 * 16 bytes = 1 KiB of stack, which stays in the first-level cache.
const BATCH_BLOCKS: usize = 64;

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
        let tweak_end = first_tweak.checked_add(blocks.len() as u64);
        assert!(tweak_end.is_some(), "the tweaks of a session are exhausted");

        let mut inner = [Block::ZERO; BATCH_BLOCKS];
        let mut tweak = first_tweak;
        for batch in blocks.chunks_mut(BATCH_BLOCKS) {
            let inner = &mut inner[..batch.len()];
            self.cipher.encrypt(batch);
            for (inner, outer) in inner.iter_mut().zip(batch.iter()) {
                *inner = *outer ^ Block::from_bits(u128::from(tweak));
                tweak += 1;
            }
            self.cipher.encrypt(inner);
            for (outer, inner) in batch.iter_mut().zip(inner.iter()) {
                *outer ^= *inner;
            }
        }
    }
}
