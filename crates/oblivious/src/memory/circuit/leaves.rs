//! [`RandomBits`]: bits that are uniform for all parties but one together.

use phineus_bytecode::PermutationKind;
use phineus_frontend::{PartyPermutation, Tracer, Value};

/// Random bits: the sums of bits that each party draws.
pub(super) struct RandomBits {
    tracer: Tracer,
    parties: u16,
    /// The random bits of each party.
    drawn: Vec<PartyPermutation>,
    /// Bits of each that are used up.
    used: u64,
    /// Bits that are left.
    left: u64,
}

/// The most bits of one permutation.
const DRAWN_BITS_MAX: u64 = 1 << 20;

impl RandomBits {
    pub(super) fn new(tracer: &Tracer, parties: u16) -> RandomBits {
        RandomBits { tracer: tracer.clone(), parties, drawn: Vec::new(), used: 0, left: 0 }
    }

    /// Makes sure that there are `bits` more, if no others are left; `times` as many if that is not too much, and all of
    /// them are used in the same block.
    #[track_caller]
    pub(super) fn provide(&mut self, bits: u64, times: u64) {
        if self.left > 0 || bits == 0 {
            return;
        }
        let bits = bits * times.min(DRAWN_BITS_MAX / bits).max(1);
        let draw =
            |party| self.tracer.permutation(party, 2 * bits as u32, PermutationKind::RandomPairs);
        self.drawn = (0..self.parties).map(draw).collect();
        (self.used, self.left) = (0, bits);
    }

    /// The next `width` bits, in one lane; [`RandomBits::provide`] must have provided them.
    #[track_caller]
    pub(super) fn draw(&mut self, width: u16) -> Value {
        self.draw_lanes(width, 1)
    }

    /// As [`RandomBits::draw`], in several lanes.
    #[track_caller]
    pub(super) fn draw_lanes(&mut self, width: u16, lanes: u32) -> Value {
        let bits = u32::from(width) * lanes;
        let of_a_party = |drawn: &PartyPermutation| drawn.switches(self.used, bits).reshape(width);
        let all = self.drawn.iter().map(of_a_party).reduce(|sum, bits| sum.xor(&bits));
        self.used += u64::from(bits);
        self.left -= u64::from(bits);
        all.expect("there are parties")
    }
}
