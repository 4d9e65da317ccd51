//! [`Scheduler`]: list scheduling of operations on the cells, cycle by cycle (`schedule.rs` has the whole). What one
//! cycle does is in `scheduler/issuing.rs`.
//!
//! Operations are admitted in the order of the program, as long as the wire memory has space for the results of all that
//! were admitted. So each of them can issue at some time, whatever the others do, and the scheduler never has to begin
//! again with fewer. The more labels live, the nearer to each other are the operations among which it chooses.

mod issuing;
mod ready;
mod window;

use std::collections::HashMap;

use crate::OverlayError;
use crate::lane::Lane;
use crate::memory::Place;
use crate::operations::{Kind, KnownOperation, NONE};
use crate::parameters::{CHECK_INTERVAL, DRAIN_CYCLES, Parameters, SPILL_LATENCY};
use crate::ports::ReadPorts;
use crate::schedule::Figures;
use crate::spill::Feed;
use crate::stream_writer::StreamWriter;
use crate::wire_memory::WireMemory;
use crate::word::{IDLE_MAX, WordKind};
use ready::{Candidate, ReadyQueue};
use window::Window;

/// Cycles of the table of results that become readable; more than any latency.
const WHEEL: usize = 128;
const _: () = assert!((SPILL_LATENCY as usize) < WHEEL);

/// Operations that wait at most, for each cell; more do not make schedules shorter, but fill the caches.
const WAITING_MAX: usize = 1 << 13;

/// Queues of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Queue {
    And,
    Xor,
    Output,
    Load,
    Move,
}

impl Queue {
    const COUNT: usize = 5;

    fn of(kind: Kind) -> Queue {
        match kind {
            Kind::Load | Kind::Fill => Queue::Load,
            Kind::And => Queue::And,
            Kind::Xor => Queue::Xor,
            Kind::Move => Queue::Move,
            Kind::Output | Kind::Spill => Queue::Output,
            Kind::Leave => unreachable!("no unit does it"),
        }
    }
}

/// The state of one cell in the cycle that is being scheduled.
struct Cell {
    ready: [ReadyQueue; Queue::COUNT],
    memory: WireMemory,
    ports: ReadPorts,
    lane: Lane,
    /// Operations that have not issued and whose results are here.
    waiting: u64,
    /// Labels for which copies may take space, of those that are left free for them.
    copies: u64,
    /// Operations that wait until copies of their operands have space.
    blocked: Vec<u32>,
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
    feed: Feed,
    /// The next operation, which is not admitted yet.
    next: KnownOperation,
    has_next: bool,
    window: Window,
    /// Operations that were admitted and have not issued.
    waiting: usize,
    cells: Vec<Cell>,
    /// With several cells, the operations that load each input and have not issued.
    loads: HashMap<u32, Vec<u32>>,
    /// Values that become readable, by cycle.
    wheel: [Vec<u32>; WHEEL],
    in_flight: usize,
    /// Operations that become ready in a cycle.
    woken: Vec<u32>,
    cycle: u64,
    /// Whether a label goes to the host in this cycle.
    has_output: bool,
    since_check: u64,
    /// The word that was made last, to which idle cycles can be added.
    last_word: Vec<Lane>,
    figures: Figures,
    writer: StreamWriter<'a>,
}

/// Labels of a cell that are left free for copies.
fn copy_labels(parameters: Parameters) -> u64 {
    (parameters.labels() / 32).clamp(COPIES_MAX, 2048)
}

/// The most labels that copies of the operands of one operation take at once: each bank gives two of six labels.
const COPIES_MAX: u64 = 4;

/// The most labels that may live at once in a cell in the order of the operations without spills, and with them.
pub(crate) fn capacities(parameters: Parameters) -> [u64; 2] {
    let labels = parameters.labels();
    // Some operations must be in the window, or cells have nothing to choose from.
    [labels - labels / 32, labels * 3 / 4].map(|most| most.saturating_sub(copy_labels(parameters)))
}

impl<'a> Scheduler<'a> {
    pub(crate) fn new(
        parameters: Parameters,
        feed: Feed,
        writer: StreamWriter<'a>,
    ) -> Result<Scheduler<'a>, OverlayError> {
        let cells = (0..parameters.cells).map(|_| Cell {
            ready: Default::default(),
            memory: WireMemory::new(parameters),
            ports: ReadPorts::new(parameters),
            lane: Lane::IDLE,
            waiting: 0,
            copies: 0,
            blocked: Vec::new(),
        });
        let mut scheduler = Scheduler {
            parameters,
            feed,
            next: KnownOperation::default(),
            has_next: false,
            window: Window::default(),
            waiting: 0,
            cells: cells.collect(),
            loads: HashMap::new(),
            wheel: std::array::from_fn(|_| Vec::new()),
            in_flight: 0,
            woken: Vec::new(),
            cycle: 0,
            has_output: false,
            since_check: 0,
            last_word: Vec::new(),
            figures: Figures::default(),
            writer,
        };
        scheduler.has_next = scheduler.feed.next(&mut scheduler.next)?;
        Ok(scheduler)
    }

    /// Schedules everything, and ends the stream. Returns the figures, and the numbers of loads and outputs if the stream
    /// is in memory.
    pub(crate) fn run(
        mut self,
        program: [u8; 32],
        place: Place<'_>,
    ) -> Result<(Figures, [Vec<u32>; 2]), OverlayError> {
        loop {
            self.admit()?;
            if self.waiting == 0 && !self.has_next {
                break;
            }
            self.cells.iter_mut().for_each(|cell| cell.memory.begin(self.cycle));
            self.wake();
            if self.since_check == CHECK_INTERVAL {
                place.check(self.bytes())?;
                self.emit_all(WordKind::Check)?;
            } else if self.issue() {
                self.emit()?;
            } else if self.in_flight == 0 {
                return Err(OverlayError::WireMemory { labels: self.parameters.labels() });
            } else {
                self.wait()?;
            }
            self.free_dead();
        }
        self.emit_all(WordKind::Last)?;
        self.write_last_word()?;
        place.check(self.bytes())?;
        let mut figures = self.figures;
        figures.words = self.writer.word_count();
        figures.cycles = self.cycle + u64::from(DRAIN_CYCLES);
        figures.peak_labels = self.cells.iter().map(|cell| cell.memory.peak).sum();
        let numbers = self.writer.finish(program, (figures.ands, figures.cycles))?;
        Ok((figures, numbers))
    }

    /// Bytes of memory that it takes.
    fn bytes(&self) -> u64 {
        self.window.bytes() + self.feed.bytes() + self.writer.bytes()
    }

    /// Emits the word of the cells, and clears it.
    fn emit(&mut self) -> Result<(), OverlayError> {
        self.write_last_word()?;
        self.last_word.extend(
            self.cells.iter_mut().map(|cell| std::mem::replace(&mut cell.lane, Lane::IDLE)),
        );
        self.since_check += 1;
        self.cycle += 1;
        Ok(())
    }

    fn write_last_word(&mut self) -> Result<(), OverlayError> {
        if !self.last_word.is_empty() {
            self.writer.word(&self.last_word)?;
            self.last_word.clear();
        }
        Ok(())
    }

    /// Emits one word for all cells.
    fn emit_all(&mut self, kind: WordKind) -> Result<(), OverlayError> {
        self.cells.iter_mut().for_each(|cell| cell.lane = Lane::of_kind(kind));
        self.emit()?;
        self.since_check = if kind == WordKind::Issue { self.since_check } else { 0 };
        Ok(())
    }

    /// Lets a cycle pass: after the last word, or after an empty one.
    fn wait(&mut self) -> Result<(), OverlayError> {
        match self.last_word.first() {
            Some(word) if word.kind == WordKind::Issue && word.idle < IDLE_MAX => {
                self.last_word.iter_mut().for_each(|word| word.idle += 1);
                self.cycle += 1;
                Ok(())
            }
            Some(_) | None => self.emit_all(WordKind::Issue),
        }
    }

    /// Admits operations for whose results there is space.
    fn admit(&mut self) -> Result<(), OverlayError> {
        while self.has_next && self.waiting < WAITING_MAX * self.cells.len() {
            let operation = &self.next.operation;
            let has_result = operation.kind.has_result();
            let cell = &mut self.cells[usize::from(operation.cell)];
            let most = self.parameters.labels() - copy_labels(self.parameters);
            if has_result && cell.memory.live + cell.waiting >= most {
                break;
            }
            if operation.kind == Kind::Leave {
                self.window.leave(operation);
                self.has_next = self.feed.next(&mut self.next)?;
                continue;
            }
            cell.waiting += u64::from(has_result);
            self.waiting += 1;
            let (entry, is_ready) = self.window.admit(&self.next);
            if operation.kind == Kind::Load && self.parameters.cells > 1 {
                self.loads.entry(operation.number).or_default().push(entry);
            }
            self.has_next = self.feed.next(&mut self.next)?;
            if is_ready {
                self.make_ready(entry);
            }
        }
        self.free_dead();
        Ok(())
    }

    /// Makes the results readable whose latency has passed.
    fn wake(&mut self) {
        let slot = self.cycle as usize % WHEEL;
        let mut values = std::mem::take(&mut self.wheel[slot]);
        self.in_flight -= values.len();
        let mut woken = std::mem::take(&mut self.woken);
        for value in values.drain(..) {
            self.window.wake(value, &mut woken);
        }
        for reader in woken.drain(..) {
            self.make_ready(reader);
        }
        self.woken = woken;
        self.wheel[slot] = values;
    }

    /// Gives back the places of values that nothing reads any more.
    fn free_dead(&mut self) {
        while let Some(value) = self.window.dead.pop() {
            let place = self.window.places[value as usize];
            if place != NONE {
                let cell = self.window.entries[value as usize].cell;
                self.cells[usize::from(cell)].memory.free(place);
            }
            self.window.recycle(value);
        }
    }

    /// Queues an operation; if its operands are in too few banks, one is copied first.
    fn make_ready(&mut self, number: u32) {
        let entry = &self.window.entries[number as usize];
        let (kind, cell) = (entry.kind, usize::from(entry.issuer));
        if (kind == Kind::And || entry.count() > 2) && !self.can_read(number, cell) {
            self.copy_operand(number, cell);
            return;
        }
        self.queue(number, (cell, Queue::of(kind)));
    }

    fn queue(&mut self, number: u32, (cell, queue): (usize, Queue)) {
        let entry = &self.window.entries[number as usize];
        let is_sum = entry.kind == Kind::Xor;
        let terms = entry.operands().iter().map(|&value| self.window.places[value as usize]);
        let terms = terms.filter(|_| is_sum);
        let candidate = Candidate::new(number, (entry.priority, entry.age), terms);
        self.cells[cell].ready[queue as usize].push(candidate);
    }

    /// Whether the operands of an operation can be read in one cycle.
    fn can_read(&mut self, number: u32, cell: usize) -> bool {
        let entry = &self.window.entries[number as usize];
        let places = entry.operands().iter().map(|&value| self.window.places[value as usize]);
        if self.cells[cell].ports.are_apart(places) {
            return true;
        }
        let before = self.cells[cell].ports.reads;
        self.cells[cell].ports.clear();
        let can_read = self.assign(number, (cell, Port::X));
        self.cells[cell].ports.reads = before;
        can_read
    }

    /// Copies the operand whose bank most others share, if there is space for it.
    fn copy_operand(&mut self, number: u32, cell: usize) {
        if !self.window.entries[number as usize].is_copying {
            if self.cells[cell].copies + COPIES_MAX > copy_labels(self.parameters) {
                self.cells[cell].blocked.push(number);
                return;
            }
            self.cells[cell].copies += COPIES_MAX;
            self.window.entries[number as usize].is_copying = true;
        }
        let bank_mask = (1 << self.parameters.bank_bits) - 1;
        let entry = &self.window.entries[number as usize];
        let bank = |value: u32| self.window.places[value as usize] & bank_mask;
        let sharing = |&place: &usize| {
            let own = bank(entry.operands[place]);
            entry.operands().iter().filter(|&&value| bank(value) == own).count()
        };
        let place = (0..entry.count()).max_by_key(sharing).expect("an operation in conflict reads");
        let copy = self.window.copy(number, place);
        self.waiting += 1;
        self.cells[cell].waiting += 1;
        self.figures.copies += 1;
        self.queue(copy, (cell, Queue::Xor));
    }

    /// Lets an operation that waits for space for copies have the space of one that has issued, in the next cycle.
    fn unblock(&mut self, cell: usize) {
        self.cells[cell].copies -= COPIES_MAX;
        self.woken.extend(self.cells[cell].blocked.pop());
    }
}
