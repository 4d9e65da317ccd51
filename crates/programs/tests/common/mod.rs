//! Programs whose only memory is accessed by a method.

use std::fs::File;
use std::io::{BufReader, Seek};

use phineus_bytecode::ProgramReader;
use phineus_frontend::{Arguments, ClosureProgram, trace_to_file};
use phineus_oblivious::MemoryMethod;
use phineus_oblivious::memory::expand;

/// Traces `program`, which has no parameters, and replaces its accesses by what `method` does for them.
pub fn expanded(program: &ClosureProgram, method: MemoryMethod) -> ProgramReader<BufReader<File>> {
    let arguments = Arguments::new(program, []).expect("no parameters");
    let (file, _) = trace_to_file(program, &arguments).expect("it is traced");
    let mut traced = ProgramReader::open(file).expect("just written");
    let mut expanded = tempfile::tempfile().expect("a temporary file");
    let output = expanded.try_clone().expect("another handle");
    expand(&mut traced, &[method], output).expect("it is expanded");
    expanded.rewind().expect("a file can be rewound");
    ProgramReader::open(BufReader::new(expanded)).expect("just written")
}
