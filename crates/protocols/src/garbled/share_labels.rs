//! Rows of XOR shares from labels, and labels for them.
//!
//! The select bits of a garbled value are XOR shares of it, so to become rows of shares nothing is sent. To become garbled each bit
//! takes an oblivious transfer with a random choice, made in batches: the evaluator tells the garbler its share XOR the
//! choice, and the garbler shifts the label by that and by its own share.
//!
//! Source: precomputed oblivious transfer (Beaver, CRYPTO 1995).
//! Cost: a bit to the garbler and a correlated OT, for each bit of a row that becomes garbled; one message that the garbler
//! waits for. Security: the choices are uniform and used once, so what the garbler is told is uniform.
//! Not protected: an evaluator that deviates can change its share.

use phineus_bytecode::layout::share_bytes;
use phineus_bytecode::{Instruction, Lane, Op, Shape, Sharing};
use phineus_crypto::Block;
use phineus_engine::packed::{self, row_bytes};
use phineus_engine::to_bits;
use zerocopy::IntoBytes;
use zeroize::{Zeroize, Zeroizing};

use crate::garbled::limits::OTS_PER_BATCH;
use crate::garbled::{pack, packed_bytes};
use crate::shares::values::{bytes, bytes_mut, without_gaps};

/// The rows of a value on shares.
pub(super) fn rows(wires: &[Block], shape: Shape) -> &[u8] {
    &wires.as_bytes()[..share_bytes(shape)]
}

/// As [`rows`], to write them.
pub(super) fn rows_mut(wires: &mut [Block], shape: Shape) -> &mut [u8] {
    &mut wires.as_mut_bytes()[..share_bytes(shape)]
}

/// Does an instruction on shares that needs nobody; `false`, and nothing done, if shares become garbled. One party adds
/// constants.
pub(super) fn compute_alone(
    i: &Instruction,
    results: &mut [&mut [Block]],
    operands: &[&[Block]],
    adds_constants: bool,
) -> bool {
    if i.op != Op::Convert {
        let (mut results, operands) = (bytes_mut(i, results, 1), bytes(i, operands, 1));
        let done = packed::execute(i, &mut results, &operands, adds_constants);
        assert!(done, "the planner leaves nothing else on shares");
        return true;
    }
    let (from, to) = (i.operand_shape(0), i.shape());
    let is_share = to.sharing == Sharing::Boolean;
    if is_share {
        share_rows(operands[0], from, rows_mut(results[0], to));
    }
    is_share
}

/// Makes the select bits of wires rows.
fn share_rows(wires: &[Block], shape: Shape, rows: &mut [u8]) {
    let lanes = shape.lanes as usize;
    for (row, wires) in rows.chunks_exact_mut(row_bytes(lanes)).zip(wires.chunks_exact(lanes)) {
        pack(wires.iter().map(|wire| wire.select_u64()), row);
    }
}

/// Makes values that this party knows its share of rows; `bits` is room for them.
pub(super) fn write_rows(
    i: &Instruction,
    values: impl Iterator<Item = Lane>,
    bits: &mut Vec<u8>,
    wires: &mut [Block],
) {
    let (shape, lanes) = (i.shape(), i.lanes as usize);
    bits.resize(shape.wires() as usize, 0);
    to_bits(values, lanes, bits);
    let rows = rows_mut(wires, shape).chunks_exact_mut(row_bytes(lanes));
    for (row, bits) in rows.zip(bits.chunks_exact(lanes)) {
        pack(bits.iter().map(|&bit| bit.into()), row);
    }
    bits.zeroize();
}

/// This party's share of the bits of a value, one behind another: it is garbled, or rows if it `is_share`.
pub(super) fn packed_share(i: &Instruction, wires: &[Block], is_share: bool) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(vec![0; packed_bytes(i)]);
    if is_share {
        let bits = without_gaps(rows(wires, i.shape()), i.shape());
        bytes.copy_from_slice(&bits.as_bytes()[..packed_bytes(i)]);
    } else {
        pack(wires.iter().map(|wire| wire.select_u64()), &mut bytes);
    }
    bytes
}

/// Transfers with random choices, made in batches.
pub(super) struct RandomChoices {
    /// Of this batch, and which are used.
    labels: Zeroizing<Vec<Block>>,
    choices: Zeroizing<Vec<u64>>,
    used: usize,
    /// Those of all batches that were not made yet.
    left: u64,
}

impl RandomChoices {
    /// So many in all.
    pub(super) fn new(left: u64) -> RandomChoices {
        RandomChoices { labels: Zeroizing::default(), choices: Zeroizing::default(), used: 0, left }
    }

    /// Takes as many labels as there are wires; `chosen` is told the choice of each. `make` makes a batch of labels, and
    /// at the party that chooses its choices.
    pub(super) fn take<E>(
        &mut self,
        wires: &mut [Block],
        mut make: impl FnMut(&mut [u64], &mut [Block]) -> Result<(), E>,
        mut chosen: impl FnMut(u64),
    ) -> Result<(), E> {
        for wire in wires {
            if self.used == self.labels.len() {
                let count = self.left.min(OTS_PER_BATCH as u64) as usize;
                assert!(count > 0, "the plan states how many bits become garbled");
                self.left -= count as u64;
                self.labels.resize(count, Block::ZERO);
                self.choices.resize(count.div_ceil(64), 0);
                make(&mut self.choices, &mut self.labels)?;
                self.used = 0;
            }
            *wire = self.labels[self.used];
            chosen(self.choices[self.used / 64] >> (self.used % 64) & 1);
            self.used += 1;
        }
        Ok(())
    }
}
