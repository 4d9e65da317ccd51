//! Permutations of rows that no party knows, and the inverse of what they do: Zahur et al. 2016, section V.
//!
//! Each of two parties applies a permutation of its own, by a Beneš network whose switches it knows. The position of
//! each row follows from two more passes: one party hides the order of the rows under a fresh permutation, the other
//! one is told the result, which is uniform, and moves the numbers of the rows by it.
//!
//! Cost of a pass over `n` rows of `b` bits: `(n log2 n - n / 2) b` ANDs with a bit that one party knows, which
//! are half as long as others. Rounds: one opening for the position map.

use phineus_bytecode::PermutationKind;
use phineus_circuits::permutation::layer_strides;
use phineus_frontend::{PartyPermutation, Tracer, Value};

/// The party that is told how rows lie under the other one's permutation.
const TOLD: u16 = 0;
/// The party that hides them.
const HIDING: u16 = 1;

/// Columns of `rows` rows, a power of two, in chunks of equal lanes, a power of two.
pub(super) struct Columns {
    pub(super) columns: Vec<Vec<Value>>,
}

impl Columns {
    fn lanes(&self) -> u64 {
        self.columns[0][0].lanes().into()
    }

    fn rows(&self) -> u64 {
        self.lanes() * self.columns[0].len() as u64
    }

    /// Moves the rows by two permutations, of which each party knows one.
    #[track_caller]
    pub(super) fn shuffle(&mut self, tracer: &Tracer) {
        for party in [TOLD, HIDING] {
            let items = self.rows() as u32;
            let permutation = tracer.permutation(party, items, PermutationKind::Random);
            self.apply(&permutation);
        }
    }

    /// Moves the rows through the network of `permutation`.
    #[track_caller]
    fn apply(&mut self, permutation: &PartyPermutation) {
        let (rows, mut first) = (self.rows(), 0);
        for stride in layer_strides(rows) {
            match stride < self.lanes() {
                true => self.apply_inside(permutation, first, stride),
                false => self.apply_between(permutation, first, stride),
            }
            first += rows / 2;
        }
    }

    /// A layer whose pairs lie in one chunk each.
    #[track_caller]
    fn apply_inside(&mut self, permutation: &PartyPermutation, first: u64, stride: u64) {
        let half = self.lanes() / 2;
        for chunk in 0..self.columns[0].len() {
            let bits = permutation.switches(first + chunk as u64 * half, half as u32);
            for column in &mut self.columns {
                let (even, odd) = column[chunk].deinterleave(stride as u32);
                let (even, odd) = permutation.swap(&bits, &even, &odd);
                column[chunk] = even.interleave(&odd, stride as u32);
            }
        }
    }

    /// A layer whose pairs lie in two chunks each.
    #[track_caller]
    fn apply_between(&mut self, permutation: &PartyPermutation, first: u64, stride: u64) {
        let lanes = self.lanes();
        let step = (stride / lanes) as usize;
        for chunk in (0..self.columns[0].len()).filter(|chunk| (chunk / step).is_multiple_of(2)) {
            // The blocks of 2 stride rows before this chunk have stride switches each.
            let blocks = (chunk / (2 * step)) as u64;
            let before = chunk as u64 * lanes - blocks * stride;
            let bits = permutation.switches(first + before, lanes as u32);
            for column in &mut self.columns {
                let (low, high) = permutation.swap(&bits, &column[chunk], &column[chunk + step]);
                (column[chunk], column[chunk + step]) = (low, high);
            }
        }
    }
}

/// For each row its place: `numbers` are the rows that lie at each place, in chunks of equal lanes.
#[track_caller]
pub(super) fn places(tracer: &Tracer, numbers: &[Value]) -> Vec<Value> {
    let mut hidden = Columns { columns: vec![numbers.to_vec()] };
    let (items, lanes) = (hidden.rows() as u32, hidden.lanes() as u32);
    let hiding = tracer.permutation(HIDING, items, PermutationKind::RandomWithOrigins);
    hidden.apply(&hiding);
    let told = tracer.permutation(TOLD, items, PermutationKind::Told);
    let starts = || (0..u64::from(items)).step_by(lanes as usize);
    for (start, rows) in starts().zip(&hidden.columns[0]) {
        told.tell(start, rows);
    }
    let origins = starts().map(|start| hiding.origins(start, lanes)).collect();
    let mut places = Columns { columns: vec![origins] };
    places.apply(&told);
    places.columns.pop().expect("there is one")
}
