//! Prints how fast every kernel that this machine supports is. Run it with `--release`.

use phineus_crypto::Kernel;
use phineus_crypto::measure::{self, GarblingRole, Rate};

const REPETITIONS: usize = 51;

fn main() {
    println!("best and median of {REPETITIONS} repetitions, one core");
    for kernel in Kernel::supported() {
        println!("\n{}", kernel.name());
        print_gates(kernel, GarblingRole::Garble);
        print_gates(kernel, GarblingRole::Evaluate);
        print("generator", measure::generator(kernel, REPETITIONS), "GB/s", 1e9);
        print("page sealing", measure::page_sealing(kernel, REPETITIONS), "GB/s", 1e9);
        print("transposition", measure::transposition(kernel, REPETITIONS), "GB/s", 1e9);
    }
}

fn print_gates(kernel: Kernel, side: GarblingRole) {
    let limit = measure::hash_limit(kernel, side, REPETITIONS);
    print(&format!("{side:?}: its hashes alone"), limit, "M AND/s", 1e6);
    let mut best = 0.0_f64;
    for batch in [1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 128, 4096] {
        let rate = measure::independent_gates(kernel, side, batch, batch, REPETITIONS);
        print(&format!("{side:?} {batch} independent"), rate, "M AND/s", 1e6);
        best = best.max(rate.best);
    }
    for period in [1, 2, 7] {
        let rate = measure::independent_gates(kernel, side, 32 * period, period, REPETITIONS);
        let text = format!("{side:?} {} independent, b of {period}", 32 * period);
        print(&text, rate, "M AND/s", 1e6);
    }
    for batch in [1, 2, 4, 16] {
        let rate = measure::dependent_gates(kernel, side, batch, REPETITIONS);
        print(&format!("{side:?} chain of {batch}"), rate, "M AND/s", 1e6);
    }
    for lanes in [1, 2, 3, 4, 8] {
        let rate = measure::chained_gates(kernel, side, lanes, REPETITIONS);
        print(&format!("{side:?} 32-bit adder, {lanes} lanes"), rate, "M AND/s", 1e6);
    }
    println!("  {:<40} {:8.2}", "best over its hashes alone", best / limit.best);
}

fn print(what: &str, rate: Rate, unit: &str, scale: f64) {
    println!("  {what:<40} {:8.2} {:8.2} {unit}", rate.best / scale, rate.median / scale);
}
