//! [`OverlayDevice`]: what the host needs of a device; [`garble`] and [`evaluate`]: a run on it.

use phineus_crypto::{Block, Delta, GarbledGate};
use zerocopy::{FromBytes, IntoBytes};
use zeroize::Zeroizing;

use crate::OverlayError;
use crate::memory_image::MemoryLayout;
use crate::registers::{self, Register};
use crate::schedule::STORED;
use crate::stream::Stream;
use crate::word::Word;

/// The streams of a run.
pub struct Streams<'a> {
    /// Header and words; none if they are in memory beside the device.
    pub quads: &'a [u64],
    /// Labels in the order of the loads: of false to garble, active ones to evaluate. If there is memory beside the device,
    /// it stores labels itself, and those are in neither this list nor the results.
    pub labels: &'a [Block],
    /// The result that a load takes its label from, if the host stores it for a time; else [`NO_RESULT`].
    pub label_results: &'a [u64],
    /// Beats of rows in the order of issue, to evaluate: of each word with an AND a row for each cell, used or not.
    pub rows_in: &'a [GarbledGate],
    /// Space for the next rows, in the order of issue, from garbling.
    pub rows: &'a mut [GarbledGate],
    /// Labels of the outputs, in the order of issue.
    pub results: &'a mut [Block],
}

/// Mark of a load whose label is in [`Streams::labels`].
pub const NO_RESULT: u64 = u64::MAX;

/// How many items of each stream were moved since a run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Words, with the header.
    pub words: u64,
    /// Labels of inputs, and those that were stored.
    pub labels: u64,
    /// Beats of rows to evaluate.
    pub rows_in: u64,
    /// Rows from garbling.
    pub rows: u64,
    /// Labels of outputs, and those to store.
    pub results: u64,
}

/// Why a transfer returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The next row has no space.
    Space,
    /// To let the host look whether the run is still wanted.
    Slice,
    /// Everything was moved, or the device takes and gives nothing more.
    End,
}

/// A device. The simulation (`simulation.rs`, feature `verilator`) is the only one today.
pub trait OverlayDevice {
    /// Reads a register.
    fn read(&mut self, register: Register) -> u32;

    /// Writes register `number` of those that begin at `register`.
    fn write(&mut self, register: Register, number: u8, value: u32);

    /// Where the parts of a [`MemoryImage`](crate::memory_image::MemoryImage) of the stream are in memory beside the device;
    /// none if the host sends words, and stores labels.
    fn memory(&self) -> Option<MemoryLayout> {
        None
    }

    /// Moves the streams on from where `moved` says, and adds to it what was moved. A device waits for nothing while
    /// its host is between two transfers.
    fn transfer(&mut self, streams: Streams<'_>, moved: &mut Moved) -> Pause;
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

/// The labels that a run gives, and what it took.
pub struct DeviceResult {
    /// Labels of the outputs, in their order: active ones of an evaluator, those of false of a garbler.
    pub outputs: Vec<Block>,
    /// Cycles in which the pipeline moved.
    pub cycles: u64,
    /// Cycles in which it waited for the host.
    pub stalls: u64,
}

/// Rows that [`garble_in_pieces`] gives at once: 16 KiB, and some thousand clocks of a simulation.
pub const PIECE_ROWS: usize = 512;

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
    secrets: (Block, &Delta),
    inputs: &[Block],
) -> Result<Garbled, OverlayError> {
    let mut issued = Vec::with_capacity(stream.and_count() as usize);
    let ended = garble_in_pieces(device, stream, secrets, inputs, &mut |piece| {
        issued.extend_from_slice(piece);
        true
    })?;
    // A stream that came to its end has no damaged word.
    let mut rows = vec![0; issued.len() * GarbledGate::BYTES];
    for (gate, row) in gates(stream).zip(&issued) {
        let place = gate * GarbledGate::BYTES;
        rows[place..place + GarbledGate::BYTES].copy_from_slice(row.as_bytes());
    }
    Ok(Garbled { rows, outputs: ended.outputs, cycles: ended.cycles, stalls: ended.stalls })
}

/// As [`garble`]; calls `give` with the next rows in the order of issue, or with none from time to time, until it returns
/// false.
///
/// # Errors
/// As [`garble`], and [`OverlayError::Interrupted`] if `give` returned false.
///
/// # Panics
/// As [`garble`].
pub fn garble_in_pieces(
    device: &mut dyn OverlayDevice,
    stream: &Stream,
    (start, delta): (Block, &Delta),
    inputs: &[Block],
    give: &mut dyn FnMut(&[GarbledGate]) -> bool,
) -> Result<DeviceResult, OverlayError> {
    write_block(device, registers::START, start);
    write_block(device, registers::DELTA, delta.block());
    begin(device, registers::CONTROL_GARBLE)?;
    let ended = transfer(device, stream, inputs, &[], give);
    write_block(device, registers::DELTA, Block::ZERO);
    ended
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
) -> Result<DeviceResult, OverlayError> {
    write_block(device, registers::START, start);
    begin(device, registers::CONTROL_EVALUATE)?;
    let row = |gate: usize| {
        let place = gate * GarbledGate::BYTES;
        let row = &rows[place..place + GarbledGate::BYTES];
        GarbledGate::read_from_bytes(row).expect("the slice has the size of a row")
    };
    let is_used = |lanes: &Vec<Word>| lanes.iter().any(Word::has_and);
    let beats = stream.steps().filter(is_used).flatten();
    let unused = GarbledGate::default();
    let place = |word: Word| if word.has_and() { row(word.index as usize) } else { unused };
    let rows: Vec<GarbledGate> = beats.map(place).collect();
    transfer(device, stream, inputs, &rows, &mut |_| true)
}

/// Times that the host looks whether reads of the run before have ended. A memory takes much less long for them.
const LOOKS_MAX: u32 = 1 << 16;

/// Begins a run, when the device is ready for it.
fn begin(device: &mut dyn OverlayDevice, control: u32) -> Result<(), OverlayError> {
    let is_busy = |device: &mut dyn OverlayDevice| {
        device.read(registers::STATUS) & registers::STATUS_BUSY != 0
    };
    if (0..LOOKS_MAX).all(|_| is_busy(device)) {
        return Err(OverlayError::Stopped { word: 0, reason: "it is in another run" });
    }
    let Some(layout) = device.memory() else {
        device.write(registers::CONTROL, 0, control);
        return Ok(());
    };
    device.write(registers::WORD_COUNT, 0, layout.word_count);
    device.write(registers::FILL_OFFSET, 0, layout.fill_offset);
    device.write(registers::FILL_COUNT, 0, layout.fill_count);
    device.write(registers::LABEL_OFFSET, 0, layout.label_offset);
    for cell in 0..device.read(registers::CELLS) as u8 {
        device.write(registers::WORD_BASE, 2 * cell, layout.base as u32);
        device.write(registers::WORD_BASE, 2 * cell + 1, (layout.base >> 32) as u32);
    }
    device.write(registers::CONTROL, 0, control | registers::CONTROL_MEMORY);
    Ok(())
}

fn write_block(device: &mut dyn OverlayDevice, register: Register, value: Block) {
    for number in 0..4 {
        device.write(register, number, (value.to_bits() >> (32 * number)) as u32);
    }
}

/// Numbers of the gates in the order of issue.
pub(crate) fn gates(stream: &Stream) -> impl Iterator<Item = usize> {
    stream.words().filter(|word| word.has_and()).map(|word| word.index as usize)
}

/// Moves the streams of a run; `give` gets the rows that come, unless rows go in.
fn transfer(
    device: &mut dyn OverlayDevice,
    stream: &Stream,
    inputs: &[Block],
    rows_in: &[GarbledGate],
    give: &mut dyn FnMut(&[GarbledGate]) -> bool,
) -> Result<DeviceResult, OverlayError> {
    let has_memory = device.memory().is_some();
    let (labels, label_results) = loads(stream, inputs, has_memory);
    // Those that the host gets.
    let given = |number: &&u32| !has_memory || *number & STORED == 0;
    let given: Vec<u32> = stream.outputs.iter().filter(given).copied().collect();
    let mut results = Zeroizing::new(vec![Block::ZERO; given.len()]);
    let row_count = if rows_in.is_empty() { stream.and_count() } else { 0 };
    let mut space = [GarbledGate::default(); PIECE_ROWS];
    let mut moved = Moved::default();
    let quads = if has_memory { &[][..] } else { &stream.quads };
    loop {
        let before = moved.rows;
        let free = ((row_count - before) as usize).min(PIECE_ROWS);
        let streams = Streams {
            quads,
            labels: &labels,
            label_results: &label_results,
            rows_in,
            rows: &mut space[..free],
            results: &mut results,
        };
        let pause = device.transfer(streams, &mut moved);
        if !give(&space[..(moved.rows - before) as usize]) {
            return Err(OverlayError::Interrupted);
        }
        // A device that gives more rows than there are gates is not done, which its status says.
        if pause == Pause::End || pause == Pause::Space && free == 0 {
            break;
        }
    }
    let status = device.read(registers::STATUS);
    let mut long = |low, high| u64::from(device.read(low)) | u64::from(device.read(high)) << 32;
    let cycles = long(registers::CYCLES_LOW, registers::CYCLES_HIGH);
    let stalls = long(registers::STALLS_LOW, registers::STALLS_HIGH);
    let word = long(registers::WORDS_LOW, registers::WORDS_HIGH).saturating_sub(1);
    if let Some(reason) = registers::error_meaning(status) {
        return Err(OverlayError::Stopped { word, reason });
    }
    let is_whole = moved.rows == row_count && moved.results == results.len() as u64;
    if status & registers::STATUS_DONE == 0 || !is_whole {
        return Err(OverlayError::Stopped { word, reason: "it waits for more of the stream" });
    }
    let is_output = |number: &u32| number & STORED == 0;
    let output_count = given.iter().filter(|&number| is_output(number)).count();
    let mut outputs = vec![Block::ZERO; output_count];
    for (&output, &label) in given.iter().zip(&*results).filter(|(n, _)| is_output(n)) {
        outputs[output as usize] = label;
    }
    Ok(DeviceResult { outputs, cycles, stalls })
}

/// Labels in the order of the loads, and the results that some of them are. With memory, those are left out.
fn loads(stream: &Stream, inputs: &[Block], has_memory: bool) -> (Zeroizing<Vec<Block>>, Vec<u64>) {
    let load = |&number: &u32| match number & STORED {
        0 => inputs[number as usize],
        _ => Block::ZERO,
    };
    let is_given = |number: &&u32| !has_memory || *number & STORED == 0;
    let labels = stream.loads.iter().filter(is_given).map(load).collect();
    (Zeroizing::new(labels), load_results(stream, has_memory))
}

/// The result that each load takes its label from, or [`NO_RESULT`]; with memory, only of those from the host.
pub(crate) fn load_results(stream: &Stream, has_memory: bool) -> Vec<u64> {
    if has_memory {
        let inputs = stream.loads.iter().filter(|&number| number & STORED == 0);
        return inputs.map(|_| NO_RESULT).collect();
    }
    let mut stored = Vec::new();
    for (result, &number) in (0..).zip(&stream.outputs) {
        if number & STORED != 0 {
            // Spills are numbered in the order of their results.
            assert_eq!(number, STORED | stored.len() as u32, "the stream was checked");
            stored.push(result);
        }
    }
    let load = |&number: &u32| match number & STORED {
        0 => NO_RESULT,
        _ => stored[(number & !STORED) as usize],
    };
    stream.loads.iter().map(load).collect()
}
