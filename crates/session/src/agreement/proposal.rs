//! [`Proposal`]: what each party was started with; the parties exchange and compare it first.

use std::collections::BTreeMap;
use std::time::Duration;

use phineus_crypto::Prg;
use phineus_ot::SessionId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Difference, FAKE_PREPROCESSING, Peers, exchange, parse, settle};
use crate::choices::{NARROW_MASKS, NO_OPTIMISE, PreprocessingMode};
use crate::failure::{Failure, codes};

/// Settings that a party was started with, as it proposes them to the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Proposal {
    pub version: String,
    pub program: String,
    pub protocol: String,
    /// The caller's name for this run; the same at all parties.
    #[serde(default)]
    pub label: String,
    /// The OT extension that triples are made with; nothing for protocols that need none.
    #[serde(default)]
    pub ot: Option<String>,
    /// Options for opening and converting shares that were stated, if they are not the defaults.
    #[serde(default)]
    pub variants: BTreeMap<String, String>,
    /// When triples are made; nothing for protocols that need none. Of a client: whether it accepts
    /// correlated randomness from a dealer.
    #[serde(default)]
    pub preprocessing: Option<String>,
    /// Inputs of `--protocol auto` besides the program.
    #[serde(default)]
    pub choosing: Option<AutoInputs>,
    /// The party's memory limit: the choice is made, and instructions are ordered, for the least
    /// of all.
    pub memory_limit_bytes: u64,
    /// Limit of this party on the bytes that a round opens; the least of all parties counts.
    #[serde(default)]
    pub slice_bytes: Option<u64>,
    /// Whether the party would have the network measured if nobody says what slices to take.
    #[serde(default)]
    pub measures: bool,
    /// The longest time from question to answer that the party measured; that of all counts.
    #[serde(default)]
    pub round_trip_us: u64,
    /// Whether this is a long one for a party that computes and whose correlated randomness is not stored: stored for one
    /// order of the program, it serves no other. One party is enough.
    #[serde(default)]
    pub is_far: bool,
    /// The second-level cache of the party's processor; the least of all counts.
    #[serde(default)]
    pub cache_bytes: u64,
    /// Who computes, by name.
    pub computing: String,
    /// The index of the party in the program as it is run.
    pub party: u16,
    pub parameters: BTreeMap<String, String>,
    /// Rows of this party's inputs.
    pub rows: BTreeMap<String, u64>,
    /// Makes the session new.
    pub nonce: String,
}

/// Inputs of the choice of a protocol.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AutoInputs {
    /// The network that the party states; all state the same.
    pub network: String,
}

/// A fresh nonce of 256 bits.
pub fn nonce() -> Result<String, Failure> {
    let mut prg = Prg::from_os().map_err(|error| {
        Failure::new(codes::NO_RANDOMNESS, format!("the system gives no random bytes: {error}"))
    })?;
    let mut bytes = [0u8; 32];
    prg.fill_bytes(&mut bytes);
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The longest time from question to answer between two parties.
pub fn longest_round_trip(proposals: &[Proposal]) -> Duration {
    Duration::from_micros(
        proposals.iter().map(|proposal| proposal.round_trip_us).max().unwrap_or(0),
    )
}

/// Returns whether the computing parties order their program for long round trips.
pub fn is_far(proposals: &[Proposal]) -> bool {
    proposals.iter().any(|proposal| proposal.is_far)
}

/// Tells the peers our proposal and learns theirs; returns all, by party. The parties from `computing`
/// on are clients, who learn of each other from the others.
///
/// # Errors
/// Exit 7 with all that differs.
pub fn exchange_proposals(
    channels: &mut Peers,
    ours: &Proposal,
    computing: usize,
) -> Result<Vec<Proposal>, Failure> {
    let message = serde_json::to_vec(ours).expect("a proposal is text and numbers");
    let mut answers = exchange(channels.iter_mut().flatten(), &message)?.into_iter();
    let (mut proposals, mut differences) = (Vec::new(), Vec::new());
    for (party, channel) in channels.iter().enumerate() {
        if channel.is_none() {
            proposals.push((party == usize::from(ours.party)).then(|| ours.clone()));
            continue;
        }
        let (peer, answer) = answers.next().expect("each channel gave an answer");
        let theirs: Proposal = parse(&peer, &answer)?;
        compare_proposals(ours, &theirs, &peer, &mut differences);
        compare_preprocessing((ours, &theirs), computing, &peer, &mut differences);
        if usize::from(theirs.party) != party {
            let [ours, theirs] = [party, theirs.party.into()].map(|at| format!("party {at}"));
            differences.push(Difference { peer, what: "role".to_owned(), ours, theirs });
        }
        proposals.push(Some(theirs));
    }
    if computing + 1 < channels.len() {
        let me = usize::from(ours.party);
        relay_proposals(channels, &mut proposals, (me, computing), &mut differences)?;
    }
    settle(channels, &differences)?;
    Ok(proposals.into_iter().map(|proposal| proposal.expect("all have been told")).collect())
}

/// Clients have no channels to each other: everybody who computes tells each of them all clients'
/// proposals, and they compare. Who computes says what it heard: a client that counts the clients
/// otherwise makes nobody else a cheat.
fn relay_proposals(
    channels: &mut Peers,
    proposals: &mut [Option<Proposal>],
    (me, computing): (usize, usize),
    differences: &mut Vec<Difference>,
) -> Result<(), Failure> {
    let (computers, clients) = channels.split_at_mut(computing);
    if me < computing {
        let message = serde_json::to_vec(&proposals[computing..]).expect("proposals are text");
        let mut channels = clients.iter_mut().flatten();
        return channels.try_for_each(|channel| Ok(channel.send_agreement(&message)?));
    }
    let mut first: Option<Vec<u8>> = None;
    for channel in computers.iter_mut().flatten() {
        let (peer, message) = (channel.peer().to_owned(), channel.receive_agreement()?);
        let told: Vec<Proposal> = parse(&peer, &message)?;
        let own = proposals[me].as_ref().map(|proposal| proposal.nonce.clone());
        let is_own = |proposal: &Proposal| Some(&proposal.nonce) == own.as_ref();
        let (is_first, is_same) = match &first {
            None => (true, true),
            Some(first) => (false, first == &message),
        };
        if told.len() != proposals.len() - computing || !told.iter().any(is_own) || !is_same {
            let message = format!("{peer} says something else of the clients than others do");
            return Err(Failure::new(codes::CLIENTS_MISSTATED, message));
        }
        first = Some(message);
        for (party, proposal) in (computing..).zip(told) {
            if is_first && usize::from(proposal.party) != party {
                let [at, says] = [party, proposal.party.into()].map(|at| format!("party {at}"));
                let (of, ours, theirs, peer) = match is_own(&proposal) {
                    true => ("this client", says, at, peer.clone()),
                    false => ("another client", at, says, "that one".to_owned()),
                };
                let what = format!("the place of {of} (by --inputs-from and --outputs-to)");
                differences.push(Difference { peer, what, ours, theirs });
            }
            if party != me {
                proposals[party] = Some(proposal);
            }
        }
    }
    Ok(())
}

fn compare_proposals(
    ours: &Proposal,
    theirs: &Proposal,
    peer: &str,
    differences: &mut Vec<Difference>,
) {
    let mut compare = |what: &str, ours: &str, theirs: &str| {
        if ours != theirs {
            let [peer, what, ours, theirs] = [peer, what, ours, theirs].map(str::to_owned);
            differences.push(Difference { peer, what, ours, theirs });
        }
    };
    // Circuits and the sizes of batches belong to the protocol and come with the software.
    compare("phineus version", &ours.version, &theirs.version);
    compare("the label of the run", &ours.label, &theirs.label);
    compare("program", &ours.program, &theirs.program);
    compare("protocol", &ours.protocol, &theirs.protocol);
    compare("the list of those who compute", &ours.computing, &theirs.computing);
    let optimised = |proposal: &Proposal| {
        proposal.variants.get(NO_OPTIMISE).map_or("not stated", |stated| stated.as_str()).to_owned()
    };
    compare(NO_OPTIMISE, &optimised(ours), &optimised(theirs));
    // Of another protocol it is something else anyway.
    if ours.protocol == theirs.protocol {
        let extension = |proposal: &Proposal| proposal.ot.clone().unwrap_or_default();
        compare("the OT extension", &extension(ours), &extension(theirs));
        for name in ["--y2a", "--broadcast", NARROW_MASKS] {
            let variant = |proposal: &Proposal| {
                proposal.variants.get(name).cloned().unwrap_or_else(|| "the default".to_owned())
            };
            compare(name, &variant(ours), &variant(theirs));
        }
        let network = |proposal: &Proposal| {
            proposal.choosing.as_ref().map_or("", |it| it.network.as_str()).to_owned()
        };
        compare("the network of --net", &network(ours), &network(theirs));
    }
    let none = "not set".to_owned();
    let names = ours.parameters.keys().chain(theirs.parameters.keys());
    for name in names.collect::<std::collections::BTreeSet<_>>() {
        let value = |proposal: &Proposal| proposal.parameters.get(name).unwrap_or(&none).clone();
        compare(&format!("parameter {name}"), &value(ours), &value(theirs));
    }
}

/// Compares when correlated randomness is made. Clients have no part in that, but whether it is
/// dealt, which protects none of their inputs, they must state, too.
fn compare_preprocessing(
    (ours, theirs): (&Proposal, &Proposal),
    computing: usize,
    peer: &str,
    differences: &mut Vec<Difference>,
) {
    let said = |proposal: &Proposal| proposal.preprocessing.clone().unwrap_or_default();
    let is_fake = |proposal: &Proposal| said(proposal) == PreprocessingMode::Fake.name();
    let is_client = |proposal: &Proposal| usize::from(proposal.party) >= computing;
    let (what, ours, theirs) = if is_fake(ours) != is_fake(theirs) {
        let stated = |proposal| if is_fake(proposal) { "stated" } else { "not stated" }.to_owned();
        (FAKE_PREPROCESSING, stated(ours), stated(theirs))
    } else if is_client(ours) || is_client(theirs) || ours.protocol != theirs.protocol {
        return;
    } else {
        ("preprocessing", said(ours), said(theirs))
    };
    if ours != theirs {
        let (peer, what) = (peer.to_owned(), what.to_owned());
        differences.push(Difference { peer, what, ours, theirs });
    }
}

/// The name of this session for the protocol, the same at all parties and never the same again.
///
/// It covers the program and all that each party stated about itself, nonce included.
pub fn session_id(program_hash: &str, proposals: &[Proposal]) -> SessionId {
    let mut hash = Sha256::new();
    hash.update(b"phineus session 2");
    hash.update((program_hash.len() as u64).to_le_bytes());
    hash.update(program_hash);
    for proposal in proposals {
        // What was read is written again as it was: members in one order, text and whole numbers.
        let proposal = serde_json::to_vec(proposal).expect("a proposal is text and numbers");
        hash.update((proposal.len() as u64).to_le_bytes());
        hash.update(&proposal);
    }
    SessionId::new(hash.finalize().into())
}
