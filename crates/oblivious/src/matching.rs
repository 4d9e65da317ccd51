//! Matches the rows of two sorted tables that have the same key.
//!
//! Both tables are merged by key, so that rows with equal keys become neighbours; each row takes
//! what it wants from its neighbours; and the merge is undone ([`crate::merge_recorded`]), which
//! brings every row back to its own place. Nobody learns where a row stood among the others.
//!
//! Cost for `n` rows in all, keys of `k` bits and payloads of `p`: [`crate::merge_comparators`]`(n)`
//! times `2 k + p` ANDs to merge and `p + 1` to undo, and about `k + p` for each row between. Where keys
//! may repeat, `k` has [`Matching::order_bits`] more.
//!
//! Merging is not stable: rows with equal keys could come out in an order that depends on all other
//! keys, and whoever sees partners one after the other would learn of these. So rows of the second
//! table with the same key are numbered and merged by this number, too.

use phineus_bytecode::ElementType;
use phineus_frontend::{Bit, Element, Records, Value, Vector, lanes_for};

use crate::key::SortKey;
use crate::merge::{MergeRecord, merge_recorded};

/// Two tables merged by key. Keys of the first are unique; each may stand in the second several
/// times.
pub struct Matching {
    record: MergeRecord,
    /// Key, payload, and, where keys may repeat, whether the row is of the second table and its number
    /// among those with the same key.
    merged: Records,
    /// 1 if a row has the key of the next one; 0 for the last row.
    equal: Records,
    repeats: u32,
}

/// Columns of [`Matching`]'s merged rows.
const KEY: usize = 0;
const PAYLOAD: usize = 1;
const IS_SECOND: usize = 2;
const NUMBER: usize = 3;

impl Matching {
    /// Merges tables with two columns: an unsigned key, by which both ascend, and a payload of the
    /// same type in both. Each key stands in `second` at most `repeats` times.
    ///
    /// More rows of one key give a wrong result: the owner of the rows must check them.
    #[track_caller]
    pub fn new(first: Records, second: Records, repeats: u32) -> Matching {
        let (first, second, key) = if repeats > 1 {
            let [first, second] = [(first, false), (second, true)]
                .map(|(rows, is_second)| with_order(rows, is_second, repeats));
            let key =
                SortKey::column(KEY).then(SortKey::column(IS_SECOND)).then(SortKey::column(NUMBER));
            (first, second, key)
        } else {
            (first, second, SortKey::column(KEY))
        };
        let (merged, record) = merge_recorded(first, second, &key);
        let equal = equals_next(&merged);
        Matching { record, merged, equal, repeats }
    }

    /// How many bits are compared besides those of a key that may repeat so often.
    pub const fn order_bits(repeats: u32) -> u16 {
        match repeats {
            0 | 1 => 0,
            _ => 1 + number_bits(repeats),
        }
    }

    /// Number of pairs of rows with the same key, in 32 bits.
    #[track_caller]
    pub fn count(&self) -> Value {
        let pairs = match self.repeats {
            0 | 1 => self.equal.column::<Bit>(0),
            _ => self.partners_of_second().column::<Bit>(0),
        };
        pairs.count::<32>().value().clone()
    }

    /// Calls `visit` with stretches of pairs of rows, in the merged order: whether the two have the
    /// same key, and the payloads of both joined by XOR. There is a stretch for each chunk.
    ///
    /// Where each table leaves zero what the other one fills, the joined payload is both payloads.
    #[track_caller]
    pub fn pairs(&self, mut visit: impl FnMut(&Value, &Value)) {
        let (equal, joined) = match self.repeats {
            0 | 1 => {
                let next = shifted_up(&self.merged, 1);
                let joined =
                    zipped(&self.merged, &next, |row, next| vec![row[PAYLOAD].xor(&next[PAYLOAD])]);
                (self.equal.clone(), joined)
            }
            _ => {
                let partners = self.partners_of_second();
                let joined = zipped(&self.merged, &partners, |row, partner| {
                    vec![row[PAYLOAD].xor(&partner[1])]
                });
                (partners, joined)
            }
        };
        for chunk in 0..joined.chunk_count() {
            visit(&equal.chunks(0)[chunk], &joined.chunks(0)[chunk]);
        }
    }

    /// For each row of either table, in its own order, whether it has a partner, and the partner's
    /// payload. With unique keys a row without a partner has its own payload, else zeros.
    ///
    /// The columns are a bit and a payload for each partner that a row may have: one for rows of
    /// the second table, where all but the first two columns are zero, and `repeats` for rows of
    /// the first, in the order in which the second table has them.
    #[track_caller]
    pub fn partners(&self) -> (Records, Records) {
        let found = match self.repeats {
            0 | 1 => self.exchanged(),
            _ => self.repeated(),
        };
        self.record.undo(found)
    }

    /// Unique keys: equal neighbours exchange payloads.
    #[track_caller]
    fn exchanged(&self) -> Records {
        let next = shifted_up(&self.merged, 1);
        let pairs = zipped(&self.merged, &next, |row, next| vec![row[PAYLOAD].xor(&next[PAYLOAD])]);
        let moved = zipped(&self.equal, &pairs, |equal, pair| {
            vec![equal[0].clone(), equal[0].mask(&pair[0])]
        });
        let before = shifted_down(&moved, 1);
        let moved = zipped(&moved, &before, |own, before| {
            vec![own[0].xor(&before[0]), own[1].xor(&before[1])]
        });
        zipped(&moved, &self.merged, |moved, row| {
            vec![moved[0].clone(), moved[1].xor(&row[PAYLOAD])]
        })
    }

    /// Repeated keys: what both tables learn, each in rows where the other has zeros.
    #[track_caller]
    fn repeated(&self) -> Records {
        let second = self.partners_of_second();
        let mut slots = zipped(&second, &self.merged, |found, _| found.to_vec());
        let mut reached = zipped(&self.equal, &self.merged, |equal, row| {
            vec![equal[0].and(&row[IS_SECOND].not())]
        });
        for slot in 0..self.repeats {
            let by = u64::from(slot) + 1;
            let ahead = shifted_up(&self.merged, by);
            let found = zipped(&reached, &ahead, |reached, ahead| {
                vec![reached[0].clone(), reached[0].mask(&ahead[PAYLOAD])]
            });
            slots = zipped(&slots, &found, |slots, found| match slot {
                0 => vec![slots[0].xor(&found[0]), slots[1].xor(&found[1])],
                _ => [slots, found].concat(),
            });
            if by == u64::from(self.repeats) {
                break;
            }
            let further = shifted_up(&self.equal, by);
            reached = zipped(&reached, &further, |reached, equal| vec![reached[0].and(&equal[0])]);
        }
        slots
    }

    /// For each row, where it is of the second table, whether it has a partner and its payload;
    /// zeros for rows of the first. Doubles its reach until it is as far as a key may repeat.
    #[track_caller]
    fn partners_of_second(&self) -> Records {
        // Rows of the first table have their own payload to begin with.
        let mut carried = zipped(&self.merged, &self.merged, |row, _| {
            let is_first = row[IS_SECOND].not();
            let payload = is_first.mask(&row[PAYLOAD]);
            vec![is_first, payload]
        });
        // Whether a row has the key of the row so far before it.
        let mut run = shifted_down(&self.equal, 1);
        let mut reach = 1u64;
        while reach <= u64::from(self.repeats) {
            let before = shifted_down(&carried, reach);
            let taken = zipped(&carried, &before, |own, before| {
                vec![own[0].not().and(&before[0]), before[1].clone()]
            });
            let taken = zipped(&taken, &run, |taken, run| {
                let take = taken[0].and(&run[0]);
                let payload = take.mask(&taken[1]);
                vec![take, payload]
            });
            carried = zipped(&carried, &taken, |own, taken| {
                vec![own[0].xor(&taken[0]), own[1].xor(&taken[1])]
            });
            let earlier = shifted_down(&run, reach);
            run = zipped(&run, &earlier, |run, earlier| vec![run[0].and(&earlier[0])]);
            reach *= 2;
        }
        zipped(&carried, &self.merged, |carried, row| {
            let is_second = &row[IS_SECOND];
            vec![is_second.and(&carried[0]), is_second.mask(&carried[1])]
        })
    }
}

/// Bits of a row's number among `repeats` ones.
const fn number_bits(repeats: u32) -> u16 {
    (u32::BITS - (repeats - 1).leading_zeros()) as u16
}

/// Sorted rows with what orders those of one key: whether they are of the second table, and their
/// number; rows of the first have distinct keys, and number 0.
#[track_caller]
fn with_order(rows: Records, is_second: bool, repeats: u32) -> Records {
    let tracer = rows.tracer().clone();
    let key_bits = rows.elements()[KEY].width();
    let most = lanes_for(key_bits.saturating_add(Matching::order_bits(repeats)));
    let lanes = most.min(rows.chunk_lanes());
    let rows = rows.rechunked(lanes);
    let number = ElementType::unsigned(number_bits(repeats));
    if rows.rows() == 0 {
        let types = [rows.elements(), &[Bit::TYPE, number]].concat();
        return Records::from_pieces(&tracer, lanes, &types, vec![Vec::new(); types.len()]);
    }
    let numbers = if is_second {
        // A row's number is how many rows before it have its key.
        let before = shifted_down(&equals_next(&rows), 1);
        let mut run = before.clone();
        let mut count = zipped(&run, &run, |run, _| vec![run[0].cast(number)]);
        for _ in 2..repeats {
            run = zipped(&before, &shifted_down(&run, 1), |b, run| vec![b[0].and(&run[0])]);
            count = zipped(&count, &run, |count, run| vec![count[0].add(&run[0].cast(number))]);
        }
        count
    } else {
        zipped(&rows, &rows, |row, _| {
            vec![tracer.constant(number, phineus_bytecode::Lane::ZERO).tile(row[KEY].lanes())]
        })
    };
    let side = Vector::<Bit>::filled(&tracer, is_second, rows.rows());
    let rows = rows.with_column(&side);
    zipped(&rows, &numbers, |row, number| [row, number].concat())
}

/// Whether a row has the key of the next one; 0 for the last.
#[track_caller]
fn equals_next(rows: &Records) -> Records {
    let next = shifted_up(rows, 1);
    let key = SortKey::column(KEY);
    let equal = zipped(rows, &next, |row, next| vec![key.eq(row, next)]);
    // The row behind the last one is made of zeros, and zero may be a key.
    without_last(equal)
}

/// `function` of the columns of each row of two tables of equal length and cut.
#[track_caller]
fn zipped(
    first: &Records,
    second: &Records,
    function: impl Fn(&[Value], &[Value]) -> Vec<Value>,
) -> Records {
    let mut columns: Vec<Vec<Value>> = Vec::new();
    for chunk in 0..first.chunk_count() {
        let row = function(&first.chunk(chunk), &second.chunk(chunk));
        columns.resize(row.len(), Vec::new());
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    Records::from_columns(first.tracer(), first.chunk_lanes(), columns)
}

/// Row `i` is what row `i + by` was; zeros at the end.
#[track_caller]
fn shifted_up(records: &Records, by: u64) -> Records {
    let by = by.min(records.rows());
    let zeros = zeros(records, by);
    records.slice(by, records.rows() - by).concat(zeros)
}

/// Row `i` is what row `i - by` was; zeros at the beginning.
#[track_caller]
fn shifted_down(records: &Records, by: u64) -> Records {
    let by = by.min(records.rows());
    zeros(records, by).concat(records.slice(0, records.rows() - by))
}

/// Sets the last row's bit to 0.
#[track_caller]
fn without_last(records: Records) -> Records {
    let rows = records.rows();
    if rows == 0 {
        return records;
    }
    let zero = zeros(&records, 1);
    records.slice(0, rows - 1).concat(zero)
}

/// `rows` rows of zeros with the columns and the cut of `records`.
#[track_caller]
fn zeros(records: &Records, rows: u64) -> Records {
    let lanes = records.chunk_lanes();
    let tracer = records.tracer();
    let mut columns = Vec::new();
    for &element in records.elements() {
        let mut pieces = Vec::new();
        let mut left = rows;
        while left > 0 {
            let count = left.min(u64::from(lanes)) as u32;
            pieces.push(tracer.constant(element, phineus_bytecode::Lane::ZERO).tile(count));
            left -= u64::from(count);
        }
        columns.push(pieces);
    }
    Records::from_pieces(tracer, lanes, records.elements(), columns)
}
