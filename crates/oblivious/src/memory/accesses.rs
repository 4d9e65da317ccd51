//! [`for_each_access`]: the accesses of a program to its memories, in order.

use std::collections::HashSet;
use std::io::{Read, Seek};

use phineus_bytecode::{Op, ProgramReader};
use phineus_frontend::ProgramError;

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

/// Calls `visit` with each access when it is complete; those to one memory come in order.
///
/// Memory: 8 bytes for each constant of one lane.
///
/// # Errors
/// If the program cannot be read.
pub(super) fn for_each_access<R: Read + Seek>(
    program: &mut ProgramReader<R>,
    mut visit: impl FnMut(RecordedAccess),
) -> Result<(), ProgramError> {
    let memories = program.description().memories.iter();
    let columns: Vec<usize> = memories.map(|memory| memory.columns.len()).collect();
    let mut open: Vec<Option<OpenAccess>> = columns.iter().map(|_| None).collect();
    let mut constants = HashSet::new();
    let mut complete = |memory: usize, access: Option<OpenAccess>| {
        if let Some(access) = access {
            let (kind, is_public) = (access.kind(), access.is_public);
            visit(RecordedAccess { memory, kind, is_public });
        }
    };
    let verified = "the verifier has seen that an access comes first";
    program.for_each::<ProgramError>(|instruction| {
        let [memory, column, ..] = instruction.immediates.map(|word| word as usize);
        match instruction.op {
            Op::Constant if instruction.lanes == 1 => {
                constants.insert(instruction.results[0]);
            }
            Op::MemoryOpen | Op::MemoryFollow => {
                let is_public = constants.contains(&instruction.operands[0]);
                let changed = vec![false; columns[memory]];
                let next = OpenAccess { is_public, is_read: false, changed };
                complete(memory, open[memory].replace(next));
            }
            Op::MemoryCell => open[memory].as_mut().expect(verified).is_read = true,
            Op::MemoryChange => open[memory].as_mut().expect(verified).changed[column] = true,
            Op::MemorySet | Op::MemoryLink | Op::MemoryNext => {}
            op => assert!(!op.is_of_memory(), "{} is an access", op.info().name),
        }
        Ok(())
    })?;
    for (memory, access) in open.into_iter().enumerate() {
        complete(memory, access);
    }
    Ok(())
}
