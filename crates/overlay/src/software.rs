//! [`garble_in_software`]: garbles a netlist gate by gate. Tests compare the device with it.

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
