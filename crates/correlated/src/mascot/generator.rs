//! [`Generator`]: all parties make authenticated correlated randomness together, batch by batch.
//!
//! Source: Keller, Orsini, Scholl, "MASCOT", CCS 2016 (ePrint 2016/505), the order of its steps.
//! Cost: `costs`, exact. Between each pair both directions and all pairs go at once; what a party
//! sends before it receives is bounded (`limits`).
//! Invariants: all parties make the same batches in the same order; nothing of a batch is given
//! out before its last check has passed; after an error nothing is made any more. A batch
//! allocates only a few bytes for each party once its kind has been made before (matrices: space
//! for the OTs of a piece).
//! Not protected: an adversary can stop everybody at any time.

use std::sync::Arc;

use phineus_channels::{Channel, Parties, SEND_AHEAD_BYTES};
use phineus_crypto::field::Field;
use phineus_crypto::{Prg, declassify};
use phineus_ot::base::{BaseOts, EndemicOts};
use phineus_ot::{FieldBits, SessionId};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::authenticate::{
    AuthenticatedOwners, CHECK_ELEMENTS, add_macs, check, draw_coefficients, multiply_with_keys,
    prove,
};
use super::batch::{Batch, Kind, refill};
use super::check::add_up_to_zero;
use super::coin::{BroadcastTranscript, cheated, misbehaved};
use super::deviation::{Deviation, DeviationPoint, Honest};
use super::limits;
use super::peer_state::PeerState;
use super::products::OtProducts;
use super::trust::Trust;
use crate::CorrelatedError;
use crate::demand::BatchScale;

/// Makes authenticated correlated randomness with all other parties.
pub struct Generator<F: Field, C, D = Honest> {
    pub(super) parties: Parties<C>,
    /// By peer; none for this party.
    pub(super) links: Vec<Option<PeerState<F>>>,
    pub(super) prg: Prg,
    pub(super) key: Zeroizing<F>,
    pub(super) transcript: BroadcastTranscript,
    pub(super) products: OtProducts<F>,
    pub(super) room: BatchBuffers<F>,
    failed: bool,
    pub(super) trust: Arc<Trust>,
    pub(super) deviation: D,
}

/// Room for what a batch computes with; grows to the largest batch.
pub(super) struct BatchBuffers<F: Field> {
    /// Factors and products of all vectors, before they are combined.
    pub(super) raw: [Zeroizing<Vec<F>>; 2],
    pub(super) b: Zeroizing<Vec<F>>,
    /// Elements that this party authenticates, a mask first, and its MAC shares.
    pub(super) inputs: Zeroizing<Vec<F>>,
    pub(super) macs: Zeroizing<Vec<F>>,
    pub(super) sums: Zeroizing<Vec<F>>,
    /// Public.
    pub(super) coefficients: Vec<F>,
    pub(super) opened: Vec<F>,
    pub(super) outgoing: Vec<F>,
    pub(super) incoming: Vec<u8>,
    pub(super) said: Vec<u8>,
}

impl<F: Field> BatchBuffers<F> {
    fn new() -> BatchBuffers<F> {
        let room = || Zeroizing::new(Vec::new());
        BatchBuffers {
            raw: [room(), room()],
            b: room(),
            inputs: room(),
            macs: room(),
            sums: room(),
            coefficients: Vec::new(),
            opened: Vec::new(),
            outgoing: Vec::new(),
            incoming: Vec::new(),
            said: Vec::new(),
        }
    }
}

impl<F: Field, C: Channel> Generator<F, C> {
    /// Draws this party's share of the key, and sets up OT with all peers in both directions.
    ///
    /// `session` is the same at all parties and was never used before.
    ///
    /// # Errors
    /// When a channel fails or a peer sends what no honest peer sends.
    ///
    /// # Panics
    /// If OT would use fields of fewer than 2^2 elements: its messages would be too long.
    pub fn setup(
        parties: Parties<C>,
        prg: Prg,
        session: &SessionId,
        field: FieldBits,
    ) -> Result<Generator<F, C>, CorrelatedError> {
        Self::setup_over::<EndemicOts>(parties, prg, session, field)
    }

    /// As [`Generator::setup`], over base OTs from `B`; all parties use the same.
    ///
    /// # Errors
    /// As [`Generator::setup`].
    ///
    /// # Panics
    /// As [`Generator::setup`].
    pub fn setup_over<B: BaseOts>(
        mut parties: Parties<C>,
        mut prg: Prg,
        session: &SessionId,
        field: FieldBits,
    ) -> Result<Generator<F, C>, CorrelatedError> {
        assert!(field.bits() >= 2, "a field of 2^2 elements or more");
        let mut key = Zeroizing::new([F::ZERO]);
        F::fill_random(&mut prg, &mut *key);
        let key = Zeroizing::new(key[0]);
        let (me, count, ahead_bytes) = (parties.me(), parties.count(), parties.ahead_bytes());
        let mut links: Vec<Option<PeerState<F>>> = (0..count).map(|_| None).collect();
        // In turn `t` parties whose numbers add up to `t` modulo their count meet: each party
        // meets at most one peer a turn, and all pairs of a turn work at the same time.
        for turn in 0..count {
            let peer = (turn + count - me) % count;
            if peer != me {
                let link =
                    PeerState::setup::<B, C>(&mut parties, peer, &mut prg, session, field, *key)?;
                links[peer] = Some(link);
            }
        }
        Ok(Generator {
            parties,
            links,
            prg,
            key,
            transcript: BroadcastTranscript::new(session),
            products: OtProducts::new(ahead_bytes),
            room: BatchBuffers::new(),
            failed: false,
            trust: Arc::new(Trust::new()),
            deviation: Honest,
        })
    }

    /// Bytes of memory that a generator holds once it has made full batches of triples, channels
    /// not included; matrices take more.
    pub fn memory_bytes(parties: usize, field: FieldBits) -> usize {
        let (tau, tile) = (limits::tau::<F>(), limits::ROW_ELEMENTS);
        let count = limits::BATCH_ELEMENTS;
        let inputs = 4 * count + 2;
        let planes = count / 8 * tau * F::BITS as usize;
        let blocks = 3 * tile + 2 * phineus_ot::limits::BATCH_OTS;
        let rows = 3 * tile + limits::tiles_room::<F>(SEND_AHEAD_BYTES);
        let room = 2 * tau * count + count + 3 * inputs + 2 * count;
        let openings = (2 + parties) * 2 * (count + CHECK_ELEMENTS);
        let own = planes + blocks * 16 + (rows + room + openings) * F::BYTES;
        let pads = limits::tiles_room::<F>(SEND_AHEAD_BYTES);
        let link = (2 * inputs + pads) * F::BYTES
            + 2 * phineus_ot::state_bytes(field)
            + 3 * F::BITS as usize * size_of::<Prg>()
            + 2 * phineus_ot::limits::BATCH_OTS * 16;
        own + (parties - 1) * link
    }

    /// Lets the party deviate from now on. Tests use it to show what the others notice.
    pub fn deviating<D: Deviation>(self, deviation: D) -> Generator<F, C, D> {
        let Generator {
            parties, links, prg, key, transcript, products, room, failed, trust, ..
        } = self;
        Generator { parties, links, prg, key, transcript, products, room, failed, trust, deviation }
    }
}

impl<F: Field, C: Channel, D: Deviation> Generator<F, C, D> {
    /// This party's share of the key of all MACs.
    pub fn delta(&self) -> F {
        *self.key
    }

    /// The parties, with the bytes that have been sent.
    pub fn parties(&mut self) -> &mut Parties<C> {
        &mut self.parties
    }

    /// Oblivious transfers made so far, in both directions with all peers together.
    pub fn ots(&self) -> u64 {
        // Every message is one block.
        let made = |link: &PeerState<F>| link.sender.blocks_made() + link.receiver.blocks_made();
        self.links.iter().flatten().map(made).sum()
    }

    /// Ends the generator; the channels can be used for something else.
    pub fn into_parties(self) -> Parties<C> {
        self.parties
    }

    /// Makes `count` of a kind.
    ///
    /// # Errors
    /// When a channel fails or a party cheats; after that always.
    ///
    /// # Panics
    /// If `count` is more than a batch.
    pub fn make(
        &mut self,
        kind: Kind,
        count: usize,
        batch: &mut Batch<F>,
    ) -> Result<(), CorrelatedError> {
        assert!(count <= kind.batch_items(BatchScale::FULL), "a batch is bounded");
        if self.failed {
            return Err(cheated());
        }
        batch.reset(kind, count);
        if count == 0 {
            return Ok(());
        }
        let made = match kind {
            Kind::Triple => self.triples(count, &mut batch.columns),
            Kind::Square => self.squares(count, &mut batch.columns),
            Kind::Bit => self.bits(&mut batch.columns[0]),
            Kind::Mask { owner } => self.masks(owner.into(), count, batch),
            Kind::BitMask { owner } => self.bit_masks(owner.into(), count, batch),
            Kind::Bounded => self.bounded(&mut batch.columns[0]),
            Kind::Matrix(size) => self.matrices(size, count, &mut batch.columns),
        };
        if made.is_err() {
            // Whoever goes on after a failed check gives its key away.
            self.failed = true;
            self.trust.lose();
            self.links.iter_mut().for_each(|link| *link = None);
            batch.reset(kind, 0);
        }
        made
    }

    /// The last check of a batch; meanwhile and after it fails, nobody trusts the key.
    pub(super) fn add_up_to_zero(&mut self, mut sigma: F) -> Result<(), CorrelatedError> {
        self.deviation.elements(DeviationPoint::Sigma, std::slice::from_mut(&mut sigma));
        let Generator { parties, transcript, prg, trust, .. } = self;
        trust.ask(|| add_up_to_zero(parties, transcript, prg, sigma))
    }

    /// Authenticates `inputs`, of which the first is a mask, up to the check.
    pub(super) fn authenticate(
        &mut self,
        owners: AuthenticatedOwners,
    ) -> Result<(), CorrelatedError> {
        let BatchBuffers { inputs, macs, .. } = &mut self.room;
        let [row, other] = &mut self.products.rows;
        self.deviation.elements(DeviationPoint::Input, inputs);
        let count = inputs.len();
        let rows = [row.as_mut_slice(), other.as_mut_slice()];
        multiply_with_keys(&mut self.parties, &mut self.links, owners, inputs, count, rows)?;
        refill(macs, count);
        let owned = owners.contains(self.parties.me()).then_some(inputs.as_slice());
        add_macs(&self.links, owned, *self.key, macs);
        self.deviation.elements(DeviationPoint::Mac, macs);
        Ok(())
    }

    /// Sends the check of what was authenticated and, in the same message, this party's summands
    /// `room.sums`; afterwards `room.opened` has the sums of all parties.
    pub(super) fn open_checked(
        &mut self,
        owners: AuthenticatedOwners,
        coin: &mut Prg,
    ) -> Result<(), CorrelatedError> {
        let (me, parties) = (self.parties.me(), self.parties.count());
        let BatchBuffers { inputs, coefficients, sums, opened, outgoing, incoming, .. } =
            &mut self.room;
        refill(coefficients, inputs.len());
        draw_coefficients(coin, coefficients);
        self.deviation.elements(DeviationPoint::Summand, sums);

        // A slot for each party: the check, if there is one, and then the summands.
        let slot = CHECK_ELEMENTS + sums.len();
        let used = |from: usize| usize::from(!owners.contains(from)) * CHECK_ELEMENTS..slot;
        let used_bytes = |from: usize| used(from).start * F::BYTES..slot * F::BYTES;
        refill(outgoing, parties * slot);
        refill(incoming, parties * slot * F::BYTES);
        for (slot, link) in outgoing.chunks_exact_mut(slot).zip(&self.links) {
            slot[..CHECK_ELEMENTS].copy_from_slice(&prove(link.as_ref(), coefficients, inputs));
            slot[CHECK_ELEMENTS..].copy_from_slice(sums);
        }
        let sent: Vec<&[u8]> =
            outgoing.chunks_exact(slot).map(|slot| slot[used(me)].as_bytes()).collect();
        let mut got: Vec<&mut [u8]> = incoming.chunks_exact_mut(slot * F::BYTES).collect();
        got[me].copy_from_slice(outgoing[me * slot..][..slot].as_bytes());
        declassify(&*got[me], "sent to all");
        let mut got: Vec<&mut [u8]> = got
            .into_iter()
            .enumerate()
            .map(|(party, bytes)| if party == me { &mut [] } else { &mut bytes[used_bytes(party)] })
            .collect();
        self.parties.exchange(&sent, &mut got)?;

        refill(opened, sums.len());
        let slots = incoming.chunks_exact(slot * F::BYTES).zip(&self.links);
        for (party, (bytes, link)) in slots.enumerate() {
            let (proof, summands) = bytes.split_at(CHECK_ELEMENTS * F::BYTES);
            if owners.contains(party) {
                if let Some(link) = link {
                    check(link, coefficients, *self.key, proof)?;
                }
                // The combination is for all, the summand of its product for one.
                self.transcript.absorb(&proof[..F::BYTES]);
            }
            self.transcript.absorb(summands);
            F::read(summands, sums).map_err(|_| misbehaved())?;
            F::add_assign(opened, sums);
        }
        Ok(())
    }
}
