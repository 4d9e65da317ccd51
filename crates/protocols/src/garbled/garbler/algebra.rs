//! [`GarblerAlgebra`]: garbles the gates of a circuit and sends their rows.

use phineus_channels::Channel;
use phineus_circuits::BitAlgebra;
use phineus_crypto::{AndIndex, Block, Delta, GarbledGate, HalfGates, SecretBit};

use crate::ProtocolError;
use crate::garbled::gate_ranges::{GateRange, chain_pieces, pieces};

/// Garbles gates: the label of a wire here is that of *false*.
pub(super) struct GarblerAlgebra<C> {
    pub(super) channel: C,
    pub(super) delta: Delta,
    pub(super) gates: HalfGates,
    pub(super) next: AndIndex,
    pub(super) failure: Option<ProtocolError>,
}

impl<C: Channel> GarblerAlgebra<C> {
    /// Sends the rows that `garble` writes for the next `count` gates, unless something failed.
    #[inline]
    fn garble(
        &mut self,
        count: usize,
        garble: impl FnOnce(&HalfGates, &Delta, AndIndex, &mut [u8]),
    ) {
        if self.failure.is_some() {
            return;
        }
        let (gates, delta, index) = (&self.gates, &self.delta, self.next);
        let sent = self.channel.send_with(count * GarbledGate::BYTES, |rows| {
            garble(gates, delta, index, rows);
        });
        self.next = index.advance(count);
        self.failure = sent.err().map(ProtocolError::from);
    }
}

impl<C: Channel> BitAlgebra for GarblerAlgebra<C> {
    type Wire = Block;

    #[inline]
    fn xor(&mut self, out: &mut [Block], a: &[Block], b: &[Block]) {
        out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (&a, &b))| *out = a ^ b);
    }

    #[inline]
    fn xor_assign(&mut self, out: &mut [Block], a: &[Block]) {
        out.iter_mut().zip(a).for_each(|(out, &a)| *out ^= a);
    }

    #[inline]
    fn not(&mut self, out: &mut [Block], a: &[Block]) {
        let delta = self.delta.block();
        out.iter_mut().zip(a).for_each(|(out, &a)| *out = a ^ delta);
    }

    #[inline]
    fn and(&mut self, out: &mut [Block], a: &[Block], b: &[Block]) {
        for GateRange { gates, second } in pieces(a.len(), b.len()) {
            let (out, a, b) = (&mut out[gates.clone()], &a[gates], &b[second]);
            self.garble(a.len(), |gates, delta, index, rows| {
                gates.garble(delta, index, a, b, out, rows);
            });
        }
    }

    #[inline]
    fn and_chain(&mut self, x: &mut [Block], a: &[Block], product: &mut [Block]) {
        for gates in chain_pieces(a.len(), product.len()) {
            let (x, a) = (&mut x[gates.start..gates.end + product.len()], &a[gates]);
            self.garble(a.len(), |gates, delta, index, rows| {
                gates.garble_chain(delta, index, a, x, product, rows);
            });
        }
    }

    fn constant(&mut self, out: &mut [Block], value: bool) {
        // The evaluator holds the zero block; it must be the label of `value`.
        out.fill(self.delta.block().and_bit(SecretBit::public(value)));
    }
}
