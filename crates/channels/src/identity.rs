//! Identity of this party: an Ed25519 key and a self-signed certificate around it, in two files.
//!
//! The certificate carries the key through TLS and says nothing else: peers compare the key with
//! the fingerprint they trust and look at no name, date or issuer.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ED25519, PublicKeyData};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use zeroize::Zeroizing;

use crate::fingerprint::Fingerprint;
use crate::names::check_name;
use crate::ownership::{check_directory, check_private};

/// The name and key of this party. Has no `Debug`, and the key is zeroized on drop.
pub struct Identity {
    name: String,
    key: Zeroizing<PrivatePkcs8KeyDer<'static>>,
    certificate: CertificateDer<'static>,
    fingerprint: Fingerprint,
}

/// Errors of identities, their files and the list of trusted keys.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// Not a name for a party.
    #[error("`{name}` cannot name a party: {problem}")]
    Name {
        /// The name in question.
        name: String,
        /// The fault.
        problem: &'static str,
    },
    /// There is one already, and it is not overwritten.
    #[error(
        "{path} exists already; peers trust that key, so it is not overwritten (to replace it, \
         move it away first)"
    )]
    Exists {
        /// The key file.
        path: PathBuf,
    },
    /// There is none.
    #[error(
        "no key of {name} in {path}; make one with `phineus id init {name} --id-dir {directory}`",
        directory = path.parent().unwrap_or(path).display()
    )]
    Missing {
        /// The party.
        name: String,
        /// The key file that was looked for.
        path: PathBuf,
    },
    /// Others can read the private key.
    #[error(
        "other users can read {path} (mode {mode:03o}); run `chmod 600` on it, or make a new key \
         if they may have read it"
    )]
    Readable {
        /// The key file.
        path: PathBuf,
        /// Permission bits, as `chmod` takes them.
        mode: u32,
    },
    /// Others can change the list of trusted keys, or replace a file in its directory.
    #[error(
        "other users can change {path} (mode {mode:03o}), and with it whom this party trusts; make \
         sure that nobody has, then run `chmod go-w '{path}'`"
    )]
    Writable {
        /// The file or directory.
        path: PathBuf,
        /// Permission bits, as `chmod` takes them.
        mode: u32,
    },
    /// Somebody else owns the file, and so can read and change it.
    #[error(
        "{path} belongs to another user (number {owner}), who can change it; make sure that nobody \
         has, then run `chown $(id -u) '{path}'`"
    )]
    Foreign {
        /// The file or directory.
        path: PathBuf,
        /// The number of that user.
        owner: u32,
    },
    /// A file has the wrong content.
    #[error("{path} is damaged ({problem}); restore it from a copy")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        problem: String,
    },
    /// The key could not be made.
    #[error("no key could be made: {detail}")]
    Generation {
        /// Error text of the library.
        detail: String,
    },
    /// Another key is trusted under this name.
    #[error(
        "{path} trusts {name} with {trusted}, not {offered}; if {name} really has a new key, run \
         `phineus id untrust {name}` first"
    )]
    TrustedOtherwise {
        /// The party.
        name: String,
        /// The file that says so.
        path: PathBuf,
        /// The key in the file.
        trusted: Fingerprint,
        /// The key that should be added.
        offered: Fingerprint,
    },
    /// A file cannot be read or written.
    #[error("{path}: {detail}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Error text of the system.
        detail: String,
    },
}

pub(crate) fn io_error(path: &Path, error: &io::Error) -> IdentityError {
    IdentityError::Io { path: path.to_owned(), detail: error.to_string() }
}

/// Why a file that belongs to an identity could not be read.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> IdentityError {
    let problem = match error.kind() {
        io::ErrorKind::NotFound => "it is missing",
        io::ErrorKind::InvalidData => "it is not text",
        _ => return io_error(path, error),
    };
    IdentityError::Damaged { path: path.to_owned(), problem: problem.to_owned() }
}

fn generation(error: rcgen::Error) -> IdentityError {
    IdentityError::Generation { detail: error.to_string() }
}

/// The file with the private key of `name`.
pub fn key_path(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.key.pem"))
}

fn certificate_path(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.cert.pem"))
}

/// A new key, its PEM text and its certificate.
fn generate(name: &str) -> Result<(Zeroizing<KeyPair>, rcgen::Certificate), IdentityError> {
    check_name(name).map_err(|problem| IdentityError::Name { name: name.to_owned(), problem })?;
    let key = Zeroizing::new(KeyPair::generate_for(&PKCS_ED25519).map_err(generation)?);
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    let certificate = params.self_signed(&*key).map_err(generation)?;
    Ok((key, certificate))
}

impl Identity {
    /// Makes an identity that is in no file and ends with this value.
    ///
    /// # Errors
    /// The name is not one, or the system has no randomness.
    pub fn ephemeral(name: &str) -> Result<Self, IdentityError> {
        let (key, certificate) = generate(name)?;
        Ok(Identity {
            name: name.to_owned(),
            fingerprint: Fingerprint::of_public_key(&key.subject_public_key_info()),
            key: Zeroizing::new(PrivatePkcs8KeyDer::from(key.serialize_der())),
            certificate: certificate.der().clone(),
        })
    }

    /// Makes an identity and writes it to `directory`, which is created if need be.
    ///
    /// # Errors
    /// There is a key of that name already, or the files cannot be written.
    pub fn create(directory: &Path, name: &str) -> Result<Self, IdentityError> {
        let (key, certificate) = generate(name)?;
        create_private_directory(directory).map_err(|error| io_error(directory, &error))?;
        check_directory(directory)?;
        let path = key_path(directory, name);
        let pem = Zeroizing::new(key.serialize_pem());
        write_new(&path, pem.as_bytes(), 0o600).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => IdentityError::Exists { path: path.clone() },
            _ => io_error(&path, &error),
        })?;
        let certificate_path = certificate_path(directory, name);
        // A certificate without its key is a left-over: the key file was not there.
        let _ = fs::remove_file(&certificate_path);
        if let Err(error) = write_new(&certificate_path, certificate.pem().as_bytes(), 0o644) {
            // Without its certificate the key is of no use and would be in the way.
            let _ = fs::remove_file(&path);
            return Err(io_error(&certificate_path, &error));
        }
        Self::load(directory, name)
    }

    /// Reads the identity of `name` from `directory`.
    ///
    /// # Errors
    /// A file is missing, damaged, or one that others may read or replace.
    pub fn load(directory: &Path, name: &str) -> Result<Self, IdentityError> {
        check_name(name)
            .map_err(|problem| IdentityError::Name { name: name.to_owned(), problem })?;
        check_directory(directory)?;
        let path = key_path(directory, name);
        let file = File::open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                IdentityError::Missing { name: name.to_owned(), path: path.clone() }
            }
            _ => unreadable(&path, &error),
        })?;
        let metadata = file.metadata().map_err(|error| unreadable(&path, &error))?;
        check_private(&path, &metadata)?;
        let pem = io::read_to_string(file).map_err(|error| unreadable(&path, &error))?;
        let pem = Zeroizing::new(pem);
        let damaged = |path: &Path, problem: &dyn std::fmt::Display| IdentityError::Damaged {
            path: path.to_owned(),
            problem: problem.to_string(),
        };
        let pair = KeyPair::from_pkcs8_pem_and_sign_algo(&pem, &PKCS_ED25519)
            .map(Zeroizing::new)
            .map_err(|error| damaged(&path, &error))?;
        let certificate_path = certificate_path(directory, name);
        let text =
            fs::read(&certificate_path).map_err(|error| unreadable(&certificate_path, &error))?;
        let certificate = CertificateDer::from_pem_slice(&text)
            .map_err(|error| damaged(&certificate_path, &error))?;
        let fingerprint = certificate_fingerprint(&certificate)
            .map_err(|error| damaged(&certificate_path, &error))?;
        if fingerprint != Fingerprint::of_public_key(&pair.subject_public_key_info()) {
            return Err(damaged(&certificate_path, &"it belongs to another key"));
        }
        let key = Zeroizing::new(PrivatePkcs8KeyDer::from(pair.serialize_der()));
        Ok(Identity { name: name.to_owned(), key, certificate, fingerprint })
    }

    /// The name of the party.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Fingerprint that peers have to trust.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        self.certificate.clone()
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from(self.key.clone_key())
    }
}

/// The fingerprint of the key in a certificate.
pub(crate) fn certificate_fingerprint(
    certificate: &CertificateDer<'_>,
) -> Result<Fingerprint, rustls::Error> {
    let parsed = rustls::server::ParsedCertificate::try_from(certificate)?;
    Ok(Fingerprint::of_public_key(&parsed.subject_public_key_info()))
}

fn create_private_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Writes a file that must not exist yet.
pub(crate) fn write_new(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(mode);
    }
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(path)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    if written.is_err() {
        // Half a file must not look like a whole one.
        let _ = fs::remove_file(path);
    }
    written
}
