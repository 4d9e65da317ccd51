//! [`Ledger`]: which correlated randomness has been used, in a file beside the key, and in one of
//! the user's.
//!
//! A file of correlated randomness marks itself as used; a copy of it, such as one from a backup,
//! does not. So what is used is noted first where the key is, by a hash of its pairing and party,
//! which are the same in all copies, and what stands there is refused. (The party, because parties
//! on one machine may share a key.) After a run with authenticated correlated randomness that
//! failed because somebody lied, the liar may know this party's share of the MAC key: a second run
//! on a copy would be forged.
//!
//! Records of 32 bytes, each on the device before it counts. A record that was cut off by a crash is
//! overwritten. A second ledger, the same for all keys of a user, notices copies of file and key at
//! another place. Not protected: ledgers that are themselves brought back to an older state, or
//! removed, or left behind where file and key are copied to another machine or user.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{io, sync_directory};
use crate::StoreError;

const RECORD_BYTES: usize = 32;

/// Record of the use of one party's correlated randomness.
pub(super) fn record(pairing: &[u8; 32], party: usize) -> [u8; RECORD_BYTES] {
    let hash = Sha256::new().chain_update(b"phineus used").chain_update(pairing);
    hash.chain_update((party as u64).to_le_bytes()).finalize().into()
}

/// The file of records of what was used, which belongs to a key.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    path: PathBuf,
}

impl Ledger {
    /// The one of the key in `key_path`.
    pub(super) fn of_key(key_path: &Path) -> Ledger {
        let mut name = key_path.as_os_str().to_owned();
        name.push(".used");
        Ledger { path: name.into() }
    }

    /// The one at `path`.
    pub(super) fn at(path: PathBuf) -> Ledger {
        Ledger { path }
    }

    /// Returns whether the ledger contains `record`.
    pub(super) fn contains(&self, record: &[u8; RECORD_BYTES]) -> Result<bool, StoreError> {
        match File::open(&self.path) {
            Ok(file) => Ok(self.records(&file)?.chunks(RECORD_BYTES).any(|used| used == record)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io(&self.path, "opening")(error)),
        }
    }

    /// Notes `record`; `false` if it was there already. It is on the device when this returns.
    pub(super) fn note(&self, record: &[u8; RECORD_BYTES]) -> Result<bool, StoreError> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = file.open(&self.path).map_err(io(&self.path, "opening"))?;
        // Another run may be noting the same.
        file.lock().map_err(io(&self.path, "locking"))?;
        let records = self.records(&file)?;
        if records.chunks(RECORD_BYTES).any(|used| used == record) {
            return Ok(false);
        }
        let whole = records.len() / RECORD_BYTES * RECORD_BYTES;
        let written = file.write_all_at(record, whole as u64).and_then(|()| file.sync_all());
        written.map_err(io(&self.path, "writing"))?;
        sync_directory(&self.path)?;
        Ok(true)
    }

    fn records(&self, mut file: &File) -> Result<Vec<u8>, StoreError> {
        let mut records = Vec::new();
        file.read_to_end(&mut records).map_err(io(&self.path, "reading"))?;
        Ok(records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parties_that_share_a_key_have_records_of_their_own() {
        assert_ne!(record(&[1; 32], 0), record(&[1; 32], 1));
        assert_ne!(record(&[1; 32], 0), record(&[2; 32], 0));
    }

    #[test]
    fn what_was_noted_stays_noted_also_after_a_record_cut_off() {
        let directory = tempfile::tempdir().expect("a place for tests");
        let ledger = Ledger::of_key(&directory.path().join("stored.key"));
        assert!(!ledger.contains(&[1; 32]).expect("nothing there yet"));
        assert!(ledger.note(&[1; 32]).expect("writable"));
        assert!(!ledger.note(&[1; 32]).expect("writable"));
        let file = OpenOptions::new().append(true).open(&ledger.path).expect("it is there");
        std::io::Write::write_all(&mut &file, &[2; 7]).expect("writable");
        assert!(ledger.note(&[3; 32]).expect("writable"));
        assert!(ledger.contains(&[1; 32]).expect("readable"));
        assert!(ledger.contains(&[3; 32]).expect("readable"));
        assert!(!ledger.contains(&[2; 32]).expect("readable"));
    }
}
