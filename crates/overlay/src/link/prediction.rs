//! [`predict`]: the cycles in which a device waits for its host, without RTL.
//!
//! The device has no choice: in each cycle in which it moves, the schedule says which word, label, row and result it needs or
//! gives. So a model of its queues suffices. Tests compare it with the simulated RTL.

use std::collections::VecDeque;

use super::HostLink;
use super::host::{ItemsMoved, LinkedHost, Permits};
use super::memory::{MemoryPort, PortMoved};
use crate::parameters::DRAIN_CYCLES;
use crate::stream::Stream;
use crate::word::{WRITE_LOAD, Word, WordKind};

/// Items in each queue of the device (`DEPTH_BITS` in `ovl_fifo.sv`).
const QUEUE_ITEMS: u64 = 8;

/// Cycles from a word to the row of its AND, and to the result of its XOR unit X.
const ROW_CYCLES: usize = 14;
const RESULT_CYCLES: usize = 2;

/// A power of two beyond [`ROW_CYCLES`].
const PIPELINE_CYCLES: usize = 16;
const _: () = assert!(ROW_CYCLES < PIPELINE_CYCLES);

/// Cycles in which the device waits, by what for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// For a word.
    pub words: u64,
    /// For a label, of an input or stored for a time.
    pub labels: u64,
    /// For space for rows or results.
    pub space: u64,
}

impl Stalls {
    /// All of them: what the register of the device says.
    pub fn total(self) -> u64 {
        self.words + self.labels + self.space
    }
}

/// Cycles of a run that garbles, with a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Cycles in which the device moves, those of the schedule.
    pub cycles: u64,
    /// Cycles in which it waits after its first word.
    pub stalls: Stalls,
    /// Cycles until the host has everything, from the first in which it sends. Besides `cycles` and `stalls`, it has the time
    /// before the first word, and that after the last.
    pub total_cycles: u64,
    /// Cycles in which link in, link out and memory carry bytes.
    pub busy_cycles: [u64; 3],
    /// Bytes on link in, link out and from memory.
    pub bytes: [u64; 3],
}

/// The part of the system that limits a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The cells: the schedule.
    Cell,
    /// The link to the device.
    LinkIn,
    /// The link to the host.
    LinkOut,
    /// The memory beside the device.
    Memory,
}

impl Prediction {
    /// The part that is busy in most cycles.
    pub fn bound(&self) -> Bound {
        let [link_in, link_out, memory] = self.busy_cycles;
        let busy = [
            (self.cycles, Bound::Cell),
            (link_in, Bound::LinkIn),
            (link_out, Bound::LinkOut),
            (memory, Bound::Memory),
        ];
        busy.into_iter().max_by_key(|(cycles, _)| *cycles).map_or(Bound::Cell, |(_, bound)| bound)
    }
}

/// Predicts a run that garbles the program of `stream`, at a clock in MHz.
pub fn predict(stream: &Stream, link: &HostLink, clock_mhz: u32) -> Prediction {
    let mut host = LinkedHost::new(stream, link, clock_mhz);
    let mut ports = MemoryPort::all(stream, link, clock_mhz);
    let mut device = Device::new(stream, !ports.is_empty());
    while device.state != State::Done {
        let mut permits = host.begin_cycle();
        if !ports.is_empty() {
            permits.word = ports.iter().all(MemoryPort::has_word);
            device.fills_there = cells(&ports, MemoryPort::has_fill);
            device.stores_full = cells(&ports, MemoryPort::is_full);
        }
        let (moved, Cells { fills, stores }) = device.cycle(permits);
        for (cell, port) in ports.iter_mut().enumerate() {
            let is_of = |cells: u32| cells >> cell & 1 == 1;
            let moved = PortMoved { word: moved.word, fill: is_of(fills), store: is_of(stores) };
            port.end_cycle(host.cycles(), moved);
        }
        host.end_cycle(moved);
    }
    let [in_bytes, out_bytes] = host.bytes();
    let [in_busy, out_busy] = host.busy_cycles();
    let memory_bytes = ports.iter().map(MemoryPort::bytes).sum();
    let memory_busy = ports.iter().map(MemoryPort::busy_cycles).max().unwrap_or(0);
    Prediction {
        cycles: device.cycles,
        stalls: device.stalls,
        total_cycles: host.last_arrival(),
        busy_cycles: [in_busy, out_busy, memory_busy],
        bytes: [in_bytes, out_bytes, memory_bytes],
    }
}

/// The cells of which something is true, one bit each.
fn cells(ports: &[MemoryPort], is_true: impl Fn(&MemoryPort) -> bool) -> u32 {
    ports.iter().rev().fold(0, |cells, port| cells << 1 | u32::from(is_true(port)))
}

/// As in `ovl_core.sv`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    Run,
    Drain,
    Flush,
    Done,
}

/// Transfers that a word waits for.
#[derive(Clone, Copy, Default)]
struct Needs {
    is_end: bool,
    is_last: bool,
    is_load: bool,
    rows: u64,
    has_result: bool,
    idle: u8,
    cells: Cells,
}

/// Cells that take a label from their memory, and those that give one to it, one bit each.
#[derive(Clone, Copy, Default)]
struct Cells {
    fills: u32,
    stores: u32,
}

impl Needs {
    fn of(lanes: &[Word], has_memory: bool) -> Needs {
        let is_issue = lanes[0].kind == WordKind::Issue;
        let loads = |lane: &Word| is_issue && lane.writes[WRITE_LOAD].is_some();
        let is_fill = |lane: &Word| has_memory && lane.is_fill && loads(lane);
        let gives = |lane: &Word| is_issue && lane.is_output;
        let is_store = |lane: &Word| has_memory && lane.is_spill && gives(lane);
        let mask = |is_true: &dyn Fn(&Word) -> bool| {
            lanes.iter().rev().fold(0, |cells, lane| cells << 1 | u32::from(is_true(lane)))
        };
        Needs {
            is_end: !is_issue,
            is_last: lanes[0].kind == WordKind::Last,
            is_load: lanes.iter().any(|lane| loads(lane) && !is_fill(lane)),
            rows: lanes.iter().filter(|lane| is_issue && lane.has_and()).count() as u64,
            has_result: lanes.iter().any(|lane| gives(lane) && !is_store(lane)),
            idle: lanes[0].idle,
            cells: Cells { fills: mask(&is_fill), stores: mask(&is_store) },
        }
    }
}

/// The queues of a device, and what is in its pipeline.
struct Device<W> {
    steps: W,
    /// The word that is taken next.
    next: Needs,
    state: State,
    words: u64,
    labels: u64,
    /// Rows of each beat in the queue.
    beats: VecDeque<u64>,
    results: u64,
    /// Rows, results and labels to store that leave the pipeline, by the number of the cycle in which the device moves.
    due: [(u64, bool, u32); PIPELINE_CYCLES],
    /// Cells whose memory ports have a label, and those whose ports have no space for one.
    fills_there: u32,
    stores_full: u32,
    idle: u8,
    drain: u32,
    cycles: u64,
    stalls: Stalls,
}

impl<'a> Device<Box<dyn Iterator<Item = Needs> + 'a>> {
    fn new(stream: &'a Stream, has_memory: bool) -> Self {
        let mut steps = stream.steps().map(move |lanes| Needs::of(&lanes, has_memory));
        let next = steps.next().unwrap_or_default();
        Device {
            steps: Box::new(steps),
            next,
            state: State::Header,
            words: 0,
            labels: 0,
            beats: VecDeque::new(),
            results: 0,
            due: [(0, false, 0); PIPELINE_CYCLES],
            fills_there: 0,
            stores_full: 0,
            idle: 0,
            drain: 0,
            cycles: 0,
            stalls: Stalls::default(),
        }
    }
}

impl<W: Iterator<Item = Needs>> Device<W> {
    /// One cycle, in which the host permits some items to move. Everything is decided by what is in the queues before it.
    fn cycle(&mut self, permits: Permits) -> (ItemsMoved, Cells) {
        let mut cells = Cells::default();
        let moved = ItemsMoved {
            word: permits.word && self.words < QUEUE_ITEMS,
            label: permits.label && self.labels < QUEUE_ITEMS,
            rows: if permits.space { self.beats.front().copied().unwrap_or(0) } else { 0 },
            result: permits.space && self.results > 0,
        };
        match self.state {
            State::Header if self.words > 0 => {
                self.words -= 1;
                self.state = State::Run;
            }
            State::Run | State::Drain => cells = self.advance_or_wait(),
            State::Flush if self.beats.is_empty() && self.results == 0 => self.state = State::Done,
            State::Header | State::Flush | State::Done => {}
        }
        self.words += u64::from(moved.word);
        self.labels += u64::from(moved.label);
        self.results -= u64::from(moved.result);
        if moved.rows > 0 {
            self.beats.pop_front();
        }
        (moved, cells)
    }

    fn advance_or_wait(&mut self) -> Cells {
        let slot = self.cycles as usize % PIPELINE_CYCLES;
        let (rows, has_result, stores) = self.due[slot];
        let next = self.next;
        let takes_word = self.state == State::Run && self.idle == 0;
        if rows > 0 && self.beats.len() as u64 == QUEUE_ITEMS
            || has_result && self.results == QUEUE_ITEMS
            || stores & self.stores_full != 0
        {
            self.stalls.space += 1;
        } else if takes_word && self.words == 0 {
            self.stalls.words += 1;
        } else if takes_word
            && (next.is_load && self.labels == 0 || next.cells.fills & !self.fills_there != 0)
        {
            self.stalls.labels += 1;
        } else {
            self.advance(takes_word);
            return Cells { fills: if takes_word { next.cells.fills } else { 0 }, stores };
        }
        Cells::default()
    }

    fn advance(&mut self, takes_word: bool) {
        let at = self.cycles as usize;
        let (rows, has_result, _) = std::mem::take(&mut self.due[at % PIPELINE_CYCLES]);
        if rows > 0 {
            self.beats.push_back(rows);
        }
        self.results += u64::from(has_result);
        self.cycles += 1;
        if self.state == State::Drain {
            self.drain -= 1;
            if self.drain == 0 {
                self.state = State::Flush;
            }
        } else if !takes_word {
            self.idle -= 1;
        } else {
            self.take_word(at);
        }
    }

    /// Takes the next word in the cycle `at`.
    fn take_word(&mut self, at: usize) {
        let word = std::mem::replace(&mut self.next, self.steps.next().unwrap_or_default());
        self.words -= 1;
        if word.is_last {
            (self.state, self.drain) = (State::Drain, DRAIN_CYCLES);
        }
        if word.is_end {
            return;
        }
        self.labels -= u64::from(word.is_load);
        self.idle = word.idle;
        self.due[(at + ROW_CYCLES) % PIPELINE_CYCLES].0 = word.rows;
        let results = &mut self.due[(at + RESULT_CYCLES) % PIPELINE_CYCLES];
        (results.1, results.2) = (word.has_result, word.cells.stores);
    }
}
