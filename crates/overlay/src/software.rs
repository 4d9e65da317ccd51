//! Garbles, evaluates and computes a netlist gate by gate. The device is compared with it.

use phineus_crypto::{AndIndex, Block, Delta, GarbledGate, HalfGates, SecretBit};

use crate::netlist::{Literal, Netlist, Node};

/// Rows in the order of the gates, and labels of false of the outputs.
pub fn garble_in_software(
    netlist: &Netlist,
    (start, delta): (Block, &Delta),
    inputs: &[Block],
) -> (Vec<u8>, Vec<Block>) {
    let gates = HalfGates::new(start);
    let mut rows = vec![0; netlist.and_count as usize * GarbledGate::BYTES];
    let mut labels: Vec<Block> = Vec::with_capacity(netlist.nodes.len());
    let mut index = AndIndex::default();
    let mut inputs = inputs.iter();
    let label = |labels: &[Block], literal: Literal| {
        let is_not = SecretBit::public(literal.is_not());
        labels[literal.node()] ^ delta.block().and_bit(is_not)
    };
    for node in &netlist.nodes {
        let out = match *node {
            Node::Zero => Block::ZERO,
            Node::Input => *inputs.next().expect("there is a label for each input"),
            Node::Xor(a, b) => label(&labels, a) ^ label(&labels, b),
            Node::And(a, b) => {
                let (a, b) = ([label(&labels, a)], [label(&labels, b)]);
                let place = index.0 as usize * GarbledGate::BYTES;
                let row = &mut rows[place..place + GarbledGate::BYTES];
                let mut out = [Block::ZERO];
                gates.garble(delta, index, &a, &b, &mut out, row);
                index = index.advance(1);
                out[0]
            }
        };
        labels.push(out);
    }
    let outputs = netlist.outputs.iter().map(|&output| label(&labels, output)).collect();
    (rows, outputs)
}

/// Active labels of the outputs, from those of the inputs and the rows of the gates.
///
/// # Panics
/// If there is not one label for each input and one row for each gate.
pub fn evaluate_in_software(
    netlist: &Netlist,
    start: Block,
    inputs: &[Block],
    rows: &[u8],
) -> Vec<Block> {
    let gates = HalfGates::new(start);
    let mut labels: Vec<Block> = Vec::with_capacity(netlist.nodes.len());
    let (mut inputs, mut rows) = (inputs.iter(), rows.chunks_exact(GarbledGate::BYTES));
    let mut index = AndIndex::default();
    for node in &netlist.nodes {
        let out = match *node {
            Node::Zero => Block::ZERO,
            Node::Input => *inputs.next().expect("there is a label for each input"),
            Node::Xor(a, b) => labels[a.node()] ^ labels[b.node()],
            Node::And(a, b) => {
                let (a, b) = ([labels[a.node()]], [labels[b.node()]]);
                let row = rows.next().expect("there is a row for each gate");
                let mut out = [Block::ZERO];
                gates.evaluate(index, &a, &b, &mut out, row);
                index = index.advance(1);
                out[0]
            }
        };
        labels.push(out);
    }
    netlist.outputs.iter().map(|output| labels[output.node()]).collect()
}

/// The outputs in the clear.
///
/// # Panics
/// If there is not one bit for each input.
pub fn compute_in_clear(netlist: &Netlist, inputs: &[bool]) -> Vec<bool> {
    let mut values: Vec<bool> = Vec::with_capacity(netlist.nodes.len());
    let mut inputs = inputs.iter();
    let value = |values: &[bool], literal: Literal| values[literal.node()] ^ literal.is_not();
    for node in &netlist.nodes {
        let out = match *node {
            Node::Zero => false,
            Node::Input => *inputs.next().expect("there is a bit for each input"),
            Node::Xor(a, b) => value(&values, a) ^ value(&values, b),
            Node::And(a, b) => value(&values, a) & value(&values, b),
        };
        values.push(out);
    }
    netlist.outputs.iter().map(|&output| value(&values, output)).collect()
}
