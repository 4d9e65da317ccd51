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
    for (rows, searches) in [(1, 2), (2, 3), (7, 4), (33, 3), (300, 2)] {
        let place = Place::new()?;
        let sizes = format!("--param n={rows} --param searches={searches}");
        place.run(&format!("data binary-search {sizes}"))?.succeeded()?;
        let scan = "clear --param memory=scan";
        for choice in ["clear", "garbled", scan, "clear --param memory=square-root"] {
            let done = place.run(&format!("{RUN} --protocol {choice} --out o.csv"))?;
            done.succeeded()?.says("equals the plaintext answer: yes")?;
        }
        for protocol in ["garbled", "gmw", "arith", "mixed", "gmw --computing s1,s2"] {
            let square_root = format!("--protocol {protocol} --param memory=square-root");
            let done = place.run(&format!("{RUN} {square_root} --out o.csv"))?;
            done.succeeded()?.says("equals the plaintext answer: yes")?;
            agrees(&place)?;
        }
    }
    Ok(())
}

/// Two parties hide the order of rows from each other; of more, two could know all of it.
#[test]
fn more_than_two_parties_scan() -> Result {
    let place = Place::new()?;
    place.run("data binary-search --param n=20 --param searches=1")?.succeeded()?;
    let three = format!("{RUN} --protocol gmw --computing s1,s2,s3 --out o.csv");
    let done = place.run(&three)?.succeeded()?;
    done.says("equals the plaintext answer: yes")?.says("no other method can do it here")?;
    let done = place.run(&format!("{three} --param memory=square-root"))?.failed_with(3)?;
    done.says("E3146")?.says("gmw of 3 parties opens nothing inside a block")?;
    Ok(())
}

fn explained(place: &Place, line: &str) -> Result<serde_json::Value> {
    let done = place.run(&format!("explain binary-search --json {line}"))?.succeeded()?;
    Ok(serde_json::from_str(&done.stdout)?)
}

/// The method of the least predicted time is taken, which depends on rows, accesses, network and protocol; and a
/// program that asks for a method gets it.
#[test]
fn the_cheapest_method_is_chosen() -> Result {
    let place = Place::new()?;
    let chosen = |line: &str| -> Result<(String, usize)> {
        let memories = explained(&place, line)?["memories"].clone();
        let memory = &memories[0];
        let prices = memory["prices"].as_array().ok_or("prices")?;
        let seconds: Vec<f64> =
            prices.iter().filter_map(|price| price["seconds"].as_f64()).collect();
        assert!(seconds.is_sorted(), "{memory}");
        assert_eq!(memories.as_array().map(Vec::len), Some(1), "{memories}");
        Ok((memory["method"].as_str().ok_or("a method")?.to_owned(), prices.len()))
    };
    let (few, many) = ("--param n=60 --param searches=1", "--param n=4000 --param searches=60");
    let (scan, square_root) = ("scan".to_owned(), "square-root".to_owned());
    assert_eq!(chosen(&format!("{few} --protocol garbled"))?, (scan.clone(), 2));
    assert_eq!(chosen(&format!("{many} --protocol garbled"))?, (square_root.clone(), 2));
    assert_eq!(chosen(&format!("{few} --protocol gmw"))?, (scan.clone(), 2));
    assert_eq!(chosen(&format!("{many} --protocol gmw"))?, (square_root.clone(), 2));
    assert_eq!(chosen(&format!("{many} --protocol bmr"))?, (scan.clone(), 0));
    // Each access waits for the network.
    let far = "--param n=600 --param searches=8 --protocol garbled --net rtt=200ms";
    assert_eq!(chosen(far)?, (scan, 2));
    let asked = format!("{few} --protocol garbled --param memory=square-root");
    assert_eq!(chosen(&asked)?, (square_root, 0));
    let done = place.run(&format!("explain binary-search {many} --protocol garbled"))?;
    let line = "4,000 rows of 128 bits, 720 reads, 0 changes: square-root";
    assert!(done.succeeded()?.stdout.contains(line), "{line}");
    Ok(())
}

/// A plan says which methods it has, so that it can be checked and run without choosing again.
#[test]
fn a_plan_has_its_methods() -> Result {
    let place = Place::new()?;
    place.run("data binary-search --param n=40 --param searches=2")?.succeeded()?;
    for protocol in ["garbled", "gmw", "mixed"] {
        for method in ["auto", "scan", "square-root"] {
            let program = format!("binary-search --param memory={method}");
            let rows = format!("--rows table=40 --rows keys=2 --protocol {protocol}");
            place.run(&format!("plan {program} {rows} --out p.phn"))?.succeeded()?;
            place.run("check p.phn")?.succeeded()?.says("right")?;
            let files = format!("--in table=table.csv --in keys=keys.csv --protocol {protocol}");
            place.run(&format!("run p.phn --local {files}"))?.succeeded()?;
        }
    }
    Ok(())
}

/// A map of maps, and less memory than the shuffle would like.
#[test]
fn a_large_table_inside_little_memory() -> Result {
    let place = Place::new()?;
    place.run("data binary-search --param n=1500 --param searches=12")?.succeeded()?;
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
    for protocol in ["bmr", "spdz --fake-preprocessing"] {
        let line = format!("{RUN} --protocol {protocol}");
        place.run(&line)?.succeeded()?.says("equals the plaintext answer: yes")?;
        let done = place.run(&format!("{line} --param memory=square-root"))?.failed_with(3)?;
        done.says("E3146")?.says("garbled")?;
    }
    let done = place.run("explain binary-search --param n=20000000 --protocol garbled")?;
    done.failed_with(3)?.says("at most 16777216 rows")?;
    Ok(())
}
