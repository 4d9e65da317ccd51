//! [`Feed`]: operations in the order of the program, with those that let labels leave the wire memory for a time.
//!
//! Belady's MIN on the order of the operations: if a label is needed and the memory is full, the one with the farthest
//! next use leaves. An input leaves for free, since the host still has its label and sends it again. Any other value
//! is spilled once, as a result, and filled as a load whenever it is needed later.
//!
//! Cost: nothing if all labels fit. Else 16 bytes of memory for each value that lives, and 8 for each of four next uses.

use std::collections::{BinaryHeap, VecDeque};

use crate::OverlayError;
use crate::look_back::KnownOperations;
use crate::operations::{Kind, KnownOperation, NONE, Operation, OperationReader};
use crate::parameters::{CELLS_MAX, LOAD_LATENCY};

/// Operations for the scheduler.
pub(crate) struct Feed {
    reader: OperationReader,
    position: u32,
    /// Decides what leaves, if not all labels fit.
    spiller: Option<Spiller>,
    queue: VecDeque<KnownOperation>,
}

impl Feed {
    /// The operations. If more labels live in a cell at once than the first number of `capacities`, not more than the
    /// second do then; `labels` fit there.
    pub(crate) fn new(known: KnownOperations, capacities: [u64; 2], labels: u64) -> Feed {
        let is_spilling = known.peak > capacities[0];
        let spiller = is_spilling.then(|| Spiller::new(known.slot_count, capacities[1], labels));
        Feed {
            reader: known.reader,
            position: known.first_position,
            spiller,
            queue: VecDeque::new(),
        }
    }

    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.spiller.as_ref().map_or(0, |spiller| {
            let uses: usize = spiller.farthest.iter().map(BinaryHeap::capacity).sum();
            (spiller.slots.len() * size_of::<Slot>() + uses * size_of::<(u32, u32)>()) as u64
        })
    }

    /// Reads the next operation; returns whether there is one.
    #[inline]
    pub(crate) fn next(&mut self, known: &mut KnownOperation) -> Result<bool, OverlayError> {
        let Some(spiller) = &mut self.spiller else { return self.reader.next_known(known) };
        if self.queue.is_empty() {
            if !self.reader.next_known(known)? {
                return Ok(false);
            }
            spiller.step(*known, self.position, &mut self.queue)?;
            self.position += 1;
        }
        *known = self.queue.pop_front().expect("the operation itself is in the queue");
        Ok(true)
    }
}

/// A value of the program.
#[derive(Clone, Copy)]
struct Slot {
    /// Position of the next operation that reads it, or [`NONE`].
    next_use: u32,
    /// Its number, if it is an input; else [`NONE`].
    input: u32,
    cell: u8,
    /// Whether its label is in the wire memory.
    is_here: bool,
    /// Whether the host stores its label.
    is_stored: bool,
}

struct Spiller {
    slots: Vec<Slot>,
    capacity: u64,
    /// Labels that fit into a cell.
    labels: u64,
    live: [u64; CELLS_MAX as usize],
    /// Slots of each cell by next use. Entries of the past remain until there are too many.
    farthest: [BinaryHeap<(u32, u32)>; CELLS_MAX as usize],
}

impl Spiller {
    fn new(slot_count: usize, capacity: u64, labels: u64) -> Spiller {
        let slot = Slot { next_use: NONE, input: NONE, cell: 0, is_here: false, is_stored: false };
        Spiller {
            slots: vec![slot; slot_count],
            capacity,
            labels,
            live: [0; CELLS_MAX as usize],
            farthest: Default::default(),
        }
    }

    fn step(
        &mut self,
        known: KnownOperation,
        position: u32,
        queue: &mut VecDeque<KnownOperation>,
    ) -> Result<(), OverlayError> {
        let operation = known.operation;
        for &slot in operation.operands() {
            if !self.slots[slot as usize].is_here {
                self.make_space(position, self.slots[slot as usize].cell, queue)?;
                self.fill(slot, known.priority, queue);
            }
        }
        for (&slot, &next_use) in operation.operands().iter().zip(&known.next_uses) {
            let own = &mut self.slots[slot as usize];
            own.next_use = next_use;
            if next_use == NONE {
                own.is_here = false;
                self.live[usize::from(own.cell)] -= 1;
            } else {
                self.enter_use(slot);
            }
        }
        // What leaves for its result may be one of its operands.
        queue.push_back(known);
        if operation.kind.has_result() && known.first_use != NONE {
            self.make_space(position, operation.cell, queue)?;
            let is_input = operation.kind == Kind::Load;
            self.slots[operation.result as usize] = Slot {
                next_use: known.first_use,
                input: if is_input { operation.number } else { NONE },
                cell: operation.cell,
                is_here: true,
                is_stored: false,
            };
            self.live[usize::from(operation.cell)] += 1;
            self.enter_use(operation.result);
        }
        Ok(())
    }

    /// Notes the next use of a label that is here.
    fn enter_use(&mut self, slot: u32) {
        let Slot { next_use, cell, .. } = self.slots[slot as usize];
        let cell = usize::from(cell);
        let farthest = &mut self.farthest[cell];
        farthest.push((next_use, slot));
        if farthest.len() as u64 > 4 * (self.capacity + OPERATION_LABELS) {
            let slots = &self.slots;
            farthest.retain(|&(next, slot)| {
                let own = &slots[slot as usize];
                own.is_here && own.next_use == next
            });
        }
    }

    /// Lets the label of a slot return, for an operation of this priority that reads it.
    fn fill(&mut self, slot: u32, priority: u32, queue: &mut VecDeque<KnownOperation>) {
        let own = &mut self.slots[slot as usize];
        own.is_here = true;
        self.live[usize::from(own.cell)] += 1;
        let filled = Operation { cell: own.cell, result: slot, ..Operation::default() };
        let operation = match own.input {
            NONE => Operation { kind: Kind::Fill, ..filled },
            number => Operation { kind: Kind::Load, number, ..filled },
        };
        queue.push_back(KnownOperation {
            operation,
            priority: priority + LOAD_LATENCY,
            first_use: own.next_use,
            ..KnownOperation::default()
        });
    }

    /// Lets labels leave a cell until one more fits; those that the operation at `position` reads stay.
    fn make_space(
        &mut self,
        position: u32,
        cell: u8,
        queue: &mut VecDeque<KnownOperation>,
    ) -> Result<(), OverlayError> {
        let number = usize::from(cell);
        while self.live[number] >= self.capacity {
            let found = self.farthest[number].pop();
            let full = OverlayError::WireMemory { labels: self.labels };
            let Some((next, slot)) = found.filter(|&(next, _)| next > position) else {
                // Nothing is used later than this operation.
                return Err(full);
            };
            let own = &mut self.slots[slot as usize];
            if !own.is_here || own.next_use != next {
                continue;
            }
            let is_free = own.input != NONE || own.is_stored;
            own.is_here = false;
            own.is_stored |= !is_free;
            self.live[number] -= 1;
            let mut leaving = Operation { cell, lasts: 1, ..Operation::default() };
            leaving.operands[0] = slot;
            leaving.lengths[0] = 1;
            // A spill frees a label, so it issues as soon as it can.
            let kind = if is_free { Kind::Leave } else { Kind::Spill };
            queue.push_back(KnownOperation {
                operation: Operation { kind, ..leaving },
                priority: NONE,
                ..KnownOperation::default()
            });
        }
        Ok(())
    }
}

/// The most labels that one operation has.
const OPERATION_LABELS: u64 = 7;
