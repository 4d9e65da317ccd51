//! [`ExpandedMemory`]: a memory, and the values that its method keeps.

use std::collections::BTreeMap;

use phineus_bytecode::{ElementType, Lane, Memory, MemoryMethod};
use phineus_frontend::{Records, Tracer, Value, lanes_for};

use crate::memory::accesses::AccessKind;
use crate::memory::position_map::MapKind;
use crate::memory::scan::{LinearScan, ScannedRow};
use crate::memory::shuffle::Columns;
use crate::memory::square_root::{RestingRows, SquareRoot, TakenRow};

/// A memory, and how it is accessed.
pub(super) struct ExpandedMemory {
    elements: Vec<ElementType>,
    rows: u64,
    method: MemoryMethod,
    /// The kinds of the accesses of an iteration, those that come next, and how many the block at hand has.
    kinds: Vec<AccessKind>,
    next_kind: usize,
    accesses: u64,
    /// Where the rows are while no block works on them; nothing in a program of one block.
    resting: Option<RestingRows>,
    /// Cells that are set before the first access: by column and first row.
    cells: Vec<BTreeMap<u64, Value>>,
    /// The rows, from the first access of a block on.
    store: Option<Store>,
    access: Option<Access>,
}

enum Store {
    Scan(LinearScan),
    SquareRoot(Box<SquareRoot>),
}

/// An access that is not complete.
struct Access {
    row: AccessedRow,
    /// Cells that were read, by column.
    cells: Vec<Option<Value>>,
    /// New cells, by column.
    new: Vec<Option<Value>>,
}

enum AccessedRow {
    Scanned(ScannedRow),
    Taken(TakenRow),
}

impl ExpandedMemory {
    pub(super) fn new(
        tracer: &Tracer,
        shape: &Memory,
        method: MemoryMethod,
        is_one_block: bool,
    ) -> ExpandedMemory {
        let elements = shape.columns.clone();
        let resting = || match method {
            MemoryMethod::Scan => RestingRows::new(tracer, &elements, shape.rows),
            MemoryMethod::SquareRoot | MemoryMethod::SquareRootTable => {
                RestingRows::numbered(tracer, &elements, shape.rows)
            }
        };
        ExpandedMemory {
            resting: (!is_one_block).then(resting),
            cells: vec![BTreeMap::new(); elements.len()],
            elements,
            rows: shape.rows,
            method,
            kinds: Vec::new(),
            next_kind: 0,
            accesses: 0,
            store: None,
            access: None,
        }
    }

    /// Begins so many iterations with accesses of these kinds, which follow those of the block at hand.
    pub(super) fn begin(&mut self, kinds: &[AccessKind], iterations: u64) {
        self.kinds = kinds.to_vec();
        self.next_kind = 0;
        self.accesses = kinds.len() as u64 * iterations;
    }

    /// Makes lanes the cells of a column from a row on.
    pub(super) fn set(&mut self, column: usize, [row, stride]: [u64; 2], cells: Value) {
        match &self.resting {
            Some(resting) => resting.column(column).store_each_iteration(row, stride, &cells),
            None => {
                self.cells[column].insert(row, cells);
            }
        }
    }

    fn opened(&mut self) -> &mut Access {
        self.access.as_mut().expect("the verifier has seen that an access comes first")
    }

    pub(super) fn change(&mut self, column: usize, cell: Value) {
        self.opened().new[column] = Some(cell);
    }

    pub(super) fn cell(&mut self, column: usize) -> Value {
        if let Some(cell) = &self.opened().cells[column] {
            return cell.clone();
        }
        let store = self.store.as_ref().expect("it was made for the access");
        let access = self.access.as_mut().expect("there is one");
        let cell = store.cell(&access.row, column);
        access.cells[column] = Some(cell.clone());
        cell
    }

    /// Completes the access before, and begins one.
    pub(super) fn open(&mut self, tracer: &Tracer, index: &Value) {
        self.close();
        let mut store = match self.store.take() {
            Some(store) => store,
            None => self.store(tracer),
        };
        let kind = self.kinds[self.next_kind];
        self.next_kind = (self.next_kind + 1) % self.kinds.len();
        let row = store.open(index, kind);
        self.store = Some(store);
        let none = vec![None; self.elements.len()];
        self.access = Some(Access { row, cells: none.clone(), new: none });
    }

    /// Completes the access at hand, if there is one.
    fn close(&mut self) {
        if let Some(Access { row, cells, new }) = self.access.take() {
            self.store.as_mut().expect("it was made for the access").close(row, &cells, &new);
        }
    }

    /// Leaves all rows where the next block finds them.
    pub(super) fn rest(&mut self) {
        self.close();
        let resting = self.resting.as_ref().expect("there are several blocks");
        match self.store.take() {
            None => {}
            Some(Store::SquareRoot(mut memory)) => memory.rest(),
            Some(Store::Scan(scan)) => {
                for (column, chunks) in
                    scan.into_changed().map(Records::into_columns).into_iter().flatten().enumerate()
                {
                    let mut row = 0;
                    for chunk in chunks {
                        resting.column(column).store(row, &chunk);
                        row += u64::from(chunk.lanes());
                    }
                }
            }
        }
    }

    fn store(&mut self, tracer: &Tracer) -> Store {
        let kind = match self.method {
            MemoryMethod::Scan => return Store::Scan(LinearScan::new(self.records(tracer))),
            MemoryMethod::SquareRoot => MapKind::Published,
            MemoryMethod::SquareRootTable => MapKind::Located,
        };
        Store::SquareRoot(Box::new(match &self.resting {
            Some(resting) => SquareRoot::resumed(tracer, resting, kind, self.accesses),
            None => SquareRoot::new(self.records(tracer), kind),
        }))
    }

    /// The rows at the beginning of a program of one block, or as they rested.
    fn records(&mut self, tracer: &Tracer) -> Records {
        let widest = self.elements.iter().map(|element| element.width()).max();
        let lanes = lanes_for(widest.expect("a memory has columns"));
        let columns = match &self.resting {
            Some(resting) => {
                let column = |column: usize| {
                    let chunks = Columns::chunks(self.rows, lanes);
                    chunks.map(|(row, lanes)| resting.column(column).load(row, lanes)).collect()
                };
                (0..self.elements.len()).map(column).collect()
            }
            None => self.set_columns(tracer, lanes),
        };
        Records::from_pieces(tracer, lanes, &self.elements, columns)
    }

    /// The cells that were set, and zeros between them.
    fn set_columns(&mut self, tracer: &Tracer, lanes: u32) -> Vec<Vec<Value>> {
        let columns = self.elements.iter().zip(&mut self.cells).map(|(&element, cells)| {
            let zero = tracer.constant(element, Lane::ZERO);
            let mut pieces = Vec::new();
            let mut next = 0;
            let skip = |pieces: &mut Vec<Value>, next: &mut u64, to: u64| {
                while *next < to {
                    let lanes = (to - *next).min(lanes.into()) as u32;
                    pieces.push(zero.tile(lanes));
                    *next += u64::from(lanes);
                }
            };
            for (row, cells) in std::mem::take(cells) {
                skip(&mut pieces, &mut next, row);
                next += u64::from(cells.lanes());
                pieces.push(cells);
            }
            skip(&mut pieces, &mut next, self.rows);
            pieces
        });
        columns.collect()
    }
}

impl Store {
    fn open(&mut self, index: &Value, kind: AccessKind) -> AccessedRow {
        match self {
            Store::Scan(scan) => AccessedRow::Scanned(scan.open(index)),
            Store::SquareRoot(memory) => AccessedRow::Taken(memory.open(index, kind)),
        }
    }

    fn cell(&self, row: &AccessedRow, column: usize) -> Value {
        match (self, row) {
            (Store::Scan(scan), AccessedRow::Scanned(row)) => scan.cell(row, column),
            (Store::SquareRoot(memory), AccessedRow::Taken(row)) => memory.cell(row, column),
            (Store::Scan(_), AccessedRow::Taken(_))
            | (Store::SquareRoot(_), AccessedRow::Scanned(_)) => {
                unreachable!("a memory has one method")
            }
        }
    }

    fn close(&mut self, row: AccessedRow, cells: &[Option<Value>], new: &[Option<Value>]) {
        match (self, row) {
            (Store::Scan(scan), AccessedRow::Scanned(row)) => scan.close(&row, cells, new),
            (Store::SquareRoot(memory), AccessedRow::Taken(row)) => memory.close(row, new),
            (Store::Scan(_), AccessedRow::Taken(_))
            | (Store::SquareRoot(_), AccessedRow::Scanned(_)) => {
                unreachable!("a memory has one method")
            }
        }
    }
}
