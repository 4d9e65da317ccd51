//! [`WireMemory`]: which rows of which banks of a cell are free, and when each bank and the load port are written.

use crate::parameters::{AND_LATENCY, Parameters};
use crate::word::Address;

/// Cycles that the table of writes covers; more than any latency.
const HORIZON: usize = 32;
const _: () = assert!((AND_LATENCY as usize) < HORIZON);

/// The state of the wire memory in the cycle that is being scheduled.
pub(crate) struct WireMemory {
    /// Rows of each bank that were used and are free again.
    freed: Vec<Vec<u32>>,
    /// Rows of each bank that were never used begin here.
    fresh: Vec<u32>,
    rows: u32,
    /// Banks that are written, by cycle.
    written: [u64; HORIZON],
    /// Whether the load port writes, by cycle.
    loading: [bool; HORIZON],
    live: u64,
    /// The most labels at once.
    pub(crate) peak: u64,
    /// Where the search for a bank begins, so that equal banks alternate.
    next: usize,
}

impl WireMemory {
    pub(crate) fn new(parameters: Parameters) -> WireMemory {
        let banks = 1 << parameters.bank_bits;
        WireMemory {
            freed: vec![Vec::new(); banks],
            fresh: vec![0; banks],
            rows: 1 << parameters.row_bits,
            written: [0; HORIZON],
            loading: [false; HORIZON],
            live: 0,
            peak: 0,
            next: 0,
        }
    }

    /// Begins a cycle.
    pub(crate) fn begin(&mut self, cycle: u64) {
        // That of the cycle before is over.
        let before = (cycle as usize + HORIZON - 1) % HORIZON;
        self.written[before] = 0;
        self.loading[before] = false;
    }

    /// Whether the load port is free in a cycle.
    pub(crate) fn can_load(&self, write_cycle: u64) -> bool {
        !self.loading[write_cycle as usize % HORIZON]
    }

    /// Takes the load port in a cycle.
    pub(crate) fn load(&mut self, write_cycle: u64) {
        self.loading[write_cycle as usize % HORIZON] = true;
    }

    /// Takes a row of the bank with the least penalty that is not written in this cycle.
    pub(crate) fn allocate(&mut self, write_cycle: u64, penalties: &[u32]) -> Option<Address> {
        let banks = self.fresh.len();
        let busy = self.written[write_cycle as usize % HORIZON];
        let mut best: Option<(u32, usize)> = None;
        for step in 0..banks {
            let bank = (self.next + step) % banks;
            let is_full = self.freed[bank].is_empty() && self.fresh[bank] == self.rows;
            if busy >> bank & 1 == 1 || is_full {
                continue;
            }
            if best.is_none_or(|(penalty, _)| penalties[bank] < penalty) {
                best = Some((penalties[bank], bank));
            }
        }
        let (_, bank) = best?;
        self.next = (bank + 1) % banks;
        self.written[write_cycle as usize % HORIZON] |= 1 << bank;
        self.live += 1;
        self.peak = self.peak.max(self.live);
        let row = self.freed[bank].pop().unwrap_or_else(|| {
            self.fresh[bank] += 1;
            self.fresh[bank] - 1
        });
        Some(Address { bank: bank as u8, row })
    }

    /// Gives a row back.
    pub(crate) fn free(&mut self, address: Address) {
        self.live -= 1;
        self.freed[usize::from(address.bank)].push(address.row);
    }
}
