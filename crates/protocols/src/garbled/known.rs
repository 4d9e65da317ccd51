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

use crate::ProtocolError;
use crate::garbled::gate_ranges::{GateRange, pieces};

/// Bytes of a half gate.
pub(super) const ROW_BYTES: usize = size_of::<Block>();

/// Room for the rows of a piece, and for labels that are repeated.
#[derive(Default)]
pub(super) struct KnownGates {
    rows: Vec<GarbledGate>,
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
    second.iter_mut().zip(a.iter().zip(*b)).for_each(|(x, (&a, &b))| *x = a ^ b);
    for GateRange { gates, second: lanes } in pieces(a.len(), bits.len()) {
        let piece = Piece { bits: &bits[lanes], x: &second[gates.clone()] };
        half_gates(&piece, &mut first[gates])?;
    }
    for ((first, second), (&a, &b)) in first.iter_mut().zip(&mut **second).zip(a.iter().zip(*b)) {
        let product = *first;
        (*first, *second) = (a ^ product, b ^ product);
    }
    Ok(())
}

/// Writes rows that are sent.
fn write(sent: &mut [u8], rows: impl Iterator<Item = Block>) {
    let sent = sent.chunks_exact_mut(ROW_BYTES);
    sent.zip(rows).for_each(|(sent, row)| sent.copy_from_slice(row.as_bytes()));
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
        self.rows.resize(x.len(), GarbledGate::default());
        gates.garble(delta, index, x, bits, out, self.rows.as_mut_bytes());
        write(sent, self.rows.iter().map(|row| row.garbler_half));
    }

    /// Evaluates what [`KnownGates::garble_own`] garbled; the evaluator's labels of the bits are 0.
    pub(super) fn evaluate_peers(
        &mut self,
        (gates, index): (&HalfGates, AndIndex),
        &Piece { x, .. }: &Piece<'_>,
        out: &mut [Block],
        received: &[u8],
    ) {
        self.rows.clear();
        let row = |garbler_half: Block| GarbledGate { garbler_half, ..GarbledGate::default() };
        self.rows.extend(blocks(received).map(row));
        gates.evaluate(index, x, &[Block::ZERO], out, self.rows.as_bytes());
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
        self.rows.resize(x.len(), GarbledGate::default());
        let rows = self.rows.as_mut_bytes();
        gates.garble(delta, index, &self.repeated, &[Block::ZERO], out, rows);
        write(sent, self.rows.iter().zip(x).map(|(row, &x)| row.garbler_half ^ x));
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
        self.rows.clear();
        self.rows.resize(x.len(), GarbledGate::default());
        gates.evaluate(index, &self.repeated, &[Block::ZERO], out, self.rows.as_bytes());
        let known = self.repeated.iter().map(|label| label.select_bit());
        for ((out, known), (row, &x)) in out.iter_mut().zip(known).zip(blocks(received).zip(x)) {
            *out ^= (row ^ x).and_bit(known);
        }
    }
}
