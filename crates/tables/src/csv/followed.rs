//! [`CsvScanner`]: finds properties of a CSV text that the library does not report.

use std::io::Read;

use csv::ReaderBuilder;

/// Bytes of a row, which is held whole: as many as 100,000 columns of 20 digits.
pub(crate) const ROW_BYTES_MAX: u64 = 2 << 20;

/// Where in a field the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldState {
    Start,
    Plain,
    Quoted,
    /// A quote inside quotes: the last one, or the first of two.
    Quote,
}

/// Follows what is read: the library takes the end of the file for a closing quote, also where that
/// makes one field of half a table. Refuses rows that are too long to be held.
///
/// Outside quotes every end of a line is given on as `\n`, whatever it is in the file: the library ends
/// a row at the `\r` of `\r\n` and counts lines by `\n`, so the line of the next row would be one too
/// small.
pub(crate) struct CsvScanner<R> {
    input: R,
    place: FieldState,
    line: u64,
    /// The byte before.
    last: u8,
    row_bytes: u64,
    /// An empty line that nothing has followed yet.
    last_empty_line: Option<u64>,
    /// The library skips it, and in a file of one column it may be a value that is missing.
    empty_line: Option<u64>,
}

impl<R: Read> CsvScanner<R> {
    pub(crate) fn reader(input: R) -> csv::Reader<CsvScanner<R>> {
        let follower = CsvScanner {
            input,
            place: FieldState::Start,
            line: 1,
            last: 0,
            row_bytes: 0,
            last_empty_line: None,
            empty_line: None,
        };
        ReaderBuilder::new().flexible(true).from_reader(follower)
    }
}

impl<R> CsvScanner<R> {
    /// Whether a quote was opened last, and not closed.
    pub(crate) fn ends_in_quotes(&self) -> bool {
        self.place == FieldState::Quoted
    }

    /// The first empty line that something follows.
    pub(crate) fn empty_line(&self) -> Option<u64> {
        self.empty_line
    }

    /// The first of the empty lines at the end of what was read.
    pub(crate) fn empty_line_at_end(&self) -> Option<u64> {
        self.last_empty_line
    }

    pub(crate) fn into_input(self) -> R {
        self.input
    }

    /// Where the reader is after `byte`, and the byte to give on, if any.
    fn follow(&mut self, place: FieldState, byte: u8) -> (FieldState, Option<u8>) {
        let place = match (place, byte) {
            (FieldState::Quoted, b'"') => FieldState::Quote,
            (FieldState::Quoted, _) | (FieldState::Start | FieldState::Quote, b'"') => {
                FieldState::Quoted
            }
            (_, b',' | b'\r' | b'\n') => FieldState::Start,
            _ => FieldState::Plain,
        };
        let is_second = (self.last, byte) == (b'\r', b'\n');
        self.last = byte;
        if is_second {
            return (place, (place == FieldState::Quoted).then_some(byte));
        }
        let ends_line = matches!(byte, b'\r' | b'\n');
        let ends_row = ends_line && place == FieldState::Start;
        match (ends_row, self.row_bytes) {
            (true, 0) => self.last_empty_line = self.last_empty_line.or(Some(self.line)),
            (true, _) => self.row_bytes = 0,
            (false, _) => {
                self.row_bytes += 1;
                if let Some(line) = self.last_empty_line.take() {
                    self.empty_line.get_or_insert(line);
                }
            }
        }
        self.line += u64::from(ends_line);
        (place, Some(if ends_row { b'\n' } else { byte }))
    }
}

impl<R: Read> Read for CsvScanner<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let count = self.input.read(buffer)?;
            let mut place = self.place;
            let mut given = 0;
            for index in 0..count {
                let (next, byte) = self.follow(place, buffer[index]);
                place = next;
                if let Some(byte) = byte {
                    buffer[given] = byte;
                    given += 1;
                }
            }
            self.place = place;
            if self.row_bytes > ROW_BYTES_MAX {
                let mib = ROW_BYTES_MAX >> 20;
                return Err(std::io::Error::other(format!("a row is longer than {mib} MiB")));
            }
            // No bytes would mean the end of the file.
            if given > 0 || count == 0 || buffer.is_empty() {
                return Ok(given);
            }
        }
    }
}
