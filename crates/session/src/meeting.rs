//! Who takes part in a run, and the connections between them.

use std::collections::BTreeSet;
use std::time::Duration;

use phineus_channels::{
    ChannelError, ClusterConfig, FramedChannel, Mesh, MeshSettings, Security, Timeouts, Transport,
    connect_mesh,
};

use crate::failure::{Failure, codes};
use crate::progress::Progress;
use crate::protocol::{Adversary, Protocol, STREAMS_MAX};
use crate::settings::{Choice, Together};
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
        streams: match together.protocol.stated() {
            Some(protocol) if protocol.streams() == 1 => 1,
            // The protocol is agreed on, or chosen, when all are there.
            Some(_) | None => STREAMS_MAX,
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
    let unused = mesh.drain(usize::from(protocol.streams()).min(mesh.len())..);
    for channel in unused.flatten().flatten() {
        channel.close()?;
    }
    Ok(())
}

/// Refuses programs for a number of parties that the protocol cannot have.
///
/// Of `members`, the first `count` compute.
pub fn check_parties(protocol: Protocol, count: usize, members: usize) -> Result<(), Failure> {
    let takes_clients = |protocol: Protocol| count == members || protocol.takes_clients();
    let is_possible =
        |protocol: Protocol| protocol.parties().contains(&count) && takes_clients(protocol);
    if is_possible(protocol) {
        return Ok(());
    }
    let name = protocol.name();
    let message = match takes_clients(protocol) {
        false => format!(
            "under protocol '{name}' only parties that compute have inputs and outputs: there are no \
             clients"
        ),
        true => {
            let (least, most) = protocol.parties().into_inner();
            let wanted =
                if least == most { least.to_string() } else { format!("{least} to {most}") };
            format!("protocol '{name}' is for {wanted} parties, this program has {count}")
        }
    };
    let failure = Failure::new(codes::NUMBER_OF_PARTIES, message);
    Err(match count {
        0 | 1 => failure.remedy("run it with --protocol clear: nobody has a secret from another"),
        _ => {
            let others = Protocol::names(|other| {
                let is_for_use =
                    other.adversary() != Adversary::Nobody && other.warning().is_none();
                is_for_use && is_possible(other)
            });
            failure.remedy(format!("protocols that can run it: {others}"))
        }
    })
}
