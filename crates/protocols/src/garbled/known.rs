//! ANDs with a bit that one party knows: half a gate, and half its row.
//!
//! Source: Zahur, Rosulek, Evans, EUROCRYPT 2015, section III: the two halves that a gate consists of. The *switches*
//! of a permutation have labels by which the half is enough: those of the garbler's bits are 0 for the evaluator,
//! and those of the evaluator's bits have the bit itself as select bit.
//!
//! Both halves are made of whole gates whose other input is 0, so that they have the same kernels and tweaks. Such a
//! half would need half the hashes: the time is that of a gate, the bytes are half.
//!
//! Cost: 16 bytes from garbler to evaluator a gate.

use phineus_crypto::{AndIndex, Block, Delta, GarbledGate, HalfGates};
use zerocopy::{FromBytes, IntoBytes};
use zeroize::Zeroizing;

use crate::garbled::gate_ranges::GateRange;

/// Bytes of a half gate.
pub(super) const ROW_BYTES: usize = size_of::<Block>();

/// Room for the rows of a piece, and for labels that are repeated.
#[derive(Default)]
pub(super) struct KnownGates {
    rows: Vec<GarbledGate>,
    repeated: Zeroizing<Vec<Block>>,
}

/// The exchanged values, of what is to be added to both, which is in `first`.
pub(super) fn exchange(first: &mut [Block], second: &mut [Block], (a, b): (&[Block], &[Block])) {
    for ((first, second), (&a, &b)) in first.iter_mut().zip(second).zip(a.iter().zip(b)) {
        let product = *first;
        (*first, *second) = (a ^ product, b ^ product);
    }
}

/// Rows that were received, at any alignment.
fn blocks(received: &[u8]) -> impl Iterator<Item = Block> {
    let rows = received.chunks_exact(ROW_BYTES);
    rows.map(|row| Block::read_from_bytes(row).expect("a row is a block"))
}

/// Makes the select bit of a label 0.
pub(super) fn clear_select_bit(label: &mut Block) {
    *label ^= Block::from_bits(label.select_u64().into());
}

/// Labels of one lane after the other, cyclically.
fn repeat(repeated: &mut Vec<Block>, labels: &[Block], count: usize) {
    repeated.clear();
    repeated.extend(labels.iter().cycle().take(count));
}

/// A piece of the gates of an instruction, numbered from `index` on.
pub(super) struct Piece<'a> {
    pub(super) gates: &'a HalfGates,
    pub(super) index: AndIndex,
    pub(super) range: GateRange,
    /// Labels of the known bits, one a lane.
    pub(super) bits: &'a [Block],
    pub(super) x: &'a [Block],
}

impl KnownGates {
    /// Garbles `out = bit AND x` where the garbler knows the bits.
    pub(super) fn garble_own(
        &mut self,
        piece: &Piece<'_>,
        delta: &Delta,
        out: &mut [Block],
        sent: &mut [u8],
    ) {
        let Piece { gates, index, range, bits, x } = piece;
        self.rows.resize(x.len(), GarbledGate::default());
        let rows = self.rows.as_mut_bytes();
        gates.garble(delta, *index, x, &bits[range.second.clone()], out, rows);
        let sent = sent.chunks_exact_mut(ROW_BYTES);
        sent.zip(&self.rows)
            .for_each(|(sent, row)| sent.copy_from_slice(row.garbler_half.as_bytes()));
    }

    /// Evaluates what [`KnownGates::garble_own`] garbled; the evaluator's labels of the bits are 0.
    pub(super) fn evaluate_peers(&mut self, piece: &Piece<'_>, out: &mut [Block], received: &[u8]) {
        let Piece { gates, index, x, .. } = piece;
        self.rows.clear();
        let row = |garbler_half: Block| GarbledGate { garbler_half, ..GarbledGate::default() };
        self.rows.extend(blocks(received).map(row));
        gates.evaluate(*index, x, &[Block::ZERO], out, self.rows.as_bytes());
    }

    /// Garbles `out = bit AND x` where the evaluator knows the bits: labels of *false* have select bit 0.
    pub(super) fn garble_peers(
        &mut self,
        piece: &Piece<'_>,
        delta: &Delta,
        out: &mut [Block],
        sent: &mut [u8],
    ) {
        let Piece { gates, index, range, bits, x } = piece;
        repeat(&mut self.repeated, &bits[range.second.clone()], x.len());
        self.rows.resize(x.len(), GarbledGate::default());
        let rows = self.rows.as_mut_bytes();
        gates.garble(delta, *index, &self.repeated, &[Block::ZERO], out, rows);
        let sent = sent.chunks_exact_mut(ROW_BYTES);
        for ((sent, row), &x) in sent.zip(&self.rows).zip(*x) {
            sent.copy_from_slice((row.garbler_half ^ x).as_bytes());
        }
    }

    /// Evaluates what [`KnownGates::garble_peers`] garbled.
    pub(super) fn evaluate_own(&mut self, piece: &Piece<'_>, out: &mut [Block], received: &[u8]) {
        let Piece { gates, index, range, bits, x } = piece;
        repeat(&mut self.repeated, &bits[range.second.clone()], x.len());
        self.rows.clear();
        self.rows.resize(x.len(), GarbledGate::default());
        gates.evaluate(*index, &self.repeated, &[Block::ZERO], out, self.rows.as_bytes());
        let known = self.repeated.iter().map(|label| label.select_bit());
        for ((out, known), (row, &x)) in out.iter_mut().zip(known).zip(blocks(received).zip(*x)) {
            *out ^= (row ^ x).and_bit(known);
        }
    }
}
