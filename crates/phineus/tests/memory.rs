//! Memory limits of every protocol: what is predicted is enough, and little is.

mod common;

use common::{Place, Result};
use serde_json::Value;

/// What the code of an unoptimised build takes more than that of an optimised one, for which what a
/// process takes was measured.
const UNOPTIMISED_MIB: u64 = 5;

/// The reports of all parties of a run within so many MiB.
fn run(place: &Place, line: &str, protocol: &str, mib: u64) -> Result<Vec<Value>> {
    let line = format!("run {line} --local --protocol {protocol} --memory {mib}MiB");
    place.run(&line)?.succeeded()?;
    let report: Value = serde_json::from_str(&place.read("run.json")?)?;
    Ok(report["parties"].as_array().ok_or("parties")?.clone())
}

/// Asserts that no party had more than it said, nor more than it was allowed.
fn assert_peaks(parties: &[Value], what: &str, mib: u64) -> Result {
    for party in parties {
        let memory = &party["memory_bytes"];
        let peak = |name: &str| memory[name].as_u64().ok_or("a peak");
        let (measured, predicted) = (peak("measured_peak")?, peak("predicted_peak")?);
        assert!(measured <= predicted, "{what}: {measured} and not {predicted}");
        assert!(predicted <= mib << 20, "{what}: {predicted}");
        let bytes = |of: &str| party[of]["sent_bytes"].as_u64().ok_or("bytes");
        assert_eq!(bytes("predicted")?, bytes("measured")?, "{what}");
    }
    Ok(())
}

/// Batches, what is on the way and the windows of the connections are small where memory is.
#[test]
fn every_protocol_runs_in_32_mebibytes() -> Result {
    let place = Place::new()?;
    let mib = 32 + UNOPTIMISED_MIB;
    place.run("data sort --param n=20 --out-dir .")?.succeeded()?;
    let sort = "sort --param n=20 --in site_a.csv --in site_b.csv --verify";
    for protocol in ["gmw", "arith", "mixed", "bmr", "spdz"] {
        assert_peaks(&run(&place, sort, protocol, mib)?, protocol, mib)?;
    }
    place.run("data mvmul --param n=40 --format npy --out-dir m")?.succeeded()?;
    let files = std::fs::read_dir(place.file("m"))?.collect::<std::io::Result<Vec<_>>>()?;
    let mut inputs: Vec<_> = files.iter().map(|file| file.path().display().to_string()).collect();
    inputs.sort();
    let inputs: Vec<String> = inputs
        .iter()
        .map(|path| {
            let name = path.rsplit('/').next().and_then(|name| name.strip_suffix(".npy"));
            format!("--in {}={path}", name.expect("one file for each input"))
        })
        .collect();
    let product = format!("mvmul --param n=40 {} --verify", inputs.join(" "));
    assert_peaks(&run(&place, &product, "spdz", mib)?, "matrices", mib)
}

/// What programs need of it differs: circuits, rows of values, frames on both sides of the garbling.
#[test]
fn garbling_among_two_fits_into_32_mebibytes_and_among_three_into_34() -> Result {
    let place = Place::new()?;
    let two =
        ["password-reuse n=200", "merge n=200", "ljoin n=20", "mvmul n=32", "linear-layer n=32"];
    let any = ["aes128 n=100", "sha256 n=3", "biometric n=200", "psi n=200", "cnn size=8"];
    let any = any.into_iter().chain(["intops op=div", "and n=20000", "beside n=200"]);
    let programs = two.into_iter().map(|program| (program, 2));
    let programs = programs.chain(any.flat_map(|program| [(program, 2), (program, 3)]));
    for (program, parties) in programs {
        let parameters = program.replace(' ', " --param ");
        let (more, mib) = if parties == 2 { ("", 32) } else { ("--param parties=3", 34) };
        let mib = mib + UNOPTIMISED_MIB;
        let line = format!("explain {parameters} {more} --protocol bmr --memory {mib}MiB");
        let done = place.run(&line)?.succeeded();
        done.map_err(|error| format!("{program} of {parties}: {error}"))?;
    }
    let mib = 32 + UNOPTIMISED_MIB;
    place.run("data aes128 --param n=100 --out-dir .")?.succeeded()?;
    let aes = "aes128 --param n=100 --in key.csv --in blocks.csv --verify";
    assert_peaks(&run(&place, aes, "bmr", mib)?, "aes128", mib)
}

/// More memory makes larger batches, and fewer rounds of the same; an eighth is the least.
#[test]
fn batches_follow_the_limit() -> Result {
    let place = Place::new()?;
    let mut rounds = Vec::new();
    for mib in [36, 64, 512] {
        let line = "explain intops --param op=mul --param lanes=3000 --protocol spdz --json";
        let done = place.run(&format!("{line} --memory {mib}MiB"))?.succeeded()?;
        let explained: Value = serde_json::from_str(&done.stdout)?;
        let costs = &explained["plan"]["costs"];
        let cost = |name: &str| costs[name].as_u64().ok_or("a cost");
        let halvings = explained["plan"]["settings"]["batch_halvings"].as_u64();
        rounds.push((halvings.ok_or("a setting")?, cost("preprocessing_rounds")?));
    }
    let [(least, many), (some, fewer), (none, fewest)] = rounds[..] else { panic!("three limits") };
    assert!(least == 3 && 0 < some && some < 3 && none == 0, "{rounds:?}");
    assert!(many > 4 * fewest && fewer > fewest && fewer < many, "{rounds:?}");
    Ok(())
}

/// How often a block runs is not known before, and memory does not depend on it.
#[test]
fn loops_stay_within_what_is_predicted() -> Result {
    let place = Place::new()?;
    place.write("a.csv", "number\n1071\n")?;
    place.write("b.csv", "number\n462\n")?;
    let line = "gcd --in site_a=a.csv --in site_b=b.csv --verify";
    for protocol in ["spdz", "gmw", "garbled"] {
        assert_peaks(&run(&place, line, protocol, 96)?, protocol, 96)?;
    }
    Ok(())
}

/// The least limit that `explain` finds, in MiB: it says what is missing until nothing is.
fn least_mib(place: &Place, program: &str, protocol: &str) -> Result<u64> {
    let mut mib = 16;
    for _ in 0..8 {
        let line = format!("explain {program} --protocol {protocol} --memory {mib}MiB --json");
        let done = place.run(&line)?;
        if done.code == Some(0) {
            return Ok(mib);
        }
        let told: Value = serde_json::from_str(&done.failed_with(6)?.stdout)?;
        let needed = told["error"]["needed_bytes"].as_u64().ok_or("what it needs")? >> 20;
        assert!(needed > mib, "{program}: {needed} MiB do not fit into {mib}");
        mib = needed;
    }
    Err(format!("{program} needs more each time").into())
}

/// Circuits of some hundred thousand gates are most of what a party holds, and are counted.
#[test]
fn large_circuits_on_authenticated_bits_stay_within_the_least_limit() -> Result {
    let place = Place::new()?;
    for (program, inputs) in
        [("aes128", "--in key.csv --in blocks.csv"), ("sha256", "--in messages.csv")]
    {
        let program = format!("{program} --param n=1");
        place.run(&format!("data {program} --out-dir ."))?.succeeded()?;
        let mib = least_mib(&place, &program, "spdz")? + UNOPTIMISED_MIB;
        let line = format!("{program} {inputs} --fake-preprocessing --verify");
        assert_peaks(&run(&place, &line, "spdz", mib)?, &program, mib)?;
    }
    Ok(())
}
