//! [`Program`]: a program that users can run by name, and programs made from a closure.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use phineus_bytecode::float::number_of;
use phineus_bytecode::{Column, Description, Encoding, FileSummary, Lane, Table};

use crate::arguments::{Arguments, Parameter};
use crate::error::ProgramError;
use crate::sources::SourceMap;
use crate::tracer::Tracer;

/// A secure computation that can be traced for any arguments.
pub trait Program: Send + Sync {
    /// Name by which users run it.
    fn name(&self) -> &str;

    /// Purpose of the program, in one sentence.
    fn about(&self) -> &str;

    /// Its public parameters.
    fn parameters(&self) -> Vec<Parameter>;

    /// Its parties' names; input and output ports refer to them.
    fn parties(&self) -> Vec<String>;

    /// Its parties' names, where they depend on the arguments.
    ///
    /// # Errors
    /// If the arguments name no possible parties.
    fn parties_for(&self, _arguments: &Arguments) -> Result<Vec<String>, ProgramError> {
        Ok(self.parties())
    }

    /// Records the computation by executing it on names of secret values.
    ///
    /// # Errors
    /// Only for bad arguments; mistakes in the use of values are collected by the tracer.
    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError>;

    /// Writes the traced program to `output` if another process traces it, instead of
    /// [`Program::trace`]; `None` if this process traces it.
    fn trace_apart(
        &self,
        _arguments: &Arguments,
        _output: &mut dyn Write,
    ) -> Option<Result<Traced, ProgramError>> {
        None
    }

    /// Releases resources that only tracing needs, because no call follows for a while.
    fn rest(&self) {}

    /// Computes the same in plain Rust, independently of the circuits; returns the outputs by port.
    ///
    /// `inputs` are the input ports' tables as they enter: already in the port's row order.
    fn reference(
        &self,
        _arguments: &Arguments,
        _inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        None
    }

    /// Prepares everything that [`Program::reference`] needs besides inputs.
    ///
    /// # Errors
    /// If there is no plaintext reference, because the file is not plain C.
    fn prepare_reference(&self, _arguments: &Arguments) -> Result<(), ProgramError> {
        Ok(())
    }

    /// Random inputs by port, with the rows that `arguments` state, not yet in the port's order.
    fn generate(&self, _arguments: &Arguments, _seed: u64) -> Option<Vec<Table>> {
        None
    }

    /// Columns whose values have narrower bounds than their types.
    ///
    /// # Errors
    /// If the arguments are wrong.
    fn ranges(&self, _arguments: &Arguments) -> Result<Vec<ColumnRange>, ProgramError> {
        Ok(Vec::new())
    }

    /// One sentence about who learns what, if the outputs alone do not show it.
    fn reveals(&self, _arguments: &Arguments) -> Option<String> {
        None
    }

    /// Returns whether outputs are correct if the plaintext reference gives `expected`. By default
    /// they must be equal.
    ///
    /// A program whose result is not unique, such as an unstable sort, overrides this.
    fn agrees(&self, outputs: &[Table], expected: &[Table]) -> bool {
        outputs.len() == expected.len()
            && outputs.iter().zip(expected).all(|(output, expected)| same_rows(output, expected))
    }
}

/// The least and the largest value that a column of an input may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRange {
    /// The input.
    pub input: String,
    /// The column, counted from 0.
    pub column: usize,
    /// The least value.
    pub low: i128,
    /// The largest value.
    pub high: i128,
}

/// Whether two tables have the same columns and the same rows in the same order. All NaNs are the same.
pub fn same_rows(a: &Table, b: &Table) -> bool {
    let is_same = |row: u64, column: usize| {
        let (one, other) = (a.cell(row, column), b.cell(row, column));
        one == other || [one, other].iter().all(|cell| is_nan(&a.columns()[column], *cell))
    };
    a.columns() == b.columns()
        && a.row_count() == b.row_count()
        && (0..a.row_count()).all(|row| (0..a.columns().len()).all(|column| is_same(row, column)))
}

/// Whether a cell is a floating-point number that is none.
fn is_nan(column: &Column, cell: Lane) -> bool {
    column.encoding == Encoding::Float
        && number_of(cell.as_limbs()[0], column.element.width()).is_nan()
}

/// Results of tracing, besides the program file itself.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Parties, ports and parameters.
    pub description: Description,
    /// Size and hash of the file.
    pub written: FileSummary,
    /// Source lines of the instructions, if the arguments ask for them.
    pub sources: Option<SourceMap>,
    /// Whether it has networks that can be recorded level by level.
    pub has_levels: bool,
}

/// Traces `program` into `output`.
pub fn trace_into(
    program: &dyn Program,
    arguments: &Arguments,
    mut output: impl Write + 'static,
) -> Result<Traced, ProgramError> {
    if let Some(traced) = program.trace_apart(arguments, &mut output) {
        return traced;
    }
    arguments.forget_used();
    let mut tracer = Tracer::new(program.name(), output)?;
    if arguments.asks_for_sources() {
        tracer.note_sources();
    }
    if arguments.goes_by_levels() {
        tracer.go_by_levels();
    }
    for party in program.parties_for(arguments)? {
        tracer.party(&party);
    }
    program.trace(arguments, &mut tracer)?;
    for (name, value) in arguments.used() {
        tracer.parameter(&name, &value);
    }
    tracer.finish()
}

/// Traces `program` into a temporary file without a name, which disappears when dropped.
///
/// The file stands at its beginning.
pub fn trace_to_file(
    program: &dyn Program,
    arguments: &Arguments,
) -> Result<(File, Traced), ProgramError> {
    let mut file = tempfile::tempfile()?;
    let traced = trace_into(program, arguments, file.try_clone()?)?;
    file.seek(SeekFrom::Start(0))?;
    Ok((file, traced))
}

type Trace = dyn Fn(&mut Tracer, &Arguments) -> Result<(), ProgramError> + Send + Sync;
type Reference = dyn Fn(&Arguments, &[Table]) -> Result<Vec<Table>, ProgramError> + Send + Sync;
type Generate = dyn Fn(&Arguments, u64) -> Vec<Table> + Send + Sync;

/// A program made of closures: see [`program`].
pub struct ClosureProgram {
    builder: ProgramBuilder,
    trace: Box<Trace>,
    reference: Option<Box<Reference>>,
    generate: Option<Box<Generate>>,
}

/// Builder of a program: its name, parties and parameters, then its computation.
pub struct ProgramBuilder {
    name: String,
    about: String,
    parties: Vec<String>,
    parameters: Vec<Parameter>,
}

/// Begins a program: `program("sum").party("a").party("b").trace(|t, arguments| ...)`.
pub fn program(name: &str) -> ProgramBuilder {
    ProgramBuilder {
        name: name.to_string(),
        about: String::new(),
        parties: Vec::new(),
        parameters: Vec::new(),
    }
}

impl ProgramBuilder {
    /// One sentence for the help.
    pub fn about(mut self, about: &str) -> ProgramBuilder {
        self.about = about.to_string();
        self
    }

    /// Adds a party.
    pub fn party(mut self, name: &str) -> ProgramBuilder {
        self.parties.push(name.to_string());
        self
    }

    /// Adds a parameter.
    pub fn parameter(mut self, name: &str, default: &str, help: &str) -> ProgramBuilder {
        self.parameters.push(Parameter::new(name, default, help));
        self
    }

    /// Sets the computation.
    pub fn trace(
        self,
        trace: impl Fn(&mut Tracer, &Arguments) -> Result<(), ProgramError> + Send + Sync + 'static,
    ) -> ClosureProgram {
        ClosureProgram { builder: self, trace: Box::new(trace), reference: None, generate: None }
    }
}

impl ClosureProgram {
    /// Sets the plaintext reference for `--verify`: the same computation in plain Rust.
    pub fn reference<F>(mut self, reference: F) -> ClosureProgram
    where
        F: Fn(&Arguments, &[Table]) -> Result<Vec<Table>, ProgramError> + Send + Sync + 'static,
    {
        self.reference = Some(Box::new(reference));
        self
    }

    /// Random inputs, for `phineus data`.
    pub fn generate(
        mut self,
        generate: impl Fn(&Arguments, u64) -> Vec<Table> + Send + Sync + 'static,
    ) -> ClosureProgram {
        self.generate = Some(Box::new(generate));
        self
    }
}

impl Program for ClosureProgram {
    fn name(&self) -> &str {
        &self.builder.name
    }

    fn about(&self) -> &str {
        &self.builder.about
    }

    fn parameters(&self) -> Vec<Parameter> {
        self.builder.parameters.clone()
    }

    fn parties(&self) -> Vec<String> {
        self.builder.parties.clone()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        (self.trace)(tracer, arguments)
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        self.reference.as_ref().map(|reference| reference(arguments, inputs))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        self.generate.as_ref().map(|generate| generate(arguments, seed))
    }
}
