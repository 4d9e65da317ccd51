//! [`FieldStore`]: rows in an order that nobody knows, and the stash.
//!
//! Each party moves the rows by a Waksman network of its own. Its switches are proven to be bits by the protocol, and a
//! network of bits moves rows by a permutation, whatever the bits are. So no party can do anything but choose another
//! permutation, and one honest party makes the order uniform.
//!
//! To learn where each row lies, all parties hide the list of the rows' numbers, each with its place beside it, by one more
//! pass each. The list is then opened to all: it is in a uniform order that nobody knows. So each place is moved to its row
//! in public.
//!
//! Deviation: Zahur et al. 2016, section V-B, tell the list to one party, which brings the inverse of what it was told. A
//! party that deviates could bring another one, and that would have to be proven wrong. With one pass more nobody is told
//! anything.
//!
//! Cost of a shuffle of `n` rows of `c` columns by `N` parties: `N W(n) (c + 3)` products, `2 N W(n)` switches, `n` openings.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{OpenedIndex, Region, Tracer, Value, lanes_for};

use super::stash::Found;
use crate::memory::index_bits;
use crate::memory::shuffle::{Columns, put_back};
use crate::memory::square_root::all_numbers;

/// Numbers of a list that are opened at the same time, at most: each takes a register until its place has been moved.
const OPENED_TOGETHER: u64 = 4096;

/// Rows in a secret order, with their numbers in the last column.
pub(super) struct FieldStore {
    tracer: Tracer,
    parties: u16,
    /// Rows by place.
    regions: Vec<Region>,
    /// Columns of rows that wait for a shuffle, and afterwards nothing.
    waiting: Option<Columns>,
    /// Rows of the memory and dummy rows behind them.
    rows: u64,
    items: u64,
    lanes: u32,
    /// Places by row.
    places: Region,
    /// Rows that were taken out, by column in chunks of lanes; which they are, by bit in the same chunks; and from where.
    stash: Vec<Vec<Value>>,
    stash_index: Vec<Vec<Value>>,
    taken_from: Vec<OpenedIndex>,
    /// Indices that may be opened anew, and those of numbers of lists.
    spare: Vec<OpenedIndex>,
    of_list: Vec<OpenedIndex>,
}

impl FieldStore {
    /// Of `rows` rows with these columns, and so many dummy rows.
    #[track_caller]
    pub(super) fn new(
        tracer: &Tracer,
        columns: Vec<Vec<Value>>,
        (rows, dummies): (u64, u64),
        parties: u16,
    ) -> FieldStore {
        let items = rows + dummies;
        let number = ElementType::unsigned(index_bits(items));
        let mut elements: Vec<ElementType> =
            columns.iter().map(|column| column[0].integer()).collect();
        elements.push(number);
        let widest = elements.iter().map(|element| element.width()).max();
        let lanes = lanes_for(widest.expect("the numbers of the rows"));
        let lanes = lanes.min(items.next_power_of_two() as u32);
        let regions = elements.iter().map(|&element| tracer.region(element, items)).collect();
        let stash = vec![Vec::new(); elements.len()];
        let places = tracer.region(number, items);
        let mut store = FieldStore {
            tracer: tracer.clone(),
            parties,
            regions,
            waiting: None,
            rows,
            items,
            lanes,
            places,
            stash,
            stash_index: vec![Vec::new(); index_bits(rows + 2).into()],
            taken_from: Vec::new(),
            spare: Vec::new(),
            of_list: Vec::new(),
        };
        store.refill(columns);
        store
    }

    /// Has other rows, which wait for a shuffle; the stash and what is left of the rows is forgotten.
    #[track_caller]
    pub(super) fn refill(&mut self, mut columns: Vec<Vec<Value>>) {
        let dummies = self.items - self.rows;
        for column in &mut columns {
            let zero = self.tracer.constant(column[0].integer(), Lane::ZERO);
            let chunks = Columns::chunks(dummies, lanes_for(zero.width()));
            column.extend(chunks.map(|(_, lanes)| zero.tile(lanes)));
        }
        columns.push(self.numbers());
        self.waiting = Some(Columns::new(columns, self.lanes));
        self.stash.iter_mut().chain(&mut self.stash_index).for_each(Vec::clear);
        self.spare.append(&mut self.taken_from);
    }

    /// The numbers of all rows.
    #[track_caller]
    fn numbers(&self) -> Vec<Value> {
        all_numbers(&self.tracer, index_bits(self.items), self.lanes, self.items)
    }

    /// How many rows were taken out since the last shuffle.
    pub(super) fn taken_count(&self) -> u64 {
        self.taken_from.len() as u64
    }

    /// Brings the rows into a new order; returns the place of each row.
    #[track_caller]
    pub(super) fn shuffle(&mut self) -> Vec<Value> {
        let mut columns = self
            .waiting
            .take()
            .unwrap_or_else(|| Columns::loaded(&self.regions, self.items, self.lanes));
        columns.shuffle(&self.tracer, self.parties);
        for (number, region) in self.regions.iter().enumerate() {
            for ((start, _), rows) in self.chunks().zip(columns.trimmed(number)) {
                region.store(start, &rows);
            }
        }
        self.places_of(columns.trimmed(self.regions.len() - 1))
    }

    /// The place of each row; `numbers` are the rows that lie at each place.
    #[track_caller]
    fn places_of(&mut self, numbers: Vec<Value>) -> Vec<Value> {
        let mut hidden = Columns::new(vec![numbers, self.numbers()], self.lanes);
        hidden.shuffle(&self.tracer, self.parties);
        let [numbers, places] = [0, 1].map(|column| hidden.trimmed(column));
        let mut at = 0;
        for (numbers, places) in numbers.iter().zip(&places) {
            for lane in 0..numbers.lanes() {
                let number = numbers.lane_slice(lane, 1);
                let register = match self.of_list.get(at) {
                    Some(&register) => number.reveal_into(register),
                    None => {
                        self.of_list.push(number.reveal());
                        self.of_list[at]
                    }
                };
                self.places.store_at(register, &places.lane_slice(lane, 1));
                at = (at + 1) % OPENED_TOGETHER as usize;
            }
        }
        self.chunks().map(|(start, lanes)| self.places.load(start, lanes)).collect()
    }

    fn chunks(&self) -> impl Iterator<Item = (u64, u32)> + use<> {
        Columns::chunks(self.items, self.lanes)
    }

    /// Puts the stash back to the places that it came from.
    #[track_caller]
    pub(super) fn put_back(&mut self) {
        put_back(&self.regions, &mut self.stash, &self.taken_from, self.lanes);
        self.stash_index.iter_mut().for_each(Vec::clear);
        self.spare.append(&mut self.taken_from);
    }

    /// Which row of the stash has the index of these bits, none if `valid` is 0; nothing if the stash is empty.
    #[track_caller]
    pub(super) fn find(&self, index: &[Value], valid: Option<&Value>) -> Option<Found> {
        let chunks = self.stash_index[0].len();
        // The number of no row.
        let wanted: Vec<Value> = (self.padded(index).into_iter().zip(self.bits_of(self.rows)))
            .map(|(bit, of_none)| valid.map_or(bit.clone(), |valid| valid.select(&bit, &of_none)))
            .collect();
        let equal = |chunk: usize| {
            let bits = self.stash_index.iter().zip(&wanted);
            let mut differ: Vec<Value> = bits
                .map(|(rows, wanted)| rows[chunk].xor(&wanted.tile(rows[chunk].lanes())))
                .collect();
            while differ.len() > 1 {
                differ = (differ.chunks(2))
                    .map(|pair| pair[1..].iter().fold(pair[0].clone(), |a, b| a.or(b)))
                    .collect();
            }
            differ[0].not()
        };
        (chunks > 0).then(|| Found::new((0..chunks).map(equal).collect()))
    }

    /// The bits of an index, with zeros above them as far as the stash has bits.
    #[track_caller]
    fn padded(&self, index: &[Value]) -> Vec<Value> {
        let zero = self.tracer.constant(ElementType::BIT, Lane::ZERO);
        let zeros = std::iter::repeat_n(zero, self.stash_index.len() - index.len());
        index.iter().cloned().chain(zeros).collect()
    }

    /// The bits of a public number, as many as the stash has.
    #[track_caller]
    fn bits_of(&self, number: u64) -> Vec<Value> {
        let bit =
            |bit: usize| self.tracer.constant(ElementType::BIT, Lane::from(number >> bit & 1));
        (0..self.stash_index.len()).map(bit).collect()
    }

    /// A column of the stash.
    pub(super) fn stash(&self, column: usize) -> &[Value] {
        &self.stash[column]
    }

    /// Makes the cell of the row that was found, if any, `new`.
    #[track_caller]
    pub(super) fn replace(&mut self, column: usize, found: &Found, new: &Value) {
        self.stash[column] = found.replaced(&self.stash[column], new);
    }

    /// Opens a place.
    #[track_caller]
    pub(super) fn reveal(&mut self, place: &Value) -> OpenedIndex {
        match self.spare.pop() {
            Some(spare) => place.reveal_into(spare),
            None => place.reveal(),
        }
    }

    /// The row at an opened place, without its copy in the stash.
    #[track_caller]
    pub(super) fn at(&self, place: OpenedIndex) -> Vec<Value> {
        self.regions.iter().map(|region| region.load_at(place)).collect()
    }

    /// Puts a row into the stash, that of `place` having been taken: the one of the index of these bits, or a dummy row, which
    /// nobody looks for.
    #[track_caller]
    pub(super) fn push(
        &mut self,
        row: &[Value],
        (index, is_dummy): (&[Value], Option<&Value>),
        place: OpenedIndex,
    ) {
        let of_dummy = self.bits_of(self.rows + 1);
        let bits: Vec<Value> = (self.padded(index).into_iter().zip(of_dummy))
            .map(|(bit, of_dummy)| {
                is_dummy.map_or(bit.clone(), |is_dummy| is_dummy.select(&of_dummy, &bit))
            })
            .collect();
        let columns = self.stash.iter_mut().chain(&mut self.stash_index);
        for (chunks, cell) in columns.zip(row.iter().chain(&bits)) {
            match chunks.last_mut().filter(|last| last.lanes() < self.lanes) {
                Some(last) => *last = last.lane_concat(cell),
                None => chunks.push(cell.clone()),
            }
        }
        self.taken_from.push(place);
    }
}
