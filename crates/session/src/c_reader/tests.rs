use std::io::Read;

use phineus_bytecode::{Column, ElementType, Encoding, Lane, ProgramReader};
use phineus_frontend::{U32, program};

use super::messages::{ErrorMessage, TableMessage, read_tables, write_tables};
use super::process::{ReplyBody, answered};
use super::*;

fn column(name: &str, text: &str) -> Column {
    let element: ElementType = text.parse().expect("a type");
    Column { name: name.to_owned(), element, encoding: Encoding::Number }
}

#[test]
fn tables_cross_the_pipe() {
    let mut table = Table::new(vec![column("a", "u8"), column("b", "i33"), column("c", "u128")]);
    for row in 0..5u64 {
        table.push(&[Lane::from(row), Lane::from(row << 30), Lane::from(u128::MAX - 7)]);
    }
    let tables = [table, Table::new(vec![column("empty", "u16")])];
    let mut bytes = Vec::new();
    write_tables(&mut bytes, &tables).expect("memory takes it");
    assert_eq!(bytes.len(), 5 * (1 + 5 + 16));
    let heads: Vec<TableMessage> = tables.iter().map(TableMessage::of).collect();
    let read = read_tables(&mut &bytes[..], &heads).expect("as written");
    let is_same = tables.iter().zip(&read).all(|(a, b)| phineus_frontend::same_rows(a, b));
    assert!(read.len() == 2 && is_same);
    assert!(read_tables(&mut &bytes[1..], &heads).is_err(), "a byte is missing");
}

#[test]
fn bounds_and_refusals_cross_the_pipe() {
    for (low, high) in [(-1, 1), (i128::MIN, i128::MAX), (-(1 << 70), u64::MAX.into())] {
        let range = ColumnRange { input: "x".to_owned(), column: 3, low, high };
        let line = serde_json::to_string(&RangeMessage::of(&range)).expect("it is text");
        let bounds: RangeMessage = serde_json::from_str(&line).expect("as written");
        assert_eq!(bounds.range(), range);
    }
    let refused: [fn() -> ProgramError; 6] = [
        || ProgramError::Rows("rows".to_owned()),
        || ProgramError::Refused("p.c:1: no\n    ^ here".to_owned()),
        || ProgramError::Reference("it had not ended".to_owned()),
        || ProgramError::WrongRows { input: "x".to_owned(), found: 2, expected: 3 },
        || ProgramError::MissingRows { input: "x".to_owned() },
        || Error::other("disk").into(),
    ];
    for error in refused {
        let line = serde_json::to_string(&ErrorMessage::of(error())).expect("it is text");
        assert!(!line.contains('\n'), "a message is a line");
        let refusal: ErrorMessage = serde_json::from_str(&line).expect("as written");
        let (before, after) = (Failure::from(error()), Failure::from(refusal.error()));
        assert_eq!(
            (before.code.to_string(), before.message()),
            (after.code.to_string(), after.message())
        );
    }
}

#[test]
fn a_traced_program_is_answered_with_its_file() {
    let copied = program("copy").party("a").trace(|t, sizes| {
        let x = t.input("a", sizes.rows("a")?).number::<U32>("x").vector::<U32>();
        t.output("y", &["a"]).vector("y", x).write();
        Ok(())
    });
    let mut arguments = Arguments::new(&copied, []).expect("it has no parameters");
    arguments.set_rows("a", 7);
    let mut here = Vec::new();
    let sizes = TraceSizes::of(&arguments);
    let (answer, follow) = answered(&copied, &Question::Trace(sizes), &[]).expect("it is right");
    let ReplyBody::File(mut file) = follow else { panic!("a program is a file") };
    file.read_to_end(&mut here).expect("it was written");
    let Reply::Traced { description, hash, file_bytes, .. } = answer else {
        panic!("it was to be traced")
    };
    assert_eq!((here.len() as u64, description.inputs[0].rows), (file_bytes, 7));
    let reader = ProgramReader::open(std::io::Cursor::new(here)).expect("a program");
    assert_eq!(reader.hash().0, hash);
    let unknown = Question::Trace(TraceSizes::of(&Arguments::default()));
    assert!(matches!(
        answered(&copied, &unknown, &[]),
        Err(ProgramError::MissingRows { input }) if input == "a"
    ));
}

#[test]
fn what_reads_no_programs_is_an_error() {
    for executable in ["/bin/true", "/bin/cat", "/no/such/file"] {
        let opened =
            ReadApart::open(Path::new(executable), Path::new("/no/such.c"), &Leftovers::default());
        let failure = opened.err().expect("it says nothing");
        assert_eq!(failure.code.exit, crate::failure::Exit::RunTime);
        assert!(failure.message().contains(executable), "{}", failure.message());
    }
}
