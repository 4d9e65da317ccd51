//! The watch over the memory limit: a process that passes it ends its run at once.
//!
//! The limit applies to the resident set as the system counts it (`VmRSS`, at its peak `VmHWM`): heap,
//! stacks, frames, and the pages of the executable and its libraries that were touched.
//!
//! The watch starts when a plan is accepted. The thread that watches for signals looks
//! at the peak every few milliseconds, and the run looks itself before anything is opened. Once the
//! limit is passed the run ends as if the user had stopped it ([`crate::interrupt`]): the others are
//! told that something failed here, and not what.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::failure::{Exit, Failure};
use crate::quantity;

/// The limit that is watched, in bytes; 0 if none is.
static LIMIT_BYTES: AtomicU64 = AtomicU64::new(0);

/// The peak that passed the limit, in bytes; 0 if none did.
static PASSED_BYTES: AtomicU64 = AtomicU64::new(0);

/// Watches a limit from now on.
///
/// # Errors
/// If it has been passed already.
pub(crate) fn start(limit_bytes: u64) -> Result<(), Failure> {
    check(limit_bytes)?;
    LIMIT_BYTES.store(limit_bytes, Ordering::Relaxed);
    Ok(())
}

/// Watches no more: what follows is no part of the run.
pub(crate) fn stop() {
    LIMIT_BYTES.store(0, Ordering::Relaxed);
}

/// Looks now; says whether the limit has been passed.
pub(crate) fn look() -> bool {
    let limit_bytes = LIMIT_BYTES.load(Ordering::Relaxed);
    let peak_bytes = match limit_bytes {
        0 => 0,
        _ => phineus_engine::peak_resident_bytes().unwrap_or(0),
    };
    if peak_bytes > limit_bytes {
        PASSED_BYTES.store(peak_bytes, Ordering::Relaxed);
    }
    peak_bytes > limit_bytes
}

/// Refuses to go on if `limit_bytes` has been passed.
pub(crate) fn check(limit_bytes: u64) -> Result<(), Failure> {
    match phineus_engine::peak_resident_bytes() {
        Some(peak) if peak > limit_bytes => Err(failure(peak, limit_bytes)),
        _ => Ok(()),
    }
}

/// Why the run ends, if it is because the limit was passed.
pub(crate) fn passed() -> Option<Failure> {
    match PASSED_BYTES.load(Ordering::Relaxed) {
        0 => None,
        peak => Some(failure(peak, LIMIT_BYTES.load(Ordering::Relaxed))),
    }
}

fn failure(peak_bytes: u64, limit_bytes: u64) -> Failure {
    let (peak, limit) = (quantity::bytes(peak_bytes), quantity::bytes(limit_bytes));
    let message =
        format!("the memory limit was passed: {peak} were resident, the limit is {limit}");
    let more = (peak_bytes + peak_bytes / 8).div_ceil(1 << 20);
    Failure::new(Exit::DoesNotFit, 122, message).remedy(format!(
        "give --memory {more}MiB; the plan should have fitted, so please report this bug"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A limit that holds is passed when more is touched, and the run is told which and by how much.
    #[test]
    fn what_passes_the_limit_is_found() {
        let resident = phineus_engine::peak_resident_bytes().expect("every test system says it");
        let limit_bytes = resident + (16 << 20);
        start(limit_bytes).expect("it is not passed yet");
        assert!(!look() && passed().is_none());
        let touched = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(look());
        let failure = passed().expect("it was found");
        assert_eq!((failure.exit, failure.code().as_str()), (Exit::DoesNotFit, "E6122"));
        assert!(failure.message.contains(&quantity::bytes(limit_bytes)), "{}", failure.message);
        assert!(start(limit_bytes).is_err(), "it does not begin again");
        drop(touched);
        stop();
        PASSED_BYTES.store(0, Ordering::Relaxed);
        assert!(!look());
    }
}
