//! The working memory of an extension: one tile of OTs as a matrix of bits.

use phineus_crypto::{Block, transpose};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::limits::{BASE_OT_COUNT, OT_COUNT_MAX, TILE_OTS};
use super::parameters::{AdversaryModel, FieldBits};

/// Blocks of one row of a full tile.
const TILE_BLOCKS: usize = TILE_OTS / 128;

/// Blocks of the longest row: a full tile and the OTs that mask its check.
pub(crate) const ROW_BLOCKS_MAX: usize = TILE_BLOCKS + 1;

/// Blocks from the end of a column of a semi-honest tile to the next one, a line of the cache. A
/// full tile's columns have 512 bytes: without it, the lines that a transposition reads of all 128
/// would fall into 8 of the 64 sets of the first level of cache, which have space for 96.
const COLUMN_GAP: usize = 4;

/// Blocks from one column of the longest rows to the next.
pub(crate) const COLUMN_STRIDE_MAX: usize = TILE_BLOCKS + COLUMN_GAP;

/// Who determines the choice bits of an extension.
///
/// Section 3.2 takes the `u` of the first VOLE as the common choices and sends the difference of
/// every other VOLE to it. A receiver with its own choices would then send their difference to
/// that `u` as well. Sending instead the difference of *every* VOLE's `u` to the choices is the
/// same information (each row is the old one XOR that difference) and takes no second pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChoiceSource {
    /// The receiver says them.
    Chosen,
    /// They are drawn.
    Random,
}

impl ChoiceSource {
    /// Whether VOLE `index` sends a correction.
    pub(crate) fn corrects(self, index: usize) -> bool {
        self == ChoiceSource::Chosen || index > 0
    }

    /// Corrections per tile.
    pub(crate) fn rows(self, field: FieldBits) -> usize {
        field.vole_count() - usize::from(self == ChoiceSource::Random)
    }
}

/// The working memory of one tile and the count of OTs so far.
pub(crate) struct OtTile {
    pub(crate) field: FieldBits,
    pub(crate) security: AdversaryModel,
    /// The rows of one tree's leaves.
    pub(crate) leaves: Zeroizing<Vec<Block>>,
    /// One row: the `u` of a VOLE or its correction.
    pub(crate) common: Zeroizing<Vec<Block>>,
    /// The bit matrix, one row per bit of delta, [`OtTile::stride`] apart.
    pub(crate) columns: Zeroizing<Vec<Block>>,
    ot_count: u64,
}

impl OtTile {
    pub(crate) fn new(field: FieldBits, security: AdversaryModel) -> OtTile {
        let rows = |count: usize| Zeroizing::new(vec![Block::ZERO; count * ROW_BLOCKS_MAX]);
        OtTile {
            field,
            security,
            leaves: rows(1 << field.bits()),
            common: rows(1),
            columns: Zeroizing::new(vec![Block::ZERO; BASE_OT_COUNT * COLUMN_STRIDE_MAX]),
            ot_count: 0,
        }
    }

    /// Counts OTs before they are made.
    ///
    /// # Panics
    /// When the session's OTs are exhausted.
    pub(crate) fn count(&mut self, ots: usize) {
        let total = self.ot_count.checked_add(ots as u64).filter(|total| *total <= OT_COUNT_MAX);
        self.ot_count = total.expect("a session has at most 2^63 OTs");
    }

    /// Blocks of a row for `ots` OTs, and its bytes in a correction.
    pub(crate) fn row(&self, ots: usize) -> (usize, usize) {
        match self.security {
            AdversaryModel::SemiHonest => (ots.div_ceil(128), ots.div_ceil(8)),
            AdversaryModel::Malicious => {
                let blocks = ots.div_ceil(128) + 1;
                (blocks, blocks * size_of::<Block>())
            }
        }
    }

    /// Blocks from one of the columns of `row` blocks to the next. Those that are checked lie close
    /// together, and are not of 512 bytes.
    pub(crate) fn stride(&self, row: usize) -> usize {
        match self.security {
            AdversaryModel::SemiHonest => row + COLUMN_GAP,
            AdversaryModel::Malicious => row,
        }
    }

    /// Turns the columns into one block per OT.
    pub(crate) fn transpose(&self, out: &mut [Block]) {
        let row_bytes = self.stride(self.row(out.len()).0) * size_of::<Block>();
        let columns = self.columns.as_bytes();
        let (whole, rest) = out.split_at_mut(out.len() / 128 * 128);
        transpose(columns, row_bytes, whole);
        if !rest.is_empty() {
            let mut last = Zeroizing::new([Block::ZERO; 128]);
            transpose(&columns[whole.len() / 8..], row_bytes, &mut *last);
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }
}

const _: () = assert!(ROW_BLOCKS_MAX <= COLUMN_STRIDE_MAX);
