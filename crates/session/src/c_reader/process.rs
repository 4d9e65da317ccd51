//! The two ends of the pipes between the process that computes and the one that reads C programs.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Error, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;

use phineus_bytecode::Table;
use phineus_frontend::{Program, ProgramError, trace_to_file};

use super::messages::{
    ErrorMessage, ProgramInfo, Question, RangeMessage, Reply, SourceMessage, TableMessage,
    read_tables, version, write_line, write_tables,
};
use super::unexpected;
use crate::failure::{Failure, codes};
use crate::leftovers::Leftovers;
use crate::private_directory::PrivateDirectory;
use crate::registry::Registry;

const BUILD_BOTH: &str =
    "phineus and phineus-c must be built together: `cargo build --release --features llvm`";

/// The process that reads, while there is one.
pub(super) struct ReaderProcess {
    executable: PathBuf,
    program: PathBuf,
    running: Option<Running>,
    /// Where it has its files; they are gone with this, however the process ends.
    folder: PrivateDirectory,
}

struct Running {
    child: Child,
    questions: BufWriter<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Running {
    /// Ends it and what it has started, clang and the plain program, if it has not ended itself; how
    /// it ended. It has nothing of its own that it could leave behind.
    fn end(&mut self) -> Option<ExitStatus> {
        if let (Ok(None), Ok(group)) =
            (self.child.try_wait(), libc::pid_t::try_from(self.child.id()))
        {
            // SAFETY: signals the group of a child that was not waited for, so the number is its own.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        self.child.wait().ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

impl ReaderProcess {
    /// Starts the process and hears what the program says of itself.
    pub(super) fn open(
        executable: &Path,
        program: &Path,
        leftovers: &Leftovers,
    ) -> Result<(ReaderProcess, ProgramInfo), Failure> {
        let folder = PrivateDirectory::new(leftovers)?;
        let (executable, program) = (executable.to_owned(), program.to_owned());
        let mut reader = ReaderProcess { executable, program, running: None, folder };
        let opened = reader.start().map_err(|error| match error {
            // An executable of before does not even know what it is asked.
            ProgramError::Io(_) => Failure::from(error).remedy(BUILD_BOTH),
            error => error.into(),
        })?;
        if opened.version != version() {
            let message =
                format!("{} is of another version than phineus", reader.executable.display());
            return Err(Failure::new(codes::OTHER_C_READER, message).remedy(BUILD_BOTH));
        }
        Ok((reader, opened))
    }

    fn start(&mut self) -> Result<ProgramInfo, ProgramError> {
        let mut child = Command::new(&self.executable)
            .arg("read-c")
            .arg(&self.program)
            .env("TMPDIR", self.folder.path())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Error::other(format!("{}: {error}", self.executable.display())))?;
        let questions = BufWriter::new(child.stdin.take().expect("it was asked for"));
        let answers = BufReader::new(child.stdout.take().expect("it was asked for"));
        self.running = Some(Running { child, questions, answers });
        match self.hear()? {
            Reply::Opened(opened) => Ok(opened),
            _ => Err(unexpected()),
        }
    }

    /// Asks a question with these tables; an answer with its tables.
    pub(super) fn ask(
        &mut self,
        question: &Question,
        tables: &[Table],
    ) -> Result<(Reply, Vec<Table>), ProgramError> {
        if self.running.is_none() {
            self.start()?;
        }
        let running = self.running.as_mut().expect("just started");
        let questions = &mut running.questions;
        let asked = write_line(questions, question)
            .and_then(|()| write_tables(questions, tables))
            .and_then(|()| questions.flush());
        if asked.is_err() {
            return Err(self.ended());
        }
        let answer = self.hear()?;
        let Reply::Tables(heads) = &answer else { return Ok((answer, Vec::new())) };
        let running = self.running.as_mut().expect("it has just answered");
        match read_tables(&mut running.answers, heads) {
            Ok(tables) => Ok((answer, tables)),
            Err(_) => Err(self.ended()),
        }
    }

    /// Copies the bytes that follow an answer.
    pub(super) fn copy(&mut self, count: u64, output: &mut dyn Write) -> Result<(), ProgramError> {
        let running = self.running.as_mut().expect("it has just answered");
        match std::io::copy(&mut (&mut running.answers).take(count), output)? {
            copied if copied == count => Ok(output.flush()?),
            _ => Err(self.ended()),
        }
    }

    /// Ends the process; another one answers what is asked next.
    pub(super) fn rest(&mut self) {
        self.running = None;
    }

    fn hear(&mut self) -> Result<Reply, ProgramError> {
        let running = self.running.as_mut().expect("it was asked");
        let mut line = String::new();
        if !matches!(running.answers.read_line(&mut line), Ok(count) if count > 0) {
            return Err(self.ended());
        }
        match serde_json::from_str(&line) {
            Ok(Reply::Refused(refusal)) => Err(refusal.error()),
            Ok(answer) => Ok(answer),
            Err(_) => Err(unexpected()),
        }
    }

    /// Why there is no answer.
    fn ended(&mut self) -> ProgramError {
        // What it waits for is never sent.
        let how = self.running.take().and_then(|mut running| running.end());
        let how = how.map_or_else(String::new, |status| format!(": {status}"));
        let what = format!("{}, which reads C programs, has ended{how}", self.executable.display());
        Error::other(what).into()
    }
}

/// Answers the questions on stdin about the program at `path`, until stdin ends; then `leave` ends
/// the process and those that it has started.
///
/// # Errors
/// If stdout cannot be written, or this executable reads no C.
pub fn answer(registry: &Registry, path: &Path, leave: fn() -> !) -> Result<(), Failure> {
    let Some(c) = registry.c else {
        return Err(Failure::usage("this executable reads no C programs"));
    };
    let mut output = BufWriter::new(std::io::stdout().lock());
    let program = match (c.open)(path) {
        Ok(program) => program,
        Err(error) => {
            write_line(&mut output, &Reply::Refused(ErrorMessage::of(error)))?;
            return Ok(output.flush()?);
        }
    };
    write_line(&mut output, &Reply::Opened(opened(program.as_ref())))?;
    output.flush()?;
    let (to_answer, questions) = mpsc::sync_channel(0);
    std::thread::spawn(move || {
        let mut input = BufReader::new(std::io::stdin());
        while let Some(question) = next(&mut input) {
            if to_answer.send(question).is_err() {
                break;
            }
        }
        // Whoever asked is gone, also where an answer is being made: by the plain program, perhaps,
        // which may never end.
        leave();
    });
    for (question, tables) in questions {
        reply(program.as_ref(), &question, &tables, &mut output)?;
        output.flush()?;
    }
    Ok(())
}

/// The next question and its tables.
fn next(input: &mut impl BufRead) -> Option<(Question, Vec<Table>)> {
    let mut line = String::new();
    input.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let question: Question = serde_json::from_str(&line).ok()?;
    let tables = match &question {
        Question::Reference(_, heads) => read_tables(input, heads).ok()?,
        _ => Vec::new(),
    };
    Some((question, tables))
}

fn opened(program: &dyn Program) -> ProgramInfo {
    ProgramInfo {
        version: version(),
        name: program.name().to_owned(),
        about: program.about().to_owned(),
        parties: program.parties(),
        parameters: (program.parameters().into_iter())
            .map(|parameter| (parameter.name, parameter.default, parameter.help))
            .collect(),
    }
}

fn reply(
    program: &dyn Program,
    question: &Question,
    tables: &[Table],
    output: &mut impl Write,
) -> Result<(), Failure> {
    match answered(program, question, tables) {
        Ok((answer, ReplyBody::File(mut file))) => {
            write_line(output, &answer)?;
            std::io::copy(&mut file, output)?;
        }
        Ok((answer, ReplyBody::Tables(tables))) => {
            write_line(output, &answer)?;
            write_tables(output, &tables)?;
        }
        Err(error) => write_line(output, &Reply::Refused(ErrorMessage::of(error)))?,
    }
    Ok(())
}

/// Data after the line of an answer.
pub(super) enum ReplyBody {
    File(File),
    Tables(Vec<Table>),
}

pub(super) fn answered(
    program: &dyn Program,
    question: &Question,
    tables: &[Table],
) -> Result<(Reply, ReplyBody), ProgramError> {
    let bounds = |arguments| -> Result<Vec<RangeMessage>, ProgramError> {
        Ok(program.ranges(arguments)?.iter().map(RangeMessage::of).collect())
    };
    let of_tables = |tables: Option<Vec<Table>>| match tables {
        Some(tables) => (
            Reply::Tables(tables.iter().map(TableMessage::of).collect()),
            ReplyBody::Tables(tables),
        ),
        None => (Reply::Nothing, ReplyBody::Tables(Vec::new())),
    };
    match question {
        Question::Trace(sizes) => {
            let arguments = sizes.arguments(program)?;
            let (mut file, traced) = trace_to_file(program, &arguments)?;
            file.seek(SeekFrom::Start(0))?;
            let answer = Reply::Traced {
                description: Box::new(traced.description),
                hash: traced.written.hash.0,
                instruction_count: traced.written.instruction_count,
                file_bytes: file.metadata()?.len(),
                ranges: bounds(&arguments)?,
                sources: traced.sources.as_ref().map(SourceMessage::of),
            };
            Ok((answer, ReplyBody::File(file)))
        }
        Question::Ranges(sizes) => {
            let ranges = bounds(&sizes.arguments(program)?)?;
            Ok((Reply::Ranges(ranges), ReplyBody::Tables(Vec::new())))
        }
        Question::PrepareReference(sizes) => {
            program.prepare_reference(&sizes.arguments(program)?)?;
            Ok((Reply::Nothing, ReplyBody::Tables(Vec::new())))
        }
        Question::Reference(sizes, _) => {
            let reference = program.reference(&sizes.arguments(program)?, tables);
            Ok(of_tables(reference.transpose()?))
        }
        Question::Generate(sizes, seed) => {
            Ok(of_tables(program.generate(&sizes.arguments(program)?, *seed)))
        }
    }
}
