//! [`PositionMap`]: where the rows of a shuffled store lie, each place given once.
//!
//! A place that is opened was never opened since the last shuffle: that of the row that is asked for, or, for a dummy
//! access, of any row that was not asked for yet.
//!
//! As published (Zahur et al. 2016, section IV): small maps are scanned. A large one packs eight places into a row of a
//! shuffled store of its own, whose map is eight times smaller; all stores are shuffled at the same time.

mod located;
mod packed;
mod scanned;

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{OpenedIndex, Tracer, Value};

use super::shuffle::{Shuffling, places};
use located::LocatedMap;
use packed::PackedMap;
use scanned::ScannedMap;

/// Places in a row of a packed map, and the bits that number them.
const PACKED: u64 = 8;
const PACKED_BITS: u16 = 3;

/// How many rows of a packed map so many places are.
pub(super) fn packed_rows_of(items: u64) -> u64 {
    items.div_ceil(PACKED)
}

/// Returns whether a map of so many places is packed, and not scanned.
pub(super) fn is_packed(items: u64, period: u64) -> bool {
    packed_rows_of(items) >= period.max(2)
}

/// How places are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MapKind {
    /// Places are secret values.
    Published,
    /// One party looks a row up in a table of its own.
    Located,
}

/// Where rows lie.
pub(super) enum PositionMap {
    Published(PublishedMap),
    Located(LocatedMap),
}

impl PositionMap {
    /// `numbers` are the rows that lie at each of `items` places.
    #[track_caller]
    pub(super) fn new(
        kind: MapKind,
        tracer: &Tracer,
        numbers: Vec<Value>,
        items: u64,
        shuffling: Shuffling,
    ) -> PositionMap {
        match kind {
            MapKind::Published => {
                let places = places(tracer, numbers, shuffling.parties);
                PositionMap::Published(PublishedMap::new(tracer, places, items, shuffling))
            }
            MapKind::Located => {
                PositionMap::Located(LocatedMap::new(tracer, numbers, shuffling.period))
            }
        }
    }

    /// Forgets what was given, after a shuffle.
    #[track_caller]
    pub(super) fn renew(&mut self, tracer: &Tracer, numbers: Vec<Value>, shuffling: Shuffling) {
        match self {
            PositionMap::Published(map) => {
                map.renew(tracer, places(tracer, numbers, shuffling.parties));
            }
            PositionMap::Located(map) => *map = LocatedMap::new(tracer, numbers, shuffling.period),
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
        match self {
            PositionMap::Published(map) => map.take(index, is_dummy, spare),
            PositionMap::Located(map) => map.take(index, is_dummy, spare),
        }
    }
}

/// A map of places that are secret values.
pub(super) enum PublishedMap {
    Scanned(ScannedMap),
    Packed(Box<PackedMap>),
}

impl PublishedMap {
    /// Of `items` rows whose places are the lanes of `places`; all maps are renewed at once.
    #[track_caller]
    fn new(tracer: &Tracer, places: Vec<Value>, items: u64, shuffling: Shuffling) -> PublishedMap {
        match is_packed(items, shuffling.period) {
            true => PublishedMap::Packed(Box::new(PackedMap::new(tracer, places, shuffling))),
            false => PublishedMap::Scanned(ScannedMap::new(places)),
        }
    }

    #[track_caller]
    fn renew(&mut self, tracer: &Tracer, places: Vec<Value>) {
        match self {
            PublishedMap::Scanned(map) => *map = ScannedMap::new(places),
            PublishedMap::Packed(map) => map.renew(tracer, places),
        }
    }

    #[track_caller]
    fn take(&mut self, index: &Value, is_dummy: &Value, spare: Option<OpenedIndex>) -> OpenedIndex {
        let place = match self {
            PublishedMap::Scanned(map) => map.place(index, is_dummy),
            PublishedMap::Packed(map) => map.place(index, is_dummy),
        };
        match spare {
            Some(spare) => place.reveal_into(spare),
            None => place.reveal(),
        }
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

fn rows_of(chunks: &[Value]) -> u64 {
    chunks.iter().map(|chunk| u64::from(chunk.lanes())).sum()
}
