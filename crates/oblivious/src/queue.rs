//! [`Queue`]: first in, first out, where it is secret whether an item enters or leaves.
//!
//! Source: Zahur, Evans, "Circuit Structures for Improving Efficiency of Security and Privacy Tools", IEEE S&P 2013.
//! Level `l` has 6 slots of `2^l` items. Slots 0 to 2 are the front, slots 3 to 5 the back, and what lies between them
//! is in the next level, two slots in one. At every second push, two full slots of the back go to the next level; at
//! every second pop, an emptied front gets two slots from there, or from the back if nothing is there. So level `l`
//! does something at every `2^l`-th operation, and which operations these are is public.
//!
//! Cost in ANDs, of items of `b` bits and `k` levels, which hold `2^(k + 1) - 1` items: some `6 k b` to push and
//! `5.5 k b` to pop, amortised.
//!
//! Deviation: the implementations that we know count in binary and let a level refuse items that its child does not take.
//! Here positions are one-hot, so moving them by two takes no ANDs, and capacities are such that no level is ever full
//! (see [`Level`]).

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{LoopState, Tracer, Value, lanes_for};

/// Slots of a level.
const SLOTS: usize = 6;
/// Slots of a level in front of its child.
const FRONT: usize = 3;

/// A queue of items of some columns.
#[derive(Clone)]
pub struct Queue {
    top: Level,
    elements: Vec<ElementType>,
    capacity: u64,
    /// Pushes so far, whether or not an item entered.
    pushes: u64,
    length: Value,
}

impl Queue {
    /// An empty queue of items of these types, `capacity` of them at most.
    #[track_caller]
    pub fn new(tracer: &Tracer, elements: &[ElementType], capacity: u64) -> Queue {
        let width = (u64::BITS - capacity.leading_zeros()).max(1) as u16;
        Queue {
            top: Level::new(tracer, elements, capacity, 1),
            elements: elements.to_vec(),
            capacity,
            pushes: 0,
            length: tracer.constant(ElementType::unsigned(width), Lane::ZERO),
        }
    }

    /// The most items.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How many items there are.
    pub fn length(&self) -> &Value {
        &self.length
    }

    /// After so many pushes and pops, levels move their slots as they did before: as a [`LoopState`], a queue is pushed to
    /// and popped from a multiple of this in each iteration.
    pub fn period(&self) -> u64 {
        1 << self.top.depth()
    }

    /// Appends `item` if `condition`, a bit, is 1; returns whether it did: a full queue takes nothing.
    #[track_caller]
    pub fn push(&mut self, condition: &Value, item: &[Value]) -> Value {
        let found: Vec<ElementType> = item.iter().map(Value::integer).collect();
        if found != self.elements || item.iter().any(|cell| cell.lanes() != 1) {
            let wanted: Vec<String> = self.elements.iter().map(ElementType::to_string).collect();
            let wanted = wanted.join(", ");
            self.length.tracer().fault(format!("items of this queue are one lane of {wanted}"));
            return self.length.tracer().constant(ElementType::BIT, Lane::ZERO);
        }
        let taken = match self.pushes < self.capacity {
            true => condition.clone(),
            false => {
                let full = Lane::from(self.capacity);
                let full = self.length.tracer().constant(self.length.integer(), full);
                condition.and(&self.length.ne(&full))
            }
        };
        self.pushes += 1;
        self.length = self.length.add(&taken.cast(self.length.integer()));
        self.top.push(&taken, &item.iter().map(|cell| vec![cell.clone()]).collect::<Slot>());
        taken
    }

    /// Removes the first item if `condition`, a bit, is 1; returns whether it did, and the item.
    ///
    /// If it did not, because there is none or `condition` is 0, the item is zeros.
    #[track_caller]
    pub fn pop(&mut self, condition: &Value) -> (Value, Vec<Value>) {
        let (taken, slot) = self.top.pop(condition);
        self.length = self.length.sub(&taken.cast(self.length.integer()));
        let cells = slot.into_iter().flatten().collect();
        (taken, cells)
    }
}

impl LoopState for Queue {
    fn values(&self, values: &mut Vec<Value>) {
        values.push(self.length.clone());
        self.top.values(values);
    }

    fn rebuilt(&self, values: &mut dyn Iterator<Item = Value>) -> Queue {
        Queue {
            length: self.length.rebuilt(values),
            top: self.top.rebuilt(values),
            elements: self.elements.clone(),
            capacity: self.capacity,
            // In another iteration it may be full.
            pushes: self.capacity,
        }
    }

    fn is_like(&self, other: &Queue) -> bool {
        self.top.is_like(&other.top)
    }
}

/// The items of a slot: by column, in chunks of equal lanes.
type Slot = Vec<Vec<Value>>;

/// Slots of equal size, and those between the front and the back in a child.
///
/// Invariants: with `head` and `tail` the numbers that are 1, `head <= tail`; the items are those of the slots `head`
/// to `min(tail, 3)`, then the child's, then those of the slots 3 to `tail`; and if `tail < 3`, the child is empty.
///
/// A child is made for `c` slots of its own where its parent is made for `2c + 1`, and a level without child for 3.
/// Two slots go to the child when both are full, so the child then has at most `(2c + 1 - 2) / 2`, which is less than
/// `c`. In a level without child the head is at most 3, and so the tail at most 6.
#[derive(Clone)]
struct Level {
    slots: Vec<Slot>,
    /// One bit for each position: 0 to 3, and 0 to 6.
    head: Vec<Value>,
    tail: Vec<Value>,
    is_second_push: bool,
    is_second_pop: bool,
    child: Option<Box<Level>>,
}

impl Level {
    /// For `capacity` slots of `items` items.
    #[track_caller]
    fn new(tracer: &Tracer, elements: &[ElementType], capacity: u64, items: u64) -> Level {
        let zeros = |element: &ElementType| {
            let lanes = items.min(u64::from(lanes_for(element.width())));
            let zeros = tracer.constant(*element, Lane::ZERO).tile(lanes as u32);
            vec![zeros; (items / lanes) as usize]
        };
        let slot: Slot = elements.iter().map(zeros).collect();
        let first = |positions: usize| {
            let bit = |position: usize| {
                tracer.constant(ElementType::BIT, Lane::from(u8::from(position == 0)))
            };
            (0..positions).map(bit).collect()
        };
        let child = (capacity > FRONT as u64).then_some(capacity / 2);
        let child = child.map(|capacity| Level::new(tracer, elements, capacity, 2 * items));
        Level {
            slots: vec![slot; SLOTS],
            head: first(FRONT + 1),
            tail: first(SLOTS + 1),
            is_second_push: false,
            is_second_pop: false,
            child: child.map(Box::new),
        }
    }

    /// How many levels there are from this one on.
    fn depth(&self) -> u32 {
        1 + self.child.as_ref().map_or(0, |child| child.depth())
    }

    fn values(&self, values: &mut Vec<Value>) {
        values.extend(self.slots.iter().flatten().flatten().cloned());
        values.extend(self.head.iter().chain(&self.tail).cloned());
        if let Some(child) = &self.child {
            child.values(values);
        }
    }

    /// Whether the next push and the next pop move slots as they do in `other`.
    fn is_like(&self, other: &Level) -> bool {
        let flags = |level: &Level| (level.is_second_push, level.is_second_pop);
        let children = self.child.iter().zip(&other.child);
        flags(self) == flags(other) && children.into_iter().all(|(a, b)| a.is_like(b))
    }

    fn rebuilt(&self, values: &mut dyn Iterator<Item = Value>) -> Level {
        let mut level = self.clone();
        let cells = level.slots.iter_mut().flatten().flatten();
        for value in cells.chain(&mut level.head).chain(&mut level.tail) {
            *value = value.rebuilt(values);
        }
        level.child = self.child.as_ref().map(|child| Box::new(child.rebuilt(values)));
        level
    }

    #[track_caller]
    fn push(&mut self, condition: &Value, item: &Slot) {
        let mut places = SLOTS;
        if !self.is_second_push && self.child.is_some() {
            self.flush();
            places = SLOTS - 1;
        }
        self.is_second_push = !self.is_second_push;
        let here: Vec<Value> = self.tail[..places].iter().map(|tail| tail.and(condition)).collect();
        for (slot, here) in self.slots.iter_mut().zip(&here) {
            *slot = selected(here, item, slot);
        }
        advance(&mut self.tail, &here);
    }

    /// Moves two slots of the back to the child, if they are full.
    #[track_caller]
    fn flush(&mut self) {
        let Some(child) = &mut self.child else { return };
        let is_full = self.tail[5].xor(&self.tail[6]);
        child.push(&is_full, &joined(&self.slots[3], &self.slots[4]));
        self.slots[3] = selected(&is_full, &self.slots[5], &self.slots[3]);
        back_by_two(&mut self.tail, 5);
    }

    #[track_caller]
    fn pop(&mut self, condition: &Value) -> (Value, Slot) {
        let mut places = FRONT;
        if !self.is_second_pop {
            self.refill();
            places = FRONT - 1;
        }
        self.is_second_pop = !self.is_second_pop;
        let both = self.head.iter().zip(&self.tail).map(|(head, tail)| head.and(tail));
        let is_empty = both.reduce(|any, both| any.xor(&both)).expect("there are positions");
        let taken = condition.and(&is_empty.not());
        let here: Vec<Value> = self.head[..places].iter().map(|head| head.and(&taken)).collect();
        let slots = self.slots.iter().zip(&here).map(|(slot, here)| masked(here, slot));
        let item = slots.reduce(|sum, slot| xor(&sum, &slot)).expect("there are slots");
        advance(&mut self.head, &here);
        (taken, item)
    }

    /// Moves two slots to the front if two are empty there: of the child, or of the back.
    #[track_caller]
    fn refill(&mut self) {
        let is_low = self.head[2].xor(&self.head[3]);
        back_by_two(&mut self.head, 2);
        let child = self.child.as_mut().map(|child| child.pop(&is_low));
        let (is_shifted, pair) = match child {
            Some((taken, pair)) => (is_low.xor(&taken), Some(split(&pair))),
            None => (is_low.clone(), None),
        };
        self.slots[0] = selected(&is_low, &self.slots[2], &self.slots[0]);
        // The child's slots are zeros if it has none.
        for (place, at) in [(1, 0), (2, 1)] {
            let next = &self.slots[place + 2];
            self.slots[place] = match &pair {
                Some(pair) => {
                    let next = xor(&pair[at], &masked(&is_shifted, next));
                    selected(&is_low, &next, &self.slots[place])
                }
                None => selected(&is_low, next, &self.slots[place]),
            };
        }
        self.slots[3] = selected(&is_shifted, &self.slots[5], &self.slots[3]);
        // Where slots are shifted, the tail is not before the head, which was 2 or 3.
        let moved: Vec<Value> = self.tail[2..].iter().map(|tail| tail.and(&is_shifted)).collect();
        for (place, moved) in moved.iter().enumerate() {
            self.tail[place + 2] = self.tail[place + 2].xor(moved);
            self.tail[place] = self.tail[place].xor(moved);
        }
    }
}

/// Moves a position on by one where it is in `here`.
#[track_caller]
fn advance(positions: &mut [Value], here: &[Value]) {
    for (place, here) in here.iter().enumerate() {
        positions[place] = positions[place].xor(here);
        positions[place + 1] = positions[place + 1].xor(here);
    }
}

/// Moves a position from `from` or `from + 1`, the last ones, back by two.
#[track_caller]
fn back_by_two(positions: &mut [Value], from: usize) {
    for place in [from, from + 1] {
        positions[place - 2] = positions[place - 2].xor(&positions[place]);
        positions[place] = positions[place].tracer().constant(ElementType::BIT, Lane::ZERO);
    }
}

#[track_caller]
fn combined(a: &Slot, b: &Slot, function: impl Fn(&Value, &Value) -> Value) -> Slot {
    let columns = a.iter().zip(b);
    columns.map(|(a, b)| a.iter().zip(b).map(|(a, b)| function(a, b)).collect()).collect()
}

#[track_caller]
fn xor(a: &Slot, b: &Slot) -> Slot {
    combined(a, b, |a, b| a.xor(b))
}

#[track_caller]
fn selected(bit: &Value, when_one: &Slot, when_zero: &Slot) -> Slot {
    combined(when_one, when_zero, |one, zero| bit.select(one, zero))
}

#[track_caller]
fn masked(bit: &Value, slot: &Slot) -> Slot {
    slot.iter().map(|chunks| chunks.iter().map(|chunk| bit.mask(chunk)).collect()).collect()
}

/// A slot of the items of two.
#[track_caller]
fn joined(first: &Slot, second: &Slot) -> Slot {
    let columns = first.iter().zip(second).map(|(first, second)| match (&first[..], &second[..]) {
        ([a], [b]) if 2 * a.lanes() <= lanes_for(a.width()) => vec![a.lane_concat(b)],
        (first, second) => [first, second].concat(),
    });
    columns.collect()
}

/// The two slots of [`joined`].
#[track_caller]
fn split(slot: &Slot) -> [Slot; 2] {
    [0, 1].map(|half: usize| {
        let columns = slot.iter().map(|chunks| match &chunks[..] {
            [chunk] => {
                let lanes = chunk.lanes() / 2;
                vec![chunk.lane_slice(half as u32 * lanes, lanes)]
            }
            chunks => {
                let count = chunks.len() / 2;
                chunks[half * count..(half + 1) * count].to_vec()
            }
        });
        columns.collect()
    })
}

#[cfg(test)]
mod tests;
