//! How a program uses its memories, and programs that use one of them alike: what a method costs is what such a
//! program costs.

use std::io::{Read, Seek, Write};

use phineus_bytecode::{
    Column, ElementType, Encoding, Instruction, Memory, MemoryMethod, Op, ProgramReader,
};
use phineus_frontend::{ProgramError, Traced, Tracer, Value, column, lanes_for};

use super::index_bits;
use super::position_map::MapKind;
use super::square_root::period;

/// How often a program accesses a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Accesses that change nothing.
    pub reads: u64,
    /// Accesses that change the row.
    pub changes: u64,
}

impl MemoryUsage {
    /// All accesses.
    pub fn accesses(self) -> u64 {
        self.reads + self.changes
    }

    /// So many accesses in about the same proportion.
    pub fn scaled_to(self, accesses: u64) -> MemoryUsage {
        let all = u128::from(self.accesses().max(1));
        let reads = u128::from(self.reads) * u128::from(accesses);
        let reads = ((reads + all / 2) / all) as u64;
        MemoryUsage { reads, changes: accesses - reads }
    }
}

/// How `program` uses each of its memories.
///
/// # Errors
/// If it cannot be read.
pub fn usages<R: Read + Seek>(
    program: &mut ProgramReader<R>,
) -> Result<Vec<MemoryUsage>, ProgramError> {
    let count = program.description().memories.len();
    let mut usages = vec![MemoryUsage::default(); count];
    let mut is_changed = vec![true; count];
    program.for_each::<ProgramError>(|instruction| {
        let index = instruction.immediates[0] as usize;
        match instruction.op {
            Op::MemoryOpen => {
                usages[index].reads += 1;
                is_changed[index] = false;
            }
            Op::MemoryChange if !is_changed[index] => {
                usages[index].reads -= 1;
                usages[index].changes += 1;
                is_changed[index] = true;
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(usages)
}

/// After how many accesses the cost of a method repeats.
pub fn accesses_of_a_turn(shape: &Memory, method: MemoryMethod) -> u64 {
    match method {
        MemoryMethod::Scan => 32,
        MemoryMethod::SquareRoot => period(MapKind::Published, shape.rows.max(2)),
        MemoryMethod::SquareRootTable => period(MapKind::Located, shape.rows.max(2)),
    }
}

/// Writes a program that uses a memory of this shape so often, and nothing else.
///
/// # Errors
/// If it cannot be written.
pub fn sample(
    shape: &Memory,
    usage: MemoryUsage,
    parties: &[String],
    output: impl Write + 'static,
) -> Result<Traced, ProgramError> {
    let tracer = Tracer::new("memory", output)?;
    for party in parties {
        tracer.party(party);
    }
    let memory = tracer.secret_memory(shape.clone());
    let widest = shape.columns.iter().map(|element| element.width()).max();
    let lanes = u64::from(lanes_for(widest.expect("a memory has columns")));
    for (column, &element) in shape.columns.iter().enumerate() {
        for row in (0..shape.rows).step_by(lanes as usize) {
            let lanes = lanes.min(shape.rows - row) as u32;
            memory.set(column, row, &secret(&tracer, element, lanes));
        }
    }
    let index = secret(&tracer, ElementType::unsigned(index_bits(shape.rows)), 1);
    let new: Vec<Value> =
        shape.columns.iter().map(|&element| secret(&tracer, element, 1)).collect();
    let mut cells = new.clone();
    for access in 0..usage.accesses() {
        memory.open(&index);
        cells = memory.cells();
        if access < usage.changes {
            new.iter().enumerate().for_each(|(column, cell)| memory.change(column, cell));
        }
    }
    let columns: Vec<Column> = (shape.columns.iter().enumerate())
        .map(|(number, &element)| column(&format!("c{number}"), element, Encoding::Number))
        .collect();
    let names: Vec<&str> = parties.iter().map(String::as_str).collect();
    let mut found = tracer.output("found", &names).rows(&columns, 1);
    found.push(&cells.iter().collect::<Vec<_>>());
    found.finish();
    tracer.finish()
}

/// A value that is not public, without a party that brings it.
fn secret(tracer: &Tracer, element: ElementType, lanes: u32) -> Value {
    // Of one lane, a constant would be a public value.
    let wide = lanes.max(2);
    let name = tracer.copy(&Instruction::new(Op::Constant, element, wide));
    let constant = tracer.named(name.unwrap_or_default(), element, wide);
    if wide == lanes { constant } else { constant.lane_slice(0, lanes) }
}
