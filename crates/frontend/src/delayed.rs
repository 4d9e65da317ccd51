//! [`Delayed`]: sums of products of vectors and factors, which wait for others with the vectors.
//!
//! A matrix product, written as loops, comes as sums `a_1 b_1j + a_2 b_2j + ...` of the columns of
//! the first matrix with factors from a column of the second: one sum for each column `j`, term by
//! term. Each term for itself would be a product of a matrix of one column. So a sum stays a list
//! until something needs it; then all sums with the same vectors that somebody holds are recorded
//! together, in tiles that fit a value ([`Tiles`]). On shares of which products open their operands
//! a tile of `m` by `k` by `n` opens `m k + k n` elements for `m k n` products.
//!
//! Memory: at most [`TERMS_MAX`] terms wait; then all that somebody holds is recorded. Order: what
//! is recorded when depends on the program alone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use phineus_bytecode::limits::VALUE_WIRES_MAX;
use phineus_bytecode::{Lane, Sharing};

use crate::tracer::Tracer;
use crate::value::{Place, Value};

/// Terms that wait, at some 200 bytes each.
const TERMS_MAX: usize = 1 << 16;

/// A sum of products of vectors and factors, and of something else.
pub(crate) struct Delayed {
    last: Rc<Term>,
    rest: Option<Value>,
    done: RefCell<Option<Value>>,
}

/// The last term of a sum, and those before it.
struct Term {
    before: Option<Rc<Term>>,
    count: u32,
    /// Of all vectors, in order.
    key: u64,
    vector: Value,
    /// A lane of a value.
    factor: (Value, u32),
}

impl Drop for Term {
    /// One after the other: a long sum is more than a stack holds.
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(mut term) = next.and_then(Rc::into_inner) {
            next = term.before.take();
        }
    }
}

impl Term {
    /// `before` with a term more.
    fn after(before: Option<Rc<Term>>, vector: &Value, factor: (Value, u32)) -> Rc<Term> {
        let (count, key) = before.as_ref().map_or((0, 0), |term| (term.count, term.key));
        let name = match vector.place() {
            Place::Named(name) => *name,
            _ => u64::MAX,
        };
        // To find sums that may have the same vectors; they are compared.
        let key = (key.rotate_left(5) ^ name).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Rc::new(Term { before, count: count + 1, key, vector: vector.clone(), factor })
    }

    /// From the last to the first.
    fn all(&self) -> impl Iterator<Item = &Term> {
        std::iter::successors(Some(self), |term| term.before.as_deref())
    }

    fn has_vectors_of(&self, other: &Term) -> bool {
        self.count == other.count
            && self.all().zip(other.all()).all(|(a, b)| is_same(&a.vector, &b.vector))
    }
}

/// Whether both are the same value under the same name.
fn is_same(a: &Value, b: &Value) -> bool {
    let same = match (a.place(), b.place()) {
        (Place::Named(a), Place::Named(b)) => a == b,
        (Place::Input(a), Place::Input(b)) => Rc::ptr_eq(a, b),
        _ => false,
    };
    same && a.shape() == b.shape()
}

/// The sums that wait.
#[derive(Default)]
pub(crate) struct Waiting {
    by_key: HashMap<u64, Vec<Weak<Delayed>>>,
    /// The same, in the order in which they were made.
    all: Vec<Weak<Delayed>>,
}

impl Value {
    /// This vector times a lane of `factor`; it is recorded together with others.
    #[cfg_attr(
        not(feature = "llvm"),
        expect(dead_code, reason = "C programs alone delay products")
    )]
    #[track_caller]
    pub(crate) fn delayed_product(&self, factor: &Value, lane: u32) -> Value {
        let open = |value: &Value| value.sharing() == Sharing::Any && value.public().is_none();
        if !open(self) || !open(factor) || self.width() != factor.width() {
            return self.mat_vec(&factor.lane_slice(lane, 1));
        }
        // A chain of delayed factors would be as long as the program.
        let (vector, factor) = (self.settled(), factor.settled());
        self.delayed(Term::after(None, &vector, (factor, lane)), None)
    }

    fn delayed(&self, last: Rc<Term>, rest: Option<Value>) -> Value {
        let key = last.key;
        let delayed = Rc::new(Delayed { last, rest, done: RefCell::new(None) });
        let is_full = {
            let waiting = &mut self.tracer().recording.borrow_mut().waiting;
            waiting.by_key.entry(key).or_default().push(Rc::downgrade(&delayed));
            waiting.all.push(Rc::downgrade(&delayed));
            waiting.all.len() >= TERMS_MAX
        };
        if is_full {
            self.tracer().settle();
        }
        Value::of_delayed(self, delayed)
    }

    /// As it is, or as it was recorded.
    pub(crate) fn settled(&self) -> Value {
        match self.place() {
            Place::Delayed(delayed) => {
                let done = delayed.recorded(self.tracer());
                done.with_sign(self.element().is_signed())
            }
            _ => self.clone(),
        }
    }

    fn waits(&self) -> Option<&Rc<Delayed>> {
        match self.place() {
            Place::Delayed(delayed) if delayed.done.borrow().is_none() => Some(delayed),
            _ => None,
        }
    }

    /// The sum with a value that waits, which waits too; `None` if none of both does.
    #[track_caller]
    pub(crate) fn delayed_sum(&self, other: &Value) -> Option<Value> {
        let (longer, other) = match (self.waits(), other.waits()) {
            (None, None) => return None,
            (Some(a), Some(b)) if a.last.count < b.last.count => (other, self),
            (Some(_), _) => (self, other),
            (None, Some(_)) => (other, self),
        };
        if longer.integer() != other.integer() || other.sharing() != Sharing::Any {
            return None;
        }
        if other.public() == Some(Lane::ZERO) {
            return Some(longer.clone());
        }
        if ![1, longer.lanes()].contains(&other.lanes()) {
            return None;
        }
        let own = longer.waits().expect("it was just seen");
        let (mut last, mut rest) = (own.last.clone(), own.rest.clone());
        let more = match other.waits() {
            Some(more) if longer.lanes() == other.lanes() => {
                let mut terms: Vec<&Term> = more.last.all().collect();
                terms.reverse();
                for term in terms {
                    last = Term::after(Some(last), &term.vector, term.factor.clone());
                }
                more.rest.clone()
            }
            _ => Some(other.settled().tile(longer.lanes())),
        };
        rest = match (rest, more) {
            (Some(rest), Some(more)) => Some(rest.add(&more)),
            (rest, more) => rest.or(more),
        };
        Some(longer.delayed(last, rest))
    }
}

impl Tracer {
    /// Records what waits and is held: at the end of a block, others cannot use what is not there.
    pub(crate) fn settle(&self) {
        loop {
            let all = std::mem::take(&mut self.recording.borrow_mut().waiting.all);
            if all.is_empty() {
                break;
            }
            for delayed in all.iter().filter_map(Weak::upgrade) {
                delayed.recorded(self);
            }
        }
        self.recording.borrow_mut().waiting.by_key.clear();
    }
}

impl Delayed {
    fn recorded(self: &Rc<Delayed>, tracer: &Tracer) -> Value {
        if let Some(done) = &*self.done.borrow() {
            return done.clone();
        }
        let alike = {
            let waiting = &mut tracer.recording.borrow_mut().waiting;
            waiting.by_key.remove(&self.last.key).unwrap_or_default()
        };
        let mut group = Vec::new();
        for other in alike.iter().filter_map(Weak::upgrade) {
            let is_done = other.done.borrow().is_some();
            if !is_done && other.last.has_vectors_of(&self.last) {
                group.push(other);
            } else if !is_done {
                let waiting = &mut tracer.recording.borrow_mut().waiting;
                let kept = waiting.by_key.entry(self.last.key).or_default();
                kept.push(Rc::downgrade(&other));
            }
        }
        if group.iter().all(|other| !Rc::ptr_eq(other, self)) {
            group.push(self.clone());
        }
        record(&group);
        self.done.borrow().clone().expect("it was just recorded")
    }
}

/// How a product of matrices is cut into products that values hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tiles {
    rows: usize,
    columns: usize,
    vectors: usize,
}

impl Tiles {
    /// Those that open the fewest elements; of equals the ones with the most columns, and then
    /// rows, as each factor costs oblivious transfers in preprocessing. Sides are whole, or powers
    /// of two.
    fn new([rows, columns, vectors]: [usize; 3], most: usize) -> Tiles {
        let sides = (0..=most.ilog2()).map(|log| 1 << log).filter(|side| *side < vectors);
        let whole = (vectors <= most).then_some(vectors);
        let tiles = sides.chain(whole).map(|side| {
            let room = most / side;
            let own = if rows <= room { rows } else { 1 << room.ilog2() };
            let opened = rows * vectors.div_ceil(side) + vectors * rows.div_ceil(own);
            let columns = columns.min(most / own.max(side));
            (opened, Tiles { rows: own, columns, vectors: side })
        });
        let best = tiles.min_by_key(|(opened, tiles)| {
            (*opened, std::cmp::Reverse((tiles.columns, tiles.rows)))
        });
        best.expect("a value holds one element").1
    }
}

/// Records sums with the same vectors.
fn record(group: &[Rc<Delayed>]) {
    let first = &group[0].last;
    let mut vectors: Vec<&Value> = first.all().map(|term| &term.vector).collect();
    vectors.reverse();
    let factors: Vec<Vec<&(Value, u32)>> = group
        .iter()
        .map(|delayed| {
            let mut factors: Vec<_> = delayed.last.all().map(|term| &term.factor).collect();
            factors.reverse();
            factors
        })
        .collect();
    let rows = first.vector.lanes() as usize;
    let most = (VALUE_WIRES_MAX / u32::from(first.vector.width())) as usize;
    let tiles = Tiles::new([rows, vectors.len(), group.len()], most);
    let seconds: Vec<Vec<Value>> = (0..vectors.len())
        .step_by(tiles.columns)
        .map(|at| {
            let columns = at..vectors.len().min(at + tiles.columns);
            let of_each = factors.chunks(tiles.vectors);
            of_each.map(|part| second_tile(part, columns.clone())).collect()
        })
        .collect();
    let mut results: Vec<Vec<Value>> = vec![Vec::new(); group.len()];
    for row in (0..rows).step_by(tiles.rows) {
        let own = tiles.rows.min(rows - row) as u32;
        let firsts: Vec<Value> = vectors
            .chunks(tiles.columns)
            .map(|columns| {
                let cut = columns.iter().map(|column| column.lane_slice(row as u32, own));
                joined(cut.collect())
            })
            .collect();
        for (part, results) in results.chunks_mut(tiles.vectors).enumerate() {
            let count = results.len() as u32;
            let terms = firsts
                .iter()
                .zip(&seconds)
                .map(|(first, seconds)| first.mat_mul(&seconds[part], count));
            let sum = Value::sum_of(terms).expect("there are columns");
            for (results, at) in results.iter_mut().zip((0..).step_by(own as usize)) {
                results.push(sum.lane_slice(at, own));
            }
        }
    }
    for (delayed, parts) in group.iter().zip(results) {
        let product = joined(parts);
        let done = match &delayed.rest {
            Some(rest) => product.add(rest),
            None => product,
        };
        *delayed.done.borrow_mut() = Some(done);
    }
}

/// The factors of some sums for some columns, sum after sum.
fn second_tile(sums: &[Vec<&(Value, u32)>], columns: std::ops::Range<usize>) -> Value {
    let by_sum: Vec<&(Value, u32)> =
        sums.iter().flat_map(|factors| factors[columns.clone()].iter().copied()).collect();
    let by_column: Vec<&(Value, u32)> =
        columns.flat_map(|column| sums.iter().map(move |factors| factors[column])).collect();
    let (runs, other) = (runs(&by_sum), runs(&by_column));
    let turns = 2 * sums.len().ilog2() as usize;
    if !sums.len().is_power_of_two() || runs.len() <= other.len() + turns {
        return packed(&runs);
    }
    // The factors of a column lie together: one column after the other, and then turned.
    let mut tile = packed(&other);
    for _ in 0..sums.len().ilog2() {
        let (even, odd) = tile.deinterleave(1);
        tile = even.lane_concat(&odd);
    }
    tile
}

/// Lanes that lie together in a value: from where on, and how many.
type Run<'a> = (&'a Value, u32, u32);

fn runs<'a>(lanes: &[&'a (Value, u32)]) -> Vec<Run<'a>> {
    let mut runs: Vec<Run<'a>> = Vec::new();
    for (value, lane) in lanes {
        match runs.last_mut() {
            Some((known, start, count)) if is_same(known, value) && *start + *count == *lane => {
                *count += 1;
            }
            _ => runs.push((value, *lane, 1)),
        }
    }
    runs
}

fn packed(runs: &[Run<'_>]) -> Value {
    joined(runs.iter().map(|(value, start, count)| value.lane_slice(*start, *count)).collect())
}

/// One value behind the other.
fn joined(mut parts: Vec<Value>) -> Value {
    while parts.len() > 1 {
        let pairs = parts.chunks(2).map(|pair| match pair {
            [low, high] => low.lane_concat(high),
            _ => pair[0].clone(),
        });
        parts = pairs.collect();
    }
    parts.pop().expect("there are lanes")
}

#[cfg(test)]
mod tests;
