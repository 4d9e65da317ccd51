//! Runs the secret paths of every protocol with secrets marked undefined, so that valgrind's memcheck
//! reports each branch and each address that depends on one.
//!
//! `scripts/constant-time` builds it as releases are built and runs every case under valgrind. By
//! itself, `cargo run --release -p phineus-protocols --example secret_paths [CASE...]` runs the
//! cases without looking at them.
//!
//! Secret are the seeds of all generators, keys, and the tables that parties bring, and so all that
//! is drawn or computed from them. Public are bytes that were sent ([`watch::Log`]), and what the
//! code declares so by `declassify`, with a reason.

mod crypto;
mod fields;
mod garbled;
mod look_ups;
mod moved_rows;
mod ot;
mod preprocessing;
mod programs;
mod rep3;
mod shares;
mod spdz;
mod watch;
mod wire;

use std::hint::black_box;

use phineus_crypto::secret::classify;
use phineus_crypto::{SecretBit, kernel_name};

/// Each runs by its name. The longest come first, since several run at once.
const CASES: &[(&str, fn())] = &[
    ("mascot", spdz::mascot),
    ("spdz", spdz::small),
    ("spdz-128", spdz::large),
    ("spdz-three", spdz::three),
    ("spdz-whole", spdz::whole),
    ("preprocessing", preprocessing::all),
    ("bmr", shares::garbled),
    ("gmw", shares::boolean),
    ("ot-flavours", ot::flavours),
    ("softspoken", ot::softspoken),
    ("silent", ot::silent),
    ("mixed", shares::mixed),
    ("garbled", garbled::all),
    ("garbled-rows", garbled::rows),
    ("softspoken-malicious", ot::malicious),
    ("look-ups", shares::look_ups),
    ("clients", shares::clients),
    ("rep3", rep3::all),
    ("base-ot", ot::base),
    ("arith", shares::arithmetic),
    ("fields", fields::all),
    ("crypto", crypto::all),
];

/// These must be reported, or the test is blind.
const CONTROLS: &[(&str, fn())] = &[
    ("control-branch", control_branch),
    ("control-address", control_address),
    ("control-declassified", control_declassified),
];

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.first().is_some_and(|name| name == "--list") {
        CASES.iter().for_each(|(name, _)| println!("{name}"));
        return;
    }
    let is_known = |name: &String| CASES.iter().chain(CONTROLS).any(|(known, _)| known == name);
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        eprintln!("there is no case '{unknown}'; --list prints their names");
        std::process::exit(2);
    }
    println!("kernel {}", kernel_name());
    for (name, run) in CASES.iter().chain(CONTROLS) {
        let is_asked = names.iter().any(|asked| asked == name);
        let is_control = CONTROLS.iter().any(|(control, _)| control == name);
        if is_asked || names.is_empty() && !is_control {
            let start = std::time::Instant::now();
            run();
            println!("{name}: done in {:.1} s", start.elapsed().as_secs_f64());
        }
    }
}

fn secret_number() -> u64 {
    let mut number = 5;
    classify(&mut number);
    number
}

/// A branch on a secret.
#[inline(never)]
fn control_branch() {
    if black_box(secret_number()) & 1 == 1 {
        println!("one");
    } else {
        println!("zero");
    }
}

/// An address that depends on a secret.
#[inline(never)]
fn control_address() {
    let table = black_box([1u8; 16]);
    black_box(table[black_box(secret_number()) as usize & 15]);
}

/// A branch on what was declassified: this one must *not* be reported.
#[inline(never)]
fn control_declassified() {
    if SecretBit::lowest(black_box(secret_number())).declassify("a control") {
        println!("one");
    } else {
        println!("zero");
    }
}
