//! `hw show`: a command stream as text.

use std::fmt::Write as _;
use std::io::{BufWriter, Write};

use phineus_overlay::schedule::STORED;
use phineus_overlay::word::{
    Address, PORT_A, PORT_B, PORT_POST, PORT_X, PORT_Y, WRITE_AND, WRITE_LOAD, WRITE_X, WRITE_Y,
    WRITE_Z, Word, WordKind,
};
use phineus_session::failure::Failure;
use serde_json::json;

use super::compiled::open;
use crate::arguments::ShowStreamArguments;
use crate::output::Console;

/// Prints a line for each word, with its cycle; of several cells a line for each that does something.
pub(super) fn show(arguments: &ShowStreamArguments, console: &Console) -> Result<(), Failure> {
    let stream = open(&arguments.stream)?;
    let parameters = stream.parameters;
    if console.is_json {
        console.document(json!({
            "cells": parameters.cells,
            "bank_bits": parameters.bank_bits,
            "row_bits": parameters.row_bits,
            "parameter_hash": format!("{:016x}", parameters.hash()),
            "words": stream.word_count(),
            "and_gates": stream.and_count(),
            "cycles": stream.cycles(),
            "inputs": stream.loads.len(),
            "outputs": stream.outputs.len(),
        }));
        return Ok(());
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    writeln!(
        out,
        "# {} cells, {} banks of {} labels in each, parameters {:016x}; {} words, {} AND gates, {} cycles",
        parameters.cells,
        1 << parameters.bank_bits,
        1 << parameters.row_bits,
        parameters.hash(),
        stream.word_count(),
        stream.and_count(),
        stream.cycles()
    )?;
    let (mut cycle, mut loads, mut outputs) = (0, stream.loads.iter(), stream.outputs.iter());
    for lanes in stream.steps() {
        let has_load = lanes.iter().any(|word| word.writes[WRITE_LOAD].is_some());
        let input = if has_load { loads.next().map_or(0, |&input| input) } else { 0 };
        for (cell, word) in lanes.iter().enumerate() {
            let mut text = String::new();
            describe(&mut text, word);
            if let Some(to) = word.writes[WRITE_LOAD] {
                let _ = write!(text, "  {} := {}", place(to), named("input", input));
            }
            if word.is_output {
                let output = outputs.next().map_or(0, |&output| output);
                let x = sum(word, PORT_X, 3, 3);
                let _ = write!(text, "  {} := {x}", named("output", output));
            }
            match parameters.cells {
                1 => writeln!(out, "{cycle:>8} {text}")?,
                _ if text.is_empty() => {}
                _ => writeln!(out, "{cycle:>8} {cell:>2} {text}")?,
            }
        }
        cycle += 1 + u64::from(lanes[0].idle);
    }
    Ok(out.flush()?)
}

fn describe(text: &mut String, word: &Word) {
    match word.kind {
        WordKind::Issue => {}
        WordKind::Check => return text.push_str("  check"),
        WordKind::Last => return text.push_str("  end"),
    }
    if let Some(to) = word.writes[WRITE_AND] {
        let (a, b) = (sum(word, PORT_A, 2, 0), sum(word, PORT_B, 2, 1));
        let _ = write!(text, "  {} := ({a}) & ({b})", place(to));
        if word.operands(PORT_POST, 2).next().is_some() || word.nots[2] {
            let _ = write!(text, " ^ {}", sum(word, PORT_POST, 2, 2));
        }
        let _ = write!(text, " #{}", word.index);
    }
    for (write, port, not) in [(WRITE_X, PORT_X, 3), (WRITE_Y, PORT_Y, 4)] {
        if let Some(to) = word.writes[write] {
            let _ = write!(text, "  {} := {}", place(to), sum(word, port, 3, not));
        }
    }
    if let Some((cell, to)) = word.moved {
        let _ = write!(text, "  cell {cell} {} := {}", place(to), sum(word, PORT_X, 3, 3));
    }
    if let Some(to) = word.writes[WRITE_Z] {
        let _ = write!(text, "  {} := {}", place(to), sum_of(word.terms(), word.nots[5]));
    }
}

/// An input or output, or a label that the host stores.
fn named(what: &str, number: u32) -> String {
    match number & STORED {
        0 => format!("{what} {number}"),
        _ => format!("stored {}", number & !STORED),
    }
}

fn place(address: Address) -> String {
    format!("{}.{}", address.bank, address.row)
}

/// The XOR that some ports read.
fn sum(word: &Word, first: usize, ports: usize, not: usize) -> String {
    sum_of(word.operands(first, ports), word.nots[not])
}

fn sum_of(addresses: impl Iterator<Item = Address>, is_not: bool) -> String {
    let terms: Vec<String> = addresses.map(place).chain(is_not.then(|| "1".to_owned())).collect();
    if terms.is_empty() { "0".to_owned() } else { terms.join(" ^ ") }
}
