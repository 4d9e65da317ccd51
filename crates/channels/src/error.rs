//! Errors between two parties; each is one sentence with the fault, its place and its remedy.

use std::net::SocketAddr;

use crate::fingerprint::Fingerprint;
use crate::hello::PROTOCOL_VERSION;
use crate::message::{AbortReason, MessageError};
use crate::transport_kind::TransportKind;

/// Why a channel is dead or was never made.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The peer closed the connection or the network dropped it.
    #[error("{party} closed the connection")]
    Closed {
        /// The peer's name.
        party: String,
    },
    /// Nothing was heard from the peer for too long.
    #[error("nothing was heard from {party} for {seconds} s: it or the network is down")]
    Lost {
        /// The peer's name.
        party: String,
        /// For how long.
        seconds: u64,
    },
    /// The peer said that it gave up.
    #[error("{party} stopped: {reason}")]
    PeerAborted {
        /// The peer's name.
        party: String,
        /// Reason that the peer stated.
        reason: AbortReason,
    },
    /// The peer stopped because it lost a third party, or found fault with it.
    #[error("{party} was lost: {reported_by} says so")]
    PeerLost {
        /// The party that was lost.
        party: String,
        /// Who says so.
        reported_by: String,
    },
    /// This party gave up, by its own [`abort`](crate::FramedChannel::abort).
    #[error("this party ended the session with {party}")]
    Stopped {
        /// The peer's name.
        party: String,
    },
    /// This party no longer wants to meet the others.
    #[error("this party stopped waiting for the others")]
    Cancelled,
    /// The peer sent something that no correct party sends.
    #[error("{party} sent {fault}")]
    Misbehaved {
        /// The peer's name.
        party: String,
        /// The fault.
        fault: MessageError,
    },
    /// A control message of our own is too long.
    #[error("a control message of {bytes} bytes is too long, at most {max} can be exchanged")]
    ControlTooLong {
        /// Its length.
        bytes: usize,
        /// The longest allowed.
        max: usize,
    },
    /// The operating system refused something else.
    #[error("{during} failed: {detail}")]
    Io {
        /// Operation that failed.
        during: String,
        /// Error text of the system.
        detail: String,
    },
    /// The peer's TLS ended the connection.
    #[error("{party} ended the connection with TLS alert {code}")]
    TlsAlert {
        /// The peer's name.
        party: String,
        /// The alert (RFC 8446, section 6).
        code: u8,
    },
    /// The peer has another key than the trusted one.
    #[error(
        "{party} presented the key {presented}, but {trusted} is trusted: someone else answers, or \
         {party} has a new key. Ask {party} over another channel (by phone, in person) for the \
         fingerprint that `phineus id show` prints there. Only if it is the one presented: \
         `phineus id untrust {party}`, then `phineus id trust {party} {presented}`"
    )]
    WrongKey {
        /// The peer's name.
        party: String,
        /// The key it presented.
        presented: Fingerprint,
        /// The key that is trusted.
        trusted: Fingerprint,
    },
    /// No key is trusted for the peer.
    #[error(
        "no key is trusted for {party}, which presented {presented}. Ask {party} over another \
         channel (by phone, in person) for the fingerprint that `phineus id show` prints there. Only \
         if it is the one presented: `phineus id trust {party} {presented}`"
    )]
    NotTrusted {
        /// The peer's name.
        party: String,
        /// The key it presented.
        presented: Fingerprint,
    },
    /// The peer does not trust our key.
    #[error(
        "{party} refused the key of {me}. Tell {party} over another channel (by phone, in person) \
         that the fingerprint of {me} is {fingerprint}. Only if that is the one presented there, run \
         there: `phineus id trust {me} {fingerprint}` (after `phineus id untrust {me}` if another \
         key of {me} is trusted there)"
    )]
    KeyRefused {
        /// The peer's name.
        party: String,
        /// The name of this party.
        me: String,
        /// The key of this party.
        fingerprint: Fingerprint,
    },
    /// Another party answers at the peer's address.
    #[error("{found} answers where {party} is expected; check the addresses in cluster.toml")]
    WrongParty {
        /// The peer that was expected.
        party: String,
        /// The name it gave.
        found: String,
    },
    /// The peer expects another party here.
    #[error(
        "{party} expects {expected} here, but this is {me}; check the addresses in cluster.toml"
    )]
    WrongSelf {
        /// The peer's name.
        party: String,
        /// Whom it expects.
        expected: String,
        /// The name of this party.
        me: String,
    },
    /// The peer speaks another version of the protocols.
    #[error(
        "{party} runs {their_program} (protocol {theirs}) and this is {our_program} (protocol \
         {PROTOCOL_VERSION}); install the same version on both sides"
    )]
    Incompatible {
        /// The peer's name.
        party: String,
        /// The peer's protocol version.
        theirs: u16,
        /// The peer's program version.
        their_program: String,
        /// Our program version.
        our_program: String,
    },
    /// The parties count the parties, or the streams between them, differently.
    #[error(
        "{party} counts {theirs} {what}, here there are {ours}; use the same cluster.toml, program \
         and protocol at all parties"
    )]
    OtherCount {
        /// The peer's name.
        party: String,
        /// Name of the number that differs.
        what: &'static str,
        /// The peer's number.
        theirs: u16,
        /// Our number.
        ours: u16,
    },
    /// The parties were asked to run different things, which cannot even be connected.
    #[error(
        "{party} was asked for {theirs}, and this party for {ours}; ask all parties for the same"
    )]
    OtherPurpose {
        /// The peer's name.
        party: String,
        /// Purpose of the peer.
        theirs: String,
        /// Purpose of this party.
        ours: String,
    },
    /// The parties use different transports.
    #[error(
        "{party} speaks {theirs}, and this party {ours}: give all parties the same --plain, \
         --transport and `transport` in cluster.toml"
    )]
    OtherManner {
        /// The peer's name, or a guess.
        party: String,
        /// How it speaks.
        theirs: TransportKind,
        /// How this party speaks.
        ours: TransportKind,
    },
    /// Two processes say that they are the same party.
    #[error("{party} connected twice: two processes run as {party}, stop one of them")]
    Twice {
        /// The name of that party.
        party: String,
    },
    /// Another process of the same name is with the peer already.
    #[error("{party} is connected with another process that runs as {me}, stop one of them")]
    Replaced {
        /// The peer's name.
        party: String,
        /// The name of this party.
        me: String,
    },
    /// Somebody presented a key that is trusted for none of the parties that are missing.
    #[error(
        "somebody presented the key {presented}, which is trusted for none of {missing}. Ask them \
         over another channel (by phone, in person) for the fingerprints that `phineus id show` \
         prints there. Only if one of them, NAME, has the one presented: `phineus id trust NAME \
         {presented}` (after `phineus id untrust NAME` if another key is trusted for it)"
    )]
    Stranger {
        /// The key presented.
        presented: Fingerprint,
        /// The parties that are waited for.
        missing: String,
    },
    /// A party presented the key of another one.
    #[error("{party} presented the key {presented}, which is trusted for {owner}")]
    OtherKey {
        /// The name given.
        party: String,
        /// The key presented.
        presented: Fingerprint,
        /// Whose key it is.
        owner: String,
    },
    /// A name that is not in the cluster.
    #[error("{name} is not in cluster.toml, which has {known}; check the name given with --as")]
    UnknownParty {
        /// The name in question.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The identity belongs to another party.
    #[error("the key of {identity} cannot speak for {me}; make one with `phineus id init {me}`")]
    WrongIdentity {
        /// The name of this party.
        me: String,
        /// The name in the identity.
        identity: String,
    },
    /// Somebody else listens at our port.
    #[error(
        "port {port} of {address} is in use; stop the program that listens there, or give {me} \
         another port in cluster.toml (the others need the change too)",
        port = address.port(), address = address.ip()
    )]
    PortInUse {
        /// The name of this party.
        me: String,
        /// Where it wanted to listen.
        address: SocketAddr,
    },
    /// This machine cannot listen at our address.
    #[error(
        "{me} cannot listen at {address}: {detail}; set `bind` in cluster.toml to an address of \
         this machine"
    )]
    CannotListen {
        /// The name of this party.
        me: String,
        /// Where it wanted to listen.
        address: String,
        /// Error text of the system.
        detail: String,
    },
    /// A host name that nobody knows.
    #[error(
        "the host of {party}, {host}, is unknown ({detail}); check its address in cluster.toml"
    )]
    UnknownHost {
        /// The party whose address it is.
        party: String,
        /// The host name.
        host: String,
        /// Error text of the system.
        detail: String,
    },
    /// The peer could not be reached in time.
    #[error(
        "{party} could not be reached at {address} within {seconds} s ({detail}); start it there, \
         and check the address and that a firewall lets the port through"
    )]
    Unreachable {
        /// The peer's name.
        party: String,
        /// Its address.
        address: String,
        /// How long it was tried.
        seconds: u64,
        /// How the last attempt ended.
        detail: String,
    },
    /// The peer did not connect in time.
    #[error(
        "{party} did not connect to {address} within {seconds} s ({detail}); start it there, and \
         check that it has the same cluster.toml and that a firewall lets the port through"
    )]
    NobodyCame {
        /// The peer's name.
        party: String,
        /// Where this party listens.
        address: String,
        /// How long it waited.
        seconds: u64,
        /// How the last attempt ended.
        detail: String,
    },
    /// More than one party is missing when time is up.
    #[error("not all parties were there within {seconds} s: {missing}")]
    Incomplete {
        /// How long this party waited.
        seconds: u64,
        /// Which are missing, and how the last attempt with each ended.
        missing: String,
    },
    /// A party that others dial has no address.
    #[error(
        "{party} has no address in cluster.toml, and others dial it; only clients and the last \
         party need none"
    )]
    NoAddress {
        /// The party in question.
        party: String,
    },
    /// QUIC cannot do without TLS.
    #[error("QUIC has TLS inside: leave out `--plain`, or take `--transport tcp`")]
    PlainQuic,
    /// A connection without TLS would leave this machine.
    #[error(
        "{party} is at {address}, which is not this machine: only parties on one machine may do \
         without TLS"
    )]
    PlainNotLoopback {
        /// The party in question.
        party: String,
        /// Its address.
        address: String,
    },
}

impl ChannelError {
    /// The party at fault, where it is known to be another one than this.
    pub fn party(&self) -> Option<&str> {
        use ChannelError as E;
        match self {
            E::Closed { party }
            | E::Lost { party, .. }
            | E::PeerAborted { party, .. }
            | E::PeerLost { party, .. }
            | E::Misbehaved { party, .. }
            | E::TlsAlert { party, .. }
            | E::WrongKey { party, .. }
            | E::NotTrusted { party, .. }
            | E::KeyRefused { party, .. }
            | E::WrongParty { party, .. }
            | E::WrongSelf { party, .. }
            | E::Incompatible { party, .. }
            | E::OtherCount { party, .. }
            | E::OtherPurpose { party, .. }
            | E::Twice { party }
            | E::Replaced { party, .. }
            | E::OtherKey { party, .. }
            | E::UnknownHost { party, .. }
            | E::Unreachable { party, .. }
            | E::NobodyCame { party, .. } => Some(party),
            _ => None,
        }
    }
}
