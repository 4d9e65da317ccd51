//! Local linear codes that stretch correlated OTs in silent OT, and their sizes.
//!
//! Source: Yang, Weng, Lan, Zhang, Wang, "Ferret: Fast Extension for Correlated OT with Small
//! Communication", CCS 2020 (ePrint 2020/924): primal LPN with regular noise and a `d`-local
//! linear code, `d = 10`: a random matrix with 10 entries a row, so that it hides what it stretches
//! if learning parity with noise is hard for it.
//!
//! The sizes are the result of a search: the known attacks cost at least 2^134 operations, those on
//! the few entries of a row included (they decide; docs/protocols/ot.md, section 3). The tests compute
//! the costs with the estimator of `examples/lpn_attacks`, which prints the table of that section.
//!
//! Cost per row: 2.5 AES calls and 10 reads at random places of a table of `2^k` blocks.
//! Invariants: which places are read is public; the matrix is new in every iteration.

use phineus_crypto::{Block, Prg};
use zerocopy::IntoBytes;

use super::SessionId;

/// Entries of a row.
const ROW_ENTRIES: usize = LpnParameters::ROW_ENTRIES;

/// Rows whose entries are drawn at a time: 64 * 40 bytes stay in the first level of cache beside
/// what the rows read.
const ROWS_AT_ONCE: usize = 64;

/// The size of an iteration of silent OT: more gives fewer bytes per OT and takes more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LpnParameters {
    /// Places of the noise, one a tree.
    trees: usize,
    /// The logarithm of the secret's length.
    secret_bits: usize,
    /// The logarithm of the leaves of a tree.
    depth: usize,
}

impl LpnParameters {
    /// Entries of a row of the code.
    pub const ROW_ENTRIES: usize = 10;

    /// 0.47 million OTs an iteration, 2.6 bits each; 2.6 MB of memory at either party.
    pub const SMALL: LpnParameters = LpnParameters { trees: 1060, secret_bits: 16, depth: 9 };
    /// 1.04 million OTs an iteration, 1.4 bits each; 4.8 MB of memory.
    pub const MEDIUM: LpnParameters = LpnParameters { trees: 1150, secret_bits: 17, depth: 10 };
    /// 2.35 million OTs an iteration, 0.77 bits each; 9.2 MB of memory.
    pub const LARGE: LpnParameters = LpnParameters { trees: 1280, secret_bits: 18, depth: 11 };
    /// 5.19 million OTs an iteration, 0.41 bits each; 17.8 MB of memory, whose latency decides.
    pub const HUGE: LpnParameters = LpnParameters { trees: 1400, secret_bits: 19, depth: 12 };

    /// All sizes.
    pub const ALL: [LpnParameters; 4] =
        [LpnParameters::SMALL, LpnParameters::MEDIUM, LpnParameters::LARGE, LpnParameters::HUGE];

    /// The smallest whose one iteration gives `count` OTs; of more, [`Self::LARGE`]: what
    /// [`Self::HUGE`] saves, a third of a bit each, is not worth twice the memory with every peer.
    pub fn for_ots(count: u64) -> LpnParameters {
        let fits = |size: &LpnParameters| size.output_ots() as u64 >= count;
        let known = [LpnParameters::SMALL, LpnParameters::MEDIUM];
        known.into_iter().find(fits).unwrap_or(LpnParameters::LARGE)
    }

    /// Trees of an iteration, the paper's `t`.
    pub const fn trees(self) -> usize {
        self.trees
    }

    /// Levels of a tree below its root.
    pub const fn depth(self) -> usize {
        self.depth
    }

    /// Correlated OTs that are stretched, the paper's `k`.
    pub const fn secret_length(self) -> usize {
        1 << self.secret_bits
    }

    /// Correlated OTs that an iteration makes, the paper's `n`.
    pub const fn length(self) -> usize {
        self.trees << self.depth
    }

    /// Correlated OTs that an iteration takes from the one before: the secret, and one for each
    /// level of each tree.
    pub const fn seed_ots(self) -> usize {
        self.secret_length() + self.trees * self.depth
    }

    /// Correlated OTs that an iteration gives besides those of the next one.
    pub const fn output_ots(self) -> usize {
        self.length() - self.seed_ots()
    }

    /// Bytes that the sender sends in an iteration: one block for each level of each tree.
    pub const fn iteration_bytes(self) -> u64 {
        (self.trees * self.depth * size_of::<Block>()) as u64
    }
}

/// The matrices of one session's iterations, row after row.
pub(crate) struct LocalCode {
    rows: Prg,
    mask: u32,
    entries: Box<[u32]>,
}

impl LocalCode {
    /// The code of `session` for a purpose; both parties have the same.
    pub(crate) fn new(session: &SessionId, purpose: &str, size: LpnParameters) -> LocalCode {
        LocalCode {
            rows: Prg::from_seed(session.hash_key(purpose)),
            mask: (1 << size.secret_bits) - 1,
            entries: vec![0; ROWS_AT_ONCE * ROW_ENTRIES].into_boxed_slice(),
        }
    }

    /// Adds the next rows times `secret` to `noise`.
    ///
    /// Pieces of any multiple of [`ROWS_AT_ONCE`] rows give the same.
    pub(crate) fn encode(&mut self, secret: &[Block], noise: &mut [Block]) {
        assert_eq!(secret.len(), self.mask as usize + 1, "the secret has the length of the code");
        for noise in noise.chunks_mut(ROWS_AT_ONCE) {
            self.rows.fill_bytes(self.entries.as_mut_bytes());
            for (out, row) in noise.iter_mut().zip(self.entries.as_chunks::<ROW_ENTRIES>().0) {
                let mut sum = *out;
                for entry in row {
                    // Other machines read the same entries.
                    sum ^= secret[(u32::from_le(*entry) & self.mask) as usize];
                }
                *out = sum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_are_as_documented() {
        let sizes = LpnParameters::ALL;
        assert_eq!(sizes.map(LpnParameters::length), [542_720, 1_177_600, 2_621_440, 5_734_400]);
        assert_eq!(
            sizes.map(LpnParameters::output_ots),
            [467_644, 1_035_028, 2_345_216, 5_193_312]
        );
        assert_eq!(sizes.map(LpnParameters::iteration_bytes), [152_640, 184_000, 225_280, 268_800]);
        // Every size can be started by the smallest one, and continues itself.
        for size in sizes {
            assert!(size.seed_ots() <= LpnParameters::SMALL.length());
            assert!(size.seed_ots() < size.length());
        }
    }

    #[test]
    fn encoding_is_the_sparse_product_in_pieces_too() {
        let size = LpnParameters::SMALL;
        let session = SessionId::new([8; 32]);
        let mut secret = vec![Block::ZERO; size.secret_length()];
        Prg::from_seed(Block::from_bits(1)).fill_blocks(&mut secret);
        let rows = 3 * ROWS_AT_ONCE;
        let mut whole = vec![Block::from_bits(5); rows];
        LocalCode::new(&session, "test", size).encode(&secret, &mut whole);
        let mut pieces = vec![Block::from_bits(5); rows];
        let mut code = LocalCode::new(&session, "test", size);
        let (first, second) = pieces.split_at_mut(2 * ROWS_AT_ONCE);
        code.encode(&secret, first);
        code.encode(&secret, second);
        // As it stands in the paper: entries drawn one after the other.
        let mut bytes = vec![0; rows * ROW_ENTRIES * 4];
        Prg::from_seed(session.hash_key("test")).fill_bytes(&mut bytes);
        let mut entries = bytes.as_chunks::<4>().0.iter().map(|entry| u32::from_le_bytes(*entry));
        for (whole, piece) in whole.iter().zip(&pieces) {
            let mut sum = 5;
            for entry in entries.by_ref().take(ROW_ENTRIES) {
                sum ^= secret[entry as usize % secret.len()].to_bits();
            }
            assert!(whole.to_bits() == sum && piece.to_bits() == sum);
        }
    }
}
