//! [`Window`]: the operations that were admitted, until nothing reads their results any more.
//!
//! An operation and its result share an *entry*. Entries are used again, so a window takes as much memory as there are
//! labels in the wire memory and operations that wait. Operands are found by slot when an operation is admitted, which
//! is in the order of the program. What is looked at of operands is apart from the rest, so that it stays in the caches.

use crate::operations::{Kind, KnownOperation, NONE, OPERANDS_MAX, Operation};
use crate::wire_memory::Penalties;

/// Readers of a value whose operands are looked at when it gets a bank.
const READERS_SEEN: usize = 6;

/// How far an operation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing is here.
    #[default]
    Free,
    /// It has not issued.
    Waiting,
    /// It has issued, and its result cannot be read yet.
    Issued,
    /// Its result can be read.
    Readable,
}

/// An operation.
#[derive(Clone, Copy, Default)]
pub(super) struct Entry {
    /// Entries of the operands; of a fill that of the spill.
    pub(super) operands: [u32; OPERANDS_MAX],
    /// As [`Operation::number`]; of a spill the number of the stored label.
    pub(super) number: u32,
    pub(super) priority: u32,
    pub(super) age: u32,
    pub(super) kind: Kind,
    /// The cell that has the result.
    pub(super) cell: u8,
    /// The cell that issues it.
    pub(super) issuer: u8,
    pub(super) lengths: [u8; 3],
    pub(super) nots: u8,
    /// Operands that are not readable yet.
    waiting: u8,
    /// Whether copies of its operands have a place for certain.
    pub(super) is_copying: bool,
}

impl Entry {
    /// Operands.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.lengths.iter().map(|&length| usize::from(length)).sum()
    }

    #[inline]
    pub(super) fn operands(&self) -> &[u32] {
        &self.operands[..self.count()]
    }
}

/// The result of an operation.
#[derive(Clone, Copy)]
struct Value {
    /// Reads that were admitted and did not happen.
    pending: u32,
    first_reader: u32,
    last_reader: u32,
    stage: Stage,
    /// Whether no more readers come.
    is_closed: bool,
}

/// A place of an operand, as a number.
fn edge(entry: u32, place: usize) -> u32 {
    entry * EDGES + place as u32
}

/// Numbers of edges of an entry, of which not all are used.
const EDGES: u32 = 8;
const _: () = assert!(OPERANDS_MAX <= EDGES as usize);

#[derive(Default)]
pub(super) struct Window {
    pub(super) entries: Vec<Entry>,
    values: Vec<Value>,
    /// The age of each operation that has not issued; 0 of all others.
    waiting_ages: Vec<u32>,
    /// Address of each result, or [`NONE`] before it has one.
    pub(super) places: Vec<u32>,
    /// By edge, the next one in the list of those that read the same value.
    next_readers: Vec<u32>,
    free: Vec<u32>,
    /// The entry of the value in each slot, and of its stored label.
    slots: Vec<[u32; 2]>,
    age: u32,
    /// Entries that nothing reads any more.
    pub(super) dead: Vec<u32>,
}

impl Window {
    /// Bytes of memory that it takes.
    pub(super) fn bytes(&self) -> u64 {
        let each =
            size_of::<Entry>() + size_of::<Value>() + (2 + EDGES as usize) * size_of::<u32>();
        (self.entries.capacity() * each + self.slots.capacity() * 2 * size_of::<u32>()) as u64
    }

    #[inline]
    fn new_entry(&mut self, is_closed: bool) -> u32 {
        self.age += 1;
        let value = Value {
            pending: 0,
            first_reader: NONE,
            last_reader: NONE,
            stage: Stage::Waiting,
            is_closed,
        };
        match self.free.pop() {
            Some(number) => {
                self.values[number as usize] = value;
                self.waiting_ages[number as usize] = self.age;
                self.places[number as usize] = NONE;
                number
            }
            None => {
                self.entries.push(Entry::default());
                self.waiting_ages.push(self.age);
                self.values.push(value);
                self.places.push(NONE);
                self.next_readers.extend([NONE; EDGES as usize]);
                self.entries.len() as u32 - 1
            }
        }
    }

    #[inline]
    fn slot(&mut self, slot: u32) -> &mut [u32; 2] {
        let slot = slot as usize;
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, [NONE; 2]);
        }
        &mut self.slots[slot]
    }

    /// How far the operation of an entry is.
    #[inline]
    pub(super) fn stage(&self, number: u32) -> Stage {
        self.values[number as usize].stage
    }

    /// Notes that an operation has issued.
    #[inline]
    pub(super) fn set_issued(&mut self, number: u32) {
        self.waiting_ages[number as usize] = 0;
        self.values[number as usize].stage = Stage::Issued;
    }

    /// Lets go of the label of a slot that leaves the wire memory.
    pub(super) fn leave(&mut self, operation: &Operation) {
        let value = std::mem::replace(&mut self.slot(operation.operands[0])[0], NONE);
        self.close(value);
    }

    /// Adds an operation; returns its entry, and whether it is ready.
    #[inline]
    pub(super) fn admit(&mut self, known: &KnownOperation) -> (u32, bool) {
        let operation = &known.operation;
        let issuer = match operation.kind {
            Kind::Move => operation.number as u8,
            Kind::Load | Kind::And | Kind::Xor | Kind::Output => operation.cell,
            Kind::Spill | Kind::Fill | Kind::Leave => operation.cell,
        };
        let is_unused = known.first_use == NONE;
        let number = self.new_entry(is_unused && operation.kind != Kind::Spill);
        let entry = &mut self.entries[number as usize];
        entry.number = operation.number;
        entry.priority = known.priority;
        entry.age = self.age;
        entry.kind = operation.kind;
        entry.cell = operation.cell;
        entry.issuer = issuer;
        entry.lengths = operation.lengths;
        entry.nots = operation.nots;
        (entry.waiting, entry.is_copying) = (0, false);
        for (place, &slot) in operation.operands().iter().enumerate() {
            let value = self.slots[slot as usize][0];
            self.read(number, place, value);
            if operation.lasts >> place & 1 == 1 {
                self.slots[slot as usize][0] = NONE;
                self.values[value as usize].is_closed = true;
            }
        }
        match operation.kind {
            Kind::Spill => self.slot(operation.operands[0])[1] = number,
            Kind::Fill => {
                let stored = self.slots[operation.result as usize][1];
                self.entries[number as usize].lengths[0] = 1;
                self.read(number, 0, stored);
            }
            Kind::Load | Kind::And | Kind::Xor | Kind::Output | Kind::Move | Kind::Leave => {
                self.forget_stored(operation);
            }
        }
        if operation.kind.has_result() && !is_unused {
            self.slot(operation.result)[0] = number;
        }
        (number, self.entries[number as usize].waiting == 0)
    }

    /// Forgets labels that are stored, of values that nothing reads after this operation.
    #[inline]
    fn forget_stored(&mut self, operation: &Operation) {
        for (place, &slot) in operation.operands().iter().enumerate() {
            let stored = self.slots[slot as usize][1];
            if operation.lasts >> place & 1 == 1 && stored != NONE {
                self.slots[slot as usize][1] = NONE;
                self.close(stored);
            }
        }
    }

    /// Notes that an operation reads a value.
    #[inline]
    fn read(&mut self, reader: u32, place: usize, value: u32) {
        let own = &mut self.values[value as usize];
        own.pending += 1;
        let entry = &mut self.entries[reader as usize];
        entry.operands[place] = value;
        if own.stage == Stage::Readable {
            return;
        }
        entry.waiting += 1;
        let new_edge = edge(reader, place);
        self.next_readers[new_edge as usize] = NONE;
        let before = std::mem::replace(&mut own.last_reader, new_edge);
        if before == NONE {
            own.first_reader = new_edge;
        } else {
            self.next_readers[before as usize] = new_edge;
        }
    }

    /// Notes that nothing more reads a value.
    fn close(&mut self, value: u32) {
        let own = &mut self.values[value as usize];
        own.is_closed = true;
        if own.pending == 0 && own.stage == Stage::Readable {
            self.dead.push(value);
        }
    }

    /// Notes that an operation has read its operands.
    #[inline]
    pub(super) fn release_operands(&mut self, number: u32) {
        for &value in self.entries[number as usize].operands() {
            let own = &mut self.values[value as usize];
            own.pending -= 1;
            if own.pending == 0 && own.is_closed {
                self.dead.push(value);
            }
        }
    }

    /// Makes a result readable; adds the operations that are ready then to `woken`.
    #[inline]
    pub(super) fn wake(&mut self, value: u32, woken: &mut Vec<u32>) {
        let own = &mut self.values[value as usize];
        own.stage = Stage::Readable;
        if own.pending == 0 && own.is_closed {
            self.dead.push(value);
        }
        let mut next = own.first_reader;
        (own.first_reader, own.last_reader) = (NONE, NONE);
        while next != NONE {
            let reader = next / EDGES;
            next = self.next_readers[next as usize];
            let entry = &mut self.entries[reader as usize];
            entry.waiting -= 1;
            if entry.waiting == 0 {
                woken.push(reader);
            }
        }
    }

    /// Gives an entry back.
    #[inline]
    pub(super) fn recycle(&mut self, entry: u32) {
        self.values[entry as usize].stage = Stage::Free;
        self.free.push(entry);
    }

    /// Adds a XOR that copies an operand of `reader`, which then reads the copy. It is ready.
    pub(super) fn copy(&mut self, reader: u32, place: usize) -> u32 {
        let Entry { operands, priority, cell, issuer, .. } = self.entries[reader as usize];
        let copy = self.new_entry(true);
        self.entries[copy as usize] = Entry {
            kind: Kind::Xor,
            priority: priority.saturating_add(Kind::Xor.latency()),
            age: self.age,
            cell,
            issuer,
            lengths: [1, 0, 0],
            ..Entry::default()
        };
        // It reads the value instead of the reader, so the reads of the value are as many as before.
        self.entries[copy as usize].operands[0] = operands[place];
        self.read(reader, place, copy);
        copy
    }

    /// Counts, by bank, labels that some reader of `value` reads together with it.
    #[inline]
    pub(super) fn penalties(&self, value: u32, bank_mask: u32) -> Penalties {
        let mut penalties = Penalties::NONE;
        let mut next = self.values[value as usize].first_reader;
        for _ in 0..READERS_SEEN {
            if next == NONE {
                break;
            }
            for &other in self.entries[(next / EDGES) as usize].operands() {
                let place = self.places[other as usize];
                if place != NONE {
                    penalties.add(place & bank_mask);
                }
            }
            next = self.next_readers[next as usize];
        }
        penalties
    }

    /// Whether an entry has the operation of this age, which has not issued.
    #[inline]
    pub(super) fn is_waiting(&self, number: u32, age: u32) -> bool {
        self.waiting_ages[number as usize] == age
    }
}
