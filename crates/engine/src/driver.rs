//! [`Driver`]: the interface of a protocol to the engine.

use phineus_bytecode::{Instruction, Lane};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A protocol, seen from the engine: it computes on wires that the engine stores.
///
/// The engine calls one method per instruction, in the planned order. A driver stores nothing that
/// grows with the program.
pub trait Driver {
    /// Form of one wire in memory and in the swap file; plain bytes.
    type Wire: Copy + Default + FromBytes + IntoBytes + Immutable;

    /// Error of the protocol.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Brings values of an input port in; `wires` receives them.
    ///
    /// # Errors
    /// If the values are not available, or the peer fails.
    fn input(
        &mut self,
        instruction: &Instruction,
        wires: &mut [Self::Wire],
    ) -> Result<(), Self::Error>;

    /// Gives values to an output port. It may do so later, at the latest in [`Driver::finish`].
    ///
    /// # Errors
    /// If the values cannot be written, or the peer fails.
    fn output(
        &mut self,
        instruction: &Instruction,
        wires: &[Self::Wire],
    ) -> Result<(), Self::Error>;

    /// Computes one instruction, or the part that its phase states: an issue has no results, a
    /// finish has no operands.
    ///
    /// # Errors
    /// If the peer fails.
    fn compute(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Self::Wire]],
        operands: &[&[Self::Wire]],
    ) -> Result<(), Self::Error>;

    /// Opens a value of one lane to all parties at once, or the place of an item in permutations of parties. Of an opening
    /// that takes a round, this is the finish: it has no operand, and returns what was opened.
    ///
    /// # Errors
    /// If the peer fails.
    ///
    /// # Panics
    /// If the protocol opens nothing inside a block: no plan for it contains this instruction. The default
    /// implementation always does.
    fn reveal(
        &mut self,
        instruction: &Instruction,
        _wires: &[Self::Wire],
    ) -> Result<Lane, Self::Error> {
        unreachable!("a plan for this protocol has no {}", instruction.op.info().name)
    }

    /// Brings switches of a party's permutation in, exchanges rows by them, or tells the party a permutation.
    ///
    /// # Errors
    /// If the peer fails.
    ///
    /// # Panics
    /// If the protocol has no permutations of parties. The default implementation always does.
    fn permute(
        &mut self,
        instruction: &Instruction,
        _results: &mut [&mut [Self::Wire]],
        _operands: &[&[Self::Wire]],
    ) -> Result<(), Self::Error> {
        unreachable!("a plan for this protocol has no {}", instruction.op.info().name)
    }

    /// Sends what was issued since the last round to all parties, and receives the same from them.
    ///
    /// # Errors
    /// If a peer fails.
    ///
    /// # Panics
    /// If the protocol has no rounds. Only plans for protocols with rounds contain this
    /// instruction.
    fn round(&mut self) -> Result<(), Self::Error> {
        unreachable!("a plan for a protocol without rounds has none")
    }

    /// Completes a block of a program of several blocks: afterwards its opened values are known,
    /// and checked if the protocol checks them.
    ///
    /// # Errors
    /// If the peer fails.
    fn end_block(&mut self) -> Result<(), Self::Error> {
        self.finish()
    }

    /// Value of one lane that the last block opened as output port `port`. It is called once for
    /// each step that opens, in the order of the steps.
    ///
    /// # Errors
    /// If the value is not available, because the party or thread that opens it has failed.
    ///
    /// # Panics
    /// If this party does not learn it. The default implementation, for drivers that run programs
    /// of one block, always panics.
    fn opened(&self, _port: u32) -> Result<Lane, Self::Error> {
        unreachable!("a program of one block opens nothing while it runs")
    }

    /// Completes the protocol after the last instruction.
    ///
    /// # Errors
    /// If the peer fails.
    fn finish(&mut self) -> Result<(), Self::Error>;
}
