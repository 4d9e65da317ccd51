//! Two parties in one process, without the command line: who of both lists the same numbers?
//!
//! `cargo run --release --example embed`. The same call runs one party of several machines; then its
//! keys are made by `phineus id`, and `cluster.toml` has real addresses.

use std::path::Path;

use phineus::channels::{Identity, TrustStore};
use phineus::session::cancel::Cancel;
use phineus::session::failure::Failure;
use phineus::session::party::{self, Finished};
use phineus::session::progress::{Event, Progress};
use phineus::session::registry::Registry;
use phineus::session::settings::{
    Cluster, Connections, InputTable, MemoryLimit, ProgramChoice, ProtocolChoice, Resources, Run,
    Together, protocols,
};

/// Both parties are in this process, so each limit is for both.
const MEMORY: u64 = 256 << 20;

fn main() -> Result<(), Failure> {
    // A process that handles secrets leaves no core file.
    phineus::session::forbid_core_dumps()?;
    let place = tempfile::tempdir()?;
    set_up(place.path())?;
    let directory = place.path();
    let [alice, bob] = std::thread::scope(|scope| {
        let run = |name| scope.spawn(move || run(name, directory));
        [run("site_a"), run("site_b")].map(|party| party.join().expect("it does not panic"))
    });
    let (alice, _bob) = (alice?, bob?);
    let common = alice.outputs[0].as_ref().expect("both parties learn it");
    println!("numbers on both lists: {}", common.cell(0, 0));
    assert_eq!(common.cell(0, 0).as_limbs()[0], 2, "the plaintext answer");
    let (predicted, measured) = (&alice.report.predicted, &alice.report.measured);
    println!("AND gates: predicted {:?}, measured {:?}", predicted.and_gates, measured.and_gates);
    println!("bytes: predicted {:?}, sent {:?}", predicted.sent_bytes, measured.sent_bytes);
    // A figure that differs from its prediction is an error.
    alice.report.verdict()
}

/// One party, from its table to its outputs.
fn run(name: &str, directory: &Path) -> Result<Finished, Failure> {
    let file = directory.join(format!("{name}.csv"));
    let run = Run {
        choice: ProgramChoice { program: Some("psi".to_owned()), ..Default::default() },
        together: Together {
            as_party: Some(name.to_owned()),
            connections: Connections::Cluster(Cluster {
                file: directory.join("cluster.toml"),
                id_dir: directory.join(name),
                ..Default::default()
            }),
            protocol: ProtocolChoice::This(protocols::GMW),
            ..Default::default()
        },
        inputs: vec![InputTable::parse(&file.display().to_string())],
        resources: Resources { memory: MemoryLimit::Process(MEMORY), ..Default::default() },
        ..Default::default()
    };
    let name = name.to_owned();
    let listener = move |event| {
        if let Event::Note { text } = event {
            println!("{name}: {text}");
        }
    };
    party::run(&Registry::built_in(), &run, &Progress::new(listener, Cancel::new()))
}

/// Keys, addresses and tables, which two companies would have already.
fn set_up(directory: &Path) -> Result<(), Failure> {
    let names = ["site_a", "site_b"];
    let ports = [0, 1].map(|_| std::net::TcpListener::bind("127.0.0.1:0"));
    let mut cluster = String::new();
    for (name, port) in names.iter().zip(ports) {
        Identity::create(&directory.join(name), name)?;
        let address = port?.local_addr()?;
        cluster += &format!("[[party]]\nname = \"{name}\"\naddress = \"{address}\"\n");
    }
    for (name, peer) in names.iter().zip(names.iter().rev()) {
        let identity = Identity::load(&directory.join(peer), peer)?;
        TrustStore::load(&directory.join(name))?.trust(peer, identity.fingerprint())?;
    }
    std::fs::write(directory.join("cluster.toml"), cluster)?;
    std::fs::write(directory.join("site_a.csv"), "element\n3\n5\n8\n")?;
    std::fs::write(directory.join("site_b.csv"), "element\n2\n3\n8\n9\n")?;
    Ok(())
}
