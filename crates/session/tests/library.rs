//! Sessions as a program calls them: tables and sinks of its own, parties in one process, one memory
//! limit for several sessions.

use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use phineus_bytecode::Lane;
use phineus_channels::{Identity, MemoryNetwork, TrustStore};
use phineus_session::cancel::Cancel;
use phineus_session::failure::{Exit, Failure, codes};
use phineus_session::memory_budget::PROCESS_BYTES;
use phineus_session::party::{self, Finished};
use phineus_session::progress::{Event, Progress};
use phineus_session::registry::Registry;
use phineus_session::settings::{
    Cluster, Connections, InputTable, MemoryLimit, MemoryPool, OutputTable, Participation,
    ProgramChoice, Protocol, ProtocolChoice, Resources, Run, protocols,
};
use phineus_tables::{Error, MemoryTable, ResultHeader, TableCell, TableSink};

/// Enough for all tests at once: they are one process.
const LIMIT: u64 = 2 << 30;

/// A run of `psi` under a protocol.
fn psi(protocol: Protocol) -> Run {
    Run {
        choice: ProgramChoice { program: Some("psi".to_owned()), ..ProgramChoice::default() },
        together: Participation {
            protocol: ProtocolChoice::This(protocol),
            timeout_s: 20,
            ..Participation::default()
        },
        resources: Resources { memory: MemoryLimit::Process(LIMIT), ..Resources::default() },
        ..Run::default()
    }
}

fn elements(name: &str, elements: &[u64]) -> InputTable {
    let table = MemoryTable::new(format!("elements of {name}"));
    InputTable::source(name, table.with("element", elements.to_vec()))
}

fn both() -> Vec<InputTable> {
    vec![elements("site_a", &[3, 5, 8]), elements("site_b", &[2, 3, 8, 9])]
}

/// A sink that keeps what it is given.
#[derive(Default)]
struct StoredFigures {
    columns: Vec<String>,
    rows: Vec<Vec<Option<Lane>>>,
    is_whole: bool,
}

impl TableSink for StoredFigures {
    fn begin(&mut self, head: &ResultHeader<'_>) -> Result<(), Error> {
        self.columns = head.names();
        Ok(())
    }

    fn row(&mut self, _: &[TableCell<'_>], values: &[Option<Lane>]) -> Result<(), Error> {
        self.rows.push(values.to_vec());
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        self.is_whole = true;
        Ok(())
    }
}

fn count(finished: &Finished) -> u64 {
    let outputs = finished.outputs.iter().flatten();
    outputs.last().expect("both learn it").cell(0, 0).as_limbs()[0]
}

/// The call of one party: the same, however it reaches the other one.
fn one_party(name: &str, connections: Connections, table: InputTable) -> Result<Finished, Failure> {
    let run = psi(protocols::GMW);
    let run = Run {
        inputs: vec![table],
        together: Participation { as_party: Some(name.to_owned()), connections, ..run.together },
        ..run
    };
    party::run(&Registry::built_in(), &run, &Progress::unheard())
}

/// Two sessions at once on one network could get each other's parties.
#[test]
fn parties_of_runs_with_other_labels_refuse_each_other() {
    let network = MemoryNetwork::new();
    let failures = std::thread::scope(|scope| {
        let parties = ["site_a", "site_b"].into_iter().zip(both()).map(|(name, table)| {
            let run = psi(protocols::GMW);
            let run = Run {
                inputs: vec![table],
                together: Participation {
                    as_party: Some(name.to_owned()),
                    connections: Connections::Memory(network.clone()),
                    label: format!("the run of {name}"),
                    ..run.together
                },
                ..run
            };
            scope.spawn(move || party::run(&Registry::built_in(), &run, &Progress::unheard()).err())
        });
        let parties: Vec<_> = parties.collect();
        parties.into_iter().map(|party| party.join().expect("no panic")).collect::<Vec<_>>()
    });
    for failure in failures {
        let failure = failure.expect("they are of different runs");
        assert_eq!(failure.code, codes::DIFFER, "{failure:?}");
        assert!(failure.message().contains("the label of the run"), "{failure:?}");
    }
}

/// Both parties, each with its own way to the other one.
fn two_parties(way: impl Fn(&str) -> Connections + Sync) -> [Finished; 2] {
    std::thread::scope(|scope| {
        let parties = ["site_a", "site_b"].into_iter().zip(both()).map(|(name, table)| {
            let connections = way(name);
            scope.spawn(move || one_party(name, connections, table))
        });
        let parties: Vec<_> = parties.collect();
        let finished = parties
            .into_iter()
            .map(|party| party.join().expect("it does not panic").expect("it succeeds"));
        let finished: Vec<Finished> = finished.collect();
        finished.try_into().ok().expect("there are two parties")
    })
}

/// Keys and addresses of both parties.
fn set_up(directory: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut cluster = String::new();
    let ports = [0, 1].map(|_| std::net::TcpListener::bind("127.0.0.1:0"));
    for (name, port) in ["site_a", "site_b"].into_iter().zip(ports) {
        Identity::create(&directory.join(name), name)?;
        let address = port?.local_addr()?;
        cluster += &format!("[[party]]\nname = \"{name}\"\naddress = \"{address}\"\n");
    }
    for (name, peer) in [("site_a", "site_b"), ("site_b", "site_a")] {
        let identity = Identity::load(&directory.join(peer), peer)?;
        TrustStore::load(&directory.join(name))?.trust(peer, identity.fingerprint())?;
    }
    std::fs::write(directory.join("cluster.toml"), cluster)?;
    Ok(())
}

#[test]
fn one_call_serves_every_way_to_connect() -> Result<(), Box<dyn std::error::Error>> {
    let network = MemoryNetwork::new();
    let in_memory = two_parties(|_| Connections::Memory(network.clone()));
    let place = tempfile::tempdir()?;
    set_up(place.path())?;
    let over_tls = two_parties(|name| {
        Connections::Cluster(Cluster {
            file: place.path().join("cluster.toml"),
            id_dir: place.path().join(name),
            ..Cluster::default()
        })
    });
    let all = party::run_all(
        &Registry::built_in(),
        &Run { inputs: both(), ..psi(protocols::GMW) },
        &Progress::unheard(),
    )?;
    for finished in in_memory.iter().chain(&over_tls).chain(&all.parties) {
        assert_eq!(count(finished), 2);
        finished.report.verdict()?;
    }
    // The same computation: the same figures, whatever carries it.
    let figures = |finished: &Finished| {
        let measured = &finished.report.measured;
        (measured.and_gates, measured.sent_bytes, measured.rounds)
    };
    assert_eq!(figures(&in_memory[0]), figures(&over_tls[0]));
    Ok(())
}

#[test]
fn tables_and_sinks_of_the_callers_own() -> Result<(), Failure> {
    for protocol in [protocols::GARBLED, protocols::GMW, protocols::BMR, protocols::SPDZ] {
        let sink = Arc::new(Mutex::new(StoredFigures::default()));
        let mut run = Run { inputs: both(), ..psi(protocol) };
        let registry = Registry::built_in();
        let plain = party::run_all(&registry, &run, &Progress::unheard())?;
        let description = plain.description();
        let name = &description.outputs[0].name;
        run.outputs = vec![OutputTable::sink(name, &sink)];
        let answer = party::run_all(&registry, &run, &Progress::unheard())?;
        answer.verify(&registry, &run)?.check()?;
        answer.parties.iter().try_for_each(|party| party.report.verdict())?;
        let kept = sink.lock().expect("nobody panics");
        let table = answer.output(name).expect("somebody learns it");
        assert!(kept.is_whole);
        assert_eq!(kept.rows, [[Some(table.cell(0, 0))]], "{protocol:?}");
        assert_eq!(kept.columns, [table.columns()[0].name.clone()]);
    }
    Ok(())
}

#[test]
fn faults_of_a_source_have_its_name_row_and_column() {
    let table = MemoryTable::new("elements of site_a").with("element", vec![true]);
    let inputs = vec![InputTable::source("site_a", table), elements("site_b", &[2])];
    let run = Run { inputs, ..psi(protocols::GMW) };
    let started = Instant::now();
    let failure = party::run_all(&Registry::built_in(), &run, &Progress::unheard()).err();
    let failure = failure.expect("a truth value is no text");
    assert_eq!((failure.code, failure.code.exit), (codes::CELL, Exit::BadInput));
    let text = failure.message();
    assert!(text.starts_with("elements of site_a: row 1, column 'element': "), "{text}");
    assert!(started.elapsed() < Duration::from_secs(15), "the other party does not wait for it");
}

#[test]
fn sessions_share_one_limit() -> Result<(), Failure> {
    let resident = phineus_engine_resident();
    let own_bytes = resident + (256 << 20);
    let pool = MemoryPool::new(own_bytes + (160 << 20), own_bytes)?;
    let limit = PROCESS_BYTES + (80 << 20);
    std::thread::scope(|scope| {
        let session = |_| {
            let pool = pool.clone();
            scope.spawn(move || {
                let share = pool.reserve_when_free(limit, || false)?;
                let mut run = Run { inputs: both(), ..psi(protocols::GMW) };
                run.resources.memory = MemoryLimit::Reserved(share);
                let answer = party::run_all(&Registry::built_in(), &run, &Progress::unheard())?;
                Ok::<u64, Failure>(count(&answer.parties[0]))
            })
        };
        let sessions: Vec<_> = (0..5).map(session).collect();
        for session in sessions {
            assert_eq!(session.join().expect("it does not panic")?, 2);
        }
        Ok::<(), Failure>(())
    })?;
    assert_eq!(pool.free_bytes(), pool.size_bytes(), "all shares came back");
    let _one = pool.reserve(limit)?;
    let _two = pool.reserve(limit)?;
    let refused = pool.reserve(limit).expect_err("two shares are all there is");
    assert_eq!((refused.code, refused.code.exit), (codes::POOL, Exit::DoesNotFit));
    Ok(())
}

/// The resident set of this process, with that of the other tests in it.
fn phineus_engine_resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("it says so");
    let kib = line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
    kib.expect("a number") << 10
}

#[test]
fn one_session_is_cancelled_and_another_goes_on() -> Result<(), Failure> {
    let registry = &Registry::built_in();
    let cancel = Cancel::new();
    let (sender, stages) = mpsc::channel();
    let listener = move |event| {
        if let Event::Stage { text } = event {
            let _ = sender.send(text);
        }
    };
    let progress = Progress::new(listener, cancel.clone());
    let mut waiting = psi(protocols::GMW);
    waiting.together.as_party = Some("site_a".to_owned());
    waiting.together.connections = Connections::Memory(MemoryNetwork::new());
    waiting.inputs = vec![elements("site_a", &[1])];
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| party::run(registry, &waiting, &progress));
        let other = Run { inputs: both(), ..psi(protocols::GMW) };
        assert_eq!(count(&party::run_all(registry, &other, &Progress::unheard())?.parties[0]), 2);
        cancel.cancel();
        let failure = waits.join().expect("it does not panic").err().expect("nobody came");
        assert_eq!(failure.code.exit, Exit::Interrupted);
        assert!(failure.revealed.is_some_and(|revealed| revealed.starts_with("nothing")));
        Ok::<(), Failure>(())
    })?;
    drop(progress);
    assert_eq!(stages.iter().count(), 0, "it was alone all the time");
    Ok(())
}
