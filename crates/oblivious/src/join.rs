//! Joins of two tables.

use phineus_frontend::{Bit, Element, Records, Value, Vector};

use crate::adjacent::adjacent;
use crate::key::SortKey;
use crate::scan::last_valid;
use crate::sort::sort;

/// Calls `visit` with the columns of stretches of pairs of rows, in the order of `(i, j)`: row `i`
/// of the first table in every lane, and consecutive rows `j` of the second.
#[track_caller]
pub fn loop_join(first: &Records, second: &Records, mut visit: impl FnMut(Vec<Value>, Vec<Value>)) {
    for chunk in 0..first.chunk_count() {
        let rows = first.chunk(chunk);
        for lane in 0..rows[0].lanes() {
            let row: Vec<Value> = rows.iter().map(|value| value.lane_slice(lane, 1)).collect();
            for partner in 0..second.chunk_count() {
                let partners = second.chunk(partner);
                let lanes = partners[0].lanes();
                let tiled = row.iter().map(|value| value.tile(lanes)).collect();
                visit(tiled, partners);
            }
        }
    }
}

/// Joins `second` with the row of `first` that has the same key; keys of `first` are unique.
///
/// Both have the same columns, and `key` chooses from them. The result has a row for each row of
/// either: those of `second` that found a partner are valid. Its columns are those of `second`,
/// then those of the partner.
///
/// One sort of all rows by key, `first` before `second`, and a scan that carries rows of `first`
/// forward: `O(n log^2 n)`.
#[track_caller]
pub fn join_unique(first: Records, second: Records, key: &SortKey) -> (Vector<Bit>, Records) {
    let tracer = first.tracer().clone();
    let column_count = first.elements().len();
    let tag = |value: bool, rows| Vector::<Bit>::filled(&tracer, value, rows);
    let (tag_first, tag_second) = (tag(false, first.rows()), tag(true, second.rows()));
    let all = first.with_column(&tag_first).concat(second.with_column(&tag_second));
    let sorted = sort(all, &key.clone().then(SortKey::column(column_count)));
    let is_first = sorted.column::<Bit>(column_count).map(|tag| !tag);
    let (found, carried) = last_valid(&is_first, sorted.clone());
    let lanes = sorted.chunk_lanes();
    let mut valid = Vec::new();
    for chunk in 0..sorted.chunk_count() {
        let (row, partner) = (sorted.chunk(chunk), carried.chunk(chunk));
        let equal = key.eq(&row, &partner);
        let bits = Bit::from_value(equal) & Bit::from_value(row[column_count].clone());
        let found = Bit::from_value(found.chunks()[chunk].clone());
        valid.push((bits & found).value().clone());
    }
    let mut columns = sorted.into_columns();
    columns.truncate(column_count);
    columns.extend(carried.into_columns().into_iter().take(column_count));
    let valid = Records::from_columns(&tracer, lanes, vec![valid]);
    (valid.column(0), Records::from_columns(&tracer, lanes, columns))
}

/// Where a row's key differs from that of the row before it; the first row always begins a group.
#[track_caller]
pub fn group_begins(records: &Records, key: &SortKey) -> Vector<Bit> {
    let differs = adjacent(records, |row, next| key.eq(row, next).not());
    let first = Bit::constant(records.tracer(), true);
    let pieces = std::iter::once(first).chain(differs.into_iter().map(Bit::from_value));
    Vector::from_pieces(records.tracer(), pieces).rechunked(records.chunk_lanes())
}
