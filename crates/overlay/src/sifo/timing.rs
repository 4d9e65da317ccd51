//! [`simulate`]: the time of a run on SIFO's device, cycle by cycle. The RTL takes exactly as many cycles.
//!
//! Clocks: 200 MHz in the device, and the main clock, 200 or 300 MHz, for everything that the host does. Time is counted
//! in ticks of 600 MHz, so both have whole numbers of ticks.
//!
//! A batch: the host writes a command and then the registers of each cell. The controller takes the gates in order:
//! reads both operands, starts the cell; then, in order again, waits for each cell and writes its result. It starts a
//! gate as soon as its registers are written (Figure 8), or, without the overlap, after those of all gates (Figure 7).
//! When the last result is written, the host needs a round trip to notice.
//!
//! From the paper: 82 cycles of SHA-1, 50 ns a register, 180 ns a DDR access, two DDR ports, one read port and one write
//! port of block RAM, one cycle an access. From our RTL: [`CONTROL_CYCLES`]. Fitted, as the only free number: the round trip
//! [`POLL_MAIN_CYCLES`].

use super::allocation::Address;
use super::host::{Batch, HostProgram};
use super::netlist::GateKind;

/// Ticks in a cycle of the device: 600 MHz / 200 MHz.
pub const DEVICE_TICKS: u64 = 3;

/// Cycles of an AND cell, those of its SHA-1 cores (section 3.1.1).
pub const HASH_CYCLES: u64 = 82;

/// Cycles of a DDR access: 180 ns at 200 MHz (section 3.4.2).
pub const DDR_CYCLES: u64 = 36;

/// Cycles of the controller for each read and each write, beyond the access.
pub const CONTROL_CYCLES: u64 = 1;

/// Cycles of the main clock to write one register: 50 ns at 200 MHz (section 3.4.1). That it takes as many cycles at
/// 300 MHz is an assumption.
pub const WRITE_MAIN_CYCLES: u64 = 10;

/// Cycles of the main clock from the end of a batch to the next command: 1.78 µs at 200 MHz and 1.18 µs at 300 MHz, a
/// plausible round trip over PCIe. Fitted: with 350 to 360 every row of Tables 5, 6, 7 and 11 is within 15 %, except
/// those of the sorting network in Tables 6 and 7.
pub const POLL_MAIN_CYCLES: u64 = 355;

/// The clock of the host interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MainClock {
    /// 200 MHz, as the device.
    Mhz200,
    /// 300 MHz.
    Mhz300,
}

impl MainClock {
    /// Ticks in a cycle.
    pub fn ticks(self) -> u64 {
        match self {
            MainClock::Mhz200 => 3,
            MainClock::Mhz300 => 2,
        }
    }
}

/// How host and device work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostTiming {
    /// Clock of the interface.
    pub main_clock: MainClock,
    /// Whether cells start while the host writes the registers of others.
    pub overlap: bool,
}

/// The time of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duration {
    /// Ticks of 600 MHz until the host knows that the last batch is done.
    pub ticks: u64,
    /// Cycle of the device in which the last result was written.
    pub device_cycles: u64,
}

impl Duration {
    /// Microseconds.
    pub fn microseconds(self) -> f64 {
        self.ticks as f64 / 600.0
    }
}

/// The first cycle of the device that does not begin before a tick.
fn cycle_from(ticks: u64) -> u64 {
    ticks.div_ceil(DEVICE_TICKS)
}

/// Cycles to read both operands. Block RAM has one read port; each operand in DDR has a port of its own.
fn read_cycles(a: Address, b: Address) -> u64 {
    match (a.is_block_ram(), b.is_block_ram()) {
        (true, true) => 2,
        _ => DDR_CYCLES,
    }
}

/// Cycles to write a result.
fn write_cycles(out: Address) -> u64 {
    if out.is_block_ram() { 1 } else { DDR_CYCLES }
}

struct Run<'a> {
    program: &'a HostProgram<'a>,
    timing: HostTiming,
    /// When the host is free.
    ticks: u64,
    /// When the controller is free.
    cycle: u64,
    done: Vec<u64>,
}

/// Predicts a run.
pub fn simulate(program: &HostProgram<'_>, timing: HostTiming) -> Duration {
    let mut run = Run { program, timing, ticks: 0, cycle: 0, done: Vec::new() };
    for batch in &program.batches {
        run.batch(batch);
        if batch.is_polled {
            run.ticks += POLL_MAIN_CYCLES * timing.main_clock.ticks();
        }
    }
    Duration { ticks: run.ticks, device_cycles: run.cycle }
}

impl Run<'_> {
    /// Lets the host write some registers; returns the first cycle in which the device sees the last of them.
    fn write(&mut self, registers: usize) -> u64 {
        self.ticks += registers as u64 * WRITE_MAIN_CYCLES * self.timing.main_clock.ticks();
        cycle_from(self.ticks) + 1
    }

    fn read(&mut self, written: u64, addresses: [Address; 3]) {
        let issue = self.cycle.max(written);
        self.cycle = issue + read_cycles(addresses[0], addresses[1]) + CONTROL_CYCLES;
    }

    fn write_back(&mut self, done: u64, addresses: [Address; 3]) {
        self.cycle = self.cycle.max(done) + write_cycles(addresses[2]) + CONTROL_CYCLES;
    }

    fn batch(&mut self, batch: &Batch) {
        let program = self.program;
        let (gates, registers) = (program.gates(batch), program.registers().count());
        // The command comes first if cells may start at once, else last.
        let all = match self.timing.overlap {
            true => self.write(1),
            false => self.write(1 + registers * gates.len()),
        };
        self.done.clear();
        for gate in gates {
            let written = if self.timing.overlap { self.write(registers) } else { all };
            self.read(written, program.addresses(gate));
            // The cell starts in the last cycle of the read.
            let latency = match batch.kind {
                GateKind::Xor => 0,
                GateKind::And => HASH_CYCLES - 1,
            };
            self.done.push(self.cycle + latency);
        }
        for (number, gate) in gates.iter().enumerate() {
            self.write_back(self.done[number], program.addresses(gate));
        }
        self.ticks = self.ticks.max(self.cycle * DEVICE_TICKS);
    }
}
