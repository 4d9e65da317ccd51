//! [`CountingAlgebra`] and [`DepthAlgebra`]: compute the cost of a circuit by running it.

use crate::BitAlgebra;

/// Counts gates and batches; wires carry nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountingAlgebra {
    /// AND gates.
    pub ands: u64,
    /// Calls of [`BitAlgebra::and`]: batches of independent ANDs.
    pub and_batches: u64,
    /// XOR gates.
    pub xors: u64,
}

impl BitAlgebra for CountingAlgebra {
    type Wire = ();

    fn xor(&mut self, out: &mut [()], a: &[()], b: &[()]) {
        assert!(out.len() == a.len() && out.len() == b.len(), "lengths agree");
        self.xors += out.len() as u64;
    }

    fn xor_assign(&mut self, out: &mut [()], a: &[()]) {
        assert_eq!(out.len(), a.len(), "lengths agree");
        self.xors += out.len() as u64;
    }

    fn not(&mut self, out: &mut [()], a: &[()]) {
        assert_eq!(out.len(), a.len(), "lengths agree");
    }

    fn and(&mut self, out: &mut [()], a: &[()], b: &[()]) {
        assert_eq!(out.len(), a.len(), "lengths agree");
        assert!(a.is_empty() || a.len().is_multiple_of(b.len()), "b divides a");
        self.ands += out.len() as u64;
        self.and_batches += 1;
    }

    fn constant(&mut self, _out: &mut [()], _value: bool) {}
}

/// Finds AND depth: a wire is the longest chain of ANDs from the inputs (depth 0) to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct DepthAlgebra;

impl BitAlgebra for DepthAlgebra {
    type Wire = u32;

    fn xor(&mut self, out: &mut [u32], a: &[u32], b: &[u32]) {
        assert!(out.len() == a.len() && out.len() == b.len(), "lengths agree");
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out = *a.max(b);
        }
    }

    fn xor_assign(&mut self, out: &mut [u32], a: &[u32]) {
        assert_eq!(out.len(), a.len(), "lengths agree");
        for (out, a) in out.iter_mut().zip(a) {
            *out = *a.max(out);
        }
    }

    fn not(&mut self, out: &mut [u32], a: &[u32]) {
        out.copy_from_slice(a);
    }

    fn and(&mut self, out: &mut [u32], a: &[u32], b: &[u32]) {
        assert_eq!(out.len(), a.len(), "lengths agree");
        assert!(a.is_empty() || a.len().is_multiple_of(b.len()), "b divides a");
        for ((out, a), b) in out.iter_mut().zip(a).zip(b.iter().cycle()) {
            *out = a.max(b) + 1;
        }
    }

    fn constant(&mut self, out: &mut [u32], _value: bool) {
        out.fill(0);
    }
}
