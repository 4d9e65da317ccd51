//! Shifts and rotations by secret amounts.
//!
//! A stage chooses among `2^b` shifted copies by `b` bits of the amount, decoded to one-hot: one
//! level above both, `2^b - 1` ANDs a bit. A decoder of `b` bits is `ceil(log2 b)` deep, so the
//! first stage takes one bit of the amount, the second up to two, the later ones up to three:
//! depth 3 for 32 and 64 bits, 4 for 128 and 256, where a barrel shifter takes 5 to 8.

use super::order::any;
use crate::record::{Recorder, Wire};

/// Bits that enter at the open end of a shift.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShiftDirection {
    Left,
    Right,
}

/// `a << amount`, zero if the amount is not below the width.
pub fn shl(r: &mut Recorder, a: &[Wire], amount: &[Wire]) -> Vec<Wire> {
    shift(r, a, amount, ShiftDirection::Left, Wire::ZERO)
}

/// `a >> amount`; with the sign of a signed value coming in, else zeros.
pub fn shr(r: &mut Recorder, a: &[Wire], amount: &[Wire], signed: bool) -> Vec<Wire> {
    let fill = if signed { a[a.len() - 1] } else { Wire::ZERO };
    shift(r, a, amount, ShiftDirection::Right, fill)
}

/// `a` rotated left by `amount` modulo the width.
pub fn rotl(r: &mut Recorder, a: &[Wire], amount: &[Wire]) -> Vec<Wire> {
    let width = a.len();
    // Bit k of the amount rotates by 2^k modulo the width: bits that rotate by 0 are left out.
    let mut step = 1 % width;
    let mut used = Vec::new();
    for &bit in amount {
        if step != 0 {
            used.push((bit, step));
        }
        step = step * 2 % width;
    }
    let mut out = a.to_vec();
    let mut rest = used.as_slice();
    for size in stage_sizes(used.len()) {
        let (bits, more) = rest.split_at(size);
        rest = more;
        let selectors = decode(r, bits.iter().map(|&(bit, _)| bit));
        let distance = |choice: usize| -> usize {
            let steps = bits.iter().enumerate();
            steps.map(|(k, &(_, step))| step * (choice >> k & 1)).sum::<usize>() % width
        };
        out = (0..width)
            .map(|i| {
                let copies = |choice| out[(i + width - distance(choice)) % width];
                choose(r, &selectors, copies)
            })
            .collect();
    }
    out
}

fn shift(
    r: &mut Recorder,
    a: &[Wire],
    amount: &[Wire],
    direction: ShiftDirection,
    fill: Wire,
) -> Vec<Wire> {
    let width = a.len();
    let useful = (width.next_power_of_two().ilog2() as usize).min(amount.len());
    let (used, beyond) = amount.split_at(useful);
    let mut out = a.to_vec();
    let mut first = 0;
    for size in stage_sizes(useful) {
        let selectors = decode(r, used[first..first + size].iter().copied());
        out = (0..width)
            .map(|i| {
                let copy = |choice: usize| {
                    let source = match direction {
                        ShiftDirection::Left => i.checked_sub(choice << first),
                        ShiftDirection::Right => Some(i + (choice << first)),
                    };
                    source.and_then(|source| out.get(source)).copied().unwrap_or(fill)
                };
                choose(r, &selectors, copy)
            })
            .collect();
        first += size;
    }
    if !beyond.is_empty() {
        let too_large = any(r, beyond);
        out = out.into_iter().map(|wire| r.mux(too_large, fill, wire)).collect();
    }
    out
}

/// How many bits of the amount each stage takes: as few stages as can be, the bits spread evenly.
fn stage_sizes(bits: usize) -> Vec<usize> {
    const LARGEST: [usize; 3] = [1, 2, 3];
    let largest = |stage: usize| LARGEST[stage.min(2)];
    let count = (0..).find(|&count| (0..count).map(largest).sum::<usize>() >= bits);
    let mut sizes = vec![0; count.expect("enough stages hold any number of bits")];
    for _ in 0..bits {
        let open = (0..sizes.len()).filter(|&stage| sizes[stage] < largest(stage));
        // The last of the smallest.
        let stage = open.rev().min_by_key(|&stage| sizes[stage]);
        sizes[stage.expect("there is room for every bit")] += 1;
    }
    sizes
}

/// One wire for each value of the bits: whether they have it.
fn decode(r: &mut Recorder, bits: impl Iterator<Item = Wire>) -> Vec<Wire> {
    let mut selectors = vec![Wire::ONE];
    for bit in bits {
        let zero: Vec<Wire> = selectors.iter().map(|&selector| r.and2(selector, !bit)).collect();
        let one: Vec<Wire> = selectors.iter().map(|&selector| r.and2(selector, bit)).collect();
        selectors = [zero, one].concat();
    }
    selectors
}

/// The wire of the choice that is selected: one AND for each choice but the first.
fn choose(r: &mut Recorder, selectors: &[Wire], wire_of: impl Fn(usize) -> Wire) -> Wire {
    let first = wire_of(0);
    let mut out = first;
    for (choice, &selector) in selectors.iter().enumerate().skip(1) {
        let difference = r.xor2(wire_of(choice), first);
        let chosen = r.and2(selector, difference);
        out = r.xor2(out, chosen);
    }
    out
}
