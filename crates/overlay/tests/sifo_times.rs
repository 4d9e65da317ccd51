//! Simulated times of SIFO against its tables 5 to 11. Rows that are missed are stated with their ratios.

use phineus_overlay::sifo::allocation::{
    Allocation, BLOCK_RAM_WORDS, CONSTANT_WORDS, MemoryPolicy,
};
use phineus_overlay::sifo::host::Registers;
use phineus_overlay::sifo::layers::Layers;
use phineus_overlay::sifo::netlist::Netlist;
use phineus_overlay::sifo::problems::{PROBLEMS, Problem};
use phineus_overlay::sifo::published::{
    TABLE_8, TABLE_9, TABLE_10, TABLE_11, TABLES_5_TO_7, Variant, least_squares, model_counts,
};

/// The netlist that was timed, and its layers.
fn netlist(problem: Problem) -> (Netlist, Layers) {
    let netlist = problem.timed_netlist();
    let layers = Layers::new(&netlist);
    (netlist, layers)
}

fn microseconds(variant: Variant, (netlist, layers): &(Netlist, Layers)) -> f64 {
    variant.simulate(netlist, layers).microseconds()
}

/// Prints a row; returns ours over published.
fn compare(name: &str, ours: f64, published: f64) -> f64 {
    println!("{name}: {published:.0} us published, {ours:.0} us, {:.3}", ours / published);
    ours / published
}

fn is_near(ratio: f64) -> bool {
    (0.85..=1.15).contains(&ratio)
}

#[test]
fn times_of_table_11_are_within_15_percent() {
    let (mut published_rows, mut our_rows) = (Vec::new(), Vec::new());
    for (problem, (_, published)) in PROBLEMS.into_iter().zip(TABLE_11) {
        let netlist = netlist(problem);
        let ours = microseconds(Variant::TABLE_11, &netlist);
        assert!(is_near(compare(&problem.name(), ours, published)), "{}", problem.name());
        published_rows.push((model_counts(&netlist.1), published));
        our_rows.push((model_counts(&netlist.1), ours));
    }
    // DDR accesses of 180 ns are what the device does most of the time.
    for (name, rows) in [("published", published_rows), ("ours", our_rows)] {
        let [access_us, layer_us] = least_squares(&rows);
        let access_ns = 1000.0 * access_us;
        println!("{name}: {access_ns:.0} ns an access and {layer_us:.2} us a layer");
        assert!((170.0..210.0).contains(&access_ns) && (1.2..2.2).contains(&layer_us), "{name}");
    }
}

#[test]
fn the_whole_10x10_product_takes_four_times_as_long_as_published() {
    let whole = Problem::MatrixProduct { side: 10, width: 4 }.netlist();
    let layers = Layers::new(&whole);
    let ours = Variant::TABLE_11.simulate(&whole, &layers).microseconds();
    let ratio = compare("10x10 4-bit m_mult with 31,600 ANDs", ours, TABLE_11[10].1);
    // 1 / 0.238 of it.
    assert!(is_near(ratio * 0.238));
}

#[test]
fn times_of_tables_5_to_7_are_within_15_percent_but_those_of_the_sort() {
    let variants = [Variant::table_5(5), Variant::table_5(10), Variant::TABLE_6, Variant::TABLE_7];
    for (problem, published) in TABLES_5_TO_7 {
        let netlist = netlist(problem);
        let ours = variants.map(|variant| microseconds(variant, &netlist));
        for (number, (ours, published)) in ours.into_iter().zip(published).enumerate() {
            let name = ["Table 5 (5 AND)", "Table 5 (10 AND)", "Table 6", "Table 7"][number];
            let ratio = compare(&format!("{name}, {}", problem.name()), ours, published);
            // By least squares over all rows of Table 6, an XOR takes 0.2 us and an AND 1.2 us there. The sort has the
            // fewest ANDs, and here an XOR takes 0.6 us and an AND 0.3 us.
            let is_missed = problem == Problem::Sort && number >= 2;
            assert_eq!(is_near(ratio), !is_missed, "{name}, {}", problem.name());
        }
        // Every step helps.
        assert!(ours.windows(2).all(|pair| pair[0] >= pair[1]), "{}", problem.name());
    }
}

/// Why the sort is missed in Table 6: the published device spends its time on ANDs, ours on XORs, and the sort has the
/// smallest share of ANDs.
#[test]
fn the_published_device_takes_longer_for_ands_and_shorter_for_xors() {
    let (mut published_rows, mut our_rows) = (Vec::new(), Vec::new());
    for (problem, [_, _, published, _]) in TABLES_5_TO_7 {
        let netlist = netlist(problem);
        let counts = netlist.1.statistics();
        let batches: usize = netlist.1.iter().map(|(_, ands)| ands.len().div_ceil(10)).sum();
        let without_ands = netlist.1.iter().filter(|(_, ands)| ands.is_empty()).count();
        let counts = [counts.xors, counts.ands, batches, without_ands].map(|count| count as f64);
        published_rows.push((counts, published));
        our_rows.push((counts, microseconds(Variant::TABLE_6, &netlist)));
    }
    let published = least_squares(&published_rows);
    let ours = least_squares(&our_rows);
    println!(
        "us an XOR, an AND, a batch of ANDs, a layer without: {published:.2?}, ours {ours:.2?}"
    );
    assert!(published[0] < 0.3 && published[1] > 1.0);
    assert!((0.5..0.65).contains(&ours[0]) && (0.3..0.5).contains(&ours[1]));
}

#[test]
fn both_memory_policies_are_as_fast_as_published() {
    for (problem, published) in TABLE_8 {
        let netlist = netlist(problem);
        let wires = netlist.0.wire_count() as u32;
        let ours = microseconds(Variant::table_8(wires), &netlist);
        let name = format!("Table 8, {}", problem.name());
        assert!(is_near(compare(&name, ours, published)), "{name}");
        let direct = microseconds(Variant::TABLE_7, &netlist);
        println!("{name}: policies compare as {:.2}", ours / direct);
        // With all the block RAM that the paper states.
        let policy = MemoryPolicy::MostFrequentlyUsed { words: BLOCK_RAM_WORDS - CONSTANT_WORDS };
        let all = microseconds(Variant { policy, ..Variant::table_8(0) }, &netlist);
        compare("with all block RAM", all, published);
        assert!(all / published < 0.85, "{name}: {all}");
    }
}

#[test]
fn more_cells_help_as_published() {
    let product = netlist(Problem::Product(64));
    let ours = TABLE_9.map(|(cells, _)| microseconds(Variant::table_9(cells), &product));
    for ((cells, published), ours) in TABLE_9.into_iter().zip(ours) {
        assert!(is_near(compare(&format!("Table 9, {cells} cells"), ours, published)), "{cells}");
    }
    for (step, published) in [(ours[0] / ours[1], 1.25), (ours[1] / ours[2], 1.22)] {
        assert!(is_near(compare(
            "Table 9, improvement in percent",
            100.0 * step,
            100.0 * published
        )));
    }
}

#[test]
fn packed_registers_help_less_than_published() {
    for (problem, published) in TABLE_10 {
        let netlist = netlist(problem);
        let improvement = |overlap| {
            let [three, two] = [Registers::OnePerAddress, Registers::Packed]
                .map(|registers| microseconds(Variant::table_10(registers, overlap), &netlist));
            println!("{}, overlap {overlap}: {three:.0} us, {two:.0} us", problem.name());
            three / two
        };
        let (with, without) = (improvement(true), improvement(false));
        let published = published[0] / published[1];
        println!("improvement: {published:.3} published, {with:.3}, {without:.3} without overlap");
        assert!(with > 1.0 && is_near(with / published), "{}", problem.name());
        // What is published looks like writes that do not overlap.
        assert!(without > with && is_near(without / published), "{}", problem.name());
    }
}

#[test]
fn overlap_and_block_ram_shorten_a_run() {
    let product = netlist(Problem::Product(32));
    let mut variant = Variant::TABLE_11;
    let base = microseconds(variant, &product);
    variant.timing.overlap = false;
    assert!(microseconds(variant, &product) > 1.05 * base);
    variant = Variant { policy: MemoryPolicy::DdrOnly, ..Variant::TABLE_11 };
    assert!(microseconds(variant, &product) > 1.2 * base);
}

#[test]
fn only_the_largest_problem_overflows_its_half_of_the_block_ram() {
    for problem in PROBLEMS {
        let (netlist, layers) = netlist(problem);
        let allocation = Allocation::new(&netlist, &layers, MemoryPolicy::DirectlyUsed);
        let is_largest = problem == Problem::MatrixProduct { side: 20, width: 4 };
        // Two layers have 128,000 directly used wires.
        let expected = if is_largest { 2 * (128_000 - 65_534) } else { 0 };
        assert_eq!(allocation.overflow, expected, "{}", problem.name());
        let direct = layers.statistics().direct as u32;
        assert_eq!(allocation.on_chip + allocation.overflow, direct, "{}", problem.name());
        assert!(allocation.fits_packed_registers(), "{}", problem.name());
    }
}
