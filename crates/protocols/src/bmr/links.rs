//! [`Link`]: the correlated OTs with one peer, in both directions, all with the parties' offsets.
//!
//! As sender a party has its offset as the correlation, so that an OT gives shares of the
//! receiver's bit times that offset. The OTs of the second operands serve twice: hashed, they are
//! OTs of bits, of which the product of the mask bits is made.

use phineus_channels::Channel;
use phineus_crypto::{Block, CrHash, Delta, Prg};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::ot::limits::TILE_OTS;
use crate::ot::{
    CorrelatedOtReceiver, CorrelatedOtSender, FieldBits, SessionId, SoftSpokenReceiver,
    SoftSpokenSender, setup_both,
};
use crate::{Parties, ProtocolError};

/// The OTs with one peer.
pub(super) struct Link {
    sender: SoftSpokenSender,
    receiver: SoftSpokenReceiver,
    /// Hashes of the OTs that this party sends, and of those that it receives.
    outgoing: Pads,
    incoming: Pads,
    /// Room for a tile of OTs and for their hashes.
    ots: Zeroizing<Vec<Block>>,
    hashed: Zeroizing<Vec<Block>>,
}

struct Pads {
    hash: CrHash,
    next_tweak: u64,
}

impl Pads {
    fn new(link: &SessionId) -> Pads {
        let digest = digest(b"phineus bmr bits 1", link.as_bytes(), &[]);
        let (half, _) = digest.split_first_chunk::<16>().expect("a digest has 32 bytes");
        let hash = CrHash::new(Block::from_bits(u128::from_le_bytes(*half)));
        Pads { hash, next_tweak: 0 }
    }

    /// Hashes the correlated OTs with the next tweaks; the select bits are the pads.
    fn hash(&self, blocks: &mut [Block]) {
        self.hash.hash_blocks(self.next_tweak, blocks);
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
) -> Result<Vec<Option<Link>>, ProtocolError> {
    let (me, count) = (parties.me(), parties.count());
    let mut links: Vec<Option<Link>> = (0..count).map(|_| None).collect();
    // In turn `t` parties whose numbers add up to `t` modulo their count meet: each party meets at
    // most one peer a turn, and all pairs of a turn work at the same time.
    for turn in 0..count {
        let peer = (turn + count - me) % count;
        if peer != me {
            links[peer] = Some(Link::set_up(parties, peer, prg, session, field, offset)?);
        }
    }
    Ok(links)
}

impl Link {
    /// Both directions with `peer`.
    fn set_up<C: Channel>(
        parties: &mut Parties<C>,
        peer: usize,
        prg: &mut Prg,
        session: &SessionId,
        field: FieldBits,
        offset: &Delta,
    ) -> Result<Link, ProtocolError> {
        let me = parties.me();
        let channel = parties.channel(peer);
        let (outgoing, incoming) = (link(session, me, peer), link(session, peer, me));
        let sessions = (&outgoing, &incoming);
        let (sender, receiver) = setup_both(channel, prg, sessions, field, offset.clone())?;
        let room = || Zeroizing::new(vec![Block::ZERO; TILE_OTS]);
        Ok(Link {
            sender,
            receiver,
            outgoing: Pads::new(&outgoing),
            incoming: Pads::new(&incoming),
            ots: room(),
            hashed: room(),
        })
    }

    /// Makes an OT for each of `count` choices: `take` gets them piece by piece, with the number of
    /// the first. Only sends.
    pub(super) fn receive(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        count: usize,
        mut take: impl FnMut(usize, &[Block]),
    ) -> Result<(), ProtocolError> {
        for (first, choices) in (0..count).step_by(TILE_OTS).zip(choices.chunks(TILE_OTS / 64)) {
            let ots = &mut self.ots[..TILE_OTS.min(count - first)];
            self.receiver.extend(channel, choices, ots)?;
            take(first, ots);
        }
        Ok(())
    }

    /// The other end of [`Link::receive`]. Only receives.
    pub(super) fn send(
        &mut self,
        channel: &mut impl Channel,
        count: usize,
        mut take: impl FnMut(usize, &[Block]),
    ) -> Result<(), ProtocolError> {
        for first in (0..count).step_by(TILE_OTS) {
            let ots = &mut self.ots[..TILE_OTS.min(count - first)];
            self.sender.extend(channel, ots)?;
            take(first, ots);
        }
        Ok(())
    }

    /// As [`Link::receive`]; `pads` become the bits of choice, packed.
    pub(super) fn receive_bits(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        count: usize,
        pads: &mut [u64],
        mut take: impl FnMut(usize, &[Block]),
    ) -> Result<(), ProtocolError> {
        for (first, choices) in (0..count).step_by(TILE_OTS).zip(choices.chunks(TILE_OTS / 64)) {
            let ots = &mut self.ots[..TILE_OTS.min(count - first)];
            self.receiver.extend(channel, choices, ots)?;
            take(first, ots);
            self.incoming.hash(ots);
            self.incoming.next_tweak += ots.len() as u64;
            pack(ots, &mut pads[first / 64..]);
        }
        Ok(())
    }

    /// As [`Link::send`]; `zero` and `one` become the bits for both choices, packed.
    pub(super) fn send_bits(
        &mut self,
        channel: &mut impl Channel,
        count: usize,
        zero: &mut [u64],
        one: &mut [u64],
        mut take: impl FnMut(usize, &[Block]),
    ) -> Result<(), ProtocolError> {
        let offset = self.sender.delta().block();
        for first in (0..count).step_by(TILE_OTS) {
            let ots = &mut self.ots[..TILE_OTS.min(count - first)];
            self.sender.extend(channel, ots)?;
            take(first, ots);
            let hashed = &mut self.hashed[..ots.len()];
            hashed.iter_mut().zip(&*ots).for_each(|(hashed, &ot)| *hashed = ot ^ offset);
            self.outgoing.hash(ots);
            self.outgoing.hash(hashed);
            self.outgoing.next_tweak += ots.len() as u64;
            pack(ots, &mut zero[first / 64..]);
            pack(hashed, &mut one[first / 64..]);
        }
        Ok(())
    }
}

/// Packs the select bits of `blocks` into the first words of `bits`.
pub(super) fn pack(blocks: &[Block], bits: &mut [u64]) {
    for (word, blocks) in bits.iter_mut().zip(blocks.chunks(64)) {
        let bits = blocks.iter().enumerate();
        *word = bits.fold(0, |word, (k, block)| word | u64::from(block.select_bit()) << k);
    }
}
