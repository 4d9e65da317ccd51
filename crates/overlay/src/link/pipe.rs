//! [`Pipe`]: one direction of a link, or the memory of a cell.

use super::MemoryTiming;

/// Carries one item after another at a rate.
///
/// Time within a cycle is counted in ticks: with R bytes a microsecond and M cycles a microsecond, a cycle has R ticks and a
/// byte takes M of them, so all times are whole numbers.
#[derive(Clone, Debug)]
pub(super) struct Pipe {
    cycle_ticks: u64,
    byte_ticks: u64,
    latency_cycles: u64,
    /// Tick at which the last item has left.
    free_at: u64,
    /// Bytes that were sent.
    bytes: u64,
}

/// When an item leaves the sender and reaches the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    /// First cycle in which all of it has left.
    pub(super) leaves: u64,
    /// First cycle in which the receiver has it.
    pub(super) arrives: u64,
}

impl Pipe {
    /// A pipe of a rate in millions of bytes a second, beside a device of a clock in MHz.
    pub(super) fn new(rate: u32, clock_mhz: u32, latency_ns: u32) -> Pipe {
        Pipe {
            cycle_ticks: rate.into(),
            byte_ticks: clock_mhz.into(),
            latency_cycles: latency_cycles(latency_ns, clock_mhz),
            free_at: 0,
            bytes: 0,
        }
    }

    /// The pipe from a memory.
    pub(super) fn of_memory(timing: MemoryTiming) -> Pipe {
        let MemoryTiming { latency_cycles, cycle_ticks, byte_ticks } = timing;
        Pipe { cycle_ticks, byte_ticks, latency_cycles, free_at: 0, bytes: 0 }
    }

    /// Whether an item may begin before the end of this cycle.
    pub(super) fn is_free(&self, cycle: u64) -> bool {
        self.free_at < (cycle + 1) * self.cycle_ticks
    }

    /// Sends an item that is there at the beginning of this cycle, as soon as those before it have left.
    pub(super) fn send(&mut self, cycle: u64, bytes: u64) -> Passage {
        let begin = self.free_at.max(cycle * self.cycle_ticks);
        self.free_at = begin + bytes * self.byte_ticks;
        self.bytes += bytes;
        let leaves = self.free_at.div_ceil(self.cycle_ticks);
        Passage { leaves, arrives: leaves + self.latency_cycles }
    }

    /// Bytes that were sent.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Cycles in which it carried something, rounded up.
    pub(super) fn busy_cycles(&self) -> u64 {
        (self.bytes * self.byte_ticks).div_ceil(self.cycle_ticks)
    }
}

/// Cycles of a latency, rounded up.
pub(super) fn latency_cycles(latency_ns: u32, clock_mhz: u32) -> u64 {
    (u64::from(latency_ns) * u64::from(clock_mhz)).div_ceil(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 500 MB/s at 200 MHz are 2.5 bytes a cycle.
    #[test]
    fn items_take_their_bytes_and_the_latency() {
        let mut pipe = Pipe::new(500, 200, 1000);
        assert_eq!(pipe.send(0, 16), Passage { leaves: 7, arrives: 207 });
        assert!(!pipe.is_free(5) && pipe.is_free(6), "it leaves after 6.4 cycles");
        assert_eq!(pipe.send(6, 16), Passage { leaves: 13, arrives: 213 });
        // After a pause nothing is caught up.
        assert_eq!(pipe.send(100, 5), Passage { leaves: 102, arrives: 302 });
        assert_eq!((pipe.bytes(), pipe.busy_cycles()), (37, 15));
    }
}
