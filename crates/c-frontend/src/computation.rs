//! A whole computation: inputs, the function, outputs.

use phineus_bytecode::{InputPort, RowOrder};
use phineus_frontend::untyped::Value;
use phineus_frontend::{Tracer, column};

use crate::carried::form::Plan;
use crate::compiler::ENTRY;
use crate::data::CellValue;
use crate::diagnostic::{Diagnostic, SourceLocation};
use crate::evaluate::report::ExecutionStop;
use crate::interpreter::Interpreter;
use crate::ir::module::{Global, IrModule};
use crate::memory::object::{OBJECT_BYTES_MAX, ObjectStorage};
use crate::memory::table::InputMemory;
use crate::signature::{CParameter, RowType, Signature};

/// Wires of a chunk of an input: those of the widest value there is.
const CHUNK_WIRES: u32 = phineus_bytecode::limits::VALUE_WIRES_MAX;
/// C computes in integers of 32 bits at least, so that wider chunks would only be cut.
const NARROWEST: u32 = 32;

/// The remedy for a result that is not set.
const NEVER_SET: &str = "set all of a result; what C leaves undefined counts as not set, such as a \
                         division by a public zero or an address read as a number";

/// Tries of a program whose control flow is opened when it runs; each finds out more.
const TRIES_MAX: u32 = 1000;

/// Runs the computation into the tracer; returns what there is to say about it.
pub(crate) fn run(
    module: &IrModule,
    signature: &Signature,
    tracer: &Tracer,
    file: &str,
) -> Vec<Diagnostic> {
    let too_large = too_large(module);
    if !too_large.is_empty() {
        return too_large;
    }
    let plan = match find_out(module, signature, tracer, file) {
        Ok(plan) => plan,
        Err(diagnostics) => return diagnostics,
    };
    let mut interpreter = Interpreter::new(module, tracer);
    interpreter.opened.plan = plan;
    match compute(&mut interpreter, signature, tracer, file) {
        Err(ExecutionStop::Abandon | ExecutionStop::Pause | ExecutionStop::Restart) => {
            unreachable!("only dry runs and tries are abandoned")
        }
        Ok(()) | Err(ExecutionStop::Fatal) => interpreter.access.values.report.diagnostics,
    }
}

/// Global variables that are larger than any object may be.
fn too_large(module: &IrModule) -> Vec<Diagnostic> {
    let large = module.globals.iter().filter(|global| u128::from(global.size) > OBJECT_BYTES_MAX);
    let fault = |global: &Global| {
        let what = format!("'{}' has 2 GiB or more", global.name);
        Diagnostic::error(module.spot(global.place), what, "use smaller parts")
    };
    large.map(fault).collect()
}

/// Finds by trying which values are carried by loops whose end is opened at run time.
fn find_out(
    module: &IrModule,
    signature: &Signature,
    tracer: &Tracer,
    file: &str,
) -> Result<Plan, Vec<Diagnostic>> {
    let mut plan = Plan::new();
    if !module.reveals() {
        return Ok(plan);
    }
    for _ in 0..TRIES_MAX {
        let Ok(scratch) = Tracer::new("", std::io::sink()) else { break };
        for party in tracer.parties() {
            scratch.party(&party);
        }
        let mut interpreter = Interpreter::new(module, &scratch);
        interpreter.opened.plan = plan;
        match compute(&mut interpreter, signature, &scratch, file) {
            Err(ExecutionStop::Restart) => plan = interpreter.opened.plan,
            _ if interpreter.access.values.report.has_errors() => {
                return Err(interpreter.access.values.report.diagnostics);
            }
            _ => return Ok(interpreter.opened.plan),
        }
    }
    let spot = SourceLocation { file: file.to_owned(), ..SourceLocation::default() };
    let what = "what its loops carry cannot be found out".to_owned();
    Err(vec![Diagnostic::error(spot, what, "let loops whose end is revealed change less memory")])
}

fn compute(
    interpreter: &mut Interpreter<'_>,
    signature: &Signature,
    tracer: &Tracer,
    file: &str,
) -> Result<(), ExecutionStop> {
    let arguments = inputs(interpreter, signature, tracer);
    if interpreter.module.reveals() {
        interpreter.access.read_inputs();
    }
    let index = interpreter.module.function(ENTRY).expect("it was compiled");
    let pointers = arguments.iter().map(|object| CellValue::Pointer(*object, 0)).collect();
    interpreter.access.check_budget()?;
    interpreter.run_main(index, pointers)?;
    interpreter.access.check_budget()?;
    if interpreter.access.values.report.has_errors() {
        return Ok(());
    }
    for port in signature.outputs() {
        output(interpreter, tracer, port, arguments[port.parameter], file)?;
    }
    Ok(())
}

/// The objects that the function gets pointers to: tables, and memory for results.
fn inputs(interpreter: &mut Interpreter<'_>, signature: &Signature, tracer: &Tracer) -> Vec<u32> {
    let mut arguments = vec![None; signature.sizes.len()];
    let parties = tracer.parties();
    for table in signature.inputs() {
        let party = parties.iter().position(|party| *party == table.party);
        let number = tracer.add_input(InputPort {
            name: table.name.clone(),
            party: party.map_or(u16::MAX, |party| party as u16),
            rows: table.rows,
            columns: table.columns.clone(),
            order: RowOrder::Given,
        });
        for (index, first) in &table.ports {
            let port = &signature.ports[*index];
            let object = add_table(interpreter, &port.name, &port.rows, number, *first);
            let is_in_it = |other: &&CParameter| other.parameter == port.parameter;
            let is_alone = signature.ports.iter().filter(is_in_it).count() == 1;
            if is_alone && port.rows.size_bytes() == signature.sizes[port.parameter] {
                arguments[port.parameter] = Some(object);
                continue;
            }
            let whole = arguments[port.parameter]
                .unwrap_or_else(|| parameter_memory(interpreter, signature, port));
            arguments[port.parameter] = Some(whole);
            fill(interpreter, port, object, whole);
        }
    }
    for port in &signature.ports {
        if arguments[port.parameter].is_none() {
            arguments[port.parameter] = Some(parameter_memory(interpreter, signature, port));
        }
    }
    arguments.into_iter().map(|object| object.expect("all have ports")).collect()
}

/// Memory for the parameter that a port is in.
fn parameter_memory(
    interpreter: &mut Interpreter<'_>,
    signature: &Signature,
    port: &CParameter,
) -> u32 {
    let size = signature.sizes[port.parameter];
    let name = port.name.split('.').next().unwrap_or_default();
    interpreter.access.memory.allocate(name, size, granule(&port.rows))
}

/// Brings a table to its place in a parameter of several.
fn fill(interpreter: &mut Interpreter<'_>, port: &CParameter, table: u32, whole: u32) {
    for row in 0..port.rows.rows {
        for leaf in &port.rows.leaves {
            let (at, bytes) = (row * port.rows.row_bytes + leaf.offset, leaf.bytes as u8);
            let data = interpreter.access.read(table, at, bytes).unwrap_or(CellValue::Poison);
            interpreter.access.memory.refine(whole, port.offset + at, leaf.bytes);
            interpreter.access.memory.put(whole, port.offset + at, bytes, &data);
        }
    }
}

/// The largest power of two that divides the places of all scalars.
fn granule(rows: &RowType) -> u8 {
    let all = rows.leaves.iter().fold(rows.row_bytes, |all, leaf| all | leaf.offset | leaf.bytes);
    (1u64 << all.trailing_zeros()).min(16) as u8
}

fn add_table(
    interpreter: &mut Interpreter<'_>,
    name: &str,
    rows: &RowType,
    port: u64,
    first_column: usize,
) -> u32 {
    let lanes_of = |bits: u16| CHUNK_WIRES / u32::from(bits).max(NARROWEST);
    let lanes: Vec<u32> = rows.leaves.iter().map(|leaf| lanes_of(leaf.bytes as u16 * 8)).collect();
    let mut leaf_at = vec![None; rows.row_bytes as usize];
    for (leaf, index) in rows.leaves.iter().zip(0u32..) {
        leaf_at[leaf.offset as usize..(leaf.offset + leaf.bytes) as usize].fill(Some(index));
    }
    let chunks = lanes.iter().map(|lanes| vec![None; rows.rows.div_ceil((*lanes).into()) as usize]);
    let table = InputMemory {
        port,
        first_column: first_column as u64,
        rows: rows.rows,
        row_bytes: rows.row_bytes,
        leaves: rows.leaves.clone(),
        leaf_at,
        chunks: chunks.collect(),
        lanes,
    };
    interpreter.access.memory.add(
        name,
        rows.size_bytes(),
        granule(rows),
        ObjectStorage::Table(table),
    )
}

/// Gives a table of results to those who learn it.
fn output(
    interpreter: &mut Interpreter<'_>,
    tracer: &Tracer,
    port: &CParameter,
    object: u32,
    file: &str,
) -> Result<(), ExecutionStop> {
    let parties: Vec<&str> = port.outputs.iter().map(String::as_str).collect();
    let mut builder = tracer.output(&port.name, &parties);
    for leaf in &port.rows.leaves {
        let width = leaf.bytes as u16 * 8;
        let mut cells = Vec::with_capacity(port.rows.rows as usize);
        for row in 0..port.rows.rows {
            let at = port.offset + row * port.rows.row_bytes + leaf.offset;
            let cell = interpreter.access.read(object, at, leaf.bytes as u8)?;
            let is_integer = cell.is_secret() || matches!(cell, CellValue::Public(_));
            if !is_integer {
                let name = port.name.split('.').next().unwrap_or_default();
                let spot = port.line.spot_of(file, name);
                let what = format!("row {row} of '{}' is never set", leaf.name);
                interpreter
                    .access
                    .values
                    .report
                    .diagnostics
                    .push(Diagnostic::error(spot, what, NEVER_SET));
                return Ok(());
            }
            cells.push(cell);
        }
        let bits = leaf.element.width();
        let most = (CHUNK_WIRES / u32::from(width)) as usize;
        let mut chunks: Vec<Value> = Vec::new();
        for cells in cells.chunks(most) {
            let packed = interpreter.access.values.emit.pack(cells, width);
            let narrowed = if width > bits { packed.bit_slice(0, bits) } else { (*packed).clone() };
            chunks.push(narrowed.with_sign(leaf.element.is_signed()));
        }
        builder = builder.chunks(column(&leaf.name, leaf.element, leaf.encoding), chunks);
    }
    builder.write();
    Ok(())
}
