//! [`schedule`]: assigns each operation a cycle, ports, and a place for its result.
//!
//! List scheduling by the longest path to a sink. Only the operations within a window of the netlist's order are
//! considered, so that values do not live much longer than in that order. If the wire memory does not suffice, the
//! window becomes smaller, and then the host stores labels for a time (`spill.rs`).
//!
//! The device has no interlocks: it does in each cycle what the word says. So the number of cycles is known here,
//! exactly. It waits only as a whole, for the host.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::OverlayError;
use crate::graph::{Graph, Unit};
use crate::memory::MemoryBound;
use crate::operations::{Kind, Operations};
use crate::parameters::{CHECK_INTERVAL, DRAIN_CYCLES, Parameters, SPILL_LATENCY};
use crate::ports::{Group, ReadPorts};
use crate::spill::{PEAK_BYTES, SPILLER_BYTES, peak_in_order, spilled};
use crate::wire_memory::WireMemory;
use crate::word::{
    Address, IDLE_MAX, PORT_A, PORT_B, PORT_POST, PORT_X, PORT_Y, WRITE_AND, WRITE_LOAD, WRITE_X,
    WRITE_Y, Word, WordKind,
};

/// Ready operations of a unit that are tried in one cycle.
const TRIES: usize = 12;

/// Cycles of the table of results that become readable; more than any latency.
const WHEEL: usize = 128;
const _: () = assert!((SPILL_LATENCY as usize) < WHEEL);

/// A scheduled program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Words in the order of issue.
    pub words: Vec<Word>,
    /// Labels in the order in which the device takes them: numbers of inputs, or of [`STORED`] labels.
    pub loads: Vec<u32>,
    /// Labels in the order in which the device gives them: numbers of outputs, or of labels to be [`STORED`].
    pub outputs: Vec<u32>,
    /// Counts.
    pub figures: Figures,
}

/// Counts of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Cycles from the first word to the end of the drain.
    pub cycles: u64,
    /// AND operations.
    pub ands: u64,
    /// XOR operations.
    pub xors: u64,
    /// XOR operations that only copy a label to another bank.
    pub copies: u64,
    /// Labels that the host stores for a time.
    pub spills: u64,
    /// Labels that it sends again, with those of inputs that it sent before.
    pub fills: u64,
    /// The most labels in the wire memory at once.
    pub peak_labels: u64,
    /// Operations of the window that sufficed.
    pub window: u64,
}

/// Schedules operations on a device.
///
/// # Errors
/// [`OverlayError::WireMemory`] if the live labels do not fit.
pub fn schedule(operations: &Operations, parameters: Parameters) -> Result<Schedule, OverlayError> {
    schedule_within(operations, parameters, &MemoryBound::none())
}

/// As [`schedule`], within a bound on memory that counts the operations.
///
/// # Errors
/// As [`schedule`], and [`OverlayError::Memory`] beyond the bound.
pub fn schedule_within(
    operations: &Operations,
    parameters: Parameters,
    bound: &MemoryBound,
) -> Result<Schedule, OverlayError> {
    let labels = parameters.labels();
    let list_bytes = |operations: &Operations| (operations.list.len() * size_of::<Kind>()) as u64;
    let own_bytes = list_bytes(operations);
    bound.check(own_bytes + PEAK_BYTES * operations.list.len() as u64)?;
    let fits_in_order = peak_in_order(operations) <= labels;
    for (eighths, window) in ATTEMPTS {
        let capacity = labels as usize * eighths / 8;
        let attempt = match eighths {
            8 if !fits_in_order => continue,
            8 => operations,
            _ => {
                // The second list has some more.
                let spiller_bytes = SPILLER_BYTES * operations.list.len() as u64;
                bound.check(2 * own_bytes + own_bytes / 4 + spiller_bytes)?;
                &spilled(operations, capacity)
            }
        };
        let besides = if eighths == 8 { 0 } else { list_bytes(attempt) };
        bound.check(own_bytes + besides + Graph::bytes(attempt.list.len()))?;
        let mut scheduler = Scheduler::new(attempt, (parameters, window), bound);
        scheduler.others_bytes = own_bytes + besides;
        match scheduler.run() {
            Ok(()) => return Ok(scheduler.finish()),
            Err(OverlayError::WireMemory { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(OverlayError::WireMemory { labels })
}

/// What is tried: eighths of the memory that values may take in the order of the operations (8: nothing is spilled),
/// and operations in the window.
const ATTEMPTS: [(usize, usize); 11] = [
    (8, 1 << 18),
    (8, 1 << 15),
    (8, 1 << 13),
    (8, 1 << 11),
    (6, 1 << 14),
    (6, 1 << 13),
    (6, 1 << 11),
    (4, 1 << 10),
    (4, 1 << 7),
    (2, 1 << 4),
    (2, 1),
];

/// Mark of a label that the host stores, in [`Schedule::loads`] and [`Schedule::outputs`].
pub const STORED: u32 = 1 << 31;

/// Operations of one unit that can issue, by priority, then by age.
type Ready = BinaryHeap<(u32, Reverse<u32>)>;

struct Scheduler<'a> {
    parameters: Parameters,
    graph: Graph,
    window: usize,
    /// Every operation before this one has issued.
    head: usize,
    /// Operations from here on are outside the window.
    admitted: usize,
    issued: Vec<bool>,
    remaining: usize,
    ready: [Ready; Unit::COUNT],
    /// Values that become readable, by cycle.
    wheel: [Vec<u32>; WHEEL],
    in_flight: usize,
    memory: WireMemory,
    ports: ReadPorts,
    penalties: Vec<u32>,
    cycle: u64,
    since_check: u64,
    /// Number of the stored label of each spill, by operation.
    stored: HashMap<u32, u32>,
    schedule: Schedule,
    bound: &'a MemoryBound,
    /// What others hold of it.
    others_bytes: u64,
}

impl<'a> Scheduler<'a> {
    fn new(
        operations: &Operations,
        (parameters, window): (Parameters, usize),
        bound: &'a MemoryBound,
    ) -> Scheduler<'a> {
        let graph = Graph::new(operations);
        let figures = Figures { window: window as u64, ..Figures::default() };
        Scheduler {
            parameters,
            issued: vec![false; graph.kinds.len()],
            remaining: graph.kinds.len(),
            graph,
            window,
            head: 0,
            admitted: 0,
            ready: Default::default(),
            wheel: std::array::from_fn(|_| Vec::new()),
            in_flight: 0,
            memory: WireMemory::new(parameters),
            ports: ReadPorts::new(parameters),
            penalties: vec![0; 1 << parameters.bank_bits],
            cycle: 0,
            since_check: 0,
            stored: HashMap::new(),
            schedule: Schedule { figures, ..Schedule::default() },
            bound,
            others_bytes: 0,
        }
    }

    fn run(&mut self) -> Result<(), OverlayError> {
        while self.remaining > 0 {
            self.admit();
            self.memory.begin(self.cycle);
            self.wake();
            if self.since_check == CHECK_INTERVAL {
                self.check_memory()?;
                self.emit(Word { kind: WordKind::Check, ..Word::default() });
            } else if let Some(word) = self.issue() {
                self.emit(word);
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

    fn finish(mut self) -> Schedule {
        self.emit(Word { kind: WordKind::Last, ..Word::default() });
        let figures = &mut self.schedule.figures;
        figures.cycles = self.cycle + u64::from(DRAIN_CYCLES);
        figures.peak_labels = self.memory.peak;
        self.schedule
    }

    fn emit(&mut self, word: Word) {
        self.since_check = if word.kind == WordKind::Issue { self.since_check + 1 } else { 0 };
        self.schedule.words.push(word);
        self.cycle += 1;
    }

    /// Lets a cycle pass: after the last word, or after an empty one.
    fn wait(&mut self) {
        match self.schedule.words.last_mut() {
            Some(word) if word.kind == WordKind::Issue && word.idle < IDLE_MAX => {
                word.idle += 1;
                self.cycle += 1;
            }
            Some(_) | None => self.emit(Word::default()),
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
                self.memory.free(self.graph.places[value as usize]);
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
        if matches!(unit, Unit::And) || self.graph.operand_count(&kind) > 2 {
            self.ports.clear();
            let is_possible = self.assign(&kind, PORT_X);
            self.ports.clear();
            if !is_possible {
                self.copy_operand(operation);
                return;
            }
        }
        let priority = self.graph.priorities[operation as usize];
        self.ready[unit as usize].push((priority, Reverse(operation)));
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
        self.ready[Unit::Xor as usize].push((priority, Reverse(copy)));
    }

    /// Gives the operands of an operation ports; those of a XOR at unit X or Y, as `first_port` says.
    fn assign(&mut self, kind: &Kind, first_port: usize) -> bool {
        let mut operands = [(Group { first: 0, ports: 0 }, Address::default()); 6];
        let mut count = 0;
        let places = &self.graph.places;
        let mut add = |first, ports, values: &[u32]| {
            for &value in values {
                operands[count] = (Group { first, ports }, places[value as usize]);
                count += 1;
            }
        };
        match kind {
            Kind::Load { .. } | Kind::Fill { .. } => {}
            Kind::Spill { value } => add(first_port, 3, std::slice::from_ref(value)),
            Kind::And { a, b, post, .. } => {
                add(PORT_A, 2, a.values());
                add(PORT_B, 2, b.values());
                add(PORT_POST, 2, post.values());
            }
            Kind::Xor { terms } | Kind::Output { terms, .. } => add(first_port, 3, terms.values()),
        }
        self.ports.assign(&operands[..count])
    }

    /// The word of this cycle, if any operation can issue.
    fn issue(&mut self) -> Option<Word> {
        self.ports.clear();
        let mut word = Word::default();
        let mut has_any = self.issue_on(Unit::And, PORT_A, &mut word);
        // Outputs need unit X, so XORs take unit Y first.
        has_any |= self.issue_on(Unit::Output, PORT_X, &mut word);
        has_any |= self.issue_on(Unit::Xor, PORT_Y, &mut word);
        if !word.is_output {
            has_any |= self.issue_on(Unit::Xor, PORT_X, &mut word);
        }
        has_any |= self.issue_on(Unit::Load, 0, &mut word);
        word.reads = self.ports.reads;
        has_any.then_some(word)
    }

    /// Issues the first ready operation of a unit that finds ports and a place.
    fn issue_on(&mut self, unit: Unit, first_port: usize, word: &mut Word) -> bool {
        let mut refused = [(0, Reverse(0)); TRIES];
        let (mut tried, mut has_issued) = (0, false);
        while tried < TRIES {
            let Some(entry) = self.ready[unit as usize].pop() else { break };
            let Reverse(operation) = entry.1;
            if self.try_issue(operation, first_port, word) {
                has_issued = true;
                break;
            }
            refused[tried] = entry;
            tried += 1;
        }
        self.ready[unit as usize].extend(&refused[..tried]);
        has_issued
    }

    fn try_issue(&mut self, operation: u32, first_port: usize, word: &mut Word) -> bool {
        let kind = self.graph.kinds[operation as usize];
        let unit = Unit::of(&kind);
        let before = self.ports.snapshot();
        if !self.assign(&kind, first_port) {
            return false;
        }
        let latency = u64::from(unit.latency());
        let place = if unit == Unit::Output {
            None
        } else {
            self.graph.penalise(operation, &mut self.penalties);
            let write_cycle = self.cycle + latency - 1;
            let Some(place) = self.memory.allocate(write_cycle, &self.penalties) else {
                self.ports.restore(before);
                return false;
            };
            Some(place)
        };
        self.write_word(operation, first_port, place, word);
        self.release_operands(&kind);
        if let Some(place) = place {
            self.graph.places[operation as usize] = place;
        }
        if place.is_some() || matches!(kind, Kind::Spill { .. }) {
            self.wheel[(self.cycle + latency) as usize % WHEEL].push(operation);
            self.in_flight += 1;
        }
        self.issued[operation as usize] = true;
        self.remaining -= 1;
        true
    }

    fn write_word(
        &mut self,
        operation: u32,
        first_port: usize,
        place: Option<Address>,
        word: &mut Word,
    ) {
        match &self.graph.kinds[operation as usize] {
            Kind::Load { input } => {
                word.writes[WRITE_LOAD] = place;
                self.schedule.loads.push(*input);
            }
            Kind::Fill { spill } => {
                word.writes[WRITE_LOAD] = place;
                self.schedule.loads.push(STORED | self.stored[spill]);
                self.schedule.figures.fills += 1;
            }
            Kind::Spill { .. } => {
                let number = self.stored.len() as u32;
                word.is_output = true;
                self.stored.insert(operation, number);
                self.schedule.outputs.push(STORED | number);
                self.schedule.figures.spills += 1;
            }
            Kind::And { index, a, b, post } => {
                word.writes[WRITE_AND] = place;
                word.index = *index as u32;
                word.nots[..3].copy_from_slice(&[a.is_not(), b.is_not(), post.is_not()]);
                self.schedule.figures.ands += 1;
            }
            Kind::Xor { terms } => {
                let unit = usize::from(first_port == PORT_Y);
                word.writes[[WRITE_X, WRITE_Y][unit]] = place;
                word.nots[3 + unit] = terms.is_not();
                self.schedule.figures.xors += 1;
            }
            Kind::Output { output, terms } => {
                word.is_output = true;
                word.nots[3] = terms.is_not();
                self.schedule.outputs.push(*output);
            }
        }
    }

    fn release_operands(&mut self, kind: &Kind) {
        kind.operands(|value| {
            let uses = &mut self.graph.uses[value as usize];
            *uses -= 1;
            if *uses == 0 {
                self.memory.free(self.graph.places[value as usize]);
            }
        });
    }
}
