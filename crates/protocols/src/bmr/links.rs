//! [`PeerOts`]: the correlated OTs with one peer, in both directions, all with the parties'
//! offsets.
//!
//! As sender a party has its offset as the correlation, so that an OT gives shares of the
//! receiver's bit times that offset. The OTs of the second operands serve twice: hashed, they are
//! OTs of bits, of which the product of the mask bits is made.

use phineus_channels::{Channel, Parties};
use phineus_crypto::{Block, CrHash, Delta, Prg};
use phineus_ot::ideal::{self, IdealReceiver, IdealSender};
use phineus_ot::limits::{HASH_BLOCKS, TILE_OTS};
use phineus_ot::{
    CorrelatedOtReceiver, CorrelatedOtSender, FieldBits, OtError, SessionId, SoftSpokenReceiver,
    SoftSpokenSender, setup_both,
};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::ProtocolError;

/// Where the OTs with one peer come from.
enum OtSource {
    /// From an extension.
    Extended(Box<(SoftSpokenSender, SoftSpokenReceiver)>),
    /// From a dealer whom all would have to trust: without a message, without any security.
    Dealt(Box<(IdealSender, IdealReceiver)>),
}

impl OtSource {
    fn delta(&self) -> &Delta {
        match self {
            OtSource::Extended(ends) => ends.0.delta(),
            OtSource::Dealt(ends) => ends.0.delta(),
        }
    }

    fn send(&mut self, channel: &mut impl Channel, shares: &mut [Block]) -> Result<(), OtError> {
        match self {
            OtSource::Extended(ends) => ends.0.extend(channel, shares),
            OtSource::Dealt(ends) => ends.0.extend(channel, shares),
        }
    }

    fn receive(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        shares: &mut [Block],
    ) -> Result<(), OtError> {
        match self {
            OtSource::Extended(ends) => ends.1.extend(channel, choices, shares),
            OtSource::Dealt(ends) => ends.1.extend(channel, choices, shares),
        }
    }
}

/// The OTs with one peer.
pub(super) struct PeerOts {
    ends: OtSource,
    /// Hashes of the OTs that this party sends, and of those that it receives.
    outgoing: OtPads,
    incoming: OtPads,
    /// Room for a tile of OTs, and for the hashes of some of them.
    ots: Zeroizing<Vec<Block>>,
    hashed: Zeroizing<Vec<Block>>,
    /// Transfers that were made or came from a trusted dealer, in both directions.
    ots_made: u64,
}

struct OtPads {
    hash: CrHash,
    next_tweak: u64,
}

impl OtPads {
    fn new(link: &SessionId) -> OtPads {
        let digest = digest(b"phineus bmr bits 1", link.as_bytes(), &[]);
        let (half, _) = digest.split_first_chunk::<16>().expect("a digest has 32 bytes");
        let hash = CrHash::new(Block::from_bits(u128::from_le_bytes(*half)));
        OtPads { hash, next_tweak: 0 }
    }

    /// The pads of correlated OTs, of which `offset` is taken off: the select bits of their hashes
    /// with the next tweaks, packed.
    fn bits(&self, hashed: &mut [Block], ots: &[Block], offset: Block, bits: &mut [u64]) {
        let mut tweak = self.next_tweak;
        for (ots, bits) in ots.chunks(HASH_BLOCKS).zip(bits.chunks_mut(HASH_BLOCKS / 64)) {
            let hashed = &mut hashed[..ots.len()];
            hashed.iter_mut().zip(ots).for_each(|(hashed, &ot)| *hashed = ot ^ offset);
            self.hash.hash_blocks(tweak, hashed);
            pack(hashed, bits);
            tweak += ots.len() as u64;
        }
    }
}

fn digest(label: &[u8], session: &[u8; 32], numbers: &[u64]) -> [u8; 32] {
    let mut hash = Sha256::new().chain_update(label).chain_update(session);
    for number in numbers {
        hash = hash.chain_update(number.to_le_bytes());
    }
    hash.finalize().into()
}

/// The session of the OTs from party `sender` to party `receiver`.
fn link(session: &SessionId, sender: usize, receiver: usize) -> SessionId {
    let numbers = [sender as u64, receiver as u64];
    SessionId::new(digest(b"phineus bmr link 1", session.as_bytes(), &numbers))
}

/// Sets the links to all peers up; none to this party.
pub(super) fn set_up<C: Channel>(
    parties: &mut Parties<C>,
    prg: &mut Prg,
    session: &SessionId,
    field: FieldBits,
    offset: &Delta,
) -> Result<Vec<Option<PeerOts>>, ProtocolError> {
    let (me, count) = (parties.me(), parties.count());
    let mut links: Vec<Option<PeerOts>> = (0..count).map(|_| None).collect();
    // In turn `t` parties whose numbers add up to `t` modulo their count meet: each party meets at
    // most one peer a turn, and all pairs of a turn work at the same time.
    for turn in 0..count {
        let peer = (turn + count - me) % count;
        if peer != me {
            links[peer] = Some(PeerOts::set_up(parties, peer, prg, session, field, offset)?);
        }
    }
    Ok(links)
}

/// The offset that a dealer gives to `party`.
pub(super) fn dealt_offset(seed: Block, party: usize) -> Delta {
    Delta::random(&mut Prg::from_seed(seed ^ Block::from_bits(party as u128)))
}

/// Links of party `me` of so many with all peers, dealt from a seed that all know: insecure.
pub(super) fn dealt(
    (me, count): (usize, usize),
    session: &SessionId,
    seed: Block,
) -> Vec<Option<PeerOts>> {
    let deal = |peer: usize| {
        let sessions = (link(session, me, peer), link(session, peer, me));
        let half = |sender, receiver| {
            let pair = seed ^ Block::from_bits(((sender << 16 | receiver) as u128) << 64);
            ideal::pair(Prg::from_seed(pair).next_block(), dealt_offset(seed, sender))
        };
        let ends = Box::new((half(me, peer).0, half(peer, me).1));
        PeerOts::of(OtSource::Dealt(ends), (&sessions.0, &sessions.1))
    };
    (0..count).map(|peer| (peer != me).then(|| deal(peer))).collect()
}

impl PeerOts {
    /// Both directions with `peer`.
    fn set_up<C: Channel>(
        parties: &mut Parties<C>,
        peer: usize,
        prg: &mut Prg,
        session: &SessionId,
        field: FieldBits,
        offset: &Delta,
    ) -> Result<PeerOts, ProtocolError> {
        let me = parties.me();
        let channel = parties.channel(peer);
        let (outgoing, incoming) = (link(session, me, peer), link(session, peer, me));
        let sessions = (&outgoing, &incoming);
        let ends = setup_both(channel, prg, sessions, field, offset.clone())?;
        Ok(PeerOts::of(OtSource::Extended(Box::new(ends)), (&outgoing, &incoming)))
    }

    fn of(ends: OtSource, (outgoing, incoming): (&SessionId, &SessionId)) -> PeerOts {
        let room = |blocks: usize| Zeroizing::new(vec![Block::ZERO; blocks]);
        PeerOts {
            ends,
            outgoing: OtPads::new(outgoing),
            incoming: OtPads::new(incoming),
            ots: room(TILE_OTS),
            hashed: room(HASH_BLOCKS),
            ots_made: 0,
        }
    }

    /// Transfers made so far, in both directions; what is dealt is not made.
    pub(super) fn ots_made(&self) -> u64 {
        match self.ends {
            OtSource::Extended(_) => self.ots_made,
            OtSource::Dealt(_) => 0,
        }
    }

    /// Makes an OT for each block of `shares` with these choices. Only sends.
    pub(super) fn receive(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        shares: &mut [Block],
    ) -> Result<(), ProtocolError> {
        self.ots_made += shares.len() as u64;
        Ok(self.ends.receive(channel, choices, shares)?)
    }

    /// The other end of [`PeerOts::receive`]; adds to `shares` if they are `begun`, else sets them.
    /// Only receives.
    pub(super) fn send(
        &mut self,
        channel: &mut impl Channel,
        begun: bool,
        shares: &mut [Block],
    ) -> Result<(), ProtocolError> {
        shares.chunks_mut(TILE_OTS).try_for_each(|shares| self.send_tile(channel, begun, shares))
    }

    fn send_tile(
        &mut self,
        channel: &mut impl Channel,
        begun: bool,
        shares: &mut [Block],
    ) -> Result<(), ProtocolError> {
        self.ots_made += shares.len() as u64;
        if !begun {
            return Ok(self.ends.send(channel, shares)?);
        }
        let ots = &mut self.ots[..shares.len()];
        self.ends.send(channel, ots)?;
        shares.iter_mut().zip(ots).for_each(|(share, &mut ot)| *share ^= ot);
        Ok(())
    }

    /// As [`PeerOts::receive`]; `pads` become the bits of choice, packed.
    pub(super) fn receive_bits(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        pads: &mut [u64],
        shares: &mut [Block],
    ) -> Result<(), ProtocolError> {
        let tiles = shares.chunks_mut(TILE_OTS).zip(choices.chunks(TILE_OTS / 64));
        for ((shares, choices), pads) in tiles.zip(pads.chunks_mut(TILE_OTS / 64)) {
            self.ots_made += shares.len() as u64;
            self.ends.receive(channel, choices, shares)?;
            self.incoming.bits(&mut self.hashed, shares, Block::ZERO, pads);
            self.incoming.next_tweak += shares.len() as u64;
        }
        Ok(())
    }

    /// As [`PeerOts::send`]; `zero` and `one` become the bits for both choices, packed.
    pub(super) fn send_bits(
        &mut self,
        channel: &mut impl Channel,
        begun: bool,
        shares: &mut [Block],
        [zero, one]: [&mut [u64]; 2],
    ) -> Result<(), ProtocolError> {
        let offset = self.ends.delta().block();
        let bits = zero.chunks_mut(TILE_OTS / 64).zip(one.chunks_mut(TILE_OTS / 64));
        for (shares, (zero, one)) in shares.chunks_mut(TILE_OTS).zip(bits) {
            self.send_tile(channel, begun, shares)?;
            let ots = if begun { &self.ots[..shares.len()] } else { shares };
            self.outgoing.bits(&mut self.hashed, ots, Block::ZERO, zero);
            self.outgoing.bits(&mut self.hashed, ots, offset, one);
            self.outgoing.next_tweak += ots.len() as u64;
        }
        Ok(())
    }
}

/// Packs the select bits of `blocks` into the first words of `bits`.
pub(crate) fn pack(blocks: &[Block], bits: &mut [u64]) {
    for (word, blocks) in bits.iter_mut().zip(blocks.chunks(64)) {
        let bits = blocks.iter().enumerate();
        *word = bits.fold(0, |word, (k, block)| word | block.select_u64() << k);
    }
}
