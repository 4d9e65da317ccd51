//! Parquet and Arrow files of pandas, PyArrow, DuckDB, Polars and Spark (`files/make.py`), and damaged ones.
#![cfg(feature = "arrow")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_ipc::writer::StreamWriter;
use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_tables::{
    CellType, Content, Error, Format, Input, OwnColumn, OwnRows, ResultHeader, TableCell, TextKey,
    open, parse_text, sink, write_table,
};

const ROWS: usize = 5;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files")
}

fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(directory()).expect("it is part of the crate");
    let paths = entries.map(|entry| entry.expect("it is part of the crate").path());
    let is_table = |path: &PathBuf| path.extension().is_some_and(|extension| extension != "py");
    let mut files: Vec<_> = paths.filter(is_table).collect();
    files.sort();
    assert!(files.len() >= 13, "all of them are there");
    files
}

fn column(name: &str, element: ElementType, encoding: Encoding) -> Column {
    Column { name: name.to_owned(), element, encoding }
}

fn count(path: &Path) -> Input {
    let source = open(Content::Path(path.to_owned())).expect("its format is known");
    Input::count(source).unwrap_or_else(|error| panic!("{error}"))
}

fn read(input: &Input, column: &Column) -> Result<Vec<Lane>, String> {
    let read = input.read(std::slice::from_ref(column), &[], &TextKey::within_a_file());
    let table = read.map_err(|error| error.to_string())?.table;
    Ok((0..table.row_count()).map(|row| table.cell(row, 0)).collect())
}

/// The values that a CSV file with these fields would give.
fn fields(fields: [&str; ROWS], column: &Column) -> Vec<Lane> {
    let key = TextKey::within_a_file();
    let value = |field| parse_text(field, column.element, column.encoding, &key);
    fields.map(|field| value(field).expect("it fits")).to_vec()
}

#[test]
fn every_type_is_read_as_its_text_would_be() {
    use Encoding::{Fixed, Hex, Number, Text};
    let (signed, unsigned) = (ElementType::signed, ElementType::unsigned);
    let long = "e".repeat(100);
    let cases = [
        (
            column("id", signed(64), Number),
            ["7", "-2", "300", "1099511627776", "-9223372036854775808"],
        ),
        (column("small", unsigned(8), Number), ["0", "1", "2", "254", "255"]),
        (column("small", unsigned(8), Hex), ["0", "1", "2", "fe", "ff"]),
        (column("small", signed(12), Fixed(2)), ["0", "1", "2", "254", "255"]),
        (column("big", unsigned(64), Number), ["0", "1", "2", "3", "18446744073709551615"]),
        (
            column("id", unsigned(64), Text),
            ["7", "-2", "300", "1099511627776", "-9223372036854775808"],
        ),
        (column("flag", ElementType::BIT, Number), ["true", "false", "true", "true", "false"]),
        (column("name", unsigned(64), Text), ["ann", "bob", "Ren\u{e9}", "", "ann"]),
        (column("long_name", unsigned(64), Text), ["a", "b", "c", "d", &long]),
        (column("city", unsigned(64), Text), ["Rome", "Oslo", "Rome", "Rome", "Oslo"]),
        (column("amount", signed(32), Fixed(2)), ["1.25", "-3", "0.5", "12345.75", "0"]),
        (column("whole", signed(32), Number), ["1", "-3", "0", "12345", "7"]),
        (column("price", signed(48), Fixed(16)), ["1.5", "-2.25", "0.1", "1000000", "0"]),
        (column("single", signed(32), Number), ["1", "2", "3", "16777216", "-5"]),
        (
            column("day", unsigned(64), Text),
            ["1970-01-01", "2024-02-29", "1969-12-31", "2000-03-01", "1900-03-01"],
        ),
        (
            column("hash", unsigned(32), Hex),
            ["00000000", "01010101", "7f7f7f7f", "80808080", "ffffffff"],
        ),
    ];
    for path in files() {
        let input = count(&path);
        assert_eq!(input.rows, ROWS as u64, "{}", path.display());
        for (column, texts) in &cases {
            // DuckDB and Spark have no unsigned numbers of 64 bits, but decimals.
            let found = read(&input, column).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(found, fields(*texts, column), "{}: {}", path.display(), column.name);
        }
    }
}

#[test]
fn what_no_column_can_hold_is_refused_with_its_row() {
    use Encoding::{Fixed, Hex, Number, Text};
    let (signed, unsigned) = (ElementType::signed, ElementType::unsigned);
    for (column, row, part) in [
        (column("id", signed(32), Number), 4, "'1099511627776' does not fit i32"),
        (column("small", unsigned(7), Number), 4, "'254' does not fit u7 (0 to 127)"),
        (column("price", signed(32), Number), 1, "'1.5' is not a whole number: write it without"),
        (column("amount", signed(32), Number), 1, "'1.25' is not a whole number: write it without"),
        (column("name", unsigned(8), Number), 1, "'ann' is not a whole number"),
        (column("maybe", signed(32), Number), 2, ""),
        (
            column("price", unsigned(64), Text),
            1,
            "is a floating-point number, and the program wants text",
        ),
        (column("flag", unsigned(64), Text), 1, "is true or false, and the program wants text"),
        (column("hash", unsigned(64), Text), 1, "is binary, and the program wants text"),
        (column("hash", unsigned(31), Hex), 4, "has more than 31 bits"),
        (column("day", unsigned(32), Number), 1, "is a date: write dates as numbers"),
        (
            column("amount", unsigned(64), Text),
            1,
            "is a decimal number, and the program wants text",
        ),
        (column("single", signed(8), Fixed(1)), 4, "does not fit a number from -64 to 63.5"),
    ] {
        for path in files() {
            let message = read(&count(&path), &column).expect_err("it does not fit");
            let start = format!("{}: row {row}, column '{}': ", path.display(), column.name);
            assert!(message.starts_with(&start) && message.contains(part), "{message}");
        }
    }
    for path in files() {
        let input = count(&path);
        // Frames of pandas have no missing whole numbers, but floats that are none.
        let maybe = column("maybe", signed(32), Number);
        let message = read(&input, &maybe).expect_err("two are missing");
        assert!(message.contains("leave out rows without a value"), "{message}");
        assert_eq!(message.lines().count(), 2);
        for name in ["when", "list"] {
            let column = column(name, unsigned(64), Number);
            let message = read(&input, &column).expect_err("it is no number");
            let is_there = !message.contains("there is no column");
            assert!(
                message.contains("holds points in time")
                    || message.contains("holds lists")
                    || !is_there,
                "{message}"
            );
        }
    }
}

#[test]
fn columns_that_are_missing_are_named() {
    for path in files() {
        let missing = column("age", ElementType::unsigned(8), Encoding::Number);
        let message = read(&count(&path), &missing).expect_err("there is none");
        let start =
            format!("{}: there is no column 'age'; the header has id, small", path.display());
        assert!(message.starts_with(&start), "{message}");
    }
}

#[test]
fn rows_are_shown_beside_results() {
    for path in files() {
        let input = count(&path);
        let mut rows = OwnRows::open(&input).expect("it is there");
        let names = rows.columns();
        let place = |name: &str| names.iter().position(|found| found.name == name);
        let all: Vec<_> = (0..ROWS).map(|_| texts(&mut rows)).collect();
        let shown = |name: &str, row: usize| place(name).map(|place| all[row][place].clone());
        assert_eq!(shown("id", 1).as_deref(), Some("-2"));
        assert_eq!(shown("name", 2).as_deref(), Some("Ren\u{e9}"));
        assert_eq!(shown("amount", 3).as_deref(), Some("12345.75"));
        assert_eq!(shown("day", 1).as_deref(), Some("2024-02-29"));
        if let Some(when) = shown("when", 0) {
            assert!(when.starts_with("20") && when.as_bytes()[10] == b'T', "{when}");
        }
        assert!(!names.iter().any(|own| rows.left_out().contains(&own.name)));
        rows.finish().expect("nothing changed");
    }
}

/// All widths and signs, with the lowest and the highest value of each.
fn columns() -> Vec<Column> {
    let numbers = (1..=64).chain([65, 126, 127, 251, 252]).flat_map(|width| {
        [false, true].map(|signed| {
            let name = format!("{}{width}", if signed { 'i' } else { 'u' });
            column(&name, ElementType::integer(width, signed), Encoding::Number)
        })
    });
    let others = [
        column("hex", ElementType::unsigned(129), Encoding::Hex),
        column("fixed", ElementType::signed(53), Encoding::Fixed(63)),
        column("small", ElementType::unsigned(20), Encoding::Fixed(7)),
    ];
    numbers.chain(others).collect()
}

#[test]
fn results_are_read_back_as_they_were_written() {
    let columns = columns();
    let mut table = Table::zeros(columns.clone(), 10_000);
    for row in 0..10_000u64 {
        for (place, column) in columns.iter().enumerate() {
            let mask = mask_of(column.element.width());
            let noise = Lane::from(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(row + 7 * place as u64));
            let value = match row {
                0 => Lane::ZERO,
                1 => mask,
                2 => mask >> 1,
                3 => (mask >> 1) + Lane::ONE,
                _ => (noise * noise * noise * noise) & mask,
            };
            table.set_cell(row, place, value);
        }
    }
    for format in [Format::Parquet, Format::ArrowFile, Format::ArrowStream] {
        format.check(&columns).expect("all fit");
        let mut bytes = Vec::new();
        write_table(&table, &mut *sink(format, &mut bytes)).expect("memory");
        let longest = format.longest_bytes(&columns, 10_000);
        assert!(bytes.len() as u64 <= longest, "{format:?}: {} > {longest}", bytes.len());
        let source = open(Content::Bytes(bytes)).expect("its format is known");
        let input = Input::count(source).expect("it is right");
        let read = input.read(&columns, &[], &TextKey::within_a_file()).expect("it is right");
        for (place, column) in columns.iter().enumerate() {
            let differs = (0..10_000).find(|&r| read.table.cell(r, place) != table.cell(r, place));
            assert_eq!(differs, None, "{format:?}: {}", column.name);
        }
    }
    for (wide, encoding) in [(253, Encoding::Number), (64, Encoding::Fixed(60))] {
        let column = column("wide", ElementType::unsigned(wide), encoding);
        let message = Format::Parquet.check(std::slice::from_ref(&column)).expect_err("too wide");
        assert!(message.contains(&format!("'wide' has {wide} bits")), "{message}");
        let table = Table::zeros(vec![column], 1);
        assert!(write_table(&table, &mut *sink(Format::Parquet, &mut Vec::new())).is_err());
    }
}

#[test]
fn rows_without_a_result_are_null_and_the_owners_columns_keep_their_types() {
    let columns = [column("n", ElementType::unsigned(9), Encoding::Number)];
    let integer = |number: i128| TableCell::Integer(number.into());
    let decimal = |number: i128| TableCell::Decimal { number: number.into(), scale: 2 };
    let own = [
        ("n", CellType::Integer { width: 16, is_signed: true }, integer(-300)),
        ("id", CellType::Integer { width: 64, is_signed: false }, integer(u64::MAX.into())),
        ("paid", CellType::Boolean, TableCell::Boolean(true)),
        ("price", CellType::Decimal { digits: 9, scale: 2 }, decimal(-12345)),
        ("sum", CellType::Decimal { digits: 60, scale: 2 }, decimal(i128::MAX)),
        ("ratio", CellType::Single, TableCell::Single(0.1)),
        ("share", CellType::Double, TableCell::Double(0.1)),
        ("who", CellType::Text, TableCell::Text("ann".into())),
        ("key", CellType::Bytes, TableCell::Bytes(&[0, 0xff])),
        ("day", CellType::Date, TableCell::Date(-1)),
    ];
    // A decimal of fewer digits behind the point is the same number.
    let other_scale = TableCell::Decimal { number: (-1234i128).into(), scale: -1 };
    let header: Vec<OwnColumn> =
        own.iter().map(|(name, cell_type, _)| own_column(name, *cell_type)).collect();
    let cells: Vec<TableCell<'_>> = own.iter().map(|(_, _, cell)| cell.clone()).collect();
    let nulls = vec![TableCell::Null; own.len()];
    for format in [Format::Parquet, Format::ArrowFile, Format::ArrowStream] {
        let (mut nowhere, mut nowhere_else) = (Vec::new(), Vec::new());
        {
            let mut sink = sink(format, &mut nowhere);
            let head = ResultHeader { own: &header, columns: &columns, rows: 2 };
            sink.begin(&head).expect("memory");
            assert!(sink.row(&cells[1..], &[None]).is_err(), "values of other types are refused");
            let own = [own_column("price", CellType::Decimal { digits: 9, scale: 2 })];
            let mut rescaled = phineus_tables::sink(format, &mut nowhere_else);
            let head = ResultHeader { own: &own, columns: &[], rows: 1 };
            rescaled.begin(&head).expect("memory");
            rescaled.row(std::slice::from_ref(&other_scale), &[]).expect("it has the scale");
            rescaled.end().expect("memory");
        }
        let input =
            Input::count(open(Content::Bytes(nowhere_else)).expect("known")).expect("right");
        let mut rows = OwnRows::open(&input).expect("it is there");
        assert_eq!(rows.next_row().expect("it is there"), [decimal(-1_234_000)]);
        let mut bytes = Vec::new();
        {
            let mut sink = sink(format, &mut bytes);
            let head = ResultHeader { own: &header, columns: &columns, rows: 2 };
            sink.begin(&head).expect("memory");
            sink.row(&cells, &[Some(Lane::from(500))]).expect("memory");
            sink.row(&nulls, &[None]).expect("memory");
            sink.end().expect("memory");
        }
        let input = Input::count(open(Content::Bytes(bytes)).expect("known")).expect("right");
        let mut rows = OwnRows::open(&input).expect("it is there");
        let unsigned = CellType::Integer { width: 16, is_signed: false };
        let mut expected = header.clone();
        expected.push(own_column("result.n", unsigned));
        assert_eq!(rows.columns(), expected);
        let expected: Vec<_> = cells.iter().cloned().chain([integer(500)]).collect();
        assert_eq!(rows.next_row().expect("it is there"), expected);
        assert_eq!(rows.next_row().expect("it is there"), vec![TableCell::Null; own.len() + 1]);
    }
}

fn own_column(name: &str, cell_type: CellType) -> OwnColumn {
    OwnColumn { name: name.to_owned(), cell_type }
}

/// The next row as text.
fn texts(rows: &mut OwnRows<'_>) -> Vec<String> {
    rows.next_row().expect("it is there").iter().map(TableCell::shown).collect()
}

/// Points in time and times of day become text, and what has parts is left out by name.
#[test]
fn points_in_time_are_shown_and_lists_are_not() {
    use arrow_array::types::{TimestampMicrosecondType, TimestampSecondType};
    use arrow_array::{ArrayRef, ListArray, PrimitiveArray, RecordBatch, Time32SecondArray};
    let seconds = PrimitiveArray::<TimestampSecondType>::from(vec![Some(1_706_702_400), None]);
    let utc = PrimitiveArray::<TimestampMicrosecondType>::from(vec![0i64, i64::MAX]);
    let list = vec![Some(vec![Some(1i64)]), None];
    let list = ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(list);
    let columns: [(&str, ArrayRef); 4] = [
        ("local", Arc::new(seconds)),
        ("utc", Arc::new(utc.with_timezone("+00:00"))),
        ("at", Arc::new(Time32SecondArray::from(vec![3661, 0]))),
        ("list", Arc::new(list)),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("their lengths are equal");
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).expect("memory");
    writer.write(&batch).and_then(|()| writer.finish()).expect("memory");
    drop(writer);
    let input = Input::count(open(Content::Bytes(bytes)).expect("known")).expect("right");
    let mut rows = OwnRows::open(&input).expect("it is there");
    assert_eq!(rows.left_out(), ["list"]);
    // As many digits as the unit has, also where they are 0.
    let first = ["2024-01-31T12:00:00", "1970-01-01T00:00:00.000000Z", "01:01:01"];
    assert_eq!(texts(&mut rows), first);
    // Outside of the calendar.
    assert_eq!(texts(&mut rows), ["", "9223372036854775807", "00:00:00"]);
}

/// Fractions in more than 53 bits become decimals, which are read back as the same values.
#[test]
fn wide_fractions_survive() {
    for (width, fraction) in [(54, 0), (64, 16), (64, 57), (128, 32), (128, 38)] {
        for element in [ElementType::signed(width), ElementType::unsigned(width)] {
            let column = column("x", element, Encoding::Fixed(fraction));
            let mut table = Table::new(vec![column.clone()]);
            let most = mask_of(width);
            for value in [Lane::ZERO, Lane::ONE, most, most >> 1, (most >> 1) + Lane::ONE] {
                table.push(&[value]);
            }
            for format in [Format::Parquet, Format::ArrowFile] {
                let mut bytes = Vec::new();
                write_table(&table, &mut *sink(format, &mut bytes)).expect("memory");
                let input = Input::count(open(Content::Bytes(bytes)).expect("known"));
                let values = read(&input.expect("right"), &column).expect("they fit");
                let expected: Vec<Lane> =
                    (0..table.row_count()).map(|k| table.cell(k, 0)).collect();
                assert_eq!(values, expected, "{element} with {fraction} bits behind the point");
            }
        }
    }
}

/// A stream without its end mark may have been cut.
#[test]
fn streams_that_were_cut_between_batches_are_refused() {
    let mut bytes = Vec::new();
    let mut table = Table::new(vec![column("x", ElementType::unsigned(8), Encoding::Number)]);
    table.push(&[Lane::ONE]);
    write_table(&table, &mut *sink(Format::ArrowStream, &mut bytes)).expect("memory");
    bytes.truncate(bytes.len() - 8);
    let refused = Input::count(open(Content::Bytes(bytes)).expect("known")).err();
    let message = refused.expect("the mark is missing").to_string();
    assert!(message.contains("ends without its end mark"), "{message}");
}

/// A column that nobody computes on, but that is shown, is decoded with those that are read.
#[test]
fn columns_that_are_only_shown_are_decoded_before() {
    let id = column("id", ElementType::unsigned(8), Encoding::Number);
    let own = [
        own_column("id", CellType::Integer { width: 8, is_signed: false }),
        own_column("who", CellType::Text),
    ];
    let mut bytes = Vec::new();
    {
        let mut sink = sink(Format::ArrowStream, &mut bytes);
        sink.begin(&ResultHeader { own: &own, columns: &[], rows: 1 }).expect("memory");
        let row = [TableCell::Integer(7u64.into()), TableCell::Text("needle".into())];
        sink.row(&row, &[]).expect("memory");
        sink.end().expect("memory");
    }
    let place = bytes.windows(6).position(|six| six == b"needle").expect("it is not compressed");
    bytes[place] = 0xff;
    let input = Input::count(open(Content::Bytes(bytes)).expect("known")).expect("right");
    let (columns, key) = (std::slice::from_ref(&id), TextKey::within_a_file());
    assert!(input.read(columns, &[], &key).is_ok(), "it does not need the text");
    let message = input.read_shown(columns, &[], &key).err().expect("no UTF-8").to_string();
    assert!(!message.contains("changed"), "{message}");
}

/// A float of 16 bits represents all whole numbers up to 2^11 only.
#[test]
fn halves_are_whole_numbers_up_to_2_to_the_11() {
    let number = column("x", ElementType::signed(32), Encoding::Number);
    let key = TextKey::within_a_file();
    assert_eq!(TableCell::Half(2048.0).value(&number, &key), Ok(Lane::from(2048)));
    assert!(TableCell::Half(2050.0).value(&number, &key).is_err());
    assert_eq!(TableCell::Single(2050.0).value(&number, &key), Ok(Lane::from(2050)));
}

/// Every byte of a file may be wrong: the answer is a table or a sentence.
#[test]
fn damaged_files_are_read_or_refused() {
    std::panic::set_hook(Box::new(|info| {
        if !phineus_tables::is_reading_foreign() {
            eprintln!("{info}");
        }
    }));
    let seed = std::env::var("PHINEUS_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed: u64 = seed.unwrap_or_else(|| clock.expect("it is past 1970").as_nanos() as u64 | 1);
    println!("PHINEUS_TEST_SEED={seed}");
    let mut state = seed;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let columns = [
        column("id", ElementType::signed(64), Encoding::Number),
        column("name", ElementType::unsigned(64), Encoding::Text),
        column("city", ElementType::unsigned(64), Encoding::Text),
        column("amount", ElementType::signed(32), Encoding::Fixed(2)),
    ];
    let (mut read_count, mut refused) = (0, 0);
    for path in files() {
        let whole = fs::read(&path).expect("it is part of the crate");
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..1 + next(3) {
                let at = next(bytes.len());
                match next(4) {
                    0 => bytes[at] = next(256) as u8,
                    1 => bytes[at] ^= 1 << next(8),
                    2 => bytes.truncate(at.max(16)),
                    _ => drop(bytes.remove(at)),
                }
            }
            let Ok(source) = open(Content::Bytes(bytes)) else { continue };
            let result = Input::count(source).and_then(|input| {
                if input.rows > 1 << 20 {
                    return Err(Error::from(std::io::Error::other("too long for a test")));
                }
                input.read(&columns, &[], &TextKey::within_a_file()).map(drop)
            });
            match result {
                Ok(()) => read_count += 1,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(read_count > 0 && refused > 0, "{read_count} read, {refused} refused");
}
