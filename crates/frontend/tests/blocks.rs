//! Programs of several blocks: loops and choices on opened values, against plain Rust.

use phineus_bytecode::{BlockDirectory, Column, Lane, RegisterOp, Table, verify_blocks};
use phineus_frontend::{
    Arguments, Element, Program, ProgramError, Tracer, U8, U32, Vector, program, reference,
    trace_to_file,
};

fn table(columns: &[Column], rows: &[u64]) -> Table {
    let mut table = Table::new(columns.to_vec());
    rows.iter().for_each(|&row| table.push(&[Lane::from(row)]));
    table
}

/// Runs `program` on one table of one column for each input; gives the first output's cells.
fn run(program: &dyn Program, inputs: &[Vec<u64>]) -> Result<Vec<u64>, ProgramError> {
    let mut arguments = Arguments::new(program, [])?;
    for (name, rows) in ["a", "b"].into_iter().zip(inputs) {
        arguments.set_rows(name, rows.len() as u64);
    }
    let (mut file, traced) = trace_to_file(program, &arguments)?;
    let blocks = BlockDirectory::read(&mut file)?.expect("it has several blocks");
    assert_eq!(blocks.hash, traced.written.hash, "the file says what was written");
    let reader = |block: usize| blocks.open(file.try_clone()?, block);
    let violations = verify_blocks(&blocks, reader)?;
    assert_eq!(violations.iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
    let ports = traced.description.inputs.iter();
    let inputs: Vec<Table> =
        ports.zip(inputs).map(|(port, rows)| table(&port.columns, rows)).collect();
    let outputs = reference::run(program, &arguments, &inputs)?;
    let cell = |row| u64::try_from(outputs[0].cell(row, 0)).expect("outputs are narrow");
    Ok((0..outputs[0].row_count()).map(cell).collect())
}

fn column(tracer: &Tracer, name: &str, rows: u64) -> Vector<U32> {
    tracer.input(name, rows).number::<U32>("x").vector::<U32>()
}

#[test]
fn a_loop_runs_until_what_is_opened_says_so() {
    let gcd = program("gcd").party("a").party("b").trace(|t, sizes| {
        let rows = sizes.rows("a")?;
        let (a, b) = (column(t, "a", rows), column(t, "b", rows));
        let state = (a.get(0), b.get(0));
        let go_on = |state: &(U32, U32)| state.1.ne(0);
        let (x, _) = t.while_open("unfinished", state, go_on, |(x, y)| (y.clone(), x % y));
        // What the first block read is carried past the loop.
        let both = Vector::from_pieces(t, [x, a.get(0) + b.get(0)]);
        t.output("gcd", &["a", "b"]).vector("gcd", both).write();
        Ok(())
    });
    for (a, b, expected) in [(12, 18, 6), (17, 5, 1), (7, 0, 7), (0, 9, 9), (1071, 462, 21)] {
        let found = run(&gcd, &[vec![a], vec![b]]).expect("the program is right");
        assert_eq!(found, [expected, a + b], "gcd of {a} and {b}");
    }
}

#[test]
fn a_loop_runs_as_often_as_was_opened() {
    let powers = program("powers").party("a").party("b").trace(|t, _| {
        let (a, b) = (column(t, "a", 1).get(0), column(t, "b", 1).get(0));
        let one = U32::from_value(t.constant(U32::TYPE, Lane::ONE));
        let turn_sum = U32::from_value(t.constant(U32::TYPE, Lane::ZERO));
        let (power, turns) = t.for_open("exponent", &b, (one, turn_sum), |turn, (power, turns)| {
            let turn = t.published::<U32>(turn);
            (power * &a, turns + turn)
        });
        let both = Vector::from_pieces(t, [power, turns]);
        t.output("power", &["a"]).vector("power", both).write();
        Ok(())
    });
    for (base, exponent) in [(3u32, 0u32), (3, 1), (5, 4), (2, 40)] {
        let inputs = [vec![base.into()], vec![exponent.into()]];
        let found = run(&powers, &inputs).expect("the program is right");
        let turns = (0..exponent).sum::<u32>();
        assert_eq!(found, [u64::from(base.wrapping_pow(exponent)), u64::from(turns)]);
    }
}

#[test]
fn loops_and_choices_nest() {
    // Collatz, for each of a number of steps that is itself opened.
    let collatz = program("collatz").party("a").party("b").trace(|t, _| {
        let (start, rounds) = (column(t, "a", 1).get(0), column(t, "b", 1).get(0));
        let zero = U32::from_value(t.constant(U32::TYPE, Lane::ZERO));
        let steps = t.for_open("rounds", &rounds, zero, |turn, total| {
            let offset = t.published::<U32>(turn);
            let state = (&start + offset, total);
            let (_, total) = t.while_open(
                "not one",
                state,
                |(x, _)| x.ne(1),
                |(x, total)| {
                    let is_odd = x.bit(0);
                    let next = t.if_open("odd", &is_odd, x, |x| x * 3 + 1, |x| x >> 1);
                    (next, total + 1)
                },
            );
            total
        });
        t.output("steps", &["b"]).number("steps", &steps).write();
        Ok(())
    });
    for (start, rounds) in [(1, 0), (1, 1), (6, 3), (27, 2)] {
        let mut expected = 0;
        for mut x in start..start + rounds {
            while x != 1 {
                x = if x % 2 == 1 { 3 * x + 1 } else { x / 2 };
                expected += 1;
            }
        }
        let found = run(&collatz, &[vec![start], vec![rounds]]).expect("the program is right");
        assert_eq!(found, [expected], "from {start}, {rounds} times");
    }
}

#[test]
fn registers_compute_and_the_same_program_is_the_same_file() {
    let program = program("registers").party("a").party("b").trace(|t, _| {
        let a = column(t, "a", 1).get(0);
        let (x, y) = (t.open("x", a.value()), t.register(10));
        let sum = t.compute(RegisterOp::Add, x, y);
        let product = t.compute(RegisterOp::Mul, sum, x);
        let values = [x, sum, product].map(|register| t.published::<U32>(register));
        let narrow = t.published::<U8>(product).to::<U32>();
        let all = Vector::from_pieces(t, values.into_iter().chain([narrow]));
        t.output("all", &["a"]).vector("x", all).write();
        Ok(())
    });
    let found = run(&program, &[vec![25], vec![0]]).expect("the program is right");
    assert_eq!(found, [25, 35, 875, 875 % 256]);
    let arguments = Arguments::new(&program, []).expect("it has no parameters");
    let hash = || trace_to_file(&program, &arguments).expect("it is right").1.written.hash;
    assert_eq!(hash(), hash());
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |trace: fn(&mut Tracer) -> Result<(), ProgramError>| {
        let program = program("wrong").party("a").party("b").trace(move |t, _| trace(t));
        let arguments = Arguments::new(&program, []).expect("it has no parameters");
        trace_to_file(&program, &arguments).expect_err("it is refused").to_string()
    };
    let wide = refused(|t| {
        t.open("both", &column(t, "a", 2).chunks()[0].clone());
        Ok(())
    });
    assert!(wide.contains("one lane of at most 64 bits"), "{wide}");
    let escaped = refused(|t| {
        let a = column(t, "a", 1).get(0);
        let mut kept = None;
        let _ = t.if_open(
            "odd",
            &a.bit(0),
            a.clone(),
            |a| {
                kept = Some(&a + 1);
                a
            },
            |a| a,
        );
        let kept = kept.expect("it was traced");
        t.output("kept", &["a"]).number("x", &kept).write();
        Ok(())
    });
    assert!(escaped.contains("may not have run"), "{escaped}");
    let twice = refused(|t| {
        let after = t.new_block();
        t.jump(after);
        t.jump(after);
        Ok(())
    });
    assert!(twice.contains("a block ends once"), "{twice}");
}

/// The blocks of N branches one after another: how many there are, what they load and store in all,
/// and the bytes of their files.
fn size_of_branches(count: u64) -> Result<[u64; 3], ProgramError> {
    let branches = program("branches").party("a").party("b").trace(|t, sizes| {
        let (a, b) = (column(t, "a", sizes.rows("a")?), column(t, "b", sizes.rows("b")?));
        let mut sum = a.get(0);
        for at in 0..sizes.rows("a")? {
            let (x, y) = (a.get(at), b.get(at));
            let name = format!("above_{at:04}");
            sum = t.if_open(&name, &x.gt(y.clone()), sum, |sum| sum + &x * &y, |sum| sum ^ &y);
        }
        t.output("sum", &["a", "b"]).number("sum", &sum).write();
        Ok(())
    });
    let mut arguments = Arguments::new(&branches, [])?;
    ["a", "b"].into_iter().for_each(|name| arguments.set_rows(name, count));
    let (mut file, _) = trace_to_file(&branches, &arguments)?;
    let blocks = BlockDirectory::read(&mut file)?.expect("it has several blocks");
    let mut carried = 0;
    for block in 0..blocks.places.len() {
        blocks.open(file.try_clone()?, block)?.for_each::<ProgramError>(|instruction| {
            carried += u64::from(instruction.op.is_carrying());
            Ok(())
        })?;
    }
    let bytes = blocks.places.iter().map(|(_, length)| length).sum();
    Ok([blocks.places.len() as u64, carried, bytes])
}

/// Each block had the ports and carried values of all others in its file: 1,024 branches took 20 s to
/// plan, and four times as long as half of them.
#[test]
fn branches_grow_as_their_number_does() -> Result<(), ProgramError> {
    let sizes = [64, 128, 256].map(size_of_branches);
    let [small, middle, large] = sizes;
    let (small, middle, large) = (small?, middle?, large?);
    for (what, at) in [("blocks", 0), ("loads and stores", 1)] {
        let [first, second] = [middle[at] - small[at], large[at] - middle[at]];
        // 128 rows of an input are one value: of more there are two more to carry.
        assert!(second.abs_diff(2 * first) <= 4, "{what}: {small:?} {middle:?} {large:?}");
    }
    // Frames are compressed, so their bytes depend a little on the numbers in them.
    let [first, second] = [middle[2] - small[2], large[2] - middle[2]];
    assert!(second * 10 <= first * 21, "bytes: {small:?} {middle:?} {large:?}");
    Ok(())
}
