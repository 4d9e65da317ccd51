//! Branches on opened integers: where they are, and how they end.

use phineus_frontend::{BlockId, Register};

use crate::carried::form::Plan;
use crate::data::CellValue;
use crate::frame::Frame;
use crate::memory::log::Log;

/// The reason for a pause, in the last frame of the stack.
pub(crate) enum PauseReason {
    /// A branch: paths of which at most one register is not 0, and another.
    Fork { block: u32, paths: Vec<(Register, u32)>, default: u32 },
    /// The header of a loop whose end is opened at run time, and its phis.
    Loop(u32, Vec<CellValue>),
}

/// Where paths end, in the frame of that depth.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathTarget {
    Block(usize, u32),
    Return(usize),
}

/// How a path ends: the state there, but for the frames outside.
pub(crate) struct PathEnd<'m> {
    pub(crate) goal: PathTarget,
    /// The phis of the block, or what is returned.
    pub(crate) values: Vec<CellValue>,
    pub(crate) frame: Frame<'m>,
    /// Still open.
    pub(crate) block: BlockId,
    pub(crate) log: Log,
}

/// Control flow of the run time that is being executed.
#[derive(Default)]
pub(crate) struct OpenedFlow<'m> {
    /// At a pause, the running functions, the innermost last.
    pub(crate) stack: Vec<Frame<'m>>,
    /// Those of them that were on Rust's stack, the innermost first.
    pub(crate) unwound: Vec<Frame<'m>>,
    pub(crate) pending: Option<PauseReason>,
    /// Forms of loops whose end is opened, from earlier tries.
    pub(crate) plan: Plan,
    /// Exits by opened conditions of loops that are unrolled.
    pub(crate) unrolled: u32,
}
