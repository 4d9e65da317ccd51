//! Equality, order, selection, minimum and maximum, over trees.
//!
//! Order is the carry out of `!a + b`, by a tree of groups without the other carries: depth
//! `ceil(log2(w + 1))`, the least for its degree `w + 1`.

use super::adder::complement;
use super::plan::BestNetworks;
use super::prefix::{carry_out, columns};
use crate::record::{Recorder, Wire};

/// The AND of all wires: `ceil(log2)` of their number above wires of equal depth, else as little
/// as their depths allow.
pub fn all(r: &mut Recorder, wires: &[Wire]) -> Wire {
    // Always the two of least depth, as in Huffman's tree; they are at the end.
    let mut wires: Vec<Wire> = wires.to_vec();
    wires.sort_by_key(|&wire| std::cmp::Reverse(r.depth(wire)));
    let mut last = wires.pop().unwrap_or(Wire::ONE);
    while let Some(other) = wires.pop() {
        let both = r.and2(last, other);
        let depth = r.depth(both);
        let place = wires.partition_point(|&wire| r.depth(wire) >= depth);
        wires.insert(place, both);
        last = wires.pop().expect("one was just put there");
    }
    last
}

/// The OR of all wires.
pub fn any(r: &mut Recorder, wires: &[Wire]) -> Wire {
    !all(r, &complement(wires))
}

/// `a == b`: `w - 1` ANDs, depth `ceil(log2 w)`.
pub fn eq(r: &mut Recorder, a: &[Wire], b: &[Wire]) -> Wire {
    let same: Vec<Wire> = a.iter().zip(b).map(|(&a, &b)| !r.xor2(a, b)).collect();
    all(r, &same)
}

/// `a < b`
pub fn lt(r: &mut Recorder, a: &[Wire], b: &[Wire], signed: bool) -> Wire {
    let (mut a, mut b) = (complement(a), b.to_vec());
    if signed {
        // Flipping both top bits makes the order unsigned: the same as exchanging them.
        let top = a.len() - 1;
        (a[top], b[top]) = (!a[top], !b[top]);
    }
    let elements = columns(&a, &b);
    carry_out(r, &mut BestNetworks::default(), &elements, Wire::ZERO)
}

/// `a <= b`
pub fn le(r: &mut Recorder, a: &[Wire], b: &[Wire], signed: bool) -> Wire {
    !lt(r, b, a, signed)
}

/// `selector ? a : b`: `w` ANDs, depth 1.
pub fn mux(r: &mut Recorder, selector: Wire, a: &[Wire], b: &[Wire]) -> Vec<Wire> {
    a.iter().zip(b).map(|(&a, &b)| r.mux(selector, a, b)).collect()
}

/// `selector ? (b, a) : (a, b)`: `w` ANDs for both, depth 1.
pub fn cond_swap(
    r: &mut Recorder,
    selector: Wire,
    a: &[Wire],
    b: &[Wire],
) -> (Vec<Wire>, Vec<Wire>) {
    (mux(r, selector, b, a), mux(r, selector, a, b))
}

/// `min(a, b)`: the depth of [`lt`] and 1.
pub fn min(r: &mut Recorder, a: &[Wire], b: &[Wire], signed: bool) -> Vec<Wire> {
    let less = lt(r, a, b, signed);
    mux(r, less, a, b)
}

/// `max(a, b)`: the depth of [`lt`] and 1.
pub fn max(r: &mut Recorder, a: &[Wire], b: &[Wire], signed: bool) -> Vec<Wire> {
    let less = lt(r, a, b, signed);
    mux(r, less, b, a)
}
