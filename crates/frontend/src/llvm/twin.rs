//! The program as plain C: compiled by the system's compiler, or clang where that does not know what
//! clang knows, and run on the same inputs in the clear.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use phineus_bytecode::{Column, Lane, Table};

use super::compile::{Compiler, ENTRY, UNSET_IS_ZERO, defines, entry};
use super::ports::{Port, Signature};
use super::scan::Annotations;
use crate::error::ProgramError;

/// The outputs of the plain program on `inputs`, tables in the order of the ports.
pub(super) fn run(
    (compiler, annotations): (&Compiler, &Annotations),
    signature: &Signature,
    sizes: &[(String, u64)],
    inputs: &[Table],
) -> Result<Vec<Table>, ProgramError> {
    let binary = compile(compiler, annotations, signature, sizes)?;
    // Inputs go through a pipe: nothing of them comes to lie on a disk.
    let given = bytes_in(signature, inputs);
    let mut twin = Command::new(&binary)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let to_twin = twin.stdin.take();
    let output = thread::scope(|scope| {
        // One that ends before it has read all says so by how it ends.
        scope.spawn(move || to_twin.and_then(|mut to_twin| to_twin.write_all(&given).ok()));
        twin.wait_with_output()
    })?;
    if !output.status.success() {
        let what = format!(
            "the plain C twin ended with {}: it may have done what C leaves undefined, such as a \
             division by zero or an access out of bounds",
            output.status
        );
        return Err(ProgramError::Refused(what));
    }
    tables_out(signature, &output.stdout)
}

/// The plain program for these sizes, unless it was compiled before.
fn compile(
    compiler: &Compiler,
    annotations: &Annotations,
    signature: &Signature,
    sizes: &[(String, u64)],
) -> Result<PathBuf, ProgramError> {
    let tags = sizes.iter().map(|(name, value)| format!("-{name}-{value}"));
    let folder = compiler.folder.path();
    let binary = folder.join(format!("twin{}", tags.collect::<String>()));
    if binary.exists() {
        return Ok(binary);
    }
    let source = folder.join("twin.c");
    std::fs::write(&source, driver(compiler, annotations, signature))?;
    let built = |with: &Path, flags: &[&str]| {
        let mut command = Command::new(with);
        command.args(["-O1", "-fwrapv", "-w"]).args(flags).arg("-I").arg(compiler.folder.path());
        command.args(defines(sizes)).arg("-o").arg(&binary).arg(&source);
        command.output()
    };
    // What is not set is 0 here as well, as far as the compiler can (gcc 12, clang 16).
    let zeroed = [UNSET_IS_ZERO, "-fno-builtin-malloc", "-Wl,--wrap=malloc"];
    let plain = compiler.plain();
    let mut output = built(&plain, &zeroed)?;
    for (with, flags) in
        [(&*plain, &[][..]), (compiler.clang(), &zeroed[..]), (compiler.clang(), &[])]
    {
        if output.status.success() {
            return Ok(binary);
        }
        output = built(with, flags)?;
    }
    if output.status.success() {
        return Ok(binary);
    }
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(ProgramError::Refused(format!("the plain C twin: {messages}")))
}

/// A main function that reads all parameters, calls the function and writes all results.
fn driver(compiler: &Compiler, annotations: &Annotations, signature: &Signature) -> String {
    let mut text = format!(
        "#define main phineus_plain_main\n#include \"{}\"\n#undef main\n#include <stdio.h>\n{}\
         void *__wrap_malloc(size_t size) {{ return calloc(size, 1); }}\n\
         static void phineus_read(void *to, size_t size) {{\n\
         if (fread(to, 1, size, stdin) != size) exit(90);\n}}\nint main(void) {{\n",
        compiler.source().display(),
        entry(annotations)
    );
    let mut arguments = Vec::new();
    for (index, size) in signature.sizes.iter().enumerate() {
        let is_input = |port: &&Port| port.parameter == index && port.input.is_some();
        let _ = writeln!(text, "void *p{index} = calloc({size} + 16, 1);");
        if signature.ports.iter().any(|port| is_input(&port)) {
            let _ = writeln!(text, "phineus_read(p{index}, {size});");
        }
        arguments.push(format!("p{index}"));
    }
    let _ = writeln!(text, "{ENTRY}({});", arguments.join(", "));
    for port in signature.outputs() {
        let (index, offset, size) = (port.parameter, port.offset, port.rows.size_bytes());
        let _ = writeln!(text, "fwrite((char *)p{index} + {offset}, 1, {size}, stdout);");
    }
    text + "return 0;\n}\n"
}

/// The parameters' bytes, in order.
fn bytes_in(signature: &Signature, inputs: &[Table]) -> Vec<u8> {
    let tables = signature.inputs();
    let mut all: Vec<Vec<u8>> =
        signature.sizes.iter().map(|size| vec![0; *size as usize]).collect();
    for (table, values) in tables.iter().zip(inputs) {
        for (index, first) in &table.ports {
            let port = &signature.ports[*index];
            for row in 0..port.rows.rows {
                for (leaf, column) in port.rows.leaves.iter().zip(*first..) {
                    let at = (port.offset + row * port.rows.row_bytes + leaf.offset) as usize;
                    let value = extended(values.cell(row, column), &values.columns()[column]);
                    let size = leaf.bytes as usize;
                    let bytes = &mut all[port.parameter];
                    bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
                }
            }
        }
    }
    let is_input = |parameter: usize| {
        let mut ports = signature.ports.iter();
        ports.any(|port| port.parameter == parameter && port.input.is_some())
    };
    let read = all.into_iter().enumerate().filter(|(parameter, _)| is_input(*parameter));
    read.flat_map(|(_, bytes)| bytes).collect()
}

/// A cell with its sign in all bits.
fn extended(value: Lane, column: &Column) -> u128 {
    let width = column.element.width();
    let limbs = value.as_limbs();
    let low = u128::from(limbs[0]) | u128::from(limbs[1]) << 64;
    if column.element.is_signed() { super::data::signed(low, width) as u128 } else { low }
}

fn tables_out(signature: &Signature, bytes: &[u8]) -> Result<Vec<Table>, ProgramError> {
    let mut rest = bytes;
    let mut tables = Vec::new();
    for port in signature.outputs() {
        let size = port.rows.size_bytes() as usize;
        let Some((own, behind)) = rest.split_at_checked(size) else {
            return Err(ProgramError::Refused("the plain C twin wrote too little".to_owned()));
        };
        tables.push(table(port, own));
        rest = behind;
    }
    Ok(tables)
}

fn table(port: &Port, bytes: &[u8]) -> Table {
    let mut table = Table::new(port.rows.columns());
    for row in bytes.chunks(port.rows.row_bytes as usize) {
        let cell = |leaf: &super::memory::Leaf| {
            let mut value = [0u8; 16];
            let at = leaf.offset as usize;
            value[..leaf.bytes as usize].copy_from_slice(&row[at..at + leaf.bytes as usize]);
            let kept = super::data::mask(leaf.element.width());
            Lane::from(u128::from_le_bytes(value) & kept)
        };
        let row: Vec<Lane> = port.rows.leaves.iter().map(cell).collect();
        table.push(&row);
    }
    table
}

/// Random inputs within their types and ranges.
pub(super) fn generate(signature: &Signature, seed: u64) -> Vec<Table> {
    let mut state = seed;
    // SplitMix64 (Steele, Lea, Flood, 2014).
    let mut next = move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    };
    let tables = signature.inputs();
    let fill = |input: &super::ports::InputTable| {
        let mut table = Table::new(input.columns.clone());
        let mut ranges = vec![None; input.columns.len()];
        for (index, first) in &input.ports {
            let port = &signature.ports[*index];
            ranges[*first..first + port.rows.leaves.len()].fill(port.range);
        }
        for _ in 0..input.rows {
            let mut cell = |(column, range): (&Column, &Option<(i128, i128)>)| {
                let random = u128::from(next()) | u128::from(next()) << 64;
                let value = match range {
                    Some((low, high)) => {
                        let span = (high - low) as u128 + 1;
                        (low + (random % span) as i128) as u128
                    }
                    None => random,
                };
                Lane::from(value & super::data::mask(column.element.width()))
            };
            let row: Vec<Lane> = input.columns.iter().zip(&ranges).map(&mut cell).collect();
            table.push(&row);
        }
        table
    };
    tables.iter().map(fill).collect()
}
