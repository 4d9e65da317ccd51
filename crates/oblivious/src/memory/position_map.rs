//! [`PositionMap`]: where the rows of a shuffled store lie, each place given once.
//!
//! Small maps are scanned. A large one packs eight places into a row of a shuffled store of its own, whose map is
//! eight times smaller (Zahur et al. 2016, section IV); all stores are shuffled at the same time.
//!
//! A place that is opened was never opened since the last shuffle: that of the row that is asked for, or, for a dummy
//! access, of any row that was not asked for yet.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{OpenedIndex, Tracer, Value, lanes_for, rechunk};

use super::shuffle::Columns;
use super::square_root::{ShuffledStore, all_numbers};
use super::{index_bits, one_hot, selected};

/// Places in a row of a packed map, and the bits that number them.
const PACKED: u64 = 8;
const PACKED_BITS: u16 = 3;

/// Flags in a word that is searched for the first unused place.
const WORD_BITS: u16 = 128;

/// Where rows lie.
pub(super) enum PositionMap {
    Scanned(ScannedMap),
    Packed(Box<PackedMap>),
}

impl PositionMap {
    /// Of `items` rows whose places are the lanes of `places`; all maps are renewed after `period` accesses.
    #[track_caller]
    pub(super) fn new(tracer: &Tracer, places: Vec<Value>, items: u64, period: u64) -> PositionMap {
        match items.div_ceil(PACKED) >= period.max(2) {
            true => PositionMap::Packed(Box::new(PackedMap::new(tracer, places, period))),
            false => PositionMap::Scanned(ScannedMap::new(places)),
        }
    }

    /// Forgets what was given, after a shuffle.
    #[track_caller]
    pub(super) fn renew(&mut self, tracer: &Tracer, places: Vec<Value>) {
        match self {
            PositionMap::Scanned(map) => *map = ScannedMap::new(places),
            PositionMap::Packed(map) => map.renew(tracer, places),
        }
    }

    /// Opens the place of row `index`, or of an unused one if the access is a dummy.
    ///
    /// The opened place replaces `spare`, if there is one.
    #[track_caller]
    pub(super) fn take(
        &mut self,
        index: &Value,
        is_dummy: &Value,
        spare: Option<OpenedIndex>,
    ) -> OpenedIndex {
        let place = self.place(index, is_dummy);
        match spare {
            Some(spare) => place.reveal_into(spare),
            None => place.reveal(),
        }
    }

    #[track_caller]
    fn place(&mut self, index: &Value, is_dummy: &Value) -> Value {
        match self {
            PositionMap::Scanned(map) => map.place(index, is_dummy),
            PositionMap::Packed(map) => map.place(index, is_dummy),
        }
    }
}

/// A map that each access scans.
///
/// Cost of an access to `n` places of `k` bits: some `n (k + 3)` ANDs.
pub(super) struct ScannedMap {
    /// Places, in words of rows.
    places: Vec<Value>,
    /// Which rows' places are not given yet: one word for as many rows.
    unused: Vec<Value>,
}

impl ScannedMap {
    #[track_caller]
    fn new(places: Vec<Value>) -> ScannedMap {
        let places = rechunk(places, WORD_BITS.into());
        let unused = places.iter().map(|rows| {
            let width = rows.lanes() as u16;
            let all = phineus_bytecode::mask_of(width);
            rows.tracer().constant(ElementType::unsigned(width), all)
        });
        let unused = unused.collect();
        ScannedMap { places, unused }
    }

    #[track_caller]
    fn place(&mut self, index: &Value, is_dummy: &Value) -> Value {
        let first = first_ones(&self.unused);
        let word = self.unused[0].width().next_power_of_two();
        let low = (word.trailing_zeros() as u16).min(index.width());
        let row = one_hot(index, 0..low, &is_dummy.not());
        let words = (low < index.width()).then(|| {
            let yes = index.tracer().constant(ElementType::BIT, Lane::ONE);
            one_hot(index, low..index.width(), &yes)
        });
        let all = (0..).zip(self.unused.iter_mut().zip(&first));
        let taken = all.map(|(number, (unused, first))| {
            let row = row.lane_slice(0, unused.width().into());
            let wanted = match &words {
                Some(words) => words.lane_slice(number, 1).mask(&row),
                None => row,
            };
            let taken = wanted.xor(&is_dummy.mask(&first.reshape(1)));
            // Only unused places are taken.
            *unused = unused.xor(&taken.reshape(unused.width()));
            taken
        });
        let taken: Vec<Value> = taken.collect();
        selected(&taken, &self.places).expect("a map has places")
    }
}

/// The first 1 of a long number, in words, all other bits 0.
///
/// Cost: one AND for each bit.
#[track_caller]
fn first_ones(words: &[Value]) -> Vec<Value> {
    let mut borrow = words[0].tracer().constant(ElementType::BIT, Lane::ONE);
    let mut found = Vec::new();
    for word in words {
        let width = word.width() + 1;
        let element = ElementType::unsigned(width);
        let word = word.cast(element);
        let less = word.sub(&borrow.cast(element));
        // The bits up to the first 1, or all of them if there is none.
        let changed = word.xor(&less);
        let first = changed.xor(&changed.shift_right(1));
        found.push(first.bit_slice(0, width - 1));
        borrow = less.bit_slice(width - 1, 1);
    }
    found
}

/// A map whose rows lie in a shuffled store.
pub(super) struct PackedMap {
    store: ShuffledStore,
    map: PositionMap,
}

impl PackedMap {
    #[track_caller]
    fn new(tracer: &Tracer, places: Vec<Value>, period: u64) -> PackedMap {
        let columns = packed_rows(tracer, places);
        let rows = columns.rows;
        let mut store = ShuffledStore::new(tracer, columns, period);
        let map = PositionMap::new(tracer, store.shuffle(), rows, period);
        PackedMap { store, map }
    }

    #[track_caller]
    fn renew(&mut self, tracer: &Tracer, places: Vec<Value>) {
        self.store.refill(packed_rows(tracer, places));
        self.map.renew(tracer, self.store.shuffle());
    }

    #[track_caller]
    fn place(&mut self, index: &Value, is_dummy: &Value) -> Value {
        let low = index.bit_slice(0, PACKED_BITS);
        let high = index.bit_slice(PACKED_BITS, index.width() - PACKED_BITS);
        let found = self.store.find(&high, Some(&is_dummy.not()));
        let is_found = found.any();
        let spare = self.store.spare();
        let opened = self.map.take(&high, &is_dummy.or(&is_found), spare);
        let fetched = self.store.at(opened);
        let row = match found.select(&self.store.stash()[0]) {
            // What was fetched for a dummy access has not been used: its first place does.
            Some(stashed) => is_found.select(&stashed, &fetched[0]),
            None => fetched[0].clone(),
        };
        self.store.push(fetched.iter(), opened);
        let low = is_dummy.not().mask(&low);
        let bits = row.width() / PACKED as u16;
        let mut halves: Vec<Value> =
            (0..PACKED as u16).map(|at| row.bit_slice(at * bits, bits)).collect();
        for bit in 0..PACKED_BITS {
            let choice = low.bit_slice(bit, 1);
            let pairs = halves.chunks(2).map(|pair| choice.select(&pair[1], &pair[0]));
            halves = pairs.collect();
        }
        halves.pop().expect("one is left")
    }
}

fn rows_of(chunks: &[Value]) -> u64 {
    chunks.iter().map(|chunk| u64::from(chunk.lanes())).sum()
}

/// Eight places in each row, and behind them its number.
#[track_caller]
fn packed_rows(tracer: &Tracer, mut places: Vec<Value>) -> Columns {
    let bits = places[0].width();
    let rows = rows_of(&places).div_ceil(PACKED);
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
    Columns::new(vec![chunks.collect(), numbers], lanes)
}
