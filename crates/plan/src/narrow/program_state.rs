//! [`find_state`]: what is known of the places that the blocks of a program write and read ([`StateFacts`]).
//!
//! If no block runs twice, one pass over the blocks in their order suffices: all that is read was written before. With
//! loops passes are repeated until nothing changes. A block is gone through again if a place that it reads has changed. From
//! the third time on bounds are widened, so that this ends after few passes; a last pass makes them narrower again where
//! that holds.
//!
//! Memory: facts for each place, and the places that each block reads.

use std::io::{Read, Seek};

use phineus_bytecode::limits::OPERANDS_MAX;
use phineus_bytecode::{Flow, Instruction, PortOrder, ProgramReader, Successor};

use super::facts::Facts;
use super::forget;
use super::increments::Increments;
use super::state::StateFacts;
use super::state_record::{COUNTED_BLOCKS_MAX, FollowedState, StateRecord};
use super::transfer::ResultFacts;
use crate::annotate::{NextUses, annotate, for_each_frame};
use crate::error::Error;
use crate::name_table::NameTable;
use crate::scratch::{Position, Scratch};

/// Passes over all blocks before bounds are widened.
const PLAIN_SWEEPS: u32 = 2;

/// Passes after which a place that still changes is one of which nothing is known.
const WIDENED_SWEEPS: u32 = 12;

/// Passes after which nothing is known of any place. A place changes once at most in the last of them.
const SWEEPS_MAX: u32 = 20;

/// A pass over a block, from the first instruction to the last.
pub(super) struct ForwardPass<'a> {
    pub(super) values: NameTable<Facts>,
    state: FollowedState<'a>,
    /// Of a block that is repeated.
    increments: Option<Increments>,
    index: u64,
}

impl<'a> ForwardPass<'a> {
    pub(super) fn new(state: FollowedState<'a>) -> ForwardPass<'a> {
        ForwardPass { values: NameTable::new(), state, increments: None, index: 0 }
    }

    /// Facts of the results of the next instruction, with the next uses of its values.
    pub(super) fn step(&mut self, i: &Instruction, uses: &NextUses) -> Result<ResultFacts, Error> {
        if i.operands().iter().any(|&operand| !self.values.contains(operand)) {
            let what = "an operand is not defined";
            return Err(Error::Invalid { instruction: self.index, what });
        }
        let mut operands = [Facts::unknown(1); OPERANDS_MAX];
        for (facts, &name) in operands.iter_mut().zip(i.operands()) {
            *facts = self.values[name];
        }
        let operands = &operands[..i.operands().len()];
        let found = match &mut self.increments {
            None => self.state.results(i, operands, None),
            Some(increments) => {
                let repeated = increments.of_store(i);
                increments.note(i, operands, uses);
                self.state.results(i, operands, repeated)
            }
        };
        forget(&mut self.values, i, uses);
        for (k, &name) in i.results().iter().enumerate() {
            if uses.results[k] != 0 {
                self.values.insert(name, found[k]);
            }
        }
        self.index += 1;
        Ok(found)
    }

    /// How many instructions were passed.
    pub(super) fn index(&self) -> u64 {
        self.index
    }
}

/// The blocks of a program, and what passes over them take.
struct Blocks<'a, R> {
    readers: &'a mut [ProgramReader<R>],
    counted: Vec<CountedBlock>,
    scratch: &'a Scratch,
    memory_bytes: u64,
}

impl<R: Read + Seek + Send> Blocks<'_, R> {
    /// Goes through a block.
    fn pass(&mut self, block: usize, mut state: FollowedState<'_>) -> Result<(), Error> {
        let CountedBlock { iterations, leading } = &self.counted[block];
        state.begin(block, leading);
        let program = &mut self.readers[block];
        let mut tables = self.scratch.file().tables(self.memory_bytes);
        let file = self.scratch.file();
        let mut next_uses = annotate(program, file, self.memory_bytes, PortOrder::Given)?;
        let count = program.instruction_count();
        let increments = iterations.map(Increments::new);
        let mut pass = ForwardPass { increments, ..ForwardPass::new(state) };
        for_each_frame(program, &mut next_uses, |instructions, uses| {
            for (i, uses) in instructions.iter().zip(uses) {
                pass.step(i, uses)?;
                let position = Position { read: pass.index(), all: count };
                let beside = pass.increments.as_ref().map_or(0, Increments::memory_bytes);
                pass.values.count(&mut tables, beside, position)?;
            }
            Ok(())
        })
    }
}

/// What is known of the places of a program of these blocks: all that is ever read from one satisfies it.
///
/// # Errors
/// If a block is not one that the verifier accepts, or `memory_bytes` do not hold an entry for each value alive.
pub fn find_state<R: Read + Seek + Send>(
    blocks: &mut [ProgramReader<R>],
    flow: &Flow,
    scratch: &Scratch,
    memory_bytes: u64,
) -> Result<StateFacts, Error> {
    let description = blocks[0].description().clone();
    let (mut order, has_loops) = order_of(flow);
    let mut record = StateRecord::at_start(&description, flow);
    let counted = counted_blocks(flow);
    // What a block begins with is known once all that lead to it are done. Those that lead to another one that does not lead
    // back have fewer before them.
    let leading = |block: usize| counted[block].leading.iter().filter(|&&leads| leads).count();
    order.sort_by_key(|&block| leading(block));
    let mut blocks = Blocks { readers: blocks, counted, scratch, memory_bytes };
    if !has_loops {
        for &block in &order {
            blocks.pass(block, FollowedState::Running(&mut record))?;
        }
        return Ok(record.facts);
    }
    let sweeps = sweep(&mut blocks, &order, &mut record)?;
    match sweeps {
        SWEEPS_MAX.. => Ok(StateFacts::unknown(&description)),
        ..=PLAIN_SWEEPS => Ok(record.facts),
        _ => tightened(&mut blocks, &order, record.facts, &|| {
            StateRecord::at_start(&description, flow)
        }),
    }
}

/// Goes through blocks until nothing changes; returns how many passes over all that took, [`SWEEPS_MAX`] if it changes still.
fn sweep<R: Read + Seek + Send>(
    blocks: &mut Blocks<'_, R>,
    order: &[usize],
    record: &mut StateRecord,
) -> Result<u32, Error> {
    let count = blocks.readers.len();
    let (mut is_due, mut reads) = (vec![true; count], vec![Vec::new(); count]);
    for sweep in 0..SWEEPS_MAX {
        record.is_widened = sweep >= PLAIN_SWEEPS;
        let due: Vec<usize> = order.iter().copied().filter(|&block| is_due[block]).collect();
        if due.is_empty() {
            return Ok(sweep);
        }
        for &block in order {
            if !std::mem::replace(&mut is_due[block], false) {
                continue;
            }
            blocks.pass(block, FollowedState::Running(record))?;
            reads[block] = std::mem::take(&mut record.read).into_iter().collect::<Vec<_>>();
            let changed = std::mem::take(&mut record.changed);
            if sweep >= WIDENED_SWEEPS {
                record.facts.forget(&changed);
            }
            for &other in order {
                is_due[other] |= reads[other].iter().any(|place| changed.contains(place));
            }
        }
    }
    Ok(SWEEPS_MAX)
}

/// What is written if `facts` are true of all that is read: that is narrower where bounds were widened. `facts` themselves
/// if it is not true of all that is read then.
fn tightened<R: Read + Seek + Send>(
    blocks: &mut Blocks<'_, R>,
    order: &[usize],
    facts: StateFacts,
    at_start: &dyn Fn() -> StateRecord,
) -> Result<StateFacts, Error> {
    let mut written = at_start();
    for &block in order {
        blocks.pass(block, FollowedState::Apart(&facts, &mut written))?;
    }
    let mut again = at_start();
    again.facts = written.facts.clone();
    for &block in order {
        blocks.pass(block, FollowedState::Apart(&written.facts, &mut again))?;
    }
    Ok(if again.facts == written.facts { written.facts } else { facts })
}

/// How often a block runs, and what may run before it.
struct CountedBlock {
    /// How often it runs in a row, once for most, if it never runs again after that.
    iterations: Option<u64>,
    /// Blocks that lead to it, the block itself not among them.
    leading: Vec<bool>,
}

/// All of them, by number; of a program of too many blocks nothing but that they may run again.
fn counted_blocks(flow: &Flow) -> Vec<CountedBlock> {
    let blocks = 0..flow.blocks.len();
    if blocks.len() > COUNTED_BLOCKS_MAX {
        return blocks.map(|_| CountedBlock { iterations: None, leading: Vec::new() }).collect();
    }
    let reached: Vec<Vec<bool>> = blocks.clone().map(|block| reached_from(flow, block)).collect();
    let counted = |block: usize| {
        let next = flow.blocks[block].next;
        let leads = |other: usize| other != block && reached[other][block];
        let comes_back = |other: usize| if other == block { !repeats(next) } else { leads(other) };
        let iterations = (!next.blocks().any(comes_back)).then_some(next.iterations());
        CountedBlock { iterations, leading: blocks.clone().map(leads).collect() }
    };
    blocks.clone().map(counted).collect()
}

fn repeats(next: Successor) -> bool {
    match next {
        Successor::Repeat { .. } => true,
        Successor::End | Successor::Jump { .. } | Successor::Branch { .. } => false,
    }
}

/// The blocks that may run once `block` does.
fn reached_from(flow: &Flow, block: usize) -> Vec<bool> {
    let mut is_reached = vec![false; flow.blocks.len()];
    let mut open = vec![block];
    while let Some(block) = open.pop() {
        if !std::mem::replace(&mut is_reached[block], true) {
            open.extend(flow.blocks[block].next.blocks());
        }
    }
    is_reached
}

/// The blocks that can be reached, each one behind those that lead to it unless they are in a loop with it, and whether any
/// block may run twice.
fn order_of(flow: &Flow) -> (Vec<usize>, bool) {
    let next = |block: usize| {
        let successors: Vec<usize> = flow.blocks[block].next.blocks().collect();
        successors.into_iter()
    };
    let count = flow.blocks.len();
    let (mut is_seen, mut is_open) = (vec![false; count], vec![false; count]);
    let (mut order, mut has_loops) = (Vec::new(), false);
    let mut open = vec![(0, next(0))];
    (is_seen[0], is_open[0]) = (true, true);
    while let Some((block, successors)) = open.last_mut() {
        match successors.next() {
            Some(other) => {
                has_loops |= is_open[other];
                if !std::mem::replace(&mut is_seen[other], true) {
                    is_open[other] = true;
                    open.push((other, next(other)));
                }
            }
            None => {
                is_open[*block] = false;
                order.push(*block);
                open.pop();
            }
        }
    }
    order.reverse();
    (order, has_loops)
}
