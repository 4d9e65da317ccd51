//! Keys that this party trusts: `trusted.toml`, one fingerprint per name.
//!
//! ```toml
//! [trusted]
//! site_b = "PH1-XXXX-XXXX-XXXX-XXXX-XXXX-XXXX-XXXX"
//! ```

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::fingerprint::Fingerprint;
use crate::identity::{IdentityError, io_error, unreadable, write_new};
use crate::names::check_name;
use crate::ownership::{check_directory, check_unchanged};

const HEADER: &str = "# The keys of the parties that this one talks to; see `phineus id trust`.\n\n\
                      [trusted]\n";

/// The keys of the parties that this one talks to.
#[derive(Clone, Debug)]
pub struct TrustStore {
    path: Option<PathBuf>,
    trusted: BTreeMap<String, Fingerprint>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustFile {
    #[serde(default)]
    trusted: BTreeMap<String, String>,
}

impl TrustStore {
    /// A list that is in no file.
    pub fn in_memory() -> Self {
        TrustStore { path: None, trusted: BTreeMap::new() }
    }

    /// The list in `directory/trusted.toml`; empty if there is no such file.
    ///
    /// # Errors
    /// The file cannot be read, others may change it, or it has a line that is no trusted key.
    pub fn load(directory: &Path) -> Result<Self, IdentityError> {
        let path = directory.join("trusted.toml");
        check_directory(directory)?;
        let failed = |error: io::Error| unreadable(&path, &error);
        let text = match File::open(&path) {
            Ok(file) => {
                // Of the file that is read, not of one that takes its place.
                check_unchanged(&path, &file.metadata().map_err(failed)?)?;
                io::read_to_string(file).map_err(failed)?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed(error)),
        };
        let damaged = |problem: String| IdentityError::Damaged { path: path.clone(), problem };
        let file: TrustFile = toml::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        let mut trusted = BTreeMap::new();
        for (name, text) in file.trusted {
            check_name(&name).map_err(|problem| damaged(format!("`{name}`: {problem}")))?;
            let fingerprint = text.parse().map_err(|error| damaged(format!("{name}: {error}")))?;
            trusted.insert(name, fingerprint);
        }
        Ok(TrustStore { path: Some(path), trusted })
    }

    /// The key trusted under this name.
    pub fn fingerprint(&self, name: &str) -> Option<Fingerprint> {
        self.trusted.get(name).copied()
    }

    /// All trusted keys, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Fingerprint)> {
        self.trusted.iter().map(|(name, fingerprint)| (name.as_str(), *fingerprint))
    }

    /// Trusts a key under a name and writes the list; returns whether that is new.
    ///
    /// # Errors
    /// Another key is trusted under that name, or the file cannot be written.
    pub fn trust(&mut self, name: &str, fingerprint: Fingerprint) -> Result<bool, IdentityError> {
        check_name(name)
            .map_err(|problem| IdentityError::Name { name: name.to_owned(), problem })?;
        match self.fingerprint(name) {
            Some(trusted) if trusted == fingerprint => return Ok(false),
            Some(trusted) => {
                return Err(IdentityError::TrustedOtherwise {
                    name: name.to_owned(),
                    path: self.path.clone().unwrap_or_else(|| PathBuf::from("the list")),
                    trusted,
                    offered: fingerprint,
                });
            }
            None => {}
        }
        self.trusted.insert(name.to_owned(), fingerprint);
        self.save().map(|()| true)
    }

    /// Trusts no key under this name any longer; returns whether one was trusted.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn untrust(&mut self, name: &str) -> Result<bool, IdentityError> {
        if self.trusted.remove(name).is_none() {
            return Ok(false);
        }
        self.save().map(|()| true)
    }

    /// Replaces the file in one step, so that a crash leaves the old list or the new one.
    fn save(&self) -> Result<(), IdentityError> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let lines = self.iter().map(|(name, fingerprint)| format!("{name} = \"{fingerprint}\"\n"));
        let text = format!("{HEADER}{}", lines.collect::<String>());
        let new = path.with_extension(format!("toml.{}", std::process::id()));
        write_new(&new, text.as_bytes(), 0o644).and_then(|()| fs::rename(&new, path)).map_err(
            |error| {
                // The new file may or may not be there; the old one stands.
                let _ = fs::remove_file(&new);
                io_error(path, &error)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;
    use crate::identity::{Identity, key_path};

    type Checked = Result<(), Box<dyn Error>>;

    #[test]
    fn an_identity_survives_its_files() -> Checked {
        let home = tempfile::tempdir()?;
        let directory = home.path().join("id");
        let made = Identity::create(&directory, "site_a")?;
        let read = Identity::load(&directory, "site_a")?;
        assert_eq!(made.fingerprint(), read.fingerprint());
        assert_eq!(read.name(), "site_a");
        let again = Identity::create(&directory, "site_a");
        assert!(matches!(again.err(), Some(IdentityError::Exists { .. })));
        assert_eq!(Identity::load(&directory, "site_a")?.fingerprint(), made.fingerprint());
        let other = Identity::load(&directory, "site_b").err().ok_or("no such identity")?;
        let remedy = format!("`phineus id init site_b --id-dir {}`", directory.display());
        assert!(other.to_string().ends_with(&remedy), "{other}");
        let bad = Identity::create(&directory, "../site_a").err().ok_or("no such name")?;
        assert!(matches!(bad, IdentityError::Name { .. }), "{bad}");
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_private_key_is_private() -> Checked {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir()?;
        Identity::create(home.path(), "site_a")?;
        let path = key_path(home.path(), "site_a");
        assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
        let refused = Identity::load(home.path(), "site_a").err().ok_or("readable by others")?;
        assert!(matches!(refused, IdentityError::Readable { mode: 0o640, .. }), "{refused}");
        Ok(())
    }

    #[test]
    fn damaged_files_are_named() -> Checked {
        let home = tempfile::tempdir()?;
        Identity::create(home.path(), "site_a")?;
        Identity::create(home.path(), "site_b")?;
        let certificate = |name: &str| home.path().join(format!("{name}.cert.pem"));
        fs::copy(certificate("site_b"), certificate("site_a"))?;
        let error = Identity::load(home.path(), "site_a").err().ok_or("swapped")?;
        assert!(error.to_string().contains("another key"), "{error}");
        fs::write(certificate("site_a"), "nonsense")?;
        let error = Identity::load(home.path(), "site_a").err().ok_or("nonsense")?;
        assert!(error.to_string().contains("site_a.cert.pem is damaged"), "{error}");
        fs::write(key_path(home.path(), "site_b"), "nonsense")?;
        let error = Identity::load(home.path(), "site_b").err().ok_or("nonsense")?;
        assert!(error.to_string().contains("site_b.key.pem is damaged"), "{error}");
        fs::write(key_path(home.path(), "site_b"), [0xff, 0xfe, 0x80])?;
        let error = Identity::load(home.path(), "site_b").err().ok_or("no text")?;
        assert!(error.to_string().contains("is damaged (it is not text)"), "{error}");
        fs::remove_file(certificate("site_a"))?;
        let error = Identity::load(home.path(), "site_a").err().ok_or("no certificate")?;
        assert!(
            error.to_string().contains("site_a.cert.pem is damaged (it is missing)"),
            "{error}"
        );
        Ok(())
    }

    #[test]
    fn a_pin_stays_until_it_is_removed() -> Checked {
        let home = tempfile::tempdir()?;
        let (first, second) = (Identity::ephemeral("b")?, Identity::ephemeral("b")?);
        let mut store = TrustStore::load(home.path())?;
        assert!(store.trust("site_b", first.fingerprint())?);
        assert!(!store.trust("site_b", first.fingerprint())?);
        let refused = store.trust("site_b", second.fingerprint()).err().ok_or("pinned")?;
        assert!(refused.to_string().contains("phineus id untrust site_b"), "{refused}");
        let mut store = TrustStore::load(home.path())?;
        assert_eq!(store.fingerprint("site_b"), Some(first.fingerprint()));
        assert!(store.untrust("site_b")?);
        assert!(!store.untrust("site_b")?);
        assert!(store.trust("site_b", second.fingerprint())?);
        assert_eq!(TrustStore::load(home.path())?.iter().count(), 1);
        assert_eq!(fs::read_dir(home.path())?.count(), 1, "no temporary file stays behind");
        Ok(())
    }

    #[test]
    fn a_damaged_list_is_refused() -> Checked {
        let home = tempfile::tempdir()?;
        for text in
            ["trusted = 3", "[trusted]\nsite_b = \"PH1-0\"", "[trust]\n", "[trusted]\n\"\" = \"\""]
        {
            fs::write(home.path().join("trusted.toml"), text)?;
            let error = TrustStore::load(home.path()).err().ok_or(text)?;
            assert!(error.to_string().contains("trusted.toml is damaged"), "{error}");
        }
        fs::write(home.path().join("trusted.toml"), [0xff, 0xfe, 0x80])?;
        let error = TrustStore::load(home.path()).err().ok_or("no text")?;
        assert!(error.to_string().contains("is damaged (it is not text)"), "{error}");
        Ok(())
    }
}
