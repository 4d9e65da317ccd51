//! Checks that only this process's user may read or change a file.
//!
//! A file counts as this user's own if they, or root, own it: root can read and change everything
//! anyway. As OpenSSH does for its keys, files that somebody else may change are refused, not used
//! with a warning.

use std::fs::Metadata;
use std::path::Path;

use crate::identity::{IdentityError, io_error};

/// Permission bits with which the group or all users may change a file.
#[cfg(unix)]
const OTHERS_WRITE: u32 = 0o022;
/// Permission bits with which the group or all users may read, change or execute a file.
#[cfg(unix)]
const OTHERS_ANY: u32 = 0o077;
/// In a directory with this bit only the owner of a file, or of the directory, may replace it, as in `/tmp`.
#[cfg(unix)]
const STICKY: u32 = 0o1000;

/// The user that owns a file, unless that is the user of this process or root.
#[cfg(unix)]
pub fn foreign_owner(metadata: &Metadata) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: geteuid takes nothing, touches no memory of ours and cannot fail.
    let own = unsafe { libc::geteuid() };
    let owner = metadata.uid();
    (owner != own && owner != 0).then_some(owner)
}

/// Where files have no owners, nobody else owns one.
#[cfg(not(unix))]
pub fn foreign_owner(_: &Metadata) -> Option<u32> {
    None
}

/// Refuses a file that others may read or change.
pub(crate) fn check_private(path: &Path, metadata: &Metadata) -> Result<(), IdentityError> {
    check_owner(path, metadata)?;
    #[cfg(unix)]
    if let Some(mode) = mode_with(metadata, OTHERS_ANY) {
        return Err(IdentityError::Readable { path: path.to_owned(), mode });
    }
    Ok(())
}

/// Refuses a file that others may change.
pub(crate) fn check_unchanged(path: &Path, metadata: &Metadata) -> Result<(), IdentityError> {
    check_owner(path, metadata)?;
    #[cfg(unix)]
    if let Some(mode) = mode_with(metadata, OTHERS_WRITE) {
        return Err(IdentityError::Writable { path: path.to_owned(), mode });
    }
    Ok(())
}

/// Refuses a directory in which others may replace files. Nothing is wrong with one that is not there.
pub(crate) fn check_directory(path: &Path) -> Result<(), IdentityError> {
    // An empty path is the working directory.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error(path, &error)),
    };
    check_owner(path, &metadata)?;
    #[cfg(unix)]
    if mode_with(&metadata, STICKY).is_some() {
        return Ok(());
    }
    check_unchanged(path, &metadata)
}

fn check_owner(path: &Path, metadata: &Metadata) -> Result<(), IdentityError> {
    match foreign_owner(metadata) {
        Some(owner) => Err(IdentityError::Foreign { path: path.to_owned(), owner }),
        None => Ok(()),
    }
}

/// The permissions of a file, if any of `bits` is among them.
#[cfg(unix)]
fn mode_with(metadata: &Metadata, bits: u32) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = metadata.permissions().mode();
    (mode & bits != 0).then_some(mode & 0o777)
}

#[cfg(all(test, unix))]
mod tests {
    use std::error::Error;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown};

    use crate::identity::{Identity, IdentityError, key_path};
    use crate::trust::TrustStore;

    type Checked = Result<(), Box<dyn Error>>;

    fn set_mode(path: &std::path::Path, mode: u32) -> std::io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }

    /// Whoever could write the list could add a key of their own and take a party's place.
    #[test]
    fn a_list_that_others_may_change_is_refused() -> Checked {
        let home = tempfile::tempdir()?;
        let key = Identity::ephemeral("b")?.fingerprint();
        TrustStore::load(home.path())?.trust("site_b", key)?;
        let list = home.path().join("trusted.toml");
        for mode in [0o664, 0o646, 0o666, 0o620, 0o602] {
            set_mode(&list, mode)?;
            let error = TrustStore::load(home.path()).err().ok_or("others may write it")?;
            assert!(matches!(error, IdentityError::Writable { mode: m, .. } if m == mode));
            let says = format!("chmod go-w '{}'", list.display());
            assert!(error.to_string().contains(&says), "{error}");
        }
        // That others may read it does no harm: it holds public keys.
        for mode in [0o600, 0o644, 0o444] {
            set_mode(&list, mode)?;
            assert_eq!(TrustStore::load(home.path())?.fingerprint("site_b"), Some(key));
        }
        Ok(())
    }

    /// Whoever may write a directory can put another file in place of one that they may not write.
    #[test]
    fn a_directory_in_which_others_may_replace_files_is_refused() -> Checked {
        let home = tempfile::tempdir()?;
        let directory = home.path().join("id");
        let key = Identity::create(&directory, "site_a")?.fingerprint();
        TrustStore::load(&directory)?.trust("site_b", key)?;
        for mode in [0o770, 0o707, 0o777] {
            set_mode(&directory, mode)?;
            let list = TrustStore::load(&directory).err().ok_or("the list can be replaced")?;
            assert!(matches!(list, IdentityError::Writable { .. }), "{list}");
            let own = Identity::load(&directory, "site_a").err().ok_or("so can the key")?;
            assert!(own.to_string().contains("chmod go-w"), "{own}");
            let new = Identity::create(&directory, "site_c").err().ok_or("so could a new one")?;
            assert!(matches!(new, IdentityError::Writable { .. }), "{new}");
            assert!(!key_path(&directory, "site_c").exists());
        }
        // As in /tmp, where users cannot replace each other's files.
        for mode in [0o700, 0o755, 0o1777] {
            set_mode(&directory, mode)?;
            assert_eq!(TrustStore::load(&directory)?.fingerprint("site_b"), Some(key));
            assert_eq!(Identity::load(&directory, "site_a")?.fingerprint(), key);
        }
        Ok(())
    }

    #[test]
    fn files_of_another_user_are_refused() -> Checked {
        const NOBODY: u32 = 65_534;
        let home = tempfile::tempdir()?;
        let key = Identity::create(home.path(), "site_a")?.fingerprint();
        TrustStore::load(home.path())?.trust("site_b", key)?;
        let (list, own) = (home.path().join("trusted.toml"), key_path(home.path(), "site_a"));
        if chown(&list, Some(NOBODY), None).is_err() {
            eprintln!("skipped: only root can give files away");
            return Ok(());
        }
        let error = TrustStore::load(home.path()).err().ok_or("somebody else's list")?;
        assert!(matches!(error, IdentityError::Foreign { owner: NOBODY, .. }), "{error}");
        chown(&list, Some(0), None)?;
        TrustStore::load(home.path())?;
        chown(&own, Some(NOBODY), None)?;
        let error = Identity::load(home.path(), "site_a").err().ok_or("somebody else's key")?;
        assert!(matches!(error, IdentityError::Foreign { .. }), "{error}");
        chown(&own, Some(0), None)?;
        chown(home.path(), Some(NOBODY), None)?;
        // Its owner may replace all files in it, whatever its mode.
        for mode in [0o700, 0o755, 0o1755, 0o1777] {
            set_mode(home.path(), mode)?;
            let list = TrustStore::load(home.path()).err().ok_or("somebody else's directory")?;
            assert!(matches!(list, IdentityError::Foreign { .. }), "{mode:o}: {list}");
            let own = Identity::load(home.path(), "site_a").err().ok_or("the key's, too")?;
            assert!(matches!(own, IdentityError::Foreign { .. }), "{mode:o}: {own}");
        }
        Ok(())
    }
}
