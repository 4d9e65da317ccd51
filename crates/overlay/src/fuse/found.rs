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

/// An operation, which makes a value.
#[derive(Clone, Copy)]
struct Maker {
    operation: Operation,
    state: State,
    /// Whether it holds its operands: until it is written. XORs of inputs always do, because other cells may do them again.
    is_holding: bool,
}

/// Operations that are written together.
const BATCH: usize = 64;

pub(super) struct Found {
    makers: Vec<Maker>,
    /// By value, the wires, operations that are not written yet, and places in the queue that refer to it. It and the
    /// next list are apart from the operations because they are looked at much more often.
    holds: Vec<u32>,
    /// By value, the last XOR that reads it, or [`NONE`].
    xors: Vec<u32>,
    free: Vec<u32>,
    /// Operations in the order in which they were found, but loads.
    queue: VecDeque<u32>,
    /// XORs of it that had waited long enough and were not needed.
    unneeded: VecDeque<u32>,
    /// Operations that are to be written, each before the one below it.
    stack: Vec<u32>,
    /// Values that nothing holds.
    unheld: Vec<u32>,
    file: RecordFile,
}

impl Found {
    pub(super) fn new(scratch: &Scratch) -> Found {
        Found {
            makers: Vec::new(),
            holds: Vec::new(),
            xors: Vec::new(),
            free: Vec::new(),
            queue: VecDeque::new(),
            unneeded: VecDeque::new(),
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
        let queues = self.queue.capacity() + self.unneeded.capacity();
        let numbers = queues + self.free.capacity() + self.stack.capacity();
        let each = size_of::<Maker>() + 2 * size_of::<u32>();
        (self.makers.capacity() * each + size_of::<u32>() * numbers) as u64
    }

    /// Adds an operation; returns its value, which is held once unless it is an output.
    #[inline]
    pub(super) fn add(&mut self, operation: Operation) -> u32 {
        let value = self.place();
        self.hold(operation.operands());
        if operation.kind == Kind::Xor {
            operation.operands().iter().for_each(|&term| self.xors[term as usize] = value);
        }
        let is_queued = operation.kind != Kind::Load;
        if is_queued {
            self.queue.push_back(value);
        }
        let operation = Operation { result: value, ..operation };
        let number = value as usize;
        self.holds[number] = u32::from(is_queued) + u32::from(operation.kind != Kind::Output);
        self.xors[number] = NONE;
        self.makers[number] = Maker { operation, state: State::Open, is_holding: true };
        value
    }

    fn place(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let operation = Operation::default();
            self.makers.push(Maker { operation, state: State::Free, is_holding: false });
            self.holds.push(0);
            self.xors.push(NONE);
            self.makers.len() as u32 - 1
        })
    }

    #[inline]
    pub(super) fn hold(&mut self, values: &[u32]) {
        values.iter().for_each(|&value| self.holds[value as usize] += 1);
    }

    /// Lets go of values; those that nothing holds any more are forgotten.
    #[inline]
    pub(super) fn release(&mut self, values: &[u32]) {
        for &value in values {
            self.holds[value as usize] -= 1;
            if self.holds[value as usize] == 0 {
                self.forget(value);
            }
        }
    }

    fn forget(&mut self, first: u32) {
        self.unheld.push(first);
        while let Some(value) = self.unheld.pop() {
            let maker = &mut self.makers[value as usize];
            maker.state = State::Free;
            self.free.push(value);
            if !maker.is_holding {
                continue;
            }
            for &operand in maker.operation.operands() {
                self.holds[operand as usize] -= 1;
                if self.holds[operand as usize] == 0 {
                    self.unheld.push(operand);
                }
            }
        }
    }

    /// Whether an operation is a XOR of nothing but inputs.
    fn is_of_inputs(&self, operation: &Operation) -> bool {
        let is_input = |&value: &u32| self.makers[value as usize].operation.kind == Kind::Load;
        operation.kind == Kind::Xor && operation.operands().iter().all(is_input)
    }

    /// A XOR operation all of whose terms are among `terms`, and its sum.
    #[inline]
    pub(super) fn contained(&self, terms: &Terms) -> Option<(u32, Sum)> {
        let values = terms.values();
        let xors = values.iter().map(|&value| self.xors[value as usize]);
        xors.filter(|&xor| xor != NONE).find_map(|xor| {
            let Maker { operation, state, .. } = &self.makers[xor as usize];
            let is_there = *state != State::Free && operation.kind == Kind::Xor;
            let is_contained = || operation.operands().iter().all(|term| values.contains(term));
            (is_there && is_contained()).then(|| (xor, operation.sum(0)))
        })
    }

    /// Whether a value is that of an AND which can change, and only one wire refers to it.
    #[inline]
    pub(super) fn is_open_and(&self, value: u32) -> bool {
        let Maker { operation, state, .. } = &self.makers[value as usize];
        let is_alone = self.holds[value as usize] == 2;
        is_alone && operation.kind == Kind::And && *state == State::Open
    }

    /// The sum that an AND adds to its result.
    pub(super) fn post(&self, and: u32) -> Sum {
        self.makers[and as usize].operation.sum(2)
    }

    pub(super) fn set_post(&mut self, and: u32, post: &Sum) {
        self.hold(post.values());
        let old = self.post(and);
        self.makers[and as usize].operation.set_post(post);
        self.release(old.values());
    }

    /// Writes the operations that wait longest, if they must be there by now, until `delay` are left.
    pub(super) fn write_to(&mut self, delay: usize) -> Result<(), OverlayError> {
        while self.queue.len() >= delay + BATCH {
            // What is needed of them is far apart in memory: look at all of it first, so that the processor waits once.
            let batch = self.queue.range(..BATCH);
            let kinds = batch.map(|&value| self.makers[value as usize].operation.count());
            std::hint::black_box(kinds.fold(0, usize::max));
            for _ in 0..BATCH {
                self.write_oldest()?;
            }
            // Some of them may be needed by now, or by nobody.
            let count = self.unneeded.len().min(BATCH);
            self.queue_again(count);
            for _ in 0..count {
                self.write_oldest()?;
            }
        }
        Ok(())
    }

    /// Lets some XORs that were not needed be looked at again, before all others.
    fn queue_again(&mut self, count: usize) {
        self.unneeded.drain(..count).rev().for_each(|value| self.queue.push_front(value));
    }

    /// Writes all operations.
    pub(super) fn write_all(&mut self) -> Result<(), OverlayError> {
        while !self.queue.is_empty() || !self.unneeded.is_empty() {
            while !self.queue.is_empty() {
                self.write_oldest()?;
            }
            // No wire holds them any more, so each time at least one of them goes.
            self.queue_again(self.unneeded.len());
        }
        Ok(())
    }

    /// Writes the operation that waits longest, if it must be there by now.
    fn write_oldest(&mut self) -> Result<(), OverlayError> {
        let Some(value) = self.queue.pop_front() else { return Ok(()) };
        let Maker { operation, state, .. } = &self.makers[value as usize];
        let is_held = self.holds[value as usize] > 1;
        let is_open = *state == State::Open;
        let is_wanted = match operation.kind {
            Kind::Xor => {
                let is_alone = |&term: &u32| {
                    let kind = self.makers[term as usize].operation.kind;
                    self.holds[term as usize] == 1 && kind != Kind::Load
                };
                is_held && operation.operands().iter().any(is_alone)
            }
            Kind::And | Kind::Output | Kind::Load => true,
            Kind::Move | Kind::Spill | Kind::Fill | Kind::Leave => true,
        };
        if is_open && is_wanted {
            self.write(value)?;
        } else if is_open && is_held {
            self.unneeded.push_back(value);
            return Ok(());
        }
        self.release(&[value]);
        Ok(())
    }

    /// Writes an operation, after those that it reads.
    fn write(&mut self, first: u32) -> Result<(), OverlayError> {
        self.stack.push(first);
        while let Some(&value) = self.stack.last() {
            let Maker { operation, state, .. } = &self.makers[value as usize];
            let is_open = |&operand: &u32| self.makers[operand as usize].state == State::Open;
            if *state == State::Open && operation.operands().iter().any(is_open) {
                let operands = operation.operands().iter().copied();
                self.stack.extend(operands.filter(is_open));
                continue;
            }
            self.stack.pop();
            if *state == State::Open {
                operation.write_found(&mut self.file)?;
                self.end_writing(value);
            }
        }
        Ok(())
    }

    /// Notes that an operation was written.
    #[inline]
    fn end_writing(&mut self, value: u32) {
        let is_of_inputs = self.is_of_inputs(&self.makers[value as usize].operation);
        let maker = &mut self.makers[value as usize];
        maker.state = State::Written;
        if is_of_inputs {
            return;
        }
        maker.is_holding = false;
        for place in 0..maker.operation.count() {
            let operand = self.makers[value as usize].operation.operands[place];
            self.release(&[operand]);
        }
    }
}
