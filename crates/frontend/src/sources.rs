//! Source lines of recorded instructions, for who asks which lines cost what.

use std::collections::HashMap;
use std::panic::Location;

/// A line of a program's source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// As the compiler names it.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
}

/// Instructions of one line that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRun {
    /// Number of the line in [`SourceMap::lines`].
    pub line: u32,
    /// How many instructions.
    pub count: u64,
}

/// The lines that the instructions of a program come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    /// All lines.
    pub lines: Vec<SourceLine>,
    /// By block, its instructions in order.
    pub blocks: Vec<Vec<LineRun>>,
}

impl SourceMap {
    /// Appends instructions of a line to a block.
    pub fn extend(&mut self, block: usize, line: u32, count: u64) {
        if self.blocks.len() <= block {
            self.blocks.resize(block + 1, Vec::new());
        }
        match self.blocks[block].last_mut() {
            Some(last) if last.line == line => last.count += count,
            _ if count == 0 => {}
            _ => self.blocks[block].push(LineRun { line, count }),
        }
    }
}

/// A [`SourceMap`] in the making.
#[derive(Default)]
pub(crate) struct NotedSources {
    pub(crate) map: SourceMap,
    numbers: HashMap<SourceLine, u32>,
    /// Where the front end of another language says that the program is.
    stated: Option<u32>,
    /// Where an operation was called from.
    caller: u32,
}

impl NotedSources {
    fn number(&mut self, file: &str, line: u32) -> u32 {
        let source = SourceLine { file: file.to_owned(), line };
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(source.clone()).or_insert(next);
        if number == next {
            self.map.lines.push(source);
        }
        number
    }

    pub(crate) fn state(&mut self, file: &str, line: u32) {
        self.stated = Some(self.number(file, line));
    }

    pub(crate) fn called_from(&mut self, caller: &Location<'_>) {
        if self.stated.is_none() {
            self.caller = self.number(caller.file(), caller.line());
        }
    }

    /// Notes an instruction of a block.
    pub(crate) fn note(&mut self, block: usize) {
        if self.map.lines.is_empty() {
            self.caller = self.number("", 0);
        }
        self.map.extend(block, self.stated.unwrap_or(self.caller), 1);
    }
}
