//! [`Keys`]: the generators that a party shares with each of its neighbours.
//!
//! Source: Araki, Furukawa, Lindell, Nof, Ohara, "High-Throughput Semi-Honest Secure Three-Party
//! Computation with an Honest Majority", CCS 2016 (ePrint 2016/768), section 2.2, "Generating
//! correlated randomness": party `i` holds `k_i` and `k_{i+1}`, and adds `F(k_i) - F(k_{i+1})`, which is
//! 0 over all parties.
//!
//! Invariant: two parties draw from their common generator as many bytes in the same order, since both
//! run the same ordered program.

use phineus_channels::{Channel, Parties};
use phineus_crypto::secret::classify;
use phineus_crypto::{Block, Prg};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::ring::Element;
use crate::ProtocolError;
use crate::shares::values::{Words, blank};

/// Bytes of masks that are drawn at a time, so that they stay in the first cache.
const PIECE_BYTES: usize = 4096;

/// A party's two generators.
pub(super) struct Keys {
    /// Under `k_i`, in common with the party before.
    own: Prg,
    /// Under `k_{i+1}`, in common with the party behind.
    next: Prg,
    stream: Words,
}

impl Keys {
    /// Tells the party before the own key, and hears that of the one behind.
    pub(super) fn agree<C: Channel>(
        parties: &mut Parties<C>,
        prg: &mut Prg,
    ) -> Result<Keys, ProtocolError> {
        let (previous, next) = neighbours(parties.me());
        let own = Zeroizing::new(prg.next_block());
        let mut other = Zeroizing::new(Block::ZERO);
        parties.channel(previous).send(own.as_bytes())?;
        parties.flush()?;
        parties.channel(next).recv(other.as_mut_bytes())?;
        // Known to these two alone, though it was sent.
        classify(&mut *other);
        let [own, next] = [*own, *other].map(Prg::from_seed);
        Ok(Keys { own, next, stream: blank(0) })
    }

    /// What the party before draws, too.
    pub(super) fn with_previous(&mut self) -> &mut Prg {
        &mut self.own
    }

    /// What the party behind draws, too.
    pub(super) fn with_next(&mut self) -> &mut Prg {
        &mut self.next
    }

    /// Fills `z` with masks of the own generator; returns those of the other one. The XOR of both, over
    /// all parties, is 0.
    pub(super) fn bit_masks(&mut self, z: &mut [u64]) -> &[u64] {
        if self.stream.len() < z.len() {
            self.stream.resize(z.len(), 0);
        }
        let stream = &mut self.stream[..z.len()];
        self.own.fill_bytes(z.as_mut_bytes());
        self.next.fill_bytes(stream.as_mut_bytes());
        stream
    }

    /// Adds masks to `z` whose sums over all parties are 0.
    pub(super) fn mask<E: Element>(&mut self, z: &mut [E]) {
        let piece_words = PIECE_BYTES / size_of::<u64>();
        if self.stream.len() < 2 * piece_words {
            self.stream.resize(2 * piece_words, 0);
        }
        let (own, next) = self.stream[..2 * piece_words].split_at_mut(piece_words);
        for z in z.chunks_mut(PIECE_BYTES / size_of::<E>()) {
            let masks = [(&mut self.own, &mut *own), (&mut self.next, &mut *next)];
            let [own, next] = masks.map(|(prg, stream)| {
                let stream = &mut E::elements_mut(stream.as_mut_bytes())[..z.len()];
                prg.fill_bytes(stream.as_mut_bytes());
                stream
            });
            for ((z, own), next) in z.iter_mut().zip(own).zip(next) {
                *z = z.add(*own).sub(*next);
            }
        }
    }
}

/// The parties before and behind one of three.
pub(super) fn neighbours(me: usize) -> (usize, usize) {
    ((me + 2) % 3, (me + 1) % 3)
}
