//! The part of `hw explain` about the link between host and device.

use phineus_overlay::link::{Bound, HostLink, Prediction, predict};
use phineus_overlay::stream::Stream;
use phineus_tables::quantity;
use serde_json::{Value, json};

use super::explain::milliseconds;

/// A link, and what a run with it takes.
pub(super) struct Linked<'a> {
    pub(super) link: HostLink,
    pub(super) prediction: Prediction,
    stream: &'a Stream,
    clock_mhz: u32,
}

impl<'a> Linked<'a> {
    pub(super) fn new(stream: &'a Stream, link: HostLink, clock_mhz: u32) -> Linked<'a> {
        let prediction = predict(stream, &link, clock_mhz);
        Linked { link, prediction, stream, clock_mhz }
    }

    /// Time until the host has all rows and results.
    pub(super) fn seconds(&self) -> f64 {
        self.prediction.total_cycles as f64 / (f64::from(self.clock_mhz) * 1e6)
    }

    fn per_and(&self) -> f64 {
        self.prediction.total_cycles as f64 / self.stream.and_count().max(1) as f64
    }

    fn million_ands_per_second(&self) -> f64 {
        f64::from(self.clock_mhz) / self.per_and()
    }

    /// Time to load the words into the memory beside the device.
    fn load_seconds(&self) -> f64 {
        8.0 * self.stream.quads.len() as f64 / (f64::from(self.link.in_rate) * 1e6)
    }

    /// Lines of text.
    pub(super) fn lines(&self) -> Vec<String> {
        let Prediction { cycles, stalls, total_cycles, busy_cycles, .. } = self.prediction;
        let count = quantity::count;
        let rate = |rate: u32| format!("{} GB/s", f64::from(rate) / 1e3);
        let percent =
            |busy: u64| format!("{:.0} %", 100.0 * busy as f64 / total_cycles.max(1) as f64);
        let [link_in, link_out, memory] = busy_cycles.map(percent);
        let link = &self.link;
        let mut lines = vec![
            format!(
                "link               {}: {} in, {} out, {} ns of latency",
                link.name,
                rate(link.in_rate),
                rate(link.out_rate),
                link.latency_ns
            ),
            format!(
                "waiting            {} cycles: {} for words, {} for labels, {} for space for rows and results",
                count(stalls.total()),
                count(stalls.words),
                count(stalls.labels),
                count(stalls.space)
            ),
            format!(
                "in all             {} cycles ({:.3} per AND), {} of them before the first word and after the last",
                count(total_cycles),
                self.per_and(),
                count(total_cycles.saturating_sub(cycles + stalls.total()))
            ),
            format!(
                "busy               cells {}, link in {link_in}, link out {link_out}{}",
                percent(cycles),
                if link.memory_rate.is_some() {
                    format!(", memory {memory}")
                } else {
                    String::new()
                }
            ),
            format!("bound by           {}", bound_name(self.prediction.bound())),
            format!(
                "time               {} at {} MHz: {:.1} million AND/s",
                milliseconds(self.seconds()),
                self.clock_mhz,
                self.million_ands_per_second()
            ),
        ];
        if let Some(memory_rate) = link.memory_rate {
            lines.insert(
                1,
                format!(
                    "memory             {} beside the device; loading the words into it takes {} once",
                    rate(memory_rate),
                    milliseconds(self.load_seconds())
                ),
            );
        }
        lines
    }

    /// The fields for the JSON document.
    pub(super) fn document(&self) -> Value {
        let Prediction { stalls, total_cycles, busy_cycles, bytes, .. } = self.prediction;
        let rate = |rate: u32| 1_000_000 * u64::from(rate);
        json!({
            "name": self.link.name,
            "in_bytes_per_second": rate(self.link.in_rate),
            "out_bytes_per_second": rate(self.link.out_rate),
            "latency_ns": self.link.latency_ns,
            "buffer_bytes": self.link.buffer_bytes,
            "memory_bytes_per_second": self.link.memory_rate.map(rate),
            "load_seconds": self.link.memory_rate.map(|_| self.load_seconds()),
            "bytes_in": bytes[0],
            "bytes_out": bytes[1],
            "bytes_from_memory": bytes[2],
            "stalls": stalls.total(),
            "stalls_for_words": stalls.words,
            "stalls_for_labels": stalls.labels,
            "stalls_for_space": stalls.space,
            "total_cycles": total_cycles,
            "total_cycles_per_and": self.per_and(),
            "link_in_busy_cycles": busy_cycles[0],
            "link_out_busy_cycles": busy_cycles[1],
            "memory_busy_cycles": busy_cycles[2],
            "bound_by": bound_name(self.prediction.bound()),
            "seconds": self.seconds(),
            "and_gates_per_second": 1e6 * self.million_ands_per_second(),
        })
    }
}

fn bound_name(bound: Bound) -> &'static str {
    match bound {
        Bound::Cell => "cells",
        Bound::LinkIn => "link in",
        Bound::LinkOut => "link out",
        Bound::Memory => "memory",
    }
}

/// A table of several links in Markdown.
pub(super) fn table(all: &[Linked<'_>]) -> Vec<String> {
    let clock_mhz = all.first().map_or(0, |linked| linked.clock_mhz);
    let mut lines = vec![
        format!(
            "| link | words from | waiting cycles | cycles in all | per AND | million AND/s at {clock_mhz} MHz | bound by |"
        ),
        "|---|---|---|---|---|---|---|".to_owned(),
    ];
    lines.extend(all.iter().map(|linked| {
        let Prediction { stalls, total_cycles, .. } = linked.prediction;
        let memory = linked.link.memory_rate;
        format!(
            "| {} | {} | {} | {} | {:.3} | {:.0} | {} |",
            linked.link.name,
            memory.map_or("host".to_owned(), |rate| format!(
                "memory, {} GB/s",
                f64::from(rate) / 1e3
            )),
            quantity::count(stalls.total()),
            quantity::count(total_cycles),
            linked.per_and(),
            linked.million_ands_per_second(),
            bound_name(linked.prediction.bound())
        )
    }));
    lines
}
