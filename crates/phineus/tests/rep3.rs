//! Replicated shares of three parties, as a user runs them.

mod common;

use common::{Place, Result};

/// Programs with sizes; `gcd` opens values that decide what runs next.
const PROGRAMS: [&str; 12] = [
    "millionaires",
    "password-reuse --param n=60",
    "merge --param n=200",
    "join --param n=40",
    "ljoin --param n=12",
    "mvmul --param n=40",
    "linear-layer --param n=24",
    "aes128 --param n=40",
    "biometric --param n=100",
    "psi --param n=60",
    "cnn --param size=8",
    "gcd",
];

/// The input files that `phineus data` has made, as options.
fn inputs(place: &Place) -> Result<String> {
    let files = place.files()?;
    let tables = files.iter().filter(|name| name.ends_with(".csv"));
    Ok(tables.map(|name| format!(" --in {}={name}", name.trim_end_matches(".csv"))).collect())
}

/// Checks that each party has the costs that its plan states; returns the names.
fn agreed(place: &Place) -> Result<Vec<String>> {
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    let parties = report["parties"].as_array().ok_or("there are parties")?;
    for party in parties {
        for figure in ["and_gates", "rounds", "sent_bytes", "received_bytes", "swap_in_pages"] {
            assert_eq!(party["predicted"][figure], party["measured"][figure], "{figure}");
        }
        let memory = &party["memory_bytes"];
        assert!(memory["measured_peak"].as_u64() <= memory["limit"].as_u64(), "{memory}");
    }
    Ok(parties.iter().filter_map(|party| party["party"].as_str().map(str::to_owned)).collect())
}

#[test]
fn programs_are_right_and_cost_what_their_plans_state() -> Result {
    for program in PROGRAMS {
        let place = Place::new()?;
        place.run(&format!("data {program} --param parties=3"))?.succeeded()?;
        let inputs = inputs(&place)?;
        let run = format!("run {program} --param parties=3 --local --protocol rep3{inputs}");
        let done = place.run(&format!("{run} --verify --report run.json"))?;
        done.succeeded()
            .and_then(|done| done.says("equals the plaintext answer: yes"))
            .and_then(|done| done.says("no two of them compare what they saw"))
            .map_err(|error| format!("{program}: {error}"))?;
        assert_eq!(agreed(&place)?.len(), 3, "{program}");
    }
    Ok(())
}

#[test]
fn pages_swap_under_a_small_limit() -> Result {
    let place = Place::new()?;
    let program = "merge --param n=20000 --param parties=3";
    place.run(&format!("data {program}"))?.succeeded()?;
    let run = format!("run {program} --local --protocol rep3{}", inputs(&place)?);
    let refused = place.run(&format!("{run} --memory 30MiB --json"))?.failed_with(6)?.document()?;
    let needed = refused["error"]["needed_bytes"].as_u64().ok_or("the least limit")?;
    let least = needed.div_ceil(1 << 20);
    let done = place.run(&format!("{run} --memory {least}MiB --verify --report run.json"))?;
    done.succeeded()?.says("equals the plaintext answer: yes")?;
    agreed(&place)?;
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    let pages = report["parties"][0]["measured"]["swap_in_pages"].as_u64();
    assert!(pages > Some(0), "nothing was swapped");
    Ok(())
}

#[test]
fn clients_share_inputs_and_learn_outputs() -> Result {
    let place = Place::new()?;
    place.run("data biometric --param n=40")?.succeeded()?;
    let run = format!("run biometric --param n=40 --local --computing 3{}", inputs(&place)?);
    let done = place.run(&format!("{run} --protocol rep3 --verify --report run.json"))?;
    done.succeeded()?.says("equals the plaintext answer: yes")?;
    assert_eq!(agreed(&place)?, ["server_1", "server_2", "server_3", "site_a", "site_b"]);
    Ok(())
}

/// Fewer corrupted parties are assumed only by who says so.
#[test]
fn only_who_assumes_an_honest_majority_gets_it() -> Result {
    let place = Place::new()?;
    place.run("data aes128 --param n=200 --param parties=3")?.succeeded()?;
    let run = format!("run aes128 --param n=200 --param parties=3 --local{}", inputs(&place)?);
    let automatic = place.run(&format!("{run} --protocol auto"))?.succeeded()?;
    assert!(!automatic.stderr.contains("rep3"), "{}", automatic.stderr);
    let stated = place.run(&format!("{run} --protocol auto-honest-majority"))?.succeeded()?;
    stated.says("protocol: rep3")?;
    Ok(())
}

/// Who makes a plan does not choose what others assume.
#[test]
fn plans_of_weaker_protocols_are_not_chosen_by_themselves() -> Result {
    let place = Place::new()?;
    place.run("data aes128 --param n=4 --param parties=3")?.succeeded()?;
    let program = "aes128 --param n=4 --param parties=3";
    for (protocol, runs) in [("rep3", true), ("spdz-32", false), ("clear", false)] {
        let plan = format!("plan {program} --protocol {protocol} --memory 64MiB --out {protocol}");
        place.run(&plan)?.succeeded()?;
        let run = format!("run {protocol} --local{}", inputs(&place)?);
        let refused = place.run(&format!("{run} --protocol auto"))?.failed_with(3)?;
        refused.says(&format!("'{protocol}', which 'auto' never chooses"))?;
        let assumed = place.run(&format!("{run} --protocol auto-honest-majority"))?;
        if runs {
            assumed.succeeded()?
        } else {
            assumed.failed_with(3)?
        };
    }
    Ok(())
}

#[test]
fn other_numbers_of_parties_and_options_of_others_are_refused() -> Result {
    let place = Place::new()?;
    place.run("data aes128 --param n=4")?.succeeded()?;
    let run = format!("run aes128 --param n=4 --local --protocol rep3{}", inputs(&place)?);
    place.run(&run)?.failed_with(3)?.says("protocol 'rep3' is for 3 parties")?;
    let three = format!("{run} --param parties=3");
    place.run(&format!("{three} --ot silent"))?.failed_with(2)?.says("makes no triples")?;
    let stored = format!("{three} --preprocessing stored=x");
    place.run(&stored)?.failed_with(2)?.says("no preprocessing that could be stored")?;
    Ok(())
}
