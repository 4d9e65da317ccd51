//! Foreign bytes: whatever a file holds, reading it ends with a program or an error.
//!
//! `PHINEUS_FUZZ_CASES=1000000 cargo test --release -p phineus-bytecode --test fuzz` runs longer.

use std::io::Cursor;

use phineus_bytecode::binary::{finish_blocks, to_bytes};
use phineus_bytecode::limits::{FAULTS_MAX, FRAME_INSTRUCTIONS};
use phineus_bytecode::random::{RandomOptions, SeededRng, plan_unbounded, random_program};
use phineus_bytecode::{
    BlockDirectory, BlockEnd, CarriedSlot, Column, ElementType, Encoding, Error, FileKind, Flow,
    Instruction, OutputPort, ProgramReader, ProgramWriter, RegisterOp, RegisterStep, Successor,
    parse_text, verify, verify_blocks, write_text,
};
use proptest::prelude::*;

fn config() -> ProptestConfig {
    let cases = std::env::var("PHINEUS_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases.unwrap_or(1000))
    }
}

fn sample(seed: u64) -> Vec<u8> {
    let options = RandomOptions { instruction_count: 60, ..RandomOptions::default() };
    let (program, description) = random_program(seed, &options);
    if seed.is_multiple_of(2) {
        to_bytes(FileKind::Program, &program, &description).expect("in memory")
    } else {
        let (planned, description) = plan_unbounded(&program, &description);
        to_bytes(FileKind::Planned, &planned, &description).expect("in memory")
    }
}

/// A file of three blocks, which need not be valid together.
fn blocks_sample(seed: u64) -> Vec<u8> {
    let options = RandomOptions { instruction_count: 20, ..RandomOptions::default() };
    let (program, mut description) = random_program(seed, &options);
    let everybody = (0..description.parties.len() as u16).collect::<Vec<u16>>();
    description.slots = vec![CarriedSlot { element: ElementType::signed(9), lanes: 3 }].into();
    description.outputs.push(OutputPort {
        name: "opened".to_owned(),
        parties: everybody,
        rows: 1,
        columns: vec![Column {
            name: "x".to_owned(),
            element: ElementType::BIT,
            encoding: Encoding::Number,
        }],
        rows_of: None,
    });
    let port = description.outputs.len() as u32 - 1;
    description.opened = vec![port].into();
    let (register, jump) = (1, Successor::Branch { register: 1, nonzero: 2, zero: 1 });
    let steps = vec![
        RegisterStep::Open { register, port },
        RegisterStep::Set { register: 0, value: seed },
        RegisterStep::Compute { register, op: RegisterOp::Lt, a: 0, b: 1 },
        RegisterStep::Publish { slot: 0, register },
    ];
    let block = |next| BlockEnd { steps: steps.clone(), next };
    let flow = Flow { registers: 2, blocks: vec![block(jump), block(jump), block(Successor::End)] };
    let (mut file, mut written) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("in memory");
        program.iter().for_each(|i| writer.push(i).expect("in memory"));
        let (part, wrote) = writer.finish(&description.of_block()).expect("in memory");
        file.extend(part);
        written.push(wrote);
    }
    finish_blocks(file, &written, &description, &flow).expect("in memory").0
}

/// Reads everything that can be read of a file of several blocks.
fn read_blocks(bytes: &[u8]) -> Result<Option<BlockDirectory>, Error> {
    let Some(blocks) = BlockDirectory::read(Cursor::new(bytes))? else { return Ok(None) };
    let open = |block: usize| blocks.open(Cursor::new(bytes), block);
    let violations = verify_blocks::<_, Error>(&blocks, open)?;
    assert!(violations.len() <= FAULTS_MAX);
    Ok(Some(blocks))
}

/// Changes, cuts, doubles, moves or inserts bytes at a few places.
fn mutate(bytes: &mut Vec<u8>, random: &mut SeededRng, alphabet: &[u8]) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() as u64 + 1) as usize;
        let length = (random.below(12) as usize).min(bytes.len() - at);
        match random.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + length)),
            2 => bytes.extend_from_within(at..at + length),
            3 => bytes.insert(at, random.next_u64() as u8),
            4 => bytes.insert(at, *random.pick(alphabet)),
            5 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            _ if at < bytes.len() => bytes[at] = *random.pick(alphabet),
            _ => {}
        }
    }
}

/// Reads everything that can be read of a file.
fn read_all(bytes: &[u8]) -> Result<(), Error> {
    let mut reader = ProgramReader::open(Cursor::new(bytes))?;
    let mut count = 0;
    let mut instructions: Vec<Instruction> = Vec::new();
    for frame in (0..reader.frame_count()).rev() {
        reader.read_frame(frame, &mut instructions)?;
        assert!(instructions.len() <= FRAME_INSTRUCTIONS);
        count += instructions.len() as u64;
    }
    assert_eq!(count, reader.instruction_count());
    reader.verify_hash()?;
    let violations = verify(&mut reader)?;
    assert!(violations.len() <= FAULTS_MAX);
    let mut text = Vec::new();
    write_text(&mut reader, &mut text)?;
    let parsed = parse_text(text.as_slice(), "fuzz.phi", Vec::new());
    assert_eq!(parsed.is_ok(), violations.is_empty(), "text and binary are held to the same");
    reader.into_inputs().try_for_each(|input| input.map(|_| ()))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn unchanged_files_are_read(seed: u64) {
        prop_assert!(read_all(&sample(seed)).is_ok());
    }

    #[test]
    fn mutated_files_are_refused_or_read(seed: u64) {
        let mut random = SeededRng::new(seed);
        let mut bytes = sample(seed % 64);
        mutate(&mut bytes, &mut random, b"\0\x01\xff");
        let _ = read_all(&bytes);
    }

    /// The description and the index stand at the end, where no checksum of a frame covers them.
    #[test]
    fn files_with_a_mutated_end_are_refused_or_read(seed: u64) {
        let mut random = SeededRng::new(seed);
        let mut bytes = sample(seed % 64);
        let footer = bytes.len() - 72;
        let description = bytes[footer..footer + 8].try_into().expect("8 bytes");
        let description = u64::from_le_bytes(description);
        let mut end = bytes.split_off(description as usize);
        let kept = end.split_off(end.len() - 72);
        let length = end.len();
        mutate(&mut end, &mut random, b"0123456789[]{},\":ui\0");
        end.resize(length, b' ');
        bytes.extend(end);
        bytes.extend(kept);
        let _ = read_all(&bytes);
    }

    #[test]
    fn files_of_blocks_are_refused_or_read(seed: u64) {
        let mut bytes = blocks_sample(seed % 64);
        prop_assert!(read_blocks(&bytes).is_ok_and(|blocks| blocks.is_some()));
        prop_assert!(read_all(&bytes).is_err());
        let mut random = SeededRng::new(seed);
        // The directory stands at the end, and no checksum covers it.
        let at = bytes.len() - 24;
        let directory = u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        if random.one_in(2) {
            let mut end = bytes.split_off(directory as usize);
            let kept = end.split_off(end.len() - 24);
            let length = end.len();
            mutate(&mut end, &mut random, b"0123456789[]{},\":ui\0");
            end.resize(length, b' ');
            bytes.extend(end);
            bytes.extend(kept);
        } else {
            mutate(&mut bytes, &mut random, b"\0\x01\xff");
        }
        let _ = read_blocks(&bytes);
    }

    #[test]
    fn garbage_is_refused(bytes: Vec<u8>) {
        prop_assert!(read_all(&bytes).is_err());
    }

    #[test]
    fn mutated_texts_are_refused_or_valid(seed: u64) {
        let mut random = SeededRng::new(seed);
        let mut reader = ProgramReader::open(Cursor::new(sample(seed % 64))).expect("unchanged");
        let mut text = Vec::new();
        write_text(&mut reader, &mut text).expect("unchanged");
        mutate(&mut text, &mut random, b"0123456789%@ =x#\"\nui_-,\xff");
        match parse_text(text.as_slice(), "fuzz.phi", Vec::new()) {
            Ok((bytes, _)) => {
                let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
                prop_assert_eq!(verify(&mut reader).expect("just written"), []);
            }
            Err(Error::Text(found)) => {
                prop_assert!((1..=FAULTS_MAX).contains(&found.faults.len()));
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}
