//! `hw explain --overlay sifo`: what a run on SIFO takes, for comparison.

use std::path::Path;

use phineus_overlay::sifo::allocation::{Allocation, MemoryPolicy};
use phineus_overlay::sifo::layers::Layers;
use phineus_overlay::sifo::netlist::Netlist;
use phineus_overlay::sifo::published::Variant;
use phineus_session::failure::{Failure, codes};
use phineus_session::registry::Registry;
use phineus_tables::quantity;
use serde_json::json;

use super::compiled::recorded;
use crate::arguments::HardwareProgram;
use crate::output::Console;

/// Bytes of a garbled AND: three rows of 80 bits.
const ROW_BYTES: u64 = 30;

/// Prints figures of a program, or of a netlist in the text form of SIFO.
pub(super) fn explain(
    registry: &Registry,
    program: &HardwareProgram,
    console: &Console,
) -> Result<(), Failure> {
    let file = program.choice.program.as_deref().map(Path::new);
    let netlist_file = file.filter(|file| file.extension().is_some_and(|name| name == "sifo"));
    let netlist = match netlist_file {
        Some(file) => read(file)?,
        None => Netlist::from_overlay(&recorded(registry, program)?),
    };
    let layers = Layers::new(&netlist);
    let counts = layers.statistics();
    let allocation = Allocation::new(&netlist, &layers, MemoryPolicy::DirectlyUsed);
    let microseconds = Variant::TABLE_11.simulate(&netlist, &layers).microseconds();
    let row_bytes = ROW_BYTES * counts.ands as u64;
    if console.is_json {
        console.document(json!({
            "and_gates": counts.ands,
            "xor_gates": counts.xors,
            "layers": counts.layers,
            "wires": counts.wires,
            "wires_in_block_ram": allocation.on_chip,
            "row_bytes_out": row_bytes,
            "seconds": microseconds / 1e6,
        }));
        return Ok(());
    }
    let lines = [
        format!("AND gates  {}", quantity::count(counts.ands as u64)),
        format!("XOR gates  {}", quantity::count(counts.xors as u64)),
        format!("layers     {}", quantity::count(counts.layers as u64)),
        format!(
            "wires      {}, {} of them in block RAM",
            quantity::count(counts.wires as u64),
            quantity::count(allocation.on_chip.into())
        ),
        format!("rows out   {}", quantity::bytes(row_bytes)),
        format!(
            "time       {:.3} ms, predicted for its 15 AND and 15 XOR cells at 200 MHz",
            microseconds / 1e3
        ),
        "SIFO is here to compare with: labels of 80 bits and SHA-1 protect nothing.".to_owned(),
    ];
    console.print(&lines.join("\n"))
}

fn read(file: &Path) -> Result<Netlist, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::file(file, &error))?;
    Netlist::from_text(&text).map_err(|error| {
        let message = format!("column {}: {}", error.column, error.fault);
        Failure::new(codes::PROGRAM, message).at_line(file, error.line)
    })
}
