//! What each C program of the tests becomes, compared with `traces.txt`: a change of the front end that is
//! meant to keep its behaviour keeps this file. `PHINEUS_BLESS=1` writes it anew, for a change that is meant.
//!
//! Each line has hashes of the program's text, of its trace (the program of the bytecode, or the error
//! instead) and of all diagnostics, notes included.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use phineus_c_frontend::{CProgram, render};
use phineus_frontend::{Arguments, trace_to_file};

/// Random programs, of the seeds from 1 on.
const RANDOM_PROGRAMS: u64 = 60;

/// FNV-1a (Fowler, Noll, Vo), 64 bits: the standard library's hash may differ between releases.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    text.bytes().fold(0xCBF2_9CE4_8422_2325, step)
}

/// The hashes of a program; `folder` is removed from messages.
fn line(path: &Path, folder: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("readable");
    let clean = |message: &str| message.replace(&format!("{}/", folder.display()), "");
    let (trace, diagnostics) = match outcome(path) {
        Ok(found) => found,
        Err(error) => (format!("error {:016x}", hash(&clean(&error))), String::new()),
    };
    format!("text {:016x} {trace} notes {:016x}", hash(&text), hash(&clean(&diagnostics)))
}

/// The trace or its error, and all diagnostics.
fn outcome(path: &Path) -> Result<(String, String), String> {
    fn shown(error: impl std::fmt::Display) -> String {
        error.to_string()
    }
    let program = CProgram::open(path).map_err(shown)?;
    let arguments = Arguments::new(&program, []).map_err(shown)?;
    let diagnostics = render(&program.check(&arguments).map_err(shown)?);
    let (_, traced) = match trace_to_file(&program, &arguments) {
        // The error is among the diagnostics.
        Err(_) => return Ok(("refused".to_owned(), diagnostics)),
        Ok(traced) => traced,
    };
    let hash = traced.written.hash.to_string();
    let count = traced.written.instruction_count;
    Ok((format!("trace {} instructions {count}", &hash[..16]), diagnostics))
}

/// The line of each program by its name.
fn found() -> BTreeMap<String, String> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    let random = tempfile::tempdir().expect("writable");
    let files = ["ok", "leaks"].map(super::programs).concat();
    let named = |path: PathBuf| {
        let name = path.strip_prefix(&tests).expect("it lies there").display().to_string();
        (name, path, tests.clone())
    };
    let mut all: Vec<(String, PathBuf, PathBuf)> = files.into_iter().map(named).collect();
    for seed in 1..=RANDOM_PROGRAMS {
        let path = random.path().join(format!("seed_{seed:02}.c"));
        std::fs::write(&path, super::random::program(seed)).expect("writable");
        all.push((format!("random/seed_{seed:02}"), path, random.path().to_owned()));
    }
    let lines = super::in_parallel(&all, |(name, path, folder)| (name.clone(), line(path, folder)));
    lines.into_iter().collect()
}

/// The version of the clang that the programs are compiled with: another one makes other bitcode.
fn clang_version() -> String {
    let output = Command::new("clang-19").arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let text = text.unwrap_or_default();
    let words = text.split_whitespace().skip_while(|word| *word != "version");
    words.take(2).collect::<Vec<_>>().join(" ")
}

#[test]
fn traces_are_as_they_were() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/traces.txt");
    let text = std::fs::read_to_string(&golden).unwrap_or_default();
    let header = format!("clang {}", clang_version());
    let is_blessed = std::env::var_os("PHINEUS_BLESS").is_some();
    if !is_blessed && text.lines().next() != Some(&header) {
        println!("skipped: traces.txt is of {:?}, this is {header}", text.lines().next());
        return;
    }
    let is_part = std::env::var_os("PHINEUS_C_ONLY").is_some();
    assert!(!(is_blessed && is_part), "PHINEUS_BLESS writes the lines of all programs");
    let found = found();
    if is_blessed {
        let mut new = format!("{header}\n");
        found
            .iter()
            .for_each(|(name, line)| writeln!(new, "{name}: {line}").expect("it is a string"));
        std::fs::write(&golden, new).expect("writable");
        return;
    }
    let known: BTreeMap<&str, &str> =
        text.lines().skip(1).filter_map(|line| line.split_once(": ")).collect();
    let mut wrong = Vec::new();
    for (name, line) in &found {
        match known.get(name.as_str()) {
            Some(old) if old == line => {}
            Some(old) => wrong.push(format!("{name}: {line}, before {old}")),
            None => wrong.push(format!("{name}: {line}, before unknown")),
        }
    }
    if !is_part {
        let gone = known.keys().filter(|name| !found.contains_key(**name));
        wrong.extend(gone.map(|name| format!("{name}: is gone")));
    }
    assert!(wrong.is_empty(), "PHINEUS_BLESS=1 writes these lines anew:\n{}", wrong.join("\n"));
}
