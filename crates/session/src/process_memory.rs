//! Memory of a process whatever it computes, and the default limit.

/// Code, read-only data, stacks and the heap of a process that is connected and has planned.
///
/// Measured as the resident set before frames are made, tables left out, of the release build on
/// Linux x86-64 with programs of 10^3 to 10^6 instructions: 11.0 to 11.6 MiB, 9 of them code; 1 MiB
/// more for what is touched later. A process that measures more plans for more.
pub const PROCESS_BYTES: u64 = OPTIMISED_PROCESS_BYTES + UNOPTIMISED_BYTES;

/// The share of an optimised build. Sizes that all parties must agree on follow from it, whatever build
/// each of them has.
pub const OPTIMISED_PROCESS_BYTES: u64 = 13 << 20;

/// Code and read-only data that planning and a run touch: a process is measured without them, because how
/// much of an executable is resident differs by 2 MiB with how its file lies in the system's cache.
pub const CODE_BYTES: u64 = (5 << 20) + UNOPTIMISED_BYTES;

/// Additional memory for the code of an unoptimised build.
const UNOPTIMISED_BYTES: u64 = if cfg!(debug_assertions) { 5 << 20 } else { 0 };

/// The limit when the user states none: 1 GiB, or half of what the machine has free if that is
/// less.
pub fn default_limit() -> u64 {
    let half = phineus_engine::available_memory_bytes().map_or(u64::MAX, |bytes| bytes / 2);
    half.min(1 << 30)
}
