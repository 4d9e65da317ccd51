//! The program as plain C: compiled with the same clang, run on the same inputs in the clear.
//!
//! It may do what C leaves undefined, never end, or want all memory, where the computation does
//! not: it has [`SECONDS_MAX`] and [`MEMORY_BYTES_MAX`], and how it fails is a
//! [`ProgramError::Reference`].

use std::fmt::Write as _;
use std::io::{Error, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use phineus_bytecode::float::bits_of;
use phineus_bytecode::{Column, Encoding, Lane, Table};
use phineus_frontend::ProgramError;

use crate::annotations::Annotations;
use crate::compiler::{Compiler, ENTRY, FLOAT_FLAGS, UNSET_IS_ZERO, defines, entry};
use crate::memory::table::TableColumn;
use crate::signature::{CParameter, Signature};

/// How long the plain program may take, unless [`SECONDS_VARIABLE`] says. What is traced has at
/// most some 2^32 operations, and a processor does 2^30 and more a second.
const SECONDS_MAX: u64 = 60;

/// The variable that says otherwise.
const SECONDS_VARIABLE: &str = "PHINEUS_REFERENCE_SECONDS";

/// How much memory it may use, besides what its parameters take.
const MEMORY_BYTES_MAX: u64 = 4 << 30;

/// How it ends where it wants more, as far as it can say so.
const NO_MEMORY: i32 = 91;

/// How often it is looked whether it has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// The outputs of the plain program on `inputs`, tables in the order of the ports.
pub(crate) fn run(
    (compiler, annotations): (&Compiler, &Annotations),
    signature: &Signature,
    sizes: &[(String, u64)],
    inputs: &[Table],
) -> Result<Vec<Table>, ProgramError> {
    let binary = compile((compiler, annotations), signature, sizes)?;
    let limit = seconds_max()?;
    // Inputs go through a pipe: nothing of them comes to lie on a disk.
    let given = bytes_in(signature, inputs);
    let wanted: u64 = signature.outputs().map(|port| port.rows.size_bytes()).sum();
    let mut reference = Command::new(&binary)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (to_reference, from_reference) = (reference.stdin.take(), reference.stdout.take());
    let (status, output) = thread::scope(|scope| {
        // One that ends before it has read all says so by how it ends.
        scope.spawn(move || {
            to_reference.and_then(|mut to_reference| to_reference.write_all(&given).ok())
        });
        let output = scope.spawn(move || {
            let mut bytes = Vec::new();
            let read = from_reference.map(|pipe| pipe.take(wanted).read_to_end(&mut bytes));
            read.unwrap_or(Ok(0)).map(|_| bytes)
        });
        let status = wait(&mut reference, Duration::from_secs(limit));
        (status, output.join().unwrap_or_else(|_| Err(Error::other("reading failed"))))
    });
    refuse_failed(status?, limit)?;
    tables_out(signature, &output?)
}

/// How many seconds the plain program may take.
fn seconds_max() -> Result<u64, ProgramError> {
    let Some(value) = std::env::var_os(SECONDS_VARIABLE) else { return Ok(SECONDS_MAX) };
    let value = value.to_string_lossy();
    value.parse().map_err(|_| {
        let what = format!("{SECONDS_VARIABLE}={value}: expected a whole number of seconds");
        ProgramError::Refused(what)
    })
}

/// Waits for the plain program at most `limit`, and ends it after that: `None`.
fn wait(reference: &mut Child, limit: Duration) -> Result<Option<ExitStatus>, Error> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = reference.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(PAUSE);
    }
    reference.kill()?;
    reference.wait().map(|_| None)
}

/// Says why there is no answer, where the plain program has ended so.
fn refuse_failed(status: Option<ExitStatus>, limit_s: u64) -> Result<(), ProgramError> {
    let gib = MEMORY_BYTES_MAX >> 30;
    let what = match status {
        Some(status) if status.success() => return Ok(()),
        None => format!(
            "the plain C program had not ended after {limit_s} s ({SECONDS_VARIABLE} says how long it \
             may take)"
        ),
        Some(status) if status.code() == Some(NO_MEMORY) => {
            format!("the plain C program needs more than {gib} GiB of memory")
        }
        Some(status) => format!(
            "the plain C program ended with {status}: it may have done what C leaves undefined, such \
             as a division by zero or an access out of bounds, or need a deeper stack or more than \
             {gib} GiB of memory"
        ),
    };
    Err(ProgramError::Reference(what))
}

/// The plain program for these sizes, unless it was compiled before.
pub(crate) fn compile(
    (compiler, annotations): (&Compiler, &Annotations),
    signature: &Signature,
    sizes: &[(String, u64)],
) -> Result<PathBuf, ProgramError> {
    // What it says is wrong is told before the run.
    seconds_max()?;
    let tags = sizes.iter().map(|(name, value)| format!("-{name}-{value}"));
    let folder = compiler.folder.path();
    let binary = folder.join(format!("reference{}", tags.collect::<String>()));
    if binary.exists() {
        return Ok(binary);
    }
    let source = folder.join("reference.c");
    std::fs::write(&source, driver(compiler, annotations, signature))?;
    let plain = compiler.plain()?;
    let built = |flags: &[&str]| {
        let mut command = Command::new(&plain);
        command
            .args(["-O1", "-fwrapv", "-w"])
            .args(FLOAT_FLAGS)
            .args(flags)
            .arg("-I")
            .arg(compiler.folder.path());
        command.args(defines(sizes)).arg("-o").arg(&binary).arg(&source).arg("-lm");
        command.output()
    };
    // What is not set is 0 here as well, as far as the compiler can (gcc 12, clang 16).
    let mut output = built(&[UNSET_IS_ZERO, "-fno-builtin-malloc", "-Wl,--wrap=malloc"])?;
    if !output.status.success() {
        output = built(&[])?;
    }
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(ProgramError::Refused(format!("the plain C program: {messages}")));
    }
    Ok(binary)
}

/// A main function that reads all parameters, calls the function and writes all results.
fn driver(compiler: &Compiler, annotations: &Annotations, signature: &Signature) -> String {
    let given: u64 = signature.sizes.iter().sum();
    let memory_bytes = MEMORY_BYTES_MAX.saturating_add(given.saturating_mul(2));
    // A core file would hold the inputs.
    let mut text = format!(
        "#define main phineus_plain_main\n#include \"{}\"\n#undef main\n#include <stdio.h>\n\
         #include <stdlib.h>\n#include <sys/resource.h>\n{}\
         void *__wrap_malloc(size_t size) {{\nvoid *place = calloc(size ? size : 1, 1);\n\
         if (!place) _Exit({NO_MEMORY});\nreturn place;\n}}\n\
         static void phineus_limit(int what, unsigned long long most) {{\n\
         struct rlimit limit = {{most, most}};\nsetrlimit(what, &limit);\n}}\n\
         static void phineus_read(void *to, size_t size) {{\n\
         if (fread(to, 1, size, stdin) != size) exit(90);\n}}\nint main(void) {{\n\
         phineus_limit(RLIMIT_CORE, 0);\nphineus_limit(RLIMIT_AS, {memory_bytes}ULL);\n",
        compiler.source().display(),
        entry(annotations)
    );
    let mut arguments = Vec::new();
    for (index, size) in signature.sizes.iter().enumerate() {
        let is_input = |port: &&CParameter| port.parameter == index && port.input.is_some();
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
    if column.element.is_signed() { crate::data::signed(low, width) as u128 } else { low }
}

fn tables_out(signature: &Signature, bytes: &[u8]) -> Result<Vec<Table>, ProgramError> {
    let mut rest = bytes;
    let mut tables = Vec::new();
    for port in signature.outputs() {
        let size = port.rows.size_bytes() as usize;
        let Some((own, behind)) = rest.split_at_checked(size) else {
            return Err(ProgramError::Reference("the plain C program wrote too little".to_owned()));
        };
        tables.push(table(port, own));
        rest = behind;
    }
    Ok(tables)
}

fn table(port: &CParameter, bytes: &[u8]) -> Table {
    let mut table = Table::new(port.rows.columns());
    for row in bytes.chunks(port.rows.row_bytes as usize) {
        let cell = |leaf: &TableColumn| {
            let mut value = [0u8; 16];
            let at = leaf.offset as usize;
            value[..leaf.bytes as usize].copy_from_slice(&row[at..at + leaf.bytes as usize]);
            let kept = crate::data::mask(leaf.element.width());
            Lane::from(u128::from_le_bytes(value) & kept)
        };
        let row: Vec<Lane> = port.rows.leaves.iter().map(cell).collect();
        table.push(&row);
    }
    table
}

/// Random inputs within their types and ranges.
pub(crate) fn generate(signature: &Signature, seed: u64) -> Vec<Table> {
    let mut state = seed;
    // SplitMix64 (Steele, Lea, Flood, 2014).
    let mut next = move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    };
    let tables = signature.inputs();
    let fill = |input: &crate::signature::TableParameter| {
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
                    None if column.encoding == Encoding::Float => {
                        // From -100 to 100, in thousandths.
                        let number = (random % 200_001) as f64 / 1000.0 - 100.0;
                        bits_of(number, column.element.width()).into()
                    }
                    None => random,
                };
                Lane::from(value & crate::data::mask(column.element.width()))
            };
            let row: Vec<Lane> = input.columns.iter().zip(&ranges).map(&mut cell).collect();
            table.push(&row);
        }
        table
    };
    tables.iter().map(fill).collect()
}
