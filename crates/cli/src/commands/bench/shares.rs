//! `bench shares`: whole local runs on shares, everything included from the parties' agreement on:
//! set-up, preprocessing and online phase, over TLS.

use phineus_session::failure::{Exit, Failure};
use phineus_session::registry::Registry;
use phineus_session::resolve::{arguments_of, trace};
use phineus_session::scratch::scratch_within;
use phineus_session::settings::{Choice, Protocol, ProtocolVariant, protocols};
use phineus_session::sizing::{self, PlanParameters};
use phineus_tables::quantity;

use super::{BenchTable, UNBOUNDED_BYTES, Workload, seconds};
use crate::arguments::BenchArguments;

type BenchParameters = &'static [(&'static str, &'static str)];

/// One line of the benchmark: program, parameters, protocol, memory limit, expected maximum.
struct BenchCase {
    program: &'static str,
    parameters: BenchParameters,
    protocol: Protocol,
    memory: MemorySetting,
    /// Other options of `run`.
    options: BenchParameters,
    /// Parameters of what is counted off, both without what one lane takes: then only what is beyond
    /// start-up and inputs counts.
    beyond: Option<BenchParameters>,
    target: &'static str,
}

/// How much memory a line gets.
enum MemorySetting {
    Unbounded,
    Bytes(u64),
    /// A quarter of the frames that it wants.
    Quarter,
}

const fn line(
    program: &'static str,
    parameters: BenchParameters,
    protocol: Protocol,
    target: &'static str,
) -> BenchCase {
    let (memory, options) = (MemorySetting::Unbounded, &[]);
    BenchCase { program, parameters, protocol, memory, options, beyond: None, target }
}

/// `beside` on a network of two milliseconds.
const fn beside(parameters: BenchParameters, target: &'static str) -> BenchCase {
    BenchCase {
        options: &[("--simulate", "rtt=2ms")],
        ..line("beside", parameters, protocols::GMW, target)
    }
}

/// A conversion of 1000 exclusive ors of 32 bits, without what they take in the sharing `from`.
const fn conversion(
    parameters: BenchParameters,
    from: BenchParameters,
    options: BenchParameters,
) -> BenchCase {
    let line = line("intops", parameters, protocols::MIXED, "15 ms, 1 MiB");
    BenchCase { options, beyond: Some(from), ..line }
}

const BOOLEAN: BenchParameters = &[("op", "xor"), ("sharing", "gmw")];
const GARBLED: BenchParameters = &[("op", "xor"), ("sharing", "bmr")];

/// The integers of one conversion, whose start-up is not counted.
const ONE: BenchParameters = &[("lanes", "1")];

/// Names that `--program` takes.
pub(super) fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = SUITE.iter().map(|line| line.program).collect();
    names.dedup();
    names
}

const SUITE: [BenchCase; 27] = [
    line("and", &[("n", "1000000")], protocols::GMW, "120 ms, 8 MB"),
    line("aes128", &[("n", "1")], protocols::GMW, "40 ms"),
    line("aes128", &[("n", "1000")], protocols::GMW, "600 ms"),
    line("sha256", &[("n", "1")], protocols::GMW, "300 ms"),
    BenchCase {
        memory: MemorySetting::Bytes(512 << 20),
        ..line("aes128", &[("n", "1000")], protocols::BMR, "8 s")
    },
    line("aes128", &[("n", "100"), ("parties", "3")], protocols::BMR, "1.5 s"),
    line(
        "intops",
        &[("op", "mul"), ("width", "32"), ("sharing", "arith")],
        protocols::MIXED,
        "40 ms",
    ),
    line(
        "intops",
        &[("op", "mul"), ("width", "64"), ("sharing", "arith")],
        protocols::MIXED,
        "60 ms",
    ),
    line("intops", &[("op", "div"), ("width", "32")], protocols::GMW, "250 ms"),
    line("intops", &[("op", "div"), ("width", "32")], protocols::BMR, "250 ms"),
    line("intops", &[("op", "gt"), ("width", "32")], protocols::GMW, ""),
    conversion(&[("op", "b2a")], BOOLEAN, &[]),
    conversion(&[("op", "y2a")], GARBLED, &[]),
    conversion(&[("op", "y2a")], GARBLED, &[("--y2a", "masks")]),
    line("biometric", &[("n", "4096")], protocols::MIXED, "0.4 s, planning included"),
    line(
        "biometric",
        &[("n", "4096"), ("parties", "3")],
        protocols::MIXED,
        "0.9 s, planning included",
    ),
    BenchCase {
        options: &[("--broadcast", "star")],
        ..line("biometric", &[("n", "4096"), ("parties", "3")], protocols::MIXED, "")
    },
    line("sort", &[("n", "4096")], protocols::GMW, ""),
    line("merge", &[("n", "4096")], protocols::BMR, ""),
    BenchCase {
        memory: MemorySetting::Quarter,
        ..line("merge", &[("n", "4096")], protocols::BMR, "1.1 times the line before")
    },
    line("beside", &[("n", "4000"), ("part", "deep")], protocols::GMW, ""),
    line("beside", &[("n", "4000"), ("part", "wide")], protocols::GMW, ""),
    line("beside", &[("n", "4000")], protocols::GMW, "the slower of both before and 10 %"),
    // Without latency there is no waiting to fill: the cores do one part's work and the other's.
    beside(&[("n", "4000"), ("part", "deep")], ""),
    beside(&[("n", "4000"), ("part", "wide")], ""),
    beside(&[("n", "4000")], "the slower of both before and 10 %"),
    BenchCase {
        options: &[("--simulate", "rtt=40ms")],
        ..line("aes128", &[("n", "1")], protocols::GMW, "rounds x 20 ms and 15 %")
    },
];

/// Runs the suite.
pub(super) fn run(
    registry: &Registry,
    bench: &BenchArguments,
    table: &mut BenchTable<'_>,
) -> Result<(), Failure> {
    let wanted = |line: &&BenchCase| {
        bench.programs.is_empty() || bench.programs.iter().any(|name| name == line.program)
    };
    for line in SUITE.iter().filter(wanted) {
        match measure(line, registry, bench, table) {
            // What a process takes differs from build to build; the other lines fit all the same.
            Err(failure) if failure.code.exit == Exit::DoesNotFit => {
                table.skip(&label(line), &format!("left out: {}", failure.message()))?;
            }
            done => done?,
        }
    }
    Ok(())
}

/// Program, protocol, parameters and options.
fn label(line: &BenchCase) -> String {
    let settings = line.parameters.iter().map(|(name, value)| format!("{name}={value}"));
    let options = line.options.iter().map(|(name, value)| format!("{name} {value}"));
    let words: Vec<String> = settings.chain(options).collect();
    format!("{} {} {}", line.program, line.protocol.name(), words.join(" "))
}

/// Median and extremes of a line, and what it sent and took besides.
fn measure(
    line: &BenchCase,
    registry: &Registry,
    bench: &BenchArguments,
    table: &mut BenchTable<'_>,
) -> Result<(), Failure> {
    let Some(program) = registry.find(line.program) else { return Ok(()) };
    let parameters = owned(line.parameters);
    let memory = memory_of(line, program, &parameters)?;
    let workload = |settings: &[BenchParameters]| {
        let parameters = settings.iter().copied().flat_map(owned).collect();
        let made = Workload::with(program, parameters, line.protocol)?;
        Ok::<_, Failure>(Workload { options: owned(line.options), ..made })
    };
    let whole = workload(&[line.parameters])?;
    // The start-up of both is counted off, and of the rest what is not the conversion.
    let others = match line.beyond {
        Some(from) => vec![
            (-1.0, workload(&[line.parameters, ONE])?),
            (-1.0, workload(&[from])?),
            (1.0, workload(&[from, ONE])?),
        ],
        None => Vec::new(),
    };
    let (mut times, mut once) = (Vec::new(), RunMeasurements::default());
    for _ in 0..bench.repeat {
        once = RunMeasurements::of(&whole, registry, memory)?;
        for (sign, other) in &others {
            once.add(*sign, &RunMeasurements::of(other, registry, memory)?);
        }
        times.push(once.milliseconds);
    }
    let beside = format!(
        "{} rounds, sends {}{}, CPU of all {:.0} ms, peak {}, planning {:.0} ms; target {}",
        quantity::count(once.rounds),
        quantity::bytes(once.sent_bytes.max(0.0) as u64),
        if line.beyond.is_some() { " beyond start-up" } else { "" },
        once.cpu_milliseconds,
        quantity::bytes(once.peak_bytes),
        once.planning_milliseconds,
        if line.target.is_empty() { "-" } else { line.target }
    );
    table.add(&label(line), &mut times, "ms", &beside).map(drop)
}

fn owned(settings: BenchParameters) -> Vec<(String, String)> {
    settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The memory limit of a line's parties.
fn memory_of(
    line: &BenchCase,
    program: &dyn phineus_frontend::Program,
    parameters: &[(String, String)],
) -> Result<u64, Failure> {
    match line.memory {
        MemorySetting::Unbounded => Ok(UNBOUNDED_BYTES),
        MemorySetting::Bytes(bytes) => Ok(bytes),
        MemorySetting::Quarter => {
            let scratch = scratch_within(UNBOUNDED_BYTES);
            let traced = trace(program, &arguments_of(program, parameters)?, &scratch)?;
            let choice = (line.protocol, ProtocolVariant::default());
            let limit_bytes = UNBOUNDED_BYTES;
            let terms =
                PlanParameters { limit_bytes, net: None, is_dealt: false, is_compared: true };
            let planned = sizing::planned(&traced, choice, terms, &scratch)?;
            let (whole, frames) = (planned.budget.total(), planned.budget.frames);
            // Half a MiB more, as for the notes that storage keeps.
            Ok(whole - frames + frames / 4 + (1 << 19))
        }
    }
}

/// Measurements of one run.
#[derive(Default)]
struct RunMeasurements {
    milliseconds: f64,
    planning_milliseconds: f64,
    cpu_milliseconds: f64,
    sent_bytes: f64,
    rounds: u64,
    peak_bytes: u64,
}

impl RunMeasurements {
    fn of(
        workload: &Workload,
        registry: &Registry,
        memory: u64,
    ) -> Result<RunMeasurements, Failure> {
        let cpu = || phineus_engine::children_cpu_time().unwrap_or_default().as_secs_f64();
        let before = cpu();
        let reports = workload.run(registry, memory, false)?;
        let measured = reports.iter().map(|report| &report.measured);
        let sent = measured.clone().filter_map(|costs| costs.sent_bytes);
        let planning = reports.iter().map(|report| report.seconds.planning);
        let peaks = reports.iter().filter_map(|report| report.memory_bytes.measured_peak);
        Ok(RunMeasurements {
            milliseconds: seconds(&reports) * 1e3,
            planning_milliseconds: planning.fold(0.0, f64::max) * 1e3,
            cpu_milliseconds: (cpu() - before) * 1e3,
            sent_bytes: sent.max().unwrap_or(0) as f64,
            rounds: measured.filter_map(|costs| costs.rounds).max().unwrap_or(0),
            peak_bytes: peaks.max().unwrap_or(0),
        })
    }

    /// Counts what another run took besides, or off.
    fn add(&mut self, sign: f64, other: &RunMeasurements) {
        self.milliseconds += sign * other.milliseconds;
        self.cpu_milliseconds += sign * other.cpu_milliseconds;
        self.sent_bytes += sign * other.sent_bytes;
    }
}
