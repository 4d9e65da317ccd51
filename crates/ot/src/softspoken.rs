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
//! Not protected: a malicious receiver, unless [`AdversaryModel::Malicious`] is asked for. The
//! select bit of delta is fixed to 1 for garbling, so the extension rests on 127 unknown bits.

use phineus_channels::Channel;
use phineus_crypto::{Block, Delta, Prg, SecretBit};
use zerocopy::{FromBytes, IntoBytes};
use zeroize::Zeroizing;

use super::base::{BaseOts, EndemicOts};
use super::consistency::{self, Challenges};
use super::deviation::{Deviation, Honest};
use super::limits::{BASE_OT_COUNT, BATCH_OTS, FIELD_BITS_MAX, TILE_OTS};
use super::parameters::{AdversaryModel, FieldBits};
use super::tile::{COLUMN_STRIDE_MAX, ChoiceSource, OtTile, ROW_BLOCKS_MAX};
use super::{CorrelatedOtReceiver, CorrelatedOtSender, SessionId, pprf, vole};
use crate::OtError;

/// Bytes of memory that either party holds from set-up to the end.
pub fn state_bytes(field: FieldBits) -> usize {
    let rows = (1 << field.bits()) + 1;
    let blocks = rows * ROW_BLOCKS_MAX + BASE_OT_COUNT * COLUMN_STRIDE_MAX;
    field.leaf_count() * size_of::<Prg>() + blocks * size_of::<Block>()
}

/// The party that holds delta and gets `q`.
pub struct SoftSpokenSender {
    delta: Delta,
    /// One generator per known leaf, tree after tree, in the order of `pprf::evaluate`.
    generators: Vec<Prg>,
    tile: OtTile,
    /// Transcript for the challenges of the checks.
    challenges: Challenges,
}

/// Sets both directions with a peer up at the same time: as sender in the session `outgoing`, as
/// receiver in `incoming`, which at the peer are the other way round.
///
/// Cost: the bytes of two set-ups, in the rounds of one.
///
/// # Errors
/// When the channel fails or the peer sends what no honest peer sends.
pub fn setup_both(
    channel: &mut impl Channel,
    prg: &mut Prg,
    (outgoing, incoming): (&SessionId, &SessionId),
    field: FieldBits,
    delta: Delta,
) -> Result<(SoftSpokenSender, SoftSpokenReceiver), OtError> {
    let security = AdversaryModel::SemiHonest;
    let asked = SenderSetup::<EndemicOts>::issue(channel, prg, outgoing, field, security, delta)?;
    let receiver = SoftSpokenReceiver::setup(channel, prg, incoming, field)?;
    Ok((asked.finish(channel)?, receiver))
}

/// The party that chooses and gets `t`.
pub struct SoftSpokenReceiver<D = Honest> {
    /// One generator per leaf, tree after tree.
    generators: Vec<Prg>,
    tile: OtTile,
    /// Transcript for the challenges of the checks.
    challenges: Challenges,
    deviation: D,
}

/// A sender whose set-up has begun: its base OTs are asked for.
struct SenderSetup<B: BaseOts> {
    session: SessionId,
    field: FieldBits,
    security: AdversaryModel,
    delta: Delta,
    asked: B::ReceiverSent,
}

impl<B: BaseOts> SenderSetup<B> {
    /// Asks for the base OTs.
    fn issue(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        field: FieldBits,
        security: AdversaryModel,
        delta: Delta,
    ) -> Result<SenderSetup<B>, OtError> {
        let path = Zeroizing::new(delta.block().to_bits());
        // A base OT gives the seeds beside the path: the choice is the complement of delta's bit.
        let choices = Zeroizing::new([!*path as u64, (!*path >> 64) as u64]);
        let asked = B::issue_receive(channel, prg, session, &*choices, BASE_OT_COUNT)?;
        Ok(SenderSetup { session: session.clone(), field, security, delta, asked })
    }

    /// Takes the base OTs and the trees.
    fn finish(self, channel: &mut impl Channel) -> Result<SoftSpokenSender, OtError> {
        let SenderSetup { session, field, security, delta, asked } = self;
        let path = Zeroizing::new(delta.block().to_bits());
        let bit = |column: usize| SecretBit::lowest((*path >> column) as u64);
        let mut pads = Zeroizing::new([Block::ZERO; BASE_OT_COUNT]);
        B::finish_receive(asked, channel, &mut *pads)?;

        let mut generators = Vec::with_capacity(field.leaf_count() - field.vole_count());
        let mut leaves = Zeroizing::new([Block::ZERO; 1 << FIELD_BITS_MAX]);
        let mut challenges = Challenges::new(&session);
        for (first, width) in field.voles() {
            // The first level of a tree is the most significant bit of the field element.
            let columns = (first..first + width).rev();
            let path: Zeroizing<Vec<SecretBit>> =
                Zeroizing::new(columns.clone().map(bit).collect());
            let pads: Zeroizing<Vec<Block>> = Zeroizing::new(columns.map(|c| pads[c]).collect());
            let mut message = vec![Block::ZERO; pprf::message_blocks(width)];
            channel.recv(message.as_mut_bytes())?;
            let leaves = &mut leaves[..1 << width];
            pprf::evaluate(&path, &pads, &message, leaves);
            if security == AdversaryModel::Malicious {
                challenges.absorb(message.as_bytes());
                consistency::check_tree(channel, &mut challenges, &path, leaves)?;
            }
            generators.extend(leaves[1..].iter().map(|&seed| Prg::from_seed(seed)));
        }
        Ok(SoftSpokenSender { delta, generators, tile: OtTile::new(field, security), challenges })
    }
}

impl SoftSpokenSender {
    /// Runs the base OTs and the trees; the bytes in each direction are those of `setup_bytes`.
    ///
    /// # Errors
    /// When the channel fails or the peer sends what no honest peer sends.
    pub fn setup(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        field: FieldBits,
        delta: Delta,
    ) -> Result<SoftSpokenSender, OtError> {
        SoftSpokenSender::setup_for(channel, prg, session, field, AdversaryModel::SemiHonest, delta)
    }

    /// As [`SoftSpokenSender::setup`], secure against the receivers of `security`; both parties
    /// give the same.
    ///
    /// # Errors
    /// When the channel fails or the peer sends what no honest peer sends.
    pub fn setup_for(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        field: FieldBits,
        security: AdversaryModel,
        delta: Delta,
    ) -> Result<SoftSpokenSender, OtError> {
        Self::setup_over::<EndemicOts>(channel, prg, session, field, security, delta)
    }

    /// As [`SoftSpokenSender::setup_for`], over base OTs from `B`; both parties use the same.
    ///
    /// # Errors
    /// When the channel fails or the peer sends what no honest peer sends.
    pub fn setup_over<B: BaseOts>(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        field: FieldBits,
        security: AdversaryModel,
        delta: Delta,
    ) -> Result<SoftSpokenSender, OtError> {
        SenderSetup::<B>::issue(channel, prg, session, field, security, delta)?.finish(channel)
    }

    fn extend_tile(
        &mut self,
        channel: &mut impl Channel,
        choices: ChoiceSource,
        q: &mut [Block],
    ) -> Result<(), OtError> {
        let delta = self.delta.block().to_bits();
        let (field, (row, row_bytes)) = (self.tile.field, self.tile.row(q.len()));
        let stride = self.tile.stride(row);
        let correction_bytes = choices.rows(field) * row_bytes;
        let (tile, generators) = (&mut self.tile, &mut self.generators);
        let challenges = &mut self.challenges;
        channel.recv_with(correction_bytes, |corrections| {
            if tile.security == AdversaryModel::Malicious {
                challenges.absorb(corrections);
            }
            let mut corrections = corrections.chunks_exact(row_bytes);
            let mut generators = generators.iter_mut();
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
                let columns = (&mut tile.columns[first * stride..][..width * stride], stride);
                vole::fold_but_one(width, leaves, columns, common, (delta >> first) as u8);
            }
        })?;
        if self.tile.security == AdversaryModel::Malicious {
            let columns = &self.tile.columns[..BASE_OT_COUNT * row];
            consistency::check_columns(channel, &self.challenges, &self.delta, columns)?;
        }
        self.tile.transpose(q);
        Ok(())
    }

    fn extend_all(
        &mut self,
        channel: &mut impl Channel,
        choices: ChoiceSource,
        q: &mut [Block],
    ) -> Result<(), OtError> {
        self.tile.count(q.len());
        q.chunks_mut(TILE_OTS).try_for_each(|q| self.extend_tile(channel, choices, q))
    }
}

impl CorrelatedOtSender for SoftSpokenSender {
    fn delta(&self) -> &Delta {
        &self.delta
    }

    fn extend(&mut self, channel: &mut impl Channel, q: &mut [Block]) -> Result<(), OtError> {
        self.extend_all(channel, ChoiceSource::Chosen, q)
    }

    fn extend_random(
        &mut self,
        channel: &mut impl Channel,
        q: &mut [Block],
    ) -> Result<(), OtError> {
        self.extend_all(channel, ChoiceSource::Random, q)
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
    ) -> Result<SoftSpokenReceiver, OtError> {
        SoftSpokenReceiver::setup_for(channel, prg, session, field, AdversaryModel::SemiHonest)
    }

    /// The counterpart of [`SoftSpokenSender::setup_for`].
    ///
    /// # Errors
    /// When the channel fails or the peer sends what no honest peer sends.
    pub fn setup_for(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        field: FieldBits,
        security: AdversaryModel,
    ) -> Result<SoftSpokenReceiver, OtError> {
        Self::setup_over::<EndemicOts>(channel, prg, session, field, security)
    }

    /// The counterpart of [`SoftSpokenSender::setup_over`].
    ///
    /// # Errors
    /// When the channel fails or the peer sends what no honest peer sends.
    pub fn setup_over<B: BaseOts>(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        field: FieldBits,
        security: AdversaryModel,
    ) -> Result<SoftSpokenReceiver, OtError> {
        let mut pads = Zeroizing::new([[Block::ZERO; 2]; BASE_OT_COUNT]);
        B::send(channel, prg, session, &mut *pads)?;

        let mut generators = Vec::with_capacity(field.leaf_count());
        let mut leaves = Zeroizing::new([Block::ZERO; 1 << FIELD_BITS_MAX]);
        let mut challenges = Challenges::new(session);
        for (first, width) in field.voles() {
            let columns = (first..first + width).rev();
            let pads: Zeroizing<Vec<[Block; 2]>> =
                Zeroizing::new(columns.map(|column| pads[column]).collect());
            let mut message = vec![Block::ZERO; pprf::message_blocks(width)];
            let leaves = &mut leaves[..1 << width];
            pprf::build(&pads, leaves, &mut message);
            channel.send(message.as_bytes())?;
            if security == AdversaryModel::Malicious {
                challenges.absorb(message.as_bytes());
                consistency::prove_tree(channel, &mut challenges, leaves)?;
            }
            generators.extend(leaves.iter().map(|&seed| Prg::from_seed(seed)));
        }
        channel.flush()?;
        let tile = OtTile::new(field, security);
        Ok(SoftSpokenReceiver { generators, tile, challenges, deviation: Honest })
    }

    /// Lets the receiver deviate from now on. Tests use it to show what the sender notices.
    pub fn deviating<D: Deviation>(self, deviation: D) -> SoftSpokenReceiver<D> {
        let SoftSpokenReceiver { generators, tile, challenges, deviation: Honest } = self;
        SoftSpokenReceiver { generators, tile, challenges, deviation }
    }
}

impl<D: Deviation> SoftSpokenReceiver<D> {
    /// One tile. With [`ChoiceSource::Random`] the choices are written, else read, as bits of
    /// `chosen`.
    fn extend_tile(
        &mut self,
        channel: &mut impl Channel,
        choices: ChoiceSource,
        chosen: &mut [Block; ROW_BLOCKS_MAX],
        t: &mut [Block],
    ) -> Result<(), OtError> {
        let (field, (row, row_bytes)) = (self.tile.field, self.tile.row(t.len()));
        let stride = self.tile.stride(row);
        let correction_bytes = choices.rows(field) * row_bytes;
        let (tile, generators) = (&mut self.tile, &mut self.generators);
        let (challenges, deviation) = (&mut self.challenges, &mut self.deviation);
        channel.send_with(correction_bytes, |message| {
            let mut corrections = message.chunks_exact_mut(row_bytes);
            let mut generators = generators.iter_mut();
            for (i, (first, width)) in field.voles().enumerate() {
                let leaves = &mut tile.leaves[..row << width];
                for (leaf, prg) in leaves.chunks_exact_mut(row).zip(&mut generators) {
                    prg.fill_blocks(leaf);
                }
                let u = &mut tile.common[..row];
                let columns = (&mut tile.columns[first * stride..][..width * stride], stride);
                vole::fold_all(width, leaves, columns, u);
                if i == 0 && tile.security == AdversaryModel::Malicious {
                    // The OTs that mask the check have random choices always.
                    chosen[row - 1] = u[row - 1];
                }
                deviation.vole(i, u);
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
            if tile.security == AdversaryModel::Malicious {
                challenges.absorb(message);
            }
        })?;
        if self.tile.security == AdversaryModel::Malicious {
            let columns = &self.tile.columns[..BASE_OT_COUNT * row];
            consistency::prove_columns(channel, &self.challenges, &chosen[..row], columns)?;
        }
        self.tile.transpose(t);
        Ok(())
    }
}

impl<D: Deviation> CorrelatedOtReceiver for SoftSpokenReceiver<D> {
    fn extend(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        t: &mut [Block],
    ) -> Result<(), OtError> {
        assert_eq!(choices.len(), t.len().div_ceil(64), "one choice bit per OT");
        self.tile.count(t.len());
        let mut chosen = Zeroizing::new([Block::ZERO; ROW_BLOCKS_MAX]);
        for (i, t) in t.chunks_mut(TILE_OTS).enumerate() {
            let tile_choices = choices[i * TILE_OTS / 64..].iter().take(TILE_OTS / 64);
            let words = <[u64]>::mut_from_bytes(chosen.as_mut_bytes());
            let words = words.expect("a block is two aligned words");
            for (word, choice) in words.iter_mut().zip(tile_choices) {
                *word = choice.to_le();
            }
            self.extend_tile(channel, ChoiceSource::Chosen, &mut chosen, t)?;
            flush_after_batch(channel, i)?;
        }
        Ok(channel.flush()?)
    }

    fn extend_random(
        &mut self,
        channel: &mut impl Channel,
        choices: &mut [u64],
        t: &mut [Block],
    ) -> Result<(), OtError> {
        assert_eq!(choices.len(), t.len().div_ceil(64), "one choice bit per OT");
        self.tile.count(t.len());
        let mut chosen = Zeroizing::new([Block::ZERO; ROW_BLOCKS_MAX]);
        let tiles = t.chunks_mut(TILE_OTS).zip(choices.chunks_mut(TILE_OTS / 64));
        for (i, (t, choices)) in tiles.enumerate() {
            self.extend_tile(channel, ChoiceSource::Random, &mut chosen, t)?;
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

fn flush_after_batch(channel: &mut impl Channel, tile: usize) -> Result<(), OtError> {
    if (tile + 1).is_multiple_of(BATCH_OTS / TILE_OTS) {
        channel.flush()?;
    }
    Ok(())
}
