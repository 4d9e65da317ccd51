//! The hash of garbled gates: every party's, for every batch another one.
//!
//! Source: Guo, Katz, Wang, Yu, IEEE S&P 2020 (ePrint 2019/074), the construction TMMO, as
//! [`CrHash`] has it. The public key of the permutation is a party's random start value XOR the
//! number of the batch: so a party's hashes under one permutation are those of a single batch, and
//! the bound of the paper, which falls with the number of hashes, does not fall with the circuit.
//!
//! Assumption: tweakable circular correlation robustness, which TMMO has in the ideal-cipher model.
//! Invariants: gate `g` of a batch uses for the key of party `j` the tweaks `2 (g n + j)` for its
//! first operand and one more for its second, under both keys of a wire; no tweak comes twice.

use phineus_crypto::{Block, CrHash};

/// The hash of the party with the public `start`, for batch `number`.
pub(super) fn batch_hash(start: Block, number: u64) -> CrHash {
    CrHash::new(start ^ Block::from_bits(u128::from(number)))
}

/// The first tweak of gate `gate` of a batch.
pub(super) fn first_tweak(gate: usize, parties: usize) -> u64 {
    2 * (gate * parties) as u64
}

/// A key with its select bit as given, whatever lies there.
#[inline(always)]
pub(super) fn with_select_bit(key: Block, bit: bool) -> Block {
    Block::from_bits(key.to_bits() & !1 | u128::from(bit))
}
