//! Gates a second that compile to a command stream on one core, and the memory that this takes.
//!
//! `cargo run --release -p phineus-overlay --example compile_speed -- KEYS REPETITIONS CELLS` sorts KEYS values of 64 bits in
//! a bitonic network, REPETITIONS times, and writes the stream into a temporary file.

#[path = "../tests/circuits/mod.rs"]
mod circuits;

use std::time::Instant;

use phineus_overlay::netlist::NetlistBuilder;
use phineus_overlay::parameters::Parameters;
use phineus_overlay::compile_to_file;
use phineus_plan::Scratch;

/// A line of the memory of this process, in MiB.
fn memory_mib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    let kib = line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

fn quality() {
    use phineus_overlay::compile_netlist;
    let all: Vec<(&str, phineus_overlay::netlist::Netlist)> = vec![
        ("product 64", circuits::product(64, 1)),
        ("product 64 x8", circuits::product(64, 8)),
        ("full product 128", circuits::full_product(128, 1)),
        ("matrix 10x10 8", circuits::matrix_product(8, 10)),
        ("aes", circuits::aes128()),
        ("aes x4", circuits::aes128_blocks(4)),
        ("sha256", circuits::sha256()),
        ("add 64", circuits::addition(64, 1)),
        ("random 100000", circuits::random(7, 100_000)),
        ("random far 900000", circuits::random_within(7, 900_000, usize::MAX)),
    ];
    for (name, netlist) in all {
        print!("{name:20}");
        for cells in [1, 2, 4, 8, 16] {
            if name.contains("900000") && cells > 1 { continue; }
            if name == "sha256" && cells > 1 { continue; }
            let (_, figures) = compile_netlist(&netlist, Parameters::with_cells(cells), [0; 32]).expect("it fits");
            print!(" {:.3} ({}, {})", figures.cycles as f64 / figures.ands as f64, figures.copies, figures.spills);
        }
        println!();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<usize> =
        std::env::args().skip(1).map(|number| number.parse()).collect::<Result<_, _>>()?;
    let &[keys, repetitions, cells] = numbers.as_slice() else {
        return Err("state KEYS REPETITIONS CELLS".into());
    };
    if cells == 0 {
        quality();
        return Ok(());
    }
    let scratch = Scratch::new(std::env::temp_dir(), 1 << 20);
    let began = Instant::now();
    let mut builder = NetlistBuilder::in_scratch(&scratch);
    for _ in 0..repetitions {
        circuits::sort(&mut builder, keys);
    }
    let gates = builder.finish_gates()?;
    let node_count = gates.node_count();
    let recorded = began.elapsed();
    let mut file = tempfile::tempfile()?;
    let device = (Parameters::with_cells(cells as u32), [0; 32]);
    let figures = compile_to_file(gates, device, &mut file, &scratch)?;
    let all = began.elapsed();
    println!("{figures:?}");
    println!(
        "{keys} keys, {repetitions} times: {node_count} gates, {:.2} s of them recording: {:.2} million gates a second; \
         {:.3} cycles per AND; peak memory {} MiB, scratch {} MiB",
        all.as_secs_f64(),
        node_count as f64 / all.as_secs_f64() / 1e6,
        figures.cycles as f64 / figures.ands as f64,
        memory_mib("VmHWM"),
        scratch.disk_peak_bytes() >> 20,
    );
    println!("recording {:.2} s", recorded.as_secs_f64());
    Ok(())
}
