//! [`Layers`]: the gates of a netlist by distance from its inputs, and how wires are used across layers.
//!
//! Source: the layer extractor and the statistics of sections 3.3.2 and 3.4.2. A gate is in the layer after the last of
//! its operands; primary inputs are in layer 0. A layer is garbled in batches, the XORs of a layer before its ANDs.

use std::ops::Range;

use super::netlist::{Gate, GateKind, Netlist, WireId};

/// The layers of a netlist.
pub struct Layers {
    /// All gates, by layer, XOR before AND, else in the order of the netlist.
    pub gates: Vec<Gate>,
    /// Where the gates of each layer stand: XOR, AND.
    ranges: Vec<[Range<usize>; 2]>,
    /// Layer of each wire.
    layer_of: Vec<u32>,
    /// How often each wire is read.
    fan_out: Vec<u32>,
    /// The wires that are stored on chip under the directly-used policy.
    is_direct: Vec<bool>,
    wire_count: usize,
}

/// Counts of Tables 1 and 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Table 1, "Layers".
    pub layers: usize,
    /// Table 1, "ANDs".
    pub ands: usize,
    /// Table 1, "XORs".
    pub xors: usize,
    /// Table 3, "Wire".
    pub wires: usize,
    /// Table 3, "A": results of gates that are read once.
    pub single_use: usize,
    /// Table 3, "B": those that the next layer reads.
    pub direct: usize,
    /// Table 3, "C": those that a later layer reads.
    pub single_use_later: usize,
    /// Table 3, "Max D": most wires of kind B in one layer. The paper says kind A there, which does not give its numbers.
    pub direct_in_layer_max: usize,
}

impl Layers {
    /// Extracts the layers.
    pub fn new(netlist: &Netlist) -> Layers {
        let wires = netlist.wires_end as usize;
        let (mut layer_of, mut fan_out) = (vec![0u32; wires], vec![0u32; wires]);
        let mut read_in = vec![0u32; wires];
        let mut sizes: Vec<[usize; 2]> = Vec::new();
        for gate in &netlist.gates {
            let layer = 1 + layer_of[gate.a.index()].max(layer_of[gate.b.index()]);
            layer_of[gate.out.index()] = layer;
            for wire in [gate.a, gate.b] {
                fan_out[wire.index()] += 1;
                read_in[wire.index()] = layer;
            }
            if sizes.len() < layer as usize {
                sizes.push([0; 2]);
            }
            sizes[layer as usize - 1][gate.kind as usize] += 1;
        }
        let mut end = 0;
        let mut next = |size| {
            let start = end;
            end += size;
            start..end
        };
        let ranges: Vec<_> = sizes.iter().map(|[xors, ands]| [next(*xors), next(*ands)]).collect();
        let mut places: Vec<[usize; 2]> =
            ranges.iter().map(|[xors, ands]| [xors.start, ands.start]).collect();
        let mut gates = netlist.gates.clone();
        let mut is_direct = vec![false; wires];
        for gate in &netlist.gates {
            let (wire, layer) = (gate.out.index(), layer_of[gate.out.index()]);
            let place = &mut places[layer as usize - 1][gate.kind as usize];
            gates[*place] = *gate;
            *place += 1;
            is_direct[wire] = fan_out[wire] == 1 && read_in[wire] == layer + 1;
        }
        let wire_count = netlist.wire_count();
        Layers { gates, ranges, layer_of, fan_out, is_direct, wire_count }
    }

    /// The layers in order; each is its XORs and its ANDs.
    pub fn iter(&self) -> impl Iterator<Item = (&[Gate], &[Gate])> {
        self.ranges
            .iter()
            .map(|[xors, ands]| (&self.gates[xors.clone()], &self.gates[ands.clone()]))
    }

    /// The layer of a wire; 0 is that of inputs.
    pub fn layer_of(&self, wire: WireId) -> u32 {
        self.layer_of[wire.index()]
    }

    /// How many operands of gates a wire is.
    pub fn fan_out(&self, wire: WireId) -> u32 {
        self.fan_out[wire.index()]
    }

    /// Whether a gate makes the wire, one gate reads it, and that gate is in the next layer (section 3.4.2).
    pub fn is_direct(&self, wire: WireId) -> bool {
        self.is_direct[wire.index()]
    }

    /// The counts of the paper.
    pub fn statistics(&self) -> Statistics {
        let mut direct_in_layer = vec![0; self.ranges.len() + 1];
        let single_use = self.gates.iter().filter(|gate| self.fan_out(gate.out) == 1).count();
        for gate in self.gates.iter().filter(|gate| self.is_direct(gate.out)) {
            direct_in_layer[self.layer_of(gate.out) as usize] += 1;
        }
        let direct = direct_in_layer.iter().sum();
        let ands = self.gates.iter().filter(|gate| gate.kind == GateKind::And).count();
        Statistics {
            layers: self.ranges.len(),
            ands,
            xors: self.gates.len() - ands,
            wires: self.wire_count,
            single_use,
            direct,
            single_use_later: single_use - direct,
            direct_in_layer_max: direct_in_layer.into_iter().max().unwrap_or(0),
        }
    }
}
