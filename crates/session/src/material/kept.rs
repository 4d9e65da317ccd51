//! Material in files: how it is kept for one run, and opened for it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use phineus_crypto::Prg;
use phineus_crypto::field::{F32, F61, F128, FieldName};
use phineus_ot::SessionId;
use phineus_protocols::bmr::{TableKey, Tables};
use phineus_protocols::demand::Demand;
use phineus_protocols::preprocessing::{self, StoreError, StoredFile, StoredKey};
use phineus_protocols::stored::{Binding, UnfinishedFile};
use phineus_protocols::{ProtocolError, mascot};
use sha2::{Digest, Sha256};

use super::{Stream, authenticated, shares};
use crate::failure::{Failure, codes};
use crate::leftovers;
use crate::metered::PhaseFigures;
use crate::planning::PlannedFile;
use crate::protocol::Protocol;
use crate::settings::Choice;

/// What was made and kept.
pub struct Kept {
    pub bytes: u64,
    pub amounts: BTreeMap<String, u64>,
    pub setup: PhaseFigures,
    pub making: PhaseFigures,
    pub ots: u64,
}

/// A file that does not exist yet, and its key.
pub(super) struct NewFile<'a> {
    path: &'a Path,
    key: &'a StoredKey,
}

/// The field of the plan's protocol, if its shares are authenticated.
fn field(planned: &PlannedFile) -> Option<FieldName> {
    Protocol::from_name(&planned.plan().protocol).and_then(Protocol::field)
}

/// What stored material is bound to: the protocol, and the program in its rounds, whose order
/// follows the least memory of all parties where that is little. Not the plan, which depends on
/// this party's.
pub(super) fn binding<K>(planned: &PlannedFile, demand: Demand<K>) -> Binding<K> {
    let plan = planned.plan();
    let hash = Sha256::new()
        .chain_update(b"phineus stored preprocessing program 1")
        .chain_update((plan.protocol.len() as u64).to_le_bytes())
        .chain_update(&plan.protocol)
        .chain_update(&plan.program_hash);
    Binding { protocol: plan.protocol.clone(), program: hash.finalize().into(), demand }
}

/// Opens what was stored for this plan; uses nothing up.
pub fn open(
    path: &Path,
    key: &StoredKey,
    planned: &PlannedFile,
    party: u16,
) -> Result<Box<StoredFile>, Failure> {
    let (me, parties) = (usize::from(party), planned.computing);
    let opened = match field(planned) {
        None => preprocessing::Stored::open(path, key, &shares::binding(planned), me, parties),
        Some(field) => {
            let binding = authenticated::binding(planned);
            match field {
                FieldName::F61 => mascot::Stored::<F61>::open(path, key, &binding, me, parties),
                FieldName::F32 => mascot::Stored::<F32>::open(path, key, &binding, me, parties),
                FieldName::F128 => mascot::Stored::<F128>::open(path, key, &binding, me, parties),
            }
        }
    };
    Ok(Box::new(opened?))
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
) -> Result<Option<Box<Tables>>, Failure> {
    if planned.garbling.is_none() {
        return Ok(None);
    }
    let tables = Tables::open(&tables_path(path), &TableKey::of(file), planned.computing)?;
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

/// Refuses a plan whose figures are not those of its instructions: material is made by the
/// figures, and taken by the instructions.
pub fn check_stated(planned: &PlannedFile) -> Result<(), Failure> {
    let protocol = Protocol::from_name(&planned.plan().protocol);
    let takes_any = protocol.is_some_and(|protocol| protocol.has_preprocessing());
    let is_stated = match (takes_any, field(planned)) {
        (_, Some(field)) => authenticated::is_stated(planned, field)?,
        (true, None) => shares::is_stated(planned)?,
        (false, None) => true,
    };
    if is_stated {
        return Ok(());
    }
    let message = "the plan states other preprocessed material than its instructions take";
    Err(Failure::new(codes::OTHER_MATERIAL, message).remedy("plan it again"))
}

/// Makes all that the plan demands, with the others, into a file that does not exist yet, with the key
/// of the garbled tables beside it. Leaves nothing behind if it fails.
pub fn keep(
    path: &Path,
    key: &StoredKey,
    planned: &PlannedFile,
    (parties, tables): (Stream, Option<&TableKey>),
    prg: Prg,
    session: &SessionId,
) -> Result<(Kept, Stream), Failure> {
    let file = NewFile { path, key };
    let Some(field) = field(planned) else {
        return shares::keep(&file, (planned, tables), parties, prg, session);
    };
    let planned = (planned, field);
    match field {
        FieldName::F61 => authenticated::keep::<F61>(&file, planned, parties, prg, session),
        FieldName::F32 => authenticated::keep::<F32>(&file, planned, parties, prg, session),
        FieldName::F128 => authenticated::keep::<F128>(&file, planned, parties, prg, session),
    }
}

/// The bytes of a file after `make` has made it; if that fails, nothing is left of it. Of two runs
/// that make the same file, the second one finds the first one's and leaves it alone.
pub(super) fn file_of(
    file: &NewFile<'_>,
    make: impl FnOnce(UnfinishedFile, &StoredKey) -> Result<(), ProtocolError>,
) -> Result<u64, Failure> {
    let (_, bytes) = made_at(file.path, |unfinished| make(unfinished, file.key))?;
    Ok(bytes)
}

/// What `make` gives, and the bytes of the file that it has made at `path`.
pub fn made_at<R>(
    path: &Path,
    make: impl FnOnce(UnfinishedFile) -> Result<R, ProtocolError>,
) -> Result<(R, u64), Failure> {
    let unfinished = UnfinishedFile::create(path).map_err(|error| match &error {
        StoreError::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists => {
            being_made(&partial(path))
        }
        _ => error.into(),
    })?;
    let partial = unfinished.partial().to_owned();
    leftovers::remember(&partial);
    let made = make(unfinished);
    leftovers::forget(&partial);
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
            StoreError::Unknown { .. } => codes::NOT_STORED_MATERIAL,
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
                "`preprocess` and `run` take the same PROGRAM, --param, --protocol and rows, `run` \
                 no --slice, and both, below 256 MiB (spdz: 1280 MiB), the same least --memory",
            ),
            _ => failure,
        }
    }
}
