//! `--protocol auto`, what `explain --protocols` says, and the statistics of runs.

mod common;

use common::{Place, Result};
use serde_json::Value;

fn sorting() -> Result<Place> {
    let place = Place::new()?;
    place.run("data sort --param n=24")?.succeeded()?;
    Ok(place)
}

const LOCAL: &str = "run sort --local --in site_a.csv --in site_b.csv --out r.csv";

fn report(place: &Place) -> Result<Value> {
    Ok(serde_json::from_str(&place.read("run.json")?)?)
}

#[test]
fn auto_takes_what_explain_calls_the_cheapest() -> Result {
    let place = sorting()?;
    for (net, expected) in [("rtt=100ms,bw=1gbit", "garbled"), ("rtt=0ms,bw=1mbit", "gmw")] {
        let explain = format!(
            "explain sort --in site_a.csv --in site_b.csv --memory 256MiB --json --net {net} \
             --protocols garbled,gmw,arith,mixed"
        );
        let explained: Value = serde_json::from_str(&place.run(&explain)?.succeeded()?.stdout)?;
        assert_eq!(explained["cheapest"], expected);
        let why = explained["reason"].as_str().ok_or("with a reason")?;
        let why = why.split(" (").next().ok_or("a beginning")?;
        let line = format!("{LOCAL} --protocol auto --memory 256MiB --verify --net {net}");
        place.run(&line)?.succeeded()?.says(&format!("protocol: {why}"))?;
        for party in report(&place)?["parties"].as_array().ok_or("two parties")? {
            assert_eq!(party["protocol"], expected);
        }
    }
    // One machine is what is meant when nothing is said.
    place.run(&format!("{LOCAL} --protocol auto --verify"))?.succeeded()?.says("protocol: ")?;
    Ok(())
}

#[test]
fn the_comparison_fits_a_page_and_is_exact() -> Result {
    let place = sorting()?;
    let line = "explain sort --in site_a.csv --in site_b.csv --net rtt=20ms,bw=1gbit \
                --protocols garbled,gmw,bmr,arith,mixed";
    let done = place.run(line)?.succeeded()?;
    for name in [
        "AND gates",
        "triples of 1 bit",
        "OTs of two parties",
        "rounds",
        "bytes per link",
        "memory",
        "time before",
        "time online",
    ] {
        assert!(done.stdout.contains(&format!("\n{name} ")), "{name}: {}", done.stdout);
    }
    let (table, verdict) = done.stdout.trim_end().rsplit_once('\n').ok_or("some lines")?;
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    assert!(verdict.starts_with("cheapest  on that network: "), "{verdict}");
    assert!(verdict.contains("limited by"), "{verdict}");
    let row = |name: &str| -> Result<Vec<String>> {
        let line = table.lines().find(|line| line.starts_with(&format!("{name}  ")));
        let cells = line.ok_or("the row is there")?[name.len()..].split_whitespace();
        Ok(cells.map(|cell| cell.replace(',', "")).collect())
    };
    place.run(&format!("{LOCAL} --protocol gmw"))?.succeeded()?;
    let party = &report(&place)?["parties"][0];
    let measured = |name: &str| party["measured"][name].to_string();
    assert_eq!(row("OTs of two parties")?[1], measured("oblivious_transfers"));
    assert_eq!(row("rounds")?[1], measured("rounds"));
    assert_eq!(row("bytes per link")?[1], measured("sent_bytes"));
    assert_eq!(row("triples of 1 bit")?[1], party["phases"]["used"]["bit_triples"].to_string());
    Ok(())
}

#[test]
fn phases_add_up_to_the_run() -> Result {
    let place = sorting()?;
    for more in
        ["--protocol garbled", "--protocol gmw", "--protocol gmw --preprocessing sequential"]
    {
        let done = place.run(&format!("{LOCAL} --verbose {more}"))?.succeeded()?;
        for part in ["set-up", "preprocessing", "online", "OTs with each party"] {
            assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
        }
        let report = report(&place)?;
        for party in report["parties"].as_array().ok_or("two parties")? {
            let phase = |phase: &str, figure: &str| party["phases"][phase][figure].as_u64();
            for (figure, total) in
                [("sent_bytes", "sent_bytes"), ("received_bytes", "received_bytes")]
            {
                let sum = ["set_up", "preprocessing", "online"]
                    .map(|name| phase(name, figure).unwrap_or(0));
                let total = party["measured"][total].as_u64();
                assert_eq!(Some(sum.iter().sum()), total, "{more} {figure}");
            }
            let ots = &party["measured"]["oblivious_transfers"];
            assert_eq!(ots, &party["predicted"]["oblivious_transfers"], "{more}");
            assert!(ots.as_u64() > Some(0));
            assert!(phase("online", "messages") > Some(0));
        }
        if more.contains("gmw") {
            let party = &report["parties"][0];
            let rounds = &party["measured"]["rounds"];
            assert_eq!(&party["phases"]["online"]["rounds"], rounds, "every round waits once");
            assert_eq!(party["phases"]["used"]["bit_triples"], party["measured"]["and_gates"]);
        }
    }
    Ok(())
}

#[test]
fn repeated_runs_have_a_mean_and_a_deviation() -> Result {
    let place = sorting()?;
    let line = format!("{LOCAL} --protocol gmw --repeat 3 --verify");
    let done = place.run(&line)?.succeeded()?.says("over 3 runs")?;
    assert!(done.stderr.contains("deviation"), "{}", done.stderr);
    let report = report(&place)?;
    let parties = report["repeated"].as_array().ok_or("two parties")?;
    assert_eq!(parties.len(), 2);
    for party in parties {
        assert_eq!(party["runs"], 3);
        for name in ["planning", "running", "set_up", "preprocessing", "online"] {
            assert!(party["seconds"][name]["mean"].as_f64() > Some(0.0), "{name}");
            assert!(party["seconds"][name]["deviation"].as_f64() >= Some(0.0), "{name}");
        }
    }
    for (line, part) in [
        ("run sort --as site_a --repeat 2", "--repeat starts all parties again"),
        ("run sort --local --in - --in site_b.csv --repeat 2", "stdin can be read once"),
        ("run sort --local --in site_a.csv --in site_b.csv --repeat 0", "--repeat"),
        ("run sort --local --preprocessing stored --protocol gmw", "`stored=FILE`"),
    ] {
        place.run(line)?.failed_with(2)?.says(part).map_err(|error| format!("{line}: {error}"))?;
    }
    Ok(())
}
