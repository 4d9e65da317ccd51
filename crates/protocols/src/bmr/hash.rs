//! The hash of garbled gates: every party's, for every batch another one.
//!
//! Source: Guo, Katz, Wang, Yu, IEEE S&P 2020 (ePrint 2019/074), the construction TMMO, as
//! [`CrHash`] has it. The public key of the permutation is a party's random start value XOR the
//! number of the batch: so a party's hashes under one permutation are those of a single batch, and
//! the bound of the paper, which falls with the number of hashes, does not fall with the circuit.
//!
//! Assumption: tweakable circular correlation robustness, which TMMO has in the ideal-cipher model.
//! Invariants: gate `g` of a batch uses for the key of party `j` the tweak `2^32 (2 j) + g` for its
//! first operand and `2^32 (2 j + 1) + g` for its second, under both keys of a wire; no tweak comes
//! twice. So the tweaks of neighbouring gates follow each other, and the first AES call of a hash,
//! which depends on the key alone, serves for all `j`.

use phineus_crypto::{Block, CrHash};

/// The hash of the party with the public `start`, for batch `number`.
pub(super) fn batch_hash(start: Block, number: u64) -> CrHash {
    CrHash::new(start ^ Block::from_bits(u128::from(number)))
}

/// The tweaks of both operands of gate `gate` of a batch, for the key of `party`.
pub(super) fn tweaks(gate: usize, party: usize) -> [u64; 2] {
    [0, 1].map(|operand| (2 * party as u64 + operand) << 32 | gate as u64)
}
