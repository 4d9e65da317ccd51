//! How a program uses its memories, and programs that use one of them alike: what a method costs is what such a
//! program costs.

use std::io::{Read, Seek, Write};

use phineus_bytecode::limits::TABLE_ROW_BITS_MAX;
use phineus_bytecode::{
    Column, ElementType, Encoding, Instruction, Lane, Memory, MemoryMethod, Op, ProgramReader,
};
use phineus_frontend::{ProgramError, Traced, Tracer, Value, column, lanes_for};

use super::accesses::{AccessKind, for_each_access};
use super::circuit::CircuitShape;
use super::index_bits;
use super::period::{MemoryTerms, RowSharing};
use super::position_map::MapKind;

/// Who knows the rows of a memory without any message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKnowledge {
    /// All parties: they are constants of the program.
    All,
    /// The first party: they follow from its inputs.
    FirstParty,
    /// Nobody.
    #[default]
    Nobody,
}

/// How often a program accesses a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    /// Accesses that change nothing.
    pub reads: u64,
    /// Accesses that change the row.
    pub changes: u64,
    /// Accesses among these whose index is public: a scan does them for nothing.
    pub at_public: u64,
    /// Who knows all cells at the beginning.
    pub known: RowKnowledge,
    /// Rows that are set: all, if any cell is.
    pub set_rows: u64,
    /// Whether all cells are set in one block, which runs once.
    pub is_set_once: bool,
}

impl MemoryUsage {
    /// All accesses.
    pub fn accesses(self) -> u64 {
        self.reads + self.changes
    }

    /// After how many accesses the cost of a method repeats, of a memory that is used so.
    pub fn accesses_of_a_turn(
        self,
        shape: &Memory,
        method: MemoryMethod,
        terms: MemoryTerms,
    ) -> u64 {
        match method {
            MemoryMethod::Dpf if self.changes > 0 => {
                // Between changes there may be reads; of very many the changes matter little.
                let of_a_change = (self.accesses() / self.changes).min(READS_OF_A_CHANGE_MAX);
                terms.hiding_period(&shape.columns, shape.rows) * of_a_change
            }
            method => accesses_of_a_turn(shape, method, terms),
        }
    }

    /// So many accesses in about the same proportion.
    pub fn scaled_to(self, accesses: u64) -> MemoryUsage {
        let all = u128::from(self.accesses().max(1));
        let reads = u128::from(self.reads) * u128::from(accesses);
        let reads = ((reads + all / 2) / all) as u64;
        let public = u128::from(self.at_public) * u128::from(accesses);
        let at_public = ((public + all / 2) / all) as u64;
        MemoryUsage { reads, changes: accesses - reads, at_public, ..self }
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
    let unused =
        MemoryUsage { known: RowKnowledge::All, is_set_once: true, ..MemoryUsage::default() };
    let mut usages = vec![unused; memories];
    for (block, &times) in blocks.iter_mut().zip(times) {
        let set = for_each_access(block, |access| {
            let usage = &mut usages[access.memory];
            match access.kind {
                AccessKind::Read => usage.reads += times,
                AccessKind::Write | AccessKind::Update => usage.changes += times,
            }
            usage.at_public += if access.is_public { times } else { 0 };
        })?;
        let memories = block.description().memories.iter();
        for ((usage, set), memory) in usages.iter_mut().zip(set).zip(memories) {
            let known = match set {
                None => continue,
                // In a block that is repeated, where a row is set may depend on the iteration.
                Some(_) if times > 1 => RowKnowledge::Nobody,
                Some(known) => known,
            };
            // Rows that the first party is told come from one block.
            let is_told = known.max(usage.known) == RowKnowledge::FirstParty;
            usage.known = match is_told && usage.set_rows > 0 {
                true => RowKnowledge::Nobody,
                false => usage.known.max(known),
            };
            usage.is_set_once &= usage.set_rows == 0 && times <= 1;
            usage.set_rows = memory.rows;
        }
    }
    Ok(usages)
}

/// Accesses for each change that are counted, at the most, for a turn of a method.
const READS_OF_A_CHANGE_MAX: u64 = 4;

/// About how many instructions a turn of a method has.
pub fn instructions_of_a_turn(
    (shape, usage): (&Memory, MemoryUsage),
    method: MemoryMethod,
    terms: MemoryTerms,
) -> u64 {
    let widest = shape.columns.iter().map(|element| element.width()).max().unwrap_or(1);
    let chunks = shape.rows.div_ceil(u64::from(lanes_for(widest)));
    let columns = shape.columns.len() as u64;
    let accesses = usage.accesses_of_a_turn(shape, method, terms);
    match method {
        MemoryMethod::Scan => accesses * chunks * columns * 2,
        MemoryMethod::Linked => accesses * (columns + 4),
        MemoryMethod::Circuit => accesses * CircuitShape::of_memory(shape).instructions(),
        MemoryMethod::Dpf if usage.changes > 0 => {
            let pieces = shape.row_bits().div_ceil(TABLE_ROW_BITS_MAX.into());
            let stash = accesses / 2 / u64::from(lanes_for(TABLE_ROW_BITS_MAX)) + 1;
            pieces * (chunks + accesses * (10 + 4 * stash)) + accesses * (3 * columns + 4)
        }
        MemoryMethod::Dpf | MemoryMethod::GarbledTable => {
            let pieces = shape.row_bits().div_ceil(TABLE_ROW_BITS_MAX.into());
            pieces * (shape.rows + 2 * accesses) + accesses * (columns + 4)
        }
        MemoryMethod::SquareRoot | MemoryMethod::SquareRootTable => {
            // A pass of each party over all columns and as many over the numbers, each of some 4 instructions for each
            // layer.
            let layers = 2 * u64::from(index_bits(shape.rows));
            let passes = 4 * u64::from(terms.parties);
            layers * chunks * passes * (columns + 2) + accesses * (400 + accesses / 8 * columns)
        }
    }
}

/// ANDs of an access by Circuit ORAM, at an index that is always that of a row: one that reads, or one that only writes.
pub fn circuit_access_ands(shape: &Memory, is_read: bool) -> u64 {
    let kind = if is_read { AccessKind::Read } else { AccessKind::Write };
    CircuitShape::of_memory(shape).access_ands(kind)
}

/// After how many accesses the cost of a method repeats.
pub fn accesses_of_a_turn(shape: &Memory, method: MemoryMethod, terms: MemoryTerms) -> u64 {
    let period = |kind| terms.period(kind, &shape.columns, shape.rows.max(2));
    match method {
        MemoryMethod::Scan
        | MemoryMethod::Linked
        | MemoryMethod::GarbledTable
        | MemoryMethod::Dpf => 32,
        // All accesses cost the same.
        MemoryMethod::Circuit => 8,
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
    (usage, terms): (MemoryUsage, MemoryTerms),
    parties: &[String],
    output: impl Write + 'static,
) -> Result<Traced, ProgramError> {
    let tracer = Tracer::new("memory", output)?;
    for party in parties {
        tracer.party(party);
    }
    let memory = tracer.secret_memory(shape.clone());
    let widest = shape.columns.iter().map(|element| element.width()).max();
    let lanes = lanes_for(widest.expect("a memory has columns"));
    let set_rows = match shape.method {
        // It inserts one by one what is set.
        Some(MemoryMethod::Circuit) => usage.set_rows,
        // All of them: other rows would be public zeros.
        None
        | Some(
            MemoryMethod::Scan
            | MemoryMethod::SquareRoot
            | MemoryMethod::SquareRootTable
            | MemoryMethod::Linked
            | MemoryMethod::GarbledTable
            | MemoryMethod::Dpf,
        ) => shape.rows,
    };
    for (place, &element) in shape.columns.iter().enumerate().filter(|_| set_rows > 0) {
        let cells = match usage.known {
            RowKnowledge::All | RowKnowledge::Nobody => {
                let of_rows = (0..set_rows).step_by(lanes as usize);
                let lanes = |row| u64::from(lanes).min(set_rows - row) as u32;
                of_rows.map(|row| secret(&tracer, element, lanes(row))).collect()
            }
            RowKnowledge::FirstParty => {
                let column = column("cell", element, Encoding::Number);
                let input = tracer.input(&format!("column {place}"), set_rows).by(&parties[0]);
                input.column(column).lanes(lanes).read().into_columns().swap_remove(0)
            }
        };
        let mut row = 0;
        // What is computed is no constant.
        let is_hidden =
            shape.method == Some(MemoryMethod::Dpf) && usage.known == RowKnowledge::Nobody;
        for cells in cells {
            memory.set(place, row, &if is_hidden { cells.not() } else { cells.clone() });
            row += u64::from(cells.lanes());
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
    // Programs seldom tell cells one by one as they come, which takes a round for each where rows are moved as shares.
    if terms.rows == RowSharing::Labels {
        let last = cells.last().expect("a memory has columns").bit_slice(0, 1);
        cells = cells.iter().map(|cell| cell.xor(&last.cast(cell.integer()))).collect();
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
