//! [`OverlayDevice`]: what the host needs of a device; [`garble`] and [`evaluate`]: a run on it.

use phineus_crypto::{Block, Delta, GarbledGate};
use zerocopy::{FromBytes, IntoBytes};

use crate::OverlayError;
use crate::registers::{self, Register};
use crate::schedule::STORED;
use crate::stream::Stream;

/// The streams of a run, and how much of each was moved.
pub struct Streams<'a> {
    /// Header and words.
    pub quads: &'a [u64],
    /// Labels in the order of the loads: of false to garble, active ones to evaluate.
    pub labels: &'a [Block],
    /// The result that a load takes its label from, if the host stores it for a time; else [`NO_RESULT`].
    pub label_results: &'a [u64],
    /// Rows in the order of issue, to evaluate.
    pub rows_in: &'a [GarbledGate],
    /// Rows in the order of issue, from garbling.
    pub rows: &'a mut [GarbledGate],
    /// Labels of the outputs, in the order of issue.
    pub results: &'a mut [Block],
}

/// Mark of a load whose label is in [`Streams::labels`].
pub const NO_RESULT: u64 = u64::MAX;

/// A device. The simulation (`simulation.rs`, feature `verilator`) is the only one today.
pub trait OverlayDevice {
    /// Reads a register.
    fn read(&mut self, register: Register) -> u32;

    /// Writes register `number` of those that begin at `register`.
    fn write(&mut self, register: Register, number: u8, value: u32);

    /// Moves the streams until everything was moved, or the device takes and gives nothing more. Returns how many rows and
    /// results came.
    fn transfer(&mut self, streams: Streams<'_>) -> (usize, usize);
}

/// What garbling gives.
pub struct Garbled {
    /// Rows in the order of the gates: the bytes that a software garbler sends.
    pub rows: Vec<u8>,
    /// Labels of false of the outputs, in their order.
    pub outputs: Vec<Block>,
    /// Cycles in which the pipeline moved.
    pub cycles: u64,
    /// Cycles in which it waited for the host.
    pub stalls: u64,
}

/// What evaluating gives.
pub struct Evaluated {
    /// Active labels of the outputs, in their order.
    pub outputs: Vec<Block>,
    /// Cycles in which the pipeline moved.
    pub cycles: u64,
    /// Cycles in which it waited for the host.
    pub stalls: u64,
}

/// Garbles the program of `stream` on a device; `inputs` are labels of false.
///
/// # Errors
/// [`OverlayError::Stopped`] if the device refuses the stream or does not come to its end.
///
/// # Panics
/// If there is not one label for each input.
pub fn garble(
    device: &mut dyn OverlayDevice,
    stream: &Stream,
    (start, delta): (Block, &Delta),
    inputs: &[Block],
) -> Result<Garbled, OverlayError> {
    write_block(device, registers::START, start);
    write_block(device, registers::DELTA, delta.block());
    device.write(registers::CONTROL, 0, registers::CONTROL_GARBLE);
    let mut issued = vec![GarbledGate::default(); stream.and_count() as usize];
    let (outputs, [cycles, stalls]) = transfer(device, stream, inputs, (&[], &mut issued))?;
    let mut rows = vec![0; issued.len() * GarbledGate::BYTES];
    for (gate, row) in gates(stream).zip(&issued) {
        let place = gate * GarbledGate::BYTES;
        rows[place..place + GarbledGate::BYTES].copy_from_slice(row.as_bytes());
    }
    Ok(Garbled { rows, outputs, cycles, stalls })
}

/// Evaluates the program of `stream` on a device; `inputs` are active labels, `rows` those of all gates in their order.
///
/// # Errors
/// As [`garble`].
///
/// # Panics
/// If there is not one label for each input, and one row for each gate.
pub fn evaluate(
    device: &mut dyn OverlayDevice,
    stream: &Stream,
    start: Block,
    inputs: &[Block],
    rows: &[u8],
) -> Result<Evaluated, OverlayError> {
    write_block(device, registers::START, start);
    device.write(registers::CONTROL, 0, registers::CONTROL_EVALUATE);
    let row = |gate: usize| {
        let place = gate * GarbledGate::BYTES;
        let row = &rows[place..place + GarbledGate::BYTES];
        GarbledGate::read_from_bytes(row).expect("the slice has the size of a row")
    };
    let rows: Vec<GarbledGate> = gates(stream).map(row).collect();
    let (outputs, [cycles, stalls]) = transfer(device, stream, inputs, (&rows, &mut []))?;
    Ok(Evaluated { outputs, cycles, stalls })
}

fn write_block(device: &mut dyn OverlayDevice, register: Register, value: Block) {
    for number in 0..4 {
        device.write(register, number, (value.to_bits() >> (32 * number)) as u32);
    }
}

/// Numbers of the gates in the order of issue.
fn gates(stream: &Stream) -> impl Iterator<Item = usize> {
    stream.words().filter(|word| word.has_and()).map(|word| word.index as usize)
}

/// Moves the streams of a run, and returns the labels of the outputs, cycles and stalls.
fn transfer(
    device: &mut dyn OverlayDevice,
    stream: &Stream,
    inputs: &[Block],
    (rows_in, rows): (&[GarbledGate], &mut [GarbledGate]),
) -> Result<(Vec<Block>, [u64; 2]), OverlayError> {
    let (labels, label_results) = loads(stream, inputs);
    let mut results = vec![Block::ZERO; stream.outputs.len()];
    let wanted = (rows.len(), results.len());
    let moved = device.transfer(Streams {
        quads: &stream.quads,
        labels: &labels,
        label_results: &label_results,
        rows_in,
        rows,
        results: &mut results,
    });
    let status = device.read(registers::STATUS);
    let mut long = |low, high| u64::from(device.read(low)) | u64::from(device.read(high)) << 32;
    let cycles = long(registers::CYCLES_LOW, registers::CYCLES_HIGH);
    let stalls = long(registers::STALLS_LOW, registers::STALLS_HIGH);
    let word = long(registers::WORDS_LOW, registers::WORDS_HIGH).saturating_sub(1);
    if let Some(reason) = registers::error_meaning(status) {
        return Err(OverlayError::Stopped { word, reason });
    }
    if status & registers::STATUS_DONE == 0 || moved != wanted {
        return Err(OverlayError::Stopped { word, reason: "it waits for more of the stream" });
    }
    let is_output = |number: &u32| number & STORED == 0;
    let output_count = stream.outputs.iter().filter(|&number| is_output(number)).count();
    let mut outputs = vec![Block::ZERO; output_count];
    for (&output, &label) in stream.outputs.iter().zip(&results).filter(|(n, _)| is_output(n)) {
        outputs[output as usize] = label;
    }
    Ok((outputs, [cycles, stalls]))
}

/// Labels in the order of the loads, and the results that some of them are.
fn loads(stream: &Stream, inputs: &[Block]) -> (Vec<Block>, Vec<u64>) {
    let mut stored = Vec::new();
    for (result, &number) in (0..).zip(&stream.outputs) {
        if number & STORED != 0 {
            // Spills are numbered in the order of their results.
            assert_eq!(number, STORED | stored.len() as u32, "the stream was checked");
            stored.push(result);
        }
    }
    let load = |&number: &u32| match number & STORED {
        0 => (inputs[number as usize], NO_RESULT),
        _ => (Block::ZERO, stored[(number & !STORED) as usize]),
    };
    stream.loads.iter().map(load).unzip()
}
