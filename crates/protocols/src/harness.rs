//! What tests of whole runs have in common: programs, plans, memory, inputs, and what is right.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Cursor;
use std::thread;

use phineus_bytecode::{
    Column, CostModel, Description, ElementType, Encoding, FileKind, InputPort, Instruction,
    Layout, Op, OutputPort, ProgramReader, ProgramWriter, RoundModel, RowOrder, Sharing, Table,
};
use phineus_channels::{Channel, MemoryChannel, Traffic, memory_pair_named};
use phineus_crypto::{Block, Prg};
use phineus_engine::{
    ClearDriver, FrameMemory, Inputs, Outputs, RegionSwap, Regions, RunMemory, Storage,
    StorageBackend, StorageConfig, run,
};
use phineus_plan::{Error, Lookahead, OrderOptions, PlanOptions, check, check_order, order, plan};

use crate::ProtocolError;
use crate::mixed::MixedCosts;
use crate::mixed::totals;
use crate::shares::client::{Client, ClientSharing};

pub(crate) fn scratch() -> File {
    tempfile::tempfile().expect("a temporary file")
}

pub(crate) fn read(bytes: &[u8]) -> ProgramReader<Cursor<Vec<u8>>> {
    ProgramReader::open(Cursor::new(bytes.to_vec())).expect("just written")
}

pub(crate) fn write(instructions: &[Instruction], description: &Description) -> Vec<u8> {
    let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("memory");
    instructions.iter().for_each(|i| writer.push(i).expect("memory"));
    writer.finish(description).expect("a valid description").0
}

pub(crate) fn ordering(layout: Layout) -> OrderOptions {
    OrderOptions {
        layout,
        window_units: 10_000,
        window_instructions: 1 << 17,
        held_bytes: 1 << 20,
        planner_memory_bytes: 64 << 20,
    }
}

pub(crate) fn options(
    protocol: &str,
    layout: Layout,
    page_wires: u64,
    frame_count: u64,
) -> PlanOptions {
    PlanOptions {
        protocol: protocol.to_string(),
        optimisation: Default::default(),
        port_order: phineus_bytecode::PortOrder::Given,
        memory_limit_bytes: 0,
        region_frames: 0,
        frame_count,
        computing: None,
        layout,
        page_wires,
        lookahead: Lookahead { time_ns: 100_000, frames: 4 },
        planner_memory_bytes: 64 << 20,
    }
}

/// `program` in the order of the rounds of `model`, which the checker of orders finds right.
pub(crate) fn ordered(
    program: &[u8],
    layout: Layout,
    model: &mut (impl RoundModel + Send),
) -> Result<Vec<u8>, Error> {
    let options = ordering(layout);
    let ordered = order(&mut read(program), Vec::new(), scratch(), &options, model)?.0;
    let faults = check_order(&mut read(program), &mut read(&ordered), model)?;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(ordered)
}

/// The plan of `ordered`, which the checker of plans finds right.
pub(crate) fn planned(
    ordered: &[u8],
    options: &PlanOptions,
    costs: &mut impl CostModel,
) -> Result<Vec<u8>, Error> {
    let planned = plan(&mut read(ordered), Vec::new(), scratch(), options, costs)?.0;
    let faults = check(&mut read(ordered), &mut read(&planned))?;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(planned)
}

/// Frames and a swap file for a plan.
pub(crate) fn memory(description: &Description) -> RunMemory {
    let plan = description.plan.as_ref().expect("it is planned");
    let page_bytes = plan.page_bytes() as u32;
    let frames = FrameMemory::new(plan.frame_count.max(1) as u32, page_bytes).expect("memory");
    let config = StorageConfig {
        directory: std::env::temp_dir(),
        page_bytes,
        slots: plan.spill_slot_count as u32,
        backend: StorageBackend::Threads,
        depth: 8,
    };
    let storage = (config.slots > 0).then(|| Storage::new(&config, &frames).expect("a swap file"));
    let regions = Regions::new(description, plan.layout, RegionSwap::none()).expect("memory");
    RunMemory { frames, storage, regions }
}

/// The tables that a party brings.
pub(crate) fn own(description: &Description, tables: &[Table], party: usize) -> Inputs {
    Inputs::new(description, tables_of(description, tables, party)).expect("the right shapes")
}

/// The same of a party that may lie about the order of its rows.
pub(crate) fn own_in_any_order(
    description: &Description,
    tables: &[Table],
    party: usize,
) -> Inputs {
    let tables = tables_of(description, tables, party);
    Inputs::in_any_order(description, tables).expect("the right shapes")
}

fn tables_of(description: &Description, tables: &[Table], party: usize) -> Vec<Option<Table>> {
    let ports = description.inputs.iter().zip(tables);
    let own = ports.map(|(port, table)| (usize::from(port.party) == party).then(|| table.clone()));
    own.collect()
}

/// The outputs in the clear, of a program as it was before it got sharings.
pub(crate) fn expected(program: &[u8], tables: &[Table]) -> Vec<Table> {
    let reader = read(program);
    let description = reader.description().clone();
    let options = options("clear", Layout::wires(1), 4096, 1 << 16);
    let mut costs = MixedCosts::new(description.parties.len());
    let planned = plan(&mut read(program), Vec::new(), scratch(), &options, &mut costs);
    let planned = planned.expect("it fits").0;
    let mut reader = read(&planned);
    let inputs = Inputs::new(&description, tables.iter().cloned().map(Some).collect());
    let parties = 0..description.parties.len() as u16;
    let outputs = parties.map(|party| Outputs::new(&description, party)).collect();
    let mut driver = ClearDriver::new(&description, inputs.expect("the right shapes"), outputs);
    let mut memory = memory(reader.description());
    run(&mut reader, &mut driver, &mut memory, &mut |_| true).expect("it runs");
    let mut merged: Vec<Option<Table>> = vec![None; description.outputs.len()];
    for outputs in driver.into_outputs() {
        for (merged, table) in merged.iter_mut().zip(outputs.into_tables()) {
            *merged = merged.take().or(table);
        }
    }
    merged.into_iter().map(|table| table.expect("every port has a learner")).collect()
}

/// Checks that `party` learned the outputs that the program gives it, and no others.
pub(crate) fn assert_learned(
    description: &Description,
    party: usize,
    outputs: Vec<Option<Table>>,
    expected: &[Table],
) {
    for ((port, output), expected) in description.outputs.iter().zip(outputs).zip(expected) {
        assert_eq!(output.is_some(), port.parties.contains(&(party as u16)), "{}", port.name);
        let Some(output) = output else { continue };
        for row in 0..expected.row_count() {
            assert_eq!(output.row(row), expected.row(row), "{} row {row}", port.name);
        }
    }
}

pub(crate) fn sent_bytes(traffic: &[Traffic]) -> u64 {
    traffic.iter().map(|traffic| traffic.sent_bytes).sum()
}

pub(crate) fn received_bytes(traffic: &[Traffic]) -> u64 {
    traffic.iter().map(|traffic| traffic.received_bytes).sum()
}

/// Whether drivers compute `instruction` on ring elements as it is: sums of other widths are not.
pub(crate) fn can_be_arithmetic(instruction: &Instruction) -> bool {
    let is_sum = instruction.op == Op::LaneSum;
    let is_wide = is_sum && instruction.immediates[0] != u64::from(instruction.element.width());
    instruction.op.is_arithmetic() && !is_wide
}

/// Ends the clients, from number `first` on: each learned what it should, and sent and received what the
/// plan states.
pub(crate) fn finish_clients(
    description: &Description,
    first: usize,
    clients: Vec<ClientThread>,
    expected: &[Table],
) {
    let costs = &description.plan.as_ref().expect("it is planned").costs;
    for (client, handle) in (first..).zip(clients) {
        let (outputs, traffic) = handle.join().expect("no client panics");
        let (sent, received) = (sent_bytes(&traffic), received_bytes(&traffic));
        assert_eq!(sent, costs[&totals::sent_bytes(client)], "bytes of client {client}");
        assert_eq!(received, costs[&totals::received_bytes(client)], "bytes to client {client}");
        assert_learned(description, client, outputs, expected);
    }
}

/// A client's outputs and traffic.
pub(crate) type ClientThread = thread::JoinHandle<(Vec<Option<Table>>, Vec<Traffic>)>;

/// Starts the clients of the parties `0..computing`, with generators from `seed`. Also returns the channels to
/// them, by party.
pub(crate) fn start_clients<O: ClientSharing>(
    ordered: &[u8],
    description: &Description,
    computing: usize,
    seed: u64,
    inputs: &[Table],
) -> (Vec<Vec<MemoryChannel>>, Vec<ClientThread>) {
    let mut links: Vec<Vec<MemoryChannel>> = (0..computing).map(|_| Vec::new()).collect();
    let threads = (computing..description.parties.len()).map(|me| {
        let mut own_links = Vec::new();
        for links in &mut links {
            let (near, far) = memory_pair_named("client", "party");
            own_links.push(near);
            links.push(far);
        }
        let (ordered, description) = (ordered.to_vec(), description.clone());
        let inputs = own(&description, inputs, me);
        thread::spawn(move || {
            let mut prg = Prg::from_seed(Block::from_bits(u128::from(seed) << 8 | me as u128));
            let client =
                Client::<MemoryChannel, O>::new(own_links, &mut prg, &description, me, inputs);
            let mut client = client.expect("the parties are there");
            read(&ordered)
                .for_each::<ProtocolError>(|instruction| Ok(client.step(instruction)?))
                .expect("it runs");
            let (links, outputs) = client.finish().expect("the parties are there");
            (outputs.into_tables(), links.iter().map(Channel::traffic).collect())
        })
    });
    let threads = threads.collect();
    (links, threads)
}

/// A program in the making, whose values are named in order, with a port for each input and output.
#[derive(Default)]
pub(crate) struct Builder {
    instructions: Vec<Instruction>,
    inputs: Vec<InputPort>,
    outputs: Vec<OutputPort>,
    values: u64,
}

fn column(width: u16) -> Vec<Column> {
    let element = ElementType::unsigned(width);
    vec![Column { name: "x".to_owned(), element, encoding: Encoding::Number }]
}

impl Builder {
    pub(crate) fn push(&mut self, mut instruction: Instruction) -> u64 {
        instruction.results[0] = self.values;
        self.values += 1;
        self.instructions.push(instruction);
        self.values - 1
    }

    /// Adds an instruction of two results; returns the name of the first.
    pub(crate) fn push_two(&mut self, mut instruction: Instruction) -> u64 {
        instruction.results = [self.values, self.values + 1];
        self.values += 2;
        self.instructions.push(instruction);
        self.values - 2
    }

    /// Adds an instruction without results; returns no name of anything.
    pub(crate) fn act(&mut self, instruction: Instruction) -> u64 {
        self.instructions.push(instruction);
        u64::MAX
    }

    /// An input of `owner`, shared as `element` says.
    pub(crate) fn input(&mut self, owner: u16, element: ElementType, lanes: u32) -> u64 {
        let mut input = Instruction::new(Op::Input, element, lanes);
        input.immediates[0] = self.inputs.len() as u64;
        self.inputs.push(InputPort {
            name: format!("input_{}", self.inputs.len()),
            party: owner,
            rows: lanes.into(),
            columns: column(element.width()),
            order: RowOrder::Given,
        });
        self.push(input)
    }

    pub(crate) fn apply(
        &mut self,
        op: Op,
        element: ElementType,
        lanes: u32,
        operands: [u64; 3],
    ) -> u64 {
        self.push(Instruction { operands, ..Instruction::new(op, element, lanes) })
    }

    pub(crate) fn convert(
        &mut self,
        value: u64,
        (from, to): (Sharing, ElementType),
        lanes: u32,
    ) -> u64 {
        let mut convert = Instruction::new(Op::Convert, to, lanes);
        (convert.immediates[0], convert.operands[0]) = (from as u64, value);
        self.push(convert)
    }

    pub(crate) fn output(
        &mut self,
        value: u64,
        element: ElementType,
        lanes: u32,
        learners: &[u16],
    ) {
        let mut output = Instruction::new(Op::Output, element, lanes);
        (output.immediates[0], output.operands[0]) = (self.outputs.len() as u64, value);
        self.outputs.push(OutputPort {
            name: format!("output_{}", self.outputs.len()),
            parties: BTreeSet::from_iter(learners.iter().copied()).into_iter().collect(),
            rows: lanes.into(),
            columns: column(element.width()),
            rows_of: None,
        });
        self.instructions.push(output);
    }

    /// The instructions, and the description with so many parties, clients included.
    pub(crate) fn finish(self, parties: usize) -> (Vec<Instruction>, Description) {
        let description = Description {
            name: "test".to_owned(),
            parties: (0..parties).map(|party| format!("party_{party}")).collect(),
            inputs: self.inputs.into(),
            outputs: self.outputs.into(),
            ..Description::default()
        };
        (self.instructions, description)
    }
}

/// The rank over bits of rows of bytes, each with a 1 in front.
fn rank(rows: Vec<Vec<u8>>) -> usize {
    let width = 8 * rows[0].len() + 1;
    let mut basis: Vec<Option<Vec<u64>>> = vec![None; width];
    let mut rank = 0;
    for row in rows {
        let bit = |k: usize| k == 0 || row[(k - 1) / 8] >> ((k - 1) % 8) & 1 == 1;
        let mut words = vec![0u64; width.div_ceil(64)];
        (0..width).filter(|&k| bit(k)).for_each(|k| words[k / 64] |= 1 << (k % 64));
        for (k, known) in basis.iter_mut().enumerate() {
            if words[k / 64] >> (k % 64) & 1 == 0 {
                continue;
            }
            match known {
                Some(known) => words.iter_mut().zip(known).for_each(|(a, b)| *a ^= *b),
                None => {
                    *known = Some(words);
                    rank += 1;
                    break;
                }
            }
        }
    }
    rank
}

/// Checks that the bits of `fresh` are uniform, and that none depends on others.
pub(crate) fn assert_uniform(who: &str, mut fresh: impl FnMut() -> Vec<u8>) {
    let bits = 8 * fresh().len();
    let rows: Vec<Vec<u8>> = (0..bits + 80).map(|_| fresh()).collect();
    for k in 0..bits {
        let ones = rows.iter().filter(|row| row[k / 8] >> (k % 8) & 1 == 1).count() as f64;
        let expected = rows.len() as f64 / 2.0;
        // Six and a half standard deviations: once in 10^10 bits.
        assert!((ones - expected).abs() < 3.25 * (rows.len() as f64).sqrt(), "bit {k} of {who}");
    }
    assert_eq!(rank(rows), bits + 1, "bits of {who} depend on each other");
}
