//! The memory limit is a promise: at the least limit that is stated, every command works and no process
//! of it is ever resident with more; with a mebibyte less, every command refuses and states that least.
//!
//! The ordinary test takes random cases of all programs, protocols and sizes, as many as fit into its
//! time. `PHINEUS_TEST_SEED=N` takes those of a seed again, `PHINEUS_TEST_ALL=1` takes all of them
//! (an hour), and `PHINEUS_TEST_BINARY=FILE` tests another executable, such as the optimised one.

mod common;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Place, Result};
use serde_json::Value;

const PROTOCOLS: [&str; 10] =
    ["garbled", "gmw", "bmr", "arith", "mixed", "rep3", "spdz", "spdz-128", "spdz-32", "clear"];

/// Sizes of each program: a small and a middle one, and one for authenticated shares, whose
/// correlated randomness takes by far the most time to make; nothing where that is more than a
/// minute.
const SIZES: [(&str, [&str; 2], Option<&str>); 23] = [
    ("password-reuse", ["n=50", "n=2000"], Some("n=10")),
    ("millionaires", ["parties=2", "parties=3"], Some("parties=3")),
    ("merge", ["n=50", "n=2000"], Some("n=4")),
    ("sort", ["n=50", "n=1500"], Some("n=3")),
    ("join", ["n=50", "n=1500"], Some("n=4")),
    ("ljoin", ["n=8", "n=40"], Some("n=3")),
    ("mvmul", ["n=16", "n=128"], Some("n=16")),
    ("binfclayer", ["n=32", "n=256"], Some("n=16")),
    ("linear-layer", ["n=16", "n=64"], Some("n=16")),
    ("aes128", ["n=1", "n=60"], None),
    ("sha256", ["n=1", "n=5"], None),
    ("biometric", ["n=20", "n=500"], Some("n=6")),
    ("psi", ["n=50", "n=1500"], Some("n=4")),
    ("cnn", ["size=8", "size=16"], None),
    ("intops", ["lanes=100", "lanes=3000"], Some("lanes=50")),
    ("and", ["n=1000", "n=50000"], Some("n=200")),
    ("gcd", ["parties=2", "parties=2"], Some("parties=2")),
    ("beside", ["n=50", "n=500"], Some("n=5")),
    ("binary-search", ["n=20", "n=400"], Some("n=8")),
    ("scrypt", ["n=4", "n=32"], None),
    ("bfs", ["vertices=5", "vertices=60"], None),
    ("dijkstra", ["vertices=5", "vertices=60"], None),
    ("gale-shapley", ["n=3", "n=9"], None),
];

/// Time in which the ordinary test starts new cases.
const TIME: Duration = Duration::from_secs(30);

/// Interval at which processes are examined.
const PAUSE: Duration = Duration::from_millis(2);

#[derive(Clone, Copy, Debug)]
struct Case {
    program: &'static str,
    size: &'static str,
    protocol: &'static str,
    /// Number of others who compute, if the owners are clients.
    computing: Option<usize>,
}

/// The result of a command, and the peak of each of its processes.
struct Ran {
    code: Option<i32>,
    stderr: String,
    peaks_kib: HashMap<u32, (String, u64)>,
}

fn binary() -> PathBuf {
    let default = || env!("CARGO_BIN_EXE_phineus").into();
    std::env::var_os("PHINEUS_TEST_BINARY").map_or_else(default, PathBuf::from)
}

/// `process` and all that it started.
fn tree(process: u32) -> Vec<u32> {
    let (mut all, mut at) = (vec![process], 0);
    while at < all.len() {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", all[at]));
        for task in tasks.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            let children = children.unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
        at += 1;
    }
    all
}

/// The name of a process and the most that it was resident with. Before it runs the executable it is a
/// copy of its parent.
fn peak(process: u32) -> Option<(String, u64)> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let name = field("Name:")?.trim().to_owned();
    let peak = field("VmHWM:")?.split_whitespace().next()?.parse().ok()?;
    name.starts_with("phineus").then_some((name, peak))
}

fn run(place: &Place, arguments: &str) -> Result<Ran> {
    let mut command = Command::new(binary());
    command.args(arguments.split_whitespace());
    place.settle(&mut command);
    let log = std::fs::File::create(place.file("log"))?;
    command.stdout(Stdio::null()).stderr(log);
    let mut child = command.spawn()?;
    let mut peaks_kib: HashMap<u32, (String, u64)> = HashMap::new();
    let status = loop {
        for process in tree(child.id()) {
            if let Some((name, kib)) = peak(process) {
                let entry = peaks_kib.entry(process).or_insert((name, 0));
                entry.1 = entry.1.max(kib);
            }
        }
        match child.try_wait()? {
            Some(status) => break status,
            None => thread::sleep(PAUSE),
        }
    };
    Ok(Ran { code: status.code(), stderr: place.read("log")?, peaks_kib })
}

/// The limit that a refusal says to give, in MiB.
fn stated_mib(stderr: &str) -> Option<u64> {
    let (_, rest) = stderr.split_once("give --memory ")?;
    rest.split_once("MiB")?.0.parse().ok()
}

impl Case {
    fn all() -> Vec<Case> {
        let mut all = Vec::new();
        for (program, sizes, authenticated) in SIZES {
            for protocol in PROTOCOLS {
                let sizes = match (protocol.starts_with("spdz"), &authenticated) {
                    (false, _) => &sizes[..],
                    (true, sizes) => sizes.as_slice(),
                };
                let computing = (protocol == "rep3").then_some(3);
                let case = |&size| Case { program, size, protocol, computing };
                all.extend(sizes.iter().map(case));
            }
        }
        for program in ["merge", "psi", "biometric"] {
            for protocol in ["gmw", "bmr", "arith", "mixed"] {
                all.push(Case { program, size: "n=200", protocol, computing: Some(2) });
            }
        }
        all
    }

    /// The commands that take a limit, without it; the plan is made before it is run.
    fn commands(&self, inputs: &str) -> Vec<(&'static str, String)> {
        let Case { program, size, protocol, computing } = self;
        let sized = format!("{program} --param {size} --protocol {protocol}");
        let (names, count) = match computing {
            Some(2) => (" --computing s1,s2", " --computing 2"),
            Some(_) => (" --computing s1,s2,s3", " --computing 3"),
            None => ("", ""),
        };
        let mut commands = vec![
            ("explain", format!("explain {sized}{names}")),
            ("plan", format!("plan {sized}{names} --out made.plan")),
            ("run", format!("run {sized}{count} --local{inputs}")),
            ("run PLAN", format!("run least.plan --protocol {protocol} --local{inputs}")),
        ];
        // How often blocks run is not known before, and what is in the open is not preprocessed.
        if !matches!(*protocol, "garbled" | "rep3" | "clear") && *program != "gcd" {
            commands.push(("preprocess", format!("preprocess {sized}{count} --local --out made")));
        }
        commands
    }

    /// All that is wrong with it; nothing if the protocol cannot run the program.
    fn faults(&self) -> Result<Vec<String>> {
        let place = Place::new()?;
        run(&place, &format!("data {} --param {} --out-dir in", self.program, self.size))?;
        let mut files: Vec<_> =
            std::fs::read_dir(place.file("in"))?.collect::<std::io::Result<_>>()?;
        files.sort_by_key(|file| file.file_name());
        let names = files.iter().map(|file| file.file_name().display().to_string());
        let inputs: String = names
            .map(|file| format!(" --in {}=in/{file}", file.trim_end_matches(".csv")))
            .collect();
        let commands = self.commands(&inputs);
        let explained = run(&place, &format!("{} --memory 12MiB", commands[0].1))?;
        let least = match (explained.code, stated_mib(&explained.stderr)) {
            // What a protocol does not compute at all.
            (Some(3), _) => return Ok(Vec::new()),
            (Some(6), Some(least)) => least,
            (code, _) => return Ok(vec![format!("{code:?}: {}", explained.stderr)]),
        };
        let mut faults = Vec::new();
        for (name, command) in &commands {
            let mut fault = |text: String| faults.push(format!("{name} at {least} MiB: {text}"));
            let ran = run(&place, &format!("{command} --memory {least}MiB"))?;
            if ran.code != Some(0) {
                fault(ran.stderr);
            }
            for (process, kib) in ran.peaks_kib.values().filter(|(_, kib)| *kib > least << 10) {
                fault(format!("{process} was resident with {kib} KiB"));
            }
            if *name == "plan" {
                std::fs::rename(place.file("made.plan"), place.file("least.plan"))?;
            }
            let _ = std::fs::remove_dir_all(place.file("made"));
            let ran = run(&place, &format!("{command} --memory {}MiB", least - 1))?;
            if (ran.code, stated_mib(&ran.stderr)) != (Some(6), Some(least)) {
                let code = ran.code;
                fault(format!(
                    "{} MiB are not refused with that: {code:?} {}",
                    least - 1,
                    ran.stderr
                ));
            }
            let _ = std::fs::remove_dir_all(place.file("made"));
        }
        Ok(faults)
    }
}

/// A sequence of numbers from a seed (SplitMix64).
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[test]
fn the_least_limit_works_and_holds_everywhere() -> Result {
    let stated = std::env::var("PHINEUS_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = stated.unwrap_or_else(|| RandomState::new().hash_one(0));
    let takes_all = std::env::var_os("PHINEUS_TEST_ALL").is_some();
    println!("PHINEUS_TEST_SEED={seed}");
    let (mut cases, mut numbers) = (Case::all(), seed);
    let (begin, mut faults, mut count) = (Instant::now(), Vec::new(), 0);
    while !cases.is_empty() && (takes_all || begin.elapsed() < TIME) {
        let case = cases.swap_remove((next(&mut numbers) % cases.len() as u64) as usize);
        let found = case.faults().map_err(|error| format!("{case:?}: {error}"))?;
        faults.extend(found.into_iter().map(|fault| format!("{case:?}: {fault}")));
        count += 1;
    }
    println!("{count} cases");
    assert!(faults.is_empty(), "PHINEUS_TEST_SEED={seed}\n{}", faults.join("\n"));
    Ok(())
}

/// Every built-in program is among the cases: a new one is not forgotten.
#[test]
fn every_program_has_sizes() -> Result {
    let place = Place::new()?;
    let listed: Value = serde_json::from_str(&place.run("programs --json")?.succeeded()?.stdout)?;
    for program in listed.as_array().ok_or("a list")? {
        let name = program["name"].as_str().ok_or("a name")?;
        assert!(SIZES.iter().any(|(known, ..)| *known == name), "{name} has no sizes here");
    }
    Ok(())
}

/// All pages of this program fit into the least frames there are, without the spare ones.
#[test]
fn a_program_of_few_pages_needs_no_spare_frames() -> Result {
    let case = Case { program: "ljoin", size: "n=40", protocol: "garbled", computing: None };
    assert_eq!(case.faults()?, Vec::<String>::new());
    Ok(())
}
