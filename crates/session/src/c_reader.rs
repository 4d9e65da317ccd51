//! C programs that another process reads, `phineus-c`, so that the one that computes has no LLVM.
//!
//! LLVM's library makes 48 MiB resident before `main`, and keeps most of what reading a program
//! takes. [`ReadApart`] asks for what a [`Program`] is asked for, over the process's stdin, and gets
//! answers over its stdout: a line of JSON each, and behind it the bytes of a traced program or of
//! tables. The process ends when it is asked nothing more for a while, and when its stdin is closed,
//! whatever it is doing.
//!
//! What it does not protect against: what that process takes is in no memory limit. The tables of a
//! run go to it for `--verify` alone, as the plaintext reference is run there.

mod messages;
mod process;

use std::io::{Error, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use phineus_bytecode::{FileSummary, Hash, Table};
use phineus_frontend::{Arguments, ColumnRange, Parameter, Program, ProgramError, Traced, Tracer};

use crate::failure::Failure;
use crate::leftovers::Leftovers;

use messages::{ProgramInfo, Question, RangeMessage, Reply, SourceMessage, TraceSizes};
use process::ReaderProcess;

pub use process::answer;

/// A C program that another process reads.
pub struct ReadApart {
    opened: ProgramInfo,
    reader: Mutex<ReaderProcess>,
    /// The bounds of the columns for the sizes of the last tracing.
    ranges: Mutex<Option<(TraceSizes, Vec<RangeMessage>)>>,
}

impl ReadApart {
    /// Opens the program at `path`, which `executable` reads.
    ///
    /// # Errors
    /// If the executable cannot be run, is of another version, or refuses the program.
    pub fn open(
        executable: &Path,
        path: &Path,
        leftovers: &Leftovers,
    ) -> Result<ReadApart, Failure> {
        let (reader, opened) = ReaderProcess::open(executable, path, leftovers)?;
        Ok(ReadApart { opened, reader: Mutex::new(reader), ranges: Mutex::default() })
    }

    fn reader(&self) -> MutexGuard<'_, ReaderProcess> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tables that answer a question; `None` where the program has none.
    fn tables(
        &self,
        question: &Question,
        inputs: &[Table],
    ) -> Result<Option<Vec<Table>>, ProgramError> {
        match self.reader().ask(question, inputs)? {
            (Reply::Tables(_), tables) => Ok(Some(tables)),
            (Reply::Nothing, _) => Ok(None),
            _ => Err(unexpected()),
        }
    }

    fn traced(
        &self,
        arguments: &Arguments,
        output: &mut dyn Write,
    ) -> Result<Traced, ProgramError> {
        let sizes = TraceSizes::of(arguments);
        let mut reader = self.reader();
        let (answer, _) = reader.ask(&Question::Trace(sizes.clone()), &[])?;
        let Reply::Traced { description, hash, instruction_count, file_bytes, ranges, sources } =
            answer
        else {
            return Err(unexpected());
        };
        reader.copy(file_bytes, output)?;
        *self.ranges.lock().unwrap_or_else(PoisonError::into_inner) = Some((sizes, ranges));
        let written = FileSummary { hash: Hash(hash), instruction_count, file_bytes };
        let sources = sources.map(SourceMessage::map);
        Ok(Traced { description: *description, written, sources, has_levels: false })
    }
}

/// An answer to another question.
fn unexpected() -> ProgramError {
    Error::other("the process that reads C programs answers something else").into()
}

impl Program for ReadApart {
    fn name(&self) -> &str {
        &self.opened.name
    }

    fn about(&self) -> &str {
        &self.opened.about
    }

    fn parameters(&self) -> Vec<Parameter> {
        let parameter = |(name, default, help): &(String, Option<String>, String)| Parameter {
            name: name.clone(),
            default: default.clone(),
            help: help.clone(),
        };
        self.opened.parameters.iter().map(parameter).collect()
    }

    fn parties(&self) -> Vec<String> {
        self.opened.parties.clone()
    }

    fn trace(&self, _: &Arguments, _: &mut Tracer) -> Result<(), ProgramError> {
        Err(ProgramError::Refused("another process traces this program, into a file".to_owned()))
    }

    fn trace_apart(
        &self,
        arguments: &Arguments,
        output: &mut dyn Write,
    ) -> Option<Result<Traced, ProgramError>> {
        Some(self.traced(arguments, output))
    }

    fn rest(&self) {
        self.reader().rest();
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let heads = inputs.iter().map(messages::TableMessage::of).collect();
        self.tables(&Question::Reference(TraceSizes::of(arguments), heads), inputs).transpose()
    }

    fn prepare_reference(&self, arguments: &Arguments) -> Result<(), ProgramError> {
        self.tables(&Question::PrepareReference(TraceSizes::of(arguments)), &[]).map(drop)
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        self.tables(&Question::Generate(TraceSizes::of(arguments), seed), &[]).ok().flatten()
    }

    fn ranges(&self, arguments: &Arguments) -> Result<Vec<ColumnRange>, ProgramError> {
        let sizes = TraceSizes::of(arguments);
        let known = self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, ranges)) = known.as_ref().filter(|(known, _)| *known == sizes) {
            return Ok(ranges.iter().map(RangeMessage::range).collect());
        }
        match self.reader().ask(&Question::Ranges(sizes), &[])? {
            (Reply::Ranges(ranges), _) => Ok(ranges.iter().map(RangeMessage::range).collect()),
            _ => Err(unexpected()),
        }
    }
}

#[cfg(test)]
mod tests;
