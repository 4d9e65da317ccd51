//! `bench`: measures this machine, and prints the limit beside each figure.
//!
//! Every figure is the median of several repetitions, with the smallest and the largest.

mod authenticated;
pub(crate) mod measured;
mod oram;
mod shares;
mod workload;

use std::time::Instant;

use phineus_channels::memory_pair;
use phineus_crypto::measure::{self, GarblingRole};
use phineus_crypto::{Block, Delta, Kernel, Prg};
use phineus_frontend::Program;
use phineus_ot::{
    CorrelatedOtReceiver, CorrelatedOtSender, FieldBits, SessionId, SoftSpokenReceiver,
    SoftSpokenSender, extension_bytes,
};
use phineus_protocols::garbled::totals;
use phineus_session::failure::{Exit, Failure, codes};
use phineus_session::planned::PlannedFile;
use phineus_session::registry::Registry;
use phineus_session::report::RunReport;
use phineus_session::resolve::{arguments_of, trace};
use phineus_session::scratch::scratch_within;
use phineus_session::settings::{ProtocolVariant, protocols};
use phineus_session::sizing::{self, PlanParameters};
use phineus_tables::quantity;
use serde_json::{Value, json};

use crate::arguments::{BenchArguments, BenchSubject};
use crate::output::Console;

use workload::Workload;

/// The suite, each of a size that takes a few seconds on two cores.
const SUITE: [(&str, u64); 7] = [
    ("merge", 50_000),
    ("sort", 4_096),
    ("ljoin", 300),
    ("mvmul", 600),
    ("binfclayer", 4_000),
    ("aes128", 4_096),
    ("sha256", 512),
];

/// Memory at which nothing is swapped.
const UNBOUNDED_BYTES: u64 = 16 << 30;

/// OTs of one repetition.
const OT_COUNT: usize = 1 << 20;

/// Measures what the user asks for.
pub(crate) fn run(
    registry: &Registry,
    bench: &BenchArguments,
    console: &Console,
) -> Result<(), Failure> {
    check_choice(bench)?;
    let mut table = BenchTable { console, rows: Vec::new() };
    match bench.what {
        BenchSubject::Garble => gates(GarblingRole::Garble, bench, &mut table)?,
        BenchSubject::Evaluate => gates(GarblingRole::Evaluate, bench, &mut table)?,
        BenchSubject::Ot => transfers(bench, &mut table)?,
        BenchSubject::Plan => planning(registry, bench, &mut table)?,
        BenchSubject::Kernels => kernels(registry, bench, &mut table)?,
        BenchSubject::Paging => paging(registry, bench, &mut table)?,
        BenchSubject::Shares => shares::run(registry, bench, &mut table)?,
        BenchSubject::Spdz => authenticated::run(registry, bench, &mut table)?,
        BenchSubject::Oram => oram::run(registry, bench, &mut table)?,
    }
    if console.is_json {
        console.document(Value::Array(table.rows));
    }
    Ok(())
}

/// Refuses what a subject would not look at.
fn check_choice(bench: &BenchArguments) -> Result<(), Failure> {
    let is_of_oram = bench.grid || bench.seconds.is_some() || bench.pictures.is_some();
    if bench.what != BenchSubject::Oram && is_of_oram {
        let message = "--seconds, --grid and --pictures are options of `bench oram`";
        return Err(Failure::usage(message));
    }
    let known = match bench.what {
        BenchSubject::Plan | BenchSubject::Kernels | BenchSubject::Paging => return Ok(()),
        BenchSubject::Garble | BenchSubject::Evaluate | BenchSubject::Ot => Vec::new(),
        BenchSubject::Shares => shares::names(),
        BenchSubject::Spdz => authenticated::NAMES.to_vec(),
        BenchSubject::Oram => oram::NAMES.to_vec(),
    };
    let unknown = bench.programs.iter().find(|name| !known.contains(&name.as_str()));
    if let Some(name) = unknown {
        let failure = Failure::usage(format!("nothing of '{name}' is measured here"));
        return Err(match known.as_slice() {
            [] => failure.remedy("leave --program away"),
            known => failure.remedy(format!("--program is one of {}", known.join(", "))),
        });
    }
    let layers = authenticated::LAYERS.map(|(n, _)| n);
    match (bench.n, bench.what) {
        (Some(n), BenchSubject::Spdz) if !layers.contains(&n) => {
            let [a, b, c] = layers;
            Err(Failure::usage(format!("--n {n}: the linear layer is measured for {a}, {b}, {c}")))
        }
        (None, _) | (_, BenchSubject::Spdz | BenchSubject::Oram) => Ok(()),
        _ => {
            Err(Failure::usage("the sizes of what is measured here are fixed")
                .remedy("leave --n away"))
        }
    }
}

/// Figures as lines or as one array.
struct BenchTable<'a> {
    console: &'a Console,
    rows: Vec<Value>,
}

impl BenchTable<'_> {
    /// Adds the median of `values`, and what it is to be compared with.
    fn add(
        &mut self,
        name: &str,
        values: &mut [f64],
        unit: &str,
        beside: &str,
    ) -> Result<f64, Failure> {
        values.sort_unstable_by(f64::total_cmp);
        let (least, most) = (values[0], values[values.len() - 1]);
        let median = values[values.len() / 2];
        self.rows.push(json!({
            "name": name,
            "median": median,
            "least": least,
            "most": most,
            "repetitions": values.len(),
            "unit": unit,
            "beside": beside,
        }));
        if !self.console.is_json {
            self.console.print(&format!(
                "{name:<34} {median:10.2} {unit:<14} ({least:.2} to {most:.2})  {beside}"
            ))?;
        }
        Ok(median)
    }

    /// Says why a figure is not there.
    fn skip(&mut self, name: &str, why: &str) -> Result<(), Failure> {
        self.rows.push(json!({ "name": name, "why": why }));
        if !self.console.is_json {
            self.console.print(&format!("{name:<34} {why}"))?;
        }
        Ok(())
    }
}

fn gates(
    side: GarblingRole,
    bench: &BenchArguments,
    table: &mut BenchTable<'_>,
) -> Result<(), Failure> {
    let repeat = usize::from(bench.repeat);
    for kernel in Kernel::supported() {
        // The hash of a gate is re-keyed: 4 (evaluating: 2) encryptions and as many key schedules.
        let bytes = measure::generator(kernel, 5).median;
        let hashes = if side == GarblingRole::Garble { 4.0 } else { 2.0 };
        let limit = bytes / 16.0 / hashes / 1e6;
        let beside = format!("{limit:.0} if keys were free");
        for batch in [32, 4096] {
            let mut rates: Vec<f64> = (0..repeat)
                .map(|_| measure::independent_gates(kernel, side, batch, batch, 3).median / 1e6)
                .collect();
            let name = format!("{} independent, {batch} at once", kernel.name());
            table.add(&name, &mut rates, "M AND/s", &beside)?;
        }
        let mut rates: Vec<f64> = (0..repeat)
            .map(|_| measure::dependent_gates(kernel, side, 1, 3).median / 1e6)
            .collect();
        table.add(
            &format!("{} chain of single gates", kernel.name()),
            &mut rates,
            "M AND/s",
            "",
        )?;
        for lanes in [1, 4] {
            let mut rates: Vec<f64> = (0..repeat)
                .map(|_| measure::chained_gates(kernel, side, lanes, 3).median / 1e6)
                .collect();
            let name = format!("{} 32-bit adders, lanes: {lanes}", kernel.name());
            table.add(&name, &mut rates, "M AND/s", "one waits for the other")?;
        }
    }
    Ok(())
}

fn transfers(bench: &BenchArguments, table: &mut BenchTable<'_>) -> Result<(), Failure> {
    let field = FieldBits::DEFAULT;
    let bits = 8.0 * extension_bytes(OT_COUNT as u64, field) as f64 / OT_COUNT as f64;
    let mut rates = Vec::new();
    for _ in 0..bench.repeat {
        rates.push(OT_COUNT as f64 / extend_once(field)? / 1e6);
    }
    let beside = format!("{bits:.1} bits per OT; both parties on one core each");
    table.add("correlated OT, semi-honest", &mut rates, "M OT/s", &beside).map(drop)
}

/// Seconds for one batch, both parties at work, without the set-up.
fn extend_once(field: FieldBits) -> Result<f64, Failure> {
    let session = SessionId::new([1; 32]);
    let (mut left, mut right) = memory_pair();
    let no_randomness = |_| Failure::new(codes::NO_RANDOMNESS, "the system gives no random bytes");
    let mut receiver_prg = Prg::from_os().map_err(no_randomness)?;
    let mut sender_prg = Prg::from_os().map_err(no_randomness)?;
    let sender_session = session.clone();
    let sender = std::thread::spawn(move || -> Result<(), Failure> {
        let delta = Delta::random(&mut sender_prg);
        let (session, prg) = (&sender_session, &mut sender_prg);
        let mut sender = SoftSpokenSender::setup(&mut left, prg, session, field, delta)?;
        let mut labels = vec![Block::ZERO; OT_COUNT];
        Ok(sender.extend(&mut left, &mut labels)?)
    });
    let mut receiver = SoftSpokenReceiver::setup(&mut right, &mut receiver_prg, &session, field)?;
    let choices = vec![0x5555_5555_5555_5555_u64; OT_COUNT.div_ceil(64)];
    let mut labels = vec![Block::ZERO; OT_COUNT];
    let start = Instant::now();
    receiver.extend(&mut right, &choices, &mut labels)?;
    sender
        .join()
        .map_err(|_| Failure::new(codes::MEASURED_PARTY_STOPPED, "the sender stopped"))??;
    Ok(start.elapsed().as_secs_f64())
}

/// The programs to measure and their sizes.
fn chosen<'a>(
    registry: &'a Registry,
    bench: &BenchArguments,
) -> Result<Vec<(&'a dyn Program, u64)>, Failure> {
    let size = |name: &str| {
        let suite = SUITE.iter().find(|(known, _)| *known == name);
        bench.n.unwrap_or_else(|| suite.map_or(1000, |(_, n)| *n))
    };
    let names: Vec<String> = match bench.programs.as_slice() {
        [] => SUITE.iter().map(|(name, _)| (*name).to_owned()).collect(),
        given => given.to_vec(),
    };
    let find = |name: &String| {
        let program = registry.find(name).ok_or_else(|| {
            Failure::usage(format!("there is no program '{name}'"))
                .remedy("`phineus programs` lists the names")
        })?;
        Ok((program, size(name)))
    };
    names.iter().map(find).collect()
}

/// Parameter `n`, if the program has it.
fn sized(program: &dyn Program, n: u64) -> Vec<(String, String)> {
    let has_size = program.parameters().iter().any(|parameter| parameter.name == "n");
    if has_size { vec![("n".to_owned(), n.to_string())] } else { Vec::new() }
}

/// The size of a program in words.
fn size_text(program: &dyn Program, n: u64) -> String {
    sized(program, n).first().map_or_else(|| "one size".to_owned(), |(_, n)| format!("n={n}"))
}

fn planned(program: &dyn Program, n: u64, limit: u64) -> Result<(PlannedFile, f64), Failure> {
    let scratch = scratch_within(limit);
    let arguments = arguments_of(program, &sized(program, n))?;
    let start = Instant::now();
    let traced = trace(program, &arguments, &scratch)?;
    let tracing = start.elapsed().as_secs_f64();
    let choice = (protocols::GARBLED, ProtocolVariant::default());
    let terms =
        PlanParameters { limit_bytes: limit, net: None, is_dealt: false, is_compared: false };
    Ok((sizing::planned(&traced, choice, terms, &scratch)?, tracing))
}

fn planning(
    registry: &Registry,
    bench: &BenchArguments,
    table: &mut BenchTable<'_>,
) -> Result<(), Failure> {
    for (program, n) in chosen(registry, bench)? {
        let (mut instructions, mut gates, mut tracing) = (Vec::new(), Vec::new(), Vec::new());
        let (whole, _) = planned(program, n, UNBOUNDED_BYTES)?;
        // A quarter of what it wants, so that pages move.
        let wanted = whole.budget.frames / 4 + (whole.budget.total() - whole.budget.frames);
        let limit = wanted.max(32 << 20);
        let mut bytes_each = 0.0;
        for _ in 0..bench.repeat {
            let (file, seconds) = planned(program, n, limit)?;
            let plan = file.plan();
            let count = plan.instruction_count as f64;
            let ands = totals::value(&file.description, totals::AND_GATES) as f64;
            let time = file.planning.as_secs_f64();
            instructions.push(count / time / 1e6);
            gates.push(ands / time / 1e6);
            tracing.push(count / seconds / 1e6);
            bytes_each = file.file.length_bytes()? as f64 / count;
        }
        let name = program.name();
        let size = size_text(program, n);
        let beside = format!("{size}, {bytes_each:.2} bytes per instruction");
        table.add(&format!("{name} plan"), &mut instructions, "M instr/s", &beside)?;
        table.add(&format!("{name} plan"), &mut gates, "M AND/s", "target 500")?;
        table.add(&format!("{name} trace"), &mut tracing, "M instr/s", "")?;
    }
    Ok(())
}

/// The slower party's seconds.
fn seconds(reports: &[RunReport]) -> f64 {
    reports.iter().map(|report| report.seconds.running).fold(0.0, f64::max)
}

fn kernels(
    registry: &Registry,
    bench: &BenchArguments,
    table: &mut BenchTable<'_>,
) -> Result<(), Failure> {
    for (program, n) in chosen(registry, bench)? {
        let workload = Workload::new(program, n)?;
        let mut medians = Vec::new();
        for (name, plain) in [("plain TCP", true), ("TLS", false)] {
            let (mut per_gate, mut gates) = (Vec::new(), 0);
            for _ in 0..bench.repeat {
                let reports = workload.run(registry, UNBOUNDED_BYTES, plain)?;
                gates = reports[0].measured.and_gates.unwrap_or(1).max(1);
                per_gate.push(seconds(&reports) * 1e9 / gates as f64);
            }
            let mut rates: Vec<f64> = per_gate.iter().map(|ns| 1e3 / ns).collect();
            let beside = format!("{}, {} ANDs", size_text(program, n), quantity::count(gates));
            let label = format!("{} over {name}", program.name());
            let median = table.add(&label, &mut per_gate, "ns per AND", &beside)?;
            table.add(&label, &mut rates, "M AND/s", "")?;
            medians.push(median);
        }
        if let [plain, tls] = medians[..] {
            let text = format!(
                "{} with TLS is {:.0} % slower (target: at most 40 %)",
                program.name(),
                100.0 * (tls / plain - 1.0)
            );
            table.console.say(&text);
        }
    }
    Ok(())
}

fn paging(
    registry: &Registry,
    bench: &BenchArguments,
    table: &mut BenchTable<'_>,
) -> Result<(), Failure> {
    for (program, n) in chosen(registry, bench)? {
        let workload = Workload::new(program, n)?;
        let (whole, _) = planned(program, n, UNBOUNDED_BYTES)?;
        let fixed = whole.budget.total() - whole.budget.frames;
        let mut unbounded = 0.0;
        for part in [1, 4, 20] {
            // Half a MiB more than the share, as nothing works without a few frames.
            let memory = match part {
                1 => UNBOUNDED_BYTES,
                _ => fixed + whole.budget.frames / part + (1 << 19),
            };
            let name = format!("{} with 1/{part} of its frames", program.name());
            let (mut times, mut blocked, mut pages) = (Vec::new(), 0.0, 0);
            let mut refused = None;
            for _ in 0..bench.repeat {
                let reports = match workload.run(registry, memory, false) {
                    Err(failure) if failure.code.exit == Exit::DoesNotFit => {
                        refused = Some(failure);
                        break;
                    }
                    reports => reports?,
                };
                times.push(seconds(&reports));
                let storage = reports.iter().map(|report| report.seconds.blocked_on_storage);
                blocked = storage.fold(0.0, f64::max);
                let measured = &reports[0].measured;
                pages = measured.swap_in_pages + measured.swap_out_pages;
            }
            if let Some(failure) = refused {
                let wanted = quantity::bytes(whole.budget.frames);
                let more = if sized(program, n).is_empty() { "" } else { ": give more --n" };
                let why = format!("its frames are {wanted}{more} ({})", failure.message());
                table.skip(&name, &why)?;
                continue;
            }
            let rate = pages as f64 * 65536.0 / blocked.max(1e-9);
            let beside = format!(
                "{} of memory, {} pages moved, {blocked:.2} s waiting for storage ({}/s)",
                quantity::bytes(memory),
                quantity::count(pages),
                quantity::bytes(if blocked > 0.0 { rate as u64 } else { 0 })
            );
            let median = table.add(&name, &mut times, "s", &beside)?;
            if part == 1 {
                unbounded = median;
            } else {
                table.console.say(&format!("  {:.2} times the unbounded time", median / unbounded));
            }
        }
    }
    Ok(())
}
