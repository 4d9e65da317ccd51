//! Runs clang: annotations from the preprocessor, bitcode with debug information from the rest.
//!
//! clang does nothing but translate (`-disable-llvm-passes`): `-O2` would vectorise, and turn a
//! `switch` into a load from a table at a secret index. [`PASSES`] are run on the bitcode instead.

pub(crate) mod debug_types;
pub(crate) mod library;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use inkwell::OptimizationLevel;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module as LlvmModule;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine};
use inkwell::types::BasicTypeEnum;
use inkwell::values::{FunctionValue, PointerValue};
use phineus_frontend::ProgramError;

use crate::annotations::Annotations;
use crate::annotations::scan::scan;
use crate::compiler::debug_types::{CType, DebugTypes};
use crate::compiler::library::LIBRARY;
use crate::diagnostic::{Diagnostic, SourceLocation};
use crate::memory::object::OBJECT_BYTES_MAX;

/// The text of `phineus.h`.
pub(crate) const HEADER: &str = include_str!("../phineus.h");

/// Registers instead of memory, simple control flow, loops with one header and one latch, no value
/// of a loop used outside but through a phi. Nothing that unrolls, vectorises or makes tables.
const PASSES: &str = "always-inline,\
    function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,lower-constant-intrinsics,\
    early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-simplify,lcssa),\
    function(loop-mssa(licm),instcombine<no-verify-fixpoint>,simplifycfg,loop-simplify,lcssa)";

/// Variables that are not set are 0. Of those that LLVM knows to be undefined it makes what the
/// other arm of a branch leaves, `choose(c, x, undef) = x`: who sees the result would learn `x`
/// always.
pub(crate) const UNSET_IS_ZERO: &str = "-ftrivial-auto-var-init=zero";

/// Larger variables are refused, so they need not be set ([`OBJECT_BYTES_MAX`]): clang 19 takes twice
/// the size of an array in memory for that, 16 GiB for one of 8.
const UNSET_BYTES_MAX: &str = "-ftrivial-auto-var-init-max-size=2147483647";
const _: () = assert!(OBJECT_BYTES_MAX == 2_147_483_647);

/// `-ffp-contract=off` rounds a product before it is added, so all machines give the same result; without `errno`,
/// functions such as `sqrt` become operations.
pub(crate) const FLOAT_FLAGS: [&str; 2] = ["-ffp-contract=off", "-fno-math-errno"];

const FLAGS: [&str; 15] = [
    "-O1",
    "-Xclang",
    "-disable-llvm-passes",
    "-g",
    "-fwrapv",
    UNSET_IS_ZERO,
    UNSET_BYTES_MAX,
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-unroll-loops",
    "-fno-jump-tables",
    "-fno-discard-value-names",
    "-Werror=uninitialized",
    "-Werror=return-type",
    "-Werror=implicit-function-declaration",
];

/// Structures up to this size are passed in registers (System V ABI for x86-64, 3.2.3).
const REGISTERS_BYTES: u64 = 16;

/// The names under which clang 19 is looked for, after the variable `PHINEUS_CLANG`.
const CLANGS: [&str; 2] = ["clang-19", "/usr/lib/llvm-19/bin/clang"];

/// How a missing clang is got.
pub(crate) const INSTALL: &str = "clang 19 is not installed: run `apt-get install clang-19`";

/// A program on its way to bitcode.
pub(crate) struct Compiler {
    clang: PathBuf,
    pub(crate) folder: tempfile::TempDir,
    source: PathBuf,
}

impl Compiler {
    /// For the program at `path`.
    pub(crate) fn new(path: &Path) -> Result<Compiler, ProgramError> {
        let named = std::env::var_os("PHINEUS_CLANG").map(PathBuf::from);
        let known = named.into_iter().chain(CLANGS.iter().map(PathBuf::from));
        let clang = known.into_iter().find(|clang| {
            let version = Command::new(clang).arg("--version").output();
            version.is_ok_and(|v| String::from_utf8_lossy(&v.stdout).contains("version 19."))
        });
        let clang = clang.ok_or_else(|| ProgramError::Refused(INSTALL.to_owned()))?;
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("phineus.h"), HEADER)?;
        let source = std::path::absolute(path)?;
        Ok(Compiler { clang, folder, source })
    }

    /// Reads the annotations of the file.
    pub(crate) fn annotations(&self) -> Result<Annotations, ProgramError> {
        let mut command = self.command();
        command.args(["-E", "-DPHINEUS_SCAN"]).arg(&self.source);
        let output = self.run(command)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        scan(&self.source, &text).map_err(refused)
    }

    /// The program's bitcode for these sizes, with [`entry`] and the value of each expression in
    /// `dimensions` in a global `phineus_dimension_K`.
    pub(crate) fn bitcode(
        &self,
        sizes: &[(String, u64)],
        annotations: &Annotations,
        dimensions: &[String],
    ) -> Result<PathBuf, ProgramError> {
        let wrapper = self.folder.path().join("wrapper.c");
        let mut text = format!("{LIBRARY}#include \"{}\"\n", self.source.display());
        text += &entry(annotations);
        for (index, dimension) in dimensions.iter().enumerate() {
            text += &format!(
                "__attribute__((used)) const __int128 phineus_dimension_{index} = ({dimension});\n"
            );
        }
        std::fs::write(&wrapper, text)?;
        let bitcode = self.folder.path().join("program.bc");
        let mut command = self.command();
        command.args(FLAGS).args(FLOAT_FLAGS).args(defines(sizes)).args(["-c", "-emit-llvm", "-o"]);
        command.arg(&bitcode).arg(&wrapper);
        self.run(command)?;
        Ok(bitcode)
    }

    /// The program's file.
    pub(crate) fn source(&self) -> &Path {
        &self.source
    }

    /// A compiler for the program as plain C: this clang, which has the same builtins, else the
    /// system's own, where clang finds nothing to link with.
    pub(crate) fn plain(&self) -> Result<PathBuf, ProgramError> {
        let folder = self.folder.path();
        let source = folder.join("links.c");
        std::fs::write(&source, "#include <stdio.h>\nint main(void) { return 0; }\n")?;
        let mut command = Command::new(&self.clang);
        let linked = command.arg("-o").arg(folder.join("links")).arg(&source).output()?;
        Ok(if linked.status.success() { self.clang.clone() } else { PathBuf::from("cc") })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.clang);
        command.args(["-DPHINEUS", "-fdiagnostics-color=never", "-I"]).arg(self.folder.path());
        command
    }

    fn run(&self, mut command: Command) -> Result<Output, ProgramError> {
        let output = command.output()?;
        if output.status.success() {
            return Ok(output);
        }
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        let wrapper = self.folder.path().display().to_string();
        let lines = messages
            .lines()
            .filter(|line| !(line.starts_with("In file included from") && line.contains(&wrapper)));
        let shown: Vec<&str> = lines.collect();
        if shown.is_empty() {
            // It was ended from outside, or its output could not be written.
            let what =
                format!("{} ended with {}, saying nothing", self.clang.display(), output.status);
            return Err(std::io::Error::other(what).into());
        }
        Err(ProgramError::Refused(format!("clang refuses the program\n{}", shown.join("\n"))))
    }
}

/// The name of the function that [`entry`] defines.
pub(crate) const ENTRY: &str = "phineus_entry";

/// A function that calls the computation and has only pointers as parameters, the last one to where
/// its result goes: how structures are passed by value is the compiler's affair.
pub(crate) fn entry(annotations: &Annotations) -> String {
    let Some((main, _)) = &annotations.main else { return String::new() };
    let mut parameters = Vec::new();
    let mut arguments = Vec::new();
    for (index, marked) in annotations.parameters.iter().enumerate() {
        match &marked.value_type {
            Some(words) => {
                parameters.push(format!("{words} *phineus_{index}"));
                arguments.push(format!("*phineus_{index}"));
            }
            None => {
                parameters.push(format!("void *phineus_{index}"));
                arguments.push(format!("phineus_{index}"));
            }
        }
    }
    let mut call = format!("{main}({})", arguments.join(", "));
    match annotations.result.value_type.as_deref() {
        // A pointer is refused as soon as the types are known.
        None | Some("void") => {}
        Some(words) => {
            parameters.push(format!("{words} *phineus_result"));
            call = format!("*phineus_result = {call}");
        }
    }
    format!("void {ENTRY}({}) {{ {call}; }}\n", parameters.join(", "))
}

/// The sizes as clang takes them.
pub(crate) fn defines(sizes: &[(String, u64)]) -> Vec<String> {
    sizes.iter().map(|(name, value)| format!("-DPH_PARAM_{name}=0,{value}")).collect()
}

/// A diagnostic of the program before it is compiled.
pub(crate) fn refused(diagnostic: Diagnostic) -> ProgramError {
    ProgramError::Refused(super::diagnostic::render(&[diagnostic]))
}

/// Reads bitcode and runs [`PASSES`] on it; `inspect` sees it before and after.
pub(crate) fn module<'c>(
    context: &'c Context,
    bitcode: &Path,
) -> Result<LlvmModule<'c>, ProgramError> {
    let broken = |what: String| {
        let spot =
            SourceLocation { file: bitcode.display().to_string(), ..SourceLocation::default() };
        refused(Diagnostic::error(spot, what, "clang and LLVM must both be version 19"))
    };
    let buffer = MemoryBuffer::create_from_file(bitcode).map_err(|e| broken(e.to_string()))?;
    let module = LlvmModule::parse_bitcode_from_buffer(&buffer, context)
        .map_err(|e| broken(e.to_string()))?;
    module.verify().map_err(|e| broken(e.to_string()))?;
    Ok(module)
}

/// Runs [`PASSES`].
///
/// Functions that take or return small structures are inlined: x86-64 passes those in registers
/// that hold several fields together, which would have to be taken apart again.
pub(crate) fn simplify(module: &LlvmModule<'_>, types: &DebugTypes) -> Result<(), ProgramError> {
    let failed = |what: String| ProgramError::Refused(format!("LLVM: {what}"));
    let inline = Attribute::get_named_enum_kind_id("alwaysinline");
    let inline = module.get_context().create_enum_attribute(inline, 0);
    let is_coerced = |typ: &CType| match typ {
        CType::Integer { .. } | CType::Pointer(_) | CType::Void => false,
        typ => typ.size_bytes() <= REGISTERS_BYTES,
    };
    for function in module.get_functions().filter(|function| function.count_basic_blocks() > 0) {
        let name = function.get_name().to_string_lossy().into_owned();
        let Some((result, parameters)) = types.signature(&name) else { continue };
        if is_coerced(&result) || parameters.iter().any(|(_, typ)| is_coerced(typ)) {
            function.add_attribute(AttributeLoc::Function, inline);
        }
    }
    module.get_functions().for_each(|function| set_variables(module, function));
    Target::initialize_x86(&InitializationConfig::default());
    let triple = TargetMachine::get_default_triple();
    let target = Target::from_triple(&triple).map_err(|e| failed(e.to_string()))?;
    let machine = target
        .create_target_machine(
            &triple,
            "x86-64",
            "",
            OptimizationLevel::None,
            RelocMode::Default,
            CodeModel::Default,
        )
        .ok_or_else(|| failed("no machine for x86-64".to_owned()))?;
    module
        .run_passes(PASSES, &machine, PassBuilderOptions::create())
        .map_err(|e| failed(e.to_string()))
}

/// Sets integers, pointers and structures of them to 0 where they begin: clang leaves out those
/// whose declaration a `switch` or `goto` passes over. What is set anyway costs nothing.
fn set_variables(module: &LlvmModule<'_>, function: FunctionValue<'_>) {
    let builder = module.get_context().create_builder();
    let Some(entry) = function.get_first_basic_block() else { return };
    for instruction in entry.get_instructions() {
        let place = PointerValue::try_from(instruction);
        let (Ok(place), Ok(typ)) = (place, instruction.get_allocated_type()) else { continue };
        let Some(next) = instruction.get_next_instruction() else { continue };
        if has_no_array(typ) {
            builder.position_before(&next);
            builder.build_store(place, typ.const_zero()).expect("the builder has a place");
        }
    }
}

fn has_no_array(typ: BasicTypeEnum<'_>) -> bool {
    match typ {
        BasicTypeEnum::IntType(_) | BasicTypeEnum::PointerType(_) => true,
        BasicTypeEnum::StructType(typ) => typ.get_field_types().into_iter().all(has_no_array),
        _ => false,
    }
}
