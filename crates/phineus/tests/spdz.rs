//! Runs on authenticated shares from the command line.

mod common;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{Place, Result, THREE, wait};

/// More than any of these runs takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(200);

const RUN: &str = "run three.phi --local --in a=a.csv --in b=b.csv --in c=c.csv \
                   --out sum=sum.csv --out large=large.csv";

fn agrees(place: &Place) -> Result {
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    for party in report["parties"].as_array().ok_or("parties")? {
        let all =
            ["oblivious_transfers", "rounds", "sent_bytes", "received_bytes", "swap_in_pages"];
        for figure in all {
            assert!(party["measured"][figure].is_u64(), "{figure} is measured");
            assert_eq!(party["predicted"][figure], party["measured"][figure], "{figure}");
        }
        if party["protocol"].as_str().is_some_and(|name| name.starts_with("spdz")) {
            for costs in ["predicted", "measured"] {
                assert!(party[costs]["and_gates"].is_null(), "there are no gates: {costs}");
            }
            let ots = party["measured"]["oblivious_transfers"].as_u64();
            let is_made = party["preprocessing"] != "stored" && party["preprocessing"] != "fake";
            assert_eq!(ots > Some(0), is_made, "{ots:?}: {}", party["preprocessing"]);
        }
    }
    Ok(())
}

#[test]
fn three_parties_of_whom_two_may_cheat() -> Result {
    let place = Place::new()?;
    place.three()?;
    for more in ["", "--preprocessing sequential"] {
        place.run(&format!("{RUN} --protocol spdz-128 {more}"))?.succeeded()?;
        assert_eq!(place.read("sum.csv")?, "sum\n88\n100\n150\n", "{more}");
        assert_eq!(place.read("large.csv")?, "large\n0\n0\n1\n", "{more}");
        agrees(&place)?;
    }
    let line = "plan three.phi --protocol spdz-128 --memory 128MiB --out p.plan";
    place.run(line)?.succeeded()?;
    place.run("check p.plan --program three.phi")?.succeeded()?.says("right")?;
    let run = RUN.replace("three.phi", "p.plan");
    place.run(&format!("{run} --protocol spdz-128 --memory 128MiB"))?.succeeded()?;
    assert_eq!(place.read("sum.csv")?, "sum\n88\n100\n150\n");
    Ok(())
}

/// Such programs were refused once, with the size of a field that would do.
#[test]
fn products_may_be_wider_than_the_field() -> Result {
    let place = Place::new()?;
    place.three()?;
    place.run(&format!("{RUN} --protocol spdz"))?.succeeded()?;
    assert_eq!(place.read("sum.csv")?, "sum\n88\n100\n150\n");
    assert_eq!(place.read("large.csv")?, "large\n0\n0\n1\n");
    agrees(&place)
}

#[test]
fn a_linear_layer_under_every_protocol() -> Result {
    let place = Place::new()?;
    place.run("data linear-layer --param n=20")?.succeeded()?;
    let run = "run linear-layer --local --verify --in matrix=matrix.csv --in bias=bias.csv \
               --in vector=vector.csv";
    let small = "spdz --fake-preprocessing --slice 100KiB --threads 2";
    for protocol in ["spdz", "spdz --fake-preprocessing", small, "garbled", "gmw", "arith"] {
        let done = place.run(&format!("{run} --protocol {protocol}"))?.succeeded()?;
        done.says("equals the plaintext answer: yes")?;
        agrees(&place)?;
    }
    let rows = "--rows matrix=20 --rows vector=20 --rows bias=20";
    let told = place.run(&format!("explain linear-layer {rows} --protocol spdz"))?.succeeded()?;
    for part in ["20 matrix triples 20 x 1", "3,680 bit masks of party 0", "to make that"] {
        assert!(told.stdout.contains(part), "{part} in {}", told.stdout);
    }
    Ok(())
}

/// Of a layer that would fill a slice that costs nothing, and memory for a larger one.
#[test]
fn slices_follow_the_network_that_is_found() -> Result {
    let place = Place::new()?;
    place.run("data linear-layer --param n=1050")?.succeeded()?;
    let what = "linear-layer --protocol spdz-128 --memory 1GiB";
    let files = "--in matrix=matrix.csv --in bias=bias.csv --in vector=vector.csv";
    let run = format!("run {what} --local {files} --fake-preprocessing --verify");
    let done = place.run(&run)?.succeeded()?;
    done.says("equals the plaintext answer: yes")?.says("measured rtt=")?;
    agrees(&place)?;
    let done = place.run(&format!("{run} --net rtt=1ms,bw=1gbit"))?.succeeded()?;
    assert!(!done.stderr.contains("measured rtt="), "{}", done.stderr);
    agrees(&place)?;
    let explain = format!("explain {what} --rows matrix=1050 --rows bias=1050 --rows vector=1050");
    let near = "112.0 MiB in a round of openings at most; up to 128.0 MiB where a run measures";
    let told = place.run(&explain)?.succeeded()?;
    assert!(told.stdout.contains(near), "{}", told.stdout);
    let far = "128.0 MiB in a round of openings at most: an eighth of the least memory limit";
    let told = place.run(&format!("{explain} --net rtt=40ms,bw=1gbit"))?.succeeded()?;
    assert!(told.stdout.contains(far), "{}", told.stdout);
    Ok(())
}

#[test]
fn no_security_only_where_it_is_asked_for() -> Result {
    let place = Place::new()?;
    place.three()?;
    let fake = "--fake-preprocessing";
    let done = place.run(&format!("{RUN} --protocol spdz-128 {fake}"))?.succeeded()?;
    done.says("INSECURE")?;
    place.explains_fake("three.phi", "spdz-128")?;
    place.run(&format!("{RUN} --protocol spdz-32 {fake}"))?.succeeded()?.says("WEAK")?;
    let done = place.run(&format!("{RUN} --protocol spdz-128 --preprocessing stored=here"))?;
    done.failed_with(8)?.says("there is no file")?;
    let done = place.run(&format!("{RUN} --protocol spdz-128 --computing 3"))?;
    done.failed_with(3)?.says("no clients")?;
    Ok(())
}

const STORED: &str = "--preprocessing stored=kept";

#[test]
fn what_is_stored_serves_one_run() -> Result {
    let place = Place::new()?;
    place.three()?;
    let make = "preprocess three.phi --local --protocol spdz-128 --out kept";
    let done = place.run(make)?.succeeded()?.says("random bits")?;
    assert!(done.stderr.contains("for one run of cid"), "{}", done.stderr);
    let line = format!("{RUN} --protocol spdz-128 {STORED} --verify");
    place.run(&line)?.succeeded()?.says("equals the answer computed in the clear: yes")?;
    assert_eq!(place.read("sum.csv")?, "sum\n88\n100\n150\n");
    agrees(&place)?;
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    for party in report["parties"].as_array().ok_or("three parties")? {
        assert_eq!(party["preprocessing"], "stored");
        // One comparison of hashes, with both others.
        assert_eq!(party["phases"]["preprocessing"]["sent_bytes"], 64);
    }
    std::fs::remove_file(place.file("sum.csv"))?;
    place.run(&line)?.failed_with(8)?.says("has been used")?;
    assert!(!place.file("sum.csv").exists());
    Ok(())
}

#[test]
fn stored_matrix_triples() -> Result {
    let place = Place::new()?;
    place.run("data linear-layer --param n=20")?.succeeded()?;
    let what = "linear-layer --local --protocol spdz";
    let sizes = "--rows matrix=20 --rows bias=20 --rows vector=20";
    let made = place.run(&format!("preprocess {what} {sizes} --out kept"))?.succeeded()?;
    made.says("matrix triples 20 x 1")?;
    let inputs = "--in matrix=matrix.csv --in bias=bias.csv --in vector=vector.csv";
    let done = place.run(&format!("run {what} {inputs} {STORED} --verify"))?.succeeded()?;
    done.says("equals the plaintext answer: yes")?;
    agrees(&place)
}

#[test]
fn what_does_not_fit_the_run_is_refused_and_not_used_up() -> Result {
    let place = Place::new()?;
    place.three()?;
    let narrow = THREE.replace("u32", "u12");
    place.write("three.phi", &narrow)?;
    place.write("a.csv", "x\n5\n0\n1\n")?;
    let line = format!("{RUN} --protocol spdz-32 {STORED}");
    for out in ["kept", "other"] {
        let make = format!("preprocess three.phi --local --protocol spdz-32 --out {out}");
        place.run(&make)?.succeeded()?;
    }
    // Those who have met say that nothing was revealed.
    let refused = |line: &str, code: i32, part: &str| -> Result {
        place.run(line)?.failed_with(code)?.says(part)?.says("nothing was revealed").map(drop)
    };
    let good = std::fs::read(place.file("kept/ben.prep"))?;
    for cut in [7, 100, good.len() / 2, good.len() - 1] {
        std::fs::write(place.file("kept/ben.prep"), &good[..cut])?;
        place.run(&line)?.failed_with(8)?.says("is cut off")?;
    }
    let mut changed = good.clone();
    changed[60] ^= 1;
    std::fs::write(place.file("kept/ben.prep"), &changed)?;
    place.run(&line)?.failed_with(8)?.says("is damaged")?;
    // Of another party, then of another run, each with its key.
    std::fs::copy(place.file("kept/ben.key"), place.file("ben.key"))?;
    for (from, code, part) in [
        ("kept/cid", 8, "is for party 2 of 3, this is party 1 of 3"),
        ("other/ben", 7, "the run that stored preprocessing is from is"),
    ] {
        for end in ["prep", "key"] {
            let to = place.file(&format!("kept/ben.{end}"));
            std::fs::copy(place.file(&format!("{from}.{end}")), to)?;
        }
        refused(&line, code, part)?;
    }
    std::fs::copy(place.file("ben.key"), place.file("kept/ben.key"))?;
    std::fs::write(place.file("kept/ben.prep"), &good)?;
    // For another program, another field, and shares without MACs.
    place.write("four.phi", narrow.replace("value=0x64", "value=0x65"))?;
    refused(&line.replace("three.phi", "four.phi"), 8, "was made for another program")?;
    for other in ["spdz", "gmw"] {
        let part = format!("was made for protocol spdz-32, this run has {other};");
        refused(&line.replace("spdz-32", other), 8, &part)?;
    }
    // After all of that it is as good as new.
    place.run(&line)?.succeeded()?;
    assert_eq!(place.read("sum.csv")?, "sum\n88\n100\n151\n");
    Ok(())
}

/// Takes connections for somebody else, and flips one bit of what goes there.
struct Between {
    address: String,
    /// Bytes that have gone there, by stream: connections come in any order.
    sent: Arc<Mutex<BTreeMap<u16, Arc<AtomicU64>>>>,
}

impl Between {
    /// In front of `target`; `flip` says of which stream and which bit.
    fn start(target: String, flip: Option<(u16, u64)>) -> Result<Between> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let sent: Arc<Mutex<BTreeMap<u16, Arc<AtomicU64>>>> = Arc::default();
        let counts = sent.clone();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                // The header of a hello (docs/protocols/wire.md, section 3).
                let mut header = [0; 24];
                while near.peek(&mut header).is_ok_and(|seen| (1..24).contains(&seen)) {
                    thread::sleep(Duration::from_millis(1));
                }
                let stream = u16::from_le_bytes([header[16], header[17]]);
                // Who is dialled may not be there yet; then the dialler tries again.
                let Ok(far) = TcpStream::connect(&target) else { return };
                let count = Arc::new(AtomicU64::new(0));
                counts.lock().expect("nobody panics").insert(stream, count.clone());
                let flip = flip.filter(|flip| flip.0 == stream).map(|flip| flip.1);
                let (Ok(back), Ok(forth)) = (far.try_clone(), near.try_clone()) else { return };
                thread::spawn(move || carry(near, far, flip, &count));
                thread::spawn(move || carry(back, forth, None, &AtomicU64::new(0)));
            }
        });
        Ok(Between { address, sent })
    }

    fn sent(&self) -> Sent {
        let sent = self.sent.lock().expect("nobody panics");
        sent.iter().map(|(stream, count)| (*stream, count.load(Ordering::Relaxed))).collect()
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, flip: Option<u64>, count: &AtomicU64) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        let before = count.fetch_add(len as u64, Ordering::Relaxed);
        if let Some(flip) = flip.filter(|flip| (before..before + len as u64).contains(&(flip / 8)))
        {
            bytes[(flip / 8 - before) as usize] ^= 1 << (flip % 8);
        }
        if to.write_all(&bytes[..len]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}

const NAMES: [&str; 3] = ["ann", "ben", "cid"];

/// How many bytes went by in each stream.
type Sent = BTreeMap<u16, u64>;

/// One run of three processes, of which cid's bytes to ann go through [`Between`]. Gives the exit
/// codes of ann and ben.
fn run_between(place: &Place, flip: Option<(u16, u64)>) -> Result<([Option<i32>; 2], Sent)> {
    place.cluster(&NAMES)?;
    let cluster = place.read("cluster.toml")?;
    let target = cluster.split('"').find(|part| part.contains(':')).ok_or("an address")?;
    let between = Between::start(target.to_owned(), flip)?;
    place.write("cid.toml", cluster.replacen(target, &between.address, 1))?;
    let mut children = Vec::new();
    for (name, letter) in NAMES.iter().zip(["a", "b", "c"]) {
        let _ = std::fs::remove_file(place.file(&format!("{letter}.sum")));
        let file = if *name == "cid" { "cid.toml" } else { "cluster.toml" };
        children.push(place.start(&format!(
            "run three.phi --as {name} --cluster {file} --plain --in {letter}.csv --protocol spdz \
             --out sum={letter}.sum --report none --timeout 20"
        ))?);
        // Who is dialled listens before anybody comes.
        thread::sleep(Duration::from_millis(300));
    }
    let mut done = Vec::new();
    for child in children {
        done.push(wait(child, PATIENCE)?);
    }
    for (party, letter) in done.iter().zip(["a", "b"]) {
        let context = format!("{flip:?}, {letter}: {}", party.stderr);
        assert!(!party.stderr.contains("bug in Phineus"), "{context}");
        let file = place.file(&format!("{letter}.sum"));
        match party.code {
            Some(0) => {
                assert_eq!(std::fs::read_to_string(file)?, "sum\n88\n100\n151\n", "{context}")
            }
            Some(4 | 5 | 7) => {
                assert!(!file.exists(), "{context}");
                assert!(party.stderr.contains("revealed"), "{context}");
            }
            _ => return Err(context.into()),
        }
    }
    Ok(([done[0].code, done[1].code], between.sent()))
}

/// A bit of what one party sends another is flipped on the way: whatever it is, the others end with
/// an error and without an output, or with the right one.
#[test]
fn a_flipped_bit_gives_no_process_a_wrong_output() -> Result {
    let place = Place::new()?;
    place.three()?;
    place.write("three.phi", THREE.replace("u32", "u12"))?;
    place.write("a.csv", "x\n5\n0\n1\n")?;
    let (codes, sent) = run_between(&place, None)?;
    assert_eq!(codes, [Some(0), Some(0)], "nobody lies");
    let thorough = std::env::var_os("PHINEUS_TEST_THOROUGH").is_some();
    let points: u64 = if thorough { 40 } else { 4 };
    let (mut lies, mut stopped) = (0, 0);
    for (&stream, &bytes) in sent.iter().filter(|(_, bytes)| **bytes > 4000) {
        for point in 0..points {
            let at = 8 * (bytes * (2 * point + 1) / (2 * points)) + point % 8;
            let (codes, _) = run_between(&place, Some((stream, at)))?;
            println!("stream {stream}, byte {} of {bytes}: {codes:?}", at / 8);
            lies += usize::from(codes[0] == Some(5));
            stopped += usize::from(codes.iter().all(|code| *code != Some(0)));
        }
    }
    assert!(lies > 0 && stopped >= points as usize, "{lies} lies noticed, {stopped} runs stopped");
    Ok(())
}

/// Comparisons of numbers of 8 bits from two parties, in values of 512 lanes at most; both learn the
/// answers.
fn comparisons(count: u32) -> String {
    let ports = |name: &str, party: u32| {
        format!("input_port \"{name}\" party={party} rows={count}\n  column \"x\" u8 number\n")
    };
    let mut text = format!(
        "phineus 5 program\nname \"less\"\nparty \"ann\"\nparty \"ben\"\n{}{}\
         output_port \"less\" parties=0,1 rows={count}\n  column \"less\" u1 number\n",
        ports("a", 0),
        ports("b", 1)
    );
    for (k, row) in (0..count).step_by(512).enumerate() {
        let (name, lanes) = (3 * k, 512.min(count - row));
        for port in 0..2 {
            let line =
                format!("%{} = input u8x{lanes} port={port} column=0 row={row}\n", name + port);
            text.push_str(&line);
        }
        let (a, b, c) = (name, name + 1, name + 2);
        text.push_str(&format!("%{c} = lt u8x{lanes} %{a} %{b}\n"));
        text.push_str(&format!("output u1x{lanes} %{c} port=0 column=0 row={row}\n"));
    }
    text
}

/// [`comparisons`] in less.phi, its inputs, and the answers.
fn compared(place: &Place, count: u32) -> Result<String> {
    place.write("less.phi", comparisons(count))?;
    let table = |of: &dyn Fn(u32) -> u32| {
        (0..count).fold("x\n".to_owned(), |text, row| format!("{text}{}\n", of(row)))
    };
    let [a, b]: [fn(u32) -> u32; 2] = [|row| row * 7 % 256, |row| row * 11 % 256];
    place.write("a.csv", table(&a))?;
    place.write("b.csv", table(&b))?;
    Ok(table(&|row| u32::from(a(row) < b(row))).replacen('x', "less", 1))
}

fn explained(place: &Place, more: &str) -> Result<serde_json::Value> {
    let done = place.run(&format!("explain less.phi --json {more}"))?.succeeded()?;
    Ok(serde_json::from_str(&done.stdout)?)
}

const LESS: &str = "run less.phi --local --in a=a.csv --in b=b.csv --out less.csv";

/// Counted by hand: three comparisons of 8 bits, from a batch of input bits of each party.
#[test]
fn the_distance_of_a_run_from_an_ideal_one_is_stated_exactly() -> Result {
    let place = Place::new()?;
    let expected = compared(&place, 3)?;
    let told = explained(&place, "--protocol spdz")?;
    let costs = &told["plan"]["costs"];
    for (name, count) in [
        ("bounded_integers", 3),
        ("whole_mask_openings", 0),
        // Before the comparisons open anything, before the outputs, and after them.
        ("mac_checks", 3),
        ("bounded_integer_batches", 1),
        ("bit_mask_batches", 2),
        // Of a batch of triples 3, of random bits 4, of bounded integers 1, of input bits 1 and 1.
        ("material_checks", 10),
        ("random_bits", 24),
        ("triples", 24),
    ] {
        assert_eq!(costs[name], count, "{name}: {costs}");
    }
    let (p, ots) = ((1u64 << 61) as f64, costs["ots"].as_u64().ok_or("OTs")?);
    let rounds = costs["rounds"].as_u64().ok_or("rounds")? as f64;
    let half = |bits: i32| 0.5f64.powi(bits);
    let checks = (3.0 * 3.0 + 17.0 + 2.0 * 3.0 + 10.0) / p + rounds / p / p;
    let total = 3.0 * half(40) + checks + 48.0 * half(61) + ots as f64 * half(122);
    let stated = told["statistical_distance"]["log2"].as_f64().ok_or("a number")?;
    assert!((stated - total.log2()).abs() < 1e-9, "{stated}, not {}", total.log2());
    assert_eq!(told["statistical_distance"]["narrow_masks"], true);
    let text = place.run("explain less.phi --protocol spdz")?.succeeded()?.stdout;
    assert!(text.contains("distance  at most 2^-38.4 from an ideal run"), "{text}");
    assert!(text.contains("3 openings under narrow masks, 2^-40.0 each: 2^-38.4"), "{text}");
    // What is explained is what the run reports.
    place.run(&format!("{LESS} --protocol spdz"))?.succeeded()?;
    assert_eq!(place.read("less.csv")?, expected);
    agrees(&place)?;
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    for party in report["parties"].as_array().ok_or("parties")? {
        assert_eq!(party["statistical_distance"], told["statistical_distance"]);
    }
    // The same under masks of the whole field: what is left are masks that are not below p, and checks.
    let told = explained(&place, "--protocol spdz --narrow-masks never")?;
    let costs = &told["plan"]["costs"];
    for (name, count) in [("whole_mask_openings", 3), ("mac_checks", 2), ("random_bits", 183)] {
        assert_eq!(costs[name], count, "{name}: {costs}");
    }
    assert!(costs["bounded_integers"].is_null(), "{costs}");
    let total = told["statistical_distance"]["log2"].as_f64().ok_or("a number")?;
    assert!((-54.0..-52.0).contains(&total), "{total}");
    place.run(&format!("{LESS} --protocol spdz --narrow-masks never"))?.succeeded()?;
    assert_eq!(place.read("less.csv")?, expected);
    agrees(&place)
}

#[test]
fn too_many_narrow_comparisons_hide_behind_the_whole_field() -> Result {
    let place = Place::new()?;
    // 1024 at 2^-40 are 2^-30, and checks come on top.
    for (count, is_whole) in [(1023, false), (1024, true)] {
        let expected = compared(&place, count)?;
        for (more, is_whole) in [("", is_whole), ("always", false), ("never", true)] {
            let masks = if more.is_empty() { "" } else { "--narrow-masks" };
            for protocol in ["spdz", "spdz-128"] {
                let case = format!("{count} {protocol} {more}");
                let told = explained(&place, &format!("--protocol {protocol} {masks} {more}"))?;
                let costs = &told["plan"]["costs"];
                let [narrow, whole] = if is_whole { [0, count] } else { [count, 0] };
                assert_eq!(
                    costs["bounded_integers"].as_u64().unwrap_or(0),
                    u64::from(narrow),
                    "{case}"
                );
                assert_eq!(costs["whole_mask_openings"], whole, "{case}");
                let total = told["statistical_distance"]["log2"].as_f64().ok_or("a number")?;
                let passes = total > -30.0;
                assert_eq!(passes, count == 1024 && !is_whole, "{case}: 2^{total}");
            }
            // A run that costs anything but what is stated fails.
            let run = format!("{LESS} --protocol spdz --fake-preprocessing {masks} {more}");
            place.run(&run)?.succeeded()?;
            assert_eq!(place.read("less.csv")?, expected, "{count} {more}");
            agrees(&place)?;
        }
    }
    Ok(())
}

#[test]
fn parties_agree_on_their_masks_and_plans_keep_theirs() -> Result {
    let place = Place::new()?;
    let expected = compared(&place, 1024)?;
    let fake = "--protocol spdz --fake-preprocessing";
    place
        .run("plan less.phi --protocol spdz --narrow-masks always --out narrow.plan")?
        .succeeded()?;
    place.run("plan less.phi --protocol spdz --out whole.plan")?.succeeded()?;
    for plan in ["narrow", "whole"] {
        let check = format!("check {plan}.plan --program less.phi");
        place.run(&check)?.succeeded()?.says("right")?;
    }
    let run = |plan: &str, more: &str| {
        place.run(&format!("{} {fake} {more}", LESS.replace("less.phi", &format!("{plan}.plan"))))
    };
    run("whole", "")?.succeeded()?;
    assert_eq!(place.read("less.csv")?, expected);
    run("narrow", "--narrow-masks always")?.succeeded()?;
    assert_eq!(place.read("less.csv")?, expected);
    for (plan, more, what) in [
        ("narrow", "", "a run is 2^-30.0 from an ideal one"),
        ("narrow", "--narrow-masks never", "the plan has narrow masks"),
        ("whole", "--narrow-masks always", "the plan has masks of the whole field"),
    ] {
        let done =
            run(plan, more)?.failed_with(3).map_err(|error| format!("{plan} {more}: {error}"))?;
        done.says(what)?.says("state --narrow-masks")?;
    }
    place
        .run(&format!("{LESS} --protocol gmw --narrow-masks never"))?
        .failed_with(2)?
        .says("spdz-128")?;
    place.parties(&["ann", "ben"])?;
    let start = |name: &str, file: &str, more: &str| {
        let who = format!("--as {name} --id-dir id_{name} --in {file}.csv --report none");
        place.start(&format!("run less.phi {fake} {who} {more}"))
    };
    let children = [start("ann", "a", "")?, start("ben", "b", "--narrow-masks always")?];
    for child in children {
        wait(child, PATIENCE)?.failed_with(7)?.says("--narrow-masks is")?;
    }
    Ok(())
}
