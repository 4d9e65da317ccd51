//! `bench oram`: accesses of memory at secret indices, and programs that consist of them.
//!
//! The measurements of Zahur et al., "Revisiting Square-Root ORAM", IEEE S&P 2016 (below: *SR*), section V: the cost of
//! an access and of the first shuffle (figures 9 and 10, which print no numbers), from how many rows on one method is
//! quicker than another (figure 8), and applications (table I). `--pictures` draws the figures. With `--grid`, how
//! good the choice of a method by predicted cost is. All runs are of two processes on this machine, over TLS; bytes
//! are those that both parties send.

mod accesses;
mod applications;
mod beside;
mod crossovers;
mod figures;
mod grid;
mod model;
mod picture;

use phineus_bytecode::MemoryMethod;
use phineus_channels::NetworkModel;
use phineus_frontend::Program;
use phineus_session::failure::{Exit, Failure};
use phineus_session::planned::PlannedFile;
use phineus_session::prediction::{predict, sent_bytes};
use phineus_session::registry::Registry;
use phineus_session::resolve::{arguments_of, trace};
use phineus_session::scratch::scratch_within;
use phineus_session::settings::{ProtocolVariant, protocols};
use phineus_session::sizing::{self, PlanParameters};

use super::{BenchTable, UNBOUNDED_BYTES, Workload, seconds};
use crate::arguments::BenchArguments;

/// Names that `--program` takes.
pub(super) const NAMES: [&str; 6] =
    ["accesses", "crossovers", "binary-search", "bfs", "gale-shapley", "scrypt"];

/// Longest predicted time of a run that is measured, unless the user states one.
const SECONDS: f64 = 5.0;

/// Measures all tables and draws the figures, or measures the grid.
pub(super) fn run(
    registry: &Registry,
    bench: &BenchArguments,
    table: &mut BenchTable<'_>,
) -> Result<(), Failure> {
    let longest_seconds = bench.seconds.unwrap_or(SECONDS);
    if longest_seconds.is_nan() || longest_seconds < 0.0 {
        return Err(Failure::usage(format!("--seconds {longest_seconds}: expected 0 or more")));
    }
    let oram = OramBench { registry, bench, longest_seconds };
    if bench.grid {
        return grid::run(&oram, table);
    }
    let wants = |name: &str| {
        bench.programs.is_empty() || bench.programs.iter().any(|wanted| wanted == name)
    };
    let is_drawn = wants("accesses") || wants("crossovers");
    if bench.pictures.is_some() && !is_drawn {
        let message =
            "--pictures draws what accesses and crossovers measure, and --program names neither";
        return Err(Failure::usage(message));
    }
    if bench.n.is_some() && bench.programs.iter().any(|name| name == "crossovers") {
        let message = "crossovers are looked for at all sizes";
        return Err(Failure::usage(message).remedy("leave --n away"));
    }
    let others = bench.beside.as_ref().map(|path| beside::read(path, &figures::NAMES));
    let others = others.transpose()?.unwrap_or_default();
    let (mut accesses, mut crossovers) = (Vec::new(), Vec::new());
    if wants("accesses") {
        accesses = accesses::run(&oram, table)?;
    }
    if wants("crossovers") && bench.n.is_none() {
        crossovers = crossovers::run(&oram, table)?;
    }
    if let Some(directory) = &bench.pictures {
        figures::write(directory, (&accesses, &crossovers), others)?;
    }
    applications::run(&oram, &wants, table)
}

/// Settings of all measurements.
struct OramBench<'a> {
    registry: &'a Registry,
    bench: &'a BenchArguments,
    longest_seconds: f64,
}

impl<'a> OramBench<'a> {
    /// A program with parameters, by the method with this name, on one machine.
    fn case(&self, program: &str, parameters: &[(&str, String)], method: &str) -> Case<'a> {
        let program = self.registry.find(program).expect("the executable has all its programs");
        let method = [("memory", method.to_owned())];
        let parameters = parameters.iter().cloned().chain(method);
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value)).collect();
        Case { program, parameters, network: None }
    }

    /// The figures of several runs, each the median of its repetitions; nothing if one is predicted to take too long.
    ///
    /// There are as many repetitions as fit into the time of one run.
    fn measured<const N: usize>(
        &self,
        cases: [(&Case<'_>, Figures); N],
    ) -> Result<Option<[Figures; N]>, Failure> {
        let longest = cases.iter().map(|(_, predicted)| predicted.seconds).fold(0.0, f64::max);
        if longest > self.longest_seconds {
            return Ok(None);
        }
        let fitting = (self.longest_seconds / longest.max(1e-3)) as usize;
        let repetitions = usize::from(self.bench.repeat).min(fitting).max(1);
        let workloads: Vec<Workload> =
            cases.iter().map(|(case, _)| case.workload()).collect::<Result<_, Failure>>()?;
        let mut times = vec![Vec::new(); N];
        let mut figures = [Figures::default(); N];
        // In turn, so that other load on the machine meets all of them.
        for _ in 0..repetitions {
            for ((workload, times), figures) in workloads.iter().zip(&mut times).zip(&mut figures) {
                let reports = workload.run(self.registry, UNBOUNDED_BYTES, false)?;
                times.push(seconds(&reports));
                let sent = reports.iter().filter_map(|report| report.measured.sent_bytes);
                figures.sent_bytes = sent.sum::<u64>() as f64;
            }
        }
        for (figures, times) in figures.iter_mut().zip(&mut times) {
            times.sort_unstable_by(f64::total_cmp);
            figures.seconds = times[(times.len() - 1) / 2];
        }
        Ok(Some(figures))
    }
}

/// A program under garbled circuits.
struct Case<'a> {
    program: &'a dyn Program,
    parameters: Vec<(String, String)>,
    /// The simulated network, as an option of `run` says it; nothing for one machine.
    network: Option<&'static str>,
}

/// Time of the slower party, and bytes that both send.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    seconds: f64,
    sent_bytes: f64,
}

impl Figures {
    /// The figures of one access, if these are of `count` accesses more than `before`.
    fn each(self, before: Figures, count: u64) -> Figures {
        let count = count as f64;
        Figures {
            seconds: (self.seconds - before.seconds) / count,
            sent_bytes: (self.sent_bytes - before.sent_bytes) / count,
        }
    }
}

impl Case<'_> {
    fn model(&self) -> Option<NetworkModel> {
        self.network.map(|text| NetworkModel::parse(text).expect("a network of the benchmark"))
    }

    fn planned(&self) -> Result<PlannedFile, Failure> {
        let scratch = scratch_within(UNBOUNDED_BYTES);
        let traced = trace(self.program, &arguments_of(self.program, &self.parameters)?, &scratch)?;
        let (limit_bytes, net) = (UNBOUNDED_BYTES, self.model());
        let terms = PlanParameters { limit_bytes, net, is_dealt: false, is_compared: true };
        let choice = (protocols::GARBLED, ProtocolVariant::default());
        sizing::planned(&traced, choice, terms, &scratch)
    }

    fn predicted(&self) -> Result<Figures, Failure> {
        Ok(self.figures_of(&self.planned()?))
    }

    fn figures_of(&self, planned: &PlannedFile) -> Figures {
        let seconds = predict(planned, self.model()).whole.running();
        Figures { seconds, sent_bytes: sent_bytes(planned).iter().sum::<u64>() as f64 }
    }

    fn workload(&self) -> Result<Workload, Failure> {
        let made = Workload::with(self.program, self.parameters.clone(), protocols::GARBLED)?;
        let simulated = self.network.map(|text| ("--simulate".to_owned(), text.to_owned()));
        Ok(Workload { options: simulated.into_iter().collect(), ..made })
    }
}

/// The reason if a program or a method is refused at this size.
fn unless_refused<T>(result: Result<T, Failure>) -> Result<Result<T, String>, Failure> {
    match result {
        Err(failure) if failure.code.exit == Exit::ProgramRefused => {
            Ok(Err(failure.message().to_owned()))
        }
        other => other.map(Ok),
    }
}

const REFUSED: &str = "refused";

/// The methods that are compared.
const METHODS: [MemoryMethod; 4] = MemoryMethod::ALL;

/// A line of a Markdown table whose columns have the widths of `heads`.
fn line<const N: usize>(heads: [&str; N], cells: [String; N]) -> String {
    let cells = heads.iter().zip(cells);
    let cells: Vec<String> =
        cells.map(|(head, cell)| format!("{cell:>width$}", width = head.chars().count())).collect();
    format!("| {} |", cells.join(" | "))
}

impl BenchTable<'_> {
    /// Prints the head of a Markdown table.
    fn head<const N: usize>(&self, title: &str, heads: [&str; N]) -> Result<(), Failure> {
        if self.console.is_json {
            return Ok(());
        }
        self.console.print(&format!("\n{title}\n"))?;
        self.console.print(&line(heads, heads.map(str::to_owned)))?;
        self.console
            .print(&line(heads, heads.map(|head| "-".repeat(head.chars().count() - 1) + ":")))
    }

    /// Adds a row, as cells and for `--json`.
    fn row<const N: usize>(
        &mut self,
        heads: [&str; N],
        cells: [String; N],
        row: serde_json::Value,
    ) -> Result<(), Failure> {
        self.rows.push(row);
        if self.console.is_json {
            return Ok(());
        }
        self.console.print(&line(heads, cells))
    }
}

/// Seconds with three digits: `1.23 ms`.
fn time(seconds: f64) -> String {
    let (scaled, unit) = match seconds.abs() {
        s if s < 1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    format!("{} {unit}", three_digits(scaled))
}

/// Bytes with three digits, in powers of 1000 as in the literature: `1.23 MB`.
fn volume(bytes: f64) -> String {
    let (scaled, unit) = match bytes.abs() {
        b if b < 1e6 => (bytes / 1e3, "kB"),
        b if b < 1e9 => (bytes / 1e6, "MB"),
        _ => (bytes / 1e9, "GB"),
    };
    format!("{} {unit}", three_digits(scaled))
}

fn three_digits(number: f64) -> String {
    match number.abs() {
        n if n < 9.995 => format!("{number:.2}"),
        n if n < 99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

/// A figure that may not be there.
fn or_dash(figure: Option<f64>, text: impl Fn(f64) -> String) -> String {
    figure.map_or("-".to_owned(), text)
}
