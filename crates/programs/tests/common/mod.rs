//! Programs whose only memory is accessed by a method.

#![allow(dead_code)] // Each test file uses a part.

pub mod accesses;
pub mod field;
pub mod shares;

use std::fs::File;
use std::io::{BufReader, Seek};

use phineus_bytecode::{Flow, ProgramReader};
use phineus_frontend::{Arguments, ClosureProgram, trace_to_file};
use phineus_oblivious::MemoryMethod;
use phineus_oblivious::memory::{MemoryTerms, ProgramBlocks, Unrolling, expand};
use phineus_plan::{Assignment, assign};

/// Traces `program`, which has no parameters, and replaces its accesses by what `method` does for them on labels of two
/// parties.
pub fn expanded(program: &ClosureProgram, method: MemoryMethod) -> ProgramReader<BufReader<File>> {
    expanded_for(program, method, MemoryTerms::LABELS)
}

/// As [`expanded`], on any terms.
pub fn expanded_for(
    program: &ClosureProgram,
    method: MemoryMethod,
    terms: MemoryTerms,
) -> ProgramReader<BufReader<File>> {
    let arguments = Arguments::new(program, []).expect("no parameters");
    let (file, _) = trace_to_file(program, &arguments).expect("it is traced");
    let mut traced = ProgramReader::open(file).expect("just written");
    let mut expanded = tempfile::tempfile().expect("a temporary file");
    let output = expanded.try_clone().expect("another handle");
    let description = traced.description().clone();
    let blocks = std::slice::from_mut(&mut traced);
    let program = ProgramBlocks { description: &description, flow: Flow::of_one_block(), blocks };
    expand(program, (&[method], terms), Unrolling::Whole, output).expect("it is expanded");
    expanded.rewind().expect("a file can be rewound");
    ProgramReader::open(BufReader::new(expanded)).expect("just written")
}

/// A program as `garbled` plans it: garbled beside rows that permutations move.
pub fn beside_rows(mut program: ProgramReader<BufReader<File>>) -> ProgramReader<BufReader<File>> {
    let file = || tempfile::tempfile().expect("a temporary file");
    let (mut assigned, scratch) = (file(), file());
    let output = assigned.try_clone().expect("another handle");
    let assignment = Assignment::GarbledBesideRows;
    assign(&mut program, output, scratch, assignment, 64 << 20).expect("a valid program");
    assigned.rewind().expect("a file can be rewound");
    ProgramReader::open(BufReader::new(assigned)).expect("just written")
}
