//! Streams of many circuits and sizes of memory, executed by the model in Rust, against the software garbler.

mod circuits;
mod model;

use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_crypto::{Block, Delta, Prg};
use phineus_overlay::memory_image::MemoryImage;
use phineus_overlay::netlist::Netlist;
use phineus_overlay::parameters::{CELLS_MAX, Parameters};
use phineus_overlay::registers::REGISTERS;
use phineus_overlay::schedule::{Figures, STORED};
use phineus_overlay::software::garble_in_software;
use phineus_overlay::stream::Stream;
use phineus_overlay::{OverlayError, compile_netlist};

fn compare(name: &str, netlist: &Netlist, parameters: Parameters, seed: u64) -> Figures {
    let (stream, figures) = compile_netlist(netlist, parameters, [7; 32]).expect("it fits");
    let read = Stream::from_bytes(&stream.to_bytes()).expect("it was just written");
    assert!(read == stream, "{name}: reading gives what was written");
    let mut prg = Prg::from_seed(Block::from_bits(seed.into()));
    let (start, delta) = (prg.next_block(), Delta::random(&mut prg));
    let mut inputs = vec![Block::ZERO; netlist.inputs.len()];
    prg.fill_blocks(&mut inputs);
    let (rows, outputs, cycles) = model::execute(&stream, (start, &delta), &inputs);
    let software = garble_in_software(netlist, (start, &delta), &inputs);
    assert!(rows == software.0, "{name}, seed {seed}: rows differ");
    let is_equal = |(a, b): (&Block, &Block)| a.to_bits() == b.to_bits();
    assert_eq!(outputs.len(), software.1.len(), "{name}");
    assert!(outputs.iter().zip(&software.1).all(is_equal), "{name}, seed {seed}: outputs");
    assert_eq!(cycles, stream.cycles(), "{name}, seed {seed}");
    check_image(&stream);
    assert_eq!((figures.ands, figures.cycles), (netlist.and_count, cycles), "{name}");
    figures
}

/// The parts of the memory of each cell have what the stream says.
fn check_image(stream: &Stream) {
    let MemoryImage { layout, quads } = MemoryImage::new(stream, 4096);
    let stored = |numbers: &[u32]| numbers.iter().filter(|&number| number & STORED != 0).count();
    let part = |from: u32, to: u32| 8 * from as usize..8 * to as usize;
    let (mut fills, mut labels) = (0, 0);
    for quads in &quads {
        let numbers = &quads[part(layout.fill_offset, layout.label_offset)];
        fills += numbers.iter().filter(|&&number| number != u64::MAX).count();
        let space = (quads.len() / 2 - 4 * layout.label_offset as usize) as u64;
        assert!(numbers.iter().all(|&number| number == u64::MAX || number < space));
        labels += space as usize;
    }
    assert_eq!(fills, stored(&stream.loads));
    assert!(labels >= stored(&stream.outputs));
    assert_eq!(u64::from(layout.word_count), stream.word_count() + 1);
}

#[test]
fn circuits_are_garbled_as_in_software() {
    let (mut seeds, default) = (Seeds::fresh(), Parameters::default());
    let figures = compare("product", &circuits::product(64, 1), default, seeds.draw());
    // Three exclusive ors for each AND, of which the cell does three in a cycle; one product alone is bound by its depth.
    assert!(figures.cycles as f64 <= 1.11 * figures.ands as f64, "{figures:?}");
    let figures = compare("products", &circuits::product(64, 8), default, seeds.draw());
    assert!(figures.cycles as f64 <= 1.01 * figures.ands as f64, "{figures:?}");
    let figures = compare("matrix", &circuits::matrix_product(8, 6), default, seeds.draw());
    assert!(figures.cycles as f64 <= 1.01 * figures.ands as f64, "{figures:?}");
    compare("AES-128", &circuits::aes128(), default, seeds.draw());
    compare("addition", &circuits::addition(64, 1), default, seeds.draw());
}

#[test]
fn several_cells_garble_as_in_software() {
    let mut seeds = Seeds::fresh();
    let netlist = circuits::matrix_product(8, 6);
    for cells in 1..=CELLS_MAX {
        let parameters = Parameters::with_cells(cells);
        let figures =
            compare(&format!("matrix, {cells} cells"), &netlist, parameters, seeds.draw());
        let per_and = figures.cycles as f64 / figures.ands as f64;
        println!("{cells} cells: {per_and:.3} cycles per AND, {} moves", figures.moves);
        // Inputs come one in a cycle, and the longest path takes 200 cycles.
        let least = 1.0 / f64::from(cells) + 0.06;
        assert!(per_and <= least, "{cells} cells: {figures:?}");
    }
    for cells in [2, 5, 16] {
        let parameters = Parameters::with_cells(cells);
        compare("AES-128, cells", &circuits::aes128(), parameters, seeds.draw());
        compare("product, cells", &circuits::product(64, 1), parameters, seeds.draw());
    }
    let small = Parameters { bank_bits: 3, row_bits: 4, cells: 3 };
    let figures = compare("small", &circuits::product(32, 4), small, seeds.draw());
    assert!(figures.spills > 0, "{figures:?}");
}

/// What docs/hardware.md states of schedules, and what was asked of them.
#[test]
fn schedules_take_the_cycles_that_were_asked_for() {
    let cycles = |netlist: &Netlist, cells| {
        let compiled = compile_netlist(netlist, Parameters::with_cells(cells), [0; 32]);
        let figures = compiled.expect("it fits").1;
        (figures.cycles, figures.cycles as f64 / figures.ands as f64)
    };
    let matrix = circuits::matrix_product(8, 10);
    let at_most = [
        ("matrix", &matrix, 1, 1.005),
        ("matrix, two cells", &matrix, 2, 0.51),
        ("matrix, four cells", &matrix, 4, 0.27),
        ("products", &circuits::product(64, 8), 1, 1.005),
        ("product", &circuits::product(64, 1), 1, 1.09),
        ("AES-128", &circuits::aes128(), 1, 1.17),
        ("AES-128, four cells", &circuits::aes128(), 4, 0.47),
        ("AES-128, four blocks", &circuits::aes128_blocks(4), 1, 1.145),
    ];
    for (name, netlist, cells, most) in at_most {
        let (_, per_and) = cycles(netlist, cells);
        println!("{name}: {per_and:.3} cycles per AND");
        assert!(per_and <= most, "{name}: {per_and}");
    }
    // 63 ANDs in a chain, each 15 cycles; then labels of the inputs and the drain.
    assert!(cycles(&circuits::addition(64, 1), 1).0 <= 63 * 15 + 25);
    // Two blocks at once hide the latency of each other's ANDs, which is what 29,672 cycles of one consist of.
    assert!(cycles(&circuits::sha256(), 1).0 <= 30_000);
}

#[test]
fn small_memories_spill_or_refuse() {
    let mut seeds = Seeds::fresh();
    let netlist = circuits::product(32, 4);
    let figures = compare("large", &netlist, Parameters::default(), seeds.draw());
    assert_eq!(figures.spills, 0);
    let small = Parameters { bank_bits: 3, row_bits: 5, cells: 1 };
    let figures = compare("small", &netlist, small, seeds.draw());
    assert!(figures.spills > 0, "{figures:?}");
    let least = Parameters { bank_bits: 1, row_bits: 1, cells: 1 };
    let error = compile_netlist(&netlist, least, [0; 32]).expect_err("nothing fits");
    let wanted = "the program needs more than the 4 labels that the wire memory holds";
    assert_eq!(error.to_string(), wanted);
}

#[test]
fn random_netlists_on_random_sizes() {
    let mut seeds = Seeds::fresh();
    for _ in 0..40 {
        let seed = seeds.draw();
        let mut random = SeededRng::new(seed);
        let gates = 1 << random.below(13);
        let recent = 1 + random.below(1000) as usize;
        let netlist = circuits::random_within(seed, gates, recent);
        let bank_bits = 3 + random.below(3) as u32;
        let cells = [1, 1 + random.below(16) as u32][random.below(2) as usize];
        let parameters = Parameters { bank_bits, row_bits: 4 + random.below(6) as u32, cells };
        compare(&format!("{gates} gates, {parameters:?}"), &netlist, parameters, seed);
    }
}

/// XORs of wires of any age live long before they are needed, more of them than wait to be written at once.
#[test]
fn labels_of_any_age_are_stored_for_a_time() {
    let seed = Seeds::fresh().draw();
    let netlist = circuits::random_within(seed, 300_000, usize::MAX);
    for cells in [1, 2] {
        let parameters = Parameters { bank_bits: 4, row_bits: 10, cells };
        let figures = compare("random gates on any wires", &netlist, parameters, seed);
        assert!(figures.spills > 0 && figures.fills >= figures.spills, "{figures:?}");
    }
}

#[test]
fn readers_refuse_other_files() {
    let seed = Seeds::fresh().draw();
    let mut random = SeededRng::new(seed);
    let parameters = Parameters::default();
    let compiled = compile_netlist(&circuits::product(16, 2), parameters, [1; 32]);
    let bytes = compiled.expect("it fits").0.to_bytes();
    assert!(matches!(Stream::from_bytes(b"hello"), Err(OverlayError::NotAStream)));
    for _ in 0..300 {
        let length = random.below(bytes.len() as u64) as usize;
        assert!(Stream::from_bytes(&bytes[..length]).is_err(), "seed {seed}: cut at {length}");
        let mut damaged = bytes.clone();
        damaged[length] ^= 1 << random.below(8);
        assert!(Stream::from_bytes(&damaged).is_err(), "seed {seed}: byte {length}");
    }
    let mut other = bytes.clone();
    other[4] = 9;
    let error = Stream::from_bytes(&other).expect_err("another version");
    assert_eq!(error.to_string(), "the stream has version 9, and this program reads version 4");
}

fn read(file: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    std::fs::read_to_string(path).expect("it is part of the project")
}

#[test]
fn the_rtl_has_the_same_numbers() {
    use phineus_overlay::parameters as host;
    let package = read("hw/ip/overlay/rtl/ovl_pkg.sv");
    let states = |line: String| assert!(package.contains(&line), "ovl_pkg.sv has no '{line}'");
    let parameters = Parameters::default();
    states(format!("localparam VERSION = {};", host::VERSION));
    states(format!("localparam BANK_BITS = {};", parameters.bank_bits));
    states(format!("localparam ROW_BITS = {};", parameters.row_bits));
    states(format!("localparam READS = {};", host::READS));
    states(format!("localparam WRITES = {};", host::WRITES));
    states(format!("localparam AND_PORTS = {};", phineus_overlay::word::AND_PORTS));
    states(format!("localparam NOTS = {};", phineus_overlay::word::NOTS));
    states(format!("localparam AND_LATENCY = {};", host::AND_LATENCY));
    states(format!("localparam XOR_LATENCY = {};", host::XOR_LATENCY));
    states(format!("localparam LOAD_LATENCY = {};", host::LOAD_LATENCY));
    states(format!("localparam MOVE_LATENCY = {};", host::MOVE_LATENCY));
    states(format!("localparam CELLS = {};", parameters.cells));
    states(format!("localparam DRAIN_CYCLES = {};", host::DRAIN_CYCLES));
    states(format!("localparam CHECK_INTERVAL = {};", host::CHECK_INTERVAL));
    states(format!("PARAMETER_HASH = 64'h{:016x};", parameters.hash()));
    let document = read("docs/hardware.md");
    for register in REGISTERS {
        states(format!("REG_{} = 8'h{:02x};", register.name, register.address));
        let row = format!(
            "| `0x{:02x}` | `{}` | {} |",
            register.address, register.name, register.meaning
        );
        assert!(document.contains(&row), "docs/hardware.md has no row\n{row}");
    }
    let count = package.matches("localparam [7:0] REG_").count();
    assert_eq!(count, REGISTERS.len(), "the RTL has other registers");
}
