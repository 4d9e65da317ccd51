//! `bench shares`: whole local runs on shares, everything included from the parties' agreement on:
//! set-up, preprocessing and online phase, over TLS.

use super::{Rows, UNBOUNDED_BYTES, Workload, seconds};
use crate::arguments::{Bench, Protocol};
use crate::failure::Failure;
use crate::quantity;
use crate::registry::Registry;

/// What is run: program, parameters, protocol, memory, and what it should take at the most.
struct Line {
    program: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    protocol: Protocol,
    memory: u64,
    target: &'static str,
}

const fn line(
    program: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    protocol: Protocol,
    target: &'static str,
) -> Line {
    Line { program, parameters, protocol, memory: UNBOUNDED_BYTES, target }
}

const SUITE: [Line; 14] = [
    line("and", &[("n", "1000000")], Protocol::Gmw, "120 ms, 8 MB"),
    line("aes128", &[("n", "1")], Protocol::Gmw, "40 ms"),
    line("aes128", &[("n", "1000")], Protocol::Gmw, "600 ms"),
    line("sha256", &[("n", "1")], Protocol::Gmw, "300 ms"),
    Line { memory: 512 << 20, ..line("aes128", &[("n", "1000")], Protocol::Bmr, "8 s") },
    line("aes128", &[("n", "100"), ("parties", "3")], Protocol::Bmr, "1.5 s"),
    line(
        "intops",
        &[("op", "mul"), ("width", "32"), ("sharing", "arith")],
        Protocol::Mixed,
        "40 ms",
    ),
    line(
        "intops",
        &[("op", "mul"), ("width", "64"), ("sharing", "arith")],
        Protocol::Mixed,
        "60 ms",
    ),
    line("intops", &[("op", "div"), ("width", "32")], Protocol::Gmw, "250 ms"),
    line("intops", &[("op", "div"), ("width", "32")], Protocol::Bmr, "250 ms"),
    line("intops", &[("op", "gt"), ("width", "32")], Protocol::Gmw, ""),
    line("biometric", &[("n", "4096")], Protocol::Mixed, "0.4 s, planning included"),
    line(
        "biometric",
        &[("n", "4096"), ("parties", "3")],
        Protocol::Mixed,
        "0.9 s, planning included",
    ),
    line("sort", &[("n", "4096")], Protocol::Gmw, ""),
];

/// Runs the suite.
pub(super) fn run(registry: &Registry, bench: &Bench, table: &mut Rows<'_>) -> Result<(), Failure> {
    let wanted = |line: &&Line| {
        bench.programs.is_empty() || bench.programs.iter().any(|name| name == line.program)
    };
    for line in SUITE.iter().filter(wanted) {
        let Some(program) = registry.find(line.program) else { continue };
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let parameters: Vec<_> = line.parameters.iter().map(own).collect();
        let workload = Workload::with(program, parameters, line.protocol)?;
        let (mut times, mut planning, mut sent, mut rounds) = (Vec::new(), 0.0, 0, 0);
        let mut peak = 0;
        for _ in 0..bench.repeat {
            let reports = workload.run(registry, line.memory, false)?;
            times.push(seconds(&reports) * 1e3);
            planning = reports.iter().map(|report| report.seconds.planning).fold(0.0, f64::max);
            let measured = reports.iter().map(|report| &report.measured);
            sent = measured.clone().filter_map(|costs| costs.sent_bytes).max().unwrap_or(0);
            rounds = measured.filter_map(|costs| costs.rounds).max().unwrap_or(0);
            let peaks = reports.iter().filter_map(|report| report.memory_bytes.measured_peak);
            peak = peaks.max().unwrap_or(0);
        }
        let settings: Vec<String> =
            line.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let label = format!("{} {} {}", line.program, line.protocol.name(), settings.join(" "));
        let beside = format!(
            "{} rounds, sends {}, peak {}, planning {:.0} ms; target {}",
            quantity::count(rounds),
            quantity::bytes(sent),
            quantity::bytes(peak),
            planning * 1e3,
            if line.target.is_empty() { "-" } else { line.target }
        );
        table.add(&label, &mut times, "ms", &beside)?;
    }
    Ok(())
}
