//! ANDs with a bit that one party knows: half a gate, and half its row.
//!
//! Source: Zahur, Rosulek, Evans, EUROCRYPT 2015, section III: the two halves that a gate consists of. The *switches*
//! of a permutation have labels by which the half is enough: those of the garbler's bits are 0 for the evaluator,
//! and those of the evaluator's bits have the bit itself as select bit.
//!
//! The kernels: `phineus_crypto::HalfGates::garble_known`.
//!
//! Cost: 16 bytes from garbler to evaluator a gate.

use phineus_crypto::{AndIndex, Block, Delta, HalfGates};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use crate::ProtocolError;
use crate::garbled::gate_ranges::{GateRange, pieces};

/// Bytes of a half gate.
pub(super) const ROW_BYTES: usize = size_of::<Block>();

/// Rows of a piece, and labels that are repeated.
#[derive(Default)]
pub(super) struct KnownGates {
    rows: Vec<Block>,
    repeated: Zeroizing<Vec<Block>>,
}

/// Exchanges the lanes of two values where a known bit is 1: `half_gates` makes `out = bit AND x` of each piece.
pub(super) fn exchange(
    results: &mut [&mut [Block]],
    operands: &[&[Block]],
    mut half_gates: impl FnMut(&Piece<'_>, &mut [Block]) -> Result<(), ProtocolError>,
) -> Result<(), ProtocolError> {
    let ([first, second], [bits, a, b]) = (results, operands) else {
        unreachable!("an exchange has two results and three operands")
    };
    // Piece by piece, so that what one pass has touched is still near for the next one.
    for GateRange { gates, second: lanes } in pieces(a.len(), bits.len()) {
        let [first, second] = [&mut first[gates.clone()], &mut second[gates.clone()]];
        let (a, b) = (&a[gates.clone()], &b[gates]);
        second.iter_mut().zip(a.iter().zip(b)).for_each(|(x, (&a, &b))| *x = a ^ b);
        half_gates(&Piece { bits: &bits[lanes], x: second }, first)?;
        for ((first, second), (&a, &b)) in first.iter_mut().zip(second).zip(a.iter().zip(b)) {
            let product = *first;
            (*first, *second) = (a ^ product, b ^ product);
        }
    }
    Ok(())
}

/// Makes the select bit of a label 0.
pub(super) fn clear_select_bit(label: &mut Block) {
    *label ^= Block::from_bits(label.select_u64().into());
}

/// Labels of one lane after the other, cyclically.
fn repeat(repeated: &mut Vec<Block>, labels: &[Block], count: usize) {
    repeated.clear();
    repeated.reserve(count);
    for start in (0..count).step_by(labels.len().max(1)) {
        repeated.extend_from_slice(&labels[..labels.len().min(count - start)]);
    }
}

/// Gates of the garbler, numbered from `index` on.
#[derive(Clone, Copy)]
pub(super) struct GarblerGates<'a> {
    pub(super) gates: &'a HalfGates,
    pub(super) delta: &'a Delta,
    pub(super) index: AndIndex,
}

/// Some of the gates of an instruction.
pub(super) struct Piece<'a> {
    /// Labels of the known bits, one a lane.
    bits: &'a [Block],
    x: &'a [Block],
}

impl KnownGates {
    /// Garbles `out = bit AND x` where the garbler knows the bits.
    pub(super) fn garble_own(
        &mut self,
        GarblerGates { gates, delta, index }: GarblerGates<'_>,
        &Piece { bits, x }: &Piece<'_>,
        out: &mut [Block],
        sent: &mut [u8],
    ) {
        repeat(&mut self.repeated, bits, x.len());
        self.rows.resize(x.len(), Block::ZERO);
        gates.garble_known(delta, index, [x, &self.repeated], out, &mut self.rows);
        sent.copy_from_slice(self.rows.as_bytes());
    }

    /// Evaluates what [`KnownGates::garble_own`] garbled; the evaluator's labels of the bits are 0.
    pub(super) fn evaluate_peers(
        &mut self,
        (gates, index): (&HalfGates, AndIndex),
        &Piece { x, .. }: &Piece<'_>,
        out: &mut [Block],
        received: &[u8],
    ) {
        self.receive(received, x.len());
        gates.evaluate_known(index, x, &self.rows, out);
    }

    /// Garbles `out = bit AND x` where the evaluator knows the bits: labels of *false* have select bit 0.
    pub(super) fn garble_peers(
        &mut self,
        GarblerGates { gates, delta, index }: GarblerGates<'_>,
        &Piece { bits, x }: &Piece<'_>,
        out: &mut [Block],
        sent: &mut [u8],
    ) {
        repeat(&mut self.repeated, bits, x.len());
        self.rows.resize(x.len(), Block::ZERO);
        gates.garble_known(delta, index, [&self.repeated, x], out, &mut self.rows);
        sent.copy_from_slice(self.rows.as_bytes());
    }

    /// Evaluates what [`KnownGates::garble_peers`] garbled.
    pub(super) fn evaluate_own(
        &mut self,
        (gates, index): (&HalfGates, AndIndex),
        &Piece { bits, x }: &Piece<'_>,
        out: &mut [Block],
        received: &[u8],
    ) {
        repeat(&mut self.repeated, bits, x.len());
        self.receive(received, x.len());
        self.rows.iter_mut().zip(x).for_each(|(row, &x)| *row ^= x);
        gates.evaluate_known(index, &self.repeated, &self.rows, out);
    }

    /// Rows that were received, at any alignment.
    fn receive(&mut self, received: &[u8], count: usize) {
        self.rows.resize(count, Block::ZERO);
        self.rows.as_mut_bytes().copy_from_slice(received);
    }
}
