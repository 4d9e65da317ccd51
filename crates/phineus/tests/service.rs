//! The example `service`: sessions at once under one limit, one of them cancelled, one refused; and
//! embed, as one party of two.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use common::{Place, Result};

/// How long any line may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the example promises.
const TOTAL_BYTES: u64 = 256 << 20;

/// Lines of a process, and those that were passed on the way.
struct Lines {
    lines: Receiver<String>,
    passed: Vec<String>,
}

impl Lines {
    /// Waits for a line that begins so.
    fn wait_for(&mut self, beginning: &str) -> Result<String> {
        if let Some(line) = self.passed.iter().find(|line| line.starts_with(beginning)) {
            return Ok(line.clone());
        }
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.map_err(|_| format!("no '{beginning}' after {:?}", self.passed))?;
            self.passed.push(line.clone());
            if line.starts_with(beginning) {
                return Ok(line);
            }
        }
    }
}

#[test]
fn a_service_runs_sessions_under_one_limit() -> Result {
    let place = Place::new()?;
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_phineus"))
        .parent()
        .ok_or("it is in a directory")?
        .join("examples");
    let mut command = Command::new(directory.join("service"));
    place.settle(&mut command);
    let mut service = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut requests = service.stdin.take().ok_or("it is piped")?;
    let output = BufReader::new(service.stdout.take().ok_or("it is piped")?);
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in output.lines().map_while(std::result::Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let mut lines = Lines { lines, passed: Vec::new() };
    // Long enough to be cancelled while it computes.
    let long: Vec<String> = (0..60_000).map(|salary| salary.to_string()).collect();
    writeln!(requests, "total {} 5", long.join(","))?;
    lines.wait_for("1: has its share")?;
    for request in ["total 1000,2000 500", "total 1,2x 5", "total 7 8", "total 1,2,3 4"] {
        writeln!(requests, "{request}")?;
    }
    lines.wait_for("1: computing")?;
    writeln!(requests, "cancel 1")?;
    assert_eq!(lines.wait_for("1: failed")?, "1: failed E130 (interrupted)");
    for expected in ["2: total 3500", "4: total 15", "5: total 10"] {
        assert_eq!(lines.wait_for(expected)?, expected);
    }
    assert_eq!(lines.wait_for("3: failed")?, "3: failed E8110 (bad input)");
    let fault = lines.wait_for("3: table")?;
    assert!(
        fault.starts_with("3: table firm_a, row 2, column salary: '2x' is not a whole number"),
        "{fault}"
    );
    // The shares of all have come back: another one runs.
    writeln!(requests, "total 4 5")?;
    lines.wait_for("6: total 9")?;
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.id()))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak_kib: u64 =
        peak.ok_or("Linux says it")?.trim().trim_end_matches("kB").trim().parse()?;
    assert!(peak_kib << 10 <= TOTAL_BYTES, "{peak_kib} KiB were resident");
    drop(requests);
    assert!(service.wait()?.success());
    Ok(())
}
