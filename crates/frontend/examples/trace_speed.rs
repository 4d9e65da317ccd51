//! How fast a program is traced: 10 million one-lane operations, into a file and into nothing.
//!
//! `cargo run --release -p phineus-frontend --example trace_speed`

use std::time::Instant;

use phineus_frontend::{Arguments, ProgramError, Tracer, U32, program, trace_into, trace_to_file};

const COUNT: u64 = 10_000_000;

fn body(tracer: &mut Tracer, _: &Arguments) -> Result<(), ProgramError> {
    let x = tracer.input("a", 16).number::<U32>("x").vector::<U32>();
    let mut values: Vec<U32> = (0..16).map(|index| x.get(index)).collect();
    for step in 0..COUNT {
        let (i, j) = (step as usize % 16, step as usize / 16 % 16);
        values[i] = &values[i] + &values[j];
    }
    let sum = values.iter().skip(1).fold(values[0].clone(), |sum, x| sum + x);
    tracer.output("y", &["a"]).number("y", &sum).write();
    Ok(())
}

fn main() -> Result<(), ProgramError> {
    let program = program("speed").party("a").trace(body);
    let arguments = Arguments::default();
    for _ in 0..3 {
        let start = Instant::now();
        let traced = trace_into(&program, &arguments, std::io::sink())?;
        report("sink", start, &traced);
        let start = Instant::now();
        let (_, traced) = trace_to_file(&program, &arguments)?;
        report("file", start, &traced);
    }
    Ok(())
}

fn report(name: &str, start: Instant, traced: &phineus_frontend::Traced) {
    let seconds = start.elapsed().as_secs_f64();
    let count = traced.written.instruction_count as f64;
    println!(
        "{name}: {:.1} M instructions/s, {:.0} ns and {:.2} bytes an instruction",
        count / seconds / 1e6,
        seconds / count * 1e9,
        traced.written.file_bytes as f64 / count
    );
}
