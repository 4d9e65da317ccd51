//! A running function, and the ends of its paths.

pub(crate) mod registers;

use std::rc::Rc;

use crate::data::CellValue;
use crate::frame::registers::Registers;
use crate::ir::IrOperand;
use crate::ir::module::Function;
use crate::memory::log::Log;

/// A running function.
#[derive(Clone)]
pub(crate) struct Frame<'m> {
    pub(crate) index: u32,
    pub(crate) function: &'m Function,
    pub(crate) constants: Rc<[CellValue]>,
    pub(crate) registers: Registers,
    pub(crate) objects: Vec<u32>,
    /// For each loop, how often a secret might have left it since a public condition might have.
    pub(crate) secret_exits: Vec<u32>,
    pub(crate) body: LoopBody,
    /// The calls that led here.
    pub(crate) path: u64,
    /// Block and instruction of the call that is being run, at a pause.
    pub(crate) position: (u32, usize),
}

impl Frame<'_> {
    #[inline]
    pub(crate) fn get(&self, operand: IrOperand) -> CellValue {
        match operand {
            IrOperand::Register(index) => self.registers[index as usize].clone(),
            IrOperand::Constant(index) => self.constants[index as usize].clone(),
        }
    }
}

/// How the body of a loop is run once.
#[derive(Clone, Default)]
pub(crate) struct LoopBody {
    /// The block with the exit, and where to go instead.
    pub(crate) forced: Option<(u32, u32)>,
    /// Registers of an arg-min or arg-max, which are not computed.
    pub(crate) skipped: Vec<u32>,
}

/// Where execution goes on.
pub(crate) enum Continuation {
    /// In this block, entered from another.
    Block(u32, u32),
    /// In this block, whose phis are known.
    Joined(u32, Vec<CellValue>),
    /// In the middle of a block, at this instruction.
    Inside(u32, usize),
    End(ExecutionOutcome),
}

/// How a stretch of a function ends.
pub(crate) enum ExecutionOutcome {
    /// At a block that it should run to, with the values of that block's phis.
    Reached(u32, Vec<CellValue>),
    Returned(CellValue),
    /// At a place that is never reached.
    Never,
    /// On several paths, by secrets.
    Split(Vec<PathOutcome>),
}

impl ExecutionOutcome {
    /// The block that was reached, if it was one; the same for ends at the same place.
    pub(crate) fn key(&self) -> Option<u32> {
        match self {
            ExecutionOutcome::Reached(block, _) => Some(*block),
            ExecutionOutcome::Returned(_)
            | ExecutionOutcome::Never
            | ExecutionOutcome::Split(_) => None,
        }
    }
}

/// One path on which a stretch ends, and what it leaves in memory.
pub(crate) struct PathOutcome {
    pub(crate) condition: CellValue,
    pub(crate) end: ExecutionOutcome,
    pub(crate) log: Log,
}

/// Gives the phis of a block their values.
pub(crate) fn set_phis(frame: &mut Frame<'_>, block: u32, values: Vec<CellValue>) {
    let function = frame.function;
    for (phi, value) in function.blocks[block as usize].phis.iter().zip(values) {
        frame.registers[phi.result as usize] = value;
    }
}
