//! The rows of an input file as text, one after the other, once more.

use csv::StringRecord;

use super::header::clean;
use super::{Counted, SourceReader};
use crate::failure::{Failure, codes};
use crate::npy;

/// The rows that an owner brought, as they stand in the file; rows that were left out are passed.
pub(crate) struct FileRows<'a> {
    counted: &'a Counted,
    /// None of a binary file, whose rows are numbers: they are counted.
    reader: Option<csv::Reader<SourceReader<'a>>>,
    header: Vec<String>,
    file_row: u64,
}

impl<'a> FileRows<'a> {
    /// Opens the file again.
    ///
    /// # Errors
    /// If it cannot be read any more.
    pub(crate) fn open(counted: &'a Counted) -> Result<FileRows<'a>, Failure> {
        if npy::open(&counted.source)?.is_some() {
            let header = vec!["row".to_owned()];
            return Ok(FileRows { counted, reader: None, header, file_row: 0 });
        }
        let mut reader =
            csv::ReaderBuilder::new().flexible(true).from_reader(counted.source.reader()?);
        let header = reader.headers().map_err(|error| changed(counted, &error.to_string()))?;
        let header = header.iter().map(clean).collect();
        Ok(FileRows { counted, reader: Some(reader), header, file_row: 0 })
    }

    /// The names of the columns.
    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    /// The next row, as many fields as the header has.
    ///
    /// # Errors
    /// If the file changed since it was read.
    pub(crate) fn next_row(&mut self) -> Result<Vec<String>, Failure> {
        loop {
            let row = self.file_row;
            self.file_row += 1;
            let is_left_out = u32::try_from(row)
                .is_ok_and(|row| self.counted.repeated.binary_search(&row).is_ok());
            let Some(reader) = &mut self.reader else {
                if is_left_out {
                    continue;
                }
                return Ok(vec![row.to_string()]);
            };
            let mut record = StringRecord::new();
            match reader.read_record(&mut record) {
                Ok(true) if is_left_out => {}
                Ok(true) => {
                    let mut fields: Vec<String> = record.iter().map(str::to_owned).collect();
                    fields.resize(self.header.len(), String::new());
                    return Ok(fields);
                }
                Ok(false) => return Err(changed(self.counted, "it has fewer rows")),
                Err(error) => return Err(changed(self.counted, &error.to_string())),
            }
        }
    }

    /// Makes sure, after the last row, that all were those of the file that was counted.
    ///
    /// # Errors
    /// If the file changed since then.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let Some((reader, hash)) = self.reader.zip(self.counted.hash) else { return Ok(()) };
        match reader.into_inner().finish() {
            Ok(read) if read == hash => Ok(()),
            Ok(_) => Err(changed(self.counted, "it has other rows")),
            Err(error) => Err(changed(self.counted, &error.to_string())),
        }
    }
}

fn changed(counted: &Counted, what: &str) -> Failure {
    let message = format!("{}: changed while it was computed on: {what}", counted.source.name());
    Failure::new(codes::INPUT_CHANGED, message)
        .remedy("run again with the file as it was: results are shown beside its rows")
}
