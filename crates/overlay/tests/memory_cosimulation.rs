//! The simulated RTL with memory beside it, from which it reads its words by AXI4, and in which it stores labels: rows byte
//! for byte, cycles as predicted, and what happens if the memory fails or the words end too early.

mod circuits;

use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_crypto::{Block, Delta, Prg, SecretBit};
use phineus_overlay::device::{Garbled, OverlayDevice, evaluate, garble};
use phineus_overlay::link::MemoryTiming;
use phineus_overlay::memory_image::{MEMORY_BEAT_BYTES, MemoryImage, MemoryLayout};
use phineus_overlay::netlist::Netlist;
use phineus_overlay::parameters::Parameters;
use phineus_overlay::registers;
use phineus_overlay::schedule::STORED;
use phineus_overlay::simulation::Simulation;
use phineus_overlay::software::{compute_in_clear, garble_in_software};
use phineus_overlay::stream::Stream;
use phineus_overlay::{OverlayError, compile_netlist};

fn compiled(netlist: &Netlist, cells: u32) -> Stream {
    let parameters = Parameters::with_cells(cells);
    compile_netlist(netlist, parameters, [0; 32]).expect("it fits").0
}

/// Memory that gives 12 GB/s to each cell at 200 MHz: 60 bytes a cycle.
fn fast(cells: u32) -> MemoryTiming {
    MemoryTiming::new(12_000 * cells, cells, 200)
}

/// Garbles on random inputs, and compares with the software.
fn compare(device: &mut Simulation, (netlist, stream): (&Netlist, &Stream), seed: u64) -> Garbled {
    let mut prg = Prg::from_seed(Block::from_bits(seed.into()));
    let (start, delta) = (prg.next_block(), Delta::random(&mut prg));
    let mut inputs = vec![Block::ZERO; netlist.inputs.len()];
    prg.fill_blocks(&mut inputs);
    let garbled = garble(device, stream, (start, &delta), &inputs).expect("it runs");
    let (rows, outputs) = garble_in_software(netlist, (start, &delta), &inputs);
    assert!(garbled.rows == rows, "seed {seed}: rows differ");
    let bits = |labels: &[Block]| labels.iter().map(|label| label.to_bits()).collect::<Vec<_>>();
    assert!(bits(&garbled.outputs) == bits(&outputs), "seed {seed}: outputs differ");
    assert_eq!(garbled.cycles, stream.cycles(), "seed {seed}: cycles");

    let mut bytes = vec![0; inputs.len()];
    prg.fill_bytes(&mut bytes);
    let values: Vec<bool> = bytes.iter().map(|byte| byte & 1 == 1).collect();
    let flip = |bit: bool| delta.block().and_bit(SecretBit::lowest(bit.into()));
    let active: Vec<Block> = inputs.iter().zip(&values).map(|(&l, &bit)| l ^ flip(bit)).collect();
    let evaluated = evaluate(device, stream, start, &active, &garbled.rows).expect("it runs");
    let results = evaluated.outputs.iter().zip(&garbled.outputs);
    let results = results.map(|(active, label)| (*active ^ *label).select_u64() == 1);
    assert!(results.eq(compute_in_clear(netlist, &values)), "seed {seed}: results differ");
    garbled
}

#[test]
fn words_from_memory_garble_as_in_software() {
    let mut seeds = Seeds::fresh();
    let programs = [
        ("4x4 8-bit", circuits::matrix_product(8, 4)),
        ("64-bit multiplication", circuits::product(64, 1)),
        ("64-bit addition", circuits::addition(64, 1)),
        ("3000 random gates", circuits::random(seeds.draw(), 3000)),
    ];
    for cells in [1, 2, 4] {
        for (name, netlist) in &programs {
            let (seed, stall_seed) = (seeds.draw(), seeds.draw() | 1);
            let stream = compiled(netlist, cells);
            let mut random = SeededRng::new(seed);
            for stall_seed in [0, stall_seed] {
                let base = MEMORY_BEAT_BYTES * random.below(1 << 40);
                let device = Simulation::open_with(cells).expect("there is a model");
                let mut device = device.with_stalls(stall_seed);
                device.put_memory(&MemoryImage::new(&stream, base), fast(cells));
                let garbled = compare(&mut device, (netlist, &stream), seed);
                println!("{name}, {cells} cells, base {base:#x}: {} stalls", garbled.stalls);
                // Such a memory is always ahead of the device, but for the first burst, which may be short.
                assert!(stall_seed != 0 || garbled.stalls <= 4, "{name}: {}", garbled.stalls);
                let word_bytes = 8 * stream.quads.len() as u64;
                let extra = device.memory_bytes() - 2 * word_bytes;
                assert!(extra < 2 * u64::from(cells) * MEMORY_BEAT_BYTES, "nothing is read twice");
            }
        }
    }
}

/// Labels are zero: only how the run ends is of interest.
fn stop(device: &mut Simulation, stream: &Stream) -> String {
    let mut prg = Prg::from_seed(Block::from_bits(6));
    let (start, delta) = (prg.next_block(), Delta::random(&mut prg));
    let inputs = vec![Block::ZERO; stream.loads.len()];
    let result = garble(device, stream, (start, &delta), &inputs);
    match result.err().expect("the device stops") {
        OverlayError::Stopped { reason, .. } => reason.to_owned(),
        error => panic!("{error}"),
    }
}

/// After each of them the device is ready for another run.
#[test]
fn wrong_memory_stops_the_device() {
    let seed = Seeds::fresh().draw();
    let mut random = SeededRng::new(seed);
    for cells in [1, 2] {
        let netlist = circuits::product(32, 3);
        let stream = compiled(&netlist, cells);
        let size = stream.parameters.word_quads();
        let count = (stream.quads.len() / size) as u32;
        for stall_seed in [0, seed | 1] {
            let device = Simulation::open_with(cells).expect("there is a model");
            let mut device = device.with_stalls(stall_seed);
            let mut cut = stream.clone();
            cut.quads.truncate(size * (1 + random.below(u64::from(count) - 3) as usize));
            let cut = MemoryImage::new(&cut, 0);
            device.put_memory(&cut, fast(cells));
            assert_eq!(stop(&mut device, &stream), "the words in memory end before the stream");
            // The rest is outside of the memory.
            let whole = MemoryLayout { word_count: count, ..cut.layout };
            device.state_layout(whole);
            let reason = "the memory answers with an error";
            assert_eq!(stop(&mut device, &stream), reason);
            device.state_layout(MemoryLayout { base: 1 << 50, ..whole });
            assert_eq!(stop(&mut device, &stream), reason);
            device.state_layout(MemoryLayout { word_count: 0, ..whole });
            assert_eq!(stop(&mut device, &stream), "the words in memory end before the stream");
            let mut damaged = stream.clone();
            damaged.quads[size * 50 + 1] ^= 1 << random.below(64);
            device.put_memory(&MemoryImage::new(&damaged, 4096), fast(cells));
            // What a damaged word does may show before the end of the stream.
            let found = stop(&mut device, &stream);
            let reasons =
                ["a check word does not match", "two accesses of the wire memory collided"];
            assert!(reasons.contains(&found.as_str()), "{found}");
            device.put_memory(&MemoryImage::new(&stream, 64), fast(cells));
            compare(&mut device, (&netlist, &stream), seed);
        }
    }
}

#[test]
fn labels_that_do_not_fit_are_stored_in_memory() {
    let seed = Seeds::fresh().draw();
    for (cells, gates, stall_seed) in
        [(1, 600_000, 0), (1, 600_000, seed | 1), (2, 900_000, seed | 1)]
    {
        let netlist = circuits::random_within(seed, gates, usize::MAX);
        let stream = compiled(&netlist, cells);
        let stored = stream.outputs.iter().filter(|&number| number & STORED != 0).count();
        assert!(stored > 0, "seed {seed}: more wires live than fit");
        let device = Simulation::open_with(cells).expect("there is a model");
        let mut device = device.with_stalls(stall_seed);
        device.put_memory(&MemoryImage::new(&stream, 1 << 20), fast(cells));
        let garbled = compare(&mut device, (&netlist, &stream), seed);
        println!("{gates} gates, {cells} cells, {stored} stored: {} stalls", garbled.stalls);
    }
}

/// Errors of labels stop the device, too.
#[test]
fn a_memory_without_space_for_labels_stops_the_device() {
    let seed = Seeds::fresh().draw();
    let netlist = circuits::random_within(seed, 600_000, usize::MAX);
    let stream = compiled(&netlist, 1);
    let mut device = Simulation::open();
    let image = MemoryImage::new(&stream, 0);
    let outside = 1 << 30;
    for layout in [
        MemoryLayout { label_offset: outside, ..image.layout },
        MemoryLayout { fill_offset: outside, ..image.layout },
    ] {
        device.put_memory(&image, fast(1));
        device.state_layout(layout);
        assert_eq!(stop(&mut device, &stream), "the memory answers with an error", "seed {seed}");
    }
}

/// A run begins only when all that the one before has asked for has come.
#[test]
fn a_device_waits_for_reads_of_a_stopped_run() {
    let netlist = circuits::product(32, 3);
    let stream = compiled(&netlist, 1);
    let mut damaged = stream.clone();
    damaged.quads[1] ^= 1;
    let mut device = Simulation::open();
    // A beat in 64 cycles.
    let slow = MemoryTiming { latency_cycles: 50, cycle_ticks: 1, byte_ticks: 1 };
    device.put_memory(&MemoryImage::new(&damaged, 0), slow);
    device.write(registers::WORD_COUNT, 0, 1000);
    let control = registers::CONTROL_GARBLE | registers::CONTROL_MEMORY;
    device.write(registers::CONTROL, 0, control);
    let statuses = std::iter::repeat_with(|| device.read(registers::STATUS)).take(1000);
    let mut stopped = statuses.skip_while(|&status| registers::error_meaning(status).is_none());
    let status = stopped.next().expect("the header is wrong");
    assert_eq!(registers::error_meaning(status), Some("the stream is for other parameters"));
    assert_eq!(status & registers::STATUS_BUSY, registers::STATUS_BUSY, "reads are outstanding");
    drop(stopped);
    device.put_memory(&MemoryImage::new(&stream, 0), fast(1));
    compare(&mut device, (&netlist, &stream), 1);
}
