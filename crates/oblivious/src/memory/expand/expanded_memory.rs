//! [`ExpandedMemory`]: a memory, and the values that its method keeps.

use std::collections::BTreeMap;

use phineus_bytecode::{ElementType, Lane, Memory, MemoryMethod};
use phineus_frontend::{Records, Tracer, Value, lanes_for, rechunk};

use crate::memory::accesses::AccessKind;
use crate::memory::linked::{Linked, next_number};
use crate::memory::period::MemoryTerms;
use crate::memory::position_map::MapKind;
use crate::memory::scan::{LinearScan, ScannedRow};
use crate::memory::shuffle::Columns;
use crate::memory::square_root::{RestingRows, SquareRoot, TakenRow};

/// A memory, and how it is accessed.
pub(super) struct ExpandedMemory {
    elements: Vec<ElementType>,
    /// The type of a link to a row.
    link: ElementType,
    rows: u64,
    method: MemoryMethod,
    terms: MemoryTerms,
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
    /// Whether the block at hand is repeated.
    is_repeated: bool,
}

enum Store {
    Scan(LinearScan),
    SquareRoot(Box<SquareRoot>),
    Linked(Linked),
}

/// An access that is not complete.
struct Access {
    row: AccessedRow,
    /// At which index, or by which link.
    index: Value,
    /// Cells that were read, by column.
    cells: Vec<Option<Value>>,
    /// New cells, by column.
    new: Vec<Option<Value>>,
}

enum AccessedRow {
    Scanned(ScannedRow),
    Taken(TakenRow),
    /// Its cells, and the next link.
    Linked(Vec<Value>),
}

impl ExpandedMemory {
    pub(super) fn new(
        tracer: &Tracer,
        shape: &Memory,
        (method, terms): (MemoryMethod, MemoryTerms),
        is_one_block: bool,
    ) -> ExpandedMemory {
        let elements = shape.columns.clone();
        let resting = || match method {
            // What is linked lies in other regions later.
            MemoryMethod::Scan | MemoryMethod::Linked => {
                RestingRows::new(tracer, &elements, shape.rows)
            }
            MemoryMethod::SquareRoot | MemoryMethod::SquareRootTable => {
                RestingRows::numbered(tracer, &elements, shape.rows)
            }
        };
        ExpandedMemory {
            resting: (!is_one_block).then(resting),
            cells: vec![BTreeMap::new(); elements.len()],
            elements,
            link: shape.link(),
            rows: shape.rows,
            method,
            terms,
            kinds: Vec::new(),
            next_kind: 0,
            accesses: 0,
            store: None,
            access: None,
            is_repeated: false,
        }
    }

    /// Begins so many iterations with accesses of these kinds, which follow those of the block at hand.
    pub(super) fn begin(&mut self, kinds: &[AccessKind], iterations: u64, is_repeated: bool) {
        self.is_repeated = is_repeated;
        self.kinds = kinds.to_vec();
        self.next_kind = 0;
        self.accesses = kinds.len() as u64 * iterations;
    }

    /// Makes lanes the cells of a column from a row on.
    pub(super) fn set(&mut self, column: usize, [row, stride]: [u64; 2], cells: Value) {
        match &self.resting {
            Some(resting) => resting.column(column).store_each_iteration(row, stride, &cells),
            None => set_over(&mut self.cells[column], row, cells),
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
        let mut store = self.store.take().unwrap_or_else(|| self.store(tracer));
        let kind = self.kinds[self.next_kind];
        self.next_kind = (self.next_kind + 1) % self.kinds.len();
        let row = store.open(index, kind);
        self.store = Some(store);
        let none = vec![None; self.elements.len()];
        let index = index.clone();
        self.access = Some(Access { row, index, cells: none.clone(), new: none });
    }

    /// The link to a row.
    pub(super) fn link(&mut self, tracer: &Tracer, row: u64) -> Value {
        match self.method {
            MemoryMethod::Scan | MemoryMethod::SquareRoot | MemoryMethod::SquareRootTable => {
                tracer.constant(self.link, Lane::from(row))
            }
            MemoryMethod::Linked => {
                let store = self.store.take().unwrap_or_else(|| self.store(tracer));
                let Store::Linked(linked) = self.store.insert(store) else {
                    unreachable!("a memory has one method");
                };
                linked.link(row)
            }
        }
    }

    /// The link to the row behind that of the access at hand.
    pub(super) fn next(&mut self) -> Value {
        let rows = self.rows;
        match self.opened() {
            Access { row: AccessedRow::Linked(cells), .. } => {
                cells.last().expect("the link").clone()
            }
            Access { index, .. } => next_number(index, rows),
        }
    }

    /// Completes the access at hand, if there is one.
    fn close(&mut self) {
        if let Some(Access { row, cells, new, index: _ }) = self.access.take() {
            self.store.as_mut().expect("it was made for the access").close(row, &cells, &new);
        }
    }

    /// Leaves all rows where the next block finds them.
    pub(super) fn rest(&mut self) {
        self.close();
        let resting = self.resting.as_ref().expect("there are several blocks");
        match self.store.take() {
            None => {}
            // All blocks find them where they are.
            Some(linked @ Store::Linked(_)) => self.store = Some(linked),
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
            MemoryMethod::Linked => return Store::Linked(self.linked(tracer)),
        };
        Store::SquareRoot(Box::new(match &self.resting {
            Some(resting) => {
                SquareRoot::resumed(tracer, resting, (kind, self.terms), self.accesses)
            }
            None => SquareRoot::new(self.records(tracer), kind, self.terms),
        }))
    }

    fn linked(&mut self, tracer: &Tracer) -> Linked {
        if self.is_repeated {
            tracer.fault("links to rows are first made in a block that is repeated".to_owned());
        }
        let items = self.rows.max(2);
        let records = self.records(tracer);
        let lanes = records.chunk_lanes().min(lanes_for(self.link.width()));
        let lanes = lanes.min(items.next_power_of_two() as u32);
        let mut columns = records.into_columns();
        if self.rows < items {
            for (column, &element) in columns.iter_mut().zip(&self.elements) {
                column.push(tracer.constant(element, Lane::ZERO));
            }
        }
        let columns = columns.into_iter().map(|column| rechunk(column, lanes)).collect();
        Linked::new(tracer, columns, (items, lanes), self.terms.parties)
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

/// Puts lanes in from a row on, in place of those that were set before.
#[track_caller]
fn set_over(cells: &mut BTreeMap<u64, Value>, row: u64, lanes: Value) {
    let end = row + u64::from(lanes.lanes());
    let before = cells.range(..end).rev();
    let starts = before.take_while(|(start, old)| *start + u64::from(old.lanes()) > row);
    let starts: Vec<u64> = starts.map(|(start, _)| *start).collect();
    for start in starts {
        let old = cells.remove(&start).expect("it was found");
        let old_end = start + u64::from(old.lanes());
        if start < row {
            cells.insert(start, old.lane_slice(0, (row - start) as u32));
        }
        if old_end > end {
            cells.insert(end, old.lane_slice((end - start) as u32, (old_end - end) as u32));
        }
    }
    cells.insert(row, lanes);
}

impl Store {
    fn open(&mut self, index: &Value, kind: AccessKind) -> AccessedRow {
        match self {
            Store::Scan(scan) => AccessedRow::Scanned(scan.open(index)),
            Store::SquareRoot(memory) => AccessedRow::Taken(memory.open(index, kind)),
            Store::Linked(linked) => AccessedRow::Linked(linked.read(index)),
        }
    }

    fn cell(&self, row: &AccessedRow, column: usize) -> Value {
        match (self, row) {
            (Store::Scan(scan), AccessedRow::Scanned(row)) => scan.cell(row, column),
            (Store::SquareRoot(memory), AccessedRow::Taken(row)) => memory.cell(row, column),
            (Store::Linked(_), AccessedRow::Linked(cells)) => cells[column].clone(),
            (Store::Scan(_) | Store::SquareRoot(_) | Store::Linked(_), _) => {
                unreachable!("a memory has one method")
            }
        }
    }

    fn close(&mut self, row: AccessedRow, cells: &[Option<Value>], new: &[Option<Value>]) {
        match (self, row) {
            (Store::Scan(scan), AccessedRow::Scanned(row)) => scan.close(&row, cells, new),
            (Store::SquareRoot(memory), AccessedRow::Taken(row)) => memory.close(row, new),
            (Store::Linked(_), AccessedRow::Linked(_)) => {}
            (Store::Scan(_) | Store::SquareRoot(_) | Store::Linked(_), _) => {
                unreachable!("a memory has one method")
            }
        }
    }
}
