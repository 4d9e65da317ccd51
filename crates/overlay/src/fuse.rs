//! [`fuse`]: gates as operations of the cell, each of which absorbs XORs around it.
//!
//! Labels of XORs are XORs of labels, so a XOR that only feeds other gates needs no operation of its own. The AND
//! operation computes `(a0 ^ a1) & (b0 ^ b1) ^ p0 ^ p1`, the XOR operation `x0 ^ x1 ^ x2`; either may complement.
//! A XOR node becomes an operation only if more than that would have to be absorbed. Rows do not change: the half
//! gates see the same labels.
//!
//! An operation waits until [`DELAY`] others were found, so that a XOR that follows can still be absorbed. Then it is
//! written, after those that it reads (`fuse/found.rs`).
//!
//! Cost: about 30 bytes for each wire that lives, and 80 for each value that a living wire is a sum of or that waits.

mod found;

use crate::OverlayError;
use crate::gates::{AND, INPUT, KNOWN, KnownGates, OUTPUT};
use crate::memory::Place;
use crate::operations::{Kind, Operation};
use crate::records::FinishedRecords;
use crate::sum::{Sum, Terms};
use found::Found;

/// Operations of which each waits for so many others before it is written: several times a value of the bytecode, which
/// has at most 4096 wires.
const DELAY: usize = 1 << 13;

/// A wire that is of use.
#[derive(Clone, Copy, Default)]
struct Wire {
    sum: Sum,
    /// Longest chain of ANDs from the inputs.
    depth: u32,
    uses: u32,
}

/// An operand of a gate.
#[derive(Clone, Copy)]
struct Operand {
    slot: usize,
    is_last: bool,
    is_not: bool,
}

impl Operand {
    fn of(number: u32) -> Operand {
        let [is_not, is_last] = [0, 1].map(|bit| number >> bit & 1 == 1);
        Operand { slot: (number >> 2) as usize, is_last, is_not }
    }
}

struct Fuser {
    wires: Vec<Wire>,
    found: Found,
    and_count: u32,
}

/// Writes the operations of some gates, in the order of the program.
pub(crate) fn fuse(gates: KnownGates, place: Place<'_>) -> Result<FinishedRecords, OverlayError> {
    let wires = vec![Wire::default(); gates.slot_count];
    let mut fuser = Fuser { wires, found: Found::new(place.scratch), and_count: 0 };
    let (mut reader, mut block) = (gates.reader, Vec::new());
    while reader.next_block(&mut block)? {
        for gate in block.rchunks_exact(KNOWN) {
            let &[head, a, b, slot] = gate else { unreachable!("gates have {KNOWN} numbers") };
            fuser.gate(head, [a, b], slot as usize);
            fuser.found.write_to(DELAY)?;
        }
        let wires_bytes = fuser.wires.len() * size_of::<Wire>();
        place.check(fuser.found.bytes() + wires_bytes as u64)?;
    }
    fuser.found.write_all()?;
    fuser.found.finish()
}

impl Fuser {
    #[inline]
    fn gate(&mut self, head: u32, [a, b]: [u32; 2], slot: usize) {
        let (kind, is_operand, uses) = (head & 3, head >> 2 & 1 == 1, head >> 3);
        if kind == INPUT {
            self.wires[slot] = Wire { sum: Sum::default(), depth: 0, uses };
            self.make(slot, Operation { kind: Kind::Load, number: a, ..Operation::default() });
            return;
        }
        if kind == OUTPUT {
            let a = Operand::of(a);
            let terms = self.sum_of(a, 3);
            let output = Operation { number: b, ..Operation::of_sum(Kind::Output, &terms) };
            self.found.add(output);
            self.release(a);
            return;
        }
        let [a, b] = [a, b].map(Operand::of);
        let depth = self.wires[a.slot].depth.max(self.wires[b.slot].depth);
        self.wires[slot] =
            Wire { sum: Sum::default(), depth: depth + u32::from(kind == AND), uses };
        if kind == AND {
            let (a, b) = (self.sum_of(a, 2), self.sum_of(b, 2));
            let and = Operation::and(self.and_count, [&a, &b, &Sum::default()]);
            self.make(slot, and);
            self.and_count += 1;
            if uses == 0 {
                self.set(slot, Sum::default());
            }
        } else {
            self.xor(slot, is_operand, (a.slot, b.slot));
        }
        self.release(a);
        self.release(b);
    }

    /// Forgets a wire after its last use.
    fn release(&mut self, operand: Operand) {
        if operand.is_last {
            self.set(operand.slot, Sum::default());
        }
    }

    /// States what a wire is the sum of.
    #[inline]
    fn set(&mut self, slot: usize, sum: Sum) {
        let before = std::mem::replace(&mut self.wires[slot].sum, sum);
        self.found.hold(sum.values());
        self.found.release(before.values());
    }

    /// Makes an operation, whose value is that of a wire.
    fn make(&mut self, slot: usize, operation: Operation) {
        let value = self.found.add(operation);
        self.set(slot, Sum::one(value));
        // The wire has it now.
        self.found.release(&[value]);
    }

    /// `x ^ y`, if at most three values are left. A XOR that is there takes the place of its terms: the sum of a full adder
    /// is that of two operands of its carry's AND.
    fn sum(&self, x: &Sum, y: &Sum) -> Option<Sum> {
        let mut terms = Terms::of(x, y);
        while let Some((value, sum)) = self.found.contained(&terms) {
            terms.add(&sum);
            terms.add(&Sum::one(value));
        }
        terms.into_sum()
    }

    /// Makes a XOR operation of the sum of a wire.
    fn materialise(&mut self, slot: usize) {
        let terms = self.wires[slot].sum;
        if terms.values().len() > 1 {
            self.make(slot, Operation::of_sum(Kind::Xor, &terms));
        }
    }

    /// An operand as a sum of at most `length` values.
    fn sum_of(&mut self, operand: Operand, length: usize) -> Sum {
        if self.wires[operand.slot].sum.values().len() > length {
            self.materialise(operand.slot);
        }
        self.wires[operand.slot].sum.not_if(operand.is_not)
    }

    fn xor(&mut self, slot: usize, is_operand: bool, (x, y): (usize, usize)) {
        if self.absorb(slot, x, y) || self.absorb(slot, y, x) {
            return;
        }
        loop {
            if let Some(sum) = self.sum(&self.wires[x].sum, &self.wires[y].sum) {
                self.set(slot, sum);
                // An AND reads it as one label, and so should the sums that contain it.
                if sum.values().len() == 3 && is_operand {
                    self.materialise(slot);
                }
                return;
            }
            let longer = |a: usize| (self.wires[a].sum.values().len(), self.wires[a].uses);
            self.materialise(if longer(x) >= longer(y) { x } else { y });
        }
    }

    /// Lets the AND that makes `x`, which nobody else uses, add `y`, if that does not delay it.
    fn absorb(&mut self, slot: usize, x: usize, y: usize) -> bool {
        let wire = self.wires[x];
        let (&[value], false) = (wire.sum.values(), wire.sum.is_not()) else { return false };
        let is_late = self.wires[y].depth >= wire.depth;
        if wire.uses != 1 || is_late || !self.found.is_open_and(value) {
            return false;
        }
        let post = self.found.post(value);
        let mut sum = post.plus(&self.wires[y].sum).filter(|sum| sum.values().len() <= 2);
        if sum.is_none() && post.values().len() < 2 {
            self.materialise(y);
            sum = post.plus(&self.wires[y].sum);
        }
        let Some(post) = sum else { return false };
        self.found.set_post(value, &post);
        self.set(slot, Sum::one(value));
        true
    }
}
