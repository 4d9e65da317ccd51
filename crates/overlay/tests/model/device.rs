//! The model as a device: it computes when the first row is asked for, and gives rows in the order of issue.

use phineus_crypto::{Block, Delta, GarbledGate};
use phineus_overlay::device::{Moved, OverlayDevice, Pause, Streams};
use phineus_overlay::registers::{self, Register};
use phineus_overlay::schedule::STORED;
use phineus_overlay::stream::Stream;
use zerocopy::FromBytes;

use super::execute;

/// A device for one stream.
pub struct ModelDevice {
    stream: Stream,
    start: [u32; 4],
    delta: [u32; 4],
    rows: Vec<GarbledGate>,
    cycles: u64,
    is_done: bool,
}

impl ModelDevice {
    pub fn new(stream: &Stream) -> ModelDevice {
        ModelDevice {
            stream: stream.clone(),
            start: [0; 4],
            delta: [0; 4],
            rows: Vec::new(),
            cycles: 0,
            is_done: false,
        }
    }

    fn compute(&mut self, labels: &[Block], results: &mut [Block]) {
        let block = |words: [u32; 4]| {
            let bits = words.iter().rev().fold(0, |bits, &word| bits << 32 | u128::from(word));
            Block::from_bits(bits)
        };
        let count = self.stream.loads.iter().filter(|&load| load & STORED == 0).max();
        let mut inputs = vec![Block::ZERO; count.map_or(0, |&last| last as usize + 1)];
        for (&load, &label) in
            self.stream.loads.iter().zip(labels).filter(|(l, _)| *l & STORED == 0)
        {
            inputs[load as usize] = label;
        }
        let delta = Delta::from_block(block(self.delta));
        let (rows, outputs, cycles) = execute(&self.stream, (block(self.start), &delta), &inputs);
        let issued = self.stream.words().filter(|word| word.has_and());
        let row = |gate: usize| {
            let row = &rows[gate * GarbledGate::BYTES..][..GarbledGate::BYTES];
            GarbledGate::read_from_bytes(row).expect("the slice has the size of a row")
        };
        self.rows = issued.map(|word| row(word.index as usize)).collect();
        for (result, &output) in results.iter_mut().zip(&self.stream.outputs) {
            if output & STORED == 0 {
                *result = outputs[output as usize];
            }
        }
        self.cycles = cycles;
        self.is_done = true;
    }
}

impl OverlayDevice for ModelDevice {
    fn read(&mut self, register: Register) -> u32 {
        match register {
            registers::STATUS => registers::STATUS_DONE,
            registers::CYCLES_LOW => self.cycles as u32,
            registers::CYCLES_HIGH => (self.cycles >> 32) as u32,
            _ => 0,
        }
    }

    fn write(&mut self, register: Register, number: u8, value: u32) {
        match register {
            registers::START => self.start[usize::from(number)] = value,
            registers::DELTA => self.delta[usize::from(number)] = value,
            _ => {}
        }
    }

    fn transfer(&mut self, streams: Streams<'_>, moved: &mut Moved) -> Pause {
        if !self.is_done {
            self.compute(streams.labels, streams.results);
            moved.results = streams.results.len() as u64;
            return Pause::Slice;
        }
        let left = &self.rows[moved.rows as usize..];
        let count = left.len().min(streams.rows.len());
        streams.rows[..count].copy_from_slice(&left[..count]);
        moved.rows += count as u64;
        if count < left.len() { Pause::Space } else { Pause::End }
    }
}
