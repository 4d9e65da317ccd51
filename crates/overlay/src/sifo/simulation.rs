//! [`run`]: the RTL in `hw/ip/sifo`, compiled by Verilator. Host and DDR are models in C++, which know nothing of
//! [`super::timing::simulate`].

use super::allocation::Allocation;
use super::garbling::{LABEL_BYTES, Rows, ShortLabel};
use super::host::{HostProgram, Registers};
use super::netlist::{GateKind, Netlist, WireId};
use super::timing::{DDR_CYCLES, Duration, HostTiming, POLL_MAIN_CYCLES, WRITE_MAIN_CYCLES};

/// As `SifoBatch` in `hw/ip/sifo/tb/sifo_shim.cpp`.
#[repr(C)]
struct RawBatch {
    is_and: u32,
    is_polled: u32,
    gates: u64,
}

/// As `SifoRun` there.
#[repr(C)]
struct RawRun {
    batches: *const RawBatch,
    batch_count: u64,
    gate_registers: *const [u32; 3],
    registers: u64,
    overlap: u32,
    is_packed: u32,
    main_ticks: u64,
    write_main_cycles: u64,
    poll_main_cycles: u64,
    ddr_cycles: u64,
    ddr_seed: u64,
    offset: *const u8,
    ddr: *mut [u8; LANE_BYTES],
    ddr_lanes: u64,
    rows: *mut [u8; ROW_BYTES],
    rows_max: u64,
    rows_received: u64,
    cycles_max: u64,
    ticks: u64,
    device_cycles: u64,
}

/// Bytes between labels in DDR: a quarter of 512 bits.
const LANE_BYTES: usize = 16;
const ROW_BYTES: usize = 3 * LABEL_BYTES;

unsafe extern "C" {
    fn sifo_run(run: *mut RawRun) -> bool;
}

/// What a run left.
pub struct SimulatedRun {
    /// Rows in the order of garbling.
    pub rows: Vec<Rows>,
    /// Its time.
    pub duration: Duration,
    ddr: Vec<[u8; LANE_BYTES]>,
}

impl SimulatedRun {
    /// The label of false of a wire, if it is in DDR.
    pub fn label(&self, allocation: &Allocation, wire: WireId) -> Option<ShortLabel> {
        let address = allocation.address(wire);
        (!address.is_block_ram()).then(|| {
            let lane = &self.ddr[address.place() as usize];
            ShortLabel(lane[..LABEL_BYTES].try_into().expect("a lane holds a label"))
        })
    }
}

fn label(bytes: &[u8]) -> ShortLabel {
    ShortLabel(bytes.try_into().expect("a label has ten bytes"))
}

/// Simulates a run. `labels` are labels of false of inputs and constants, in the order of the netlist. With a
/// `ddr_seed` other than 0, each DDR access takes up to 15 cycles more, at random.
///
/// # Panics
/// If the device does not finish, uses a DDR port twice, or leaves its memory.
pub fn run(
    netlist: &Netlist,
    (program, allocation): (&HostProgram<'_>, &Allocation),
    timing: HostTiming,
    (offset, labels): (ShortLabel, &[ShortLabel]),
    ddr_seed: u64,
) -> SimulatedRun {
    let constants = netlist.constants.iter().map(|(wire, _)| *wire);
    let wires: Vec<WireId> = netlist.inputs.iter().copied().chain(constants).collect();
    assert_eq!(wires.len(), labels.len(), "one label for each input and constant");
    let lanes = (allocation.ddr_labels as usize).next_multiple_of(4);
    let mut ddr = vec![[0; LANE_BYTES]; lanes];
    for (wire, label) in wires.into_iter().zip(labels) {
        ddr[allocation.address(wire).place() as usize][..LABEL_BYTES].copy_from_slice(&label.0);
    }
    let batches: Vec<RawBatch> = program
        .batches
        .iter()
        .map(|batch| RawBatch {
            is_and: u32::from(batch.kind == GateKind::And),
            is_polled: batch.is_polled.into(),
            gates: batch.gates.len() as u64,
        })
        .collect();
    let registers = program.registers();
    let gates = program.batches.iter().flat_map(|batch| program.gates(batch));
    let gate_registers: Vec<[u32; 3]> =
        gates.map(|gate| registers.values(program.addresses(gate))).collect();
    let mut rows = vec![[0; ROW_BYTES]; netlist.and_count()];
    // An XOR without a check costs most: writes, two reads, a write, and a round trip.
    let cycles_max = 2000 * (1 + gate_registers.len() as u64);
    let mut raw = RawRun {
        batches: batches.as_ptr(),
        batch_count: batches.len() as u64,
        gate_registers: gate_registers.as_ptr(),
        registers: registers.count() as u64,
        overlap: timing.overlap.into(),
        is_packed: u32::from(registers == Registers::Packed),
        main_ticks: timing.main_clock.ticks(),
        write_main_cycles: WRITE_MAIN_CYCLES,
        poll_main_cycles: POLL_MAIN_CYCLES,
        ddr_cycles: DDR_CYCLES,
        ddr_seed,
        offset: offset.0.as_ptr(),
        ddr: ddr.as_mut_ptr(),
        ddr_lanes: lanes as u64,
        rows: rows.as_mut_ptr(),
        rows_max: rows.len() as u64,
        rows_received: 0,
        cycles_max,
        ticks: 0,
        device_cycles: 0,
    };
    // SAFETY: all pointers are to buffers that live until the call returns, with these lengths, and the function checks
    // the lengths of what it writes.
    let is_done = unsafe { sifo_run(&mut raw) };
    assert!(is_done, "the device finishes");
    assert_eq!(raw.rows_received as usize, rows.len(), "one row for each AND");
    let rows = rows.iter().map(|row| {
        let mut labels = row.chunks(LABEL_BYTES).map(label);
        std::array::from_fn(|_| labels.next().expect("a row has three labels"))
    });
    let duration = Duration { ticks: raw.ticks, device_cycles: raw.device_cycles };
    SimulatedRun { rows: rows.collect(), duration, ddr }
}
