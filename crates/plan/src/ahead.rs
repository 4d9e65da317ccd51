//! Reading ahead: one thread fills batches while another works on those before.

use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use crate::error::Error;

/// Batches that are filled and wait.
pub(crate) const BATCHES_AHEAD: usize = 1;

/// Calls `consume` with each batch that `fill` fills, in order, until `fill` returns `false`.
///
/// `fill` runs in a thread of its own, unless there is but one batch: a program of many blocks has
/// many short ones. Batches are used again, with what they held.
pub(crate) fn ahead<B: Default + Send>(
    mut fill: impl FnMut(&mut B) -> Result<bool, Error> + Send,
    mut consume: impl FnMut(&mut B) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut first, mut second) = (B::default(), B::default());
    if !fill(&mut first)? {
        return Ok(());
    }
    let is_more = fill(&mut second)?;
    consume(&mut first)?;
    if !is_more {
        return Ok(());
    }
    consume(&mut second)?;
    thread::scope(|scope| {
        let (full, received) = sync_channel::<Result<B, Error>>(BATCHES_AHEAD);
        let (spare, returned) = channel::<B>();
        // Its other end is here until all is read.
        [first, second].into_iter().for_each(|batch| drop(spare.send(batch)));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// All batches come, in order, however many there are, and an error of either side is given.
    #[test]
    fn batches_come_in_order() {
        let run = |count: u32, fails: Option<u32>| {
            let (mut next, mut seen) = (0, Vec::new());
            let fill = |batch: &mut u32| {
                *batch = next;
                next += 1;
                match fails {
                    Some(at) if at < next => Err(Error::WriterStopped),
                    _ => Ok(next <= count),
                }
            };
            let done = ahead(fill, |batch| {
                seen.push(*batch);
                Ok(())
            });
            (done.is_ok(), seen)
        };
        for count in [0, 1, 2, 3, 9] {
            assert_eq!(run(count, None), (true, (0..count).collect()));
        }
        assert_eq!(run(9, Some(5)), (false, (0..5).collect()));
        assert!(!run(1, Some(1)).0);
    }
}
