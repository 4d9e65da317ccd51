//! Values in sharings: what is recorded, what is refused, and that the integers stay the same.

mod common;

use common::{column, faults, run_on};
use phineus_bytecode::{Instruction, Op, ProgramReader, Sharing};
use phineus_frontend::{
    Arguments, Bit, Element, I32, Tracer, U8, U32, U64, U128, Value, Vector, program, trace_to_file,
};

/// The instructions of a program.
fn instructions(trace: impl Fn(&Tracer) + Send + Sync + 'static) -> Vec<Instruction> {
    let program = program("test").party("a").party("b").trace(move |t, _| {
        trace(t);
        Ok(())
    });
    let (file, _) = trace_to_file(&program, &Arguments::default()).expect("the program traces");
    let mut all = Vec::new();
    ProgramReader::open(file)
        .expect("it was written")
        .for_each::<phineus_bytecode::Error>(|instruction| {
            all.push(*instruction);
            Ok(())
        })
        .expect("it reads");
    all
}

fn ops(all: &[Instruction]) -> Vec<(Op, Sharing)> {
    all.iter().map(|i| (i.op, i.element.sharing())).collect()
}

fn numbers(t: &Tracer, rows: u64) -> Vector<U32> {
    t.input("a", rows).number::<U32>("x").vector::<U32>()
}

const A: Sharing = Sharing::Arithmetic;
const B: Sharing = Sharing::Boolean;
const Y: Sharing = Sharing::Garbled;

#[test]
fn an_input_comes_in_in_the_sharing_that_is_asked_for() {
    let all = instructions(|t| {
        let a = numbers(t, 4).to_arith();
        let b = t.input("b", 4).number::<U32>("x").vector::<U32>().to_gmw();
        let (a, b) = (a.sum::<32>(), b.get(0).lt(b.get(1)));
        t.output("a", &["a"]).number("y", &a).write();
        t.output("b", &["a"]).number("y", &b).write();
    });
    let expected = [
        (Op::Input, A),
        (Op::Input, B),
        (Op::LaneSum, A),
        (Op::LaneSlice, B),
        (Op::LaneSlice, B),
        (Op::Lt, B),
        (Op::Output, A),
        (Op::Output, B),
    ];
    // The sum starts from a public zero, which is not recorded.
    assert_eq!(ops(&all), expected);
}

#[test]
fn an_input_may_come_in_in_several_sharings_and_once_in_each() {
    let all = instructions(|t| {
        let x = numbers(t, 1).get(0);
        let difference = &x.to_arith() - &x.to_arith();
        let bit = x.to_bmr().lt(7);
        t.output("d", &["a"]).number("y", &difference).write();
        t.output("b", &["a"]).number("y", &bit).write();
        t.output("x", &["a"]).number("y", &x).write();
    });
    let inputs: Vec<Sharing> =
        all.iter().filter(|i| i.op == Op::Input).map(|i| i.element.sharing()).collect();
    assert_eq!(inputs, [A, Y, Sharing::Any]);
    assert!(all.iter().all(|i| i.op != Op::Convert));
}

#[test]
fn unread_order_is_kept_where_no_sharing_is_said() {
    let all = instructions(|t| {
        let x = t.input("a", 600).number::<U8>("x").number::<U8>("y").lanes(256).read();
        t.output("y", &["a"])
            .chunks(
                phineus_frontend::column("y", U8::TYPE, phineus_bytecode::Encoding::Number),
                x.chunks(1).to_vec(),
            )
            .write();
    });
    let rows: Vec<(Op, [u64; 2])> =
        all.iter().map(|i| (i.op, [i.immediates[1], i.immediates[2]])).collect();
    let input = |column, row| (Op::Input, [column, row]);
    let output = |row| (Op::Output, [0, row]);
    let expected = [
        input(0, 0),
        input(1, 0),
        input(0, 256),
        input(1, 256),
        input(0, 512),
        input(1, 512),
        output(0),
        output(256),
        output(512),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_square_has_one_operand_twice() {
    let all = instructions(|t| {
        let x = numbers(t, 4).to_arith();
        let y = t.input("b", 1).number::<U32>("x").vector::<U32>().get(0);
        let difference = &x - &y;
        let squares = &difference * &difference;
        t.output("y", &["a"]).vector("y", squares).write();
    });
    let product = all.iter().find(|i| i.op == Op::Mul).expect("there is one");
    assert_eq!(product.operands[0], product.operands[1]);
    assert_eq!(product.element.sharing(), A);
    // One row of the other table comes in as one lane and is repeated on shares.
    assert_eq!(ops(&all)[..4], [(Op::Input, A), (Op::Input, A), (Op::LaneTile, A), (Op::Sub, A)]);
}

#[test]
fn a_value_without_a_sharing_follows_the_other_and_is_converted_once() {
    let all = instructions(|t| {
        let x = numbers(t, 4);
        let open = &x + &x;
        let shared = t.input("b", 4).number::<U32>("x").vector::<U32>().to_arith();
        let result = &(&shared * &open) + &open;
        t.output("y", &["a"]).vector("y", result).write();
    });
    let converts: Vec<&Instruction> = all.iter().filter(|i| i.op == Op::Convert).collect();
    assert_eq!(converts.len(), 1);
    assert_eq!(converts[0].immediates[0], Sharing::Any as u64);
    assert_eq!(converts[0].element, U32::TYPE.shared(A));
}

#[test]
fn public_values_take_the_sharing_of_their_use() {
    let all = instructions(|t| {
        let x = numbers(t, 4);
        let (a, b) = (x.to_arith(), x.to_gmw());
        let five = U32::constant(t, 5);
        let sum = a.map(|chunk| chunk + &five);
        let less = b.map(|chunk| chunk.lt(&five));
        t.output("y", &["a"]).vector("y", sum).write();
        t.output("z", &["a"]).vector("z", less).write();
    });
    let constants: Vec<Sharing> =
        all.iter().filter(|i| i.op == Op::Constant).map(|i| i.element.sharing()).collect();
    assert_eq!(constants, [A, B]);
}

#[test]
fn a_public_factor_needs_no_multiplication() {
    let factors = [0u64, 1, 2, 3, 7, 10, 255, 1 << 31, u64::from(u32::MAX), 0xdead_beef];
    let trace = move |t: &Tracer| {
        let x = numbers(t, 3).to_arith();
        for (index, &factor) in factors.iter().enumerate() {
            let left = x.map(|x| x * factor);
            let right = x.map(|x| factor * x);
            t.output(&format!("l{index}"), &["a"]).vector("y", left).write();
            t.output(&format!("r{index}"), &["a"]).vector("y", right).write();
        }
        let shifted = x.map(|x| 9 - x);
        t.output("s", &["a"]).vector("y", shifted).write();
    };
    assert!(instructions(trace).iter().all(|i| i.op != Op::Mul));
    let rows = [0u64, 77, 4_000_000_000];
    let outputs = run_on(32, &rows, trace);
    for (index, &factor) in factors.iter().enumerate() {
        let expected: Vec<u64> =
            rows.iter().map(|&x| u64::from((x as u32).wrapping_mul(factor as u32))).collect();
        assert_eq!(column(&outputs[2 * index], 0), expected, "{factor}");
        assert_eq!(column(&outputs[2 * index + 1], 0), expected, "{factor}");
    }
    let expected: Vec<u64> = rows.iter().map(|&x| u64::from(9u32.wrapping_sub(x as u32))).collect();
    assert_eq!(column(&outputs[2 * factors.len()], 0), expected);
}

#[test]
fn mixed_programs_mean_the_same_integers() {
    let rows: Vec<u64> = (0..300).map(|i| (i * 2_654_435_761) & 0xffff_ffff).collect();
    let outputs = run_on(32, &rows, |t| {
        let x = numbers(t, 300).to_arith();
        let y = t.input("b", 300).number::<U32>("x").vector::<U32>().to_arith();
        let dot = x.dot::<32>(&y);
        let difference = &x.reverse() - &y;
        let small = difference.to_bmr().map(|d| d.lt(1 << 30));
        let kept = small.select(&difference.to_bmr(), &y.to_bmr());
        let least = kept.to_gmw().reduce(|a, b| a.min(b)).expect("there are rows");
        let signed = (-&x).to::<I32>();
        assert_eq!(signed.chunks()[0].sharing(), A);
        let negative = signed.to_gmw().map(|x: &I32| x.is_negative());
        t.output("dot", &["a"]).number("y", &dot).write();
        t.output("kept", &["a"]).vector("y", kept).write();
        t.output("least", &["a"]).number("y", &least).write();
        t.output("negative", &["a"]).number("y", &negative.count::<16>()).write();
    });
    let x: Vec<u32> = rows.iter().map(|&x| x as u32).collect();
    let dot = x.iter().fold(0u32, |sum, &x| sum.wrapping_add(x.wrapping_mul(x)));
    assert_eq!(column(&outputs[0], 0), [u64::from(dot)]);
    let kept: Vec<u32> = (0..300)
        .map(|i| x[299 - i].wrapping_sub(x[i]))
        .zip(&x)
        .map(|(d, &y)| if d < 1 << 30 { d } else { y })
        .collect();
    assert_eq!(column(&outputs[1], 0), kept.iter().map(|&x| u64::from(x)).collect::<Vec<_>>());
    assert_eq!(column(&outputs[2], 0), [u64::from(*kept.iter().min().expect("there are rows"))]);
    let negative = x.iter().filter(|&&x| (x.wrapping_neg() as i32) < 0).count();
    assert_eq!(column(&outputs[3], 0), [negative as u64]);
}

#[test]
fn records_change_their_sharing() {
    let all = instructions(|t| {
        let records = t.input("a", 3).number::<U32>("x").number::<U8>("y").read().to_gmw();
        let first = records.column::<U32>(0).map(|x| x.lt(3));
        t.output("y", &["a"]).vector("y", first).write();
    });
    assert_eq!(ops(&all)[..2], [(Op::Input, B), (Op::Input, B)]);
}

const HINT: &str = "bring both to one with .to_arith(), .to_gmw() or .to_bmr()";

#[test]
fn different_sharings_do_not_mix() {
    let found = faults(|t| {
        let x = numbers(t, 2);
        let (a, b, y) = (x.to_arith(), x.to_gmw(), x.to_bmr());
        let _ = &a + &b;
        let _ = &b & &y;
        let _ = a.concat(&b);
        let bit = b.map(|b| b.lt(5));
        let _ = bit.select(&y, &y);
    });
    assert_eq!(
        found,
        [
            format!("add mixes arithmetic and Boolean (GMW) sharing: {HINT}"),
            format!("and mixes Boolean (GMW) and garbled (BMR) sharing: {HINT}"),
            format!("lane_concat mixes arithmetic and Boolean (GMW) sharing: {HINT}"),
            format!("mux mixes Boolean (GMW) and garbled (BMR) sharing: {HINT}"),
        ]
    );
}

#[test]
fn arithmetic_shares_only_add_and_multiply() {
    type Try = fn(&U32) -> Value;
    let tries: [(&str, Try); 13] = [
        ("lt", |x| x.lt(5).value().clone()),
        ("le", |x| x.ge(x).value().clone()),
        ("eq", |x| x.eq(x).value().clone()),
        ("and", |x| (x & 6).value().clone()),
        ("xor", |x| (x ^ x).value().clone()),
        ("not", |x| (!x).value().clone()),
        ("div", |x| (x / 4).value().clone()),
        ("rem", |x| (x % x).value().clone()),
        ("min", |x| x.min(x).value().clone()),
        ("shift_left", |x| (x << 1).value().clone()),
        ("bit_slice", |x| x.bit(3).value().clone()),
        ("mul_full", |x| x.full_mul::<64>(x).value().clone()),
        ("any_bit", |x| x.any_bit().value().clone()),
    ];
    for (name, attempt) in tries {
        let found = faults(move |t| {
            let x = U32::from_value(numbers(t, 2).to_arith().chunks()[0].clone());
            let _ = attempt(&x);
        });
        assert_eq!(
            found,
            [format!(
                "{name} does not work on arithmetic shares, only +, -, *, sums and moves of lanes \
                 do: convert with .to_gmw() or .to_bmr() before"
            )]
        );
    }
}

#[test]
fn arithmetic_shares_keep_their_width() {
    let found = faults(|t| {
        let x = numbers(t, 2).to_arith();
        let _ = x.to::<U64>();
        let _ = x.sum::<64>();
        let _ = t.input("b", 1).hex::<U128>("x").vector::<U128>().to_arith();
    });
    assert_eq!(
        found,
        [
            "cast from u32@a to 64 bits is not possible on arithmetic shares: they keep their \
             width; convert with .to_gmw() or .to_bmr() before",
            "lane_sum from u32@a to 64 bits is not possible on arithmetic shares: they keep their \
             width; convert with .to_gmw() or .to_bmr() before",
            "arithmetic sharing has at most 64 bits, got u128: take its low bits first, or stay \
             in Boolean sharing",
        ]
    );
}

#[test]
fn a_choice_between_arithmetic_values_is_refused() {
    let found = faults(|t| {
        let x = numbers(t, 2);
        let bit = x.map(|x| x.lt(3));
        let x = x.to_arith();
        let _: Vector<U32> = bit.select(&x, &x);
        let _ =
            Bit::from_value(bit.chunks()[0].clone()).mask(&U32::from_value(x.chunks()[0].clone()));
    });
    assert_eq!(found.len(), 2);
    assert!(found[0].starts_with("mux does not work on arithmetic shares"), "{found:?}");
    assert!(found[1].starts_with("mask does not work on arithmetic shares"), "{found:?}");
}

#[test]
fn mistakes_on_vectors_name_the_line_that_makes_them() {
    let line = line!() + 5;
    let program = program("test").party("a").trace(|t, _| {
        let x = numbers(t, 2);
        let (a, b) = (x.to_arith(), x.to_gmw());
        // The next lines are wrong.
        let _ = &a + &b;
        let _ = a.sum::<64>();
        let _ = a.to::<U64>();
        let _ = a.dot::<32>(&b);
        let _ = t.input("a", 1).hex::<U128>("x").vector::<U128>().to_arith();
        Ok(())
    });
    let error = trace_to_file(&program, &Arguments::default()).expect_err("it has faults");
    let lines: Vec<String> =
        error.to_string().lines().map(|fault| fault.splitn(3, ':').take(2).collect()).collect();
    let expected: Vec<String> = (line..line + 5).map(|line| format!("sharings.rs{line}")).collect();
    assert_eq!(lines, expected, "{error}");
}
