//! Encoding and decoding of one frame of instructions.
//!
//! Most instructions repeat one of few *templates* (operation, type, lanes, immediates); a frame
//! defines each where it first appears and names it by number after that. Places are differences.

use crate::binary::FileKind;
use crate::instruction::{ElementType, Instruction, Phase, Sharing};
use crate::limits::{FRAME_INSTRUCTIONS, IMMEDIATES_MAX, WIDTH_MAX};
use crate::ops::{Op, OpInfo};
use crate::varint;

/// Slots of the table that finds a template, at first: four times as many as templates keep probes
/// short, so it grows with them. A program of thousands of blocks has an encoder for each while it is
/// recorded, and most blocks have a few templates.
const TEMPLATE_SLOTS: usize = 256;
const SLOTS_PER_TEMPLATE: usize = 4;
const _: () = assert!(TEMPLATE_SLOTS.is_power_of_two() && FRAME_INSTRUCTIONS < u16::MAX as usize);

/// Bytes of a frame for which there is space at first.
const FRAME_BYTES: usize = 1 << 10;

/// The places and varying immediates that the next instruction's are differences to.
#[derive(Default)]
struct Previous {
    results: [u64; 2],
    operands: [u64; 3],
    immediates: [u64; 4],
}

/// Whether immediates stand with each instruction rather than in its template.
///
/// They do for operations that only bring values in or out, and for directives: theirs rarely
/// repeat.
#[inline]
fn immediates_vary(info: &OpInfo) -> bool {
    info.operands.is_empty() || info.results.is_empty()
}

fn immediate_words(info: &OpInfo) -> usize {
    info.immediates.iter().map(|immediate| immediate.words).sum()
}

/// Element type and phase as one number below 2^14: phase, sharing, sign, width from bit 0 on.
#[inline]
fn type_code(instruction: &Instruction) -> u64 {
    let element = instruction.element;
    instruction.phase as u64
        | (element.sharing() as u64) << 2
        | u64::from(element.is_signed()) << 4
        | u64::from(element.width()) << 5
}
const _: () = assert!(WIDTH_MAX < 1 << 9);

/// Fields that instructions with one template share.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TemplateKey {
    /// Operation, element type, phase and lanes.
    shape: u64,
    immediates: [u64; IMMEDIATES_MAX],
}

impl TemplateKey {
    #[inline]
    fn of(instruction: &Instruction, vary: bool) -> TemplateKey {
        let shape = u64::from(instruction.op as u8)
            | type_code(instruction) << 8
            | u64::from(instruction.lanes) << 32;
        let immediates = if vary { [0; IMMEDIATES_MAX] } else { instruction.immediates };
        TemplateKey { shape, immediates }
    }

    /// A slot of a table of so many, a power of two: Fibonacci hashing of the fields.
    #[inline]
    fn slot(&self, slots: usize) -> usize {
        const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut hash = self.shape.wrapping_mul(MULTIPLIER);
        if self.immediates != [0; IMMEDIATES_MAX] {
            for word in self.immediates {
                hash = (hash.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER);
            }
        }
        (hash >> 40) as usize & (slots - 1)
    }
}

/// Encodes instructions into frames.
pub(super) struct Encoder {
    kind: FileKind,
    pub(super) bytes: Vec<u8>,
    pub(super) count: usize,
    pub(super) input_count: u32,
    pub(super) first_value: u64,
    next_value: u64,
    previous: Previous,
    templates: Vec<TemplateKey>,
    slots: Vec<u16>,
}

impl Encoder {
    pub(super) fn new(kind: FileKind) -> Encoder {
        Encoder {
            kind,
            bytes: Vec::with_capacity(FRAME_BYTES),
            count: 0,
            input_count: 0,
            first_value: 0,
            next_value: 0,
            previous: Previous::default(),
            templates: Vec::new(),
            slots: vec![0; TEMPLATE_SLOTS],
        }
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.count == FRAME_INSTRUCTIONS
    }

    /// Begins the next frame.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
        self.input_count = 0;
        self.first_value = self.next_value;
        self.previous = Previous::default();
        self.templates.clear();
        self.slots.fill(0);
    }

    pub(super) fn push(&mut self, instruction: &Instruction) {
        assert!(!self.is_full(), "a full frame is written before the next instruction");
        let info = instruction.op.info();
        let vary = immediates_vary(info);
        self.push_template(instruction, vary);
        let bytes = &mut self.bytes;
        if vary {
            let words = immediate_words(info);
            write_differences(
                bytes,
                &instruction.immediates[..words],
                &mut self.previous.immediates,
            );
        }
        let operands = instruction.operands();
        let results = instruction.results();
        match self.kind {
            FileKind::Program => {
                for &operand in operands {
                    assert!(operand < self.next_value, "a value is defined before it is used");
                    varint::write(bytes, self.next_value - operand);
                }
                for &result in results {
                    assert_eq!(result, self.next_value, "values are named in order");
                    self.next_value += 1;
                }
            }
            FileKind::Planned => {
                write_differences(bytes, operands, &mut self.previous.operands);
                write_differences(bytes, results, &mut self.previous.results);
            }
        }
        self.input_count += u32::from(instruction.op.is_private());
        self.count += 1;
    }

    #[inline]
    fn push_template(&mut self, instruction: &Instruction, vary: bool) {
        let key = TemplateKey::of(instruction, vary);
        let mut slot = key.slot(self.slots.len());
        loop {
            match self.slots[slot] {
                0 => break,
                id if self.templates[usize::from(id) - 1] == key => {
                    return varint::write(&mut self.bytes, u64::from(id));
                }
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
        self.templates.push(key);
        self.slots[slot] = self.templates.len() as u16;
        if self.templates.len() * SLOTS_PER_TEMPLATE > self.slots.len() {
            self.grow();
        }
        self.define_template(instruction, vary);
    }

    /// Makes the table of templates four times as large.
    #[cold]
    fn grow(&mut self) {
        let count = 4 * self.slots.len();
        self.slots.clear();
        self.slots.resize(count, 0);
        for (index, key) in self.templates.iter().enumerate() {
            let mut slot = key.slot(count);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (count - 1);
            }
            self.slots[slot] = index as u16 + 1;
        }
    }

    #[cold]
    fn define_template(&mut self, instruction: &Instruction, vary: bool) {
        let width = instruction.element.width();
        assert!((1..=WIDTH_MAX).contains(&width), "a type has 1 to {WIDTH_MAX} bits");
        let bytes = &mut self.bytes;
        bytes.push(0);
        bytes.push(instruction.op as u8);
        varint::write(bytes, type_code(instruction));
        varint::write(bytes, u64::from(instruction.lanes));
        if !vary {
            for &word in &instruction.immediates[..immediate_words(instruction.op.info())] {
                varint::write(bytes, word);
            }
        }
    }
}

/// Writes each of `now` as the difference to its counterpart in `before`, and replaces that.
#[inline]
fn write_differences(bytes: &mut Vec<u8>, now: &[u64], before: &mut [u64]) {
    for (&value, previous) in now.iter().zip(before) {
        varint::write(bytes, varint::zigzag(value.wrapping_sub(*previous)));
        *previous = value;
    }
}

/// Reads differences to `before` into it and into `now`.
#[inline]
fn read_differences(
    bytes: &mut &[u8],
    now: &mut [u64],
    before: &mut [u64],
) -> Result<(), &'static str> {
    for (value, previous) in now.iter_mut().zip(before) {
        let difference = varint::read(bytes).ok_or("a place is cut off")?;
        *previous = previous.wrapping_add(varint::unzigzag(difference));
        *value = *previous;
    }
    Ok(())
}

/// An instruction without places, and how many places follow each time it is named.
pub(super) struct InstructionTemplate {
    instruction: Instruction,
    operands: usize,
    results: usize,
    /// Words of immediates that stand with each instruction.
    words: usize,
}

/// Decodes a frame of `count` instructions into `instructions`.
pub(super) fn decode(
    kind: FileKind,
    mut bytes: &[u8],
    count: usize,
    first_value: u64,
    templates: &mut Vec<InstructionTemplate>,
    instructions: &mut Vec<Instruction>,
) -> Result<(), &'static str> {
    templates.clear();
    instructions.clear();
    instructions.reserve(count);
    let mut previous = Previous::default();
    let mut next_value = first_value;
    for _ in 0..count {
        let id = varint::read(&mut bytes).ok_or("a template number is cut off")?;
        if id == 0 {
            templates.push(decode_template(&mut bytes)?);
        }
        let index = if id == 0 { templates.len() - 1 } else { id as usize - 1 };
        let template = templates.get(index).ok_or("a template is not defined")?;
        instructions.push(template.instruction);
        let instruction = instructions.last_mut().expect("just pushed");
        let immediates = &mut instruction.immediates[..template.words];
        read_differences(&mut bytes, immediates, &mut previous.immediates)?;
        let operands = &mut instruction.operands[..template.operands];
        let results = &mut instruction.results[..template.results];
        match kind {
            FileKind::Program => {
                for operand in operands {
                    let distance = varint::read(&mut bytes).ok_or("a place is cut off")?;
                    if distance == 0 || distance > next_value {
                        return Err("an operand is not defined yet");
                    }
                    *operand = next_value - distance;
                }
                for result in results {
                    *result = next_value;
                    next_value = next_value.checked_add(1).ok_or("too many values")?;
                }
            }
            FileKind::Planned => {
                read_differences(&mut bytes, operands, &mut previous.operands)?;
                read_differences(&mut bytes, results, &mut previous.results)?;
            }
        }
    }
    if bytes.is_empty() { Ok(()) } else { Err("bytes are left over") }
}

#[cold]
fn decode_template(bytes: &mut &[u8]) -> Result<InstructionTemplate, &'static str> {
    const CUT: &str = "a template is cut off";
    let (&code, rest) = bytes.split_first().ok_or(CUT)?;
    *bytes = rest;
    let op = Op::from_code(code).ok_or("an operation is unknown")?;
    let code = varint::read(bytes).ok_or(CUT)?;
    let lanes = varint::read(bytes).ok_or(CUT)?;
    let phase = Phase::ALL.get((code & 3) as usize).ok_or("a phase is unknown")?;
    let sharing = Sharing::ALL[(code >> 2 & 3) as usize];
    let (signed, width) = (code >> 4 & 1 == 1, code >> 5);
    if width == 0 || width > u64::from(WIDTH_MAX) {
        return Err("a width is out of range");
    }
    let element = ElementType::Bits { width: width as u16, signed, sharing };
    let lanes = u32::try_from(lanes).map_err(|_| "a number of lanes is out of range")?;
    let mut instruction = Instruction::new(op, element, lanes).part(*phase);
    let info = op.info();
    let words = immediate_words(info);
    let vary = immediates_vary(info);
    if !vary {
        for word in &mut instruction.immediates[..words] {
            *word = varint::read(bytes).ok_or(CUT)?;
        }
    }
    Ok(InstructionTemplate {
        instruction,
        operands: instruction.operand_count(),
        results: instruction.result_count(),
        words: if vary { words } else { 0 },
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::{RandomOptions, SeededRng, random_program};

    fn decode_all(
        kind: FileKind,
        bytes: &[u8],
        count: usize,
    ) -> Result<Vec<Instruction>, &'static str> {
        let (mut templates, mut instructions) = (Vec::new(), Vec::new());
        decode(kind, bytes, count, 0, &mut templates, &mut instructions)?;
        assert!(instructions.len() == count && templates.len() <= count);
        Ok(instructions)
    }

    proptest! {
        /// Mutates bytes inside a frame, below the checksum that would otherwise catch them.
        #[test]
        fn mutated_frames_are_refused_or_decoded(seed: u64, planned: bool) {
            let kind = if planned { FileKind::Planned } else { FileKind::Program };
            let options = RandomOptions { instruction_count: 60, ..RandomOptions::default() };
            let mut encoder = Encoder::new(kind);
            let (program, _) = random_program(seed % 16, &options);
            program.iter().for_each(|instruction| encoder.push(instruction));
            let mut bytes = encoder.bytes.clone();
            prop_assert_eq!(decode_all(kind, &bytes, program.len()), Ok(program.clone()));
            let mut random = SeededRng::new(seed);
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.next_u64() as u8 >> random.below(8);
            }
            let _ = decode_all(kind, &bytes, program.len());
            bytes.truncate(random.below(bytes.len() as u64) as usize);
            let _ = decode_all(kind, &bytes, program.len());
        }

        #[test]
        fn garbage_is_refused_or_decoded(bytes: Vec<u8>, planned: bool, count in 0..99usize) {
            let kind = if planned { FileKind::Planned } else { FileKind::Program };
            let _ = decode_all(kind, &bytes, count);
        }
    }
}
