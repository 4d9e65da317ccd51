//! `bench spdz`: runs on authenticated shares, and how fast their correlated randomness is made.
//!
//! The linear layer runs with fake preprocessing, as the literature measures it, and its online
//! phase without the sharing of inputs stands beside the whole; biometric matching makes all
//! correlated randomness in the run; `parties` is the online phase of two to six. All parties are
//! on this machine, over TLS.

use std::time::Instant;

use phineus_channels::{MemoryChannel, Parties, memory_pair};
use phineus_correlated::demand::BatchScale;
use phineus_correlated::mascot::costs::demand_costs;
use phineus_correlated::mascot::{Batch, Demand, Generator, Kind};
use phineus_correlated::semi_honest::costs::PartyPair;
use phineus_crypto::Prg;
use phineus_crypto::field::FieldName;
use phineus_crypto::field::{F32, F61, F128, Field};
use phineus_ot::{FieldBits, SessionId};
use phineus_session::failure::{Failure, codes};
use phineus_session::registry::Registry;
use phineus_session::report::RunReport;
use phineus_session::settings::{Choice, Protocol, protocols};
use phineus_tables::quantity;

use super::{BenchTable, UNBOUNDED_BYTES, Workload, seconds};
use crate::arguments::BenchArguments;

/// The three primes.
const PROTOCOLS: [Protocol; 3] = [protocols::SPDZ_32, protocols::SPDZ, protocols::SPDZ_128];

/// Sizes of the linear layer, and a sixth of the seconds that MP-SPDZ took with 2^32-5, sharing of
/// inputs left out; with 2^61-1 the target is a third.
pub(super) const LAYERS: [(u64, f64); 3] = [(1024, 0.08), (2048, 0.48), (4096, 1.3)];

/// Numbers of parties of one online phase.
const PARTIES: std::ops::RangeInclusive<u64> = 2..=6;

/// Bytes that a party of the linear layer is given.
const LAYER_MEMORY_BYTES: u64 = 1 << 30;

/// Batches of triples in one repetition.
const BATCHES: usize = 2;

/// Names that `--program` takes.
pub(super) const NAMES: [&str; 4] = ["linear-layer", "biometric", "parties", "triples"];

/// Runs everything, or the programs that the user names; `triples` is one of them.
pub(super) fn run(
    registry: &Registry,
    bench: &BenchArguments,
    table: &mut BenchTable<'_>,
) -> Result<(), Failure> {
    let wants = |name: &str| {
        bench.programs.is_empty() || bench.programs.iter().any(|wanted| wanted == name)
    };
    if wants("linear-layer") {
        for (n, target) in LAYERS {
            if bench.n.is_none_or(|only| only == n) {
                for protocol in PROTOCOLS {
                    layer(registry, bench, table, LayerCase { n, protocol, target })?;
                }
            }
        }
    }
    if wants("biometric") {
        biometric(registry, bench, table)?;
    }
    if wants("parties") {
        for parties in PARTIES {
            scaling(registry, bench, table, parties)?;
        }
    }
    if wants("triples") {
        triples::<F32>(bench, table, "16 k/s of MP-SPDZ, target 3 times that")?;
        triples::<F61>(bench, table, "")?;
        triples::<F128>(bench, table, "1.6 k/s of MP-SPDZ, target 3 times that")?;
    }
    Ok(())
}

/// One measurement of a linear layer, and the seconds that it should take.
struct LayerCase {
    n: u64,
    protocol: Protocol,
    target: f64,
}

fn layer(
    registry: &Registry,
    bench: &BenchArguments,
    table: &mut BenchTable<'_>,
    LayerCase { n, protocol, target }: LayerCase,
) -> Result<(), Failure> {
    let Some(program) = registry.find("linear-layer") else { return Ok(()) };
    let parameters = vec![("n".to_owned(), n.to_string())];
    let mut workload = Workload::with(program, parameters, protocol)?;
    workload.flags.push("--fake-preprocessing".to_owned());
    let (mut online, mut all, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.repeat {
        last = workload.run(registry, LAYER_MEMORY_BYTES, false)?;
        let slowest = |of: &dyn Fn(&RunReport) -> f64| last.iter().map(of).fold(0.0, f64::max);
        online.push(slowest(&|report| {
            let parts = report.phases.activities.unwrap_or_default();
            parts.computing + parts.checking
        }));
        all.push(slowest(&|report| report.phases.online.seconds));
    }
    let target = match protocol.field() {
        Some(FieldName::F32) => format!("target {target} s"),
        Some(FieldName::F61) => format!("target {:.2} s", 2.0 * target),
        Some(FieldName::F128) | None => "no target".to_owned(),
    };
    let name = format!("linear layer {n}, {}", protocol.name());
    table.add(&format!("{name}, inputs shared"), &mut online, "s", &target)?;
    table.add(&format!("{name}, with inputs"), &mut all, "s", &measured(&last))?;
    Ok(())
}

fn biometric(
    registry: &Registry,
    bench: &BenchArguments,
    table: &mut BenchTable<'_>,
) -> Result<(), Failure> {
    let Some(program) = registry.find("biometric") else { return Ok(()) };
    let n = bench.n.unwrap_or(1024);
    let parameters = [("n", n.to_string()), ("width", "8".to_owned())];
    let parameters = parameters.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let workload = Workload::with(program, parameters, protocols::SPDZ)?;
    let (mut times, mut last) = (Vec::new(), Vec::new());
    for _ in 0..bench.repeat {
        last = workload.run(registry, UNBOUNDED_BYTES, false)?;
        times.push(seconds(&last));
    }
    let beside = format!("{}; preprocessing in the run", measured(&last));
    table.add(&format!("biometric {n} of 8 bits, spdz"), &mut times, "s", &beside).map(drop)
}

/// Processor time of a party, and what goes over a link: neither should grow with the parties.
fn scaling(
    registry: &Registry,
    bench: &BenchArguments,
    table: &mut BenchTable<'_>,
    parties: u64,
) -> Result<(), Failure> {
    let Some(program) = registry.find("biometric") else { return Ok(()) };
    let n = bench.n.unwrap_or(240);
    let parameters = [("n", n.to_string()), ("width", "16".to_owned())];
    let parameters = parameters.into_iter().chain([("parties", parties.to_string())]);
    let parameters = parameters.map(|(name, value)| (name.to_owned(), value)).collect();
    let mut workload = Workload::with(program, parameters, protocols::SPDZ)?;
    workload.flags.push("--fake-preprocessing".to_owned());
    let cpu = || phineus_engine::children_cpu_time().unwrap_or_default().as_secs_f64();
    let (mut times, mut last) = (Vec::new(), Vec::new());
    for _ in 0..bench.repeat {
        let before = cpu();
        last = workload.run(registry, UNBOUNDED_BYTES, false)?;
        times.push((cpu() - before) / parties as f64 * 1e3);
    }
    let sent = last.iter().filter_map(|report| report.measured.sent_bytes).max();
    let link = quantity::count(sent.unwrap_or(0) / (parties - 1));
    let rounds = last.iter().filter_map(|report| report.measured.rounds).max().unwrap_or(0);
    let beside = format!("processor time of a party; {rounds} rounds, {link} bytes on a link");
    let name = format!("biometric {n}, spdz online, {parties} parties");
    table.add(&name, &mut times, "ms", &beside).map(drop)
}

/// Exact figures of runs that are the same each time.
fn measured(reports: &[RunReport]) -> String {
    let most = |of: &dyn Fn(&RunReport) -> Option<u64>| reports.iter().filter_map(of).max();
    let rounds = most(&|report| report.measured.rounds).unwrap_or(0);
    let sent = most(&|report| report.measured.sent_bytes).unwrap_or(0);
    let peak = most(&|report| report.memory_bytes.measured_peak).unwrap_or(0);
    let (sent, peak) = (quantity::bytes(sent), quantity::bytes(peak));
    format!("{rounds} rounds, sends at most {sent}, peak {peak}")
}

/// Triples per second of two parties in this process, set-up left out.
fn triples<F: Field>(
    bench: &BenchArguments,
    table: &mut BenchTable<'_>,
    beside: &str,
) -> Result<(), Failure> {
    let mut rates = Vec::new();
    let count = Kind::Triple.batch_items(BatchScale::FULL);
    for _ in 0..bench.repeat {
        let (left, right) = memory_pair();
        let other = std::thread::spawn(move || make::<F>(Parties::new(1, vec![Some(right), None])));
        let own = make::<F>(Parties::new(0, vec![None, Some(left)]))?;
        let stopped = |_| Failure::new(codes::MEASURED_PARTY_STOPPED, "a party stopped");
        other.join().map_err(stopped)??;
        rates.push((BATCHES * count) as f64 / own / 1e3);
    }
    let mut demand = Demand::default();
    demand.add(Kind::Triple, count);
    let bytes = demand_costs::<F>(&demand, FieldBits::DEFAULT, PartyPair::OF_TWO).from_lower_bytes;
    let each = bytes / count as u64;
    let beside = format!("{each} bytes in each direction; {beside}");
    table.add(&format!("MASCOT triples, {}", F::NAME), &mut rates, "k/s", &beside).map(drop)
}

fn make<F: Field>(parties: Parties<MemoryChannel>) -> Result<f64, Failure> {
    let no_randomness = |_| Failure::new(codes::NO_RANDOMNESS, "the system gives no random bytes");
    let prg = Prg::from_os().map_err(no_randomness)?;
    let session = SessionId::new([2; 32]);
    let mut generator = Generator::<F, _>::setup(parties, prg, &session, FieldBits::DEFAULT)?;
    let (count, mut batch) = (Kind::Triple.batch_items(BatchScale::FULL), Batch::empty());
    generator.make(Kind::Triple, count, &mut batch)?;
    let start = Instant::now();
    for _ in 0..BATCHES {
        generator.make(Kind::Triple, count, &mut batch)?;
    }
    Ok(start.elapsed().as_secs_f64())
}
