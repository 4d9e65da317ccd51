//! Random OTs of rows of up to 128 bits, one after another: bit `i` of all rows is a string of its own.
//!
//! Source: `random`, of whose messages the lowest bits are kept. Cost per OT: that of a random OT, however wide a row
//! is. Bit `i` of row `j` is bit `j % 64` of word `i n + j / 64` for strings of `n` words; bits beyond the last row
//! are 0.

use phineus_channels::Channel;
use phineus_crypto::{Block, transpose};
use zerocopy::IntoBytes;
use zeroize::Zeroize;

use super::random::{ChoiceBits, RandomOtReceiver, RandomOtSender};
use super::tile::ChoiceSource;
use super::{CorrelatedOtReceiver, CorrelatedOtSender};
use crate::OtError;

/// The widest row: all of a block.
pub const ROW_BITS_MAX: usize = 128;

impl<S: CorrelatedOtSender> RandomOtSender<S> {
    /// Makes `count` OTs of rows of `width` bits: the rows for choice 0 and for choice 1. Only receives.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If the width is not in 1 to 128, or `zero` or `one` is not exactly long enough.
    pub fn extend_rows(
        &mut self,
        channel: &mut impl Channel,
        random: bool,
        (width, count): (usize, usize),
        zero: &mut [u64],
        one: &mut [u64],
    ) -> Result<(), OtError> {
        check(width, count, zero);
        check(width, count, one);
        let choices = if random { ChoiceSource::Random } else { ChoiceSource::Chosen };
        self.extend_tiles(channel, choices, count, 1, |_, _, first, messages, others| {
            select_rows(messages, first, width, zero);
            select_rows(others, first, width, one);
            Ok(())
        })
    }
}

impl<R: CorrelatedOtReceiver> RandomOtReceiver<R> {
    /// Makes `count` OTs of rows of `width` bits: the sender's rows of choice. Only sends.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If the width is not in 1 to 128, or `choices` or `rows` is not exactly long enough.
    pub fn extend_rows(
        &mut self,
        channel: &mut impl Channel,
        mut choices: ChoiceBits<'_>,
        (width, count): (usize, usize),
        rows: &mut [u64],
    ) -> Result<(), OtError> {
        check(width, count, rows);
        assert_eq!(choices.words().len(), count.div_ceil(64), "one choice bit per OT");
        self.extend_pieces(channel, &mut choices, count, 1, |first, messages| {
            select_rows(messages, first, width, rows);
        })
    }
}

fn check(width: usize, count: usize, rows: &[u64]) {
    assert!((1..=ROW_BITS_MAX).contains(&width), "a row has 1 to 128 bits");
    assert_eq!(rows.len(), width * count.div_ceil(64), "a string for each bit of a row");
}

/// Writes the lowest bits of every message, from row `first` on, which is a multiple of 64.
fn select_rows(messages: &[Block], first: usize, width: usize, rows: &mut [u64]) {
    let words = rows.len() / width;
    let mut square = [Block::ZERO; ROW_BITS_MAX];
    let mut strings = [Block::ZERO; ROW_BITS_MAX];
    for (messages, word) in messages.chunks(ROW_BITS_MAX).zip((first / 64..).step_by(2)) {
        square[..messages.len()].copy_from_slice(messages);
        square[messages.len()..].fill(Block::ZERO);
        transpose(square.as_bytes(), size_of::<Block>(), &mut strings);
        for (row, string) in rows.chunks_exact_mut(words).zip(&strings) {
            let bits = string.to_bits();
            for (target, half) in row[word..].iter_mut().zip([bits as u64, (bits >> 64) as u64]) {
                *target = half;
            }
        }
    }
    square.zeroize();
    strings.zeroize();
}
