//! State of connecting a mesh, shared by all threads that listen, dial and wait.

mod too_late;

use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::ChannelError;
use crate::fingerprint::Fingerprint;
use crate::framed::FramedChannel;
use crate::hello::{Hello, HelloVerdict, Nonce};
use crate::mesh::{ConnectionSecurity, Mesh, MeshSettings};
use crate::message::AbortReason;
use crate::transport::Cut;

/// The connection of one stream to one party.
enum StreamSlot {
    Missing,
    /// A hello was accepted and is being answered.
    Reserved,
    Here(Box<FramedChannel>),
}

struct MeshState {
    /// By stream and party.
    slots: Vec<Vec<StreamSlot>>,
    /// Which run of each party is connected.
    instances: Vec<Option<Nonce>>,
    error: Option<ChannelError>,
    /// Why the last connection of somebody who did not prove a trusted key was turned away.
    turned_away: Option<ChannelError>,
    /// How the last attempt with each party ended; the last place is for unknown ones.
    details: Vec<Option<String>>,
    /// Connections that are being made.
    attempts: Vec<(u64, TcpStream)>,
    attempt_count: u64,
    is_over: bool,
}

/// The making of a mesh.
pub(crate) struct MeshSetup<'a> {
    pub(crate) settings: &'a MeshSettings<'a>,
    pub(crate) me: usize,
    /// Names this run of this party.
    pub(crate) instance: Nonce,
    pub(crate) started: Instant,
    state: Mutex<MeshState>,
    changed: Condvar,
    /// The first one ends when no more connections are wanted: it wakes who waits in the kernel.
    over: (UnixStream, UnixStream),
}

/// How one attempt failed.
pub(crate) enum AttemptFailure {
    /// Nothing is settled; another attempt may succeed.
    Again(String),
    /// Somebody who dialled did not prove a trusted key: a peer whose key is not known here, or
    /// anybody at all. It is said, but ends nothing: else anybody could end the wait.
    TurnedAway(ChannelError),
    /// The parties cannot work together.
    Settled(ChannelError),
}

/// A random number from the system, through the cryptographic library that is here anyway.
pub(crate) fn nonce() -> Result<Nonce, ChannelError> {
    let mut nonce = Nonce::default();
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut nonce).map_err(|_| ChannelError::Io {
        during: "drawing a random number".to_owned(),
        detail: "the system has none".to_owned(),
    })?;
    Ok(nonce)
}

impl<'a> MeshSetup<'a> {
    pub(crate) fn new(settings: &'a MeshSettings<'a>, me: usize) -> Result<Self, ChannelError> {
        let parties = settings.cluster.parties().len();
        let row = || (0..parties).map(|_| StreamSlot::Missing).collect();
        let state = MeshState {
            slots: (0..settings.streams).map(|_| row()).collect(),
            instances: vec![None; parties],
            error: None,
            turned_away: None,
            details: vec![None; parties + 1],
            attempts: Vec::new(),
            attempt_count: 0,
            is_over: false,
        };
        let (during, pair) = ("preparing to connect".to_owned(), UnixStream::pair());
        let over = pair.map_err(|error| ChannelError::Io { during, detail: error.to_string() })?;
        Ok(MeshSetup {
            settings,
            me,
            instance: nonce()?,
            started: Instant::now(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            over,
        })
    }

    fn state(&self) -> MutexGuard<'_, MeshState> {
        self.state.lock().expect("no code panics while it holds this lock")
    }

    pub(crate) fn parties(&self) -> usize {
        self.settings.cluster.parties().len()
    }

    pub(crate) fn name(&self, party: usize) -> &'a str {
        &self.settings.cluster.parties()[party].name
    }

    /// How many channels lead to another party.
    pub(crate) fn streams_to(&self, party: usize) -> u16 {
        let is_client = |party: usize| party + self.settings.clients >= self.parties();
        match (is_client(self.me), is_client(party)) {
            (false, false) => self.settings.streams,
            (true, true) => 0,
            _ => 1,
        }
    }

    /// Number of streams with the party of this name; for unknown names, that between parties that
    /// are not clients.
    pub(crate) fn streams_with(&self, name: &str) -> u16 {
        let party = self.settings.cluster.index_of(name);
        party.map_or(self.settings.streams, |party| self.streams_to(party))
    }

    /// Those who dial this party.
    pub(crate) fn diallers(&self) -> impl Iterator<Item = usize> + '_ {
        (self.me + 1..self.parties()).filter(|&party| self.streams_to(party) > 0)
    }

    /// The key that is trusted for a party.
    pub(crate) fn trusted(&self, party: usize) -> Option<Fingerprint> {
        match self.settings.security {
            ConnectionSecurity::Tls { trusted, .. } => trusted.fingerprint(self.name(party)),
            ConnectionSecurity::Plain(_) => None,
        }
    }

    /// Those who dial this party and are not all there, by name.
    pub(crate) fn awaited(&self) -> String {
        let missing = self.missing();
        let names: Vec<&str> = self
            .diallers()
            .filter(|party| missing.contains(party))
            .map(|party| self.name(party))
            .collect();
        names.join(", ")
    }

    /// The parties to whom a stream is missing.
    pub(crate) fn missing(&self) -> Vec<usize> {
        let state = self.state();
        let is_here = |party: usize| {
            let mut rows = state.slots.iter().take(self.streams_to(party).into());
            party == self.me || rows.all(|row| matches!(row[party], StreamSlot::Here(_)))
        };
        (0..self.parties()).filter(|&party| !is_here(party)).collect()
    }

    /// The streams that are missing to a party.
    pub(crate) fn missing_streams(&self, party: usize) -> Vec<u16> {
        let state = self.state();
        let rows = (0..self.streams_to(party)).zip(&state.slots);
        rows.filter(|(_, row)| matches!(row[party], StreamSlot::Missing))
            .map(|(at, _)| at)
            .collect()
    }

    /// Whether no more connections are wanted.
    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// The error that ends the wait, if there is one.
    pub(crate) fn error(&self) -> Option<ChannelError> {
        self.state().error.clone()
    }

    /// Why the last connection of somebody unknown was turned away.
    pub(crate) fn turned_away(&self) -> Option<ChannelError> {
        self.state().turned_away.clone()
    }

    /// Ends the wait.
    pub(crate) fn fail(&self, error: ChannelError) {
        let mut state = self.state();
        // Of an attempt that this party itself broke off nothing is learned.
        if !state.is_over {
            state.error.get_or_insert(error);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Remembers how an attempt ended, for the message that says that time is up.
    pub(crate) fn note(&self, party: Option<usize>, detail: String) {
        let place = party.unwrap_or(self.parties());
        self.state().details[place] = Some(detail);
    }

    /// Deals with the end of an attempt.
    pub(crate) fn settle(&self, party: Option<usize>, attempt: AttemptFailure) {
        match attempt {
            AttemptFailure::Again(detail) => self.note(party, detail),
            AttemptFailure::TurnedAway(error) => self.state().turned_away = Some(error),
            AttemptFailure::Settled(error) => self.fail(error),
        }
    }

    /// Waits for a change, or for `pause`.
    pub(crate) fn wait(&self, pause: Duration) {
        let state = self.state();
        if !state.is_over {
            let waited = self.changed.wait_timeout(state, pause);
            drop(waited.expect("no code panics while it holds this lock"));
        }
    }

    /// Waits for `pause`, or until no more connections are wanted.
    pub(crate) fn rest(&self, pause: Duration) {
        let until = Instant::now() + pause;
        while !self.is_over() && Instant::now() < until {
            self.wait(until.saturating_duration_since(Instant::now()));
        }
    }

    /// Waits until somebody may be at the door, for `pause`, or until no more are wanted.
    pub(crate) fn wait_for_guest(&self, listener: &TcpListener, pause: Duration) {
        let door = PollFd::new(listener, PollFlags::IN);
        let over = PollFd::new(&self.over.0, PollFlags::IN);
        let pause = Timespec { tv_sec: 0, tv_nsec: pause.subsec_nanos().into() };
        // After an interruption the caller looks again, as after anything else.
        let _ = poll(&mut [door, over], Some(&pause));
    }

    /// Ends all attempts.
    pub(crate) fn finish(&self) {
        let mut state = self.state();
        state.is_over = true;
        // An error means that nobody waits there.
        let _ = self.over.1.shutdown(Shutdown::Both);
        for (_, stream) in state.attempts.drain(..) {
            stream.cut();
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Remembers a connection that is being made; `None` if it comes too late.
    pub(crate) fn begin_attempt(&self, stream: &TcpStream) -> Option<u64> {
        let stream = stream.try_clone().ok()?;
        let mut state = self.state();
        if state.is_over {
            return None;
        }
        state.attempt_count += 1;
        let number = state.attempt_count;
        state.attempts.push((number, stream));
        Some(number)
    }

    pub(crate) fn end_attempt(&self, number: u64) {
        self.state().attempts.retain(|(other, _)| *other != number);
    }

    pub(crate) fn attempt_count(&self) -> usize {
        self.state().attempts.len()
    }

    /// Judges the hello of a party that dialled; if it is welcome its place is reserved.
    pub(crate) fn judge(
        &self,
        theirs: &Hello,
        presented: Option<Fingerprint>,
    ) -> Result<usize, (HelloVerdict, ChannelError)> {
        let sender = &theirs.sender;
        let known = self.diallers().find(|&party| self.name(party) == sender);
        let party = match known {
            Some(party) => party,
            None => {
                let (party, found) = (self.awaited(), sender.clone());
                return Err((HelloVerdict::Unknown, ChannelError::WrongParty { party, found }));
            }
        };
        if let Some(presented) = presented
            && self.trusted(party) != Some(presented)
        {
            let owner = (0..self.parties()).find(|&other| self.trusted(other) == Some(presented));
            let owner = owner.map_or("nobody", |owner| self.name(owner)).to_owned();
            let error = ChannelError::OtherKey { party: sender.clone(), presented, owner };
            return Err((HelloVerdict::OtherKey, error));
        }
        if theirs.receiver != self.settings.me {
            let (expected, me) = (theirs.receiver.clone(), self.settings.me.to_owned());
            let error = ChannelError::WrongSelf { party: sender.clone(), expected, me };
            return Err((HelloVerdict::NotMe, error));
        }
        self.compare_counts(party, theirs).map_err(|error| (HelloVerdict::Welcome, error))?;
        self.reserve(party, theirs).map(|()| party).map_err(|error| (HelloVerdict::Twice, error))
    }

    /// Whether `party` and this one count parties and streams alike.
    pub(crate) fn compare_counts(&self, party: usize, theirs: &Hello) -> Result<(), ChannelError> {
        let parties = u16::try_from(self.parties()).expect("at most PARTIES_MAX");
        let streams = self.streams_to(party);
        let ours = self.settings.purpose;
        if theirs.streams != streams && theirs.purpose != ours {
            let (party, ours) = (theirs.sender.clone(), ours.to_owned());
            return Err(ChannelError::OtherPurpose { party, theirs: theirs.purpose.clone(), ours });
        }
        let what = "streams between the two (which depends on who computes)";
        let counts = [("parties", theirs.parties, parties), (what, theirs.streams, streams)];
        for (what, theirs_count, ours) in counts {
            if theirs_count != ours {
                let party = theirs.sender.clone();
                return Err(ChannelError::OtherCount { party, what, theirs: theirs_count, ours });
            }
        }
        Ok(())
    }

    fn reserve(&self, party: usize, theirs: &Hello) -> Result<(), ChannelError> {
        // A party that was here and is gone may come again.
        self.sweep();
        let mut state = self.state();
        if state.is_over {
            // All were there: who dials again now would take a place that is in use.
            return Err(ChannelError::Twice { party: theirs.sender.clone() });
        }
        let is_same = state.instances[party].is_none_or(|known| known == theirs.instance);
        let wanted = usize::from(self.streams_to(party));
        let slot = state.slots[..wanted].get_mut(usize::from(theirs.stream));
        let slot = slot.map(|row| &mut row[party]);
        let old = match slot {
            Some(slot) if is_same && !matches!(slot, StreamSlot::Reserved) => {
                std::mem::replace(slot, StreamSlot::Reserved)
            }
            _ => return Err(ChannelError::Twice { party: theirs.sender.clone() }),
        };
        state.instances[party] = Some(theirs.instance);
        drop(state);
        // The party dialled again because it gave the old connection up.
        drop(old);
        Ok(())
    }

    /// Gives up a reservation.
    pub(crate) fn release(&self, party: usize, stream: u16) {
        self.state().slots[usize::from(stream)][party] = StreamSlot::Missing;
    }

    /// A connection is there.
    pub(crate) fn put(&self, party: usize, channel: FramedChannel) {
        let place = usize::from(channel.stream());
        self.state().slots[place][party] = StreamSlot::Here(Box::new(channel));
        self.changed.notify_all();
    }

    /// Looks whether those that are there still live: who gave up ends the wait, who is gone, or was
    /// stopped by its user, may come again.
    pub(crate) fn sweep(&self) {
        let mut gone = Vec::new();
        let mut state = self.state();
        let MeshState { slots, instances, error, .. } = &mut *state;
        for slot in slots.iter_mut().flatten() {
            let StreamSlot::Here(channel) = slot else { continue };
            match channel.error() {
                None => {}
                Some(
                    ChannelError::Closed { .. }
                    | ChannelError::Lost { .. }
                    | ChannelError::PeerAborted { reason: AbortReason::Interrupted, .. },
                ) => {
                    gone.push(std::mem::replace(slot, StreamSlot::Missing));
                }
                Some(end) => drop(error.get_or_insert(end)),
            }
        }
        for (party, instance) in instances.iter_mut().enumerate() {
            if slots.iter().all(|row| matches!(row[party], StreamSlot::Missing)) {
                *instance = None;
            }
        }
    }

    pub(crate) fn into_mesh(self) -> Mesh {
        let state = self.state.into_inner().expect("no code panics while it holds this lock");
        let channel = |slot| match slot {
            StreamSlot::Here(channel) => Some(*channel),
            StreamSlot::Missing | StreamSlot::Reserved => None,
        };
        state.slots.into_iter().map(|row| row.into_iter().map(channel).collect()).collect()
    }
}
