//! Programs that decide while they run what runs next: under every protocol, as files, refused.

mod common;

use std::process::Child;
use std::time::{Duration, Instant};

use common::{Place, Result, wait};
use phineus::bytecode::random::{SeededRng, Seeds};
use phineus::bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus::{Arguments, Program, Tracer, U8, U16, U32, Vector, program, reference, trace_into};

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
        let fake = ["gmw", "bmr", "spdz"].map(|name| format!("{name} --fake-preprocessing"));
        let protocols = ["clear", "garbled", "gmw", "bmr", "arith", "mixed"].map(str::to_owned);
        for protocol in protocols.into_iter().chain(fake) {
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

/// How many OTs are needed turns out while blocks run; what a run of it takes is stated all the same.
#[test]
fn silent_ots_are_made_as_blocks_need_them() -> Result {
    let place = place(46368, 28657)?;
    for protocol in ["gmw", "arith --broadcast star", "mixed --param parties=3"] {
        let done = place.run(&format!("{RUN} --protocol {protocol} --ot silent --verify"))?;
        done.succeeded().map_err(|error| format!("{protocol}: {error}"))?;
        let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
        for party in report["parties"].as_array().ok_or("parties")? {
            for figure in ["oblivious_transfers", "sent_bytes", "received_bytes"] {
                let (predicted, measured) = (&party["predicted"], &party["measured"]);
                assert_eq!(predicted[figure], measured[figure], "{protocol} {figure}");
            }
        }
    }
    place.run("plan gcd --protocol gmw --ot silent --memory 96MiB --out p.plan")?.succeeded()?;
    place.run("check p.plan")?.succeeded()?.says("right")?;
    let run = RUN.replace("gcd", "p.plan");
    place.run(&format!("{run} --protocol gmw --ot silent --memory 96MiB"))?.succeeded()?;
    Ok(())
}

/// Clients learn what decides on the blocks, and follow those who compute through them.
#[test]
fn blocks_are_computed_for_clients() -> Result {
    let place = place(1071, 462)?;
    for more in [
        "gmw --computing 3",
        "arith --computing 2 --ot silent",
        "mixed --computing 2",
        "bmr --computing 3",
    ] {
        let _ = std::fs::remove_file(place.file("result.csv"));
        let done = place.run(&format!("{RUN} --protocol {more} --verify"))?;
        done.succeeded().map_err(|error| format!("{more}: {error}"))?;
        assert_eq!(place.read("result.csv")?, "gcd\n21\n", "{more}");
        let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
        for party in report["parties"].as_array().ok_or("parties")? {
            assert_eq!(party["deviations"], serde_json::json!([]), "{more}");
            let received = (&party["predicted"], &party["measured"]);
            assert_eq!(received.0["received_bytes"], received.1["received_bytes"], "{more}");
        }
    }
    let limited = place.run(&format!("{RUN} --protocol gmw --computing 2 --max-iterations 2"))?;
    limited.failed_with(1)?.says("--max-iterations")?;
    let plan = "plan gcd --protocol gmw --computing s1,s2 --memory 96MiB --out p.plan";
    place.run(plan)?.succeeded()?;
    place.run("check p.plan")?.succeeded()?.says("right")?;
    let run = RUN.replace("gcd", "p.plan");
    place.run(&format!("{run} --protocol gmw --memory 96MiB"))?.succeeded()?;
    assert_eq!(place.read("result.csv")?, "gcd\n21\n");
    Ok(())
}

#[test]
fn plans_of_blocks_are_written_shown_proven_and_run() -> Result {
    let place = place(1071, 462)?;
    for protocol in ["garbled", "gmw", "bmr", "spdz"] {
        let plan = format!("plan gcd --protocol {protocol} --memory 96MiB --out p.plan");
        place.run(&plan)?.succeeded()?;
        place.run("check p.plan")?.succeeded()?.says("right")?;
        let shown = place.run("show p.plan")?.succeeded()?.stdout;
        assert_eq!(shown.matches("# block ").count(), 6, "{shown}");
        let garbled = if protocol == "bmr" { 3 } else { 0 };
        assert_eq!(shown.matches("# what is garbled").count(), garbled, "{shown}");
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
fn parties_agree_on_how_often_a_block_may_run() -> Result {
    let place = place(1071, 462)?;
    place.parties(&["site_a", "site_b"])?;
    let start = |letter: &str, most: u32| {
        let out = format!("--out {letter}.out --report none --max-iterations {most}");
        let who = format!("--as site_{letter} --id-dir id_site_{letter} --in {letter}.csv");
        place.start(&format!("run gcd --protocol gmw {who} {out}"))
    };
    let children = [start("a", 50)?, start("b", 60)?];
    for child in children {
        let done = wait(child, Duration::from_secs(60))?;
        done.failed_with(7)?.says("--max-iterations is")?;
    }
    Ok(())
}

#[test]
fn what_cannot_be_is_refused_with_a_sentence() -> Result {
    let place = place(1071, 462)?;
    for protocol in ["gmw", "bmr"] {
        let run = format!("{RUN} --protocol {protocol} --preprocessing sequential");
        place.run(&run)?.failed_with(3)?.says("cannot be made before")?;
    }
    let clients = place.run(&format!("{RUN} --protocol spdz --computing 3"))?;
    clients.failed_with(3)?.says("no clients")?;
    let limited = place.run(&format!("{RUN} --protocol gmw --max-iterations 2"))?;
    limited.failed_with(1)?.says("--max-iterations")?;
    let explained = place.run("explain gcd")?.succeeded()?.stdout;
    assert!(explained.contains("opens     'whether a remainder is left' (u1)"), "{explained}");
    assert!(explained.contains("block     1 each time"), "{explained}");
    let garbled = place.run("explain gcd --protocol bmr")?.succeeded()?.stdout;
    assert!(garbled.contains("1 each time: 0 AND gates, 683 garbled AND gates,"), "{garbled}");
    Ok(())
}

/// Records random operations on `state`, and loops and choices of them, `depth` deep; with values
/// that are garbled and go to shares and back, if so.
fn random_part(
    t: &Tracer,
    random: &mut SeededRng,
    mut state: Vec<U16>,
    (depth, is_mixed): (u32, bool),
) -> Vec<U16> {
    let inner = (depth.saturating_sub(1), is_mixed);
    for _ in 0..3 + random.below(4) {
        let [a, b, to] = [0; 3].map(|_| random.below(state.len() as u64) as usize);
        let (x, y) = (state[a].clone(), state[b].clone());
        let name = format!("opened {}", random.next_u64());
        state[to] = match random.below(if depth > 0 { 13 } else { 9 }) {
            0 => x + y,
            1 => x - y,
            2 if is_mixed => (x.to_arith() * y.to_arith()).to_bmr(),
            2 => x * y,
            3 if is_mixed => (x.to_gmw() ^ y.to_gmw()).to_bmr(),
            3 => x ^ y,
            4 => x.min(&y),
            5 => x.lt(&y).select(&x, state[to].clone()),
            6 => x % (y | 1),
            7 => x >> 3,
            8 => x.eq(&y).to::<U16>() + 1,
            9 => {
                let condition = x.bit(0);
                let mut other = SeededRng::new(random.next_u64());
                let then = |state| random_part(t, random, state, inner);
                let otherwise = |state| random_part(t, &mut other, state, inner);
                state = t.if_open(&name, &condition, state, then, otherwise);
                continue;
            }
            10 => {
                let iterations = 1 + random.below(4);
                let straight = (0, is_mixed);
                state =
                    t.repeat(iterations, state, |state| random_part(t, random, state, straight));
                continue;
            }
            11 => {
                let count = x & 3;
                state = t.for_open(&name, &count, state, |turn, mut state| {
                    let turn = t.published::<U16>(turn);
                    state[to] = state[to].clone() + turn;
                    random_part(t, random, state, inner)
                });
                continue;
            }
            _ => {
                let fuel = &x & 3;
                let go_on = |state: &(U16, Vec<U16>)| state.0.ne(0);
                let (_, after) = t.while_open(&name, (fuel, state), go_on, |(fuel, state)| {
                    (fuel - 1, random_part(t, random, state, inner))
                });
                state = after;
                // What was before the loop is known behind it.
                x + y
            }
        };
    }
    state
}

const SITES: [&str; 3] = ["site_a", "site_b", "site_c"];

/// A random program of so many sites.
fn random_program(seed: u64, sites: usize, is_mixed: bool) -> impl Program {
    let sites = &SITES[..sites];
    let program = sites.iter().fold(program("random_blocks"), |program, site| program.party(site));
    program.trace(move |t, _| {
        let mut random = SeededRng::new(seed);
        let mut state = Vec::new();
        for site in sites {
            let rows = t.input(site, 3).number::<U16>("x").vector::<U16>();
            let values = (0..3).map(|row| rows.get(row));
            state.extend(values.map(|value| if is_mixed { value.to_bmr() } else { value }));
        }
        let state = random_part(t, &mut random, state, (2, is_mixed));
        let all = Vector::from_pieces(t, state);
        t.output("result", sites).vector("x", all).write();
        Ok(())
    })
}

/// Runs a random program of so many sites under each of the protocols.
fn random_runs(seed: u64, sites: usize, is_mixed: bool, protocols: &[&str]) -> Result {
    let column = |element| Column { name: "x".to_owned(), element, encoding: Encoding::Number };
    let place = Place::new()?;
    let mut random = SeededRng::new(seed ^ 0x626c_6f63_6b73);
    let (mut inputs, mut run) = (Vec::new(), "run p.program --local --out result.csv".to_owned());
    for site in &SITES[..sites] {
        let mut table = Table::new(vec![column(ElementType::unsigned(16))]);
        (0..3).for_each(|_| table.push(&[random.lane(16)]));
        let rows: Vec<String> = (0..3).map(|row| table.cell(row, 0).to_string()).collect();
        place.write(&format!("{site}.csv"), format!("x\n{}\n", rows.join("\n")))?;
        run.push_str(&format!(" --in {site}={site}.csv"));
        inputs.push(table);
    }
    let program = random_program(seed, sites, is_mixed);
    let arguments = Arguments::new(&program, [])?;
    trace_into(&program, &arguments, std::fs::File::create(place.file("p.program"))?)?;
    let expected = reference::run(&program, &arguments, &inputs)?;
    let cell = |row| -> Lane { expected[0].cell(row, 0) };
    let rows: Vec<String> = (0..3 * sites as u64).map(|row| cell(row).to_string()).collect();
    let expected = format!("x\n{}\n", rows.join("\n"));
    for protocol in protocols {
        // A run that costs anything but what the blocks that ran are stated to fails.
        let done = place.run(&format!("{run} --protocol {protocol}"))?;
        done.succeeded().map_err(|error| format!("seed {seed}, {protocol}: {error}"))?;
        assert_eq!(place.read("result.csv")?, expected, "seed {seed}, {protocol}");
    }
    Ok(())
}

#[test]
fn random_programs_of_blocks_mean_the_same_under_every_protocol() -> Result {
    let protocols = ["clear", "garbled", "gmw", "bmr", "arith", "spdz --fake-preprocessing"];
    let mut seeds = Seeds::fresh();
    (0..4).try_for_each(|_| random_runs(seeds.draw(), 2, false, &protocols))
}

#[test]
fn three_parties_run_blocks() -> Result {
    let mut seeds = Seeds::fresh();
    (0..3).try_for_each(|_| random_runs(seeds.draw(), 3, false, &["bmr", "rep3"]))
}

#[test]
fn garbled_values_and_shares_meet_in_blocks() -> Result {
    let masks = "mixed --y2a masks";
    let mut seeds = Seeds::fresh();
    random_runs(seeds.draw(), 2, true, &["mixed", masks, "bmr"])?;
    random_runs(seeds.draw(), 3, true, &["mixed --broadcast star", masks])
}

/// A loop of so many iterations, and what is before and behind it.
fn stated_loop(iterations: u64) -> impl Program {
    program("stated_loop").party("site_a").party("site_b").trace(move |t, _| {
        let number = |site| t.input(site, 1).number::<U32>("x").vector::<U32>().get(0);
        let (a, b) = (number("site_a"), number("site_b"));
        let (a, _) =
            t.repeat(iterations, (a.max(&b), &a ^ &b), |(a, b)| (&a * &b + 1, a % (b | 1)));
        t.output("result", &["site_a", "site_b"]).number("x", &(a + b)).write();
        Ok(())
    })
}

/// Nothing decides how often the block runs, so what a run costs is known before it.
#[test]
fn a_loop_of_a_stated_length_costs_what_is_stated() -> Result {
    let place = place(1071, 462)?;
    for site in ["a", "b"] {
        place.write(&format!("{site}.csv"), "x\n77\n")?;
    }
    let program = stated_loop(5);
    let arguments = Arguments::new(&program, [])?;
    trace_into(&program, &arguments, std::fs::File::create(place.file("p.program"))?)?;
    for protocol in ["clear", "garbled", "gmw", "bmr", "arith", "mixed", "spdz", "rep3"] {
        let parties = if protocol == "rep3" { " --computing 3" } else { "" };
        let run = RUN.replace("gcd", "p.program");
        let done = place.run(&format!("{run} --protocol {protocol}{parties}"))?;
        done.succeeded().map_err(|error| format!("{protocol}: {error}"))?;
        let explain = format!("explain p.program --protocol {protocol}{parties}");
        let stated = place.run(&format!("{explain} --json"))?.succeeded()?;
        let stated: serde_json::Value = serde_json::from_str(&stated.stdout)?;
        let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
        let party = &report["parties"][0];
        for (figure, name) in [("rounds", "rounds"), ("sent_bytes", "sent_bytes_0")] {
            let cost = &stated["plan"]["costs"][name];
            if !cost.is_null() {
                assert_eq!(&party["measured"][figure], cost, "{protocol} {figure}");
            }
        }
        let explained = place.run(&explain)?.succeeded()?.stdout;
        assert!(explained.contains("1 each of 5 times: "), "{explained}");
        assert!(!explained.contains("if each block runs once"), "{explained}");
    }
    Ok(())
}

/// A loop over a long vector, `turns` of site_b times.
fn long_loop() -> impl Program {
    program("long_loop").party("site_a").party("site_b").trace(|t, sizes| {
        let rows = sizes.rows("site_a")?;
        let values = t.input("site_a", rows).number::<U32>("x").vector::<U32>();
        let turns = t.input("site_b", 1).number::<U32>("turns").vector::<U32>().get(0);
        let values = t.for_open("turns", &turns, values, |_, values| {
            let sums = &values + &values.reverse();
            &sums ^ &values
        });
        let total = values.reduce(|a, b| a + b).expect("there are some");
        t.output("result", &["site_a", "site_b"]).number("total", &total).write();
        Ok(())
    })
}

fn long(place: &Place, rows: u64, turns: u32) -> Result {
    let program = long_loop();
    let mut arguments = Arguments::new(&program, [])?;
    arguments.set_rows("site_a", rows);
    trace_into(&program, &arguments, std::fs::File::create(place.file("p.program"))?)?;
    let column: Vec<String> = (0..rows).map(|row| (row * 77_777 % 1_000_003).to_string()).collect();
    place.write("a.csv", format!("x\n{}\n", column.join("\n")))?;
    place.write("b.csv", format!("turns\n{turns}\n"))
}

#[test]
fn a_block_that_does_not_fit_is_swapped_in_every_turn() -> Result {
    let place = Place::new()?;
    long(&place, 12_000, 2)?;
    let run = RUN.replace("gcd", "p.program");
    for protocol in ["garbled", "bmr"] {
        // With more memory batches may be larger, so that more is needed once more.
        let (mut memory, mut tries) = (24, 0);
        loop {
            let run = format!("{run} --protocol {protocol} --memory {memory}MiB --verify");
            let done = place.run(&run)?;
            if tries > 0 && done.code == Some(0) {
                break;
            }
            let done = done.failed_with(6)?;
            let least = done.stderr.split("needs at least ").nth(1);
            let least = least.and_then(|rest| rest.split(' ').next());
            memory = least.ok_or("it says what it needs")?.parse::<f64>()? as u64 + 2;
            tries += 1;
            assert!(tries < 6, "{protocol}: {}", done.stderr);
        }
        let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
        let pages = &report["parties"][0]["measured"]["swap_in_pages"];
        assert!(pages.as_u64().is_some_and(|pages| pages > 0), "{protocol}: {pages} pages");
        assert_eq!(pages, &report["parties"][0]["predicted"]["swap_in_pages"], "{protocol}");
    }
    Ok(())
}

/// Processor time that a process has taken, in hundredths of a second.
fn processor_ticks(process: &Child) -> Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", process.id()))?;
    let (_, fields) = text.rsplit_once(')').ok_or("a name in parentheses")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    Ok(fields[11].parse::<u64>()? + fields[12].parse::<u64>()?)
}

#[test]
fn a_party_that_is_killed_in_a_loop_is_reported() -> Result {
    let place = Place::new()?;
    long(&place, 64, u32::MAX)?;
    for protocol in ["garbled", "gmw", "bmr"] {
        place.cluster(&["site_a", "site_b"])?;
        let line = |name: &str, file: &str| {
            format!(
                "run p.program --as {name} --cluster cluster.toml --plain --in {file}.csv --report \
                 none --out {file}.out --protocol {protocol}"
            )
        };
        let survivor = place.start(&line("site_a", "a"))?;
        let mut killed = place.start(&line("site_b", "b"))?;
        // Until it has done more than to set up; waiting takes no processor time.
        let start = Instant::now();
        while processor_ticks(&killed)? < 150 {
            assert!(start.elapsed() < Duration::from_secs(300), "{protocol}: it does not compute");
            std::thread::sleep(Duration::from_millis(20));
        }
        killed.kill()?;
        killed.wait()?;
        let done = wait(survivor, Duration::from_secs(300))?.failed_with(4)?;
        done.says("site_b")?.says("'turns' 1 times to all")?;
        assert!(!place.file("a.out").exists());
    }
    Ok(())
}

/// A comparison of 8 bits: in each of as many iterations as the lowest two bits of site_b's number
/// state, or behind a branch.
fn comparing(is_loop: bool) -> impl Program {
    program("comparing").party("site_a").party("site_b").trace(move |t, _| {
        let number = |site| t.input(site, 1).number::<U8>("x").vector::<U8>().get(0);
        let (a, b) = (number("site_a"), number("site_b"));
        let state = vec![a.clone(), b.clone(), &a - &a.clone()];
        let compared = |mut state: Vec<U8>| {
            let less = state[0].lt(&state[1]).to::<U8>();
            state[2] = state[2].clone() + less;
            state
        };
        let state = match is_loop {
            true => t.for_open("turns", &(&b & 3), state, |_, state| compared(state)),
            false => t.if_open("odd", &b.bit(0), state, compared, |state| state),
        };
        t.output("result", &["site_a", "site_b"]).number("count", &state[2]).write();
        Ok(())
    })
}

/// The number of iterations is unknown when masks are chosen; a block behind a branch runs at most once.
#[test]
fn masks_are_narrow_only_where_what_they_hide_is_bounded() -> Result {
    let place = Place::new()?;
    place.write("site_a.csv", "x\n5\n")?;
    place.write("site_b.csv", "x\n7\n")?;
    let run = "run p.program --local --in site_a=site_a.csv --in site_b=site_b.csv --out result.csv \
               --fake-preprocessing --protocol spdz";
    for (is_loop, count) in [(true, 3), (false, 1)] {
        let program = comparing(is_loop);
        let arguments = Arguments::new(&program, [])?;
        trace_into(&program, &arguments, std::fs::File::create(place.file("p.program"))?)?;
        for (masks, is_narrow) in [("auto", !is_loop), ("always", true), ("never", false)] {
            let case = format!("loop: {is_loop}, {masks}");
            let more = format!("--narrow-masks {masks}");
            let line = format!("explain p.program --protocol spdz --json {more}");
            let told: serde_json::Value =
                serde_json::from_str(&place.run(&line)?.succeeded()?.stdout)?;
            let costs = &told["plan"]["costs"];
            let openings = costs["bounded_integers"].as_u64().unwrap_or(0);
            assert_eq!(openings, u64::from(is_narrow), "{case}: {costs}");
            let masks = if is_narrow { "narrow" } else { "whole" };
            assert_eq!(told["plan"]["settings"]["masks"], masks, "{case}");
            assert_eq!(told["statistical_distance"]["if_each_block_runs_once"], true);
            // A run that costs anything but what the blocks that ran are stated to fails.
            let done = place.run(&format!("{run} {more}"))?;
            done.succeeded().map_err(|error| format!("{case}: {error}"))?;
            assert_eq!(place.read("result.csv")?, format!("count\n{count}\n"), "{case}");
        }
    }
    Ok(())
}

/// Gives out a sum of rows after a branch; a table of them that is sorted or not.
fn branching(is_sorted: bool) -> impl Program {
    program("branching").party("site_a").party("site_b").trace(move |t, _| {
        let rows = t.input("site_a", 5).number::<U8>("x");
        let rows = if is_sorted { rows.sorted(1).unique() } else { rows };
        let rows = rows.vector::<U8>();
        let b = t.input("site_b", 1).number::<U8>("x").vector::<U8>().get(0);
        let added = |mut state: Vec<U8>| {
            state[0] = &state[0] + &state[1];
            state
        };
        let state = vec![rows.get(0), rows.get(4)];
        let state = t.if_open("odd", &b.bit(0), state, added, |state| state);
        t.output("result", &["site_a", "site_b"]).number("sum", &state[0]).write();
        Ok(())
    })
}

/// The order of a sorted input is proven where it comes in: before the first block opens anything.
#[test]
fn orders_are_proven_before_a_branch() -> Result {
    let place = Place::new()?;
    place.write("site_a.csv", "x\n9\n5\n250\n7\n3\n")?;
    place.write("site_b.csv", "x\n7\n")?;
    let cost = |is_sorted: bool, name: &str| -> Result<u64> {
        let program = branching(is_sorted);
        let arguments = Arguments::new(&program, [])?;
        trace_into(&program, &arguments, std::fs::File::create(place.file("p.program"))?)?;
        let told = place.run("explain p.program --protocol spdz --json")?.succeeded()?;
        let told: serde_json::Value = serde_json::from_str(&told.stdout)?;
        told["plan"]["costs"][name].as_u64().ok_or_else(|| "a number".into())
    };
    // Of four rows: a step of 8 bits, and an opening.
    for (name, more) in [("bit_masks_0", 4 * 8), ("opened_elements", 4)] {
        assert_eq!(cost(true, name)?, cost(false, name)? + more, "{name}");
    }
    cost(true, "rounds")?;
    let run = "run p.program --local --protocol spdz --in site_a=site_a.csv --in site_b=site_b.csv";
    // A run that costs anything but what is stated fails.
    let done = place.run(&format!("{run} --out result.csv"))?.succeeded()?;
    done.says("Each owner proved that its table was sorted")?;
    // The sum of the least and the largest, as sorted.
    assert_eq!(place.read("result.csv")?, "sum\n253\n");
    Ok(())
}
