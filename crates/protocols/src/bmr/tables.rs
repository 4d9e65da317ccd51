//! [`GarbledTables`]: garbled tables on their way from the garbling pass to the evaluation.
//!
//! Batches come through a queue that holds [`batches_ahead`] of them, or from where they all lie
//! when they were made before. The error of the garbling comes in place of a batch. What a block of
//! a program opens goes the other way: it decides what is garbled next.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use phineus_bytecode::Lane;
use phineus_correlated::StoreError;
use phineus_correlated::demand::BatchScale;
use phineus_crypto::{Block, Delta};
use zeroize::Zeroizing;

use super::limits::{OPENED_AHEAD, ROWS, batches_ahead, gates_per_batch};
use super::stored::TableFile;
use crate::ProtocolError;

/// Tables for evaluating a batch of gates.
#[derive(Default)]
pub(super) struct TableBatch {
    /// Its number among all batches of a run, which its hashes depend on.
    pub(super) number: u64,
    pub(super) gates: usize,
    /// For each party three rows of a key for each gate: see `batch`. Of two parties, the peer's.
    pub(super) rows: Vec<Block>,
    /// This party's zero-keys of the results, with its shares of the mask bits, and perhaps more.
    pub(super) keys: Zeroizing<Vec<Block>>,
    /// At the first party, masks of the sums that it decodes: see [`super::masked`].
    pub(super) decoding: Zeroizing<Vec<u8>>,
}

impl TableBatch {
    /// The three rows of `party` of so many, which is another one than that which has them.
    pub(super) fn rows_of(&self, party: usize, parties: usize) -> [&[Block]; ROWS] {
        let first = if parties == 2 { 0 } else { party * ROWS };
        std::array::from_fn(|row| &self.rows[(first + row) * self.gates..][..self.gates])
    }
}

/// Room for `more` bytes; the memory that is too small is wiped.
pub(super) fn make_room(bytes: &mut Zeroizing<Vec<u8>>, more: usize) {
    let len = bytes.len();
    if bytes.capacity() < len + more {
        let mut larger = Zeroizing::new(Vec::with_capacity(len + more + len / 4));
        larger.extend_from_slice(bytes);
        *bytes = larger;
    }
}

/// The end of the queue at the garbling pass.
pub(super) struct Producer {
    ready: SyncSender<Result<TableBatch, ProtocolError>>,
    used: Receiver<TableBatch>,
}

impl Producer {
    /// A batch to fill: one that was used, or a new one.
    pub(super) fn blank(&self) -> TableBatch {
        self.used.try_recv().unwrap_or_default()
    }

    /// Hands a batch or an error over; whether anybody still wants it.
    pub(super) fn send(&self, batch: Result<TableBatch, ProtocolError>) -> bool {
        self.ready.send(batch).is_ok()
    }
}

/// Where finished batches are.
enum BatchStore {
    Queue { ready: Receiver<Result<TableBatch, ProtocolError>>, used: SyncSender<TableBatch> },
    Memory(VecDeque<TableBatch>),
    File(Box<TableFile>),
}

/// Values that a party knows of the keys since set-up.
#[derive(Clone)]
pub(super) struct SetupKeys {
    /// The offset between this party's two keys of a wire.
    pub(super) offset: Delta,
    /// The seed of this party's fresh wires.
    pub(super) fresh: Zeroizing<Block>,
    /// The public start values of all parties' hashes.
    pub(super) starts: Vec<Block>,
}

/// The garbled tables of a program, in the order of its gates.
///
/// Has no `Debug`: it holds this party's offset.
pub struct GarbledTables {
    pub(super) common: SetupKeys,
    place: BatchStore,
    failed: bool,
    /// Where the garbling of a program of several blocks hears what they opened.
    told: Option<SyncSender<Lane>>,
}

impl GarbledTables {
    /// A queue.
    pub(super) fn queue(common: SetupKeys, scale: BatchScale) -> (Producer, GarbledTables) {
        let (sender, ready) = sync_channel(batches_ahead(scale));
        let (used, recycled) = sync_channel(batches_ahead(scale) + 1);
        let place = BatchStore::Queue { ready, used };
        (Producer { ready: sender, used: recycled }, GarbledTables::new(common, place))
    }

    /// Batches that lie in memory.
    pub(super) fn in_memory(common: SetupKeys, batches: VecDeque<TableBatch>) -> GarbledTables {
        GarbledTables::new(common, BatchStore::Memory(batches))
    }

    /// Batches that lie in a file.
    pub(super) fn in_file(common: SetupKeys, file: Box<TableFile>) -> GarbledTables {
        GarbledTables::new(common, BatchStore::File(file))
    }

    fn new(common: SetupKeys, place: BatchStore) -> GarbledTables {
        GarbledTables { common, place, failed: false, told: None }
    }

    /// Returns the tables of a program of several blocks, and the channel by which garbling
    /// receives opened values.
    pub(super) fn of_blocks(self) -> (GarbledTables, Receiver<Lane>) {
        let (told, opened) = sync_channel(OPENED_AHEAD);
        (GarbledTables { told: Some(told), ..self }, opened)
    }

    /// Tells the garbling of several blocks what has been opened. It never waits for a garbling that
    /// itself waits for tables to be used: what is told was opened behind a block whose tables were.
    pub(super) fn tell(&self, opened: Lane) {
        if let Some(told) = &self.told {
            // If the garbling has failed, it says why in place of its next batch.
            let _ = told.send(opened);
        }
    }

    /// How many parties garbled.
    pub fn parties(&self) -> usize {
        self.common.starts.len()
    }

    /// The next batch; `used` is one that has been used up, for its memory.
    pub(super) fn next(&mut self, used: TableBatch) -> Result<TableBatch, ProtocolError> {
        if self.failed {
            return Err(StoreError::Failed.into());
        }
        let most = gates_per_batch(self.parties(), BatchScale::FULL);
        let next = match &mut self.place {
            BatchStore::Queue { ready, used: back } => {
                // When the garbling has ended, or has enough of them, the batch is dropped.
                let _ = back.try_send(used);
                ready.recv().unwrap_or_else(|_| panic!("{MORE}, or the garbling panicked"))
            }
            BatchStore::Memory(batches) => Ok(batches.pop_front().expect(MORE)),
            BatchStore::File(file) => file.read(used, most).map_err(ProtocolError::from),
        };
        self.failed = next.is_err();
        next
    }

    /// Whether there is nothing more to give; waits for the other end of a queue.
    ///
    /// # Errors
    /// Why the garbling failed behind the last batch, if it did.
    pub(super) fn is_used_up(&self) -> Result<bool, ProtocolError> {
        match &self.place {
            BatchStore::Queue { ready, .. } => match ready.recv() {
                Ok(more) => more.map(|_| false),
                Err(_) => Ok(true),
            },
            BatchStore::Memory(batches) => Ok(batches.is_empty()),
            BatchStore::File(file) => Ok(file.is_used_up()),
        }
    }
}

const MORE: &str = "more gates are evaluated than were garbled";
