//! [`Graph`]: operations, who reads whose result, and priorities.

use crate::operations::{Kind, Operations, Sum};
use crate::parameters::{AND_LATENCY, LOAD_LATENCY, MOVE_LATENCY, SPILL_LATENCY, XOR_LATENCY};
use crate::word::Address;

/// The part of the cell that does an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    And,
    Xor,
    Output,
    Load,
    Move,
}

impl Unit {
    pub(crate) const COUNT: usize = 5;

    pub(crate) fn of(kind: &Kind) -> Unit {
        match kind {
            Kind::Load { .. } | Kind::Fill { .. } => Unit::Load,
            Kind::And { .. } => Unit::And,
            Kind::Xor { .. } => Unit::Xor,
            Kind::Move { .. } => Unit::Move,
            Kind::Output { .. } | Kind::Spill { .. } => Unit::Output,
        }
    }

    pub(crate) fn latency(self) -> u32 {
        match self {
            Unit::And => AND_LATENCY,
            Unit::Xor => XOR_LATENCY,
            Unit::Output => SPILL_LATENCY,
            Unit::Load => LOAD_LATENCY,
            Unit::Move => MOVE_LATENCY,
        }
    }
}

/// Readers of a value whose operands are looked at when it gets a bank.
const READERS_SEEN: usize = 6;

/// Readers of a value among which a partner is looked for.
const READERS_PAIRED: usize = 32;

/// Operations of the program, then copies, which the scheduler adds.
pub(crate) struct Graph {
    pub(crate) kinds: Vec<Kind>,
    /// The cell in which each value is.
    cells: Vec<u8>,
    /// Operations of the program.
    pub(crate) program_length: usize,
    /// Readers of value `v` are at `starts[v]..starts[v + 1]` of `readers`.
    starts: Vec<u32>,
    readers: Vec<u32>,
    /// Operands that are not readable yet.
    pub(crate) waiting: Vec<u8>,
    /// Reads of a value that have not happened.
    pub(crate) uses: Vec<u32>,
    /// Cycles from the issue of an operation to the end of the longest path.
    pub(crate) priorities: Vec<u32>,
    /// Where each value is, once it has issued.
    pub(crate) places: Vec<Address>,
    /// Of an AND, the XOR that reads only labels which the AND reads, and the reverse; [`NONE`] of all others.
    partners: Vec<u32>,
}

/// No operation.
pub(crate) const NONE: u32 = u32::MAX;

/// A bank that no value is in.
const NO_BANK: u8 = u8::MAX;

impl Graph {
    /// Bytes of a graph and of a scheduler's tables for so many operations: six operands at most, and 29 bytes of numbers,
    /// of queues and of marks besides.
    pub(crate) fn bytes(operation_count: usize) -> u64 {
        let each = size_of::<Kind>() + size_of::<Address>() + 6 * size_of::<u32>() + 29;
        (operation_count * each) as u64
    }

    pub(crate) fn new(operations: &Operations) -> Graph {
        let kinds = operations.list.clone();
        let count = kinds.len();
        let (mut uses, mut waiting) = (vec![0_u32; count], vec![0_u8; count]);
        for (operation, kind) in kinds.iter().enumerate() {
            kind.dependencies(|value| {
                uses[value as usize] += 1;
                waiting[operation] += 1;
            });
        }
        let mut starts = vec![0_u32; count + 1];
        for value in 0..count {
            starts[value + 1] = starts[value] + uses[value];
        }
        let mut ends = starts.clone();
        let mut readers = vec![0; starts[count] as usize];
        let mut priorities = vec![0; count];
        for (operation, kind) in kinds.iter().enumerate() {
            kind.dependencies(|value| {
                let end = &mut ends[value as usize];
                readers[*end as usize] = operation as u32;
                *end += 1;
            });
        }
        for operation in (0..count).rev() {
            priorities[operation] += Unit::of(&kinds[operation]).latency();
            let priority = priorities[operation];
            kinds[operation].dependencies(|value| {
                let own = &mut priorities[value as usize];
                *own = (*own).max(priority);
            });
        }
        let places = vec![Address { bank: NO_BANK, row: 0 }; count];
        let partners = vec![NONE; count];
        let mut graph = Graph {
            kinds,
            cells: operations.cells.clone(),
            program_length: count,
            starts,
            readers,
            waiting,
            uses,
            priorities,
            places,
            partners,
        };
        graph.pair();
        graph
    }

    /// The operation that an operation is paired with, or [`NONE`].
    pub(crate) fn partner(&self, operation: u32) -> u32 {
        self.partners.get(operation as usize).map_or(NONE, |&partner| partner)
    }

    /// Pairs each AND with at most one XOR all of whose operands the AND reads, so that one word does both.
    fn pair(&mut self) {
        for xor in 0..self.program_length as u32 {
            let Kind::Xor { terms } = self.kinds[xor as usize] else { continue };
            let places = self.readers(terms.values()[0]);
            let mut candidates = places.take(READERS_PAIRED).map(|place| self.reader(place));
            let found = candidates.find(|&and| {
                matches!(self.kinds[and as usize], Kind::And { .. })
                    && self.partners[and as usize] == NONE
                    && terms.values().iter().all(|&term| self.reads(and, term))
            });
            if let Some(and) = found {
                self.partners[and as usize] = xor;
                self.partners[xor as usize] = and;
                // The AND is as urgent as its partner.
                let [own, other] = [and, xor].map(|operation| self.priorities[operation as usize]);
                self.priorities[and as usize] = own.max(other);
            }
        }
    }

    fn reads(&self, operation: u32, value: u32) -> bool {
        let mut is_there = false;
        self.kinds[operation as usize].operands(|operand| is_there |= operand == value);
        is_there
    }

    /// The cell in which a value is.
    pub(crate) fn cell(&self, value: u32) -> usize {
        usize::from(self.cells[value as usize])
    }

    /// The cell that issues an operation.
    pub(crate) fn issuer(&self, operation: u32) -> usize {
        match self.kinds[operation as usize] {
            Kind::Move { value } => self.cell(value),
            Kind::Load { .. } | Kind::And { .. } | Kind::Xor { .. } => self.cell(operation),
            Kind::Output { .. } | Kind::Spill { .. } | Kind::Fill { .. } => self.cell(operation),
        }
    }

    /// Places of the readers of a value, for [`Graph::reader`].
    pub(crate) fn readers(&self, value: u32) -> std::ops::Range<u32> {
        self.starts[value as usize]..self.starts[value as usize + 1]
    }

    pub(crate) fn reader(&self, place: u32) -> u32 {
        self.readers[place as usize]
    }

    pub(crate) fn operand_count(&self, kind: &Kind) -> usize {
        let mut count = 0;
        kind.operands(|_| count += 1);
        count
    }

    /// Adds a XOR that copies `value`, and lets `reader` read the copy. It is ready.
    pub(crate) fn copy(&mut self, value: u32, reader: u32) -> u32 {
        let copy = self.kinds.len() as u32;
        self.kinds.push(Kind::Xor { terms: Sum::one(value) });
        self.cells.push(self.cells[value as usize]);
        self.readers.push(reader);
        self.starts.push(self.readers.len() as u32);
        self.waiting.push(0);
        self.waiting[reader as usize] += 1;
        self.uses.push(1);
        self.priorities.push(self.priorities[reader as usize] + XOR_LATENCY);
        self.places.push(Address { bank: NO_BANK, row: 0 });
        let mut is_replaced = false;
        self.kinds[reader as usize].operands_mut(|operand| {
            if *operand == value && !is_replaced {
                *operand = copy;
                is_replaced = true;
            }
        });
        copy
    }

    /// Counts, by bank, labels that some reader of `value` reads together with it.
    pub(crate) fn penalise(&self, value: u32, penalties: &mut [u32]) {
        penalties.fill(0);
        for place in self.readers(value).take(READERS_SEEN) {
            self.kinds[self.readers[place as usize] as usize].operands(|other| {
                let bank = usize::from(self.places[other as usize].bank);
                if let Some(penalty) = penalties.get_mut(bank) {
                    *penalty += 1;
                }
            });
        }
    }
}
