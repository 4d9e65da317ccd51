//! Floating-point numbers against those of the machine, on random numbers and all kinds of edges.

mod common;

use common::column;
use phineus_bytecode::{Lane, Table};
use phineus_frontend::{
    Arguments, F16, F32, F64, Float, I8, I32, I64, Rounding, Tracer, U8, U64, Vector, program,
    reference, trace_to_file,
};

/// Pairs of each test.
const PAIRS: u64 = 4000;

/// A sequence of random numbers from a fresh seed, which it prints.
struct Numbers(u64);

impl Numbers {
    fn fresh() -> Numbers {
        let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
        println!("seed: {seed}");
        Numbers(seed)
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// The bits of a number: any, or of an exponent at an edge, or with a short fraction, or near another one.
    fn float(&mut self, width: u16, near: u64) -> u64 {
        let fraction = fraction_bits(width);
        let all = u64::MAX >> (64 - width);
        let exponents = all >> 1 >> fraction;
        let bits = self.next() & all;
        let pattern = bits & ((1 << fraction) - 1);
        let sign = bits >> (width - 1) << (width - 1);
        let with = |exponent: u64, pattern: u64| sign | exponent << fraction | pattern;
        match self.next() % 8 {
            0 | 1 => bits,
            2 => with([0, 0, exponents, 1, exponents - 1][self.next() as usize % 5], pattern),
            3 => with([0, exponents, exponents >> 1][self.next() as usize % 3], 0),
            4 => with((exponents >> 1) + self.next() % 70 - 4, pattern) & all,
            5 => {
                with((exponents >> 1) + self.next() % 12, pattern >> (self.next() % fraction)) & all
            }
            6 => (near ^ (self.next() % 4)) & all,
            _ => (near ^ 1 << (width - 1)).wrapping_add(self.next() % 9).wrapping_sub(4) & all,
        }
    }

    fn pairs(&mut self, width: u16) -> Vec<(u64, u64)> {
        let mut near = 0;
        let mut pair = |_| {
            let first = self.float(width, near);
            let second = self.float(width, first);
            near = second;
            (first, second)
        };
        (0..PAIRS).map(&mut pair).collect()
    }
}

fn fraction_bits(width: u16) -> u64 {
    match width {
        16 => 10,
        32 => 23,
        _ => 52,
    }
}

/// The columns that a program computes from columns of inputs.
fn run(
    columns: &[Vec<u64>],
    trace: impl Fn(&Tracer, u64) + Send + Sync + 'static,
) -> Vec<Vec<u64>> {
    let rows = columns[0].len() as u64;
    let program = program("test").party("a").party("b").trace(move |t, _| {
        trace(t, rows);
        Ok(())
    });
    let (file, traced) = trace_to_file(&program, &Arguments::default()).expect("it traces");
    let port = &traced.description.inputs[0];
    let mut table = Table::new(port.columns.clone());
    for row in 0..rows as usize {
        table.push(&columns.iter().map(|column| Lane::from(column[row])).collect::<Vec<_>>());
    }
    let outputs = reference::run_file(file, &[table]).expect("it runs");
    (0..outputs[0].columns().len()).map(|index| column(&outputs[0], index)).collect()
}

type Binary<const W: u16> = fn(&Float<W>, &Float<W>) -> Float<W>;

/// A function of two numbers against one of the machine.
fn compare_binary<const W: u16>(what: &str, ours: Binary<W>, machine: fn(u64, u64) -> u64) {
    let pairs = Numbers::fresh().pairs(W);
    let (a, b): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
    let found = run(&[a, b], move |t, rows| {
        let table = t.input("a", rows).number::<Float<W>>("a").number::<Float<W>>("b").read();
        let (a, b) = (table.column::<Float<W>>(0), table.column::<Float<W>>(1));
        t.output("y", &["a"]).vector("y", a.zip(&b, ours)).write();
    });
    for ((a, b), found) in pairs.into_iter().zip(&found[0]) {
        let expected = canonical(W, machine(a, b));
        assert_eq!(
            *found, expected,
            "{what} of {a:#x} and {b:#x}: {found:#x} and not {expected:#x}"
        );
    }
}

/// A function of one number against one of the machine: of all numbers of 16 bits, and some wider ones.
fn compare_unary<const W: u16>(
    what: &str,
    ours: fn(&Float<W>) -> Float<W>,
    machine: fn(u64) -> u64,
) {
    let mut numbers = Numbers::fresh();
    let all: Vec<u64> = match W {
        16 => (0..1 << 16).collect(),
        _ => numbers.pairs(W).into_iter().flat_map(|(a, b)| [a, b]).collect(),
    };
    let found = run(std::slice::from_ref(&all), move |t, rows| {
        let a = t.input("a", rows).number::<Float<W>>("a").vector::<Float<W>>();
        t.output("y", &["a"]).vector("y", a.map(ours)).write();
    });
    for (a, found) in all.into_iter().zip(&found[0]) {
        let expected = canonical(W, machine(a));
        assert_eq!(*found, expected, "{what} of {a:#x}: {found:#x} and not {expected:#x}");
    }
}

/// The one NaN that there is.
fn canonical(width: u16, bits: u64) -> u64 {
    let fraction = fraction_bits(width);
    let infinity = (u64::MAX >> (65 - width)) >> fraction << fraction;
    match bits & (u64::MAX >> (65 - width)) > infinity {
        true => infinity | 1 << (fraction - 1),
        false => bits,
    }
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn double(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// A half as a double, which is exact.
fn half(bits: u64) -> f64 {
    let (exponent, fraction) = ((bits >> 10 & 31) as i32, (bits & 1023) as f64);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// The half that is nearest to a double, ties to even.
fn to_half(number: f64) -> u64 {
    let sign = u64::from(number.is_sign_negative()) << 15;
    let magnitude = number.abs();
    if magnitude.is_nan() {
        return 0x7e00;
    }
    // All finite halves are multiples of 2^-24, and of 2^(e - 10) from 2^e on.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14);
    let unit = 2f64.powi(exponent - 10);
    let rounded = (magnitude / unit).round_ties_even() * unit;
    if rounded >= 65520.0 {
        return sign | 0x7c00;
    }
    let exponent = ((rounded.to_bits() >> 52) as i32 - 1023).max(-14);
    let units = (rounded / 2f64.powi(exponent - 10)) as u64;
    // The bit before the point is added to the stored exponent.
    sign | ((((exponent + 14) as u64) << 10) + units)
}

macro_rules! against_machine {
    ($name:ident, $ours:expr, $machine:expr) => {
        #[test]
        fn $name() {
            compare_binary::<16>(stringify!($name), $ours, |a, b| {
                let f: fn(f64, f64) -> f64 = $machine;
                to_half(f(half(a), half(b)))
            });
            compare_binary::<32>(stringify!($name), $ours, |a, b| {
                let f: fn(f32, f32) -> f32 = $machine;
                u64::from(f(single(a), single(b)).to_bits())
            });
            compare_binary::<64>(stringify!($name), $ours, |a, b| {
                let f: fn(f64, f64) -> f64 = $machine;
                f(double(a), double(b)).to_bits()
            });
        }
    };
}

macro_rules! one_against_machine {
    ($name:ident, $ours:expr, $machine:expr) => {
        #[test]
        fn $name() {
            compare_unary::<16>(stringify!($name), $ours, |a| {
                let f: fn(f64) -> f64 = $machine;
                to_half(f(half(a)))
            });
            compare_unary::<32>(stringify!($name), $ours, |a| {
                let f: fn(f32) -> f32 = $machine;
                u64::from(f(single(a)).to_bits())
            });
            compare_unary::<64>(stringify!($name), $ours, |a| {
                let f: fn(f64) -> f64 = $machine;
                f(double(a)).to_bits()
            });
        }
    };
}

against_machine!(sums_are_those_of_the_machine, |a, b| a + b, |a, b| a + b);
against_machine!(differences_are_those_of_the_machine, |a, b| a - b, |a, b| a - b);
against_machine!(doubles_are_those_of_the_machine, |a, _| a + a, |a, _| a + a);
against_machine!(products_are_those_of_the_machine, |a, b| a * b, |a, b| a * b);
against_machine!(squares_are_those_of_the_machine, |a, _| a * a, |a, _| a * a);
against_machine!(quotients_are_those_of_the_machine, |a, b| a / b, |a, b| a / b);
one_against_machine!(roots_are_those_of_the_machine, |a| a.sqrt(), |a| a.sqrt());
one_against_machine!(floors, |a| a.integral(Rounding::Down), |a| a.floor());
one_against_machine!(ceilings, |a| a.integral(Rounding::Up), |a| a.ceil());
one_against_machine!(truncations, |a| a.integral(Rounding::TowardsZero), |a| a.trunc());
one_against_machine!(nearest, |a| a.integral(Rounding::TiesToEven), |a| a.round_ties_even());
one_against_machine!(nearest_away, |a| a.integral(Rounding::TiesAway), |a| a.round());

#[test]
fn constants_are_rounded_and_so_is_each_step() {
    compare_unary::<16>(
        "product and sum",
        |a| a * 0.1 + 2.5,
        |a| {
            let tenth = half(to_half(0.1));
            to_half(half(to_half(half(a) * tenth)) + 2.5)
        },
    );
    compare_unary::<16>(
        "powers of two",
        |a| a * 4 * -0.5 * 0.25 * 0.0625,
        |a| [4.0, -0.5, 0.25, 0.0625].iter().fold(a, |a, power| to_half(half(a) * power)),
    );
    compare_unary::<32>(
        "powers of two",
        |a| a * 4 * -0.5 * 0.25 * 0.0625,
        |a| u64::from((single(a) * 4.0 * -0.5 * 0.25 * 0.0625).to_bits()),
    );
    compare_unary::<32>(
        "product, sum and quotient",
        |a| (a * 0.1f32 + 3) / -2.25,
        |a| u64::from(((single(a) * 0.1 + 3.0) / -2.25).to_bits()),
    );
}

#[test]
fn comparisons_are_those_of_the_machine() {
    fn check<const W: u16>(number: fn(u64) -> f64) {
        let pairs = Numbers::fresh().pairs(W);
        let (a, b): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
        let found = run(&[a, b], |t, rows| {
            let table = t.input("a", rows).number::<Float<W>>("a").number::<Float<W>>("b").read();
            let (a, b) = (table.column::<Float<W>>(0), table.column::<Float<W>>(1));
            t.output("y", &["a"])
                .vector("lt", a.zip(&b, |a, b| a.lt(b)))
                .vector("le", a.zip(&b, |a, b| a.le(b)))
                .vector("gt", a.zip(&b, |a, b| a.gt(b)))
                .vector("ge", a.zip(&b, |a, b| a.ge(b)))
                .vector("eq", a.zip(&b, |a, b| a.is_equal(b)))
                .vector("nan", a.map(|a| a.is_nan()))
                .vector("min", a.zip(&b, |a, b| a.min(b)))
                .vector("max", a.zip(&b, |a, b| a.max(b)))
                .write();
        });
        for (row, (x, y)) in pairs.into_iter().enumerate() {
            let (a, b) = (number(x), number(y));
            let bits: Vec<bool> = found[..6].iter().map(|column| column[row] == 1).collect();
            assert_eq!(bits, [a < b, a <= b, a > b, a >= b, a == b, a.is_nan()], "{a:e} and {b:e}");
            for (found, expected) in [(found[6][row], a.min(b)), (found[7][row], a.max(b))] {
                let found = number(found);
                let same = found == expected || (found.is_nan() && expected.is_nan());
                assert!(same, "{a:e} and {b:e}: {found:e} and not {expected:e}");
            }
        }
    }
    check::<16>(half);
    check::<32>(|bits| single(bits).into());
    check::<64>(double);
}

#[test]
fn integers_become_the_nearest_numbers() {
    let mut numbers = Numbers::fresh();
    let mut all: Vec<u64> = (0..PAIRS).map(|_| numbers.next() >> (numbers.next() % 64)).collect();
    all.extend([
        0,
        1,
        u64::MAX,
        1 << 63,
        (1 << 63) - 1,
        (1 << 24) + 1,
        (1 << 53) + 1,
        (1 << 54) + 2,
    ]);
    let given = all.clone();
    let found = run(&[given], |t, rows| {
        let a = t.input("a", rows).number::<U64>("a").vector::<U64>();
        let signed = a.to::<I64>();
        let (low, low_signed) = (a.to::<U8>(), a.to::<I8>());
        t.output("y", &["a"])
            .vector("u64 to f64", a.map(F64::from_uint))
            .vector("u64 to f32", a.map(F32::from_uint))
            .vector("u64 to f16", a.map(F16::from_uint))
            .vector("i64 to f64", signed.map(F64::from_int))
            .vector("i64 to f32", signed.map(F32::from_int))
            .vector("u8 to f32", low.map(F32::from_uint))
            .vector("i8 to f16", low_signed.map(F16::from_int))
            .write();
    });
    for (row, value) in all.into_iter().enumerate() {
        let expected = [
            (value as f64).to_bits(),
            u64::from((value as f32).to_bits()),
            // Halves end at 65520, so what a double rounds is infinite.
            to_half(value as f64),
            (value as i64 as f64).to_bits(),
            u64::from((value as i64 as f32).to_bits()),
            u64::from(f32::from(value as u8).to_bits()),
            to_half(f64::from(value as i8)),
        ];
        let found: Vec<u64> = found.iter().map(|column| column[row]).collect();
        assert_eq!(found, expected, "{value}");
    }
}

#[test]
fn numbers_become_integers_without_their_fraction() {
    fn check<const W: u16>(number: fn(u64) -> f64) {
        let all: Vec<u64> = Numbers::fresh().pairs(W).into_iter().map(|(a, _)| a).collect();
        let found = run(std::slice::from_ref(&all), |t, rows| {
            let a = t.input("a", rows).number::<Float<W>>("a").vector::<Float<W>>();
            t.output("y", &["a"])
                .vector("i64", a.map(|a| a.to_int::<64>()))
                .vector("i32", a.map(|a| a.to_int::<32>()))
                .vector("i8", a.map(|a| a.to_int::<8>()))
                .vector("u64", a.map(|a| a.to_uint::<64>()))
                .vector("u16", a.map(|a| a.to_uint::<16>()))
                .write();
        });
        for (row, bits) in all.into_iter().enumerate() {
            let a = number(bits);
            let expected = [
                a as i64 as u64,
                (a as i32 as u32).into(),
                (a as i8 as u8).into(),
                a as u64,
                (a as u16).into(),
            ];
            let found: Vec<u64> = found.iter().map(|column| column[row]).collect();
            assert_eq!(found, expected, "{a:e}");
        }
    }
    check::<16>(half);
    check::<32>(|bits| single(bits).into());
    check::<64>(double);
}

#[test]
fn widths_change_to_the_nearest_number() {
    compare_to::<16, 32>(|bits| u64::from((half(bits) as f32).to_bits()));
    compare_to::<16, 64>(|bits| half(bits).to_bits());
    compare_to::<32, 64>(|bits| f64::from(single(bits)).to_bits());
    compare_to::<32, 16>(|bits| to_half(single(bits).into()));
    compare_to::<64, 16>(|bits| to_half(double(bits)));
    compare_to::<64, 32>(|bits| u64::from((double(bits) as f32).to_bits()));
}

fn compare_to<const V: u16, const W: u16>(machine: fn(u64) -> u64) {
    let mut numbers = Numbers::fresh();
    let mut all: Vec<u64> = numbers.pairs(V).into_iter().map(|(a, _)| a).collect();
    if V == 64 {
        // Near the numbers of the narrower formats, and halfway between them.
        let near = (0..PAIRS).map(|_| {
            let exponent = 1023 - 160 + numbers.next() % 300;
            let fraction = numbers.next() >> 12 & !0 << (numbers.next() % 50);
            exponent << 52 | fraction ^ (numbers.next() % 2)
        });
        all.extend(near.collect::<Vec<_>>());
    }
    let found = run(std::slice::from_ref(&all), |t, rows| {
        let a = t.input("a", rows).number::<Float<V>>("a").vector::<Float<V>>();
        t.output("y", &["a"]).vector("y", a.map(|a| a.to_float::<W>())).write();
    });
    for (a, found) in all.into_iter().zip(&found[0]) {
        let expected = canonical(W, machine(a));
        assert_eq!(*found, expected, "{a:#x} of {V} bits to {W}: {found:#x} and not {expected:#x}");
    }
}

#[test]
fn public_numbers_take_no_gates() {
    let results = run(&[vec![0]], |t, _| {
        let _ = t.input("a", 1).number::<I32>("a").vector::<I32>();
        let (a, b) = (F32::constant(t, 0.1f32), F32::constant(t, -7));
        let all = [&a + &b, &a * &b, &a / &b, (&b * &b).sqrt(), b.integral(Rounding::Up)];
        let vector: Vector<F32> = Vector::from_pieces(t, all);
        t.output("y", &["a"]).vector("y", vector).write();
    });
    let (a, b) = (0.1f32, -7f32);
    let expected = [a + b, a * b, a / b, (b * b).sqrt(), b.ceil()];
    assert_eq!(results[0], expected.map(|number| u64::from(number.to_bits())));
}
