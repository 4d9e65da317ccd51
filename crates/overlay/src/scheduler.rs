//! [`Scheduler`]: list scheduling of operations on the cells, cycle by cycle (`schedule.rs` has the whole). What one
//! cycle does is in `scheduler/issuing.rs`.

mod issuing;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::OverlayError;
use crate::graph::{Graph, NONE, Unit};
use crate::memory::MemoryBound;
use crate::operations::{Kind, Operations};
use crate::parameters::{CHECK_INTERVAL, DRAIN_CYCLES, Parameters, SPILL_LATENCY};
use crate::ports::ReadPorts;
use crate::scheduled::{Figures, Schedule};
use crate::wire_memory::WireMemory;
use crate::word::{IDLE_MAX, Word, WordKind};

/// Cycles of the table of results that become readable; more than any latency.
const WHEEL: usize = 128;
const _: () = assert!((SPILL_LATENCY as usize) < WHEEL);

/// Operations of one unit that can issue, by priority, then by age.
type Ready = BinaryHeap<(u32, Reverse<u32>)>;

/// In place of a unit: the queue of XORs that wait for their ANDs.
const PAIRED: usize = Unit::COUNT;

/// The state of one cell in the cycle that is being scheduled.
struct Cell {
    /// Operations that can issue, by unit; XORs that wait for the AND that they are paired with are apart.
    ready: [Ready; Unit::COUNT + 1],
    memory: WireMemory,
    ports: ReadPorts,
    word: Word,
}

/// The part of the cell that reads the operands of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    And,
    X,
    Y,
    Z,
    Load,
    /// Takes the label that another cell loads.
    Shared,
}

pub(crate) struct Scheduler<'a> {
    parameters: Parameters,
    graph: Graph,
    window: usize,
    /// Every operation before this one has issued.
    head: usize,
    /// Operations from here on are outside the window.
    admitted: usize,
    issued: Vec<bool>,
    remaining: usize,
    cells: Vec<Cell>,
    /// Of each operation that loads an input, the next one that loads the same input, in a ring.
    same_input: HashMap<u32, u32>,
    /// Values that become readable, by cycle.
    wheel: [Vec<u32>; WHEEL],
    in_flight: usize,
    penalties: Vec<u32>,
    cycle: u64,
    /// Whether a label goes to the host in this cycle.
    has_output: bool,
    since_check: u64,
    /// Number of the stored label of each spill, by operation.
    stored: HashMap<u32, u32>,
    schedule: Schedule,
    bound: &'a MemoryBound,
    /// What others hold of it.
    pub(crate) others_bytes: u64,
}

impl<'a> Scheduler<'a> {
    pub(crate) fn new(
        operations: &Operations,
        (parameters, window): (Parameters, usize),
        bound: &'a MemoryBound,
    ) -> Scheduler<'a> {
        let graph = Graph::new(operations);
        let cells = (0..parameters.cells).map(|_| Cell {
            ready: Default::default(),
            memory: WireMemory::new(parameters),
            ports: ReadPorts::new(parameters),
            word: Word::default(),
        });
        let figures = Figures { window: window as u64, ..Figures::default() };
        Scheduler {
            parameters,
            issued: vec![false; graph.kinds.len()],
            remaining: graph.kinds.len(),
            graph,
            window,
            head: 0,
            admitted: 0,
            cells: cells.collect(),
            same_input: same_input(operations, parameters),
            wheel: std::array::from_fn(|_| Vec::new()),
            in_flight: 0,
            penalties: vec![0; 1 << parameters.bank_bits],
            cycle: 0,
            has_output: false,
            since_check: 0,
            stored: HashMap::new(),
            schedule: Schedule { figures, ..Schedule::default() },
            bound,
            others_bytes: 0,
        }
    }

    pub(crate) fn run(&mut self) -> Result<(), OverlayError> {
        while self.remaining > 0 {
            self.admit();
            self.cells.iter_mut().for_each(|cell| cell.memory.begin(self.cycle));
            self.wake();
            if self.since_check == CHECK_INTERVAL {
                self.check_memory()?;
                self.emit_all(Word { kind: WordKind::Check, ..Word::default() });
            } else if self.issue() {
                self.emit();
            } else if self.in_flight == 0 {
                let labels = self.parameters.labels();
                return Err(OverlayError::WireMemory { labels });
            } else {
                self.wait();
            }
        }
        Ok(())
    }

    /// Looks at the bound on memory.
    fn check_memory(&self) -> Result<(), OverlayError> {
        let words = (self.schedule.words.len() * size_of::<Word>()) as u64;
        self.bound.check(self.others_bytes + Graph::bytes(self.graph.kinds.len()) + words)
    }

    pub(crate) fn finish(mut self) -> Schedule {
        self.emit_all(Word { kind: WordKind::Last, ..Word::default() });
        let figures = &mut self.schedule.figures;
        figures.cycles = self.cycle + u64::from(DRAIN_CYCLES);
        figures.peak_labels = self.cells.iter().map(|cell| cell.memory.peak).sum();
        self.schedule
    }

    /// Emits the words of the cells, and clears them.
    fn emit(&mut self) {
        let lanes = self.cells.iter_mut().map(|cell| std::mem::take(&mut cell.word));
        self.schedule.words.extend(lanes);
        self.since_check += 1;
        self.cycle += 1;
    }

    /// Emits one word for all cells.
    fn emit_all(&mut self, word: Word) {
        self.cells.iter_mut().for_each(|cell| cell.word = word);
        self.emit();
        self.since_check = if word.kind == WordKind::Issue { self.since_check } else { 0 };
    }

    /// Lets a cycle pass: after the last word, or after an empty one.
    fn wait(&mut self) {
        match self.schedule.words.last() {
            Some(word) if word.kind == WordKind::Issue && word.idle < IDLE_MAX => {
                let lanes = self.schedule.words.iter_mut().rev().take(self.cells.len());
                lanes.for_each(|word| word.idle += 1);
                self.cycle += 1;
            }
            Some(_) | None => self.emit_all(Word::default()),
        }
    }

    /// Moves the window.
    fn admit(&mut self) {
        while self.issued.get(self.head) == Some(&true) {
            self.head += 1;
        }
        let end = (self.head + self.window).min(self.graph.program_length);
        while self.admitted < end {
            let operation = self.admitted as u32;
            self.admitted += 1;
            if self.graph.waiting[operation as usize] == 0 {
                self.make_ready(operation);
            }
        }
    }

    /// Makes the results readable whose latency has passed.
    fn wake(&mut self) {
        let slot = self.cycle as usize % WHEEL;
        let mut values = std::mem::take(&mut self.wheel[slot]);
        self.in_flight -= values.len();
        for value in values.drain(..) {
            if self.graph.uses[value as usize] == 0 {
                // A gate whose result nobody needs.
                self.free(value);
            }
            for place in self.graph.readers(value) {
                let reader = self.graph.reader(place);
                let waiting = &mut self.graph.waiting[reader as usize];
                *waiting -= 1;
                let is_copy = reader as usize >= self.graph.program_length;
                if *waiting == 0 && (is_copy || (reader as usize) < self.admitted) {
                    self.make_ready(reader);
                }
            }
        }
        self.wheel[slot] = values;
    }

    /// Queues an operation; if its operands are in too few banks, one is copied first.
    fn make_ready(&mut self, operation: u32) {
        let kind = self.graph.kinds[operation as usize];
        let unit = Unit::of(&kind);
        let cell = self.graph.issuer(operation);
        if matches!(unit, Unit::And) || self.graph.operand_count(&kind) > 2 {
            self.cells[cell].ports.clear();
            let is_possible = self.assign(&kind, (cell, Port::X));
            self.cells[cell].ports.clear();
            if !is_possible {
                self.copy_operand(operation);
                return;
            }
        }
        let entry = (self.graph.priorities[operation as usize], Reverse(operation));
        let partner = self.graph.partner(operation);
        let is_paired = unit == Unit::Xor && partner != NONE && !self.issued[partner as usize];
        let queue = if is_paired { PAIRED } else { unit as usize };
        self.cells[cell].ready[queue].push(entry);
    }

    /// Copies the operand whose bank most others share.
    fn copy_operand(&mut self, operation: u32) {
        let kind = self.graph.kinds[operation as usize];
        let mut values = Vec::new();
        kind.operands(|value| values.push(value));
        let bank = |value: u32| self.graph.places[value as usize].bank;
        let sharing = |value: &&u32| values.iter().filter(|&&v| bank(v) == bank(**value)).count();
        let &value = values.iter().max_by_key(sharing).expect("an operation in conflict reads");
        let copy = self.graph.copy(value, operation);
        self.issued.push(false);
        self.remaining += 1;
        self.schedule.figures.copies += 1;
        let priority = self.graph.priorities[copy as usize];
        let cell = self.graph.cell(copy);
        self.cells[cell].ready[Unit::Xor as usize].push((priority, Reverse(copy)));
    }

    /// Gives the place of a value back.
    fn free(&mut self, value: u32) {
        let cell = self.graph.cell(value);
        self.cells[cell].memory.free(self.graph.places[value as usize]);
    }
}

/// For each operation that loads an input that others load too, the next of them, in a ring.
fn same_input(operations: &Operations, parameters: Parameters) -> HashMap<u32, u32> {
    let (mut first_and_last, mut next) = (HashMap::new(), HashMap::new());
    if parameters.cells == 1 {
        return next;
    }
    for (operation, kind) in (0_u32..).zip(&operations.list) {
        if let Kind::Load { input } = kind {
            let (first, last) = first_and_last.entry(*input).or_insert((operation, operation));
            if *last != operation {
                next.insert(*last, operation);
                next.insert(operation, *first);
                *last = operation;
            }
        }
    }
    next
}
