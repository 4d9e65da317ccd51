//! How fast the binary form is written and read, and how large it is.
//!
//! `cargo run --release -p phineus-bytecode --example format_speed [instructions]`

use std::io::Cursor;
use std::time::Instant;

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{
    Description, ElementType, Error, FileKind, Instruction, Op, ProgramReader, ProgramWriter,
};

/// Repetitions; the fastest counts, as the machine may be busy with other things.
const REPETITIONS: usize = 5;

/// A generator of the `number`-th instruction.
type Source = fn(&mut SeededRng, u64) -> Instruction;

/// A one-lane addition of two of the last 10,000 values.
fn program(random: &mut SeededRng, number: u64) -> Instruction {
    let mut add = Instruction::new(Op::Add, ElementType::unsigned(32), 1);
    if number < 2 {
        add.op = Op::Constant;
    } else {
        let window = number.min(10_000);
        add.operands[..2].fill_with(|| number - 1 - random.below(window));
    }
    add.results[0] = number;
    add
}

/// A one-lane addition between 1,000 pages of 4096 wires.
fn planned(random: &mut SeededRng, _: u64) -> Instruction {
    let mut add = Instruction::new(Op::Add, ElementType::unsigned(32), 1);
    let mut place = || random.below(1000 * 128) * 32;
    add.operands[..2].fill_with(&mut place);
    add.results[0] = place();
    add
}

fn main() -> Result<(), Error> {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5_000_000);
    println!("{count} one-lane additions; ns and bytes per instruction");
    println!("{:8} {:>6} {:>9} {:>9} {:>6}", "", "write", "forwards", "backwards", "bytes");
    let description = Description { parties: vec!["p".to_owned()], ..Description::default() };
    let sources: [(FileKind, &str, Source); 2] =
        [(FileKind::Program, "program", program), (FileKind::Planned, "planned", planned)];
    for (kind, name, source) in sources {
        measure(kind, name, source, count, &description)?;
    }
    Ok(())
}

fn measure(
    kind: FileKind,
    name: &str,
    source: Source,
    count: u64,
    description: &Description,
) -> Result<(), Error> {
    let mut random = SeededRng::new(1);
    let instructions: Vec<Instruction> = (0..count).map(|n| source(&mut random, n)).collect();
    let [mut write, mut forwards, mut backwards] = [f64::INFINITY; 3];
    let mut file = Vec::new();
    for _ in 0..REPETITIONS {
        file.clear();
        let start = Instant::now();
        let mut writer = ProgramWriter::new(file, kind)?;
        for instruction in &instructions {
            writer.push(instruction)?;
        }
        (file, _) = writer.finish(description)?;
        write = write.min(start.elapsed().as_secs_f64());

        let mut reader = ProgramReader::open(Cursor::new(&file))?;
        let mut frame = Vec::new();
        let start = Instant::now();
        for index in 0..reader.frame_count() {
            reader.read_frame(index, &mut frame)?;
        }
        forwards = forwards.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        for index in (0..reader.frame_count()).rev() {
            reader.read_frame(index, &mut frame)?;
        }
        backwards = backwards.min(start.elapsed().as_secs_f64());
    }
    let each = 1e9 / count as f64;
    let bytes = file.len() as f64 / count as f64;
    let [write, forwards, backwards] = [write, forwards, backwards].map(|time| time * each);
    println!("{name:8} {write:6.1} {forwards:9.1} {backwards:9.1} {bytes:6.2}");
    Ok(())
}
