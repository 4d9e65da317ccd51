//! [`WireMemory`]: which rows of which banks of a cell are free, and when each bank and the load port are written.

use crate::parameters::{AND_LATENCY, Parameters};

/// Cycles that the table of writes covers; more than any latency.
const HORIZON: usize = 32;
const _: () = assert!((AND_LATENCY as usize) < HORIZON);

/// The most banks of a cell.
pub(crate) const BANKS_MAX: usize = 64;

/// By bank, how many labels there are that should not share it.
pub(crate) struct Penalties {
    counts: [u8; BANKS_MAX],
    /// Banks whose count is not 0.
    touched: u64,
}

impl Penalties {
    pub(crate) const NONE: Penalties = Penalties { counts: [0; BANKS_MAX], touched: 0 };

    pub(crate) fn add(&mut self, bank: u32) {
        self.counts[bank as usize] = self.counts[bank as usize].saturating_add(1);
        self.touched |= 1 << bank;
    }
}

/// The state of the wire memory in the cycle that is being scheduled. The bank is in the low bits of an address.
pub(crate) struct WireMemory {
    /// Rows of each bank that were used and are free again.
    freed: Vec<Vec<u32>>,
    /// Rows of each bank that were never used begin here.
    fresh: Vec<u32>,
    rows: u32,
    bank_bits: u32,
    /// Banks that have a free row.
    open: u64,
    /// Banks that are written, by cycle.
    written: [u64; HORIZON],
    /// Whether the load port writes, by cycle.
    loading: [bool; HORIZON],
    /// Labels now.
    pub(crate) live: u64,
    /// The most labels at once.
    pub(crate) peak: u64,
    /// Where the search for a bank begins, so that equal banks alternate.
    next: u32,
}

impl WireMemory {
    pub(crate) fn new(parameters: Parameters) -> WireMemory {
        let banks = 1 << parameters.bank_bits;
        WireMemory {
            freed: vec![Vec::new(); banks],
            fresh: vec![0; banks],
            rows: 1 << parameters.row_bits,
            bank_bits: parameters.bank_bits,
            open: u64::MAX >> (BANKS_MAX - banks),
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

    /// Whether there is a bank for a label that is written in this cycle.
    pub(crate) fn can_allocate(&self, write_cycle: u64) -> bool {
        self.open & !self.written[write_cycle as usize % HORIZON] != 0
    }

    /// Takes a row of the bank with the least penalty that is not written in this cycle.
    pub(crate) fn allocate(&mut self, write_cycle: u64, penalties: &Penalties) -> Option<u32> {
        let free = self.open & !self.written[write_cycle as usize % HORIZON];
        if free == 0 {
            return None;
        }
        let best = match free & !penalties.touched {
            0 => {
                let least = ones(free).map(|bank| penalties.counts[bank as usize]).min();
                let is_least = |&bank: &u32| Some(penalties.counts[bank as usize]) == least;
                ones(free).filter(is_least).fold(0, |banks, bank| banks | 1 << bank)
            }
            unpenalised => unpenalised,
        };
        let after = best >> self.next << self.next;
        let bank = if after == 0 { best } else { after }.trailing_zeros();
        self.next = (bank + 1) % self.fresh.len() as u32;
        self.written[write_cycle as usize % HORIZON] |= 1 << bank;
        self.live += 1;
        self.peak = self.peak.max(self.live);
        let (freed, fresh) = (&mut self.freed[bank as usize], &mut self.fresh[bank as usize]);
        let row = freed.pop().unwrap_or_else(|| {
            *fresh += 1;
            *fresh - 1
        });
        if freed.is_empty() && *fresh == self.rows {
            self.open &= !(1 << bank);
        }
        Some(row << self.bank_bits | bank)
    }

    /// Gives a row back.
    pub(crate) fn free(&mut self, address: u32) {
        self.live -= 1;
        let bank = address & ((1 << self.bank_bits) - 1);
        self.freed[bank as usize].push(address >> self.bank_bits);
        self.open |= 1 << bank;
    }
}

/// Positions of the ones of a number.
fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let position = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (position < u64::BITS).then_some(position)
    })
}
