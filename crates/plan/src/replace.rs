//! Replacement: chooses the page that leaves memory when another must come in.
//!
//! Belady's MIN over exact next-use times (MAGE, section 6.3): the page whose next use is farthest
//! leaves. A page that holds no living value is never written; one that has not changed since it
//! was read is not written again; of two that are needed next by the same instruction the clean
//! one leaves first.
//!
//! Time is O(log T) per page touched, for T frames; memory is some 100 bytes per page that is
//! alive, and 8 per living value.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use phineus_bytecode::{Instruction, Layout};

use crate::annotate::{NAMES_PER_FRAME, NextUses};
use crate::error::Error;
use crate::limits::PAGES_PER_INSTRUCTION_MAX;
use crate::place::{Cell, Placer};
use crate::value_map::ValueMap;

/// A page of values: the unit of planning.
pub(crate) type PageIndex = u32;

const NONE: u32 = u32::MAX;

/// Event from replacement to the scheduler, in program order. Frames are logical.
#[derive(Clone, Copy)]
pub(crate) enum PlanEvent {
    /// The page in `frame` leaves; it is written to `slot` if `write`.
    Evict { frame: u32, slot: u32, write: bool },
    /// The page in `slot` must be in `frame` now.
    Load { frame: u32, slot: u32 },
    /// `frame` will hold a page with no contents yet.
    Fresh { frame: u32 },
    /// The page in `frame` is dead.
    Drop { frame: u32 },
    /// An instruction whose places are addresses in logical frames.
    Run(Instruction),
}

#[derive(Clone)]
struct PageState {
    frame: u32,
    slot: u32,
    dirty: bool,
    /// Twice the next use, plus 1 if clean.
    key: u64,
    heap_position: u32,
    /// Next uses of the values on the page.
    uses: BinaryHeap<Reverse<u64>>,
}

/// The state of the forward pass: where every living value is.
pub(crate) struct Replacer {
    layout: Layout,
    page_wires: u64,
    placer: Placer,
    places: ValueMap,
    pages: Vec<PageState>,
    /// Resident pages, the one with the farthest next use first.
    heap: Vec<PageIndex>,
    free_frames: Vec<u32>,
    frames_used: u32,
    frame_count: u32,
    free_slots: Vec<u32>,
    pub(crate) slots_used: u32,
    live_wires: u64,
    /// The most wires alive at once.
    pub(crate) peak_wires: u64,
}

impl Replacer {
    pub(crate) fn new(layout: Layout, page_wires: u64, frame_count: u64) -> Replacer {
        assert!(frame_count > PAGES_PER_INSTRUCTION_MAX, "one instruction's pages fit");
        Replacer {
            layout,
            page_wires,
            placer: Placer::new(page_wires),
            places: ValueMap::new(),
            pages: Vec::new(),
            heap: Vec::new(),
            free_frames: Vec::new(),
            frames_used: 0,
            frame_count: u32::try_from(frame_count).unwrap_or(u32::MAX - 1),
            free_slots: Vec::new(),
            slots_used: 0,
            live_wires: 0,
            peak_wires: 0,
        }
    }

    /// The most pages that were alive at once.
    pub(crate) fn peak_pages(&self) -> u64 {
        self.placer.peak_pages
    }

    /// Values alive now.
    pub(crate) fn live_values(&self) -> u64 {
        self.places.len() as u64
    }

    /// Bytes of memory that this stage takes, about.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.places.memory_bytes_after(NAMES_PER_FRAME)
            + 8 * self.places.len() as u64
            + (self.pages.len() * (size_of::<PageState>() + 96)) as u64
    }

    /// Places one instruction: emits what must happen before it, then the instruction itself.
    pub(crate) fn step<E>(
        &mut self,
        index: u64,
        instruction: &Instruction,
        uses: &NextUses,
        emit: &mut E,
    ) -> Result<(), Error>
    where
        E: FnMut(PlanEvent) -> Result<(), Error>,
    {
        let mut placed = *instruction;
        let operands = instruction.operands();
        let mut sources = [Cell::default(); 3];
        for (k, &operand) in operands.iter().enumerate() {
            let place = self.places.value(operand);
            let place = place
                .ok_or(Error::Invalid { instruction: index, what: "an operand is not defined" })?;
            sources[k] = Cell {
                page: (place / self.page_wires) as u32,
                offset: (place % self.page_wires) as u32,
            };
            self.bring_in(sources[k].page, index, emit)?;
        }
        let mut targets = [Cell::default(); 2];
        for (k, target) in targets.iter_mut().enumerate().take(instruction.results().len()) {
            let wires = self.layout.units(instruction.result_shape(k));
            if u64::from(wires) > self.page_wires {
                let (page_units, needed) = (self.page_wires, wires.into());
                return Err(Error::PageTooSmall { page_units, needed });
            }
            self.live_wires += u64::from(wires);
            *target = match self.placer.allocate(wires) {
                Some(target) => target,
                None => self.begin_page(wires, index, emit)?,
            };
            self.set_key(target.page, 2 * index);
        }
        for (k, source) in sources.iter().enumerate().take(operands.len()) {
            placed.operands[k] = self.address(*source);
        }
        for (k, target) in targets.iter().enumerate().take(instruction.results().len()) {
            placed.results[k] = self.address(*target);
        }
        self.peak_wires = self.peak_wires.max(self.live_wires);
        emit(PlanEvent::Run(placed))?;
        for k in 0..operands.len() {
            if !operands[..k].contains(&operands[k]) {
                self.used(operands[k], sources[k], index, uses.operands[k], emit)?;
            }
        }
        for (k, &result) in instruction.results().iter().enumerate() {
            self.defined(result, targets[k], index, uses.results[k], emit)?;
        }
        Ok(())
    }

    fn address(&self, Cell { page, offset }: Cell) -> u64 {
        u64::from(self.pages[page as usize].frame) * self.page_wires + u64::from(offset)
    }

    /// Makes `page` resident.
    fn bring_in<E>(&mut self, page: PageIndex, index: u64, emit: &mut E) -> Result<(), Error>
    where
        E: FnMut(PlanEvent) -> Result<(), Error>,
    {
        if self.pages[page as usize].frame != NONE {
            return Ok(());
        }
        let frame = self.take_frame(emit)?;
        let entry = &mut self.pages[page as usize];
        entry.frame = frame;
        entry.dirty = false;
        let slot = entry.slot;
        assert_ne!(slot, NONE, "a page that is not in memory is on storage");
        self.placer.set_resident(page, true);
        self.heap_push(page, 2 * index);
        emit(PlanEvent::Load { frame, slot })
    }

    /// Begins a page for values of `wires` units, and gives a cell of it.
    fn begin_page<E>(&mut self, wires: u32, index: u64, emit: &mut E) -> Result<Cell, Error>
    where
        E: FnMut(PlanEvent) -> Result<(), Error>,
    {
        let frame = self.take_frame(emit)?;
        let cell = self.placer.allocate_page(wires);
        let page = cell.page;
        let entry = PageState {
            frame,
            slot: NONE,
            dirty: true,
            key: 0,
            heap_position: NONE,
            uses: BinaryHeap::new(),
        };
        match self.pages.get_mut(page as usize) {
            Some(unused) => {
                let uses = std::mem::take(&mut unused.uses);
                *unused = PageState { uses, ..entry };
            }
            None => self.pages.push(entry),
        }
        self.heap_push(page, 2 * index);
        emit(PlanEvent::Fresh { frame })?;
        Ok(cell)
    }

    /// A free logical frame; evicts the page with the farthest next use if there is none.
    fn take_frame<E>(&mut self, emit: &mut E) -> Result<u32, Error>
    where
        E: FnMut(PlanEvent) -> Result<(), Error>,
    {
        if let Some(frame) = self.free_frames.pop() {
            return Ok(frame);
        }
        if self.frames_used < self.frame_count {
            self.frames_used += 1;
            return Ok(self.frames_used - 1);
        }
        let victim = self.heap[0];
        self.heap_remove(victim);
        self.placer.set_resident(victim, false);
        let free_slots = &mut self.free_slots;
        let slots_used = &mut self.slots_used;
        let entry = &mut self.pages[victim as usize];
        let frame = std::mem::replace(&mut entry.frame, NONE);
        let write = std::mem::replace(&mut entry.dirty, false);
        if entry.slot == NONE {
            assert!(write, "a page without a copy on storage has changed");
            entry.slot = free_slots.pop().unwrap_or_else(|| {
                *slots_used += 1;
                *slots_used - 1
            });
        }
        emit(PlanEvent::Evict { frame, slot: entry.slot, write })?;
        Ok(frame)
    }

    /// Notes that `value` in `cell` was used and is used again after `distance`, or never (0).
    fn used<E>(
        &mut self,
        value: u64,
        cell: Cell,
        index: u64,
        distance: u64,
        emit: &mut E,
    ) -> Result<(), Error>
    where
        E: FnMut(PlanEvent) -> Result<(), Error>,
    {
        let uses = &mut self.pages[cell.page as usize].uses;
        let mut due = uses.peek_mut().expect("a value that is used now was due");
        debug_assert!(*due == Reverse(index), "the nearest use is now");
        if distance == 0 {
            PeekMut::pop(due);
            self.places.remove(value);
            return self.release(cell, emit);
        }
        *due = Reverse(index + distance);
        drop(due);
        self.update_key(cell.page);
        Ok(())
    }

    /// Notes that `value` was written to `cell`.
    fn defined<E>(
        &mut self,
        value: u64,
        cell: Cell,
        index: u64,
        distance: u64,
        emit: &mut E,
    ) -> Result<(), Error>
    where
        E: FnMut(PlanEvent) -> Result<(), Error>,
    {
        let Cell { page, offset } = cell;
        self.pages[page as usize].dirty = true;
        if distance == 0 {
            return self.release(cell, emit);
        }
        self.places.insert(value, u64::from(page) * self.page_wires + u64::from(offset));
        self.pages[page as usize].uses.push(Reverse(index + distance));
        self.update_key(page);
        Ok(())
    }

    /// Frees the slot of a dead value, and its page with it if that is empty.
    fn release<E>(&mut self, cell: Cell, emit: &mut E) -> Result<(), Error>
    where
        E: FnMut(PlanEvent) -> Result<(), Error>,
    {
        let (wires, is_dead) = self.placer.release(cell);
        let page = cell.page;
        self.live_wires -= u64::from(wires);
        if !is_dead {
            self.update_key(page);
            return Ok(());
        }
        self.heap_remove(page);
        let entry = &mut self.pages[page as usize];
        let frame = std::mem::replace(&mut entry.frame, NONE);
        let slot = std::mem::replace(&mut entry.slot, NONE);
        debug_assert!(entry.uses.is_empty(), "no value on a dead page is used again");
        if slot != NONE {
            self.free_slots.push(slot);
        }
        self.free_frames.push(frame);
        emit(PlanEvent::Drop { frame })
    }

    /// Sets the key of `page` from the uses of its values.
    fn update_key(&mut self, page: PageIndex) {
        let entry = &self.pages[page as usize];
        // Between two instructions every page in memory holds a value that is used again; while
        // one runs, a page may hold only its results, and stays by having the smallest key.
        let next = entry.uses.peek().map_or(0, |&Reverse(next)| next);
        self.set_key(page, 2 * next + u64::from(!entry.dirty));
    }

    fn set_key(&mut self, page: PageIndex, key: u64) {
        let entry = &mut self.pages[page as usize];
        let old = std::mem::replace(&mut entry.key, key);
        let position = entry.heap_position as usize;
        if key > old {
            self.sift_up(position);
        } else if key < old {
            self.sift_down(position);
        }
    }

    fn heap_push(&mut self, page: PageIndex, key: u64) {
        self.pages[page as usize].key = key;
        self.heap.push(page);
        self.sift_up(self.heap.len() - 1);
    }

    fn heap_remove(&mut self, page: PageIndex) {
        let position = self.pages[page as usize].heap_position as usize;
        self.heap.swap_remove(position);
        self.pages[page as usize].heap_position = NONE;
        if position < self.heap.len() {
            let moved = self.heap[position];
            self.pages[moved as usize].heap_position = position as u32;
            self.sift_up(position);
            self.sift_down(self.pages[moved as usize].heap_position as usize);
        }
    }

    fn key_at(&self, position: usize) -> u64 {
        self.pages[self.heap[position] as usize].key
    }

    fn put(&mut self, position: usize, page: PageIndex) {
        self.heap[position] = page;
        self.pages[page as usize].heap_position = position as u32;
    }

    fn sift_up(&mut self, mut position: usize) {
        let page = self.heap[position];
        let key = self.pages[page as usize].key;
        while position > 0 && self.key_at((position - 1) / 2) < key {
            let parent = (position - 1) / 2;
            self.put(position, self.heap[parent]);
            position = parent;
        }
        self.put(position, page);
    }

    fn sift_down(&mut self, mut position: usize) {
        let page = self.heap[position];
        let key = self.pages[page as usize].key;
        loop {
            let mut child = 2 * position + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.key_at(child + 1) > self.key_at(child) {
                child += 1;
            }
            if self.key_at(child) <= key {
                break;
            }
            self.put(position, self.heap[child]);
            position = child;
        }
        self.put(position, page);
    }
}
