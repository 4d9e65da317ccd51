//! Conversions between SIFO's netlists and those of our overlay, so that one program can be garbled by both.

use phineus_circuits::BitAlgebra;

use super::circuits::Circuit;
use super::netlist::{GateKind, Netlist, WireId};
use crate::OverlayError;
use crate::netlist::{self, Literal, NetlistBuilder, NetlistWire, Node};

impl Netlist {
    /// The same gates for our overlay. It folds XORs with constants, and no ANDs.
    ///
    /// # Errors
    /// [`OverlayError::TooManyGates`] if it is too large.
    pub fn to_overlay(&self) -> Result<netlist::Netlist, OverlayError> {
        let mut builder = NetlistBuilder::new();
        let mut wires = vec![NetlistWire::default(); self.wires_end as usize];
        let mut inputs = vec![NetlistWire::default(); self.inputs.len()];
        builder.inputs(&mut inputs);
        self.inputs.iter().zip(inputs).for_each(|(wire, input)| wires[wire.index()] = input);
        for (wire, value) in [(WireId::ONE, true)].iter().chain(&self.constants).copied() {
            builder.constant(&mut wires[wire.index()..=wire.index()], value);
        }
        for gate in &self.gates {
            let (a, b) = ([wires[gate.a.index()]], [wires[gate.b.index()]]);
            let out = &mut wires[gate.out.index()..=gate.out.index()];
            match gate.kind {
                GateKind::Xor => builder.xor(out, &a, &b),
                GateKind::And => builder.and(out, &a, &b),
            }
        }
        let outputs: Vec<NetlistWire> =
            self.outputs.iter().map(|wire| wires[wire.index()]).collect();
        builder.outputs(&outputs);
        builder.finish()
    }

    /// The gates of a recorded program for SIFO. A complement is a XOR with the constant 1.
    pub fn from_overlay(recorded: &netlist::Netlist) -> Netlist {
        let mut circuit = Circuit::default();
        let mut inputs = circuit.input(recorded.inputs.len()).into_iter();
        let mut wires = Wires { wires: Vec::new(), complements: Vec::new() };
        for node in &recorded.nodes {
            let wire = match *node {
                Node::Zero => WireId::ZERO,
                Node::Input => inputs.next().expect("inputs are in the order of their nodes"),
                Node::Xor(a, b) => {
                    let (a, b) = (wires.of(&mut circuit, a), wires.of(&mut circuit, b));
                    circuit.xor(a, b)
                }
                Node::And(a, b) => {
                    let (a, b) = (wires.of(&mut circuit, a), wires.of(&mut circuit, b));
                    circuit.and(a, b)
                }
            };
            wires.wires.push(wire);
            wires.complements.push(None);
        }
        let outputs: Vec<WireId> =
            recorded.outputs.iter().map(|&output| wires.of(&mut circuit, output)).collect();
        circuit.output(&outputs);
        circuit.finish()
    }
}

/// Wires of the nodes so far, and of complements that were needed.
struct Wires {
    wires: Vec<WireId>,
    complements: Vec<Option<WireId>>,
}

impl Wires {
    fn of(&mut self, circuit: &mut Circuit, literal: Literal) -> WireId {
        let (node, wire) = (literal.node(), self.wires[literal.node()]);
        if !literal.is_not() {
            return wire;
        }
        if wire == WireId::ZERO {
            return WireId::ONE;
        }
        *self.complements[node].get_or_insert_with(|| circuit.not(wire))
    }
}
