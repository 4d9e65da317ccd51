//! Programs that read memory at secret rows, by every method, under every protocol that can.

mod common;

use common::{Place, Result};

const RUN: &str = "run binary-search --param layout=array --local --verify --in table=table.csv --in keys=keys.csv";

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
        let scan = "clear --param memory=scan";
        for choice in ["clear", "garbled", scan, "clear --param memory=square-root"] {
            let done = place.run(&format!("{RUN} --protocol {choice} --out o.csv"))?;
            done.succeeded()?.says("equals the plaintext answer: yes")?;
        }
        for line in [
            "garbled --param memory=square-root",
            "garbled --param memory=square-root-table",
            "garbled --param memory=garbled-table",
            "gmw --param memory=square-root",
            "arith --param memory=square-root",
            "mixed --param memory=square-root",
            "gmw --computing s1,s2 --param memory=square-root",
            "gmw --ot silent --param memory=square-root",
            "bmr --param memory=square-root",
        ] {
            let done = place.run(&format!("{RUN} --protocol {line} --out o.csv"))?;
            done.succeeded()?.says("equals the plaintext answer: yes")?;
            agrees(&place)?;
        }
    }
    Ok(())
}

/// The keys that each step can reach are a memory of their own.
#[test]
fn searches_in_the_keys_of_each_step_equal_the_plaintext() -> Result {
    for (rows, searches) in [(1, 2), (2, 3), (7, 4), (100, 6), (300, 40)] {
        let place = Place::new()?;
        let sizes = format!("--param n={rows} --param searches={searches}");
        place.run(&format!("data binary-search {sizes}"))?.succeeded()?;
        let run = RUN.replace("layout=array", "layout=levels");
        let of_garbled = ["auto", "scan", "square-root", "garbled-table"]
            .map(|method| format!("garbled --param memory={method}"));
        for line in of_garbled.iter().map(String::as_str).chain(["gmw", "bmr"]) {
            let done = place.run(&format!("{run} --protocol {line} --out o.csv"))?;
            done.succeeded()?.says("equals the plaintext answer: yes")?;
            agrees(&place)?;
        }
    }
    Ok(())
}

/// Each of more than two parties moves the rows by a permutation of its own.
#[test]
fn many_parties_search() -> Result {
    for (rows, searches) in [(1, 1), (5, 2), (60, 3)] {
        let place = Place::new()?;
        let sizes = format!("--param n={rows} --param searches={searches}");
        place.run(&format!("data binary-search {sizes}"))?.succeeded()?;
        for line in [
            "gmw --computing s1,s2,s3",
            "gmw --computing s1,s2,s3 --ot silent",
            "gmw --computing s1,s2,s3 --preprocessing sequential --broadcast star",
            "arith --computing s1,s2,s3",
            "mixed --computing s1,s2,s3,s4",
            "bmr --computing s1,s2,s3",
        ] {
            let line = format!("{RUN} --protocol {line} --param memory=square-root --out o.csv");
            let done = place.run(&line)?.succeeded()?;
            done.says("equals the plaintext answer: yes")?;
            agrees(&place)?;
        }
    }
    Ok(())
}

/// With malicious parties every place is checked before it selects a row.
#[test]
fn searches_with_malicious_parties_equal_the_plaintext() -> Result {
    for (rows, searches) in [(1, 1), (2, 2), (7, 3), (40, 2)] {
        let place = Place::new()?;
        let sizes = format!("--param n={rows} --param searches={searches}");
        place.run(&format!("data binary-search {sizes}"))?.succeeded()?;
        for line in [
            "spdz --fake-preprocessing --param memory=square-root",
            "spdz --fake-preprocessing --param memory=scan",
            "spdz --fake-preprocessing",
            "spdz-128 --fake-preprocessing --param memory=square-root",
            "spdz-32 --fake-preprocessing --param memory=square-root",
        ] {
            let done = place.run(&format!("{RUN} --protocol {line} --out o.csv"))?;
            done.succeeded()?.says("equals the plaintext answer: yes")?;
            agrees(&place)?;
        }
    }
    let place = Place::new()?;
    place.run("data binary-search --param n=6 --param searches=1")?.succeeded()?;
    let line = format!("{RUN} --protocol spdz --param memory=square-root --out o.csv");
    place.run(&line)?.succeeded()?.says("equals the plaintext answer: yes")?;
    agrees(&place)
}

/// Triples of known bits are stored, and used up, as all others are.
#[test]
fn searches_use_stored_triples() -> Result {
    let place = Place::new()?;
    place.run("data binary-search --param n=40 --param searches=3")?.succeeded()?;
    let make = "preprocess binary-search --param layout=array --param memory=square-root --rows table=40 --rows keys=3 \
                --local --protocol gmw --out kept";
    place.run(make)?.succeeded()?.says("known triples of")?;
    let line = format!(
        "{RUN} --protocol gmw --param memory=square-root --preprocessing stored=kept --out o.csv"
    );
    place.run(&line)?.succeeded()?.says("equals the plaintext answer: yes")?;
    agrees(&place)?;
    Ok(())
}

fn explained(place: &Place, line: &str) -> Result<serde_json::Value> {
    let done = place
        .run(&format!("explain binary-search --param layout=array --json {line}"))?
        .succeeded()?;
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
    let (scan, table) = ("scan".to_owned(), "garbled-table".to_owned());
    let dpf = "dpf".to_owned();
    assert_eq!(chosen(&format!("{few} --protocol garbled"))?, (table.clone(), 5));
    assert_eq!(chosen(&format!("{many} --protocol garbled"))?, (table, 5));
    assert_eq!(chosen(&format!("{few} --protocol gmw"))?, (scan.clone(), 4));
    // Of rows that never change: searches share rounds, as those of a scan do.
    assert_eq!(chosen(&format!("{many} --protocol gmw"))?, (dpf.clone(), 4));
    let slow = format!("{many} --protocol gmw --net rtt=0ms,bw=5mbit");
    assert_eq!(chosen(&slow)?, (dpf.clone(), 4));
    assert_eq!(chosen(&format!("{many} --protocol bmr"))?, (dpf, 4));
    // Each access waits for the network.
    let far = "--param n=600 --param searches=8 --protocol garbled --net rtt=200ms";
    assert_eq!(chosen(far)?, (scan, 5));
    let asked = format!("{few} --protocol garbled --param memory=square-root");
    assert_eq!(chosen(&asked)?, ("square-root".to_owned(), 0));
    let done = place
        .run(&format!("explain binary-search --param layout=array {many} --protocol garbled"))?;
    let line = "4,000 rows of 128 bits, 720 reads, 0 changes: garbled-table";
    assert!(done.succeeded()?.stdout.contains(line), "{line}");
    Ok(())
}

/// A plan says which methods it has, so that it can be checked and run without choosing again.
#[test]
fn a_plan_has_its_methods() -> Result {
    let place = Place::new()?;
    place.run("data binary-search --param n=40 --param searches=2")?.succeeded()?;
    let on_shares = ["auto", "scan", "square-root"].as_slice();
    for (protocol, methods) in [
        (
            "garbled",
            ["auto", "scan", "square-root", "square-root-table", "garbled-table"].as_slice(),
        ),
        ("gmw", on_shares),
        ("mixed", on_shares),
        ("bmr", on_shares),
        ("spdz", on_shares),
    ] {
        for method in methods {
            let program = format!("binary-search --param layout=array --param memory={method}");
            let rows = format!("--rows table=40 --rows keys=2 --protocol {protocol}");
            place.run(&format!("plan {program} {rows} --out p.phn"))?.succeeded()?;
            place.run("check p.phn")?.succeeded()?.says("right")?;
            let files = format!("--in table=table.csv --in keys=keys.csv --protocol {protocol}");
            place.run(&format!("run p.phn --local {files}"))?.succeeded()?;
        }
    }
    Ok(())
}

/// Two shuffles, and less memory than they would like.
#[test]
fn a_large_table_inside_little_memory() -> Result {
    let place = Place::new()?;
    place.run("data binary-search --param n=3000 --param searches=16")?.succeeded()?;
    let square_root = "--protocol garbled --param memory=square-root";
    let done = place.run(&format!("{RUN} {square_root} --memory 32MiB --out o.csv"))?;
    done.succeeded()?.says("equals the plaintext answer: yes")?;
    agrees(&place)?;
    let report = run_json(&place)?;
    let party = &report["parties"][0];
    assert!(party["measured"]["swap_in_pages"].as_u64() > Some(0), "{party}");
    let (peak, limit) = (&party["memory_bytes"]["measured_peak"], 32 << 20);
    assert!(peak.as_u64() <= Some(limit), "{party}");
    let done = place.run(&format!("{RUN} {square_root} --memory 20MiB"))?.failed_with(6)?;
    done.says("E6100")?;
    Ok(())
}

#[test]
fn protocols_that_open_nothing_inside_say_so() -> Result {
    let place = Place::new()?;
    place.run("data binary-search --param n=20 --param searches=1")?.succeeded()?;
    let line = format!("{RUN} --protocol rep3 --param parties=3");
    place.run(&line)?.succeeded()?.says("equals the plaintext answer: yes")?;
    let done = place.run(&format!("{line} --param memory=square-root"))?.failed_with(3)?;
    done.says("E3146")?.says("garbled")?;
    let malicious = format!("{RUN} --protocol spdz --fake-preprocessing");
    let done = place.run(&format!("{malicious} --param memory=circuit"))?.failed_with(3)?;
    done.says("E3146")?.says("which spdz does not have")?;
    // Nobody is told a permutation, which linked rows need.
    place.run("data gale-shapley --param n=3")?.succeeded()?;
    let line = format!("run gale-shapley --local --param n=3 {GRAPH} --protocol spdz");
    let line = format!("{line} --fake-preprocessing --verify --out o.csv");
    place.run(&line)?.succeeded()?.says("equals the plaintext answer: yes")?;
    let done = place
        .run("explain binary-search --param n=20000000 --param layout=array --protocol garbled")?;
    done.failed_with(3)?.says("at most 16777216 rows")?;
    Ok(())
}

const GRAPH: &str = "--in site_a=site_a.csv --in site_b=site_b.csv";

/// Programs with sizes, and their inputs.
const PROGRAMS: [(&str, &[&str], &str); 4] = [
    (
        "scrypt",
        &["--param n=2 --param dklen=40", "--param n=8 --param r=2 --param salt_bytes=70"],
        "--in password=password.csv --in salt=salt.csv",
    ),
    ("bfs", &["--param vertices=1 --param edges=2", "--param vertices=9 --param edges=11"], GRAPH),
    (
        "dijkstra",
        &["--param vertices=2 --param edges=3", "--param vertices=9 --param edges=8"],
        GRAPH,
    ),
    ("gale-shapley", &["--param n=1", "--param n=5"], GRAPH),
];

#[test]
fn programs_equal_the_plaintext_by_all_methods() -> Result {
    for (program, sizes, inputs) in PROGRAMS {
        for size in sizes {
            let place = Place::new()?;
            place.run(&format!("data {program} {size}"))?.succeeded()?;
            for method in ["auto", "scan", "square-root", "square-root-table"] {
                let line = format!("run {program} --local --verify {size} {inputs} --out o.csv");
                let line = format!("{line} --protocol garbled --param memory={method}");
                let done = place.run(&line)?.succeeded()?;
                done.says("equals the plaintext answer: yes")?;
                agrees(&place)?;
            }
        }
    }
    Ok(())
}

#[test]
fn programs_equal_the_plaintext_on_shares() -> Result {
    for (program, sizes, inputs) in PROGRAMS {
        let place = Place::new()?;
        let size = sizes[0];
        place.run(&format!("data {program} {size}"))?.succeeded()?;
        for protocol in
            ["gmw", "bmr", "bmr --param memory=square-root", "mixed", "rep3 --param parties=3"]
        {
            let line = format!("run {program} --local --verify {size} {inputs} --out o.csv");
            let done = place.run(&format!("{line} --protocol {protocol}"))?.succeeded()?;
            done.says("equals the plaintext answer: yes")?;
            agrees(&place)?;
        }
    }
    Ok(())
}

/// Point functions read and change rows, also where the program is run for clients, and inside a memory limit.
#[test]
fn programs_change_rows_by_point_functions() -> Result {
    for (program, sizes, inputs) in &PROGRAMS[1..3] {
        for size in *sizes {
            let place = Place::new()?;
            place.run(&format!("data {program} {size}"))?.succeeded()?;
            let others = ["arith", "mixed", "bmr", "gmw --ot silent --memory 40MiB"];
            let all = ["gmw", "gmw --computing s1,s2"].into_iter().chain(others);
            for protocol in all.take(if *size == sizes[0] { 6 } else { 2 }) {
                let line = format!("run {program} --local --verify {size} {inputs} --out o.csv");
                let line = format!("{line} --param memory=dpf --protocol {protocol}");
                let done = place.run(&line)?.succeeded()?;
                done.says("equals the plaintext answer: yes")?;
                agrees(&place)?;
            }
        }
    }
    Ok(())
}

/// Numbers that are no vertex or no rank are refused where they are read.
#[test]
fn wrong_cells_are_shown_where_they_stand() -> Result {
    let place = Place::new()?;
    place.write("a.csv", "from,to\n1,2\n3,12\n")?;
    place.write("b.csv", "from,to\n1,2\n")?;
    let inputs = "--local --protocol garbled --in site_a=a.csv --in site_b=b.csv";
    let done = place.run(&format!("run bfs {inputs}"))?.failed_with(8)?;
    done.says("a.csv:3: column 'to': '12' is not within 0 to 9")?;
    let done = place.run(&format!("run bfs --param vertices=4 {inputs}"))?.failed_with(8)?;
    done.says("a.csv:3: column 'to': '12' is not within 0 to 3")?;
    place.write("a.csv", "reviewer0,reviewer1\n1,2\n4,1\n")?;
    place.write("b.csv", "proposer0,proposer1\n1,2\n2,1\n")?;
    let done = place.run(&format!("run gale-shapley {inputs}"))?.failed_with(8)?;
    done.says("a.csv:3: column 'reviewer0': '4' does not fit u2")?;
    Ok(())
}

/// Two proposers want the same reviewer, who ranks both alike.
#[test]
fn of_equal_ranks_the_smaller_number_wins() -> Result {
    let place = Place::new()?;
    place.write("a.csv", "reviewer0,reviewer1\n2,1\n2,1\n")?;
    place.write("b.csv", "proposer0,proposer1\n1,1\n1,1\n")?;
    let inputs = "--in site_a=a.csv --in site_b=b.csv --out o.csv";
    let line = format!("run gale-shapley --local --protocol garbled --verify {inputs}");
    place.run(&line)?.succeeded()?.says("equals the plaintext answer: yes")?;
    assert_eq!(place.read("o.csv")?, "reviewer,proposer\n0,1\n1,0\n");
    Ok(())
}

fn rows_of(place: &Place, line: &str) -> Result<Vec<serde_json::Value>> {
    let done = place.run(&format!("bench oram --json --repeat 1 {line}"))?.succeeded()?;
    Ok(serde_json::from_str(&done.stdout)?)
}

/// Runs send exactly what plans state, so that what is extrapolated from a plan is exact too.
#[test]
fn measured_accesses_send_what_plans_state() -> Result {
    let place = Place::new()?;
    let rows = 33;
    let table = rows_of(&place, &format!("--program accesses --n {rows} --seconds 60"))?;
    // Four methods, and rows of 4, 16 and 32 bytes and of 16 that begin as zeros.
    assert_eq!(table.len(), 16);
    for row in &table {
        let is_scan = row["method"] == "scan";
        let parts = if is_scan { &["access"][..] } else { &["access", "first_shuffle"] };
        assert_eq!(row["first_shuffle"].is_null(), is_scan, "{row}");
        for part in parts.iter().map(|&part| &row[part]) {
            assert!(part["predicted_sent_bytes"].as_f64() > Some(0.0), "{row}");
            assert_eq!(part["measured_sent_bytes"], part["predicted_sent_bytes"], "{row}");
            assert!(part["measured_seconds"].is_number(), "{row}");
        }
        assert!(row["accesses"].as_u64() >= Some(30), "{row}");
    }
    // A scan takes at least an AND of 32 bytes for each bit, and not many more.
    let is_secret = |row: &&serde_json::Value| row["contents"] == "secret";
    let mut scans = table.iter().filter(is_secret).filter(|row| row["method"] == "scan");
    let scan = scans.find(|row| row["row_bits"] == 128);
    let access = &scan.ok_or("a scan")?["access"];
    let sent = access["predicted_sent_bytes"].as_f64().ok_or("bytes")?;
    let (least, model) = (f64::from(rows) * 128.0 * 32.0, access["model_sent_bytes"].as_f64());
    assert!(sent >= least && Some(sent) < model.map(|model| 2.1 * model), "{access}");
    Ok(())
}

/// The numbers of a picture are those of the table, and curves of another system are drawn beside them.
#[test]
fn figures_show_what_is_measured() -> Result {
    let place = Place::new()?;
    let other = "picture,curve,x,y\nfigure-9-time,\"another, 16 B\",8,0.25\n";
    place.write("other.csv", other)?;
    let line = "--program accesses --n 8 --seconds 60 --pictures p --beside other.csv";
    let table = rows_of(&place, line)?;
    let figure = place.read("p/figure-9-time.csv")?;
    assert!(figure.ends_with("figure-9-time,\"another, 16 B\",8,0.25\n"), "{figure}");
    for row in table.iter().filter(|row| row["contents"] == "secret" && row["row_bits"] != 32) {
        let row_bytes = row["row_bits"].as_u64().ok_or("bits")? / 8;
        let curve = format!("{}, {row_bytes} B", row["method"].as_str().ok_or("a name")?);
        for (part, number) in [("access", 9), ("first_shuffle", 10)] {
            for (figure, unit) in [("time", "seconds"), ("bytes", "sent_bytes")] {
                let name = format!("figure-{number}-{figure}");
                let text = place.read(&format!("p/{name}.csv"))?;
                for (kind, suffix) in [("measured", ""), ("predicted", ", predicted")] {
                    let start = format!("{name},\"{curve}{suffix}\",8,");
                    let shown = text.lines().find_map(|line| line.strip_prefix(&start));
                    let shown = shown.map(str::parse::<f64>).transpose()?;
                    let stated = row[part][format!("{kind}_{unit}")].as_f64();
                    let stated = stated.filter(|&stated| stated > 0.0);
                    // A number of JSON is read with an error of a last bit.
                    let is_equal = match (shown, stated) {
                        (Some(shown), Some(stated)) => (shown / stated - 1.0).abs() < 1e-12,
                        (shown, stated) => shown == stated,
                    };
                    assert!(is_equal, "{start} {shown:?} {row}");
                }
                let svg = place.read(&format!("p/{name}.svg"))?;
                assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
            }
        }
    }
    assert!(place.read("p/figure-9-time.svg")?.contains(">another, 16 B</text>"));
    assert!(place.read("p/figure-8.svg").is_err(), "no crossovers were measured");
    place.write("other.csv", "picture,curve,x,y\nfigure-9,a,1,2\n")?;
    place
        .run(&format!("bench oram {line}"))?
        .failed_with(2)?
        .says("other.csv:2: picture 'figure-9'")?;
    let done = place.run("bench oram --program bfs --pictures p")?.failed_with(2)?;
    done.says("--pictures draws what accesses and crossovers measure")?;
    place.run("bench oram --program crossovers --n 4")?.failed_with(2)?.says("leave --n away")?;
    place.run("bench ot --pictures p")?.failed_with(2)?.says("bench oram")?;
    Ok(())
}

#[test]
fn applications_are_run_or_extrapolated() -> Result {
    let place = Place::new()?;
    let run = rows_of(&place, "--program bfs --n 4 --seconds 60")?;
    let planned = rows_of(&place, "--program bfs --n 4 --seconds 0")?;
    for (run, planned) in run.iter().zip(&planned) {
        assert_eq!(run["measured_sent_bytes"], run["predicted_sent_bytes"], "{run}");
        assert_eq!(run["predicted_sent_bytes"], planned["predicted_sent_bytes"], "{planned}");
        assert!(planned["measured_seconds"].is_null(), "{planned}");
        assert_eq!(
            (&run["is_extrapolated"], &planned["is_extrapolated"]),
            (&false.into(), &true.into())
        );
    }
    assert_eq!((run.len(), planned.len()), (4, 4));
    let done = place.run("bench oram --program bfs --n 5")?.failed_with(2)?;
    done.says("--n is one of 4, 32, 1024")?;
    place
        .run("bench oram --program sort")?
        .failed_with(2)?
        .says("accesses, crossovers, binary-search")?;
    place.run("bench ot --grid")?.failed_with(2)?.says("bench oram")?;
    Ok(())
}

/// By prediction the choice is the best method; measured times are not compared here.
#[test]
fn the_choice_is_the_best_of_the_grid() -> Result {
    let place = Place::new()?;
    let rows = rows_of(&place, "--grid --n 64 --seconds 0.03")?;
    assert_eq!(rows.len(), 12);
    for row in &rows {
        assert!(row["predicted_ratio"].as_f64() <= Some(1.1), "{row}");
    }
    assert!(rows.iter().any(|row| row["measured_ratio"].is_number()));
    assert!(rows.iter().any(|row| row["measured_ratio"].is_null()));
    Ok(())
}

/// A loop that is not unrolled keeps its memory from block to block, and is planned with what it costs.
#[test]
fn loops_are_planned_once() -> Result {
    let place = Place::new()?;
    place.run("data scrypt --param n=256")?.succeeded()?;
    let run = "run scrypt --local --verify --param n=256 --in password=password.csv --in salt=salt.csv --out o.csv";
    place.run(&format!("{run} --protocol clear"))?.succeeded()?.says("answer: yes")?;
    for line in [
        "garbled",
        "garbled --param memory=square-root --memory 48MiB",
        "gmw --param memory=square-root",
        "bmr --param memory=square-root",
    ] {
        let done = place.run(&format!("{run} --protocol {line}"))?.succeeded()?;
        done.says("equals the plaintext answer: yes")?;
        agrees(&place)?;
    }
    let explained = place.run("explain scrypt --param n=256 --protocol garbled")?.succeeded()?;
    assert!(explained.stdout.contains("1 each of 256 times"), "{}", explained.stdout);
    let files = "--in password=password.csv --in salt=salt.csv";
    for protocol in ["garbled", "gmw", "arith", "mixed", "bmr"] {
        let plan = "plan scrypt --param n=256 --param memory=square-root";
        place.run(&format!("{plan} --protocol {protocol} --out p.phn"))?.succeeded()?;
        place.run("check p.phn")?.succeeded()?.says("right")?;
        if protocol == "garbled" {
            place.run(&format!("run p.phn --local {files} --protocol garbled"))?.succeeded()?;
        }
    }
    Ok(())
}

/// A memory that takes more than half of the limit is paged on demand, within what the plan states.
#[test]
fn a_large_memory_is_paged() -> Result {
    let place = Place::new()?;
    let sizes = "--param rows=5000 --param width=4096 --param accesses=4";
    place.run(&format!("data accesses {sizes}"))?.succeeded()?;
    let method = "--param memory=square-root-table --protocol garbled --memory 54MiB";
    let sizes = format!("accesses {sizes} {method}");
    let files = "--in site_a=table.csv --in site_b=indices.csv --out o.csv";
    let done = place.run(&format!("run {sizes} {files} --local --verify"))?.succeeded()?;
    done.says("equals the plaintext answer: yes")?;
    agrees(&place)?;
    for party in run_json(&place)?["parties"].as_array().ok_or("parties")? {
        let peak = party["memory_bytes"]["measured_peak"].as_u64();
        assert!(peak <= Some(54 << 20) && party["region_pages_in"].as_u64() > Some(0), "{party}");
    }
    let explained = place.run(&format!("explain {sizes}"))?.succeeded()?;
    assert!(explained.stdout.contains("paged on demand"), "{}", explained.stdout);
    Ok(())
}
