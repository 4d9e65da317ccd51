//! [`ExpandedMemory`]: a memory, and the values that its method keeps.

use std::collections::{BTreeMap, BTreeSet};

use phineus_bytecode::{ElementType, Lane, Lanes, Memory, MemoryMethod};
use phineus_frontend::{Records, Tracer, Value, lanes_for, rechunk};

use crate::memory::accesses::{AccessKind, BlockAccesses, SetOrder};
use crate::memory::changing::{ChangingRows, FoundRow};
use crate::memory::circuit::{AccessedBlock, Circuit};
use crate::memory::hidden::HiddenRows;
use crate::memory::in_field::{FieldSquareRoot, TakenElements};
use crate::memory::limbs::ColumnLimbs;
use crate::memory::linked::{Linked, next_number};
use crate::memory::period::{ElementPrices, MemoryTerms, RowSharing};
use crate::memory::position_map::MapKind;
use crate::memory::scan::{LinearScan, ScannedRow};
use crate::memory::shuffle::Columns;
use crate::memory::square_root::{RestingRows, SquareRoot, TakenRow};
use crate::memory::tables::{LookedUpRow, TableRows};
use crate::memory::usage::RowKnowledge;

/// A memory, and how it is accessed.
pub(super) struct ExpandedMemory {
    /// The types of the columns, and what they are cut into.
    columns: Vec<ElementType>,
    limbs: ColumnLimbs,
    /// The types of the limbs.
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
    /// Limbs of cells that are set before the first access: by limb and first row.
    cells: Vec<BTreeMap<u64, Value>>,
    /// Who knows the cells without any message.
    known_to: RowKnowledge,
    /// Whether any access changes them.
    is_changed: bool,
    /// Of tables, the same cells as they are known to all: column, first row, and lanes.
    known: Vec<(usize, u64, Option<Lanes>)>,
    /// Of Circuit ORAM in a program of several blocks: what the iteration at hand sets, and how many rows the block at hand
    /// sets.
    sets: SetOrder,
    set_cells: Vec<SetCells>,
    set_rows: u64,
    /// The rows, from the first access of a block on.
    store: Option<Store>,
    access: Option<Access>,
    /// How often the block at hand runs in a row.
    repeats: u64,
}

/// How much further they are in each iteration of the new block, and their cells by column.
type SetCells = (u64, Vec<Option<Value>>);

enum Store {
    Scan(LinearScan),
    SquareRoot(Box<SquareRoot>),
    Circuit(Box<Circuit>),
    InField(Box<FieldSquareRoot>),
    Linked(Linked),
    Tables(TableRows),
    Hidden(HiddenRows),
    Changing(ChangingRows),
}

/// An access that is not complete.
struct Access {
    row: AccessedRow,
    /// At which index, or by which link.
    index: Value,
    /// Limbs of cells that were read.
    cells: Vec<Option<Value>>,
    /// Limbs of new cells.
    new: Vec<Option<Value>>,
}

enum AccessedRow {
    Scanned(ScannedRow),
    Taken(TakenRow),
    Block(Box<AccessedBlock>),
    InField(TakenElements),
    /// Its cells, and the next link.
    Linked(Vec<Value>),
    LookedUp(LookedUpRow),
    Found(FoundRow),
}

impl ExpandedMemory {
    pub(super) fn new(
        tracer: &Tracer,
        shape: &Memory,
        (method, terms): (MemoryMethod, MemoryTerms),
        is_one_block: bool,
        (known_to, is_changed): (RowKnowledge, bool),
    ) -> ExpandedMemory {
        let columns = shape.columns.clone();
        let limbs = match terms.rows {
            RowSharing::Labels | RowSharing::Shares { .. } => ColumnLimbs::whole(&columns),
            RowSharing::Elements { bits } => ColumnLimbs::new(&columns, bits),
        };
        let elements = limbs.elements().to_vec();
        let resting = || match method {
            // What is linked lies in other regions later.
            MemoryMethod::Scan | MemoryMethod::Linked => {
                Some(RestingRows::new(tracer, &elements, shape.rows))
            }
            MemoryMethod::SquareRoot | MemoryMethod::SquareRootTable => {
                Some(RestingRows::numbered(tracer, &elements, shape.rows, terms.rows.moved()))
            }
            // It begins with its trees, and tables are the same in all blocks.
            MemoryMethod::Circuit | MemoryMethod::Dpf | MemoryMethod::GarbledTable => None,
        };
        ExpandedMemory {
            resting: if is_one_block { None } else { resting() },
            store: None,
            known_to,
            is_changed,
            cells: vec![BTreeMap::new(); elements.len()],
            known: Vec::new(),
            sets: SetOrder::default(),
            set_cells: Vec::new(),
            set_rows: 0,
            elements,
            columns,
            limbs,
            link: shape.link(),
            rows: shape.rows,
            method,
            terms,
            kinds: Vec::new(),
            next_kind: 0,
            accesses: 0,
            access: None,
            repeats: 1,
        }
    }

    pub(super) fn is_scanned(&self) -> bool {
        self.method == MemoryMethod::Scan
    }

    /// Of Circuit ORAM: begins a program of several blocks, of which the first one is not repeated.
    pub(super) fn start(&mut self, tracer: &Tracer) {
        if self.method == MemoryMethod::Circuit {
            let circuit = Circuit::resting(tracer, (&self.elements, self.rows), self.terms);
            self.store = Some(Store::Circuit(Box::new(circuit)));
        }
    }

    /// Begins so many iterations with such accesses, which follow those of the block at hand; all of them run `repeats`
    /// times in a row.
    pub(super) fn begin(&mut self, accesses: &BlockAccesses, iterations: u64, repeats: u64) {
        self.repeats = repeats;
        self.kinds = accesses.kinds.clone();
        self.next_kind = 0;
        self.accesses = self.kinds.len() as u64 * iterations;
        self.set_rows = accesses.set_rows() * iterations;
        if let Some(Store::Circuit(circuit)) = &mut self.store {
            let sets = if circuit.is_of_several_blocks() { self.set_rows } else { 0 };
            circuit.begin(self.accesses + sets, repeats);
        }
    }

    /// Of Circuit ORAM in a program of several blocks: inserts what was set, before an access or at the end of an iteration.
    pub(super) fn insert_sets(&mut self) {
        let (sets, cells) = (std::mem::take(&mut self.sets), std::mem::take(&mut self.set_cells));
        if let Some(Store::Circuit(circuit)) = &mut self.store {
            for (&(row, _, lanes), (stride, cells)) in sets.rows().iter().zip(cells) {
                for lane in 0..lanes {
                    let cell = |cells: &Option<Value>| {
                        cells.as_ref().map(|cells| cells.lane_slice(lane, 1))
                    };
                    let cells: Vec<Option<Value>> = cells.iter().map(cell).collect();
                    circuit.set([row + u64::from(lane), stride], &cells);
                }
            }
        }
    }

    /// Makes lanes the cells of a column from a row on; `old_stride` is what moved with the iterations before, and
    /// `constants` are those lanes, if they are known.
    pub(super) fn set(
        &mut self,
        column: usize,
        ([row, stride], old_stride): ([u64; 2], u64),
        cells: Value,
        constants: Option<&Lanes>,
    ) {
        if let Some(Store::Tables(rows)) = &mut self.store {
            assert!(self.repeats == 1, "rows are set once");
            return rows.set(column, row, constants.expect("rows of tables are constants"));
        }
        if let Some(Store::Circuit(_)) = &self.store {
            let place = self.sets.place(column, (row, old_stride, cells.lanes()));
            if place == self.set_cells.len() {
                self.set_cells.push((stride, vec![None; self.elements.len()]));
            }
            self.set_cells[place].1[column] = Some(cells);
            return;
        }
        let is_table = matches!(self.method, MemoryMethod::GarbledTable | MemoryMethod::Dpf);
        if self.resting.is_none() && is_table {
            assert!(self.repeats == 1, "rows are set once");
            self.known.push((column, row, constants.cloned()));
        }
        let cut = self.limbs.cut(column, &cells);
        for (limb, cells) in self.limbs.of_column(column).zip(cut) {
            match &self.resting {
                Some(resting) => resting.column(limb).store_each_iteration(row, stride, &cells),
                None => set_over(&mut self.cells[limb], row, cells),
            }
        }
    }

    fn opened(&mut self) -> &mut Access {
        self.access.as_mut().expect("the verifier has seen that an access comes first")
    }

    pub(super) fn change(&mut self, column: usize, cell: Value) {
        let cut = self.limbs.cut(column, &cell);
        for (limb, cell) in self.limbs.of_column(column).zip(cut) {
            self.opened().new[limb] = Some(cell);
        }
    }

    /// The type of the cells of a column as they are stored.
    pub(super) fn column(&self, column: usize) -> ElementType {
        self.columns[column]
    }

    pub(super) fn cell(&mut self, column: usize) -> Value {
        let limbs = self.limbs.of_column(column);
        let limbs = limbs.map(|limb| self.limb(limb)).collect();
        ColumnLimbs::joined(self.columns[column], limbs)
    }

    fn limb(&mut self, limb: usize) -> Value {
        if let Some(cell) = &self.opened().cells[limb] {
            return cell.clone();
        }
        let store = self.store.as_ref().expect("it was made for the access");
        let access = self.access.as_mut().expect("there is one");
        let cell = store.cell(&access.row, limb);
        access.cells[limb] = Some(cell.clone());
        cell
    }

    /// Completes the access before, and begins one.
    pub(super) fn open(&mut self, tracer: &Tracer, index: &Value) {
        self.close();
        self.insert_sets();
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
            MemoryMethod::Scan
            | MemoryMethod::SquareRoot
            | MemoryMethod::SquareRootTable
            | MemoryMethod::Circuit
            | MemoryMethod::GarbledTable
            | MemoryMethod::Dpf => tracer.constant(self.link, Lane::from(row)),
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
    pub(super) fn rest(&mut self, tracer: &Tracer) {
        self.close();
        if !self.known.is_empty() && self.store.is_none() {
            self.store = Some(self.store(tracer));
        }
        match self.store.take() {
            None => {}
            Some(Store::Tables(mut rows)) => {
                rows.write();
                self.store = Some(Store::Tables(rows));
            }
            Some(Store::Hidden(mut rows)) => {
                rows.rest();
                self.store = Some(Store::Hidden(rows));
            }
            Some(Store::Changing(mut rows)) => {
                rows.rest();
                self.store = Some(Store::Changing(rows));
            }
            // All blocks find them where they are.
            Some(linked @ Store::Linked(_)) => self.store = Some(linked),
            Some(Store::Circuit(mut circuit)) => {
                circuit.rest();
                self.store = Some(Store::Circuit(circuit));
            }
            Some(Store::SquareRoot(mut memory)) => memory.rest(),
            Some(Store::InField(_)) => unreachable!("where it is used there is one block"),
            Some(Store::Scan(scan)) => {
                let resting = self.resting.as_ref().expect("there are several blocks");
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
        if let (MemoryMethod::SquareRoot, RowSharing::Elements { .. }) =
            (self.method, self.terms.rows)
        {
            assert!(self.resting.is_none(), "programs on elements become one block");
            let prices = ElementPrices::new(self.terms.parties);
            let memory = FieldSquareRoot::new(self.records(tracer), prices);
            return Store::InField(Box::new(memory));
        }
        let kind = match self.method {
            MemoryMethod::Scan => {
                return Store::Scan(LinearScan::new(self.records(tracer), self.terms.rows));
            }
            MemoryMethod::SquareRoot => MapKind::Published,
            MemoryMethod::SquareRootTable => MapKind::Located,
            MemoryMethod::Circuit => {
                let cells = self.cells.iter().flatten();
                let rows = cells.flat_map(|(&row, cells)| row..row + u64::from(cells.lanes()));
                let set: BTreeSet<u64> = rows.collect();
                let set = (!set.is_empty()).then(|| (self.records(tracer), set));
                let shape = (&self.elements[..], self.rows);
                let mut circuit = Circuit::new(tracer, shape, set, self.terms);
                circuit.begin(self.accesses, self.repeats);
                return Store::Circuit(Box::new(circuit));
            }
            MemoryMethod::Linked => return Store::Linked(self.linked(tracer)),
            MemoryMethod::Dpf | MemoryMethod::GarbledTable => return self.tables(tracer),
        };
        Store::SquareRoot(Box::new(match &self.resting {
            Some(resting) => {
                SquareRoot::resumed(tracer, resting, (kind, self.terms), self.accesses)
            }
            None => SquareRoot::new(self.records(tracer), kind, self.terms),
        }))
    }

    /// Rows that change; tables of rows that all parties know; of others garbled tables that the first one knows, or hidden rows.
    fn tables(&mut self, tracer: &Tracer) -> Store {
        let known = std::mem::take(&mut self.known);
        if self.method == MemoryMethod::Dpf && self.is_changed {
            return Store::Changing(match known.is_empty() {
                true => ChangingRows::zeros(tracer, (&self.elements, self.rows), self.terms),
                false => ChangingRows::set(self.records(tracer), self.terms),
            });
        }
        if known.iter().any(|(.., lanes)| lanes.is_none()) {
            let records = self.records(tracer);
            if self.method == MemoryMethod::GarbledTable {
                let is_known = self.known_to <= RowKnowledge::FirstParty;
                assert!(is_known, "the first party is told rows that follow from its inputs");
                return Store::Tables(TableRows::told(records));
            }
            let hiding = if self.known_to == RowKnowledge::FirstParty { 1 } else { 2 };
            return Store::Hidden(HiddenRows::opened(records, hiding));
        }
        let mut rows = TableRows::new(tracer, &self.elements, self.rows);
        for (column, row, lanes) in known {
            rows.set(column, row, &lanes.expect("all are known"));
        }
        Store::Tables(rows)
    }

    fn linked(&mut self, tracer: &Tracer) -> Linked {
        if self.repeats > 1 {
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
        Linked::new(tracer, columns, (items, lanes), (self.terms.parties, self.terms.rows))
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
            Store::Circuit(memory) => AccessedRow::Block(Box::new(memory.open(index, kind))),
            Store::InField(memory) => AccessedRow::InField(memory.open(index)),
            Store::Linked(linked) => AccessedRow::Linked(linked.read(index)),
            Store::Tables(rows) => AccessedRow::LookedUp(rows.open(index)),
            Store::Hidden(rows) => AccessedRow::LookedUp(rows.open(index)),
            Store::Changing(rows) => AccessedRow::Found(rows.open(index)),
        }
    }

    fn cell(&self, row: &AccessedRow, column: usize) -> Value {
        match (self, row) {
            (Store::Scan(scan), AccessedRow::Scanned(row)) => scan.cell(row, column),
            (Store::SquareRoot(memory), AccessedRow::Taken(row)) => memory.cell(row, column),
            (Store::Circuit(memory), AccessedRow::Block(block)) => memory.cell(block, column),
            (Store::InField(memory), AccessedRow::InField(row)) => memory.cell(row, column),
            (Store::Linked(_), AccessedRow::Linked(cells)) => cells[column].clone(),
            (Store::Tables(rows), AccessedRow::LookedUp(row)) => rows.cell(row, column),
            (Store::Hidden(rows), AccessedRow::LookedUp(row)) => rows.cell(row, column),
            (Store::Changing(rows), AccessedRow::Found(row)) => rows.cell(row, column),
            (
                Store::Scan(_)
                | Store::SquareRoot(_)
                | Store::Circuit(_)
                | Store::InField(_)
                | Store::Linked(_)
                | Store::Tables(_)
                | Store::Hidden(_)
                | Store::Changing(_),
                _,
            ) => {
                unreachable!("a memory has one method")
            }
        }
    }

    fn close(&mut self, row: AccessedRow, cells: &[Option<Value>], new: &[Option<Value>]) {
        match (self, row) {
            (Store::Scan(scan), AccessedRow::Scanned(row)) => scan.close(&row, cells, new),
            (Store::SquareRoot(memory), AccessedRow::Taken(row)) => memory.close(row, new),
            (Store::Circuit(memory), AccessedRow::Block(block)) => memory.close(*block, new),
            (Store::InField(memory), AccessedRow::InField(row)) => memory.close(row, new),
            (Store::Linked(_), AccessedRow::Linked(_)) => {}
            (Store::Changing(rows), AccessedRow::Found(row)) => rows.close(row, new),
            (Store::Tables(_) | Store::Hidden(_), AccessedRow::LookedUp(_)) => {
                assert!(new.iter().all(Option::is_none), "rows of tables do not change");
            }
            (
                Store::Scan(_)
                | Store::SquareRoot(_)
                | Store::Circuit(_)
                | Store::InField(_)
                | Store::Linked(_)
                | Store::Tables(_)
                | Store::Hidden(_)
                | Store::Changing(_),
                _,
            ) => {
                unreachable!("a memory has one method")
            }
        }
    }
}
