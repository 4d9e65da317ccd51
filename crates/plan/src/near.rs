//! Inputs near their first uses, outputs near the definitions of their values.
//!
//! An input states its port, column and row, an output likewise, a load or store its slot, so they
//! may stand anywhere between definition and use; but a value that waits takes memory. Programs
//! read whole tables first and give results out last, so planning moves both:
//! * read backwards, an output is *held*; those of a value come right behind its definition;
//! * then, read forwards, an input is held; it comes right before its first use.
//!
//! Tables are joined into records first and taken apart again last, without gates. So movements
//! (see [`Op::is_movement`]) are held as well, in one *bundle* with what is held already: one whose
//! results only held instructions use, and one whose operands are held and have no other use.
//!
//! Where [`HELD_MAX`] are held already, the bundle that would come next is given back at once.
//!
//! Invariants: the order of all other instructions stays, so gates are numbered as before; the
//! result depends on the program alone, so it is the same at all parties.
//!
//! Time: an instruction is held once, in a list that joining makes longer; O(log h) each for the
//! heap and for sorting a bundle, with h held. Memory: 104 bytes for each that is held.

use std::collections::BinaryHeap;

use phineus_bytecode::{ElementType, Instruction, Op};

use crate::annotate::NextUses;
use crate::limits::HELD_MAX;

/// No place in the list of what is held.
const NONE: u32 = u32::MAX;

/// An instruction that is held, without what it has not.
struct HeldInstruction {
    /// Its number in the program.
    number: u64,
    /// Two immediates; the third or the second operand; the first operand; the first result.
    words: [u64; 5],
    lanes: u32,
    /// The next in the list of its bundle, or of free places; where it comes, when it is given.
    next: u32,
    /// The only one that uses its result, if that is in its bundle.
    user: u32,
    element: ElementType,
    op: Op,
}
const _: () = assert!(size_of::<HeldInstruction>() <= 72);

impl HeldInstruction {
    fn new(number: u64, instruction: &Instruction) -> HeldInstruction {
        let &Instruction { op, element, lanes, operands, results, immediates, .. } = instruction;
        let third = if op.is_movement() { operands[1] } else { immediates[2] };
        let words = [immediates[0], immediates[1], third, operands[0], results[0]];
        HeldInstruction { number, words, lanes, next: NONE, user: NONE, element, op }
    }

    fn instruction(&self) -> Instruction {
        let mut instruction = Instruction::new(self.op, self.element, self.lanes);
        let [first, second, third, operand, result] = self.words;
        instruction.immediates[..2].copy_from_slice(&[first, second]);
        match self.op.is_movement() {
            true => instruction.operands[1] = third,
            false => instruction.immediates[2] = third,
        }
        instruction.operands[0] = operand;
        instruction.results[0] = result;
        if instruction.result_count() == 2 {
            // Results are named by counting.
            instruction.results[1] = result + 1;
        }
        instruction
    }
}

/// Instructions that come together.
struct HeldBundle {
    /// Which comes next: the largest.
    key: (u64, u64),
    /// Of the values that it uses, the one that is defined first.
    lowest: u64,
    /// Where the list of its instructions begins, with the one that joined last, and ends.
    head: u32,
    tail: u32,
}
const _: () = assert!(size_of::<HeldBundle>() <= 32);

impl PartialEq for HeldBundle {
    fn eq(&self, other: &HeldBundle) -> bool {
        self.key == other.key
    }
}

impl Eq for HeldBundle {}

impl PartialOrd for HeldBundle {
    fn partial_cmp(&self, other: &HeldBundle) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for HeldBundle {
    fn cmp(&self, other: &HeldBundle) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// Held bundles; the next one to be emitted is on top.
struct HeldBundles {
    held: Vec<HeldInstruction>,
    /// First of the places of `held` that are free.
    free: u32,
    count: usize,
    heap: BinaryHeap<HeldBundle>,
    /// The first half of the top's key, or 0.
    top: u64,
    /// Bundles that have been taken off the heap.
    taken: Vec<HeldBundle>,
    /// Where the instructions of those are, in the program's order.
    places: Vec<u32>,
}

impl HeldBundles {
    fn new() -> HeldBundles {
        HeldBundles {
            held: Vec::new(),
            free: NONE,
            count: 0,
            heap: BinaryHeap::new(),
            top: 0,
            taken: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Holds `instruction` in one bundle with those that were taken.
    fn hold(&mut self, key: (u64, u64), lowest: u64, number: u64, instruction: &Instruction) {
        let held = HeldInstruction::new(number, instruction);
        let place = self.free;
        let place = if place == NONE {
            if self.held.len() == self.held.capacity() {
                // Doubled, but never to more than is ever held.
                let most = HELD_MAX + 1 - self.held.len();
                self.held.reserve_exact(self.held.len().max(64).min(most));
            }
            self.held.push(held);
            self.held.len() as u32 - 1
        } else {
            self.free = std::mem::replace(&mut self.held[place as usize], held).next;
            place
        };
        let mut tail = place;
        for part in self.taken.drain(..) {
            self.held[part.head as usize].user = place;
            self.held[tail as usize].next = part.head;
            tail = part.tail;
        }
        self.count += 1;
        if self.heap.len() == self.heap.capacity() {
            let most = HELD_MAX + 1 - self.heap.len();
            self.heap.reserve_exact(self.heap.len().max(64).min(most));
        }
        self.heap.push(HeldBundle { key, lowest, head: place, tail });
        self.top = self.top.max(key.0);
    }

    /// Takes the bundle on top off the heap.
    fn take(&mut self) {
        self.taken.extend(self.heap.pop());
        self.top = self.heap.peek().map_or(0, |bundle| bundle.key.0);
    }

    /// Takes the bundle that comes next if there is one too many.
    fn take_if_too_many(&mut self) -> bool {
        let too_many = self.count > HELD_MAX;
        if too_many {
            self.take();
        }
        too_many
    }

    /// Where the instructions of what was taken are, in the program's order.
    fn places_taken(&mut self) {
        self.places.clear();
        for bundle in self.taken.drain(..) {
            let mut place = bundle.head;
            while place != NONE {
                self.places.push(place);
                place = self.held[place as usize].next;
            }
        }
        self.places.sort_unstable_by_key(|&place| self.held[place as usize].number);
        self.count -= self.places.len();
    }

    /// Gives up the places of what was taken.
    fn free_taken(&mut self) {
        for place in self.places.drain(..) {
            self.held[place as usize].next = std::mem::replace(&mut self.free, place);
        }
    }

    fn memory_bytes(&self) -> u64 {
        (self.heap.capacity() * size_of::<HeldBundle>()
            + self.held.capacity() * size_of::<HeldInstruction>()) as u64
    }
}

/// Outputs of a program that is read backwards, and movements between values and outputs.
pub(crate) struct HeldOutputs {
    hold: HeldBundles,
    /// How many instructions of the program have not been read.
    number: u64,
}

impl HeldOutputs {
    /// For a program of `instruction_count` instructions.
    pub(crate) fn new(instruction_count: u64) -> HeldOutputs {
        HeldOutputs { hold: HeldBundles::new(), number: instruction_count }
    }

    /// Reads `instruction`; says whether it is held. Appends to `given` what comes right behind it,
    /// or in its place if it is held, the last first. `is_used` says which values something uses
    /// that has been read and is not held.
    #[inline]
    pub(crate) fn read(
        &mut self,
        instruction: &Instruction,
        given: &mut Vec<Instruction>,
        is_used: impl Fn(u64) -> bool,
    ) -> bool {
        self.number -= 1;
        let results = instruction.results();
        let Some(&first) = results.first() else {
            return instruction.op.is_output_or_store() && self.hold(instruction, given);
        };
        if self.hold.top <= first {
            return false;
        }
        while self.hold.top > first {
            self.hold.take();
        }
        let only = |bundle: &HeldBundle| bundle.lowest >= first;
        let joins = instruction.op.is_movement()
            && self.hold.taken.iter().all(only)
            && !results.iter().any(|&result| is_used(result));
        if joins {
            return self.hold(instruction, given);
        }
        self.give(given);
        false
    }

    fn hold(&mut self, instruction: &Instruction, given: &mut Vec<Instruction>) -> bool {
        let operands = instruction.operands();
        let lowest = operands.iter().copied().min().expect("what is held uses a value");
        let highest = operands.iter().copied().max().expect("what is held uses a value");
        // Values are named in the order of definition; of one value's bundles the last comes first.
        self.hold.hold((highest + 1, self.number), lowest, self.number, instruction);
        if self.hold.take_if_too_many() {
            self.give(given);
        }
        true
    }

    fn give(&mut self, given: &mut Vec<Instruction>) {
        self.hold.places_taken();
        let held = self.hold.places.iter().rev().map(|&place| &self.hold.held[place as usize]);
        given.extend(held.map(HeldInstruction::instruction));
        self.hold.free_taken();
    }

    /// Whether none is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.hold.heap.is_empty()
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.hold.memory_bytes()
    }
}

/// An instruction that comes at a point in time, and its next uses.
pub(crate) type Timed = (u64, Instruction, NextUses);

/// Inputs of a program that is read forwards, and movements between inputs and first uses.
pub(crate) struct HeldInputs {
    hold: HeldBundles,
}

impl HeldInputs {
    pub(crate) fn new() -> HeldInputs {
        HeldInputs { hold: HeldBundles::new() }
    }

    /// Reads `instruction`, number `index`; says whether it is held. Appends to `given` what comes
    /// right before it, or in its place if it is held.
    ///
    /// Space exists for all instructions up to `index`, because they have been read before.
    #[inline]
    pub(crate) fn read(
        &mut self,
        index: u64,
        instruction: &Instruction,
        uses: &NextUses,
        given: &mut Vec<Timed>,
    ) -> bool {
        let is_input = instruction.op.is_input_or_load();
        if self.hold.top < !index && !is_input {
            return false;
        }
        while self.hold.top >= !index {
            self.hold.take();
        }
        let distance = uses.results[0];
        let joins = distance > 0 && (is_input || self.all_taken_are_for(instruction, uses));
        if !joins {
            self.give(index, index, given);
            return false;
        }
        // Of those that are used first by one instruction, the first comes first.
        let key = (!(index + distance), !index);
        self.hold.hold(key, 0, index, instruction);
        if self.hold.count > HELD_MAX {
            let first_use = !self.hold.top;
            self.hold.take();
            self.give(index + 1, first_use, given);
        }
        true
    }

    /// Whether `instruction` is a movement that has all its operands from the bundles that were
    /// taken, and they are for nothing else.
    fn all_taken_are_for(&self, instruction: &Instruction, uses: &NextUses) -> bool {
        let operands = instruction.operands();
        let distinct = (0..operands.len()).filter(|&k| !operands[..k].contains(&operands[k]));
        instruction.op.is_movement()
            && instruction.result_count() == 1
            && uses.operands[..operands.len()].iter().all(|&distance| distance == 0)
            && distinct.count() == self.hold.taken.len()
    }

    /// Gives what was taken, before time `before`; its results are used at `first_use`.
    fn give(&mut self, before: u64, first_use: u64, given: &mut Vec<Timed>) {
        self.hold.places_taken();
        let HeldBundles { held, places, .. } = &mut self.hold;
        let first = before - places.len() as u64;
        for (at, &place) in (0..).zip(places.iter()) {
            held[place as usize].next = at;
        }
        for (time, &place) in (first..).zip(places.iter()) {
            let node = &held[place as usize];
            let used_at = match node.user {
                NONE => first_use,
                user => first + u64::from(held[user as usize].next),
            };
            given.push((time, node.instruction(), NextUses::of_result(used_at - time)));
        }
        self.hold.free_taken();
    }

    /// Whether none is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.hold.heap.is_empty()
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.hold.memory_bytes()
    }
}
