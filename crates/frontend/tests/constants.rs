//! Operations with public operands give what the op table says, whatever they are turned into.

mod common;

use common::{column, run_on};
use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_bytecode::{ElementType, Encoding, Instruction, Lane, Op, ProgramReader};
use phineus_frontend::{
    Arguments, Bit, Element, Int, Operand, Tracer, UInt, Value, Vector, program, trace_to_file,
};

const OPERATIONS: [Op; 15] = [
    Op::And,
    Op::Or,
    Op::Xor,
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::Div,
    Op::Rem,
    Op::Min,
    Op::Max,
    Op::Eq,
    Op::Ne,
    Op::Lt,
    Op::Le,
    Op::MulFull,
];

fn apply(op: Op, a: &Value, b: &Value) -> Value {
    match op {
        Op::And => a.and(b),
        Op::Or => a.or(b),
        Op::Xor => a.xor(b),
        Op::Add => a.add(b),
        Op::Sub => a.sub(b),
        Op::Mul => a.mul(b),
        Op::Div => a.div(b),
        Op::Rem => a.rem(b),
        Op::Min => a.min(b),
        Op::Max => a.max(b),
        Op::Eq => a.eq(b),
        Op::Ne => a.ne(b),
        Op::Lt => a.lt(b),
        Op::Le => a.le(b),
        Op::MulFull => a.mul_full(b),
        _ => unreachable!("not in the list"),
    }
}

fn meaning(op: Op, element: ElementType, a: u64, b: u64) -> u64 {
    let element = match op {
        Op::MulFull => ElementType::integer(2 * element.width(), element.is_signed()),
        _ => element,
    };
    let instruction = Instruction::new(op, element, 1);
    let operands = [a, b].map(|x| vec![Lane::from(x)]);
    let meaning = op.info().meaning.expect("it computes");
    meaning(&instruction, &operands)[0][0].as_limbs()[0]
}

/// All values of `T` with every public constant on either side.
fn exhaustive<T: Element + 'static>(op: Op) {
    let values: Vec<u64> = (0..1 << T::TYPE.width()).collect();
    with_constants::<T>(op, &values, values.clone());
}

/// Values at the boundaries of `T` with public constants at the boundaries, and with themselves.
fn at_boundaries<T: Element + 'static>(op: Op, random: &mut SeededRng) {
    let mut draw = |count| -> Vec<u64> {
        (0..count).map(|_| random.lane(T::TYPE.width()).as_limbs()[0]).collect()
    };
    let values = draw(24);
    with_constants::<T>(op, &values, draw(24));
    let outputs = run_on(T::TYPE.width(), &values, move |t| {
        let x = t.input("a", 24).number::<T>("x").vector::<T>();
        let result = apply(op, &x.chunks()[0], &x.chunks()[0]);
        let column = phineus_frontend::column("y", result.element(), Encoding::Number);
        t.output("y", &["a"]).chunks(column, vec![result]).write();
    });
    for (&x, found) in values.iter().zip(column(&outputs[0], 0)) {
        let expected = meaning(op, T::TYPE, x, x);
        assert_eq!(found, expected, "{} {} {x} with itself", op.info().name, T::TYPE);
    }
}

fn with_constants<T: Element + 'static>(op: Op, values: &[u64], constants: Vec<u64>) {
    let (width, count) = (T::TYPE.width(), values.len() as u64);
    let shown = constants.clone();
    let outputs = run_on(width, values, move |t| {
        let x = t.input("a", count).number::<T>("x").vector::<T>();
        let x = &x.chunks()[0];
        for (number, &constant) in constants.iter().enumerate() {
            let public = t.constant(T::TYPE, Lane::from(constant));
            for (side, result) in
                [apply(op, x, &public), apply(op, &public, x)].into_iter().enumerate()
            {
                let name = format!("{number}_{side}");
                let column = phineus_frontend::column(&name, result.element(), Encoding::Number);
                t.output(&name, &["a"]).chunks(column, vec![result]).write();
            }
        }
    });
    for (index, table) in outputs.iter().enumerate() {
        let (constant, side) = (shown[index / 2], index % 2);
        for (&x, found) in values.iter().zip(column(table, 0)) {
            let (a, b) = if side == 0 { (x, constant) } else { (constant, x) };
            let expected = meaning(op, T::TYPE, a, b);
            let name = op.info().name;
            assert_eq!(found, expected, "{name} {} {a} {b}", T::TYPE);
        }
    }
}

#[test]
fn operations_with_constants_are_right_for_all_small_values() {
    for op in OPERATIONS {
        exhaustive::<UInt<4>>(op);
        exhaustive::<Int<4>>(op);
        exhaustive::<UInt<1>>(op);
        exhaustive::<Int<3>>(op);
    }
}

#[test]
fn operations_are_right_at_the_boundaries_of_wide_types() {
    let mut seeds = Seeds::fresh();
    let random = &mut SeededRng::new(seeds.draw());
    for op in OPERATIONS {
        at_boundaries::<UInt<8>>(op, random);
        at_boundaries::<Int<16>>(op, random);
        at_boundaries::<UInt<31>>(op, random);
        at_boundaries::<Int<32>>(op, random);
        if op != Op::MulFull {
            at_boundaries::<UInt<33>>(op, random);
            at_boundaries::<UInt<64>>(op, random);
            at_boundaries::<Int<64>>(op, random);
        }
    }
}

#[test]
fn a_choice_between_constants_is_right() {
    let outputs = run_on(1, &[0, 1], |t| {
        let bit = t.input("a", 2).number::<Bit>("x").vector::<Bit>();
        let bit = bit.get(0).concat(&bit.get(1));
        for (one, zero) in [(3, 12), (0, 15), (7, 7), (15, 0)] {
            let pick = |public| UInt::<4>::constant(t, public);
            let chosen: UInt<4> = bit.select(pick(one), pick(zero));
            t.output(&format!("{one}"), &["a"]).number("x", &chosen).write();
        }
    });
    let found: Vec<Vec<u64>> = outputs.iter().map(|table| column(table, 0)).collect();
    assert_eq!(found, [[12, 3], [15, 0], [7, 7], [0, 15]]);
}

/// The operations that a closure records on one 32-bit input.
fn recorded(trace: impl Fn(&UInt<32>) -> UInt<32> + Send + Sync + 'static) -> Vec<Op> {
    let program = program("test").party("a").trace(move |t: &mut Tracer, _| {
        let x = t.input("a", 1).number::<UInt<32>>("x").vector().get(0);
        t.output("y", &["a"]).number("y", &trace(&x)).write();
        Ok(())
    });
    let (file, _) = trace_to_file(&program, &Arguments::default()).expect("it traces");
    let mut reader = ProgramReader::open(file).expect("it was written");
    let mut ops = Vec::new();
    reader
        .for_each::<phineus_bytecode::Error>(|instruction| {
            ops.push(instruction.op);
            Ok(())
        })
        .expect("it reads");
    ops
}

#[test]
fn constants_avoid_gates() {
    let io = [Op::Input, Op::Output];
    assert_eq!(recorded(|x| x + 0), io);
    assert_eq!(recorded(|x| x ^ 0u32), io);
    assert_eq!(recorded(|x| x * 1), io);
    assert_eq!(recorded(|x| x & u32::MAX), io);
    let free = |ops: Vec<Op>| {
        ops.iter().all(|op| {
            !matches!(op, Op::And | Op::Or | Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem)
        })
    };
    assert!(free(recorded(|x| x * 1024)));
    assert!(free(recorded(|x| x & 0x00ff_00f0)));
    assert!(free(recorded(|x| x | 0x00ff_00f0)));
    assert!(free(recorded(|x| x / 8 + 0)));
    assert!(free(recorded(|x| x % 8)));
    let ten: Vec<Op> = recorded(|x| x * 10);
    assert_eq!(ten.iter().filter(|op| **op == Op::Add).count(), 1);
    assert!(!ten.contains(&Op::Mul));
}

#[test]
fn public_vectors_hold_their_elements() {
    let elements: Vec<u64> = (0..700).map(|i| i * 37 % 256).collect();
    let given = elements.clone();
    let outputs = run_on(8, &[1], move |t| {
        let vector = Vector::<UInt<8>>::constants(t, given.iter().copied());
        let x = t.input("a", 1).number::<UInt<8>>("x").vector::<UInt<8>>();
        t.output("y", &["a"]).vector("y", &vector + &x.get(0)).write();
    });
    let expected: Vec<u64> = elements.iter().map(|x| (x + 1) % 256).collect();
    assert_eq!(column(&outputs[0], 0), expected);
}

#[test]
fn operands_may_be_references_values_and_integers_on_both_sides() {
    fn both<T: Element>(x: &T, y: impl Operand<T>) -> (Value, Value) {
        (x.value().clone(), y.to_operand(x.value().tracer()))
    }
    let outputs = run_on(16, &[100], |t| {
        let x: UInt<16> = t.input("a", 1).number::<UInt<16>>("x").vector().get(0);
        let y = (&x + &x) + x.clone() - 1 + 2u8;
        let z = 1000 - &y;
        let (_, five) = both(&z, 5);
        let w = z * UInt::from_value(five);
        t.output("y", &["a"]).number("y", &w).write();
    });
    assert_eq!(column(&outputs[0], 0), [(1000 - 301) * 5]);
}
