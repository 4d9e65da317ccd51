//! Loops without an exit, and branches that end the program.
//!
//! A loop without an exit is refused, also where a secret or an opened integer decides whether it
//! is entered.

use crate::compiler::library::{NO_STOP, is_assertion};
use crate::data::CellValue;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::frame::Frame;
use crate::interpreter::Interpreter;
use crate::ir::control_flow::{ControlFlowGraph, Loop};
use crate::ir::{InstructionLocation, IrBlock, OperationKind};

/// Remedy for an assertion on a secret or an opened value.
const NO_ASSERTION: &str = "give whether it holds as a result, or leave assertions out with \
                            `#define NDEBUG` before `#include <assert.h>`";

/// The arms of a branch: conditions with their targets, and the default target.
type Arms = (Vec<(CellValue, u32)>, u32);

impl<'m> Interpreter<'m> {
    /// Refuses a loop that has no exit.
    pub(crate) fn check_has_exit(
        &mut self,
        frame: &Frame<'m>,
        block: u32,
    ) -> Result<(), ExecutionStop> {
        let shape = &frame.function.shape;
        let Some(index) = shape.header_of[block as usize] else { return Ok(()) };
        let entered = &shape.loops[index as usize];
        if !entered.exits.is_empty() {
            return Ok(());
        }
        let blocks = &frame.function.blocks;
        let place = begins(blocks, entered);
        let mut inside = blocks.iter().zip(&entered.contains).filter(|(_, inside)| **inside);
        if inside.any(|(code, _)| code.assumes) {
            self.access.values.report.place =
                if place.line > 0 { place } else { self.access.values.report.place };
            let what = "this comes to a place that C says is never reached";
            self.access
                .values
                .error(what, "see which size leads here, or take __builtin_unreachable() away")?;
        } else {
            self.access.values.never_ends(place)?;
        }
        Err(ExecutionStop::Fatal)
    }

    /// The arms of a branch from which the function can return, and one of them as the default;
    /// `None` if it cannot return from any.
    ///
    /// # Errors
    /// If an arm ends the program, or keeps it from ending; `decided` says what decides whether
    /// it is taken.
    pub(crate) fn live_arms(
        &mut self,
        frame: &Frame<'m>,
        mut paths: Vec<(CellValue, u32)>,
        mut default: u32,
        decided: &str,
    ) -> Result<Option<Arms>, ExecutionStop> {
        self.check_dead_ends(frame, &paths, default, decided)?;
        let ends = &frame.function.shape.ends;
        paths.retain(|(_, target)| ends[*target as usize]);
        if !ends[default as usize] {
            let Some((_, target)) = paths.pop() else { return Ok(None) };
            default = target;
        }
        Ok(Some((paths, default)))
    }

    /// Refuses branches that end the program, or keep it from ending; `decided` says what decides
    /// whether they are taken. One from which none leads to a return, and which does neither, is
    /// one that is never taken.
    fn check_dead_ends(
        &mut self,
        frame: &Frame<'m>,
        paths: &[(CellValue, u32)],
        default: u32,
        decided: &str,
    ) -> Result<(), ExecutionStop> {
        let (shape, blocks) = (&frame.function.shape, &frame.function.blocks);
        let stops = |kind: &OperationKind| {
            matches!(
                kind,
                OperationKind::Call(..)
                    | OperationKind::CallPointer(..)
                    | OperationKind::Unsupported(..)
            )
        };
        let module = self.module;
        let is_assertion = |kind: &OperationKind| match kind {
            OperationKind::Call(called, _) => {
                is_assertion(&module.functions[*called as usize].name)
            }
            _ => false,
        };
        let targets = paths.iter().map(|(_, target)| *target).chain([default]);
        for target in targets.filter(|target| !shape.ends[*target as usize]) {
            let behind = shape.dead_end(blocks, target);
            let mut code = behind.iter().flat_map(|block| &blocks[*block as usize].instructions);
            let place = self.access.values.report.place;
            if let Some(first) = endless(shape, blocks, &behind) {
                self.access.values.never_ends(first)?;
                self.access.values.report.place = place;
            } else if let Some(stop) = code.find(|instruction| stops(&instruction.kind)) {
                if is_assertion(&stop.kind) {
                    self.access.values.report.place = stop.place;
                    self.access
                        .values
                        .error(format!("whether this assertion holds {decided}"), NO_ASSERTION)?;
                    self.access.values.report.place = place;
                } else {
                    self.access
                        .values
                        .error(format!("whether the program stops here {decided}"), NO_STOP)?;
                }
            }
        }
        Ok(())
    }
}

impl OperationEvaluator {
    fn never_ends(&mut self, place: InstructionLocation) -> Result<CellValue, ExecutionStop> {
        if place.line > 0 {
            self.report.place = place;
        }
        let remedy = "a computation has to end: give the loop a condition, a `break` or a `return`";
        self.error("this loop never ends", remedy)
    }
}

/// Where a loop without an exit begins, if there is one among these blocks of a dead end.
fn endless(
    shape: &ControlFlowGraph,
    blocks: &[IrBlock],
    behind: &[u32],
) -> Option<InstructionLocation> {
    let mut stays = behind.iter().filter(|block| !shape.halts[**block as usize]);
    // What is only left where C says that it is not is never entered.
    if stays.clone().any(|block| blocks[*block as usize].assumes) {
        return None;
    }
    let last = stays.next_back()?;
    let mut whole = shape.loops.iter().filter(|l| l.exits.is_empty() && behind.contains(&l.header));
    // One that is entered at several places is none of them.
    Some(whole.next().map_or(blocks[*last as usize].place, |found| begins(blocks, found)))
}

/// Where people see that a loop begins: its header may hold what is inside, and a back edge says
/// `i++` or the loop's last line.
fn begins(blocks: &[IrBlock], found: &Loop) -> InstructionLocation {
    let ends = found.latches.iter().chain([&found.header]);
    let places = ends.map(|block| blocks[*block as usize].place);
    places.filter(|place| place.line > 0).min_by_key(|place| place.line).unwrap_or_default()
}
