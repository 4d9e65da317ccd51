//! [`Delayed`]: sums of products of vectors and factors, which wait for others with the vectors.
//!
//! A matrix product, written as loops, comes as sums `a_1 b_1j + a_2 b_2j + ...` of the columns of
//! the first matrix with factors from a column of the second: one sum for each column `j`, term by
//! term. Each term for itself would be a product of a matrix of one column. So a sum stays a list
//! until something needs it; then all sums with the same vectors that somebody holds are recorded
//! together, in tiles that fit a value ([`tiles`]). On shares of which products open their operands
//! a tile of `m` by `k` by `n` opens `m k + k n` elements for `m k n` products.
//!
//! What is computed once stays so: a sum goes on from one that is recorded or that somebody holds
//! ([`SharedSum`]), takes products for which that holds as they are, and never copies more than one
//! term.
//!
//! Memory: at most [`TERMS_MAX`] terms wait; then all that somebody holds is recorded. Order: what
//! is recorded when depends on the program alone.

mod tiles;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use phineus_bytecode::{Lane, Sharing};

use crate::tracer::Tracer;
use crate::value::{Value, ValueOrigin};

use tiles::products;

/// Terms that wait, at some 200 bytes each.
const TERMS_MAX: usize = 1 << 16;

/// A sum of products of vectors and factors, and of other values.
pub(crate) struct Delayed {
    last: Rc<SumTerm>,
    rests: Option<Rc<OtherSummands>>,
    done: RecordedSum,
}

/// The value of a sum, once it is recorded.
type RecordedSum = Rc<RefCell<Option<Value>>>;

/// A value that was added to a sum, and those before it.
struct OtherSummands {
    before: Option<Rc<OtherSummands>>,
    value: Value,
}

/// A sum that others go on from, or take as a term: while somebody holds it, it is recorded for
/// itself, and what it holds is not computed again.
#[derive(Clone)]
struct SharedSum {
    sum: Weak<Delayed>,
    rests: Option<Rc<OtherSummands>>,
    done: RecordedSum,
}

/// The last term of a sum, and those before it.
struct SumTerm {
    before: Option<Rc<SumTerm>>,
    count: u32,
    /// Of all vectors, in order.
    key: u64,
    vector: Value,
    /// A lane of a value.
    factor: (Value, u32),
    /// The product that this term was, where it was added to a sum.
    product: Option<SharedSum>,
    /// The first sum that ends here.
    sum: OnceCell<SharedSum>,
}

impl Drop for SumTerm {
    /// One after the other: a long sum is more than a stack holds.
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(mut term) = next.and_then(Rc::into_inner) {
            next = term.before.take();
        }
    }
}

impl Drop for OtherSummands {
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(mut rest) = next.and_then(Rc::into_inner) {
            next = rest.before.take();
        }
    }
}

impl SharedSum {
    fn of(sum: &Rc<Delayed>) -> SharedSum {
        SharedSum { sum: Rc::downgrade(sum), rests: sum.rests.clone(), done: sum.done.clone() }
    }

    fn is_done(&self) -> bool {
        self.done.borrow().is_some()
    }
}

impl SumTerm {
    /// `before` with a term more.
    fn after(
        before: Option<Rc<SumTerm>>,
        vector: &Value,
        factor: (Value, u32),
        product: Option<SharedSum>,
    ) -> Rc<SumTerm> {
        let (count, key) = before.as_ref().map_or((0, 0), |term| (term.count, term.key));
        let name = match vector.place() {
            ValueOrigin::Named(name) => *name,
            _ => u64::MAX,
        };
        // To find sums that may have the same vectors; they are compared.
        let key = (key.rotate_left(5) ^ name).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (vector, sum) = (vector.clone(), OnceCell::new());
        Rc::new(SumTerm { before, count: count + 1, key, vector, factor, product, sum })
    }

    /// From the last to the first.
    fn all(&self) -> impl Iterator<Item = &SumTerm> {
        std::iter::successors(Some(self), |term| term.before.as_deref())
    }

    fn has_vectors_of(&self, other: &SumTerm) -> bool {
        self.count == other.count
            && self.all().zip(other.all()).all(|(a, b)| is_same(&a.vector, &b.vector))
    }
}

/// Whether both are the same value under the same name.
fn is_same(a: &Value, b: &Value) -> bool {
    let same = match (a.place(), b.place()) {
        (ValueOrigin::Named(a), ValueOrigin::Named(b)) => a == b,
        (ValueOrigin::Input(a), ValueOrigin::Input(b)) => Rc::ptr_eq(a, b),
        _ => false,
    };
    same && a.shape() == b.shape()
}

/// The sums that wait.
#[derive(Default)]
pub(crate) struct PendingSums {
    by_key: HashMap<u64, Vec<Weak<Delayed>>>,
    /// All delayed sums, in the order of their creation.
    all: Vec<Weak<Delayed>>,
}

impl Value {
    /// This vector times a lane of `factor`; it is recorded together with others, as one product of matrices.
    #[track_caller]
    pub fn delayed_product(&self, factor: &Value, lane: u32) -> Value {
        let open = |value: &Value| value.sharing() == Sharing::Any && value.public().is_none();
        if !open(self) || !open(factor) || self.width() != factor.width() {
            return self.mat_vec(&factor.lane_slice(lane, 1));
        }
        // A chain of delayed factors would be as long as the program.
        let (vector, factor) = (self.settled(), factor.settled());
        self.delayed(SumTerm::after(None, &vector, (factor, lane), None), None)
    }

    fn delayed(&self, last: Rc<SumTerm>, rests: Option<Rc<OtherSummands>>) -> Value {
        let key = last.key;
        let delayed = Rc::new(Delayed { last, rests, done: RecordedSum::default() });
        delayed.last.sum.get_or_init(|| SharedSum::of(&delayed));
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
            ValueOrigin::Delayed(delayed) => {
                let done = delayed.recorded(self.tracer());
                done.with_sign(self.element().is_signed())
            }
            _ => self.clone(),
        }
    }

    fn waits(&self) -> Option<&Rc<Delayed>> {
        match self.place() {
            ValueOrigin::Delayed(delayed) if delayed.done.borrow().is_none() => Some(delayed),
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
        let (last, before) = (own.last.clone(), own.rests.clone());
        let product = other.waits().filter(|more| more.last.count == 1 && more.rests.is_none());
        Some(match product {
            // One product more. What is longer would have to be copied.
            Some(more) if longer.lanes() == other.lanes() => {
                let SumTerm { vector, factor, .. } = &*more.last;
                let product = Some(SharedSum::of(more));
                longer.delayed(SumTerm::after(Some(last), vector, factor.clone(), product), before)
            }
            _ => {
                let value = other.settled().tile(longer.lanes());
                longer.delayed(last, Some(Rc::new(OtherSummands { before, value })))
            }
        })
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
        let alike = self.alike(tracer);
        if go_on(&alike) {
            drop(alike);
            // From the shortest to the longest of those that this one goes on from.
            for known in self.known().into_iter().rev() {
                known.record_alone(tracer);
            }
        }
        self.record_alone(tracer);
        self.done.borrow().clone().expect("it was just recorded")
    }

    /// The sums that wait and have the same vectors, this one among them.
    fn alike(self: &Rc<Delayed>, tracer: &Tracer) -> Vec<Rc<Delayed>> {
        let recording = tracer.recording.borrow();
        let known = recording.waiting.by_key.get(&self.last.key);
        let all = known.into_iter().flatten().filter_map(Weak::upgrade);
        let waits = |sum: &Rc<Delayed>| sum.done.borrow().is_none();
        let mut alike: Vec<Rc<Delayed>> =
            all.filter(|sum| waits(sum) && sum.last.has_vectors_of(&self.last)).collect();
        if alike.iter().all(|other| !Rc::ptr_eq(other, self)) {
            alike.push(self.clone());
        }
        alike
    }

    /// The sums that this one goes on from and that somebody holds, back to one that is recorded.
    fn known(&self) -> Vec<Rc<Delayed>> {
        let sums = self.last.all().filter_map(|term| term.sum.get());
        let until_done = sums.take_while(|known| !known.is_done());
        let held = until_done.filter_map(|known| known.sum.upgrade());
        held.filter(|known| !std::ptr::eq(&**known, self)).collect()
    }

    /// The terms that somebody holds as products, after what this sum goes on from.
    fn products(&self) -> Vec<Rc<Delayed>> {
        let terms = self.last.all().take_while(|term| !self.goes_on_from(term));
        let known = terms.filter_map(|term| term.product.as_ref());
        known.filter(|known| !known.is_done()).filter_map(|known| known.sum.upgrade()).collect()
    }

    /// Records this sum, and others that have the same vectors.
    fn record_alone(self: &Rc<Delayed>, tracer: &Tracer) {
        if self.done.borrow().is_some() {
            return;
        }
        let mut alike = self.alike(tracer);
        if go_on(&alike) {
            for product in alike.iter().flat_map(|sum| sum.products()) {
                product.record_alone(tracer);
            }
            alike.retain(|sum| Rc::ptr_eq(sum, self) || sum.known().is_empty());
        }
        let Some(own) = self.outline() else { return };
        let outlines = alike.iter().filter_map(|sum| Some((sum.done.clone(), sum.outline()?)));
        let group: Vec<_> = outlines.filter(|(_, outline)| outline.has_vectors_of(&own)).collect();
        record(&group);
        let mut recording = tracer.recording.borrow_mut();
        if let Some(waiting) = recording.waiting.by_key.get_mut(&self.last.key) {
            waiting.retain(|sum| sum.upgrade().is_some_and(|sum| sum.done.borrow().is_none()));
        }
    }

    /// Whether the sum up to `term` is recorded.
    fn goes_on_from(&self, term: &SumTerm) -> bool {
        term.sum.get().is_some_and(SharedSum::is_done)
    }

    /// Outline of the pending sum; `None` if it has been recorded.
    fn outline(&self) -> Option<Outline<'_>> {
        if self.done.borrow().is_some() {
            return None;
        }
        let known = self.last.all().find(|term| self.goes_on_from(term));
        let known = known.and_then(|term| term.sum.get());
        let until = known.and_then(|known| known.rests.as_ref());
        let rests = std::iter::successors(self.rests.as_ref(), |rest| rest.before.as_ref());
        let own_rests = rests.take_while(|rest| until.is_none_or(|until| !Rc::ptr_eq(rest, until)));
        let mut added: Vec<Value> = own_rests.map(|rest| rest.value.clone()).collect();
        added.extend(known.and_then(|known| known.done.borrow().clone()));
        let mut terms = Vec::new();
        for term in self.last.all().take_while(|term| !self.goes_on_from(term)) {
            match term.product.as_ref().and_then(|known| known.done.borrow().clone()) {
                Some(product) => added.push(product),
                None => terms.push(term),
            }
        }
        terms.reverse();
        added.reverse();
        Some(Outline { terms, added })
    }
}

/// Whether sums go on from what somebody holds, so that it is not computed again: if most of them
/// do. What only a few hold is mostly what a loop has left behind, of which nothing more will come.
fn go_on(alike: &[Rc<Delayed>]) -> bool {
    let holds = |sum: &&Rc<Delayed>| !sum.known().is_empty() || !sum.products().is_empty();
    2 * alike.iter().filter(holds).count() > alike.len()
}

/// Terms of a sum that have not been computed.
struct Outline<'a> {
    terms: Vec<&'a SumTerm>,
    added: Vec<Value>,
}

impl Outline<'_> {
    fn has_vectors_of(&self, other: &Outline<'_>) -> bool {
        self.terms.len() == other.terms.len()
            && self.terms.iter().zip(&other.terms).all(|(a, b)| is_same(&a.vector, &b.vector))
    }
}

/// Records sums with the same vectors.
fn record(group: &[(RecordedSum, Outline<'_>)]) {
    let products = products(group);
    for (index, (done, outline)) in group.iter().enumerate() {
        let product = products.get(index).cloned();
        let sum = Value::sum_of(product.into_iter().chain(outline.added.iter().cloned()));
        *done.borrow_mut() = Some(sum.expect("a sum has terms"));
    }
}
