//! Prefix scans: each row combined with all rows before it, `2 n` combinations.
//!
//! The recursion of Brent and Kung ("A Regular Layout for Parallel Adders", IEEE Transactions on
//! Computers 1982): combine each even row with the odd row after it, scan these `n / 2`, which are
//! the results of the odd rows, and combine each with the even row that follows. Depth `2 log n`;
//! the sizes halve, so storage is touched by `O(n)` rows in all.

use phineus_frontend::{Bit, Element, Records, UInt, Value, Vector};

use crate::lanes::lane_count;
use crate::network::Rows;

/// Result of an associative combination of an earlier and a later range of rows.
type Combined = Vec<Value>;

/// Row `i` of the result is rows `0` to `i` combined by the associative `combine(earlier, later)`.
#[track_caller]
pub fn scan(records: Records, combine: impl Fn(&[Value], &[Value]) -> Combined) -> Records {
    scan_by(records, &combine)
}

#[track_caller]
fn scan_by(records: Records, combine: &impl Fn(&[Value], &[Value]) -> Combined) -> Records {
    let rows = records.rows();
    if rows < 2 {
        return records;
    }
    let (even, odd) = split(&records);
    let pairs = zipped(&even.slice(0, rows / 2), &odd, combine);
    let odd = scan_by(pairs, combine);
    let later = even.rows() - 1;
    let even = if later == 0 {
        even
    } else {
        let rest = zipped(&odd.slice(0, later), &even.slice(1, later), combine);
        even.slice(0, 1).concat(rest)
    };
    interleaved(&even, &odd)
}

/// The rows with even and with odd numbers.
#[track_caller]
fn split(records: &Records) -> (Records, Records) {
    let lanes = records.chunk_lanes();
    let column_count = records.elements().len();
    let mut even: Vec<Vec<Value>> = vec![Vec::new(); column_count];
    let mut odd: Vec<Vec<Value>> = vec![Vec::new(); column_count];
    for chunk in 0..records.chunk_count() {
        for (column, value) in records.chunk(chunk).into_iter().enumerate() {
            if value.lanes() == 1 {
                // Lanes are a power of two, so a chunk of one row is the last, or all are.
                let side = if lanes == 1 && chunk % 2 == 1 { &mut odd } else { &mut even };
                side[column].push(value);
                continue;
            }
            let whole = value.lanes() / 2 * 2;
            let (first, second) = value.lane_slice(0, whole).deinterleave(1);
            even[column].push(first);
            odd[column].push(second);
            if whole < value.lanes() {
                even[column].push(value.lane_slice(whole, 1));
            }
        }
    }
    let tracer = records.tracer();
    (
        Records::from_pieces(tracer, lanes, records.elements(), even),
        Records::from_pieces(tracer, lanes, records.elements(), odd),
    )
}

/// Rows in turn from `even` and from `odd`, which has as many or one fewer.
#[track_caller]
fn interleaved(even: &Records, odd: &Records) -> Records {
    let lanes = even.chunk_lanes();
    let mut columns: Vec<Vec<Value>> = vec![Vec::new(); even.elements().len()];
    for chunk in 0..even.chunk_count() {
        let first = even.chunk(chunk);
        let second = (chunk < odd.chunk_count()).then(|| odd.chunk(chunk));
        for (column, value) in first.iter().enumerate() {
            let partner = second.as_ref().map(|rows| &rows[column]);
            columns[column].extend(in_turn(value, partner));
        }
    }
    Records::from_pieces(even.tracer(), lanes, even.elements(), columns)
}

/// The lanes of two values in turn, in pieces that fit a value each.
#[track_caller]
fn in_turn(even: &Value, odd: Option<&Value>) -> Vec<Value> {
    let Some(odd) = odd else {
        return vec![even.clone()];
    };
    let paired = odd.lanes();
    let half = paired / 2;
    let mut pieces = Vec::new();
    // Both together may be too large for one value, so each half is by itself.
    for (start, count) in [(0, half), (half, paired - half)] {
        if count > 0 {
            let (a, b) = (even.lane_slice(start, count), odd.lane_slice(start, count));
            pieces.push(a.interleave(&b, 1));
        }
    }
    if even.lanes() > paired {
        pieces.push(even.lane_slice(paired, even.lanes() - paired));
    }
    pieces
}

/// `combine` on each pair of rows.
#[track_caller]
fn zipped(
    first: &Records,
    second: &Records,
    combine: &impl Fn(&[Value], &[Value]) -> Combined,
) -> Records {
    let mut columns: Vec<Vec<Value>> = vec![Vec::new(); first.elements().len()];
    for chunk in 0..first.chunk_count() {
        let (a, b): (Rows, Rows) = (first.chunk(chunk), second.chunk(chunk));
        debug_assert_eq!(lane_count(&a), lane_count(&b));
        for (column, value) in columns.iter_mut().zip(combine(&a, &b)) {
            column.push(value);
        }
    }
    Records::from_columns(first.tracer(), first.chunk_lanes(), columns)
}

/// Element `i` of the result is the wrapping sum of elements `0` to `i`.
#[track_caller]
pub fn prefix_sum<const W: u16>(vector: Vector<UInt<W>>) -> Vector<UInt<W>> {
    let records = Records::from_vector(vector);
    scan(records, |a, b| vec![a[0].add(&b[0])]).column(0)
}

/// Each row replaced by the last row up to it whose bit is 1, and whether there is one.
///
/// Costs an OR and a choice of all columns in each of `2 n` combinations.
#[track_caller]
pub fn last_valid(valid: &Vector<Bit>, records: Records) -> (Vector<Bit>, Records) {
    let column_count = records.elements().len();
    let elements = records.elements().to_vec();
    let tracer = records.tracer().clone();
    let scanned = scan(records.with_column(valid), |earlier, later| {
        let taken = &later[column_count];
        let mut result: Vec<Value> = earlier
            .iter()
            .zip(later)
            .take(column_count)
            .map(|(earlier, later)| taken.select(later, earlier))
            .collect();
        result.push(taken.or(&earlier[column_count]));
        result
    });
    let valid = scanned.column::<Bit>(column_count);
    let lanes = scanned.chunk_lanes();
    let mut columns = scanned.into_columns();
    columns.truncate(column_count);
    (valid, Records::from_pieces(&tracer, lanes, &elements, columns))
}

/// Sums of groups: element `i` of the result is the sum of the elements of its group up to `i`,
/// where a bit of 1 begins a group.
#[track_caller]
pub fn group_sums<const W: u16>(begins: &Vector<Bit>, vector: Vector<UInt<W>>) -> Vector<UInt<W>> {
    let records = Records::from_vector(vector).with_column(begins);
    let scanned = scan(records, |earlier, later| {
        // Where the later stretch begins a group, nothing of the earlier one counts.
        let carried = later[1].not().mask(&earlier[0]);
        vec![later[0].add(&carried), later[1].or(&earlier[1])]
    });
    debug_assert_eq!(scanned.elements()[0], UInt::<W>::TYPE);
    scanned.column(0)
}
