//! [`Netlist`]: AND, XOR and NOT of single wires, in the order in which the software garbler meets them.
//!
//! [`NetlistBuilder`] is a [`BitAlgebra`], so it records exactly the circuits that are garbled in software. ANDs
//! are never folded: AND number `g` of the netlist is AND number `g` of the garbler, with the tweaks `2g` and
//! `2g + 1`. XORs with equal or constant inputs are folded, because XOR costs no row. NOT is a flag of a wire.

use phineus_circuits::BitAlgebra;
use phineus_plan::Scratch;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::OverlayError;
use crate::gates::{GateFile, RecordedGates};

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

    /// The literal as a number.
    pub(crate) fn bits(self) -> u32 {
        self.0
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
    /// Nodes before each output.
    pub(crate) output_places: Vec<u32>,
    /// AND nodes.
    pub and_count: u64,
}

/// Nodes of one netlist; a [`Literal`] has 32 bits, and an operand of a recorded gate two flags besides.
pub const NODES_MAX: usize = 1 << 30;

/// Nodes before a XOR that are looked at to fold it. More are not, so that a netlist need not be in memory.
const RECENT_NODES: usize = 1 << 15;
const _: () = assert!(RECENT_NODES.is_power_of_two());

/// Where the gates go.
enum Gates {
    Memory(Netlist),
    File(GateFile),
}

/// Records a netlist.
pub struct NetlistBuilder {
    gates: Gates,
    /// Operands of the last XORs, at the remainder of the node; 0 of other nodes.
    recent: Vec<[Literal; 2]>,
    node_count: usize,
    and_count: u64,
    input_count: u32,
    output_count: usize,
    nodes_max: usize,
    fault: Option<OverlayError>,
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
    /// An empty netlist in memory.
    pub fn new() -> NetlistBuilder {
        let netlist = Netlist { nodes: vec![Node::Zero], ..Netlist::default() };
        NetlistBuilder::with(Gates::Memory(netlist))
    }

    /// An empty netlist in a scratch file.
    pub fn in_scratch(scratch: &Scratch) -> NetlistBuilder {
        NetlistBuilder::with(Gates::File(GateFile::new(scratch)))
    }

    fn with(gates: Gates) -> NetlistBuilder {
        NetlistBuilder {
            gates,
            recent: vec![[Literal::ZERO; 2]; RECENT_NODES],
            // The constant.
            node_count: 1,
            and_count: 0,
            input_count: 0,
            output_count: 0,
            nodes_max: NODES_MAX,
            fault: None,
        }
    }

    /// Lets it have at most so many nodes.
    pub fn with_nodes_max(self, nodes_max: usize) -> NetlistBuilder {
        NetlistBuilder { nodes_max: nodes_max.min(NODES_MAX), ..self }
    }

    /// Fails if a node had no space, or a file could not be written.
    ///
    /// # Errors
    /// [`OverlayError::TooManyGates`] or [`OverlayError::Scratch`].
    pub fn check(&mut self) -> Result<(), OverlayError> {
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Makes each of `wires` a new input.
    pub fn inputs(&mut self, wires: &mut [NetlistWire]) {
        for wire in wires {
            let literal = self.push(Node::Input);
            self.input_count += 1;
            if let Gates::Memory(netlist) = &mut self.gates {
                netlist.inputs.push(literal.node() as u32);
            }
            *wire = NetlistWire::of(literal);
        }
    }

    /// Makes each of `wires` an output.
    pub fn outputs(&mut self, wires: &[NetlistWire]) {
        for wire in wires {
            match &mut self.gates {
                Gates::Memory(netlist) => {
                    netlist.outputs.push(wire.literal());
                    netlist.output_places.push(self.node_count as u32);
                }
                Gates::File(file) => {
                    let pushed = file.output(wire.literal(), self.output_count as u32);
                    self.fault = self.fault.take().or(pushed.err());
                }
            }
            self.output_count += 1;
        }
    }

    /// ANDs and outputs so far.
    pub fn counts(&self) -> (u64, usize) {
        (self.and_count, self.output_count)
    }

    /// The netlist that was recorded.
    ///
    /// # Errors
    /// [`OverlayError::TooManyGates`] beyond [`NODES_MAX`], or what was stated.
    ///
    /// # Panics
    /// If it is in a scratch file.
    pub fn finish(mut self) -> Result<Netlist, OverlayError> {
        self.check()?;
        match self.gates {
            Gates::Memory(netlist) => Ok(Netlist { and_count: self.and_count, ..netlist }),
            Gates::File(_) => panic!("the gates are in a file"),
        }
    }

    /// The gates that were recorded in a scratch file.
    ///
    /// # Errors
    /// As [`NetlistBuilder::check`].
    ///
    /// # Panics
    /// If they are in memory.
    pub fn finish_gates(mut self) -> Result<RecordedGates, OverlayError> {
        self.check()?;
        match self.gates {
            Gates::Memory(_) => panic!("the gates are in memory"),
            Gates::File(file) => file.finish(self.node_count, (self.and_count, self.input_count)),
        }
    }

    #[inline]
    fn push(&mut self, node: Node) -> Literal {
        let number = self.node_count;
        if number >= self.nodes_max {
            let nodes_max = self.nodes_max as u64;
            self.fault.get_or_insert(OverlayError::TooManyGates { nodes_max });
            return Literal::ZERO;
        }
        self.node_count += 1;
        self.recent[number % RECENT_NODES] = match node {
            Node::Xor(a, b) => [a, b],
            Node::Zero | Node::Input | Node::And(..) => [Literal::ZERO; 2],
        };
        match &mut self.gates {
            Gates::Memory(netlist) => netlist.nodes.push(node),
            Gates::File(file) => {
                if let Err(error) = file.node(node, self.input_count) {
                    self.fault.get_or_insert(error);
                }
            }
        }
        Literal::new(number as u32, false)
    }

    #[inline]
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

    /// `sum ^ term` if `sum` is a recent XOR of `term`, which is no constant, and another node.
    #[inline]
    fn cancelled(&self, term: Literal, sum: Literal) -> Option<Literal> {
        if self.node_count - sum.node() > RECENT_NODES {
            return None;
        }
        let [x, y] = self.recent[sum.node() % RECENT_NODES];
        if x == term {
            Some(y)
        } else if y == term {
            Some(x)
        } else {
            None
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
            self.and_count += 1;
        }
    }

    fn constant(&mut self, out: &mut [NetlistWire], value: bool) {
        out.fill(NetlistWire::of(Literal::ZERO.not_if(value)));
    }
}
