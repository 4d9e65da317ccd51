//! Verifies programs of several blocks.
//!
//! Each block is a program as others are, and besides:
//! 1. Registers, ports and blocks of steps exist.
//! 2. Inputs are in the first block only, to which no other leads. Outputs, except those that are
//!    opened, are in blocks that end the program, and each of these writes all of them.
//! 3. What a step opens, its block has written.
//! 4. A carried value has the type that the description states. It is stored at most once by a
//!    block, and loaded only where every path from the start has stored it.
//! 5. Cells of a memory are set on no path behind an access to it.
//! 6. What one party alone knows comes in only where it is known before the run how often it does.
//! 7. Where it is known how often each block runs, a run has at most [`INSTRUCTIONS_RUN_MAX`] instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};

use super::{BlockPlace, SHAPES_MAX, Verifier, Violation, verify_with};
use crate::binary::{BlockDirectory, ProgramReader};
use crate::error::Error;
use crate::flow::{Flow, RegisterStep, Successor};
use crate::limits::{FAULTS_MAX, INSTRUCTIONS_RUN_MAX};
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
    let mut memories: BTreeMap<u64, MemoryBlocks> = BTreeMap::new();
    let whole = |what: String| Violation { place: None, what };
    let times = blocks.flow.times();
    let mut instructions = 0u64;
    for (number, end) in blocks.flow.blocks.iter().enumerate() {
        let mut block = reader(number)?;
        let own = block.description().clone();
        let count = block.instruction_count().max(1);
        let times_run = times.as_ref().map_or(0, |times| times[number]);
        instructions = instructions.saturating_add(count.saturating_mul(times_run));
        let (is_last, iterations) = (end.next == Successor::End, end.next.iterations());
        let place = BlockPlace { is_first: number == 0, is_last, iterations };
        let (mut loaded, mut stored, mut opened) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_private = false;
        let checker = Verifier::new(block.kind(), &own).of_block(place);
        let found = verify_with(&mut block, checker, SHAPES_MAX, &mut |i| match i.op {
            Op::Load => loaded.push(i.immediates[0] as u32),
            Op::Store => stored.push(i.immediates[0] as u32),
            Op::Output => opened.push(i.immediates[0] as u32),
            Op::MemorySet => {
                memories.entry(i.immediates[0]).or_default().setting.insert(number);
            }
            op if op.is_private() => is_private = true,
            Op::MemoryOpen | Op::MemoryFollow | Op::MemoryLink => {
                memories.entry(i.immediates[0]).or_default().accessing.insert(number);
            }
            _ => {}
        })?;
        violations.extend(found.into_iter().map(|Violation { place, what }| Violation {
            place,
            what: format!("in block {number}: {what}"),
        }));
        if is_private && number > 0 && times.is_none() {
            violations.push(whole(format!(
                "block {number} brings in what one party knows, and what is opened decides how often"
            )));
        }
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
    if instructions > INSTRUCTIONS_RUN_MAX {
        violations.push(whole(format!(
            "a run has {instructions} instructions; the most is {INSTRUCTIONS_RUN_MAX}"
        )));
    }
    if violations.is_empty() {
        violations.extend(memories.iter().filter_map(|(memory, used)| {
            let block = used.set_late(&blocks.flow)?;
            Some(whole(format!(
                "block {block} sets cells of memory {memory} after an access to it"
            )))
        }));
    }
    violations.truncate(FAULTS_MAX);
    Ok(violations)
}

/// The blocks that use a memory.
#[derive(Default)]
struct MemoryBlocks {
    setting: BTreeSet<usize>,
    accessing: BTreeSet<usize>,
}

impl MemoryBlocks {
    /// A block that sets cells, and that another one, or itself, may lead to which has accessed the memory.
    fn set_late(&self, flow: &Flow) -> Option<usize> {
        let mut is_after = vec![false; flow.blocks.len()];
        let mut waiting: Vec<usize> = self.accessing.iter().copied().collect();
        while let Some(block) = waiting.pop() {
            for next in flow.blocks[block].next.blocks() {
                if !std::mem::replace(&mut is_after[next], true) {
                    waiting.push(next);
                }
            }
        }
        self.setting.iter().copied().find(|&block| is_after[block])
    }
}
