//! Calls of functions.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::compiler::library;
use crate::compiler::library::{NO_STOP, is_assertion, is_stop};
use crate::data::CellValue;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::frame::registers::Registers;
use crate::frame::{Continuation, ExecutionOutcome, Frame, LoopBody};
use crate::interpreter::{Interpreter, with_stack};
use crate::ir::InstructionLocation;
use crate::ir::module::Function;

/// Calls within calls.
const CALLS_MAX: u32 = 10_000;

/// Calls within calls when a secret decides whether there is another.
const SECRET_CALLS_MAX: u32 = 400;

impl<'m> Interpreter<'m> {
    /// Runs a function on arguments.
    pub(crate) fn call(
        &mut self,
        index: u32,
        arguments: Vec<CellValue>,
    ) -> Result<CellValue, ExecutionStop> {
        let module = self.module;
        let function = &module.functions[index as usize];
        if function.blocks.is_empty() {
            return self.access.values.undefined(&function.name);
        }
        let most =
            if self.access.values.scope.secret_branches > 0 { SECRET_CALLS_MAX } else { CALLS_MAX };
        if self.calls.depth >= most {
            let name = &function.name;
            let (what, remedy) = if self.access.values.scope.secret_branches > 0 {
                let what = format!("how deep '{name}' calls itself depends on a secret");
                (what, "give the recursion a public depth, or write a loop with a public bound")
            } else {
                let what = format!("'{name}' is called inside {CALLS_MAX} other calls");
                (what, "write a loop")
            };
            self.access.values.error(what, remedy)?;
            return Err(ExecutionStop::Fatal);
        }
        let place = self.access.values.report.place;
        let mut path = DefaultHasher::new();
        (self.calls.path, place, index).hash(&mut path);
        let outer = std::mem::replace(&mut self.calls.path, path.finish());
        let mut frame = self.frame(index, arguments, self.calls.path);
        for (at, bytes, granule) in &function.copied {
            frame.registers[*at] = self.access.copied(&mut frame, *at, *bytes, *granule)?;
        }
        self.calls.depth += 1;
        let end = with_stack(|| self.run(&mut frame, Continuation::Block(u32::MAX, 0), &[]));
        self.calls.depth -= 1;
        let last = self.access.values.report.place;
        (self.access.values.report.place, self.calls.path) = (place, outer);
        if let Err(ExecutionStop::Pause) = end {
            self.opened.unwound.push(frame);
            return Err(ExecutionStop::Pause);
        }
        frame.objects.iter().for_each(|object| self.access.memory.release(*object));
        match end? {
            ExecutionOutcome::Returned(data) => Ok(data),
            ExecutionOutcome::Never => self.never_returns(function, last),
            ExecutionOutcome::Reached(..) | ExecutionOutcome::Split(_) => {
                unreachable!("all that ends here returns")
            }
        }
    }

    /// Refuses a call that does not come back, at the last place in it that is known; it is what
    /// other mistakes lead to, too.
    fn never_returns(
        &mut self,
        function: &Function,
        last: InstructionLocation,
    ) -> Result<CellValue, ExecutionStop> {
        if self.access.values.scope.dry_run.is_none() && self.access.values.report.has_errors() {
            return Ok(CellValue::Poison);
        }
        let called = std::mem::replace(&mut self.access.values.report.place, last);
        if last.line == 0 {
            self.access.values.report.place = called;
        }
        let refused = self.access.values.error(
            format!("'{}' never returns from here", function.name),
            "a computation has to end: give a flag as a result instead of stopping, and do nothing \
             that C leaves undefined, such as reading through a null pointer",
        );
        self.access.values.report.place = called;
        refused
    }

    /// A function that is going to run.
    pub(crate) fn frame(&mut self, index: u32, arguments: Vec<CellValue>, path: u64) -> Frame<'m> {
        let module = self.module;
        let function = &module.functions[index as usize];
        let registers = Registers::new(arguments, function.registers as usize);
        Frame {
            index,
            function,
            constants: self.constants_of(index),
            registers,
            objects: Vec::new(),
            secret_exits: vec![0; function.shape.loops.len()],
            body: LoopBody::default(),
            path,
            position: (0, 0),
        }
    }
}

impl OperationEvaluator {
    /// Refuses a call of a function that is nowhere, or that ends the program.
    pub(crate) fn undefined(&mut self, name: &str) -> Result<CellValue, ExecutionStop> {
        if is_assertion(name) {
            return self.error("this assertion does not hold", "see which size or index breaks it");
        }
        if is_stop(name) {
            return self.error("the program stops here", NO_STOP);
        }
        self.error(format!("the function '{name}' is not defined here"), library::remedy(name))
    }
}
