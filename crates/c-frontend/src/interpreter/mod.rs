//! The interpreter: computes on public values and records operations on secrets.
//!
//! Public integers, addresses and branches are computed; a secret is a name of the tracer's. Where
//! a secret decides a branch, each arm is run up to where they meet, its changes to memory are put
//! back, and the results are chosen between (`branches/`). Loops whose iterations are independent
//! are executed for many lanes at once (`vectoriser/`). Branches on opened integers become blocks
//! (`opened/`).
//!
//! Cost: a step is 50 to 200 ns; memory is that of the program's own objects.

pub(crate) mod call;
pub(crate) mod reveal;
pub(crate) mod step;
pub(crate) mod terminate;

use std::rc::Rc;

use phineus_frontend::Tracer;

use crate::access::MemoryModel;
use crate::carried::flow::OpenedFlow;
use crate::data::CellValue;
use crate::data::constant::data_of;
use crate::emit::Emitter;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::{ExecutionStop, Report};
use crate::frame::{Continuation, ExecutionOutcome, Frame, set_phis};
use crate::ir::Phi;
use crate::ir::liveness::live;
use crate::ir::module::IrModule;
use crate::patterns::LoopPatterns;

/// Stack that must be left, and is added when it is not.
const STACK_LEFT_BYTES: usize = 256 << 10;

const STACK_MORE_BYTES: usize = 16 << 20;

/// A program that is being executed; each pass has its own part of the state.
pub(crate) struct Interpreter<'m> {
    pub(crate) module: &'m IrModule,
    /// Each function's constants, once it was called.
    constants: Vec<Option<Rc<[CellValue]>>>,
    pub(crate) access: MemoryModel,
    pub(crate) progress: StallDetector,
    pub(crate) calls: Calls,
    pub(crate) patterns: LoopPatterns,
    pub(crate) opened: OpenedFlow<'m>,
}

/// The calls that led to the running function.
#[derive(Default)]
pub(crate) struct Calls {
    pub(crate) depth: u32,
    /// A hash of their places.
    pub(crate) path: u64,
}

/// How far the program is, and how far it was when that was last looked at.
#[derive(Default)]
pub(crate) struct StallDetector {
    pub(crate) steps: u64,
    pub(crate) steps_seen: u64,
    pub(crate) recorded_seen: u64,
}

impl<'m> Interpreter<'m> {
    /// An interpreter whose memory holds the module's globals, object by object.
    pub(crate) fn new(module: &'m IrModule, tracer: &Tracer) -> Interpreter<'m> {
        let values = OperationEvaluator::new(Emitter::new(tracer), Report::new(&module.files));
        let mut access = MemoryModel::new(values, !module.reveals());
        for global in &module.globals {
            access.memory.allocate(&global.name, global.size, global.granule);
        }
        for (index, global) in module.globals.iter().enumerate() {
            if let Some(initial) = &global.initial {
                access.initialize(index as u32, initial);
            }
            access.memory.object_mut(index as u32).is_constant = global.is_constant;
        }
        Interpreter {
            module,
            constants: vec![None; module.functions.len()],
            access,
            progress: StallDetector::default(),
            calls: Calls::default(),
            patterns: LoopPatterns::default(),
            opened: OpenedFlow::default(),
        }
    }
}

impl<'m> Interpreter<'m> {
    fn constants_of(&mut self, index: u32) -> Rc<[CellValue]> {
        if let Some(known) = &self.constants[index as usize] {
            return known.clone();
        }
        let constants = &self.module.functions[index as usize].constants;
        let made: Rc<[CellValue]> = constants.iter().map(data_of).collect();
        self.constants[index as usize] = Some(made.clone());
        made
    }

    /// Which registers of a function are needed in its blocks.
    pub(crate) fn live(&self, index: u32) -> &'m [Vec<bool>] {
        let function = &self.module.functions[index as usize];
        function.live.get_or_init(|| live(function))
    }

    /// Runs from `next` on until the function ends, or a block of `until` is entered.
    pub(crate) fn run(
        &mut self,
        frame: &mut Frame<'m>,
        mut next: Continuation,
        until: &[u32],
    ) -> Result<ExecutionOutcome, ExecutionStop> {
        loop {
            let (block, first) = match next {
                Continuation::End(end) => return Ok(end),
                Continuation::Inside(block, first) => (block, first),
                Continuation::Block(from, block) => {
                    if until.contains(&block) {
                        return Ok(ExecutionOutcome::Reached(
                            block,
                            self.incoming(frame, from, block),
                        ));
                    }
                    self.pause_at_loop(frame, Some(from), block, |interpreter| {
                        interpreter.incoming(frame, from, block)
                    })?;
                    self.check_has_exit(frame, block)?;
                    if from != u32::MAX
                        && let Some(done) = self.in_lanes(frame, from, block)?
                    {
                        next = done;
                        continue;
                    }
                    let values = self.incoming(frame, from, block);
                    set_phis(frame, block, values);
                    (block, 0)
                }
                Continuation::Joined(block, values) => {
                    if until.contains(&block) {
                        return Ok(ExecutionOutcome::Reached(block, values));
                    }
                    self.pause_at_loop(frame, None, block, |_| values.clone())?;
                    set_phis(frame, block, values);
                    (block, 0)
                }
            };
            next = self.block(frame, block, first, until)?;
        }
    }

    /// Runs a loop's body once, from its header back to it.
    pub(crate) fn run_body(
        &mut self,
        frame: &mut Frame<'m>,
        header: u32,
        phis: Vec<CellValue>,
    ) -> Result<ExecutionOutcome, ExecutionStop> {
        set_phis(frame, header, phis);
        let next = self.block(frame, header, 0, &[header])?;
        self.run(frame, next, &[header])
    }

    /// Values of the phis of `block` when it is entered from `from`.
    pub(crate) fn incoming(&mut self, frame: &Frame<'m>, from: u32, block: u32) -> Vec<CellValue> {
        let phis = &frame.function.blocks[block as usize].phis;
        phis.iter().map(|phi: &Phi| frame.get(phi.from(from))).collect()
    }

    fn block(
        &mut self,
        frame: &mut Frame<'m>,
        block: u32,
        first: usize,
        until: &[u32],
    ) -> Result<Continuation, ExecutionStop> {
        let code = &frame.function.blocks[block as usize];
        self.progress.steps += code.instructions.len() as u64 + 1;
        self.check_progress(code.place)?;
        for (index, instruction) in code.instructions.iter().enumerate().skip(first) {
            if frame.body.skipped.contains(&instruction.result) {
                continue;
            }
            if instruction.place.line > 0 {
                self.access.values.go_to(instruction.place);
            }
            frame.position = (block, index);
            let data = self.execute(frame, &instruction.kind)?;
            frame.registers[instruction.result as usize] = data;
        }
        if code.place.line > 0 {
            self.access.values.go_to(code.place);
        }
        self.terminate(frame, block, until)
    }
}

/// Runs something that may call itself deeply, on a stack that grows.
pub(crate) fn with_stack<T>(run: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_LEFT_BYTES, STACK_MORE_BYTES, run)
}
