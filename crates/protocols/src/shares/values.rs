//! Values as the engine stores them: units, bytes, packed rows, and bits without gaps.

use phineus_bytecode::layout::{ring_bytes, share_bytes};
use phineus_bytecode::{Instruction, Lane, Shape, Sharing};
use phineus_crypto::Block;
use phineus_engine::packed;
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::ring;
use super::transpose::transpose_64;
use super::words::{bits_of, get, put, words};

/// Shares, wiped when they go.
pub(crate) type Words = Zeroizing<Vec<u64>>;

pub(crate) fn blank(count: usize) -> Words {
    Zeroizing::new(vec![0; count])
}

/// Bytes of one component of a value on its way: bits without gaps, or elements of a ring.
pub(crate) fn sent_share_bytes(shape: Shape) -> usize {
    match shape.sharing {
        Sharing::Arithmetic => ring_bytes(shape.width) * shape.lanes as usize,
        Sharing::Any | Sharing::Boolean | Sharing::Garbled => (shape.wires() as usize).div_ceil(8),
    }
}

/// The operands as bytes, so many shares of each, without what fills up their last units.
pub(crate) fn bytes<'a>(
    instruction: &Instruction,
    operands: &[&'a [Block]],
    copies: usize,
) -> Vec<&'a [u8]> {
    let wires = operands.iter().enumerate();
    let size = |k: usize| copies * share_bytes(instruction.operand_shape(k));
    wires.map(|(k, wires)| &wires.as_bytes()[..size(k)]).collect()
}

/// As [`bytes`], of the results.
pub(crate) fn bytes_mut<'a>(
    instruction: &Instruction,
    results: &'a mut [&mut [Block]],
    copies: usize,
) -> Vec<&'a mut [u8]> {
    let wires = results.iter_mut().enumerate();
    let size = |k: usize| copies * share_bytes(instruction.result_shape(k));
    wires.map(|(k, wires)| &mut wires.as_mut_bytes()[..size(k)]).collect()
}

/// The bits of packed rows next to each other.
pub(crate) fn without_gaps(bytes: &[u8], shape: Shape) -> Words {
    let (width, lanes) = (usize::from(shape.width), shape.lanes as usize);
    let n = words(lanes);
    let mut bits = blank(words(width * lanes));
    if lanes.is_multiple_of(8) {
        // There are no gaps.
        bits.as_mut_bytes()[..bytes.len()].copy_from_slice(bytes);
        return bits;
    }
    let mut rows = blank(width * n);
    packed::rows_to_words(&mut rows, bytes, lanes);
    for (k, row) in rows.chunks_exact(n).enumerate() {
        put(&mut bits, k * lanes, row, lanes);
    }
    bits
}

/// Adds a share of an output to a sum of shares, both as they are sent.
pub(crate) fn add_share(shape: Shape, sum: &mut [u8], share: &[u8]) {
    if shape.sharing == Sharing::Arithmetic {
        ring::add_assign(sum, share, shape.width);
    } else {
        packed::xor_assign(sum, share);
    }
}

/// The lanes of an output, of the sum of all shares.
pub(crate) fn lanes_of_share(shape: Shape, sum: &[u8]) -> Vec<Lane> {
    let (width, lanes) = (usize::from(shape.width), shape.lanes as usize);
    if shape.sharing == Sharing::Arithmetic {
        let mut elements = blank(lanes);
        ring::load(&mut elements, sum, shape.width);
        let mask = ring::mask_of(shape.width);
        return elements.iter().map(|element| Lane::from(element & mask)).collect();
    }
    let mut limbs = vec![[0; 4]; lanes];
    for (limb, first_bit) in (0..width).step_by(64).enumerate() {
        for (limbs, first_lane) in limbs.chunks_mut(64).zip((0..).step_by(64)) {
            let mut square = [0; 64];
            for (bit, word) in (first_bit..width).zip(&mut square) {
                *word = bits_of(sum, bit * lanes + first_lane);
            }
            transpose_64(&mut square);
            limbs.iter_mut().zip(&square).for_each(|(limbs, word)| limbs[limb] = *word);
        }
    }
    limbs.into_iter().map(Lane::from_limbs).collect()
}

/// Writes bits that lie next to each other as packed rows.
pub(crate) fn with_gaps(bits: &[u64], shape: Shape, bytes: &mut [u8]) {
    let lanes = shape.lanes as usize;
    if lanes.is_multiple_of(8) {
        return bytes.copy_from_slice(&bits.as_bytes()[..bytes.len()]);
    }
    let mut row = blank(words(lanes));
    for (k, bytes) in bytes.chunks_exact_mut(lanes.div_ceil(8)).enumerate() {
        get(bits, k * lanes, &mut row, lanes);
        packed::words_to_rows(bytes, &row, lanes);
    }
}
