//! Memory that is read at secret rows: `binary-search` by every method, under every protocol that can.

mod common;

use common::{Place, Result};

const RUN: &str = "run binary-search --local --verify --in table=table.csv --in keys=keys.csv";

fn run_json(place: &Place) -> Result<serde_json::Value> {
    Ok(serde_json::from_str(&place.read("run.json")?)?)
}

/// Checks that each party has all the costs that its plan states.
fn agrees(place: &Place) -> Result {
    for party in run_json(place)?["parties"].as_array().expect("a list of parties") {
        assert_eq!(party["deviations"].as_array().map(Vec::len), Some(0), "{party}");
        assert_eq!(party["predicted"], party["measured"], "{party}");
    }
    Ok(())
}

#[test]
fn searches_equal_the_plaintext() -> Result {
    for (rows, searches) in [(1, 2), (2, 3), (7, 4), (33, 3), (100, 6), (300, 2)] {
        let place = Place::new()?;
        let sizes = format!("--param n={rows} --param searches={searches}");
        place.run(&format!("data binary-search {sizes}"))?.succeeded()?;
        for choice in ["clear", "garbled", "clear --param memory=square-root"] {
            let done = place.run(&format!("{RUN} --protocol {choice} --out o.csv"))?;
            done.succeeded()?.says("equals the plaintext answer: yes")?;
        }
        let square_root = "--protocol garbled --param memory=square-root";
        let done = place.run(&format!("{RUN} {square_root} --out o.csv"))?;
        done.succeeded()?.says("equals the plaintext answer: yes")?;
        agrees(&place)?;
    }
    Ok(())
}

/// Two shuffles, and less memory than they would like.
#[test]
fn a_large_table_inside_little_memory() -> Result {
    let place = Place::new()?;
    place.run("data binary-search --param n=1500 --param searches=16")?.succeeded()?;
    let square_root = "--protocol garbled --param memory=square-root";
    let done = place.run(&format!("{RUN} {square_root} --memory 36MiB --out o.csv"))?;
    done.succeeded()?.says("equals the plaintext answer: yes")?;
    agrees(&place)?;
    let report = run_json(&place)?;
    let party = &report["parties"][0];
    assert!(party["measured"]["swap_in_pages"].as_u64() > Some(0), "{party}");
    let (peak, limit) = (&party["memory_bytes"]["measured_peak"], 36 << 20);
    assert!(peak.as_u64() <= Some(limit), "{party}");
    let done = place.run(&format!("{RUN} {square_root} --memory 20MiB"))?.failed_with(6)?;
    done.says("E6100")?;
    Ok(())
}

#[test]
fn protocols_that_open_nothing_inside_say_so() -> Result {
    let place = Place::new()?;
    place.run("data binary-search --param n=20 --param searches=1")?.succeeded()?;
    for protocol in ["gmw", "bmr", "mixed", "spdz --fake-preprocessing"] {
        let line = format!("{RUN} --protocol {protocol}");
        place.run(&line)?.succeeded()?.says("equals the plaintext answer: yes")?;
        let done = place.run(&format!("{line} --param memory=square-root"))?.failed_with(3)?;
        done.says("E3146")?.says("garbled")?;
    }
    let done = place.run("explain binary-search --param n=20000000 --protocol garbled")?;
    done.failed_with(3)?.says("at most 16777216 rows")?;
    Ok(())
}
