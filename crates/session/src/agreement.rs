//! Messages of the parties before anything secret is sent, and the differences between them.
//!
//! First each says what it was asked to run and how many rows it brings, then, after all have
//! traced the program, what came out. Everybody compares with everybody. Who found a difference says so in
//! place of its next message, so a difference is known to all before any gives up, and agreeing takes no
//! message of its own.

mod items;
mod proposal;
mod readiness;

use phineus_channels::{AbortReason, FramedChannel, Mesh};
use serde::Deserialize;

use crate::disclosed::Disclosed;
use crate::failure::{Exit, Failure, Remedy, RunField, codes};

pub use items::{add_session, agreement, exchange_agreement};
pub use proposal::{
    AutoInputs, Proposal, exchange_proposals, is_far, longest_round_trip, nonce, session_id,
};
pub use readiness::{AgreedPlan, exchange_number, exchange_ready, exchange_windows};

/// Exchanges before a run among those who compute: proposals, the agreement, and readiness. Stored
/// correlated randomness, or slices to agree on, add more.
pub const EXCHANGES: u64 = 3;

/// The channels to all other parties, by party; none to this one.
pub type Peers = [Option<FramedChannel>];

/// A party's next message if what the last ones said differs.
const DIFFERS: &[u8] = b"differs";

/// What all who know of a difference send twice before they end the session.
const KNOWN: &[u8] = b"known";

/// Sends a message to all peers, and then returns what each has sent, by party.
///
/// # Errors
/// Exit 7 if a peer says that the messages before differed.
fn exchange<'a>(
    channels: impl IntoIterator<Item = &'a mut FramedChannel>,
    message: &[u8],
) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut channels: Vec<&mut FramedChannel> = channels.into_iter().collect();
    let answers = exchange_any(&mut channels, message)?;
    let differs = |answer: &[u8]| answer == DIFFERS || answer == KNOWN;
    match answers.iter().find(|(_, answer)| differs(answer)) {
        None => Ok(answers),
        Some((peer, _)) => {
            wait_until_known(&mut channels);
            let message = format!("{peer} says that the parties differ");
            Err(Failure::new(codes::DIFFER, message))
        }
    }
}

/// As [`exchange`], whatever the peers send.
fn exchange_any(
    channels: &mut [&mut FramedChannel],
    message: &[u8],
) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    channels.iter_mut().try_for_each(|channel| channel.send_agreement(message))?;
    let answer = |channel: &mut &mut FramedChannel| {
        Ok((channel.peer().to_owned(), channel.receive_agreement()?))
    };
    channels.iter_mut().map(answer).collect()
}

/// Waits until all parties have found the last messages equal, where what follows is no exchange.
///
/// # Errors
/// Exit 7 if a peer says that they differed.
pub fn confirm(channels: &mut Peers) -> Result<(), Failure> {
    exchange(channels.iter_mut().flatten(), b"agreed").map(|_| ())
}

/// Something that differs, and from whom.
struct Difference {
    peer: String,
    what: String,
    ours: String,
    theirs: String,
}

/// The difference between who accepts correlated randomness from a dealer and who does not.
const FAKE_PREPROCESSING: &str = "--fake-preprocessing (no security)";

/// The item of an agreement that names the session: all else agrees when only this differs.
const SESSION: &str = "the session";

/// Reads all kinds of messages that come before a run.
#[cfg(feature = "fuzzing")]
pub fn read_any(bytes: &[u8]) {
    use std::collections::BTreeMap;

    let _ = parse::<Proposal>("peer", bytes);
    let _ = parse::<Vec<Proposal>>("peer", bytes);
    let _ = parse::<BTreeMap<String, String>>("peer", bytes);
    let _ = parse::<BTreeMap<&str, u64>>("peer", bytes);
    let _ = parse::<u64>("peer", bytes);
}

fn parse<'a, T: Deserialize<'a>>(peer: &str, answer: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(answer).map_err(|_| {
        let message = format!("{peer} sent an agreement that is not one");
        Failure::new(codes::NOT_AN_AGREEMENT, message)
    })
}

/// Makes sure that all parties know of the differences, if there are any.
fn settle(channels: &mut Peers, differences: &[Difference]) -> Result<(), Failure> {
    if differences.is_empty() {
        return Ok(());
    }
    // Whoever gives up first would otherwise take the others' messages away unread.
    let mut channels: Vec<&mut FramedChannel> = channels.iter_mut().flatten().collect();
    if exchange_any(&mut channels, DIFFERS).is_ok() {
        wait_until_known(&mut channels);
    }
    let lines: Vec<String> = differences
        .iter()
        .map(|Difference { peer, what, ours, theirs }| match what.as_str() {
            "role" => format!("{peer} is {ours} here and says it is {theirs}: compare --as"),
            SESSION => {
                format!(
                    "{peer} and this party are in different sessions: two runs of the same parties \
                     have connected to each other, or a party told others different things"
                )
            }
            _ => format!("{} is {ours} here and {} at {peer}", plain(what), plain(theirs)),
        })
        .collect();
    let has = |what: &str| differences.iter().any(|difference| difference.what == what);
    let (code, remedy) = if has(FAKE_PREPROCESSING) {
        let remedy = Remedy::new("leave ").field(RunField::FakePreprocessing).and(
            " away at the parties that compute; or, where no input is secret, state it at all \
             parties and clients",
        );
        (codes::FAKE_PREPROCESSING, remedy)
    } else if has(SESSION) {
        let remedy = Remedy::new(
            "stop all runs of these parties and start one; to have several at once, give each run \
             addresses of its own in cluster.toml",
        );
        (codes::OTHER_SESSION, remedy)
    } else {
        (codes::DIFFER, Remedy::new("agree on one program, parameters and version, then run again"))
    };
    Err(Failure::new(code, lines.join("\n"))
        .remedy(remedy)
        .revealed(Disclosed::Proposal.sentence()))
}

/// Waits until all know that they differ: who ends its channels ends those of all others, also of
/// those to whom it has none. A client is two steps from another one. Who does not wait is known to
/// differ anyway.
fn wait_until_known(channels: &mut [&mut FramedChannel]) {
    for _ in 0..2 {
        if exchange_any(channels, KNOWN).is_err() {
            return;
        }
    }
}

/// A peer's text without what would move the cursor or colour the screen, and not too long.
pub fn plain(text: &str) -> String {
    text.chars().take(200).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Ends the session after `failure`, telling the peer as much as it may know.
pub fn give_up(channel: FramedChannel, failure: &Failure) {
    channel.abort(match failure.code.exit {
        Exit::Disagreement => AbortReason::Disagreement,
        Exit::PeerCheated => AbortReason::Misbehaved,
        Exit::Interrupted => AbortReason::Interrupted,
        _ => AbortReason::Failed,
    });
}

/// Ends all sessions after `failure`; the first to end tells all peers.
pub fn give_up_all(mesh: Mesh, failure: &Failure) {
    mesh.into_iter().flatten().flatten().for_each(|channel| give_up(channel, failure));
}
