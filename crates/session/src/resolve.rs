//! PROGRAM on the command line: a name, a circuit, a directory of them, a C program, a text form, or
//! a file that is ready.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use phineus_bytecode::binary::MAGIC;
use phineus_bytecode::limits::VALUE_WIRES_MAX;
use phineus_bytecode::{
    Description, FileKind, PlanDescription, Violation, parse_text, verify, verify_blocks,
};
use phineus_frontend::bristol::Circuit;
use phineus_frontend::hycc::Hybrid;
use phineus_frontend::{Arguments, Program, ProgramError, trace_into};
use phineus_plan::Scratch;
use phineus_protocols::garbled::totals;

use crate::c_reader::ReadApart;
use crate::failure::{Failure, Remedy, codes};
use crate::leftovers::Leftovers;
use crate::level_order::LevelOrder;
use crate::program_file::ProgramFile;
use crate::protocol::Protocol;
use crate::registry::Registry;
use crate::traced::{TracedFile, directory, traced_blocks, without_openings};

/// Ports that a program may ask the size of while its shape is being found out.
const PORTS_PROBED: usize = 1000;

/// The executable with LLVM in it.
const C_EXECUTABLE: &str = "phineus-c";

/// Program that PROGRAM names.
pub enum Resolved<'a> {
    /// A program known by name, traced for the sizes at hand.
    Known(&'a dyn Program),
    /// A circuit file, traced likewise.
    Loaded(Box<dyn Program>),
    /// A file of fixed size, traced or planned.
    File(ProgramFile),
}

impl Resolved<'_> {
    /// The program, if its sizes are open.
    pub fn program(&self) -> Option<&dyn Program> {
        match self {
            Resolved::Known(program) => Some(*program),
            Resolved::Loaded(program) => Some(program.as_ref()),
            Resolved::File(_) => None,
        }
    }
}

/// Finds what `name` stands for. The folder of the process that reads a C program is one of
/// `leftovers`.
///
/// # Errors
/// Says what names there are, or what is wrong with the file.
pub fn resolve<'a>(
    registry: &'a Registry,
    name: Option<&str>,
    scratch: &Scratch,
    leftovers: &Leftovers,
) -> Result<Resolved<'a>, Failure> {
    let Some(name) = name else {
        return match registry.own() {
            Some(program) => Ok(Resolved::Known(program)),
            None => Err(Failure::usage("which program? Give a name or a file").remedy(
                Remedy::new("name one of the registry")
                    .at_command_line(": `phineus programs` lists the names"),
            )),
        };
    };
    if let Some(program) = registry.find(name) {
        return Ok(Resolved::Known(program));
    }
    let path = Path::new(name);
    if path.is_dir() && !has_circuits(path)? {
        let message = format!("{name}: is a directory without a hybrid circuit of HyCC");
        return Err(Failure::new(codes::NOT_A_FILE, message).remedy(
            "name a file: a C program (.c), a .phi text, a Bristol circuit or a planned file",
        ));
    }
    if path.is_dir() || path.extension().is_some_and(|extension| extension == "cmb") {
        return Ok(Resolved::Loaded(Box::new(Hybrid::open(path)?)));
    }
    if path.is_file() && is_c(path) {
        return c_program(registry, path, leftovers).map(Resolved::Loaded);
    }
    if path.is_file() {
        return resolve_file(path, scratch);
    }
    let failure =
        Failure::new(codes::NO_SUCH_PROGRAM, format!("there is no program or file '{name}'"));
    let remedy = match registry.closest(name) {
        Some(close) => Remedy::new(format!("did you mean '{close}'?")),
        None => Remedy::new("check the name"),
    };
    Err(failure.remedy(remedy.at_command_line(" (`phineus programs` lists all names)")))
}

/// Whether the file is a C program.
pub fn is_c(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "c")
}

fn c_program(
    registry: &Registry,
    path: &Path,
    leftovers: &Leftovers,
) -> Result<Box<dyn Program>, Failure> {
    match registry.c {
        Some(c) => Ok((c.open)(path)?),
        None => Ok(Box::new(ReadApart::open(&c_executable(path)?, path, leftovers)?)),
    }
}

/// The executable that reads C programs, which stands beside this one.
pub fn c_executable(path: &Path) -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().unwrap_or_default();
    let other = own.with_file_name(C_EXECUTABLE);
    if own != other && other.is_file() {
        return Ok(other);
    }
    let message =
        format!("{}: {C_EXECUTABLE}, which reads C programs, is not here", path.display());
    Err(Failure::new(codes::NO_C_READER, message).remedy(
        "`apt-get install clang-19 llvm-19-dev`, then build both with `cargo build --release \
         --features llvm`",
    ))
}

fn resolve_file<'a>(path: &Path, scratch: &Scratch) -> Result<Resolved<'a>, Failure> {
    let mut beginning = [0u8; 11];
    let mut file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let count = read_up_to(&mut file, &mut beginning).map_err(|e| Failure::file(path, &e))?;
    let beginning = &beginning[..count];
    let named = |failure: Failure| failure.in_file(path);
    if beginning.starts_with(&MAGIC[..7]) {
        let file = ProgramFile::open(path)?;
        if directory(&file).map_err(named)?.is_none() {
            file.reader().map_err(named)?;
        }
        return Ok(Resolved::File(file));
    }
    // Some programs begin a text with this mark, U+FEFF.
    let beginning = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
    let is_text = path.extension().is_some_and(|extension| extension == "phi");
    if is_text || beginning.starts_with(b"phineus ") {
        let input = File::open(path).map_err(|error| Failure::file(path, &error))?;
        let shown = path.display().to_string();
        let (file, _) = parse_text(BufReader::new(input), &shown, scratch.file())?;
        // It stays as long as the run does.
        file.settle()?;
        return Ok(Resolved::File(ProgramFile::new(file)));
    }
    // A circuit file begins with the numbers of its gates and wires.
    let first = beginning.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(u8::is_ascii_digit) {
        return Ok(Resolved::Loaded(Box::new(Circuit::open(path)?)));
    }
    Err(named(match language(path) {
        Some((language, remedy)) => {
            let message = format!("is {language}; of source files, C is run as it is (.c)");
            Failure::new(codes::OTHER_LANGUAGE, message).remedy(remedy)
        }
        None => {
            let message = "is no program: it is not a C program (.c), a planned file, a .phi text \
                           or a Bristol circuit";
            Failure::new(codes::OTHER_LANGUAGE, message)
        }
    }))
}

/// The language of a source file that is not run, by its name, and what to do with it.
fn language(path: &Path) -> Option<(&'static str, &'static str)> {
    let in_c = "write it in C: docs/c.md says what of C there is";
    let name_c = "if it is C, give it a name that ends in .c";
    Some(match path.extension()?.to_str()? {
        "cpp" | "cc" | "cxx" | "c++" | "C" | "hpp" | "hh" | "hxx" => ("C++", in_c),
        "CPP" | "CC" | "i" => ("no C program by its name", name_c),
        "h" => ("a C header", "name the .c file that includes it"),
        "rs" => (
            "Rust",
            "a program in Rust is an executable of its own, with `phineus::main`: \
             crates/phineus/examples has some",
        ),
        "py" => ("Python", in_c),
        "go" => ("Go", in_c),
        "java" => ("Java", in_c),
        "js" | "ts" => ("JavaScript", in_c),
        "mpc" => ("a program for MP-SPDZ", in_c),
        "ll" | "bc" => ("LLVM's own form of a program", "name the .c file that it came from"),
        _ => return None,
    })
}

/// Whether a directory has files of a hybrid circuit.
fn has_circuits(directory: &Path) -> Result<bool, Failure> {
    let failed = |error| Failure::file(directory, &error);
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let name = PathBuf::from(entry.map_err(failed)?.file_name());
        if name.extension().is_some_and(|extension| extension == "cmb" || extension == "circ") {
            return Ok(true);
        }
    }
    Ok(false)
}

fn read_up_to(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match file.read(&mut buffer[count..])? {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}

/// The parameters as the program takes them.
pub fn arguments_of(
    program: &dyn Program,
    given: &[(String, String)],
) -> Result<Arguments, Failure> {
    let given = given.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Ok(Arguments::new(program, given)?)
}

/// The parties and ports of `program`, found by tracing it, for sizes that need not be right:
/// sizes that are not known are 1.
pub fn probe(program: &dyn Program, arguments: &Arguments) -> Result<Description, Failure> {
    let mut arguments = arguments.clone();
    for _ in 0..PORTS_PROBED {
        match trace_into(program, &arguments, std::io::sink()) {
            Ok(traced) => return Ok(traced.description),
            Err(ProgramError::MissingRows { input }) if arguments.stated_rows(&input).is_none() => {
                arguments.set_rows(&input, 1);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::new(codes::TOO_MANY_SIZES, "the program asks for the sizes of too many inputs"))
}

/// The parties and ports, and the parameters if the sizes are still open.
pub fn shape(
    resolved: &Resolved<'_>,
    parameters: &[(String, String)],
) -> Result<(Option<Arguments>, Description), Failure> {
    match resolved.program() {
        Some(program) => {
            let arguments = arguments_of(program, parameters)?;
            let description = probe(program, &arguments)?;
            Ok((Some(arguments), without_openings(&description)))
        }
        None => {
            let Resolved::File(file) = resolved else { unreachable!("it has no program") };
            if !parameters.is_empty() {
                let message = "a file that is traced or planned has its parameters already";
                return Err(Failure::usage(message));
            }
            Ok((None, without_openings(&ready(file)?.description)))
        }
    }
}

/// Opens a file that is traced or planned already, and verifies it: it comes from anywhere.
pub fn ready(file: &ProgramFile) -> Result<TracedFile, Failure> {
    if let Some(traced) = traced_blocks(file, Description::computing)? {
        return ready_blocks(traced);
    }
    let mut reader = file.reader()?;
    reader.verify_hash()?;
    refuse_violations(&verify(&mut reader)?)?;
    refuse_large_values(reader.description())?;
    if let Some(plan) = &reader.description().plan {
        check_figures(reader.description(), plan)?;
    }
    Ok(TracedFile {
        computing: reader.description().computing(),
        file: file.clone(),
        description: reader.description().clone(),
        hash: reader.hash(),
        kind: reader.kind(),
        blocks: None,
        sources: None,
        state: None,
    })
}

/// Verifies a file of several blocks.
fn ready_blocks(traced: TracedFile) -> Result<TracedFile, Failure> {
    let parts = &traced.blocks.as_ref().expect("just looked at").parts;
    parts
        .iter()
        .try_for_each(|part| part.file.reader()?.verify_hash().map(drop).map_err(Failure::from))?;
    let blocks = directory(&traced.file)?.expect("just looked at");
    refuse_violations(&verify_blocks(&blocks, |block| parts[block].file.reader())?)?;
    refuse_large_values(&traced.description)?;
    for description in parts.iter().map(|part| &part.description).chain([&traced.description]) {
        if let Some(plan) = &description.plan {
            check_figures(description, plan)?;
        }
    }
    Ok(traced)
}

fn refuse_violations(violations: &[Violation]) -> Result<(), Failure> {
    if !violations.is_empty() {
        let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
        return Err(Failure::new(codes::BAD_INSTRUCTIONS, lines.join("\n"))
            .remedy("make the file again, with the same version of Phineus"));
    }
    Ok(())
}

/// Refuses values that are larger than those that the drivers of all protocols are made for.
fn refuse_large_values(description: &Description) -> Result<(), Failure> {
    match description.value_wires_max {
        None => Ok(()),
        Some(wires) => {
            let message = format!(
                "the program states values of up to {wires} bits, and protocols of this version \
                 compute values of at most {VALUE_WIRES_MAX}"
            );
            Err(Failure::new(codes::BAD_INSTRUCTIONS, message).remedy("split the lanes"))
        }
    }
}

/// Refuses a plan whose figures no plan of ours has, whatever its instructions are.
fn check_figures(description: &Description, plan: &PlanDescription) -> Result<(), Failure> {
    let fits = Protocol::of_plan(plan).is_some_and(|protocol| {
        let parties = description.computing();
        protocol.is_complete(plan)
            && protocol.layout_of(description, parties) == plan.layout
            && protocol.page_units(parties) == plan.page_wires
    });
    let scratch = plan.costs.get(totals::SCRATCH_WIRES).copied().unwrap_or(0);
    let counts = [plan.frame_count, plan.spill_slot_count, plan.region_frames, scratch];
    let possible = counts.into_iter().all(|count| count < u64::from(u32::MAX));
    if fits && possible {
        return Ok(());
    }
    let message = "the plan states figures that no plan of this version has";
    Err(Failure::new(codes::UNKNOWN_FIGURES, message).remedy("plan the program again"))
}

/// Traces `program` into a file without a name.
pub fn trace(
    program: &dyn Program,
    arguments: &Arguments,
    scratch: &Scratch,
) -> Result<TracedFile, Failure> {
    trace_for(program, arguments, scratch, None)
}

/// As [`trace`], level by level if the program has networks that can be so and their rows fit.
pub fn trace_for(
    program: &dyn Program,
    arguments: &Arguments,
    scratch: &Scratch,
    levels: Option<&LevelOrder>,
) -> Result<TracedFile, Failure> {
    let file = scratch.file();
    let traced = trace_into(program, arguments, file.clone())?;
    let fits =
        |levels: &LevelOrder| levels.fits(&traced.description, traced.description.parties.len());
    if traced.has_levels && levels.is_some_and(fits) {
        // Its space is needed again.
        drop(file);
        let mut arguments = arguments.clone();
        arguments.go_by_levels();
        return trace_for(program, &arguments, scratch, None);
    }
    program.rest();
    let file = ProgramFile::new(file);
    let sources = traced.sources.map(Arc::new);
    if let Some(blocks) = traced_blocks(&file, |description| description.parties.len())? {
        return Ok(TracedFile { sources, ..blocks });
    }
    Ok(TracedFile {
        blocks: None,
        sources,
        file,
        computing: traced.description.parties.len(),
        description: traced.description,
        hash: traced.written.hash,
        kind: FileKind::Program,
        state: None,
    })
}
