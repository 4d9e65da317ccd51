//! Every limit of the garbled-circuit driver.

use phineus_bytecode::limits::VALUE_WIRES_MAX;
use phineus_channels::{MAX_BORROW_BYTES, SEND_AHEAD_BYTES};
use phineus_crypto::{Block, GarbledGate};

/// AND gates whose rows are borrowed from the channel at once.
pub const GATES_PER_PIECE: usize = 2048;
const _: () = assert!(GATES_PER_PIECE * GarbledGate::BYTES <= MAX_BORROW_BYTES);

// A row of a chain is borrowed as a whole, and has at most as many gates as a value has wires.
const _: () = assert!(VALUE_WIRES_MAX as usize * GarbledGate::BYTES <= MAX_BORROW_BYTES);

/// OTs in a batch: the unit in which a party that chooses works ahead.
pub const OTS_PER_BATCH: usize = 8192;

/// Batches of OTs that the evaluator has sent and not yet used.
///
/// 16 batches of 8192 are 131,072 OTs in flight: 1.3 M input bits a second at 100 ms round trip,
/// 2 MiB of labels at each party, and 512 KiB on the wire.
pub const BATCHES_AHEAD: usize = 16;

/// Bits of the evaluator for the garbler that the garbler lets wait before it reads them.
pub const PENDING_OUTPUT_BITS: usize = 1 << 20;

/// Messages of the evaluator that the garbler lets wait before it reads them.
///
/// Each takes some 200 bytes besides its bits, so 4096 of them are 0.8 MiB. The evaluator may have
/// fewer bytes than that in its buffer, unsent; the garbler waits for half of them at most, and
/// the evaluator flushes whenever as many outputs of one bit would be older than that.
pub const PENDING_MESSAGES: usize = 4096;

/// Bytes of 32 bits per OT and of all pending outputs.
const AHEAD_BYTES: usize = BATCHES_AHEAD * OTS_PER_BATCH * 4 + PENDING_OUTPUT_BITS / 8;
const _: () = assert!(AHEAD_BYTES <= SEND_AHEAD_BYTES, "the evaluator must never block for ever");

/// Bytes that a driver holds besides its scratch wires.
pub const DRIVER_MEMORY_BYTES: u64 = (BATCHES_AHEAD * OTS_PER_BATCH * size_of::<Block>()
    + PENDING_OUTPUT_BITS / 4
    + PENDING_MESSAGES * 200
    + 512 * 1024) as u64;
