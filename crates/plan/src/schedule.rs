//! Scheduling: decides when each transfer starts and when it must be complete.
//!
//! Source: MAGE, section 6.4. A page that will be needed is read ahead into one of B spare
//! frames; a page that leaves is written while the computation goes on. Deviations:
//! * No page is ever copied between frames: the map from logical to physical frames changes
//!   instead, and the addresses of later instructions with it.
//! * How far ahead is measured in predicted time, not in instructions, whose costs differ a
//!   thousandfold.
//! * A read that cannot start early because no frame is free stays in line and starts as soon as
//!   one is; it is never dropped.
//!
//! Invariant: with F frames in all and B of them spare, at most F - B hold pages in use, and at
//! most B - 1 hold pages that arrive ahead of need, so a frame can always be found for a page that
//! is needed now, at worst by waiting for the oldest write.

use std::collections::{HashMap, VecDeque};

use phineus_bytecode::{Instruction, Op};

use crate::error::Error;
use crate::limits::WINDOW_EVENTS_MAX;
use crate::replace::PlanEvent;

const NONE: u32 = u32::MAX;

/// How far the scheduler looks ahead.
#[derive(Clone, Copy, Debug)]
pub struct Lookahead {
    /// Predicted nanoseconds between the start of a read and its need.
    pub time_ns: u64,
    /// Spare frames, B. With none the program is planned only if nothing is swapped.
    pub frames: u64,
}

/// A read that is in the window.
struct Read {
    slot: u32,
    /// Issued into this physical frame, or not yet.
    frame: u32,
    /// The write of the same slot that must be emitted before, by its number; 0: none.
    after_write: u64,
}

/// A write that was issued.
struct Write {
    frame: u32,
    slot: u32,
    issued_ns: u64,
}

/// The scheduling stage: takes events in program order, emits the planned program.
pub(crate) struct Scheduler<E> {
    emit: E,
    page_shift: u32,
    lookahead: Lookahead,
    window: VecDeque<(PlanEvent, u64)>,
    window_ns: u64,
    /// Reads in the window, oldest first, and how many reads left it.
    reads: VecDeque<Read>,
    reads_taken: u64,
    /// Number of reads in front of which none waits to be issued.
    reads_issued_to: u64,
    arrived_early: u64,
    /// Writes that entered the window, and the last of them for each slot that is still in it.
    writes_entered: u64,
    writes_emitted: u64,
    slot_writes: HashMap<u32, u64>,
    writes: VecDeque<Write>,
    physical: Vec<u32>,
    free: Vec<u32>,
    frames_used: u32,
    frame_count: u32,
    clock_ns: u64,
    pub(crate) swap_in_count: u64,
    pub(crate) swap_out_count: u64,
}

impl<E: FnMut(&Instruction) -> Result<(), Error>> Scheduler<E> {
    /// A scheduler over `frame_count` physical frames, the spare ones included.
    pub(crate) fn new(page_wires: u64, frame_count: u64, lookahead: Lookahead, emit: E) -> Self {
        assert!(page_wires.is_power_of_two(), "pages are a power of two of wires");
        Scheduler {
            emit,
            page_shift: page_wires.trailing_zeros(),
            lookahead,
            window: VecDeque::new(),
            window_ns: 0,
            reads: VecDeque::new(),
            reads_taken: 0,
            reads_issued_to: 0,
            arrived_early: 0,
            writes_entered: 0,
            writes_emitted: 0,
            slot_writes: HashMap::new(),
            writes: VecDeque::new(),
            physical: Vec::new(),
            free: Vec::new(),
            frames_used: 0,
            frame_count: u32::try_from(frame_count).unwrap_or(u32::MAX - 1),
            clock_ns: 0,
            swap_in_count: 0,
            swap_out_count: 0,
        }
    }

    /// Physical frames that the plan uses.
    pub(crate) fn frames_used(&self) -> u64 {
        u64::from(self.frames_used)
    }

    /// Takes the next event; `duration_ns` is how long it is predicted to take.
    pub(crate) fn push(&mut self, event: PlanEvent, duration_ns: u64) -> Result<(), Error> {
        match event {
            PlanEvent::Load { slot, .. } => {
                let after_write = self.slot_writes.get(&slot).copied().unwrap_or(0);
                self.reads.push_back(Read { slot, frame: NONE, after_write });
            }
            PlanEvent::Evict { slot, write: true, .. } => {
                self.writes_entered += 1;
                self.slot_writes.insert(slot, self.writes_entered);
            }
            _ => {}
        }
        self.window.push_back((event, duration_ns));
        self.window_ns += duration_ns;
        while self.window_ns > self.lookahead.time_ns || self.window.len() > WINDOW_EVENTS_MAX {
            self.take()?;
        }
        self.issue_reads()
    }

    /// Emits all that is left.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        while !self.window.is_empty() {
            self.take()?;
            self.issue_reads()?;
        }
        while self.finish_oldest_write()? {}
        Ok(())
    }

    /// Emits the oldest event of the window.
    fn take(&mut self) -> Result<(), Error> {
        let Some((event, duration_ns)) = self.window.pop_front() else {
            return Ok(());
        };
        self.window_ns -= duration_ns;
        self.clock_ns += duration_ns;
        match event {
            PlanEvent::Run(mut instruction) => {
                let operands = instruction.operand_count();
                let results = instruction.result_count();
                for place in &mut instruction.operands[..operands] {
                    *place = self.translate(*place);
                }
                for place in &mut instruction.results[..results] {
                    *place = self.translate(*place);
                }
                (self.emit)(&instruction)
            }
            PlanEvent::Fresh { frame } => {
                let physical = self.take_free()?;
                self.map(frame, physical);
                Ok(())
            }
            PlanEvent::Drop { frame } => {
                let physical = self.unmap(frame);
                self.free.push(physical);
                Ok(())
            }
            PlanEvent::Evict { frame, slot, write } => self.evict(frame, slot, write),
            PlanEvent::Load { frame, slot } => self.load(frame, slot),
        }
    }

    #[inline]
    fn translate(&self, place: u64) -> u64 {
        let offset = place & ((1 << self.page_shift) - 1);
        u64::from(self.physical[(place >> self.page_shift) as usize]) << self.page_shift | offset
    }

    fn map(&mut self, frame: u32, physical: u32) {
        let index = frame as usize;
        if self.physical.len() <= index {
            self.physical.resize(index + 1, NONE);
        }
        assert_eq!(self.physical[index], NONE, "a logical frame holds one page");
        self.physical[index] = physical;
    }

    fn unmap(&mut self, frame: u32) -> u32 {
        let physical = std::mem::replace(&mut self.physical[frame as usize], NONE);
        assert_ne!(physical, NONE, "a page that leaves is in a frame");
        physical
    }

    fn evict(&mut self, frame: u32, slot: u32, write: bool) -> Result<(), Error> {
        let physical = self.unmap(frame);
        if !write {
            self.free.push(physical);
            return Ok(());
        }
        self.writes_emitted += 1;
        if self.slot_writes.get(&slot) == Some(&self.writes_emitted) {
            self.slot_writes.remove(&slot);
        }
        self.swap_out_count += 1;
        self.writes.push_back(Write { frame: physical, slot, issued_ns: self.clock_ns });
        self.directive(Op::IssueSwapOut, physical, slot)
    }

    fn load(&mut self, frame: u32, slot: u32) -> Result<(), Error> {
        if self.reads_issued_to == self.reads_taken {
            // Nothing was free until now: take a frame at any price.
            let physical = self.take_free()?;
            self.issue_read(0, physical)?;
        } else {
            self.arrived_early -= 1;
        }
        let read = self.reads.pop_front().expect("each load is a read of the window");
        debug_assert_eq!(read.slot, slot);
        self.reads_taken += 1;
        self.map(frame, read.frame);
        self.directive(Op::FinishSwapIn, read.frame, slot)
    }

    /// Issues waiting reads, oldest first, while frames can be had without much waiting.
    fn issue_reads(&mut self) -> Result<(), Error> {
        while self.arrived_early + 1 < self.lookahead.frames {
            let waiting = (self.reads_issued_to - self.reads_taken) as usize;
            let Some(read) = self.reads.get(waiting) else {
                return Ok(());
            };
            let slot = read.slot;
            let is_repeated = self.reads.range(..waiting).any(|earlier| earlier.slot == slot);
            if is_repeated || read.after_write > self.writes_emitted {
                return Ok(());
            }
            if self.free.is_empty() && self.frames_used == self.frame_count {
                let Some(oldest) = self.writes.front() else {
                    return Ok(());
                };
                let age_ns = self.clock_ns - oldest.issued_ns;
                let many = self.writes.len() as u64 > self.lookahead.frames / 2;
                if !many && age_ns < self.lookahead.time_ns / 2 {
                    return Ok(());
                }
            }
            let physical = self.take_free()?;
            self.issue_read(waiting, physical)?;
            self.arrived_early += 1;
        }
        Ok(())
    }

    /// Starts the read at `position` of the window's reads.
    fn issue_read(&mut self, position: usize, physical: u32) -> Result<(), Error> {
        let read = &mut self.reads[position];
        read.frame = physical;
        let slot = read.slot;
        self.reads_issued_to += 1;
        self.swap_in_count += 1;
        if let Some(at) = self.writes.iter().position(|write| write.slot == slot) {
            let write = self.writes.remove(at).expect("it was just found");
            self.directive(Op::FinishSwapOut, write.frame, slot)?;
            self.free.push(write.frame);
        }
        self.directive(Op::IssueSwapIn, physical, slot)
    }

    /// A physical frame that is free, at worst once the oldest write is complete.
    fn take_free(&mut self) -> Result<u32, Error> {
        loop {
            if let Some(physical) = self.free.pop() {
                return Ok(physical);
            }
            if self.frames_used < self.frame_count {
                self.frames_used += 1;
                return Ok(self.frames_used - 1);
            }
            assert!(self.finish_oldest_write()?, "the invariant of this stage leaves a frame");
        }
    }

    fn finish_oldest_write(&mut self) -> Result<bool, Error> {
        let Some(write) = self.writes.pop_front() else {
            return Ok(false);
        };
        self.directive(Op::FinishSwapOut, write.frame, write.slot)?;
        self.free.push(write.frame);
        Ok(true)
    }

    fn directive(&mut self, op: Op, frame: u32, slot: u32) -> Result<(), Error> {
        (self.emit)(&Instruction::directive(op, frame.into(), slot.into()))
    }
}
