//! Tables in Apache Parquet's format, compressed with any of the usual codecs.
//!
//! Reading decodes the wanted columns only, [`BATCH_ROWS`] rows at a time. Memory is that of the pages
//! which hold these rows; the survey states how much that is at most for writers that keep to the
//! recommended size of pages.

use std::fs::File;
use std::io::Write;

use bytes::Bytes;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};
use phineus_bytecode::Lane;

use crate::arrow::write::BatchBuilder;
use crate::arrow::{BatchRows, RecordBatchTable, WRITE_AGAIN, check_names, guarded};
use crate::cell::TableCell;
use crate::content::{Content, ContentHash};
use crate::error::{Error, RefusalKind};
use crate::sink::{ResultHeader, TableSink};
use crate::source::{RowReader, Survey, TableSource};

/// How such a file begins and ends.
pub(crate) const MAGIC: [u8; 4] = *b"PAR1";

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 1024;

/// Bytes of a column that are decoded at once: a page of values and one of a dictionary, each of the
/// recommended 1 MiB, compressed and not.
const COLUMN_BYTES_MAX: u64 = 4 << 20;

/// Rows of a group that is written, which is in memory at once, encoded.
const GROUP_ROWS: usize = 1 << 16;

/// A Parquet file.
pub(crate) struct ParquetFile(Content);

/// The content, read at any place.
#[derive(Clone)]
enum ParquetRows {
    File(std::sync::Arc<File>),
    Bytes(Bytes),
}

impl Length for ParquetRows {
    fn len(&self) -> u64 {
        match self {
            ParquetRows::File(file) => file.metadata().map_or(0, |data| data.len()),
            ParquetRows::Bytes(bytes) => bytes.len() as u64,
        }
    }
}

impl ChunkReader for ParquetRows {
    type T = Box<dyn std::io::Read + Send>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(match self {
            ParquetRows::File(file) => Box::new(file.get_read(start)?),
            ParquetRows::Bytes(bytes) => Box::new(bytes.get_read(start)?),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // A length beyond the file is a damaged header, and no reason to take so much memory.
        if start.checked_add(length as u64).is_none_or(|end| end > self.len()) {
            return Err(ParquetError::EOF("it ends too early".to_owned()));
        }
        match self {
            ParquetRows::File(file) => file.get_bytes(start, length),
            ParquetRows::Bytes(bytes) => bytes.get_bytes(start, length),
        }
    }
}

impl ParquetFile {
    pub(crate) fn new(content: Content) -> ParquetFile {
        ParquetFile(content)
    }

    fn refused(&self, what: impl std::fmt::Display) -> Error {
        let what = format!("is no Parquet table that is understood: {what}");
        Error::refused(RefusalKind::Malformed, self.0.name(), what).remedy(WRITE_AGAIN)
    }

    fn chunks(&self) -> Result<ParquetRows, Error> {
        // Opens and checks the file as for the other formats.
        drop(self.0.reader()?);
        Ok(match &self.0 {
            Content::Path(path) => ParquetRows::File(std::sync::Arc::new(File::open(path)?)),
            Content::Bytes(bytes) => ParquetRows::Bytes(Bytes::from(bytes.clone())),
        })
    }

    fn open_file(&self) -> Result<(ParquetRows, ArrowReaderMetadata), Error> {
        let chunks = self.chunks()?;
        let load = || ArrowReaderMetadata::load(&chunks, ArrowReaderOptions::new());
        let metadata = guarded(load)
            .and_then(|loaded| loaded.map_err(|error| error.to_string()))
            .map_err(|what| self.refused(what))?;
        Ok((chunks, metadata))
    }

    fn open_batches(&self) -> Result<RecordBatchTable<'_>, Error> {
        let (chunks, metadata) = self.open_file()?;
        let schema = metadata.schema().clone();
        let open = move |columns: &[usize]| {
            let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.iter().copied());
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
                chunks.clone(),
                metadata.clone(),
            );
            let builder = builder.with_projection(mask).with_batch_size(BATCH_ROWS);
            let reader = guarded(|| builder.build())?.map_err(|error| error.to_string())?;
            Ok(Box::new(reader) as Box<_>)
        };
        Ok(RecordBatchTable { schema, open: Box::new(open) })
    }
}

impl TableSource for ParquetFile {
    fn name(&self) -> String {
        self.0.name()
    }

    fn survey(&self) -> Result<Survey, Error> {
        let (_, metadata) = self.open_file()?;
        let names = metadata.schema().fields().iter().map(|field| field.name().trim().to_owned());
        check_names(&self.name(), &names.collect::<Vec<_>>())?;
        let (file, mut rows) = (metadata.metadata(), Some(0u64));
        let mut largest = vec![0u64; metadata.parquet_schema().num_columns()];
        for group in file.row_groups() {
            let count = u64::try_from(group.num_rows()).ok();
            rows = rows.zip(count).and_then(|(rows, count)| rows.checked_add(count));
            for (chunk, largest) in group.columns().iter().zip(&mut largest) {
                let bytes = chunk.uncompressed_size().max(0) as u64;
                *largest = (*largest).max(bytes.min(COLUMN_BYTES_MAX));
            }
        }
        let rows = rows.filter(|rows| i64::try_from(*rows) == Ok(file.file_metadata().num_rows()));
        let rows =
            rows.ok_or_else(|| self.refused("the rows of its parts are not those of all"))?;
        let hash = self.0.reader()?.finish()?;
        let buffer_bytes = largest.iter().sum();
        Ok(Survey { rows, hash: Some(hash), buffer_bytes })
    }

    fn open(&self) -> Result<Box<dyn RowReader + '_>, Error> {
        Ok(Box::new(BatchRows::new(self.open_batches()?, &self.0)))
    }

    fn still_has(&self, hash: &ContentHash) -> bool {
        self.0.still_has(hash)
    }
}

/// Writes a Parquet file, compressed with Snappy.
pub(crate) struct ParquetSink<W: Write + Send> {
    output: Option<W>,
    begun: Option<(BatchBuilder, ArrowWriter<W>)>,
}

impl<W: Write + Send> ParquetSink<W> {
    pub(crate) fn new(output: W) -> ParquetSink<W> {
        ParquetSink { output: Some(output), begun: None }
    }
}

fn failed(error: ParquetError) -> Error {
    match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => Error::Io(*error),
            Err(error) => Error::Io(std::io::Error::other(error)),
        },
        error => Error::Io(std::io::Error::other(error)),
    }
}

impl<W: Write + Send> TableSink for ParquetSink<W> {
    fn begin(&mut self, head: &ResultHeader<'_>) -> Result<(), Error> {
        let builder = BatchBuilder::new(head)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let output = self.output.take().expect("a sink begins once");
        let writer = ArrowWriter::try_new(output, builder.schema(), Some(properties));
        self.begun = Some((builder, writer.map_err(failed)?));
        Ok(())
    }

    fn row(&mut self, own: &[TableCell<'_>], values: &[Option<Lane>]) -> Result<(), Error> {
        let (builder, writer) = self.begun.as_mut().expect("it has begun");
        match builder.push(own, values)? {
            Some(batch) => writer.write(&batch).map_err(failed),
            None => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        let (mut builder, mut writer) = self.begun.take().expect("it has begun");
        if let Some(batch) = builder.take()? {
            writer.write(&batch).map_err(failed)?;
        }
        writer.close().map(drop).map_err(failed)
    }
}
