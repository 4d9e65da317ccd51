//! The garbling program: the part of an ordered program that is garbled.
//!
//! It has exactly the instructions that define garbled values, in the order in which the ordered
//! program defines them. Inputs and conversions into garbled sharing become *fresh wires*, which
//! are inputs of port [`FRESH`]; the conversion of additive shares, which adds the parties' shares,
//! becomes an input of port [`SUMS`]. A conversion to additive shares by masks becomes an output of
//! the one port there is. Of a program of several blocks each has one, which loads and stores the
//! garbled ones of the carried values. It has no rounds, and is planned as it is.
//!
//! Memory: 16 bytes for 64 values of the ordered program. Time: one pass.

use std::io::{Read, Seek, Write};

use phineus_bytecode::{
    Column, Description, ElementType, Encoding, FileKind, FileSummary, InputPort, Instruction, Op,
    OutputPort, Phase, ProgramReader, ProgramWriter, RowOrder, Sharing,
};

use crate::templates::is_masked;

/// The port of wires that are fresh.
pub(super) const FRESH: u64 = 0;

/// The port of sums of one value of fresh wires for each party.
pub(super) const SUMS: u64 = 1;

/// The garbling program of a program.
pub struct GarblingProgram;

impl GarblingProgram {
    /// Writes the garbling program of `ordered` to `output`; it has no instructions if no value is
    /// garbled.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    ///
    /// # Panics
    /// If the program is not ordered.
    pub fn derive<R: Read + Seek, W: Write>(
        ordered: &mut ProgramReader<R>,
        output: W,
    ) -> Result<(W, FileSummary), phineus_bytecode::Error> {
        let description = GarblingProgram::describe(ordered.description());
        let mut writer = ProgramWriter::new(output, FileKind::Program)?;
        let mut names = GarbledValues::default();
        ordered.for_each(|instruction| {
            if instruction.phase == Phase::Issue {
                return Ok(());
            }
            let whole = instruction.part(Phase::Whole);
            let is_garbled = is_garbled(&whole);
            let first = names.next;
            for _ in 0..whole.results().len() {
                names.define(is_garbled);
            }
            if is_masked(instruction) {
                return writer.push(&masked(instruction, &names));
            }
            let is_stored = whole.op == Op::Store && is_shared_garbled(&whole);
            if !is_garbled && !is_stored {
                return Ok(());
            }
            writer.push(&garbled(&whole, first, &names))
        })?;
        writer.finish(&description)
    }

    /// The description of the garbling program of a program with this one.
    pub fn describe(ordered: &Description) -> Description {
        let column = Column {
            name: "wire".to_owned(),
            element: ElementType::BIT,
            encoding: Encoding::Number,
        };
        let port = |name: &str| InputPort {
            name: name.to_owned(),
            party: 0,
            rows: 0,
            columns: vec![column.clone()],
            order: RowOrder::Given,
        };
        Description {
            name: format!("garbling of {}", ordered.name),
            parties: ordered.parties.clone(),
            inputs: vec![port("fresh"), port("sums")].into(),
            outputs: vec![OutputPort {
                name: "masked".to_owned(),
                parties: vec![0],
                rows: 0,
                columns: vec![column.clone()],
                rows_of: None,
            }]
            .into(),
            slots: ordered.slots.clone(),
            is_block: ordered.is_block,
            ..Description::default()
        }
    }
}

/// Whether an instruction defines garbled values.
fn is_garbled(instruction: &Instruction) -> bool {
    !instruction.results().is_empty() && is_shared_garbled(instruction)
}

fn is_shared_garbled(instruction: &Instruction) -> bool {
    instruction.element.sharing() == Sharing::Garbled
}

/// `instruction` as the garbling program has it, its first result being named `first`.
fn garbled(instruction: &Instruction, first: u64, names: &GarbledValues) -> Instruction {
    let from = Sharing::from_code(instruction.immediates[0]).unwrap_or_default();
    let port = match instruction.op {
        Op::Input => Some(FRESH),
        Op::Convert if from == Sharing::Garbled => None,
        Op::Convert if from == Sharing::Arithmetic => Some(SUMS),
        Op::Convert => Some(FRESH),
        _ => None,
    };
    let mut garbled = *instruction;
    if let Some(port) = port {
        garbled = Instruction::new(Op::Input, instruction.element, instruction.lanes);
        garbled.immediates[0] = port;
    }
    for k in 0..garbled.operands().len() {
        garbled.operands[k] = names.rank(garbled.operands[k]);
    }
    for k in 0..garbled.results().len() {
        garbled.results[k] = names.rank(first + k as u64);
    }
    garbled
}

/// A conversion to additive shares by masks as the garbling program has it.
fn masked(instruction: &Instruction, names: &GarbledValues) -> Instruction {
    let element = ElementType::unsigned(instruction.element.width()).shared(Sharing::Garbled);
    let mut output = Instruction::new(Op::Output, element, instruction.lanes);
    output.operands[0] = names.rank(instruction.operands[0]);
    output
}

/// Which values of the ordered program are garbled.
#[derive(Default)]
struct GarbledValues {
    /// For each 64 values a bit each, and how many garbled ones come before them.
    words: Vec<(u64, u64)>,
    next: u64,
    garbled: u64,
}

impl GarbledValues {
    fn define(&mut self, is_garbled: bool) {
        if self.next.is_multiple_of(64) {
            self.words.push((0, self.garbled));
        }
        let word = self.words.last_mut().expect("just pushed");
        word.0 |= u64::from(is_garbled) << (self.next % 64);
        self.garbled += u64::from(is_garbled);
        self.next += 1;
    }

    /// The name that the garbled value has in the garbling program.
    fn rank(&self, name: u64) -> u64 {
        let (bits, before) = self.words[(name / 64) as usize];
        let bit = 1 << (name % 64);
        assert!(bits & bit != 0, "a garbled value is computed from garbled ones");
        before + u64::from((bits & (bit - 1)).count_ones())
    }
}
