//! Files that a process removes if it is ended at once, while they are being written.
//!
//! Only a list: nothing here ends a process. Whoever does calls [`remove`] first.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

static LEFTOVERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Adds a file or directory.
pub(crate) fn remember(path: &Path) {
    let mut leftovers = LEFTOVERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    leftovers.push(path.to_owned());
}

/// Takes a file or directory from the list: it is complete, or removed.
pub(crate) fn forget(path: &Path) {
    let mut leftovers = LEFTOVERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    leftovers.retain(|left| left != path);
}

/// Removes all of them. Does nothing rather than wait for another thread, as it is also called
/// from a panic hook.
pub fn remove() {
    if let Ok(leftovers) = LEFTOVERS.try_lock() {
        for path in leftovers.iter() {
            let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
        }
    }
}
