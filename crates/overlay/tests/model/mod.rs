//! The device as a few lines of Rust: what the words mean, without a pipeline. It checks that no two accesses of a bank
//! collide and that every label is read after its latency.

#![allow(dead_code)] // Not every test uses all of it.

pub mod device;

use phineus_crypto::{AndIndex, Block, Delta, GarbledGate, HalfGates, SecretBit};
use phineus_overlay::parameters::{AND_LATENCY, DRAIN_CYCLES, LOAD_LATENCY, XOR_LATENCY};
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
    let mut device = Device {
        memory: vec![(Block::ZERO, 0); stream.parameters.labels() as usize],
        banks: 1 << stream.parameters.bank_bits,
        writes: Vec::new(),
        delta: delta.clone(),
        cycle: 0,
    };
    let gates = HalfGates::new(start);
    let mut rows = vec![0; stream.and_count() as usize * GarbledGate::BYTES];
    let outputs = stream.outputs.iter().filter(|&number| number & STORED == 0).count();
    let (mut outputs, mut stored) = (vec![Block::ZERO; outputs], Vec::new());
    let (mut loads, mut results) = (stream.loads.iter(), stream.outputs.iter());
    for word in stream.words().filter(|word| word.kind != WordKind::Last) {
        device.begin(&word);
        if let Some(to) = word.writes[WRITE_AND] {
            let a = [device.sum(&word, PORT_A, 2, 0)];
            let b = [device.sum(&word, PORT_B, 2, 1)];
            let (mut out, mut row) = ([Block::ZERO], [0; GarbledGate::BYTES]);
            gates.garble(delta, AndIndex(word.index.into()), &a, &b, &mut out, &mut row);
            let place = word.index as usize * GarbledGate::BYTES;
            rows[place..place + GarbledGate::BYTES].copy_from_slice(row.as_bytes());
            let label = out[0] ^ device.sum(&word, PORT_POST, 2, 2);
            device.write(to, label, AND_LATENCY);
        }
        for (write, port, not) in [(WRITE_X, PORT_X, 3), (WRITE_Y, PORT_Y, 4)] {
            if let Some(to) = word.writes[write] {
                let label = device.sum(&word, port, 3, not);
                device.write(to, label, XOR_LATENCY);
            }
        }
        if let Some(to) = word.writes[WRITE_Z] {
            let label = device.sum_of(word.terms(), word.nots[5]);
            device.write(to, label, XOR_LATENCY);
        }
        if word.is_output {
            let label = device.sum(&word, PORT_X, 3, 3);
            match results.next().expect("as many as outputs") {
                number if number & STORED == 0 => outputs[*number as usize] = label,
                _ => stored.push(label),
            }
        }
        if let Some(to) = word.writes[WRITE_LOAD] {
            let label = match loads.next().expect("as many as loads") {
                number if number & STORED == 0 => inputs[*number as usize],
                number => stored[(number & !STORED) as usize],
            };
            device.write(to, label, LOAD_LATENCY);
        }
        device.cycle += 1 + u64::from(word.idle);
    }
    assert!(loads.next().is_none() && results.next().is_none(), "all labels were moved");
    (rows, outputs, device.cycle + 1 + u64::from(DRAIN_CYCLES))
}

struct Device {
    /// Labels, and the first cycle in which each can be read.
    memory: Vec<(Block, u64)>,
    banks: usize,
    /// Writes to come: the last cycle that reads the old label, place, label.
    writes: Vec<(u64, Address, Block)>,
    delta: Delta,
    cycle: u64,
}

impl Device {
    fn index(&self, address: Address) -> usize {
        address.row as usize * self.banks + usize::from(address.bank)
    }

    /// Lets writes happen, and compares the reads of a word with each other.
    fn begin(&mut self, word: &Word) {
        let now = self.cycle;
        let (done, pending) = self.writes.drain(..).partition(|&(cycle, _, _)| cycle < now);
        self.writes = pending;
        let done: Vec<(u64, Address, Block)> = done;
        for (cycle, address, label) in done {
            let index = self.index(address);
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

    fn write(&mut self, address: Address, label: Block, latency: u32) {
        let cycle = self.cycle + u64::from(latency) - 1;
        let collides =
            |&(other, to, _): &(u64, Address, Block)| other == cycle && to.bank == address.bank;
        assert!(!self.writes.iter().any(collides), "two writes of a bank in cycle {cycle}");
        self.writes.push((cycle, address, label));
    }

    fn sum(&self, word: &Word, first: usize, ports: usize, not: usize) -> Block {
        self.sum_of(word.operands(first, ports), word.nots[not])
    }

    fn sum_of(&self, addresses: impl Iterator<Item = Address>, is_not: bool) -> Block {
        let flip = self.delta.block().and_bit(SecretBit::public(is_not));
        addresses.fold(flip, |sum, address| sum ^ self.memory[self.index(address)].0)
    }
}
