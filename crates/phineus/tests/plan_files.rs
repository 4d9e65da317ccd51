//! Plans of the built-in programs are what they were, byte for byte: parties of two versions agree on
//! them, and what a plan costs does not change by accident.
//!
//! Each protocol has a file in `plan_files/` with the frames, the length and the SHA-256 of each plan, or
//! the code of the error where there is none. Plans are compressed, so another version of zstd changes
//! their bytes as well. If a difference is meant, `PHINEUS_BLESS=1 cargo test -p
//! phineus --test plan_files` writes the files again, and the changelog says so.

mod common;

use std::fmt::Write;
use std::path::Path;

use common::{Place, Result};
use sha2::{Digest, Sha256};

/// Programs and sizes, some of which swap under the smaller limit.
const PROGRAMS: [&str; 18] = [
    "millionaires",
    "password-reuse --param n=500",
    "merge --param n=65536",
    "sort --param n=4000",
    "join --param n=300",
    "ljoin --param n=64",
    "mvmul --param n=512",
    "binfclayer --param n=256",
    "linear-layer --param n=64",
    "aes128 --param n=100",
    "sha256 --param n=4",
    "biometric --param n=1000",
    "psi --param n=500",
    "cnn --param size=12",
    "gcd",
    // With more than two parties.
    "sort --param n=100 --param parties=3",
    "psi --param n=100 --param parties=3",
    "biometric --param n=100 --param parties=4",
];

const LIMITS: [&str; 2] = ["40MiB", "1GiB"];

/// The plan of `program` in a line, or why there is none.
fn line(place: &Place, program: &str, protocol: &str, limit: &str) -> Result<String> {
    let command =
        format!("plan {program} --protocol {protocol} --memory {limit} --out x.plan --json");
    let done = place.run(&command)?;
    let document: serde_json::Value = serde_json::from_str(&done.stdout)?;
    if done.code != Some(0) {
        return Ok(format!("no plan, {}", document["error"]["code"].as_str().ok_or("a code")?));
    }
    let bytes = std::fs::read(place.file("x.plan"))?;
    let digest = Sha256::digest(&bytes);
    let mut hash = String::new();
    digest[..16].iter().try_for_each(|byte| write!(hash, "{byte:02x}"))?;
    let (frames, pages) = (&document["plan"]["frame_count"], &document["plan"]["swap_in_count"]);
    Ok(format!("{frames} frames, {pages} pages in, {} bytes {hash}", bytes.len()))
}

fn check(protocol: &str) -> Result {
    let place = Place::new()?;
    let mut found = String::new();
    for program in PROGRAMS {
        for limit in LIMITS {
            let line = line(&place, program, protocol, limit)?;
            writeln!(found, "{program}, {limit}: {line}")?;
        }
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plan_files");
    let path = directory.join(protocol).with_extension("txt");
    if std::env::var_os("PHINEUS_BLESS").is_some() {
        return Ok(std::fs::write(path, found)?);
    }
    let stored = std::fs::read_to_string(&path)?;
    let differing = found.lines().zip(stored.lines()).filter(|(found, stored)| found != stored);
    let differing: Vec<String> =
        differing.map(|(found, stored)| format!("stored {stored}\nfound  {found}")).collect();
    assert!(
        found == stored,
        "plans differ from {}; if that is meant, write them again with PHINEUS_BLESS=1 and say so \
         in CHANGELOG.md:\n{}",
        path.display(),
        differing.join("\n")
    );
    Ok(())
}

macro_rules! plans {
    ($($test:ident: $protocol:literal;)*) => {$(
        // An optimised process takes less memory, so its plans have more frames.
        #[cfg_attr(not(debug_assertions), ignore = "the stored plans are of unoptimised builds")]
        #[test]
        fn $test() -> Result {
            check($protocol)
        }
    )*};
}

plans! {
    plans_of_garbled: "garbled";
    plans_of_gmw: "gmw";
    plans_of_arith: "arith";
    plans_of_bmr: "bmr";
    plans_of_mixed: "mixed";
    plans_of_spdz: "spdz";
}
