//! The simulated RTL against the software, as garbler and as evaluator: rows and labels byte for byte, and cycles as
//! predicted.

mod circuits;

use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_crypto::{Block, Delta, Prg, SecretBit};
use phineus_overlay::device::{Garbled, evaluate, garble};
use phineus_overlay::netlist::Netlist;
use phineus_overlay::parameters::Parameters;
use phineus_overlay::simulation::{Simulation, simulated_cells};
use phineus_overlay::software::{compute_in_clear, evaluate_in_software, garble_in_software};
use phineus_overlay::stream::Stream;
use phineus_overlay::{OverlayError, compile_netlist};

fn compiled(netlist: &Netlist) -> Stream {
    compiled_for(netlist, 1)
}

fn compiled_for(netlist: &Netlist, cells: u32) -> Stream {
    let parameters = Parameters::with_cells(cells);
    let stream = compile_netlist(netlist, parameters, [0; 32]).expect("it fits").0;
    let read = Stream::from_bytes(&stream.to_bytes()).expect("it was just written");
    assert!(read == stream, "reading gives what was written");
    stream
}

/// Evaluates on the same device, on random inputs; compares labels with the software and results with the clear.
fn evaluate_too(
    name: &str,
    netlist: &Netlist,
    stream: &Stream,
    (device, prg): (&mut Simulation, &mut Prg),
    (start, delta): (Block, &Delta),
    (inputs, garbled): (&[Block], &Garbled),
) {
    let mut bytes = vec![0; inputs.len()];
    prg.fill_bytes(&mut bytes);
    let bits: Vec<bool> = bytes.iter().map(|byte| byte & 1 == 1).collect();
    let flip = |bit: bool| delta.block().and_bit(SecretBit::lowest(bit.into()));
    let active: Vec<Block> = inputs.iter().zip(&bits).map(|(&l, &bit)| l ^ flip(bit)).collect();
    let evaluated = evaluate(device, stream, start, &active, &garbled.rows).expect("it runs");
    let software = evaluate_in_software(netlist, start, &active, &garbled.rows);
    let labels = evaluated.outputs.iter().map(|label| label.to_bits());
    assert!(
        labels.eq(software.iter().map(|label| label.to_bits())),
        "{name}: active labels differ"
    );
    let results = evaluated.outputs.iter().zip(&garbled.outputs);
    let results = results.map(|(active, label)| (*active ^ *label).select_u64() == 1);
    assert!(results.eq(compute_in_clear(netlist, &bits)), "{name}: results differ");
    assert_eq!(evaluated.cycles, stream.cycles(), "{name}: cycles of the evaluator");
}

/// Garbles on a new device and in software; returns cycles per AND.
fn compare(name: &str, netlist: &Netlist, seed: u64, stall_seed: u64) -> f64 {
    compare_on(1, name, netlist, (seed, stall_seed))
}

/// As [`compare`], on a device of several cells.
fn compare_on(cells: u32, name: &str, netlist: &Netlist, (seed, stall_seed): (u64, u64)) -> f64 {
    let name = &format!("{name}, {cells} cells");
    let stream = compiled_for(netlist, cells);
    let mut prg = Prg::from_seed(Block::from_bits(seed.into()));
    let (start, delta) = (prg.next_block(), Delta::random(&mut prg));
    let mut inputs = vec![Block::ZERO; netlist.inputs.len()];
    prg.fill_blocks(&mut inputs);
    let device = Simulation::open_with(cells).expect("there is a model");
    let mut device = device.with_stalls(stall_seed);
    let garbled = garble(&mut device, &stream, (start, &delta), &inputs).expect("it runs");
    let (rows, outputs) = garble_in_software(netlist, (start, &delta), &inputs);
    assert!(garbled.rows == rows, "{name}, seed {seed}: rows differ");
    let bits = |labels: &[Block]| labels.iter().map(|label| label.to_bits()).collect::<Vec<_>>();
    assert!(bits(&garbled.outputs) == bits(&outputs), "{name}, seed {seed}: outputs differ");
    assert_eq!(garbled.cycles, stream.cycles(), "{name}, seed {seed}: cycles");
    if stall_seed == 0 {
        assert_eq!(garbled.stalls, 0, "{name}, seed {seed}: a host that is ready never delays");
    }
    evaluate_too(
        name,
        netlist,
        &stream,
        (&mut device, &mut prg),
        (start, &delta),
        (&inputs, &garbled),
    );
    let per_and = garbled.cycles as f64 / netlist.and_count.max(1) as f64;
    println!("{name}: {} ANDs, {} cycles, {per_and:.3} per AND", netlist.and_count, garbled.cycles);
    per_and
}

#[test]
fn integer_circuits_are_garbled_as_in_software() {
    let mut seeds = Seeds::fresh();
    for (width, lanes) in [(1, 1), (8, 1), (32, 3), (64, 1), (64, 16)] {
        let netlist = circuits::addition(width, lanes);
        compare(&format!("{lanes} additions of {width} bits"), &netlist, seeds.draw(), 0);
    }
    let per_and = compare("64-bit multiplication", &circuits::product(64, 1), seeds.draw(), 0);
    // Three exclusive ors for each AND, of which the cell does three in a cycle; one product alone is bound by its depth.
    assert!(per_and <= 1.11, "{per_and}");
    let per_and =
        compare("64-bit multiplication, eight", &circuits::product(64, 8), seeds.draw(), 0);
    assert!(per_and <= 1.01, "{per_and}");
    compare("64-bit full product", &circuits::full_product(128, 1), seeds.draw(), 0);
    let per_and = compare("10x10 8-bit", &circuits::matrix_product(8, 10), seeds.draw(), 0);
    assert!(per_and <= 1.01, "{per_and}");
}

/// All numbers of cells that there are models of, at least 1, 2 and 4.
#[test]
fn several_cells_garble_as_in_software() {
    let mut seeds = Seeds::fresh();
    for cells in simulated_cells().into_iter().filter(|&cells| cells > 1) {
        let compare = |name: &str, netlist: &Netlist, seeds: (u64, u64)| {
            compare_on(cells, name, netlist, seeds)
        };
        let netlist = circuits::matrix_product(8, 10);
        let per_and = compare("10x10 8-bit", &netlist, (seeds.draw(), 0));
        if cells <= 4 {
            assert!(per_and <= 1.08 / f64::from(cells), "{cells} cells: {per_and}");
        }
        compare("64-bit multiplication", &circuits::product(64, 1), (seeds.draw(), 0));
        compare("AES-128", &circuits::aes128(), (seeds.draw(), seeds.draw() | 1));
        for gates in [1, 100, 3000, 30_000] {
            let (seed, stalls) = (seeds.draw(), seeds.draw() | 1);
            let netlist = circuits::random(seed, gates);
            compare(&format!("{gates} random gates"), &netlist, (seed, 0));
            compare(&format!("{gates} random gates, slow host"), &netlist, (seed, stalls));
        }
    }
}

/// A stream for another number of cells stops the device at its header.
#[test]
fn a_device_refuses_streams_for_other_cells() {
    let stream = compiled_for(&circuits::product(16, 1), 2);
    let error = stop(&stream);
    assert!(error.to_string().ends_with("the stream is for other parameters"), "{error}");
    let error = Simulation::open_with(17).err().expect("there is no such model");
    assert!(error.to_string().ends_with("not of 17"), "{error}");
}

#[test]
fn ciphers_are_garbled_as_in_software() {
    let mut seeds = Seeds::fresh();
    let per_and = compare("AES-128", &circuits::aes128(), seeds.draw(), 0);
    assert!(per_and <= 1.2, "{per_and}");
    compare("SHA-256", &circuits::sha256(), seeds.draw(), 0);
}

#[test]
fn random_netlists_are_garbled_as_in_software() {
    let mut seeds = Seeds::fresh();
    for gates in [1, 10, 100, 1000, 10_000, 100_000] {
        let seed = seeds.draw();
        compare(&format!("{gates} random gates"), &circuits::random(seed, gates), seed, 0);
    }
}

#[test]
fn labels_that_do_not_fit_are_stored_by_the_host() {
    let seed = Seeds::fresh().draw();
    let netlist = circuits::random_within(seed, 900_000, usize::MAX);
    let compiled = compile_netlist(&netlist, Parameters::default(), [0; 32]);
    let figures = compiled.expect("it fits").1;
    println!("{figures:?}");
    assert!(figures.spills > 0, "seed {seed}: more wires live than fit");
    compare("900000 random gates on any wires", &netlist, seed, 0);
    compare("900000 random gates on any wires, slow host", &netlist, seed, seed | 1);
}

#[test]
fn a_slow_host_changes_nothing_but_stalls() {
    let mut seeds = Seeds::fresh();
    for _ in 0..4 {
        let seed = seeds.draw();
        compare("random, slow host", &circuits::random(seed, 3000), seed, seed | 1);
    }
    compare("AES-128, slow host", &circuits::aes128(), seeds.draw(), seeds.draw() | 1);
}

#[test]
fn one_device_runs_several_streams() {
    let mut device = Simulation::open();
    let mut prg = Prg::from_seed(Block::from_bits(5));
    for (width, lanes) in [(8, 2), (16, 1), (8, 2)] {
        let netlist = circuits::product(width, lanes);
        let (start, delta) = (prg.next_block(), Delta::random(&mut prg));
        let mut inputs = vec![Block::ZERO; netlist.inputs.len()];
        prg.fill_blocks(&mut inputs);
        let secrets = (start, &delta);
        let garbled = garble(&mut device, &compiled(&netlist), secrets, &inputs).expect("it runs");
        assert!(garbled.rows == garble_in_software(&netlist, secrets, &inputs).0, "rows differ");
    }
}

fn stop(stream: &Stream) -> OverlayError {
    let mut prg = Prg::from_seed(Block::from_bits(6));
    let (start, delta) = (prg.next_block(), Delta::random(&mut prg));
    let inputs = vec![Block::ZERO; stream.loads.len()];
    let result = garble(&mut Simulation::open(), stream, (start, &delta), &inputs);
    result.err().expect("the device refuses it")
}

#[test]
fn a_damaged_stream_stops_the_device_and_the_reader() {
    let seed = Seeds::fresh().draw();
    let mut random = SeededRng::new(seed);
    let stream = compiled(&circuits::product(32, 3));
    let size = stream.parameters.word_quads();
    // The host does not look at the words here; the device does.
    for _ in 0..20 {
        let mut damaged = stream.clone();
        let quad = size + random.below((stream.quads.len() - size) as u64) as usize;
        damaged.quads[quad] ^= 1 << random.below(64);
        if damaged.and_count() as usize != damaged.words().filter(|word| word.has_and()).count() {
            continue;
        }
        let error = stop(&damaged);
        assert!(matches!(error, OverlayError::Stopped { .. }), "seed {seed}: {error}");
    }
    let mut other = stream.clone();
    other.quads[1] ^= 1;
    assert_eq!(
        stop(&other).to_string(),
        "the device stopped at word 0: the stream is for other parameters"
    );
    let mut cut = stream.clone();
    cut.quads.truncate(size * 100);
    assert!(stop(&cut).to_string().ends_with("it waits for more of the stream"), "{}", stop(&cut));
}
