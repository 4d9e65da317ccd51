//! The text form, `.phi`: one instruction a line, an exact round trip with the binary form.
//!
//! ```text
//! # Anything after a number sign is a comment.
//! phineus 5 program
//! name "sum"
//! party "site_a"
//! party "site_b"
//! parameter "rows" "2"
//! input_port "a" party=0 rows=2 sort_columns=1 descending=0 unique=1
//!   column "id" u32 number
//! output_port "total" parties=0,1 rows=1
//!   column "sum" u40 number
//! %0 = input u32x2 port=0 column=0 row=0
//! %1 = lane_sum u40x1 %0 from_width=32 from_lanes=2
//! output u40x1 %1 port=0 column=0 row=0
//! ```
//!
//! A planned program begins with `phineus 5 planned`, has lines `plan` and `cost` after its ports,
//! places `@1234` instead of values `%12`, and directives such as `issue_swap_in frame=3 slot=17`.
//! `issue` or `finish` before an operation says that this is one part of it.
//! Strings are written as in JSON. `docs/bytecode.md` has the grammar.

mod header;
mod line;
mod parse;
mod state_lines;
#[cfg(test)]
pub(crate) mod tests;

pub use parse::parse_text;

use std::io::{Read, Seek, Write};

use crate::binary::{FORMAT_VERSION, FileKind, ProgramReader};
use crate::error::Error;
use crate::instruction::{ElementType, Instruction, Phase};
use crate::meaning::Lane;
use crate::ops::Op;

/// Something that is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFault {
    /// The line, counted from 1.
    pub line: u64,
    /// The column, counted from 1 in characters.
    pub column: u64,
    /// Description of the fault and its remedy.
    pub what: String,
}

/// All that is wrong with a text, at most [`crate::limits::FAULTS_MAX`] faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFaults {
    /// The text's file name.
    pub file: String,
    /// The faults in the order of their lines.
    pub faults: Vec<TextFault>,
}

impl std::fmt::Display for TextFaults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            let end = if index > 0 { "\n" } else { "" };
            write!(f, "{end}{}:{}:{}: {}", self.file, fault.line, fault.column, fault.what)?;
        }
        Ok(())
    }
}

/// Writes the text form of a program, frame by frame.
pub fn write_text<R: Read + Seek>(
    reader: &mut ProgramReader<R>,
    mut output: impl Write,
) -> Result<(), Error> {
    let kind = reader.kind();
    let mut text = format!("phineus {FORMAT_VERSION} {}\n", kind_name(kind));
    header::write(&mut text, reader.description());
    reader.for_each(|instruction| {
        write_line(&mut text, kind, instruction);
        text.push('\n');
        if text.len() >= 1 << 16 {
            output.write_all(text.as_bytes())?;
            text.clear();
        }
        Ok::<(), Error>(())
    })?;
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// The text form of one instruction, without the end of the line.
pub fn line_of(kind: FileKind, instruction: &Instruction) -> String {
    let mut text = String::new();
    write_line(&mut text, kind, instruction);
    text
}

fn kind_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Program => "program",
        FileKind::Planned => "planned",
    }
}

/// Prefix of the number of a value or an address.
fn place_mark(kind: FileKind) -> char {
    match kind {
        FileKind::Program => '%',
        FileKind::Planned => '@',
    }
}

/// Prefix of an operation for its issue or finish.
fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Whole => "",
        Phase::Issue => "issue ",
        Phase::Finish => "finish ",
    }
}

fn write_line(text: &mut String, kind: FileKind, instruction: &Instruction) {
    use std::fmt::Write;
    let info = instruction.op.info();
    let mark = place_mark(kind);
    let infallible = "writing to a string cannot fail";
    for place in instruction.results() {
        write!(text, "{mark}{place} ").expect(infallible);
    }
    if instruction.result_count() > 0 {
        text.push_str("= ");
    }
    text.push_str(phase_word(instruction.phase));
    text.push_str(info.name);
    let implied = (instruction.op.is_directive() || instruction.op == Op::Round)
        && instruction.element == ElementType::BIT
        && instruction.lanes == 1;
    if !implied {
        write!(text, " {}x{}", instruction.element, instruction.lanes).expect(infallible);
    }
    for place in instruction.operands() {
        write!(text, " {mark}{place}").expect(infallible);
    }
    let mut words = instruction.immediates.as_slice();
    for immediate in info.immediates {
        let (now, rest) = words.split_at(immediate.words);
        words = rest;
        if let [word] = now {
            write!(text, " {}={word}", immediate.name).expect(infallible);
        } else {
            let value = Lane::from_limbs_slice(now);
            write!(text, " {}={value:#x}", immediate.name).expect(infallible);
        }
    }
}
