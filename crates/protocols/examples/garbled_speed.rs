//! How fast garbled circuits run between two parties over loopback, per operation.
//!
//! `cargo run --release -p phineus-protocols --example garbled_speed [M ANDs [TRANSPORT]]`
//!
//! Both parties are threads of this process with everything real between them: sockets, TLS 1.3,
//! oblivious transfers. Prints millions of AND gates per second (best and median of the
//! repetitions) and processor nanoseconds per AND of both parties together, which other load on
//! the machine disturbs less.

use std::io::Cursor;
use std::net::TcpListener;
use std::thread;
use std::time::Instant;

use phineus_bytecode::{
    Column, Description, ElementType, Encoding, FileKind, InputPort, Instruction, Op,
    ProgramReader, ProgramWriter, RowOrder, Table,
};
use phineus_channels::{
    Channel, ClusterConfig, ConnectionSecurity, FramedChannel, Identity, MeshSettings,
    PlainLoopback, Timeouts, TrustStore, connect_mesh, memory_pair, only_channel,
};
use phineus_crypto::Prg;
use phineus_engine::{Driver, FrameMemory, Inputs, RunMemory, run};
use phineus_ot::SessionId;
use phineus_plan::{Lookahead, PlanOptions, plan};
use phineus_protocols::garbled::{Evaluator, GarbledCosts, Garbler, totals};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const REPETITIONS: usize = 5;

/// Operations with width and lanes.
const CASES: [(&str, Op, u16, u32); 9] = [
    ("add, 1 lane", Op::Add, 32, 1),
    ("mux, 1 lane", Op::Mux, 32, 1),
    ("mul, 1 lane", Op::Mul, 32, 1),
    ("add, 64 lanes", Op::Add, 32, 64),
    ("lt, 128 lanes", Op::Lt, 32, 128),
    ("cond_swap, 32 lanes", Op::CondSwap, 128, 32),
    ("mul, 64 lanes", Op::Mul, 32, 64),
    ("aes128, 32 lanes", Op::Aes128, 128, 32),
    ("sha256, 16 lanes", Op::Sha256Compress, 256, 16),
];

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let millions: u64 = arguments.next().map_or(Ok(4), |text| text.parse())?;
    let only = arguments.next();
    for transport in ["memory", "tcp", "tls"] {
        if only.as_ref().is_some_and(|only| only != transport) {
            continue;
        }
        println!("{transport:24} {:>8} {:>8} {:>12}", "best M/s", "median", "CPU ns/AND");
        for (name, op, width, lanes) in CASES {
            let program = program(op, width, lanes, millions * 1_000_000)?;
            let mut speeds = Vec::new();
            let mut processor = f64::INFINITY;
            for _ in 0..REPETITIONS {
                let (seconds, processor_seconds, gates) = match transport {
                    "memory" => {
                        let (a, b) = memory_pair();
                        measure(&program, a, b, |_| Ok(()))?
                    }
                    _ => {
                        let (a, b) = network_pair(transport == "tls")?;
                        measure(&program, a, b, |channel: FramedChannel| Ok(channel.close()?))?
                    }
                };
                speeds.push(gates as f64 / seconds / 1e6);
                processor = processor.min(processor_seconds * 1e9 / gates as f64);
            }
            speeds.sort_by(f64::total_cmp);
            let (best, median) = (speeds[REPETITIONS - 1], speeds[REPETITIONS / 2]);
            println!("{name:24} {best:>8.1} {median:>8.1} {processor:>12.1}");
        }
    }
    Ok(())
}

/// A planned program of about `gates` ANDs: one operation over and over, on its own results.
fn program(op: Op, width: u16, lanes: u32, gates: u64) -> Result<Vec<u8>, Failure> {
    let element = ElementType::unsigned(width);
    let column =
        |name: &str, element| Column { name: name.to_string(), element, encoding: Encoding::Hex };
    let port = |party| InputPort {
        name: format!("input {party}"),
        party,
        rows: lanes.into(),
        columns: vec![column("value", element), column("bit", ElementType::BIT)],
        order: RowOrder::Given,
    };
    let description = Description {
        parties: vec!["site_a".to_string(), "site_b".to_string()],
        inputs: vec![port(0), port(1)].into(),
        ..Description::default()
    };
    let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program)?;
    let mut next = 0;
    let inputs = [(0, 0, element), (1, 0, element), (1, 1, ElementType::BIT)];
    for (port, column, element) in inputs {
        let mut input = Instruction::new(Op::Input, element, lanes);
        input.immediates = [port, column, 0, 0];
        input.results[0] = next;
        next += 1;
        writer.push(&input)?;
    }
    let per_instruction = {
        let mut costs = GarbledCosts::default();
        let instruction = Instruction::new(op, element, lanes);
        phineus_bytecode::CostModel::count(&mut costs, &instruction, &description);
        phineus_bytecode::CostModel::totals(&costs, &description)[totals::AND_GATES]
    };
    let (mut a, mut b) = (0, 1);
    for _ in 0..gates.div_ceil(per_instruction) {
        let mut instruction = Instruction::new(op, element, lanes);
        let select = matches!(op, Op::Mux | Op::CondSwap);
        instruction.operands = if select { [2, a, b] } else { [a, b, b] };
        for result in &mut instruction.results[..op.info().results.len()] {
            *result = next;
            next += 1;
        }
        let same = instruction.result_shape(0) == instruction.shape();
        (a, b) = if same { (instruction.results[0], a) } else { (b, a) };
        writer.push(&instruction)?;
    }
    let bytes = writer.finish(&description)?.0;
    let options = PlanOptions {
        protocol: "garbled".to_string(),
        optimisation: Default::default(),
        port_order: phineus_bytecode::PortOrder::Near,
        memory_limit_bytes: 0,
        region_frames: 0,
        frame_count: 1000,
        computing: None,
        layout: phineus_protocols::garbled::layout(),
        page_wires: 4096,
        lookahead: Lookahead { time_ns: 0, frames: 2 },
        planner_memory_bytes: 64 << 20,
    };
    let mut reader = ProgramReader::open(Cursor::new(bytes))?;
    let mut costs = GarbledCosts::default();
    let planned = plan(&mut reader, Vec::new(), tempfile::tempfile()?, &options, &mut costs)?;
    Ok(planned.0)
}

fn table(description: &Description, port: usize) -> Table {
    let port = &description.inputs[port];
    Table::zeros(port.columns.clone(), port.rows)
}

/// Wall seconds, processor seconds of the process, AND gates.
fn measure<C: Channel>(
    program: &[u8],
    a: C,
    b: C,
    close: impl Fn(C) -> Result<(), Failure> + Sync,
) -> Result<(f64, f64, u64), Failure> {
    let open = || ProgramReader::open(Cursor::new(program));
    let description = open()?.description().clone();
    let session = SessionId::new([1; 32]);
    let (clock, processor) = (Instant::now(), processor_seconds());
    let gates = thread::scope(|scope| {
        let garbler = scope.spawn(|| -> Result<u64, Failure> {
            let tables = vec![Some(table(&description, 0)), None];
            let inputs = Inputs::new(&description, tables)?;
            let mut prg = Prg::from_os()?;
            let mut driver = Garbler::new(a, &mut prg, &session, &description, inputs)?;
            execute(open()?, &mut driver)?;
            let gates = driver.and_gates();
            close(driver.into_parts().0)?;
            Ok(gates)
        });
        let tables = vec![None, Some(table(&description, 1))];
        let inputs = Inputs::new(&description, tables)?;
        let mut prg = Prg::from_os()?;
        let upcoming = Box::new(open()?.into_inputs().collect::<Vec<_>>().into_iter());
        let mut driver = Evaluator::new(b, &mut prg, &session, &description, inputs, upcoming)?;
        execute(open()?, &mut driver)?;
        close(driver.into_parts().0)?;
        garbler.join().expect("the garbler does not panic")
    })?;
    Ok((clock.elapsed().as_secs_f64(), processor_seconds() - processor, gates))
}

fn execute<D: Driver>(
    mut reader: ProgramReader<Cursor<&[u8]>>,
    driver: &mut D,
) -> Result<(), Failure> {
    let plan = reader.description().plan.as_ref().ok_or("the program is planned")?;
    let frames = FrameMemory::new(plan.frame_count as u32, 65536)?;
    Ok(run(&mut reader, driver, &mut RunMemory::new(frames, None), &mut |_| true)?)
}

/// User and system time of this process.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().filter_map(|text| text.parse::<f64>().ok()).sum();
    ticks / 100.0
}

fn network_pair(with_tls: bool) -> Result<(FramedChannel, FramedChannel), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    drop(listener);
    let cluster = ClusterConfig::local([("site_a", port), ("site_b", port + 1)]);
    let identities = [Identity::ephemeral("site_a")?, Identity::ephemeral("site_b")?];
    let [a, b] = identities;
    let (mut trusted_by_a, mut trusted_by_b) = (TrustStore::in_memory(), TrustStore::in_memory());
    trusted_by_a.trust("site_b", b.fingerprint())?;
    trusted_by_b.trust("site_a", a.fingerprint())?;
    let plain = PlainLoopback::new(&cluster)?;
    let security = |identity, trusted| {
        if with_tls {
            ConnectionSecurity::Tls { identity, trusted }
        } else {
            ConnectionSecurity::Plain(plain.clone())
        }
    };
    let (security_a, security_b) = (security(a, trusted_by_a), security(b, trusted_by_b));
    let settings = |me, security| MeshSettings {
        cluster: &cluster,
        me,
        streams: 1,
        clients: 0,
        security,
        program_version: "garbled_speed",
        purpose: "garbled_speed",
        timeouts: Timeouts::default(),
        network: None,
        is_cancelled: &|| false,
    };
    thread::scope(|scope| {
        let b = scope.spawn(|| connect_mesh(&settings("site_b", &security_b), &mut |_| ()));
        let a = connect_mesh(&settings("site_a", &security_a), &mut |_| ())?;
        let b = b.join().expect("connecting does not panic")?;
        Ok((only_channel(a), only_channel(b)))
    })
}
