//! [`MemoryReader`]: what reads the words of a cell from memory (`ovl_reader.sv`), and the memory, cycle by cycle.
//!
//! All cells read the same number of words from equal memories, and take them in the same cycle, so one of them stands for all.

use std::collections::VecDeque;

use super::pipe::{Pipe, latency_cycles};
use super::{HostLink, MEMORY_LATENCY_NS};
use crate::device::MEMORY_BEAT_BYTES;
use crate::stream::Stream;

/// Beats that the reader has space for (`READ_AHEAD_BITS` in `ovl_pkg.sv`), and beats of a burst (`BURST_BITS`).
const QUEUE_BEATS: u64 = 128;
const BURST_BEATS: u64 = 16;

/// Quadwords of 64 bits in a beat.
const BEAT_QUADS: u64 = MEMORY_BEAT_BYTES / 8;

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

/// The reader of one cell, and its memory.
pub(super) struct MemoryReader {
    cells: u64,
    lane_quads: u64,
    pipe: Pipe,
    /// When the beats arrive that were asked for.
    arrivals: VecDeque<u64>,
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

impl MemoryReader {
    /// A reader before its first cycle; none if the host sends the words. They begin at a multiple of the longest burst.
    pub(super) fn new(stream: &Stream, link: &HostLink, clock_mhz: u32) -> Option<MemoryReader> {
        let cells = stream.parameters.cells;
        let timing = MemoryTiming::new(link.memory_rate?, cells, clock_mhz);
        let lanes = stream.word_count() + 1;
        let lane_quads = stream.parameters.lane_quads() as u64;
        Some(MemoryReader {
            cells: cells.into(),
            lane_quads,
            pipe: Pipe::of_memory(timing),
            arrivals: VecDeque::new(),
            offered: None,
            beat: 0,
            beats_left: (lanes * lane_quads).div_ceil(BEAT_QUADS),
            free: QUEUE_BEATS,
            queued: 0,
            held: 0,
            lanes_left: lanes,
        })
    }

    /// Whether a word can be taken in this cycle.
    pub(super) fn has_word(&self) -> bool {
        self.held >= self.lane_quads && self.lanes_left > 0
    }

    /// Ends a cycle, in which the device took a word or not. Everything is decided by what was there before it.
    pub(super) fn end_cycle(&mut self, cycle: u64, is_taken: bool) {
        let kept = self.held - if is_taken { self.lane_quads } else { 0 };
        let pops = self.queued > 0 && kept <= self.lane_quads;
        let arrives = self.arrivals.front().is_some_and(|&arrives| arrives <= cycle);
        let length = self.beats_left.min(BURST_BEATS - self.beat % BURST_BEATS);
        let asks = self.offered.is_none() && length > 0 && self.free >= length;
        for _ in 0..self.offered.take().unwrap_or(0) {
            self.arrivals.push_back(self.pipe.send(cycle + 1, MEMORY_BEAT_BYTES).arrives);
        }
        if asks {
            self.offered = Some(length);
            self.beat += length;
            self.beats_left -= length;
            self.free -= length;
        }
        if arrives {
            self.arrivals.pop_front();
            self.queued += 1;
        }
        self.held = kept;
        if pops {
            self.queued -= 1;
            self.free += 1;
            self.held += BEAT_QUADS;
        }
        self.lanes_left -= u64::from(is_taken);
    }

    /// Bytes that were read for all cells.
    pub(super) fn bytes(&self) -> u64 {
        self.cells * self.pipe.bytes()
    }

    /// Cycles in which the memory was busy.
    pub(super) fn busy_cycles(&self) -> u64 {
        self.pipe.busy_cycles()
    }
}
