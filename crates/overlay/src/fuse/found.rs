//! [`Found`]: operations that were found necessary, until nothing can read their values any more.
//!
//! ANDs and outputs are written in the order in which they were found, each after those that it reads. Loads and
//! XORs are written where they are first needed, so that their labels do not live longer than they must. A XOR that is
//! old is also written if a value that it reads would otherwise live for nothing else; the others of them are no more
//! than the wires that live.

use std::collections::VecDeque;

use phineus_plan::Scratch;

use crate::OverlayError;
use crate::operations::{Kind, NONE, Operation};
use crate::records::{FinishedRecords, RecordFile};
use crate::sum::{Sum, Terms};

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing is here.
    Free,
    /// It may yet change.
    Open,
    Written,
}

/// A value, and the operation that makes it.
#[derive(Clone, Copy)]
struct Value {
    operation: Operation,
    /// Wires, operations that are not written yet, and places in the queue that refer to it.
    holds: u32,
    /// The last XOR that reads it, or [`NONE`].
    xor: u32,
    state: State,
    /// Whether it holds its operands: until it is written. XORs of inputs always do, because other cells may do them again.
    is_holding: bool,
}

pub(super) struct Found {
    values: Vec<Value>,
    free: Vec<u32>,
    /// Operations in the order in which they were found, but loads.
    queue: VecDeque<u32>,
    /// Operations that are to be written, each before the one below it.
    stack: Vec<u32>,
    /// Values that nothing holds.
    unheld: Vec<u32>,
    file: RecordFile,
}

impl Found {
    pub(super) fn new(scratch: &Scratch) -> Found {
        Found {
            values: Vec::new(),
            free: Vec::new(),
            queue: VecDeque::new(),
            stack: Vec::new(),
            unheld: Vec::new(),
            file: RecordFile::new(scratch),
        }
    }

    pub(super) fn finish(self) -> Result<FinishedRecords, OverlayError> {
        self.file.finish()
    }

    /// Bytes of memory that it takes.
    pub(super) fn bytes(&self) -> u64 {
        let numbers = self.free.capacity() + self.queue.capacity() + self.stack.capacity();
        let values = self.values.capacity() * size_of::<Value>();
        (values + size_of::<u32>() * numbers) as u64
    }

    /// Operations that wait.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Adds an operation; returns its value, which is held once unless it is an output.
    pub(super) fn add(&mut self, operation: Operation) -> u32 {
        let value = self.place();
        self.hold(operation.operands());
        if operation.kind == Kind::Xor {
            operation.operands().iter().for_each(|&term| self.values[term as usize].xor = value);
        }
        let is_queued = operation.kind != Kind::Load;
        if is_queued {
            self.queue.push_back(value);
        }
        let holds = u32::from(is_queued) + u32::from(operation.kind != Kind::Output);
        let operation = Operation { result: value, ..operation };
        self.values[value as usize] =
            Value { operation, holds, xor: NONE, state: State::Open, is_holding: true };
        value
    }

    fn place(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.values.push(Value {
                operation: Operation::default(),
                holds: 0,
                xor: NONE,
                state: State::Free,
                is_holding: false,
            });
            self.values.len() as u32 - 1
        })
    }

    #[inline]
    pub(super) fn hold(&mut self, values: &[u32]) {
        values.iter().for_each(|&value| self.values[value as usize].holds += 1);
    }

    /// Lets go of values; those that nothing holds any more are forgotten.
    #[inline]
    pub(super) fn release(&mut self, values: &[u32]) {
        for &value in values {
            let own = &mut self.values[value as usize];
            own.holds -= 1;
            if own.holds == 0 {
                self.unheld.push(value);
            }
        }
        while let Some(value) = self.unheld.pop() {
            self.forget(value);
        }
    }

    fn forget(&mut self, value: u32) {
        let Value { operation, is_holding, .. } = self.values[value as usize];
        self.values[value as usize].state = State::Free;
        self.free.push(value);
        if is_holding {
            for &operand in operation.operands() {
                let own = &mut self.values[operand as usize];
                own.holds -= 1;
                if own.holds == 0 {
                    self.unheld.push(operand);
                }
            }
        }
    }

    /// Whether an operation is a XOR of nothing but inputs.
    fn is_of_inputs(&self, operation: &Operation) -> bool {
        let is_input = |&value: &u32| self.values[value as usize].operation.kind == Kind::Load;
        operation.kind == Kind::Xor && operation.operands().iter().all(is_input)
    }

    /// A XOR operation all of whose terms are among `terms`, and its sum.
    pub(super) fn contained(&self, terms: &Terms) -> Option<(u32, Sum)> {
        let values = terms.values();
        let xors = values.iter().map(|&value| self.values[value as usize].xor);
        xors.filter(|&xor| xor != NONE).find_map(|xor| {
            let Value { operation, state, .. } = &self.values[xor as usize];
            let is_there = *state != State::Free && operation.kind == Kind::Xor;
            let is_contained = || operation.operands().iter().all(|term| values.contains(term));
            (is_there && is_contained()).then(|| (xor, operation.sum(0)))
        })
    }

    /// Whether a value is that of an AND which can change, and only one wire refers to it.
    pub(super) fn is_open_and(&self, value: u32) -> bool {
        let Value { operation, holds, state, .. } = &self.values[value as usize];
        operation.kind == Kind::And && *state == State::Open && *holds == 2
    }

    /// What an AND adds to its result.
    pub(super) fn post(&self, and: u32) -> Sum {
        self.values[and as usize].operation.sum(2)
    }

    pub(super) fn set_post(&mut self, and: u32, post: &Sum) {
        let before = self.values[and as usize].operation;
        let [a, b, old] = [0, 1, 2].map(|place| before.sum(place));
        self.hold(post.values());
        self.values[and as usize].operation =
            Operation { result: and, ..Operation::and(before.number, [&a, &b, post]) };
        self.release(old.values());
    }

    /// Writes the operation that waits longest, if it must be there by now.
    pub(super) fn write_oldest(&mut self) -> Result<(), OverlayError> {
        let Some(value) = self.queue.pop_front() else { return Ok(()) };
        let Value { operation, holds, state, .. } = self.values[value as usize];
        let is_wanted = match operation.kind {
            Kind::Xor => {
                let is_alone = |&term: &u32| {
                    let term = &self.values[term as usize];
                    term.holds == 1 && term.operation.kind != Kind::Load
                };
                holds > 1 && operation.operands().iter().any(is_alone)
            }
            Kind::And | Kind::Output | Kind::Load => true,
            Kind::Move | Kind::Spill | Kind::Fill | Kind::Leave => true,
        };
        if state == State::Open && is_wanted {
            self.write(value)?;
        } else if state == State::Open && holds > 1 && !self.queue.is_empty() {
            self.queue.push_back(value);
            return Ok(());
        }
        self.release(&[value]);
        Ok(())
    }

    /// Writes an operation, after those that it reads.
    fn write(&mut self, value: u32) -> Result<(), OverlayError> {
        self.stack.push(value);
        while let Some(&value) = self.stack.last() {
            let Value { operation, state, .. } = self.values[value as usize];
            let before = self.stack.len();
            if state == State::Open {
                let is_open = |&&operand: &&u32| self.values[operand as usize].state == State::Open;
                self.stack.extend(operation.operands().iter().filter(is_open));
            }
            if self.stack.len() > before {
                continue;
            }
            self.stack.pop();
            if state == State::Open {
                operation.write_found(&mut self.file)?;
                self.values[value as usize].state = State::Written;
                if !self.is_of_inputs(&operation) {
                    self.values[value as usize].is_holding = false;
                    self.release(operation.operands());
                }
            }
        }
        Ok(())
    }
}
