//! Encoding and decoding of one frame of instructions.
//!
//! Most instructions repeat one of few *templates* (operation, type, lanes, immediates); a frame
//! defines each where it first appears and names it by number after that. Places are differences.

use crate::binary::Kind;
use crate::instruction::{ElementType, Instruction};
use crate::limits::{FRAME_INSTRUCTIONS, WIDTH_MAX};
use crate::ops::Op;
use crate::varint;

/// Slots of the table that finds a template; four times the most templates, so that probes are short.
const TEMPLATE_SLOTS: usize = 4 * FRAME_INSTRUCTIONS;
const _: () = assert!(TEMPLATE_SLOTS.is_power_of_two() && FRAME_INSTRUCTIONS < u16::MAX as usize);

/// The places and varying immediates that the next instruction's are differences to.
#[derive(Default)]
struct Previous {
    results: [u64; 2],
    operands: [u64; 3],
    immediates: [u64; 4],
}

/// Whether immediates stand with each instruction rather than in its template.
///
/// They do for operations that only bring values in or out, and for directives: theirs rarely repeat.
fn immediates_vary(op: Op) -> bool {
    let info = op.info();
    info.operands.is_empty() || info.results.is_empty()
}

fn immediate_words(op: Op) -> usize {
    op.info()
        .immediates
        .iter()
        .map(|immediate| immediate.words)
        .sum()
}

/// Encodes instructions into frames.
pub(super) struct Encoder {
    kind: Kind,
    pub(super) bytes: Vec<u8>,
    pub(super) count: usize,
    pub(super) input_count: u32,
    pub(super) first_value: u64,
    next_value: u64,
    previous: Previous,
    templates: Vec<Instruction>,
    slots: Vec<u16>,
}

impl Encoder {
    pub(super) fn new(kind: Kind) -> Encoder {
        Encoder {
            kind,
            bytes: Vec::with_capacity(64 * 1024),
            count: 0,
            input_count: 0,
            first_value: 0,
            next_value: 0,
            previous: Previous::default(),
            templates: Vec::new(),
            slots: vec![0; TEMPLATE_SLOTS],
        }
    }

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
        assert!(
            !self.is_full(),
            "a full frame is written before the next instruction"
        );
        let vary = immediates_vary(instruction.op);
        self.push_template(instruction, vary);
        let bytes = &mut self.bytes;
        if vary {
            let words = immediate_words(instruction.op);
            let pairs = instruction
                .immediates
                .iter()
                .zip(&mut self.previous.immediates);
            for (&value, previous) in pairs.take(words) {
                varint::write(bytes, varint::zigzag(value.wrapping_sub(*previous)));
                *previous = value;
            }
        }
        match self.kind {
            Kind::Program => {
                for &operand in instruction.operands() {
                    assert!(
                        operand < self.next_value,
                        "a value is defined before it is used"
                    );
                    varint::write(bytes, self.next_value - operand);
                }
                for &result in instruction.results() {
                    assert_eq!(result, self.next_value, "values are named in order");
                    self.next_value += 1;
                }
            }
            Kind::Planned => {
                let mut places = |now: &[u64], before: &mut [u64]| {
                    for (&place, previous) in now.iter().zip(before) {
                        varint::write(bytes, varint::zigzag(place.wrapping_sub(*previous)));
                        *previous = place;
                    }
                };
                places(instruction.operands(), &mut self.previous.operands);
                places(instruction.results(), &mut self.previous.results);
            }
        }
        self.input_count += u32::from(instruction.op == Op::Input);
        self.count += 1;
    }

    fn push_template(&mut self, instruction: &Instruction, vary: bool) {
        let mut template = Instruction::new(instruction.op, instruction.element, instruction.lanes);
        if !vary {
            template.immediates = instruction.immediates;
        }
        let mut slot = hash(&template);
        loop {
            match self.slots[slot] {
                0 => break,
                id if self.templates[usize::from(id) - 1] == template => {
                    return varint::write(&mut self.bytes, u64::from(id));
                }
                _ => slot = (slot + 1) % TEMPLATE_SLOTS,
            }
        }
        self.templates.push(template);
        self.slots[slot] = self.templates.len() as u16;
        let bytes = &mut self.bytes;
        bytes.push(0);
        bytes.push(template.op as u8);
        let sign = u64::from(template.element.is_signed());
        varint::write(bytes, u64::from(template.element.width()) << 1 | sign);
        varint::write(bytes, u64::from(template.lanes));
        if !vary {
            for &word in &template.immediates[..immediate_words(template.op)] {
                varint::write(bytes, word);
            }
        }
    }
}

/// A slot for `template`: Fibonacci hashing of its fields.
#[inline]
fn hash(template: &Instruction) -> usize {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let shape = u64::from(template.op as u8)
        | u64::from(template.element.width()) << 8
        | u64::from(template.element.is_signed()) << 24
        | u64::from(template.lanes) << 32;
    let mut hash = shape.wrapping_mul(MULTIPLIER);
    for word in template.immediates {
        hash = (hash.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER);
    }
    (hash >> 40) as usize % TEMPLATE_SLOTS
}

/// Decodes a frame of `count` instructions into `instructions`.
pub(super) fn decode(
    kind: Kind,
    mut bytes: &[u8],
    count: usize,
    first_value: u64,
    templates: &mut Vec<Instruction>,
    instructions: &mut Vec<Instruction>,
) -> Result<(), &'static str> {
    templates.clear();
    instructions.clear();
    let mut previous = Previous::default();
    let mut next_value = first_value;
    for _ in 0..count {
        let id = varint::read(&mut bytes).ok_or("a template number is cut off")?;
        if id == 0 {
            templates.push(decode_template(&mut bytes)?);
        }
        let index = if id == 0 {
            templates.len() - 1
        } else {
            id as usize - 1
        };
        let mut instruction = *templates.get(index).ok_or("a template is not defined")?;
        let info = instruction.op.info();
        let mut place = || varint::read(&mut bytes).ok_or("a place is cut off");
        if info.operands.is_empty() || info.results.is_empty() {
            let words = immediate_words(instruction.op);
            for (word, before) in previous.immediates.iter_mut().enumerate().take(words) {
                *before = before.wrapping_add(varint::unzigzag(place()?));
                instruction.immediates[word] = *before;
            }
        }
        match kind {
            Kind::Program => {
                for operand in &mut instruction.operands[..info.operands.len()] {
                    let distance = place()?;
                    if distance == 0 || distance > next_value {
                        return Err("an operand is not defined yet");
                    }
                    *operand = next_value - distance;
                }
                for result in &mut instruction.results[..info.results.len()] {
                    *result = next_value;
                    next_value = next_value.checked_add(1).ok_or("too many values")?;
                }
            }
            Kind::Planned => {
                for k in 0..info.operands.len() {
                    let before = &mut previous.operands[k];
                    *before = before.wrapping_add(varint::unzigzag(place()?));
                    instruction.operands[k] = *before;
                }
                for k in 0..info.results.len() {
                    let before = &mut previous.results[k];
                    *before = before.wrapping_add(varint::unzigzag(place()?));
                    instruction.results[k] = *before;
                }
            }
        }
        instructions.push(instruction);
    }
    if bytes.is_empty() {
        Ok(())
    } else {
        Err("bytes are left over")
    }
}

fn decode_template(bytes: &mut &[u8]) -> Result<Instruction, &'static str> {
    const CUT: &str = "a template is cut off";
    let (&code, rest) = bytes.split_first().ok_or(CUT)?;
    *bytes = rest;
    let op = Op::from_code(code).ok_or("an operation is unknown")?;
    let element = varint::read(bytes).ok_or(CUT)?;
    let lanes = varint::read(bytes).ok_or(CUT)?;
    let (width, signed) = (element >> 1, element & 1 == 1);
    if width == 0 || width > u64::from(WIDTH_MAX) {
        return Err("a width is out of range");
    }
    let element = ElementType::Bits {
        width: width as u16,
        signed,
    };
    let lanes = u32::try_from(lanes).map_err(|_| "a number of lanes is out of range")?;
    let mut template = Instruction::new(op, element, lanes);
    if !immediates_vary(op) {
        for word in &mut template.immediates[..immediate_words(op)] {
            *word = varint::read(bytes).ok_or(CUT)?;
        }
    }
    Ok(template)
}
