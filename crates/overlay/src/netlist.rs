//! [`Netlist`]: AND, XOR and NOT of single wires, in the order in which the software garbler meets them.
//!
//! [`NetlistBuilder`] is a [`BitAlgebra`], so it records exactly the circuits that are garbled in software. ANDs
//! are never folded: AND number `g` of the netlist is AND number `g` of the garbler, with the tweaks `2g` and
//! `2g + 1`. XORs with equal or constant inputs are folded, because XOR costs no row. NOT is a flag of a wire.

use phineus_circuits::BitAlgebra;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::OverlayError;

/// A wire of a netlist: a node, possibly complemented. Node 0 is the constant 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Literal(u32);

impl Literal {
    /// The constant 0.
    pub const ZERO: Literal = Literal(0);

    /// A node, complemented if `is_not`.
    pub fn new(node: u32, is_not: bool) -> Literal {
        Literal(2 * node + u32::from(is_not))
    }

    /// Index of the node in [`Netlist::nodes`].
    pub fn node(self) -> usize {
        (self.0 / 2) as usize
    }

    /// Whether the wire is the complement of the node.
    pub fn is_not(self) -> bool {
        self.0 % 2 == 1
    }

    fn is_constant(self) -> bool {
        self.0 < 2
    }

    fn positive(self) -> Literal {
        Literal(self.0 & !1)
    }

    fn not_if(self, condition: bool) -> Literal {
        Literal(self.0 ^ u32::from(condition))
    }
}

/// One node of a netlist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// The constant 0; node 0 and no other.
    Zero,
    /// An input; its label comes from the host.
    Input,
    /// XOR of two different nodes, neither complemented.
    Xor(Literal, Literal),
    /// AND; the order of its operands is that of the half gates.
    And(Literal, Literal),
}

/// A circuit of single wires. Operands of a node precede it.
#[derive(Clone, Debug, Default)]
pub struct Netlist {
    /// All nodes.
    pub nodes: Vec<Node>,
    /// Nodes of the inputs, in the order in which the program reads them.
    pub inputs: Vec<u32>,
    /// Outputs in the order of the program.
    pub outputs: Vec<Literal>,
    /// AND nodes.
    pub and_count: u64,
}

/// Nodes of one netlist; a [`Literal`] has 32 bits.
pub const NODES_MAX: usize = 1 << 28;

/// Records a netlist.
pub struct NetlistBuilder {
    netlist: Netlist,
    nodes_max: usize,
    is_full: bool,
}

impl Default for NetlistBuilder {
    fn default() -> NetlistBuilder {
        NetlistBuilder::new()
    }
}

/// A recorded wire in the memory of the engine, which gives a label 16 bytes.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct NetlistWire([u32; 4]);

impl NetlistWire {
    fn of(literal: Literal) -> NetlistWire {
        NetlistWire([literal.0, 0, 0, 0])
    }

    fn literal(self) -> Literal {
        Literal(self.0[0])
    }
}

impl NetlistBuilder {
    /// An empty netlist.
    pub fn new() -> NetlistBuilder {
        let netlist = Netlist { nodes: vec![Node::Zero], ..Netlist::default() };
        NetlistBuilder { netlist, nodes_max: NODES_MAX, is_full: false }
    }

    /// Lets it have at most so many nodes.
    pub fn with_nodes_max(self, nodes_max: usize) -> NetlistBuilder {
        NetlistBuilder { nodes_max: nodes_max.min(NODES_MAX), ..self }
    }

    /// Fails if a node had no space.
    ///
    /// # Errors
    /// [`OverlayError::TooManyGates`].
    pub fn check(&self) -> Result<(), OverlayError> {
        let nodes_max = self.nodes_max as u64;
        if self.is_full { Err(OverlayError::TooManyGates { nodes_max }) } else { Ok(()) }
    }

    /// Makes each of `wires` a new input.
    pub fn inputs(&mut self, wires: &mut [NetlistWire]) {
        for wire in wires {
            let literal = self.push(Node::Input);
            self.netlist.inputs.push(literal.node() as u32);
            *wire = NetlistWire::of(literal);
        }
    }

    /// Makes each of `wires` an output.
    pub fn outputs(&mut self, wires: &[NetlistWire]) {
        self.netlist.outputs.extend(wires.iter().map(|wire| wire.literal()));
    }

    /// ANDs and outputs so far.
    pub fn counts(&self) -> (u64, usize) {
        (self.netlist.and_count, self.netlist.outputs.len())
    }

    /// The netlist that was recorded.
    ///
    /// # Errors
    /// [`OverlayError::TooManyGates`] beyond [`NODES_MAX`], or what was stated.
    pub fn finish(self) -> Result<Netlist, OverlayError> {
        self.check()?;
        Ok(self.netlist)
    }

    fn push(&mut self, node: Node) -> Literal {
        if self.netlist.nodes.len() >= self.nodes_max {
            self.is_full = true;
            return Literal::ZERO;
        }
        self.netlist.nodes.push(node);
        Literal::new(self.netlist.nodes.len() as u32 - 1, false)
    }

    fn xor2(&mut self, a: Literal, b: Literal) -> Literal {
        let is_not = a.is_not() != b.is_not();
        let (a, b) = (a.positive(), b.positive());
        let folded = if a == b {
            Some(Literal::ZERO)
        } else if a.is_constant() {
            Some(b)
        } else if b.is_constant() {
            Some(a)
        } else {
            self.cancelled(a, b).or_else(|| self.cancelled(b, a))
        };
        folded.unwrap_or_else(|| self.push(Node::Xor(a, b))).not_if(is_not)
    }

    /// `sum ^ term` if `sum` is the XOR of `term` and another node.
    fn cancelled(&self, term: Literal, sum: Literal) -> Option<Literal> {
        match self.netlist.nodes[sum.node()] {
            Node::Xor(x, y) if x == term => Some(y),
            Node::Xor(x, y) if y == term => Some(x),
            Node::Zero | Node::Input | Node::Xor(..) | Node::And(..) => None,
        }
    }
}

impl BitAlgebra for NetlistBuilder {
    type Wire = NetlistWire;

    fn xor(&mut self, out: &mut [NetlistWire], a: &[NetlistWire], b: &[NetlistWire]) {
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out = NetlistWire::of(self.xor2(a.literal(), b.literal()));
        }
    }

    fn xor_assign(&mut self, out: &mut [NetlistWire], a: &[NetlistWire]) {
        for (out, a) in out.iter_mut().zip(a) {
            *out = NetlistWire::of(self.xor2(out.literal(), a.literal()));
        }
    }

    fn not(&mut self, out: &mut [NetlistWire], a: &[NetlistWire]) {
        for (out, a) in out.iter_mut().zip(a) {
            *out = NetlistWire::of(a.literal().not_if(true));
        }
    }

    fn and(&mut self, out: &mut [NetlistWire], a: &[NetlistWire], b: &[NetlistWire]) {
        for ((out, a), b) in out.iter_mut().zip(a).zip(b.iter().cycle()) {
            *out = NetlistWire::of(self.push(Node::And(a.literal(), b.literal())));
            self.netlist.and_count += 1;
        }
    }

    fn constant(&mut self, out: &mut [NetlistWire], value: bool) {
        out.fill(NetlistWire::of(Literal::ZERO.not_if(value)));
    }
}
