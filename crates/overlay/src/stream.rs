//! [`Stream`]: the command stream of a program, as a file.
//!
//! All numbers are little-endian. A header of one word: "OVL1", version (16 bits), logarithms of banks and rows
//! (8 bits each), hash of the parameters, words that follow, ANDs, cycles (64 bits each). Then the words. Both go to
//! the device. What only the host needs follows: the hash of the program (32 bytes), the numbers of loads and of
//! outputs (64 bits each), the inputs in the order of their loads and the outputs in the order of their results (32
//! bits each), and the CRC-32 of everything before it. In both lists, bit 31 marks labels that the host stores for a
//! time: those among the outputs are numbered from 0, and a load with the same number takes one back.

use crate::OverlayError;
use crate::parameters::{HEADER_QUADS, Parameters, VERSION};
use crate::schedule::{STORED, Schedule};
use crate::word::{WRITE_LOAD, Word, WordKind};

/// "OVL1"
pub const MAGIC: u32 = 0x314c_564f;

/// A compiled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The device that it is for.
    pub parameters: Parameters,
    /// Hash of the planned program that it garbles.
    pub program: [u8; 32],
    /// Header and words, as the device takes them.
    pub quads: Vec<u64>,
    /// Inputs in the order in which the device takes their labels.
    pub loads: Vec<u32>,
    /// Outputs in the order in which the device gives their labels.
    pub outputs: Vec<u32>,
}

impl Stream {
    /// Encodes a schedule.
    pub fn new(schedule: &Schedule, parameters: Parameters, program: [u8; 32]) -> Stream {
        let size = parameters.word_quads();
        let mut quads = vec![0; size * (1 + schedule.words.len())];
        let sizes = u64::from(parameters.bank_bits) << 48 | u64::from(parameters.row_bits) << 56;
        let header = [
            u64::from(MAGIC) | u64::from(VERSION) << 32 | sizes,
            parameters.hash(),
            schedule.words.len() as u64,
            schedule.figures.ands,
            schedule.figures.cycles,
        ];
        quads[..HEADER_QUADS].copy_from_slice(&header);
        let mut crc = crc32fast::Hasher::new();
        update(&mut crc, &quads[..size]);
        for (word, quads) in schedule.words.iter().zip(quads[size..].chunks_exact_mut(size)) {
            if word.kind == WordKind::Issue {
                word.encode(parameters, quads);
                update(&mut crc, quads);
            } else {
                let crc = std::mem::take(&mut crc).finalize();
                Word { index: crc, ..*word }.encode(parameters, quads);
            }
        }
        let (loads, outputs) = (schedule.loads.clone(), schedule.outputs.clone());
        Stream { parameters, program, quads, loads, outputs }
    }

    /// Words after the header.
    pub fn word_count(&self) -> u64 {
        self.quads[2]
    }

    /// Bytes of memory that it takes.
    pub fn memory_bytes(&self) -> u64 {
        let numbers = size_of::<u32>() * (self.loads.len() + self.outputs.len());
        (size_of::<u64>() * self.quads.len() + numbers) as u64
    }

    /// AND gates.
    pub fn and_count(&self) -> u64 {
        self.quads[3]
    }

    /// Cycles of a run.
    pub fn cycles(&self) -> u64 {
        self.quads[4]
    }

    /// The words after the header.
    pub fn words(&self) -> impl Iterator<Item = Word> {
        let size = self.parameters.word_quads();
        self.quads[size..].chunks_exact(size).map(|quads| Word::decode(self.parameters, quads))
    }

    /// Checks that the words have the ANDs, loads and outputs that are stated, and that labels which the host stores are
    /// numbered in their order.
    fn check_counts(&self) -> Result<(), OverlayError> {
        let stored = self.outputs.iter().filter(|&number| number & STORED != 0);
        let count = stored.clone().count() as u32;
        let is_numbered = stored.zip(0..).all(|(&number, place)| number == STORED | place);
        let is_known = |&number: &u32| number & STORED == 0 || number & !STORED < count;
        let (mut ands, mut loads, mut outputs) = (0, 0, 0);
        let mut is_gate_known = true;
        for word in self.words() {
            ands += u64::from(word.has_and());
            loads += usize::from(word.writes[WRITE_LOAD].is_some());
            outputs += usize::from(word.is_output);
            is_gate_known &= !word.has_and() || u64::from(word.index) < self.and_count();
        }
        let counts = (self.and_count(), self.loads.len(), self.outputs.len());
        let is_right = is_numbered && is_gate_known && (ands, loads, outputs) == counts;
        match is_right && self.loads.iter().all(is_known) {
            true => Ok(()),
            false => Err(OverlayError::Corrupt { word: self.word_count() }),
        }
    }

    /// The file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.quads.len() * 8 + 64);
        self.quads.iter().for_each(|quad| bytes.extend(quad.to_le_bytes()));
        bytes.extend(self.program);
        for count in [self.loads.len(), self.outputs.len()] {
            bytes.extend((count as u64).to_le_bytes());
        }
        let numbers = self.loads.iter().chain(&self.outputs);
        numbers.for_each(|number| bytes.extend(number.to_le_bytes()));
        let crc = crc32fast::hash(&bytes);
        bytes.extend(crc.to_le_bytes());
        bytes
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`OverlayError`] that states what is wrong, and at which word.
    pub fn from_bytes(bytes: &[u8]) -> Result<Stream, OverlayError> {
        if !bytes.starts_with(&MAGIC.to_le_bytes()) {
            return Err(OverlayError::NotAStream);
        }
        let mut reader = Reader { bytes, at: 0 };
        let first = reader.quad()?;
        let version = (first >> 32) as u16;
        if version != VERSION {
            return Err(OverlayError::OtherVersion { version });
        }
        let [bank_bits, row_bits] = [first >> 48 & 255, first >> 56].map(|bits| bits as u32);
        if !(1..=6).contains(&bank_bits) || !(1..=24).contains(&row_bits) {
            return Err(OverlayError::OtherParameters { bank_bits, row_bits });
        }
        let parameters = Parameters { bank_bits, row_bits };
        if reader.quad()? != parameters.hash() {
            return Err(OverlayError::OtherParameters { bank_bits, row_bits });
        }
        let word_count = reader.quad()?;
        let size = parameters.word_quads();
        let quad_count = usize::try_from(word_count)
            .ok()
            .and_then(|words| words.checked_add(1)?.checked_mul(size))
            .filter(|&quads| quads <= bytes.len() / 8)
            .ok_or(OverlayError::CutOff)?;
        reader.at = 0;
        let quads = (0..quad_count).map(|_| reader.quad()).collect::<Result<Vec<_>, _>>()?;
        check(parameters, &quads)?;
        let program = reader.take(32)?.try_into().expect("32 bytes");
        let [loads, outputs] = [reader.quad()?, reader.quad()?];
        let loads = reader.numbers(loads)?;
        let outputs = reader.numbers(outputs)?;
        let stream = Stream { parameters, program, quads, loads, outputs };
        stream.check_counts()?;
        let crc = crc32fast::hash(&bytes[..reader.at]);
        let stated = reader.take(4)?;
        if stated != crc.to_le_bytes() || reader.at != bytes.len() {
            return Err(OverlayError::Corrupt { word: stream.word_count() });
        }
        Ok(stream)
    }
}

fn update(crc: &mut crc32fast::Hasher, quads: &[u64]) {
    quads.iter().for_each(|quad| crc.update(&quad.to_le_bytes()));
}

/// Compares the check words, as the device does.
fn check(parameters: Parameters, quads: &[u64]) -> Result<(), OverlayError> {
    let size = parameters.word_quads();
    let (header, words) = quads.split_at(size);
    let mut crc = crc32fast::Hasher::new();
    update(&mut crc, header);
    let count = words.len() / size;
    for (number, quads) in words.chunks_exact(size).enumerate() {
        let word = Word::decode(parameters, quads);
        let is_last = number + 1 == count;
        if word.kind == WordKind::Issue {
            update(&mut crc, quads);
            if !is_last {
                continue;
            }
        }
        let found = std::mem::take(&mut crc).finalize();
        if word.index != found || is_last != (word.kind == WordKind::Last) {
            return Err(OverlayError::Corrupt { word: number as u64 });
        }
    }
    if count == 0 { Err(OverlayError::CutOff) } else { Ok(()) }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], OverlayError> {
        let end = self.at.checked_add(count).ok_or(OverlayError::CutOff)?;
        let taken = self.bytes.get(self.at..end).ok_or(OverlayError::CutOff)?;
        self.at = end;
        Ok(taken)
    }

    fn quad(&mut self) -> Result<u64, OverlayError> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("8 bytes")))
    }

    fn numbers(&mut self, count: u64) -> Result<Vec<u32>, OverlayError> {
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(4));
        let bytes = self.take(bytes.ok_or(OverlayError::CutOff)?)?;
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
        Ok(bytes.chunks_exact(4).map(number).collect())
    }
}
