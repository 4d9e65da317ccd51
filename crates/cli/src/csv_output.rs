//! Results as CSV, and files that appear whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};

use crate::failure::{Failure, codes};
use crate::{decimal, interrupt, quantity};

/// Writes `table` with a header: numbers in decimal, text in hexadecimal.
pub(crate) fn write_table(table: &Table, output: impl Write) -> std::io::Result<()> {
    let mut writer = csv::WriterBuilder::new().from_writer(output);
    let failed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => unreachable!("rows have the header's length and are text: {other:?}"),
    };
    let names = table.columns().iter().map(|column| column.name.as_str());
    writer.write_record(names).map_err(failed)?;
    for row in 0..table.row_count() {
        let fields = table.columns().iter().enumerate();
        let fields = fields.map(|(place, column)| format_value(table.cell(row, place), column));
        writer.write_record(fields).map_err(failed)?;
    }
    writer.flush()
}

/// A value as text.
pub(crate) fn format_value(value: Lane, column: &Column) -> String {
    let ElementType::Bits { width, signed, .. } = column.element else {
        unreachable!("tables hold bits only");
    };
    match column.encoding {
        Encoding::Number if signed && value.bit(usize::from(width) - 1) => {
            format!("-{}", value.wrapping_neg() & mask_of(width))
        }
        Encoding::Number => value.to_string(),
        Encoding::Hex | Encoding::Text => {
            format!("{value:0digits$x}", digits = usize::from(width).div_ceil(4))
        }
        Encoding::Fixed(fraction) => decimal::format(value, column.element, fraction),
    }
}

/// Writes a file beside its place and moves it there when it is whole.
///
/// # Errors
/// Names the file.
pub(crate) fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::file(path, &error);
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // A pipe or a device (such as /dev/null) cannot be replaced: write into it.
    let is_special = path.metadata().is_ok_and(|data| !data.is_file());
    if is_special {
        let mut file = File::options().write(true).open(path).map_err(failed)?;
        let mut buffer = BufWriter::new(&mut file);
        write(&mut buffer)?;
        return buffer.flush().map_err(failed);
    }
    let mut temporary = tempfile::Builder::new()
        .prefix(".phineus-")
        .suffix(".partial")
        .tempfile_in(directory)
        .map_err(failed)?;
    let partial = temporary.path().to_owned();
    interrupt::remember(&partial);
    let mut buffer = BufWriter::new(temporary.as_file_mut());
    let written = write(&mut buffer).map_err(|failure| Failure {
        message: format!("{}: {}", path.display(), failure.message),
        ..failure
    });
    let written = written.and_then(|()| buffer.flush().map_err(failed));
    drop(buffer);
    let written = written.and_then(|()| temporary.as_file().sync_all().map_err(failed));
    let placed = written.and_then(|()| {
        let persisted = temporary.persist(path);
        persisted.map(drop).map_err(|error| failed(error.error))
    });
    interrupt::forget(&partial);
    placed
}

/// Bytes of the longest CSV that rows of these columns can give, the header left out.
pub(crate) fn longest_bytes(columns: &[Column], rows: u64) -> u64 {
    let longest = |column: &Column| match column.encoding {
        // A sign, a digit for each 3.3 bits, a separator.
        Encoding::Number => u64::from(column.element.width()) * 31 / 100 + 3,
        Encoding::Hex | Encoding::Text => u64::from(column.element.width()).div_ceil(4) + 1,
        // Besides these a point, and a digit before it and one more behind.
        Encoding::Fixed(fraction) => {
            let (width, fraction) = (column.element.width(), u16::from(fraction));
            u64::from(width.max(fraction)) * 31 / 100 + 7
        }
    };
    columns.iter().map(longest).sum::<u64>().saturating_mul(rows)
}

/// Checks early that a file can be written later.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    check_room(path, 0)
}

/// Checks early that a file of at most so many bytes can be written later: what a run computes is
/// not lost for want of a place.
pub(crate) fn check_room(path: &Path, bytes: u64) -> Result<(), Failure> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if path.is_dir() {
        let message = format!("{}: is a directory, not a file", path.display());
        return Err(Failure::usage(message));
    }
    if !directory.is_dir() {
        let what = match directory.exists() {
            true => "is not a directory",
            false => "does not exist",
        };
        let (shown, file) = (directory.display(), path.display());
        let message = format!("{file} cannot be written: the directory {shown} {what}");
        return Err(Failure::usage(message)
            .remedy(format!("make it with `mkdir -p {shown}`, or name another file")));
    }
    if path.exists() && !path.is_file() {
        return Ok(());
    }
    match tempfile::Builder::new().prefix(".phineus-").tempfile_in(directory) {
        Ok(file) => match phineus_engine::free_bytes(file.as_file()) {
            Some(free) if free < bytes => {
                let (free, needed) = (quantity::bytes(free), quantity::bytes(bytes));
                let message =
                    format!("{} may need {needed}, {free} are free there", path.display());
                Err(Failure::new(codes::NO_ROOM_FOR_RESULTS, message)
                    .remedy("make room, or name another file"))
            }
            _ => Ok(()),
        },
        Err(error) => Err(Failure::usage(format!("{} cannot be written: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv_input::{Source, count_rows, parse_field, read_table};
    use crate::failure::Exit;

    #[test]
    fn what_is_written_is_read_back() {
        let cases = [
            (ElementType::unsigned(8), Encoding::Number, 0..256u64),
            (ElementType::signed(8), Encoding::Number, 0..256),
            (ElementType::signed(1), Encoding::Number, 0..2),
            (ElementType::unsigned(9), Encoding::Hex, 0..512),
        ];
        for (element, encoding, values) in cases {
            let column = Column { name: "x".to_owned(), element, encoding };
            for value in values.map(Lane::from) {
                let text = format_value(value, &column);
                let key = crate::text_key::TextKey::within_a_file();
                assert_eq!(parse_field(&text, element, encoding, &key), Ok(value), "{text}");
            }
        }
    }

    #[test]
    fn no_row_is_longer_than_said() {
        for width in 1..=256u16 {
            let encodings = [Encoding::Number, Encoding::Hex];
            let fixed = Encoding::Fixed((width % 64) as u8);
            let fixed = [(false, fixed), (true, fixed)].into_iter().filter(|_| width <= 128);
            let others = [false, true].into_iter().zip(encodings.into_iter().rev());
            for (signed, encoding) in others.chain(fixed) {
                let element = ElementType::integer(width, signed);
                let column = Column { name: "x".to_owned(), element, encoding };
                let most = longest_bytes(std::slice::from_ref(&column), 1);
                for value in [mask_of(width), Lane::from(1) << usize::from(width - 1)] {
                    let text = format_value(value, &column);
                    assert!(text.len() < most as usize, "{text} as {element}");
                }
            }
        }
    }

    #[test]
    fn a_full_disk_is_noticed_before_a_run() {
        let directory = tempfile::tempdir().expect("a place for tests");
        let path = directory.path().join("out.csv");
        check_room(&path, 1).expect("a byte is free");
        let failure = check_room(&path, u64::MAX).expect_err("more than any disk has");
        assert_eq!(failure.code.exit, Exit::DoesNotFit);
        assert_eq!(std::fs::read_dir(directory.path()).expect("still there").count(), 0);
    }

    #[test]
    fn a_table_survives() {
        let columns = vec![
            Column {
                name: "a, b".to_owned(),
                element: ElementType::signed(256),
                encoding: Encoding::Number,
            },
            Column {
                name: "c".to_owned(),
                element: ElementType::unsigned(12),
                encoding: Encoding::Hex,
            },
        ];
        let mut table = Table::new(columns.clone());
        table.push(&[Lane::MAX, Lane::from(10)]);
        table.push(&[Lane::from(5), Lane::from(0xfff)]);
        let mut bytes = Vec::new();
        write_table(&table, &mut bytes).expect("memory");
        assert_eq!(bytes, b"\"a, b\",c\n-1,00a\n5,fff\n");
        let counted = count_rows(Source::Bytes(bytes)).expect("it is right");
        let (copy, _) = read_table(&counted, &columns).expect("it is right");
        assert!(phineus_frontend::same_rows(&copy, &table));
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().expect("writable");
        let path = directory.path().join("x.csv");
        write_atomically(&path, |file| Ok(file.write_all(b"old")?)).expect("writable");
        let failed = write_atomically(&path, |file| {
            file.write_all(b"new")?;
            Err(Failure::new(codes::SYSTEM, "no"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).expect("it is there"), b"old");
        let files = std::fs::read_dir(directory.path()).expect("readable").count();
        assert_eq!(files, 1);
    }
}
