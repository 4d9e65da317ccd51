//! Everything a user can get wrong: one clear sentence, its exit code, nothing left behind.

mod common;

use common::{Place, Result, users};

fn place() -> Result<Place> {
    let place = Place::new()?;
    place.write("a.csv", users(0, 12, 4))?;
    place.write("b.csv", users(1, 12, 4))?;
    Ok(place)
}

const LOCAL: &str = "run password-reuse --local --report none";

/// What an error says can be looked up, by its code.
#[test]
fn codes_are_explained() -> Result {
    let place = Place::new()?;
    let failed = place.run("run pasword-reuse --local")?;
    assert!(failed.stderr.contains("error E2120:"), "{}", failed.stderr);
    let line = "E2120 (exit code 2, usage): There is no program of that name, and no such file. \
                `phineus programs` lists the names.\n";
    assert_eq!(place.run("help E2120")?.succeeded()?.stdout, line);
    assert_eq!(place.run("help e2120")?.succeeded()?.stdout, line);
    let document = place.run("--json help E2120")?.succeeded()?.document()?;
    assert_eq!(
        (document["class"].as_str(), document["exit_code"].as_u64()),
        (Some("usage"), Some(2))
    );
    let typed = place.run("help id trust")?.succeeded()?.stdout;
    assert_eq!(typed, place.run("id trust --help")?.succeeded()?.stdout);
    assert!(place.run("help")?.succeeded()?.stdout.contains("Usage: phineus"));
    let unknown = place.run("help E9999")?;
    assert!(
        unknown.stderr.contains("there is no command or error code 'E9999'"),
        "{}",
        unknown.stderr
    );
    Ok(())
}

#[test]
fn usage() -> Result {
    let place = place()?;
    for (line, part) in [
        ("run --local", "which program?"),
        ("run password-reuse", "--as NAME"),
        ("run pasword-reuse --local", "did you mean 'password-reuse'?"),
        ("run password-reuse --local", "input 'site_a' of site_a has no file"),
        ("run password-reuse --local --in a.csv --in b.csv --in a.csv", "what is a.csv for?"),
        ("run password-reuse --local --in site_c=a.csv", "no input 'site_c' here"),
        ("run password-reuse --local --in a.csv --in b.csv --param m=3", "no parameter 'm'"),
        ("run password-reuse --local --in a.csv --in b.csv --memory 12mb", "is not a size"),
        ("run password-reuse --local --in a.csv --in b.csv --swap-dir none", "none"),
        (
            "run password-reuse --local --in a.csv --in b.csv --out no/such/r.csv",
            "no/such/r.csv cannot be written: the directory no/such does not exist",
        ),
        ("run password-reuse --local --in a.csv --in b.csv --out x=r.csv", "no output 'x'"),
        ("run password-reuse --local --in a.csv --in b.csv --simulate fast", "rtt=40ms"),
        ("run password-reuse --as site_a --verify", "--verify needs"),
        ("run password-reuse --as site_a", "cluster.toml: cannot be read"),
        ("explain sort --param n=none", "expected a whole number"),
        ("explain sort --rows site_a=-1", "expected a whole number"),
        ("frobnicate", "unrecognized subcommand"),
        ("id trust site_b PH1-NOPE", "PH1-NOPE"),
        ("id show --id-dir nowhere", "there is no key in nowhere"),
        ("doctor --peer host:nine", "is not a port"),
        ("demo --rows 0", "at least one user"),
    ] {
        let done = place.run(line)?.failed_with(2).map_err(|e| format!("{line}: {e}"))?;
        done.says(part).map_err(|e| format!("{line}: {e}"))?;
    }
    assert_eq!(place.files()?, ["a.csv", "b.csv"]);
    Ok(())
}

#[test]
fn csv_files() -> Result {
    let place = place()?;
    for (text, part) in [
        ("", "bad.csv: is empty"),
        ("user\nx\n", "there is no column 'password_hash'"),
        ("user,user\n1,2\n", "two columns are called 'user'"),
        ("user,password_hash\nx\n", "bad.csv:2: has 1 field, the header has 2"),
        ("user,password_hash\nx,1\nx,2\n", "bad.csv:3: the same user as in line 2"),
    ] {
        place.write("bad.csv", text)?;
        for line in ["--in bad.csv --in b.csv", "--in a.csv --in bad.csv"] {
            let done = place.run(&format!("{LOCAL} {line}"))?.failed_with(8)?;
            done.says(part)?;
        }
    }
    let line = "run millionaires --local --in alice=x.csv --in bob=y.csv --report none";
    place.write("y.csv", "wealth\n1\n")?;
    for (value, part) in [
        ("-1", "x.csv:2: column 'wealth': '-1' does not fit u64 (0 to 18446744073709551615)"),
        ("18446744073709551616", "does not fit u64"),
        ("rich", "x.csv:2: column 'wealth': 'rich' is not a whole number"),
        ("", "x.csv:2: is empty, so a value may be missing"),
    ] {
        place.write("x.csv", format!("wealth\n{value}\n"))?;
        place.run(line)?.failed_with(8)?.says(part)?;
    }
    place.write("x.csv", "wealth\n")?;
    let rows = "'alice' has 0 rows, and this program takes 1";
    place.run(line)?.failed_with(8)?.says(rows)?;
    place.write("x.csv", b"wealth\n\xff\xfe\n")?;
    place.run(line)?.failed_with(8)?.says("not UTF-8")?;
    place.run(&line.replace("x.csv", "none.csv"))?.failed_with(8)?.says("none.csv: No such")?;
    place.write("x.csv", "wealth\n1\n2\n")?;
    place.run(line)?.failed_with(8)?.says("'alice' has 2 rows, and this program takes 1")?;
    place.write("matrix.csv", "c0,c1,c2\n1,2,3\n")?;
    place.write("vector.csv", "value\n1\n2\n")?;
    let product = "run mvmul --local --in matrix=matrix.csv --in vector=vector.csv --report none";
    place.run(product)?.failed_with(8)?.says("matrix.csv:1: has a column 'c2'")?;
    // A vector of one row: the matrix has one column, and not two.
    place.write("vector.csv", "value\n1\n")?;
    let done = place.run(product)?.failed_with(8)?;
    done.says("matrix.csv:1: has a column 'c1', and what is computed has only 'c0'")?;
    place.run(&format!("{product} --column matrix.c0=c2"))?.succeeded()?;
    let done = place.run(&format!("{product} --column c0=c2 --column c1=c0"))?.failed_with(2)?;
    done.says("no input wants a column 'c1'; 'matrix' has c0")?;
    place.write("x.csv", "wealth\n\"5\n")?;
    place.run(line)?.failed_with(8)?.says("x.csv:2: a quote is not closed")?;
    place.write("x.csv", "1".repeat(3 << 20))?;
    place.run(line)?.failed_with(8)?.says("x.csv:1: a row is longer than 2 MiB")?;
    Ok(())
}

/// What can be read once only is refused before it is opened, which could take for ever.
#[cfg(unix)]
#[test]
fn pipes() -> Result {
    let place = Place::new()?;
    place.write("y.csv", "wealth\n1\n")?;
    let made = std::process::Command::new("mkfifo").arg(place.file("pipe")).status()?;
    assert!(made.success());
    let long = std::time::Duration::from_secs(60);
    for (line, name) in [
        ("run millionaires --local --in alice=pipe --in bob=y.csv", "pipe"),
        ("run millionaires --local --in alice=y.csv --in bob=/dev/stdin", "/dev/stdin"),
        ("run millionaires --local --protocol clear --in pipe --in y.csv", "pipe"),
        ("run millionaires --as alice --in pipe", "pipe"),
        ("explain millionaires --in alice=pipe", "pipe"),
    ] {
        let mut command = place.command(&format!("{line} --report none"));
        if line.starts_with("explain") {
            command = place.command(line);
        }
        let child = command.stdin(std::process::Stdio::piped()).spawn()?;
        let done = common::wait(child, long).map_err(|e| format!("{line}: {e}"))?;
        let done = done.failed_with(8).map_err(|e| format!("{line}: {e}"))?;
        done.says(&format!("{name}: is a pipe"))?.says("give a file")?;
    }
    let endless = "run millionaires --local --report none --in alice=y.csv --in bob=/dev/zero";
    place.run(endless)?.failed_with(8)?.says("/dev/zero: is a device")?.says("give a file")?;
    assert_eq!(place.files()?, ["pipe", "y.csv"]);
    Ok(())
}

/// Inputs that are computed on row by row have as many rows as each other.
#[test]
fn numbers_of_rows() -> Result {
    let place = Place::new()?;
    for (name, rows) in [("three.csv", 3), ("four.csv", 4)] {
        place.write(name, format!("x\n{}", "7\n".repeat(rows)))?;
        place.write(&format!("word_{name}"), format!("word\n{}", "7\n".repeat(rows)))?;
    }
    let inputs = "--report none --in site_a=three.csv --in site_b=four.csv";
    let done = place.run(&format!("run intops --local {inputs}"))?.failed_with(8)?;
    done.says("input 'site_a' has 3 rows and 'site_b' has 4")?;
    let inputs = inputs.replace("=", "=word_");
    let done = place.run(&format!("run and --local {inputs}"))?.failed_with(8)?;
    done.says("input 'site_a' has 3 rows; n=1000000 ANDs are 15625 words of 64 bits")?;
    Ok(())
}

#[test]
fn program_files() -> Result {
    let place = place()?;
    place.write("noise.txt", "hello\n")?;
    place.run("explain noise.txt")?.failed_with(3)?.says("noise.txt: is no program")?;
    for (name, part) in [
        ("noise.txt", "it is not a C program (.c)"),
        ("f.cpp", "f.cpp: is C++; of source files, C is run as it is (.c)"),
        ("f.cc", "docs/c.md"),
        ("f.rs", "phineus::main"),
        ("f.h", "name the .c file that includes it"),
    ] {
        place.write(name, "#include <phineus.h>\n")?;
        for command in ["explain", "run --local --report none", "check"] {
            place.run(&format!("{command} {name}"))?.failed_with(3)?.says(part)?;
        }
    }
    std::fs::create_dir(place.file("sources"))?;
    place.write("sources/f.c", "")?;
    let done = place.run("explain sources")?.failed_with(3)?;
    done.says("sources: is a directory without a hybrid circuit of HyCC")?.says("name a file")?;
    place.write("cut.txt", "2 6\n2 2 2\n1 2\n\n2 1 0 2 4 AND\n")?;
    place.run("explain cut.txt")?.failed_with(3)?.says("cut.txt")?;
    place.write("wrong.phi", "phineus 5 program\nname \"x\"\nfrobnicate\n")?;
    place.run("show wrong.phi")?.failed_with(3)?.says("wrong.phi:3")?;
    place.run("plan sort --param n=40 --memory 32MiB --out good.plan")?.succeeded()?;
    let good = std::fs::read(place.file("good.plan"))?;
    let mut bad = good.clone();
    bad[good.len() / 3] ^= 0x40;
    place.write("bad.plan", &bad)?;
    place.run("check bad.plan")?.failed_with(3)?.says("damaged")?;
    for cut in [0, 5, 17, good.len() / 2, good.len() - 1] {
        place.write("bad.plan", &good[..cut])?;
        place.run("check bad.plan")?.failed_with(3)?;
    }
    let mut old = good;
    old[8] = 99;
    place.write("bad.plan", &old)?;
    place.run("show bad.plan")?.failed_with(3)?.says("format version 99")?;
    Ok(())
}

#[test]
fn what_does_not_fit() -> Result {
    let place = place()?;
    let line = format!("{LOCAL} --in a.csv --in b.csv --memory 8MiB");
    let done = place.run(&line)?.failed_with(6)?.says("does not fit into 8.0 MiB")?;
    assert!(done.stderr.contains("--memory"), "{}", done.stderr);
    let done = place.run("explain sort --param n=100 --memory 10MiB")?.failed_with(6)?;
    // What it says is enough.
    let need = done.stderr.split("give --memory ").nth(1).and_then(|rest| rest.split(' ').next());
    let need = need.ok_or("it says how much")?;
    place.run(&format!("explain sort --param n=100 --memory {need}"))?.succeeded()?;
    Ok(())
}

#[test]
fn failures_as_json() -> Result {
    let place = place()?;
    let done = place.run("run pasword-reuse --local --json")?.failed_with(2)?;
    let document: serde_json::Value = serde_json::from_str(&done.stdout)?;
    assert_eq!(document["error"]["code"], "E2120");
    assert_eq!(document["error"]["exit_code"], 2);
    Ok(())
}

#[cfg(unix)]
#[test]
fn a_swap_directory_must_be_writable() -> Result {
    use std::os::unix::fs::PermissionsExt;
    let place = place()?;
    std::fs::create_dir(place.file("locked"))?;
    std::fs::set_permissions(place.file("locked"), std::fs::Permissions::from_mode(0o500))?;
    if std::fs::write(place.file("locked/probe"), "x").is_ok() {
        println!("skipped: this user may write anywhere");
        return Ok(());
    }
    let line = format!("{LOCAL} --in a.csv --in b.csv --swap-dir locked");
    place.run(&line)?.failed_with(2)?.says("locked")?;
    Ok(())
}
