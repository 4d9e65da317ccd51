//! Garbling in software as SIFO's cell gAND does it: the reference for its tables.
//!
//! Sources: equation 1 and Figure 3 of the paper; row reduction of Naor, Pinkas, Sumner; point and permute of Beaver,
//! Micali, Rogaway; free XOR of Kolesnikov, Schneider. A row is the label of the result, XORed with the first 80 bits of
//! SHA-1(label a, label b, AND number). The row of the two labels with select bits 0 is the label itself and is not sent.
//! Label bytes, the select bit (lowest bit of byte 0) and the order of rows are those of FlexSC. ANDs are numbered in the
//! order of garbling, layer by layer, as the device counts them; FlexSC counts in the order of the program.
//!
//! Cost of an AND: 4 hashes and 30 bytes to garble, 1 hash to evaluate.

use sha1::{Digest, Sha1};

use super::layers::Layers;
use super::netlist::{GateKind, Netlist, WireId};

/// Bytes of a label.
pub const LABEL_BYTES: usize = 10;

/// Label of a wire: 80 bits. Unlike other labels it can be compared, because nothing secret is ever garbled with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ShortLabel(pub [u8; LABEL_BYTES]);

/// Rows of one AND, by select bits of its operands: (0, 1), (1, 0), (1, 1).
pub type Rows = [ShortLabel; 3];

impl ShortLabel {
    /// Label of the constant 0, and active label of the constant 1.
    pub const ZERO: ShortLabel = ShortLabel([0; LABEL_BYTES]);

    /// The point-and-permute bit.
    pub fn select_bit(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// This label as a free-XOR offset: its select bit is 1.
    pub fn into_offset(mut self) -> ShortLabel {
        self.0[0] |= 1;
        self
    }

    /// The label, or 0.
    pub fn if_bit(self, bit: bool) -> ShortLabel {
        if bit { self } else { ShortLabel::ZERO }
    }
}

impl std::ops::BitXor for ShortLabel {
    type Output = ShortLabel;

    fn bitxor(self, other: ShortLabel) -> ShortLabel {
        ShortLabel(std::array::from_fn(|byte| self.0[byte] ^ other.0[byte]))
    }
}

/// The hash of equation 1.
fn hash(a: ShortLabel, b: ShortLabel, number: u64) -> ShortLabel {
    let digest = Sha1::new().chain_update(a.0).chain_update(b.0).chain_update(number.to_be_bytes());
    let digest = digest.finalize();
    ShortLabel(digest[..LABEL_BYTES].try_into().expect("a digest has 20 bytes"))
}

/// Garbles AND number `number`. `a` and `b` are labels of false; returns that of the result.
pub fn garble_and(
    offset: ShortLabel,
    (a, b): (ShortLabel, ShortLabel),
    number: u64,
) -> (ShortLabel, Rows) {
    let (select_a, select_b) = (a.select_bit(), b.select_bit());
    // The label of an operand with a given select bit; `^` of select bits is the truth value.
    let with =
        |label: ShortLabel, select: bool, wanted: bool| label ^ offset.if_bit(select ^ wanted);
    let pad =
        |wanted_a, wanted_b| hash(with(a, select_a, wanted_a), with(b, select_b, wanted_b), number);
    // Operands with select bits 0 have the truth values select_a and select_b.
    let out = pad(false, false) ^ offset.if_bit(select_a & select_b);
    let row = |wanted_a: bool, wanted_b: bool| {
        let value = (wanted_a ^ select_a) & (wanted_b ^ select_b);
        pad(wanted_a, wanted_b) ^ out ^ offset.if_bit(value)
    };
    (out, [row(false, true), row(true, false), row(true, true)])
}

/// Evaluates AND number `number` on active labels.
pub fn evaluate_and((a, b): (ShortLabel, ShortLabel), number: u64, rows: &Rows) -> ShortLabel {
    let pad = hash(a, b, number);
    match 2 * usize::from(a.select_bit()) + usize::from(b.select_bit()) {
        0 => pad,
        place => pad ^ rows[place - 1],
    }
}

/// A garbled netlist.
pub struct GarbledNetlist {
    /// Rows of the ANDs in the order of garbling.
    pub rows: Vec<Rows>,
    /// Label of false of each wire, by number.
    pub labels: Vec<ShortLabel>,
}

/// Labels by wire: of the inputs, then of the constants, in the order of the netlist. Others are 0.
fn label_table(netlist: &Netlist, labels: &[ShortLabel]) -> Vec<ShortLabel> {
    let mut table = vec![ShortLabel::ZERO; netlist.wires_end as usize];
    let constants = netlist.constants.iter().map(|(wire, _)| wire);
    let wires: Vec<_> = netlist.inputs.iter().chain(constants).collect();
    assert_eq!(wires.len(), labels.len(), "one label for each input and constant");
    wires.into_iter().zip(labels).for_each(|(wire, label)| table[wire.index()] = *label);
    table
}

/// Garbles all gates. `labels` are labels of false of inputs and constants, in the order of the netlist.
///
/// # Panics
/// If the number of labels is another.
pub fn garble(
    netlist: &Netlist,
    layers: &Layers,
    offset: ShortLabel,
    labels: &[ShortLabel],
) -> GarbledNetlist {
    let mut labels = label_table(netlist, labels);
    // The active label of the constant 1 is then 0.
    labels[WireId::ONE.index()] = offset;
    let mut rows = Vec::new();
    for gate in &layers.gates {
        let operands = (labels[gate.a.index()], labels[gate.b.index()]);
        labels[gate.out.index()] = match gate.kind {
            GateKind::Xor => operands.0 ^ operands.1,
            GateKind::And => {
                let (label, garbled) = garble_and(offset, operands, rows.len() as u64);
                rows.push(garbled);
                label
            }
        };
    }
    GarbledNetlist { rows, labels }
}

/// Evaluates all gates; returns the active labels of all wires. `active` are those of inputs and constants.
///
/// # Panics
/// If the number of labels or rows is another.
pub fn evaluate(
    netlist: &Netlist,
    layers: &Layers,
    active: &[ShortLabel],
    rows: &[Rows],
) -> Vec<ShortLabel> {
    let mut labels = label_table(netlist, active);
    let mut numbered = (0..).zip(rows);
    for gate in &layers.gates {
        let operands = (labels[gate.a.index()], labels[gate.b.index()]);
        labels[gate.out.index()] = match gate.kind {
            GateKind::Xor => operands.0 ^ operands.1,
            GateKind::And => {
                let (number, rows) = numbered.next().expect("there are rows for each AND");
                evaluate_and(operands, number, rows)
            }
        };
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_gate_has_the_rows_of_figure_3() {
        // All rows from the definition, for all select bits.
        let offset = ShortLabel([0x5b; LABEL_BYTES]);
        for selects in 0..4u8 {
            let mut a = ShortLabel([0x10; LABEL_BYTES]);
            let mut b = ShortLabel([0x32; LABEL_BYTES]);
            (a.0[0], b.0[0]) = (0x10 | selects & 1, 0x32 | selects >> 1);
            let (out, rows) = garble_and(offset, (a, b), 7);
            for values in 0..4u8 {
                let (x, y) = (values & 1 == 1, values >> 1 == 1);
                let active = (a ^ offset.if_bit(x), b ^ offset.if_bit(y));
                let result = evaluate_and(active, 7, &rows);
                assert!(result == out ^ offset.if_bit(x & y), "{selects} {values}");
                assert!(evaluate_and(active, 8, &rows) != result, "the number is hashed");
            }
        }
    }

    #[test]
    fn the_hash_has_the_layout_of_flexsc() {
        let message: Vec<u8> = (1..=20).chain([0, 0, 0, 0, 0, 1, 2, 3]).collect();
        let a = ShortLabel(std::array::from_fn(|byte| byte as u8 + 1));
        let b = ShortLabel(std::array::from_fn(|byte| byte as u8 + 11));
        assert!(hash(a, b, 0x01_0203).0[..] == Sha1::digest(message)[..10]);
    }
}
