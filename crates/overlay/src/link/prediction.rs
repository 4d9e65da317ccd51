//! [`predict`]: the cycles in which a device waits for its host, without RTL.
//!
//! The device has no choice: in each cycle in which it moves, the schedule says which word, label, row and result it needs or
//! gives. So a model of its queues suffices. Tests compare it with the simulated RTL.

use std::collections::VecDeque;

use super::HostLink;
use super::host::{ItemsMoved, LinkedHost, Permits};
use super::memory::MemoryReader;
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
    /// For a label, of an input or stored by the host.
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

/// What a run that garbles takes with a link.
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

/// What limits a run.
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
    /// What is busy in most cycles.
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
    let mut memory = MemoryReader::new(stream, link, clock_mhz);
    let mut device = Device::new(stream);
    while device.state != State::Done {
        let mut permits = host.begin_cycle();
        if let Some(memory) = &memory {
            permits.word = memory.has_word();
        }
        let moved = device.cycle(permits);
        if let Some(memory) = &mut memory {
            memory.end_cycle(host.cycles(), moved.word);
        }
        host.end_cycle(moved);
    }
    let [in_bytes, out_bytes] = host.bytes();
    let [in_busy, out_busy] = host.busy_cycles();
    let (memory_bytes, memory_busy) =
        memory.map_or((0, 0), |memory| (memory.bytes(), memory.busy_cycles()));
    Prediction {
        cycles: device.cycles,
        stalls: device.stalls,
        total_cycles: host.last_arrival(),
        busy_cycles: [in_busy, out_busy, memory_busy],
        bytes: [in_bytes, out_bytes, memory_bytes],
    }
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

/// What a word needs and gives.
#[derive(Clone, Copy, Default)]
struct Needs {
    is_end: bool,
    is_last: bool,
    is_load: bool,
    rows: u64,
    has_result: bool,
    idle: u8,
}

impl Needs {
    fn of(lanes: &[Word]) -> Needs {
        let is_issue = lanes[0].kind == WordKind::Issue;
        Needs {
            is_end: !is_issue,
            is_last: lanes[0].kind == WordKind::Last,
            is_load: is_issue && lanes.iter().any(|lane| lane.writes[WRITE_LOAD].is_some()),
            rows: lanes.iter().filter(|lane| is_issue && lane.has_and()).count() as u64,
            has_result: is_issue && lanes.iter().any(|lane| lane.is_output),
            idle: lanes[0].idle,
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
    /// Rows and results that leave the pipeline, by the number of the cycle in which the device moves.
    due: [(u64, bool); PIPELINE_CYCLES],
    idle: u8,
    drain: u32,
    cycles: u64,
    stalls: Stalls,
}

impl<'a> Device<Box<dyn Iterator<Item = Needs> + 'a>> {
    fn new(stream: &'a Stream) -> Self {
        let mut steps = stream.steps().map(|lanes| Needs::of(&lanes));
        let next = steps.next().unwrap_or_default();
        Device {
            steps: Box::new(steps),
            next,
            state: State::Header,
            words: 0,
            labels: 0,
            beats: VecDeque::new(),
            results: 0,
            due: [(0, false); PIPELINE_CYCLES],
            idle: 0,
            drain: 0,
            cycles: 0,
            stalls: Stalls::default(),
        }
    }
}

impl<W: Iterator<Item = Needs>> Device<W> {
    /// One cycle, in which the host permits some items to move. Everything is decided by what is in the queues before it.
    fn cycle(&mut self, permits: Permits) -> ItemsMoved {
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
            State::Run | State::Drain => self.advance_or_wait(),
            State::Flush if self.beats.is_empty() && self.results == 0 => self.state = State::Done,
            State::Header | State::Flush | State::Done => {}
        }
        self.words += u64::from(moved.word);
        self.labels += u64::from(moved.label);
        self.results -= u64::from(moved.result);
        if moved.rows > 0 {
            self.beats.pop_front();
        }
        moved
    }

    fn advance_or_wait(&mut self) {
        let slot = self.cycles as usize % PIPELINE_CYCLES;
        let (rows, has_result) = self.due[slot];
        let takes_word = self.state == State::Run && self.idle == 0;
        if rows > 0 && self.beats.len() as u64 == QUEUE_ITEMS
            || has_result && self.results == QUEUE_ITEMS
        {
            self.stalls.space += 1;
        } else if takes_word && self.words == 0 {
            self.stalls.words += 1;
        } else if takes_word && self.next.is_load && self.labels == 0 {
            self.stalls.labels += 1;
        } else {
            self.advance(takes_word);
        }
    }

    fn advance(&mut self, takes_word: bool) {
        let at = self.cycles as usize;
        let (rows, has_result) = std::mem::take(&mut self.due[at % PIPELINE_CYCLES]);
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
        self.due[(at + RESULT_CYCLES) % PIPELINE_CYCLES].1 = word.has_result;
    }
}
