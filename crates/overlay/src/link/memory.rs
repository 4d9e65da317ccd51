//! [`MemoryPort`]: the memory port of a cell (`ovl_port.sv`), and the memory at it, cycle by cycle.

use std::collections::VecDeque;

use super::pipe::{Pipe, latency_cycles};
use super::{HostLink, MEMORY_LATENCY_NS};
use crate::memory_image::{BEAT_QUADS, MEMORY_BEAT_BYTES, MemoryImage, Stored};
use crate::stream::Stream;

/// Beats of words that the port has space for (`READ_AHEAD_BITS` in `ovl_pkg.sv`), beats of a burst (`BURST_BITS`), beats
/// of the list, and labels that are read again (`FILL_AHEAD_BITS`).
const WORD_BEATS: u64 = 128;
const BURST_BEATS: u64 = 16;
const LIST_BEATS: u64 = 2 * BURST_BEATS;
const FILLS: u64 = 128;

/// Labels to store that the port has space for.
const STORES: u64 = 16;

/// Rate and latency of the memory of one cell, as whole numbers: a cycle has `cycle_ticks`, and a byte takes `byte_ticks`.
/// The layout is that of `OvlMemoryTiming` in the testbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MemoryTiming {
    /// Cycles from the end of a beat in the memory to the device.
    pub latency_cycles: u64,
    /// Ticks of a cycle.
    pub cycle_ticks: u64,
    /// Ticks of a byte.
    pub byte_ticks: u64,
}

impl MemoryTiming {
    /// Memory of a device with so many cells, all of which share `rate` millions of bytes a second equally.
    pub fn new(rate: u32, cells: u32, clock_mhz: u32) -> MemoryTiming {
        MemoryTiming {
            latency_cycles: latency_cycles(MEMORY_LATENCY_NS, clock_mhz),
            cycle_ticks: rate.into(),
            byte_ticks: u64::from(clock_mhz) * u64::from(cells),
        }
    }
}

/// The readers of a port; the first one that has an address goes first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Labels,
    List,
    Words,
}

/// Reads lanes one after another (`ovl_reader.sv`).
struct Reader {
    lane_quads: u64,
    /// Beats of the address that is offered.
    offered: Option<u64>,
    /// Number of the next beat that is asked for, and how many follow.
    beat: u64,
    beats_left: u64,
    /// Beats that the queue has space for, besides those that were asked for.
    free: u64,
    queued: u64,
    /// Quadwords in the buffer from which lanes are taken.
    held: u64,
    lanes_left: u64,
}

impl Reader {
    fn new((lanes, lane_quads): (u64, u64), beat: u64, queue_beats: u64) -> Reader {
        Reader {
            lane_quads,
            offered: None,
            beat,
            beats_left: (lanes * lane_quads).div_ceil(BEAT_QUADS),
            free: queue_beats,
            queued: 0,
            held: 0,
            lanes_left: lanes,
        }
    }

    fn has_lane(&self) -> bool {
        self.held >= self.lane_quads && self.lanes_left > 0
    }

    /// Ends a cycle, in which these happened or not: a lane was taken, the address was, and a beat has arrived.
    fn end_cycle(&mut self, [lane, address, arrival]: [bool; 3]) {
        let kept = self.held - if lane { self.lane_quads } else { 0 };
        let pops = self.queued > 0 && kept <= self.lane_quads;
        let length = self.beats_left.min(BURST_BEATS - self.beat % BURST_BEATS);
        let asks = self.offered.is_none() && length > 0 && self.free >= length;
        if address {
            self.offered = None;
        }
        if asks {
            self.offered = Some(length);
            self.beat += length;
            self.beats_left -= length;
            self.free -= length;
        }
        self.queued += u64::from(arrival);
        self.held = kept;
        if pops {
            self.queued -= 1;
            self.free += 1;
            self.held += BEAT_QUADS;
        }
        self.lanes_left -= u64::from(lane);
    }
}

/// Transfers between a cell and its port in one cycle.
#[derive(Clone, Copy, Default)]
pub(super) struct PortMoved {
    /// A word.
    pub(super) word: bool,
    /// A label that was stored.
    pub(super) fill: bool,
    /// A label to store.
    pub(super) store: bool,
}

/// The port of one cell, and its memory.
pub(super) struct MemoryPort {
    words: Reader,
    list: Reader,
    /// Numbers of the labels that are read again, and how many of them were asked for.
    fills: Vec<u64>,
    fills_asked: usize,
    is_label_offered: bool,
    /// Labels that are there, and those that the queue has space for besides all that were asked for.
    labels: u64,
    labels_free: u64,
    /// Labels to store, and those of which the memory has answered.
    stores: u64,
    stored: u64,
    pipe: Pipe,
    /// When reads and writes are answered.
    reads: VecDeque<(u64, Reading)>,
    writes: VecDeque<u64>,
}

impl MemoryPort {
    /// The ports of all cells before the first cycle; none if there is no memory. It begins at a multiple of the longest
    /// burst.
    pub(super) fn all(stream: &Stream, link: &HostLink, clock_mhz: u32) -> Vec<MemoryPort> {
        let Some(rate) = link.memory_rate else { return Vec::new() };
        let timing = MemoryTiming::new(rate, stream.parameters.cells, clock_mhz);
        let layout = MemoryImage::layout(stream, 0);
        let lane_quads = stream.parameters.lane_quads() as u64;
        let port = |fills| MemoryPort {
            words: Reader::new((layout.word_count.into(), lane_quads), 0, WORD_BEATS),
            list: Reader::new((layout.fill_count.into(), 1), layout.fill_offset.into(), LIST_BEATS),
            fills,
            fills_asked: 0,
            is_label_offered: false,
            labels: 0,
            labels_free: FILLS,
            stores: 0,
            stored: 0,
            pipe: Pipe::of_memory(timing),
            reads: VecDeque::new(),
            writes: VecDeque::new(),
        };
        Stored::of(stream).fills.into_iter().map(port).collect()
    }

    /// Whether a word can be taken in this cycle.
    pub(super) fn has_word(&self) -> bool {
        self.words.has_lane()
    }

    /// Whether a label can be taken that was stored.
    pub(super) fn has_fill(&self) -> bool {
        self.labels > 0
    }

    /// Whether no label can be given.
    pub(super) fn is_full(&self) -> bool {
        self.stores == STORES
    }

    /// Ends a cycle. Everything is decided by what was there before it.
    pub(super) fn end_cycle(&mut self, cycle: u64, moved: PortMoved) {
        let arrival = self.reads.front().filter(|(at, _)| *at <= cycle).map(|&(_, what)| what);
        let is_answered = self.writes.front().is_some_and(|&at| at <= cycle);
        let next = self.fills.get(self.fills_asked);
        let is_stored = next.is_some_and(|&number| number < self.stored);
        let can_ask = !self.is_label_offered && self.labels_free > 0;
        let asks_label = is_stored && can_ask && self.list.has_lane();
        let taken = self.take_address(cycle);
        if self.stores > 0 {
            self.stores -= 1;
            self.writes.push_back(self.pipe.send(cycle + 1, MEMORY_BEAT_BYTES).arrives);
        }
        let is = |what: Option<Reading>, reader: Reading| what == Some(reader);
        let [words, list] = [Reading::Words, Reading::List];
        self.words.end_cycle([moved.word, is(taken, words), is(arrival, words)]);
        self.list.end_cycle([asks_label, is(taken, list), is(arrival, list)]);
        if asks_label {
            self.fills_asked += 1;
            self.is_label_offered = true;
        }
        self.labels_free = self.labels_free + u64::from(moved.fill) - u64::from(asks_label);
        self.labels += u64::from(is(arrival, Reading::Labels));
        self.labels -= u64::from(moved.fill);
        self.stores += u64::from(moved.store);
        if arrival.is_some() {
            self.reads.pop_front();
        }
        if is_answered {
            self.writes.pop_front();
            self.stored += 1;
        }
    }

    /// The memory takes an address, if one is offered.
    fn take_address(&mut self, cycle: u64) -> Option<Reading> {
        let (reading, beats) = if std::mem::take(&mut self.is_label_offered) {
            (Reading::Labels, 1)
        } else if let Some(beats) = self.list.offered {
            (Reading::List, beats)
        } else {
            (Reading::Words, self.words.offered?)
        };
        for _ in 0..beats {
            let passage = self.pipe.send(cycle + 1, MEMORY_BEAT_BYTES);
            self.reads.push_back((passage.arrives, reading));
        }
        Some(reading)
    }

    /// Bytes that were read and written.
    pub(super) fn bytes(&self) -> u64 {
        self.pipe.bytes()
    }

    /// Cycles in which the memory was busy.
    pub(super) fn busy_cycles(&self) -> u64 {
        self.pipe.busy_cycles()
    }
}
