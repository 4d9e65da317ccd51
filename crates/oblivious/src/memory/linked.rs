//! [`Linked`]: rows in a secret order, each with the place of the row behind it.
//!
//! Doerner, Evans, shelat, "Secure Stable Matching at Scale", ACM CCS 2016: whoever reads a row learns where the next one
//! lies, so no position map is asked. A row is read once at most, so its place is opened once at most, and nothing is
//! shuffled again.
//!
//! Cost of `n` rows of `b` bits, of two parties: products of `W(n) (2 b + 8 k)` bits of rows with switches, once; a read
//! opens `k` bits. Each further party moves rows, links and places once more.

use phineus_bytecode::{Lane, PermutationKind};
use phineus_frontend::{OpenedIndex, Region, Tracer, Value, rechunk};

use super::period::RowSharing;
use super::shuffle::{Columns, HIDING, TOLD, places, tell};
use super::square_root::all_numbers;

/// Linked rows by place, the link of each behind its cells.
pub(super) struct Linked {
    regions: Vec<Region>,
    /// By row, its place, in chunks of `lanes`.
    places: Vec<Value>,
    lanes: u32,
    /// The place that was opened last.
    opened: Option<OpenedIndex>,
}

impl Linked {
    /// `columns` are the cells of `items` rows, two at least, in chunks of `lanes` lanes.
    #[track_caller]
    pub(super) fn new(
        tracer: &Tracer,
        columns: Vec<Vec<Value>>,
        (items, lanes): (u64, u32),
        (parties, sharing): (u16, RowSharing),
    ) -> Linked {
        let bits = super::index_bits(items);
        let moved = |column: Vec<Value>| -> Vec<Value> {
            column.iter().map(|cells| cells.to_sharing(sharing.moved())).collect()
        };
        let columns = columns.into_iter().map(moved).collect();
        let numbers = moved(all_numbers(tracer, bits, lanes, items));
        let mut order = Columns::new(vec![numbers], lanes);
        order.shuffle(tracer, parties);
        let places = places(tracer, order.trimmed(0), parties);
        let mut links: Vec<Value> = places.clone();
        let first = links[0].lane_slice(0, 1);
        match links[0].lanes() {
            1 => drop(links.remove(0)),
            several => links[0] = links[0].lane_slice(1, several - 1),
        }
        links.push(first);
        let links = rechunk(links, lanes);
        // Moves each row to its place: all parties but one hide the rows in turn, and that one is told where they go.
        let mut rows = Columns::new([columns, vec![links, places.clone()]].concat(), lanes);
        for party in HIDING..parties {
            rows.apply(&tracer.permutation(party, items as u32, PermutationKind::Random));
        }
        let goal = rows.trimmed(rows.columns.len() - 1);
        rows.columns.pop();
        let told = tracer.permutation(TOLD, items as u32, PermutationKind::Told);
        tell(&told, &goal);
        rows.apply(&told);
        let store = |column: usize| {
            let chunks = rows.trimmed(column);
            let region = tracer.region(chunks[0].integer().shared(sharing.moved()), items);
            for ((row, _), chunk) in Columns::chunks(items, lanes).zip(&chunks) {
                region.store(row, chunk);
            }
            region
        };
        let regions = (0..rows.columns.len()).map(store).collect();
        Linked { regions, places, lanes, opened: None }
    }

    /// The link to a row, in the block that made the links.
    #[track_caller]
    pub(super) fn link(&self, row: u64) -> Value {
        let lanes = u64::from(self.lanes);
        let place = self.places[(row / lanes) as usize].lane_slice((row % lanes) as u32, 1);
        place.in_any_sharing()
    }

    /// The cells of the row that a link leads to, and the next link behind them.
    #[track_caller]
    pub(super) fn read(&mut self, link: &Value) -> Vec<Value> {
        let place = match self.opened {
            Some(place) => link.reveal_into(place),
            None => link.reveal(),
        };
        self.opened = Some(place);
        let rows = self.regions.iter().map(|region| region.load_at(place));
        rows.map(|cell| cell.in_any_sharing()).collect()
    }
}

/// Of rows that are found by their number: `row + 1`, and 0 behind the last of `rows`.
#[track_caller]
pub(super) fn next_number(row: &Value, rows: u64) -> Value {
    let constant = |value: u64| row.tracer().constant(row.integer(), Lane::from(value));
    let next = row.add(&constant(1));
    match rows.is_power_of_two() && rows > 1 {
        true => next,
        false => row.eq(&constant(rows - 1)).not().mask(&next),
    }
}
