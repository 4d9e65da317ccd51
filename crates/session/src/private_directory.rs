//! [`PrivateDirectory`]: where the parties of a local run have their keys, data and results.
//!
//! It is removed at the end, also when interrupted. A process that is killed removes nothing: then
//! its children do, who are told of its end (`signals.rs` of the command line), or else the next run. A file `LOCK`
//! in it says what the directory is, and is locked as long as its owner lives. Where the file
//! system has no locks there is no such file: then nobody but the owner removes the directory.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::failure::Failure;
use crate::leftovers::{Held, Leftovers};

const PREFIX: &str = "phineus-";
const LOCK: &str = ".phineus-private";

/// Content of that file. A directory without it was made by somebody else, and is not removed.
const MARK: &[u8] = b"The private directory of a local run of Phineus, removed when it ends.\n";

/// A directory that only this user can read.
pub struct PrivateDirectory {
    directory: tempfile::TempDir,
    _held: Held,
    /// Locked until it is closed, by whatever ends the process.
    _lock: File,
}

impl PrivateDirectory {
    /// Makes one among the temporary files, and removes those that others left behind. It is one of
    /// `leftovers` until it is dropped.
    pub fn new(leftovers: &Leftovers) -> Result<PrivateDirectory, Failure> {
        let parent = std::env::temp_dir();
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&parent)?;
        let held = leftovers.hold(directory.path());
        // Nobody sees the lock before it is locked.
        let making = directory.path().join(format!("{LOCK}.new"));
        let mut lock = File::create(&making)?;
        lock.write_all(MARK)?;
        if lock.lock().is_ok() {
            std::fs::rename(&making, directory.path().join(LOCK))?;
        }
        let own = std::fs::symlink_metadata(directory.path())?.uid();
        remove_abandoned(&parent, own);
        Ok(PrivateDirectory { directory, _held: held, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Whether a local run has made this directory, and locked it.
pub fn is_private(directory: &Path) -> bool {
    marked(directory).is_some()
}

/// The file that is locked, if it is there and says what it should.
fn marked(directory: &Path) -> Option<File> {
    let lock = File::open(directory.join(LOCK)).ok()?;
    let mut found = Vec::new();
    (&lock).take(MARK.len() as u64 + 1).read_to_end(&mut found).ok()?;
    (found == MARK).then_some(lock)
}

/// Removes the directories of this user in `parent` whose owners are dead.
///
/// What cannot be looked at or removed stays: it hinders nobody.
fn remove_abandoned(parent: &Path, user: u32) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // Of the entry itself, should it be a link.
        let is_ours = || entry.metadata().is_ok_and(|known| known.is_dir() && known.uid() == user);
        if is_named
            && is_ours()
            && let Some(lock) = marked(&entry.path())
            && lock.try_lock().is_ok()
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_holds_is_removed() {
        let parent = tempfile::tempdir().expect("a place for tests");
        let user = std::fs::metadata(parent.path()).expect("just made").uid();
        let make = |name: &str| {
            let directory = parent.path().join(name);
            std::fs::create_dir(&directory).expect("writable");
            std::fs::write(directory.join("secret.pem"), "key").expect("writable");
            directory
        };
        let (held, dead) = (make("phineus-held"), make("phineus-dead"));
        let (other, unlocked) = (make("other"), make("phineus-without"));
        for directory in [&held, &dead, &other] {
            std::fs::write(directory.join(LOCK), MARK).expect("writable");
        }
        // A user's own, with other files of these names.
        let users = make("phineus-notes");
        std::fs::write(users.join("lock"), MARK).expect("writable");
        std::fs::write(users.join(LOCK), [MARK, b"more"].concat()).expect("writable");
        let lock = File::open(held.join(LOCK)).expect("just made");
        lock.lock().expect("nobody else holds it");
        std::os::unix::fs::symlink(&other, parent.path().join("phineus-link")).expect("writable");
        remove_abandoned(parent.path(), user + 1);
        assert!(dead.exists(), "it is of another user");
        remove_abandoned(parent.path(), user);
        assert!(!dead.exists());
        assert!(held.exists() && other.exists() && unlocked.exists() && users.exists());
        assert!(is_private(&held) && !is_private(&users) && !is_private(&unlocked));
        assert!(other.join("secret.pem").exists());
        drop(lock);
        remove_abandoned(parent.path(), user);
        assert!(!held.exists());
    }
}
