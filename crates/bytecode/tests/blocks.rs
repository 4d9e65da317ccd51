//! Programs of several blocks: what is right is read as it was written, and each fault is named.

use std::io::Cursor;

use phineus_bytecode::binary::{Section, finish_blocks};
use phineus_bytecode::{
    BlockDirectory, BlockEnd, CarriedSlot, Column, Description, ElementType, Encoding, Error,
    FileKind, Flow, InputPort, Instruction, Memory, Op, OutputPort, Permutation, PermutationKind,
    ProgramReader, ProgramWriter, Region, RegisterOp, RegisterStep, Successor, verify_blocks,
};

const U8: ElementType = ElementType::unsigned(8);

/// A program that doubles an input until its opened high bit is 1.
#[derive(Clone)]
struct Parts {
    description: Description,
    flow: Flow,
    blocks: Vec<Vec<Instruction>>,
}

fn instruction(
    op: Op,
    element: ElementType,
    results: &[u64],
    operands: &[u64],
    immediates: &[u64],
) -> Instruction {
    let mut instruction = Instruction::new(op, element, 1);
    instruction.results[..results.len()].copy_from_slice(results);
    instruction.operands[..operands.len()].copy_from_slice(operands);
    instruction.immediates[..immediates.len()].copy_from_slice(immediates);
    instruction
}

fn right() -> Parts {
    let column = |element| Column { name: "x".to_owned(), element, encoding: Encoding::Number };
    let output = |name: &str, element| OutputPort {
        name: name.to_owned(),
        parties: vec![0, 1],
        rows: 1,
        columns: vec![column(element)],
        rows_of: None,
    };
    let description = Description {
        name: "doubling".to_owned(),
        parties: vec!["a".to_owned(), "b".to_owned()],
        inputs: [InputPort {
            name: "x".to_owned(),
            party: 0,
            rows: 1,
            columns: vec![column(U8)],
            order: Default::default(),
        }]
        .into_iter()
        .collect(),
        outputs: vec![output("x", U8), output("high", ElementType::BIT)].into(),
        opened: vec![1].into(),
        slots: vec![CarriedSlot { element: U8, lanes: 1 }].into(),
        ..Description::default()
    };
    let open = vec![RegisterStep::Open { register: 0, port: 1 }];
    let next = Successor::Branch { register: 0, nonzero: 2, zero: 1 };
    let ends = [(open.clone(), next), (open, next), (Vec::new(), Successor::End)];
    let blocks = ends.map(|(steps, next)| BlockEnd { steps, next }).to_vec();
    let high = |x: u64, to: u64| {
        [
            instruction(Op::BitSlice, ElementType::BIT, &[to], &[x], &[7, 8]),
            instruction(Op::Output, ElementType::BIT, &[], &[to], &[1, 0, 0]),
            instruction(Op::Store, U8, &[], &[x], &[0]),
        ]
    };
    let first = [vec![instruction(Op::Input, U8, &[0], &[], &[0, 0, 0])], high(0, 1).to_vec()];
    let double = vec![
        instruction(Op::Load, U8, &[0], &[], &[0]),
        instruction(Op::ShiftLeft, U8, &[1], &[0], &[1]),
    ];
    let last = vec![
        instruction(Op::Load, U8, &[0], &[], &[0]),
        instruction(Op::Output, U8, &[], &[0], &[0, 0, 0]),
    ];
    Parts {
        description,
        flow: Flow { registers: 1, blocks },
        blocks: vec![first.concat(), [double, high(1, 2).to_vec()].concat(), last],
    }
}

fn memory() -> Memory {
    Memory { name: "rows".to_owned(), columns: vec![U8], rows: 4, method: None, is_linked: false }
}

impl Parts {
    fn write(&self) -> Vec<u8> {
        let (mut file, mut written) = (Vec::new(), Vec::new());
        for block in &self.blocks {
            let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("in memory");
            block.iter().for_each(|i| writer.push(i).expect("in memory"));
            let (part, wrote) = writer.finish(&self.description.of_block()).expect("in memory");
            file.extend(part);
            written.push(wrote);
        }
        finish_blocks(file, &written, &self.description, &self.flow).expect("in memory").0
    }

    /// What is wrong with it, in one text.
    fn faults(&self) -> String {
        let file = self.write();
        let blocks = match BlockDirectory::read(Cursor::new(&file)) {
            Ok(blocks) => blocks.expect("it has a directory"),
            Err(error) => return error.to_string(),
        };
        let open = |block: usize| blocks.open(Cursor::new(&file), block);
        let violations = verify_blocks::<_, Error>(&blocks, open).expect("it can be read");
        violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

#[test]
fn what_is_written_is_read() {
    let parts = right();
    assert_eq!(parts.faults(), "");
    let file = parts.write();
    let blocks =
        BlockDirectory::read(Cursor::new(&file)).expect("it is right").expect("of several blocks");
    assert_eq!((&blocks.description, &blocks.flow), (&parts.description, &parts.flow));
    for (number, (&place, block)) in blocks.places.iter().zip(&parts.blocks).enumerate() {
        let alone = ProgramReader::open(Section::new(Cursor::new(&file), place));
        let refused = alone.err().expect("it does not say what its ports are");
        assert!(refused.to_string().contains("one block of a program"), "{refused}");
        let mut reader = blocks.open(Cursor::new(&file), number).expect("it was written");
        assert_eq!(reader.description(), &parts.description.of_block());
        let mut found = Vec::new();
        reader.read_frame(0, &mut found).expect("it is whole");
        assert_eq!(&found, block);
    }
    let mut other = parts.clone();
    other.flow.blocks[1].next = Successor::Jump { block: 2 };
    let other =
        BlockDirectory::read(Cursor::new(other.write())).expect("readable").expect("of several");
    assert_ne!(other.hash, blocks.hash, "the flow is part of what parties agree on");
    let one = ProgramReader::open(Cursor::new(&file)).err().expect("it is not a program of one");
    assert!(one.to_string().contains("several blocks"), "{one}");
    let mut old = file.clone();
    let end = old.len();
    old[end - 8..].copy_from_slice(b"PHBLOCKS");
    let old =
        BlockDirectory::read(Cursor::new(&old)).expect_err("its blocks would be read wrongly");
    assert!(old.to_string().contains("older format"), "{old}");
}

/// Blocks had the description of the whole each, so that a file of N branches had N^2 bytes.
#[test]
fn the_ports_of_all_blocks_stand_in_the_file_once() {
    let mut parts = right();
    parts.description.outputs[0].name = "a name that stands in the file once".to_owned();
    let name = parts.description.outputs[0].name.as_bytes();
    let file = parts.write();
    assert_eq!(file.windows(name.len()).filter(|&found| found == name).count(), 1);
    // Each block: header, two hundred bytes of footer and an empty description, its instructions.
    let of_blocks = |parts: &Parts| {
        let file = parts.write();
        let blocks =
            BlockDirectory::read(Cursor::new(&file)).expect("it is right").expect("of several");
        blocks.places.iter().map(|(_, length)| *length).collect::<Vec<u64>>()
    };
    let few = of_blocks(&parts);
    let slot = parts.description.slots[0];
    parts.description.slots.extend(std::iter::repeat_n(slot, 1000));
    assert_eq!(of_blocks(&parts), few, "what blocks carry together makes none of them longer");
}

#[test]
fn each_fault_is_named() {
    let branch = |nonzero, zero| Successor::Branch { register: 0, nonzero, zero };
    type Break = Box<dyn Fn(&mut Parts)>;
    let cases: Vec<(&str, Break)> = vec![
        ("no block 7", Box::new(|p| p.flow.blocks[1].next = Successor::Jump { block: 7 })),
        ("the first block runs once", Box::new(move |p| p.flow.blocks[1].next = branch(2, 0))),
        (
            "no register 3",
            Box::new(|p| {
                p.flow.blocks[0].steps.push(RegisterStep::Compute {
                    register: 0,
                    op: RegisterOp::Add,
                    a: 3,
                    b: 0,
                });
            }),
        ),
        (
            "no register 9",
            Box::new(|p| {
                p.flow.blocks[1].next = Successor::Branch { register: 9, nonzero: 2, zero: 1 };
            }),
        ),
        (
            "output 0 is none that is opened",
            Box::new(|p| {
                p.flow.blocks[0].steps.push(RegisterStep::Open { register: 0, port: 0 });
            }),
        ),
        (
            "which it does not open",
            Box::new(|p| {
                p.blocks[1].retain(|i| i.op != Op::Output);
            }),
        ),
        (
            "no carried value 4",
            Box::new(|p| {
                p.flow.blocks[0].steps.push(RegisterStep::Publish { slot: 4, register: 0 });
            }),
        ),
        (
            "carried value 0 is u8x1, not i8x1",
            Box::new(|p| {
                p.blocks[1][0].element = ElementType::signed(8);
            }),
        ),
        ("there is no carried value 5", Box::new(|p| p.blocks[2][0].immediates[0] = 5)),
        (
            "some path to it does not store",
            Box::new(|p| {
                p.blocks[0].retain(|i| i.op != Op::Store);
            }),
        ),
        (
            "stores carried value 0 twice",
            Box::new(|p| {
                let store = p.blocks[0][3];
                p.blocks[0].push(store);
            }),
        ),
        (
            "only the first block has inputs",
            Box::new(|p| {
                p.blocks[2][0] = instruction(Op::Input, U8, &[0], &[], &[0, 0, 0]);
            }),
        ),
        (
            "outputs leave where the program ends",
            Box::new(|p| {
                p.blocks[0].push(instruction(Op::Output, U8, &[], &[0], &[0, 0, 0]));
            }),
        ),
        (
            "only a block itself is repeated",
            Box::new(|p| {
                p.flow.blocks[1].next = Successor::Repeat { block: 2, iterations: 3, then: 2 };
            }),
        ),
        (
            "region 0 has 9 rows, not 2 from 1 on in each of 5 iterations, 2 further each time",
            Box::new(|p| {
                p.flow.blocks[1].next = Successor::Repeat { block: 1, iterations: 5, then: 2 };
                p.flow.blocks[1].steps.clear();
                p.description.regions = vec![Region { element: U8, rows: 9 }].into();
                // Groups of two rows do not go round in nine.
                let rows = instruction(Op::Constant, U8, &[3], &[], &[]);
                let store = instruction(Op::RegionStore, U8, &[], &[3], &[0, 1, 2]);
                p.blocks[1].extend([rows, store].map(|one| Instruction { lanes: 2, ..one }));
            }),
        ),
        (
            "is repeated, 1 to 4294967296 times",
            Box::new(|p| {
                let iterations = u64::MAX;
                p.flow.blocks[1].next = Successor::Repeat { block: 1, iterations, then: 2 };
            }),
        ),
        (
            "a run has 1",
            Box::new(|p| {
                p.flow.blocks[0].next = Successor::Jump { block: 1 };
                let iterations = 1 << 32;
                p.flow.blocks[1].next = Successor::Repeat { block: 1, iterations, then: 2 };
                let many = (0..20).map(|k| instruction(Op::Not, U8, &[3 + k], &[0], &[]));
                p.blocks[1].extend(many);
            }),
        ),
        (
            "block 1 sets cells of memory 0 after an access to it",
            Box::new(|p| {
                p.description.memories = vec![memory()].into();
                p.blocks[1].push(instruction(Op::MemorySet, U8, &[], &[0], &[0, 0, 1, 0]));
                p.blocks[1].push(instruction(Op::MemoryOpen, U8, &[], &[0], &[0]));
            }),
        ),
        (
            "block 1 brings in what one party knows, and what is opened decides how often",
            Box::new(|p| {
                let items = 2;
                let kind = PermutationKind::Random;
                p.description.permutations = vec![Permutation { party: 0, items, kind }].into();
                let switches = instruction(Op::Switches, ElementType::BIT, &[3], &[], &[0, 0]);
                p.blocks[1].push(switches);
            }),
        ),
        ("are never written", Box::new(|p| p.blocks[2].truncate(1))),
        ("one value of at most 64 bits", Box::new(|p| p.description.opened = vec![0, 1].into())),
    ];
    for (wanted, change) in cases {
        let mut parts = right();
        // A port of two rows cannot be opened.
        if wanted.contains("64 bits") {
            parts.description.outputs[0].rows = 2;
        }
        change(&mut parts);
        let found = parts.faults();
        assert!(found.contains(wanted), "wanted '{wanted}', found '{found}'");
    }
}
