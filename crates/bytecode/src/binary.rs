//! The binary form: a stream of compressed frames, readable forwards, backwards and in part.
//!
//! `docs/bytecode.md` is the normative description of the format; the code follows its order.

mod blocks;
mod frame;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use blocks::{BlockDirectory, Section, finish_blocks};
pub use reader::{InputScan, ProgramReader};
#[cfg(feature = "fuzzing")]
pub use writer::file_of_frame;
pub use writer::{FileSummary, ProgramWriter};

use sha2::{Digest, Sha256};

use crate::description::Description;
use crate::error::Error;
use crate::instruction::Instruction;

/// The version of the format.
pub const FORMAT_VERSION: u16 = 5;

/// The first bytes of every program file.
pub const MAGIC: [u8; 8] = *b"PHINEUS\0";

/// Bytes before the first frame: magic, version, kind, 5 reserved bytes of zero.
pub const HEADER_BYTES: usize = 16;

/// Bytes after everything: where description and index stand, the hash of the frames, the checksum
/// of the description, magic.
pub const FOOTER_BYTES: usize = 4 * 8 + 32 + CHECKSUM_BYTES + 8;

/// Bytes of the checksum of a description.
const CHECKSUM_BYTES: usize = 8;

/// The checksum of a description as it stands in its file: it finds damage, which might otherwise
/// change a name or who learns what; the program's hash finds intent.
fn checksum(description: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let digest: [u8; 32] = Sha256::digest(description).into();
    *digest.first_chunk().expect("a digest has 32 bytes")
}

/// Whether instructions name values or addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FileKind {
    /// Instructions name values.
    Program = 0,
    /// Instructions name addresses, and directives stand between them.
    Planned = 1,
}

/// 256 bits that identify a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The hash of a program: of its frames and its description.
    pub fn of_program(kind: FileKind, frames: &[u8; 32], description: &[u8]) -> Hash {
        let mut hash = Sha256::new();
        hash.update(b"phineus program");
        hash.update(FORMAT_VERSION.to_le_bytes());
        hash.update([kind as u8]);
        hash.update(frames);
        hash.update(description);
        Hash(hash.finalize().into())
    }
}

/// A whole program file in memory.
///
/// # Errors
/// If the description cannot be written.
///
/// # Panics
/// As [`ProgramWriter::push`].
pub fn to_bytes(
    kind: FileKind,
    instructions: &[Instruction],
    description: &Description,
) -> Result<Vec<u8>, Error> {
    let mut writer = ProgramWriter::new(Vec::new(), kind)?;
    for instruction in instructions {
        writer.push(instruction)?;
    }
    Ok(writer.finish(description)?.0)
}

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
