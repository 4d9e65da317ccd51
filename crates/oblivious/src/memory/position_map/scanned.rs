//! [`ScannedMap`]: a list of places, all of which every access touches.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{Value, rechunk};

use super::first_ones;
use crate::memory::{WORD_BITS, one_hot, selected};

/// A map that each access scans.
///
/// Cost of an access to `n` places of `k` bits: some `n (k + 3)` ANDs.
pub(in crate::memory) struct ScannedMap {
    /// Places, in words of rows.
    places: Vec<Value>,
    /// Which rows' places are not given yet: one word for as many rows.
    unused: Vec<Value>,
}

impl ScannedMap {
    #[track_caller]
    pub(super) fn new(places: Vec<Value>) -> ScannedMap {
        let places: Vec<Value> = places.iter().map(Value::in_any_sharing).collect();
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
    pub(super) fn place(&mut self, index: &Value, is_dummy: &Value) -> Value {
        let first = first_ones(&self.unused);
        let word = self.unused[0].width().next_power_of_two();
        let low = (word.trailing_zeros() as u16).min(index.width());
        // Neither the row nor the first unused place waits for whether the access is a dummy.
        let yes = index.tracer().constant(ElementType::BIT, Lane::ONE);
        let row = one_hot(index, 0..low, &yes);
        let words = (low < index.width()).then(|| one_hot(index, low..index.width(), &yes));
        let all = (0..).zip(self.unused.iter_mut().zip(&first));
        let taken = all.map(|(number, (unused, first))| {
            // One bit for a word of rows: on shares it is selected in one piece.
            let row = row.lane_slice(0, unused.width().into()).reshape(unused.width());
            let wanted = match &words {
                Some(words) => words.lane_slice(number, 1).mask(&row),
                None => row,
            };
            let taken = is_dummy.select(first, &wanted);
            // Only unused places are taken.
            *unused = unused.xor(&taken);
            taken.reshape(1)
        });
        let taken: Vec<Value> = taken.collect();
        selected(&taken, &self.places).expect("a map has places")
    }
}
