//! [`parse_text`]: from the text form to the binary form, as a stream.

use std::io::{BufRead, Read, Write};

use crate::binary::{FORMAT_VERSION, FileKind, FileSummary, ProgramWriter};
use crate::description::Description;
use crate::error::Error;
use crate::instruction::{ElementType, Instruction, Phase};
use crate::limits::{FAULTS_MAX, LINE_BYTES_MAX};
use crate::ops::{OPS, Op, OpInfo};
use crate::text::header::HeaderParser;
use crate::text::line::{LineCursor, LineError, Parsed, shortened};
use crate::text::{TextFault, TextFaults, kind_name, phase_word, place_mark};
use crate::verify::Verifier;

/// Reads a text and writes it as a verified program file; `file` names the text in messages.
///
/// Memory is as the verifier's, and one line.
///
/// # Errors
/// [`Error::Text`] with all that is wrong with the text, or a failure to read or write.
pub fn parse_text<W: Write>(
    mut input: impl BufRead,
    file: &str,
    output: W,
) -> Result<(W, FileSummary), Error> {
    let mut lines = Lines { input: &mut input, bytes: Vec::new(), number: 0 };
    let mut faults = Vec::new();
    let parsed = parse(&mut lines, output, &mut faults);
    if faults.is_empty()
        && let Some(written) = parsed?
    {
        return Ok(written);
    }
    faults.truncate(FAULTS_MAX);
    Err(Error::Text(TextFaults { file: file.to_owned(), faults }))
}

/// Parses all lines; `None` if a fault was found.
fn parse<W: Write>(
    lines: &mut Lines<impl BufRead>,
    output: W,
    faults: &mut Vec<TextFault>,
) -> Result<Option<(W, FileSummary)>, Error> {
    let kind = read_first_line(lines, faults)?;
    let (description, mut here) = read_header(lines, faults)?;
    // Without a right first line or description the rest would only repeat the same fault.
    let Some(kind) = kind.filter(|_| faults.is_empty()) else {
        return Ok(None);
    };
    let mut checker = Verifier::new(kind, &description);
    let mut writer = ProgramWriter::new(output, kind)?;
    let mut whats = Vec::new();
    while here && faults.len() < FAULTS_MAX {
        if let Some(text) = lines.text(faults) {
            let parsed = parse_instruction(kind, &mut LineCursor::new(text));
            match parsed {
                Ok(None) => {}
                Ok(Some((instruction, at))) => {
                    checker.check(&instruction, &mut whats);
                    if whats.is_empty() && faults.is_empty() {
                        writer.push(&instruction)?;
                    }
                    faults.extend(whats.drain(..).map(|what| lines.fault(at, what)));
                }
                Err(misfit) => {
                    // Later lines that use its results are not at fault.
                    if let Ok((results, count)) = places::<2>(kind, &mut LineCursor::new(text), "")
                    {
                        checker.skip(&results[..count]);
                    }
                    faults.push(lines.fault(misfit.at, misfit.what));
                }
            }
        }
        here = lines.next()?;
    }
    // What is missing as a whole would be a mere consequence of the lines at fault.
    if faults.is_empty() {
        checker.finish(&mut whats);
        faults.extend(whats.drain(..).map(|what| lines.fault(0, what)));
    }
    if faults.is_empty() { writer.finish(&description).map(Some) } else { Ok(None) }
}

fn read_first_line(
    lines: &mut Lines<impl BufRead>,
    faults: &mut Vec<TextFault>,
) -> Result<Option<FileKind>, Error> {
    while lines.next()? {
        let Some(text) = lines.text(faults) else {
            return Ok(None);
        };
        // Some programs begin a text with this mark.
        let mut line = LineCursor::new(text.trim_start_matches('\u{feff}'));
        if line.is_empty() {
            continue;
        }
        return match first_line(&mut line) {
            Ok(kind) => Ok(Some(kind)),
            Err(misfit) => {
                faults.push(lines.fault(misfit.at, misfit.what));
                Ok(None)
            }
        };
    }
    faults.push(lines.fault(0, "the text is empty".to_owned()));
    Ok(None)
}

fn first_line(line: &mut LineCursor) -> Parsed<FileKind> {
    let at = line.place();
    let wrong = |what| LineError { at, what };
    let usage = || wrong(format!("a text begins with the line: phineus {FORMAT_VERSION} program"));
    if line.word("phineus").ok() != Some("phineus") {
        return Err(usage());
    }
    let version = line.number("the version")?;
    if version != u64::from(FORMAT_VERSION) {
        let ours = FORMAT_VERSION;
        return Err(wrong(format!("the text has format version {version}, this reads {ours}")));
    }
    let word = line.word("program or planned")?;
    let mut kinds = [FileKind::Program, FileKind::Planned].into_iter();
    let kind = kinds.find(|&kind| kind_name(kind) == word).ok_or_else(usage)?;
    line.end()?;
    Ok(kind)
}

/// Reads up to the first instruction; returns whether there is one.
fn read_header(
    lines: &mut Lines<impl BufRead>,
    faults: &mut Vec<TextFault>,
) -> Result<(Description, bool), Error> {
    let mut parser = HeaderParser::default();
    let mut here = lines.next()?;
    while here && faults.len() < FAULTS_MAX {
        if let Some(text) = lines.text(faults) {
            let mut line = LineCursor::new(text);
            if !line.is_empty() {
                let word = line.word("").ok().filter(|word| HeaderParser::is_header(word));
                let Some(word) = word else { break };
                if let Err(misfit) = parser.read(word, &mut line) {
                    faults.push(lines.fault(misfit.at, misfit.what));
                }
            }
        }
        here = lines.next()?;
    }
    let (description, whats) = parser.finish();
    if faults.is_empty() {
        faults.extend(whats.into_iter().map(|what| lines.fault(0, what)));
    }
    Ok((description, here))
}

/// One instruction and where its operation stands; `None` on a line without one.
fn parse_instruction(
    kind: FileKind,
    line: &mut LineCursor,
) -> Parsed<Option<(Instruction, usize)>> {
    if line.is_empty() {
        return Ok(None);
    }
    let (results, result_count) = places::<2>(kind, line, "results")?;
    let at = line.place();
    if result_count > 0 && !line.take('=') {
        let what = "expected '=' after the results".to_owned();
        return Err(LineError { at, what });
    }
    let phase = take_phase(line);
    let op_at = line.place();
    let name = line.word("an operation")?;
    let Some(op) = Op::from_name(name) else {
        return Err(unknown_op(op_at, name));
    };
    let info = op.info();
    let (element, lanes) = instruction_type(op, line)?;
    let mut instruction = Instruction::new(op, element, lanes).part(phase);
    let operands_at = line.place();
    let (operands, operand_count) = places::<3>(kind, line, "operands")?;
    let counted = [
        (op_at, "result", instruction.result_count(), result_count),
        (operands_at, "operand", instruction.operand_count(), operand_count),
    ];
    for (at, what, wanted, found) in counted {
        if wanted != found {
            let usage = usage(kind, info);
            let plural = if wanted == 1 { "" } else { "s" };
            let what = format!("{name} needs {wanted} {what}{plural}, got {found}; write: {usage}");
            return Err(LineError { at, what });
        }
    }
    instruction.results = results;
    instruction.operands = operands;
    read_immediates(kind, info, &mut instruction, line)?;
    line.end()?;
    Ok(Some((instruction, op_at)))
}

/// Takes `issue` or `finish` if it is next.
fn take_phase(line: &mut LineCursor) -> Phase {
    for phase in [Phase::Issue, Phase::Finish] {
        let mut ahead = line.clone();
        if ahead.word("").is_ok_and(|word| word == phase_word(phase).trim_end()) {
            *line = ahead;
            return phase;
        }
    }
    Phase::Whole
}

fn unknown_op(at: usize, name: &str) -> LineError {
    let name = shortened(name);
    let known = OPS.iter().find(|info| info.name.starts_with(&name) || name.starts_with(info.name));
    let remedy = match known {
        Some(info) => format!("did you mean '{}'?", info.name),
        None if HeaderParser::is_header(&name) => {
            "the description stands before the first instruction".to_owned()
        }
        None => "docs/bytecode.md lists the operations".to_owned(),
    };
    LineError { at, what: format!("'{name}' is not an operation: {remedy}") }
}

/// `u32x128`; directives may leave it out.
fn instruction_type(op: Op, line: &mut LineCursor) -> Parsed<(ElementType, u32)> {
    let at = line.place();
    let mut ahead = line.clone();
    let word = ahead.word("a type and lanes, such as u32x1");
    let implied = op.is_directive() || op == Op::Round;
    if implied && !word.as_ref().is_ok_and(|word| word.contains('x')) {
        return Ok((ElementType::BIT, 1));
    }
    let word = word?;
    *line = ahead;
    let wrong = |what| LineError { at, what };
    let (element, lanes) = word.split_once('x').ok_or_else(|| {
        wrong(format!("'{word}' is not a type and lanes: write for example u32x1"))
    })?;
    let element = element.parse().map_err(wrong)?;
    let plain = lanes.bytes().all(|byte| byte.is_ascii_digit());
    let lanes = lanes.parse().ok().filter(|_| plain).ok_or_else(|| {
        wrong(format!("'{lanes}' is not a number of lanes: write for example {element}x1"))
    })?;
    Ok((element, lanes))
}

/// Takes places while they follow; at most `N` of them.
fn places<const N: usize>(
    kind: FileKind,
    line: &mut LineCursor,
    name: &str,
) -> Parsed<([u64; N], usize)> {
    let mark = place_mark(kind);
    let mut places = [0; N];
    let mut count = 0;
    while let Some(found @ ('%' | '@')) = line.peek() {
        let at = line.place();
        if found != mark {
            let kind = kind_name(kind);
            let what = format!("places in a {kind} file begin with '{mark}', not '{found}'");
            return Err(LineError { at, what });
        }
        if count == N {
            return Err(LineError { at, what: format!("no operation has more than {N} {name}") });
        }
        line.take(mark);
        places[count] = line.number("a place")?;
        count += 1;
    }
    Ok((places, count))
}

/// Takes `name=value` for each immediate, in any order.
fn read_immediates(
    kind: FileKind,
    info: &OpInfo,
    instruction: &mut Instruction,
    line: &mut LineCursor,
) -> Parsed<()> {
    let mut seen = [false; 4];
    while !line.is_empty() {
        let at = line.place();
        let name = line.word("an immediate")?;
        let found = info.immediates.iter().position(|immediate| immediate.name == name);
        let Some(index) = found.filter(|&index| !seen[index]) else {
            let twice = if found.is_some() { " a second" } else { " an" };
            let (name, usage) = (shortened(name), usage(kind, info));
            let what = format!("{} has not{twice} immediate '{name}'; write: {usage}", info.name);
            return Err(LineError { at, what });
        };
        seen[index] = true;
        if !line.take('=') {
            return Err(LineError { at, what: format!("expected '=' after {name}") });
        }
        let start: usize = info.immediates[..index].iter().map(|i| i.words).sum();
        let words = info.immediates[index].words;
        let value_at = line.place();
        let value = line.integer(name)?;
        if value.bit_len() > 64 * words {
            let what = format!("{name} is not below 2^{}", 64 * words);
            return Err(LineError { at: value_at, what });
        }
        let words = start..start + words;
        let length = words.len();
        instruction.immediates[words].copy_from_slice(&value.as_limbs()[..length]);
    }
    let missing = info.immediates.iter().zip(seen).find(|(_, seen)| !seen);
    match missing {
        None => Ok(()),
        Some((immediate, _)) => {
            let (name, usage) = (immediate.name, usage(kind, info));
            let what = format!("{} needs {name}=; write: {usage}", info.name);
            Err(LineError { at: line.place(), what })
        }
    }
}

/// How an instruction of this operation is written.
fn usage(kind: FileKind, info: &OpInfo) -> String {
    let mark = place_mark(kind);
    let mut usage = String::new();
    (0..info.results.len()).for_each(|k| usage += &format!("{mark}r{k} "));
    usage += if info.results.is_empty() { "" } else { "= " };
    usage += info.name;
    usage += if info.op.is_directive() { "" } else { " TYPExLANES" };
    (0..info.operands.len()).for_each(|k| usage += &format!(" {mark}{}", ["a", "b", "c"][k]));
    info.immediates.iter().for_each(|immediate| usage += &format!(" {}=N", immediate.name));
    usage
}

/// Reads line after line into one buffer.
struct Lines<'a, I> {
    input: &'a mut I,
    bytes: Vec<u8>,
    number: u64,
}

impl<I: BufRead> Lines<'_, I> {
    /// Reads the next line; false at the end.
    fn next(&mut self) -> Result<bool, Error> {
        self.bytes.clear();
        let limit = LINE_BYTES_MAX as u64 + 1;
        let read = self.input.by_ref().take(limit).read_until(b'\n', &mut self.bytes)?;
        self.number += u64::from(read > 0);
        Ok(read > 0)
    }

    /// The line as text; a fault if it is none.
    fn text(&self, faults: &mut Vec<TextFault>) -> Option<&str> {
        if self.bytes.len() > LINE_BYTES_MAX {
            faults.push(self.fault(0, format!("a line has at most {LINE_BYTES_MAX} bytes")));
            return None;
        }
        let text = std::str::from_utf8(&self.bytes);
        if let Err(error) = &text {
            let what = "this byte is not UTF-8 text: is the file a .phi text?".to_owned();
            faults.push(self.fault(error.valid_up_to(), what));
        }
        text.ok()
    }

    /// A fault at byte `at` of this line.
    fn fault(&self, at: usize, what: String) -> TextFault {
        let before = String::from_utf8_lossy(&self.bytes[..at.min(self.bytes.len())]);
        TextFault { line: self.number.max(1), column: before.chars().count() as u64 + 1, what }
    }
}
