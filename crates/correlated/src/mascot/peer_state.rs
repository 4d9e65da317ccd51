//! [`PeerState`]: state for one peer: OTs and products with keys, in both directions.
//!
//! Source, cost and what is not protected: those of `ot` and `cope`. Each direction has a session
//! of its own, which follows from the common one and the numbers of its sender and receiver.
//! OT extension is the one that is secure against malicious parties, from 128 base OTs a direction.

use phineus_channels::{Channel, Parties};
use phineus_crypto::field::Field;
use phineus_crypto::{Block, Delta, Prg};
use phineus_ot::base::BaseOts;
use phineus_ot::{
    AdversaryModel, FieldBits, RandomOtReceiver, RandomOtSender, SessionId, SoftSpokenReceiver,
    SoftSpokenSender,
};
use sha2::{Digest, Sha256};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::cope::{CopeHolder, CopeOwner};
use super::limits::tiles_room;
use crate::CorrelatedError;

/// State of one party for one peer.
pub(super) struct PeerState<F: Field> {
    pub(super) sender: RandomOtSender<SoftSpokenSender>,
    pub(super) receiver: RandomOtReceiver<SoftSpokenReceiver>,
    pub(super) owner: CopeOwner,
    pub(super) holder: CopeHolder,
    /// Shares of masks: of those of this party, and of those of the peer.
    pub(super) mask_shares: [Prg; 2],
    /// This party's summands of its elements times the peer's key, and of the peer's times its own.
    pub(super) t: Zeroizing<Vec<F>>,
    pub(super) q: Zeroizing<Vec<F>>,
    /// The messages that this party chose, of the tiles that are on the way.
    pub(super) pads: Zeroizing<Vec<F>>,
}

impl<F: Field> PeerState<F> {
    /// Both directions with `peer`; the party of lower number sends first.
    pub(super) fn setup<B: BaseOts, C: Channel>(
        parties: &mut Parties<C>,
        peer: usize,
        prg: &mut Prg,
        session: &SessionId,
        field: FieldBits,
        key: F,
    ) -> Result<PeerState<F>, CorrelatedError> {
        let me = parties.me();
        let ahead_bytes = parties.ahead_bytes();
        let channel = parties.channel(peer);
        let (outgoing, incoming) = (direction(session, me, peer), direction(session, peer, me));
        let security = AdversaryModel::Malicious;
        let send = |channel: &mut C, prg: &mut Prg| {
            let delta = Delta::random(prg);
            SoftSpokenSender::setup_over::<B>(channel, prg, &outgoing, field, security, delta)
        };
        let receive = |channel: &mut C, prg: &mut Prg| {
            SoftSpokenReceiver::setup_over::<B>(channel, prg, &incoming, field, security)
        };
        let (sender, receiver) = if me < peer {
            let sender = send(channel, prg)?;
            (sender, receive(channel, prg)?)
        } else {
            let receiver = receive(channel, prg)?;
            (send(channel, prg)?, receiver)
        };
        let mut sender = RandomOtSender::new(sender, &outgoing);
        let mut receiver = RandomOtReceiver::new(receiver, &incoming);
        let mut own = Zeroizing::new(Block::ZERO);
        prg.fill_bytes(own.as_mut_bytes());
        channel.send(own.as_bytes())?;
        let holder = CopeHolder::setup(channel, &mut receiver, key)?;
        channel.flush()?;
        let mut theirs = Zeroizing::new(Block::ZERO);
        channel.recv(theirs.as_mut_bytes())?;
        let owner = CopeOwner::setup::<F>(channel, &mut sender)?;
        Ok(PeerState {
            sender,
            receiver,
            owner,
            holder,
            mask_shares: [Prg::from_seed(*own), Prg::from_seed(*theirs)],
            t: Vec::new().into(),
            q: Vec::new().into(),
            pads: vec![F::ZERO; tiles_room::<F>(ahead_bytes)].into(),
        })
    }
}

/// The session of the OTs from party `sender` to party `receiver`.
fn direction(session: &SessionId, sender: usize, receiver: usize) -> SessionId {
    let digest = Sha256::new()
        .chain_update(b"phineus mascot link 1")
        .chain_update(session.as_bytes())
        .chain_update((sender as u64).to_le_bytes())
        .chain_update((receiver as u64).to_le_bytes())
        .finalize();
    SessionId::new(digest.into())
}

/// Returns the state for `peer`.
pub(super) fn link<F: Field>(links: &mut [Option<PeerState<F>>], peer: usize) -> &mut PeerState<F> {
    links[peer].as_mut().expect("there is a link to every peer")
}
