//! Half gates with AES-NI: see [`super::narrow`]. A set is two gates.

super::narrow::narrow_kernels!(xmm, "aes,ssse3,sse4.1");

/// Chains of one lane.
mod chain {
    crate::half_gates::chain::chain_kernels!(xmm, xmm, "aes,ssse3,sse4.1");
}

/// Lanes of the widest chain that has a kernel of its own.
pub(super) const CHAIN_LANES_MAX: usize = 1;

/// Garbles a chain of [`CHAIN_LANES_MAX`] lanes, checked by the caller.
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(super) fn garble_chain(
    start: Block,
    delta: &Delta,
    first_index: AndIndex,
    a: &[Block],
    x: &mut [Block],
    _lanes: usize,
    rows: &mut [u8],
) {
    crate::public([a.len(), x.len(), rows.len()]);
    chain::garble::<1>(start, delta, first_index, a, x, rows);
}

/// Evaluates a chain of [`CHAIN_LANES_MAX`] lanes, checked by the caller.
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(super) fn evaluate_chain(
    start: Block,
    first_index: AndIndex,
    a: &[Block],
    x: &mut [Block],
    _lanes: usize,
    rows: &[u8],
) {
    crate::public([a.len(), x.len(), rows.len()]);
    chain::evaluate::<1>(start, first_index, a, x, rows);
}
