//! `hw explain`: what a run on the overlay takes.

use std::path::Path;

use phineus_crypto::GarbledGate;
use phineus_overlay::link::HostLink;
use phineus_overlay::stream::Stream;
use phineus_session::failure::{Failure, codes};
use phineus_session::registry::Registry;
use phineus_tables::quantity;
use serde_json::json;

use super::compiled::{compile, open};
use super::linked::{Linked, table};
use super::sifo;
use crate::arguments::{ExplainHardwareArguments, OverlayChoice};
use crate::output::Console;

/// Bytes of a label.
const LABEL_BYTES: u64 = 16;

/// Prints figures of a program or a stream.
pub(super) fn explain(
    registry: &Registry,
    arguments: &ExplainHardwareArguments,
    console: &Console,
) -> Result<(), Failure> {
    if arguments.overlay == OverlayChoice::Sifo {
        return sifo::explain(registry, &arguments.program, console);
    }
    let file = arguments.program.choice.program.as_deref().map(Path::new);
    let stream_file = file.filter(|file| file.extension().is_some_and(|name| name == "ovl"));
    let (stream, figures) = match stream_file {
        Some(file) => {
            let stream = open(file)?;
            let cells = stream.parameters.cells;
            if let Some(other) = arguments.program.cells.filter(|&other| other != cells) {
                let what = format!("the stream is for {cells} cells, not for {other}");
                let failure = Failure::new(codes::NOT_A_STREAM, what).in_file(file);
                return Err(failure.remedy("leave --cells out, or compile the program again"));
            }
            (stream, None)
        }
        None => {
            let (stream, figures) = compile(registry, &arguments.program)?;
            (stream, Some(figures))
        }
    };
    let bytes = Bytes::of(&stream);
    let labels = u64::from(stream.parameters.cells) * stream.parameters.labels();
    let clock_mhz = arguments.clock.clock;
    let linked = links(arguments);
    let linked: Vec<_> =
        linked.into_iter().map(|link| Linked::new(&stream, link, clock_mhz)).collect();
    let cell_seconds = stream.cycles() as f64 / (f64::from(clock_mhz) * 1e6);
    let per_and = stream.cycles() as f64 / stream.and_count().max(1) as f64;
    if console.is_json {
        console.document(json!({
            "cells": stream.parameters.cells,
            "and_gates": stream.and_count(),
            "cycles": stream.cycles(),
            "cycles_per_and": per_and,
            "words": stream.word_count(),
            "word_bytes_in": bytes.words,
            "label_bytes_in": bytes.labels,
            "row_bytes_out": bytes.rows,
            "result_bytes_out": bytes.results,
            "wire_memory_labels": labels,
            "peak_labels": figures.map(|figures| figures.peak_labels),
            "moved_labels": figures.map(|figures| figures.moves),
            "spilled_labels": figures.map(|figures| figures.spills),
            "filled_labels": figures.map(|figures| figures.fills),
            "xor_operations": figures.map(|figures| figures.xors),
            "clock_mhz": clock_mhz,
            "cell_seconds": cell_seconds,
            "seconds": linked[0].seconds(),
            "links": linked.iter().map(Linked::document).collect::<Vec<_>>(),
        }));
        return Ok(());
    }
    let mut lines = vec![
        format!("AND gates          {}", quantity::count(stream.and_count())),
        format!("cycles             {} ({per_and:.3} per AND)", quantity::count(stream.cycles())),
    ];
    if stream.parameters.cells > 1 {
        lines.insert(0, format!("cells              {}", stream.parameters.cells));
    }
    if let Some(figures) = figures {
        lines.push(format!("XOR operations     {}", quantity::count(figures.xors)));
        lines.push(format!(
            "wire memory        {} labels at most, of {}",
            quantity::count(figures.peak_labels),
            quantity::count(labels)
        ));
        if stream.parameters.cells > 1 {
            lines.push(format!("between cells      {} labels", quantity::count(figures.moves)));
        }
        if figures.spills + figures.fills > 0 {
            lines.push(format!(
                "stored for a time  {} labels, loaded again {} times",
                quantity::count(figures.spills),
                quantity::count(figures.fills)
            ));
        }
    }
    lines.extend([
        format!("words in           {}", quantity::bytes(bytes.words)),
        format!("labels in          {}", quantity::bytes(bytes.labels)),
        format!("rows out           {}", quantity::bytes(bytes.rows)),
        format!("results out        {}", quantity::bytes(bytes.results)),
        format!(
            "cells alone        {} at {clock_mhz} MHz, if the host is always ready: {}/s in, {}/s out",
            milliseconds(cell_seconds),
            quantity::bytes(((bytes.words + bytes.labels) as f64 / cell_seconds) as u64),
            quantity::bytes(((bytes.rows + bytes.results) as f64 / cell_seconds) as u64)
        ),
    ]);
    lines.extend(if linked.len() > 1 { table(&linked) } else { linked[0].lines() });
    lines.push(
        "Clock and link are stated, not measured: the RTL was simulated and never placed on a device."
            .to_owned(),
    );
    console.print(&lines.join("\n"))
}

/// The links that figures are stated for. If several are stated, and memory beside the device, each comes without it too.
fn links(arguments: &ExplainHardwareArguments) -> Vec<HostLink> {
    let stated = match arguments.link.as_slice() {
        [] => &[HostLink::default()][..],
        links => links,
    };
    let memory_rate = arguments.memory.words_in_memory;
    let rates: Vec<Option<u32>> = match (stated.len(), memory_rate) {
        (1, _) | (_, None) => vec![memory_rate],
        (_, Some(_)) => vec![None, memory_rate],
    };
    let with = |rate: Option<u32>| stated.iter().map(move |link| link.clone().with_memory(rate));
    rates.into_iter().flat_map(with).collect()
}

/// A time that may be far below a millisecond.
pub(super) fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

/// Bytes of the streams of a garbler.
struct Bytes {
    words: u64,
    labels: u64,
    rows: u64,
    results: u64,
}

impl Bytes {
    fn of(stream: &Stream) -> Bytes {
        Bytes {
            words: 8 * stream.quads.len() as u64,
            labels: LABEL_BYTES * stream.loads.len() as u64,
            rows: GarbledGate::BYTES as u64 * stream.and_count(),
            results: LABEL_BYTES * stream.outputs.len() as u64,
        }
    }
}
