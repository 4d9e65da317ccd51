//! Compiling takes memory for the wires that live at once, and not for the length of the program. The only test of this
//! process, because it looks at the memory of the whole process.

mod circuits;

use phineus_overlay::compile_to_file;
use phineus_overlay::netlist::NetlistBuilder;
use phineus_overlay::parameters::Parameters;
use phineus_plan::Scratch;

/// Memory of this process at most so far, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux states it");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

/// Compiles programs that sort so many values, so many times; returns gates.
fn compiled(keys: usize, repetitions: usize) -> u64 {
    let scratch = Scratch::new(std::env::temp_dir(), 1 << 20);
    let mut builder = NetlistBuilder::in_scratch(&scratch);
    (0..repetitions).for_each(|_| circuits::sort(&mut builder, keys));
    let gates = builder.finish_gates().expect("there is space");
    let node_count = gates.node_count();
    let mut file = tempfile::tempfile().expect("there is space");
    let device = (Parameters::default(), [0; 32]);
    let figures = compile_to_file(gates, device, &mut file, &scratch).expect("it fits");
    println!(
        "{keys} keys, {repetitions} times: {node_count} gates, {figures:?}, {} KiB",
        peak_kib()
    );
    node_count
}

/// Gates of the longest program: few in a build that is not optimised.
const GATES: u64 = if cfg!(debug_assertions) { 3_000_000 } else { 50_000_000 };

/// Keys of wider programs.
const KEYS: &[usize] = if cfg!(debug_assertions) { &[256, 512] } else { &[256, 512, 1024] };

#[test]
fn memory_does_not_grow_with_the_program() {
    let first = compiled(64, 1);
    let before = peak_kib();
    compiled(64, (GATES / first) as usize + 1);
    let grown = peak_kib() - before;
    assert!(grown < 4096, "{grown} KiB more for {GATES} gates of the same width");
    // Values that live take memory, and are more than fit into the device for 512 keys.
    for keys in KEYS {
        compiled(*keys, 1);
        let grown = peak_kib() - before;
        assert!(grown < 64 << 10, "{keys} keys: {grown} KiB more");
    }
}
