//! Messages of the parties before anything secret is sent, and the differences between them.
//!
//! First each says what it was asked to run and how many rows it brings, then, after all have
//! traced the program, what came out. Everybody compares with everybody; a difference is known to
//! all before any gives up.

use std::collections::BTreeMap;
use std::time::Duration;

use phineus_bytecode::binary::FORMAT_VERSION;
use phineus_bytecode::{
    Description, InputPort, OutputPort, PermutationKind, PlanDescription, Settings,
};
use phineus_channels::{AbortReason, CONTROL_BYTES_MAX, FramedChannel, Mesh};
use phineus_crypto::Prg;
use phineus_ot::SessionId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::choices::{NARROW_MASKS, PreprocessingMode};
use crate::disclosed::Disclosed;
use crate::failure::{Exit, Failure, Remedy, RunField, codes};

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

/// Exchanges before a run among those who compute: proposals and the agreement, each followed by
/// whether they were equal, and readiness. Stored correlated randomness, or slices to agree on, add
/// more.
pub const EXCHANGES: u64 = 5;

/// The channels to all other parties, by party; none to this one.
pub type Peers = [Option<FramedChannel>];

/// Sends a message to all peers, and then returns what each has sent, by party.
fn exchange<'a>(
    channels: impl IntoIterator<Item = &'a mut FramedChannel>,
    message: &[u8],
) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut channels: Vec<&mut FramedChannel> = channels.into_iter().collect();
    channels.iter_mut().try_for_each(|channel| channel.send_agreement(message))?;
    let answer = |channel: &mut &mut FramedChannel| {
        Ok((channel.peer().to_owned(), channel.receive_agreement()?))
    };
    channels.iter_mut().map(answer).collect()
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

/// The longest time from question to answer between two parties.
pub fn longest_round_trip(proposals: &[Proposal]) -> Duration {
    Duration::from_micros(
        proposals.iter().map(|proposal| proposal.round_trip_us).max().unwrap_or(0),
    )
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

/// Items that must be equal, by name: the program's hash and, for messages, what it covers.
pub fn agreement(
    program_hash: &str,
    description: &Description,
    protocol: &str,
    computing: usize,
) -> BTreeMap<String, String> {
    let mut items = BTreeMap::new();
    let mut add = |name: String, value: String| {
        items.insert(name, value);
    };
    add("parties".to_owned(), description.parties.join(", "));
    for port in &description.inputs {
        add(format!("input '{}'", port.name), describe_input(description, port));
    }
    for (index, port) in description.outputs.iter().enumerate() {
        if description.is_opened(index) {
            let element = port.columns[0].element.to_string();
            add(format!("what is opened at run time, '{}'", port.name), element);
        } else {
            add(format!("output '{}'", port.name), describe_output(description, port));
        }
    }
    if description.registers > 0 {
        let what = "registers that are opened inside the program".to_owned();
        add(what, description.registers.to_string());
    }
    let told = description.permutations.iter();
    let told = told.filter(|permutation| permutation.kind == PermutationKind::Told).count();
    if told > 0 {
        add("permutations that a party is told".to_owned(), told.to_string());
    }
    let size: usize = items.iter().map(|(name, value)| name.len() + value.len() + 16).sum();
    if size > CONTROL_BYTES_MAX / 2 {
        // The hash covers them.
        items.clear();
    }
    items.insert("format version".to_owned(), FORMAT_VERSION.to_string());
    items.insert("protocol".to_owned(), protocol.to_owned());
    items.insert("the number of those who compute".to_owned(), computing.to_string());
    items.insert("program hash".to_owned(), program_hash.to_owned());
    items
}

/// Adds the session's name to what must be equal: links of two runs of the same parties that got
/// crossed, or somebody who told others something else than us, show in nothing else.
pub fn add_session(items: &mut BTreeMap<String, String>, session: &SessionId) {
    // What is derived from the session stays apart from what is sent.
    let digest = Sha256::new().chain_update(b"phineus agreement").chain_update(session.as_bytes());
    let digest: [u8; 32] = digest.finalize().into();
    let name = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    items.insert(SESSION.to_owned(), name);
}

fn describe_input(description: &Description, port: &InputPort) -> String {
    let party = &description.parties[usize::from(port.party)];
    format!("{} rows of {} columns from {party}", port.rows, port.columns.len())
}

fn describe_output(description: &Description, port: &OutputPort) -> String {
    let name = |&party: &u16| description.parties[usize::from(party)].as_str();
    let parties: Vec<&str> = port.parties.iter().map(name).collect();
    let columns: Vec<&str> = port.columns.iter().map(|column| column.name.as_str()).collect();
    format!("{} rows of {} to {}", port.rows, columns.join(","), parties.join(" and "))
}

/// Compares what came out at all parties.
///
/// # Errors
/// Exit 7 with all that differs.
pub fn exchange_agreement(
    channels: &mut Peers,
    ours: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    let message = serde_json::to_vec(ours).expect("an agreement is text");
    let mut differences = Vec::new();
    for (peer, answer) in exchange(channels.iter_mut().flatten(), &message)? {
        let theirs: BTreeMap<String, String> = parse(&peer, &answer)?;
        let none = "nothing".to_owned();
        let names: std::collections::BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
        for what in names.into_iter().filter(|name| ours.get(*name) != theirs.get(*name)) {
            let value = |items: &BTreeMap<String, String>| items.get(what).unwrap_or(&none).clone();
            let (peer, what) = (peer.clone(), what.clone());
            differences.push(Difference { ours: value(ours), theirs: value(&theirs), peer, what });
        }
    }
    if differences.iter().any(|difference| difference.what != SESSION) {
        // It follows from the other differences.
        differences.retain(|difference| difference.what != SESSION);
    }
    settle(channels, &differences)
}

/// Items of a plan that all parties must state alike.
#[derive(Clone, Copy)]
pub struct AgreedPlan<'a> {
    /// Settings that the run follows.
    pub settings: &'a Settings,
    /// Costs of the run.
    pub costs: &'a BTreeMap<String, u64>,
    /// Hash of the ordered program. Nothing for clients, whose blocks have no hash together.
    pub program_hash: Option<&'a str>,
}

impl<'a> AgreedPlan<'a> {
    /// Of a plan.
    pub fn of_plan(plan: &'a PlanDescription) -> AgreedPlan<'a> {
        AgreedPlan {
            settings: &plan.settings,
            costs: &plan.costs,
            program_hash: Some(&plan.program_hash),
        }
    }
}

/// Statement of a peer: settings, costs, and the hash of the ordered program if it computes.
type StatedByPeer<'a> = (Settings, BTreeMap<&'a str, u64>, Option<&'a str>);

/// How [`exchange_windows`] calls what it adds to the costs.
const WINDOW_DOUBLINGS: &str = "window_doublings";

/// Waits until the peers are as far as we are: nothing secret is sent before.
///
/// # Errors
/// Exit 7 if the same program costs a peer something else: then its circuits are others.
pub fn exchange_ready<'a>(
    channels: impl IntoIterator<Item = &'a mut FramedChannel>,
    stated: AgreedPlan<'_>,
) -> Result<(), Failure> {
    exchange_windows(channels, stated, None).map(|_| ())
}

/// Exchanges readiness, and the number of times that all parties have memory to double the window
/// of preprocessing beside a run: the least of all numbers. A client makes no preprocessing and
/// states no number.
///
/// # Errors
/// As [`exchange_ready`].
pub fn exchange_windows<'a>(
    channels: impl IntoIterator<Item = &'a mut FramedChannel>,
    stated: AgreedPlan<'_>,
    doublings: Option<u32>,
) -> Result<u32, Failure> {
    let ours: BTreeMap<&str, u64> =
        stated.costs.iter().map(|(name, &value)| (name.as_str(), value)).collect();
    let mut costs = ours.clone();
    costs.extend(doublings.map(|doublings| (WINDOW_DOUBLINGS, doublings.into())));
    let message = serde_json::to_vec(&(stated.settings, &costs, stated.program_hash));
    let message = message.expect("names and numbers");
    let mut least = doublings.unwrap_or(0);
    for (peer, answer) in exchange(channels, &message)? {
        let (settings, mut theirs, hash): StatedByPeer<'_> = parse(&peer, &answer)?;
        if let Some(doublings) = theirs.remove(WINDOW_DOUBLINGS) {
            // Less than ours, so it is of their type.
            least = doublings.min(least.into()) as u32;
        }
        if *stated.settings != settings {
            let message = format!(
                "the plan of {peer} has other settings, such as the size of batches of triples"
            );
            return Err(Failure::new(codes::OTHER_BATCHES, message)
                .remedy(Remedy::new("plan it again, all with the same ").field(RunField::Memory)));
        }
        let is_other_order =
            stated.program_hash.zip(hash).is_some_and(|(ours, theirs)| ours != theirs);
        if ours != theirs || is_other_order {
            let message =
                format!("the program has other circuits at {peer} than here, though not by name");
            return Err(Failure::new(codes::OTHER_CIRCUITS, message)
                .remedy("run the same build of Phineus at all parties"));
        }
    }
    Ok(least)
}

/// Tells the others a number and learns theirs; the largest of all.
pub fn exchange_number(channels: &mut Peers, ours: u64) -> Result<u64, Failure> {
    let message = serde_json::to_vec(&ours).expect("a number");
    let mut largest = ours;
    for (peer, answer) in exchange(channels.iter_mut().flatten(), &message)? {
        largest = largest.max(parse(&peer, &answer)?);
    }
    Ok(largest)
}

/// Reads all kinds of messages that come before a run.
#[cfg(feature = "fuzzing")]
pub fn read_any(bytes: &[u8]) {
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
    // Whoever gives up first would otherwise take the others' messages away unread.
    let said: &[u8] = if differences.is_empty() { b"agreed" } else { b"differs" };
    let heard = exchange(channels.iter_mut().flatten(), said);
    if differences.is_empty() {
        let heard = heard?;
        let Some((peer, _)) = heard.iter().find(|(_, answer)| answer != b"agreed") else {
            return Ok(());
        };
        let message = format!("{peer} says that the parties differ");
        wait_until_known(channels);
        return Err(Failure::new(codes::DIFFER, message));
    }
    wait_until_known(channels);
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
fn wait_until_known(channels: &mut Peers) {
    for _ in 0..2 {
        if exchange(channels.iter_mut().flatten(), b"known").is_err() {
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
