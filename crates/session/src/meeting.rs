//! Who takes part in a run, and the connections between them.

use std::collections::BTreeSet;
use std::time::Duration;

use phineus_channels::{
    ChannelError, ClusterConfig, FramedChannel, Mesh, MeshSettings, PARTIES_MAX, Security,
    Timeouts, Transport, connect_mesh,
};

use crate::failure::{Failure, codes};
use crate::progress::Progress;
use crate::settings::{Choice, Protocol, ProtocolChoice, Together};
use crate::told::Told;

/// What is needed to meet the other parties.
pub struct Meeting<'a> {
    pub cluster: &'a ClusterConfig,
    /// The names of the parties in the cluster, clients last.
    pub members: &'a [String],
    /// How many of them are clients.
    pub clients: usize,
    /// Which of them this is.
    pub party: u16,
    pub security: &'a Security,
}

/// Streams between each two parties.
pub fn streams(protocol: Protocol) -> u16 {
    match protocol {
        // Its transfers are in the stream of its gates.
        Protocol::Garbled | Protocol::Clear => 1,
        // Openings, and what is made in the background.
        Protocol::Gmw | Protocol::Arith => 2,
        Protocol::Spdz | Protocol::Spdz128 | Protocol::Spdz32 => 2,
        // And garbling.
        Protocol::Bmr | Protocol::Mixed => STREAMS_MAX,
    }
}

/// Streams that any protocol takes.
pub const STREAMS_MAX: u16 = 3;

/// How many different reasons are shown why somebody was turned away: one is a mistake, and many are
/// somebody who plays with our port.
const TURNED_AWAY_MAX: usize = 5;

/// Connects all parties; by stream and by party of the program.
pub fn meet(
    together: &Together,
    meeting: &Meeting<'_>,
    progress: &Progress,
) -> Result<Mesh, Failure> {
    let cancel = progress.cancel();
    let connect_timeout = Duration::from_secs(together.timeout_s.max(1));
    let names: Vec<&str> = meeting.members.iter().map(String::as_str).collect();
    let clients = &names[names.len() - meeting.clients..];
    let cluster = meeting.cluster.only(&names).with_last(clients);
    let settings = MeshSettings {
        cluster: &cluster,
        me: names[usize::from(meeting.party)],
        streams: match together.protocol {
            ProtocolChoice::This(Protocol::Garbled | Protocol::Clear) => 1,
            // The protocol is agreed on, or chosen, when all are there.
            ProtocolChoice::Auto
            | ProtocolChoice::This(
                Protocol::Gmw
                | Protocol::Bmr
                | Protocol::Arith
                | Protocol::Mixed
                | Protocol::Spdz
                | Protocol::Spdz128
                | Protocol::Spdz32,
            ) => STREAMS_MAX,
        },
        clients: meeting.clients,
        security: meeting.security,
        program_version: concat!("phineus ", env!("CARGO_PKG_VERSION")),
        purpose: &format!("--protocol {}", together.protocol.name()),
        timeouts: Timeouts { connect: connect_timeout, ..Timeouts::default() },
        network: together.simulate,
        is_cancelled: &|| cancel.is_requested(),
    };
    // The kernel closes the connections of a process that ends, but not those of QUIC.
    if cluster.transport() == Transport::Quic {
        cancel.ask();
    }
    let mut turned_away = Vec::new();
    let mut on_wait = |waiting: &phineus_channels::Waiting<'_>| {
        let text = waiting.turned_away.as_ref().map(ToString::to_string);
        if let Some(text) = text.filter(|text| !turned_away.contains(text))
            && turned_away.len() < TURNED_AWAY_MAX
        {
            progress.note(&format!("turned away: {text}"));
            turned_away.push(text);
        }
        progress.waiting(waiting.missing, waiting.elapsed);
    };
    let mesh = connect_mesh(&settings, &mut on_wait)
        .map_err(|error| placed(error, &cluster, together).revealed(Told::Hello.sentence()))?;
    if together.child.is_none() {
        let channels = mesh.iter().flatten().flatten();
        let peers: BTreeSet<&str> = channels.map(FramedChannel::peer).collect();
        for peer in peers {
            progress.note(&format!("{peer} connected, identity ok"));
        }
    }
    let place = |name: &&str| cluster.index_of(name).expect("the cluster has all members");
    let ordered = |mut row: Vec<Option<FramedChannel>>| {
        names.iter().map(|name| row[place(name)].take()).collect()
    };
    Ok(mesh.into_iter().map(ordered).collect())
}

/// A failure to meet, with the line of the cluster file that it is about.
fn placed(error: ChannelError, cluster: &ClusterConfig, together: &Together) -> Failure {
    use ChannelError as E;
    let party = match &error {
        E::NoAddress { party }
        | E::UnknownHost { party, .. }
        | E::PlainNotLoopback { party, .. }
        | E::WrongParty { party, .. }
        | E::WrongSelf { party, .. } => Some(party),
        E::PortInUse { me, .. } | E::CannotListen { me, .. } => Some(me),
        _ => None,
    };
    // The parent of a local run has written the file itself.
    let party = party.filter(|_| together.child.is_none());
    let known = party.and_then(|party| cluster.parties().get(cluster.index_of(party)?));
    let line = known.and_then(|party| party.line);
    let failure = Failure::from(error).of_cluster(&together.cluster);
    match line {
        Some(line) => {
            let message = format!("{}:{line}: {}", together.cluster.display(), failure.message);
            Failure { message, ..failure }
        }
        None => failure,
    }
}

/// Closes the streams that `protocol` does not take, at all parties at once.
///
/// # Errors
/// When a peer does not close them.
pub fn close_unused(mesh: &mut Mesh, protocol: Protocol) -> Result<(), Failure> {
    let unused = mesh.drain(usize::from(streams(protocol)).min(mesh.len())..);
    for channel in unused.flatten().flatten() {
        channel.close()?;
    }
    Ok(())
}

/// Refuses programs for a number of parties that the protocol cannot have.
///
/// Of `members`, the first `count` compute.
pub fn check_parties(protocol: Protocol, count: usize, members: usize) -> Result<(), Failure> {
    if protocol == Protocol::Garbled && count < members {
        let message = "garbled circuits are between the two whose inputs they are: no others can \
                       compute for them";
        return Err(Failure::new(codes::NUMBER_OF_PARTIES, message)
            .remedy("run it with --protocol bmr, gmw, arith or mixed"));
    }
    if protocol.field().is_some() && count < members {
        let message = "authenticated shares are of those who have the inputs: there are no clients";
        return Err(Failure::new(codes::NUMBER_OF_PARTIES, message)
            .remedy("run it with --protocol bmr, gmw, arith or mixed"));
    }
    let message = match protocol {
        Protocol::Garbled if count != 2 => {
            format!("garbled circuits are for two parties, this program has {count}")
        }
        protocol if protocol.is_shared() && !(2..=PARTIES_MAX).contains(&count) => {
            format!("this protocol is for 2 to {PARTIES_MAX} parties, this program has {count}")
        }
        _ => return Ok(()),
    };
    let failure = Failure::new(codes::NUMBER_OF_PARTIES, message);
    Err(match protocol {
        _ if count < 2 => {
            failure.remedy("run it with --protocol clear: nobody has a secret from another")
        }
        Protocol::Garbled => failure.remedy("run it with --protocol gmw or bmr"),
        _ => failure,
    })
}
