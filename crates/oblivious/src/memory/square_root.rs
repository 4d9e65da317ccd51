//! [`SquareRoot`]: Square-Root ORAM of two parties.
//!
//! Rows lie in an order that nobody knows (`shuffle.rs`). An access opens the place of its row (`position_map.rs`),
//! or, if the row was accessed before, of a row that was not: so every place is opened once at most until the rows are
//! shuffled again, and which one is uniform. A row that was accessed lies in the stash from then on, which every access scans.
//! After `T` accesses the stash goes back to the places it came from, and all is shuffled anew.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{OpenedIndex, Records, Region, Tracer, Value, lanes_for};

use super::position_map::PositionMap;
use super::shuffle::{Columns, places};
use super::{in_range, index_bits, numbers, selected};

/// Accesses between two shuffles: the square root of the switches of a network, so that the stash and the shuffle
/// cost about the same (Zahur et al. 2016, section V).
pub(super) fn period(rows: u64) -> u64 {
    fn switches(rows: u64) -> u64 {
        match rows {
            0 | 1 => 0,
            2 => 1,
            _ => rows - 1 + switches(rows / 2) + switches(rows.div_ceil(2)),
        }
    }
    let switches = switches(rows);
    let root = switches.isqrt();
    (root + u64::from(root * root < switches)).max(1)
}

/// Rows in a secret order, those that were taken out of it since the last shuffle, and where the others lie.
pub(super) struct SquareRoot {
    store: ShuffledStore,
    map: PositionMap,
    rows: u64,
}

impl SquareRoot {
    #[track_caller]
    pub(super) fn new(records: Records) -> SquareRoot {
        let rows = records.rows();
        let items = rows.next_power_of_two().max(2);
        let bits = index_bits(items);
        let tracer = records.tracer().clone();
        // Numbers of rows can be wider than rows are.
        let lanes = records.chunk_lanes().min(lanes_for(bits)).min(items as u32);
        let mut columns = records.rechunked(lanes).into_columns();
        for column in &mut columns {
            pad(column, lanes, items);
        }
        columns.push(all_numbers(&tracer, bits, lanes, items));
        let period = period(items);
        let mut store = ShuffledStore::new(&tracer, columns, period);
        let map = PositionMap::new(&tracer, store.shuffle(), items, period);
        SquareRoot { store, map, rows }
    }

    /// Begins an access: takes the row out of the store and the stash.
    #[track_caller]
    pub(super) fn open(&mut self, index: &Value) -> TakenRow {
        if self.store.is_used_up() {
            self.store.put_back();
            let places = self.store.shuffle();
            self.map.renew(&index.tracer().clone(), places);
        }
        let (index, valid) = in_range(index, self.store.index_bits(), self.rows);
        let found = self.store.find(&index, valid.as_ref());
        let any = found.any();
        let is_dummy = match &valid {
            Some(valid) => any.or(&valid.not()),
            None => any,
        };
        let place = self.map.take(&index, &is_dummy, self.store.spare());
        let row = self.store.exchange(place, &found);
        TakenRow { place, valid, row }
    }

    /// Completes an access, with new cells where there are some.
    #[track_caller]
    pub(super) fn close(&mut self, taken: TakenRow, new: &[Option<Value>]) {
        let TakenRow { place, valid, mut row } = taken;
        for (cell, new) in row.iter_mut().zip(new) {
            match (new, &valid) {
                (None, _) => {}
                (Some(new), None) => *cell = new.clone(),
                (Some(new), Some(valid)) => *cell = valid.select(new, cell),
            }
        }
        self.store.push(row.iter(), place);
    }
}

/// A row that an access has taken out of the store, its number behind its cells.
pub(super) struct TakenRow {
    place: OpenedIndex,
    /// Whether the index is that of a row; nothing if it always is.
    valid: Option<Value>,
    row: Vec<Value>,
}

impl TakenRow {
    /// The cell of a column: zeros if the index is that of no row.
    #[track_caller]
    pub(super) fn cell(&self, column: usize) -> Value {
        match &self.valid {
            Some(valid) => valid.mask(&self.row[column]),
            None => self.row[column].clone(),
        }
    }
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
    period: u64,
}

/// Which row of the stash an access wants: one bit for each, in the chunks of the stash.
pub(super) struct Found(Vec<Value>, Tracer);

impl Found {
    /// Whether there is one.
    #[track_caller]
    pub(super) fn any(&self) -> Value {
        let parts = self.0.iter().map(Value::lane_or);
        parts
            .reduce(|any, part| any.or(&part))
            .unwrap_or_else(|| self.1.constant(ElementType::BIT, Lane::ZERO))
    }

    /// The row of `column`, or zeros if there is none.
    #[track_caller]
    pub(super) fn select(&self, column: &[Value]) -> Option<Value> {
        selected(&self.0, column)
    }
}

impl ShuffledStore {
    /// `columns` are chunks of equal lanes, the number of each row in the last one.
    #[track_caller]
    pub(super) fn new(tracer: &Tracer, columns: Vec<Vec<Value>>, period: u64) -> ShuffledStore {
        let elements: Vec<ElementType> = columns.iter().map(|column| column[0].integer()).collect();
        let lanes = columns[0][0].lanes();
        let items = u64::from(lanes) * columns[0].len() as u64;
        let regions = elements.iter().map(|&element| tracer.region(element, items)).collect();
        let stash = vec![Vec::new(); elements.len()];
        ShuffledStore {
            tracer: tracer.clone(),
            regions,
            elements,
            waiting: Some(Columns { columns }),
            items,
            lanes,
            stash,
            taken_from: Vec::new(),
            spare: Vec::new(),
            period,
        }
    }

    pub(super) fn index_bits(&self) -> u16 {
        self.elements.last().expect("the numbers of the rows").width()
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.taken_from.len() as u64 == self.period.min(self.items)
    }

    /// Columns of the rows that were taken out.
    pub(super) fn stash(&self) -> &[Vec<Value>] {
        &self.stash
    }

    /// Brings the rows into a new order; returns the place of each row.
    #[track_caller]
    pub(super) fn shuffle(&mut self) -> Vec<Value> {
        let mut columns = self.waiting.take().unwrap_or_else(|| self.load());
        columns.shuffle(&self.tracer);
        for (region, chunks) in self.regions.iter().zip(&columns.columns) {
            for (start, rows) in (0..).step_by(self.lanes as usize).zip(chunks) {
                region.store(start, rows);
            }
        }
        places(&self.tracer, columns.columns.last().expect("the numbers of the rows"))
    }

    #[track_caller]
    fn load(&self) -> Columns {
        let starts = || (0..self.items).step_by(self.lanes as usize);
        let column = |region: &Region| starts().map(|row| region.load(row, self.lanes)).collect();
        Columns { columns: self.regions.iter().map(column).collect() }
    }

    /// Has other rows, which wait for a shuffle; the stash and what is left of the rows is forgotten.
    pub(super) fn refill(&mut self, columns: Vec<Vec<Value>>) {
        self.waiting = Some(Columns { columns });
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
        for (region, chunks) in self.regions.iter().zip(&mut self.stash) {
            for (at, &place) in self.taken_from.iter().enumerate() {
                let (chunk, lane) = (at / self.lanes as usize, at % self.lanes as usize);
                region.store_at(place, &chunks[chunk].lane_slice(lane as u32, 1));
            }
            chunks.clear();
        }
        self.spare.append(&mut self.taken_from);
    }

    /// Looks for a row in the stash, if `enable` allows it.
    #[track_caller]
    pub(super) fn find(&self, index: &Value, enable: Option<&Value>) -> Found {
        let chunks = self.stash.last().expect("the numbers of the rows").iter();
        let found = chunks.map(|numbers| {
            let equal = numbers.eq(&index.tile(numbers.lanes()));
            match enable {
                Some(enable) => equal.and(&enable.tile(equal.lanes())),
                None => equal,
            }
        });
        Found(found.collect(), self.tracer.clone())
    }

    /// The row at an opened place, without its copy in the stash.
    #[track_caller]
    pub(super) fn at(&self, place: OpenedIndex) -> Vec<Value> {
        self.regions.iter().map(|region| region.load_at(place)).collect()
    }

    /// The row that was found in the stash, which the row at `place` replaces there; or that one, if none was.
    #[track_caller]
    fn exchange(&mut self, place: OpenedIndex, found: &Found) -> Vec<Value> {
        let fetched = self.at(place);
        let columns = self.stash.iter_mut().zip(fetched);
        let taken = columns.map(|(chunks, mut row)| {
            let fetched = row.clone();
            for (rows, found) in chunks.iter_mut().zip(&found.0) {
                let difference = found.mask(&rows.xor(&fetched.tile(rows.lanes())));
                *rows = rows.xor(&difference);
                row = row.xor(&difference.lane_xor());
            }
            row
        });
        taken.collect()
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

/// Makes chunks of `lanes` lanes of a column, and zeros up to `items` rows.
#[track_caller]
fn pad(column: &mut Vec<Value>, lanes: u32, items: u64) {
    let zero = {
        let first = &column[0];
        first.tracer().constant(first.integer(), Lane::ZERO)
    };
    if let Some(last) = column.last_mut().filter(|last| last.lanes() < lanes) {
        *last = last.lane_concat(&zero.tile(lanes - last.lanes()));
    }
    let chunks = (items / u64::from(lanes)) as usize;
    column.resize(chunks, zero.tile(lanes));
}

/// The numbers of all rows, in chunks.
#[track_caller]
pub(super) fn all_numbers(tracer: &Tracer, bits: u16, lanes: u32, items: u64) -> Vec<Value> {
    let element = ElementType::unsigned(bits);
    (0..items).step_by(lanes as usize).map(|from| numbers(tracer, element, from, lanes)).collect()
}
