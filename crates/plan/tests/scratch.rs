//! What planning writes besides the plan: it is gone when it was read, and where it was is nobody's
//! business.

mod planning;

use phineus_bytecode::{Description, ElementType, FileKind, Instruction, Op, ProgramReader};
use phineus_plan::{Scratch, ScratchFile, plan};
use planning::{File, Uniform, options, read, write};

/// Additions of one lane, with uses far away.
fn additions(count: u64) -> File {
    let element = ElementType::unsigned(32);
    let mut program = Vec::new();
    for value in 0..count {
        let is_first = value < 1000;
        let op = if is_first { Op::Constant } else { Op::Add };
        let mut instruction = Instruction::new(op, element, 1);
        instruction.results[0] = value;
        if !is_first {
            instruction.operands = [value - 1000, value - 1 - value % 7, 0];
        }
        program.push(instruction);
    }
    let description = Description { parties: vec!["a".to_owned()], ..Description::default() };
    write(FileKind::Program, &program, &description)
}

/// Plans `program`; gives the plan, what is left of the notes, and the scratch.
fn planned(program: &File, memory_bytes: u64) -> (Vec<u8>, ScratchFile, Scratch) {
    let scratch = Scratch::new(std::env::temp_dir(), memory_bytes);
    let (output, notes) = (scratch.plan_file(), scratch.file());
    let made =
        plan(&mut read(program), output, notes.clone(), &options(12, 2, 1000), &mut Uniform(100));
    let (output, ..) = made.expect("there is memory enough");
    let mut bytes = vec![0; output.length_bytes() as usize];
    output.read_exact_at(&mut bytes, 0).expect("just written");
    (bytes, notes, scratch)
}

#[test]
fn what_was_read_is_cut_off() {
    let program = additions(30_000);
    let (on_disk, notes, scratch) = planned(&program, 0);
    assert_eq!(notes.length_bytes(), 0);
    assert!(scratch.disk_peak_bytes() >= on_disk.len() as u64);
    let (in_memory, notes, scratch) = planned(&program, 16 << 20);
    assert_eq!((notes.length_bytes(), scratch.held_bytes()), (0, 0));
    // Of the plan more than a little goes to disk all the same.
    assert!(scratch.disk_peak_bytes() < on_disk.len() as u64);
    assert!(on_disk == in_memory, "where it is written changes nothing");
    let reader = ProgramReader::open(std::io::Cursor::new(on_disk)).expect("just written");
    assert!(reader.instruction_count() >= 30_000);
}
