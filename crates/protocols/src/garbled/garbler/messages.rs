//! Messages of select bits that the evaluator owes.

use phineus_bytecode::Instruction;
use phineus_channels::Channel;
use zeroize::Zeroizing;

use crate::ProtocolError;
use crate::garbled::packed_bit;

/// A message that the evaluator has sent or will send next.
pub(super) enum PendingMessage {
    /// A batch of this many OTs.
    Batch(usize),
    /// The evaluator's select bits of an output, to combine with ours.
    Output { instruction: Instruction, select_bits: Zeroizing<Vec<u8>> },
    /// Those of so many bits that are opened inside the program.
    Opening { count: usize, select_bits: Zeroizing<Vec<u8>> },
    /// Those of rows of a permutation that this party is told.
    Told { instruction: Instruction, select_bits: Zeroizing<Vec<u8>> },
}

/// Receives the evaluator's select bits and makes `bits` the values: they differ from ours where those are 1.
pub(super) fn combine<C: Channel>(
    channel: &mut C,
    bits: &mut Vec<u8>,
    count: usize,
    select_bits: &[u8],
) -> Result<(), ProtocolError> {
    bits.resize(count, 0);
    channel.recv_with(select_bits.len(), |theirs| {
        for (i, bit) in bits.iter_mut().enumerate() {
            *bit = packed_bit(theirs, i) ^ packed_bit(select_bits, i);
        }
    })?;
    Ok(())
}
