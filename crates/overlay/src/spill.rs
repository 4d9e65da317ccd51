//! [`spilled`]: operations that live within fewer labels, because the host stores some of them for a time.
//!
//! Belady's MIN on the order of the operations: if a label is needed and the memory is full, the one with the farthest
//! next use leaves. An input leaves for free, since the host still has its label and sends it again. Any other value
//! is spilled once, as a result, and filled as a load whenever it is needed later.

use std::collections::BinaryHeap;

use crate::operations::{Kind, Operations};
use crate::parameters::CELLS_MAX;

/// Position of a use that never comes.
const NEVER: u32 = u32::MAX;

/// Bytes for each operation while spills are found, besides the two lists: six tables of numbers, and of six operands
/// at most the uses and their entries in the heap.
pub(crate) const SPILLER_BYTES: u64 = 6 * 4 + 6 * (4 + 8) + 1;

/// Bytes for each operation while [`peak_in_order`] counts.
pub(crate) const PEAK_BYTES: u64 = 2 * size_of::<u32>() as u64;

/// The most values that live at once in one cell if operations are done in their order.
pub(crate) fn peak_in_order(operations: &Operations) -> u64 {
    let cell = |value: u32| usize::from(operations.cells[value as usize]);
    let mut uses = vec![0_u32; operations.list.len()];
    operations.list.iter().for_each(|kind| kind.operands(|value| uses[value as usize] += 1));
    let mut remaining = uses.clone();
    let (mut live, mut peak) = ([0_u64; CELLS_MAX as usize], 0);
    for (value, kind) in operations.list.iter().enumerate() {
        kind.operands(|operand| {
            remaining[operand as usize] -= 1;
            live[cell(operand)] -= u64::from(remaining[operand as usize] == 0);
        });
        let own = &mut live[cell(value as u32)];
        *own += u64::from(uses[value] > 0);
        peak = peak.max(*own);
    }
    peak
}

/// The same operations, with spills and fills, so that at most `capacity` values live at once in a cell in their order.
pub(crate) fn spilled(operations: &Operations, capacity: usize) -> Operations {
    let mut spiller = Spiller::new(operations, capacity);
    for (position, kind) in operations.list.iter().enumerate() {
        spiller.step(position as u32, kind);
    }
    Operations { list: spiller.list, cells: spiller.cells }
}

struct Spiller<'a> {
    operations: &'a Operations,
    capacity: usize,
    /// Positions of the uses of value `v` are at `starts[v]..starts[v + 1]` of `uses`.
    starts: Vec<u32>,
    uses: Vec<u32>,
    /// The next of them, by value.
    next: Vec<u32>,
    /// The operation that made the copy in memory, by value; `NEVER` if there is none.
    places: Vec<u32>,
    /// The operation that spilled a value, or `NEVER`.
    spills: Vec<u32>,
    /// Values in each cell.
    live: [usize; CELLS_MAX as usize],
    /// Values of each cell by next use. Entries of the past remain until they are popped.
    farthest: [BinaryHeap<(u32, u32)>; CELLS_MAX as usize],
    list: Vec<Kind>,
    cells: Vec<u8>,
}

impl<'a> Spiller<'a> {
    fn new(operations: &'a Operations, capacity: usize) -> Spiller<'a> {
        let count = operations.list.len();
        let mut starts = vec![0_u32; count + 1];
        operations.list.iter().for_each(|kind| kind.operands(|v| starts[v as usize + 1] += 1));
        for value in 0..count {
            starts[value + 1] += starts[value];
        }
        let mut uses = vec![0; starts[count] as usize];
        let mut ends = starts.clone();
        for (position, kind) in operations.list.iter().enumerate() {
            kind.operands(|value| {
                let end = &mut ends[value as usize];
                uses[*end as usize] = position as u32;
                *end += 1;
            });
        }
        Spiller {
            operations,
            capacity,
            next: starts[..count].to_vec(),
            starts,
            uses,
            places: vec![NEVER; count],
            spills: vec![NEVER; count],
            live: [0; CELLS_MAX as usize],
            farthest: Default::default(),
            list: Vec::with_capacity(count + count / 8),
            cells: Vec::with_capacity(count + count / 8),
        }
    }

    fn cell(&self, value: u32) -> usize {
        usize::from(self.operations.cells[value as usize])
    }

    fn push(&mut self, kind: Kind, cell: usize) {
        self.list.push(kind);
        self.cells.push(cell as u8);
    }

    fn next_use(&self, value: u32) -> u32 {
        let next = self.next[value as usize];
        if next == self.starts[value as usize + 1] { NEVER } else { self.uses[next as usize] }
    }

    fn step(&mut self, position: u32, kind: &Kind) {
        let mut operands = Vec::with_capacity(6);
        kind.operands(|value| operands.push(value));
        for &value in &operands {
            if self.places[value as usize] == NEVER {
                self.make_space(position, self.cell(value));
                self.fill(value);
            }
        }
        let mut renamed = *kind;
        renamed.operands_mut(|value| *value = self.places[*value as usize]);
        for &value in &operands {
            self.next[value as usize] += 1;
            match self.next_use(value) {
                NEVER => {
                    self.places[value as usize] = NEVER;
                    self.live[self.cell(value)] -= 1;
                }
                next => self.farthest[self.cell(value)].push((next, value)),
            }
        }
        let has_uses = self.next_use(position) != NEVER;
        if has_uses {
            self.make_space(position, self.cell(position));
            self.enter(position);
        }
        self.push(renamed, self.cell(position));
    }

    /// Notes that the next operation makes the label of a value.
    fn enter(&mut self, value: u32) {
        self.places[value as usize] = self.list.len() as u32;
        let cell = self.cell(value);
        self.live[cell] += 1;
        self.farthest[cell].push((self.next_use(value), value));
    }

    fn fill(&mut self, value: u32) {
        let fill = match self.operations.list[value as usize] {
            Kind::Load { input } => Kind::Load { input },
            Kind::And { .. }
            | Kind::Xor { .. }
            | Kind::Move { .. }
            | Kind::Output { .. }
            | Kind::Spill { .. }
            | Kind::Fill { .. } => Kind::Fill { spill: self.spills[value as usize] },
        };
        self.enter(value);
        self.push(fill, self.cell(value));
    }

    /// Lets values leave a cell until one more fits; those that the operation at `position` reads stay.
    fn make_space(&mut self, position: u32, cell: usize) {
        while self.live[cell] >= self.capacity {
            let Some((next, value)) = self.farthest[cell].pop() else { return };
            let is_current = self.places[value as usize] != NEVER && self.next_use(value) == next;
            if !is_current {
                continue;
            }
            if next <= position {
                // Nothing is used later than this operation.
                self.farthest[cell].push((next, value));
                return;
            }
            let is_input = matches!(self.operations.list[value as usize], Kind::Load { .. });
            if !is_input && self.spills[value as usize] == NEVER {
                self.spills[value as usize] = self.list.len() as u32;
                self.push(Kind::Spill { value: self.places[value as usize] }, cell);
            }
            self.places[value as usize] = NEVER;
            self.live[cell] -= 1;
        }
    }
}
