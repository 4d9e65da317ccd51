//! How fast programs of garbled values run: `bmr_speed [parties] [instances] [sequential]`.
//!
//! AES-128 of as many blocks under as many keys, in values of 32 lanes. All parties are threads over
//! an in-process mesh, each with a thread that garbles; everything is real and included: base OTs,
//! garbling, inputs, evaluation, outputs.

use std::fs::File;
use std::io::Cursor;
use std::thread;
use std::time::Instant;

use phineus_bytecode::{
    Column, Description, ElementType, Encoding, FileKind, InputPort, Instruction, Op, OutputPort,
    ProgramReader, ProgramWriter, RowOrder, Sharing, Table,
};
use phineus_channels::{MemoryChannel, Parties, memory_mesh};
use phineus_correlated::semi_honest::Dealer;
use phineus_crypto::{Block, Prg};
use phineus_engine::{FrameMemory, Inputs, RunMemory, StorageError, peak_resident_bytes, run};
use phineus_ot::{FieldBits, SessionId};
use phineus_plan::{Lookahead, OrderOptions, PlanOptions, order, plan};
use phineus_protocols::bmr::costs::totals as garbling_totals;
use phineus_protocols::bmr::{Garbling, GarblingCosts, GarblingProgram};
use phineus_protocols::mixed::{GarblingScheme, MixedCosts, MixedDriver, MixedRounds, totals};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const LANES: u64 = 32;
const PAGE_UNITS: u64 = 1 << 14;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize, default: u64| -> Result<u64, Failure> {
        Ok(arguments.get(k).map_or(Ok(default), |text| text.parse())?)
    };
    let (parties, instances) = (number(0, 2)? as usize, number(1, 1000)?);
    let beforehand = arguments.get(2).is_some_and(|word| word == "sequential");
    let (program, garbling) = plans(parties, instances)?;
    let description = open(&program)?.description().clone();
    let costs = &description.plan.as_ref().ok_or("it is planned")?.costs;
    let gates = costs[garbling_totals::Y_AND_GATES];
    println!("{parties} parties, {instances} AES, {gates} garbled ANDs");
    let mut streams = memory_mesh(parties).into_iter();
    let start = Instant::now();
    let threads: Vec<_> = memory_mesh(parties)
        .into_iter()
        .zip(&mut streams)
        .map(|(online, stream)| {
            let (program, garbling) = (program.clone(), garbling.clone());
            thread::spawn(move || party(online, stream, &program, garbling, beforehand))
        })
        .collect();
    for (me, thread) in threads.into_iter().enumerate() {
        let (online, garbled, garbling_s) = thread.join().expect("no party panics")?;
        println!(
            "party {me}: sent {:.1} MiB online, {:.1} MiB to garble ({:.1} stated); garbled before \
             in {garbling_s:.2} s",
            online as f64 / 1048576.0,
            garbled as f64 / 1048576.0,
            costs[&garbling_totals::garbling_bytes(me)] as f64 / 1048576.0,
        );
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{seconds:.2} s in all, {:.0} ns an AND, {} online rounds, {:.0} MiB of memory at most",
        1e9 * seconds / gates as f64,
        costs[totals::ROUNDS],
        peak_resident_bytes().unwrap_or(0) as f64 / 1048576.0,
    );
    Ok(())
}

/// One party: bytes sent online and to garble, and seconds of garbling beforehand.
fn party(
    online: Parties<MemoryChannel>,
    stream: Parties<MemoryChannel>,
    program: &[u8],
    garbling: Vec<u8>,
    beforehand: bool,
) -> Result<(u64, u64, f64), Failure> {
    let (me, count) = (online.me(), online.count());
    let mut prg = Prg::from_os()?;
    let session = SessionId::new([1; 32]);
    let own = Prg::from_seed(prg.next_block());
    let start = Instant::now();
    let set_up = Garbling::set_up(stream, own, &session, FieldBits::DEFAULT)?;
    let sent = |parties: &Parties<MemoryChannel>| {
        parties.traffic().iter().map(|traffic| traffic.sent_bytes).sum::<u64>()
    };
    let (tables, join): (_, Box<dyn FnOnce() -> Result<u64, Failure>>) = if beforehand {
        let mut memory = memory(&garbling)?;
        let directory = std::env::temp_dir();
        let (tables, parties) =
            set_up.run(&mut open(&garbling)?, &mut memory, 64 << 20, &directory)?;
        let sent = sent(&parties);
        (tables, Box::new(move || Ok(sent)))
    } else {
        let planned = open(&garbling)?;
        let (tables, thread) = set_up.start(planned, move || memory(&garbling))?;
        (tables, Box::new(move || Ok(sent(&thread.join()?.parties))))
    };
    let garbling_s = if beforehand { start.elapsed().as_secs_f64() } else { 0.0 };
    let mut reader = open(program)?;
    let description = reader.description().clone();
    let ports = description.inputs.iter();
    let table = |port: &InputPort| Table::zeros(port.columns.clone(), port.rows);
    let inputs = ports.map(|port| (usize::from(port.party) == me).then(|| table(port)));
    let inputs = Inputs::new(&description, inputs.collect())?;
    let dealer = Dealer::insecure(Block::from_bits(1), me, count);
    let driver = MixedDriver::new(online, dealer, &mut prg, &description, inputs)?;
    let mut driver = driver.with_tables(tables);
    run(&mut reader, &mut driver, &mut memory(program)?, &mut |_| true)?;
    let (parties, outputs, _) = driver.into_parts();
    // FIPS 197 has no such vector, but everybody knows it: AES-128 of zeros under zeros.
    let zeros = 0x66e9_4bd4_ef8a_2c3b_884c_fa59_ca34_2b2e_u128;
    for table in outputs.into_tables().into_iter().flatten() {
        let expected = phineus_bytecode::Lane::from(zeros.swap_bytes());
        let right = (0..table.row_count()).all(|row| table.cell(row, 0) == expected);
        assert!(right, "a wrong ciphertext");
    }
    Ok((sent(&parties), join()?, garbling_s))
}

fn open(bytes: &[u8]) -> Result<ProgramReader<Cursor<Vec<u8>>>, phineus_bytecode::Error> {
    ProgramReader::open(Cursor::new(bytes.to_vec()))
}

fn memory(planned: &[u8]) -> Result<RunMemory, StorageError> {
    let reader = open(planned).expect("just planned");
    let plan = reader.description().plan.as_ref().expect("just planned");
    let page_bytes = plan.page_bytes() as u32;
    let frames = FrameMemory::new(plan.frame_count.max(1) as u32, page_bytes)?;
    Ok(RunMemory::new(frames, None))
}

/// The planned program and its planned garbling program.
fn plans(parties: usize, instances: u64) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let program = program(parties, instances)?;
    let layout = phineus_protocols::mixed::layout(parties, GarblingScheme::Joint);
    let order_options = OrderOptions {
        layout,
        window_units: 1 << 16,
        window_instructions: 1 << 17,
        held_bytes: 16 << 20,
        planner_memory_bytes: 256 << 20,
    };
    let mut model = MixedRounds::new(parties);
    let ordered = order(&mut open(&program)?, Vec::new(), scratch()?, &order_options, &mut model)?;
    let ordered = ordered.0;
    let mut options = PlanOptions {
        protocol: "bmr".to_string(),
        optimisation: Default::default(),
        port_order: phineus_bytecode::PortOrder::Given,
        memory_limit_bytes: 0,
        region_frames: 0,
        frame_count: 1 << 12,
        computing: None,
        layout,
        page_wires: layout.units_max().next_power_of_two().max(PAGE_UNITS),
        lookahead: Lookahead { time_ns: 0, frames: 2 },
        planner_memory_bytes: 256 << 20,
    };
    let mut costs = MixedCosts::new(parties);
    let planned = plan(&mut open(&ordered)?, Vec::new(), scratch()?, &options, &mut costs)?.0;
    let garbling = GarblingProgram::derive(&mut open(&ordered)?, Vec::new())?.0;
    (options.layout, options.page_wires) = (phineus_protocols::garbled::layout(), 4096);
    let mut costs = GarblingCosts::new(parties);
    let garbling = plan(&mut open(&garbling)?, Vec::new(), scratch()?, &options, &mut costs)?.0;
    Ok((planned, garbling))
}

fn scratch() -> Result<File, Failure> {
    Ok(tempfile::tempfile()?)
}

/// Keys of the first party, blocks of the second; everybody learns the result.
fn program(parties: usize, instances: u64) -> Result<Vec<u8>, Failure> {
    let element = ElementType::unsigned(128).shared(Sharing::Garbled);
    let rows = instances.next_multiple_of(LANES);
    let columns = vec![Column {
        name: "value".to_owned(),
        element: ElementType::unsigned(128),
        encoding: Encoding::Hex,
    }];
    let input = |name: &str, party| InputPort {
        name: name.to_owned(),
        party,
        rows,
        columns: columns.clone(),
        order: RowOrder::Given,
    };
    let description = Description {
        name: "aes".to_owned(),
        parties: (0..parties).map(|party| format!("party_{party}")).collect(),
        inputs: vec![input("keys", 0), input("blocks", 1)].into(),
        outputs: vec![OutputPort {
            name: "result".to_owned(),
            parties: (0..parties as u16).collect(),
            rows,
            columns: columns.clone(),
            rows_of: None,
        }]
        .into(),
        ..Description::default()
    };
    let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program)?;
    for (k, row) in (0..rows).step_by(LANES as usize).enumerate() {
        let first = 3 * k as u64;
        let make = |op| Instruction::new(op, element, LANES as u32);
        for port in 0..2 {
            let mut input = make(Op::Input);
            input.immediates = [port, 0, row, 0];
            input.results[0] = first + port;
            writer.push(&input)?;
        }
        let mut aes = make(Op::Aes128);
        (aes.operands, aes.results[0]) = ([first, first + 1, 0], first + 2);
        writer.push(&aes)?;
        let mut output = make(Op::Output);
        output.immediates = [0, 0, row, 0];
        output.operands[0] = first + 2;
        writer.push(&output)?;
    }
    Ok(writer.finish(&description)?.0)
}
