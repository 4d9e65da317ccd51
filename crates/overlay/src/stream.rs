//! [`Stream`]: the command stream of a program, as a file.
//!
//! All numbers are little-endian. A header of one word, in its first lane: "OVL1", version (16 bits), logarithms of banks and
//! rows (8 bits each), hash of the parameters, words that follow, ANDs, cycles, cells (64 bits each). Then the words, each with a
//! lane for each cell. Both go to the device. What only the host needs follows: the hash of the program (32 bytes), the numbers
//! of loads and of outputs (64 bits each), the inputs in the order of their loads and the outputs in the order of their results (32
//! bits each), and the CRC-32 of everything before it. In both lists, bit 31 marks labels that the host stores for a
//! time: those among the outputs are numbered from 0, and a load with the same number takes one back.

use crate::OverlayError;
use crate::parameters::{CELLS_MAX, HEADER_QUADS, Parameters, VERSION};
use crate::schedule::STORED;
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

/// The header of a stream, with the numbers of its words, ANDs and cycles.
pub(crate) fn header(parameters: Parameters, counts: [u64; 3]) -> [u64; HEADER_QUADS] {
    let sizes = u64::from(parameters.bank_bits) << 48 | u64::from(parameters.row_bits) << 56;
    let first = u64::from(MAGIC) | u64::from(VERSION) << 32 | sizes;
    let [words, ands, cycles] = counts;
    [first, parameters.hash(), words, ands, cycles, parameters.cells.into()]
}

impl Stream {
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

    /// The lanes of the words after the header: of each word one for each cell.
    pub fn words(&self) -> impl Iterator<Item = Word> {
        let lanes =
            self.quads[self.parameters.word_quads()..].chunks_exact(self.parameters.lane_quads());
        lanes.map(|quads| Word::decode(self.parameters, quads))
    }

    /// The words after the header, each as the lanes of its cells.
    pub fn steps(&self) -> impl Iterator<Item = Vec<Word>> {
        let mut words = self.words();
        let cells = self.parameters.cells as usize;
        std::iter::from_fn(move || {
            let lanes: Vec<Word> = words.by_ref().take(cells).collect();
            (!lanes.is_empty()).then_some(lanes)
        })
    }

    /// Checks that the words have the ANDs, loads and outputs that are stated, and that labels which are stored for a time
    /// are marked, and numbered in their order.
    fn check_counts(&self) -> Result<(), OverlayError> {
        let stored = self.outputs.iter().filter(|&number| number & STORED != 0);
        let count = stored.clone().count() as u32;
        let is_numbered = stored.zip(0..).all(|(&number, place)| number == STORED | place);
        let is_known = |&number: &u32| number & STORED == 0 || number & !STORED < count;
        let (mut ands, mut loads, mut outputs) = (0, 0, 0);
        let (mut is_gate_known, mut is_marked) = (true, true);
        let is_stored = |numbers: &[u32], place: usize| {
            numbers.get(place).is_some_and(|number| number & STORED != 0)
        };
        for lanes in self.steps() {
            let mut loading = lanes.iter().filter(|word| word.writes[WRITE_LOAD].is_some());
            let is_fill = is_stored(&self.loads, loads);
            loads += usize::from(loading.clone().next().is_some());
            is_marked &= loading.all(|word| word.is_fill == is_fill);
            for word in lanes.iter().filter(|word| word.is_output) {
                is_marked &= word.is_spill == is_stored(&self.outputs, outputs);
                outputs += 1;
            }
            for word in lanes.iter().filter(|word| word.has_and()) {
                ands += 1;
                is_gate_known &= u64::from(word.index) < self.and_count();
            }
        }
        let counts = (self.and_count(), self.loads.len(), self.outputs.len());
        let is_right =
            is_numbered && is_gate_known && is_marked && (ands, loads, outputs) == counts;
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
        let hash = reader.quad()?;
        let word_count = reader.quad()?;
        reader.at = 8 * (HEADER_QUADS - 1);
        let cells = u32::try_from(reader.quad()?).unwrap_or(0);
        let parameters = Parameters { bank_bits, row_bits, cells };
        if hash != parameters.hash() || !(1..=CELLS_MAX).contains(&cells) {
            return Err(OverlayError::OtherParameters { bank_bits, row_bits });
        }
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

/// Of each lane, the CRC of the header.
fn crcs(header: &[u64], lane_quads: usize) -> Vec<crc32fast::Hasher> {
    let lanes = header.chunks_exact(lane_quads);
    lanes
        .map(|quads| {
            let mut crc = crc32fast::Hasher::new();
            update(&mut crc, quads);
            crc
        })
        .collect()
}

fn update(crc: &mut crc32fast::Hasher, quads: &[u64]) {
    quads.iter().for_each(|quad| crc.update(&quad.to_le_bytes()));
}

/// Compares the check words, as the device does.
fn check(parameters: Parameters, quads: &[u64]) -> Result<(), OverlayError> {
    let (size, cells) = (parameters.lane_quads(), parameters.cells as usize);
    let (header, lanes) = quads.split_at(cells * size);
    let mut crcs = crcs(header, size);
    let count = lanes.len() / (cells * size);
    let mut first = WordKind::Issue;
    for (lane, quads) in lanes.chunks_exact(size).enumerate() {
        let (number, cell) = (lane / cells, lane % cells);
        let word = Word::decode(parameters, quads);
        let is_last = number + 1 == count;
        first = if cell == 0 { word.kind } else { first };
        if word.kind == WordKind::Issue && first == word.kind {
            update(&mut crcs[cell], quads);
            if !is_last {
                continue;
            }
        }
        let found = std::mem::take(&mut crcs[cell]).finalize();
        if first != word.kind || word.index != found || is_last != (word.kind == WordKind::Last) {
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
