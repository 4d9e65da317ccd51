//! Evaluates a circuit file on plain bits, gate by gate: the plaintext reference for its tracing.

use std::path::Path;

use phineus_bytecode::{Column, Lane, Table};

use crate::arguments::Arguments;
use crate::bristol::gates::{Gate, GateReader};
use crate::bristol::import::{Circuit, ColumnBits};
use crate::error::ProgramError;

/// Instances that are evaluated at once, as the bits of a word.
const INSTANCES: u64 = 64;

/// The outputs of `circuit` on `inputs`.
pub(super) fn evaluate(
    circuit: &Circuit,
    path: &Path,
    arguments: &Arguments,
    inputs: &[Table],
) -> Result<Vec<Table>, ProgramError> {
    let instances = circuit.instances(arguments)?;
    let parties = circuit.input_parts(arguments)?;
    let outputs = circuit.output_parts();
    let columns: Vec<Column> = outputs.iter().map(|part| part.column.clone()).collect();
    let mut result = Table::new(columns);
    let mut first = 0;
    while first < instances {
        let count = (instances - first).min(INSTANCES);
        let mut wires = vec![0u64; circuit.header().wires as usize];
        for ((_, parts), table) in parties.iter().zip(inputs) {
            set_inputs(&mut wires, parts, table, first, count);
        }
        run(path, &mut wires)?;
        for instance in 0..count {
            let row: Vec<Lane> = outputs
                .iter()
                .map(|part| {
                    (0..part.bits).fold(Lane::ZERO, |mut lane, bit| {
                        let word = wires[(part.first_wire + bit) as usize];
                        lane.set_bit(bit as usize, word >> instance & 1 == 1);
                        lane
                    })
                })
                .collect();
            result.push(&row);
        }
        first += count;
    }
    Ok(vec![result])
}

fn set_inputs(wires: &mut [u64], parts: &[ColumnBits], table: &Table, first: u64, count: u64) {
    for (column, part) in parts.iter().enumerate() {
        for instance in 0..count {
            let value = table.cell(first + instance, column);
            for bit in 0..part.bits {
                let wire = &mut wires[(part.first_wire + bit) as usize];
                *wire |= u64::from(value.bit(bit as usize)) << instance;
            }
        }
    }
}

fn run(path: &Path, wires: &mut [u64]) -> Result<(), ProgramError> {
    let mut gates = GateReader::open(path)?;
    let at = |wire: u64| wire as usize;
    while let Some(gate) = gates.next_gate()? {
        match gate {
            Gate::Xor([a, b, c]) => wires[at(c)] = wires[at(a)] ^ wires[at(b)],
            Gate::And([a, b, c]) => wires[at(c)] = wires[at(a)] & wires[at(b)],
            Gate::Not([a, b]) => wires[at(b)] = !wires[at(a)],
            Gate::Copy([a, b]) => wires[at(b)] = wires[at(a)],
            Gate::Constant(bit, a) => wires[at(a)] = if bit { u64::MAX } else { 0 },
            Gate::ManyAnds(count) => {
                let all = gates.wires();
                for index in 0..count {
                    let (a, b) = (all[index], all[count + index]);
                    wires[at(all[2 * count + index])] = wires[at(a)] & wires[at(b)];
                }
            }
        }
    }
    Ok(())
}
