//! Correlated randomness that is made for one run and stored in a file, whatever its protocol.

use std::path::Path;

use phineus_correlated::stored::{StoredFile, StoredKey};
use phineus_correlated::{mascot, semi_honest};
use phineus_crypto::Prg;
use phineus_crypto::field::{F32, F61, F128, FieldName};
use phineus_ot::SessionId;
use phineus_protocols::bmr::TableKey;

use crate::choices::PreprocessingMode;
use crate::correlated::{NewFile, StoredFigures, Stream, authenticated, shares};
use crate::failure::{Failure, Remedy, RunField, codes};
use crate::planned::PlannedFile;
use crate::protocol::Protocol;
use crate::traced::TracedFile;

/// The field of the plan's protocol, if its shares are authenticated.
fn field(planned: &PlannedFile) -> Option<FieldName> {
    Protocol::of_plan(planned.plan()).and_then(Protocol::field)
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
        None => semi_honest::Stored::open(path, key, &shares::binding(planned), me, parties),
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

/// Refuses a plan whose figures are not those of its instructions: correlated randomness is made by
/// the figures, and taken by the instructions.
pub fn check_stated(planned: &PlannedFile) -> Result<(), Failure> {
    let protocol = Protocol::of_plan(planned.plan());
    let takes_any = protocol.is_some_and(|protocol| protocol.has_preprocessing());
    let is_stated = match (takes_any, field(planned)) {
        (_, Some(field)) => authenticated::is_stated(planned, field)?,
        (true, None) => shares::is_stated(planned)?,
        (false, None) => true,
    };
    if is_stated {
        return Ok(());
    }
    let message = "the plan states other correlated randomness than its instructions take";
    Err(Failure::new(codes::OTHER_DEMAND, message).remedy("plan it again"))
}

/// Makes all that the plan demands, with the others, into a file that does not exist yet, with the key
/// of the garbled tables beside it. Leaves nothing behind if it fails.
pub(crate) fn store(
    file: &NewFile<'_>,
    planned: &PlannedFile,
    (parties, tables): (Stream, Option<&TableKey>),
    prg: Prg,
    session: &SessionId,
) -> Result<(StoredFigures, Stream), Failure> {
    let Some(field) = field(planned) else {
        return shares::store(file, (planned, tables), parties, prg, session);
    };
    let planned = (planned, field);
    match field {
        FieldName::F61 => authenticated::store::<F61>(file, planned, parties, prg, session),
        FieldName::F32 => authenticated::store::<F32>(file, planned, parties, prg, session),
        FieldName::F128 => authenticated::store::<F128>(file, planned, parties, prg, session),
    }
}

/// Refuses preprocessing before the run of programs of several blocks, each run of which makes its own.
pub fn check_preprocessing(
    traced: &TracedFile,
    preprocessing: &PreprocessingMode,
    is_made_before: bool,
) -> Result<(), Failure> {
    let is_before = is_made_before
        || matches!(preprocessing, PreprocessingMode::Sequential | PreprocessingMode::Stored(_));
    if traced.blocks.is_none() || !is_before {
        return Ok(());
    }
    let message = "this program has several blocks, and what a block needs is made when it runs: it \
                   cannot be made before";
    Err(Failure::new(codes::NOT_BEFOREHAND, message).remedy(
        Remedy::new("leave ")
            .field(RunField::Preprocessing)
            .and(" away: all that is needed is then made while it runs"),
    ))
}
