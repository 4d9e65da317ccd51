//! [`ClearAlgebra`]: circuits on bits in the clear.

use crate::BitAlgebra;

/// Computes on plain bits: a wire is 0 or 1. What every other algebra is tested against.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClearAlgebra;

impl ClearAlgebra {
    /// Wires that hold neither 0 nor 1 are caught in debug builds: tests fill unwritten memory
    /// with [`UNWRITTEN`](Self::UNWRITTEN), so that reading it is found.
    fn check(wires: &[u8]) {
        debug_assert!(wires.iter().all(|&wire| wire <= 1), "a wire was read before it was written");
    }

    /// No bit: what tests put into memory that no circuit may read.
    pub const UNWRITTEN: u8 = 2;
}

impl BitAlgebra for ClearAlgebra {
    type Wire = u8;

    fn xor(&mut self, out: &mut [u8], a: &[u8], b: &[u8]) {
        assert!(out.len() == a.len() && out.len() == b.len(), "lengths agree");
        Self::check(a);
        Self::check(b);
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out = a ^ b;
        }
    }

    fn xor_assign(&mut self, out: &mut [u8], a: &[u8]) {
        assert_eq!(out.len(), a.len(), "lengths agree");
        Self::check(out);
        Self::check(a);
        for (out, a) in out.iter_mut().zip(a) {
            *out ^= a;
        }
    }

    fn not(&mut self, out: &mut [u8], a: &[u8]) {
        assert_eq!(out.len(), a.len(), "lengths agree");
        Self::check(a);
        for (out, a) in out.iter_mut().zip(a) {
            *out = a ^ 1;
        }
    }

    fn and(&mut self, out: &mut [u8], a: &[u8], b: &[u8]) {
        assert_eq!(out.len(), a.len(), "lengths agree");
        assert!(a.is_empty() || a.len().is_multiple_of(b.len()), "b divides a");
        Self::check(a);
        Self::check(b);
        for ((out, a), b) in out.iter_mut().zip(a).zip(b.iter().cycle()) {
            *out = a & b;
        }
    }

    fn constant(&mut self, out: &mut [u8], value: bool) {
        out.fill(u8::from(value));
    }
}
