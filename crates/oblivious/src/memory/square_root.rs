//! [`SquareRoot`]: Square-Root ORAM.
//!
//! Rows lie in an order that nobody knows (`shuffle.rs`). An access opens the place of its row (`position_map.rs`),
//! or, if the row was accessed before, of a row that was not: so every place is opened once at most until the rows are
//! shuffled again, and which one is uniform. A row that was accessed lies in the stash from then on, which every access scans.
//! After `T` accesses (`period.rs`) the stash goes back to the places it came from, and all is shuffled anew.

use phineus_bytecode::{ElementType, Lane, Sharing};
use phineus_frontend::{OpenedIndex, Records, Region, Tracer, Value, lanes_for};

use super::accesses::AccessKind;
use super::period::MemoryTerms;
use super::position_map::{MapKind, PositionMap};
use super::shuffle::{Columns, Shuffling, put_back};
use super::{in_range, index_bits, numbers, selected};

/// Rows that lie in regions while no block works on them, a column in each.
pub(super) struct RestingRows {
    regions: Vec<Region>,
    elements: Vec<ElementType>,
    rows: u64,
}

impl RestingRows {
    /// Rows of zeros.
    pub(super) fn new(tracer: &Tracer, elements: &[ElementType], rows: u64) -> RestingRows {
        let regions = elements.iter().map(|&element| tracer.region(element, rows)).collect();
        RestingRows { regions, elements: elements.to_vec(), rows }
    }

    /// Rows of zeros that are going to be shuffled, with their numbers in one more column.
    #[track_caller]
    pub(super) fn numbered(
        tracer: &Tracer,
        elements: &[ElementType],
        rows: u64,
        sharing: Sharing,
    ) -> RestingRows {
        let items = items_of(rows);
        let bits = index_bits(items);
        let number = ElementType::unsigned(bits);
        let elements: Vec<ElementType> =
            elements.iter().chain([&number]).map(|element| element.shared(sharing)).collect();
        let resting = RestingRows::new(tracer, &elements, items);
        let lanes = lanes_for(bits);
        let starts = (0..).step_by(lanes as usize);
        for (start, numbers) in starts.zip(&all_numbers(tracer, bits, lanes, items)) {
            resting.column(elements.len() - 1).store(start, numbers);
        }
        RestingRows { rows, ..resting }
    }

    /// The region of a column.
    pub(super) fn column(&self, column: usize) -> &Region {
        &self.regions[column]
    }
}

/// A permutation of one row has no switches.
fn items_of(rows: u64) -> u64 {
    rows.max(2)
}

/// Rows in a secret order, those that were taken out of it since the last shuffle, and where the others lie.
pub(super) struct SquareRoot {
    store: ShuffledStore,
    map: PositionMap,
    rows: u64,
    /// The most accesses between two shuffles, and how many come after the next shuffle.
    period: u64,
    left: u64,
}

impl SquareRoot {
    #[track_caller]
    pub(super) fn new(records: Records, kind: MapKind, terms: MemoryTerms) -> SquareRoot {
        let rows = records.rows();
        let items = items_of(rows);
        let bits = index_bits(items);
        let tracer = records.tracer().clone();
        let period = terms.period(kind, records.elements(), items);
        // Numbers of rows can be wider than rows are.
        let lanes =
            records.chunk_lanes().min(lanes_for(bits)).min(items.next_power_of_two() as u32);
        let mut columns = records.into_columns();
        if rows < items {
            columns.iter_mut().for_each(|column| {
                let zero = tracer.constant(column[0].integer(), Lane::ZERO);
                column.push(zero);
            });
        }
        columns.push(all_numbers(&tracer, bits, lanes, items));
        let moved = |cells: &Value| cells.to_sharing(terms.rows.moved());
        let columns = columns.iter().map(|column| column.iter().map(moved).collect()).collect();
        let shuffling = Shuffling { period, parties: terms.parties, rows: terms.rows };
        let mut store = ShuffledStore::new(&tracer, Columns::new(columns, lanes), shuffling);
        let map = PositionMap::new(kind, &tracer, store.shuffle(), items, shuffling);
        SquareRoot { store, map, rows, period, left: u64::MAX }
    }

    /// For the accesses of one block, to rows that lie in regions; they are shuffled first.
    #[track_caller]
    pub(super) fn resumed(
        tracer: &Tracer,
        resting: &RestingRows,
        (kind, terms): (MapKind, MemoryTerms),
        accesses: u64,
    ) -> SquareRoot {
        let RestingRows { regions, elements, rows } = resting;
        let items = items_of(*rows);
        let widest = elements.iter().map(|element| element.width()).max();
        let lanes = lanes_for(widest.expect("the numbers of the rows"));
        let lanes = lanes.min(items.next_power_of_two() as u32);
        let cells = &elements[..elements.len() - 1];
        let period = terms.period_of(kind, cells, items, accesses).min(accesses);
        let shuffling = Shuffling { period, parties: terms.parties, rows: terms.rows };
        let mut store = ShuffledStore {
            tracer: tracer.clone(),
            regions: regions.clone(),
            elements: elements.clone(),
            waiting: None,
            items,
            lanes,
            stash: vec![Vec::new(); elements.len()],
            taken_from: Vec::new(),
            spare: Vec::new(),
            shuffling,
        };
        let map = PositionMap::new(kind, tracer, store.shuffle(), items, shuffling);
        SquareRoot { store, map, rows: *rows, period, left: accesses - period }
    }

    /// Leaves all rows in their regions.
    #[track_caller]
    pub(super) fn rest(&mut self) {
        self.store.put_back();
    }

    /// Begins an access: finds the row at `index` and opens a place.
    #[track_caller]
    pub(super) fn open(&mut self, index: &Value, kind: AccessKind) -> TakenRow {
        if self.store.is_used_up() {
            self.store.put_back();
            let numbers = self.store.shuffle();
            self.store.shuffling.period = self.period.min(self.left);
            self.left -= self.store.shuffling.period;
            self.map.renew(index.tracer(), numbers, self.store.shuffling);
        }
        let (index, valid) = in_range(index, self.store.index_bits(), self.rows);
        let found = self.store.find(&index, valid.as_ref());
        let is_dummy = match &valid {
            Some(valid) => found.is_there.or(&valid.not()),
            None => found.is_there.clone(),
        };
        let place = self.map.take(&index, &is_dummy, self.store.spare());
        let row = match kind {
            AccessKind::Read | AccessKind::Write => self.store.at(place),
            // Also the numbers of rows in the stash are exchanged.
            AccessKind::Update => self.store.exchange(place, &found),
        };
        TakenRow { kind, found, valid, is_dummy, place, row }
    }

    /// The cell of a column in a row: zeros if the index is that of no row.
    ///
    /// # Panics
    /// If the access is [`AccessKind::Write`].
    #[track_caller]
    pub(super) fn cell(&self, taken: &TakenRow, column: usize) -> Value {
        let cell = &taken.row[column];
        match (taken.kind, &taken.valid) {
            (AccessKind::Read, _) => {
                let fetched = taken.is_dummy.not().mask(cell);
                match taken.found.select(&self.store.stash()[column]) {
                    Some(stashed) => stashed.xor(&fetched),
                    None => fetched,
                }
            }
            (AccessKind::Update, Some(valid)) => valid.mask(cell),
            (AccessKind::Update, None) => cell.clone(),
            (AccessKind::Write, _) => unreachable!("what is only written is not read"),
        }
    }

    /// Completes an access, with new cells where there are some.
    #[track_caller]
    pub(super) fn close(&mut self, taken: TakenRow, new: &[Option<Value>]) {
        let TakenRow { kind, found, valid, is_dummy, place, mut row } = taken;
        match kind {
            AccessKind::Read => {}
            AccessKind::Write => {
                let new: Option<Vec<Value>> = new.iter().cloned().collect();
                let new = new.expect("all cells are written");
                self.store.replace(&found, &new);
                for (cell, new) in row.iter_mut().zip(&new) {
                    *cell = is_dummy.select(cell, new);
                }
            }
            AccessKind::Update => {
                for (cell, new) in row.iter_mut().zip(new) {
                    match (new, &valid) {
                        (None, _) => {}
                        (Some(new), None) => *cell = new.clone(),
                        (Some(new), Some(valid)) => *cell = valid.select(new, cell),
                    }
                }
            }
        }
        self.store.push(row.iter(), place);
    }
}

/// The row of an access.
pub(super) struct TakenRow {
    kind: AccessKind,
    found: Found,
    /// Whether the index is that of a row; nothing if it always is.
    valid: Option<Value>,
    /// Whether the row at the opened place is not the one that is meant.
    is_dummy: Value,
    place: OpenedIndex,
    /// The row at the opened place, its number behind its cells; of an update, the one that is meant.
    row: Vec<Value>,
}

/// Rows in a secret order, with their numbers in the last column, and the stash.
pub(super) struct ShuffledStore {
    tracer: Tracer,
    /// Rows by place.
    regions: Vec<Region>,
    elements: Vec<ElementType>,
    /// Columns of the rows that wait for a shuffle, and afterwards nothing.
    waiting: Option<Columns>,
    items: u64,
    lanes: u32,
    /// Rows that were taken out, by column in chunks of lanes, and from where.
    stash: Vec<Vec<Value>>,
    taken_from: Vec<OpenedIndex>,
    /// Indices of earlier periods, which are not used any more.
    spare: Vec<OpenedIndex>,
    pub(super) shuffling: Shuffling,
}

/// Which row of the stash an access wants.
pub(super) struct Found {
    /// One bit for each row, in the chunks of the stash.
    bits: Vec<Value>,
    /// Whether the row is in the stash, even if it was not to be found: so nobody waits for who allows it.
    pub(super) is_there: Value,
}

impl Found {
    /// The row of `column`, or zeros if there is none.
    #[track_caller]
    pub(super) fn select(&self, column: &[Value]) -> Option<Value> {
        selected(&self.bits, column)
    }
}

impl ShuffledStore {
    /// The number of each row is in the last column.
    #[track_caller]
    pub(super) fn new(tracer: &Tracer, waiting: Columns, shuffling: Shuffling) -> ShuffledStore {
        let columns = &waiting.columns;
        let elements: Vec<ElementType> = columns
            .iter()
            .map(|column| column[0].integer().shared(shuffling.rows.moved()))
            .collect();
        let (lanes, items) = (columns[0][0].lanes(), waiting.rows);
        let regions = elements.iter().map(|&element| tracer.region(element, items)).collect();
        let stash = vec![Vec::new(); elements.len()];
        ShuffledStore {
            tracer: tracer.clone(),
            regions,
            elements,
            waiting: Some(waiting),
            items,
            lanes,
            stash,
            taken_from: Vec::new(),
            spare: Vec::new(),
            shuffling,
        }
    }

    pub(super) fn index_bits(&self) -> u16 {
        self.elements.last().expect("the numbers of the rows").width()
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.taken_from.len() as u64 == self.shuffling.period.min(self.items)
    }

    /// Columns of the rows that were taken out.
    pub(super) fn stash(&self) -> &[Vec<Value>] {
        &self.stash
    }

    /// Brings the rows into a new order; returns the number of the row at each place.
    #[track_caller]
    pub(super) fn shuffle(&mut self) -> Vec<Value> {
        let mut columns = self
            .waiting
            .take()
            .unwrap_or_else(|| Columns::loaded(&self.regions, self.items, self.lanes));
        columns.shuffle(&self.tracer, self.shuffling.parties);
        for (number, region) in self.regions.iter().enumerate() {
            for (start, rows) in (0..).step_by(self.lanes as usize).zip(columns.trimmed(number)) {
                region.store(start, &rows);
            }
        }
        columns.trimmed(self.regions.len() - 1)
    }

    /// Has other rows, which wait for a shuffle; the stash and what is left of the rows is forgotten.
    pub(super) fn refill(&mut self, columns: Columns) {
        self.waiting = Some(columns);
        self.stash.iter_mut().for_each(Vec::clear);
        self.spare.append(&mut self.taken_from);
    }

    /// An index that may be opened anew.
    pub(super) fn spare(&mut self) -> Option<OpenedIndex> {
        self.spare.pop()
    }

    /// Puts the stash back to the places that it came from.
    #[track_caller]
    pub(super) fn put_back(&mut self) {
        put_back(&self.regions, &mut self.stash, &self.taken_from, self.lanes);
        self.spare.append(&mut self.taken_from);
    }

    /// Looks for a row in the stash, if `enable` allows it.
    #[track_caller]
    pub(super) fn find(&self, index: &Value, enable: Option<&Value>) -> Found {
        let chunks = self.stash.last().expect("the numbers of the rows").iter();
        let equal: Vec<Value> =
            chunks.map(|numbers| numbers.eq(&index.tile(numbers.lanes()))).collect();
        let any = equal.iter().map(Value::lane_or).reduce(|any, part| any.or(&part));
        let is_there = any.unwrap_or_else(|| self.tracer.constant(ElementType::BIT, Lane::ZERO));
        let bits = match enable {
            Some(enable) => equal.iter().map(|bits| bits.and(&enable.tile(bits.lanes()))).collect(),
            None => equal,
        };
        Found { bits, is_there }
    }

    /// The row at an opened place, without its copy in the stash.
    #[track_caller]
    pub(super) fn at(&self, place: OpenedIndex) -> Vec<Value> {
        self.regions.iter().map(|region| region.load_at(place).in_any_sharing()).collect()
    }

    /// The row that was found in the stash, which the row at `place` replaces there; or that one, if none was.
    #[track_caller]
    fn exchange(&mut self, place: OpenedIndex, found: &Found) -> Vec<Value> {
        let fetched = self.at(place);
        let columns = self.stash.iter_mut().zip(fetched);
        let taken = columns.map(|(chunks, mut row)| {
            let fetched = row.clone();
            for (rows, found) in chunks.iter_mut().zip(&found.bits) {
                let difference = found.mask(&rows.xor(&fetched.tile(rows.lanes())));
                *rows = rows.xor(&difference);
                row = row.xor(&difference.lane_xor());
            }
            row
        });
        taken.collect()
    }

    /// Makes the cells of the row that was found in the stash, if any, those of `row`.
    #[track_caller]
    fn replace(&mut self, found: &Found, row: &[Value]) {
        for (chunks, cell) in self.stash.iter_mut().zip(row) {
            for (rows, found) in chunks.iter_mut().zip(&found.bits) {
                *rows = rows.xor(&found.mask(&rows.xor(&cell.tile(rows.lanes()))));
            }
        }
    }

    /// Puts a row into the stash, that of `place` having been taken.
    #[track_caller]
    pub(super) fn push<'a>(&mut self, row: impl Iterator<Item = &'a Value>, place: OpenedIndex) {
        for (chunks, cell) in self.stash.iter_mut().zip(row) {
            match chunks.last_mut().filter(|last| last.lanes() < self.lanes) {
                Some(last) => *last = last.lane_concat(cell),
                None => chunks.push(cell.clone()),
            }
        }
        self.taken_from.push(place);
    }
}

/// The numbers of all rows, in chunks.
#[track_caller]
pub(super) fn all_numbers(tracer: &Tracer, bits: u16, lanes: u32, items: u64) -> Vec<Value> {
    let element = ElementType::unsigned(bits);
    let chunks = Columns::chunks(items, lanes);
    chunks.map(|(from, lanes)| numbers(tracer, element, from, lanes)).collect()
}
