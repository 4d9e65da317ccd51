//! Random OTs: correlated OTs whose correlation is broken by a hash.
//!
//! Source: Ishai, Kilian, Nissim, Petrank, "Extending Oblivious Transfers Efficiently", CRYPTO
//! 2003, the last step of its protocol, in which Roy, "SoftSpokenOT" (ePrint 2022/192), ends too.
//! The messages of OT `j` are `H(q_j, j)` and `H(q_j ^ delta, j)`; the receiver has `H(t_j, j)`.
//! A message of several blocks takes as many tweaks. The flavours with shorter or correlated
//! messages (`random_bits`, `correlated`, `product`) are further methods of the same two types.
//!
//! Cost per OT: that of the correlated OT; four AES calls at the sender, two at the receiver, for
//! every block of a message.
//! Invariants: the tweak of a block counts up and never repeats in a session.

use phineus_channels::Channel;
use phineus_crypto::{Block, CrHash};
use zeroize::Zeroizing;

use super::limits::{BATCH_OTS, HASH_BLOCKS, OT_COUNT_MAX, TILE_OTS};
use super::packing::{BitSink, BitSource};
use super::tile::ChoiceSource;
use super::{CorrelatedOtReceiver, CorrelatedOtSender, SessionId};
use crate::OtError;

/// The party that gets both messages of each OT.
pub struct RandomOtSender<S> {
    pub(crate) correlated: S,
    pub(crate) pads: PadHasher,
    /// Room for one tile of correlated OTs.
    q: Zeroizing<Vec<Block>>,
    /// Room for the messages of both choices that are hashed at a time.
    messages: [Zeroizing<Vec<Block>>; 2],
    pub(crate) sink: BitSink,
}

/// The party that gets the message of its choice.
pub struct RandomOtReceiver<R> {
    pub(crate) correlated: R,
    pub(crate) pads: PadHasher,
    /// Room for one batch of correlated OTs.
    t: Zeroizing<Vec<Block>>,
    /// Room for the messages that are hashed at a time.
    messages: Zeroizing<Vec<Block>>,
    pub(crate) source: BitSource,
}

/// The choices of a receiver, packed: its own, or drawn and written here.
pub enum ChoiceBits<'a> {
    /// The receiver's own.
    Chosen(&'a [u64]),
    /// Drawn by the OTs; a little cheaper.
    Random(&'a mut [u64]),
}

impl<S: CorrelatedOtSender> RandomOtSender<S> {
    /// Random OTs from the correlated OTs of `session`, which nobody else must use.
    pub fn new(correlated: S, session: &SessionId) -> RandomOtSender<S> {
        let room = |blocks: usize| Zeroizing::new(vec![Block::ZERO; blocks]);
        RandomOtSender {
            correlated,
            pads: PadHasher::new(session),
            q: room(TILE_OTS),
            messages: [room(HASH_BLOCKS), room(HASH_BLOCKS)],
            sink: BitSink::with_capacity(2 * HASH_BLOCKS),
        }
    }

    /// Blocks of messages made so far: as many as OTs where a message is one block.
    pub fn blocks_made(&self) -> u64 {
        self.pads.next
    }

    /// Makes sure that the next `count` OTs need no message from this party; see
    /// [`CorrelatedOtSender::reserve`].
    ///
    /// # Errors
    /// When the channel fails.
    pub fn reserve(&mut self, channel: &mut impl Channel, count: usize) -> Result<(), OtError> {
        self.correlated.reserve(channel, count)
    }

    /// Makes `messages.len()` OTs with choices of the receiver; only receives.
    ///
    /// # Errors
    /// When the channel fails.
    pub fn extend(
        &mut self,
        channel: &mut impl Channel,
        messages: &mut [[Block; 2]],
    ) -> Result<(), OtError> {
        self.extend_pairs(channel, ChoiceSource::Chosen, messages)
    }

    /// As [`RandomOtSender::extend`], with random choices.
    ///
    /// # Errors
    /// When the channel fails.
    pub fn extend_random(
        &mut self,
        channel: &mut impl Channel,
        messages: &mut [[Block; 2]],
    ) -> Result<(), OtError> {
        self.extend_pairs(channel, ChoiceSource::Random, messages)
    }

    fn extend_pairs(
        &mut self,
        channel: &mut impl Channel,
        choices: ChoiceSource,
        messages: &mut [[Block; 2]],
    ) -> Result<(), OtError> {
        self.extend_tiles(channel, choices, messages.len(), 1, |_, _, first, zero, one| {
            for ((pair, &zero), &one) in messages[first..].iter_mut().zip(zero).zip(one) {
                *pair = [zero, one];
            }
            Ok(())
        })
    }

    /// Makes `count` OTs with messages of `blocks` blocks. `take` gets piece after piece: the sink
    /// and channel of this party, the number of the first OT of the piece, and the messages for
    /// choice 0 and choice 1.
    pub(crate) fn extend_tiles<C: Channel>(
        &mut self,
        channel: &mut C,
        choices: ChoiceSource,
        count: usize,
        blocks: usize,
        mut take: impl FnMut(&mut BitSink, &mut C, usize, &[Block], &[Block]) -> Result<(), OtError>,
    ) -> Result<(), OtError> {
        let piece = piece_ots(blocks);
        for messages in &mut self.messages {
            ensure_room(messages, piece * blocks);
        }
        let delta = self.correlated.delta().block();
        for tile in (0..count).step_by(TILE_OTS) {
            let q = &mut self.q[..TILE_OTS.min(count - tile)];
            match choices {
                ChoiceSource::Chosen => self.correlated.extend(channel, q)?,
                ChoiceSource::Random => self.correlated.extend_random(channel, q)?,
            }
            for (i, q) in q.chunks(piece).enumerate() {
                let [zero, one] = &mut self.messages;
                let (zero, one) = (&mut zero[..q.len() * blocks], &mut one[..q.len() * blocks]);
                for ((q, zero), one) in
                    q.iter().zip(zero.chunks_exact_mut(blocks)).zip(one.chunks_exact_mut(blocks))
                {
                    zero.fill(*q);
                    one.fill(*q ^ delta);
                }
                let first = self.pads.advance(zero.len());
                self.pads.hash.hash_blocks(first, zero);
                self.pads.hash.hash_blocks(first, one);
                take(&mut self.sink, channel, tile + i * piece, zero, one)?;
            }
        }
        Ok(())
    }
}

impl<R: CorrelatedOtReceiver> RandomOtReceiver<R> {
    /// Random OTs from the correlated OTs of `session`, which nobody else must use.
    pub fn new(correlated: R, session: &SessionId) -> RandomOtReceiver<R> {
        let room = |blocks: usize| Zeroizing::new(vec![Block::ZERO; blocks]);
        RandomOtReceiver {
            correlated,
            pads: PadHasher::new(session),
            t: room(BATCH_OTS),
            messages: room(HASH_BLOCKS),
            source: BitSource::with_capacity(2 * HASH_BLOCKS),
        }
    }

    /// Blocks of messages made so far: as many as OTs where a message is one block.
    pub fn blocks_made(&self) -> u64 {
        self.pads.next
    }

    /// Takes what the sender's [`RandomOtSender::reserve`] sends.
    ///
    /// # Errors
    /// When the channel fails.
    pub fn reserve(&mut self, channel: &mut impl Channel, count: usize) -> Result<(), OtError> {
        self.correlated.reserve(channel, count)
    }

    /// Makes `messages.len()` OTs: `messages[j]` is the sender's `messages[j][choice j]`. Only
    /// sends. Choices are packed as for [`CorrelatedOtReceiver::extend`].
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `choices` is not exactly long enough.
    pub fn extend(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        messages: &mut [Block],
    ) -> Result<(), OtError> {
        self.extend_unhashed(channel, choices, messages)?;
        self.hash(messages);
        Ok(())
    }

    /// As [`RandomOtReceiver::extend`], with random choices, which it writes.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `choices` is not exactly long enough.
    pub fn extend_random(
        &mut self,
        channel: &mut impl Channel,
        choices: &mut [u64],
        messages: &mut [Block],
    ) -> Result<(), OtError> {
        self.correlated.extend_random(channel, choices, messages)?;
        self.hash(messages);
        Ok(())
    }

    /// The first half of [`RandomOtReceiver::extend`], so that more can be sent before hashing.
    pub(crate) fn extend_unhashed(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        messages: &mut [Block],
    ) -> Result<(), OtError> {
        self.correlated.extend(channel, choices, messages)
    }

    /// The second half: hashes in the order of the OTs.
    pub(crate) fn hash(&mut self, messages: &mut [Block]) {
        let first = self.pads.advance(messages.len());
        self.pads.hash.hash_blocks(first, messages);
    }

    /// Makes `count` OTs with messages of `blocks` blocks; `take` gets piece after piece the
    /// number of its first OT and its messages. Only sends.
    pub(crate) fn extend_pieces(
        &mut self,
        channel: &mut impl Channel,
        choices: &mut ChoiceBits<'_>,
        count: usize,
        blocks: usize,
        mut take: impl FnMut(usize, &[Block]),
    ) -> Result<(), OtError> {
        let piece = piece_ots(blocks);
        ensure_room(&mut self.messages, piece * blocks);
        for batch in (0..count).step_by(BATCH_OTS) {
            let ots = BATCH_OTS.min(count - batch);
            let t = &mut self.t[..ots];
            let words = batch / 64..(batch + ots).div_ceil(64);
            match choices {
                ChoiceBits::Chosen(choices) => {
                    self.correlated.extend(channel, &choices[words], t)?;
                }
                ChoiceBits::Random(choices) => {
                    self.correlated.extend_random(channel, &mut choices[words], t)?;
                }
            }
            for (i, t) in t.chunks(piece).enumerate() {
                let messages = &mut self.messages[..t.len() * blocks];
                for (t, message) in t.iter().zip(messages.chunks_exact_mut(blocks)) {
                    message.fill(*t);
                }
                let first = self.pads.advance(messages.len());
                self.pads.hash.hash_blocks(first, messages);
                take(batch + i * piece, messages);
            }
        }
        Ok(())
    }
}

impl ChoiceBits<'_> {
    /// Their words.
    pub(crate) fn words(&self) -> &[u64] {
        match self {
            ChoiceBits::Chosen(words) => words,
            ChoiceBits::Random(words) => words,
        }
    }
}

/// OTs whose messages of `blocks` blocks are hashed at a time: a multiple of 64 where possible.
fn piece_ots(blocks: usize) -> usize {
    let ots = HASH_BLOCKS / blocks.max(1);
    if ots >= 64 { ots / 64 * 64 } else { ots.max(1) }
}

/// Grows a buffer once for the longest messages; afterwards it stays.
fn ensure_room(buffer: &mut Zeroizing<Vec<Block>>, blocks: usize) {
    if buffer.len() < blocks {
        *buffer = Zeroizing::new(vec![Block::ZERO; blocks]);
    }
}

/// The hash and the number of the next block.
pub(crate) struct PadHasher {
    pub(crate) hash: CrHash,
    next: u64,
}

impl PadHasher {
    fn new(session: &SessionId) -> PadHasher {
        PadHasher { hash: CrHash::new(session.hash_key("phineus random OT 1")), next: 0 }
    }

    /// The first of `count` tweaks that are used up hereby.
    pub(crate) fn advance(&mut self, count: usize) -> u64 {
        let first = self.next;
        let next = first.checked_add(count as u64).filter(|next| *next <= OT_COUNT_MAX);
        self.next = next.expect("a session hashes at most 2^63 blocks");
        first
    }
}
