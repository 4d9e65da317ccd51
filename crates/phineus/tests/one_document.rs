//! With `--json` stdout is exactly one JSON document, however the command ends.
//!
//! A run whose check failed after its results were known once printed two: the results, then the
//! error. Cases of C programs are in `c_programs.rs`.

mod common;

use std::time::Duration;

use common::{Place, Result, users, wait};

const AND: &str = "run and.txt --local --in a.csv --in b.csv";

fn place() -> Result<Place> {
    let place = Place::new()?;
    place.three()?;
    place.write("and.txt", "1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n")?;
    place.write("a.csv", "in0\n1\n0\n")?;
    place.write("b.csv", "in1\n1\n1\n")?;
    place.write("bad.csv", "in1\n1\nmany\n")?;
    place.write("damaged.plan", "no plan")?;
    Ok(place)
}

#[test]
fn every_command_prints_one() -> Result {
    let place = place()?;
    place.run("plan and.txt --memory 64MiB --out and.plan")?.succeeded()?;
    for line in [
        "programs",
        "programs sort",
        "data sort --param n=4",
        "doctor --only-kernels",
        "doctor",
        "id init ann --id-dir keys",
        "id show --id-dir keys",
        "id list --id-dir keys",
        "id trust ben SHA256:nothing --id-dir keys",
        "id untrust ben --id-dir keys",
        "explain and.txt",
        "explain and.txt --protocols garbled,gmw",
        "plan and.txt --memory 64MiB --out other.plan",
        "show and.plan",
        "check and.txt",
        "check and.plan",
        "check and.plan --of and.txt",
        "preprocess and.txt --local --protocol gmw --out made --param rows=2",
        "bench garble --seconds 0.01",
        AND,
        &format!("{AND} --verify --repeat 2"),
        &format!("{AND} --verify --protocol clear"),
        &format!("{AND} --verify --protocol gmw --verbose"),
        &format!("{AND} --out out.csv --quiet"),
        "run three.phi --local --protocol gmw --in a=c.csv --in b=c.csv --in c=c.csv",
    ] {
        let line = format!("{line} --json");
        place.run(&line)?.document().map_err(|error| format!("{line}: {error}"))?;
    }
    Ok(())
}

#[test]
fn every_refusal_is_one() -> Result {
    let place = place()?;
    for (line, code) in [
        ("", 2),
        ("frobnicate", 2),
        ("run sort --bogus", 2),
        ("run pasword-reuse --local", 2),
        ("run three.phi --local --protocol gmw --in a=nowhere.csv", 2),
        ("run and.txt --local --in a.csv", 2),
        (&format!("{AND} --protocol clear --repeat 2"), 2),
        (&format!("{AND} --out nowhere/out.csv"), 2),
        (&format!("{AND} --memory 1MiB"), 6),
        ("run and.txt --as ann --verify", 2),
        ("run and.txt --local --in a.csv --in bad.csv", 8),
        ("run and.txt --local --in a.csv --in bad.csv --protocol gmw", 8),
        ("run damaged.plan --local", 3),
        ("check damaged.plan", 3),
        ("show damaged.plan", 3),
        ("explain sort --param n=5000 --memory 20MiB", 6),
        ("explain sort --param n=5000 --memory 20MiB --protocols garbled,gmw", 6),
        ("plan sort --param n=5000 --memory 20MiB --out sort.plan", 6),
        ("id untrust nobody --id-dir keys", 2),
        ("bench garble nothing", 2),
    ] {
        let line = format!("{line} --json");
        let done = place.run(&line)?;
        let document = done.document().map_err(|error| format!("{line}: {error}"))?;
        // Where a command line is wrong in two ways, which of them is named first is not our concern.
        let is_expected = done.code == Some(code) || code == 2 && done.code == Some(8);
        assert!(is_expected, "{line}: {:?} {document}", done.code);
        assert!(document["error"]["message"].is_string(), "{line}: {document}");
    }
    Ok(())
}

const SITES: [&str; 2] = ["site_a", "site_b"];

fn party(site: usize) -> String {
    let (name, letter) = (SITES[site], ["a", "b"][site]);
    format!(
        "run password-reuse --as {name} --cluster cluster.toml --id-dir id_{name} \
         --in {letter}.csv --report run_{letter}.json --memory 32MiB --json"
    )
}

/// Signals one party at a random moment, its peer being told or finding it gone.
#[cfg(unix)]
#[test]
fn an_end_before_the_end_is_one() -> Result {
    let place = Place::new()?;
    place.two_parties(SITES)?;
    place.write("a.csv", users(0, 3000, 300))?;
    place.write("b.csv", users(1, 3000, 300))?;
    let seed = std::env::var("PHINEUS_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut seed: u64 = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("PHINEUS_TEST_SEED={seed}");
    let mut endings = std::collections::BTreeSet::new();
    for round in 0..12 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pause = Duration::from_millis((seed >> 33) % 900);
        let (line, victim) = (party(0), place.start(&party(1))?);
        let other = place.start(&line)?;
        std::thread::sleep(pause);
        let signal = if round % 2 == 0 { libc::SIGINT } else { libc::SIGKILL };
        let id = libc::pid_t::try_from(victim.id())?;
        // SAFETY: signals a child that was not waited for.
        unsafe { libc::kill(id, signal) };
        let victim = wait(victim, Duration::from_secs(20))?;
        if victim.code.is_some() {
            victim.document()?;
        }
        if victim.code != Some(0) {
            // It may still wait for a party that never came.
            std::thread::sleep(Duration::from_millis(500));
            let id = libc::pid_t::try_from(other.id())?;
            // SAFETY: as above; a process that has ended is not waited for yet.
            unsafe { libc::kill(id, libc::SIGINT) };
        }
        let other = wait(other, Duration::from_secs(60))?;
        other.document()?;
        endings.extend([victim.code, other.code]);
    }
    println!("exit codes: {endings:?}");
    assert!(endings.len() > 1, "nothing was interrupted: {endings:?}");
    Ok(())
}

/// All parties of a local run end with the process that was interrupted, which says so once.
#[cfg(unix)]
#[test]
fn an_interrupted_local_run_is_one() -> Result {
    let place = Place::new()?;
    place.write("a.csv", users(0, 3000, 300))?;
    place.write("b.csv", users(1, 3000, 300))?;
    let line = "run password-reuse --local --in site_a=a.csv --in site_b=b.csv --repeat 50 --json";
    for pause_ms in [20, 200, 600] {
        let child = place.start(line)?;
        std::thread::sleep(Duration::from_millis(pause_ms));
        // SAFETY: signals a child that was not waited for.
        unsafe { libc::kill(libc::pid_t::try_from(child.id())?, libc::SIGINT) };
        let done = wait(child, Duration::from_secs(20))?;
        assert_eq!(done.code, Some(130), "{}", done.stderr);
        done.document()?;
    }
    Ok(())
}
