//! Comparators on chunks of records, and how many a network has.
//!
//! The bitonic merge of `n` elements is the butterfly on `2^K >= n` places without the
//! comparators that reach beyond `n`. Write `+inf` in the places from `n` on: a comparator with
//! such a place as its second never moves anything, since the larger element belongs there, so
//! leaving it out changes nothing (Batcher, "Sorting networks and their applications", AFIPS
//! 1968; Lang, "Bitonic sorting network for n not a power of 2"). The sequence with its `+inf`
//! must be bitonic: descending, then ascending. For a descending result all comparators turn
//! round, the places hold `-inf`, and the sequence ascends, then descends.

use phineus_frontend::Value;

use crate::key::SortKey;

/// The direction in which a network sorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SortOrder {
    Ascending,
    Descending,
}

impl SortOrder {
    pub(crate) fn reversed(self) -> SortOrder {
        match self {
            SortOrder::Ascending => SortOrder::Descending,
            SortOrder::Descending => SortOrder::Ascending,
        }
    }
}

/// The values of the columns of some rows.
pub(crate) type Rows = Vec<Value>;

/// Puts two stretches of rows of equal length in order, row by row: `w` ANDs for `w` bits of
/// record and `k` ANDs for `k` bits of key.
#[track_caller]
pub(crate) fn exchange(key: &SortKey, direction: SortOrder, a: &Rows, b: &Rows) -> (Rows, Rows) {
    swap(&is_wrong(key, direction, a, b), a, b)
}

/// Bits that are 1 where rows of two stretches are in the wrong order.
#[track_caller]
pub(crate) fn is_wrong(key: &SortKey, direction: SortOrder, a: &Rows, b: &Rows) -> Value {
    match direction {
        SortOrder::Ascending => key.lt(b, a),
        SortOrder::Descending => key.lt(a, b),
    }
}

/// Exchanges rows where the bit is 1.
#[track_caller]
pub(crate) fn swap(select: &Value, a: &Rows, b: &Rows) -> (Rows, Rows) {
    a.iter().zip(b).map(|(a, b)| select.swap(a, b)).unzip()
}

/// Comparators of [`crate::merge_bitonic`] on `n` rows: for each power of two `s < n` the pairs
/// `i`, `i + s` with `i + s < n` and bit `s` of `i` zero.
pub fn merge_comparators(n: u64) -> u64 {
    let mut count = 0;
    let mut stride = 1;
    while stride < n {
        let blocks = n / (2 * stride);
        let rest = n % (2 * stride);
        count += blocks * stride + rest.saturating_sub(stride);
        stride *= 2;
    }
    count
}

/// Comparators of [`crate::sort`] on `n` rows in chunks of `lanes`: the chunks are halved, the
/// first half taking the odd one, down to one chunk; a full chunk is sorted as a power of two,
/// a short one is halved on.
pub fn sort_comparators(n: u64, lanes: u64) -> u64 {
    if n < 2 {
        return 0;
    }
    let first = if n > lanes { n.div_ceil(lanes).div_ceil(2) * lanes } else { n.div_ceil(2) };
    sort_comparators(first, lanes) + sort_comparators(n - first, lanes) + merge_comparators(n)
}
