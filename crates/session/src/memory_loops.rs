//! [`AccessedBlocks`]: the blocks of a program with memories, and how many iterations of each become one.
//!
//! What a memory keeps between two shuffles is not handed from one block to the next. So a block should have as many
//! accesses as are made between two shuffles, and a loop with fewer is unrolled until it does. Short programs become
//! one block, and so do those of protocols without regions.

use phineus_bytecode::{Description, Flow, Memory, MemoryMethod};
use phineus_oblivious::memory::{MemoryTerms, MemoryUsage, instructions_of_a_turn, usages};

use crate::failure::{Failure, codes};
use crate::program_file::{FileProgramReader, ProgramFile};
use crate::traced::TracedFile;

/// About how many instructions become one block however often its parts are repeated.
const WHOLE_INSTRUCTIONS: u64 = 1 << 18;

/// About how many instructions a block has at most after unrolling, unless an iteration alone has more.
const BLOCK_INSTRUCTIONS: u64 = 1 << 23;

/// The most instructions of one block: some gigabytes of a program file.
const INSTRUCTIONS_MAX: u64 = 1 << 27;

/// The blocks of a program that accesses memories.
pub struct AccessedBlocks {
    pub flow: Flow,
    pub times: Vec<u64>,
    files: Vec<ProgramFile>,
}

impl AccessedBlocks {
    /// Those of `traced`.
    ///
    /// # Errors
    /// If what is opened decides which blocks run.
    pub fn of(traced: &TracedFile) -> Result<AccessedBlocks, Failure> {
        let Some(blocks) = &traced.blocks else {
            let files = vec![traced.file.clone()];
            return Ok(AccessedBlocks { flow: Flow::of_one_block(), times: vec![1], files });
        };
        let description = &traced.description;
        if !description.regions.is_empty() || !description.permutations.is_empty() {
            let message = "a program of several blocks has memories, or regions and permutations of its own, not both";
            return Err(Failure::new(codes::NO_OPENING_INSIDE, message));
        }
        let has_steps = blocks.flow.blocks.iter().any(|block| !block.steps.is_empty());
        match blocks.flow.times().filter(|_| !has_steps) {
            Some(times) => Ok(AccessedBlocks {
                flow: blocks.flow.clone(),
                times,
                files: blocks.parts.iter().map(|part| part.file.clone()).collect(),
            }),
            None => {
                let message =
                    "the program has memories, and registers decide which of its blocks run";
                let remedy = "repeat blocks a stated number of times, or scan arrays";
                Err(Failure::new(codes::NO_OPENING_INSIDE, message).remedy(remedy))
            }
        }
    }

    /// A reader for each block.
    pub fn readers(&self) -> Result<Vec<FileProgramReader>, Failure> {
        self.files.iter().map(ProgramFile::reader).collect()
    }

    /// Of each block, how many iterations become one; nothing if all blocks become one. `is_kept` says whether the protocol
    /// keeps rows from one block to another.
    ///
    /// # Errors
    /// If all blocks must become one, and that would be too large.
    pub fn unrolled(
        &self,
        description: &Description,
        (methods, terms): (&[MemoryMethod], MemoryTerms),
        is_kept: bool,
    ) -> Result<Option<Vec<u64>>, Failure> {
        if self.files.len() == 1 {
            return Ok(None);
        }
        let memories: Vec<(&Memory, MemoryMethod)> =
            description.memories.iter().zip(methods.iter().copied()).collect();
        let mut readers = self.readers()?;
        let mut iterations = Vec::new();
        let mut all = 0u64;
        for (reader, &times) in readers.iter_mut().zip(&self.times) {
            let usages = usages(std::slice::from_mut(reader), &[1])?;
            let instructions = reader.instruction_count().max(1);
            let of_an_iteration = instructions.saturating_add(accessing(&memories, terms, &usages));
            all = all.saturating_add(of_an_iteration.saturating_mul(times));
            iterations.push(iterations_of_one(
                (&memories, terms),
                &usages,
                (of_an_iteration, times),
            ));
        }
        if all <= WHOLE_INSTRUCTIONS {
            return Ok(None);
        }
        if is_kept {
            return Ok(Some(iterations));
        }
        if all > INSTRUCTIONS_MAX {
            let message = format!(
                "the program has loops around accesses to memories, which this protocol unrolls, and would have some {} \
                 million instructions; the most is {}",
                all.div_ceil(1_000_000),
                INSTRUCTIONS_MAX / 1_000_000
            );
            let remedy =
                format!("make it smaller, or run it under one of {}", crate::planning::openers());
            return Err(Failure::new(codes::NO_OPENING_INSIDE, message).remedy(remedy));
        }
        Ok(None)
    }
}

/// About how many instructions so many accesses to each memory take.
fn accessing(
    memories: &[(&Memory, MemoryMethod)],
    terms: MemoryTerms,
    usages: &[MemoryUsage],
) -> u64 {
    let memories = memories.iter().zip(usages);
    let of = memories.map(|(&(shape, method), &usage)| {
        let of_a_turn = instructions_of_a_turn((shape, usage), method, terms);
        let of_an_iteration = of_a_turn.saturating_mul(usage.accesses());
        of_an_iteration / usage.accesses_of_a_turn(shape, method, terms)
    });
    of.sum()
}

/// How many iterations of a block become one: so many that each memory is accessed as often as between two shuffles.
fn iterations_of_one(
    (memories, terms): (&[(&Memory, MemoryMethod)], MemoryTerms),
    usages: &[MemoryUsage],
    (instructions, times): (u64, u64),
) -> u64 {
    let memories = memories.iter().zip(usages).filter(|(_, usage)| usage.accesses() > 0);
    let wanted = memories.map(|(&(shape, method), usage)| {
        usage.accesses_of_a_turn(shape, method, terms).div_ceil(usage.accesses())
    });
    let most = (BLOCK_INSTRUCTIONS / instructions.max(1)).clamp(1, times.max(1));
    let iterations = wanted.max().unwrap_or(1).clamp(1, most);
    // As equal as can be, so that the rest is about as long.
    let times = times.max(1);
    times.div_ceil(times.div_ceil(iterations))
}
