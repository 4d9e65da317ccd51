//! How a program uses its memories, and programs that use one of them alike: what a method costs is what such a
//! program costs.

use std::io::{Read, Seek, Write};

use phineus_bytecode::{
    Column, ElementType, Encoding, Instruction, Lane, Memory, MemoryMethod, Op, ProgramReader,
};
use phineus_frontend::{ProgramError, Traced, Tracer, Value, column, lanes_for};

use super::accesses::{AccessKind, for_each_access};
use super::index_bits;
use super::period::MemoryTerms;
use super::position_map::MapKind;

/// How often a program accesses a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Accesses that change nothing.
    pub reads: u64,
    /// Accesses that change the row.
    pub changes: u64,
    /// Accesses among these whose index is public: a scan does them for nothing.
    pub at_public: u64,
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
        let public = u128::from(self.at_public) * u128::from(accesses);
        let at_public = ((public + all / 2) / all) as u64;
        MemoryUsage { reads, changes: accesses - reads, at_public }
    }
}

/// How a program uses each of its memories, if its blocks run so many times.
///
/// # Errors
/// If it cannot be read.
pub fn usages<R: Read + Seek>(
    blocks: &mut [ProgramReader<R>],
    times: &[u64],
) -> Result<Vec<MemoryUsage>, ProgramError> {
    let memories = blocks[0].description().memories.len();
    let mut usages = vec![MemoryUsage::default(); memories];
    for (block, &times) in blocks.iter_mut().zip(times) {
        for_each_access(block, |access| {
            let usage = &mut usages[access.memory];
            match access.kind {
                AccessKind::Read => usage.reads += times,
                AccessKind::Write | AccessKind::Update => usage.changes += times,
            }
            usage.at_public += if access.is_public { times } else { 0 };
        })?;
    }
    Ok(usages)
}

/// About how many instructions a turn of a method has.
pub fn instructions_of_a_turn(shape: &Memory, method: MemoryMethod, terms: MemoryTerms) -> u64 {
    let widest = shape.columns.iter().map(|element| element.width()).max().unwrap_or(1);
    let chunks = shape.rows.div_ceil(u64::from(lanes_for(widest)));
    let columns = shape.columns.len() as u64;
    let accesses = accesses_of_a_turn(shape, method, terms);
    match method {
        MemoryMethod::Scan => accesses * chunks * columns * 2,
        MemoryMethod::Linked => accesses * (columns + 4),
        MemoryMethod::SquareRoot | MemoryMethod::SquareRootTable => {
            // A pass of each party over all columns and as many over the numbers, each of some 4 instructions for each
            // layer.
            let layers = 2 * u64::from(index_bits(shape.rows));
            let passes = 4 * u64::from(terms.parties);
            layers * chunks * passes * (columns + 2) + accesses * (400 + accesses / 8 * columns)
        }
    }
}

/// After how many accesses the cost of a method repeats.
pub fn accesses_of_a_turn(shape: &Memory, method: MemoryMethod, terms: MemoryTerms) -> u64 {
    let period = |kind| terms.period(kind, &shape.columns, shape.rows.max(2));
    match method {
        MemoryMethod::Scan | MemoryMethod::Linked => 32,
        MemoryMethod::SquareRoot => period(MapKind::Published),
        MemoryMethod::SquareRootTable => period(MapKind::Located),
    }
}

/// Writes a program that uses a memory of this shape so often, at the index that the second party brings, and nothing
/// else.
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
    for (place, &element) in shape.columns.iter().enumerate() {
        for row in (0..shape.rows).step_by(lanes as usize) {
            let lanes = lanes.min(shape.rows - row) as u32;
            memory.set(place, row, &secret(&tracer, element, lanes));
        }
    }
    // From the party whose inputs need oblivious transfers, if any do: they are set up once in a program, so they are
    // no reason against the method that needs them too.
    let owner = parties.get(1).or(parties.first()).expect("a program has parties");
    let number = ElementType::unsigned(index_bits(shape.rows));
    let index =
        tracer.input("index", 1).by(owner).column(column("index", number, Encoding::Number));
    let index = index.lanes(1).read().into_columns().swap_remove(0).swap_remove(0);
    let new: Vec<Value> =
        shape.columns.iter().map(|&element| secret(&tracer, element, 1)).collect();
    let mut cells = new.clone();
    let public = tracer.constant(number, Lane::ZERO);
    let mut link = shape.is_linked.then(|| memory.link(0));
    for access in 0..usage.accesses() {
        let is_public = access >= usage.accesses() - usage.at_public.min(usage.accesses());
        match &mut link {
            Some(link) => {
                memory.follow(link);
                *link = memory.next_link();
            }
            None => memory.open(if is_public { &public } else { &index }),
        }
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
