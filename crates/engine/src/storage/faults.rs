//! Faults of the device, for tests: the n-th transfer fails or comes up short.
//!
//! Outside tests this is a type of no size whose one question is answered at compile time.

/// Injected fault of one attempt at a transfer, for tests.
#[cfg_attr(not(test), expect(dead_code, reason = "only tests make faults"))]
#[derive(Clone, Copy, Debug)]
pub(super) enum InjectedFault {
    /// The device answers this error number and moves nothing.
    Refuse(i32),
    /// The device moves only so many bytes.
    Shorten(u32),
}

/// Which attempts fail; counts every attempt of every thread.
#[derive(Default)]
pub(super) struct FaultInjector {
    #[cfg(test)]
    attempts: std::sync::atomic::AtomicU64,
    #[cfg(test)]
    pub(super) planned: std::sync::Mutex<Vec<(std::ops::Range<u64>, InjectedFault)>>,
}

impl FaultInjector {
    /// The fate of the next attempt.
    #[cfg(not(test))]
    #[inline]
    pub(super) fn next(&self) -> Option<InjectedFault> {
        None
    }

    #[cfg(test)]
    pub(super) fn next(&self) -> Option<InjectedFault> {
        let attempt = self.attempts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let planned = self.planned.lock().expect("no test panics while it plans");
        planned.iter().find(|(attempts, _)| attempts.contains(&attempt)).map(|&(_, fault)| fault)
    }

    /// From attempt `attempts.start` (counted from 0) to before `attempts.end`, `fault` happens.
    #[cfg(test)]
    pub(super) fn plan(&self, attempts: std::ops::Range<u64>, fault: InjectedFault) {
        self.planned.lock().expect("no test panics while it plans").push((attempts, fault));
    }
}
