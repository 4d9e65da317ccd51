//! [`EvaluatorAlgebra`]: evaluates the gates of a circuit with the rows that come.

use phineus_channels::Channel;
use phineus_circuits::BitAlgebra;
use phineus_crypto::{AndIndex, Block, GarbledGate, HalfGates};

use crate::ProtocolError;
use crate::garbled::gate_ranges::{GateRange, chain_pieces, pieces};

/// Evaluates gates: the label of a wire here is that of its value.
pub(crate) struct EvaluatorAlgebra<C> {
    pub(crate) channel: C,
    pub(crate) gates: HalfGates,
    pub(crate) next: AndIndex,
    pub(crate) failure: Option<ProtocolError>,
}

impl<C: Channel> EvaluatorAlgebra<C> {
    /// Receives the rows of the next `count` gates for `evaluate`, unless something failed.
    #[inline]
    fn evaluate(&mut self, count: usize, evaluate: impl FnOnce(&HalfGates, AndIndex, &[u8])) {
        if self.failure.is_some() {
            return;
        }
        let (gates, index) = (&self.gates, self.next);
        let received = self.channel.recv_with(count * GarbledGate::BYTES, |rows| {
            evaluate(gates, index, rows);
        });
        self.next = index.advance(count);
        self.failure = received.err().map(ProtocolError::from);
    }
}

impl<C: Channel> BitAlgebra for EvaluatorAlgebra<C> {
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
        out.copy_from_slice(a);
    }

    #[inline]
    fn and(&mut self, out: &mut [Block], a: &[Block], b: &[Block]) {
        for GateRange { gates, second } in pieces(a.len(), b.len()) {
            let (out, a, b) = (&mut out[gates.clone()], &a[gates], &b[second]);
            self.evaluate(a.len(), |gates, index, rows| gates.evaluate(index, a, b, out, rows));
        }
    }

    #[inline]
    fn and_chain(&mut self, x: &mut [Block], a: &[Block], product: &mut [Block]) {
        for gates in chain_pieces(a.len(), product.len()) {
            let (x, a) = (&mut x[gates.start..gates.end + product.len()], &a[gates]);
            self.evaluate(a.len(), |gates, index, rows| {
                gates.evaluate_chain(index, a, x, product, rows);
            });
        }
    }

    fn constant(&mut self, out: &mut [Block], _value: bool) {
        out.fill(Block::ZERO);
    }
}
