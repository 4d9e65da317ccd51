//! Fixed-point numbers against integer arithmetic.

mod common;

use common::{column, faults, run_on};
use phineus_frontend::{Bit, Fixed, Vector};

/// 16 bits, 6 of them after the point.
type F = Fixed<16, 6>;

const CORNERS: [i16; 14] =
    [0, 1, -1, 63, 64, -64, 96, -97, 1000, -1001, 4095, -4096, i16::MAX, i16::MIN];

/// Runs a function on all pairs of corners.
fn on_pairs(function: impl Fn(&F, &F) -> F + Send + Sync + 'static) -> Vec<i16> {
    let rows: Vec<u64> = CORNERS.iter().map(|&x| u64::from(x as u16)).collect();
    let count = rows.len() as u64;
    let outputs = run_on(16, &rows, move |t| {
        let x = t.input("a", count).number::<F>("x").vector::<F>();
        let all = (0..count).flat_map(|i| (0..count).map(move |j| (i, j)));
        let pairs = all.map(|(i, j)| function(&x.get(i), &x.get(j)));
        t.output("y", &["a"]).vector("y", Vector::from_pieces(t, pairs)).write();
    });
    column(&outputs[0], 0).into_iter().map(|x| x as u16 as i16).collect()
}

fn expected(function: impl Fn(i64, i64) -> i64) -> Vec<i16> {
    let pairs = CORNERS.iter().flat_map(|&a| CORNERS.map(|b| (i64::from(a), i64::from(b))));
    pairs.map(|(a, b)| function(a, b) as i16).collect()
}

#[test]
fn arithmetic_rounds_as_stated() {
    assert_eq!(on_pairs(|a, b| a + b), expected(|a, b| a + b));
    assert_eq!(on_pairs(|a, b| a - b), expected(|a, b| a - b));
    assert_eq!(on_pairs(|a, b| a * b), expected(|a, b| (a * b) >> 6));
    assert_eq!(on_pairs(|a, b| a / b), expected(|a, b| if b == 0 { -1 } else { (a << 6) / b }));
    assert_eq!(
        on_pairs(|a, b| a.lt(b).select(-a, b.abs())),
        expected(|a, b| { if a < b { -a } else { b.abs() } })
    );
}

#[test]
fn constants_are_scaled() {
    // 0.75 is 48, and -1.25 is -80.
    assert_eq!(on_pairs(|a, _| a * 0.75), expected(|a, _| (a * 48) >> 6));
    assert_eq!(on_pairs(|a, _| a * -1.25 + 3), expected(|a, _| ((a * -80) >> 6) + 192));
    assert_eq!(on_pairs(|a, _| a / 2), expected(|a, _| a / 2));
    let bit = |bit: Bit, a: &F| bit.mask(a);
    assert_eq!(
        on_pairs(move |a, _| bit(a.ge(1.5), a)),
        expected(|a, _| if a >= 96 { a } else { 0 })
    );
    assert_eq!(on_pairs(|a, _| F::from_int::<16>(&a.floor())), expected(|a, _| a >> 6 << 6));
    assert_eq!(on_pairs(|a, _| F::from_int(&(a.scaled() & 3))), expected(|a, _| (a & 3) << 6));
}

#[test]
fn constants_that_do_not_fit_are_reported() {
    let found = faults(|t| {
        for bad in [512.0, -513.0, f64::NAN, 1e300] {
            let _ = F::constant(t, bad);
        }
        let _ = F::constant(t, -512.0);
    });
    assert_eq!(
        found,
        [
            "the constant 32768 does not fit i16",
            "the constant -32832 does not fit i16",
            "the constant NaN does not fit i16",
            &format!("the constant {} does not fit i16", 1e300),
        ]
    );
}
