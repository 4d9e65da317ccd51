//! A loop that may run in lanes, and the values that it carries from one iteration to the next.

use crate::ir::{Binary, Compare, IrOperand};

/// How a loop carries a value from one iteration to the next.
#[derive(Clone, Debug)]
pub(crate) enum Recurrence {
    /// Adds this: an operand from outside the loop, or bytes to an address.
    Counter(IterationStep),
    /// All iterations' parts together by the operation.
    Reduction(Binary, u16),
    /// Belongs to an arg-min or arg-max.
    ArgMinMax,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum IterationStep {
    Add(IrOperand, u16),
    Bytes(i64),
}

/// The challenger replaces the best so far where it compares so with it.
#[derive(Clone, Debug)]
pub(crate) struct ArgMinMax {
    pub(crate) compare: Compare,
    pub(crate) width: u16,
    /// Phis of the loop's header: each with the challenger's register or constant.
    pub(crate) members: Vec<(usize, IrOperand)>,
    /// Which member is compared.
    pub(crate) key: usize,
    /// Registers that are not computed: the comparison and the choices.
    pub(crate) skipped: Vec<u32>,
}

/// A loop that may run in lanes.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) header: u32,
    /// The block with the exit, and where that leads.
    pub(crate) exit: (u32, u32),
    pub(crate) latch: u32,
    pub(crate) carried: Vec<Recurrence>,
    pub(crate) arg_min_max: Vec<ArgMinMax>,
    pub(crate) condition: LoopCondition,
}

/// The comparison that decides whether there is another iteration: of a counter's value (after its
/// step or before) with an operand from outside.
#[derive(Clone, Debug)]
pub(crate) struct LoopCondition {
    pub(crate) compare: Compare,
    pub(crate) width: u16,
    /// The phi of the counter.
    pub(crate) counter: usize,
    pub(crate) is_stepped: bool,
    pub(crate) bound: IrOperand,
    pub(crate) is_bound_first: bool,
    /// Whether the loop continues if the comparison holds.
    pub(crate) continues_if: bool,
}
