//! Correlated randomness in files: stored for one run, and opened for it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use phineus_correlated::demand::Demand;
use phineus_correlated::stored::{Binding, UnfinishedFile};
use phineus_correlated::stored::{StoredFile, StoredKey};
use phineus_correlated::{CorrelatedError, StoreError};
use phineus_crypto::Prg;
use phineus_protocols::bmr::{GarbledTables, TableKey};
use sha2::{Digest, Sha256};

use crate::failure::{Failure, Remedy, RunField, codes};
use crate::leftovers::Leftovers;
use crate::metered::PhaseFigures;
use crate::planned::PlannedFile;

/// Figures of what was made and stored.
pub struct StoredFigures {
    pub bytes: u64,
    pub amounts: BTreeMap<String, u64>,
    pub setup: PhaseFigures,
    pub making: PhaseFigures,
    pub ots: u64,
}

/// A file that does not exist yet, and its key.
pub(crate) struct NewFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) key: &'a StoredKey,
    pub(crate) leftovers: &'a Leftovers,
}

/// Binding of stored correlated randomness: the protocol, and the program in its rounds, whose
/// order depends on the least memory limit of all parties if that is small. The plan is not part of
/// it, because it depends on this party's limit.
pub(super) fn binding<K>(planned: &PlannedFile, demand: Demand<K>) -> Binding<K> {
    let plan = planned.plan();
    let hash = Sha256::new()
        .chain_update(b"phineus stored preprocessing program 1")
        .chain_update((plan.protocol.len() as u64).to_le_bytes())
        .chain_update(&plan.protocol)
        .chain_update(&plan.program_hash);
    Binding { protocol: plan.protocol.clone(), program: hash.finalize().into(), demand }
}

/// The key in `path`, which is made if it is not there and `may_create`.
pub fn key(path: &Path, may_create: bool) -> Result<StoredKey, Failure> {
    let with_ledger = |key: StoredKey| match user_ledger() {
        Some(ledger) => key.with_ledger(ledger),
        None => key,
    };
    if path.exists() || !may_create {
        return Ok(with_ledger(StoredKey::open(path)?));
    }
    let mut prg = Prg::from_os().map_err(|error| {
        Failure::new(codes::NO_RANDOMNESS, format!("the system gives no random bytes: {error}"))
    })?;
    match StoredKey::create(path, &mut prg) {
        // Another run made it at the same time.
        Err(_) if path.exists() => Ok(with_ledger(StoredKey::open(path)?)),
        created => Ok(with_ledger(created?)),
    }
}

/// Where this user's runs note what they have used up, of whatever key: beside other state of
/// programs (the XDG base directory specification). Nothing where there is no such place: what lies
/// beside the key is noted all the same.
fn user_ledger() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(".local/state"));
    let directory = absolute("XDG_STATE_HOME").or_else(home)?.join("phineus");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).ok()?;
    let ledger = directory.join("stored.used");
    let mut options = std::fs::OpenOptions::new();
    let opened = options.append(true).create(true).mode(0o600).open(&ledger);
    opened.is_ok().then_some(ledger)
}

/// Where the garbled tables are that belong to a file, if there are any.
pub fn tables_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tables");
    name.into()
}

/// The garbled tables that belong to a file, if the plan has garbled values; uses nothing up.
pub fn open_tables(
    path: &Path,
    file: &StoredFile,
    planned: &PlannedFile,
) -> Result<Option<Box<GarbledTables>>, Failure> {
    if planned.garbling.is_none() {
        return Ok(None);
    }
    let tables = GarbledTables::open(&tables_path(path), &TableKey::of(file), planned.computing)?;
    Ok(Some(Box::new(tables)))
}

/// Where a file is while it is being made.
fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// Refuses a place where something is already.
pub fn check_free(path: &Path) -> Result<(), Failure> {
    for path in [path, &tables_path(path)] {
        if path.exists() {
            let message = format!("{} exists already", path.display());
            return Err(Failure::new(codes::STORED_EXISTS, message).remedy(
                "name another file, or remove it if what is in it is not wanted any more",
            ));
        }
        let partial = partial(path);
        if partial.exists() {
            return Err(being_made(&partial));
        }
    }
    crate::output_file::check_writable(path)
}

fn being_made(partial: &Path) -> Failure {
    let message = format!(
        "{} is being made by another run, or left from one that was cut off",
        partial.display()
    );
    Failure::new(codes::STORED_UNFINISHED, message)
        .remedy("remove it, unless another run is making it")
}

/// The bytes of a file after `make` has made it; if that fails, nothing is left of it. Of two runs
/// that make the same file, the second one finds the first one's and leaves it alone.
pub(super) fn file_of(
    file: &NewFile<'_>,
    make: impl FnOnce(UnfinishedFile, &StoredKey) -> Result<(), CorrelatedError>,
) -> Result<u64, Failure> {
    let (_, bytes) = made_at(file.path, file.leftovers, |unfinished| make(unfinished, file.key))?;
    Ok(bytes)
}

/// Result of `make`, and the size of the file that it has made at `path`; until it is made, the file
/// is one of `leftovers`.
pub fn made_at<R, E>(
    path: &Path,
    leftovers: &Leftovers,
    make: impl FnOnce(UnfinishedFile) -> Result<R, E>,
) -> Result<(R, u64), Failure>
where
    Failure: From<E>,
{
    let unfinished = UnfinishedFile::create(path).map_err(|error| match &error {
        StoreError::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists => {
            being_made(&partial(path))
        }
        _ => error.into(),
    })?;
    let held = leftovers.hold(unfinished.partial());
    let made = make(unfinished);
    drop(held);
    let bytes = std::fs::metadata(path).map(|known| known.len());
    let made = made?;
    Ok((made, bytes.map_err(|error| Failure::file(path, &error))?))
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let message = error.to_string();
        let code = match &error {
            StoreError::Io { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::UnexpectedEof => {
                    codes::NO_STORED_FILE
                }
                _ => codes::STORED_IO,
            },
            StoreError::Unknown { .. } => codes::NOT_STORED_RANDOMNESS,
            StoreError::Exposed { .. } => codes::STORED_EXPOSED,
            StoreError::Damaged { .. } => codes::STORED_DAMAGED,
            StoreError::Truncated { .. } => codes::STORED_CUT_OFF,
            StoreError::OtherProgram { .. } => codes::STORED_FOR_ANOTHER_PROGRAM,
            StoreError::OtherParty { .. } => codes::STORED_FOR_ANOTHER_PARTY,
            StoreError::TooShort { .. } => codes::STORED_TOO_LITTLE,
            StoreError::AlreadyUsed { .. } => codes::STORED_USED,
            StoreError::OtherProtocol { .. } => codes::STORED_FOR_ANOTHER_PROTOCOL,
            StoreError::OtherRun { .. } => codes::STORED_APART,
            _ => codes::STORED,
        };
        let failure = Failure::new(code, message);
        match error {
            StoreError::OtherProgram { .. } | StoreError::OtherProtocol { .. } => failure.remedy(
                Remedy::new("`preprocess` and `run` take the same PROGRAM, ")
                    .field(RunField::Parameters)
                    .and(", ")
                    .field(RunField::Protocol)
                    .and(", rows and ")
                    .field(RunField::Optimisation)
                    .and(" or not, `run` no ")
                    .field(RunField::Slice)
                    .and(", and both, below 256 MiB (spdz: 1280 MiB), the same least ")
                    .field(RunField::Memory),
            ),
            _ => failure,
        }
    }
}
