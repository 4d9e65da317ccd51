//! Transcripts: what every party sends under each protocol, for fixed programs, inputs and generators.
//!
//! The cases are those of the constant-time test (`examples/secret_paths`), run with a module `watch`
//! that records. Each has a file here with the length and the SHA-256 of what went over each channel in
//! each direction, and of the plans. A test fails if a byte differs: parties of two versions could then
//! not run together, or a plan costs something else. If that is meant, `PHINEUS_BLESS=1 cargo test -p
//! phineus-protocols --test transcripts` writes the files again, and the changelog says so.
//!
//! The programs are random ones, drawn once and stored in `programs/`, so that a new operation does not
//! change them. A file that is missing is drawn when transcripts are written.

#[path = "../../examples/secret_paths/garbled.rs"]
mod garbled;
#[path = "../../examples/secret_paths/look_ups.rs"]
mod look_ups;
#[path = "../../examples/secret_paths/moved_rows.rs"]
mod moved_rows;
#[path = "../../examples/secret_paths/ot.rs"]
mod ot;
#[path = "../../examples/secret_paths/preprocessing.rs"]
mod preprocessing;
#[path = "../../examples/secret_paths/programs.rs"]
mod programs;
#[path = "../../examples/secret_paths/shares.rs"]
mod shares;
#[path = "../../examples/secret_paths/spdz.rs"]
mod spdz;
mod watch;
#[path = "../../examples/secret_paths/wire.rs"]
mod wire;

use std::fmt::Write;

use phineus_ot::limits::BATCH_OTS;
use phineus_ot::{FieldBits, LpnParameters, OtKind};

/// Tests that each case sends what its file says, for seeds that choose programs and variants.
macro_rules! transcripts {
    ($($case:ident: $run:path, $seeds:expr;)*) => {$(
        #[test]
        fn $case() {
            check(stringify!($case), &$seeds, $run);
        }
    )*};
}

/// Openings to all at once, and through one party; masks of shared bits, and garbled ones.
const VARIANTS: [u64; 2] = [0, 3];

transcripts! {
    base_ot: ot::base, [0];
    softspoken: ot::softspoken, [0];
    softspoken_malicious: ot::malicious, [0];
    softspoken_batches: several_batches, [0];
    silent: ot::silent, [0];
    silent_iterations: several_iterations, [0];
    ot_flavours: ot::flavours, [0];
    preprocessing: preprocessing::all, [0];
    garbled: garbled::all, [0];
    garbled_rows: garbled::rows, [0];
    gmw: shares::boolean, VARIANTS;
    arith: shares::arithmetic, VARIANTS;
    bmr: shares::garbled, VARIANTS;
    // Its four programs have all variants.
    mixed: shares::mixed, [0];
    rows_of_tables: shares::look_ups, [0];
    clients: shares::clients, VARIANTS;
    mascot: spdz::mascot, [0];
    spdz: spdz::small, [0];
    spdz_whole_masks: spdz::whole, [0];
    spdz_three_parties: spdz::three, [0];
    spdz_large_field: spdz::large, [0];
}

/// Several batches, the last of them not full.
fn several_batches() {
    ot::extension_of_kind(OtKind::SoftSpoken(FieldBits::DEFAULT), &[2 * BATCH_OTS + 65]);
}

/// Several iterations.
fn several_iterations() {
    let half = LpnParameters::SMALL.output_ots() / 2;
    ot::extension_of_kind(OtKind::Silent(LpnParameters::SMALL), &[half, half, 65]);
}

fn check(case: &str, seeds: &[u64], run: fn()) {
    let mut found = String::new();
    for &seed in seeds {
        let recorded = watch::record(seed, run);
        writeln!(found, "seed {seed}\n{recorded}").expect("memory");
    }
    let path = watch::directory().join(case).with_extension("txt");
    if watch::is_blessed() {
        std::fs::write(path, found).expect("the directory of the tests can be written to");
        return;
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    if found != stored {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let (found, stored) = (lines(&found), lines(&stored));
        let place = found.iter().zip(&stored).take_while(|(found, stored)| found == stored).count();
        let line = |lines: &[String]| lines.get(place).cloned().unwrap_or("nothing".to_owned());
        panic!(
            "{}, line {}, differs: it has '{}', the run has '{}'. If that is meant, write it again \
             with PHINEUS_BLESS=1 and say so in CHANGELOG.md",
            path.display(),
            place + 1,
            line(&stored),
            line(&found)
        );
    }
}
