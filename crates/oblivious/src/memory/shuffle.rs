//! Permutations of rows that no party knows, and the inverse of what they do: Zahur et al. 2016, section V.
//!
//! Each party applies a permutation of its own, by a Waksman network whose switches it knows. For the position map, all
//! parties but one hide the order of the rows under fresh permutations by one more pass each, and that one is told the
//! result, which is uniform: together they know where each row lies. So the one that was told moves the places, which
//! the others moved as they moved the rows: then the place of each row is a secret value. Or two parties keep what they know,
//! and use it to locate a row.
//!
//! Deviation: Zahur et al. have two parties. The composition of permutations of all parties is uniform for all but one
//! of them together.
//!
//! Cost of a pass over `n` rows of `b` bits: `W(n)` products of a row and a bit that one party knows;
//! `W(n) = w n - 2^w + 1` for `w = ceil(log2 n)`. Rounds: one opening for the position map.

use phineus_bytecode::{Lane, PermutationKind, Sharing};
use phineus_circuits::permutation::{Layer, layers};
use phineus_frontend::{OpenedIndex, PartyPermutation, Region, Tracer, Value, rechunk};

use super::period::RowSharing;

/// The party that is told how rows lie under the permutations of the others.
pub(super) const TOLD: u16 = 0;
/// The first of those that hide them.
pub(super) const HIDING: u16 = 1;

/// How the stores of a memory are shuffled.
#[derive(Clone, Copy)]
pub(super) struct Shuffling {
    /// Accesses between two shuffles.
    pub(super) period: u64,
    /// How many parties compute.
    pub(super) parties: u16,
    /// How rows are held.
    pub(super) rows: RowSharing,
}

/// Columns of `rows` rows, which permutations move, in chunks of equal lanes, a power of two; the last chunk has zeros behind the rows.
pub(super) struct Columns {
    pub(super) columns: Vec<Vec<Value>>,
    pub(super) rows: u64,
}

impl Columns {
    /// Cuts each column into chunks of `lanes` lanes.
    #[track_caller]
    pub(super) fn new(columns: Vec<Vec<Value>>, lanes: u32) -> Columns {
        let rows = columns[0].iter().map(|chunk| u64::from(chunk.lanes())).sum();
        let columns = columns.into_iter().map(|column| {
            let mut chunks = rechunk(column, lanes);
            let last = chunks.last_mut().expect("there are rows");
            if last.lanes() < lanes {
                let zero = last.tracer().constant(last.integer(), Lane::ZERO);
                *last = last.lane_concat(&zero.tile(lanes - last.lanes()));
            }
            chunks
        });
        Columns { columns: columns.collect(), rows }
    }

    /// All rows of regions, one for each column.
    #[track_caller]
    pub(super) fn loaded(regions: &[Region], rows: u64, lanes: u32) -> Columns {
        let column = |region: &Region| {
            let chunks = Columns::chunks(rows, lanes);
            chunks.map(|(start, lanes)| region.load(start, lanes)).collect()
        };
        Columns::new(regions.iter().map(column).collect(), lanes)
    }

    /// That of all columns but public ones.
    fn sharing(&self) -> Sharing {
        let sharings = self.columns.iter().map(|column| column[0].sharing());
        sharings.into_iter().find(|&sharing| sharing != Sharing::Any).unwrap_or_default()
    }

    fn lanes(&self) -> u64 {
        self.columns[0][0].lanes().into()
    }

    /// The first row of each chunk, and how many rows it has.
    pub(super) fn chunks(rows: u64, lanes: u32) -> impl Iterator<Item = (u64, u32)> {
        let starts = (0..rows).step_by(lanes as usize);
        starts.map(move |start| (start, (rows - start).min(lanes.into()) as u32))
    }

    /// The rows of a column, without what fills the last chunk.
    #[track_caller]
    pub(super) fn trimmed(&self, column: usize) -> Vec<Value> {
        let chunks = Columns::chunks(self.rows, self.lanes() as u32).zip(&self.columns[column]);
        chunks.map(|((_, lanes), chunk)| chunk.lane_slice(0, lanes)).collect()
    }

    /// Moves the rows by as many permutations as there are parties, of which each knows one.
    #[track_caller]
    pub(super) fn shuffle(&mut self, tracer: &Tracer, parties: u16) {
        for party in 0..parties {
            let permutation = tracer.permutation(party, self.rows as u32, PermutationKind::Random);
            self.apply(&permutation);
        }
    }

    /// Moves the rows through the network of `permutation`.
    #[track_caller]
    pub(super) fn apply(&mut self, permutation: &PartyPermutation) {
        let mut first = 0;
        for layer in layers(self.rows) {
            match layer.stride < self.lanes() {
                true => self.apply_inside(permutation, first, layer),
                false => self.apply_between(permutation, first, layer),
            }
            first += layer.switches;
        }
    }

    /// A layer whose pairs lie in one chunk each.
    #[track_caller]
    fn apply_inside(&mut self, permutation: &PartyPermutation, first: u64, layer: Layer) {
        let (half, stride) = (self.lanes() / 2, layer.stride as u32);
        for (chunk, before) in (0..layer.switches).step_by(half as usize).enumerate() {
            let count = (layer.switches - before).min(half) as u32;
            let bits = permutation.switches_in(self.sharing(), first + before, count);
            for column in &mut self.columns {
                let (even, odd) = column[chunk].deinterleave(stride);
                let (even, odd) = swap_first(permutation, &bits, &even, &odd);
                column[chunk] = even.interleave(&odd, stride);
            }
        }
    }

    /// A layer whose pairs lie in two chunks each.
    #[track_caller]
    fn apply_between(&mut self, permutation: &PartyPermutation, first: u64, layer: Layer) {
        let lanes = self.lanes();
        let step = (layer.stride / lanes) as usize;
        let lower = (0..).filter(|chunk| (chunk / step).is_multiple_of(2));
        for (chunk, before) in lower.zip((0..layer.switches).step_by(lanes as usize)) {
            let count = (layer.switches - before).min(lanes) as u32;
            let bits = permutation.switches_in(self.sharing(), first + before, count);
            for column in &mut self.columns {
                let (low, high) = (&column[chunk], &column[chunk + step]);
                let (low, high) = swap_first(permutation, &bits, low, high);
                (column[chunk], column[chunk + step]) = (low, high);
            }
        }
    }
}

/// Exchanges the first lanes of two values by as many switches; the others stay.
#[track_caller]
fn swap_first(
    permutation: &PartyPermutation,
    bits: &Value,
    first: &Value,
    second: &Value,
) -> (Value, Value) {
    let (count, lanes) = (bits.lanes(), first.lanes());
    if count == lanes {
        return permutation.swap(bits, first, second);
    }
    let [head, other] = [first, second].map(|value| value.lane_slice(0, count));
    let (head, other) = permutation.swap(bits, &head, &other);
    let with_rest =
        |head: Value, all: &Value| head.lane_concat(&all.lane_slice(count, lanes - count));
    (with_rest(head, first), with_rest(other, second))
}

/// The order of some rows, of which one of two parties knows the inverse under the permutation of the other one.
pub(super) struct HiddenOrder {
    pub(super) told: PartyPermutation,
    pub(super) hiding: PartyPermutation,
}

impl HiddenOrder {
    /// `numbers` are the rows that lie at each place.
    #[track_caller]
    pub(super) fn new(tracer: &Tracer, numbers: Vec<Value>) -> HiddenOrder {
        let lanes = numbers[0].lanes().next_power_of_two();
        let mut hidden = Columns::new(vec![numbers], lanes);
        let items = hidden.rows as u32;
        let hiding = tracer.permutation(HIDING, items, PermutationKind::RandomLocated);
        hidden.apply(&hiding);
        let told = tracer.permutation(TOLD, items, PermutationKind::ToldLocated);
        tell(&told, &hidden.trimmed(0));
        HiddenOrder { told, hiding }
    }
}

/// For each row its place: `numbers` are the rows that lie at each place.
#[track_caller]
pub(super) fn places(tracer: &Tracer, numbers: Vec<Value>, parties: u16) -> Vec<Value> {
    let lanes = numbers[0].lanes().next_power_of_two();
    let mut hidden = Columns::new(vec![numbers], lanes);
    let items = hidden.rows as u32;
    let starts = || Columns::chunks(items.into(), lanes);
    let hiding = tracer.permutation(HIDING, items, PermutationKind::RandomWithOrigins);
    hidden.apply(&hiding);
    // The first one to hide the rows knows where it takes them from; the others move these places, too.
    let sharing = hidden.sharing();
    let origins = starts().map(|(start, count)| hiding.origins(start, count).to_sharing(sharing));
    let origins = origins.collect();
    hidden.columns.append(&mut Columns::new(vec![origins], lanes).columns);
    for party in HIDING + 1..parties {
        hidden.apply(&tracer.permutation(party, items, PermutationKind::Random));
    }
    let told = tracer.permutation(TOLD, items, PermutationKind::Told);
    tell(&told, &hidden.trimmed(0));
    hidden.columns.remove(0);
    hidden.apply(&told);
    hidden.trimmed(0)
}

/// Tells a party where all rows are moved.
#[track_caller]
pub(super) fn tell(told: &PartyPermutation, rows: &[Value]) {
    let mut start = 0;
    for rows in rows {
        told.tell(start, rows);
        start += u64::from(rows.lanes());
    }
}

/// Puts the rows of a stash, which are in chunks of `lanes`, back to the places that they came from.
#[track_caller]
pub(super) fn put_back(
    regions: &[Region],
    stash: &mut [Vec<Value>],
    taken_from: &[OpenedIndex],
    lanes: u32,
) {
    for (region, chunks) in regions.iter().zip(stash) {
        for (at, &place) in taken_from.iter().enumerate() {
            let (chunk, lane) = (at / lanes as usize, at % lanes as usize);
            region.store_at(place, &chunks[chunk].lane_slice(lane as u32, 1));
        }
        chunks.clear();
    }
}
