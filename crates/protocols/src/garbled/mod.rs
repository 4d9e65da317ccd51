//! Two-party garbled circuits, streamed.
//!
//! Source: half gates (Zahur, Rosulek, Evans, EUROCRYPT 2015, ePrint 2014/756), free XOR
//! (Kolesnikov, Schneider, ICALP 2008), the re-keyed hash of Guo et al. (CRYPTO 2020, ePrint
//! 2019/1168), pipelining (Huang et al., USENIX Security 2011). The garbler sends the rows of each
//! AND gate as it comes to it, the evaluator consumes them in the same order; neither holds more
//! than a buffer of them.
//!
//! Cost: 32 bytes from garbler to evaluator per AND; XOR, NOT and public constants are free. An
//! input bit of the garbler is free: its label comes from a seed that both know, and the garbler
//! shifts it by the offset if the bit is 1. An input bit of the evaluator costs one correlated OT,
//! 32 bits to the garbler. An output bit costs one bit to each party that learns it. A bit that is opened inside a
//! program costs one bit in each direction and two rounds: the garbler waits for it.
//!
//! Rows that permutations move are XOR shares (`share_labels.rs`): the select bits of labels. A switch costs an OT, and
//! a bit for each bit of its row (`row_swaps.rs`). Permutations that the evaluator knows are drawn by it, with OTs ahead
//! like other inputs of it; for those of the garbler the roles in OTs are exchanged (`switch_ots.rs`). The garbler may be
//! told one. An item is located by a table of what it was told (`lookup.rs`), and an answer: two rounds.
//!
//! Adversary: semi-honest. Invariants: one offset and one start value per session; the index of an
//! AND gate never repeats; both parties meet gates in the same order, which the agreement on the
//! program's hash ensures before the first message of this protocol.
//!
//! The rows may be made elsewhere than in the driver (`row_source.rs`); what is sent is the same.
//!
//! Not protected: against a party that deviates. A garbler who garbles another function learns
//! what that function reveals; an evaluator who sends wrong output bits falsifies the garbler's
//! result.

mod batches;
mod costs;
mod evaluator;
mod garbler;
mod gate_ranges;
pub mod limits;
mod lookup;
mod rounds;
pub mod row_source;
mod row_swaps;
mod share_labels;
mod switch_ots;
mod tables;

#[cfg(test)]
mod tests;

pub use costs::{GarbledCosts, SETUP_NS, totals};
pub use evaluator::Evaluator;
pub(crate) use evaluator::EvaluatorAlgebra;
pub use garbler::Garbler;
pub(crate) use garbler::GarblerAlgebra;

use phineus_bytecode::{
    Description, Domain, Instruction, Layout, Op, PermutationKind, Sharing, ValueSize,
};
use phineus_crypto::Block;
use phineus_engine::OwnPermutations;

/// The input instructions of a program, in order, ahead of their execution.
pub type Upcoming = Box<dyn Iterator<Item = Result<Instruction, phineus_bytecode::Error>> + Send>;

/// The party that garbles, by its index in the program.
pub const GARBLER: u16 = 0;

/// The party that evaluates.
pub const EVALUATOR: u16 = 1;

/// How labels lie in memory: one for each wire.
pub fn layout() -> Layout {
    Layout::wires(size_of::<Block>() as u16)
}

/// Whether rows of a program are XOR shares while permutations move them; otherwise all sharings that it states are
/// garbled.
pub fn moves_rows(description: &Description) -> bool {
    !description.memories.is_empty() || !description.permutations.is_empty()
}

/// As [`layout`], of a program that [`moves_rows`].
pub fn layout_beside_rows() -> Layout {
    let wires = ValueSize::Wires { units: 1 };
    Layout {
        unit_bytes: size_of::<Block>() as u16,
        domain: Domain::Ring,
        arithmetic: wires,
        boolean: ValueSize::Rows { copies: 1 },
        garbled: wires,
    }
}

/// Who brings the values of an input, or of a permutation.
fn owner(description: &Description, instruction: &Instruction) -> u16 {
    match instruction.op {
        // It chooses at random.
        Op::TableLookUp => EVALUATOR,
        op if op.is_of_permutation() => OwnPermutations::owner(description, instruction),
        _ => description.inputs[instruction.immediates[0] as usize].party,
    }
}

/// Whether what an instruction brings or gives is an XOR share.
fn is_share(description: &Description, instruction: &Instruction) -> bool {
    instruction.element.sharing() == Sharing::Boolean && moves_rows(description)
}

/// Whether an instruction takes a transfer for each of its wires, in which the evaluator chooses.
fn takes_transfers(description: &Description, instruction: &Instruction) -> bool {
    // A share that one party knows is 0 at the other one.
    owner(description, instruction) == EVALUATOR && !is_share(description, instruction)
}

/// Whether an instruction is done on XOR shares, or from or to them.
fn is_on_shares(description: &Description, instruction: &Instruction) -> bool {
    is_share(description, instruction) || instruction.op == Op::Convert && moves_rows(description)
}

/// Whether an instruction brings switches of the garbler, for which it takes transfers as the one that chooses.
fn takes_transfers_back(description: &Description, instruction: &Instruction) -> bool {
    let kind = || description.permutations[instruction.immediates[0] as usize].kind;
    // Those of pairs are random bits, and no switches of rows.
    instruction.op == Op::Switches
        && owner(description, instruction) == GARBLER
        && kind() != PermutationKind::RandomPairs
}

/// Whether `party` learns the values of an output instruction.
fn learns(description: &Description, instruction: &Instruction, party: u16) -> bool {
    description.outputs[instruction.immediates[0] as usize].parties.contains(&party)
}

/// Bytes of an output instruction's bits on the wire.
fn packed_bytes(instruction: &Instruction) -> usize {
    (instruction.shape().wires() as usize).div_ceil(8)
}

/// Packs `bits`, each 0 or 1, bit `i` into bit `i % 8` of byte `i / 8`.
fn pack(bits: impl Iterator<Item = u64>, bytes: &mut [u8]) {
    bytes.fill(0);
    for (i, bit) in bits.enumerate() {
        bytes[i / 8] |= (bit as u8) << (i % 8);
    }
}

/// Bit `i` of packed `bytes`.
fn packed_bit(bytes: &[u8], i: usize) -> u8 {
    bytes[i / 8] >> (i % 8) & 1
}
