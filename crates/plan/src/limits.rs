//! Every limit of the planner, in one place.

use phineus_bytecode::limits::{OPERANDS_MAX, RESULTS_MAX, VALUE_WIRES_MAX};

/// Pages that one instruction can touch.
pub const PAGES_PER_INSTRUCTION_MAX: u64 = (OPERANDS_MAX + RESULTS_MAX) as u64;

/// The fewest prefetch frames: one page may arrive while another leaves.
pub const PREFETCH_FRAMES_MIN: u64 = 2;

/// The fewest frames that a plan can work with.
pub const FRAMES_MIN: u64 = PAGES_PER_INSTRUCTION_MAX + 1 + PREFETCH_FRAMES_MIN;

/// The most instructions that the scheduler holds while it looks ahead.
///
/// An event is about 100 bytes, so 16,384 of them are 1.6 MiB of the planner's memory.
pub const WINDOW_EVENTS_MAX: usize = 16_384;

/// Instructions that planning holds back at once to move inputs, or outputs.
///
/// Each takes 104 bytes while it is held, 13 MiB in all. All parties must move the same ones, so it
/// depends on no memory limit.
pub const HELD_MAX: usize = 1 << 17;

/// The fewest units in a page. [`page_units`](crate::page_units) says how many a program needs.
pub const PAGE_WIRES_MIN: u64 = VALUE_WIRES_MAX as u64;

/// The most memory that planning may take, whatever the length of the program.
pub const PLANNER_MEMORY_BYTES: u64 = 256 * 1024 * 1024;
