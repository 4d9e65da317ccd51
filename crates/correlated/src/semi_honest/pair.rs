//! [`PeerOts`]: oblivious transfer with one peer, in both directions.
//!
//! Source, cost and what is not protected: those of `ot`. Each direction has a session of its own,
//! which follows from the common one and the numbers of its sender and receiver.

use phineus_channels::{Channel, Parties};
use phineus_crypto::{Block, Delta, Prg};
use phineus_ot::{
    OtExtensionReceiver, OtExtensionSender, OtKind, RandomOtReceiver, RandomOtSender, SessionId,
};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::limits::{BATCH_ELEMENTS, BATCH_OTS};
use crate::CorrelatedError;
use crate::demand::BatchScale;

/// The OTs with one peer, in both directions, and space for what waits for its messages.
pub(super) struct PeerOts {
    pub(super) sender: RandomOtSender<OtExtensionSender>,
    pub(super) receiver: RandomOtReceiver<OtExtensionReceiver>,
    /// The receiver's choices in this pair's order.
    pub(super) choices: Zeroizing<Vec<u64>>,
    /// The sender's words for both choices.
    pub(super) words: [Zeroizing<Vec<u64>>; 2],
}

impl PeerOts {
    /// Both directions with `peer`.
    pub(super) fn setup<C: Channel>(
        parties: &mut Parties<C>,
        peer: usize,
        prg: &mut Prg,
        session: &SessionId,
        (kind, scale): (OtKind, BatchScale),
    ) -> Result<PeerOts, CorrelatedError> {
        let me = parties.me();
        let channel = parties.channel(peer);
        let (outgoing, incoming) = (link(session, me, peer), link(session, peer, me));
        let (delta, sessions) = (Delta::random(prg), (&outgoing, &incoming));
        let (sender, receiver) = kind.setup_both(channel, prg, sessions, delta, me < peer)?;
        let room = |words: usize| Zeroizing::new(vec![0; words]);
        Ok(PeerOts {
            sender: RandomOtSender::new(sender, &outgoing),
            receiver: RandomOtReceiver::new(receiver, &incoming),
            choices: room(scale.of(BATCH_OTS) / 64),
            words: [room(scale.of(BATCH_ELEMENTS) / 2), room(scale.of(BATCH_ELEMENTS) / 2)],
        })
    }

    /// Bytes of memory that the OTs with one peer hold, and the pads of one batch.
    pub(super) fn memory_bytes(kind: OtKind, scale: BatchScale) -> usize {
        let ots = phineus_ot::limits::BATCH_OTS + 4 * phineus_ot::limits::TILE_OTS;
        let words = BATCH_OTS + 2 * (BATCH_ELEMENTS / 2) + BATCH_OTS / 64;
        let words = scale.of(words);
        2 * kind.state_bytes() + ots * size_of::<Block>() + words * size_of::<u64>()
    }
}

/// Pads of the OTs of a batch in which this party chooses, a word for each, from when the batch is begun until it is
/// finished.
#[derive(Default)]
pub(super) struct Pads {
    /// By peer; none for this party.
    words: Vec<Zeroizing<Vec<u64>>>,
}

impl Pads {
    /// Makes space for the pads of `ots` OTs with each peer of `parties`. Memory stays for the next batch.
    pub(super) fn fit(&mut self, parties: usize, ots: usize) {
        self.words.resize_with(parties, Zeroizing::default);
        for words in &mut self.words {
            if words.len() < ots {
                *words = Zeroizing::new(vec![0; ots]);
            }
        }
    }

    /// Those with `peer`.
    pub(super) fn with(&self, peer: usize) -> &[u64] {
        &self.words[peer]
    }

    /// Those with `peer`, to be changed.
    pub(super) fn with_mut(&mut self, peer: usize) -> &mut [u64] {
        &mut self.words[peer]
    }
}

/// The session of the OTs from party `sender` to party `receiver`.
fn link(session: &SessionId, sender: usize, receiver: usize) -> SessionId {
    let digest = Sha256::new()
        .chain_update(b"phineus preprocessing link 1")
        .chain_update(session.as_bytes())
        .chain_update((sender as u64).to_le_bytes())
        .chain_update((receiver as u64).to_le_bytes())
        .finalize();
    SessionId::new(digest.into())
}

/// The generator of the public keys of point functions in a session.
pub(super) fn point_keys(session: &SessionId) -> Prg {
    let digest = Sha256::new()
        .chain_update(b"phineus point functions 1")
        .chain_update(session.as_bytes())
        .finalize();
    let (half, _) = digest.split_first_chunk::<16>().expect("a digest has 32 bytes");
    Prg::from_seed(Block::from_bits(u128::from_le_bytes(*half)))
}

/// The OTs with `peer`.
pub(super) fn pair(pairs: &mut [Option<PeerOts>], peer: usize) -> &mut PeerOts {
    pairs[peer].as_mut().expect("there is a pair for every peer")
}
