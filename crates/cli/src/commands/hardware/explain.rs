//! `hw explain`: what a run on the overlay takes.

use std::path::Path;

use phineus_crypto::GarbledGate;
use phineus_overlay::stream::Stream;
use phineus_session::failure::{Failure, codes};
use phineus_session::registry::Registry;
use phineus_tables::quantity;
use serde_json::json;

use super::compiled::{compile, open};
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
            let compiled = compile(registry, &arguments.program)?;
            (compiled.stream, Some(compiled.figures))
        }
    };
    let bytes = Bytes::of(&stream);
    let labels = u64::from(stream.parameters.cells) * stream.parameters.labels();
    let seconds = stream.cycles() as f64 / (f64::from(arguments.clock) * 1e6);
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
            "clock_mhz": arguments.clock,
            "seconds": seconds,
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
                "stored by the host {} labels, sent again {} times",
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
            "time               {} at {} MHz, if the host is always ready: {}/s in, {}/s out",
            milliseconds(seconds),
            arguments.clock,
            quantity::bytes(((bytes.words + bytes.labels) as f64 / seconds) as u64),
            quantity::bytes(((bytes.rows + bytes.results) as f64 / seconds) as u64)
        ),
        "The clock is stated, not measured: the RTL was simulated and never placed on a device."
            .to_owned(),
    ]);
    console.print(&lines.join("\n"))
}

/// A time that may be far below a millisecond.
fn milliseconds(seconds: f64) -> String {
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
