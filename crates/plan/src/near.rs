//! Inputs near their first uses, outputs near the definitions of their values.
//!
//! An input states its port, column and row, an output likewise, a load or store its slot, so they
//! may stand anywhere between definition and use; but a value that waits takes memory. Programs
//! read whole tables first and give results out last, so planning moves both:
//! * read backwards, an output is *held*; those of a value come right behind its definition;
//! * then, read forwards, an input is held; it comes right before its first use.
//!
//! Where [`HELD_MAX`] are held already, the one that would come next is given back at once.
//!
//! Invariants: the order of all other instructions stays, so gates are numbered as before; the
//! result depends on the program alone, so it is the same at all parties.
//!
//! Memory: 64 bytes for each that is held.

use std::collections::BinaryHeap;

use phineus_bytecode::{ElementType, Instruction, Op};

use crate::limits::HELD_MAX;

/// An instruction that is held, without what it has not.
struct Held {
    /// Which comes next: the largest.
    key: (u64, u64),
    /// Its operand or result.
    value: u64,
    immediates: [u64; 3],
    lanes: u32,
    element: ElementType,
    op: Op,
}
const _: () = assert!(size_of::<Held>() <= 64);

impl Held {
    fn instruction(&self) -> Instruction {
        let mut instruction = Instruction::new(self.op, self.element, self.lanes);
        instruction.immediates[..3].copy_from_slice(&self.immediates);
        match self.op.gives_out() {
            true => instruction.operands[0] = self.value,
            false => instruction.results[0] = self.value,
        }
        instruction
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        self.key == other.key
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Held) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Held) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// What is held, the next to come on top.
struct Hold {
    heap: BinaryHeap<Held>,
    /// The first half of the top's key, or 0.
    top: u64,
}

impl Hold {
    fn new() -> Hold {
        Hold { heap: BinaryHeap::new(), top: 0 }
    }

    /// Holds `instruction`; gives the top back if that is one too many.
    fn push(&mut self, key: (u64, u64), instruction: &Instruction) -> Option<Held> {
        let &Instruction { op, element, lanes, immediates: [port, column, row, _], .. } =
            instruction;
        let value = match op.gives_out() {
            true => instruction.operands[0],
            false => instruction.results[0],
        };
        let immediates = [port, column, row];
        self.heap.push(Held { key, value, immediates, lanes, element, op });
        self.top = self.top.max(key.0);
        if self.heap.len() > HELD_MAX { self.pop() } else { None }
    }

    fn pop(&mut self) -> Option<Held> {
        let held = self.heap.pop();
        self.top = self.heap.peek().map_or(0, |held| held.key.0);
        held
    }

    fn memory_bytes(&self) -> u64 {
        (self.heap.capacity() * size_of::<Held>()) as u64
    }
}

/// Outputs of a program that is read backwards.
pub(crate) struct Outputs {
    hold: Hold,
    seen: u64,
}

impl Outputs {
    pub(crate) fn new() -> Outputs {
        Outputs { hold: Hold::new(), seen: 0 }
    }

    /// Holds `output`; returns the one that stands in its place, if any.
    pub(crate) fn hold(&mut self, output: &Instruction) -> Option<Instruction> {
        // Values are named in the order of definition; of one value's outputs the last comes first.
        let key = (output.operands[0] + 1, u64::MAX - self.seen);
        self.seen += 1;
        self.hold.push(key, output).map(|held| held.instruction())
    }

    /// The next output of what `definition` defines, from the last to the first.
    #[inline]
    pub(crate) fn of(&mut self, definition: &Instruction) -> Option<Instruction> {
        let first = *definition.results().first()?;
        if self.hold.top <= first {
            return None;
        }
        self.hold.pop().map(|held| held.instruction())
    }

    /// Whether none is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.hold.heap.is_empty()
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.hold.memory_bytes()
    }
}

/// Inputs of a program that is read forwards, by the instructions that use them first.
pub(crate) struct Inputs {
    hold: Hold,
}

impl Inputs {
    pub(crate) fn new() -> Inputs {
        Inputs { hold: Hold::new() }
    }

    /// Holds `input`, instruction number `index`, until `first_use`; returns the one that stands in
    /// its place, if any, and that one's first use.
    pub(crate) fn hold(
        &mut self,
        index: u64,
        first_use: u64,
        input: &Instruction,
    ) -> Option<(Instruction, u64)> {
        let held = self.hold.push((!first_use, !index), input)?;
        Some((held.instruction(), !held.key.0))
    }

    /// The next input that instruction `index` uses first.
    #[inline]
    pub(crate) fn due(&mut self, index: u64) -> Option<Instruction> {
        if self.hold.top < !index {
            return None;
        }
        self.hold.pop().map(|held| held.instruction())
    }

    /// Whether none is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.hold.heap.is_empty()
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.hold.memory_bytes()
    }
}
