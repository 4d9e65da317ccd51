//! The simulated RTL of SIFO against the software garbler, byte for byte, and against the predicted time, cycle by cycle.

use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_overlay::sifo::allocation::{Allocation, MemoryPolicy};
use phineus_overlay::sifo::garbling::{ShortLabel, garble};
use phineus_overlay::sifo::host::{HostProgram, Registers};
use phineus_overlay::sifo::layers::Layers;
use phineus_overlay::sifo::netlist::{Gate, GateKind, Netlist, WireId};
use phineus_overlay::sifo::problems::{PROBLEMS, Problem};
use phineus_overlay::sifo::published::Variant;
use phineus_overlay::sifo::simulation::run;
use phineus_overlay::sifo::timing::simulate;

fn random_label(random: &mut SeededRng) -> ShortLabel {
    ShortLabel(std::array::from_fn(|_| random.below(256) as u8))
}

/// Garbles on the device and in software. With `slow_ddr`, DDR takes longer at random, which the prediction does not know.
fn compare(name: &str, netlist: &Netlist, variant: Variant, seed: u64, slow_ddr: bool) {
    let mut random = SeededRng::new(seed);
    let layers = Layers::new(netlist);
    let offset = random_label(&mut random).into_offset();
    let sources = netlist.inputs.len() + netlist.constants.len();
    let labels: Vec<ShortLabel> = (0..sources).map(|_| random_label(&mut random)).collect();
    let allocation = Allocation::new(netlist, &layers, variant.policy);
    let program = HostProgram::new(&layers, &allocation, variant.cells, variant.registers);
    let ddr_seed = if slow_ddr { seed | 1 } else { 0 };
    let secrets = (offset, labels.as_slice());
    let device = run(netlist, (&program, &allocation), variant.timing, secrets, ddr_seed);
    let software = garble(netlist, &layers, offset, &labels);
    assert!(device.rows == software.rows, "{name}, seed {seed}: rows differ");
    for gate in &netlist.gates {
        if let Some(label) = device.label(&allocation, gate.out) {
            assert!(label == software.labels[gate.out.index()], "{name}, seed {seed}: {gate:?}");
        }
    }
    let predicted = simulate(&program, variant.timing);
    match slow_ddr {
        true => assert!(device.duration.ticks > predicted.ticks, "{name}, seed {seed}"),
        false => assert_eq!(device.duration, predicted, "{name}, seed {seed}"),
    }
    println!("{name}: {} ANDs, {:?}", software.rows.len(), device.duration);
}

/// All variants of Tables 5 to 11.
fn variants(netlist: &Netlist) -> [Variant; 12] {
    [
        Variant::table_5(5),
        Variant::table_5(10),
        Variant::TABLE_6,
        Variant::TABLE_7,
        Variant::table_8(netlist.wire_count() as u32),
        Variant::table_9(5),
        Variant::table_9(10),
        Variant::table_10(Registers::OnePerAddress, false),
        Variant::table_10(Registers::Packed, true),
        Variant::table_10(Registers::Packed, false),
        Variant::TABLE_11,
        Variant { policy: MemoryPolicy::DdrOnly, ..Variant::TABLE_11 },
    ]
}

#[test]
fn problems_are_garbled_as_in_software_by_all_variants() {
    let mut seeds = Seeds::fresh();
    for problem in [Problem::Adder(6), Problem::HammingDistance(30), Problem::Product(8)] {
        let netlist = problem.netlist();
        for variant in variants(&netlist) {
            compare(&problem.name(), &netlist, variant, seeds.draw(), false);
        }
    }
}

fn compare_table_11(is_wanted: impl Fn(&Netlist) -> bool) {
    let mut seeds = Seeds::fresh();
    for problem in PROBLEMS {
        let netlist = problem.timed_netlist();
        if is_wanted(&netlist) {
            compare(&problem.name(), &netlist, Variant::TABLE_11, seeds.draw(), false);
        }
    }
}

const LARGE_GATES: usize = 100_000;

#[test]
fn table_11_is_garbled_as_in_software() {
    compare_table_11(|netlist| netlist.gates.len() < LARGE_GATES);
}

#[test]
#[ignore = "takes six minutes"]
fn the_largest_problems_of_table_11_are_garbled_as_in_software() {
    compare_table_11(|netlist| netlist.gates.len() >= LARGE_GATES);
}

/// Gates of random kinds on any wires, constants included.
fn random_netlist(random: &mut SeededRng, gates: u32) -> Netlist {
    let inputs = 1 + random.below(20) as u32;
    let mut netlist = Netlist {
        inputs: (2..2 + inputs).map(WireId).collect(),
        wires_end: inputs + 2,
        ..Netlist::default()
    };
    for _ in 0..gates {
        let end = netlist.wires_end;
        let mut wire = || {
            let recent = if random.below(4) == 0 { end } else { end.min(30) };
            WireId(end - 1 - random.below(recent.into()) as u32)
        };
        let (a, b) = (wire(), wire());
        let kind = if random.below(3) == 0 { GateKind::And } else { GateKind::Xor };
        netlist.gates.push(Gate { kind, a, b, out: WireId(end) });
        netlist.wires_end += 1;
    }
    netlist
}

#[test]
fn random_netlists_are_garbled_as_in_software() {
    let mut seeds = Seeds::fresh();
    for gates in [0, 1, 2, 15, 16, 100, 300] {
        let seed = seeds.draw();
        let netlist = random_netlist(&mut SeededRng::new(seed), gates);
        for variant in variants(&netlist) {
            compare(&format!("{gates} random gates"), &netlist, variant, seed, false);
        }
    }
}

#[test]
fn ddr_may_take_any_time() {
    let mut seeds = Seeds::fresh();
    let netlist = Problem::Product(8).netlist();
    for variant in variants(&netlist) {
        compare("8-bit mult, slow DDR", &netlist, variant, seeds.draw(), true);
    }
}

#[test]
fn the_package_has_the_numbers_of_the_software() {
    let package = include_str!("../../../hw/ip/sifo/rtl/sifo_pkg.sv");
    use phineus_overlay::sifo::allocation::{ADDRESS_BITS, BLOCK_RAM_WORDS};
    for (name, value) in [
        ("LABEL_BITS", 80),
        ("ADDRESS_BITS", ADDRESS_BITS),
        ("CELLS", Variant::TABLE_11.cells.ands as u32),
        ("RAM_BITS", BLOCK_RAM_WORDS.ilog2()),
    ] {
        assert!(package.contains(&format!("localparam {name} = {value};")), "{name}");
    }
}
