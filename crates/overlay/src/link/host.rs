//! [`LinkedHost`]: which items the host may give and take in each cycle, if a link is between it and the device.

use std::collections::VecDeque;

use phineus_crypto::GarbledGate;

use super::HostLink;
use super::pipe::{Pipe, latency_cycles};
use crate::device::{NO_RESULT, load_results};
use crate::stream::Stream;
use crate::word::{WRITE_LOAD, Word};

/// Bytes of a label.
const LABEL_BYTES: u64 = 16;

/// Bytes of a row.
const ROW_BYTES: u64 = GarbledGate::BYTES as u64;

/// The items that are ready on the host's side in a cycle. They move if the device is ready too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permits {
    /// The next word is in the shell; never if words are in memory.
    pub word: bool,
    /// The next label is in the shell.
    pub label: bool,
    /// The shell has space for a beat of rows and for a result.
    pub space: bool,
}

/// Transfers of one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemsMoved {
    /// The device took a word.
    pub word: bool,
    /// The device took a label.
    pub label: bool,
    /// Rows of the beat that it gave.
    pub rows: u64,
    /// It gave a result.
    pub result: bool,
}

/// Items on their way into the device.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Label,
}

/// A pipe into the device, the items for it, and the buffer at its end.
struct Inlet {
    pipe: Pipe,
    /// All items in their order, and how many of them were sent.
    items: Vec<Kind>,
    sent: usize,
    labels_sent: usize,
    /// When items arrive.
    in_transit: VecDeque<(u64, Kind)>,
    /// Bytes in transit and in the buffer.
    held_bytes: u64,
}

impl Inlet {
    fn new(pipe: Pipe, items: Vec<Kind>) -> Inlet {
        let in_transit = VecDeque::new();
        Inlet { pipe, items, sent: 0, labels_sent: 0, in_transit, held_bytes: 0 }
    }

    /// Sends items that begin in this cycle; `is_there` says whether the host has the label of a number.
    fn send(
        &mut self,
        cycle: u64,
        (word_bytes, buffer_bytes): (u64, u64),
        is_there: impl Fn(usize) -> bool,
    ) {
        while self.pipe.is_free(cycle) {
            let Some(&kind) = self.items.get(self.sent) else { return };
            let (bytes, is_there) = match kind {
                Kind::Word => (word_bytes, true),
                Kind::Label => (LABEL_BYTES, is_there(self.labels_sent)),
            };
            if !is_there || self.held_bytes + bytes > buffer_bytes {
                return;
            }
            let passage = self.pipe.send(cycle, bytes);
            self.in_transit.push_back((passage.arrives, kind));
            self.held_bytes += bytes;
            self.sent += 1;
            self.labels_sent += usize::from(kind == Kind::Label);
        }
    }

    /// The next item that has arrived.
    fn arrival(&mut self, cycle: u64) -> Option<Kind> {
        let (arrives, kind) = *self.in_transit.front()?;
        if arrives > cycle {
            return None;
        }
        self.in_transit.pop_front();
        Some(kind)
    }
}

/// The host of one run that garbles, with its link. Words and labels in memory do not concern it.
pub struct LinkedHost {
    cycle: u64,
    buffer_bytes: u64,
    word_bytes: u64,
    /// Whether words come from the host.
    sends_words: bool,
    cells: u64,
    from_host: Inlet,
    to_host: Pipe,
    /// When each item in the shell will have left, and its bytes.
    leaving: VecDeque<(u64, u64)>,
    leaving_bytes: u64,
    /// When results reach the host that are not there yet.
    results_in_transit: VecDeque<u64>,
    results_at_host: u64,
    /// The result that each label was, or [`NO_RESULT`].
    label_results: Vec<u64>,
    /// Items in the shell.
    words_there: u64,
    labels_there: u64,
    /// First cycle in which the host has all that the device gave.
    last_arrival: u64,
    quiet_cycles_max: u64,
}

impl LinkedHost {
    /// A host that has sent nothing, for a device of a clock in MHz.
    pub fn new(stream: &Stream, link: &HostLink, clock_mhz: u32) -> LinkedHost {
        let pipe = |rate| Pipe::new(rate, clock_mhz, link.latency_ns);
        let has_memory = link.memory_rate.is_some();
        let from_host = items(stream, has_memory);
        let word_bytes = stream.parameters.word_bytes() as u64;
        let slowest = link.in_rate.min(link.out_rate).min(link.memory_rate.unwrap_or(u32::MAX));
        let word_cycles = word_bytes * u64::from(clock_mhz) / u64::from(slowest);
        LinkedHost {
            cycle: 0,
            buffer_bytes: link.buffer_bytes.into(),
            word_bytes,
            sends_words: !has_memory,
            cells: stream.parameters.cells.into(),
            from_host: Inlet::new(pipe(link.in_rate), from_host),
            to_host: pipe(link.out_rate),
            leaving: VecDeque::new(),
            leaving_bytes: 0,
            results_in_transit: VecDeque::new(),
            results_at_host: 0,
            label_results: load_results(stream, has_memory),
            words_there: 0,
            labels_there: 0,
            last_arrival: 0,
            quiet_cycles_max: 4 * (latency_cycles(link.latency_ns, clock_mhz) + word_cycles),
        }
    }

    /// Cycles that passed.
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// First cycle in which the host has all rows and results that the device gave.
    pub fn last_arrival(&self) -> u64 {
        self.last_arrival
    }

    /// The longest time in cycles in which the device and the host may have nothing to move, in a run that has not ended.
    pub fn quiet_cycles_max(&self) -> u64 {
        self.quiet_cycles_max
    }

    /// Cycles in which link in and link out were busy.
    pub(super) fn busy_cycles(&self) -> [u64; 2] {
        [self.from_host.pipe.busy_cycles(), self.to_host.busy_cycles()]
    }

    /// Bytes on link in and link out.
    pub fn bytes(&self) -> [u64; 2] {
        [self.from_host.pipe.bytes(), self.to_host.bytes()]
    }

    /// Begins a cycle: sends what can be sent; returns what may move.
    pub fn begin_cycle(&mut self) -> Permits {
        let cycle = self.cycle;
        while self.results_in_transit.front().is_some_and(|&arrives| arrives <= cycle) {
            self.results_in_transit.pop_front();
            self.results_at_host += 1;
        }
        while self.leaving.front().is_some_and(|&(leaves, _)| leaves <= cycle) {
            self.leaving_bytes -= self.leaving.pop_front().map_or(0, |(_, bytes)| bytes);
        }
        let sizes = (self.word_bytes, self.buffer_bytes);
        let (label_results, results_at_host) = (&self.label_results, self.results_at_host);
        self.from_host.send(cycle, sizes, |label| {
            label_results[label] == NO_RESULT || label_results[label] < results_at_host
        });
        while let Some(kind) = self.from_host.arrival(cycle) {
            match kind {
                Kind::Word => self.words_there += 1,
                Kind::Label => self.labels_there += 1,
            }
        }
        let space_bytes = self.cells * ROW_BYTES + LABEL_BYTES;
        Permits {
            word: self.words_there > 0,
            label: self.labels_there > 0,
            space: self.leaving_bytes + space_bytes <= self.buffer_bytes,
        }
    }

    /// Ends a cycle, in which these items moved.
    pub fn end_cycle(&mut self, moved: ItemsMoved) {
        if moved.word && self.sends_words {
            self.words_there -= 1;
            self.from_host.held_bytes -= self.word_bytes;
        }
        if moved.label {
            self.labels_there -= 1;
            self.from_host.held_bytes -= LABEL_BYTES;
        }
        self.cycle += 1;
        if moved.rows > 0 {
            self.leave(moved.rows * ROW_BYTES);
        }
        if moved.result {
            let arrives = self.leave(LABEL_BYTES);
            self.results_in_transit.push_back(arrives);
        }
    }

    /// Takes an item of the device into the shell; returns when the host has it.
    fn leave(&mut self, bytes: u64) -> u64 {
        let passage = self.to_host.send(self.cycle, bytes);
        self.leaving.push_back((passage.leaves, bytes));
        self.leaving_bytes += bytes;
        self.last_arrival = passage.arrives;
        passage.arrives
    }
}

/// Items that the host sends, in order: the header, then a label before the word that loads it; without words and stored
/// labels if they are in memory.
fn items(stream: &Stream, has_memory: bool) -> Vec<Kind> {
    let mut items = Vec::new();
    let is_given = |lane: &Word| lane.writes[WRITE_LOAD].is_some() && !(has_memory && lane.is_fill);
    let is_load = |lanes: Vec<Word>| lanes.iter().any(is_given);
    let header = std::iter::once(false);
    for has_label in header.chain(stream.steps().map(is_load)) {
        if has_label {
            items.push(Kind::Label);
        }
        if !has_memory {
            items.push(Kind::Word);
        }
    }
    items
}
