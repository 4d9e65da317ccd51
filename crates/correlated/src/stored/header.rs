//! Header of the file, before the pages: party, program and amounts.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use phineus_crypto::Tag;
use zeroize::Zeroizing;

use super::{Binding, StoredBatch, io};
use crate::StoreError;
use crate::demand::Demand;

pub(super) const MAGIC: [u8; 8] = *b"PHINPREP";
pub(super) const VERSION: u32 = 2;
pub(super) const SALT_BYTES: usize = 32;
/// Where state and salt lie: what is overwritten when the file is used.
pub(super) const STATE_OFFSET: u64 = 12;
/// Where the part begins that is bound to the key.
pub(super) const BOUND_OFFSET: usize = 48;
/// Bytes of the name of a protocol.
pub(super) const PROTOCOL_BYTES: usize = 16;
/// Where the kinds begin.
const KINDS_OFFSET: usize = 156;
const KIND_BYTES: usize = 20;
pub(super) const TAG_BYTES: usize = 16;
/// More kinds than a program has: only matrices have more than 256.
const KINDS_MAX: usize = 1 << 16;

// In the bound part.
const PROGRAM: usize = 0;
const PAIRING: usize = 32;
const PROTOCOL: usize = 64;
const FAMILY: usize = 80;
const PARTY: usize = 88;
const PARTIES: usize = 92;
const PAGES: usize = 96;
const KINDS: usize = 104;
const _: () = assert!(BOUND_OFFSET + KINDS + 4 == KINDS_OFFSET);

/// The header of a file.
pub(super) struct FileHeader {
    pub(super) used: bool,
    pub(super) salt: Zeroizing<[u8; SALT_BYTES]>,
    pub(super) bound: Vec<u8>,
    pub(super) check: Tag,
}

impl FileHeader {
    pub(super) fn read(file: &File, path: &Path) -> Result<FileHeader, StoreError> {
        let unknown = || StoreError::Unknown { path: path.to_owned(), version: VERSION };
        let mut fixed = Zeroizing::new([0; KINDS_OFFSET]);
        read_at(file, path, &mut *fixed, 0)?;
        if fixed[..8] != MAGIC || fixed[8..12] != VERSION.to_le_bytes() {
            return Err(unknown());
        }
        let used = fixed[12..16] != [0; 4];
        let mut salt = Zeroizing::new([0; SALT_BYTES]);
        salt.copy_from_slice(&fixed[16..BOUND_OFFSET]);
        let kinds = fixed[KINDS_OFFSET - 4..].try_into().expect("a number has 4 bytes");
        let kinds = u32::from_le_bytes(kinds) as usize;
        if kinds > KINDS_MAX {
            return Err(unknown());
        }
        let mut rest = vec![0; kinds * KIND_BYTES + TAG_BYTES];
        read_at(file, path, &mut rest, KINDS_OFFSET as u64)?;
        let (kinds, check) = rest.split_at(kinds * KIND_BYTES);
        let check = Tag::from_bytes(check.try_into().expect("a tag has 16 bytes"));
        let bound = [&fixed[BOUND_OFFSET..], kinds].concat();
        Ok(FileHeader { used, salt, bound, check })
    }

    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bound[at..at + N].try_into().expect("the header is long enough")
    }

    /// The party and how many there are.
    pub(super) fn party(&self) -> (usize, usize) {
        let number = |at: usize| u32::from_le_bytes(self.bytes(at)) as usize;
        (number(PARTY), number(PARTIES))
    }

    pub(super) fn program(&self) -> [u8; 32] {
        self.bytes(PROGRAM)
    }

    pub(super) fn pairing(&self) -> [u8; 32] {
        self.bytes(PAIRING)
    }

    pub(super) fn protocol(&self) -> [u8; PROTOCOL_BYTES] {
        self.bytes(PROTOCOL)
    }

    pub(super) fn family(&self) -> [u8; 8] {
        self.bytes(FAMILY)
    }

    pub(super) fn pages(&self) -> u64 {
        u64::from_le_bytes(self.bytes(PAGES))
    }

    pub(super) fn demand<B: StoredBatch>(&self) -> Option<Demand<B::Kind>> {
        let mut demand = Demand::default();
        for entry in self.bound[KINDS + 4..].chunks_exact(KIND_BYTES) {
            let (code, count) = entry.split_at(12);
            let mut code = code
                .chunks_exact(4)
                .map(|bytes| u32::from_le_bytes(bytes.try_into().expect("a number has 4 bytes")));
            let code = std::array::from_fn(|_| code.next().expect("three numbers"));
            let count = u64::from_le_bytes(count.try_into().ok()?);
            demand.add(B::kind_of(code)?, count.try_into().ok()?);
        }
        Some(demand)
    }
}

/// The part of the header that is bound to the key.
pub(super) fn bound_part<B: StoredBatch>(
    binding: &Binding<B::Kind>,
    pairing: &[u8; 32],
    me: usize,
    parties: usize,
    pages: u64,
) -> Vec<u8> {
    let kinds = binding.demand.kinds().count();
    assert!(kinds <= KINDS_MAX, "a program has fewer kinds of correlated randomness");
    let mut bound = [&binding.program[..], pairing, &binding.protocol_bytes()].concat();
    bound.extend(B::FAMILY);
    bound.extend((me as u32).to_le_bytes());
    bound.extend((parties as u32).to_le_bytes());
    bound.extend(pages.to_le_bytes());
    bound.extend((kinds as u32).to_le_bytes());
    for (kind, count) in binding.demand.kinds() {
        B::code(kind).iter().for_each(|number| bound.extend(number.to_le_bytes()));
        bound.extend((count as u64).to_le_bytes());
    }
    bound
}

/// Reads exactly; a file that ends before is cut off.
fn read_at(file: &File, path: &Path, bytes: &mut [u8], at: u64) -> Result<(), StoreError> {
    file.read_exact_at(bytes, at).map_err(|source| match source.kind() {
        io::ErrorKind::UnexpectedEof => {
            let found = file.metadata().map(|metadata| metadata.len()).unwrap_or(0);
            let expected = at + bytes.len() as u64;
            StoreError::Truncated { path: path.to_owned(), bytes: found, expected }
        }
        _ => io(path, "reading")(source),
    })
}
