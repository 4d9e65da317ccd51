//! [`Leftovers`]: files that sessions are writing, for a caller that ends its process at once.
//!
//! A session that fails removes its own files. This list is for signal handlers and panic hooks,
//! which leave no time for that.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files and directories that are not finished. Clones are the same list, so a caller keeps one and
/// gives clones to its sessions ([`crate::settings::Resources::leftovers`]).
#[derive(Clone, Default)]
pub struct Leftovers(Arc<Mutex<Vec<PathBuf>>>);

impl Leftovers {
    /// Adds a file or directory until the value returned is dropped.
    #[must_use]
    pub(crate) fn hold(&self, path: &Path) -> Held {
        self.list().push(path.to_owned());
        Held { list: self.clone(), path: path.to_owned() }
    }

    /// Removes all of them from the disk. Does nothing rather than wait for another thread, so that a
    /// panic hook may call it.
    pub fn remove(&self) {
        if let Ok(list) = self.0.try_lock() {
            for path in list.iter() {
                let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
            }
        }
    }

    fn list(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Leftovers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Leftovers")
    }
}

/// A file or directory on the list until this is dropped: then it is finished, or removed.
pub(crate) struct Held {
    list: Leftovers,
    path: PathBuf,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut list = self.list.list();
        if let Some(index) = list.iter().position(|path| *path == self.path) {
            list.swap_remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two callers of one process have nothing in common.
    #[test]
    fn only_what_this_list_holds_is_removed() {
        let place = tempfile::tempdir().expect("a place for tests");
        let file = |name: &str| {
            let path = place.path().join(name);
            std::fs::write(&path, "half").expect("writable");
            path
        };
        let (ours, theirs) = (Leftovers::default(), Leftovers::default());
        let [held, finished, of_another] = ["held", "finished", "another"].map(file);
        let (_held, _other) = (ours.clone().hold(&held), theirs.hold(&of_another));
        drop(ours.hold(&finished));
        ours.remove();
        assert_eq!([&held, &finished, &of_another].map(|path| path.exists()), [false, true, true]);
    }
}
