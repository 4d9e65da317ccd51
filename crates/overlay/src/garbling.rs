//! [`Garbling`]: a device garbles on a thread of its own, while its host takes rows in the order of the gates.
//!
//! Cost in memory: [`garbling_bytes`], besides the stream. The thread ends when the stream is garbled, when the device
//! fails, or soon after the [`Garbling`] is dropped.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use phineus_crypto::{Block, Delta};
use zeroize::Zeroizing;

use crate::OverlayError;
use crate::device::{OverlayDevice, PIECE_ROWS, garble_in_pieces, gates};
use crate::row_queue::{QUEUED_ROW_BYTES, RowQueue, row_span};
use crate::stream::Stream;

/// What a garbler's device needs of the garbler.
pub struct GarblingInputs {
    /// Start value of the hash.
    pub start: Block,
    /// The offset.
    pub delta: Delta,
    /// Labels of false of all inputs, in the order of the program.
    pub labels: Zeroizing<Vec<Block>>,
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GarblingFigures {
    /// Cycles in which the pipeline moved.
    pub cycles: u64,
    /// Cycles in which it waited for the host.
    pub stalls: u64,
    /// Time of the device, with what it waited for its host to take rows.
    pub time: Duration,
}

/// Rows that the queue of a run has space for.
fn capacity(stream: &Stream) -> u64 {
    row_span(stream) + PIECE_ROWS as u64
}

/// Stack of the thread of a device.
const STACK_BYTES: usize = 1 << 20;

/// Bytes that a run holds besides the stream and the device: queue, labels of inputs and of loads, and results.
pub fn garbling_bytes(stream: &Stream, input_count: u64) -> u64 {
    let label = size_of::<Block>() as u64;
    let load = label + size_of::<u64>() as u64;
    QUEUED_ROW_BYTES * capacity(stream)
        + label * input_count
        + load * stream.loads.len() as u64
        + (label + size_of::<u64>() as u64) * stream.outputs.len() as u64
        + STACK_BYTES as u64
}

/// Opens a device, in the thread that uses it.
pub type OpenDevice = Box<dyn FnOnce() -> Box<dyn OverlayDevice> + Send>;

/// A run on a device.
pub struct Garbling {
    queue: Arc<RowQueue>,
    thread: Option<JoinHandle<Result<GarblingFigures, OverlayError>>>,
}

/// Ends the queue when the thread ends, whatever became of it.
struct EndOnDrop(Arc<RowQueue>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Garbling {
    /// Begins to garble `stream` on the device that `open` gives; that is called in the new thread.
    ///
    /// # Errors
    /// [`OverlayError::NoThread`] if the system starts no thread.
    pub fn begin(
        open: OpenDevice,
        stream: Arc<Stream>,
        inputs: GarblingInputs,
    ) -> Result<Garbling, OverlayError> {
        let queue = Arc::new(RowQueue::new(capacity(&stream)));
        let ending = EndOnDrop(Arc::clone(&queue));
        let body = move || {
            let EndOnDrop(queue) = &ending;
            let began = Instant::now();
            let mut gates = gates(&stream);
            let secrets = (inputs.start, &inputs.delta);
            let mut device = open();
            let give = &mut |rows: &[_]| queue.put(rows, &mut gates).is_ok();
            let ended = garble_in_pieces(&mut *device, &stream, secrets, &inputs.labels, give)?;
            let (cycles, stalls) = (ended.cycles, ended.stalls);
            Ok(GarblingFigures { cycles, stalls, time: began.elapsed() })
        };
        let thread = Builder::new().name("overlay".to_owned()).stack_size(STACK_BYTES).spawn(body);
        let thread =
            thread.map_err(|error| OverlayError::NoThread { reason: error.to_string() })?;
        Ok(Garbling { queue, thread: Some(thread) })
    }

    /// The queue of the rows.
    pub fn rows(&self) -> Arc<RowQueue> {
        Arc::clone(&self.queue)
    }

    /// Waits for the end of the device; all rows were taken, or it has failed.
    ///
    /// # Errors
    /// Why the device failed.
    ///
    /// # Panics
    /// If the thread has panicked.
    pub fn finish(mut self) -> Result<GarblingFigures, OverlayError> {
        let thread = self.thread.take().expect("it is taken once");
        thread.join().expect("the thread of a device does not panic")
    }
}

impl Drop for Garbling {
    fn drop(&mut self) {
        self.queue.end();
        if let Some(thread) = self.thread.take() {
            // How it ended is of no interest.
            let _ = thread.join();
        }
    }
}
