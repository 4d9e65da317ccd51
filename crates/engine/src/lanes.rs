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
    match block {
        1 => return deinterleave_blocks::<W, 1>(even, odd, a),
        2 => return deinterleave_blocks::<W, 2>(even, odd, a),
        4 => return deinterleave_blocks::<W, 4>(even, odd, a),
        _ => {}
    }
    let targets = even.chunks_exact_mut(block).zip(odd.chunks_exact_mut(block));
    for ((even, odd), pair) in targets.zip(a.chunks_exact(2 * block)) {
        even.copy_from_slice(&pair[..block]);
        odd.copy_from_slice(&pair[block..]);
    }
}

/// As [`deinterleave`], for blocks whose copy is a few moves and not a call.
fn deinterleave_blocks<W: Copy, const BLOCK: usize>(even: &mut [W], odd: &mut [W], a: &[W]) {
    let targets = even.as_chunks_mut::<BLOCK>().0.iter_mut().zip(odd.as_chunks_mut::<BLOCK>().0);
    for ((even, odd), pair) in targets.zip(a.as_chunks::<BLOCK>().0.as_chunks::<2>().0) {
        [*even, *odd] = *pair;
    }
}

/// Blocks of `block` lanes, in turn from `a` and `b`, to `lanes` lanes.
pub(crate) fn interleave<W: Copy>(out: &mut [W], a: &[W], b: &[W], lanes: usize, block: usize) {
    debug_assert_eq!(out.len() / lanes * (lanes / 2), a.len());
    match block {
        1 => return interleave_blocks::<W, 1>(out, a, b),
        2 => return interleave_blocks::<W, 2>(out, a, b),
        4 => return interleave_blocks::<W, 4>(out, a, b),
        _ => {}
    }
    let sources = a.chunks_exact(block).zip(b.chunks_exact(block));
    for (pair, (a, b)) in out.chunks_exact_mut(2 * block).zip(sources) {
        pair[..block].copy_from_slice(a);
        pair[block..].copy_from_slice(b);
    }
}

/// As [`interleave`], for blocks whose copy is a few moves and not a call.
fn interleave_blocks<W: Copy, const BLOCK: usize>(out: &mut [W], a: &[W], b: &[W]) {
    let sources = a.as_chunks::<BLOCK>().0.iter().zip(b.as_chunks::<BLOCK>().0);
    let pairs = out.as_chunks_mut::<BLOCK>().0.as_chunks_mut::<2>().0;
    for (pair, (a, b)) in pairs.iter_mut().zip(sources) {
        *pair = [*a, *b];
    }
}
