//! Objects: what pointers point into.

use crate::memory::pages::CellPages;
use crate::memory::table::InputMemory;

/// Bytes that one object may have: the most that clang sets to 0 (`compiler::UNSET_BYTES_MAX`).
pub(crate) const OBJECT_BYTES_MAX: u128 = (1 << 31) - 1;

pub(crate) enum ObjectStorage {
    Cells(CellPages),
    Table(InputMemory),
}

/// Something that pointers point into.
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) granule: u64,
    pub(crate) storage: ObjectStorage,
    pub(crate) is_constant: bool,
    pub(crate) is_alive: bool,
    /// Its first version.
    pub(crate) born: u64,
    /// Changes when something is written to it; two objects never have the same one.
    pub(crate) version: u64,
    /// Its version when the last arm ended that had changed it.
    pub(crate) arm_ended: u64,
    /// How many memories were made of it (`access/oblivious.rs`).
    pub(crate) memories_made: u32,
}

impl Object {
    /// The name in messages.
    pub(crate) fn shown(&self) -> String {
        match self.name.as_str() {
            "" => "an object".to_owned(),
            name => format!("'{name}'"),
        }
    }
}
