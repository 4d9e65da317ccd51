//! [`schedule`]: assigns each operation a cycle, ports, and a place for its result.
//!
//! List scheduling by the longest path to a sink. Only the operations within a window of the netlist's order are
//! considered, so that values do not live much longer than in that order. If the wire memory does not suffice, the
//! window is divided by four, down to one operation.
//!
//! The device has no interlocks: it does in each cycle what the word says. So the number of cycles is known here,
//! exactly. It waits only as a whole, for the host.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::OverlayError;
use crate::graph::{Graph, Unit};
use crate::operations::{Kind, Operations};
use crate::parameters::{CHECK_INTERVAL, DRAIN_CYCLES, Parameters};
use crate::ports::{Group, ReadPorts};
use crate::wire_memory::WireMemory;
use crate::word::{
    Address, IDLE_MAX, PORT_A, PORT_B, PORT_POST, PORT_X, PORT_Y, WRITE_AND, WRITE_LOAD, WRITE_X,
    WRITE_Y, Word, WordKind,
};

/// Operations of the first window that is tried.
const WINDOW: usize = 1 << 15;

/// Ready operations of a unit that are tried in one cycle.
const TRIES: usize = 12;

/// Cycles of the table of results that become readable; more than any latency.
const WHEEL: usize = 32;

/// A scheduled program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Words in the order of issue.
    pub words: Vec<Word>,
    /// Inputs in the order in which the device takes their labels.
    pub loads: Vec<u32>,
    /// Outputs in the order in which the device gives their labels.
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
    let mut window = WINDOW;
    loop {
        let mut scheduler = Scheduler::new(operations, parameters, window);
        match scheduler.run() {
            Ok(()) => return Ok(scheduler.finish()),
            Err(error) if window == 1 => return Err(error),
            Err(_) => window /= 4,
        }
        window = window.max(1);
    }
}

/// Operations of one unit that can issue, by priority, then by age.
type Ready = BinaryHeap<(u32, Reverse<u32>)>;

struct Scheduler {
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
    schedule: Schedule,
}

impl Scheduler {
    fn new(operations: &Operations, parameters: Parameters, window: usize) -> Scheduler {
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
            wheel: Default::default(),
            in_flight: 0,
            memory: WireMemory::new(parameters),
            ports: ReadPorts::new(parameters),
            penalties: vec![0; 1 << parameters.bank_bits],
            cycle: 0,
            since_check: 0,
            schedule: Schedule { figures, ..Schedule::default() },
        }
    }

    fn run(&mut self) -> Result<(), OverlayError> {
        while self.remaining > 0 {
            self.admit();
            self.memory.begin(self.cycle);
            self.wake();
            if self.since_check == CHECK_INTERVAL {
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
            Kind::Load { .. } => {}
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
        self.write_word(&kind, first_port, place, word);
        self.release_operands(&kind);
        if let Some(place) = place {
            self.graph.places[operation as usize] = place;
            self.wheel[(self.cycle + latency) as usize % WHEEL].push(operation);
            self.in_flight += 1;
        }
        self.issued[operation as usize] = true;
        self.remaining -= 1;
        true
    }

    fn write_word(
        &mut self,
        kind: &Kind,
        first_port: usize,
        place: Option<Address>,
        word: &mut Word,
    ) {
        match kind {
            Kind::Load { input } => {
                word.writes[WRITE_LOAD] = place;
                self.schedule.loads.push(*input);
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
