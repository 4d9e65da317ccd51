//! Runs of programs on XOR shares by all parties in one process.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::thread;

use phineus_bytecode::{
    CostModel, Description, Instruction, Lane, Layout, PortOrder, ProgramReader, RoundModel,
    Sharing, Table,
};
use phineus_channels::{MemoryChannel, memory_mesh};
use phineus_correlated::semi_honest::Dealer;
use phineus_crypto::{Block, Prg};
use phineus_engine::{Driver, FrameMemory, Inputs, RegionSwap, Regions, RunMemory, run};
use phineus_oblivious::memory::{MemoryTerms, RowSharing};
use phineus_plan::{
    Assignment, Lookahead, OrderOptions, PlanOptions, assign, check, check_order, order, plan,
};
use phineus_protocols::mixed::{
    GarblingScheme, MixedCosts, MixedDriver, MixedRounds, layout, totals,
};

type BytesReader = ProgramReader<Cursor<Vec<u8>>>;

/// Terms of a computation on shares with SoftSpoken OT.
pub fn terms(parties: usize) -> MemoryTerms {
    MemoryTerms {
        parties: parties as u16,
        rows: RowSharing::Shares { ot_bits: 31 },
        outside: Sharing::Any,
    }
}

/// Memory of a planner.
const PLANNER_BYTES: u64 = 64 << 20;

pub fn read(bytes: &[u8]) -> BytesReader {
    ProgramReader::open(Cursor::new(bytes.to_vec())).expect("just written")
}

pub fn scratch() -> File {
    tempfile::tempfile().expect("a temporary file")
}

/// `program` with all values on XOR shares.
pub fn assigned(program: &mut ProgramReader<BufReader<File>>) -> Vec<u8> {
    let boolean = Assignment::Uniform(Sharing::Boolean);
    assign(program, Vec::new(), scratch(), boolean, PLANNER_BYTES).expect("a valid program").0
}

/// The plan of `program` for so many parties, which all checkers find right.
pub fn planned(program: &mut ProgramReader<BufReader<File>>, parties: usize) -> Vec<u8> {
    let mut models = (MixedRounds::new(parties), MixedCosts::new(parties));
    let sizes = PlanSizes {
        layout: layout(parties, GarblingScheme::Joint),
        frame_count: 400,
        page_wires: 4096,
        planner_memory_bytes: PLANNER_BYTES,
    };
    planned_in_rounds(&assigned(program), "gmw", sizes, &mut models)
}

/// The memory that a plan is made for.
pub struct PlanSizes {
    pub layout: Layout,
    pub frame_count: u64,
    pub page_wires: u64,
    pub planner_memory_bytes: u64,
}

/// The plan of a program that is on shares or in a field, which all checkers find right.
pub fn planned_in_rounds(
    program: &[u8],
    protocol: &str,
    PlanSizes { layout, frame_count, page_wires, planner_memory_bytes }: PlanSizes,
    (rounds, costs): &mut (impl RoundModel + Send, impl CostModel + Send),
) -> Vec<u8> {
    let options = OrderOptions {
        layout,
        window_units: 1 << 20,
        window_instructions: 1 << 17,
        held_bytes: 1 << 24,
        planner_memory_bytes,
    };
    let ordered = order(&mut read(program), Vec::new(), scratch(), &options, rounds);
    let ordered = ordered.expect("a valid program").0;
    let faults = check_order(&mut read(program), &mut read(&ordered), rounds);
    assert_eq!(faults.expect("readable"), Vec::<String>::new());
    let options = PlanOptions {
        protocol: protocol.to_string(),
        optimisation: Default::default(),
        port_order: PortOrder::Given,
        memory_limit_bytes: 0,
        frame_count,
        region_frames: 0,
        computing: None,
        layout,
        page_wires,
        lookahead: Lookahead { time_ns: 0, frames: 0 },
        planner_memory_bytes,
    };
    let planned = plan(&mut read(&ordered), Vec::new(), scratch(), &options, costs);
    let planned = planned.expect("it fits").0;
    let faults = check(&mut read(&ordered), &mut read(&planned)).expect("readable");
    assert_eq!(faults, Vec::<String>::new());
    planned
}

/// Results and opened places of a party.
pub struct PartyRun {
    /// The tables that it learned, by output.
    pub outputs: Vec<Option<Table>>,
    /// Places that were opened inside the program.
    pub opened: Vec<u64>,
}

/// Runs a plan as all parties, with triples of a dealer. Each sends as many bytes, in as many rounds, as the plan states.
pub fn run_all(planned: &[u8], tables: &[Table], seed: u64) -> Vec<PartyRun> {
    let description = read(planned).description().clone();
    let parties = description.parties.len();
    thread::scope(|scope| {
        let start = |mesh: phineus_channels::Parties<MemoryChannel>| {
            let description = &description;
            scope.spawn(move || {
                let me = mesh.me();
                let dealer = Dealer::insecure(Block::from_bits(seed.into()), me, parties);
                let mut prg = Prg::from_seed(Block::from_bits(u128::from(seed) << 8 | me as u128));
                let inputs = own(description, tables, me as u16);
                let driver = MixedDriver::new(mesh, dealer, &mut prg, description, inputs);
                let driver = driver.expect("the set-up succeeds");
                let mut recording = Recording { driver, places: Vec::new() };
                execute(&mut read(planned), &mut recording);
                let rounds = recording.driver.rounds();
                let (parties, outputs, _) = recording.driver.into_parts();
                let sent: u64 = parties.traffic().iter().map(|link| link.sent_bytes).sum();
                let stated = &description.plan.as_ref().expect("it is planned").costs;
                assert_eq!(sent, stated[&totals::online_bytes(me)], "bytes of {me}, seed {seed}");
                assert_eq!(rounds, stated[totals::ROUNDS], "rounds of {me}, seed {seed}");
                PartyRun { outputs: outputs.into_tables(), opened: recording.places }
            })
        };
        let running: Vec<_> = memory_mesh(parties).into_iter().map(start).collect();
        running.into_iter().map(|party| party.join().expect("a party succeeds")).collect()
    })
}

/// The tables that a party brings.
pub fn own(description: &Description, tables: &[Table], party: u16) -> Inputs {
    let ports = description.inputs.iter().zip(tables);
    let mine = ports.map(|(port, table)| (port.party == party).then(|| table.clone()));
    Inputs::new(description, mine.collect()).expect("tables fit")
}

/// Runs a plan that needs no swap file.
pub fn execute<R: Read + Seek>(reader: &mut ProgramReader<R>, driver: &mut impl Driver) {
    let plan = reader.description().plan.clone().expect("it is planned");
    assert_eq!(plan.spill_slot_count, 0, "all of it is in memory");
    let frames = FrameMemory::new(plan.frame_count as u32, plan.page_bytes() as u32);
    let mut memory = RunMemory::new(frames.expect("memory"), None);
    let regions = Regions::new(reader.description(), plan.layout, RegionSwap::none());
    memory.regions = regions.expect("memory");
    run(reader, driver, &mut memory, &mut |_| true).expect("the run succeeds");
}

/// A driver that records what is opened inside.
pub struct Recording<D> {
    pub driver: D,
    pub places: Vec<u64>,
}

impl<D: Driver> Driver for Recording<D> {
    type Wire = D::Wire;
    type Error = D::Error;

    fn input(&mut self, i: &Instruction, wires: &mut [D::Wire]) -> Result<(), D::Error> {
        self.driver.input(i, wires)
    }

    fn output(&mut self, i: &Instruction, wires: &[D::Wire]) -> Result<(), D::Error> {
        self.driver.output(i, wires)
    }

    fn compute(
        &mut self,
        i: &Instruction,
        results: &mut [&mut [D::Wire]],
        operands: &[&[D::Wire]],
    ) -> Result<(), D::Error> {
        self.driver.compute(i, results, operands)
    }

    fn reveal(&mut self, i: &Instruction, wires: &[D::Wire]) -> Result<Lane, D::Error> {
        let opened = self.driver.reveal(i, wires)?;
        self.places.push(opened.as_limbs()[0]);
        Ok(opened)
    }

    fn permute(
        &mut self,
        i: &Instruction,
        results: &mut [&mut [D::Wire]],
        operands: &[&[D::Wire]],
    ) -> Result<(), D::Error> {
        self.driver.permute(i, results, operands)
    }

    fn round(&mut self) -> Result<(), D::Error> {
        self.driver.round()
    }

    fn finish(&mut self) -> Result<(), D::Error> {
        self.driver.finish()
    }
}
