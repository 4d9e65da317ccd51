//! Movements of lanes: no gates, only wires in another order.
//!
//! Values are bit-major, so each of these does the same to every row of lanes.

/// The `lanes` lanes from `start` of a value of `from` lanes.
pub(crate) fn slice<W: Copy>(out: &mut [W], a: &[W], lanes: usize, start: usize, from: usize) {
    for (out, row) in out.chunks_exact_mut(lanes).zip(a.chunks_exact(from)) {
        out.copy_from_slice(&row[start..start + lanes]);
    }
}

/// `low` lanes of `a`, then those of `b`.
pub(crate) fn concat<W: Copy>(out: &mut [W], a: &[W], b: &[W], lanes: usize, low: usize) {
    let rows = a.chunks_exact(low).zip(b.chunks_exact(lanes - low));
    for (out, (a, b)) in out.chunks_exact_mut(lanes).zip(rows) {
        out[..low].copy_from_slice(a);
        out[low..].copy_from_slice(b);
    }
}

/// The lanes in reverse order.
pub(crate) fn reverse<W: Copy>(out: &mut [W], a: &[W], lanes: usize) {
    out.copy_from_slice(a);
    out.chunks_exact_mut(lanes).for_each(<[W]>::reverse);
}

/// The `from` lanes of `a`, over and over.
pub(crate) fn tile<W: Copy>(out: &mut [W], a: &[W], lanes: usize, from: usize) {
    for (out, row) in out.chunks_exact_mut(lanes).zip(a.chunks_exact(from)) {
        out.chunks_exact_mut(from).for_each(|piece| piece.copy_from_slice(row));
    }
}

/// Each of the `from` lanes of `a` several times in a row.
pub(crate) fn repeat<W: Copy>(out: &mut [W], a: &[W], lanes: usize, from: usize) {
    for (out, row) in out.chunks_exact_mut(lanes).zip(a.chunks_exact(from)) {
        out.chunks_exact_mut(lanes / from).zip(row).for_each(|(piece, &wire)| piece.fill(wire));
    }
}

/// Blocks of `block` lanes of `a`, in turn to `even` and `odd`, of `lanes` lanes each.
pub(crate) fn deinterleave<W: Copy>(
    even: &mut [W],
    odd: &mut [W],
    a: &[W],
    lanes: usize,
    block: usize,
) {
    debug_assert_eq!(a.len() / (2 * lanes) * lanes, even.len());
    let targets = even.chunks_exact_mut(block).zip(odd.chunks_exact_mut(block));
    for ((even, odd), pair) in targets.zip(a.chunks_exact(2 * block)) {
        even.copy_from_slice(&pair[..block]);
        odd.copy_from_slice(&pair[block..]);
    }
}

/// Blocks of `block` lanes, in turn from `a` and `b`, to `lanes` lanes.
pub(crate) fn interleave<W: Copy>(out: &mut [W], a: &[W], b: &[W], lanes: usize, block: usize) {
    debug_assert_eq!(out.len() / lanes * (lanes / 2), a.len());
    let sources = a.chunks_exact(block).zip(b.chunks_exact(block));
    for (pair, (a, b)) in out.chunks_exact_mut(2 * block).zip(sources) {
        pair[..block].copy_from_slice(a);
        pair[block..].copy_from_slice(b);
    }
}
