//! [`expand`]: replaces the accesses of a program to its memories by what a method does for them.
//!
//! In a program of several blocks the rows lie in regions while no block works on them, and a block shuffles what it
//! is going to access. A block that is repeated can be unrolled, so that it has as many accesses as a shuffle is worth.

mod copying;
mod expanded_memory;

use std::io::{Read, Seek, Write};

use phineus_bytecode::{
    Description, ElementType, Flow, Instruction, Lanes, MemoryMethod, Op, ProgramReader, Sharing,
    mask_of,
};
use phineus_frontend::{ProgramError, Traced, Tracer, Value};

use super::accesses::{AccessKind, BlockAccesses, for_each_access};
use super::period::MemoryTerms;
use super::usage::RowKnowledge;
use copying::Copying;
use expanded_memory::ExpandedMemory;

/// The blocks of a program, and how they follow each other.
pub struct ProgramBlocks<'a, R> {
    /// Parties, ports, memories: common to all blocks.
    pub description: &'a Description,
    /// How they follow each other.
    pub flow: Flow,
    /// By number.
    pub blocks: &'a mut [ProgramReader<R>],
}

/// How blocks that are repeated are unrolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrolling<'a> {
    /// Of each block, how many iterations become one.
    Iterations(&'a [u64]),
    /// All of them: the program becomes one block.
    Whole,
}

/// Writes a program to `output` without operations on memories: the one with index `i` is accessed by method
/// `methods[i]`, as the description then says, on these terms.
///
/// Columns of memories may be narrower than the cells that the program accesses, if all cells fit.
///
/// Memory: some 100 bytes for each access and each constant of one lane, besides what the methods keep for a memory.
///
/// # Errors
/// If the program cannot be read, or the new one not written.
///
/// # Panics
/// If there are not as many methods as memories, if a memory for [`MemoryMethod::Dpf`] is set in a block that is repeated, or if what is opened decides which blocks run.
pub fn expand<R: Read + Seek>(
    program: ProgramBlocks<'_, R>,
    (methods, terms): (&[MemoryMethod], MemoryTerms),
    unrolling: Unrolling<'_>,
    output: impl Write + 'static,
) -> Result<Traced, ProgramError> {
    let ProgramBlocks { description, flow, blocks } = program;
    let mut description = description.clone();
    assert_eq!(methods.len(), description.memories.len(), "a method for each memory");
    for (memory, &method) in description.memories.iter_mut().zip(methods) {
        memory.method = Some(method);
    }
    description.is_block = false;
    if terms.outside != Sharing::Any {
        for slot in &mut description.slots {
            slot.element = slot.element.shared(terms.outside);
        }
    }
    let stated = flow.stated().expect("nothing that is opened decides which blocks run");
    let tracer = Tracer::of_description(&description, output)?;
    let is_one_block = stated.len() == 1 || unrolling == Unrolling::Whole;
    let memories = description.memories.iter().zip(methods);
    let notes_constants = methods.iter().any(|method| MemoryMethod::IN_TABLES.contains(method));
    let known = match notes_constants {
        true => row_knowledge(blocks, methods.len())?,
        false => vec![(RowKnowledge::All, false); methods.len()],
    };
    let mut expansion = Expansion {
        copying: Copying::new(&tracer, terms.outside, notes_constants),
        memories: memories
            .zip(known)
            .map(|((shape, &method), known)| {
                ExpandedMemory::new(&tracer, shape, (method, terms), is_one_block, known)
            })
            .collect(),
        tracer,
    };
    if !is_one_block && methods.contains(&MemoryMethod::Circuit) {
        // Trees begin with random leaves, which are drawn once.
        let (tracer, memories) = (&expansion.tracer, &mut expansion.memories);
        memories.iter_mut().for_each(|memory| memory.start(tracer));
        if stated[0].1 > 1 {
            expansion.next_block(is_one_block, 1);
        }
    }
    let last = stated.len() - 1;
    for (at, (block, iterations)) in stated.into_iter().enumerate() {
        let reader = &mut blocks[block];
        let accesses = BlockAccesses::of(reader, methods.len())?;
        let iterations_of_copy = match unrolling {
            Unrolling::Whole => iterations,
            Unrolling::Iterations(iterations_of_copy) => {
                iterations_of_copy[block].clamp(1, iterations)
            }
        };
        let (repeats, rest) = (iterations / iterations_of_copy, iterations % iterations_of_copy);
        let copies = Copies { first: 0, count: iterations_of_copy, repeats };
        expansion.block(reader, &accesses, copies)?;
        if rest > 0 {
            expansion.next_block(is_one_block, repeats);
            let first = repeats * iterations_of_copy;
            expansion.block(reader, &accesses, Copies { first, count: rest, repeats: 1 })?;
        }
        if at < last {
            expansion.next_block(is_one_block, if rest > 0 { 1 } else { repeats });
        }
    }
    expansion.tracer.finish()
}

/// Who knows the cells that each memory is set to, and whether any access changes them.
fn row_knowledge<R: Read + Seek>(
    blocks: &mut [ProgramReader<R>],
    memories: usize,
) -> Result<Vec<(RowKnowledge, bool)>, ProgramError> {
    let mut known = vec![(RowKnowledge::All, false); memories];
    for block in blocks {
        let set = for_each_access(block, |access| {
            known[access.memory].1 |= access.kind != AccessKind::Read;
        })?;
        let set = set.into_iter().map(|set| set.unwrap_or(RowKnowledge::All));
        known.iter_mut().zip(set).for_each(|((known, _), set)| *known = set.max(*known));
    }
    Ok(known)
}

/// Turns of a block that become one block.
#[derive(Clone, Copy)]
struct Copies {
    /// The first of them.
    first: u64,
    count: u64,
    /// How often the new block runs in a row, with the iterations behind these each time.
    repeats: u64,
}

/// The state of an expansion.
struct Expansion {
    tracer: Tracer,
    copying: Copying,
    memories: Vec<ExpandedMemory>,
}

impl Expansion {
    fn block<R: Read + Seek>(
        &mut self,
        reader: &mut ProgramReader<R>,
        accesses: &[BlockAccesses],
        copies: Copies,
    ) -> Result<(), ProgramError> {
        for (memory, accesses) in self.memories.iter_mut().zip(accesses) {
            memory.begin(accesses, copies.count, copies.repeats);
        }
        for iteration in copies.first..copies.first + copies.count {
            reader.for_each::<ProgramError>(|instruction| {
                let (mut instruction, old_stride) = (*instruction, instruction.immediates[3]);
                if instruction.op == Op::MemorySet {
                    // What moves with the iterations of the old block moves with those of the new one.
                    let [_, _, row, stride] = &mut instruction.immediates;
                    *row += iteration * *stride;
                    *stride *= if copies.repeats > 1 { copies.count } else { 0 };
                }
                self.step(&instruction, old_stride);
                Ok(())
            })?;
            self.memories.iter_mut().for_each(ExpandedMemory::insert_sets);
            self.copying.end_iteration();
        }
        Ok(())
    }

    /// Ends the block at hand, which is repeated so often, and begins another one, unless all become one.
    fn next_block(&mut self, is_one_block: bool, iterations: u64) {
        if is_one_block {
            return;
        }
        self.memories.iter_mut().for_each(|memory| memory.rest(&self.tracer));
        self.copying.end_block();
        let next = self.tracer.new_block();
        self.tracer.repeated(iterations, next);
        self.tracer.begin(next);
    }

    fn step(&mut self, instruction: &Instruction, old_stride: u64) {
        if !instruction.op.is_of_memory() {
            return self.copying.step(instruction);
        }
        let [index, column, row, stride] = instruction.immediates;
        let (index, column) = (index as usize, column as usize);
        let memory = &mut self.memories[index];
        let operand = || self.copying.operand(instruction, memory.is_scanned());
        match instruction.op {
            Op::MemorySet => {
                let element = memory.column(column);
                let cells = stored(&operand(), element);
                let constants = self.copying.constant(instruction).map(|lanes| cut(lanes, element));
                memory.set(column, ([row, stride], old_stride), cells, constants.as_ref());
            }
            Op::MemoryOpen | Op::MemoryFollow => {
                let index = operand();
                memory.open(&self.tracer, &index);
            }
            Op::MemoryChange => {
                let cell = stored(&operand(), memory.column(column));
                memory.change(column, cell);
            }
            Op::MemoryCell => {
                let cell = read(&memory.cell(column), memory.column(column), instruction.element);
                self.copying.replace(instruction, &cell);
            }
            Op::MemoryNext => self.copying.replace(instruction, &memory.next()),
            Op::MemoryLink => {
                let link = memory.link(&self.tracer, column as u64);
                self.copying.replace(instruction, &link);
            }
            op => unreachable!("{} is not about a memory", op.info().name),
        }
    }
}

/// Cells of the program as a column stores them.
fn stored(cells: &Value, column: ElementType) -> Value {
    match cells.width() == column.width() {
        true => cells.clone(),
        false => cells.cast(column),
    }
}

/// Constants as a column stores them.
fn cut(lanes: &Lanes, column: ElementType) -> Lanes {
    lanes.iter().map(|&lane| lane & mask_of(column.width())).collect()
}

/// A cell of a column as a cell of the program, of type `element`.
fn read(cell: &Value, column: ElementType, element: ElementType) -> Value {
    match cell.width() == element.width() {
        true => cell.clone(),
        false => cell.with_sign(column.is_signed()).cast(element),
    }
}
