//! `bench shares`: whole local runs on shares, everything included from the parties' agreement on:
//! set-up, preprocessing and online phase, over TLS.

use super::{Rows, UNBOUNDED_BYTES, Workload, seconds};
use crate::arguments::{Bench, Protocol, Ways};
use crate::failure::Failure;
use crate::quantity;
use crate::registry::Registry;
use crate::resolve::{arguments_of, trace};
use crate::sizing;

type Settings = &'static [(&'static str, &'static str)];

/// What is run: program, parameters, protocol, memory, and what it should take at the most.
struct Line {
    program: &'static str,
    parameters: Settings,
    protocol: Protocol,
    memory: Memory,
    /// Other options of `run`.
    options: Settings,
    /// Whether only what is beyond the same program of one lane counts.
    beyond_start: bool,
    target: &'static str,
}

/// How much memory a line gets.
enum Memory {
    Unbounded,
    Bytes(u64),
    /// A quarter of the frames that it wants.
    Quarter,
}

const fn line(
    program: &'static str,
    parameters: Settings,
    protocol: Protocol,
    target: &'static str,
) -> Line {
    let (memory, options) = (Memory::Unbounded, &[]);
    Line { program, parameters, protocol, memory, options, beyond_start: false, target }
}

/// A conversion of 1000 integers of 32 bits.
const fn conversion(parameters: Settings, options: Settings) -> Line {
    let line = line("intops", parameters, Protocol::Mixed, "15 ms, 1 MiB");
    Line { options, beyond_start: true, ..line }
}

const SUITE: [Line; 24] = [
    line("and", &[("n", "1000000")], Protocol::Gmw, "120 ms, 8 MB"),
    line("aes128", &[("n", "1")], Protocol::Gmw, "40 ms"),
    line("aes128", &[("n", "1000")], Protocol::Gmw, "600 ms"),
    line("sha256", &[("n", "1")], Protocol::Gmw, "300 ms"),
    Line {
        memory: Memory::Bytes(512 << 20),
        ..line("aes128", &[("n", "1000")], Protocol::Bmr, "8 s")
    },
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
    conversion(&[("op", "b2a"), ("width", "32")], &[]),
    conversion(&[("op", "y2a"), ("width", "32")], &[]),
    conversion(&[("op", "y2a"), ("width", "32")], &[("--y2a", "masks")]),
    line("biometric", &[("n", "4096")], Protocol::Mixed, "0.4 s, planning included"),
    line(
        "biometric",
        &[("n", "4096"), ("parties", "3")],
        Protocol::Mixed,
        "0.9 s, planning included",
    ),
    Line {
        options: &[("--broadcast", "star")],
        ..line("biometric", &[("n", "4096"), ("parties", "3")], Protocol::Mixed, "")
    },
    line("sort", &[("n", "4096")], Protocol::Gmw, ""),
    line("sort", &[("n", "1024")], Protocol::Bmr, ""),
    Line {
        memory: Memory::Quarter,
        ..line("sort", &[("n", "1024")], Protocol::Bmr, "1.1 times the line before")
    },
    line("beside", &[("n", "4000"), ("part", "deep")], Protocol::Gmw, ""),
    line("beside", &[("n", "4000"), ("part", "wide")], Protocol::Gmw, ""),
    line("beside", &[("n", "4000")], Protocol::Gmw, "the slower of both before and 10 %"),
    Line {
        options: &[("--simulate", "rtt=40ms")],
        ..line("aes128", &[("n", "1")], Protocol::Gmw, "rounds x 20 ms and 15 %")
    },
];

/// Runs the suite.
pub(super) fn run(registry: &Registry, bench: &Bench, table: &mut Rows<'_>) -> Result<(), Failure> {
    let wanted = |line: &&Line| {
        bench.programs.is_empty() || bench.programs.iter().any(|name| name == line.program)
    };
    for line in SUITE.iter().filter(wanted) {
        measure(line, registry, bench, table)?;
    }
    Ok(())
}

/// Median and extremes of a line, and what it sent and took besides.
fn measure(
    line: &Line,
    registry: &Registry,
    bench: &Bench,
    table: &mut Rows<'_>,
) -> Result<(), Failure> {
    let Some(program) = registry.find(line.program) else { return Ok(()) };
    let parameters = owned(line.parameters);
    let memory = memory_of(line, program, &parameters)?;
    let workload = |more: Settings| {
        let parameters = parameters.iter().cloned().chain(owned(more)).collect();
        let made = Workload::with(program, parameters, line.protocol)?;
        Ok::<_, Failure>(Workload { options: owned(line.options), ..made })
    };
    let whole = workload(&[])?;
    let start = line.beyond_start.then(|| workload(&[("lanes", "1")])).transpose()?;
    let (mut times, mut once) = (Vec::new(), Figures::default());
    for _ in 0..bench.repeat {
        once = Figures::of(&whole, registry, memory)?;
        if let Some(start) = &start {
            once = once.beyond(&Figures::of(start, registry, memory)?);
        }
        times.push(once.milliseconds);
    }
    let settings = parameters.iter().map(|(name, value)| format!("{name}={value}"));
    let options = line.options.iter().map(|(name, value)| format!("{name} {value}"));
    let words: Vec<String> = settings.chain(options).collect();
    let label = format!("{} {} {}", line.program, line.protocol.name(), words.join(" "));
    let beside = format!(
        "{} rounds, sends {}{}, CPU of all {:.0} ms, peak {}, planning {:.0} ms; target {}",
        quantity::count(once.rounds),
        quantity::bytes(once.sent_bytes),
        if line.beyond_start { " beyond start-up" } else { "" },
        once.cpu_milliseconds,
        quantity::bytes(once.peak_bytes),
        once.planning_milliseconds,
        if line.target.is_empty() { "-" } else { line.target }
    );
    table.add(&label, &mut times, "ms", &beside).map(drop)
}

fn owned(settings: Settings) -> Vec<(String, String)> {
    settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The memory limit of a line's parties.
fn memory_of(
    line: &Line,
    program: &dyn phineus_frontend::Program,
    parameters: &[(String, String)],
) -> Result<u64, Failure> {
    match line.memory {
        Memory::Unbounded => Ok(UNBOUNDED_BYTES),
        Memory::Bytes(bytes) => Ok(bytes),
        Memory::Quarter => {
            let scratch = std::env::temp_dir();
            let traced = trace(program, &arguments_of(program, parameters)?, &scratch)?;
            let choice = (line.protocol, Ways::default());
            let planned = sizing::planned(&traced, choice, UNBOUNDED_BYTES, &scratch)?;
            let (whole, frames) = (planned.budget.total(), planned.budget.frames);
            Ok(whole - frames + frames / 4)
        }
    }
}

/// What one run took.
#[derive(Default)]
struct Figures {
    milliseconds: f64,
    planning_milliseconds: f64,
    cpu_milliseconds: f64,
    sent_bytes: u64,
    rounds: u64,
    peak_bytes: u64,
}

impl Figures {
    fn of(workload: &Workload, registry: &Registry, memory: u64) -> Result<Figures, Failure> {
        let cpu = || phineus_engine::children_cpu_time().unwrap_or_default().as_secs_f64();
        let before = cpu();
        let reports = workload.run(registry, memory, false)?;
        let measured = reports.iter().map(|report| &report.measured);
        let planning = reports.iter().map(|report| report.seconds.planning);
        let peaks = reports.iter().filter_map(|report| report.memory_bytes.measured_peak);
        Ok(Figures {
            milliseconds: seconds(&reports) * 1e3,
            planning_milliseconds: planning.fold(0.0, f64::max) * 1e3,
            cpu_milliseconds: (cpu() - before) * 1e3,
            sent_bytes: measured.clone().filter_map(|costs| costs.sent_bytes).max().unwrap_or(0),
            rounds: measured.filter_map(|costs| costs.rounds).max().unwrap_or(0),
            peak_bytes: peaks.max().unwrap_or(0),
        })
    }

    fn beyond(self, start: &Figures) -> Figures {
        Figures {
            milliseconds: self.milliseconds - start.milliseconds,
            cpu_milliseconds: self.cpu_milliseconds - start.cpu_milliseconds,
            sent_bytes: self.sent_bytes.saturating_sub(start.sent_bytes),
            ..self
        }
    }
}
