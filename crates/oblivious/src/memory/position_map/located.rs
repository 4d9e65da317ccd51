//! [`LocatedMap`]: one party looks a row up in what it was told, and the other one says where that comes from.
//!
//! Deviation from Zahur et al. 2016, section IV: no places are stored as garbled values, so no maps of maps are needed.
//! Party 0 knows the order of the rows under a permutation of party 1, who learns where the row is in it, and says
//! from which place it moved it there. Party 1 so learns nothing but the place, earlier.
//!
//! A dummy access locates the first row that was not asked for. Fewer than `T` were, so it is one of the first `T`.
//!
//! Cost of an access to `n` rows with `k = ceil(log2 n)`: some `2 T + 2 k` ANDs, and a table of `2^k` rows of
//! `ceil(k / 8)` bytes.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{OpenedIndex, Tracer, Value};

use super::first_ones;
use crate::memory::one_hot;
use crate::memory::shuffle::HiddenOrder;

/// Flags in a word that is searched for the first unused row.
const WORD_BITS: u64 = 128;

/// A map of which one party has the inverse in hidden order.
pub(in crate::memory) struct LocatedMap {
    order: HiddenOrder,
    /// Which of the first rows were not asked for yet: one bit for each, in words.
    unused: Vec<Value>,
    /// Accesses until the next shuffle.
    left: u64,
}

impl LocatedMap {
    /// `numbers` are the rows that lie at each place; there are at most `accesses` accesses.
    #[track_caller]
    pub(super) fn new(tracer: &Tracer, numbers: Vec<Value>, accesses: u64) -> LocatedMap {
        let word = accesses.max(2).next_power_of_two().min(WORD_BITS);
        let all = phineus_bytecode::mask_of(word as u16);
        let unused = tracer.constant(ElementType::unsigned(word as u16), all);
        LocatedMap {
            order: HiddenOrder::new(tracer, numbers),
            unused: vec![unused; accesses.div_ceil(word) as usize],
            left: accesses,
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
        let first = number_of(&first_ones(&self.unused), index.width());
        let row = is_dummy.select(&first, index);
        self.use_up(&row);
        self.left -= 1;
        let HiddenOrder { told, hiding } = &self.order;
        told.locate(hiding, &row, spare, self.left == 0)
    }

    /// Notes that an unused row is asked for.
    #[track_caller]
    fn use_up(&mut self, row: &Value) {
        let tracer = row.tracer();
        let yes = tracer.constant(ElementType::BIT, Lane::ONE);
        let low = self.unused[0].width().trailing_zeros() as u16;
        let end = low + self.unused.len().next_power_of_two().trailing_zeros() as u16;
        let is_first = match row.width() - end {
            0 => yes.clone(),
            high => {
                let high = row.bit_slice(end, high);
                high.eq(&tracer.constant(high.integer(), Lane::ZERO))
            }
        };
        let bits = one_hot(row, 0..low, &is_first);
        let words = one_hot(row, low..end, &yes);
        for (number, unused) in (0..).zip(&mut self.unused) {
            let used = match low == end {
                true => bits.clone(),
                false => words.lane_slice(number, 1).mask(&bits),
            };
            *unused = unused.xor(&used.reshape(unused.width()));
        }
    }
}

/// The number, in `width` bits, of the bit that is 1 among all bits of the words. Free of ANDs.
#[track_caller]
fn number_of(words: &[Value], width: u16) -> Value {
    let sum = |values: Vec<Value>| values.into_iter().reduce(|sum, value| sum.xor(&value));
    let any = sum(words.to_vec()).expect("there is a word").reshape(1);
    let low = words[0].width().trailing_zeros();
    // Every bit of the number is the sum of the bits whose numbers have it.
    let mut bits: Vec<Value> =
        (0..low).map(|bit| any.deinterleave(1 << bit).1.lane_xor()).collect();
    for bit in 0..words.len().next_power_of_two().trailing_zeros() {
        let numbered = words.iter().enumerate().filter(|(number, _)| number >> bit & 1 == 1);
        let words = numbered.map(|(_, word)| word.clone()).collect();
        bits.push(sum(words).expect("a number has this bit").reshape(1).lane_xor());
    }
    let number = bits.into_iter().reduce(|low, high| low.bit_concat(&high));
    number.expect("there are two rows").cast(ElementType::unsigned(width))
}
