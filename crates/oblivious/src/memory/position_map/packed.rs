//! [`PackedMap`]: places in the rows of a shuffled store of its own, whose map is eight times smaller.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{Tracer, Value, lanes_for, rechunk};

use super::{PACKED, PACKED_BITS, PublishedMap, packed_rows_of, rows_of};
use crate::memory::shuffle::{self, Columns, Shuffling};
use crate::memory::square_root::{ShuffledStore, all_numbers};
use crate::memory::{index_bits, one_hot};

/// A map whose rows lie in a shuffled store.
pub(in crate::memory) struct PackedMap {
    store: ShuffledStore,
    map: PublishedMap,
}

impl PackedMap {
    #[track_caller]
    pub(super) fn new(tracer: &Tracer, places: Vec<Value>, shuffling: Shuffling) -> PackedMap {
        let columns = packed_rows(tracer, places);
        let rows = columns.rows;
        let mut store = ShuffledStore::new(tracer, columns, shuffling);
        let places = shuffle::places(tracer, store.shuffle(), shuffling.parties);
        let map = PublishedMap::new(tracer, places, rows, shuffling);
        PackedMap { store, map }
    }

    #[track_caller]
    pub(super) fn renew(&mut self, tracer: &Tracer, places: Vec<Value>) {
        self.store.refill(packed_rows(tracer, places));
        let parties = self.store.shuffling.parties;
        self.map.renew(tracer, shuffle::places(tracer, self.store.shuffle(), parties));
    }

    #[track_caller]
    pub(super) fn place(&mut self, index: &Value, is_dummy: &Value) -> Value {
        let low = index.bit_slice(0, PACKED_BITS);
        let high = index.bit_slice(PACKED_BITS, index.width() - PACKED_BITS);
        let found = self.store.find(&high, Some(&is_dummy.not()));
        let is_found = is_dummy.not().and(&found.is_there);
        let spare = self.store.spare();
        let opened = self.map.take(&high, &is_dummy.or(&found.is_there), spare);
        let fetched = self.store.at(opened);
        let row = match found.select(&self.store.stash()[0]) {
            // What was fetched for a dummy access has not been used: its first place does.
            Some(stashed) => is_found.select(&stashed, &fetched[0]),
            None => fetched[0].clone(),
        };
        self.store.push(fetched.iter(), opened);
        // Known before the row is: so the row waits for one AND, and not for three.
        let low = is_dummy.not().mask(&low);
        let yes = low.tracer().constant(ElementType::BIT, Lane::ONE);
        let wanted = one_hot(&low, 0..PACKED_BITS, &yes);
        let bits = row.width() / PACKED as u16;
        let places = (0..PACKED as u16).map(|at| row.bit_slice(at * bits, bits));
        let places = places.reduce(|low, high| low.lane_concat(&high)).expect("eight places");
        wanted.mask(&places).lane_xor()
    }
}

/// Eight places in each row, and behind them its number.
#[track_caller]
fn packed_rows(tracer: &Tracer, mut places: Vec<Value>) -> Columns {
    let (bits, sharing) = (places[0].width(), places[0].sharing());
    let rows = packed_rows_of(rows_of(&places));
    let missing = rows * PACKED - rows_of(&places);
    if missing > 0 {
        let zero = tracer.constant(places[0].integer(), Lane::ZERO);
        places.push(zero.tile(missing as u32));
    }
    let lanes = lanes_for(bits * PACKED as u16).min(rows.next_power_of_two() as u32);
    let chunks = rechunk(places, lanes * PACKED as u32).into_iter().map(|chunk| {
        // Every eighth lane, from lane 0 to 7.
        let mut parts = vec![chunk];
        for _ in 0..PACKED_BITS {
            let halves: Vec<_> = parts.iter().map(|part| part.deinterleave(1)).collect();
            let (even, odd): (Vec<Value>, Vec<Value>) = halves.into_iter().unzip();
            parts = even.into_iter().chain(odd).collect();
        }
        parts.into_iter().reduce(|low, high| low.bit_concat(&high)).expect("eight parts")
    });
    let numbers = all_numbers(tracer, index_bits(rows), lanes, rows);
    let numbers = numbers.iter().map(|numbers| numbers.to_sharing(sharing)).collect();
    Columns::new(vec![chunks.collect(), numbers], lanes)
}
