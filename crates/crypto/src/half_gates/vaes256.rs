//! Half gates with VAES on 256-bit registers: see [`super::narrow`]. A set is four gates.

super::narrow::narrow_kernels!(ymm, "vaes,avx2,aes");

/// Chains of one lane.
mod chain_of_one {
    crate::half_gates::chain::chain_kernels!(ymm, xmm, "vaes,avx2,aes");
}

/// Chains of two lanes.
mod chain_of_two {
    crate::half_gates::chain::chain_kernels!(ymm, ymm, "vaes,avx2,aes");
}

/// Lanes of the widest chain that has a kernel of its own.
pub(super) const CHAIN_LANES_MAX: usize = 2;

/// Garbles a chain of up to [`CHAIN_LANES_MAX`] lanes, checked by the caller.
#[target_feature(enable = "vaes,avx2,aes")]
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
        _ => chain_of_two::garble::<2>(start, delta, first_index, a, x, rows),
    }
}

/// Evaluates a chain of up to [`CHAIN_LANES_MAX`] lanes, checked by the caller.
#[target_feature(enable = "vaes,avx2,aes")]
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
        _ => chain_of_two::evaluate::<2>(start, first_index, a, x, rows),
    }
}
