//! What the garbler of the protocol sends, byte for byte, from the rows and output labels of the overlay: random programs,
//! planned for little memory. The overlay is the simulated RTL if the feature `verilator` is on, else the model in Rust.

#[cfg(not(feature = "verilator"))]
mod model;
mod parties;

use std::thread;

use phineus_bytecode::random::{RandomOptions, Seeds, random_inputs, random_program};
use phineus_bytecode::{Description, Instruction, Table};
use phineus_channels::memory_pair;
use phineus_crypto::{Block, Delta, Prg, SecretBit};
use phineus_engine::{Driver, Inputs, to_bits};
use phineus_ot::SessionId;
use phineus_overlay::netlist::{Netlist, NetlistWire};
use phineus_overlay::parameters::Parameters;
use phineus_overlay::record::NetlistDriver;
use phineus_overlay::{OverlayError, compile_netlist};
use phineus_protocols::garbled::{EVALUATOR, Evaluator, GARBLER, Garbler};
use zerocopy::IntoBytes;

use parties::{Recorded, execute, open, own, planned};

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
            execute(bytes, &mut driver).expect("the run succeeds");
            driver.into_parts().0.sent
        });
        let mut prg = Prg::from_seed(Block::from_bits(!seed));
        let inputs = own(&description, tables, EVALUATOR);
        let upcoming = Box::new(open(bytes).into_inputs());
        let driver = Evaluator::new(right, &mut prg, &session, &description, inputs, upcoming);
        execute(bytes, &mut driver.expect("the set-up succeeds")).expect("the run succeeds");
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
    let stream = compile_netlist(netlist, parameters, [0; 32]).expect("it fits").0;
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
        execute(&bytes, &mut recorder).expect("the run succeeds");
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
