//! Runs a program in the clear, instruction by instruction: slow, simple, for tests of programs.
//!
//! Follows the meanings of the op table alone. Keeps every value, so it is for small programs.

use std::io::{Read, Seek};

use phineus_bytecode::meaning::{Lanes, mask_of};
use phineus_bytecode::{Instruction, Op, ProgramReader, Table};

use crate::arguments::Arguments;
use crate::error::ProgramError;
use crate::program::{Program, trace_to_file};

/// Traces `program` and runs it on `inputs`, one table for each input port; gives the outputs.
pub fn run(
    program: &dyn Program,
    arguments: &Arguments,
    inputs: &[Table],
) -> Result<Vec<Table>, ProgramError> {
    let (file, _) = trace_to_file(program, arguments)?;
    run_file(file, inputs)
}

/// Runs a program file on `inputs`.
pub fn run_file(file: impl Read + Seek, inputs: &[Table]) -> Result<Vec<Table>, ProgramError> {
    let mut reader = ProgramReader::open(file)?;
    let description = reader.description().clone();
    check_inputs(&description, inputs)?;
    let outputs = description.outputs.iter();
    let mut outputs: Vec<Table> =
        outputs.map(|port| Table::zeros(port.columns.clone(), port.rows)).collect();
    let mut values: Vec<Lanes> = Vec::new();
    reader.for_each::<ProgramError>(|instruction| {
        step(instruction, inputs, &mut values, &mut outputs);
        Ok(())
    })?;
    Ok(outputs)
}

fn check_inputs(
    description: &phineus_bytecode::Description,
    inputs: &[Table],
) -> Result<(), ProgramError> {
    let (wanted, found) = (description.inputs.len(), inputs.len());
    if wanted != found {
        return Err(ProgramError::Refused(format!("the program has {wanted} inputs, got {found}")));
    }
    for (port, table) in description.inputs.iter().zip(inputs) {
        if port.columns != table.columns() || port.rows != table.row_count() {
            let (name, rows, found) = (&port.name, port.rows, table.row_count());
            return Err(ProgramError::Refused(format!(
                "input '{name}' needs {rows} rows of its columns, got {found} rows"
            )));
        }
    }
    Ok(())
}

fn step(i: &Instruction, inputs: &[Table], values: &mut Vec<Lanes>, outputs: &mut [Table]) {
    let [port, column, row, _] = i.immediates.map(|word| word as usize);
    match i.op {
        Op::Input => {
            let rows = (row..row + i.lanes as usize).map(|row| row as u64);
            let lanes = rows.map(|row| inputs[port].cell(row, column)).collect();
            values.push(lanes);
        }
        Op::Output => {
            for (lane, &value) in values[i.operands[0] as usize].iter().enumerate() {
                outputs[port].set_cell((row + lane) as u64, column, value);
            }
        }
        _ => {
            let operands: Vec<Lanes> =
                i.operands().iter().map(|&name| values[name as usize].clone()).collect();
            let meaning = i.op.info().meaning.expect("only ports have no meaning");
            for (index, result) in meaning(i, &operands).into_iter().enumerate() {
                let mask = mask_of(i.result_shape(index).width);
                debug_assert!(result.iter().all(|&lane| lane & mask == lane));
                values.push(result);
            }
        }
    }
}
