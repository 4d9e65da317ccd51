//! [`NarrowedColumns`]: memories whose cells have as many bits as what a program puts into them.
//!
//! Front ends declare columns of the types of their language: an array of `int` in C has 32 bits a cell, whatever it holds.
//! What narrowing knows of all values that are written to a column, and the zeros that it begins with, states the bits that
//! its cells need. So the methods that find rows move, shuffle and scan fewer bits, and are compared with these.

use phineus_bytecode::Optimisation;
use phineus_plan::{Scratch, StateClaim, StateFacts, check_state, find_state};

use crate::choices::ProtocolVariant;
use crate::failure::Failure;
use crate::memory_loops::AccessedBlocks;
use crate::protocol::Protocol;
use crate::traced::TracedFile;

/// A program with memories of narrow columns.
pub struct NarrowedColumns {
    /// The program, which has other memories in its description alone: its instructions are those of the wide cells.
    pub traced: TracedFile,
    /// What is known of the cells.
    state: StateFacts,
}

impl NarrowedColumns {
    /// Those of `traced`, the columns that it states where programs are not narrowed. A lowering to a field has ranges of
    /// its own, and cutting an element there takes more than it saves.
    ///
    /// # Errors
    /// If a file cannot be read, or the planner has too little memory.
    pub fn of(
        (traced, blocks): (&TracedFile, &AccessedBlocks),
        (protocol, variant): (Protocol, ProtocolVariant),
        planner_memory_bytes: u64,
        scratch: &Scratch,
    ) -> Result<NarrowedColumns, Failure> {
        let mut traced = traced.clone();
        if variant.optimisation == Optimisation::Off || protocol.field().is_some() {
            return Ok(NarrowedColumns { traced, state: StateFacts::default() });
        }
        let (readers, memory_bytes) = (&mut blocks.readers()?, planner_memory_bytes);
        let state = find_state(readers, &blocks.flow, scratch, memory_bytes)?;
        for (memory, shape) in (0..).zip(&mut traced.description.memories) {
            for (column, element) in (0..).zip(&mut shape.columns) {
                *element = state.column((memory, column), *element);
            }
        }
        Ok(NarrowedColumns { traced, state })
    }

    /// Claims about cells, and what they follow from, that cannot be proven.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn unproven(&self, blocks: &AccessedBlocks) -> Result<Vec<String>, Failure> {
        let claims: Vec<StateClaim> = self.state.claims().collect();
        Ok(check_state(&mut blocks.readers()?, &blocks.flow, &claims)?)
    }
}
