//! Fields by type, faults by place, and noise.

use phineus_bytecode::{ElementType, Encoding, Lane};
use sha2::{Digest, Sha256};

use super::*;
use crate::cell::{hash_text, parse_text};
use crate::content::Content;
use crate::csv::ROW_BYTES_MAX;
use crate::error::{FAULTS_MAX, TableRefusal};
use crate::rows::OwnRows;

fn key() -> TextKey {
    TextKey::within_a_file()
}

fn column(name: &str, element: ElementType, encoding: Encoding) -> Column {
    Column { name: name.to_owned(), element, encoding }
}

fn counted(text: &[u8]) -> Result<Input, Error> {
    Input::count(crate::open(Content::Bytes(text.to_vec()))?)
}

fn read(text: &[u8], columns: &[Column]) -> Result<Table, String> {
    let input = counted(text).map_err(|error| error.to_string())?;
    read_from(&input, columns).map_err(|error| error.to_string())
}

fn read_from(input: &Input, columns: &[Column]) -> Result<Table, Error> {
    input.read(columns, &[], &key()).map(|read| read.table)
}

fn refusal(error: Error) -> TableRefusal {
    match error {
        Error::Refused(refusal) => refusal,
        Error::Io(error) => panic!("{error}"),
    }
}

fn age() -> Vec<Column> {
    vec![column("age", ElementType::unsigned(8), Encoding::Number)]
}

#[test]
fn values_are_read_by_type() {
    use Encoding::{Hex, Number, Text};
    let unsigned = ElementType::unsigned;
    for (field, element, encoding, expected) in [
        ("255", unsigned(8), Number, Some(255u64)),
        ("256", unsigned(8), Number, None),
        ("-0", unsigned(8), Number, Some(0)),
        ("-1", unsigned(8), Number, None),
        ("-128", ElementType::signed(8), Number, Some(128)),
        ("-129", ElementType::signed(8), Number, None),
        ("127", ElementType::signed(8), Number, Some(127)),
        ("128", ElementType::signed(8), Number, None),
        ("-1", ElementType::signed(1), Number, Some(1)),
        ("true", ElementType::BIT, Number, Some(1)),
        ("false", ElementType::BIT, Number, Some(0)),
        ("2", ElementType::BIT, Number, None),
        ("0xff", unsigned(8), Number, Some(255)),
        ("0b101", unsigned(3), Number, Some(5)),
        ("0xfff", unsigned(8), Number, None),
        ("00ff", unsigned(8), Hex, Some(255)),
        ("0xFF", unsigned(8), Hex, Some(255)),
        ("1ff", unsigned(8), Hex, None),
        ("", unsigned(8), Number, None),
        ("", unsigned(8), Hex, None),
        ("1.5", unsigned(8), Number, None),
        ("1e3", unsigned(32), Number, None),
        ("+1", unsigned(32), Number, None),
        (&"9".repeat(400), unsigned(256), Number, None),
        ("", unsigned(8), Text, Some(0xb6)),
    ] {
        let found = parse_text(field, element, encoding, &key()).ok();
        assert_eq!(found, expected.map(Lane::from), "{field:?} as {element}");
    }
}

#[test]
fn text_is_the_first_bits_of_its_hash() {
    // HMAC-SHA-256 under a key of zeros, computed with Python's hmac.
    assert_eq!(hash_text("abc", 32, &key()), Lane::from(0x15db7afd_u64));
    assert_eq!(hash_text("abc", 12, &key()), Lane::from(0xafd_u64));
}

#[test]
fn faults_name_row_column_and_value() {
    let text = b"name,age\nx,1\ny,300\nz,\n";
    assert_eq!(
        read(text, &age()).err().as_deref(),
        Some(
            "stdin:3: column 'age': '300' does not fit u8 (0 to 255)\n\
             stdin:4: column 'age': it is empty and should be a whole number"
        )
    );
}

/// The library ends a row at `\r` and counts lines by `\n`: with `\r\n` all lines but the first were
/// reported one too small, with `\r` alone each as the first.
#[test]
fn lines_are_counted_whatever_ends_them() {
    let text = "name,age\nx,1\ny,300\n\"a\n\nb\",2\nz,400\nv\nw,\"5\n";
    let first = "stdin:3: column 'age': '300' does not fit u8 (0 to 255)\n\
                 stdin:7: column 'age': '400' does not fit u8 (0 to 255)";
    for end in ["\n", "\r\n"] {
        let all = text.replace('\n', end);
        let said = read(all.as_bytes(), &age()).err();
        let form = "stdin:8: has 1 field, the header has 2\nstdin:9: a quote is not closed";
        assert_eq!(said.as_deref(), Some(form), "{end:?}");
        let whole = all.split("v").next().expect("there is a first part");
        assert_eq!(read(whole.as_bytes(), &age()).err().as_deref(), Some(first), "{end:?}");
    }
    let said = read(b"name,age\rx,1\ry,300\r", &age()).err();
    assert_eq!(said.as_deref(), first.lines().next());
    // Also where the two are read one by one, from a reader that gives a byte at a time.
    let text = b"age\r\n1\r\n\"\r\n2\"\r\n";
    let (mut given, mut one) = (Vec::new(), [0]);
    let mut reader = crate::csv::followed::CsvScanner::reader(&text[..]).into_inner();
    while std::io::Read::read(&mut reader, &mut one).expect("it is in memory") == 1 {
        given.push(one[0]);
    }
    assert_eq!(given, b"age\n1\n\"\r\n2\"\n");
}

const EMPTY_LINE: &str = "stdin:3: is empty and rows follow: write what is missing, or remove it";

#[test]
fn the_form_of_a_file_is_checked() {
    for (text, expected) in [
        (&b""[..], "stdin: is empty; a table names its columns at least"),
        (b"age,age\n1,2\n", "stdin:1: two columns are called 'age'"),
        (b"age,b\n1,2\n3\n", "stdin:3: has 1 field, the header has 2"),
        (b"b\n1\n", "stdin:1: there is no column 'age'; the header has b"),
        (
            b"age\nR\xe9mi\n",
            "stdin:2: column 'age' is not UTF-8 text, but perhaps Latin-1 or Windows-1252",
        ),
        (
            b"\xe9t\xe9,age\n1,2\n",
            "stdin:1: field 1 is not UTF-8 text, but perhaps Latin-1 or Windows-1252",
        ),
        (b"age;b\n1;2\n", "stdin:1: the fields are separated by ';', not by commas: 'age;b'"),
        (b"age\tb\n1\t2\n", "stdin:1: the fields are separated by tabs, not by commas: 'age\tb'"),
        (
            b"PK\x03\x04\x14\x00\x06\x00",
            "stdin: is a spreadsheet (.xlsx, .ods) or another zip file, and an input is CSV (or .npy)",
        ),
        (b"\xff\xfea\x00", "stdin: is text in UTF-16, and an input is CSV (or .npy)"),
        (b"age\n1\n\n\n2\n", EMPTY_LINE),
        (b"age\r\n1\r\n\r\n2\r\n", EMPTY_LINE),
        (b"age,b\n1,2\n\n3,4\n", EMPTY_LINE),
        (b"age,b\n\"1,2\n3,4\n", "stdin:2: a quote is not closed"),
    ] {
        let others = if cfg!(feature = "arrow") { ".npy, .parquet, .arrow" } else { ".npy" };
        let expected = expected.replace("(or .npy)", &format!("(or {others})"));
        assert_eq!(read(text, &age()).err(), Some(expected));
    }
}

/// Memory for a file is bounded, whatever its content.
#[test]
fn a_row_without_an_end_is_refused_and_wide_headers_are_read_at_once() {
    let zeros = "0".repeat(ROW_BYTES_MAX as usize + 10_000);
    for text in [zeros.clone(), format!("age\n1\n{zeros}"), format!("age\n1\n\"{zeros}\n\"")] {
        let line = if text.starts_with("age") { 3 } else { 1 };
        let said = read(text.as_bytes(), &age()).err();
        assert_eq!(said, Some(format!("stdin:{line}: a row is longer than 2 MiB")));
    }
    let names: Vec<String> = (0..150_000).map(|n| format!("c{n}")).collect();
    let (header, zeros) = (names.join(","), vec!["0"; names.len()].join(","));
    let said = read(format!("{header}\n{zeros}\n").as_bytes(), &age()).err();
    assert!(said.is_some_and(|it| it.ends_with(
        "the header has c0, c1, c2, c3, c4, c5, c6, c7, c8, \
        c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, ..."
    )));
}

#[test]
fn a_byte_order_mark_and_other_columns_are_tolerated() {
    let table = read("\u{feff}age , other\r\n 7 ,x\r\n".as_bytes(), &age()).expect("it is right");
    assert_eq!(table.row_count(), 1);
    assert_eq!(table.cell(0, 0), Lane::from(7));
}

#[test]
fn columns_without_a_name_and_tables_without_rows_are_tolerated() {
    let table = read(b",age,\n0,7,\n1,8,\n", &age()).expect("it is right");
    assert_eq!((table.cell(0, 0), table.row_count()), (Lane::from(7), 2));
    for text in [&b"age\n"[..], b"age", b"age,b\r\n\r\n"] {
        assert_eq!(read(text, &age()).map(|table| table.row_count()), Ok(0), "{text:?}");
    }
}

#[test]
fn text_is_trimmed_and_composed_before_it_is_hashed() {
    let columns = [column("name", ElementType::unsigned(64), Encoding::Text)];
    let names = "name,x\n Rene\u{301} ,1\n\u{a0}Ren\u{e9},2\nRen\u{e9},3\nAnn,4\nAnn,5\n";
    let input = counted(names.as_bytes()).expect("it is right");
    let read = input.read(&columns, &[], &key()).expect("it is right");
    let cell = |row| read.table.cell(row, 0);
    assert_eq!([cell(0), cell(1)], [hash_text("Ren\u{e9}", 64, &key()); 2]);
    assert_eq!((cell(2), cell(3)), (cell(0), cell(4)));
    assert_eq!(
        read.notes,
        [
            "stdin: 2 values of column 'name' had blanks around them, which were left out",
            "stdin: 1 value of column 'name' was brought into Unicode's composed form (NFC)",
        ]
    );
}

#[test]
fn numbers_that_are_none_come_with_what_to_do() {
    for (text, part) in [
        ("\"1,234\"", "'1,234' is not a whole number: write it without separators"),
        ("1_000", "without separators between the digits"),
        ("12.0", "without a fraction"),
        ("1e3", "'1e3' is not a whole number: write out all its digits"),
        ("+5", "write it without '+'"),
        ("2024-01-31", "write dates as numbers, such as 20240131"),
        ("31.01.2024", "write dates as numbers"),
        ("NULL", "'NULL' is not a whole number: leave out rows without a value"),
        ("", "it is empty and should be a whole number"),
        ("x", "'x' is not a whole number"),
    ] {
        let message = read(format!("age,b\n{text},1\n").as_bytes(), &age()).err();
        let message = message.expect("it is wrong");
        assert!(message.starts_with("stdin:2: column 'age': "), "{message}");
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn columns_are_found_by_other_names() {
    let input = counted(b"id,age,years\n1,2,3\n").expect("right");
    let names = Names::from([("age".to_owned(), "years".to_owned())]);
    let named = Input { names, ..input.clone() };
    let table = read_from(&named, &age()).expect("it is right");
    assert_eq!(table.cell(0, 0), Lane::from(3));
    let names = Names::from([("age".to_owned(), "yrs".to_owned())]);
    let error = read_from(&Input { names, ..input }, &age()).err().expect("there is none");
    let said = "stdin:1: there is no column 'yrs', which --column names for 'age'; the header has id, \
                age, years";
    assert_eq!(error.to_string(), said);
    let remedy = refusal(error).remedy.expect("there is one");
    assert_eq!(remedy, "say which column it is with --column age=NAME");
    let input = counted(b"Age\n1\n").expect("right");
    let remedy = read_from(&input, &age()).err().and_then(|error| refusal(error).remedy);
    assert!(remedy.expect("there is one").ends_with("with --column age=Age (if that is it)"));
}

/// Many programs end a file so, and quoted text may have empty lines.
#[test]
fn empty_lines_at_the_end_and_in_quotes_are_tolerated() {
    let table = read(b"age,text\r\n1,\"a\r\n\r\nb\"\r\n2,\"\n\"\n\n\r\n", &age());
    let table = table.expect("it is right");
    assert_eq!((table.cell(0, 0), table.cell(1, 0)), (Lane::from(1), Lane::from(2)));
    assert_eq!(table.row_count(), 2);
}

/// A writer of a column whose last value is missing made such a file, and the row was lost.
#[test]
fn an_empty_line_at_the_end_of_one_column_may_be_a_missing_value() {
    for text in ["age\n1\n\n", "age\r\n1\r\n\r\n", "age\n1\n\n\n"] {
        let message = read(text.as_bytes(), &age()).err().expect("a value may be missing");
        assert!(message.starts_with("stdin:3:") && message.contains("may be missing"), "{message}");
    }
    assert_eq!(read(b"age\n1\n", &age()).expect("it is right").row_count(), 1);
}

#[test]
fn many_faults_are_cut() {
    let text = format!("age\n{}", "x\n".repeat(50));
    let message = read(text.as_bytes(), &age()).err().expect("it is wrong");
    assert_eq!(message.lines().count(), FAULTS_MAX + 1);
    assert!(message.ends_with("and 30 more"), "{message}");
}

/// Bytes that mean something to a CSV reader, in an order that a seed decides.
fn noise(seed: u64) -> Vec<u8> {
    const ALPHABET: &[u8] = b"age,\"\n\r-0x1b9 \xff\xef\xbb\xbf\t;'";
    let mut bytes = Vec::new();
    for block in 0..8u64 {
        let mut hash = Sha256::new();
        hash.update(seed.to_le_bytes());
        hash.update(block.to_le_bytes());
        let digest: [u8; 32] = hash.finalize().into();
        bytes.extend(digest.map(|byte| ALPHABET[usize::from(byte) % ALPHABET.len()]));
    }
    bytes.truncate(seed as usize % 257);
    // Half of them with a right header.
    if seed.is_multiple_of(2) { [b"age\n".to_vec(), bytes].concat() } else { bytes }
}

#[test]
fn noise_is_read_or_refused() {
    let mut read_count = 0;
    for seed in 0..20_000 {
        let bytes = noise(seed);
        match read(&bytes, &age()) {
            Ok(table) => {
                assert!((0..table.row_count()).all(|row| table.cell(row, 0) < Lane::from(256)));
                read_count += 1;
            }
            Err(message) => assert!(message.starts_with("stdin"), "seed {seed}: {message}"),
        }
    }
    assert!(read_count > 0, "some noise is right");
}

/// Length and time of the last change were compared: who sets the time back was not noticed.
#[test]
fn a_file_that_changes_is_noticed_by_its_content() {
    let directory = tempfile::tempdir().expect("there is room");
    let npy = |values: [u8; 2]| {
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1), }\n";
        [b"\x93NUMPY\x01\x00", &[header.len() as u8, 0][..], header.as_bytes(), &values].concat()
    };
    for (name, text, other) in [
        ("a.csv", b"age,x\r\n17,0\r\n18,0\r\n".to_vec(), b"age,x\r\n17,0\r\n19,0\r\n".to_vec()),
        ("a.npy", npy([17, 18]), npy([17, 19])),
    ] {
        let path = directory.path().join(name);
        let write = |bytes: &[u8], time| {
            std::fs::write(&path, bytes).expect("there is room");
            let file = std::fs::File::options().write(true).open(&path).expect("it is there");
            file.set_modified(time).expect("it is ours");
        };
        let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        write(&text, then);
        let source = crate::open(Content::Path(path.clone())).expect("it is right");
        let input = Input::count(source).expect("it is right");
        let rows = |input: &Input| -> Result<(), Error> {
            let mut rows = OwnRows::open(input)?;
            rows.next_row()?;
            rows.next_row()?;
            rows.finish()
        };
        // Touched, but not changed.
        write(&text, std::time::SystemTime::now());
        let table = read_from(&input, &age()).expect("it is as it was");
        assert_eq!((table.cell(1, 0), input.is_unchanged()), (Lane::from(18), true));
        rows(&input).expect("it is as it was");
        write(&other, then);
        let error = read_from(&input, &age()).err().expect("it changed").to_string();
        assert!(error.ends_with("changed while it was being read"), "{error}");
        assert!(!input.is_unchanged() && rows(&input).is_err());
    }
}
