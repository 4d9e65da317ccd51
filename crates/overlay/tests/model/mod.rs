//! The device as a few lines of Rust: what the words mean, without a pipeline. It checks that no two accesses of a bank
//! collide and that every label is read after its latency.

#![allow(dead_code)] // Not every test uses all of it.

pub mod device;

use phineus_crypto::{AndIndex, Block, Delta, GarbledGate, HalfGates, SecretBit};
use phineus_overlay::parameters::{
    AND_LATENCY, DRAIN_CYCLES, LOAD_LATENCY, MOVE_LATENCY, XOR_LATENCY,
};
use phineus_overlay::schedule::STORED;
use phineus_overlay::stream::Stream;
use phineus_overlay::word::{
    Address, PORT_A, PORT_B, PORT_COPY, PORT_POST, PORT_X, PORT_Y, WRITE_AND, WRITE_LOAD, WRITE_X,
    WRITE_Y, WRITE_Z, Word, WordKind,
};
use zerocopy::IntoBytes;

/// Rows in the order of the gates, labels of false of the outputs, and cycles.
pub fn execute(
    stream: &Stream,
    (start, delta): (Block, &Delta),
    inputs: &[Block],
) -> (Vec<u8>, Vec<Block>, u64) {
    let cell = || Cell {
        memory: vec![(Block::ZERO, 0); stream.parameters.labels() as usize],
        banks: 1 << stream.parameters.bank_bits,
        writes: Vec::new(),
        delta: delta.clone(),
        cycle: 0,
    };
    let mut cells: Vec<Cell> = (0..stream.parameters.cells).map(|_| cell()).collect();
    let gates = HalfGates::new(start);
    let mut rows = vec![0; stream.and_count() as usize * GarbledGate::BYTES];
    let outputs = stream.outputs.iter().filter(|&number| number & STORED == 0).count();
    let (mut outputs, mut stored) = (vec![Block::ZERO; outputs], Vec::new());
    let (mut loads, mut results) = (stream.loads.iter(), stream.outputs.iter());
    let mut cycles = 0;
    for lanes in stream.steps().filter(|lanes| lanes[0].kind != WordKind::Last) {
        cells.iter_mut().zip(&lanes).for_each(|(cell, word)| cell.begin(word));
        let is_result = |word: &Word| word.is_output;
        assert!(lanes.iter().filter(|word| is_result(word)).count() <= 1, "one result in a cycle");
        for (number, word) in lanes.iter().enumerate() {
            let row = cells[number].compute(word, &gates);
            if let Some(row) = row {
                let place = word.index as usize * GarbledGate::BYTES;
                rows[place..place + GarbledGate::BYTES].copy_from_slice(row.as_bytes());
            }
            let x = cells[number].sum(word, PORT_X, 3, 3);
            if let Some((target, to)) = word.moved {
                assert_ne!(usize::from(target), number, "a label moves to another cell");
                cells[usize::from(target)].write(to, x, (MOVE_LATENCY, true));
            }
            if word.is_output {
                match results.next().expect("as many as outputs") {
                    number if number & STORED == 0 => outputs[*number as usize] = x,
                    _ => stored.push(x),
                }
            }
        }
        if lanes.iter().any(|word| word.writes[WRITE_LOAD].is_some()) {
            let label = match loads.next().expect("as many as loads") {
                number if number & STORED == 0 => inputs[*number as usize],
                number => stored[(number & !STORED) as usize],
            };
            for (cell, word) in cells.iter_mut().zip(&lanes) {
                if let Some(to) = word.writes[WRITE_LOAD] {
                    cell.write(to, label, (LOAD_LATENCY, true));
                }
            }
        }
        for (cell, word) in cells.iter_mut().zip(&lanes) {
            assert_eq!(word.idle, lanes[0].idle, "all lanes wait equally long");
            cell.cycle += 1 + u64::from(word.idle);
        }
        cycles = cells[0].cycle;
    }
    assert!(loads.next().is_none() && results.next().is_none(), "all labels were moved");
    (rows, outputs, cycles + 1 + u64::from(DRAIN_CYCLES))
}

struct Cell {
    /// Labels, and the first cycle in which each can be read.
    memory: Vec<(Block, u64)>,
    banks: usize,
    writes: Vec<Write>,
    delta: Delta,
    cycle: u64,
}

/// A write to come.
struct Write {
    /// The last cycle that reads the old label.
    cycle: u64,
    to: Address,
    label: Block,
    /// Whether it takes the load port.
    is_load: bool,
}

impl Cell {
    fn index(&self, address: Address) -> usize {
        address.row as usize * self.banks + usize::from(address.bank)
    }

    /// Lets writes happen, and compares the reads of a word with each other.
    fn begin(&mut self, word: &Word) {
        let now = self.cycle;
        let (done, pending) = self.writes.drain(..).partition(|write| write.cycle < now);
        self.writes = pending;
        let done: Vec<Write> = done;
        for Write { cycle, to, label, .. } in done {
            let index = self.index(to);
            self.memory[index] = (label, cycle + 1);
        }
        for (port, read) in word.reads.iter().enumerate() {
            for (other, second) in word.reads[..port].iter().enumerate() {
                let (Some(first), Some(second)) = (read, second) else { continue };
                let is_same_copy = PORT_COPY[port] == PORT_COPY[other];
                assert!(
                    !is_same_copy || first.bank != second.bank || first.row == second.row,
                    "ports {port} and {other} collide in cycle {now}"
                );
            }
        }
    }

    /// Does what a word says, but loads, moves and outputs; returns the row of its AND.
    fn compute(&mut self, word: &Word, gates: &HalfGates) -> Option<[u8; GarbledGate::BYTES]> {
        for (write, port, not) in [(WRITE_X, PORT_X, 3), (WRITE_Y, PORT_Y, 4)] {
            if let Some(to) = word.writes[write] {
                let label = self.sum(word, port, 3, not);
                self.write(to, label, (XOR_LATENCY, false));
            }
        }
        if let Some(to) = word.writes[WRITE_Z] {
            let label = self.sum_of(word.terms(), word.nots[5]);
            self.write(to, label, (XOR_LATENCY, false));
        }
        let to = word.writes[WRITE_AND]?;
        let a = [self.sum(word, PORT_A, 2, 0)];
        let b = [self.sum(word, PORT_B, 2, 1)];
        let (mut out, mut row) = ([Block::ZERO], [0; GarbledGate::BYTES]);
        gates.garble(&self.delta, AndIndex(word.index.into()), &a, &b, &mut out, &mut row);
        let label = out[0] ^ self.sum(word, PORT_POST, 2, 2);
        self.write(to, label, (AND_LATENCY, false));
        Some(row)
    }

    fn write(&mut self, to: Address, label: Block, (latency, is_load): (u32, bool)) {
        let cycle = self.cycle + u64::from(latency) - 1;
        let collides = |other: &Write| {
            other.cycle == cycle && (other.to.bank == to.bank || is_load && other.is_load)
        };
        assert!(!self.writes.iter().any(collides), "two writes of a bank in cycle {cycle}");
        self.writes.push(Write { cycle, to, label, is_load });
    }

    fn sum(&self, word: &Word, first: usize, ports: usize, not: usize) -> Block {
        self.sum_of(word.operands(first, ports), word.nots[not])
    }

    fn sum_of(&self, addresses: impl Iterator<Item = Address>, is_not: bool) -> Block {
        let flip = self.delta.block().and_bit(SecretBit::public(is_not));
        addresses.fold(flip, |sum, address| sum ^ self.memory[self.index(address)].0)
    }
}
