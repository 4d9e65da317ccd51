//! [`BatchSink`]: the destination of finished batches.

use std::collections::VecDeque;

use phineus_correlated::StoreError;
use zerocopy::IntoBytes;

use super::stored::TableFile;
use super::tables::{Producer, TableBatch};
use crate::ProtocolError;

/// Where finished batches go.
pub(super) enum BatchSink {
    /// To an evaluation that runs at the same time.
    Queue(Producer),
    /// Into memory while they fit, then all into the file.
    Store { batches: VecDeque<TableBatch>, bytes_left: u64, file: Box<TableFile>, spilled: bool },
}

impl BatchSink {
    pub(super) fn blank(&self) -> TableBatch {
        match self {
            BatchSink::Queue(producer) => producer.blank(),
            BatchSink::Store { .. } => TableBatch::default(),
        }
    }

    /// Tells who waits for batches why there are no more.
    pub(super) fn fail(&self, error: ProtocolError) {
        if let BatchSink::Queue(producer) = self {
            producer.send(Err(error));
        }
    }

    pub(super) fn put(&mut self, batch: TableBatch) -> Result<(), ProtocolError> {
        match self {
            BatchSink::Queue(producer) => match producer.send(Ok(batch)) {
                true => Ok(()),
                // Nobody listens any more.
                false => Err(StoreError::Failed.into()),
            },
            BatchSink::Store { batches, bytes_left, file, spilled } => {
                let bytes = batch.rows.as_bytes().len() + batch.keys.as_bytes().len();
                let bytes = (bytes + batch.decoding.len()) as u64;
                if !*spilled && bytes <= *bytes_left {
                    *bytes_left -= bytes;
                    batches.push_back(batch);
                    return Ok(());
                }
                *spilled = true;
                batches.drain(..).try_for_each(|batch| file.write(&batch))?;
                Ok(file.write(&batch)?)
            }
        }
    }
}
