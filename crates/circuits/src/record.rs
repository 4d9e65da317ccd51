//! [`Recorder`]: records a circuit once; [`CircuitTemplate`]: the recorded circuit, by AND depth.
//!
//! A protocol that pays a round for each level of ANDs does not evaluate a circuit gate by gate: it
//! runs a template on rows, level after level, with as many lanes in a row as it likes.
//!
//! The recorder is a [`BitAlgebra`], so every circuit of this crate can be recorded. It simplifies
//! as it goes: gates with constants, with equal or with complementary inputs fold away, equal
//! gates are one gate (also an AND whose inputs differ by complements only, as
//! `!a & b = b ^ (a & b)`), and gates that no output needs are left out.
//!
//! Cost: time and memory linear in the gates. A template has exactly the ANDs and the depth that
//! it says ([`CircuitTemplate::and_count`], [`CircuitTemplate::depth`]).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Not;

use crate::BitAlgebra;

mod apart;
mod schedule;
mod template;

pub use template::{And, CircuitTemplate, Level, LocalGate};

/// A recorded wire: the name of a gate's result, or of its complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Wire(u32);

impl Wire {
    /// The constant 0.
    pub const ZERO: Wire = Wire(0);
    /// The constant 1.
    pub const ONE: Wire = Wire(1);

    /// A public constant.
    pub fn constant(value: bool) -> Wire {
        Wire(u32::from(value))
    }

    fn of(gate: usize) -> Wire {
        Wire(u32::try_from(2 * gate).expect("a circuit has fewer than 2^31 gates"))
    }

    fn gate(self) -> usize {
        (self.0 / 2) as usize
    }

    fn is_complement(self) -> bool {
        self.0 % 2 == 1
    }

    /// The gate's result itself.
    fn positive(self) -> Wire {
        Wire(self.0 & !1)
    }

    /// The complement if `condition`.
    pub(crate) fn not_if(self, condition: bool) -> Wire {
        Wire(self.0 ^ u32::from(condition))
    }

    fn is_constant(self) -> bool {
        self.gate() == 0
    }
}

impl Default for Wire {
    fn default() -> Wire {
        Wire::ZERO
    }
}

impl Not for Wire {
    type Output = Wire;

    fn not(self) -> Wire {
        self.not_if(true)
    }
}

/// Hashes pairs of wires by multiplication: names that were counted need no defence against whoever
/// chooses them, and recording spends half its time here with the hash of the standard library.
#[derive(Default)]
struct WireHasher(u64);

impl Hasher for WireHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    fn write_u32(&mut self, name: u32) {
        // The golden ratio, odd; high bits depend on all of the names.
        self.0 = (self.0 ^ u64::from(name)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The gate of two inputs.
type Known = HashMap<(Wire, Wire), Wire, BuildHasherDefault<WireHasher>>;

/// Operation of a gate. Inputs of XORs are never complements.
#[derive(Clone, Copy)]
enum Gate {
    /// The constant 0; gate 0 and no other.
    Zero,
    Input,
    Xor(Wire, Wire),
    And(Wire, Wire),
}

/// Records a circuit of single wires: a value of `w` bits is `w` wires.
pub struct Recorder {
    gates: Vec<Gate>,
    depths: Vec<u32>,
    input_count: u32,
    xors: Known,
    /// By the positive inputs; the complements of the recorded gate stand in `gates`.
    ands: Known,
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder::new()
    }
}

impl Recorder {
    /// An empty circuit.
    pub fn new() -> Recorder {
        Recorder {
            gates: vec![Gate::Zero],
            depths: vec![0],
            input_count: 0,
            xors: Known::default(),
            ands: Known::default(),
        }
    }

    /// The next `count` inputs of the circuit.
    ///
    /// # Panics
    /// When gates were recorded before: inputs come first.
    pub fn inputs(&mut self, count: usize) -> Vec<Wire> {
        assert_eq!(self.gates.len(), 1 + self.input_count as usize, "inputs come before gates");
        self.input_count += u32::try_from(count).expect("a circuit has fewer than 2^31 inputs");
        (0..count).map(|_| self.push(Gate::Input, 0)).collect()
    }

    /// The longest chain of ANDs from the inputs to this wire.
    pub fn depth(&self, wire: Wire) -> u32 {
        self.depths[wire.gate()]
    }

    /// `a ^ b`
    pub fn xor2(&mut self, a: Wire, b: Wire) -> Wire {
        let complement = a.is_complement() != b.is_complement();
        let (a, b) = (a.positive().min(b.positive()), a.positive().max(b.positive()));
        let known = if a == b {
            Some(Wire::ZERO)
        } else if a.is_constant() {
            Some(b)
        } else {
            self.cancelled(a, b).or_else(|| self.cancelled(b, a))
        };
        let known = known.or_else(|| self.xors.get(&(a, b)).copied());
        let out = known.unwrap_or_else(|| {
            let depth = self.depth(a).max(self.depth(b));
            let out = self.push(Gate::Xor(a, b), depth);
            self.xors.insert((a, b), out);
            out
        });
        out.not_if(complement)
    }

    /// `sum ^ term` where `sum` is the XOR of `term` and another wire.
    fn cancelled(&self, term: Wire, sum: Wire) -> Option<Wire> {
        match self.gates[sum.gate()] {
            Gate::Xor(x, y) if x == term => Some(y),
            Gate::Xor(x, y) if y == term => Some(x),
            _ => None,
        }
    }

    /// `a & b`
    pub fn and2(&mut self, a: Wire, b: Wire) -> Wire {
        let (a, b) = (a.min(b), a.max(b));
        if a == b || a == Wire::ONE {
            return b;
        }
        if a == !b || a == Wire::ZERO {
            return Wire::ZERO;
        }
        let key = (a.positive(), b.positive());
        if let Some(&known) = self.ands.get(&key) {
            return self.with_complements(known, a, b);
        }
        let depth = self.depth(a).max(self.depth(b)) + 1;
        let out = self.push(Gate::And(a, b), depth);
        self.ands.insert(key, out);
        out
    }

    /// `a & b` from the AND of the same wires up to complements: with `a = x ^ p`, `b = y ^ q`
    /// it is `xy ^ qx ^ py ^ pq`.
    fn with_complements(&mut self, known: Wire, a: Wire, b: Wire) -> Wire {
        let Gate::And(x, y) = self.gates[known.gate()] else {
            unreachable!("the table of ANDs names ANDs");
        };
        let mut out = known.not_if(a != x && b != y);
        if b != y {
            out = self.xor2(out, x);
        }
        if a != x {
            out = self.xor2(out, y);
        }
        out
    }

    /// `a | b`
    pub fn or2(&mut self, a: Wire, b: Wire) -> Wire {
        !self.and2(!a, !b)
    }

    /// `selector ? a : b`
    pub fn mux(&mut self, selector: Wire, a: Wire, b: Wire) -> Wire {
        let difference = self.xor2(a, b);
        let chosen = self.and2(selector, difference);
        self.xor2(chosen, b)
    }

    /// The majority of three wires: one AND.
    pub fn majority(&mut self, a: Wire, b: Wire, c: Wire) -> Wire {
        let (x, y) = (self.xor2(a, b), self.xor2(b, c));
        let product = self.and2(x, y);
        self.xor2(b, product)
    }

    /// The circuit from the inputs to `outputs`.
    pub fn finish(self, outputs: &[Wire]) -> CircuitTemplate {
        let Recorder { gates, depths, input_count, xors, ands } = self;
        // The larger part of what a recorder holds, which nobody asks any more.
        drop((xors, ands));
        schedule::schedule(&gates, &depths, input_count, outputs)
    }

    fn push(&mut self, gate: Gate, depth: u32) -> Wire {
        let wire = Wire::of(self.gates.len());
        self.gates.push(gate);
        self.depths.push(depth);
        wire
    }
}

impl BitAlgebra for Recorder {
    type Wire = Wire;

    fn xor(&mut self, out: &mut [Wire], a: &[Wire], b: &[Wire]) {
        assert!(out.len() == a.len() && out.len() == b.len(), "lengths agree");
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = self.xor2(a, b);
        }
    }

    fn xor_assign(&mut self, out: &mut [Wire], a: &[Wire]) {
        assert_eq!(out.len(), a.len(), "lengths agree");
        for (out, &a) in out.iter_mut().zip(a) {
            *out = self.xor2(*out, a);
        }
    }

    fn not(&mut self, out: &mut [Wire], a: &[Wire]) {
        assert_eq!(out.len(), a.len(), "lengths agree");
        for (out, &a) in out.iter_mut().zip(a) {
            *out = !a;
        }
    }

    fn and(&mut self, out: &mut [Wire], a: &[Wire], b: &[Wire]) {
        assert_eq!(out.len(), a.len(), "lengths agree");
        assert!(a.is_empty() || a.len().is_multiple_of(b.len()), "b divides a");
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b.iter().cycle()) {
            *out = self.and2(a, b);
        }
    }

    fn constant(&mut self, out: &mut [Wire], value: bool) {
        out.fill(Wire::constant(value));
    }
}

#[cfg(test)]
mod tests;
