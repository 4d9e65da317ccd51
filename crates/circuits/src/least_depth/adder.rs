//! Addition, subtraction and negation by parallel prefix.
//!
//! The carry into the top bit of a sum of `w` bits is a polynomial of degree `w`, and these
//! adders reach the depth that this implies: `ceil(log2 w)`. Constants are just wires: what folds
//! away costs nothing.

use super::plan::BestNetworks;
use super::prefix::{PrefixElement, carries, columns};
use crate::record::{Recorder, Wire};

/// `a + b + carry`, wrapping: depth `ceil(log2 w)`.
pub(super) fn sum(
    r: &mut Recorder,
    plans: &mut BestNetworks,
    a: &[Wire],
    b: &[Wire],
    carry: Wire,
) -> Vec<Wire> {
    assert_eq!(a.len(), b.len(), "operands have the same width");
    let elements = columns(&a[..a.len() - 1], &b[..b.len() - 1]);
    let carries = carries(r, plans, &elements, carry);
    add_carries(r, a, b, carry, &carries)
}

/// `a ^ b ^ carries`, the first carry being `carry`.
fn add_carries(r: &mut Recorder, a: &[Wire], b: &[Wire], carry: Wire, more: &[Wire]) -> Vec<Wire> {
    let carries = std::iter::once(&carry).chain(more);
    let bits = a.iter().zip(b).zip(carries);
    bits.map(|((&a, &b), &carry)| {
        let half = r.xor2(a, b);
        r.xor2(half, carry)
    })
    .collect()
}

pub(super) fn complement(a: &[Wire]) -> Vec<Wire> {
    a.iter().map(|&wire| !wire).collect()
}

/// `a + b`, wrapping.
pub fn add(r: &mut Recorder, a: &[Wire], b: &[Wire]) -> Vec<Wire> {
    sum(r, &mut BestNetworks::default(), a, b, Wire::ZERO)
}

/// `a - b`, wrapping.
pub fn sub(r: &mut Recorder, a: &[Wire], b: &[Wire]) -> Vec<Wire> {
    sum(r, &mut BestNetworks::default(), a, &complement(b), Wire::ONE)
}

/// `-a`, wrapping: depth `ceil(log2(w - 1))`.
pub fn neg(r: &mut Recorder, a: &[Wire]) -> Vec<Wire> {
    // Bit 0 stays and its complement is the carry into bit 1 of !a + 1.
    let above: Vec<Wire> = complement(&a[1..]);
    let mut out = vec![a[0]];
    out.extend(increment(r, &above, !a[0]));
    out
}

/// `negate ? -a : a`, wrapping: depth `ceil(log2 w)`.
pub fn negate_if(r: &mut Recorder, negate: Wire, a: &[Wire]) -> Vec<Wire> {
    let flipped: Vec<Wire> = a.iter().map(|&bit| r.xor2(bit, negate)).collect();
    increment(r, &flipped, negate)
}

/// `|a|` of a signed value; the least value stays itself.
pub fn abs(r: &mut Recorder, a: &[Wire]) -> Vec<Wire> {
    negate_if(r, a[a.len() - 1], a)
}

/// `a + carry`, wrapping.
fn increment(r: &mut Recorder, a: &[Wire], carry: Wire) -> Vec<Wire> {
    let Some(below_top) = a.len().checked_sub(1) else {
        return Vec::new();
    };
    let elements: Vec<PrefixElement> =
        a[..below_top].iter().map(|&bit| PrefixElement::Group(Wire::ZERO, bit)).collect();
    let carries = carries(r, &mut BestNetworks::default(), &elements, carry);
    add_carries(r, a, &vec![Wire::ZERO; a.len()], carry, &carries)
}
