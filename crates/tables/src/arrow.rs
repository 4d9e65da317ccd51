//! Tables in Apache Arrow's formats: record batches in a file (`.arrow`, Feather 2) or a stream
//! (`.arrows`).
//!
//! Source: Arrow Columnar Format, "IPC Streaming Format" and "IPC File Format". The survey reads the
//! messages' headers and no values.
//!
//! Memory is one record batch with what it decompresses to; the survey states how much that is, and
//! refuses batches of more than [`BATCH_BYTES_MAX`].

mod batches;
mod cells;
mod own;
mod survey;
pub(crate) mod write;

use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};

use batches::Batches;
pub(crate) use batches::{BatchRows, RecordBatchTable, check_names, guarded, is_reading_foreign};

use crate::content::{Content, ContentHash};
use crate::error::{Error, RefusalKind};
use crate::source::{RowReader, Survey, TableSource};

/// How a file of record batches begins; a stream begins with its first message.
pub(crate) const MAGIC: [u8; 6] = *b"ARROW1";

/// How a message begins, and so a stream.
pub(crate) const CONTINUATION: [u8; 4] = [0xff; 4];

/// Bytes of the largest record batch that is read, decompressed.
const BATCH_BYTES_MAX: u64 = 1 << 30;

/// Remedy for a file that cannot be read.
pub(crate) const WRITE_AGAIN: &str = "write it again, without encryption, in Python with pyarrow.feather.write_feather or \
     DataFrame.to_parquet";

/// A file or stream of record batches.
pub(crate) struct ArrowFile {
    content: Content,
    is_stream: bool,
}

impl ArrowFile {
    pub(crate) fn new(content: Content, is_stream: bool) -> ArrowFile {
        ArrowFile { content, is_stream }
    }

    fn refused(&self, what: impl std::fmt::Display) -> Error {
        let what = format!("is no Arrow table that is understood: {what}");
        Error::refused(RefusalKind::Malformed, self.content.name(), what).remedy(WRITE_AGAIN)
    }

    /// Begins to read these columns, or all.
    fn batches(&self, columns: Option<Vec<usize>>) -> Result<(SchemaRef, Batches<'_>), String> {
        let input = self.content.anywhere().map_err(|error| error.to_string())?;
        let opened = guarded(|| -> Result<(SchemaRef, Batches<'_>), ArrowError> {
            Ok(match self.is_stream {
                true => {
                    let reader = StreamReader::try_new(input, columns)?;
                    (reader.schema(), Box::new(reader))
                }
                false => {
                    let reader = FileReader::try_new(input, columns)?;
                    (reader.schema(), Box::new(reader))
                }
            })
        });
        opened?.map_err(|error| error.to_string())
    }

    fn open_batches(&self) -> Result<RecordBatchTable<'_>, Error> {
        let (schema, _) = self.batches(None).map_err(|what| self.refused(what))?;
        let open = move |columns: &[usize]| Ok(self.batches(Some(columns.to_vec()))?.1);
        Ok(RecordBatchTable { schema, open: Box::new(open) })
    }
}

impl TableSource for ArrowFile {
    fn name(&self) -> String {
        self.content.name()
    }

    fn survey(&self) -> Result<Survey, Error> {
        let mut input = self.content.anywhere()?;
        let found = guarded(|| match self.is_stream {
            true => survey::stream(&mut input),
            false => survey::file(&mut input),
        });
        let found = found.and_then(|found| found).map_err(|what| self.refused(what))?;
        check_names(&self.name(), &self.open_batches()?.names())?;
        let hash = self.content.reader()?.finish()?;
        Ok(Survey { rows: found.rows, hash: Some(hash), buffer_bytes: found.buffer_bytes() })
    }

    fn open(&self) -> Result<Box<dyn RowReader + '_>, Error> {
        Ok(Box::new(BatchRows::new(self.open_batches()?, &self.content)))
    }

    fn still_has(&self, hash: &ContentHash) -> bool {
        self.content.still_has(hash)
    }
}
