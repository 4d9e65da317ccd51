//! [`look_back`]: the pass over operations from the last to the first. It finds, for each, the longest path from it to
//! the end of the program and when its operands are read next.
//!
//! Cost: 8 bytes of memory for each value that lives.

use crate::OverlayError;
use crate::memory::Place;
use crate::netlist::NODES_MAX;
use crate::operations::{Form, Kind, KnownOperation, NONE, OperationReader};
use crate::parameters::CELLS_MAX;
use crate::records::{FinishedRecords, RecordFile};

/// Operations whose uses are known.
pub(crate) struct KnownOperations {
    /// From the first operation to the last.
    pub(crate) reader: OperationReader,
    /// Slots of values.
    pub(crate) slot_count: usize,
    /// The most values that live at once in one cell if operations are done in their order.
    pub(crate) peak: u64,
    /// Position of the first operation; that of the last is the one below [`NONE`].
    pub(crate) first_position: u32,
}

#[derive(Clone, Copy)]
struct Slot {
    /// Position of the next operation that reads it, or [`NONE`].
    next_use: u32,
    /// The longest path from one of those that read it.
    path: u32,
}

/// A slot whose value nothing reads.
const UNUSED: Slot = Slot { next_use: NONE, path: 0 };

struct LookBack {
    slots: Vec<Slot>,
    live: [u64; CELLS_MAX as usize],
    peak: u64,
}

/// Finds uses and priorities of operations, of which the last is read first.
pub(crate) fn look_back(
    found: FinishedRecords,
    place: Place<'_>,
) -> Result<KnownOperations, OverlayError> {
    let mut reader = OperationReader::new(found.into_backwards(), Form::Found);
    let mut known = RecordFile::new(place.scratch);
    let nodes_max = NODES_MAX as u64;
    let mut pass = LookBack { slots: Vec::new(), live: [0; CELLS_MAX as usize], peak: 0 };
    // How many there are is not known, so positions count from the end.
    let mut position = NONE;
    let mut next = KnownOperation::default();
    while reader.next(&mut next.operation)? {
        position = position.checked_sub(1).ok_or(OverlayError::TooManyGates { nodes_max })?;
        pass.step(&mut next, position);
        next.write(&mut known)?;
        if reader.is_at_block() {
            place.check((pass.slots.capacity() * size_of::<Slot>()) as u64)?;
        }
    }
    let reader = OperationReader::new(known.finish()?.into_backwards(), Form::Known);
    let (slot_count, peak) = (pass.slots.len(), pass.peak);
    Ok(KnownOperations { reader, slot_count, peak, first_position: position })
}

impl LookBack {
    #[inline]
    fn step(&mut self, known: &mut KnownOperation, position: u32) {
        let operation = &mut known.operation;
        let mut path = operation.kind.latency();
        let cell = usize::from(operation.cell);
        known.first_use = NONE;
        if operation.kind.has_result() {
            self.peak = self.peak.max(self.live[cell]);
            let slot = std::mem::replace(self.slot(operation.result), UNUSED);
            known.first_use = slot.next_use;
            path += slot.path;
            self.live[cell] -= u64::from(slot.next_use != NONE);
        }
        let source = if operation.kind == Kind::Move { operation.number as usize } else { cell };
        for place in (0..operation.count()).rev() {
            let slot = self.slot(operation.operands[place]);
            known.next_uses[place] = slot.next_use;
            let is_last = slot.next_use == NONE;
            *slot = Slot { next_use: position, path: slot.path.max(path) };
            operation.lasts |= u8::from(is_last) << place;
            self.live[source] += u64::from(is_last);
        }
        self.peak = self.peak.max(self.live[source]);
        known.priority = path;
    }

    #[inline]
    fn slot(&mut self, slot: u32) -> &mut Slot {
        let slot = slot as usize;
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, UNUSED);
        }
        &mut self.slots[slot]
    }
}
