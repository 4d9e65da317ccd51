//! Agreement on the slice: the limit on what a round opens (`slices.rs`).

use std::time::Duration;

use phineus_bytecode::FileKind;

use super::agreeing::least_limit;
use crate::accelerator::matrix_entries;
use crate::agreement::{self, Peers, Proposal};
use crate::calibration::on_the_way;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::protocol::Protocol;
use crate::settings::{PreprocessingMode, Run};
use crate::slices;
use crate::traced::TracedFile;

/// The slice that the user states, or that is for the network that the user states.
pub fn stated(run: &Run, limit_bytes: u64) -> Option<u64> {
    let for_network =
        || if is_stored(run) { None } else { slices::stated(run.network(), limit_bytes) };
    run.slice_bytes.or_else(for_network)
}

/// Whether this party would have the network measured.
pub fn measures(run: &Run) -> bool {
    !is_stored(run) && run.network().is_none()
}

/// Returns whether this party would have more in flight, because round trips are long: those of the network that is
/// stated, or else the one that it measured. Processes of one machine are never far from each other, however busy it is.
pub fn is_far(run: &Run, measured: Duration) -> bool {
    let unstated = if run.together.is_all_ours { Duration::ZERO } else { measured };
    let round_trip = run.network().map_or(unstated, |network| network.rtt);
    !is_stored(run) && slices::is_far(round_trip)
}

/// Returns whether preprocessing is or was stored; the slice then does not depend on the network.
fn is_stored(run: &Run) -> bool {
    run.making.is_some() || matches!(run.preprocessing, PreprocessingMode::Stored(_))
}

/// The slice that all parties take: the least that anyone states, or else the one for the network
/// as it is found, where that makes a difference to what `traced` opens; the voice says so.
pub fn agreed(
    proposals: &[Proposal],
    protocol: Protocol,
    traced: &TracedFile,
    (channels, voice): (&mut Peers, Option<&Progress>),
) -> Result<Option<u64>, Failure> {
    let stated = proposals.iter().filter_map(|proposal| proposal.slice_bytes).min();
    let (Some(field), None) = (protocol.field(), stated) else { return Ok(stated) };
    let computing = traced.computing;
    let all_measure = proposals[..computing].iter().all(|proposal| proposal.measures);
    let limit_bytes = least_limit(proposals);
    let opened_bytes = matrix_entries(traced)?.saturating_mul(field.bytes() as u64);
    let matters = slices::matters(limit_bytes, opened_bytes);
    if traced.kind == FileKind::Planned || !all_measure || !matters {
        return Ok(None);
    }
    let round_trip = agreement::longest_round_trip(proposals);
    let on_the_way = on_the_way(&mut channels[..computing], round_trip)?;
    let (bytes, found) = slices::measured(on_the_way, round_trip, limit_bytes);
    if let Some(progress) = voice {
        progress.note(&found);
    }
    Ok(Some(bytes))
}
