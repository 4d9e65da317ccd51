//! Compaction: the kept rows first, in their order; `n log2(n) / 2` exchanges.
//!
//! Sasy, Johnson, Goldberg, "Fast Fully Oblivious Compaction and Shuffling", CCS 2022 (ePrint
//! 2022/1333): ORCompact divides `n` into a rest and a power of two, OROffCompact compacts the
//! power of two cyclically to a secret offset, by halves. Its exchange of row `i` of the left
//! half, of `m` rows, with row `i` of the right half reduces to bits of one number: let `q` be
//! the offset plus the kept rows of the left half, modulo `2 m`; then it is
//! `(q >= m) xor (i >= q mod m)`. (The paper's `s` compares `z mod m + kept` with `m` and `z` with
//! `m`; the first says whether bit `log2 m` changes from `z` to `q`, so the two give that bit of
//! `q`.) For `m = 1` two rows that are both dropped may be exchanged, which nobody sees.
//!
//! The bits `i >= q mod m` of all `i` come by doubling: with the highest bit `h` and the bits `t`
//! of the rest, `t and not h` for the lower half and `t or not h` for the upper, which share their
//! AND. So a level costs `m w` ANDs for the exchange of `w` bits and fewer than `m` for the bits.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{Bit, Element, Records, Value, Vector};

use crate::lanes::{blocks, lane_count};
use crate::network::{Rows, swap};

/// Moves the rows whose bit is 1 to the front, in their order, and counts them.
///
/// The other rows follow in any order. The count has as many bits as the number of rows.
#[track_caller]
pub fn compact(records: Records, keep: &Vector<Bit>) -> (Records, Value) {
    let (rows, given) = (records.rows(), keep.len());
    if rows == 0 && given == 0 {
        let count = records.tracer().constant(ElementType::BIT, Lane::ZERO);
        return (records, count);
    }
    if rows != given {
        let what = format!("compact needs a bit for each of {rows} rows, got {given}");
        records.tracer().fault(what);
        let count = records.tracer().constant(ElementType::BIT, Lane::ZERO);
        return (records, count);
    }
    // The bits move with their rows' chunks, so they are cut alike; they are not exchanged.
    let keep = Records::from_vector(keep.rechunked(records.chunk_lanes()));
    let (result, count) = front(records, &keep);
    let width = bits_for(rows);
    (result, count.cast(ElementType::unsigned(width)))
}

/// Bits of the numbers up to `most`.
fn bits_for(most: u64) -> u16 {
    (64 - most.leading_zeros()) as u16
}

/// ORCompact.
#[track_caller]
fn front(records: Records, keep: &Records) -> (Records, Value) {
    let rows = records.rows();
    let power = 1 << rows.ilog2();
    let rest = rows - power;
    if rest == 0 {
        let zero = records.tracer().constant(ElementType::unsigned(bits_for(rows)), Lane::ZERO);
        return to_offset(records, keep, &zero);
    }
    let (left, right) = (records.slice(0, rest), records.slice(rest, power));
    let (keep_left, keep_right) = (keep.slice(0, rest), keep.slice(rest, power));
    let (left, count_left) = front(left, &keep_left);
    // The right part's kept rows begin where the left part's end, seen from `rest` rows before
    // the right part's end, where the left part's rows will be exchanged to.
    let element = ElementType::unsigned(bits_for(power));
    let start = left.tracer().constant(element, Lane::from(power - rest));
    let offset = count_left.cast(element).add(&start);
    let (right, count_right) = to_offset(right, &keep_right, &offset);
    let (rest_right, partner) = (right.slice(0, power - rest), right.slice(power - rest, rest));
    let beyond = at_least(&count_left, rest);
    let (mut first, mut second) = (left, partner);
    let mut row = 0;
    for chunk in 0..first.chunk_count() {
        let lanes = first.chunk(chunk)[0].lanes();
        let select = part_of(&beyond, row, lanes);
        let (a, b) = swap(&select, &first.chunk(chunk), &second.chunk(chunk));
        first.set_chunk(chunk, a);
        second.set_chunk(chunk, b);
        row += u64::from(lanes);
    }
    let total = ElementType::unsigned(bits_for(rows));
    let count = count_left.cast(total).add(&count_right.cast(total));
    (first.concat(rest_right).concat(second), count)
}

/// The bits `i >= number` for `i < length`, in pieces of any lanes.
#[track_caller]
fn at_least(number: &Value, length: u64) -> Vector<Bit> {
    let bits = bits_for(length - 1).max(1);
    let all = thermometer(&number.cast(ElementType::unsigned(bits)));
    // A number with more bits than any `i` is larger than all of them.
    let too_large = (number.width() > bits)
        .then(|| number.bit_slice(bits, number.width() - bits).any_bit().not());
    let pieces = all.into_iter().map(|piece| match &too_large {
        Some(fits) => Bit::from_value(piece.and(fits)),
        None => Bit::from_value(piece),
    });
    Vector::from_pieces(number.tracer(), pieces).slice(0, length)
}

/// The lanes from `start` on of a vector, as one value.
#[track_caller]
fn part_of(bits: &Vector<Bit>, start: u64, lanes: u32) -> Value {
    let part = bits.slice(start, u64::from(lanes));
    part.chunks()[0].clone()
}

/// The bits `i >= number` for all `i` below two to the number's width, 4096 at a time.
#[track_caller]
fn thermometer(number: &Value) -> Vec<Value> {
    let one = Bit::constant(number.tracer(), true).value().clone();
    let mut pieces = vec![one];
    for index in 0..number.width() {
        let low = number.bit_slice(index, 1).not();
        let both: Vec<(Value, Value)> = pieces
            .iter()
            .map(|piece| {
                let lower = piece.and(&low);
                let upper = piece.xor(&low).xor(&lower);
                (lower, upper)
            })
            .collect();
        pieces = if both.len() == 1 && both[0].0.lanes() < 4096 {
            vec![both[0].0.lane_concat(&both[0].1)]
        } else {
            let (lower, upper): (Vec<Value>, Vec<Value>) = both.into_iter().unzip();
            lower.into_iter().chain(upper).collect()
        };
    }
    pieces
}

/// OROffCompact of a power of two of rows: kept rows stand cyclically from `offset` on.
///
/// `offset` counts modulo the number of rows.
#[track_caller]
fn to_offset(records: Records, keep: &Records, offset: &Value) -> (Records, Value) {
    let mut blocks = BlockCounts { counts: Vec::new(), records };
    let chunk_counts = (0..keep.chunk_count()).map(|chunk| ChunkCounts::of(&keep.chunk(chunk)[0]));
    let chunk_counts: Vec<ChunkCounts> = chunk_counts.collect();
    let mut level: Vec<Value> = chunk_counts.iter().map(ChunkCounts::total).collect();
    blocks.counts.push(level.clone());
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| sum(&pair[0], &pair[1])).collect();
        blocks.counts.push(level.clone());
    }
    let total = level[0].clone();
    blocks.levels(&chunk_counts, 0, keep.chunk_count(), offset);
    (blocks.records, total)
}

/// The sum of two numbers of one width, one bit wider.
#[track_caller]
fn sum(a: &Value, b: &Value) -> Value {
    let wide = ElementType::unsigned(a.width() + 1);
    a.cast(wide).add(&b.cast(wide))
}

/// The lowest `width` bits.
#[track_caller]
fn modulo(number: &Value, width: u16) -> Value {
    number.cast(ElementType::unsigned(width))
}

/// The rows of the power of two, and how many are kept in each block of chunks.
struct BlockCounts {
    /// For each level, the counts of blocks of 1, 2, 4, ... chunks.
    counts: Vec<Vec<Value>>,
    records: Records,
}

impl BlockCounts {
    /// Compacts the `count` chunks from `first` on to `offset`.
    #[track_caller]
    fn levels(&mut self, chunk_counts: &[ChunkCounts], first: usize, count: usize, offset: &Value) {
        if count == 1 {
            let rows = self.records.chunk(first);
            let rows = in_chunk(rows, &chunk_counts[first], offset);
            return self.records.set_chunk(first, rows);
        }
        let half = count / 2;
        let lanes = u64::from(self.records.chunk_lanes());
        let half_rows = half as u64 * lanes;
        let level = half.trailing_zeros() as usize;
        let middle = self.middle(level, first / half, half_rows, offset);
        // Offsets of a half count modulo its rows: one bit fewer, and at least one.
        let half_bits = half_rows.trailing_zeros() as u16;
        let (left, right) = (narrowed(offset, half_bits), narrowed(&middle, half_bits));
        self.levels(chunk_counts, first, half, &left);
        self.levels(chunk_counts, first + half, half, &right);
        self.exchange(first, half, &middle, half_bits);
    }

    /// The offset plus what the left half keeps, modulo twice its rows.
    #[track_caller]
    fn middle(&self, level: usize, block: usize, half_rows: u64, offset: &Value) -> Value {
        let width = half_rows.trailing_zeros() as u16 + 1;
        modulo(offset, width).add(&modulo(&self.counts[level][block], width))
    }

    /// Exchanges chunk `i` of the left half with chunk `i` of the right half where needed.
    #[track_caller]
    fn exchange(&mut self, first: usize, half: usize, middle: &Value, half_bits: u16) {
        let lanes = self.records.chunk_lanes();
        let lane_bits = lanes.trailing_zeros() as u16;
        let high = middle.bit_slice(half_bits, 1);
        let low = match lane_bits {
            0 => None,
            bits => Some(thermometer(&middle.bit_slice(0, bits)).remove(0)),
        };
        let chunk_bits = half_bits - lane_bits;
        let reached = match chunk_bits {
            0 => vec![Bit::constant(middle.tracer(), true).value().clone()],
            bits => one_lane_each(&thermometer(&middle.bit_slice(lane_bits, bits))),
        };
        let mut before = Bit::constant(middle.tracer(), false).value().clone();
        for (index, reached) in reached.iter().enumerate().take(half) {
            // Past the chunk of `middle` all rows are reached, in it those that `low` says.
            let here = reached.xor(&before);
            let rows_reached = match &low {
                Some(low) => here.tile(lanes).and(low).xor(&before.tile(lanes)),
                None => reached.clone(),
            };
            before = reached.clone();
            let select = rows_reached.xor(&high.tile(lanes));
            let (a, b) = (first + index, first + half + index);
            let (left, right) = swap(&select, &self.records.chunk(a), &self.records.chunk(b));
            self.records.set_chunk(a, left);
            self.records.set_chunk(b, right);
        }
    }
}

/// Each lane of each value by itself.
#[track_caller]
fn one_lane_each(values: &[Value]) -> Vec<Value> {
    let lanes = |value: &Value| -> Vec<Value> {
        (0..value.lanes()).map(|lane| value.lane_slice(lane, 1)).collect()
    };
    values.iter().flat_map(lanes).collect()
}

/// The lowest `bits` bits, or a 0 where none are left.
#[track_caller]
fn narrowed(number: &Value, bits: u16) -> Value {
    match bits {
        0 => number.tracer().constant(ElementType::BIT, Lane::ZERO),
        bits => modulo(number, bits),
    }
}

/// How many rows of a chunk are kept: in blocks of 1, 2, 4, ... rows, a block a lane.
struct ChunkCounts(Vec<Value>);

impl ChunkCounts {
    #[track_caller]
    fn of(keep: &Value) -> ChunkCounts {
        let mut levels = vec![keep.clone()];
        while let Some(level) = levels.last().filter(|level| level.lanes() > 1) {
            let (even, odd) = level.deinterleave(1);
            levels.push(sum(&even, &odd));
        }
        ChunkCounts(levels)
    }

    fn total(&self) -> Value {
        self.0.last().expect("there is a level").clone()
    }
}

/// OROffCompact of the rows of one chunk: all blocks of one size at once.
#[track_caller]
fn in_chunk(rows: Rows, counts: &ChunkCounts, offset: &Value) -> Rows {
    let lanes = lane_count(&rows);
    if lanes == 1 {
        return rows;
    }
    // Down: the middle of each block of 2 m rows, for m = lanes / 2, ..., 2, 1.
    let mut middles = Vec::new();
    let mut offsets = offset.clone();
    let mut half = lanes / 2;
    loop {
        let bits = half.trailing_zeros() as u16;
        let (left_counts, _) = counts.0[usize::from(bits)].deinterleave(1);
        let middle = modulo(&offsets, bits + 1).add(&modulo(&left_counts, bits + 1));
        middles.push(middle.clone());
        if half == 1 {
            break;
        }
        offsets = modulo(&offsets, bits).interleave(&modulo(&middle, bits), 1);
        half /= 2;
    }
    // Up: exchanges, the smallest blocks first.
    let mut rows = rows;
    for middle in middles.iter().rev() {
        let block_count = middle.lanes();
        let half = lanes / 2 / block_count;
        let select = selects(middle, half);
        rows = blocks(rows, half, |a, b| swap(&select, a, b));
    }
    rows
}

/// The exchange bits of all blocks: `half` lanes for each lane of `middle`.
#[track_caller]
fn selects(middle: &Value, half: u32) -> Value {
    let bits = half.trailing_zeros() as u16;
    let block_count = middle.lanes();
    let mut reached = Bit::constant(middle.tracer(), true).value().tile(block_count);
    for index in 0..bits {
        let width = 1 << index;
        let low = middle.bit_slice(index, 1).not().repeat(block_count * width);
        let lower = reached.and(&low);
        let upper = reached.xor(&low).xor(&lower);
        reached = lower.interleave(&upper, width);
    }
    let high = middle.bit_slice(bits, 1).repeat(block_count * half);
    reached.xor(&high)
}
