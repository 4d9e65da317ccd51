//! [`for_each_access`]: the accesses of a program to its memories, in order.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Seek};

use phineus_bytecode::{Instruction, Op, ProgramReader};
use phineus_frontend::ProgramError;

use super::constants::keeps_constants;
use super::usage::RowKnowledge;

/// An access with all that it does.
pub(super) struct RecordedAccess {
    /// The number of the memory.
    pub(super) memory: usize,
    pub(super) kind: AccessKind,
    /// Set if the index is a constant.
    pub(super) is_public: bool,
}

/// How an access uses its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessKind {
    /// It changes nothing.
    Read,
    /// It replaces all cells and reads none.
    Write,
    /// Anything else.
    Update,
}

/// An access that may go on.
struct OpenAccess {
    is_public: bool,
    is_read: bool,
    /// Columns that were changed.
    changed: Vec<bool>,
}

impl OpenAccess {
    fn kind(&self) -> AccessKind {
        match (self.changed.contains(&true), self.is_read || self.changed.contains(&false)) {
            (false, _) => AccessKind::Read,
            (true, false) => AccessKind::Write,
            (true, true) => AccessKind::Update,
        }
    }
}

/// Rows that are set together: the first one, how much further it is in each iteration of the block, and how many.
pub(super) type SetRows = (u64, u64, u32);

/// Sets of the same rows of several columns, as one: in an order in which the sets of each column follow each other as
/// they do in the block, since two of them may meet in a row.
#[derive(Clone, Default)]
pub(super) struct SetOrder {
    rows: Vec<SetRows>,
    /// By column, behind which of these it may be set next.
    next: HashMap<usize, usize>,
}

impl SetOrder {
    /// The place of the next set of a column: among those that are there, or behind them.
    pub(super) fn place(&mut self, column: usize, rows: SetRows) -> usize {
        let from = self.next.get(&column).copied().unwrap_or(0);
        let same = self.rows[from..].iter().position(|known| *known == rows);
        let place = same.map_or(self.rows.len(), |at| from + at);
        if same.is_none() {
            self.rows.push(rows);
        }
        self.next.insert(column, place + 1);
        place
    }

    /// The rows to set, in the order in which they are set.
    pub(super) fn rows(&self) -> &[SetRows] {
        &self.rows
    }
}

/// How a block uses a memory.
#[derive(Clone, Default)]
pub(super) struct BlockAccesses {
    /// The kinds of its accesses, in order.
    pub(super) kinds: Vec<AccessKind>,
    sets: SetOrder,
}

impl BlockAccesses {
    /// Of each of so many memories.
    ///
    /// # Errors
    /// If the block cannot be read.
    pub(super) fn of<R: Read + Seek>(
        block: &mut ProgramReader<R>,
        memories: usize,
    ) -> Result<Vec<BlockAccesses>, ProgramError> {
        let mut all = vec![BlockAccesses::default(); memories];
        for_each_access(block, |access| all[access.memory].kinds.push(access.kind))?;
        block.for_each::<ProgramError>(|instruction| {
            if instruction.op == Op::MemorySet {
                let [memory, column, row, stride] = instruction.immediates;
                let rows = (row, stride, instruction.lanes);
                all[memory as usize].sets.place(column as usize, rows);
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Rows that are set in an iteration.
    pub(super) fn set_rows(&self) -> u64 {
        self.sets.rows().iter().map(|(_, _, rows)| u64::from(*rows)).sum()
    }
}

/// Calls `visit` with each access when it is complete; those to one memory come in order. Returns who knows the cells that
/// each memory is set to; nothing if none is set.
///
/// Memory: some 16 bytes for each constant, and each value that follows from constants or inputs of the first party.
///
/// # Errors
/// If the program cannot be read.
pub(super) fn for_each_access<R: Read + Seek>(
    program: &mut ProgramReader<R>,
    mut visit: impl FnMut(RecordedAccess),
) -> Result<Vec<Option<RowKnowledge>>, ProgramError> {
    let memories = program.description().memories.iter();
    let inputs = program.description().inputs.clone();
    let columns: Vec<usize> = memories.map(|memory| memory.columns.len()).collect();
    let mut open: Vec<Option<OpenAccess>> = columns.iter().map(|_| None).collect();
    let (mut constants, mut known) = (HashSet::new(), HashMap::new());
    let of_first = |port: u64| inputs[port as usize].party == 0;
    let mut set: Vec<Option<RowKnowledge>> = vec![None; columns.len()];
    let mut complete = |memory: usize, access: Option<OpenAccess>| {
        if let Some(access) = access {
            let (kind, is_public) = (access.kind(), access.is_public);
            visit(RecordedAccess { memory, kind, is_public });
        }
    };
    let verified = "the verifier has seen that an access comes first";
    program.for_each::<ProgramError>(|instruction| {
        let [memory, column, ..] = instruction.immediates.map(|word| word as usize);
        if let Some(who) = knowledge(instruction, &known, of_first) {
            known.extend(instruction.results().iter().map(|&name| (name, who)));
        }
        match instruction.op {
            Op::Constant if instruction.lanes == 1 => {
                constants.insert(instruction.results[0]);
            }
            Op::MemorySet => {
                let who = known.get(&instruction.operands[0]).copied().unwrap_or_default();
                set[memory] = set[memory].max(Some(who));
            }
            Op::MemoryOpen | Op::MemoryFollow => {
                let is_public = constants.contains(&instruction.operands[0]);
                let changed = vec![false; columns[memory]];
                let next = OpenAccess { is_public, is_read: false, changed };
                complete(memory, open[memory].replace(next));
            }
            Op::MemoryCell => open[memory].as_mut().expect(verified).is_read = true,
            Op::MemoryChange => open[memory].as_mut().expect(verified).changed[column] = true,
            Op::MemoryLink | Op::MemoryNext => {}
            op => assert!(!op.is_of_memory(), "{} is an access", op.info().name),
        }
        Ok(())
    })?;
    for (memory, access) in open.into_iter().enumerate() {
        complete(memory, access);
    }
    Ok(set)
}

/// Who knows the results of an instruction, as far as it follows from who knows its operands.
fn knowledge(
    instruction: &Instruction,
    known: &HashMap<u64, RowKnowledge>,
    of_first: impl Fn(u64) -> bool,
) -> Option<RowKnowledge> {
    if instruction.op == Op::Input {
        return of_first(instruction.immediates[0]).then_some(RowKnowledge::FirstParty);
    }
    let operands = instruction.operands().iter().map(|name| known.get(name).copied());
    let who = operands.collect::<Option<Vec<_>>>()?.into_iter().max();
    keeps_constants(instruction.op).then_some(who.unwrap_or(RowKnowledge::All))
}
