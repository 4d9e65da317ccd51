//! Programs that decide while they run what runs next: under every protocol, as files, refused.

mod common;

use common::{Place, Result};

const RUN: &str = "run gcd --local --in site_a=a.csv --in site_b=b.csv --out result.csv";

fn place(a: u32, b: u32) -> Result<Place> {
    let place = Place::new()?;
    place.write("a.csv", format!("number\n{a}\n"))?;
    place.write("b.csv", format!("number\n{b}\n"))?;
    Ok(place)
}

/// How many divisions Euclid's algorithm takes.
fn divisions(mut a: u32, mut b: u32) -> u64 {
    let mut count = 0;
    while b != 0 {
        (a, b) = (b, a % b);
        count += 1;
    }
    count
}

#[test]
fn every_protocol_runs_until_the_remainder_is_opened_as_zero() -> Result {
    for (a, b) in [(1071, 462), (46368, 28657), (5, 0)] {
        let place = place(a, b)?;
        let mut expected = (a, b);
        while expected.1 != 0 {
            expected = (expected.1, expected.0 % expected.1);
        }
        for protocol in ["clear", "garbled", "gmw", "arith", "mixed", "spdz --fake-preprocessing"] {
            // A run that costs anything but what the blocks that ran are stated to fails.
            let done = place.run(&format!("{RUN} --protocol {protocol} --verify"))?;
            done.succeeded().map_err(|error| format!("{protocol}: {error}"))?;
            assert_eq!(place.read("result.csv")?, format!("gcd\n{}\n", expected.0), "{protocol}");
        }
    }
    Ok(())
}

#[test]
fn material_is_made_for_the_blocks_that_run() -> Result {
    let place = place(1071, 462)?;
    place.run(&format!("{RUN} --protocol spdz --verify"))?.succeeded()?;
    place.run(&format!("{RUN} --protocol gmw"))?.succeeded()?;
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    let explain = place.run("explain gcd --protocol gmw --json")?.succeeded()?;
    let once: serde_json::Value = serde_json::from_str(&explain.stdout)?;
    assert_eq!(once["opened"], serde_json::json!(["whether a remainder is left"]));
    for party in report["parties"].as_array().ok_or("two parties")? {
        for figure in ["and_gates", "rounds", "sent_bytes", "received_bytes"] {
            assert_eq!(party["predicted"][figure], party["measured"][figure], "{figure}");
        }
        let rounds = party["measured"]["rounds"].as_u64().ok_or("a number")?;
        let stated = once["plan"]["costs"]["rounds"].as_u64().ok_or("a number")?;
        assert!(divisions(1071, 462) > 1 && rounds > stated, "{rounds} rounds, {stated} once");
    }
    Ok(())
}

#[test]
fn plans_of_blocks_are_written_shown_proven_and_run() -> Result {
    let place = place(1071, 462)?;
    for protocol in ["garbled", "gmw", "spdz"] {
        let plan = format!("plan gcd --protocol {protocol} --memory 96MiB --out p.plan");
        place.run(&plan)?.succeeded()?;
        place.run("check p.plan")?.succeeded()?.says("right")?;
        let shown = place.run("show p.plan")?.succeeded()?.stdout;
        assert_eq!(shown.matches("# block ").count(), 6, "{shown}");
        let more = if protocol == "spdz" { "--fake-preprocessing" } else { "" };
        let run = RUN.replace("gcd", "p.plan");
        let done = place.run(&format!("{run} --protocol {protocol} --memory 96MiB {more}"))?;
        done.succeeded().map_err(|error| format!("{protocol}: {error}"))?;
        assert_eq!(place.read("result.csv")?, "gcd\n21\n", "{protocol}");
    }
    let mut bytes = std::fs::read(place.file("p.plan"))?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(place.file("p.plan"), bytes)?;
    place.run("check p.plan")?.failed_with(3)?;
    Ok(())
}

#[test]
fn what_cannot_be_is_refused_with_a_sentence() -> Result {
    let place = place(1071, 462)?;
    place
        .run(&format!("{RUN} --protocol bmr"))?
        .failed_with(3)?
        .says("garbles a program before")?;
    let before = place.run(&format!("{RUN} --protocol gmw --preprocessing sequential"))?;
    before.failed_with(3)?.says("cannot be made before")?;
    let silent = place.run(&format!("{RUN} --protocol gmw --ot silent"))?;
    silent.failed_with(3)?.says("silent OT")?;
    let clients = place.run(&format!("{RUN} --protocol gmw --computing 3"))?;
    clients.failed_with(3)?.says("computing for others")?;
    let limited = place.run(&format!("{RUN} --protocol gmw --max-iterations 2"))?;
    limited.failed_with(1)?.says("--max-iterations")?;
    let explained = place.run("explain gcd")?.succeeded()?.stdout;
    assert!(explained.contains("opens     'whether a remainder is left' (u1)"), "{explained}");
    assert!(explained.contains("block     1 each time"), "{explained}");
    Ok(())
}
