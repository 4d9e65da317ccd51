//! [`MemoryNetwork`]: connects parties that are threads of one process.
//!
//! The channels are the same as over a network, with the same messages, ends and failures, over
//! connected pairs of the kernel's sockets: there are no addresses, no keys, and nobody else can
//! connect. The kernel buffers at most 208 KiB in each direction of a pair by default, outside the
//! memory of the process.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::ChannelError;
use crate::framed::{Connected, FramedChannel};
use crate::mesh::{ConnectProgress, Mesh};
use crate::mesh_setup::nonce;
use crate::reader::MessageReader;
use crate::simulate::NetworkModel;
use crate::timeouts::Timeouts;
use crate::transport::{READ_PAUSE, halves};

/// How often a waiting party asks whether it is to go on.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// Connects the parties of one session at a time, if all are in one process. Clones share it; the
/// next session may use it when all parties of this one are connected.
#[derive(Clone, Default)]
pub struct MemoryNetwork(Arc<NetworkInner>);

/// Settings for a party that joins a [`MemoryNetwork`].
pub struct MemorySettings<'a> {
    /// All parties, clients last; the same at all parties.
    pub names: &'a [&'a str],
    /// The name of this party.
    pub me: &'a str,
    /// How many channels lead to each other party that is no client.
    pub streams: u16,
    /// How many of the parties are clients: each has one channel to each party that is none.
    pub clients: usize,
    /// Shown to the peers if the numbers of streams differ, such as `--protocol gmw`.
    pub purpose: &'a str,
    /// The clock.
    pub timeouts: Timeouts,
    /// A simulated network between each two parties.
    pub network: Option<NetworkModel>,
    /// Ends the wait for the other parties when it returns true.
    pub is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

#[derive(Default)]
struct NetworkInner {
    state: Mutex<NetworkState>,
    changed: Condvar,
}

/// The parties that have come, by name.
#[derive(Default)]
struct NetworkState {
    arrived: BTreeMap<String, PartyRecord>,
    /// Result for each party: its mesh, or the error.
    ready: BTreeMap<String, Result<Vec<ConnectionEnd>, ChannelError>>,
}

/// Statements of a party that has arrived.
#[derive(Clone, PartialEq, Eq)]
struct PartyRecord {
    names: Vec<String>,
    streams: u16,
    clients: usize,
    purpose: String,
}

/// One end of a connection.
struct ConnectionEnd {
    peer: usize,
    stream: u16,
    session: u64,
    socket: UnixStream,
}

impl MemoryNetwork {
    /// A place where nobody is yet.
    pub fn new() -> MemoryNetwork {
        MemoryNetwork::default()
    }

    /// Waits for all others and connects with them, as [`connect_mesh`](crate::connect_mesh) does over a
    /// network. `on_wait` is called about once a second.
    ///
    /// # Errors
    /// If not all come in time, or they have come for different sessions.
    pub fn meet(
        &self,
        settings: &MemorySettings<'_>,
        on_wait: &mut dyn FnMut(&ConnectProgress<'_>),
    ) -> Result<Mesh, ChannelError> {
        let me = settings.me;
        let place = settings.names.iter().position(|name| *name == me);
        let known = settings.names.join(", ");
        let me_at =
            place.ok_or_else(|| ChannelError::UnknownParty { name: me.to_owned(), known })?;
        self.arrive(settings)?;
        let ends = self.wait(settings, on_wait)?;
        let mut mesh = empty_mesh(settings, me_at);
        for end in ends {
            let (stream, peer) = (usize::from(end.stream), end.peer);
            mesh[stream][peer] = Some(start(end, settings)?);
        }
        drop(FramedChannel::tie(mesh.iter().flatten().flatten()));
        Ok(mesh)
    }

    /// Says who has come; the last one connects all.
    fn arrive(&self, settings: &MemorySettings<'_>) -> Result<(), ChannelError> {
        let mut state = self.state();
        let me = settings.me.to_owned();
        if state.arrived.contains_key(&me) || state.ready.contains_key(&me) {
            return Err(ChannelError::Twice { party: me });
        }
        let ours = PartyRecord::of(settings);
        let differing = state.arrived.iter().find_map(|(name, theirs)| {
            let error = ours.difference(theirs, (&me, name))?;
            Some((name.clone(), theirs.clone(), error))
        });
        if let Some((name, theirs, error)) = differing {
            let told = theirs.difference(&ours, (&name, &me)).unwrap_or_else(|| error.clone());
            state.arrived.remove(&name);
            state.ready.insert(name, Err(told));
            self.0.changed.notify_all();
            return Err(error);
        }
        state.arrived.insert(me, ours);
        if settings.names.iter().all(|name| state.arrived.contains_key(*name)) {
            let arrived = std::mem::take(&mut state.arrived);
            let outcome = connect_all(settings.names, &arrived);
            let failed = outcome.as_ref().err().cloned();
            let mut ends = outcome.unwrap_or_default().into_iter();
            for name in settings.names {
                let own = match &failed {
                    Some(error) => Err(error.clone()),
                    None => Ok(ends.next().expect("ends were made for each name")),
                };
                state.ready.insert((*name).to_owned(), own);
            }
            self.0.changed.notify_all();
        }
        Ok(())
    }

    /// Waits for what this party takes away.
    fn wait(
        &self,
        settings: &MemorySettings<'_>,
        on_wait: &mut dyn FnMut(&ConnectProgress<'_>),
    ) -> Result<Vec<ConnectionEnd>, ChannelError> {
        let started = Instant::now();
        let mut reported: Option<Instant> = None;
        loop {
            let mut state = self.state();
            if let Some(ready) = state.ready.remove(settings.me) {
                return ready;
            }
            let arrived: Vec<&str> = state.arrived.keys().map(String::as_str).collect();
            let missing: Vec<&str> =
                settings.names.iter().copied().filter(|name| !arrived.contains(name)).collect();
            let elapsed = started.elapsed();
            let error = match () {
                () if (settings.is_cancelled)() => Some(ChannelError::Cancelled),
                () if elapsed >= settings.timeouts.connect => Some(ChannelError::Incomplete {
                    seconds: settings.timeouts.connect.as_secs(),
                    missing: format!("{} did not come", missing.join(", ")),
                }),
                () => None,
            };
            if let Some(error) = error {
                state.arrived.remove(settings.me);
                return Err(error);
            }
            if reported.is_none_or(|last| last.elapsed() >= Duration::from_secs(1)) {
                reported = Some(Instant::now());
                drop(state);
                on_wait(&ConnectProgress { missing: &missing, elapsed, turned_away: None });
                continue;
            }
            let waited = self.0.changed.wait_timeout(state, LOOK_PAUSE);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn state(&self) -> MutexGuard<'_, NetworkState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryNetwork")
    }
}

impl PartyRecord {
    fn of(settings: &MemorySettings<'_>) -> PartyRecord {
        PartyRecord {
            names: settings.names.iter().map(|&name| name.to_owned()).collect(),
            streams: settings.streams,
            clients: settings.clients,
            purpose: settings.purpose.to_owned(),
        }
    }

    fn is_client(&self, name: &str) -> bool {
        let computing = self.names.len() - self.clients;
        self.names.iter().skip(computing).any(|client| client == name)
    }

    /// Why this party, the first of the two names, cannot meet the second.
    fn difference(&self, theirs: &PartyRecord, (me, peer): (&str, &str)) -> Option<ChannelError> {
        let party = peer.to_owned();
        let count = |what: &'static str, theirs: usize, ours: usize| {
            let [theirs, ours] =
                [theirs, ours].map(|count| u16::try_from(count).unwrap_or(u16::MAX));
            Some(ChannelError::OtherCount { party: party.clone(), what, theirs, ours })
        };
        if !self.names.iter().any(|name| name == peer) {
            return Some(ChannelError::WrongParty { party: self.names.join(", "), found: party });
        }
        if self.names.len() != theirs.names.len() {
            return count("parties", theirs.names.len(), self.names.len());
        }
        if self.names != theirs.names {
            let (theirs, ours) = (theirs.names.join(", "), self.names.join(", "));
            return Some(ChannelError::OtherPurpose { party, theirs, ours });
        }
        if self.clients != theirs.clients {
            return count("clients", theirs.clients, self.clients);
        }
        let both_compute = !self.is_client(me) && !self.is_client(peer);
        if both_compute && self.streams != theirs.streams {
            let (theirs, ours) = (theirs.purpose.clone(), self.purpose.clone());
            return Some(ChannelError::OtherPurpose { party, theirs, ours });
        }
        None
    }
}

/// The ends of all parties, in the order of `names`.
fn connect_all(
    names: &[&str],
    arrived: &BTreeMap<String, PartyRecord>,
) -> Result<Vec<Vec<ConnectionEnd>>, ChannelError> {
    let failed = |error: io::Error| ChannelError::Io {
        during: "connecting parties in memory".to_owned(),
        detail: error.to_string(),
    };
    let mut ends: Vec<Vec<ConnectionEnd>> = names.iter().map(|_| Vec::new()).collect();
    for high in 0..names.len() {
        for low in 0..high {
            let is_client = |at: usize| arrived[names[at]].is_client(names[at]);
            let streams = match (is_client(low), is_client(high)) {
                (false, false) => arrived[names[low]].streams,
                (true, true) => 0,
                _ => 1,
            };
            for stream in 0..streams {
                let session = u64::from_le_bytes(
                    nonce()?[..8].try_into().expect("a nonce has sixteen bytes"),
                );
                let (one, other) = UnixStream::pair().map_err(failed)?;
                ends[low].push(ConnectionEnd { peer: high, stream, session, socket: one });
                ends[high].push(ConnectionEnd { peer: low, stream, session, socket: other });
            }
        }
    }
    Ok(ends)
}

/// As many streams as this party has to any other, and a place for each party.
fn empty_mesh(settings: &MemorySettings<'_>, me: usize) -> Mesh {
    let is_client = me + settings.clients >= settings.names.len();
    let streams = if is_client { 1 } else { settings.streams };
    (0..streams).map(|_| settings.names.iter().map(|_| None).collect()).collect()
}

fn start(end: ConnectionEnd, settings: &MemorySettings<'_>) -> Result<FramedChannel, ChannelError> {
    let ConnectionEnd { peer, stream, session, socket } = end;
    let failed = |error: io::Error| ChannelError::Io {
        during: "starting a channel in memory".to_owned(),
        detail: error.to_string(),
    };
    socket.set_read_timeout(Some(READ_PAUSE)).map_err(failed)?;
    let peer = settings.names[peer].to_owned();
    let (source, sink) = halves(&socket).map_err(failed)?;
    let reader = MessageReader::new(Box::new(source), &peer, settings.timeouts.lost);
    let connected = Connected {
        peer,
        session,
        stream,
        is_ordered: true,
        reader,
        sink: Box::new(sink),
        cut: Box::new(socket),
        round_trip: Some(Duration::ZERO),
    };
    FramedChannel::start(connected, settings.timeouts, settings.network)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::{Channel, SEND_AHEAD_BYTES};

    const NAMES: [&str; 3] = ["site_a", "site_b", "client"];

    fn settings(me: &'static str) -> MemorySettings<'static> {
        MemorySettings {
            names: &NAMES,
            me,
            streams: 2,
            clients: 1,
            purpose: "a test",
            timeouts: Timeouts { connect: Duration::from_secs(10), ..Timeouts::default() },
            network: None,
            is_cancelled: &|| false,
        }
    }

    /// All parties meet; each with settings of its own.
    fn meet_all(
        change: impl Fn(&mut MemorySettings<'static>) + Sync,
    ) -> Vec<Result<Mesh, ChannelError>> {
        let network = MemoryNetwork::new();
        thread::scope(|scope| {
            let parties = NAMES.map(|me| {
                let (network, change) = (network.clone(), &change);
                scope.spawn(move || {
                    let mut settings = settings(me);
                    change(&mut settings);
                    network.meet(&settings, &mut |_| ())
                })
            });
            parties.map(|party| party.join().expect("it does not panic")).into()
        })
    }

    /// Sends more than the kernel holds to each peer, receives as much, and parts.
    fn talk(me: usize, mut mesh: Mesh) -> Result<(), ChannelError> {
        let word = |from: usize, to: usize, stream: usize| [from as u8, to as u8, stream as u8];
        for (stream, row) in mesh.iter_mut().enumerate() {
            for (peer, channel) in row.iter_mut().enumerate() {
                let Some(channel) = channel else { continue };
                channel.send(&word(me, peer, stream).repeat(SEND_AHEAD_BYTES / 4))?;
                channel.flush()?;
            }
        }
        for (stream, row) in mesh.iter_mut().enumerate() {
            for (peer, channel) in row.iter_mut().enumerate() {
                let Some(channel) = channel else { continue };
                assert_eq!((channel.peer(), channel.stream()), (NAMES[peer], stream as u16));
                let mut received = vec![0; 3 * (SEND_AHEAD_BYTES / 4)];
                channel.recv(&mut received)?;
                assert!(received.chunks(3).all(|chunk| chunk == word(peer, me, stream)));
                assert_eq!(channel.exchange(NAMES[me].as_bytes())?, NAMES[peer].as_bytes());
            }
        }
        mesh.into_iter().flatten().flatten().try_for_each(FramedChannel::close)
    }

    #[test]
    fn parties_and_clients_talk_and_part() {
        let meshes = meet_all(|_| ());
        let parties: Vec<_> = meshes.into_iter().map(|mesh| mesh.expect("all come")).collect();
        let channels = |mesh: &Mesh| mesh.iter().map(|row| row.iter().flatten().count()).collect();
        let counts: Vec<Vec<usize>> = parties.iter().map(channels).collect();
        assert_eq!(counts, [vec![2, 1], vec![2, 1], vec![2]]);
        let talking: Vec<_> =
            (0..).zip(parties).map(|(me, mesh)| thread::spawn(move || talk(me, mesh))).collect();
        for party in talking {
            party.join().expect("it does not panic").expect("nobody fails");
        }
    }

    #[test]
    fn who_gives_up_tells_the_others() {
        let mut meshes = meet_all(|_| ()).into_iter().map(|mesh| mesh.expect("all come"));
        let (a, mut b) = (meshes.next().expect("three"), meshes.next().expect("three"));
        drop(a);
        let channel = b[0][0].as_mut().expect("it leads to site_a");
        match channel.recv_with(1, |_| ()) {
            // It says so itself, unless the client, who heard it too, was faster.
            Err(ChannelError::PeerAborted { party, .. } | ChannelError::PeerLost { party, .. }) => {
                assert_eq!(party, "site_a")
            }
            other => panic!("expected an abort, got {:?}", other.err()),
        }
    }

    #[test]
    fn different_sessions_do_not_meet() {
        let errors: Vec<_> = meet_all(|settings| {
            settings.timeouts.connect = Duration::from_secs(1);
            if settings.me == "site_b" {
                (settings.streams, settings.purpose) = (3, "another test");
            }
        })
        .into_iter()
        .map(|mesh| mesh.err().expect("they differ").to_string())
        .collect();
        let asked = |party: &str, theirs: &str, ours: &str| {
            format!(
                "{party} was asked for {theirs}, and this party for {ours}; ask all parties for \
                 the same"
            )
        };
        assert_eq!(errors[0], asked("site_b", "another test", "a test"));
        assert_eq!(errors[1], asked("site_a", "a test", "another test"));
        assert!(errors[2].starts_with("not all parties were there within 1 s"), "{}", errors[2]);
    }

    #[test]
    fn who_does_not_come_is_named() {
        let network = MemoryNetwork::new();
        let hurried = MemorySettings {
            timeouts: Timeouts { connect: Duration::ZERO, ..Timeouts::default() },
            ..settings("site_a")
        };
        let error = network.meet(&hurried, &mut |_| ()).err().expect("nobody else comes");
        let expected = "not all parties were there within 0 s: site_b, client did not come";
        assert_eq!(error.to_string(), expected);
        let cancelled = MemorySettings { is_cancelled: &|| true, ..settings("site_a") };
        let error = network.meet(&cancelled, &mut |_| ()).err().expect("it is cancelled");
        assert!(matches!(error, ChannelError::Cancelled));
        let stranger = MemorySettings { me: "site_x", ..settings("site_a") };
        let error = network.meet(&stranger, &mut |_| ()).err().expect("it has no place");
        assert!(matches!(error, ChannelError::UnknownParty { .. }));
    }
}
