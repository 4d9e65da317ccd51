//! [`RecentOrders`]: comparisons of the last instructions, by what they compare.
//!
//! The least or the greatest of two values that were compared is a choice by the bit that is known, one AND for each bit
//! of the value where an operation of its own takes two; and a comparison the other way about is its complement.

use std::collections::VecDeque;

use phineus_bytecode::{ElementType, Instruction, Op};

/// Comparisons, leasts and greatests that are remembered.
const ORDERS_MAX: usize = 64;

/// The operands of a comparison, a least or a greatest, in either order.
type Compared = ([u64; 2], ElementType, u32);

fn compared(i: &Instruction) -> Option<Compared> {
    let [a, b, _] = i.operands;
    let orders = matches!(i.op, Op::Lt | Op::Le | Op::Min | Op::Max);
    orders.then(|| ([a.min(b), a.max(b)], i.element, i.lanes))
}

/// Something about each of the last comparisons, leasts and greatests that were looked at.
pub(super) struct RecentOrders<T>(VecDeque<(Compared, T)>);

impl<T: Copy> RecentOrders<T> {
    pub(super) fn new() -> RecentOrders<T> {
        RecentOrders(VecDeque::with_capacity(ORDERS_MAX))
    }

    /// Entries with the operands of `i`, the latest first.
    pub(super) fn of(&self, i: &Instruction) -> impl Iterator<Item = T> {
        let wanted = compared(i);
        let same = move |(known, _): &&(Compared, T)| Some(*known) == wanted;
        self.0.iter().rev().filter(same).map(|(_, what)| *what)
    }

    /// Remembers `what` of `i`, if that is an order.
    pub(super) fn push(&mut self, i: &Instruction, what: T) {
        let Some(compared) = compared(i) else { return };
        if self.0.len() == ORDERS_MAX {
            self.0.pop_front();
        }
        self.0.push_back((compared, what));
    }
}

/// The result of a comparison.
#[derive(Clone, Copy)]
pub(super) struct ComparedBit {
    pub(super) op: Op,
    pub(super) operands: [u64; 2],
    /// The value of the narrowed program that is 1 if it holds.
    pub(super) name: u64,
}

impl ComparedBit {
    /// Whether `i`, a comparison of the same operands, is the same (`false`) or the complement (`true`), if it is one.
    pub(super) fn complements(&self, i: &Instruction) -> Option<bool> {
        let is_turned = self.operands != i.operands[..2];
        match (self.op == i.op, is_turned) {
            (true, false) => Some(false),
            (false, true) => Some(true),
            (true, true) | (false, false) => None,
        }
    }
}
