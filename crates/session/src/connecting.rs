//! The parties of a run, and the connections between them.

use std::collections::BTreeSet;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use phineus_channels::{
    ChannelError, ClusterConfig, ConnectProgress, ConnectionSecurity, FramedChannel, MemoryNetwork,
    MemorySettings, Mesh, MeshSettings, Timeouts, Transport, connect_mesh,
};

use crate::disclosed::Disclosed;
use crate::failure::{Failure, Remedy, RunField, codes};
use crate::progress::Progress;
use crate::protocol::{Adversary, Protocol, ProtocolChoice, STREAMS_MAX};
use crate::settings::{Choice, Cluster, Participation};

/// Settings for connecting to the other parties.
pub struct ConnectSettings<'a> {
    /// The names of the parties, clients last.
    pub members: &'a [String],
    /// How many of them are clients.
    pub clients: usize,
    /// Which of them this is.
    pub party: u16,
}

impl ConnectSettings<'_> {
    fn names(&self) -> Vec<&str> {
        self.members.iter().map(String::as_str).collect()
    }
}

/// How many different reasons are shown why somebody was turned away: one is a mistake, and many are
/// somebody who plays with our port.
const TURNED_AWAY_MAX: usize = 5;

/// Streams that are connected: the protocol is agreed on, or chosen, when all are there.
fn connected_streams(choice: ProtocolChoice) -> u16 {
    match choice.stated() {
        Some(protocol) if protocol.streams() == 1 => 1,
        Some(_) | None => STREAMS_MAX,
    }
}

/// How long the parties wait for each other, and for what else.
fn timeouts(together: &Participation) -> Timeouts {
    let connect = Duration::from_secs(together.timeout_s.max(1));
    Timeouts { connect, ..Timeouts::default() }
}

/// Where the parties of a cluster are, and how this one proves who it is.
pub struct ClusterAccess<'a> {
    pub own: &'a Cluster,
    pub config: &'a ClusterConfig,
    pub security: &'a ConnectionSecurity,
}

/// Connects all parties of this process; by stream and by party of the program.
///
/// # Errors
/// If not all come, or they want different things.
pub fn meet_in_memory(
    together: &Participation,
    meeting: &ConnectSettings<'_>,
    network: &MemoryNetwork,
    progress: &Progress,
) -> Result<Mesh, Failure> {
    let cancel = progress.cancel();
    let names = meeting.names();
    let settings = MemorySettings {
        names: &names,
        me: names[usize::from(meeting.party)],
        streams: connected_streams(together.protocol),
        clients: meeting.clients,
        purpose: together.protocol.name(),
        timeouts: timeouts(together),
        network: together.simulate,
        is_cancelled: &|| cancel.is_requested(),
    };
    let on_wait =
        &mut |waiting: &ConnectProgress<'_>| progress.waiting(waiting.missing, waiting.elapsed);
    let met = network.meet(&settings, on_wait);
    met.map_err(|error| Failure::from(error).revealed(Disclosed::Nothing.sentence()))
}

/// Connects all parties; by stream and by party of the program.
///
/// # Errors
/// If not all can be reached in time, they have other keys than are trusted, or they want different
/// things.
pub fn meet(
    together: &Participation,
    meeting: &ConnectSettings<'_>,
    ClusterAccess { own, config, security }: ClusterAccess<'_>,
    progress: &Progress,
) -> Result<Mesh, Failure> {
    let cancel = progress.cancel();
    let names = meeting.names();
    let clients = &names[names.len() - meeting.clients..];
    let cluster = config.only(&names).with_last(clients);
    let settings = MeshSettings {
        cluster: &cluster,
        me: names[usize::from(meeting.party)],
        streams: connected_streams(together.protocol),
        clients: meeting.clients,
        security,
        program_version: concat!("phineus ", env!("CARGO_PKG_VERSION")),
        purpose: together.protocol.name(),
        timeouts: timeouts(together),
        network: together.simulate,
        is_cancelled: &|| cancel.is_requested(),
    };
    // The kernel closes the connections of a process that ends, but not those of QUIC.
    if cluster.transport() == Transport::Quic {
        cancel.ask();
    }
    let mut turned_away = Vec::new();
    let mut on_wait = |waiting: &ConnectProgress<'_>| {
        let text = waiting.turned_away.as_ref().map(ToString::to_string);
        if let Some(text) = text.filter(|text| !turned_away.contains(text))
            && turned_away.len() < TURNED_AWAY_MAX
        {
            progress.note(&format!("turned away: {text}"));
            turned_away.push(text);
        }
        progress.waiting(waiting.missing, waiting.elapsed);
    };
    let mesh = connect_mesh(&settings, &mut on_wait).map_err(|error| {
        placed(error, &cluster, (own, together)).revealed(Disclosed::Hello.sentence())
    })?;
    if !together.is_all_ours {
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
fn placed(
    error: ChannelError,
    cluster: &ClusterConfig,
    (own, together): (&Cluster, &Participation),
) -> Failure {
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
    // Who runs all parties has written the file itself.
    let party = party.filter(|_| !together.is_all_ours);
    let known = party.and_then(|party| cluster.parties().get(cluster.index_of(party)?));
    let line = known.and_then(|party| party.line);
    let failure = Failure::from(error).of_cluster(&own.file);
    match line {
        Some(line) => failure.at_line(&own.file, line),
        None => failure,
    }
}

/// Streams that the chosen protocol does not take, which say goodbye while the run begins.
pub struct ClosingStreams(Option<JoinHandle<()>>);

impl ClosingStreams {
    /// Closes the streams of `mesh` that `protocol` does not take; all parties do.
    pub fn of(mesh: &mut Mesh, protocol: Protocol) -> ClosingStreams {
        let unused = mesh.drain(usize::from(protocol.streams()).min(mesh.len())..);
        let unused: Vec<FramedChannel> = unused.flatten().flatten().collect();
        if unused.is_empty() {
            return ClosingStreams(None);
        }
        // A peer that does not close them is gone, or fails, and the streams of the run say so.
        let close = || unused.into_iter().for_each(|channel| drop(channel.close()));
        ClosingStreams(thread::Builder::new().stack_size(CLOSING_STACK_BYTES).spawn(close).ok())
    }

    /// Waits until they are closed.
    pub fn finish(self) {
        if let Some(thread) = self.0 {
            let _ = thread.join();
        }
    }
}

/// Stack of the thread that closes streams; it only waits.
const CLOSING_STACK_BYTES: usize = 64 << 10;

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
        0 | 1 => failure.remedy(
            Remedy::new("run it with ")
                .field(RunField::Protocol)
                .and(" clear: nobody has a secret from another"),
        ),
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
