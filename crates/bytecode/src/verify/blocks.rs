//! Verifies programs of several blocks.
//!
//! Each block is a program as others are, and besides:
//! 1. Registers, ports and blocks of steps exist.
//! 2. Inputs are in the first block only, to which no other leads. Outputs, except those that are
//!    opened, are in blocks that end the program, and each of these writes all of them.
//! 3. What a step opens, its block has written.
//! 4. A carried value has the type that the description states. It is stored at most once by a
//!    block, and loaded only where every path from the start has stored it.

use std::io::{Read, Seek};

use super::{BlockPlace, SHAPES_MAX, Verifier, Violation, verify_with};
use crate::binary::{BlockDirectory, ProgramReader};
use crate::error::Error;
use crate::flow::{RegisterStep, Successor};
use crate::limits::FAULTS_MAX;
use crate::ops::Op;

/// All that is wrong with a program of several blocks, up to [`FAULTS_MAX`] violations; `reader`
/// opens a block.
///
/// # Errors
/// If a block cannot be read or is damaged.
pub fn verify_blocks<R: Read + Seek, E: From<Error>>(
    blocks: &BlockDirectory,
    mut reader: impl FnMut(usize) -> Result<ProgramReader<R>, E>,
) -> Result<Vec<Violation>, E> {
    let mut violations = Vec::new();
    let (mut loads, mut stores) = (Vec::new(), Vec::new());
    let whole = |what: String| Violation { place: None, what };
    for (number, end) in blocks.flow.blocks.iter().enumerate() {
        let mut block = reader(number)?;
        let own = block.description().clone();
        let place = BlockPlace { is_first: number == 0, is_last: end.next == Successor::End };
        let (mut loaded, mut stored, mut opened) = (Vec::new(), Vec::new(), Vec::new());
        let checker = Verifier::new(block.kind(), &own).of_block(place);
        let found = verify_with(&mut block, checker, SHAPES_MAX, &mut |i| match i.op {
            Op::Load => loaded.push(i.immediates[0] as u32),
            Op::Store => stored.push(i.immediates[0] as u32),
            Op::Output => opened.push(i.immediates[0] as u32),
            _ => {}
        })?;
        violations.extend(found.into_iter().map(|Violation { place, what }| Violation {
            place,
            what: format!("in block {number}: {what}"),
        }));
        let mut once = stored.clone();
        once.sort_unstable();
        if let Some(twice) = once.windows(2).find(|pair| pair[0] == pair[1]) {
            let what = format!("block {number} stores carried value {} twice", twice[0]);
            violations.push(whole(what));
        }
        for step in &end.steps {
            match *step {
                RegisterStep::Open { port, .. } if !opened.contains(&port) => {
                    violations.push(whole(format!(
                        "block {number} ends with output {port}, which it does not open"
                    )))
                }
                RegisterStep::Publish { slot, .. } => stored.push(slot),
                _ => {}
            }
        }
        loads.push(loaded);
        stores.push(stored);
    }
    if violations.is_empty()
        && let Some((block, slot)) = blocks.flow.missing(&loads, &stores)
    {
        violations.push(whole(format!(
            "block {block} loads carried value {slot}, which some path to it does not store"
        )));
    }
    violations.truncate(FAULTS_MAX);
    Ok(violations)
}
