//! [`GarblerAlgebra`]: garbles the gates of a circuit and sends their rows.

use phineus_channels::Channel;
use phineus_circuits::BitAlgebra;
use phineus_crypto::{AndIndex, Block, Delta, GarbledGate, HalfGates, SecretBit};

use crate::ProtocolError;
use crate::garbled::gate_ranges::{GateRange, chain_pieces, pieces};
use crate::garbled::row_source::RowSource;

/// Garbles gates: the label of a wire here is that of *false*.
pub(crate) struct GarblerAlgebra<C> {
    pub(crate) channel: C,
    pub(crate) delta: Delta,
    pub(crate) gates: HalfGates,
    pub(crate) next: AndIndex,
    /// Makes the rows, if this party does not.
    pub(crate) rows: Option<Box<dyn RowSource>>,
    pub(crate) failure: Option<ProtocolError>,
}

/// Gates whose rows are sent together.
enum GateBatch<'a> {
    /// `out[i] = a[i] AND b[i % b.len()]`.
    Products { out: &'a mut [Block], a: &'a [Block], b: &'a [Block] },
    /// `x[i + 1] ^= a[i] AND x[i]`, row after row of `product.len()` lanes.
    Chain { x: &'a mut [Block], a: &'a [Block], product: &'a mut [Block] },
}

impl GateBatch<'_> {
    #[inline]
    fn gate_count(&self) -> usize {
        match self {
            GateBatch::Products { a, .. } | GateBatch::Chain { a, .. } => a.len(),
        }
    }

    /// Computes the labels of the results, and writes the rows.
    #[inline]
    fn garble(self, gates: &HalfGates, delta: &Delta, index: AndIndex, rows: &mut [u8]) {
        match self {
            GateBatch::Products { out, a, b } => gates.garble(delta, index, a, b, out, rows),
            GateBatch::Chain { x, a, product } => {
                gates.garble_chain(delta, index, a, x, product, rows);
            }
        }
    }

    /// Computes the labels of the results from rows that were made elsewhere: labels of false are the active labels of
    /// inputs that are all false.
    #[inline]
    fn derive(self, gates: &HalfGates, index: AndIndex, rows: &[u8]) {
        match self {
            GateBatch::Products { out, a, b } => gates.evaluate(index, a, b, out, rows),
            GateBatch::Chain { x, a, product } => gates.evaluate_chain(index, a, x, product, rows),
        }
    }
}

impl<C: Channel> GarblerAlgebra<C> {
    /// Garbles the next gates and sends their rows, unless something failed.
    #[inline]
    fn garble(&mut self, batch: GateBatch<'_>) {
        if self.failure.is_some() {
            return;
        }
        let (gates, delta, index, source) = (&self.gates, &self.delta, self.next, &mut self.rows);
        let count = batch.gate_count();
        let sent = self.channel.send_with(count * GarbledGate::BYTES, |rows| match source {
            None => {
                batch.garble(gates, delta, index, rows);
                Ok(())
            }
            Some(source) => {
                source.next_rows(rows)?;
                batch.derive(gates, index, rows);
                Ok(())
            }
        });
        self.next = index.advance(count);
        self.failure = sent.map_err(ProtocolError::from).and_then(|made| made).err();
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
            self.garble(GateBatch::Products { out, a, b });
        }
    }

    #[inline]
    fn and_chain(&mut self, x: &mut [Block], a: &[Block], product: &mut [Block]) {
        for gates in chain_pieces(a.len(), product.len()) {
            let (x, a) = (&mut x[gates.start..gates.end + product.len()], &a[gates]);
            self.garble(GateBatch::Chain { x, a, product });
        }
    }

    fn constant(&mut self, out: &mut [Block], value: bool) {
        // The evaluator holds the zero block; it must be the label of `value`.
        out.fill(self.delta.block().and_bit(SecretBit::public(value)));
    }
}
