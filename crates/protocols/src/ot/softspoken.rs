//! OT extension: any number of correlated OTs from 128 base OTs, with AES only.
//!
//! Source: Roy, "SoftSpokenOT: Quieter OT Extension from Small-Field Silent VOLE in the Minicrypt
//! Model", CRYPTO 2022 (ePrint 2022/192): Figure 13 (trees from base OTs, `pprf`), Section 3.1
//! (small-field VOLE, `vole`), Section 3.2 with the repetition code (one choice bit for all
//! columns). The paper then hashes rows to OTs (`RandomOtSender`); here the rows themselves are
//! given: `q = t ^ choice * delta`. The VOLE sender of the paper is the OT receiver and vice versa.
//!
//! Cost per OT in fields of 2^k elements: 128/k bits from receiver to sender (one bit less with
//! random choices) and 2^k/k AES calls: k = 1: 2, 2: 2, 3: 2.7, 4: 4, 8: 32 (the sender one leaf in
//! 2^k less). The limit at k = 4: 4 calls of 10 rounds, 4 blocks an instruction and two
//! instructions a cycle are 5 cycles, 800 M OT/s at 4 GHz; all that is not AES comes on top.
//! Invariants: both parties extend by the same counts in the same order; a leaf's generator never
//! goes back; constant time. State is allocated at set-up, extending allocates nothing.
//! Not protected: a malicious receiver (semi-honest only). The select bit of delta is fixed to 1
//! for garbling, so the extension rests on 127 unknown bits instead of 128.

use phineus_channels::Channel;
use phineus_crypto::{Block, Delta, Prg, transpose};
use zerocopy::{FromBytes, IntoBytes};
use zeroize::Zeroizing;

use super::limits::{BASE_OT_COUNT, BATCH_OTS, FIELD_BITS_MAX, OT_COUNT_MAX, TILE_OTS};
use super::{CorrelatedOtReceiver, CorrelatedOtSender, SessionId, base, pprf, vole};
use crate::ProtocolError;

/// Blocks of one row of a full tile.
const TILE_BLOCKS: usize = TILE_OTS / 128;

/// The logarithm `k` of the field size: more means fewer bytes and more computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldBits(usize);

impl FieldBits {
    /// 64 bits and 2 AES calls per OT: for a fast network.
    pub const LAN: FieldBits = FieldBits(2);
    /// 32 bits and 4 AES calls per OT.
    pub const DEFAULT: FieldBits = FieldBits(4);

    /// `k`, or `None` if it is not in 1 to [`FIELD_BITS_MAX`].
    pub fn new(k: usize) -> Option<FieldBits> {
        (1..=FIELD_BITS_MAX).contains(&k).then_some(FieldBits(k))
    }

    /// Small-field VOLEs per session, which is also how many bits an OT with chosen choice costs.
    pub const fn vole_count(self) -> usize {
        BASE_OT_COUNT.div_ceil(self.0)
    }

    /// Leaves of all trees.
    fn leaf_count(self) -> usize {
        self.voles().map(|(_, width)| 1 << width).sum()
    }

    /// First column and width of each VOLE; the last one may be narrower.
    fn voles(self) -> impl Iterator<Item = (usize, usize)> {
        let k = self.0;
        (0..BASE_OT_COUNT).step_by(k).map(move |first| (first, k.min(BASE_OT_COUNT - first)))
    }
}

/// Bytes from receiver to sender of one `extend` by `count` OTs.
pub fn extension_bytes(count: u64, field: FieldBits) -> u64 {
    field.vole_count() as u64 * count.div_ceil(8)
}

/// Bytes from receiver to sender of one `extend_random` by `count` OTs.
pub fn random_extension_bytes(count: u64, field: FieldBits) -> u64 {
    (field.vole_count() as u64 - 1) * count.div_ceil(8)
}

/// Bytes of memory that either party holds from set-up to the end.
pub fn state_bytes(field: FieldBits) -> usize {
    let rows = (1 << field.0) + 1 + BASE_OT_COUNT;
    field.leaf_count() * size_of::<Prg>() + rows * TILE_BLOCKS * size_of::<Block>()
}

/// Bytes that the sender sends in a set-up (8 KiB), and the receiver (3 KiB for `k` = 4).
pub fn setup_bytes(field: FieldBits) -> (u64, u64) {
    let messages = field.voles().map(|(_, width)| pprf::message_blocks(width));
    let blocks: usize = messages.sum();
    let (from_base_receiver, from_base_sender) = base::message_bytes(BASE_OT_COUNT);
    (from_base_receiver, from_base_sender + (blocks * size_of::<Block>()) as u64)
}

/// The party that holds delta and gets `q`.
pub struct SoftSpokenSender {
    delta: Delta,
    /// One generator per known leaf, tree after tree, in the order of `pprf::evaluate`.
    generators: Vec<Prg>,
    tile: Tile,
}

/// The party that chooses and gets `t`.
pub struct SoftSpokenReceiver {
    /// One generator per leaf, tree after tree.
    generators: Vec<Prg>,
    tile: Tile,
}

impl SoftSpokenSender {
    /// Runs the base OTs and the trees; the bytes each way are those of [`setup_bytes`].
    ///
    /// # Errors
    /// When the channel fails or the peer sends what no honest peer sends.
    pub fn setup(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        field: FieldBits,
        delta: Delta,
    ) -> Result<SoftSpokenSender, ProtocolError> {
        let path = Zeroizing::new(delta.block().to_bits());
        let bit = |column: usize| *path >> column & 1 == 1;
        // A base OT gives the seeds beside the path: the choice is the complement of delta's bit.
        let choices = Zeroizing::new([!*path as u64, (!*path >> 64) as u64]);
        let mut pads = Zeroizing::new([Block::ZERO; BASE_OT_COUNT]);
        base::receive(channel, prg, session, &*choices, &mut *pads)?;

        let mut generators = Vec::with_capacity(field.leaf_count() - field.vole_count());
        let mut leaves = Zeroizing::new([Block::ZERO; 1 << FIELD_BITS_MAX]);
        for (first, width) in field.voles() {
            // The first level of a tree is the most significant bit of the field element.
            let columns = (first..first + width).rev();
            let path: Zeroizing<Vec<bool>> = Zeroizing::new(columns.clone().map(bit).collect());
            let pads: Zeroizing<Vec<Block>> = Zeroizing::new(columns.map(|c| pads[c]).collect());
            let mut message = vec![Block::ZERO; pprf::message_blocks(width)];
            channel.recv(message.as_mut_bytes())?;
            let leaves = &mut leaves[..1 << width];
            pprf::evaluate(&path, &pads, &message, leaves);
            generators.extend(leaves[1..].iter().map(|&seed| Prg::from_seed(seed)));
        }
        Ok(SoftSpokenSender { delta, generators, tile: Tile::new(field) })
    }

    fn extend_tile(
        &mut self,
        channel: &mut impl Channel,
        choices: Choices,
        q: &mut [Block],
    ) -> Result<(), ProtocolError> {
        let delta = self.delta.block().to_bits();
        let (field, row_bytes) = (self.tile.field, q.len().div_ceil(8));
        let correction_bytes = choices.rows(field) * row_bytes;
        let (tile, generators) = (&mut self.tile, &mut self.generators);
        channel.recv_with(correction_bytes, |corrections| {
            let mut corrections = corrections.chunks_exact(row_bytes);
            let mut generators = generators.iter_mut();
            let row = q.len().div_ceil(128);
            for (i, (first, width)) in field.voles().enumerate() {
                let leaves = &mut tile.leaves[..row << width];
                leaves[..row].fill(Block::ZERO);
                for (leaf, prg) in leaves[row..].chunks_exact_mut(row).zip(&mut generators) {
                    prg.fill_blocks(leaf);
                }
                let common = &mut tile.common[..row];
                common.fill(Block::ZERO);
                if choices.corrects(i) {
                    let correction = corrections.next().expect("one row per corrected VOLE");
                    common.as_mut_bytes()[..row_bytes].copy_from_slice(correction);
                }
                let columns = &mut tile.columns[first * row..][..width * row];
                vole::fold_but_one(width, leaves, columns, common, (delta >> first) as u8);
            }
        })?;
        self.tile.transpose(q);
        Ok(())
    }

    fn extend_all(
        &mut self,
        channel: &mut impl Channel,
        choices: Choices,
        q: &mut [Block],
    ) -> Result<(), ProtocolError> {
        self.tile.count(q.len());
        q.chunks_mut(TILE_OTS).try_for_each(|q| self.extend_tile(channel, choices, q))
    }
}

impl CorrelatedOtSender for SoftSpokenSender {
    fn delta(&self) -> &Delta {
        &self.delta
    }

    fn extend(&mut self, channel: &mut impl Channel, q: &mut [Block]) -> Result<(), ProtocolError> {
        self.extend_all(channel, Choices::Chosen, q)
    }

    fn extend_random(
        &mut self,
        channel: &mut impl Channel,
        q: &mut [Block],
    ) -> Result<(), ProtocolError> {
        self.extend_all(channel, Choices::Random, q)
    }
}

impl SoftSpokenReceiver {
    /// Runs the base OTs and the trees; the counterpart of [`SoftSpokenSender::setup`].
    ///
    /// # Errors
    /// When the channel fails or the peer sends what no honest peer sends.
    pub fn setup(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        field: FieldBits,
    ) -> Result<SoftSpokenReceiver, ProtocolError> {
        let mut pads = Zeroizing::new([[Block::ZERO; 2]; BASE_OT_COUNT]);
        base::send(channel, prg, session, &mut *pads)?;

        let mut generators = Vec::with_capacity(field.leaf_count());
        let mut leaves = Zeroizing::new([Block::ZERO; 1 << FIELD_BITS_MAX]);
        for (first, width) in field.voles() {
            let columns = (first..first + width).rev();
            let pads: Zeroizing<Vec<[Block; 2]>> =
                Zeroizing::new(columns.map(|column| pads[column]).collect());
            let mut message = vec![Block::ZERO; pprf::message_blocks(width)];
            let leaves = &mut leaves[..1 << width];
            pprf::build(&pads, leaves, &mut message);
            channel.send(message.as_bytes())?;
            generators.extend(leaves.iter().map(|&seed| Prg::from_seed(seed)));
        }
        channel.flush()?;
        Ok(SoftSpokenReceiver { generators, tile: Tile::new(field) })
    }

    /// One tile. With [`Choices::Random`] the choices are written, else read, as bits of `chosen`.
    fn extend_tile(
        &mut self,
        channel: &mut impl Channel,
        choices: Choices,
        chosen: &mut [Block; TILE_BLOCKS],
        t: &mut [Block],
    ) -> Result<(), ProtocolError> {
        let (field, row_bytes) = (self.tile.field, t.len().div_ceil(8));
        let correction_bytes = choices.rows(field) * row_bytes;
        let (tile, generators) = (&mut self.tile, &mut self.generators);
        channel.send_with(correction_bytes, |corrections| {
            let mut corrections = corrections.chunks_exact_mut(row_bytes);
            let mut generators = generators.iter_mut();
            let row = t.len().div_ceil(128);
            for (i, (first, width)) in field.voles().enumerate() {
                let leaves = &mut tile.leaves[..row << width];
                for (leaf, prg) in leaves.chunks_exact_mut(row).zip(&mut generators) {
                    prg.fill_blocks(leaf);
                }
                let u = &mut tile.common[..row];
                let columns = &mut tile.columns[first * row..][..width * row];
                vole::fold_all(width, leaves, columns, u);
                if choices.corrects(i) {
                    for (u, choice) in u.iter_mut().zip(chosen.iter()) {
                        *u ^= *choice;
                    }
                    let correction = corrections.next().expect("one row per corrected VOLE");
                    correction.copy_from_slice(&u.as_bytes()[..row_bytes]);
                } else {
                    chosen[..row].copy_from_slice(u);
                }
            }
        })?;
        self.tile.transpose(t);
        Ok(())
    }
}

impl CorrelatedOtReceiver for SoftSpokenReceiver {
    fn extend(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        t: &mut [Block],
    ) -> Result<(), ProtocolError> {
        assert_eq!(choices.len(), t.len().div_ceil(64), "one choice bit per OT");
        self.tile.count(t.len());
        let mut chosen = Zeroizing::new([Block::ZERO; TILE_BLOCKS]);
        for (i, t) in t.chunks_mut(TILE_OTS).enumerate() {
            let tile_choices = choices[i * TILE_OTS / 64..].iter().take(TILE_OTS / 64);
            let words = <[u64]>::mut_from_bytes(chosen.as_mut_bytes());
            let words = words.expect("a block is two aligned words");
            for (word, choice) in words.iter_mut().zip(tile_choices) {
                *word = choice.to_le();
            }
            self.extend_tile(channel, Choices::Chosen, &mut chosen, t)?;
            flush_after_batch(channel, i)?;
        }
        Ok(channel.flush()?)
    }

    fn extend_random(
        &mut self,
        channel: &mut impl Channel,
        choices: &mut [u64],
        t: &mut [Block],
    ) -> Result<(), ProtocolError> {
        assert_eq!(choices.len(), t.len().div_ceil(64), "one choice bit per OT");
        self.tile.count(t.len());
        let mut chosen = Zeroizing::new([Block::ZERO; TILE_BLOCKS]);
        let tiles = t.chunks_mut(TILE_OTS).zip(choices.chunks_mut(TILE_OTS / 64));
        for (i, (t, choices)) in tiles.enumerate() {
            self.extend_tile(channel, Choices::Random, &mut chosen, t)?;
            let words = <[u64]>::ref_from_bytes(chosen.as_bytes());
            let words = words.expect("a block is two aligned words");
            for (choice, word) in choices.iter_mut().zip(words) {
                *choice = u64::from_le(*word);
            }
            flush_after_batch(channel, i)?;
        }
        Ok(channel.flush()?)
    }
}

fn flush_after_batch(channel: &mut impl Channel, tile: usize) -> Result<(), ProtocolError> {
    if (tile + 1).is_multiple_of(BATCH_OTS / TILE_OTS) {
        channel.flush()?;
    }
    Ok(())
}

/// Who determines the choice bits of an extension.
///
/// Section 3.2 takes the `u` of the first VOLE as the common choices and sends the difference of
/// every other VOLE to it. A receiver with its own choices would then send their difference to
/// that `u` as well. Sending instead the difference of *every* VOLE's `u` to the choices is the
/// same information (each row is the old one XOR that difference) and takes no second pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choices {
    Chosen,
    Random,
}

impl Choices {
    /// Whether VOLE `index` sends a correction.
    fn corrects(self, index: usize) -> bool {
        self == Choices::Chosen || index > 0
    }

    /// Corrections per tile.
    fn rows(self, field: FieldBits) -> usize {
        field.vole_count() - usize::from(self == Choices::Random)
    }
}

/// The working memory of one tile and the count of OTs so far.
struct Tile {
    field: FieldBits,
    /// The rows of one tree's leaves.
    leaves: Zeroizing<Vec<Block>>,
    /// One row: the `u` of a VOLE or its correction.
    common: Zeroizing<Vec<Block>>,
    /// The bit matrix, one row per bit of delta.
    columns: Zeroizing<Vec<Block>>,
    ot_count: u64,
}

impl Tile {
    fn new(field: FieldBits) -> Tile {
        let rows = |count: usize| Zeroizing::new(vec![Block::ZERO; count * TILE_BLOCKS]);
        Tile {
            field,
            leaves: rows(1 << field.0),
            common: rows(1),
            columns: rows(BASE_OT_COUNT),
            ot_count: 0,
        }
    }

    /// Counts OTs before they are made.
    ///
    /// # Panics
    /// When the session's OTs are exhausted.
    fn count(&mut self, ots: usize) {
        let total = self.ot_count.checked_add(ots as u64).filter(|total| *total <= OT_COUNT_MAX);
        self.ot_count = total.expect("a session has at most 2^63 OTs");
    }

    /// Turns the columns into one block per OT.
    fn transpose(&self, out: &mut [Block]) {
        let row_bytes = out.len().div_ceil(128) * size_of::<Block>();
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
