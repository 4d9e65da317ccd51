//! [`OverlayRun`]: a device garbles while the garbler's driver sends its rows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use phineus_overlay::OverlayError;
use phineus_overlay::garbling::{Garbling, GarblingInputs, OpenDevice};
use phineus_overlay::row_queue::{Ended, RowQueue};
use phineus_overlay::stream::Stream;
use phineus_protocols::ProtocolError;
use phineus_protocols::garbled::row_source::{RowSecrets, RowSource};

use super::compile::{CompiledOverlay, failure};
use crate::cancel::Cancel;
use crate::choices::GarblerChoice;
use crate::failure::{Failure, codes};
use crate::statistics::OverlayFigures;

/// What the driver and the run share: the device, once it has begun, or why it could not begin.
type Begun = Option<Result<Garbling, OverlayError>>;

/// A run on the overlay. When it is dropped the device ends, if the driver is dropped, too.
pub struct OverlayRun {
    compiled: CompiledOverlay,
    shared: Arc<Mutex<Begun>>,
}

/// Gives the driver the rows of the device.
struct DeviceRows {
    open: Option<OpenDevice>,
    stream: Arc<Stream>,
    shared: Arc<Mutex<Begun>>,
    queue: Option<Arc<RowQueue>>,
    cancel: Cancel,
}

fn lock(shared: &Mutex<Begun>) -> MutexGuard<'_, Begun> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OverlayRun {
    /// A run that has not begun.
    pub fn new(compiled: CompiledOverlay) -> OverlayRun {
        OverlayRun { compiled, shared: Arc::default() }
    }

    /// The source of rows for the garbler's driver, on the device that was chosen.
    pub fn rows(&self, cancel: &Cancel) -> Box<dyn RowSource> {
        self.rows_of(opener(self.compiled.choice, self.compiled.cells), cancel)
    }

    fn rows_of(&self, open: OpenDevice, cancel: &Cancel) -> Box<dyn RowSource> {
        Box::new(DeviceRows {
            open: Some(open),
            stream: Arc::clone(&self.compiled.stream),
            shared: Arc::clone(&self.shared),
            queue: None,
            cancel: cancel.clone(),
        })
    }

    /// The failure of a run, or why the device failed if the run failed for that.
    pub fn or_reason(&self, run_failure: Failure) -> Failure {
        if run_failure.code != codes::OVERLAY_STOPPED {
            return run_failure;
        }
        let reason = match lock(&self.shared).take() {
            Some(Ok(garbling)) => garbling.finish().err(),
            Some(Err(error)) => Some(error),
            None => None,
        };
        let revealed = run_failure.revealed.clone();
        let found = reason.map_or(run_failure, failure);
        Failure { revealed, ..found }
    }

    /// Waits for the end of the device, all rows of which were sent.
    ///
    /// # Errors
    /// If it does not come to its end.
    pub fn finish(self) -> Result<OverlayFigures, Failure> {
        let garbling = lock(&self.shared).take().expect("the driver has begun");
        let figures = garbling.and_then(Garbling::finish).map_err(failure)?;
        Ok(OverlayFigures {
            cells: self.compiled.cells,
            predicted_cycles: self.compiled.stream.cycles(),
            cycles: figures.cycles,
            stalls: figures.stalls,
            spilled_labels: self.compiled.figures.spills,
            seconds: figures.time.as_secs_f64(),
        })
    }
}

impl RowSource for DeviceRows {
    fn begin(&mut self, secrets: RowSecrets) -> Result<(), ProtocolError> {
        let RowSecrets { start, delta, labels } = secrets;
        let inputs = GarblingInputs { start, delta, labels };
        let open = self.open.take().expect("it begins once");
        let garbling = Garbling::begin(open, Arc::clone(&self.stream), inputs);
        self.queue = garbling.as_ref().ok().map(Garbling::rows);
        let has_begun = garbling.is_ok();
        *lock(&self.shared) = Some(garbling);
        if has_begun { Ok(()) } else { Err(ProtocolError::NoRows) }
    }

    fn next_rows(&mut self, rows: &mut [u8]) -> Result<(), ProtocolError> {
        let queue = self.queue.as_ref().ok_or(ProtocolError::NoRows)?;
        let is_cancelled = || self.cancel.is_requested();
        queue.take(rows, &is_cancelled).map_err(|Ended| ProtocolError::NoRows)
    }
}

/// Opens the device that was chosen.
///
/// # Panics
/// If the processor garbles, or this build has no simulation: both were refused before.
fn opener(choice: GarblerChoice, cells: u32) -> OpenDevice {
    match choice {
        GarblerChoice::Software => unreachable!("the processor needs no device"),
        GarblerChoice::SimulatedOverlay => simulation(cells),
    }
}

#[cfg(feature = "verilator")]
fn simulation(cells: u32) -> OpenDevice {
    Box::new(move || {
        let device = phineus_overlay::simulation::Simulation::open_with(cells);
        Box::new(device.expect("it was checked that there is a model"))
    })
}

#[cfg(not(feature = "verilator"))]
fn simulation(_cells: u32) -> OpenDevice {
    unreachable!("a build without the simulation refuses it")
}
