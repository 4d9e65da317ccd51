//! Mistakes of a program are collected, with the line that made them, and nothing panics.

mod common;

use common::faults;
use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{
    Arguments, Element, Parameter, Program, ProgramError, Tracer, U8, U16, U32, U256, program,
    trace_to_file,
};

fn numbers(t: &Tracer, rows: u64) -> U8 {
    let vector = t.input("a", rows).number::<U8>("x").vector::<U8>();
    U8::from_value(vector.chunks()[0].clone())
}

#[test]
fn unequal_lanes_and_types_are_reported() {
    assert_eq!(
        faults(|t| {
            let x = numbers(t, 16);
            let _ = x.slice(0, 8) + &x;
        }),
        ["add needs equal lanes, got 8 and 16"]
    );
    assert_eq!(
        faults(|t| {
            let x = numbers(t, 2);
            let _ = x.value().add(&x.value().cast(ElementType::unsigned(16)));
            let _ = x.value().lt(&x.value().with_sign(true));
        }),
        ["add needs equal types, got u8 and u16", "lt needs equal types, got u8 and i8"]
    );
}

#[test]
fn constants_that_do_not_fit_are_reported() {
    assert_eq!(
        faults(|t| {
            let x = numbers(t, 1);
            let _ = &x + 256;
            let _ = &x * -1;
            let _ = x.to::<phineus_frontend::I8>() + 128;
            let _ = t.constant(ElementType::unsigned(3), Lane::from(8));
        }),
        [
            "the constant 256 does not fit u8",
            "the constant -1 does not fit u8",
            "the constant 128 does not fit i8",
            "the constant 8 does not fit u3"
        ]
    );
}

#[test]
fn places_that_do_not_exist_are_reported() {
    assert_eq!(
        faults(|t| {
            let x = numbers(t, 4);
            let _ = x.slice(2, 3);
            let _ = x.bit(8);
            let _ = x.tile(6);
            let _ = x.value().reshape(7);
            let _ = x.value().deinterleave(3);
        }),
        [
            "lane_slice: the slice ends after the operand's last lane",
            "bit_slice: the slice ends after the operand's last bit",
            "lane_tile: lanes must be a multiple of from_lanes",
            "reshape cannot divide 32 wires into lanes of 7 bits",
            "lane_deinterleave: lanes must be a multiple of block",
        ]
    );
    assert_eq!(
        faults(|t| {
            let v = t.input("a", 3).number::<U16>("x").vector::<U16>();
            let _ = v.get(3);
            let _ = v.slice(1, 3);
            let _ = v.zip(&v.slice(0, 2), |a, b| a + b);
        }),
        [
            "element 3 of a vector of 3",
            "a slice of 3 elements from 1 of a vector of 3",
            "vectors need equal lengths, got 3 and 2",
        ]
    );
}

#[test]
fn values_that_are_too_large_are_reported() {
    let found = faults(|t| {
        let x = numbers(t, 512);
        let wide = x.value().cast(ElementType::unsigned(16));
        let _ = wide.add(&wide);
    });
    assert_eq!(
        found,
        ["cast would give a value of 16 bits x 512 lanes; the most is 256 bits, and 4096 bits \
          times lanes"]
    );
    let found = faults(|t| {
        let x: U256 = t.input("a", 1).hex::<U256>("x").vector().get(0);
        let _ = x.value().mul_full(x.value());
    });
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn ports_are_checked() {
    assert_eq!(
        faults(|t| {
            let x = numbers(t, 2);
            let y = numbers(t, 3);
            t.output("y", &["a", "c"]).number("x", &x).number("y", &y).write();
            let _ = t.input("c", 1).number::<U8>("x").read();
            let _ = t.input("a", 1).number::<U8>("x").vector::<U16>();
        }),
        [
            "there is no party 'c'; there are a, b",
            "output 'y' needs columns of equal length, got 2 and 3 rows",
            "there is no party 'c'; there are a, b",
            "column 0 is u8, not u16",
        ]
    );
}

#[test]
fn a_fault_names_file_and_line() {
    let line = line!() + 4;
    let program = program("test").party("a").trace(|t, _| {
        let x = t.input("a", 2).number::<U32>("x").vector::<U32>();
        let x = U32::from_value(x.chunks()[0].clone());
        let _ = x.slice(0, 5);
        Ok(())
    });
    let error = trace_to_file(&program, &Arguments::default()).expect_err("it has a fault");
    assert_eq!(
        error.to_string(),
        format!("faults.rs:{line}: lane_slice: the slice ends after the operand's last lane")
    );
}

#[test]
fn values_of_two_programs_do_not_mix() {
    let other = Tracer::new("other", Vec::new()).expect("it begins");
    other.party("a");
    let tracer = Tracer::new("test", Vec::new()).expect("it begins");
    tracer.party("a");
    let _ = numbers(&tracer, 1) + numbers(&other, 1);
    let error = tracer.finish().expect_err("it has a fault");
    assert!(error.to_string().ends_with("add mixes values of two programs"));
}

#[test]
fn a_program_without_parties_is_refused() {
    let tracer = Tracer::new("test", Vec::new()).expect("it begins");
    let error = tracer.finish().expect_err("nobody takes part");
    assert_eq!(error.to_string(), "a program has 1 to 64 parties, this one has 0");
}

fn with_parameters() -> impl Program {
    program("p").party("a").parameter("n", "10", "rows").trace(|_, _| Ok(()))
}

#[test]
fn arguments_are_checked() {
    let program = with_parameters();
    let arguments = |name, value| Arguments::new(&program, [(name, value)]);
    let error = arguments("m", "1").expect_err("there is no m");
    assert_eq!(error.to_string(), "'p' has no parameter 'm'; it has n");
    let count = |value| arguments("n", value).and_then(|a| a.count("n"));
    assert_eq!(count("7").expect("a number"), 7);
    for bad in ["0", "x", "-1", "1.5", ""] {
        let error = count(bad).expect_err("not a count");
        assert_eq!(error.to_string(), format!("n={bad}: expected a whole number from 1 on"));
    }
    let mut arguments = Arguments::new(&program, []).expect("it has defaults");
    assert_eq!(arguments.rows("a").expect("from n"), 10);
    arguments.set_rows("a", 3);
    assert_eq!(arguments.rows("a").expect("as stated"), 3);
    let error = Arguments::default().rows("a").expect_err("nothing says");
    assert_eq!(error.to_string(), "how many rows has input 'a'? give --in a=FILE, or n=ROWS");
}

#[test]
fn a_required_parameter_is_asked_for() {
    struct Needs;
    impl Program for Needs {
        fn name(&self) -> &str {
            "needs"
        }
        fn about(&self) -> &str {
            ""
        }
        fn parameters(&self) -> Vec<Parameter> {
            vec![Parameter::required("k", "how many neighbours")]
        }
        fn parties(&self) -> Vec<String> {
            vec!["a".to_string()]
        }
        fn trace(&self, _: &Arguments, _: &mut Tracer) -> Result<(), ProgramError> {
            Ok(())
        }
    }
    let error = Arguments::new(&Needs, []).expect_err("k is missing");
    assert_eq!(error.to_string(), "give k=VALUE: how many neighbours");
}
