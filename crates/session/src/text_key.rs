//! Keys of texts: chosen at random, and left for the processes of a local run.

use std::path::Path;

use phineus_crypto::Prg;
use phineus_tables::TextKey;
use zeroize::Zeroizing;

use crate::failure::{Failure, codes};

/// A new key.
///
/// # Errors
/// If the system gives no random bytes.
pub fn fresh() -> Result<TextKey, Failure> {
    let mut prg = Prg::from_os().map_err(|error| {
        Failure::new(codes::NO_RANDOMNESS, format!("the system gives no random bytes: {error}"))
    })?;
    let mut key = Zeroizing::new([0; 32]);
    prg.fill_bytes(&mut *key);
    Ok(TextKey::new(key))
}

/// Stores a key for the processes of a local run.
///
/// # Errors
/// If the file cannot be written.
pub fn store(key: &TextKey, path: &Path) -> Result<(), Failure> {
    std::fs::write(path, key.as_bytes()).map_err(|error| Failure::file(path, &error))
}

/// The key that [`store`] stored, if there is one.
///
/// # Errors
/// If the file cannot be read.
pub fn stored(path: &Path) -> Result<Option<TextKey>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let bytes = Zeroizing::new(std::fs::read(path).map_err(|e| Failure::file(path, &e))?);
    let mut key = Zeroizing::new([0; 32]);
    if bytes.len() != key.len() {
        let message = format!("{}: is not a key of texts", path.display());
        return Err(Failure::new(codes::NOT_A_TEXT_KEY, message));
    }
    key.copy_from_slice(&bytes);
    Ok(Some(TextKey::new(key)))
}
