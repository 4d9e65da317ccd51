//! Vectors and records of all kinds of lengths.

mod common;

use common::{column, run_on};
use phineus_frontend::{Records, U16, U32, UInt, Vector};

/// Lengths around the chunks of 32-bit elements (128 lanes) and of 64 lanes.
const LENGTHS: [u64; 10] = [1, 2, 63, 64, 65, 127, 128, 129, 256, 300];

fn numbers(length: u64) -> Vec<u64> {
    (0..length).map(|i| i * 2654435761 % 65521).collect()
}

fn on_numbers(
    length: u64,
    function: impl Fn(&Vector<U32>) -> Vector<U32> + Send + Sync + 'static,
) -> Vec<u64> {
    let outputs = run_on(32, &numbers(length), move |t| {
        let v = t.input("a", length).number::<U32>("x").vector::<U32>();
        assert_eq!(v.len(), length);
        t.output("y", &["a"]).vector("y", function(&v)).write();
    });
    column(&outputs[0], 0)
}

#[test]
fn vectors_keep_their_elements() {
    for length in LENGTHS {
        let all = numbers(length);
        assert_eq!(on_numbers(length, Vector::clone), all);
        let mut turned = all.clone();
        turned.reverse();
        assert_eq!(on_numbers(length, Vector::reverse), turned);
        assert_eq!(on_numbers(length, |v| v.rechunked(16)), all);
        assert_eq!(on_numbers(length, |v| v.concat(v)), [&all[..], &all].concat());
        let (start, count) = (length / 3, length - length / 3 - length / 5);
        let part = &all[start as usize..(start + count) as usize];
        assert_eq!(on_numbers(length, move |v| v.slice(start, count)), part);
        let doubled: Vec<u64> = all.iter().map(|x| 2 * x).collect();
        assert_eq!(on_numbers(length, |v| v + v), doubled);
        let mixed = on_numbers(length, |v| v + &v.rechunked(32).to::<U16>().to::<U32>());
        assert_eq!(mixed, doubled);
    }
}

#[test]
fn vectors_reduce() {
    for length in LENGTHS {
        let all = numbers(length);
        let outputs = run_on(32, &all, move |t| {
            let v = t.input("a", length).number::<U32>("x").vector::<U32>();
            let out = t.output("y", &["a"]);
            let largest = v.reduce(|a, b| a.max(b)).expect("it has elements");
            let even = v.map(|x| !x.bit(0)).count::<32>();
            let last = v.get(v.len() - 1);
            out.number("sum", &v.sum::<32>())
                .number("largest", &largest)
                .number("even", &even)
                .number("last", &last)
                .write();
            t.output("dot", &["a"]).number("dot", &v.dot::<48>(&v)).write();
        });
        let row: Vec<u64> = (0..4).map(|c| column(&outputs[0], c)[0]).collect();
        let even = all.iter().filter(|x| *x % 2 == 0).count() as u64;
        let largest = *all.iter().max().expect("it has elements");
        assert_eq!(row, [all.iter().sum(), largest, even, all[length as usize - 1]]);
        let dot: u64 = all.iter().map(|x| x * x).sum();
        assert_eq!(column(&outputs[1], 0), [dot % (1 << 48)]);
    }
}

#[test]
fn records_are_cut_joined_and_turned_together() {
    for length in LENGTHS {
        let all = numbers(length);
        let outputs = run_on(32, &all, move |t| {
            let read = || {
                let port = t.input("a", length).number::<U32>("x").number::<U32>("y");
                port.read_split(length / 4)
            };
            let (head, rest) = read();
            let joined = rest.clone().concat(head).reverse();
            let sum = &joined.column::<U32>(0) + &joined.column::<U32>(1);
            let records = Records::from_vector(sum).with_column(&joined.column::<U32>(0));
            let wide = records.column::<U32>(0).to::<UInt<128>>();
            let records = records.with_column(&wide);
            let part = records.slice(length / 2, length - length / 2);
            let columns = ["a", "b", "c"].map(|name| {
                let width = if name == "c" { 128 } else { 32 };
                let element = phineus_bytecode::ElementType::unsigned(width);
                phineus_frontend::column(name, element, phineus_bytecode::Encoding::Number)
            });
            t.output("y", &["a"]).records(&columns, part).write();
        });
        let split = length as usize / 4;
        let mut expected = [&all[split..], &all[..split]].concat();
        expected.reverse();
        let expected = &expected[length as usize / 2..];
        let doubled: Vec<u64> = expected.iter().map(|x| 2 * x).collect();
        assert_eq!(column(&outputs[0], 0), doubled);
        assert_eq!(column(&outputs[0], 1), expected);
        assert_eq!(column(&outputs[0], 2), doubled);
    }
}

#[test]
fn packed_columns_are_joined_and_taken_apart_row_by_row() {
    for length in LENGTHS {
        let all = numbers(length);
        let outputs = run_on(32, &all, move |t| {
            let port = t.input("a", length).number::<U32>("x").number::<U32>("y");
            let (head, rest) = port.lanes(16).packed().read_split(length / 4);
            let columns = ["x", "low", "rest"].map(|name| {
                let width = if name == "x" { 32 } else { 16 };
                let element = phineus_bytecode::ElementType::unsigned(width);
                phineus_frontend::column(name, element, phineus_bytecode::Encoding::Number)
            });
            t.output("y", &["a"]).packed(&columns, rest.concat(head)).write();
        });
        let split = length as usize / 4;
        let expected = [&all[split..], &all[..split]].concat();
        assert_eq!(column(&outputs[0], 0), expected);
        let low: Vec<u64> = expected.iter().map(|x| x & 0xFFFF).collect();
        assert_eq!(column(&outputs[0], 1), low);
        let rest: Vec<u64> = expected.iter().map(|x| x >> 16).collect();
        assert_eq!(column(&outputs[0], 2), rest);
    }
}
