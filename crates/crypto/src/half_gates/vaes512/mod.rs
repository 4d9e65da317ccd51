//! Half gates with VAES on 512-bit registers.
//!
//! Long batches go sixteen gates at a time ([`many`]), with the key schedules done by words; what
//! is left over goes in one smaller step, up to four gates with a key in each lane ([`quad`]). A
//! single gate has its hashes as lanes ([`one`]). Chains of up to four lanes have their keys by
//! words and their rows in the narrowest vector that holds them ([`super::chain`]).

mod one;

/// Eight gates in a set.
mod many {
    crate::half_gates::many::many_kernels!(zmm, "vaes,avx512f,avx512bw,avx512vl,gfni,aes");
}

/// At most four gates, one in each lane.
mod quad {
    crate::half_gates::in_lane::in_lane_kernels!(zmm, "vaes,avx512f,avx512bw,avx512vl,gfni,aes");
}

/// Chains of one lane.
mod chain_of_one {
    crate::half_gates::chain::chain_kernels!(zmm, xmm, "vaes,avx512f,avx512bw,avx512vl,gfni,aes");
}

/// Chains of two lanes.
mod chain_of_two {
    crate::half_gates::chain::chain_kernels!(zmm, ymm, "vaes,avx512f,avx512bw,avx512vl,gfni,aes");
}

/// Chains of three or four lanes.
mod chain_of_four {
    crate::half_gates::chain::chain_kernels!(zmm, zmm, "vaes,avx512f,avx512bw,avx512vl,gfni,aes");
}

use super::{AndIndex, Delta, GarbledGate};
use crate::Block;

/// Lanes of the widest chain that has a kernel of its own.
pub(super) const CHAIN_LANES_MAX: usize = 4;

/// Gates in a step of [`many`].
const STEP: usize = 16;

/// Garbles any number of gates; lengths and indices were checked by the caller.
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(super) fn garble(
    start: Block,
    delta: &Delta,
    first_index: AndIndex,
    a: &[Block],
    b: &[Block],
    out: &mut [Block],
    rows: &mut [u8],
) {
    crate::public([a.len(), b.len(), out.len(), rows.len()]);
    if let ([a], [b], [out], Some(rows)) = (a, b, &mut *out, rows.first_chunk_mut()) {
        return one::garble(start, delta, first_index, *a, *b, out, rows);
    }
    let long = long_part(a.len());
    let (a, a_rest) = a.split_at(long);
    let (b, b_rest) = b.split_at(long);
    let (out, out_rest) = out.split_at_mut(long);
    let (rows, rows_rest) = rows.split_at_mut(long * GarbledGate::BYTES);
    let index = AndIndex(first_index.0 + long as u64);
    if !a.is_empty() {
        many::garble::<2>(start, delta, first_index, a, b, out, rows);
    }
    match a_rest.len() {
        0 => {}
        1..=4 => quad::garble(start, delta, index, a_rest, b_rest, out_rest, rows_rest),
        _ => many::garble::<1>(start, delta, index, a_rest, b_rest, out_rest, rows_rest),
    }
}

/// Evaluates any number of gates; lengths and indices were checked by the caller.
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(super) fn evaluate(
    start: Block,
    first_index: AndIndex,
    a: &[Block],
    b: &[Block],
    out: &mut [Block],
    rows: &[u8],
) {
    crate::public([a.len(), b.len(), out.len(), rows.len()]);
    if let ([a], [b], [out], Some(rows)) = (a, b, &mut *out, rows.first_chunk()) {
        return one::evaluate(start, first_index, *a, *b, out, rows);
    }
    let long = long_part(a.len());
    let (a, a_rest) = a.split_at(long);
    let (b, b_rest) = b.split_at(long);
    let (out, out_rest) = out.split_at_mut(long);
    let (rows, rows_rest) = rows.split_at(long * GarbledGate::BYTES);
    let index = AndIndex(first_index.0 + long as u64);
    if !a.is_empty() {
        many::evaluate::<2>(start, first_index, a, b, out, rows);
    }
    match a_rest.len() {
        0 => {}
        1..=4 => quad::evaluate(start, index, a_rest, b_rest, out_rest, rows_rest),
        _ => many::evaluate::<1>(start, index, a_rest, b_rest, out_rest, rows_rest),
    }
}

/// Garbles a chain of up to [`CHAIN_LANES_MAX`] lanes, checked by the caller.
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(super) fn garble_chain(
    start: Block,
    delta: &Delta,
    first_index: AndIndex,
    a: &[Block],
    x: &mut [Block],
    lanes: usize,
    rows: &mut [u8],
) {
    crate::public([a.len(), x.len(), lanes, rows.len()]);
    match lanes {
        1 => chain_of_one::garble::<1>(start, delta, first_index, a, x, rows),
        2 => chain_of_two::garble::<2>(start, delta, first_index, a, x, rows),
        3 => chain_of_four::garble::<3>(start, delta, first_index, a, x, rows),
        _ => chain_of_four::garble::<4>(start, delta, first_index, a, x, rows),
    }
}

/// Evaluates a chain of up to [`CHAIN_LANES_MAX`] lanes, checked by the caller.
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(super) fn evaluate_chain(
    start: Block,
    first_index: AndIndex,
    a: &[Block],
    x: &mut [Block],
    lanes: usize,
    rows: &[u8],
) {
    crate::public([a.len(), x.len(), lanes, rows.len()]);
    match lanes {
        1 => chain_of_one::evaluate::<1>(start, first_index, a, x, rows),
        2 => chain_of_two::evaluate::<2>(start, first_index, a, x, rows),
        3 => chain_of_four::evaluate::<3>(start, first_index, a, x, rows),
        _ => chain_of_four::evaluate::<4>(start, first_index, a, x, rows),
    }
}

/// The hashes of that many gates and nothing else; see [`super::hashes_alone`].
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(super) fn hashes_alone(start: Block, garbling: bool, gates: usize) -> Block {
    crate::public([gates]);
    if garbling {
        many::hashes_alone::<2, true>(start, gates)
    } else {
        many::hashes_alone::<2, false>(start, gates)
    }
}

/// How many of `gates` gates go in steps of sixteen: all, unless a smaller step serves the rest.
#[inline]
fn long_part(gates: usize) -> usize {
    let rest = gates % STEP;
    if rest <= STEP / 2 { gates - rest } else { gates }
}
