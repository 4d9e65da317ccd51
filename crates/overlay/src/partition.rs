//! [`partition`]: gives each operation a cell, and adds the operations that move labels between cells.
//!
//! In the order of the operations, each goes to the cell in which most of its operands are, among the cells that have not
//! much more work than any other. Inputs are loaded into every cell that reads them, and XORs of nothing but inputs are
//! done again there. Any other label moves at most once to each cell: XOR unit X of the cell that has it sends it, which
//! takes no cycle of its AND unit.
//!
//! Cost: one pass. Time of an operation grows with the number of cells.

use std::collections::HashMap;

use crate::operations::{Kind, Operations};

/// Work of an AND; that of anything else is 1.
const AND_WORK: u64 = 3;

/// Bytes for each operation, besides the lists: cells that have the value, its cell, its place, what it is, and an entry
/// among the copies.
pub(crate) const PARTITION_BYTES: u64 = 2 + 1 + 4 + 1 + 16;

struct Partitioner<'a> {
    operations: &'a Operations,
    /// The cells in which each value is, as bits.
    present: Vec<u16>,
    /// The cell in which each value was made.
    homes: Vec<u8>,
    /// The operation there that makes it.
    places: Vec<u32>,
    /// The same, by value and cell, in other cells.
    copies: HashMap<(u32, u8), u32>,
    /// Whether each value is an input or a XOR of inputs.
    is_cheap: Vec<bool>,
    work: Vec<u64>,
    slack: u64,
    partitioned: Operations,
}

/// The operations, partitioned among `cells` cells, of which one may have `slack` more work than the one with the least.
pub(crate) fn partition(operations: &Operations, (cells, slack): (u32, u64)) -> Operations {
    let count = operations.list.len();
    let mut partitioner = Partitioner {
        operations,
        present: vec![0; count],
        homes: vec![0; count],
        places: vec![0; count],
        copies: HashMap::new(),
        is_cheap: vec![false; count],
        work: vec![0; cells as usize],
        slack,
        partitioned: Operations::default(),
    };
    for value in 0..count as u32 {
        partitioner.place(value);
    }
    partitioner.partitioned
}

impl Partitioner<'_> {
    fn place(&mut self, value: u32) {
        let kind = self.operations.list[value as usize];
        let is_cheap = match &kind {
            Kind::Load { .. } => true,
            Kind::Xor { terms } => terms.values().iter().all(|&term| self.is_input(term)),
            Kind::And { .. } | Kind::Output { .. } => false,
            Kind::Move { .. } | Kind::Spill { .. } | Kind::Fill { .. } => false,
        };
        self.is_cheap[value as usize] = is_cheap;
        // Made where and when it is needed.
        if !is_cheap {
            let cell = self.cell_for(&kind);
            self.make(value, kind, cell);
        }
    }

    fn is_input(&self, value: u32) -> bool {
        matches!(self.operations.list[value as usize], Kind::Load { .. })
    }

    /// The cell for an operation.
    fn cell_for(&self, kind: &Kind) -> u8 {
        let least = self.work.iter().min().map_or(0, |&least| least);
        let cells = (0..self.work.len()).filter(|&cell| self.work[cell] <= least + self.slack);
        let cost = |&cell: &usize| {
            let mut missing = 0_u32;
            kind.operands(|value| {
                let is_there = self.present[value as usize] >> cell & 1 == 1;
                missing += u32::from(!is_there && !self.is_cheap[value as usize]);
            });
            (missing, self.work[cell])
        };
        cells.min_by_key(cost).map_or(0, |cell| cell as u8)
    }

    /// Adds an operation to a cell, after those that bring its operands there.
    fn make(&mut self, value: u32, mut kind: Kind, cell: u8) {
        kind.operands_mut(|operand| *operand = self.value_in(*operand, cell));
        self.work[usize::from(cell)] += match kind {
            Kind::And { .. } => AND_WORK,
            Kind::Load { .. } => 0,
            Kind::Xor { .. } | Kind::Output { .. } => 1,
            Kind::Move { .. } | Kind::Spill { .. } | Kind::Fill { .. } => 1,
        };
        let place = self.push(kind, cell);
        if self.present[value as usize] == 0 {
            self.homes[value as usize] = cell;
            self.places[value as usize] = place;
        } else {
            self.copies.insert((value, cell), place);
        }
        self.present[value as usize] |= 1 << cell;
    }

    fn push(&mut self, kind: Kind, cell: u8) -> u32 {
        self.partitioned.list.push(kind);
        self.partitioned.cells.push(cell);
        self.partitioned.list.len() as u32 - 1
    }

    /// The operation that makes a value in a cell, which is added if it is not there.
    fn value_in(&mut self, value: u32, cell: u8) -> u32 {
        if self.present[value as usize] >> cell & 1 == 0 {
            let kind = if self.is_cheap[value as usize] {
                self.operations.list[value as usize]
            } else {
                let home = self.places[value as usize];
                let moved = self.push(Kind::Move { value: home }, cell);
                self.work[usize::from(self.homes[value as usize])] += 1;
                self.copies.insert((value, cell), moved);
                self.present[value as usize] |= 1 << cell;
                return moved;
            };
            self.make(value, kind, cell);
        }
        match self.homes[value as usize] == cell {
            true => self.places[value as usize],
            false => self.copies[&(value, cell)],
        }
    }
}
