//! [`RepeatedOperand`]: an operand whose bits are the same in all lanes of an instruction, such as round
//! keys, for instructions that run side by side in one circuit.
//!
//! A row of such a bit is made where it is read, from one bit of each instruction: rows for all of them
//! would be most of what a circuit of AES holds. Instructions that follow each other with the same value
//! count as one. Whether their shares are equal is public: those of a value are, and those of other
//! values differ in at least one bit that is uniform, whatever the values are.
//!
//! Cost: for each read and each value in the chunk, an operation on a word for each word of the row.

use phineus_crypto::{SecretBit, declassify_choice};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Words of the widest chunk of lanes.
pub(crate) const CHUNK_WORDS: usize = 8;

/// The lanes of a value in a chunk.
#[derive(Clone, Copy)]
struct Piece {
    value: usize,
    lanes: [u64; CHUNK_WORDS],
}

/// The operand of all instructions of a group.
#[derive(Default)]
pub(crate) struct RepeatedOperand {
    /// Both components of each value, of `component_bytes` each.
    bytes: Zeroizing<Vec<u8>>,
    component_bytes: usize,
    /// Bits of a row of the operand, and its bytes.
    row: (usize, usize),
    chunks: Vec<Vec<Piece>>,
}

impl RepeatedOperand {
    /// Bytes that an instruction takes whose operand has so many, at most.
    pub(crate) fn instruction_bytes(operand: usize, lanes: usize) -> usize {
        // Lists double; an instruction begins and ends in a chunk.
        2 * operand + 2 * size_of::<Piece>() * (lanes.div_ceil(64 * CHUNK_WORDS) + 1)
    }

    /// Takes the operand of the next instruction, whose lanes begin at `first`: two components of rows of
    /// `row_bits` bits.
    pub(crate) fn push(&mut self, bytes: &[u8], row_bits: usize, (first, lanes): (usize, usize)) {
        self.component_bytes = bytes.len() / 2;
        self.row = (row_bits, row_bits.div_ceil(8));
        let last = self.bytes.rchunks_exact(bytes.len()).next();
        let is_last = last.is_some_and(|last| {
            declassify_choice(last.ct_eq(bytes), "equal shares are those of one value")
        });
        if !is_last {
            self.bytes.extend_from_slice(bytes);
        }
        let value = self.bytes.len() / bytes.len() - 1;
        for lane in first..first + lanes {
            let (chunk, lane) = (lane / (64 * CHUNK_WORDS), lane % (64 * CHUNK_WORDS));
            if self.chunks.len() <= chunk {
                self.chunks.resize_with(chunk + 1, Vec::new);
            }
            let pieces = &mut self.chunks[chunk];
            if pieces.last().is_none_or(|piece| piece.value != value) {
                pieces.push(Piece { value, lanes: [0; CHUNK_WORDS] });
            }
            let piece = pieces.last_mut().expect("it was just added");
            piece.lanes[lane / 64] |= 1 << (lane % 64);
        }
    }

    /// The operand in one chunk.
    pub(crate) fn chunk(&self, chunk: usize) -> RepeatedChunk<'_> {
        RepeatedChunk { operand: self, pieces: self.chunks.get(chunk).map_or(&[], Vec::as_slice) }
    }
}

/// The operand in the lanes of a chunk.
#[derive(Clone, Copy)]
pub(crate) struct RepeatedChunk<'a> {
    operand: &'a RepeatedOperand,
    pieces: &'a [Piece],
}

impl RepeatedChunk<'_> {
    /// The row of bit `bit`: `WORDS` words of the first component, then those of the second, `SLOT` in all.
    #[inline(always)]
    pub(crate) fn row<const SLOT: usize, const WORDS: usize>(self, bit: usize) -> [u64; SLOT] {
        let RepeatedOperand { bytes, component_bytes, row: (row_bits, row_bytes), .. } =
            self.operand;
        let (row, bit) = (bit / row_bits, bit % row_bits);
        let mut words = [0; SLOT];
        for piece in self.pieces {
            let both = &bytes[2 * piece.value * component_bytes..][..2 * component_bytes];
            let parts = both.chunks_exact(*component_bytes);
            for (words, part) in words.as_chunks_mut::<WORDS>().0.iter_mut().zip(parts) {
                let byte = part[row * row_bytes + bit / 8];
                let mask = SecretBit::lowest((byte >> (bit % 8)).into()).mask();
                for (word, lanes) in words.iter_mut().zip(&piece.lanes) {
                    *word |= mask & lanes;
                }
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::{SeededRng, Seeds};

    use super::*;

    /// Instructions of any length, some with the value of the one before, in three chunks.
    #[test]
    fn rows_have_the_bit_of_each_instruction() {
        const CHUNK_LANES: usize = 64 * CHUNK_WORDS;
        let mut random = SeededRng::new(Seeds::fresh().draw());
        let (row_bits, rows) = (1 + random.below(20) as usize, 1 + random.below(9) as usize);
        let (row_bytes, mut first) = (row_bits.div_ceil(8), 0);
        let mut operand = RepeatedOperand::default();
        let mut expected: Vec<Vec<u8>> = Vec::new();
        let mut bytes = Vec::new();
        while first < 2 * CHUNK_LANES + 1 {
            if bytes.is_empty() || random.below(2) == 0 {
                bytes = (0..2 * rows * row_bytes).map(|_| random.next_u64() as u8).collect();
            }
            let lanes = 1 + random.below(100) as usize;
            operand.push(&bytes, row_bits, (first, lanes));
            expected.resize(first + lanes, bytes.clone());
            first += lanes;
        }
        for (lane, bytes) in expected.iter().enumerate() {
            let chunk = operand.chunk(lane / CHUNK_LANES);
            for bit in 0..rows * row_bits {
                let row = chunk.row::<16, 8>(bit);
                let byte = bit / row_bits * row_bytes + bit % row_bits / 8;
                for (component, words) in row.chunks_exact(8).enumerate() {
                    let lane = lane % CHUNK_LANES;
                    let byte = bytes[component * rows * row_bytes + byte];
                    let is_set = byte >> (bit % row_bits % 8) & 1;
                    assert_eq!(words[lane / 64] >> (lane % 64) & 1, u64::from(is_set));
                }
            }
        }
    }
}
