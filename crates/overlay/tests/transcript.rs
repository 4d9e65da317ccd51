//! What the garbler of the protocol sends, byte for byte, from the rows and output labels of the overlay: random programs,
//! planned for little memory. The overlay is the simulated RTL if the feature `verilator` is on, else the model in Rust.

#[cfg(not(feature = "verilator"))]
mod model;

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom, Write};
use std::thread;

use phineus_bytecode::random::{RandomOptions, Seeds, random_inputs, random_program};
use phineus_bytecode::{
    Description, FileKind, Instruction, Layout, PortOrder, ProgramReader, ProgramWriter, Table,
};
use phineus_channels::{Channel, ChannelError, Traffic, memory_pair};
use phineus_crypto::{Block, Delta, Prg, SecretBit};
use phineus_engine::{
    Driver, FrameMemory, Inputs, RunMemory, Storage, StorageBackend, StorageConfig, run, to_bits,
};
use phineus_ot::SessionId;
use phineus_overlay::OverlayError;
use phineus_overlay::netlist::{Netlist, NetlistWire};
use phineus_overlay::operations::operations;
use phineus_overlay::parameters::Parameters;
use phineus_overlay::record::NetlistDriver;
use phineus_overlay::schedule::schedule;
use phineus_overlay::stream::Stream;
use phineus_plan::{Lookahead, PlanOptions, plan};
use phineus_protocols::garbled::{EVALUATOR, Evaluator, GARBLER, GarbledCosts, Garbler};
use zerocopy::IntoBytes;

/// A file that begins with `bytes`.
fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("space on the disk");
    file.seek(SeekFrom::Start(0)).expect("a file can be rewound");
    file
}

fn open(bytes: &[u8]) -> ProgramReader<BufReader<File>> {
    ProgramReader::open(BufReader::new(file(bytes))).expect("just written")
}

fn planned(instructions: &[Instruction], description: &Description) -> Vec<u8> {
    let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("memory");
    instructions.iter().for_each(|i| writer.push(i).expect("memory"));
    let program = writer.finish(description).expect("a valid description").0;
    let options = PlanOptions {
        protocol: "garbled".to_string(),
        optimisation: Default::default(),
        port_order: PortOrder::Near,
        memory_limit_bytes: 0,
        region_frames: 0,
        frame_count: 16,
        computing: None,
        layout: Layout::wires(16),
        page_wires: 4096,
        lookahead: Lookahead { time_ns: 100_000, frames: 4 },
        planner_memory_bytes: 64 << 20,
    };
    let scratch = tempfile::tempfile().expect("a temporary file");
    let mut costs = GarbledCosts::default();
    plan(&mut open(&program), Vec::new(), scratch, &options, &mut costs).expect("it fits").0
}

fn execute<D: Driver>(bytes: &[u8], driver: &mut D) {
    let mut reader = open(bytes);
    let plan = reader.description().plan.clone().expect("planned");
    let page_bytes = plan.page_bytes() as u32;
    let frames = FrameMemory::new(plan.frame_count.max(1) as u32, page_bytes).expect("memory");
    let config = StorageConfig {
        directory: std::env::temp_dir(),
        page_bytes,
        slots: plan.spill_slot_count as u32,
        backend: StorageBackend::Auto,
        depth: 16,
    };
    let storage =
        (plan.spill_slot_count > 0).then(|| Storage::new(&config, &frames).expect("a swap file"));
    let mut memory = RunMemory::new(frames, storage);
    run(&mut reader, driver, &mut memory, &mut |_| true).expect("the run succeeds");
}

/// Records all that is sent.
struct Recorded<C> {
    inner: C,
    sent: Vec<u8>,
}

impl<C: Channel> Channel for Recorded<C> {
    fn send_with<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ChannelError> {
        let sent = &mut self.sent;
        self.inner.send_with(len, |bytes| {
            let result = fill(bytes);
            sent.extend_from_slice(bytes);
            result
        })
    }

    fn recv_with<R>(
        &mut self,
        len: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ChannelError> {
        self.inner.recv_with(len, read)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        self.inner.flush()
    }

    fn traffic(&self) -> Traffic {
        self.inner.traffic()
    }
}

fn own(description: &Description, tables: &[Table], party: u16) -> Inputs {
    let ports = description.inputs.iter().zip(tables);
    let mine = ports.map(|(port, table)| (port.party == party).then(|| table.clone()));
    Inputs::new(description, mine.collect()).expect("tables fit")
}

/// What the garbler sends in a run with the software evaluator.
fn sent(bytes: &[u8], tables: &[Table], seed: u128) -> Vec<u8> {
    let description = open(bytes).description().clone();
    let (left, right) = memory_pair();
    let session = SessionId::new([7; 32]);
    thread::scope(|scope| {
        let garbler = scope.spawn(|| {
            let mut prg = Prg::from_seed(Block::from_bits(seed));
            let inputs = own(&description, tables, GARBLER);
            let channel = Recorded { inner: left, sent: Vec::new() };
            let driver = Garbler::new(channel, &mut prg, &session, &description, inputs);
            let mut driver = driver.expect("the set-up succeeds");
            execute(bytes, &mut driver);
            driver.into_parts().0.sent
        });
        let mut prg = Prg::from_seed(Block::from_bits(!seed));
        let inputs = own(&description, tables, EVALUATOR);
        let upcoming = Box::new(open(bytes).into_inputs());
        let driver = Evaluator::new(right, &mut prg, &session, &description, inputs, upcoming);
        execute(bytes, &mut driver.expect("the set-up succeeds"));
        garbler.join().expect("the garbler succeeds")
    })
}

/// Records gates, bits of the inputs, and after how many gates which outputs are sent.
struct Recorder {
    netlist: NetlistDriver,
    description: Description,
    inputs: Inputs,
    bits: Vec<u8>,
    sent: Vec<(u64, std::ops::Range<usize>)>,
}

impl Driver for Recorder {
    type Wire = NetlistWire;
    type Error = OverlayError;

    fn input(&mut self, i: &Instruction, wires: &mut [NetlistWire]) -> Result<(), OverlayError> {
        let mut bits = vec![0; wires.len()];
        to_bits(self.inputs.lanes(i), i.lanes as usize, &mut bits);
        self.bits.extend(bits);
        self.netlist.input(i, wires)
    }

    fn output(&mut self, i: &Instruction, wires: &[NetlistWire]) -> Result<(), OverlayError> {
        let (gates, first) = self.netlist.counts();
        let port = &self.description.outputs[i.immediates[0] as usize];
        if port.parties.contains(&EVALUATOR) {
            self.sent.push((gates, first..first + wires.len()));
        }
        self.netlist.output(i, wires)
    }

    fn compute(
        &mut self,
        i: &Instruction,
        results: &mut [&mut [NetlistWire]],
        operands: &[&[NetlistWire]],
    ) -> Result<(), OverlayError> {
        self.netlist.compute(i, results, operands)
    }

    fn finish(&mut self) -> Result<(), OverlayError> {
        self.netlist.finish()
    }
}

/// Rows in the order of the gates, and labels of false of the outputs.
fn garble(netlist: &Netlist, secrets: (Block, &Delta), inputs: &[Block]) -> (Vec<u8>, Vec<Block>) {
    let parameters = Parameters::default();
    let schedule = schedule(&operations(netlist), parameters).expect("it fits");
    let stream = Stream::new(&schedule, parameters, [0; 32]);
    #[cfg(feature = "verilator")]
    {
        let mut device = phineus_overlay::simulation::Simulation::open();
        let garbled = phineus_overlay::device::garble(&mut device, &stream, secrets, inputs);
        let garbled = garbled.expect("it runs");
        assert_eq!(garbled.cycles, stream.cycles());
        (garbled.rows, garbled.outputs)
    }
    #[cfg(not(feature = "verilator"))]
    {
        let (rows, outputs, cycles) = model::execute(&stream, secrets, inputs);
        assert_eq!(cycles, stream.cycles());
        (rows, outputs)
    }
}

#[test]
fn the_garbler_sends_what_the_overlay_gives() {
    let mut seeds = Seeds::fresh();
    for _ in 0..4 {
        let seed = seeds.draw();
        let options = RandomOptions {
            party_count: 1,
            instruction_count: 60,
            width_max: 64,
            wires_max: 1024,
            live_max: 60,
            ..RandomOptions::default()
        };
        let (instructions, mut description) = random_program(seed, &options);
        description.parties = vec!["a".to_string(), "b".to_string()];
        description.outputs.iter_mut().for_each(|port| port.parties = vec![GARBLER, EVALUATOR]);
        let bytes = planned(&instructions, &description);
        let tables = random_inputs(seed, &description);
        let software = sent(&bytes, &tables, seed.into());

        let description = open(&bytes).description().clone();
        let mut recorder = Recorder {
            netlist: NetlistDriver::new(&description).expect("circuits only"),
            inputs: own(&description, &tables, GARBLER),
            description,
            bits: Vec::new(),
            sent: Vec::new(),
        };
        execute(&bytes, &mut recorder);
        let mut prg = Prg::from_seed(Block::from_bits(seed.into()));
        let (start, label_seed) = (prg.next_block(), prg.next_block());
        let delta = Delta::random(&mut prg);
        let mut labels = vec![Block::ZERO; recorder.bits.len()];
        Prg::from_seed(label_seed).fill_blocks(&mut labels);
        for (label, &bit) in labels.iter_mut().zip(&recorder.bits) {
            *label ^= delta.block().and_bit(SecretBit::lowest(bit.into()));
        }
        let netlist = recorder.netlist.into_netlist().expect("it is small");
        let (rows, outputs) = garble(&netlist, (start, &delta), &labels);

        let mut expected = [start, label_seed].as_bytes().to_vec();
        let mut gates_sent = 0;
        for (gates, range) in recorder.sent {
            expected.extend(&rows[32 * gates_sent..32 * gates as usize]);
            gates_sent = gates as usize;
            let mut packed = vec![0; range.len().div_ceil(8)];
            for (i, label) in outputs[range].iter().enumerate() {
                packed[i / 8] |= (label.select_u64() as u8) << (i % 8);
            }
            expected.extend(packed);
        }
        expected.extend(&rows[32 * gates_sent..]);
        assert!(software == expected, "seed {seed}: {} gates", netlist.and_count);
    }
}
