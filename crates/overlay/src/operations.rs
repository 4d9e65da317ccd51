//! [`Operations`]: a netlist as operations of the cell, each of which absorbs XORs around it.
//!
//! Labels of XORs are XORs of labels, so a XOR that only feeds other gates needs no operation of its own. The AND
//! operation computes `(a0 ^ a1) & (b0 ^ b1) ^ p0 ^ p1`, the XOR operation `x0 ^ x1 ^ x2`; either may complement.
//! A XOR node becomes an operation only if more than that would have to be absorbed. Rows do not change: the half
//! gates see the same labels.

use crate::OverlayError;
use crate::memory::MemoryBound;
use crate::netlist::{Literal, Netlist, Node};
pub use crate::sum::Sum;
use crate::sum::Terms;

/// What an operation computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Takes the label of the next input from the host.
    Load {
        /// Index of the input in [`Netlist::inputs`].
        input: u32,
    },
    /// `a & b ^ post`, as AND gate `index`.
    And {
        /// Number of the gate, which is also the place of its row in the garbler's stream.
        index: u64,
        /// First operand, of at most two values.
        a: Sum,
        /// Second operand, of at most two values.
        b: Sum,
        /// Added to the result, of at most two values.
        post: Sum,
    },
    /// `terms`
    Xor {
        /// The sum.
        terms: Sum,
    },
    /// Gives the label of `terms` to the host.
    Output {
        /// Index of the output in [`Netlist::outputs`].
        output: u32,
        /// The sum.
        terms: Sum,
    },
    /// Gives the label of a value of another cell to the cell of this operation.
    Move {
        /// The value.
        value: u32,
    },
    /// Gives the label of a value to the host, which stores it.
    Spill {
        /// The value.
        value: u32,
    },
    /// Takes back the label that an earlier operation spilled.
    Fill {
        /// The operation that spilled it.
        spill: u32,
    },
}

impl Kind {
    /// Calls `visit` with each operation that must be done before: those whose results are read, and spills.
    pub(crate) fn dependencies(&self, mut visit: impl FnMut(u32)) {
        if let Kind::Fill { spill } = self {
            visit(*spill);
        }
        self.operands(visit);
    }

    /// Calls `visit` with each value that is read.
    pub fn operands(&self, mut visit: impl FnMut(u32)) {
        match self {
            Kind::Load { .. } | Kind::Fill { .. } => {}
            Kind::Spill { value } | Kind::Move { value } => visit(*value),
            Kind::And { a, b, post, .. } => {
                a.values().iter().chain(b.values()).chain(post.values()).for_each(|&v| visit(v));
            }
            Kind::Xor { terms } | Kind::Output { terms, .. } => {
                terms.values().iter().for_each(|&v| visit(v));
            }
        }
    }
}

impl Kind {
    /// Calls `visit` with each value that is read, to rename it.
    pub(crate) fn operands_mut(&mut self, mut visit: impl FnMut(&mut u32)) {
        match self {
            Kind::Load { .. } | Kind::Fill { .. } => {}
            Kind::Spill { value } | Kind::Move { value } => visit(value),
            Kind::And { a, b, post, .. } => {
                let sums = [a, b, post].into_iter();
                sums.flat_map(|sum| sum.values_mut().iter_mut()).for_each(visit);
            }
            Kind::Xor { terms } | Kind::Output { terms, .. } => {
                terms.values_mut().iter_mut().for_each(visit);
            }
        }
    }
}

/// Operations, each after those whose results it reads. Operation `i` makes value `i`.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    /// All operations.
    pub list: Vec<Kind>,
    /// The cell of each of them, in which its value is.
    pub cells: Vec<u8>,
}

struct Fuser {
    /// Whether each node is an operand of an AND.
    is_operand: Vec<bool>,
    /// Users of each node; outputs count.
    fan_out: Vec<u32>,
    /// Longest chain of ANDs from the inputs.
    depth: Vec<u32>,
    /// What each node is the sum of.
    sums: Vec<Sum>,
    /// Operations in the order in which they were found necessary.
    found: Vec<Kind>,
    /// The node whose value each of them makes.
    owners: Vec<u32>,
    /// The last XOR that reads the value of each of them, or [`NONE`].
    xors: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// Bytes for each node of a netlist while its operations are found, the netlist included.
const NODE_BYTES: u64 = (size_of::<Node>() + size_of::<Sum>() + 2 * size_of::<u32>() + 1) as u64;

/// Bytes for each operation then: itself before and after it is put into order, its owner, its last XOR and its place.
const FOUND_BYTES: u64 = (2 * size_of::<Kind>() + 3 * size_of::<u32>()) as u64;

/// The operations of a netlist.
pub fn operations(netlist: &Netlist) -> Operations {
    operations_within(netlist, &MemoryBound::none()).expect("there is no bound")
}

/// As [`operations`], within a bound on memory that counts the netlist.
///
/// # Errors
/// [`OverlayError::Memory`] beyond the bound.
pub fn operations_within(
    netlist: &Netlist,
    bound: &MemoryBound,
) -> Result<Operations, OverlayError> {
    let nodes_bytes = NODE_BYTES * netlist.nodes.len() as u64;
    let check = |found: &[Kind]| bound.check(nodes_bytes + FOUND_BYTES * found.len() as u64);
    check(&[])?;
    let fan_out = fan_out(netlist);
    let count = netlist.nodes.len();
    let mut fuser = Fuser {
        is_operand: are_operands(netlist),
        fan_out,
        depth: vec![0; count],
        sums: vec![Sum::default(); count],
        found: Vec::new(),
        owners: Vec::new(),
        xors: Vec::new(),
    };
    let (mut and_index, mut input) = (0, 0);
    for (number, node) in netlist.nodes.iter().enumerate() {
        if number % CHECK_NODES == 0 {
            check(&fuser.found)?;
        }
        match *node {
            Node::Zero => {}
            Node::Input => {
                if fuser.fan_out[number] > 0 {
                    fuser.make(number, Kind::Load { input });
                }
                input += 1;
            }
            Node::And(a, b) => {
                fuser.depth[number] = fuser.depth[a.node()].max(fuser.depth[b.node()]) + 1;
                let (a, b) = (fuser.operand(a, 2), fuser.operand(b, 2));
                fuser.make(number, Kind::And { index: and_index, a, b, post: Sum::default() });
                and_index += 1;
            }
            Node::Xor(x, y) => {
                if fuser.fan_out[number] > 0 {
                    fuser.xor(number, x, y);
                }
            }
        }
    }
    for (output, &literal) in netlist.outputs.iter().enumerate() {
        let terms = fuser.operand(literal, 3);
        fuser.found.push(Kind::Output { output: output as u32, terms });
    }
    check(&fuser.found)?;
    Ok(in_order(fuser.found))
}

/// Nodes after which the bound on memory is looked at again.
const CHECK_NODES: usize = 4096;

/// Whether each node is an operand of an AND.
fn are_operands(netlist: &Netlist) -> Vec<bool> {
    let mut is_operand = vec![false; netlist.nodes.len()];
    for node in &netlist.nodes {
        if let Node::And(a, b) = node {
            (is_operand[a.node()], is_operand[b.node()]) = (true, true);
        }
    }
    is_operand
}

/// Users of each node, those of XORs that nobody uses left out.
fn fan_out(netlist: &Netlist) -> Vec<u32> {
    let mut fan_out = vec![0; netlist.nodes.len()];
    netlist.outputs.iter().for_each(|output| fan_out[output.node()] += 1);
    for (number, node) in netlist.nodes.iter().enumerate().rev() {
        let operands = match *node {
            Node::Zero | Node::Input => continue,
            Node::And(a, b) => [a, b],
            Node::Xor(..) if fan_out[number] == 0 => continue,
            Node::Xor(a, b) => [a, b],
        };
        operands.iter().for_each(|operand| fan_out[operand.node()] += 1);
    }
    fan_out
}

impl Fuser {
    /// Makes an operation, whose value is that of the node.
    fn make(&mut self, node: usize, kind: Kind) {
        let value = self.found.len() as u32;
        if let Kind::Xor { terms } = kind {
            terms.values().iter().for_each(|&term| self.xors[term as usize] = value);
        }
        self.sums[node] = Sum::one(value);
        self.found.push(kind);
        self.owners.push(node as u32);
        self.xors.push(NONE);
    }

    /// `x ^ y`, if at most three values are left. A XOR that is there takes the place of its terms: the sum of a full adder
    /// is that of two operands of its carry's AND.
    fn sum(&self, x: &Sum, y: &Sum) -> Option<Sum> {
        let mut terms = Terms::of(x, y);
        while let Some((value, sum)) = self.contained(&terms) {
            terms.add(&sum);
            terms.add(&Sum::one(value));
        }
        terms.into_sum()
    }

    /// A XOR operation all of whose terms are among `terms`, and its sum.
    fn contained(&self, terms: &Terms) -> Option<(u32, Sum)> {
        let values = terms.values();
        let xors = values.iter().map(|&value| self.xors[value as usize]);
        xors.filter(|&xor| xor != NONE).find_map(|xor| match self.found[xor as usize] {
            Kind::Xor { terms } if terms.values().iter().all(|term| values.contains(term)) => {
                Some((xor, terms))
            }
            _ => None,
        })
    }

    /// Makes a XOR operation of the sum of a node.
    fn materialise(&mut self, node: usize) {
        let terms = self.sums[node];
        if terms.values().len() > 1 {
            self.make(node, Kind::Xor { terms });
        }
    }

    /// A wire as a sum of at most `length` values.
    fn operand(&mut self, literal: Literal, length: usize) -> Sum {
        if self.sums[literal.node()].values().len() > length {
            self.materialise(literal.node());
        }
        self.sums[literal.node()].not_if(literal.is_not())
    }

    fn xor(&mut self, node: usize, x: Literal, y: Literal) {
        let (x, y) = (x.node(), y.node());
        self.depth[node] = self.depth[x].max(self.depth[y]);
        if self.absorb(node, x, y) || self.absorb(node, y, x) {
            return;
        }
        loop {
            if let Some(sum) = self.sum(&self.sums[x], &self.sums[y]) {
                self.sums[node] = sum;
                // An AND reads it as one label, and so should the sums that contain it.
                if sum.values().len() == 3 && self.is_operand[node] {
                    self.materialise(node);
                }
                return;
            }
            let longer = |a: usize| (self.sums[a].values().len(), self.fan_out[a]);
            self.materialise(if longer(x) >= longer(y) { x } else { y });
        }
    }

    /// Lets the AND that makes `x`, which nobody else uses, add `y`, if that does not delay it.
    fn absorb(&mut self, node: usize, x: usize, y: usize) -> bool {
        let (&[value], false) = (self.sums[x].values(), self.sums[x].is_not()) else {
            return false;
        };
        if self.fan_out[x] != 1 || self.depth[y] >= self.depth[x] {
            return false;
        }
        let Kind::And { index, a, b, post } = self.found[value as usize] else { return false };
        // Other sums may hold the value of another node.
        if self.owners[value as usize] != x as u32 {
            return false;
        }
        let mut sum = post.plus(&self.sums[y]).filter(|sum| sum.values().len() <= 2);
        if sum.is_none() && post.values().len() < 2 {
            self.materialise(y);
            sum = post.plus(&self.sums[y]);
        }
        let Some(post) = sum else { return false };
        self.found[value as usize] = Kind::And { index, a, b, post };
        self.owners[value as usize] = node as u32;
        self.sums[node] = Sum::one(value);
        true
    }
}

/// Renumbers operations so that each follows those that it reads. Loads and XORs come where they are first needed, so that
/// their labels do not live longer than they must.
fn in_order(found: Vec<Kind>) -> Operations {
    let mut place = vec![NONE; found.len()];
    let mut list = Vec::with_capacity(found.len());
    let mut stack = Vec::new();
    for first in 0..found.len() as u32 {
        if matches!(found[first as usize], Kind::Load { .. } | Kind::Xor { .. }) {
            continue;
        }
        stack.push(first);
        while let Some(&value) = stack.last() {
            if place[value as usize] != NONE {
                stack.pop();
                continue;
            }
            let before = stack.len();
            found[value as usize].operands(|operand| {
                if place[operand as usize] == NONE {
                    stack.push(operand);
                }
            });
            if stack.len() == before {
                place[value as usize] = list.len() as u32;
                list.push(renamed(found[value as usize], &place));
                stack.pop();
            }
        }
    }
    let cells = vec![0; list.len()];
    Operations { list, cells }
}

fn renamed(mut kind: Kind, place: &[u32]) -> Kind {
    kind.operands_mut(|value| *value = place[*value as usize]);
    kind
}
