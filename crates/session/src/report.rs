//! `run.json`: predicted and measured costs of a run, side by side.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use phineus_bytecode::Description;
use phineus_channels::NetworkModel;
use phineus_protocols::bmr::costs::totals::{GARBLING_OTS, Y_AND_GATES};
use phineus_protocols::garbled::totals;
use phineus_protocols::mixed;
use phineus_tables::quantity;
use serde::{Deserialize, Serialize};

use crate::client::{ClientPass, ClientRun};
use crate::distance;
use crate::execute::RunResult;
use crate::failure::{Failure, codes};
use crate::leftovers::Leftovers;
use crate::output_file::write_atomically;
use crate::planned::PlannedFile;
use crate::prediction::{SetupTimes, garbling_traffic, predict, preprocessing_bytes};
use crate::settings::PreprocessingMode;
use crate::statistics::{OverlayFigures, Phases};
use crate::traced::without_openings;

/// Name of a run whose correlated randomness was made before.
pub const STORED: &str = "stored";

/// Figures that a plan states exactly, as predicted or as measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCosts {
    pub and_gates: Option<u64>,
    /// AND gates on garbled values, where parties compute on shares.
    #[serde(default)]
    pub garbled_and_gates: Option<u64>,
    pub oblivious_transfers: Option<u64>,
    pub rounds: Option<u64>,
    pub sent_bytes: Option<u64>,
    pub received_bytes: Option<u64>,
    pub swap_in_pages: u64,
    pub swap_out_pages: u64,
    /// Cycles of the overlay, where it garbles.
    #[serde(default)]
    pub overlay_cycles: Option<u64>,
}

impl RunCosts {
    /// Costs that the plan states for `party`, without those of stored preprocessing, which was
    /// made before.
    fn predicted(planned: &PlannedFile, party: u16, preprocessing: Option<&str>) -> RunCosts {
        let is_stored = preprocessing == Some(STORED);
        let plan = planned.plan();
        let total = |name: &str| plan.costs.get(name).copied();
        // All that others send goes to this one of two; of more, the plan states what comes in.
        let sent = |party: usize| total(&mixed::totals::sent_bytes(party));
        let others = |me: usize| match total(&mixed::totals::received_bytes(me)) {
            None => sent(1 - me.min(1)),
            received => received,
        };
        let party = usize::from(party);
        // What is measured is the mean over all others.
        let links = (planned.computing - 1).max(1) as u64;
        let of_party = total(&mixed::totals::party_ots(party)).map(|ots| ots / links);
        let garbled = total(totals::EVALUATOR_INPUT_BITS).map(|ots| {
            let of_rows = [totals::LABELLED_SHARE_BITS, totals::GARBLER_SWITCHES];
            ots + of_rows.into_iter().filter_map(total).sum::<u64>()
        });
        let ots = garbled.or(of_party).or(total(mixed::totals::OTS));
        let ots = ots.map(|ots| ots + total(GARBLING_OTS).unwrap_or(0));
        let ots = if is_stored { ots.and(Some(0)) } else { ots };
        // Of half gates nothing is stored.
        let entering = total(mixed::totals::ENTERING_OTS).unwrap_or(0);
        let ots = ots.map(|ots| ots + entering);
        let saved = if is_stored { preprocessing_bytes(planned)[party] } else { (0, 0) };
        // Who has stored triples has stored garbled tables, too.
        let tables = if is_stored { garbling_traffic(planned, party) } else { (0, 0) };
        let saved = (saved.0 + tables.0, saved.1 + tables.1);
        let links = if is_stored { planned.computing - 1 } else { 0 };
        let compared = PAIRING_BYTES * links as u64;
        RunCosts {
            and_gates: total(totals::AND_GATES),
            garbled_and_gates: total(Y_AND_GATES),
            oblivious_transfers: ots,
            rounds: total(totals::ROUNDS),
            sent_bytes: sent(party).map(|bytes| bytes - saved.0 + compared),
            received_bytes: others(party).map(|bytes| bytes - saved.1 + compared),
            swap_in_pages: plan.swap_in_count,
            swap_out_pages: plan.swap_out_count,
            overlay_cycles: None,
        }
    }

    /// Measured costs; those that nobody counts are missing.
    fn measured(executed: &RunResult) -> RunCosts {
        let is_networked = executed.rounds.is_some();
        let bytes = |bytes: u64| is_networked.then_some(bytes);
        RunCosts {
            and_gates: executed.and_gates,
            garbled_and_gates: executed.garbled_and_gates,
            oblivious_transfers: executed.ots,
            rounds: executed.rounds,
            sent_bytes: bytes(executed.traffic.sent_bytes),
            received_bytes: bytes(executed.traffic.received_bytes),
            swap_in_pages: executed.storage.pages_in,
            swap_out_pages: executed.storage.pages_out,
            overlay_cycles: executed.overlay.as_ref().map(|overlay| overlay.cycles),
        }
    }

    /// Names of the figures that were counted and are not as predicted.
    fn deviations(&self, measured: &RunCosts) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |name: &str, predicted: Option<u64>, measured: Option<u64>| {
            if let (Some(predicted), Some(measured)) = (predicted, measured)
                && predicted != measured
            {
                found.push(format!("{name}: predicted {predicted}, measured {measured}"));
            }
        };
        compare("oblivious_transfers", self.oblivious_transfers, measured.oblivious_transfers);
        compare("rounds", self.rounds, measured.rounds);
        compare("and_gates", self.and_gates, measured.and_gates);
        compare("garbled_and_gates", self.garbled_and_gates, measured.garbled_and_gates);
        compare("sent_bytes", self.sent_bytes, measured.sent_bytes);
        compare("received_bytes", self.received_bytes, measured.received_bytes);
        compare("overlay_cycles", self.overlay_cycles, measured.overlay_cycles);
        compare("swap_in_pages", Some(self.swap_in_pages), Some(measured.swap_in_pages));
        compare("swap_out_pages", Some(self.swap_out_pages), Some(measured.swap_out_pages));
        found
    }
}

/// Bytes that parties with stored correlated randomness send each other to compare its origin.
const PAIRING_BYTES: u64 = 32;

/// Memory in bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MemoryFigures {
    pub limit: u64,
    pub predicted_peak: u64,
    pub measured_peak: Option<u64>,
    pub frames: u64,
    pub process: u64,
}

/// Times in seconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunTimes {
    pub planning: f64,
    /// Of running, on the network that was stated or simulated.
    pub predicted: Option<f64>,
    pub running: f64,
    pub blocked_on_storage: f64,
    pub blocked_on_network: f64,
    pub encrypting_pages: f64,
}

/// Report of one party's run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunReport {
    pub phineus: String,
    pub program: String,
    pub parameters: BTreeMap<String, String>,
    pub protocol: String,
    /// When triples were made; nothing for protocols that need none.
    #[serde(default)]
    pub preprocessing: Option<String>,
    /// Upper bound on the statistical distance from an ideal run, on authenticated shares.
    #[serde(default)]
    pub statistical_distance: serde_json::Value,
    pub party: String,
    pub program_hash: String,
    pub plan_hash: String,
    pub kernel: String,
    pub storage: String,
    pub page_bytes: u64,
    /// Pages of regions that were paged on demand.
    #[serde(default)]
    pub region_pages_in: u64,
    #[serde(default)]
    pub region_pages_out: u64,
    pub instructions: u64,
    pub wire_bytes_sent: u64,
    pub wire_bytes_received: u64,
    pub predicted: RunCosts,
    pub measured: RunCosts,
    pub memory_bytes: MemoryFigures,
    pub seconds: RunTimes,
    pub phases: Phases,
    /// The overlay, where it garbled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<OverlayFigures>,
    /// Exchanges between the parties before the run and after it, as counted.
    #[serde(default)]
    pub starting: SetupTimes,
    pub deviations: Vec<String>,
    /// Who learned what, and where it went here.
    pub outputs: Vec<OutputReport>,
    pub notes: Vec<String>,
}

/// One output.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OutputReport {
    pub name: String,
    pub parties: Vec<String>,
    pub rows: u64,
    pub columns: Vec<String>,
    /// The file it was written to; nothing for stdout or if this party does not learn it.
    pub file: Option<String>,
}

impl RunReport {
    pub fn new(
        planned: &PlannedFile,
        party: u16,
        (protocol, preprocessing): (&str, Option<&str>),
        (limit_bytes, net): (u64, Option<NetworkModel>),
        executed: &RunResult,
    ) -> RunReport {
        let (plan, description) = (planned.plan(), &planned.description);
        let predicted = RunCosts {
            overlay_cycles: executed.overlay.as_ref().map(|overlay| overlay.predicted_cycles),
            ..RunCosts::predicted(planned, party, preprocessing)
        };
        let measured = RunCosts::measured(executed);
        let deviations = predicted.deviations(&measured);
        let storage = &executed.storage;
        let blocked = storage.blocked_in + storage.blocked_out + storage.blocked_issue;
        let seconds = |duration: Duration| duration.as_secs_f64();
        RunReport {
            phineus: env!("CARGO_PKG_VERSION").to_owned(),
            program: description.name.clone(),
            parameters: description.parameters.clone(),
            protocol: protocol.to_owned(),
            preprocessing: preprocessing.map(str::to_owned),
            statistical_distance: match preprocessing == Some(PreprocessingMode::Fake.name()) {
                true => serde_json::Value::Null,
                false => distance::distance_json(planned, true),
            },
            party: match executed.rounds {
                Some(_) => description.parties[usize::from(party)].clone(),
                None => "all".to_owned(),
            },
            program_hash: plan.program_hash.clone(),
            plan_hash: planned.hash.to_string(),
            kernel: phineus_crypto::kernel_name().to_owned(),
            storage: executed.storage_name.to_owned(),
            page_bytes: plan.page_bytes(),
            region_pages_in: executed.regions.pages_in,
            region_pages_out: executed.regions.pages_out,
            instructions: plan.instruction_count,
            wire_bytes_sent: executed.wire_traffic.sent_bytes,
            wire_bytes_received: executed.wire_traffic.received_bytes,
            memory_bytes: MemoryFigures {
                limit: limit_bytes,
                predicted_peak: planned.budget.total(),
                measured_peak: phineus_engine::peak_resident_bytes(),
                frames: planned.budget.frames,
                process: planned.budget.process,
            },
            seconds: RunTimes {
                planning: seconds(planned.planning),
                predicted: Some(predict(planned, net).whole.running()),
                running: seconds(executed.running),
                blocked_on_storage: seconds(blocked),
                blocked_on_network: seconds(executed.blocked_on_network),
                encrypting_pages: seconds(storage.cipher),
            },
            phases: executed.phases.clone(),
            starting: SetupTimes { exchanges: executed.exchanges, ..SetupTimes::of(plan) },
            outputs: outputs(description),
            notes: notes(executed),
            overlay: executed.overlay.clone(),
            predicted,
            measured,
            deviations,
        }
    }

    /// Of a client, which shares inputs and learns outputs.
    pub fn of_client(
        walk: &ClientPass,
        party: u16,
        protocol: &str,
        limit_bytes: u64,
        ran: &ClientRun,
    ) -> RunReport {
        let description = &walk.program.description;
        let total = |name: String| walk.costs.get(&name).copied();
        let place = usize::from(party);
        let predicted = RunCosts {
            sent_bytes: total(mixed::totals::sent_bytes(place)),
            received_bytes: total(mixed::totals::received_bytes(place)),
            ..RunCosts::default()
        };
        let measured = RunCosts {
            sent_bytes: Some(ran.traffic.sent_bytes),
            received_bytes: Some(ran.traffic.received_bytes),
            ..RunCosts::default()
        };
        RunReport {
            phineus: env!("CARGO_PKG_VERSION").to_owned(),
            program: description.name.clone(),
            parameters: description.parameters.clone(),
            protocol: protocol.to_owned(),
            party: description.parties[place].clone(),
            program_hash: walk.program.hash.to_string(),
            kernel: phineus_crypto::kernel_name().to_owned(),
            storage: "none".to_owned(),
            wire_bytes_sent: ran.wire_traffic.sent_bytes,
            wire_bytes_received: ran.wire_traffic.received_bytes,
            memory_bytes: MemoryFigures {
                limit: limit_bytes,
                predicted_peak: walk.peak_bytes,
                measured_peak: phineus_engine::peak_resident_bytes(),
                frames: 0,
                process: walk.process_bytes,
            },
            seconds: RunTimes {
                planning: walk.ordering.as_secs_f64(),
                running: ran.phase.seconds,
                blocked_on_network: ran.blocked_on_network.as_secs_f64(),
                ..RunTimes::default()
            },
            phases: Phases { online: ran.phase, ..Phases::default() },
            outputs: outputs(&without_openings(description)),
            notes: ran.farewell.iter().cloned().collect(),
            deviations: predicted.deviations(&measured),
            predicted,
            measured,
            ..RunReport::default()
        }
    }

    /// Returns an error if measured figures deviate from the plan or the memory limit was exceeded.
    pub fn verdict(&self) -> Result<(), Failure> {
        let mut faults = self.deviations.clone();
        if let Some(peak) = self.memory_bytes.measured_peak
            && peak > self.memory_bytes.limit
        {
            let (peak, limit) = (quantity::bytes(peak), quantity::bytes(self.memory_bytes.limit));
            faults.push(format!("{peak} of memory were resident, the limit is {limit}"));
        }
        if faults.is_empty() {
            return Ok(());
        }
        let faults = faults.join("\n");
        let message = format!("the run did not keep what its plan promised:\n{faults}");
        Err(Failure::new(codes::PLAN_NOT_KEPT, message)
            .remedy("the results are written; this is a bug in Phineus, please report it"))
    }

    /// The summary that every run prints.
    pub fn summary(&self) -> Vec<String> {
        let mut lines = vec![format!("{:<18} {:>16} {:>16}", self.party, "predicted", "measured")];
        let mut line = |name: &str, predicted: Option<String>, measured: Option<String>| {
            let (predicted, measured) =
                (predicted.unwrap_or_default(), measured.unwrap_or_default());
            lines.push(format!("  {name:<16} {predicted:>16} {measured:>16}"));
        };
        let (p, m) = (&self.predicted, &self.measured);
        let count = |count: Option<u64>| count.map(quantity::count);
        let bytes = |bytes: Option<u64>| bytes.map(quantity::bytes);
        if p.and_gates.is_some() {
            line("AND gates", count(p.and_gates), count(m.and_gates));
            if p.garbled_and_gates.is_some_and(|gates| gates > 0) {
                line("garbled ANDs", count(p.garbled_and_gates), count(m.garbled_and_gates));
            }
            line("OTs", count(p.oblivious_transfers), count(m.oblivious_transfers));
        }
        if m.rounds.is_some() {
            line("rounds", count(p.rounds), count(m.rounds));
        }
        if p.sent_bytes.is_some() {
            line("sent", bytes(p.sent_bytes), bytes(m.sent_bytes));
            line("received", bytes(p.received_bytes), bytes(m.received_bytes));
        }
        if p.overlay_cycles.is_some() {
            line("overlay cycles", count(p.overlay_cycles), count(m.overlay_cycles));
        }
        let swapped = |costs: &RunCosts| {
            Some(format!(
                "{} + {}",
                quantity::count(costs.swap_in_pages),
                quantity::count(costs.swap_out_pages)
            ))
        };
        line("pages in + out", swapped(p), swapped(m));
        let memory = &self.memory_bytes;
        line(
            "peak memory",
            Some(quantity::bytes(memory.predicted_peak)),
            memory.measured_peak.map(quantity::bytes),
        );
        line("memory limit", Some(quantity::bytes(memory.limit)), None);
        let time = |seconds: f64| quantity::duration(Duration::from_secs_f64(seconds));
        let times = &self.seconds;
        line("planning", None, Some(time(times.planning)));
        line("run", times.predicted.map(time), Some(time(times.running)));
        line("  of it storage", None, Some(time(times.blocked_on_storage)));
        line("  of it network", None, Some(time(times.blocked_on_network)));
        lines
    }
}

impl RunReport {
    /// Figures of each phase; empty if nothing was sent.
    pub fn details(&self) -> Vec<String> {
        match self.measured.sent_bytes {
            Some(_) => self.phases.lines(self.measured.oblivious_transfers),
            None => Vec::new(),
        }
    }
}

/// What its user should know of a run.
fn notes(executed: &RunResult) -> Vec<String> {
    let garbled = executed.overlay.as_ref().map(OverlayFigures::sentence);
    garbled.into_iter().chain(executed.farewell.clone()).collect()
}

/// Who learns what.
pub fn outputs(description: &Description) -> Vec<OutputReport> {
    let name = |&party: &u16| description.parties[usize::from(party)].clone();
    description
        .outputs
        .iter()
        .map(|port| OutputReport {
            name: port.name.clone(),
            parties: port.parties.iter().map(name).collect(),
            rows: port.rows,
            columns: port.columns.iter().map(|column| column.name.clone()).collect(),
            file: None,
        })
        .collect()
}

/// Writes anything as JSON for people.
pub fn write_json(
    path: &Path,
    value: &impl Serialize,
    leftovers: &Leftovers,
) -> Result<(), Failure> {
    write_atomically(path, leftovers, |file| {
        use std::io::Write;
        let text = serde_json::to_string_pretty(value).expect("reports are text and numbers");
        Ok(writeln!(file, "{text}")?)
    })
}
