//! [`StoredKey`]: the key that encrypts stored correlated randomness.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use phineus_channels::foreign_owner;
use phineus_crypto::{Block, PageCipher, Prg};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::io;
use super::ledger::Ledger;
use crate::StoreError;

/// A key for stored preprocessing, from a file that only its owner can read. Wiped on drop.
pub struct StoredKey {
    key: Zeroizing<[u8; 32]>,
    /// Ledgers of used correlated randomness under this key, and perhaps under other keys.
    pub(super) ledgers: Vec<Ledger>,
}

impl StoredKey {
    /// Writes a new key to a file that does not exist yet.
    ///
    /// # Errors
    /// When the file exists or cannot be written.
    pub fn create(path: &Path, prg: &mut Prg) -> Result<StoredKey, StoreError> {
        let mut key = Zeroizing::new([0; 32]);
        prg.fill_bytes(&mut *key);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(path);
        let file = file.map_err(io(path, "creating the key"))?;
        let written = file.write_all_at(&*key, 0).and_then(|()| file.sync_all());
        if let Err(error) = written {
            // Half a key would be taken for one that is damaged. Without it there is none yet.
            let _ = std::fs::remove_file(path);
            return Err(io(path, "writing the key")(error));
        }
        Ok(StoredKey { key, ledgers: vec![Ledger::of_key(path)] })
    }

    /// Returns the key with a further ledger, which other keys may share.
    pub fn with_ledger(mut self, ledger: PathBuf) -> StoredKey {
        self.ledgers.push(Ledger::at(ledger));
        self
    }

    /// Reads a key.
    ///
    /// # Errors
    /// When the file cannot be read, or other users could read it.
    pub fn open(path: &Path) -> Result<StoredKey, StoreError> {
        let file = File::open(path).map_err(io(path, "opening the key"))?;
        let metadata = file.metadata().map_err(io(path, "opening the key"))?;
        if metadata.permissions().mode() & 0o077 != 0 || foreign_owner(&metadata).is_some() {
            return Err(StoreError::Exposed { path: path.to_owned() });
        }
        let mut key = Zeroizing::new([0; 32]);
        file.read_exact_at(&mut *key, 0).map_err(io(path, "reading the key"))?;
        Ok(StoredKey { key, ledgers: vec![Ledger::of_key(path)] })
    }

    /// The cipher of a file with this salt and this part of its header.
    pub(super) fn cipher(&self, salt: &[u8], bound: &[u8]) -> PageCipher {
        let digest = Sha256::new()
            .chain_update(b"phineus stored preprocessing 2")
            .chain_update(*self.key)
            .chain_update(salt)
            .chain_update(bound)
            .finalize();
        let (seed, _) = digest.split_first_chunk::<16>().expect("a digest has 32 bytes");
        PageCipher::from_seed(Block::from_bits(u128::from_le_bytes(*seed)))
    }
}
