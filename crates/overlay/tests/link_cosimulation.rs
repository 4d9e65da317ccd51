//! The simulated RTL with a link to its host against the prediction: stalls, the end of the run and bytes, exactly.

mod circuits;

use phineus_bytecode::random::Seeds;
use phineus_crypto::{Block, Delta, Prg};
use phineus_overlay::compile_netlist;
use phineus_overlay::device::garble;
use phineus_overlay::link::{HostLink, LinkedHost, MemoryTiming, Prediction, predict};
use phineus_overlay::memory_image::MemoryImage;
use phineus_overlay::netlist::Netlist;
use phineus_overlay::parameters::Parameters;
use phineus_overlay::schedule::Figures;
use phineus_overlay::simulation::Simulation;
use phineus_overlay::software::garble_in_software;
use phineus_overlay::stream::Stream;

/// Links that bound a run in each direction, by their latency, by their buffer, by the memory, or hardly.
const LINKS: [(&str, Option<u32>); 9] = [
    ("gen3x8", None),
    ("gen3x8", Some(15_000)),
    ("gen4x16", Some(60_000)),
    ("in=100gb,out=100gb,latency=0ns", None),
    ("in=1gb,out=20gb,latency=200ns", None),
    ("in=20gb,out=1.1gb,latency=300ns,buffer=2kib", None),
    ("gen3x16,latency=5us,buffer=4kib", None),
    ("in=300mb,out=77.7gb,latency=1ns,buffer=1kib", Some(60_000)),
    ("gen5x16,latency=3us", Some(3_333)),
];

fn compiled(netlist: &Netlist, cells: u32) -> (Stream, Figures) {
    let parameters = Parameters::with_cells(cells);
    compile_netlist(netlist, parameters, [0; 32]).expect("it fits")
}

/// Garbles with a link in RTL, and compares with the prediction and with the software.
fn compare(
    name: &str,
    (netlist, stream): (&Netlist, &Stream),
    (link, clock_mhz): (&HostLink, u32),
    seed: u64,
) -> Prediction {
    let predicted = predict(stream, link, clock_mhz);
    let mut prg = Prg::from_seed(Block::from_bits(seed.into()));
    let (start, delta) = (prg.next_block(), Delta::random(&mut prg));
    let mut inputs = vec![Block::ZERO; netlist.inputs.len()];
    prg.fill_blocks(&mut inputs);
    let mut device = Simulation::open_with(stream.parameters.cells).expect("there is a model");
    device.link_to(LinkedHost::new(stream, link, clock_mhz));
    if let Some(rate) = link.memory_rate {
        let timing = MemoryTiming::new(rate, stream.parameters.cells, clock_mhz);
        device.put_memory(&MemoryImage::new(stream, 0), timing);
    }
    let garbled = garble(&mut device, stream, (start, &delta), &inputs).expect("it runs");
    let host = device.take_host().expect("it had a link");
    let name = format!("{name}, {} cells, {link:?}", stream.parameters.cells);
    let (rows, _) = garble_in_software(netlist, (start, &delta), &inputs);
    assert!(garbled.rows == rows, "{name}, seed {seed}: rows differ");
    assert_eq!(garbled.cycles, predicted.cycles, "{name}: cycles");
    assert_eq!(garbled.cycles, stream.cycles(), "{name}: cycles of the stream");
    assert_eq!(garbled.stalls, predicted.stalls.total(), "{name}: stalls");
    assert_eq!(host.last_arrival(), predicted.total_cycles, "{name}: end of the run");
    let [in_bytes, out_bytes] = host.bytes();
    let bytes = [in_bytes, out_bytes, device.memory_bytes()];
    assert_eq!(bytes, predicted.bytes, "{name}: bytes");
    println!("{name}: {predicted:?}");
    predicted
}

#[test]
fn stalls_are_as_predicted() {
    let mut seeds = Seeds::fresh();
    let random = circuits::random(seeds.draw(), 3000);
    let programs = [
        ("4x4 8-bit", circuits::matrix_product(8, 4)),
        ("AES-128", circuits::aes128()),
        ("64-bit multiplication", circuits::product(64, 1)),
        ("3000 random gates", random),
        ("64-bit addition", circuits::addition(64, 1)),
    ];
    let mut found = [0; 3];
    for cells in [1, 2, 4] {
        for (name, netlist) in &programs {
            let (stream, _) = compiled(netlist, cells);
            for ((link, memory_rate), clock_mhz) in
                LINKS.into_iter().zip([200, 333].into_iter().cycle())
            {
                let link: HostLink = link.parse().expect("it is a link");
                let link = link.with_memory(memory_rate);
                let stalls =
                    compare(name, (netlist, &stream), (&link, clock_mhz), seeds.draw()).stalls;
                let cycles = [stalls.words, stalls.labels, stalls.space];
                found.iter_mut().zip(cycles).for_each(|(sum, cycles)| *sum += cycles);
            }
        }
    }
    assert!(found.iter().all(|&cycles| cycles > 1000), "no kind of stall is left out: {found:?}");
}

/// A spilled label is sent again after it has arrived at the host. With memory beside the device it never crosses the link.
#[test]
fn stored_labels_cross_the_link_twice_or_never() {
    let seed = Seeds::fresh().draw();
    let netlist = circuits::random_within(seed, 600_000, usize::MAX);
    let (stream, figures) = compiled(&netlist, 1);
    assert!(figures.spills > 0, "seed {seed}: more wires live than fit");
    for (link, memory_rate) in
        [("gen3x8", None), ("gen4x16", Some(60_000)), ("gen4x16", Some(10_000))]
    {
        let link = link.parse::<HostLink>().expect("it is a link").with_memory(memory_rate);
        compare("600000 random gates", (&netlist, &stream), (&link, 200), seed);
    }
}
