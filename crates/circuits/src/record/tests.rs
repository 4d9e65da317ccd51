//! Folding, sharing, levels and slots of recorded circuits.

use super::*;

/// Words that give each of up to six inputs all combinations of the others.
const COLUMNS: [u64; 6] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

#[test]
fn gates_fold() {
    let mut r = Recorder::new();
    let [a, b] = r.inputs(2).try_into().expect("two");
    assert_eq!(r.and2(a, Wire::ZERO), Wire::ZERO);
    assert_eq!(r.and2(Wire::ONE, a), a);
    assert_eq!(r.and2(a, a), a);
    assert_eq!(r.and2(!a, a), Wire::ZERO);
    assert_eq!(r.xor2(a, Wire::ONE), !a);
    assert_eq!(r.xor2(a, !a), Wire::ONE);
    let sum = r.xor2(a, !b);
    assert_eq!(r.xor2(b, sum), !a);
    assert_eq!(r.xor2(!b, !a), !sum);
    let product = r.and2(a, b);
    assert_eq!(r.and2(b, a), product);
    assert_eq!(r.mux(a, b, b), b);
    assert_eq!(r.majority(a, b, a), a);
}

#[test]
fn ands_of_complements_are_one_gate() {
    let mut r = Recorder::new();
    let [a, b] = r.inputs(2).try_into().expect("two");
    let mut outputs = Vec::new();
    for (p, q) in [(false, false), (true, false), (false, true), (true, true)] {
        outputs.push(r.and2(a.not_if(p), b.not_if(q)));
    }
    let template = r.finish(&outputs);
    let [x, y, ..] = COLUMNS;
    assert_eq!(template.evaluate_clear(&[x, y]), [x & y, !x & y, x & !y, !x & !y]);
    assert_eq!((template.and_count(), template.depth()), (1, 1));
}

#[test]
fn outputs_may_be_anything() {
    let mut r = Recorder::new();
    let [a, b, c] = r.inputs(3).try_into().expect("three");
    let product = r.and2(a, c);
    let unused = r.and2(b, c);
    let _ = r.and2(unused, a);
    let outputs = [a, !a, a, Wire::ZERO, Wire::ONE, product, !product, product, b, Wire::ONE];
    let template = r.finish(&outputs);
    let [x, y, z, ..] = COLUMNS;
    let expected = [x, !x, x, 0, u64::MAX, x & z, !(x & z), x & z, y, u64::MAX];
    assert_eq!(template.evaluate_clear(&[x, y, z]), expected);
    assert_eq!((template.and_count(), template.depth()), (1, 1));
    let empty = Recorder::new().finish(&[]);
    assert_eq!((empty.depth(), empty.slot_count, empty.levels.len()), (0, 0, 1));
}

#[test]
fn slots_are_used_again() {
    // A chain through 100 ANDs with two inputs each time needs the inputs' slots and no more.
    let mut r = Recorder::new();
    let inputs = r.inputs(101);
    let chain = inputs[1..].iter().fold(inputs[0], |out, &input| {
        let sum = r.xor2(out, input);
        r.and2(sum, !input)
    });
    let template = r.finish(&[chain]);
    assert_eq!((template.and_count(), template.depth()), (100, 100));
    assert!(template.ands_per_level().iter().all(|&ands| ands == 1));
    assert_eq!(template.slot_count, 102, "the inputs, and one for a complement");
}

/// Random gates on six inputs: all 64 assignments at once, against the gates one by one.
#[test]
fn random_circuits_compute_the_same() {
    let mut state = 0x5eed_u64;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % bound
    };
    for _ in 0..300 {
        let mut r = Recorder::new();
        let mut wires = r.inputs(6);
        let mut values = COLUMNS.to_vec();
        for _ in 0..next(60) {
            let (i, j) = (next(wires.len()), next(wires.len()));
            let (wire, value) = match next(4) {
                0 => (!wires[i], !values[i]),
                1 => (r.xor2(wires[i], wires[j]), values[i] ^ values[j]),
                _ => (r.and2(wires[i], wires[j]), values[i] & values[j]),
            };
            wires.push(wire);
            values.push(value);
        }
        let chosen: Vec<usize> = (0..next(9)).map(|_| next(wires.len())).collect();
        let outputs: Vec<Wire> = chosen.iter().map(|&k| wires[k]).collect();
        let deepest = outputs.iter().map(|&wire| r.depth(wire)).max().unwrap_or(0);
        let template = r.finish(&outputs);
        let expected: Vec<u64> = chosen.iter().map(|&k| values[k]).collect();
        assert_eq!(template.evaluate_clear(&COLUMNS), expected);
        assert_eq!(template.depth(), deepest as usize);
        assert!(template.ands_per_level().iter().all(|&ands| ands > 0));
    }
}
