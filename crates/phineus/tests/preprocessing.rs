//! `preprocess`, `--preprocessing stored=...`, and three real processes that differ, are late or
//! die.

mod common;

use std::process::Child;
use std::time::Duration;

use common::{Done, Place, Result, THREE, ends_within, wait};

/// More than any of these runs takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

const NAMES: [&str; 3] = ["ann", "ben", "cid"];

fn three() -> Result<Place> {
    let place = Place::new()?;
    place.three()?;
    Ok(place)
}

const LOCAL: &str = "run three.phi --local --in a.csv --in b.csv --in c.csv --protocol mixed \
                     --out sum=sum.csv --out large=large.csv";

fn right(place: &Place) -> Result {
    assert_eq!(place.read("sum.csv")?, "sum\n88\n100\n150\n");
    Ok(std::fs::remove_file(place.file("sum.csv"))?)
}

#[test]
fn what_is_stored_serves_one_run() -> Result {
    let place = three()?;
    let make = "preprocess three.phi --local --protocol mixed --out kept";
    let done = place.run(make)?.succeeded()?.says("triples of 32 bits")?;
    assert!(done.stderr.contains("for one run of cid"), "{}", done.stderr);
    // No inputs were needed, and nothing of another run is overwritten.
    place.run(make)?.failed_with(2)?.says("kept/ann.prep exists already")?;
    let line = format!("{LOCAL} --preprocessing stored=kept --verify");
    place.run(&line)?.succeeded()?.says("equals the answer computed in the clear: yes")?;
    right(&place)?;
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    for party in report["parties"].as_array().ok_or("three parties")? {
        assert_eq!(party["preprocessing"], "stored");
        assert_eq!(party["measured"]["oblivious_transfers"], 0);
        for figure in ["and_gates", "rounds", "sent_bytes", "received_bytes"] {
            assert_eq!(party["predicted"][figure], party["measured"][figure], "{figure}");
        }
        // One comparison of hashes, with both others.
        assert_eq!(party["phases"]["preprocessing"]["sent_bytes"], 64);
    }
    place.run(&line)?.failed_with(8)?.says("has been used")?;
    assert!(!place.file("sum.csv").exists());
    let repeat = format!("{LOCAL} --preprocessing stored=kept --repeat 2");
    place.run(&repeat)?.failed_with(2)?.says("serves one run")?;
    Ok(())
}

#[test]
fn a_copy_of_file_and_key_elsewhere_is_noticed() -> Result {
    let place = three()?;
    place.run("preprocess three.phi --local --protocol mixed --out kept")?.succeeded()?;
    std::fs::create_dir(place.file("copy"))?;
    for entry in std::fs::read_dir(place.file("kept"))? {
        let entry = entry?;
        std::fs::copy(entry.path(), place.file("copy").join(entry.file_name()))?;
    }
    place.run(&format!("{LOCAL} --preprocessing stored=kept"))?.succeeded()?;
    right(&place)?;
    let again = format!("{LOCAL} --preprocessing stored=copy");
    place.run(&again)?.failed_with(8)?.says("has been used")?;
    // Where the user has no place for a ledger, the one beside the key is left.
    place.run("preprocess three.phi --local --protocol mixed --out more")?.succeeded()?;
    let mut command = place.command(&format!("{LOCAL} --preprocessing stored=more"));
    command.env_remove("XDG_STATE_HOME").env_remove("HOME");
    Done::of(command.output()?).succeeded()?;
    place.run(&format!("{LOCAL} --preprocessing stored=more"))?.failed_with(8)?;
    Ok(())
}

/// Garbled tables lie in a file beside, whose key is in the first one.
#[test]
fn garbled_tables_are_stored_and_serve_one_run() -> Result {
    let place = three()?;
    place.run("data biometric --param n=40")?.succeeded()?;
    let three = |protocol: &str| LOCAL.replace("mixed", protocol).replacen("run ", "", 1);
    let two = "biometric --param n=40 --local --protocol bmr --in site_a.csv --in site_b.csv \
               --out o.csv";
    let garbling = "--param minimum=bmr";
    let mixed = two.replace("--protocol bmr", &format!("--protocol mixed {garbling}"));
    for (number, run) in [three("bmr"), two.to_owned(), mixed].iter().enumerate() {
        let (program, rest) = run.split_once(' ').ok_or("a program")?;
        let inputs = rest.split(" --out").next().ok_or("inputs")?;
        let inputs = if number == 0 { "--local --protocol bmr" } else { inputs };
        let done = place.run(&format!("preprocess {program} {inputs} --out kept{number}"))?;
        let done = done.succeeded().map_err(|error| format!("{run}: {error}"))?;
        if !run.contains("--protocol mixed") {
            done.says(" garbled gates")?;
        }
        let line = format!("run {run} --verify --preprocessing stored=kept{number}");
        place.run(&line)?.succeeded()?.says(": yes")?;
        let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
        for party in report["parties"].as_array().ok_or("parties")? {
            assert_eq!(party["preprocessing"], "stored");
            // Two parties of `mixed` garble in the run, with OTs for what becomes garbled.
            let in_run = run.contains("--protocol mixed");
            let ots = &party["measured"]["oblivious_transfers"];
            assert_eq!(ots.as_u64() > Some(0), in_run, "{run}");
            assert_eq!(ots, &party["predicted"]["oblivious_transfers"]);
            assert!(party["measured"]["garbled_and_gates"].as_u64() > Some(0), "{run}");
            for figure in ["garbled_and_gates", "rounds", "sent_bytes", "received_bytes"] {
                assert_eq!(party["predicted"][figure], party["measured"][figure], "{figure}");
            }
        }
        place.run(&line)?.failed_with(8)?.says("has been used")?;
    }
    // The size is as stated: the rows of the peer and a key for each gate, in pages.
    let explained = place.run(&format!(
        "explain {} --json",
        two.replace(" --local", "").replace(" --out o.csv", "",)
    ))?;
    let costs: serde_json::Value = serde_json::from_str(&explained.succeeded()?.stdout)?;
    let gates = costs["plan"]["costs"]["y_and_gates"].as_u64();
    let stated = 64 * gates.ok_or("a number")?;
    let bytes = std::fs::metadata(place.file("kept1/site_a.prep.tables"))?.len();
    assert!(bytes > stated && bytes < stated + stated / 50 + (1 << 20), "{bytes} of {stated}");
    Ok(())
}

#[test]
fn garbled_tables_that_do_not_fit_are_refused_and_nothing_is_used_up() -> Result {
    let place = three()?;
    for name in ["kept", "other"] {
        let line = format!("preprocess three.phi --local --protocol bmr --out {name}");
        place.run(&line)?.succeeded()?;
        place.run(&line)?.failed_with(2)?.says("exists already")?;
    }
    let line = format!("{} --preprocessing stored=kept", LOCAL.replace("mixed", "bmr"));
    let tables = place.file("kept/ben.prep.tables");
    let good = std::fs::read(&tables)?;
    let page = (64 << 10) + 16;
    for cut in [0, 1, page, good.len() - page, good.len() - 1] {
        std::fs::write(&tables, &good[..cut])?;
        place.run(&line)?.failed_with(8)?.says("ben.prep.tables is damaged")?;
    }
    std::fs::copy(place.file("other/ben.prep.tables"), &tables)?;
    place.run(&line)?.failed_with(8)?.says("is damaged")?;
    std::fs::remove_file(&tables)?;
    place.run(&line)?.failed_with(8)?.says("ben.prep.tables")?;
    // Nothing of it was used: with the right tables it runs.
    std::fs::write(&tables, &good)?;
    place.run(&line)?.succeeded()?;
    right(&place)?;
    // A page in the middle, found when it is read.
    let tables = place.file("other/ben.prep.tables");
    let mut changed = std::fs::read(&tables)?;
    changed[100] ^= 1;
    std::fs::write(&tables, changed)?;
    let line = line.replace("stored=kept", "stored=other");
    place.run(&line)?.failed_with(8)?.says("is damaged")?;
    assert!(!place.file("sum.csv").exists());
    place.run(&line)?.failed_with(8)?.says("has been used")?;
    Ok(())
}

/// Only who can read the key file can read the correlated randomness, and neither is for others.
#[test]
fn files_and_keys_are_their_owners() -> Result {
    use std::os::unix::fs::PermissionsExt;
    let place = three()?;
    place.run("preprocess three.phi --local --protocol mixed --out kept")?.succeeded()?;
    let mode = |name: &str| -> Result<u32> {
        Ok(std::fs::metadata(place.file(name))?.permissions().mode() & 0o777)
    };
    assert_eq!((mode("kept/ann.prep")?, mode("kept/ann.key")?), (0o600, 0o600));
    let line = format!("{LOCAL} --preprocessing stored=kept");
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(place.file("kept/ann.key"), open)?;
    place.run(&line)?.failed_with(8)?.says("other users can read")?;
    std::fs::copy(place.file("kept/ben.key"), place.file("kept/ann.key"))?;
    std::fs::set_permissions(place.file("kept/ann.key"), std::fs::Permissions::from_mode(0o600))?;
    place.run(&line)?.failed_with(8)?.says("made with another key")?;
    Ok(())
}

#[test]
fn what_does_not_fit_the_run_is_refused_and_not_used_up() -> Result {
    let place = three()?;
    place.run("preprocess three.phi --local --protocol mixed --out kept")?.succeeded()?;
    place.run("preprocess three.phi --local --protocol mixed --out other")?.succeeded()?;
    let line = format!("{LOCAL} --preprocessing stored=kept");
    let good = std::fs::read(place.file("kept/ben.prep"))?;
    // Those who have met say that nothing was revealed.
    let refused = |code: i32, part: &str| -> Result {
        place.run(&line)?.failed_with(code)?.says(part)?.says("nothing was revealed").map(drop)
    };
    for cut in [0, 7, 100, 140] {
        std::fs::write(place.file("kept/ben.prep"), &good[..cut])?;
        place.run(&line)?.failed_with(8)?.says("is cut off")?;
    }
    for cut in [good.len() / 2, good.len() - 1] {
        std::fs::write(place.file("kept/ben.prep"), &good[..cut])?;
        refused(8, "is cut off")?;
    }
    let mut changed = good.clone();
    changed[60] ^= 1;
    std::fs::write(place.file("kept/ben.prep"), &changed)?;
    place.run(&line)?.failed_with(8)?.says("is damaged")?;
    std::fs::write(place.file("kept/ben.prep"), "x\n".repeat(300))?;
    place.run(&line)?.failed_with(8)?.says("is not stored preprocessing")?;
    std::fs::remove_file(place.file("kept/ben.prep"))?;
    place.run(&line)?.failed_with(8)?.says("there is no file")?;
    // Another party's file, then a file of another run, each with its key.
    let swap = |from: &str| -> Result {
        for end in ["prep", "key"] {
            std::fs::copy(
                place.file(&format!("{from}.{end}")),
                place.file(&format!("kept/ben.{end}")),
            )?;
        }
        Ok(())
    };
    std::fs::copy(place.file("kept/ben.key"), place.file("ben.key"))?;
    swap("kept/cid")?;
    refused(8, "is for party 2 of 3, this is party 1 of 3")?;
    swap("other/ben")?;
    refused(7, "the run that stored preprocessing is from is")?;
    std::fs::copy(place.file("ben.key"), place.file("kept/ben.key"))?;
    std::fs::write(place.file("kept/ben.prep"), &good)?;
    // For another program, and for the same program under another protocol.
    place.write("four.phi", THREE.replace("value=0x64", "value=0x65"))?;
    let four = line.replace("three.phi", "four.phi");
    place.run(&four)?.failed_with(8)?.says("was made for another program")?;
    let gmw = line.replace("mixed", "gmw");
    place.run(&gmw)?.failed_with(8)?.says("was made for protocol mixed, this run has gmw;")?;
    for (protocol, part) in [
        ("garbled", "has no preprocessing"),
        ("clear", "has no preprocessing"),
        ("auto", "for one protocol"),
    ] {
        let line = line.replace("mixed", protocol);
        place.run(&line)?.failed_with(2)?.says(part)?;
    }
    // After all of that it is as good as new.
    place.run(&line)?.succeeded()?;
    right(&place)
}

/// Plans for other memory limits may make their correlated randomness in batches of other sizes.
#[test]
fn plans_with_batches_of_another_size_make_nothing_together() -> Result {
    let place = Place::new()?;
    let names = ["site_a", "site_b"];
    place.two_parties(names)?;
    for protocol in ["bmr", "spdz"] {
        for (memory, file) in [("64MiB", "small"), ("1GiB", "large")] {
            let plan = "plan biometric --param n=40 --protocol";
            let line = format!("{plan} {protocol} --memory {memory} --out {file}.plan");
            place.run(&line)?.succeeded()?;
        }
        let preprocess = |name: &str, file: &str, out: &str| {
            place.start(&format!(
                "preprocess {file}.plan --as {name} --cluster cluster.toml --id-dir id_{name} \
                 --protocol {protocol} --timeout 60 --out {out}.prep"
            ))
        };
        let [a, b] = [preprocess("site_a", "small", "a")?, preprocess("site_b", "large", "b")?];
        let mut said = String::new();
        for child in [a, b] {
            let done = wait(child, PATIENCE)?.failed_with(7)?;
            said += &done.says("nothing is stored")?.stderr;
        }
        // Who hears first that the other one stops has nothing to compare any more.
        assert!(
            said.contains("has other settings, such as the size of batches"),
            "{protocol}: {said}"
        );
        for name in ["a.prep", "a.prep.tables", "b.prep", "b.prep.tables"] {
            assert!(!place.file(name).exists(), "{protocol}: {name}");
        }
    }
    Ok(())
}

/// The line of a party of its own; three.phi unless `more` says otherwise.
fn line(command: &str, party: usize, more: &str) -> String {
    let (name, letter) = (NAMES[party], ["a", "b", "c"][party]);
    let input = match command {
        "run" => format!("--in {letter}.csv --out sum={letter}.sum --report none"),
        _ => format!("--out {letter}.prep"),
    };
    let protocol = if more.contains("--protocol") { "" } else { "--protocol mixed" };
    format!("{command} three.phi --as {name} --id-dir id_{name} {input} {protocol} {more}")
}

fn all(place: &Place, lines: [String; 3]) -> Result<[Done; 3]> {
    let children = lines.iter().map(|line| place.start(line)).collect::<Result<Vec<_>>>()?;
    let done = children.into_iter().map(|child| wait(child, PATIENCE));
    let done = done.collect::<Result<Vec<_>>>()?;
    done.try_into().map_err(|_| "three parties".into())
}

#[test]
fn parties_of_their_own_make_and_use() -> Result {
    let place = three()?;
    place.parties(&NAMES)?;
    for done in all(&place, [0, 1, 2].map(|party| line("preprocess", party, "")))? {
        done.succeeded()?;
    }
    assert!(place.file("id_ann/stored.key").exists());
    // A file of another run at one of them: all hear of it, and nothing is used up.
    std::fs::rename(place.file("b.prep"), place.file("b.first"))?;
    std::fs::copy(place.file("a.prep"), place.file("a.first"))?;
    std::fs::rename(place.file("c.prep"), place.file("c.first"))?;
    std::fs::remove_file(place.file("a.prep"))?;
    for done in all(&place, [0, 1, 2].map(|party| line("preprocess", party, "")))? {
        done.succeeded()?;
    }
    let stored =
        |party: usize, file: &str| line("run", party, &format!("--preprocessing stored={file}"));
    for done in all(&place, [stored(0, "a.first"), stored(1, "b.prep"), stored(2, "c.first")])? {
        done.failed_with(7)?;
    }
    for run in ["first", "prep"] {
        let lines = [0, 1, 2].map(|party| {
            let letter = ["a", "b", "c"][party];
            stored(party, &format!("{letter}.{run}"))
        });
        for (done, letter) in all(&place, lines)?.into_iter().zip(["a", "b", "c"]) {
            done.succeeded()?;
            assert_eq!(place.read(&format!("{letter}.sum"))?, "sum\n88\n100\n150\n");
        }
    }
    Ok(())
}

#[test]
fn parties_that_want_different_things_are_told() -> Result {
    let place = three()?;
    place.parties(&NAMES)?;
    for (odd, part) in [
        (line("run", 1, "--protocol gmw"), "protocol is"),
        (line("run", 1, "--preprocessing sequential"), "preprocessing is"),
        (line("preprocess", 1, ""), "preprocessing is"),
        (line("run", 1, "--protocol auto"), "protocol is"),
        (line("run", 1, "--broadcast star"), "--broadcast is"),
        (line("run", 1, "--y2a masks"), "--y2a is"),
    ] {
        let lines = [line("run", 0, ""), odd.clone(), line("run", 2, "")];
        for done in all(&place, lines)? {
            done.failed_with(7)?.says(part).map_err(|error| format!("{odd}: {error}"))?;
        }
    }
    let auto = |party: usize, net: &str| line("run", party, &format!("--protocol auto {net}"));
    let nets = [auto(0, "--net rtt=5ms"), auto(1, "--net rtt=5ms"), auto(2, "--net rtt=6ms")];
    for done in all(&place, nets)? {
        done.failed_with(7)?.says("the network of --net is")?;
    }
    // One of them believes in two parties only.
    let text = place.read("cluster.toml")?;
    let two = text.rsplit_once("[[party]]").ok_or("three parties")?.0;
    place.write("two.toml", two)?;
    let odd = line("run", 1, "--cluster two.toml --timeout 3");
    let lines = [line("run", 0, "--timeout 3"), odd, line("run", 2, "--timeout 3")];
    let [ann, ben, cid] = all(&place, lines)?;
    ben.failed_with(2)?.says("two.toml has ann, ben")?;
    for (done, missing) in [(ann, "ben"), (cid, "ben")] {
        done.failed_with(4)?.says(missing)?;
    }
    Ok(())
}

/// The same with 100 rows and 40 more products in a chain: long enough to be hit in the middle.
fn long() -> String {
    let text = THREE.replace("rows=3", "rows=100").replace("x3 ", "x100 ");
    let chain: String = (0..40).fold(String::new(), |chain, k| {
        let (from, to) = (9 + k, 10 + k);
        chain + &format!("%{to} = mul u32@ax100 %{from} %2\n")
    });
    let start = "%6 = convert u32@bx100 %5 from=1\n";
    let end = text.replace(start, "").split_off(text.find(start).unwrap_or(text.len()));
    let head = &text[..text.len() - start.len() - end.len()];
    let end = end.replace("%8", "%52").replace("%7", "%51").replace("%6", "%50");
    let first = "%6 = constant u32@ax100 value=0x1\n%7 = add u32@ax100 %5 %6\n\
                 %8 = add u32@ax100 %7 %6\n%9 = add u32@ax100 %8 %6\n";
    format!("{head}{first}{chain}%50 = convert u32@bx100 %49 from=1\n{end}")
}

/// One party is killed at some moment of preprocessing or of the run: the others end soon, say who
/// is gone, and leave nothing behind; what may have been used is not used again.
#[test]
fn a_killed_party_of_three_is_reported_whenever_it_happens() -> Result {
    let place = three()?;
    place.parties(&NAMES)?;
    place.write("three.phi", long())?;
    for (file, value) in [("a", 3), ("b", 4), ("c", 5)] {
        place.write(&format!("{file}.csv"), format!("x\n{}", format!("{value}\n").repeat(100)))?;
    }
    let thorough = std::env::var_os("PHINEUS_TEST_THOROUGH").is_some();
    let points: u64 = if thorough { 20 } else { 4 };
    let mut seed = u64::from(std::process::id());
    println!("seed {seed}");
    for point in 0..points {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let victim = (seed >> 20) as usize % 3;
        let pause = Duration::from_millis(point * 400 / points + (seed >> 33) % (400 / points));
        killed(&place, "preprocess", "", victim, pause)?;
        for letter in ["a", "b", "c"] {
            let _ = std::fs::remove_file(place.file(&format!("{letter}.prep")));
            let _ = std::fs::remove_file(place.file(&format!("{letter}.prep.partial")));
        }
        for more in ["--simulate rtt=4ms", "--preprocessing sequential"] {
            killed(&place, "run", more, victim, pause)?;
        }
    }
    Ok(())
}

/// Ends a process as a crash would.
fn end(child: &mut Child) -> Result {
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Starts three parties, kills one after `pause`, and looks at how the others end.
fn killed(place: &Place, command: &str, more: &str, victim: usize, pause: Duration) -> Result {
    place.cluster(&NAMES)?;
    let lines = [0, 1, 2].map(|party| line(command, party, &format!("{more} --timeout 3")));
    let mut children = Vec::new();
    for line in &lines {
        children.push(place.start(line)?);
    }
    std::thread::sleep(pause);
    end(&mut children[victim])?;
    drop(children.remove(victim));
    let survivors = [0, 1, 2].into_iter().filter(|&party| party != victim);
    for (party, mut child) in survivors.zip(children) {
        let is_over = ends_within(&mut child, Duration::from_secs(20))?;
        let done = wait(child, PATIENCE)?;
        let said = &done.stderr;
        let context = format!("{command} {more}: {victim} killed after {pause:?}: {said}");
        assert!(is_over, "{context}");
        assert!(!said.contains("bug in Phineus"), "{context}");
        let letter = ["a", "b", "c"][party];
        match done.code {
            // The victim was killed after its part was over.
            Some(0) => {}
            Some(4) => {
                assert!(said.contains(NAMES[victim]), "{context}");
                assert!(said.contains("revealed"), "{context}");
                assert!(!place.file(&format!("{letter}.sum")).exists(), "{context}");
                assert!(!place.file(&format!("{letter}.prep")).exists(), "{context}");
                assert!(!place.file(&format!("{letter}.prep.partial")).exists(), "{context}");
            }
            _ => return Err(context.into()),
        }
        let _ = std::fs::remove_file(place.file(&format!("{letter}.sum")));
    }
    Ok(())
}

/// Killed while it uses what is stored: whatever the moment, that is never used again once a byte
/// of it was taken.
#[test]
fn stored_material_is_not_used_again_after_a_crash() -> Result {
    let place = three()?;
    place.parties(&NAMES)?;
    let mut was_used = 0;
    let mixed = [80, 140, 200, 400].map(|pause_ms| ("mixed", pause_ms));
    let others = [("spdz-128", 200), ("spdz-128", 500), ("bmr", 150), ("bmr", 300)];
    for (protocol, pause_ms) in mixed.into_iter().chain(others) {
        let protocol = format!("--protocol {protocol}");
        for letter in ["a", "b", "c"] {
            for end in ["prep", "prep.tables"] {
                let _ = std::fs::remove_file(place.file(&format!("{letter}.{end}")));
            }
        }
        place.cluster(&NAMES)?;
        for done in all(&place, [0, 1, 2].map(|party| line("preprocess", party, &protocol)))? {
            done.succeeded()?;
        }
        let stored = |party: usize, more: &str| {
            let file = ["a.prep", "b.prep", "c.prep"][party];
            let more = format!("--timeout 2 --preprocessing stored={file} {protocol} {more}");
            line("run", party, &more)
        };
        // What is used is noted where the key is before the file is marked.
        let notes = || NAMES.map(|name| place.file(&format!("id_{name}/stored.key.used")));
        let noted = || notes().map(|path| std::fs::metadata(path).map_or(0, |it| it.len() / 32));
        let noted_before = noted();
        // Slow enough to be hit between the first and the last round.
        place.cluster(&NAMES)?;
        let mut children = Vec::new();
        for party in 0..3 {
            children.push(place.start(&stored(party, "--simulate rtt=20ms"))?);
        }
        std::thread::sleep(Duration::from_millis(pause_ms));
        children.iter_mut().try_for_each(end)?;
        let is_noted = noted().into_iter().zip(noted_before).map(|(now, before)| now > before);
        let used: Vec<bool> = ["a", "b", "c"]
            .iter()
            .zip(is_noted)
            .map(|(letter, is_noted)| {
                let file = std::fs::read(place.file(&format!("{letter}.prep")))?;
                // Once it is marked, the salt without which nobody can read it is gone.
                let is_marked = file[12] == 1;
                assert_eq!(is_marked, file[16..48].iter().all(|&byte| byte == 0));
                assert!(is_noted || !is_marked, "it is noted first");
                Ok(is_noted)
            })
            .collect::<Result<_>>()?;
        let used_by_any = used.contains(&true);
        was_used += usize::from(used_by_any);
        place.cluster(&NAMES)?;
        let again = all(&place, [0, 1, 2].map(|party| stored(party, "")))?;
        for (done, used) in again.into_iter().zip(&used) {
            match (used, used_by_any) {
                (true, _) => done.failed_with(8)?.says("has been used")?,
                (false, true) => done.failed_with(4)?,
                (false, false) => done.succeeded()?,
            };
        }
    }
    println!("{was_used} of 8 were in use when they were killed");
    Ok(())
}
