//! Gates a second that compile to a command stream on one core, and the memory that this takes.
//!
//! `cargo run --release -p phineus-overlay --example compile_speed -- KEYS REPETITIONS CELLS` sorts KEYS values of 64 bits in
//! a bitonic network, REPETITIONS times, and writes the stream into a temporary file. Without numbers it prints the cycles for
//! each AND of other circuits.

#[path = "../tests/circuits/mod.rs"]
mod circuits;

use std::time::Instant;

use phineus_overlay::netlist::NetlistBuilder;
use phineus_overlay::parameters::Parameters;
use phineus_overlay::{compile_netlist, compile_to_file};
use phineus_plan::Scratch;

/// A line of the memory of this process, in MiB.
fn memory_mib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    let kib = line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// Cycles for each AND of some circuits on devices of several cells.
fn print_cycles() -> Result<(), Box<dyn std::error::Error>> {
    let circuits = [
        ("64-bit multiplication, one", circuits::product(64, 1)),
        ("64-bit multiplication, eight", circuits::product(64, 8)),
        ("64 x 64 to 128 bits, one", circuits::full_product(128, 1)),
        ("product of 10x10 matrices, 8 bits", circuits::matrix_product(8, 10)),
        ("AES-128, one block", circuits::aes128()),
        ("AES-128, four blocks", circuits::aes128_blocks(4)),
        ("SHA-256, one block", circuits::sha256()),
        ("64-bit addition, one", circuits::addition(64, 1)),
        ("100,000 random gates", circuits::random(7, 100_000)),
    ];
    for (name, netlist) in circuits {
        print!("{name:34}");
        for cells in [1, 2, 4, 8, 16] {
            let (_, figures) = compile_netlist(&netlist, Parameters::with_cells(cells), [0; 32])?;
            print!(" {:.3}", figures.cycles as f64 / figures.ands as f64);
        }
        println!();
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<usize> =
        std::env::args().skip(1).map(|number| number.parse()).collect::<Result<_, _>>()?;
    let (keys, repetitions, cells) = match numbers.as_slice() {
        [] => return print_cycles(),
        &[keys, repetitions, cells] => (keys, repetitions, cells),
        _ => return Err("state nothing, or KEYS REPETITIONS CELLS".into()),
    };
    let scratch = Scratch::new(std::env::temp_dir(), 1 << 20);
    let began = Instant::now();
    let mut builder = NetlistBuilder::in_scratch(&scratch);
    for _ in 0..repetitions {
        circuits::sort(&mut builder, keys);
    }
    let gates = builder.finish_gates()?;
    let node_count = gates.node_count();
    let mut file = tempfile::tempfile()?;
    let device = (Parameters::with_cells(cells as u32), [0; 32]);
    let figures = compile_to_file(gates, device, &mut file, &scratch)?;
    let all = began.elapsed();
    println!("{figures:?}");
    println!(
        "{keys} keys, {repetitions} times: {node_count} gates in {:.2} s: {:.2} million gates a second; \
         {:.3} cycles per AND; peak memory {} MiB, scratch {} MiB",
        all.as_secs_f64(),
        node_count as f64 / all.as_secs_f64() / 1e6,
        figures.cycles as f64 / figures.ands as f64,
        memory_mib("VmHWM"),
        scratch.disk_peak_bytes() >> 20,
    );
    Ok(())
}
