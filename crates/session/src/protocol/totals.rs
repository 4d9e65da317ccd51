//! The exact totals of runs of a program of several blocks.

use phineus_bytecode::BlockCosts;

use super::{BlockRuns, Totals};
use crate::failure::Failure;
use crate::program_file::ProgramFile;

/// The exact totals of runs of these blocks, by run; `new` makes an empty model.
///
/// # Errors
/// If a file cannot be read.
pub(super) fn totals_of_blocks<M: BlockCosts>(
    new: impl Fn() -> M,
    blocks: &BlockRuns<'_>,
) -> Result<Vec<Totals>, Failure> {
    let description = blocks.description;
    let count = |file: &&ProgramFile| {
        let mut model = new();
        file.reader()?.for_each::<Failure>(|instruction| {
            if !instruction.op.is_directive() && !instruction.op.is_carrying() {
                model.count_and_predict(instruction, description);
            }
            Ok(())
        })?;
        model.end_block();
        Ok(model)
    };
    let counted = blocks.files.iter().map(count).collect::<Result<Vec<M>, Failure>>()?;
    let total = |turns: &Vec<(usize, u64)>| {
        let mut all = new();
        turns.iter().for_each(|&(block, times)| all.add_block(&counted[block], times));
        all.totals(description)
    };
    Ok(blocks.runs.iter().map(total).collect())
}
