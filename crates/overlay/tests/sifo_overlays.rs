//! SIFO and our overlay on the same problems.

mod circuits;

use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_overlay::compile_netlist;
use phineus_overlay::parameters::Parameters;
use phineus_overlay::sifo::layers::Layers;
use phineus_overlay::sifo::netlist::Netlist;
use phineus_overlay::sifo::problems::{PROBLEMS, Problem};
use phineus_overlay::sifo::published::Variant;
use phineus_overlay::software::compute_in_clear;

#[test]
fn conversions_do_not_change_results() {
    let mut seeds = Seeds::fresh();
    for gates in [1, 10, 1000] {
        let seed = seeds.draw();
        let recorded = circuits::random(seed, gates);
        let netlist = Netlist::from_overlay(&recorded);
        assert_eq!(netlist.and_count() as u64, recorded.and_count, "seed {seed}");
        let back = netlist.to_overlay().expect("it is small");
        let mut random = SeededRng::new(seed);
        let inputs: Vec<bool> = recorded.inputs.iter().map(|_| random.below(2) == 1).collect();
        let expected = compute_in_clear(&recorded, &inputs);
        assert!(netlist.compute_in_clear(&inputs) == expected, "seed {seed}");
        assert!(compute_in_clear(&back, &inputs) == expected, "seed {seed}");
    }
}

/// Cycles of our overlay on the netlists of SIFO.
fn cycles(netlist: &Netlist) -> u64 {
    let netlist = netlist.to_overlay().expect("it is small enough");
    compile_netlist(&netlist, Parameters::default(), [0; 32]).expect("it fits").1.cycles
}

#[test]
fn our_overlay_is_faster_on_all_problems() {
    for problem in PROBLEMS {
        let netlist = problem.netlist();
        let ours = cycles(&netlist) as f64 / 200.0;
        let sifo = Variant::TABLE_11.simulate(&netlist, &Layers::new(&netlist)).microseconds();
        let ands = netlist.and_count();
        println!(
            "{}: {ands} ANDs, SIFO {sifo:.0} us, ours {ours:.2} us, {:.0} times",
            problem.name(),
            sifo / ours
        );
        assert!(sifo / ours > 30.0, "{}", problem.name());
    }
}

#[test]
fn our_circuits_of_the_same_functions_take_fewer_ands() {
    let counts = |name: &str, recorded: &phineus_overlay::netlist::Netlist| {
        let netlist = Netlist::from_overlay(recorded);
        println!("{name}: {} ANDs, {} XORs", netlist.and_count(), netlist.xor_count());
        (netlist.and_count(), netlist.xor_count())
    };
    for width in [8, 16, 32, 64] {
        let ours = counts(&format!("{width}-bit mult"), &circuits::full_product(2 * width, 1));
        let sifo = Problem::Product(width).netlist();
        assert!(ours.0 < sifo.and_count(), "{width}");
    }
    let ours = counts("6-bit adder", &circuits::addition(6, 1));
    assert_eq!(ours.0, 5);
    for (side, width) in [(5, 4), (10, 4), (5, 8), (10, 8)] {
        let name = format!("{side}x{side} {width}-bit m_mult");
        let ours = counts(&name, &circuits::matrix_product(width, side));
        assert!(ours.0 < Problem::MatrixProduct { side, width }.netlist().and_count(), "{name}");
    }
}
