//! The limit on programs whose loops run a secret number of times, and are unrolled to the largest.

use phineus_frontend::{ProgramError, lanes_for};
use phineus_oblivious::MemoryMethod;

/// The most instructions of such a program: some gigabytes of a program file.
const INSTRUCTIONS_MAX: u64 = 1 << 25;

/// Refuses a program of about so many instructions if it is too large; `remedy` says what makes it smaller.
pub(super) fn limited(instructions: u128, remedy: &str) -> Result<(), ProgramError> {
    if instructions <= u128::from(INSTRUCTIONS_MAX) {
        return Ok(());
    }
    let what = format!(
        "at this size the program has about {} million instructions, and the most is {}: {remedy}",
        instructions.div_ceil(1_000_000),
        INSTRUCTIONS_MAX / 1_000_000,
    );
    Err(ProgramError::Refused(what))
}

/// About how many instructions an access of a memory takes; by the method of the fewest, if none is stated.
pub(super) fn access(rows: u64, width: u16, columns: u64, method: Option<MemoryMethod>) -> u128 {
    let rows = rows.max(1);
    let chunks = rows.div_ceil(u64::from(lanes_for(width)));
    let instructions = |method| match method {
        MemoryMethod::Scan => chunks * (3 + 4 * columns) + 4 * u64::from(rows.ilog2() + 1),
        // The stash and the map hold about a root of the rows; shuffles take as long.
        MemoryMethod::SquareRoot | MemoryMethod::SquareRootTable => 400 + 2 * rows.isqrt(),
        // Some levels of each of some trees.
        MemoryMethod::Circuit => 600 + 80 * u64::from(rows.ilog2()).pow(2),
        MemoryMethod::Linked | MemoryMethod::Dpf | MemoryMethod::GarbledTable => 4 + columns,
    };
    let fewest = method.map_or_else(
        || MemoryMethod::ALL.map(instructions).into_iter().min().unwrap_or(0),
        instructions,
    );
    u128::from(fewest)
}
