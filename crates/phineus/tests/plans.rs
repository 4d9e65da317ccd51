//! `plan`, `show`, `check`, and running a plan on new data.

mod common;

use std::fs::File;
use std::io::BufReader;

use common::{Place, Result};
use phineus::bytecode::{FileKind, ProgramReader, ProgramWriter};

#[test]
fn a_plan_is_checked_shown_and_run() -> Result {
    let place = Place::new()?;
    place
        .run("plan sort --param n=300 --memory 32MiB --out s.plan --program-out s.prog")?
        .succeeded()?;
    place.run("check s.plan")?.succeeded()?.says("right")?;
    place.run("check s.prog")?.succeeded()?;
    place.run("check s.plan --program s.prog")?.succeeded()?;
    let done = place.run("check s.plan --program millionaires")?.failed_with(3)?;
    done.says("the plan is of 'sort', not of 'millionaires'")?;
    place
        .run("plan merge --param n=300 --memory 32MiB --out m.plan --program-out m.prog")?
        .succeeded()?;
    place.run("check s.plan --program m.prog")?.failed_with(3)?.says("was made from program")?;
    for seed in [1, 2] {
        place.run(&format!("data sort --param n=300 --seed {seed}"))?.succeeded()?;
        let line = "run s.plan --local --memory 32MiB --verify --out r.csv \
                    --in site_a.csv --in site_b.csv";
        place.run(line)?.succeeded()?.says("equals the answer computed in the clear: yes")?;
        assert_eq!(place.read("r.csv")?.lines().count(), 601);
    }
    place.run("data sort --param n=299")?.succeeded()?;
    let line = "run s.plan --local --memory 32MiB --in site_a.csv --in site_b.csv";
    place.run(line)?.failed_with(8)?.says("has 299 rows, the program was made for 300")?;
    Ok(())
}

/// The clear driver addressed wires of a byte in pages of labels: a plan that swaps ended in a panic.
#[test]
fn a_plan_that_swaps_is_verified() -> Result {
    let place = Place::new()?;
    let sized = "sort --param n=256";
    place.run(&format!("data {sized}"))?.succeeded()?;
    let refused = place.run(&format!("plan {sized} --memory 1MiB --out s.plan"))?.failed_with(6)?;
    let least = refused.stderr.split("--memory ").nth(1).and_then(|rest| rest.split(' ').next());
    let memory = least.ok_or("a limit that works")?;
    let planned =
        place.run(&format!("plan {sized} --memory {memory} --out s.plan"))?.succeeded()?;
    assert!(!planned.stderr.contains(" 0 pages in"), "{}", planned.stderr);
    let line = "run s.plan --local --verify --out r.csv --in site_a.csv --in site_b.csv";
    let done = place.run(line)?.succeeded()?;
    done.says("equals the answer computed in the clear: yes")?;
    Ok(())
}

#[test]
fn plans_with_garbled_values_are_checked_shown_and_run() -> Result {
    let place = Place::new()?;
    place.three()?;
    for (program, protocol, sizes) in
        [("biometric", "bmr", "--param n=40"), ("three.phi", "bmr", ""), ("three.phi", "mixed", "")]
    {
        let file = if program == "biometric" { "" } else { "--program three.phi" };
        let out = "--memory 64MiB --out y.plan";
        let line = format!("plan {program} {sizes} --protocol {protocol} {out}");
        place.run(&line)?.succeeded()?;
        place.run(&format!("check y.plan {file}"))?.succeeded()?.says("right")?;
        let shown = place.run("show y.plan")?.succeeded()?.stdout;
        let garbled = "# what is garbled beside it:\n# phineus 5 planned\n";
        // Nothing of this program is garbled unless the protocol is.
        assert_eq!(shown.contains(garbled), protocol == "bmr", "{program} {protocol}");
    }
    place.run("plan biometric --param n=40 --protocol bmr --memory 64MiB --out b.plan")?;
    let inputs = "--in site_a=site_a.csv --in site_b=site_b.csv";
    for seed in [1, 2] {
        place.run(&format!("data biometric --param n=40 --seed {seed}"))?.succeeded()?;
        let line = format!("run b.plan --local --protocol bmr --memory 64MiB --out r.csv {inputs}");
        place.run(&line)?.succeeded()?;
        let clear = format!("run biometric --param n=40 --protocol clear --out c.csv {inputs}");
        place.run(&format!("{clear} --report none"))?.succeeded()?;
        assert_eq!(place.read("r.csv")?, place.read("c.csv")?);
        let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
        for party in report["parties"].as_array().ok_or("two parties")? {
            assert_eq!(
                party["predicted"]["garbled_and_gates"],
                party["measured"]["garbled_and_gates"]
            );
            assert!(party["measured"]["garbled_and_gates"].as_u64() > Some(0));
        }
    }
    // The garbling of another size, none, and a damaged end.
    place.run("plan biometric --param n=41 --protocol bmr --memory 64MiB --out o.plan")?;
    let halves = |name: &str| -> Result<(Vec<u8>, Vec<u8>)> {
        let bytes = std::fs::read(place.file(name))?;
        let end = &bytes[bytes.len() - 32..];
        let length = u64::from_le_bytes(end[..8].try_into()?) as usize;
        Ok((bytes[..length].to_vec(), bytes[length..bytes.len() - 32].to_vec()))
    };
    let (plan, own) = halves("b.plan")?;
    let (_, other) = halves("o.plan")?;
    let joined = |beside: &[u8]| {
        use sha2::{Digest, Sha256};
        let lengths = [plan.len() as u64, beside.len() as u64].map(u64::to_le_bytes).concat();
        let sum = Sha256::digest(&lengths)[..8].to_vec();
        [&plan[..], beside, &lengths, &sum, b"PHGARBLE"].concat()
    };
    assert_eq!(joined(&own), std::fs::read(place.file("b.plan"))?);
    place.write("mixed_up.plan", joined(&other))?;
    place.write("lacking.plan", &plan)?;
    let mut damaged = joined(&own);
    let at = damaged.len() - 30;
    damaged[at] ^= 1;
    place.write("damaged.plan", damaged)?;
    let run = |file: &str| {
        place.run(&format!("run {file} --local --protocol bmr --memory 64MiB {inputs}"))
    };
    run("mixed_up.plan")?.failed_with(3)?.says("beside the plan is of another one")?;
    run("lacking.plan")?.failed_with(3)?.says("lacks what is to be garbled beside it")?;
    run("damaged.plan")?.failed_with(3)?.says("the end of the plan is damaged")?;
    place.run("check mixed_up.plan")?.failed_with(3)?.says("is of another program")?;
    place.run("check lacking.plan")?.failed_with(3)?.says("lacks what is to be garbled")?;
    Ok(())
}

#[test]
fn the_text_form_makes_the_same_program() -> Result {
    let place = Place::new()?;
    place
        .run("plan sort --param n=50 --memory 32MiB --out s.plan --program-out s.prog")?
        .succeeded()?;
    for name in ["s.plan", "s.prog"] {
        let text = place.run(&format!("show {name}"))?.succeeded()?.stdout;
        place.write("copy.phi", &text)?;
        let copy = place.run("show copy.phi")?.succeeded()?.stdout;
        assert!(copy == text, "{name} changed on the way");
        let hash = |file: &str| -> Result<String> {
            let done = place.run(&format!("show {file} --json"))?.succeeded()?;
            let document: serde_json::Value = serde_json::from_str(&done.stdout)?;
            Ok(document["hash"].to_string())
        };
        assert_eq!(hash(name)?, hash("copy.phi")?);
    }
    Ok(())
}

#[test]
fn explain_predicts_what_a_run_measures() -> Result {
    let place = Place::new()?;
    place.run("data merge --param n=700 --rows site_a=500")?.succeeded()?;
    let line = "explain merge --in site_a.csv --in site_b.csv --memory 32MiB --json";
    let explained = place.run(line)?.succeeded()?;
    let explained: serde_json::Value = serde_json::from_str(&explained.stdout)?;
    let line =
        "run merge --local --in site_a.csv --in site_b.csv --memory 32MiB --verify --out r.csv";
    place.run(line)?.succeeded()?;
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    let costs = &explained["plan"]["costs"];
    let party = &report["parties"][0]["measured"];
    assert_eq!(costs["and_gates"], party["and_gates"]);
    assert_eq!(costs["sent_bytes_0"], party["sent_bytes"]);
    assert_eq!(costs["sent_bytes_1"], party["received_bytes"]);
    let done = place.run("explain merge --param n=700 --net rtt=20ms,bw=10mbit")?.succeeded()?;
    assert!(done.stdout.contains("limited by the network's bandwidth"), "{}", done.stdout);
    assert!(done.stdout.contains("reveals   'records' to site_a and site_b"), "{}", done.stdout);
    Ok(())
}

#[test]
fn a_closed_pipe_is_no_failure() -> Result {
    use std::io::{BufRead, BufReader};
    let place = Place::new()?;
    let mut child = place.start("show sort --param n=2000")?;
    let mut stdout = BufReader::new(child.stdout.take().ok_or("it is piped")?);
    let mut line = String::new();
    stdout.read_line(&mut line)?;
    drop(stdout);
    let done = common::Done::of(child.wait_with_output()?).succeeded()?;
    assert_eq!((line.as_str(), done.stderr.as_str()), ("phineus 5 program\n", ""));
    Ok(())
}

/// Correlated randomness is made by what a plan states, and taken by what its instructions need.
#[test]
fn a_plan_that_states_other_material_than_it_takes_is_refused() -> Result {
    let place = Place::new()?;
    place.run("data millionaires")?.succeeded()?;
    for (protocol, total) in [("gmw", "and_gates"), ("spdz", "triples")] {
        let plan = format!("plan millionaires --protocol {protocol} --memory 96MiB --out m.plan");
        place.run(&plan)?.succeeded()?;
        let mut reader = ProgramReader::open(BufReader::new(File::open(place.file("m.plan"))?))?;
        let mut description = reader.description().clone();
        let plan = description.plan.as_mut().ok_or("a plan has figures")?;
        *plan.costs.get_mut(total).ok_or("it takes some")? -= 1;
        let forged = File::create(place.file("forged.plan"))?;
        let mut writer = ProgramWriter::new(forged, FileKind::Planned)?;
        reader.for_each::<phineus::bytecode::Error>(|instruction| writer.push(instruction))?;
        writer.finish(&description)?;
        for (file, exit) in [("m.plan", 0), ("forged.plan", 3)] {
            let done = place.run(&format!(
                "run {file} --local --protocol {protocol} --memory 96MiB --in alice.csv \
                 --in bob.csv --report none"
            ))?;
            match exit {
                0 => done.succeeded()?,
                _ => done.failed_with(exit)?.says("other correlated randomness")?,
            };
        }
    }
    Ok(())
}

/// What planning writes besides a plan stays little: nothing for small plans, and with the plan itself
/// at most one and a half times the plan, whether it swaps or not.
#[test]
fn planning_takes_little_disk() -> Result {
    let place = Place::new()?;
    let peak = |line: &str| -> Result<(u64, u64)> {
        let done = place.run(&format!("plan {line} --out s.plan --json"))?.succeeded()?;
        let document: serde_json::Value = serde_json::from_str(&done.stdout)?;
        let peak = document["scratch_peak_bytes"].as_u64().ok_or("a peak")?;
        Ok((peak, std::fs::metadata(place.file("s.plan"))?.len()))
    };
    for (program, n) in
        [("sort", 1000), ("merge", 1024), ("mvmul", 256), ("ljoin", 128), ("binfclayer", 1024)]
    {
        for memory in ["36MiB", "4GiB"] {
            let line = format!("{program} --param n={n} --memory {memory}");
            assert_eq!(peak(&line)?.0, 0, "{line}");
        }
    }
    for line in [
        "sort --param n=32768 --memory 36MiB",
        "merge --param n=65536 --memory 36MiB",
        "merge --param n=65536 --memory 4GiB",
        "mvmul --param n=2048 --memory 64MiB",
        "ljoin --param n=1024 --memory 4GiB",
        "binfclayer --param n=8192 --memory 4GiB",
        "sort --param n=32768 --memory 48MiB --protocol gmw",
        "sort --param n=2048 --memory 64MiB --protocol bmr",
        "mvmul --param n=512 --memory 64MiB --protocol spdz",
    ] {
        let (peak, plan) = peak(line)?;
        assert!(2 * peak <= 3 * plan, "{line}: {peak} bytes for a plan of {plan}");
    }
    Ok(())
}
