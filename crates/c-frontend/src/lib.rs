//! C programs with light annotations, through clang and LLVM.
//!
//! `CProgram` is a `Program` like any other: `phineus.h` says who brings a parameter and who
//! learns a result, clang translates, and the program is executed with names in the place of its
//! secrets (`interpreter/`). The same file, compiled by any C compiler, is its plaintext reference.
//!
//! Source: Dai, Mendes, Lim, "An LLVM-Based Optimization Pipeline for SPDZ": annotations, privacy
//! by data flow, whole-array patterns.
//! Deviation: control flow is executed when planning, so that loops, calls and pointers are those
//! of C, and lanes come from running iterations together instead of from LLVM's vectoriser.
//!
//! What it does not protect against: public control flow is part of the program that all parties
//! agree on; what a result itself tells is the programmer's choice.
//!
//! From the file to the program, each folder uses those before it: `annotations` and `compiler`
//! (text and bitcode), `ir` and `reader` (LLVM's instructions with layouts resolved), `data` and
//! `memory` (values, objects and cells), `signature` (tables of parameters), `frame` (a running
//! function), `emit` (records values), `evaluate` (operations on values), `access` (loads and
//! stores), `patterns` and `carried` (what loops carry), `interpreter`, and on top of it `branches`
//! (on secrets), `loops` (whether they end), `vectoriser` (iterations in lanes) and `opened`
//! (branches on opened integers). `computation.rs` runs all of it, and `reference.rs` the same file
//! as plain C.

#![cfg(feature = "llvm")]

mod access;
mod annotations;
mod branches;
mod carried;
mod compiler;
mod computation;
mod data;
mod diagnostic;
mod emit;
mod evaluate;
mod frame;
mod interpreter;
mod ir;
mod loops;
mod memory;
mod opened;
mod patterns;
mod reader;
mod reference;
mod signature;
mod vectoriser;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use annotations::Annotations;
use compiler::Compiler;
use compiler::debug_types::DebugTypes;
pub use diagnostic::{Diagnostic, SourceLocation, render};
use inkwell::context::Context;
use phineus_bytecode::Table;
use phineus_frontend::{Arguments, ColumnRange, Parameter, Program, ProgramError, Tracer};
use signature::Signature;

/// A C file with one function marked `PH_MAIN`.
pub struct CProgram {
    name: String,
    about: String,
    path: PathBuf,
    compiler: Compiler,
    annotations: Annotations,
    /// Parameters with several rows for each element of their first dimension.
    has_more_rows: Vec<usize>,
    /// The last ones.
    prepared: Mutex<Vec<(Sizes, Arc<Prepared>)>>,
}

type Sizes = Vec<(String, u64)>;

/// Sizes for which a program is kept compiled: those that are known first, and all.
const PREPARED_MAX: usize = 2;

/// The program for certain sizes.
struct Prepared {
    module: ir::module::IrModule,
    signature: Signature,
}

impl CProgram {
    /// Reads the annotations of the file, and compiles it once with its default sizes.
    ///
    /// # Errors
    /// If clang is missing or refuses the file, or its annotations say too little.
    pub fn open(path: &Path) -> Result<CProgram, ProgramError> {
        let compiler = Compiler::new(path)?;
        let annotations = compiler.annotations()?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        if annotations.main.is_none() {
            return Err(ProgramError::Refused(render(&[annotations.no_main(path)])));
        }
        let mut program = CProgram {
            name: stem.unwrap_or_default(),
            about: format!("the C program {}", path.display()),
            path: path.to_owned(),
            compiler,
            annotations,
            has_more_rows: Vec::new(),
            prepared: Mutex::new(Vec::new()),
        };
        let signature = &program.prepare(Vec::new())?.signature;
        let parameters = 0..program.annotations.parameters.len();
        program.has_more_rows = parameters.filter(|at| signature.rows_each(*at) > 1).collect();
        Ok(program)
    }

    /// Everything that is wrong with the program for these arguments, and notes of what is costly.
    ///
    /// # Errors
    /// If it cannot be looked at: bad arguments, or clang refuses it.
    pub fn check(&self, arguments: &Arguments) -> Result<Vec<Diagnostic>, ProgramError> {
        let tracer = Tracer::new(&self.name, std::io::sink())?;
        for party in self.parties() {
            tracer.party(&party);
        }
        let prepared = self.prepare(self.sizes(arguments)?)?;
        self.check_rows(arguments, &prepared.signature)?;
        Ok(computation::run(&prepared.module, &prepared.signature, &tracer, &self.shown()))
    }

    fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// The sizes that are not the defaults: as given, or as the rows of inputs say.
    fn sizes(&self, arguments: &Arguments) -> Result<Sizes, ProgramError> {
        let mut sizes = Sizes::new();
        for size in &self.annotations.sizes {
            if arguments.text(&size.name).is_some_and(|text| text != size.default) {
                sizes.push((size.name.clone(), arguments.count(&size.name)?));
            }
        }
        let given = sizes.len();
        let stated = self.annotations.parameters.iter().enumerate().filter_map(|(at, marked)| {
            let rows = arguments.stated_rows(&marked.name).filter(|_| marked.input.is_some())?;
            let is_size = |size: &&annotations::Size| marked.rows.as_ref() == Some(&size.name);
            let size = self.annotations.sizes.iter().find(is_size)?;
            Some((at, marked, &size.name, rows))
        });
        // Tables of one row for each element first: they may say how many the others have.
        let (one, many): (Vec<_>, Vec<_>) =
            stated.partition(|(at, ..)| !self.has_more_rows.contains(at));
        for (at, marked, name, rows) in one.into_iter().chain(many) {
            let rows = match self.has_more_rows.contains(&at) {
                true => self.elements(at, rows, &sizes)?,
                false => rows,
            };
            if rows == 0 {
                let port = &marked.name;
                return Err(ProgramError::Rows(format!(
                    "input '{port}' has 0 rows, but {name} is 1 at least: C has no empty arrays"
                )));
            }
            match sizes.iter().position(|(known, _)| known == name) {
                None => sizes.push((name.clone(), rows)),
                Some(at) if sizes[at].1 != rows => {
                    let (port, known) = (&marked.name, sizes[at].1);
                    let whence = if at < given { "as given" } else { "by another input" };
                    return Err(ProgramError::Rows(format!(
                        "input '{port}' has {rows} rows, but {name} is {known} {whence}"
                    )));
                }
                Some(_) => {}
            }
        }
        sizes.sort();
        Ok(sizes)
    }

    /// The elements of a parameter's first dimension, each of several rows of its table, of which
    /// there are so many, as far as sizes are known.
    pub(crate) fn elements(
        &self,
        parameter: usize,
        rows: u64,
        sizes: &Sizes,
    ) -> Result<u64, ProgramError> {
        let mut sizes = sizes.clone();
        sizes.sort();
        let each = self.prepare(sizes)?.signature.rows_each(parameter);
        if !rows.is_multiple_of(each) {
            let name = &self.annotations.parameters[parameter].name;
            return Err(ProgramError::Refused(format!(
                "input '{name}' has {rows} rows, the program wants {each} for each element"
            )));
        }
        Ok(rows / each)
    }

    /// Refuses inputs of which the program wants other numbers of rows.
    fn check_rows(&self, arguments: &Arguments, signature: &Signature) -> Result<(), ProgramError> {
        for table in signature.inputs() {
            let (name, wanted) = (&table.name, table.rows);
            if let Some(rows) = arguments.stated_rows(name).filter(|rows| *rows != wanted) {
                let input = name.clone();
                return Err(ProgramError::WrongRows { input, found: rows, expected: wanted });
            }
        }
        Ok(())
    }

    /// The program for these sizes, compiled unless it was one of the last.
    fn prepare(&self, sizes: Sizes) -> Result<Arc<Prepared>, ProgramError> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, prepared)) = prepared.iter().find(|(known, _)| *known == sizes) {
            return Ok(prepared.clone());
        }
        let made = Arc::new(self.compile(&sizes)?);
        prepared.truncate(PREPARED_MAX - 1);
        prepared.insert(0, (sizes, made.clone()));
        Ok(made)
    }

    fn compile(&self, sizes: &Sizes) -> Result<Prepared, ProgramError> {
        let expressions = signature::build::expressions(&self.annotations);
        let bitcode = self.compiler.bitcode(sizes, &self.annotations, &expressions)?;
        let context = Context::create();
        let module = compiler::module(&context, &bitcode)?;
        let types = DebugTypes::new(&module.print_to_string().to_string());
        let (main, _) = self.annotations.main.clone().unwrap_or_default();
        let (result, parameters) = types.signature(&main).ok_or_else(|| {
            ProgramError::Refused(format!("'{main}' is declared, but not defined"))
        })?;
        compiler::simplify(&module, &types)?;
        let module = reader::read(&module);
        let values = (0..expressions.len()).map(|index| {
            let name = format!("phineus_dimension_{index}");
            let global = module.globals.iter().find(|global| global.name == name);
            let initial = global.and_then(|global| global.initial.as_ref());
            match initial.and_then(|initial| initial.scalars.first()) {
                Some((0, _, ir::Constant::Integer(value))) => *value as i128,
                _ => 0,
            }
        });
        let values: Vec<i128> = values.collect();
        let signature =
            Signature::new(&self.shown(), &self.annotations, &result, &parameters, &values)
                .map_err(|faults| ProgramError::Refused(render(&faults)))?;
        Ok(Prepared { module, signature })
    }
}

impl Program for CProgram {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn parameters(&self) -> Vec<Parameter> {
        let parameter = |size: &annotations::Size| {
            Parameter::new(&size.name, &size.default, "a size in the program")
        };
        self.annotations.sizes.iter().map(parameter).collect()
    }

    fn parties(&self) -> Vec<String> {
        signature::parties(&self.annotations)
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let prepared = self.prepare(self.sizes(arguments)?)?;
        self.check_rows(arguments, &prepared.signature)?;
        let found = computation::run(&prepared.module, &prepared.signature, tracer, &self.shown());
        let errors: Vec<Diagnostic> =
            found.into_iter().filter(|diagnostic| diagnostic.is_error).collect();
        match errors.is_empty() {
            true => Ok(()),
            false => Err(ProgramError::Refused(render(&errors))),
        }
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let run = || {
            let sizes = self.sizes(arguments)?;
            let prepared = self.prepare(sizes.clone())?;
            let compiler = (&self.compiler, &self.annotations);
            reference::run(compiler, &prepared.signature, &sizes, inputs)
        };
        Some(run())
    }

    fn prepare_reference(&self, arguments: &Arguments) -> Result<(), ProgramError> {
        let sizes = self.sizes(arguments)?;
        let prepared = self.prepare(sizes.clone())?;
        let compiler = (&self.compiler, &self.annotations);
        reference::compile(compiler, &prepared.signature, &sizes).map(drop)
    }

    fn ranges(&self, arguments: &Arguments) -> Result<Vec<ColumnRange>, ProgramError> {
        let prepared = self.prepare(self.sizes(arguments)?)?;
        Ok(prepared.signature.ranges())
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let prepared = self.prepare(self.sizes(arguments).ok()?).ok()?;
        Some(reference::generate(&prepared.signature, seed))
    }
}
