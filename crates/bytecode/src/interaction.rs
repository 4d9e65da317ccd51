//! [`RoundModel`]: rounds of a protocol's operations, for the planner.

use crate::instruction::Instruction;

/// Rounds, bytes and memory that one instruction takes before it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interaction {
    /// Rounds from its issue to its finish; 0 if it is computed at once.
    pub rounds: u32,
    /// Bytes of memory that it holds from issue to finish.
    pub held_bytes: u64,
}

/// Interactions of the instructions of a protocol with rounds.
pub trait RoundModel {
    /// Returns the interaction of `instruction`, which is whole. An output takes one round and has
    /// no finish.
    fn interaction(&mut self, instruction: &Instruction) -> Interaction;
}

impl<M: RoundModel + ?Sized> RoundModel for Box<M> {
    fn interaction(&mut self, instruction: &Instruction) -> Interaction {
        (**self).interaction(instruction)
    }
}
