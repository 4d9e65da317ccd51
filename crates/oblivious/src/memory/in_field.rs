//! [`FieldSquareRoot`]: Square-Root ORAM on authenticated elements of a prime field.
//!
//! Source: Zahur et al. 2016, with three deviations that suit a field, where a choice between two rows costs one product,
//! whatever their width, and an exclusive or costs as much.
//! * *Dummy rows*, as of Goldreich and Ostrovsky, "Software Protection and Simulation on Oblivious RAMs", J. ACM 1996: a
//!   dummy access fetches a row that nothing else ever asks for, at a place that is found by a public number. So the
//!   position map has no marks of what was given.
//! * The hidden order of the rows is opened to all parties, after each of them has hidden it (`store.rs`).
//! * An index is looked for in the stash by its bits, and a row is selected by a tree of choices. So every value stays in the
//!   range of its type, and nothing is opened under a mask that is not uniform.
//!
//! Cost of an access to `n` rows of `c` columns with `t` rows in the stash and `k = log2 n`: `t (2 k + c + 1)` products to read,
//! `t c` more to change, `n` products for the place, or those of an access to `n / 8` rows of 8 columns.

mod stash;
mod store;

use phineus_bytecode::Lane;
use phineus_frontend::{OpenedIndex, Records, Tracer, Value, lanes_for, rechunk};

use super::period::{ElementPrices, PACKED_PLACES};
use super::scan::chosen;
use super::{in_range, index_bits};
use stash::Found;
use store::FieldStore;

/// Bits that number the places in a row of a packed map.
const PACKED_BITS: usize = 3;
const _: () = assert!(1 << PACKED_BITS == PACKED_PLACES);

/// Rows in a secret order, those that were taken out of it since the last shuffle, and where the others lie.
pub(super) struct FieldSquareRoot {
    store: FieldStore,
    map: PlaceMap,
    rows: u64,
    period: u64,
}

/// The row of an access.
pub(super) struct TakenElements {
    /// The bits of the index.
    index: Vec<Value>,
    found: Option<Found>,
    /// Whether the row at the opened place is none that is meant; nothing if it always is.
    is_dummy: Option<Value>,
    place: OpenedIndex,
    /// The row at the opened place, its number behind its cells.
    row: Vec<Value>,
}

impl FieldSquareRoot {
    /// `columns` are the cells of `rows` rows, which are going to be shuffled after as many accesses as `prices` says.
    #[track_caller]
    pub(super) fn new(records: Records, prices: ElementPrices) -> FieldSquareRoot {
        let (rows, tracer) = (records.rows(), records.tracer().clone());
        let period = prices.best_period(records.elements().len() as u64, rows);
        FieldSquareRoot::of_columns(&tracer, records.into_columns(), rows, (prices, period))
    }

    #[track_caller]
    fn of_columns(
        tracer: &Tracer,
        columns: Vec<Vec<Value>>,
        rows: u64,
        (prices, period): (ElementPrices, u64),
    ) -> FieldSquareRoot {
        let mut store = FieldStore::new(tracer, columns, (rows, period), prices.parties());
        let places = store.shuffle();
        let map = PlaceMap::new(tracer, places, rows, (prices, period));
        FieldSquareRoot { store, map, rows, period }
    }

    /// Has other rows, as many as before.
    #[track_caller]
    fn refill(&mut self, columns: Vec<Vec<Value>>) {
        self.store.refill(columns);
        let places = self.store.shuffle();
        self.map.renew(places);
    }

    /// Begins an access: finds the row at `index` and opens a place.
    #[track_caller]
    pub(super) fn open(&mut self, index: &Value) -> TakenElements {
        let (index, valid) = in_range(index, index_bits(self.rows), self.rows);
        let digits: Vec<Value> = (0..index.width()).map(|bit| index.bit_slice(bit, 1)).collect();
        self.open_where(&digits, valid)
    }

    /// As [`FieldSquareRoot::open`], for the bits of an index that is below the number of rows where `valid` is 1.
    #[track_caller]
    fn open_where(&mut self, index: &[Value], valid: Option<Value>) -> TakenElements {
        if self.store.taken_count() == self.period {
            self.store.put_back();
            let places = self.store.shuffle();
            self.map.renew(places);
        }
        let found = self.store.find(index, valid.as_ref());
        let is_there = found.as_ref().map(|found| found.is_there.clone());
        let is_dummy = match (is_there, valid) {
            (Some(is_there), Some(valid)) => Some(is_there.or(&valid.not())),
            (Some(is_there), None) => Some(is_there),
            (None, Some(valid)) => Some(valid.not()),
            (None, None) => None,
        };
        let place = self.map.place(index, is_dummy.as_ref(), self.store.taken_count());
        let place = self.store.reveal(&place);
        let row = self.store.at(place);
        TakenElements { index: index.to_vec(), found, is_dummy, place, row }
    }

    /// The cell of a column in a row: zeros, those of a dummy row, if the index is that of no row.
    #[track_caller]
    pub(super) fn cell(&self, taken: &TakenElements, column: usize) -> Value {
        match &taken.found {
            Some(found) => found.select(self.store.stash(column), &taken.row[column]),
            None => taken.row[column].clone(),
        }
    }

    /// Completes an access, with new cells where there are some.
    #[track_caller]
    pub(super) fn close(&mut self, taken: TakenElements, new: &[Option<Value>]) {
        let TakenElements { index, found, is_dummy, place, mut row } = taken;
        for (column, new) in new.iter().enumerate() {
            let Some(new) = new.as_ref().map(Value::reduced) else { continue };
            if let Some(found) = &found {
                self.store.replace(column, found, &new);
            }
            row[column] = match &is_dummy {
                Some(is_dummy) => is_dummy.select(&row[column], &new),
                None => new,
            };
        }
        self.store.push(&row, (&index, is_dummy.as_ref()), place);
    }
}

/// Where rows and dummy rows lie.
///
/// The places of dummy rows are asked for by public numbers. The others are chosen by the bits of the index, or, where there are
/// many, eight of them are a row of a memory of the same kind, which is shuffled at the same time.
struct PlaceMap {
    rows: u64,
    kind: MapRows,
    /// One lane for each dummy row.
    dummies: Vec<Value>,
}

enum MapRows {
    Scanned { places: Vec<Value>, lanes: u32 },
    Packed(Box<FieldSquareRoot>),
}

impl PlaceMap {
    /// `places` are those of `rows` rows, and of `period` dummy rows behind them.
    #[track_caller]
    fn new(
        tracer: &Tracer,
        places: Vec<Value>,
        rows: u64,
        (prices, period): (ElementPrices, u64),
    ) -> PlaceMap {
        let (places, dummies) = parted(places, rows);
        let kind = match prices.is_packed(rows, period) {
            true => {
                let columns = packed(tracer, places, rows);
                let rows = rows.div_ceil(PACKED_PLACES);
                let inner = FieldSquareRoot::of_columns(tracer, columns, rows, (prices, period));
                MapRows::Packed(Box::new(inner))
            }
            false => scanned(places, rows),
        };
        PlaceMap { rows, kind, dummies }
    }

    /// Forgets all places, after a shuffle.
    #[track_caller]
    fn renew(&mut self, places: Vec<Value>) {
        let (places, dummies) = parted(places, self.rows);
        self.dummies = dummies;
        match &mut self.kind {
            MapRows::Scanned { .. } => self.kind = scanned(places, self.rows),
            MapRows::Packed(inner) => {
                let tracer = places[0].tracer().clone();
                inner.refill(packed(&tracer, places, self.rows));
            }
        }
    }

    /// The place of the row of the index of these bits, or of dummy row `dummy` if `is_dummy`.
    #[track_caller]
    fn place(&mut self, index: &[Value], is_dummy: Option<&Value>, dummy: u64) -> Value {
        let place = match &mut self.kind {
            MapRows::Scanned { places, lanes } => choose(places, *lanes, index),
            MapRows::Packed(inner) => {
                let (low, row) = index.split_at(PACKED_BITS);
                let taken = inner.open_where(row, is_dummy.map(Value::not));
                let places = (0..PACKED_PLACES as usize).map(|at| inner.cell(&taken, at));
                let places = Value::joined(places.collect()).expect("eight places");
                inner.close(taken, &[]);
                choose(&[places], PACKED_PLACES as u32, low)
            }
        };
        match is_dummy {
            Some(is_dummy) => is_dummy.select(&self.dummies[dummy as usize], &place),
            None => place,
        }
    }
}

#[track_caller]
fn choose(places: &[Value], lanes: u32, index: &[Value]) -> Value {
    chosen(places, lanes, index.len() as u16, |bit| index[usize::from(bit)].clone())
}

/// The places of rows, and those of dummy rows, each in a value of its own.
#[track_caller]
fn parted(places: Vec<Value>, rows: u64) -> (Vec<Value>, Vec<Value>) {
    let (mut of_rows, mut of_dummies) = (Vec::new(), Vec::new());
    let mut next = 0;
    for chunk in places {
        let (lanes, start) = (u64::from(chunk.lanes()), next);
        next += lanes;
        let before = rows.saturating_sub(start).min(lanes) as u32;
        if before > 0 {
            of_rows.push(chunk.lane_slice(0, before));
        }
        of_dummies.extend((before..chunk.lanes()).map(|lane| chunk.lane_slice(lane, 1)));
    }
    (of_rows, of_dummies)
}

#[track_caller]
fn scanned(places: Vec<Value>, rows: u64) -> MapRows {
    let lanes = lanes_for(places[0].width()).min(rows.next_power_of_two() as u32);
    MapRows::Scanned { places: rechunk(places, lanes), lanes }
}

/// Eight columns, of which a row is eight places.
#[track_caller]
fn packed(tracer: &Tracer, mut places: Vec<Value>, rows: u64) -> Vec<Vec<Value>> {
    let missing = rows.next_multiple_of(PACKED_PLACES) - rows;
    if missing > 0 {
        let zero = tracer.constant(places[0].integer(), Lane::ZERO);
        places.push(zero.tile(missing as u32));
    }
    let mut columns = vec![Vec::new(); PACKED_PLACES as usize];
    for chunk in rechunk(places, lanes_for(16)) {
        // Every eighth lane, from lane 0 to 7.
        let mut parts = vec![chunk];
        for _ in 0..PACKED_BITS {
            let halves: Vec<_> = parts.iter().map(|part| part.deinterleave(1)).collect();
            let (even, odd): (Vec<Value>, Vec<Value>) = halves.into_iter().unzip();
            parts = even.into_iter().chain(odd).collect();
        }
        columns.iter_mut().zip(parts).for_each(|(column, part)| column.push(part));
    }
    columns
}
