//! `docs/bytecode.md` says what the code does.
//!
//! Its table, figures and example are those of the code (`PHINEUS_BLESS=1` rewrites them), and a
//! second reader, written from the document alone, reads what our writer writes.

use std::fmt::Write;
use std::io::Cursor;
use std::path::PathBuf;

use phineus_bytecode::binary::{FORMAT_VERSION, to_bytes};
use phineus_bytecode::ops::{OPS, OpInfo, Role};
use phineus_bytecode::random::{RandomOptions, SeededRng, plan_unbounded, random_program};
use phineus_bytecode::{
    Description, ElementType, FileKind, Hash, Instruction, Op, Phase, PlanDescription,
    ProgramReader, Sharing, parse_text,
};
use sha2::{Digest, Sha256};

const WRITE: &str = "writing to a string cannot fail";

fn document() -> (PathBuf, String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/bytecode.md");
    let text = std::fs::read_to_string(&path).expect("the document is part of the repository");
    (path, text)
}

/// `text` with `content` between the marks of `name`.
fn with_section(text: &str, name: &str, content: &str) -> String {
    let begin = format!("<!-- {name}: written by the test, do not edit -->\n");
    let end = format!("<!-- end of {name} -->");
    let (before, rest) = text.split_once(&begin).expect("the document has the mark");
    let (_, after) = rest.split_once(&end).expect("the document has the mark");
    format!("{before}{begin}{content}{end}{after}")
}

/// One test for all sections, as all of them write the same file.
#[test]
fn the_document_is_not_stale() {
    let (path, text) = document();
    let sections = [("operations", op_table()), ("figures", figures()), ("example", example())];
    let fresh = sections
        .iter()
        .fold(text.clone(), |text, (name, content)| with_section(&text, name, content));
    if std::env::var_os("PHINEUS_BLESS").is_some() {
        std::fs::write(&path, &fresh).expect("the document can be written");
    } else {
        assert!(fresh == text, "docs/bytecode.md is stale: run this test with PHINEUS_BLESS=1");
    }
}

fn shape_of(role: &Role, info: &OpInfo) -> String {
    let name = |index: usize| info.immediates[index].name;
    match *role {
        Role::Same => "w × n".to_owned(),
        Role::SharedAs(i) => format!("w × n in sharing {}", name(i)),
        Role::Bit => "1 × n".to_owned(),
        Role::SwitchBit(i) => format!("1 × n in sharing {}", name(i)),
        Role::HalfWidth => "w/2 × n".to_owned(),
        Role::Width(i) => format!("{} × n", name(i)),
        Role::RestWidth(i) => format!("(w - {}) × n", name(i)),
        Role::Lanes(i) => format!("w × {}", name(i)),
        Role::RestLanes(i) => format!("w × (n - {})", name(i)),
        Role::HalfLanes => "w × n/2".to_owned(),
        Role::DoubleLanes => "w × 2n".to_owned(),
        Role::WidthLanes(w, n) => format!("{} × {}", name(w), name(n)),
        Role::Reshaped(i) => format!("{0} × (w n / {0})", name(i)),
        Role::MatrixLanes(i, j) => format!("w × n {} / {}", name(i), name(j)),
        Role::LanesTimes(i, j) => format!("w × {} {}", name(i), name(j)),
        Role::RoundKeys => "w × 11".to_owned(),
    }
}

fn op_table() -> String {
    let mut table = "| code | name | operands | results | immediates | meaning |\n".to_owned();
    table += "|---|---|---|---|---|---|\n";
    for info in OPS {
        let shapes = |roles: &[Role]| {
            roles.iter().map(|role| shape_of(role, info)).collect::<Vec<_>>().join(", ")
        };
        let words = |words| {
            if words == 1 { String::new() } else { format!(" ({words} words)") }
        };
        let names = info.immediates.iter().map(|i| format!("{}{}", i.name, words(i.words)));
        let immediates = names.collect::<Vec<_>>().join(", ");
        let (operands, results) = (shapes(info.operands), shapes(info.results));
        let (code, name, doc) = (info.op as u8, info.name, info.doc.trim());
        writeln!(table, "| {code} | `{name}` | {operands} | {results} | {immediates} | {doc} |")
            .expect(WRITE);
    }
    table
}

fn figures() -> String {
    let plan = serde_json::to_value(PlanDescription::default()).expect("plain data");
    let fields = plan.as_object().expect("a structure is an object");
    let numbers = fields.iter().filter(|(_, value)| value.is_number());
    let names: Vec<String> = numbers.map(|(name, _)| format!("`{name}`")).collect();
    format!("{}.\n", names.join(", "))
}

/// The grammar of texts names the version that texts have, and every text in the document is one.
#[test]
fn the_examples_and_the_grammar_are_of_this_version() {
    let (_, text) = document();
    let first = format!("first-line  = \"phineus\" \"{FORMAT_VERSION}\"");
    assert!(text.contains(&first), "the grammar is of another version than {FORMAT_VERSION}");
    let blocks = text.split("```\n").skip(1).step_by(2);
    let texts: Vec<&str> = blocks.filter(|block| block.starts_with("phineus ")).collect();
    assert!(texts.len() >= 2, "there are examples");
    for text in texts {
        let parsed = parse_text(text.as_bytes(), "bytecode.md", Vec::new());
        assert!(parsed.is_ok(), "{:?}", parsed.err().map(|error| error.to_string()));
    }
}

const EXAMPLE: &str = "\
phineus 5 program
name \"example\"
party \"p\"
%0 = constant u32x2 value=0x7
%1 = constant u32x2 value=0x2a
%2 = add u32x2 %0 %1
%3 = add u32x2 %2 %0
%4 = shift_left i32x2 %3 amount=300
%5 %6 = div_rem i32x2 %4 %2
";

/// The bytes of the example's only frame, one instruction a line.
fn example() -> String {
    let bytes = parse_text(EXAMPLE.as_bytes(), "example.phi", Vec::new()).expect("valid").0;
    let file = by_the_book(&bytes);
    let mut out =
        format!("The program\n\n```\n{EXAMPLE}```\n\nhas one frame, before compression\n\n");
    out += "```\n";
    let lines = EXAMPLE.lines().skip(3);
    for (line, range) in lines.zip(file.ranges) {
        let hex: Vec<String> = file.raw[range].iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(out, "{:30} {line}", hex.join(" ")).expect(WRITE);
    }
    out + "```\n"
}

/// What the document says a file is.
struct File {
    kind: u8,
    description: serde_json::Value,
    instructions: Vec<Instruction>,
    raw: Vec<u8>,
    /// Where each instruction stands in `raw`.
    ranges: Vec<std::ops::Range<usize>>,
    hash: [u8; 32],
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
}

/// Section 5, step by step, with asserts where a real reader would give an error.
fn by_the_book(file: &[u8]) -> File {
    assert_eq!(&file[..8], b"PHINEUS\0");
    assert_eq!(&file[8..10], [5, 0]);
    let footer = &file[file.len() - 80..];
    assert_eq!(&footer[72..], b"PHINEUS\0");
    let [description_at, description_length, index_at, index_length] =
        [0, 8, 16, 24].map(|at| number(&footer[at..at + 8]));
    let description = &file[description_at..description_at + description_length];
    let mut book = File {
        kind: file[10],
        description: serde_json::from_slice(description).expect("JSON"),
        instructions: Vec::new(),
        raw: Vec::new(),
        ranges: Vec::new(),
        hash: [0; 32],
    };
    let mut value_count = 0;
    for entry in file[index_at..index_at + index_length].chunks(32) {
        let [offset, first_value] = [0, 8].map(|at| number(&entry[at..at + 8]));
        let [stored, raw, count, inputs] = [16, 20, 24, 28].map(|at| number(&entry[at..at + 4]));
        let frame = zstd::bulk::decompress(&file[offset..offset + stored], raw).expect("zstd");
        assert_eq!((frame.len(), first_value as u64), (raw, value_count));
        let before = book.instructions.len();
        read_frame(&mut book, &frame, count, &mut value_count);
        let read = &book.instructions[before..];
        assert_eq!(read.iter().filter(|i| i.op == Op::Input).count(), inputs);
        book.raw.extend(frame);
    }
    assert_eq!(&footer[32..64], &Sha256::digest(&book.raw)[..]);
    let parts: [&[u8]; 5] =
        [b"phineus program", &[5, 0], &[book.kind], &footer[32..64], description];
    book.hash = Sha256::digest(parts.concat()).into();
    book
}

/// Section 5.1.
fn read_frame(book: &mut File, frame: &[u8], count: usize, value_count: &mut u64) {
    let mut at = 0;
    let mut templates: Vec<Instruction> = Vec::new();
    let (mut words, mut operands, mut results) = ([0u64; 4], [0u64; 3], [0u64; 2]);
    for _ in 0..count {
        let start = book.raw.len() + at;
        let id = varint(frame, &mut at) as usize;
        if id == 0 {
            templates.push(read_template(frame, &mut at));
        }
        let mut i = templates[if id == 0 { templates.len() } else { id } - 1];
        let info = i.op.info();
        if info.operands.is_empty() || info.results.is_empty() {
            for (k, word) in words.iter_mut().enumerate().take(word_count(info)) {
                *word = word.wrapping_add(difference(frame, &mut at));
                i.immediates[k] = *word;
            }
        }
        let (issue, finish) = (i.phase == Phase::Issue, i.phase == Phase::Finish);
        for k in 0..if finish { 0 } else { info.operands.len() } {
            if book.kind == 0 {
                i.operands[k] = *value_count - varint(frame, &mut at);
            } else {
                operands[k] = operands[k].wrapping_add(difference(frame, &mut at));
                i.operands[k] = operands[k];
            }
        }
        for k in 0..if issue { 0 } else { info.results.len() } {
            if book.kind == 0 {
                i.results[k] = *value_count;
                *value_count += 1;
            } else {
                results[k] = results[k].wrapping_add(difference(frame, &mut at));
                i.results[k] = results[k];
            }
        }
        book.instructions.push(i);
        book.ranges.push(start..book.raw.len() + at);
    }
    assert_eq!(at, frame.len());
}

fn word_count(info: &OpInfo) -> usize {
    info.immediates.iter().map(|i| i.words).sum()
}

fn read_template(frame: &[u8], at: &mut usize) -> Instruction {
    let op = Op::from_code(frame[*at]).expect("a listed code");
    *at += 1;
    let code = varint(frame, at);
    let (width, signed) = ((code / 32) as u16, code / 16 % 2 == 1);
    let sharing = Sharing::ALL[(code / 4 % 4) as usize];
    let lanes = varint(frame, at) as u32;
    let element = ElementType::integer(width, signed).shared(sharing);
    let mut template = Instruction::new(op, element, lanes);
    template.phase = Phase::ALL[(code % 4) as usize];
    let info = op.info();
    if !info.operands.is_empty() && !info.results.is_empty() {
        for k in 0..word_count(info) {
            template.immediates[k] = varint(frame, at);
        }
    }
    template
}

fn varint(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[*at];
        *at += 1;
        value |= u64::from(byte % 128) << shift;
        if byte < 128 {
            break;
        }
    }
    value
}

fn difference(bytes: &[u8], at: &mut usize) -> u64 {
    let varint = varint(bytes, at);
    if varint.is_multiple_of(2) { varint / 2 } else { !(varint / 2) }
}

fn assert_same(kind: FileKind, program: &[Instruction], description: &Description) {
    let bytes = to_bytes(kind, program, description).expect("in memory");
    let book = by_the_book(&bytes);
    assert_eq!(book.kind, kind as u8);
    assert!(book.instructions == program, "the second reader reads something else");
    assert_eq!(book.description, serde_json::to_value(description).expect("plain data"));
    let mut reader = ProgramReader::open(Cursor::new(&bytes)).expect("just written");
    assert_eq!(reader.verify_hash().expect("just written"), Hash(book.hash));
}

#[test]
fn a_second_reader_reads_what_is_written() {
    for seed in 0..20 {
        let instruction_count = if seed == 0 { 10_000 } else { 200 };
        let options = RandomOptions { instruction_count, ..RandomOptions::default() };
        let (program, description) = random_program(seed, &options);
        assert_same(FileKind::Program, &program, &description);
        let (mut planned, description) = plan_unbounded(&program, &description);
        planned.insert(7, Instruction::directive(Op::IssueSwapIn, 300, 1 << 40));
        planned.insert(9, Instruction::directive(Op::FinishSwapIn, 300, 1 << 40));
        assert_same(FileKind::Planned, &planned, &description);
    }
}

#[test]
fn every_constraint_is_documented() {
    let (_, text) = document();
    let (_, rest) = text.split_once("What must hold besides valid shapes:").expect("a section");
    let (section, _) = rest.split_once("\n## ").expect("another section follows");
    let mut random = SeededRng::new(4);
    let mut rejects = |info: &OpInfo| {
        (0..1000).any(|_| {
            let width = random.below(256) as u16 + 1;
            let mut i = Instruction::new(info.op, ElementType::unsigned(width), 3);
            i.immediates = [(); 4].map(|()| random.below(300));
            (info.rule)(&i).is_err()
        })
    };
    for info in OPS {
        let named = section.contains(&format!("`{}`", info.name));
        assert_eq!(rejects(info), named, "constraints of {}", info.name);
    }
}
