//! Times the tracing of a C program: `trace_c PROGRAM.c [NAME=VALUE ...]`.

use std::path::Path;
use std::time::Instant;

use phineus_c_frontend::CProgram;
use phineus_frontend::{Arguments, ProgramError, trace_to_file};

fn main() -> Result<(), ProgramError> {
    let mut words = std::env::args().skip(1);
    let path = words.next().unwrap_or_default();
    let given: Vec<String> = words.collect();
    let program = CProgram::open(Path::new(&path))?;
    let arguments = Arguments::new(&program, given.iter().filter_map(|word| word.split_once('=')))?;
    let begin = Instant::now();
    let (_, traced) = trace_to_file(&program, &arguments)?;
    let seconds = begin.elapsed().as_secs_f64();
    let count = traced.written.instruction_count;
    println!("{count} instructions, {} bytes, {seconds:.3} s", traced.written.file_bytes);
    println!("{:.0} instructions a second", count as f64 / seconds);
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    println!("{}", peak.replace("VmHWM:", "peak memory"));
    Ok(())
}
