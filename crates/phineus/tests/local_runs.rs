//! `run --local`, `demo` and the examples: results, verification, files.

mod common;

use common::{Done, Place, Result, users};

/// Makes the inputs of a program; returns the options that name them.
fn generated(place: &Place, sized: &str) -> Result<String> {
    let data = place.run(&format!("data {sized} --json"))?.succeeded()?;
    let files: serde_json::Value = serde_json::from_str(&data.stdout)?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("").to_owned();
    let files = files.as_array().ok_or("a list")?.iter();
    Ok(files
        .map(|file| format!(" --in {}={}", text(&file["input"]), text(&file["file"])))
        .collect())
}

/// Every protocol of the list, so that a new one is not forgotten.
#[test]
fn every_protocol_equals_the_plaintext() -> Result {
    for protocol in phineus::protocol::ALL {
        let (place, name) = (Place::new()?, protocol.name());
        let parties = (*protocol.parties().start()).max(2);
        for program in ["psi --param n=5", "biometric --param n=4", "millionaires"] {
            let sized = format!("{program} --param parties={parties}");
            let inputs = generated(&place, &sized)?;
            let line =
                format!("run {sized} --local --verify --report none --protocol {name}{inputs}");
            let done = place.run(&line)?.succeeded().map_err(|e| format!("{line}: {e}"))?;
            done.says("equals the plaintext answer: yes")?;
        }
    }
    Ok(())
}

#[test]
fn every_program_equals_its_reference() -> Result {
    for (name, size) in [
        ("password-reuse", "n=37"),
        ("millionaires", ""),
        ("merge", "n=33"),
        ("sort", "n=21"),
        ("ljoin", "n=5"),
        ("mvmul", "n=9"),
        ("binfclayer", "n=19"),
        ("aes128", "n=3"),
        ("sha256", "n=2"),
    ] {
        let place = Place::new()?;
        let param = if size.is_empty() { String::new() } else { format!("--param {size}") };
        let inputs = generated(&place, &format!("{name} {param}"))?;
        let two = ["garbled", "clear", "gmw", "arith", "bmr"].map(|protocol| (protocol, 2));
        for (protocol, parties) in two.into_iter().chain([("gmw", 3), ("bmr", 3)]) {
            let line = format!(
                "run {name} {param} --param parties={parties} --local --verify --protocol {protocol}"
            );
            let done = place.run(&format!("{line}{inputs}"))?.succeeded();
            done.map_err(|e| format!("{line}: {e}"))?.says("equals the plaintext answer: yes")?;
        }
    }
    Ok(())
}

/// A circuit has two owners of inputs; others compute beside them.
#[test]
fn circuits_run_among_any_number() -> Result {
    let place = Place::new()?;
    place.write("both.txt", "1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n")?;
    place.write("a.csv", "in0\n1\n0\n")?;
    place.write("b.csv", "in1\n1\n1\n")?;
    for (protocol, parties) in [("garbled", 2), ("gmw", 4), ("bmr", 3), ("spdz", 3)] {
        let line = format!("run both.txt --local --protocol {protocol} --param parties={parties}");
        let done = place.run(&format!("{line} --in a.csv --in b.csv"))?.succeeded()?;
        assert_eq!(done.stdout, "out0\n1\n0\n", "{line}");
    }
    place.run("explain both.txt --param parties=17")?.failed_with(2)?.says("expected 2 to 16")?;
    Ok(())
}

#[test]
fn results_go_to_stdout_and_all_else_to_stderr() -> Result {
    let place = Place::new()?;
    place.write("a.csv", "wealth\n5\n")?;
    place.write("b.csv", "wealth\n4\n")?;
    let line = "run millionaires --local --in alice=a.csv --in bob=b.csv";
    let done = place.run(line)?.succeeded()?;
    assert_eq!(done.stdout, "alice_is_richer\n1\n");
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    for party in report["parties"].as_array().ok_or("two parties")? {
        assert_eq!(party["predicted"]["and_gates"], party["measured"]["and_gates"]);
        assert_eq!(party["predicted"]["sent_bytes"], party["measured"]["sent_bytes"]);
        assert!(party["measured"]["and_gates"].as_u64() > Some(0));
    }
    // By position and to a file.
    place.run("run millionaires --local --in a.csv --in b.csv --out r.csv")?.succeeded()?;
    assert_eq!(place.read("r.csv")?, "alice_is_richer\n1\n");
    let json = place.run(&format!("{line} --json"))?.succeeded()?;
    let document: serde_json::Value = serde_json::from_str(&json.stdout)?;
    assert_eq!(document["outputs"]["result"]["rows"][0][0], "1");
    Ok(())
}

/// It spoke of room for the run's own files.
#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_is_said_to_be_stdout() -> Result {
    let place = Place::new()?;
    place.write("a.csv", "wealth\n5\n")?;
    place.write("b.csv", "wealth\n4\n")?;
    for line in ["run millionaires --local --in a.csv --in b.csv", "explain millionaires"] {
        let full = std::fs::File::options().write(true).open("/dev/full")?;
        let done = Done::of(place.command(line).stdout(full).output()?).failed_with(1)?;
        let done = done.says("cannot write to stdout: No space left")?;
        assert!(!done.stderr.contains("--swap-dir"), "{}", done.stderr);
    }
    Ok(())
}

#[test]
fn one_input_may_come_from_stdin() -> Result {
    use std::io::Write;
    let place = Place::new()?;
    place.write("a.csv", "wealth\n5\n")?;
    let mut command = place.command("run millionaires --local --in alice=a.csv --in bob=-");
    let mut child = command.stdin(std::process::Stdio::piped()).spawn()?;
    child.stdin.take().ok_or("it is piped")?.write_all(b"wealth\n6\n")?;
    let done = Done::of(child.wait_with_output()?).succeeded()?;
    assert_eq!(done.stdout, "alice_is_richer\n0\n");
    // A file may be named so as well.
    let mut command = place.command("run millionaires --local --in a.csv --in bob=/dev/stdin");
    let done = Done::of(command.stdin(std::fs::File::open(place.file("a.csv"))?).output()?);
    assert_eq!(done.succeeded()?.stdout, "alice_is_richer\n0\n");
    Ok(())
}

#[test]
fn the_demo_finds_the_known_overlap() -> Result {
    let place = Place::new()?;
    let done = place.run("demo --rows 400 --memory 32MiB --keep files")?.succeeded()?;
    // A tenth is on both sites, half of those reuse their password.
    assert_eq!(done.stdout, "reused passwords: 20 (of 40 users on both sites)\n");
    let done = done.says("equals the plaintext answer: yes")?;
    assert!(done.stderr.contains("AND gates"));
    assert!(place.file("files/site_a.csv").exists());
    Ok(())
}

#[test]
fn the_examples_run() -> Result {
    let place = Place::new()?;
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_phineus"))
        .parent()
        .ok_or("it is in a directory")?
        .join("examples");
    let run = |example: &str, arguments: &str| -> Result<Done> {
        let mut command = std::process::Command::new(directory.join(example));
        command.args(arguments.split_whitespace());
        place.settle(&mut command);
        let output = command.output().map_err(|error| {
            format!("example {example}: {error} (cargo test --tests builds no examples)")
        })?;
        Done::of(output).succeeded()
    };
    place.write("a.csv", "salary\n1000\n2000\n3001\n")?;
    place.write("b.csv", "salary\n4000\n")?;
    let done = run("average_salary", "run --local --in firm_a=a.csv --in firm_b=b.csv")?;
    assert_eq!(done.stdout, "average\n2500\n");
    place.write("a.csv", "wealth\n7\n")?;
    place.write("b.csv", "wealth\n10\n")?;
    let done = run("richest", "run --local --in alice=a.csv --in bob=b.csv --verify")?;
    assert_eq!(done.stdout, "# who\nalice_is_richer\n0\n# difference\nby\n3\n");
    let done = done.says("equals the answer computed in the clear: yes")?;
    assert!(done.stderr.contains("\nalice learnt: by (3).\n"), "{}", done.stderr);
    for (file, limit) in [("a.csv", 25), ("b.csv", 47), ("c.csv", 33)] {
        place.write(file, format!("limit\n{limit}\n"))?;
    }
    let auction =
        "run --local --protocol gmw --verify --in ann=a.csv --in ben=b.csv --in cid=c.csv";
    assert_eq!(run("rising_auction", auction)?.stdout, "price\n40\n");
    let done = run("without_the_command_line", "")?;
    assert!(done.stdout.starts_with("largest: 9\n"), "{}", done.stdout);
    let done = run("embed", "")?;
    assert!(done.stdout.contains("numbers on both lists: 2\n"), "{}", done.stdout);
    assert!(done.stdout.contains("AND gates"), "{}", done.stdout);
    let done = run("custom_protocol", "")?;
    assert_eq!(done.stdout, "1000 products of an integer and a shared bit are right\n");
    Ok(())
}

#[test]
fn a_circuit_file_runs() -> Result {
    let place = Place::new()?;
    // Two bits each: their AND, in Bristol Fashion.
    place.write("and.txt", "2 6\n2 2 2\n1 2\n\n2 1 0 2 4 AND\n2 1 1 3 5 AND\n")?;
    let shown = place.run("explain and.txt --json")?.succeeded()?;
    let document: serde_json::Value = serde_json::from_str(&shown.stdout)?;
    let mut inputs = String::new();
    for (index, port) in document["inputs"].as_array().ok_or("a list")?.iter().enumerate() {
        let column = port["columns"][0]["name"].as_str().ok_or("a name")?;
        let value = ["3", "2"][index];
        place.write(&format!("{index}.csv"), format!("{column}\n{value}\n"))?;
        inputs.push_str(&format!(" --in {index}.csv"));
    }
    let done = place.run(&format!("run and.txt --local --verify{inputs}"))?.succeeded()?;
    assert!(done.stdout.ends_with("\n2\n"), "{}", done.stdout);
    // Among three who bring nothing themselves.
    let three = format!("run and.txt --local --protocol bmr --computing 3{inputs}");
    let done = place.run(&three)?.succeeded()?;
    assert!(done.stdout.ends_with("\n2\n"), "{}", done.stdout);
    Ok(())
}

#[test]
fn memory_stays_under_the_limit_while_pages_move() -> Result {
    let place = Place::new()?;
    // 8000 users a site have 31 MiB of wires; 32 MiB leave about 12 MiB for them.
    place.write("a.csv", users(0, 8000, 800))?;
    place.write("b.csv", users(1, 8000, 800))?;
    let line = "run password-reuse --local --memory 32MiB --in a.csv --in b.csv";
    let done = place.run(line)?.succeeded()?;
    assert_eq!(done.stdout, "reused_passwords\n400\n");
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    for party in report["parties"].as_array().ok_or("two parties")? {
        let peak = party["memory_bytes"]["measured_peak"].as_u64().ok_or("measured")?;
        assert!(peak <= 32 << 20, "{peak}");
        assert!(party["measured"]["swap_in_pages"].as_u64() > Some(0));
        assert_eq!(party["predicted"]["swap_in_pages"], party["measured"]["swap_in_pages"]);
    }
    Ok(())
}

/// Tables in NumPy's format are read and written as those in CSV are.
#[test]
fn binary_tables_give_what_text_gives() -> Result {
    let place = Place::new()?;
    let run = "run linear-layer --param n=8 --local --protocol spdz --fake-preprocessing";
    let files = |extension: &str| {
        let input = |name: &str| format!("--in {name}={name}.{extension}");
        ["matrix", "bias", "vector"].map(input).join(" ")
    };
    place.run("data linear-layer --param n=8 --out-dir .")?.succeeded()?;
    place.run("data linear-layer --param n=8 --format npy --out-dir .")?.succeeded()?;
    place.run(&format!("{run} {} --out r.csv", files("csv")))?.succeeded()?;
    place.run(&format!("{run} {} --out r.npy --verify", files("npy")))?.succeeded()?;
    let text = place.read("r.csv")?;
    let numbers = text.lines().skip(1).map(str::parse).collect::<std::result::Result<_, _>>()?;
    let numbers: Vec<i32> = numbers;
    let bytes = std::fs::read(place.file("r.npy"))?;
    let (header, data) = bytes.split_at(128);
    assert!(header.starts_with(b"\x93NUMPY\x01\x00") && header.ends_with(b"\n"));
    let expected: Vec<u8> = numbers.into_iter().flat_map(i32::to_le_bytes).collect();
    assert_eq!(data, expected);

    let mut wide = std::fs::read(place.file("matrix.npy"))?;
    wide.truncate(wide.len() - 1);
    std::fs::write(place.file("matrix.npy"), wide)?;
    let done = place.run(&format!("{run} {}", files("npy")))?.failed_with(8)?;
    assert!(done.stderr.contains("matrix.npy: ends before its 8 rows do"), "{}", done.stderr);
    Ok(())
}
