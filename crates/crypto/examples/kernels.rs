//! Prints how fast every kernel that this machine supports is. Run it with `--release`.

use phineus_crypto::Kernel;
use phineus_crypto::measure::{self, Rate, Side};

const REPETITIONS: usize = 31;

fn main() {
    println!("best and median of {REPETITIONS} repetitions, one core");
    for kernel in Kernel::supported() {
        println!("\n{}", kernel.name());
        for side in [Side::Garble, Side::Evaluate] {
            for batch in [1, 2, 3, 4, 5, 8, 16, 32, 128, 4096] {
                let rate = measure::independent_gates(kernel, side, batch, batch, REPETITIONS);
                print(&format!("{side:?} independent, batch {batch}"), rate, "M AND/s", 1e6);
            }
            for period in [1, 2, 7] {
                let batch = 32 * period;
                let rate = measure::independent_gates(kernel, side, batch, period, REPETITIONS);
                let text = format!("{side:?} independent, batch {batch}, b of {period}");
                print(&text, rate, "M AND/s", 1e6);
            }
            for batch in [1, 2, 4] {
                let rate = measure::dependent_gates(kernel, side, batch, REPETITIONS);
                print(&format!("{side:?} chain, batch {batch}"), rate, "M AND/s", 1e6);
            }
        }
        print("generator", measure::generator(kernel, REPETITIONS), "GB/s", 1e9);
        print("page sealing", measure::page_sealing(kernel, REPETITIONS), "GB/s", 1e9);
        print("transposition", measure::transposition(kernel, REPETITIONS), "GB/s", 1e9);
    }
}

fn print(what: &str, rate: Rate, unit: &str, scale: f64) {
    println!("  {what:<40} {:8.2} {:8.2} {unit}", rate.best / scale, rate.median / scale);
}
