//! The library alone: a program is written, computed in the clear, and its file is looked at.

use phineus::bytecode::{Column, Lane, ProgramReader, Table};
use phineus::{Arguments, ProgramError, U16, column, program, reference, trace_to_file};
use phineus::{Element, bytecode::Encoding};

fn main() -> Result<(), ProgramError> {
    let largest = program("largest").party("a").party("b").trace(|t, _| {
        let [a, b] = ["a", "b"].map(|who| t.input(who, 3).number::<U16>("x").vector::<U16>());
        let largest = a.concat(&b).reduce(|x, y| x.max(y)).expect("there are six");
        t.output("result", &["a", "b"]).number("largest", &largest).write();
        Ok(())
    });
    let columns: Vec<Column> = vec![column("x", U16::TYPE, Encoding::Number)];
    let [a, b] = [[3, 1, 4], [1, 5, 9]].map(|values: [u64; 3]| {
        let mut table = Table::new(columns.clone());
        values.iter().for_each(|&value| table.push(&[Lane::from(value)]));
        table
    });
    let arguments = Arguments::new(&largest, [])?;
    let outputs = reference::run(&largest, &arguments, &[a, b])?;
    println!("largest: {}", outputs[0].cell(0, 0));
    let (file, _) = trace_to_file(&largest, &arguments)?;
    println!("instructions: {}", ProgramReader::open(file)?.instruction_count());
    Ok(())
}
