//! Reading ahead: one thread fills batches while another works on those before.

use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use crate::error::Error;

/// Batches that are filled and wait.
pub(crate) const BATCHES_AHEAD: usize = 2;

/// Calls `consume` with each batch that `fill` fills, in order, until `fill` returns `false`.
///
/// `fill` runs in a thread of its own. Batches are used again, with what they held.
pub(crate) fn ahead<B: Default + Send>(
    mut fill: impl FnMut(&mut B) -> Result<bool, Error> + Send,
    mut consume: impl FnMut(&mut B) -> Result<(), Error>,
) -> Result<(), Error> {
    thread::scope(|scope| {
        let (full, received) = sync_channel::<Result<B, Error>>(BATCHES_AHEAD);
        let (spare, returned) = channel::<B>();
        scope.spawn(move || {
            loop {
                let mut batch = returned.try_recv().unwrap_or_default();
                let message = match fill(&mut batch) {
                    Ok(true) => Ok(batch),
                    Ok(false) => return,
                    Err(error) => Err(error),
                };
                let is_last = message.is_err();
                if full.send(message).is_err() || is_last {
                    return;
                }
            }
        });
        for batch in received {
            let mut batch = batch?;
            consume(&mut batch)?;
            // The reader may have ended; then nobody needs the batch.
            let _ = spare.send(batch);
        }
        Ok(())
    })
}
