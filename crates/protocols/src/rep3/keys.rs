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

use crate::ProtocolError;
use crate::shares::elements::Element;
use crate::shares::values::{Words, blank};

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

    /// Fills `z` with bits whose XOR over all parties is 0.
    pub(super) fn mask_bits(&mut self, z: &mut [u64]) {
        self.own.fill_bytes(z.as_mut_bytes());
        self.next.xor_bytes(z.as_mut_bytes());
    }

    /// Fills `z` with elements whose sum over all parties is 0.
    pub(super) fn mask<E: Element>(&mut self, z: &mut [E]) {
        self.draw(z.as_mut_bytes());
        let masks = &E::elements(self.stream.as_bytes())[..z.len()];
        z.iter_mut().zip(masks).for_each(|(z, mask)| *z = z.sub(*mask));
    }

    /// Draws `z` under the own key and as much, in `stream`, under the other one.
    fn draw(&mut self, z: &mut [u8]) {
        if 8 * self.stream.len() < z.len() {
            self.stream.resize(z.len().div_ceil(8), 0);
        }
        self.own.fill_bytes(z);
        self.next.fill_bytes(&mut self.stream.as_mut_bytes()[..z.len()]);
    }
}

/// The parties before and behind one of three.
pub(super) fn neighbours(me: usize) -> (usize, usize) {
    ((me + 2) % 3, (me + 1) % 3)
}
