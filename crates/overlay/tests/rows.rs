//! A run of two parties in which a device makes the garbler's rows, against the same run in software: bytes on the wire
//! and results. The device is the simulated RTL if the feature `verilator` is on, else the model in Rust. Devices that lie,
//! stop early or give too much end the run, or make its result wrong; nobody waits for ever.

#[cfg(not(feature = "verilator"))]
mod model;
mod parties;

use std::sync::Arc;
use std::thread;

use phineus_bytecode::Table;
use phineus_bytecode::random::{RandomOptions, Seeds, random_inputs, random_program};
use phineus_channels::{MemoryChannel, memory_pair};
use phineus_crypto::{Block, Prg};
use phineus_engine::RunError;
use phineus_ot::SessionId;
use phineus_overlay::device::{Moved, OverlayDevice, Pause, Streams};
use phineus_overlay::garbling::{Garbling, GarblingFigures, GarblingInputs, OpenDevice};
use phineus_overlay::netlist::Netlist;
use phineus_overlay::parameters::Parameters;
use phineus_overlay::record::NetlistDriver;
use phineus_overlay::registers::Register;
use phineus_overlay::row_queue::RowQueue;
use phineus_overlay::stream::Stream;
use phineus_overlay::{MemoryBound, OverlayError, RecordedGates, compile, compile_netlist};
use phineus_plan::Scratch;
use phineus_protocols::ProtocolError;
use phineus_protocols::garbled::row_source::{RowSecrets, RowSource};
use phineus_protocols::garbled::{EVALUATOR, Evaluator, GARBLER, Garbler};

use parties::{Recorded, execute, open, own, planned};

/// A device that does as another one, but for one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// A bit of every row is flipped.
    WrongRows,
    /// After so many rows it gives no more.
    Stops(u64),
    /// It never gives a row, and says that it goes on.
    Hangs,
}

struct FaultyDevice {
    inner: Box<dyn OverlayDevice>,
    fault: Fault,
}

impl OverlayDevice for FaultyDevice {
    fn read(&mut self, register: Register) -> u32 {
        self.inner.read(register)
    }

    fn write(&mut self, register: Register, number: u8, value: u32) {
        self.inner.write(register, number, value);
    }

    fn transfer(&mut self, mut streams: Streams<'_>, moved: &mut Moved) -> Pause {
        let before = moved.rows;
        if self.fault == Fault::Hangs {
            return Pause::Slice;
        }
        if let Fault::Stops(most) = self.fault {
            let left = (most - before).min(streams.rows.len() as u64) as usize;
            if left == 0 {
                return Pause::End;
            }
            streams.rows = &mut streams.rows[..left];
        }
        let rows = &mut *streams.rows;
        let pause = self.inner.transfer(Streams { rows: &mut *rows, ..streams }, moved);
        if self.fault == Fault::WrongRows {
            for row in &mut rows[..(moved.rows - before) as usize] {
                // The half that both values of the input use.
                row.garbler_half ^= Block::from_bits(1 << 77);
                row.evaluator_half ^= Block::from_bits(1 << 3);
            }
        }
        pause
    }
}

fn device(stream: &Stream, fault: Fault) -> OpenDevice {
    #[cfg(feature = "verilator")]
    {
        let _ = stream;
        Box::new(move || {
            let inner = Box::new(phineus_overlay::simulation::Simulation::open());
            Box::new(FaultyDevice { inner, fault })
        })
    }
    #[cfg(not(feature = "verilator"))]
    {
        let stream = stream.clone();
        Box::new(move || {
            let inner = Box::new(model::device::ModelDevice::new(&stream));
            Box::new(FaultyDevice { inner, fault })
        })
    }
}

/// Rows of a device.
struct DeviceRows {
    stream: Arc<Stream>,
    fault: Fault,
    garbling: Arc<std::sync::Mutex<Option<Garbling>>>,
    queue: Option<Arc<RowQueue>>,
    looks: std::cell::Cell<u32>,
}

impl RowSource for DeviceRows {
    fn begin(&mut self, secrets: RowSecrets) -> Result<(), ProtocolError> {
        let RowSecrets { start, delta, labels } = secrets;
        let inputs = GarblingInputs { start, delta, labels };
        let garbling =
            Garbling::begin(device(&self.stream, self.fault), Arc::clone(&self.stream), inputs);
        let garbling = garbling.expect("there are threads");
        self.queue = Some(garbling.rows());
        *self.garbling.lock().expect("nobody panics") = Some(garbling);
        Ok(())
    }

    fn next_rows(&mut self, rows: &mut [u8]) -> Result<(), ProtocolError> {
        // A host that has waited long enough is not wanted any more.
        let is_cancelled = || {
            self.looks.set(self.looks.get() + 1);
            self.fault == Fault::Hangs && self.looks.get() > 3
        };
        let queue = self.queue.as_ref().expect("it has begun");
        queue.take(rows, &is_cancelled).map_err(|_| ProtocolError::NoRows)
    }
}

/// What a run gives: what the garbler sent, results of both, and figures of the device.
struct Ran {
    sent: Vec<u8>,
    outputs: [Vec<Option<Table>>; 2],
    figures: Option<Result<GarblingFigures, OverlayError>>,
}

/// A party, as far as it came.
type Outcome = Result<(Vec<u8>, Vec<Option<Table>>), RunError<ProtocolError>>;

fn run(
    bytes: &[u8],
    tables: &[Table],
    seed: u64,
    rows: Option<(&Arc<Stream>, Fault)>,
) -> Option<Ran> {
    let description = open(bytes).description().clone();
    let (left, right) = memory_pair();
    let session = SessionId::new([7; 32]);
    let garbling = Arc::default();
    let (garbled, evaluated): (Outcome, Outcome) = thread::scope(|scope| {
        let garbler = scope.spawn(|| {
            let mut prg = Prg::from_seed(Block::from_bits(seed.into()));
            let inputs = own(&description, tables, GARBLER);
            let channel: Recorded<MemoryChannel> = Recorded { inner: left, sent: Vec::new() };
            let driver = match rows {
                None => Garbler::new(channel, &mut prg, &session, &description, inputs),
                Some((stream, fault)) => {
                    let source = Box::new(DeviceRows {
                        stream: Arc::clone(stream),
                        fault,
                        garbling: Arc::clone(&garbling),
                        queue: None,
                        looks: std::cell::Cell::new(0),
                    });
                    let upcoming = Box::new(open(bytes).into_inputs());
                    let rows = (source as Box<dyn RowSource>, upcoming as _);
                    Garbler::with_rows(channel, &mut prg, &session, &description, inputs, rows)
                }
            };
            let mut driver = driver.expect("the set-up succeeds");
            execute(bytes, &mut driver)?;
            let (channel, outputs) = driver.into_parts();
            Ok((channel.sent, outputs.into_tables()))
        });
        let mut prg = Prg::from_seed(Block::from_bits(!u128::from(seed)));
        let inputs = own(&description, tables, EVALUATOR);
        let upcoming = Box::new(open(bytes).into_inputs());
        let driver = Evaluator::new(right, &mut prg, &session, &description, inputs, upcoming);
        let mut driver = driver.expect("the set-up succeeds");
        let evaluated = execute(bytes, &mut driver);
        let evaluated = evaluated.map(|()| (Vec::new(), driver.into_parts().1.into_tables()));
        (garbler.join().expect("the garbler does not panic"), evaluated)
    });
    let begun: Option<Garbling> = garbling.lock().expect("nobody panics").take();
    let (Ok((sent, own)), Ok((_, theirs))) = (garbled, evaluated) else { return None };
    Some(Ran { sent, outputs: [own, theirs], figures: begun.map(Garbling::finish) })
}

fn netlist(bytes: &[u8]) -> Netlist {
    let mut driver = NetlistDriver::new(open(bytes).description()).expect("circuits only");
    execute(bytes, &mut driver).expect("the run succeeds");
    driver.into_netlist().expect("it is small")
}

fn is_equal(a: &Ran, b: &Ran) -> bool {
    let rows = |table: &Table| (0..table.row_count()).map(|row| table.row(row)).collect::<Vec<_>>();
    let all = |ran: &Ran| {
        let outputs = ran.outputs.iter().flatten();
        outputs.map(|table| table.as_ref().map(rows)).collect::<Vec<_>>()
    };
    all(a) == all(b)
}

#[test]
fn a_run_with_rows_of_a_device_is_that_of_the_software() {
    let mut seeds = Seeds::fresh();
    for _ in 0..3 {
        let seed = seeds.draw();
        let options = RandomOptions {
            instruction_count: 60,
            width_max: 64,
            wires_max: 1024,
            live_max: 60,
            ..RandomOptions::default()
        };
        let (instructions, description) = random_program(seed, &options);
        let bytes = planned(&instructions, &description);
        let tables = random_inputs(seed, &description);
        let netlist = netlist(&bytes);
        let and_count = netlist.and_count;
        let compiled = compile_netlist(&netlist, Parameters::default(), [0; 32]);
        let stream = Arc::new(compiled.expect("it fits").0);
        let software = run(&bytes, &tables, seed, None).expect("it runs");
        let device = run(&bytes, &tables, seed, Some((&stream, Fault::None))).expect("it runs");
        assert!(software.sent == device.sent, "seed {seed}: other bytes on the wire");
        assert!(is_equal(&software, &device), "seed {seed}: other results");
        let figures = device.figures.expect("a device garbled").expect("it came to its end");
        assert_eq!((figures.cycles, figures.stalls), (stream.cycles(), 0), "seed {seed}");

        println!("seed {seed}: {and_count} gates");
        if and_count < 64 {
            continue;
        }
        let faulty = |fault| run(&bytes, &tables, seed, Some((&stream, fault)));
        assert!(faulty(Fault::Stops(and_count / 2)).is_none(), "seed {seed}: half of the rows");
        assert!(faulty(Fault::Hangs).is_none(), "seed {seed}: no row at all");
        let lied = faulty(Fault::WrongRows);
        if lied.is_some_and(|lied| is_equal(&lied, &software)) {
            // Possible if no output depends on a gate.
            println!("seed {seed}: wrong rows changed nothing");
        }
    }
}

#[test]
fn memory_for_compiling_is_bounded() {
    let seed = Seeds::fresh().draw();
    let options = RandomOptions { instruction_count: 60, ..RandomOptions::default() };
    let (instructions, description) = random_program(seed, &options);
    let bytes = planned(&instructions, &description);
    let all = netlist(&bytes);
    let node_count = all.nodes.len();
    let driver = NetlistDriver::new(open(&bytes).description()).expect("circuits only");
    let mut driver = driver.with_nodes_max(node_count - 1);
    let ran = execute(&bytes, &mut driver).is_ok() && driver.into_netlist().is_ok();
    assert!(!ran, "seed {seed}: one node too many");
    let compiled = |limit| {
        let (bound, scratch) =
            (MemoryBound::of(limit), Scratch::new(std::env::temp_dir(), 1 << 16));
        let gates = RecordedGates::of(&all, &scratch).expect("there is space");
        let compiled = compile(gates, (Parameters::default(), [0; 32]), &scratch, &bound);
        compiled.map(|_| bound.peak_bytes())
    };
    let peak = compiled(u64::MAX).expect("it fits");
    assert_eq!(compiled(peak).expect("it fits"), peak, "seed {seed}");
    assert!(matches!(compiled(peak - 1), Err(OverlayError::Memory { .. })), "seed {seed}");
}
