//! Files as NumPy writes them, files that nobody should write, and random bytes.

use super::*;
use phineus_bytecode::Table;

use crate::input::Input;
use crate::sink::{Format, sink, write_table};
use crate::text_key::TextKey;

fn counted(bytes: Vec<u8>) -> Result<Input, Error> {
    Input::count(crate::open(Content::Bytes(bytes))?)
}

fn column(name: &str, element: ElementType) -> Column {
    Column { name: name.to_owned(), element, encoding: Encoding::Number }
}

/// A file with this dictionary, as NumPy lays it out, and these bytes behind it.
fn file(version: u8, dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = [&header::MAGIC[..], &[version, 0]].concat();
    match version {
        1 => bytes.extend((dictionary.len() as u16).to_le_bytes()),
        _ => bytes.extend((dictionary.len() as u32).to_le_bytes()),
    }
    bytes.extend(dictionary.bytes());
    bytes.extend(data);
    bytes
}

fn read(bytes: Vec<u8>, columns: &[Column]) -> Result<Vec<Vec<Lane>>, String> {
    let input = counted(bytes).map_err(|error| error.to_string())?;
    let read = input.read(columns, &[], &TextKey::within_a_file());
    let read = read.map_err(|error| error.to_string())?;
    let (table, lines) = (read.table, read.lines);
    assert_eq!(lines, (1..=table.row_count() as u32).collect::<Vec<_>>());
    Ok((0..table.row_count()).map(|row| table.row(row)).collect())
}

#[test]
fn what_numpy_writes_is_read() {
    // numpy.save of array([[1, -2], [300, 4]], '<i2') and of arange(3, dtype='u1').
    let two = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2), }      \n";
    let columns = [column("a", ElementType::unsigned(9)), column("b", ElementType::signed(8))];
    let data = [1i16, -2, 300, 4].map(i16::to_le_bytes);
    let rows = read(file(1, two, data.as_flattened()), &columns).expect("it is right");
    assert_eq!(rows, [[1, 0xfe].map(Lane::from), [300, 4].map(Lane::from)]);
    let one = "{\"shape\": (3L,), 'descr': \"|u1\", 'fortran_order': True}\n";
    let bits = [column("a", ElementType::unsigned(2))];
    let rows = read(file(2, one, &[0, 1, 2]), &bits).expect("it is right");
    assert_eq!(rows.concat(), [0, 1, 2].map(Lane::from));
    let scalar = "{'descr': '<u8', 'fortran_order': False, 'shape': (), }\n";
    let wide = [column("a", ElementType::unsigned(64))];
    assert_eq!(read(file(3, scalar, &[0xff; 8]), &wide), Ok(vec![vec![Lane::from(u64::MAX)]]));
}

#[test]
fn every_value_at_the_edge_of_its_type_is_taken_and_the_next_refused() {
    for (element, lowest, highest) in [
        (ElementType::BIT, 0, 1),
        (ElementType::unsigned(7), 0, 127),
        (ElementType::signed(7), -64, 63),
        (ElementType::signed(1), -1, 0),
        (ElementType::unsigned(40), 0, (1i64 << 40) - 1),
        (ElementType::signed(64), i64::MIN, i64::MAX),
        (ElementType::signed(100), i64::MIN, i64::MAX),
    ] {
        let dictionary = "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 1), }";
        let columns = [column("x", element)];
        let one = |value: i64| read(file(1, dictionary, &value.to_le_bytes()), &columns);
        for value in [lowest, highest] {
            let lane = Lane::from(value.unsigned_abs());
            let lane = if value < 0 { lane.wrapping_neg() } else { lane };
            assert_eq!(one(value), Ok(vec![vec![lane & mask_of(element.width())]]), "{value}");
        }
        for value in [lowest.checked_sub(1), highest.checked_add(1)].into_iter().flatten() {
            let message = one(value).expect_err("out of range");
            let said = format!("stdin: row 1, column 'x': '{value}' does not fit {element}");
            assert!(message.starts_with(&said), "{message}");
        }
    }
}

#[test]
fn what_is_wrong_is_said() {
    let columns = [column("x", ElementType::unsigned(8))];
    let header = |descr: &str, order: &str, shape: &str| {
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}")
    };
    let good = header("|u1", "False", "(2,)");
    for (dictionary, data, part) in [
        (&*header("<c8", "False", "(2,)"), &[0u8; 16][..], "type '<c8', not integers"),
        (&header(">i4", "False", "(2,)"), &[0; 8], "big-endian"),
        (&header("|u1", "True", "(2, 2)"), &[0; 4], "Fortran order"),
        (&header("|u1", "False", "(2, 2, 2)"), &[0; 8], "3 dimensions"),
        (&header("|u1", "False", "(5, 0)"), &[], "no columns"),
        (&header("|u1", "False", "(18446744073709551615, 9)"), &[], "18446744073709551615 rows"),
        (&header("|u1", "False", "(2, 2)"), &[0; 4], "has 2 columns, and what is computed has 1"),
        (&header("|u1", "False", "(-1,)"), &[0; 4], "not clear at"),
        ("{'descr': [('a', '<i4')], }", &[0; 4], "structured array"),
        ("{'descr': '<i4', }", &[0; 4], "without its type, order and shape"),
        (&good, &[0; 1], "ends before its 2 rows"),
        (&good, &[0; 3], "has data after the 2 rows"),
        (&good.replace('}', "} x"), &[0; 2], "without its type"),
    ] {
        let message = read(file(1, dictionary, data), &columns).expect_err("a fault");
        assert!(message.contains(part), "{dictionary}: {message}");
    }
    let message = read(file(9, &good, &[0; 2]), &columns).expect_err("a fault");
    assert!(message.contains("version 9.0"), "{message}");
    // A whole number is the text of its digits, and the fixed-point number of its value.
    let text = Column { encoding: Encoding::Text, ..column("x", ElementType::unsigned(8)) };
    let hash = crate::cell::hash_text("7", 8, &TextKey::within_a_file());
    assert_eq!(read(file(1, &good, &[7; 2]), &[text]), Ok(vec![vec![hash]; 2]));
    let fixed = Column { encoding: Encoding::Fixed(2), ..column("x", ElementType::unsigned(8)) };
    assert_eq!(read(file(1, &good, &[7; 2]), &[fixed]), Ok(vec![vec![Lane::from(28)]; 2]));
}

#[test]
fn what_is_written_is_read_back() {
    let element = ElementType::unsigned;
    for (columns, numbers) in [
        (vec![column("a", element(64))], (8, NumberKind::Unsigned)),
        (vec![column("a", element(1)), column("b", element(8))], (1, NumberKind::Unsigned)),
        (
            vec![column("a", ElementType::signed(9)), column("b", element(16))],
            (4, NumberKind::Signed),
        ),
        (
            vec![column("a", ElementType::signed(64)), column("b", element(63))],
            (8, NumberKind::Signed),
        ),
    ] {
        let (bytes, kind) = numbers;
        assert_eq!(numbers_of(&columns), Ok(Numbers { bytes, kind }));
        let mut table = Table::zeros(columns.clone(), 70);
        for (row, place) in (0..70).flat_map(|row| (0..columns.len()).map(move |p| (row, p))) {
            let value = Lane::from(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(row * 7 + place as u64));
            table.set_cell(row, place, value & mask_of(columns[place].element.width()));
        }
        let mut bytes = Vec::new();
        write_table(&table, &mut *sink(Format::Npy, &mut bytes)).expect("memory");
        assert_eq!(bytes.len() as u64, file_bytes(&columns, 70));
        let input = counted(bytes).expect("it is right");
        let read = input.read(&columns, &[], &TextKey::within_a_file());
        let copy = read.expect("it is right").table;
        assert!(phineus_frontend::same_rows(&copy, &table));
    }
    let wide = [column("a", element(65))];
    assert!(numbers_of(&wide).is_err_and(|what| what.contains("'a' has 65 bits")));
    let mixed = [column("a", ElementType::signed(2)), column("b", element(64))];
    assert!(numbers_of(&mixed).is_err());
}

#[test]
fn floating_point_numbers_are_arrays_of_their_width() {
    let float = |name: &str, width| Column {
        encoding: Encoding::Float,
        ..column(name, ElementType::unsigned(width))
    };
    for (widths, size) in [(&[16u16][..], 2), (&[32, 32], 4), (&[64], 8), (&[16, 32, 64], 8)] {
        let columns: Vec<Column> = widths.iter().map(|width| float("x", *width)).collect();
        let numbers = Numbers { bytes: size, kind: NumberKind::Float };
        assert_eq!(numbers_of(&columns), Ok(numbers));
        let mut table = Table::zeros(columns.clone(), 3);
        for (place, width) in widths.iter().enumerate() {
            for (row, number) in [-1.5, 0.125, f64::INFINITY].into_iter().enumerate() {
                table.set_cell(row as u64, place, Lane::from(bits_of(number, *width)));
            }
        }
        let mut bytes = Vec::new();
        write_table(&table, &mut *sink(Format::Npy, &mut bytes)).expect("memory");
        let input = counted(bytes).expect("it is right");
        let read = input.read(&columns, &[], &TextKey::within_a_file());
        assert!(phineus_frontend::same_rows(&read.expect("it is right").table, &table));
    }
    let mixed = [float("x", 32), column("n", ElementType::unsigned(8))];
    assert!(numbers_of(&mixed).is_err_and(|what| what.contains("'n' is of integers")));
    // A double that no single is near to.
    let dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }";
    let data = 1e300f64.to_le_bytes();
    let message = read(file(1, dictionary, &data), &[float("x", 32)]).expect_err("too large");
    assert!(message.contains("'1e300' is beyond the largest number of 32 bits"), "{message}");
}

/// Bytes that are changed, cut off and put in at random give tables or sentences.
#[test]
fn random_headers_never_panic() {
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let dictionary = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2), }  \n";
    let marks = b"{}()[]'\",: TrueFalse0123456789<>|iufb\x93\xff\0L-";
    let columns = [column("a", ElementType::signed(16)), column("b", ElementType::signed(16))];
    let mut understood = 0;
    for _ in 0..20_000 {
        let mut bytes = file(1 + next(2) as u8, dictionary, &[0; 8]);
        for _ in 0..next(4) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes[at] = marks[next(marks.len())],
                1 => bytes.insert(at, marks[next(marks.len())]),
                _ => drop(bytes.remove(at)),
            }
        }
        bytes.truncate(bytes.len() - next(3) / 2 * next(bytes.len()));
        understood += usize::from(read(bytes, &columns).is_ok());
    }
    assert!(understood > 1000, "{understood}: most of what was left as it is is understood");
}

/// A header of a hundred bytes promised a million million rows, and a program was traced for them.
#[test]
fn rows_that_the_file_cannot_hold_are_not_counted() {
    let dictionary = "{'descr': '<i4', 'fortran_order': False, 'shape': (1000000000000, 2), }";
    let said = counted(file(1, dictionary, &[0; 8])).err();
    let message = said.expect("it is much too short").to_string();
    assert_eq!(message, "stdin: ends before its 1000000000000 rows do");
    let path = tempfile::NamedTempFile::new().expect("a place for tests");
    std::fs::write(path.path(), file(1, dictionary, &[0; 8])).expect("a place for tests");
    let source = crate::open(Content::Path(path.path().to_owned())).expect("it begins well");
    let said = Input::count(source).err();
    assert!(said.is_some_and(|error| error.to_string().ends_with(&message[7..])));
}
