//! The size of a page, by the largest value of a program.

use std::io::{Read, Seek};

use phineus_bytecode::{Layout, ProgramReader};

use crate::error::Error;

/// Units of a page for `program`: the least power of two that holds each of its values, and at least
/// `least`, itself a power of two.
///
/// A value lies in one page, however large it is. Protocols whose values have a bound state the size
/// of their pages without reading a program; this is for those whose values are far larger than most
/// programs need, such as ciphertexts.
///
/// # Errors
/// If the program cannot be read.
pub fn page_units<R: Read + Seek>(
    program: &mut ProgramReader<R>,
    layout: Layout,
    least: u64,
) -> Result<u64, Error> {
    let mut most = least;
    program.for_each::<Error>(|instruction| {
        for k in 0..instruction.result_count() {
            most = most.max(layout.units(instruction.result_shape(k)).into());
        }
        Ok(())
    })?;
    Ok(most.next_power_of_two())
}
