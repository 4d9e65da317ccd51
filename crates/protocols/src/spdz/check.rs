//! [`Opening`]: authenticated values are opened, many per round, and their MACs checked in batches.
//!
//! Source: Damgard and others, ePrint 2012/642, protocol MACCheck; a random linear combination of
//! all opened values is checked instead of each. `x` are the opened values, `m` this party's shares
//! of their MACs, `chi` coefficients that nobody could foresee: the parties' sums
//! `sigma = <chi, m> - delta * <chi, x>` add up to zero if all `x` are right.
//! * The coefficients of a round come from seeds of all parties. A party commits to its seed in the
//!   round's message and tells it in the next message: when it has the others' openings. So there
//!   is no round but those that open, and values are kept from one exchange to the next only.
//! * [`Opening::check`]: the last round's seeds; commitments to `sigma`; `sigma`. At most 3 rounds.
//! * *Deviation*: that all were told the same is not checked by a hash of what was told, but by
//!   `<chi, x>`, which all parties compute anyway and must all find equal, as must be a hash of all
//!   seeds. Two different `x` give the same with the probability that a wrong MAC passes, because
//!   `x` was told to every honest party before that party told its seed.
//!
//! Also told in these messages: [`Opening::tell`], what one party says to all, such as its input
//! minus a mask; it goes into the same check of what all were told. A value goes to one party alone
//! by being opened with a mask added that this party knows ([`AuthenticatedRandomness::masks`]).
//!
//! * The rounds' combinations are not just added up: an adversary sees a round's coefficients before
//!   it sends the next round's values, and could try in each to make the sum right again. Two sums
//!   with random weights are kept, which both come right with probability 1/p^2 in a round; what is
//!   checked is one combination of them with a coefficient out of the last round's seeds.
//!
//! Cost per opened value: one element to each peer, [`Field::BYTES`]; four products. Per message:
//! [`message_bytes`]. Memory per opened value: 2 elements until the next exchange, and 2 while it
//! waits. However many parties there are: shares are added up as they come in.
//! Security: a lie passes a check after `t` rounds with probability 3/p + t/p^2 at most: 1/p that
//! the coefficients of its round hide it, 1/p that those of the check do, 1/p that the key was
//! guessed. After one check that fails the session is over.
//! Invariants: MACs never leave; what is opened must not be used outside before `check` has passed, nor
//! may anything be opened before it that hides behind a mask that is not uniform over the field.
//! Not protected: who does not send the very last message to some, that of [`Opening::confirm`],
//! stops only those.
//!
//! [`AuthenticatedRandomness::masks`]: phineus_correlated::authenticated::AuthenticatedRandomness::masks

mod message;
mod sums;
#[cfg(test)]
mod tests;

use phineus_channels::{Channel, Parties};
use phineus_crypto::field::Field;
use phineus_crypto::{Block, Prg, declassify, declassify_value};
use sha2::{Digest, Sha256};
use zerocopy::{FromBytes as _, IntoBytes as _};
use zeroize::Zeroize;

use message::Exchange;
use phineus_correlated::authenticated::Share;
use phineus_ot::SessionId;
use sums::{SEGMENT, Segment, combine};

use super::commitment::{COMMITMENT_BYTES, Commitments, RANDOMNESS_BYTES};
use crate::ProtocolError;

const SEED_BYTES: usize = size_of::<Block>();
const DIGEST_BYTES: usize = 32;
/// Bytes that tell a seed.
const REVEAL_BYTES: usize = SEED_BYTES + RANDOMNESS_BYTES;
/// Elements that are read at a time, so that they stay in the cache.
const PIECE: usize = 1024;

/// Bytes of a message in a round that opens `opened` values of a field with `element_bytes`, and
/// in which the sender tells `told` elements and somebody tells some if `telling`. `pending` if the
/// exchange before opened or told something, without a check since.
pub fn message_bytes(
    element_bytes: usize,
    opened: usize,
    told: usize,
    telling: bool,
    pending: bool,
) -> u64 {
    let commitment = if opened > 0 || telling { COMMITMENT_BYTES } else { 0 };
    let reveal = if pending { REVEAL_BYTES } else { 0 };
    ((opened + told) * element_bytes + commitment + reveal) as u64
}

/// Rounds of a check, and bytes from each party to each other; `pending` as in [`message_bytes`].
/// A check of nothing costs nothing.
pub fn check_cost(element_bytes: usize, pending: bool) -> (u64, u64) {
    let proof = COMMITMENT_BYTES + 2 * element_bytes + DIGEST_BYTES + RANDOMNESS_BYTES;
    let reveal = if pending { REVEAL_BYTES } else { 0 };
    (2 + u64::from(pending), (proof + reveal) as u64)
}

/// Rounds of [`Opening::confirm`], and bytes from each party to each other.
pub fn confirm_cost(parties: usize) -> (u64, u64) {
    if parties > 2 { (1, DIGEST_BYTES as u64) } else { (0, 0) }
}

/// Values that one party tells all others in a round.
#[derive(Clone)]
struct ToldValues<F> {
    waiting: Vec<F>,
    told: Vec<F>,
}

/// Values that wait to be opened, those of the last exchange, and the state of the check.
pub struct Opening<F: Field> {
    me: usize,
    delta: F,
    /// That add up what was opened.
    threads: usize,
    prg: Prg,
    commitments: Commitments,
    /// This party's part of the seed of the round that is being filled.
    seed: Block,
    /// Shares that wait, then the opened values; and this party's shares of their MACs.
    waiting: Vec<F>,
    waiting_macs: Vec<F>,
    opened: Vec<F>,
    macs: Vec<F>,
    /// By party. What waits is zeros but for this party's own.
    told: Vec<ToldValues<F>>,
    /// Whether the last exchange opened or told something that is not yet in the sums.
    pending: bool,
    /// Whether anything is in the sums since the last check.
    summed: bool,
    /// Two random combinations of the rounds' `<chi, m> - delta * <chi, x>` since the last check.
    sigma: [F; 2],
    /// Running combination `<chi, x>`, including the told values.
    transcript: [F; 2],
    /// The last round's coefficient of the second combination in what is checked.
    joint: F,
    /// All seeds so far.
    seeds: Sha256,
    /// Whether an exchange failed, or is going on.
    failed: bool,
    /// Bytes of messages besides elements.
    outgoing: Vec<u8>,
    incoming: Vec<Vec<u8>>,
    /// Elements on their way.
    scratch: Vec<F>,
}

impl<F: Field> Opening<F> {
    /// For party `me` of `parties`, whose share of the key is `delta`. The seeds are from `prg`;
    /// no other session of these parties has the name `session`.
    pub fn new(me: usize, parties: usize, delta: F, session: &SessionId, prg: Prg) -> Opening<F> {
        assert!(me < parties && parties >= 2, "one of two parties or more");
        Opening {
            me,
            delta,
            threads: 1,
            prg,
            commitments: Commitments::new(session, me, parties),
            seed: Block::ZERO,
            waiting: Vec::new(),
            waiting_macs: Vec::new(),
            opened: Vec::new(),
            macs: Vec::new(),
            told: vec![ToldValues { waiting: Vec::new(), told: Vec::new() }; parties],
            pending: false,
            summed: false,
            sigma: [F::ZERO; 2],
            transcript: [F::ZERO; 2],
            joint: F::ZERO,
            seeds: Sha256::new_with_prefix(b"phineus spdz seeds 1"),
            failed: false,
            outgoing: Vec::new(),
            incoming: vec![Vec::new(); parties],
            scratch: vec![F::ZERO; PIECE],
        }
    }

    /// Lets so many threads add up what was opened.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    /// Opens values at the end of the round; returns where they will be.
    pub fn push(&mut self, shares: &[Share<F>]) -> usize {
        let at = self.waiting.len();
        make_room(&mut self.waiting, shares.len());
        make_room(&mut self.waiting_macs, shares.len());
        self.waiting.extend(shares.iter().map(|share| share.value));
        self.waiting_macs.extend(shares.iter().map(|share| share.mac));
        at
    }

    /// As [`Opening::push`], for shares whose values and MACs lie apart.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn push_columns(&mut self, values: &[F], macs: &[F]) -> usize {
        assert_eq!(values.len(), macs.len(), "a MAC per value");
        let at = self.waiting.len();
        make_room(&mut self.waiting, values.len());
        make_room(&mut self.waiting_macs, macs.len());
        self.waiting.extend_from_slice(values);
        self.waiting_macs.extend_from_slice(macs);
        at
    }

    /// Lets `party` tell all others `count` elements at the end of the round; `values` is `Some`
    /// at that party only. Returns where they will be among those of this party.
    ///
    /// # Panics
    /// If this party's values are missing or too many.
    pub fn tell(&mut self, party: usize, count: usize, values: Option<&[F]>) -> usize {
        let waiting = &mut self.told[party].waiting;
        let at = waiting.len();
        make_room(waiting, count);
        match values {
            Some(values) if party == self.me => waiting.extend_from_slice(values),
            None if party != self.me => waiting.resize(at + count, F::ZERO),
            _ => panic!("a party tells its own values"),
        }
        assert_eq!(waiting.len(), at + count, "as many values as said");
        at
    }

    /// Whether nothing waits for the end of the round.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.told.iter().all(|told| told.waiting.is_empty())
    }

    /// Elements that wait to be opened.
    pub fn waiting_opened(&self) -> usize {
        self.waiting.len()
    }

    /// Elements that parties are to tell.
    pub fn waiting_told(&self) -> usize {
        self.told.iter().map(|told| told.waiting.len()).sum()
    }

    /// Values of the last exchange that opened or told something. Not to be used outside before a
    /// check.
    pub fn opened(&self, at: usize, len: usize) -> &[F] {
        &self.opened[at..at + len]
    }

    /// Values that `party` told in the last exchange that opened or told something.
    pub fn told(&self, party: usize, at: usize, len: usize) -> &[F] {
        &self.told[party].told[at..at + len]
    }

    /// Ends the round: everybody learns the values. One round, [`message_bytes`] to each peer; none
    /// if nothing waits and nothing is left to check.
    ///
    /// # Errors
    /// When a channel fails, or a peer lies about its seed or sends what is no element.
    pub fn exchange<C: Channel>(&mut self, parties: &mut Parties<C>) -> Result<(), ProtocolError> {
        assert_eq!((parties.me(), parties.count()), (self.me, self.told.len()), "other parties");
        assert!(!self.failed, "a session that failed is over");
        if self.is_empty() {
            return if self.pending { self.reveal(parties) } else { Ok(()) };
        }
        self.failed = true;
        let toss = self.fill_tail();
        let tail_bytes = self.outgoing.len();
        let length = |told: &ToldValues<F>| {
            (self.waiting.len() + told.waiting.len()) * F::BYTES + tail_bytes
        };
        let sent = length(&self.told[self.me]);
        let lengths: Vec<_> = self.told.iter().map(|told| (sent, length(told))).collect();
        parties.peers().for_each(|peer| self.incoming[peer].resize(tail_bytes, 0));
        let mut exchange = Exchange {
            me: self.me,
            shares: &mut self.waiting,
            told: &mut self.told,
            tail: &self.outgoing,
            tails: &mut self.incoming,
            scratch: &mut self.scratch,
        };
        parties.exchange_in_pieces(&lengths, &mut exchange, Exchange::fill, Exchange::take)?;
        declassify(self.waiting.as_mut_slice(), "opened");
        declassify(self.told[self.me].waiting.as_mut_slice(), "told to all");
        if self.pending {
            self.finish_round(parties.peers(), toss, COMMITMENT_BYTES)?;
        }
        self.keep(parties.peers());
        (self.pending, self.failed) = (true, false);
        Ok(())
    }

    /// Tells the seed of the last round, outside of an exchange. What waits goes on waiting.
    fn reveal<C: Channel>(&mut self, parties: &mut Parties<C>) -> Result<(), ProtocolError> {
        self.failed = true;
        let seed = self.seed;
        let mut message = seed.as_bytes().to_vec();
        message.extend_from_slice(&self.commitments.opening());
        self.exchange_fixed(parties, &message)?;
        self.finish_round(parties.peers(), seed, 0)?;
        (self.pending, self.failed) = (false, false);
        Ok(())
    }

    /// Makes what follows the elements of a message: the seed of the last round, a commitment to
    /// the seed of this one. Returns the seed that it tells.
    fn fill_tail(&mut self) -> Block {
        let told = self.seed;
        self.outgoing.clear();
        if self.pending {
            self.outgoing.extend_from_slice(told.as_bytes());
            self.outgoing.extend_from_slice(&self.commitments.opening());
        }
        self.seed = self.prg.next_block();
        let commitment = self.commitments.commit(&mut self.prg, self.seed.as_bytes());
        self.outgoing.extend_from_slice(&commitment);
        told
    }

    /// Adds up the last exchange's values with the coefficients that all parties' seeds give; the
    /// seeds lie `after` bytes before the ends of the messages.
    fn finish_round(
        &mut self,
        peers: impl Iterator<Item = usize>,
        own_seed: Block,
        after: usize,
    ) -> Result<(), ProtocolError> {
        let mut seed = declassify_value(own_seed, "told to all");
        for peer in peers {
            let message = &self.incoming[peer];
            let end = message.len() - after;
            let (part, randomness) = message[end - REVEAL_BYTES..end].split_at(SEED_BYTES);
            self.commitments.verify(peer, part, randomness)?;
            seed ^= Block::read_from_bytes(part).expect("a seed is a block");
        }
        self.seeds.update(seed.as_bytes());
        self.summed = true;
        let mut coefficients = Prg::from_seed(seed);
        let mut of_round = [F::ZERO; 3];
        F::fill_random(&mut coefficients, &mut of_round);
        let (x, macs) = self.sums(&mut coefficients);
        let transcript = x[0].add(x[1]);
        let sigma = macs.sub(self.delta.mul(x[0]));
        for (k, &coefficient) in of_round[..2].iter().enumerate() {
            self.sigma[k] = self.sigma[k].add(coefficient.mul(sigma));
            self.transcript[k] = self.transcript[k].add(coefficient.mul(transcript));
        }
        self.joint = of_round[2];
        Ok(())
    }

    /// The last exchange's combinations: of values that were opened and of values that were told,
    /// and of this party's shares of MACs.
    fn sums(&self, coefficients: &mut Prg) -> ([F; 2], F) {
        let opened = self.opened.chunks(SEGMENT).zip(self.macs.chunks(SEGMENT));
        let opened = opened.map(|(x, macs)| (x, Some(macs)));
        let told = self.told.iter().flat_map(|told| told.told.chunks(SEGMENT));
        let segments = opened.chain(told.map(|x| (x, None)));
        let segments: Vec<Segment<'_, F>> = segments
            .map(|(x, macs)| Segment { x, macs, seed: coefficients.next_block() })
            .collect();
        combine(&segments, self.threads)
    }

    /// Keeps what was opened and told, and the commitments, until the next exchange.
    fn keep(&mut self, peers: impl Iterator<Item = usize>) {
        std::mem::swap(&mut self.opened, &mut self.waiting);
        std::mem::swap(&mut self.macs, &mut self.waiting_macs);
        self.waiting.clear();
        self.waiting_macs.clear();
        for told in &mut self.told {
            std::mem::swap(&mut told.told, &mut told.waiting);
            told.waiting.clear();
        }
        for peer in peers {
            let tail = &self.incoming[peer];
            self.commitments.receive(peer, &tail[tail.len() - COMMITMENT_BYTES..]);
        }
    }

    /// Whether everything opened and told since the last check is right. [`check_cost`]. What waits
    /// goes on waiting, and what was opened can still be read.
    ///
    /// # Errors
    /// [`ProtocolError::Cheated`] if it is not; then there must be no output. When a channel fails.
    pub fn check<C: Channel>(&mut self, parties: &mut Parties<C>) -> Result<(), ProtocolError> {
        self.check_when(parties, || Ok(()))
    }

    /// As [`Opening::check`]. `settled` is called when all others have committed to what they say,
    /// and fails if any of them may have known the key before.
    ///
    /// # Errors
    /// Those of [`Opening::check`] and of `settled`.
    pub fn check_when<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
        settled: impl FnOnce() -> Result<(), ProtocolError>,
    ) -> Result<(), ProtocolError> {
        if self.pending {
            self.reveal(parties)?;
        }
        if !self.summed {
            return Ok(());
        }
        self.failed = true;
        let combined = |[first, second]: [F; 2]| first.add(self.joint.mul(second));
        let (mut sigma, transcript) = (combined(self.sigma), combined(self.transcript));
        let mut proof = sigma.as_bytes().to_vec();
        proof.extend_from_slice(transcript.as_bytes());
        proof.extend_from_slice(&self.seeds.clone().finalize());
        let commitment = self.commitments.commit(&mut self.prg, &proof);
        self.exchange_fixed(parties, &commitment)?;
        for peer in parties.peers() {
            self.commitments.receive(peer, &self.incoming[peer]);
        }
        settled()?;
        let proof_bytes = proof.len();
        proof.extend_from_slice(&self.commitments.opening());
        self.exchange_fixed(parties, &proof)?;
        sigma = declassify_value(sigma, "told to all");
        for peer in parties.peers() {
            let (theirs, randomness) = self.incoming[peer].split_at(proof_bytes);
            self.commitments.verify(peer, theirs, randomness)?;
            let (summand, others) = theirs.split_at(F::BYTES);
            if *others != proof[F::BYTES..proof_bytes] {
                return Err(ProtocolError::Cheated { during: "that all were told the same" });
            }
            let mut element = [F::ZERO];
            F::read(summand, &mut element).map_err(|_| no_element())?;
            sigma = sigma.add(element[0]);
        }
        if sigma != F::ZERO {
            return Err(ProtocolError::Cheated { during: "the MAC of an opened value" });
        }
        (self.sigma, self.transcript) = ([F::ZERO; 2], [F::ZERO; 2]);
        (self.summed, self.failed) = (false, false);
        Ok(())
    }

    /// Waits until all others have found everything right, too. [`confirm_cost`].
    ///
    /// Who lies in the last message of a check may lie to some only: they stop, and say so by
    /// saying nothing here. Of two parties only one is honest.
    ///
    /// # Errors
    /// When a party is not there any more, or says something else.
    pub fn confirm<C: Channel>(&mut self, parties: &mut Parties<C>) -> Result<(), ProtocolError> {
        assert!(!self.failed, "a session that failed is over");
        if parties.count() <= 2 {
            return Ok(());
        }
        self.failed = true;
        let done: [u8; DIGEST_BYTES] =
            self.seeds.clone().chain_update(b"phineus spdz done 1").finalize().into();
        self.exchange_fixed(parties, &done)?;
        if parties.peers().any(|peer| self.incoming[peer] != done) {
            return Err(ProtocolError::Cheated { during: "that all found the same right" });
        }
        self.failed = false;
        Ok(())
    }

    /// Sends `message` to all peers and receives as many bytes from each.
    fn exchange_fixed<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
        message: &[u8],
    ) -> Result<(), ProtocolError> {
        parties.peers().for_each(|peer| self.incoming[peer].resize(message.len(), 0));
        let outgoing = vec![message; self.told.len()];
        let mut incoming: Vec<&mut [u8]> =
            self.incoming.iter_mut().map(Vec::as_mut_slice).collect();
        Ok(parties.exchange(&outgoing, &mut incoming)?)
    }
}

/// The least that is reserved: the allocator moves the pages of what is larger, and leaves no copy
/// behind when a buffer grows.
const RESERVED_BYTES: usize = 128 << 10;

/// Room for `more` elements, and an eighth beyond: what waits may be most of the memory that there
/// is, so it must not double.
pub(super) fn make_room<T>(vector: &mut Vec<T>, more: usize) {
    let needed = vector.len() + more;
    if needed > vector.capacity() {
        let least = RESERVED_BYTES / size_of::<T>();
        vector.reserve_exact(more.max(vector.len() / 8).max(least));
    }
}

fn no_element() -> ProtocolError {
    ProtocolError::Misbehaved { during: "opening values" }
}

impl<F: Field> Drop for Opening<F> {
    fn drop(&mut self) {
        self.delta.zeroize();
        self.seed.zeroize();
        self.macs.zeroize();
        self.waiting.zeroize();
        self.waiting_macs.zeroize();
        self.sigma.as_mut_slice().zeroize();
    }
}
