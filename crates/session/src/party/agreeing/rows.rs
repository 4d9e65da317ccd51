//! The rows that all parties state, and the program that is traced for them.

use phineus_frontend::{Arguments, ColumnRange};

use super::super::preparation::Preparation;
use super::least_limit;
use crate::agreement::{self, Proposal};
use crate::failure::{Failure, codes};
use crate::level_order::LevelOrder;
use crate::resolve::{Resolved, ready, trace_for};
use crate::settings::ProtocolChoice;
use crate::traced::TracedFile;

/// Rows that a peer may bring: as many as one can sort here.
const ROWS_MAX: u64 = 1 << 32;

/// The most rows that a peer may claim before anything is traced for them.
///
/// Tracing takes time and scratch space with the rows, memory one name per chunk of some 32 rows:
/// 2^26 of them are 2 million names.
const PEER_ROWS_MAX: u64 = 1 << 26;

/// The peers say how many rows they bring, and the program grows with that.
pub(super) fn check_their_rows(
    prepared: &Preparation<'_>,
    proposals: &[Proposal],
) -> Result<(), Failure> {
    for proposal in proposals {
        for (port, rows) in &proposal.rows {
            let (peer, shown) = (prepared.name(proposal), agreement::plain(port));
            if *rows > ROWS_MAX {
                let message = format!("{peer} says it brings {rows} rows for '{shown}'");
                return Err(Failure::new(codes::TOO_MANY_ROWS_STATED, message));
            }
            if let Some(expected) = prepared.expected_rows.get(port)
                && expected != rows
            {
                let message = format!(
                    "{peer} says it brings {rows} rows for '{shown}', and --rows says {expected}"
                );
                return Err(Failure::new(codes::OTHER_ROWS, message));
            }
            if prepared.ports.get(port) != Some(&proposal.party) {
                let message = format!("{peer} says it brings '{shown}', which is not its own");
                return Err(Failure::new(codes::INPUT_OF_ANOTHER, message));
            }
        }
    }
    Ok(())
}

pub(super) fn traced_for_all(
    prepared: &Preparation<'_>,
    proposals: &[Proposal],
    choice: ProtocolChoice,
) -> Result<TracedFile, Failure> {
    let is_far = agreement::is_far(proposals);
    let levels = LevelOrder::of(&choice.candidates(), is_far, least_limit(proposals));
    let traced = match (&prepared.resolved, arguments_of_all(prepared, proposals)?) {
        (Resolved::File(file), _) => ready(file)?,
        (resolved, Some(arguments)) => {
            let program = resolved.program().expect("only files have none");
            trace_for(program, &arguments, &prepared.scratch, levels.as_ref())?
        }
        (_, None) => unreachable!("a program has arguments"),
    };
    prepared.cast.recast(traced, &prepared.scratch)
}

/// The arguments of a program with the rows of all parties; `None` for a file, which has none.
fn arguments_of_all(
    prepared: &Preparation<'_>,
    proposals: &[Proposal],
) -> Result<Option<Arguments>, Failure> {
    let Some(mut arguments) = prepared.arguments.clone() else { return Ok(None) };
    // Ours are counted.
    for theirs in proposals.iter().filter(|proposal| proposal.party != prepared.party) {
        for (port, rows) in &theirs.rows {
            if *rows > PEER_ROWS_MAX {
                let message = format!("{} says that it brings {rows} rows", prepared.name(theirs));
                return Err(Failure::new(codes::TOO_MANY_ROWS, message)
                    .remedy(format!("more than {PEER_ROWS_MAX} rows are not accepted")));
            }
            arguments.set_rows(port, *rows);
        }
    }
    Ok(Some(arguments))
}

/// The bounds of columns that the program states.
pub(super) fn ranges(
    prepared: &Preparation<'_>,
    proposals: &[Proposal],
) -> Result<Vec<ColumnRange>, Failure> {
    let arguments = arguments_of_all(prepared, proposals)?;
    match (prepared.resolved.program(), arguments) {
        (Some(program), Some(arguments)) => Ok(program.ranges(&arguments)?),
        _ => Ok(Vec::new()),
    }
}
