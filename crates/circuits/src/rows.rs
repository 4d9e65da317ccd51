//! Addressing of bit-major values: a *row* is one bit of all lanes.

use std::ops::Range;

/// The wires of rows `rows` of a value with `lanes` lanes.
pub(crate) fn span(rows: Range<usize>, lanes: usize) -> Range<usize> {
    rows.start * lanes..rows.end * lanes
}

/// The wires of row `index` of a value with `lanes` lanes.
pub(crate) fn row(index: usize, lanes: usize) -> Range<usize> {
    span(index..index + 1, lanes)
}

/// The number of rows of a value of `wires` wires.
///
/// # Panics
/// When `lanes` is zero or does not divide `wires`.
pub(crate) fn width_of(wires: usize, lanes: usize) -> usize {
    assert!(lanes > 0, "a value has at least one lane");
    assert!(wires.is_multiple_of(lanes), "{wires} wires are not whole rows of {lanes} lanes");
    wires / lanes
}

/// Splits the first `count` wires off the scratch area; the rest is passed down.
pub(crate) fn take<W>(scratch: &mut [W], count: usize) -> (&mut [W], &mut [W]) {
    assert!(scratch.len() >= count, "scratch has {} wires, needs {count}", scratch.len());
    scratch.split_at_mut(count)
}

/// Copies a row; one lane, where a call of `memcpy` would cost more than the copy, by itself.
#[inline]
pub(crate) fn copy_row<W: Copy>(out: &mut [W], from: &[W]) {
    match (&mut *out, from) {
        ([out], [from]) => *out = *from,
        (out, from) => out.copy_from_slice(from),
    }
}
