//! What a user meets at the edges: JSON of what is refused, figures of what does not fit, circuits,
//! benches of any program, and what a killed run leaves behind.

mod common;

use std::time::Duration;

use common::{Place, Result, ends_within};
use serde_json::Value;

fn json(text: &str) -> Result<Value> {
    Ok(serde_json::from_str(text)?)
}

#[test]
fn what_is_refused_is_json_too() -> Result {
    let place = Place::new()?;
    for line in ["run sort --json --bogus", "--json frobnicate", "explain --json sort --net slow"] {
        let done = place.run(line)?.failed_with(2)?;
        let error = &json(&done.stdout)?["error"];
        assert_eq!((&error["code"], &error["exit_code"]), (&"E2100".into(), &2.into()), "{line}");
        assert_eq!(done.stderr, "", "{line}");
    }
    let done = place.run("run sort --bogus -- --json")?.failed_with(2)?.says("--bogus")?;
    assert_eq!(done.stdout, "");
    let line = "explain sort --param n=5000 --memory 20MiB --json";
    let told = json(&place.run(line)?.failed_with(6)?.stdout)?;
    assert_eq!((&told["fits"], &told["error"]["code"]), (&false.into(), &"E6100".into()));
    assert!(told["error"]["needed_bytes"].as_u64() > Some(20 << 20), "{told}");
    let more = place.run("explain sort --param n=5000 --memory 1GiB --json")?.succeeded()?;
    assert_eq!(
        told["plan"]["costs"]["and_gates"],
        json(&more.stdout)?["plan"]["costs"]["and_gates"]
    );
    let line = "explain sort --param n=5000 --memory 20MiB --protocols garbled,gmw --json";
    let told = place.run(line)?.failed_with(6)?.document()?;
    assert_eq!(told["error"]["exit_code"], 6, "{told}");
    assert!(told["protocols"].is_array(), "{told}");
    Ok(())
}

#[test]
fn parameters_that_were_not_used_are_not_shown() -> Result {
    let place = Place::new()?;
    place.run("data sort --param n=30 --rows site_b=20")?.succeeded()?;
    let files = "--in site_a.csv --in site_b.csv";
    let done = place.run(&format!("explain sort {files}"))?.succeeded()?;
    assert!(!done.stdout.contains("n=1000"), "{}", done.stdout);
    assert!(done.stdout.contains("parameter to=both"), "{}", done.stdout);
    place.run(&format!("run sort --local {files} --out o.csv"))?.succeeded()?;
    let parameters = &json(&place.read("run.json")?)?["parties"][0]["parameters"];
    assert_eq!(*parameters, serde_json::json!({ "parties": "2", "to": "both" }));
    // The size of a matrix is one.
    let done = place.run("explain mvmul --param n=16")?.succeeded()?;
    assert!(done.stdout.contains("16 rows"), "{}", done.stdout);
    Ok(())
}

/// A full adder of two bits with carry, in Bristol Fashion: in0 + in1.
const ADDER: &str = "\
5 9
2 2 2
1 3

2 1 0 2 4 XOR
2 1 0 2 5 AND
2 1 1 3 6 XOR
2 1 5 6 7 XOR
2 1 1 3 8 AND
";

#[test]
fn a_circuit_says_which_parameters_it_has() -> Result {
    let place = Place::new()?;
    place.write("adder.txt", ADDER)?;
    let done = place.run("programs adder.txt")?.succeeded()?;
    for part in ["batch", "owners", "to", "input 'site_a'", "output"] {
        assert!(done.stdout.contains(part), "{part} in {}", done.stdout);
    }
    let list = json(&place.run("programs adder.txt --json")?.succeeded()?.stdout)?;
    assert_eq!(list[0]["parameters"][0]["name"], "batch");
    let done = place.run("explain adder.txt --param batch=3")?.succeeded()?;
    assert!(done.stdout.contains("parameter owners="), "{}", done.stdout);
    assert!(done.stdout.contains("3 rows of"), "{}", done.stdout);
    place.run("programs nothing.txt")?.failed_with(2)?.says("no program or file")?;
    Ok(())
}

#[test]
fn a_text_may_begin_with_a_mark() -> Result {
    let place = Place::new()?;
    let text = place.run("show millionaires")?.succeeded()?.stdout;
    for name in ["marked.phi", "marked.txt"] {
        place.write(name, format!("\u{feff}{text}"))?;
        assert_eq!(place.run(&format!("show {name}"))?.succeeded()?.stdout, text);
    }
    place.run("programs marked.phi")?.failed_with(2)?.says("is a file of fixed size")?;
    Ok(())
}

#[test]
fn every_bench_takes_every_program_or_says_what_it_takes() -> Result {
    let place = Place::new()?;
    for program in ["millionaires", "gcd", "intops", "psi", "linear-layer", "password-reuse"] {
        place.run(&format!("bench plan --program {program} --n 12 --repeat 1"))?.succeeded()?;
    }
    let done = place.run("bench paging --program sort --n 500 --repeat 1 --json")?.succeeded()?;
    let rows = json(&done.stdout)?;
    // A few frames may fit or not: what the process takes decides.
    let has_why = rows[2]["why"].as_str().is_some_and(|why| why.contains("give more --n"));
    assert!(has_why || rows[2]["median"].is_number(), "{rows}");
    place.run("bench kernels --program millionaires --repeat 1")?.succeeded()?;
    let done = place.run("bench shares --program millionaires")?.failed_with(2)?;
    done.says("--program is one of and, aes128")?;
    place.run("bench spdz --program sort")?.failed_with(2)?.says("linear-layer, biometric")?;
    place.run("bench spdz --n 5")?.failed_with(2)?.says("1024, 2048, 4096")?;
    place.run("bench ot --program sort")?.failed_with(2)?.says("leave --program away")?;
    place.run("bench plan --program sor")?.failed_with(2)?.says("no program")?;
    Ok(())
}

/// The entries of a directory.
fn entries(directory: &std::path::Path) -> Result<usize> {
    Ok(std::fs::read_dir(directory)?.count())
}

/// What is said to be enough is enough, whether a run or planning itself needs more.
#[test]
fn what_is_said_to_be_enough_is_enough() -> Result {
    let place = Place::new()?;
    for line in [
        "explain sort --param n=5000 --memory 20MiB --json",
        "explain ljoin --param n=1000 --protocol gmw --memory 48MiB --json",
        "explain gcd --protocol gmw --memory 20MiB --json",
    ] {
        let told = json(&place.run(line)?.failed_with(6)?.stdout)?;
        let needed = told["error"]["needed_bytes"].as_u64().ok_or("no figure")?;
        let (mebibytes, rest) = (needed >> 20, needed % (1 << 20));
        assert_eq!(rest, 0, "{line}");
        let remedy = told["error"]["remedy"].as_str().ok_or("no remedy")?;
        assert!(remedy.contains(&format!("--memory {mebibytes}MiB")), "{line}: {remedy}");
        let (rest, _) = line.split_once(" --memory").ok_or("no limit")?;
        place.run(&format!("{rest} --memory {mebibytes}MiB"))?.succeeded()?;
    }
    Ok(())
}

/// Control-C goes to all processes of a local run, and one of them speaks for all.
#[test]
fn an_interruption_is_told_once() -> Result {
    use std::os::unix::process::CommandExt;

    let place = Place::new()?;
    place.run("data millionaires")?.succeeded()?;
    let temporary = place.file("temporary");
    std::fs::create_dir(&temporary)?;
    let line = "run millionaires --local --in alice.csv --in bob.csv -q --simulate rtt=2s";
    let child = place.command(line).env("TMPDIR", &temporary).process_group(0).spawn()?;
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while entries(&temporary)? == 0 && std::time::Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let group = libc::pid_t::try_from(child.id())?;
    // SAFETY: signals the group of a child that was not waited for.
    unsafe { libc::kill(-group, libc::SIGINT) };
    let done = common::wait(child, Duration::from_secs(60))?.failed_with(130)?;
    assert_eq!(done.stderr.matches("E130").count(), 1, "{}", done.stderr);
    Ok(())
}

#[test]
fn a_killed_local_run_leaves_nothing() -> Result {
    let place = Place::new()?;
    place.run("data millionaires")?.succeeded()?;
    let temporary = place.file("temporary");
    std::fs::create_dir(&temporary)?;
    let run = |more: &str| {
        let line = format!("run millionaires --local --in alice.csv --in bob.csv -q {more}");
        let mut command = place.command(&line);
        command.env("TMPDIR", &temporary);
        command
    };
    // Its children remove what it made.
    let mut child = run("--simulate rtt=2s").spawn()?;
    assert!(!ends_within(&mut child, Duration::from_millis(1500))?, "it waits for its peer");
    assert_eq!(entries(&temporary)?, 1);
    child.kill()?;
    child.wait()?;
    let end = std::time::Instant::now() + Duration::from_secs(10);
    while entries(&temporary)? > 0 && std::time::Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(entries(&temporary)?, 0);
    // Where they are killed, too, the next run does.
    let abandoned = temporary.join("phineus-abandoned");
    std::fs::create_dir(&abandoned)?;
    let mark = "The private directory of a local run of Phineus, removed when it ends.\n";
    std::fs::write(abandoned.join(".phineus-private"), mark)?;
    std::fs::write(abandoned.join("cluster.toml"), "")?;
    let done = common::Done::of(run("--report none").output()?).succeeded()?;
    assert!(done.stdout.contains("alice_is_richer"), "{}", done.stdout);
    assert_eq!(entries(&temporary)?, 0);
    Ok(())
}

/// The processes that a process has started and that still run.
fn children(of: u32) -> Result<Vec<libc::pid_t>> {
    let said = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children"))?;
    Ok(said.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>()?)
}

/// Its parent knows it at once; the others had waited for it until their `--timeout` was over.
#[test]
fn a_party_that_is_killed_before_the_others_met_it_is_told_at_once() -> Result {
    let place = Place::new()?;
    place.run("data millionaires")?.succeeded()?;
    for (victim, name) in [(0, "alice"), (1, "bob")] {
        let line = "run millionaires --local --in alice.csv --in bob.csv --timeout 600";
        let child = place.start(line)?;
        let end = std::time::Instant::now() + Duration::from_secs(60);
        let parties = loop {
            let parties = children(child.id())?;
            if parties.len() == 2 || std::time::Instant::now() > end {
                break parties;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        // SAFETY: signals a process whose parent has just been seen to be there.
        unsafe { libc::kill(*parties.get(victim).ok_or("no parties")?, libc::SIGKILL) };
        let done = common::wait(child, Duration::from_secs(60))?.failed_with(1)?;
        let done = done.says("E1171")?;
        done.says(&format!("the process of {name} ended with signal: 9 (SIGKILL)"))?;
    }
    Ok(())
}
