//! [`Scheduler`]: list scheduling of operations on the cell, cycle by cycle (`schedule.rs` has the whole).
//!
//! In each cycle the AND chooses its ports first. XOR unit Z then takes the XOR that is paired with this AND, because it
//! reads nothing else. Any other XOR goes to whichever of Y, X and Z finds ports. A XOR that waits for its AND issues before
//! it only if a unit would do nothing else.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::OverlayError;
use crate::graph::{Graph, NONE, Unit};
use crate::memory::MemoryBound;
use crate::operations::{Kind, Operations};
use crate::parameters::{CHECK_INTERVAL, DRAIN_CYCLES, Parameters, SPILL_LATENCY};
use crate::ports::{Group, ReadPorts};
use crate::schedule::{Figures, STORED, Schedule};
use crate::wire_memory::WireMemory;
use crate::word::{
    Address, IDLE_MAX, PORT_A, PORT_B, PORT_POST, PORT_X, PORT_Y, WRITE_AND, WRITE_LOAD, WRITE_X,
    WRITE_Y, WRITE_Z, Word, WordKind,
};

/// Ready operations of a unit that are tried in one cycle.
const TRIES: usize = 12;

/// Cycles of the table of results that become readable; more than any latency.
const WHEEL: usize = 128;
const _: () = assert!((SPILL_LATENCY as usize) < WHEEL);

/// Operations of one unit that can issue, by priority, then by age.
type Ready = BinaryHeap<(u32, Reverse<u32>)>;

/// In place of a unit: the queue of XORs that wait for their ANDs.
const PAIRED: usize = Unit::COUNT;

/// The part of the cell that reads the operands of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    And,
    X,
    Y,
    Z,
    Load,
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
    ready: [Ready; Unit::COUNT],
    /// XORs that can issue and wait for the AND that they are paired with.
    paired: Ready,
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
    pub(crate) others_bytes: u64,
}

impl<'a> Scheduler<'a> {
    pub(crate) fn new(
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
            paired: Ready::new(),
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

    pub(crate) fn run(&mut self) -> Result<(), OverlayError> {
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

    pub(crate) fn finish(mut self) -> Schedule {
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
            let is_possible = self.assign(&kind, Port::X);
            self.ports.clear();
            if !is_possible {
                self.copy_operand(operation);
                return;
            }
        }
        let entry = (self.graph.priorities[operation as usize], Reverse(operation));
        let partner = self.graph.partner(operation);
        if unit == Unit::Xor && partner != NONE && !self.issued[partner as usize] {
            self.paired.push(entry);
        } else {
            self.ready[unit as usize].push(entry);
        }
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

    /// Gives the operands of an operation ports of the unit that is to do it.
    fn assign(&mut self, kind: &Kind, port: Port) -> bool {
        let mut operands = [(Group { first: 0, ports: 0 }, Address::default()); 6];
        let mut count = 0;
        let places = &self.graph.places;
        let mut add = |first, ports, values: &[u32]| {
            for &value in values {
                operands[count] = (Group { first, ports }, places[value as usize]);
                count += 1;
            }
        };
        let first = if port == Port::Y { PORT_Y } else { PORT_X };
        match kind {
            Kind::Load { .. } | Kind::Fill { .. } => {}
            Kind::Spill { value } => add(first, 3, std::slice::from_ref(value)),
            Kind::And { a, b, post, .. } => {
                add(PORT_A, 2, a.values());
                add(PORT_B, 2, b.values());
                add(PORT_POST, 2, post.values());
            }
            Kind::Xor { terms } if port == Port::Z => {
                let terms = terms.values().iter().map(|&value| places[value as usize]);
                return self.ports.assign_terms(terms);
            }
            Kind::Xor { terms } | Kind::Output { terms, .. } => add(first, 3, terms.values()),
        }
        self.ports.assign(&operands[..count])
    }

    /// The word of this cycle, if any operation can issue.
    fn issue(&mut self) -> Option<Word> {
        self.ports.clear();
        let mut word = Word::default();
        let (and, xor) = (Unit::And as usize, Unit::Xor as usize);
        let issued = self.issue_on(and, Port::And, &mut word);
        let mut has_any = issued.is_some();
        let mut is_z_free = true;
        if let Some(partner) = issued.map(|and| self.graph.partner(and))
            && partner != NONE
            && !self.issued[partner as usize]
        {
            let is_ready = self.graph.waiting[partner as usize] == 0;
            is_z_free = !(is_ready && self.try_issue(partner, Port::Z, &mut word));
            if is_z_free && is_ready {
                // It waited for this AND in vain.
                self.ready[xor].push((self.graph.priorities[partner as usize], Reverse(partner)));
            }
        }
        // Outputs need unit X, so XORs take unit Y first.
        has_any |= self.issue_on(Unit::Output as usize, Port::X, &mut word).is_some();
        let free = [(Port::Y, true), (Port::X, !word.is_output), (Port::Z, is_z_free)];
        for (port, _) in free.into_iter().filter(|&(_, is_free)| is_free) {
            let issued = self.issue_on(xor, port, &mut word);
            has_any |= issued.or_else(|| self.issue_on(PAIRED, port, &mut word)).is_some();
        }
        has_any |= self.issue_on(Unit::Load as usize, Port::Load, &mut word).is_some();
        word.reads = self.ports.reads;
        word.operands = self.ports.operands;
        word.terms = self.ports.terms;
        has_any.then_some(word)
    }

    fn queue(&mut self, queue: usize) -> &mut Ready {
        if queue == PAIRED { &mut self.paired } else { &mut self.ready[queue] }
    }

    /// Issues the first operation of a queue that finds ports and a place, and returns it.
    fn issue_on(&mut self, queue: usize, port: Port, word: &mut Word) -> Option<u32> {
        let mut refused = [(0, Reverse(0)); TRIES];
        let (mut tried, mut issued) = (0, None);
        while tried < TRIES {
            let Some(entry) = self.queue(queue).pop() else { break };
            let Reverse(operation) = entry.1;
            if self.issued[operation as usize] {
                continue;
            }
            if self.try_issue(operation, port, word) {
                issued = Some(operation);
                break;
            }
            refused[tried] = entry;
            tried += 1;
        }
        self.queue(queue).extend(&refused[..tried]);
        issued
    }

    fn try_issue(&mut self, operation: u32, port: Port, word: &mut Word) -> bool {
        let kind = self.graph.kinds[operation as usize];
        let unit = Unit::of(&kind);
        let before = self.ports.snapshot();
        if !self.assign(&kind, port) {
            self.ports.restore(before);
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
        self.write_word(operation, port, place, word);
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

    fn write_word(&mut self, operation: u32, port: Port, place: Option<Address>, word: &mut Word) {
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
                let (write, not) = match port {
                    Port::Y => (WRITE_Y, 4),
                    Port::Z => (WRITE_Z, 5),
                    Port::And | Port::X | Port::Load => (WRITE_X, 3),
                };
                word.writes[write] = place;
                word.nots[not] = terms.is_not();
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
