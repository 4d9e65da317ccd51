//! From a connection to a session: a hello in each direction.

use std::time::Instant;

use crate::ChannelError;
use crate::dialling::{ConnectResult, DialTarget};
use crate::fingerprint::Fingerprint;
use crate::framed::{Connected, FramedChannel};
use crate::hello::{self, Hello, HelloVerdict, Nonce, PROTOCOL_VERSION};
use crate::identity::Identity;
use crate::mesh::ConnectionSecurity;
use crate::mesh_setup::{AttemptFailure, MeshSetup, nonce};
use crate::message::{MessageError, MessageHeader, MessageKind};
use crate::reader::MessageReader;
use crate::record::is_key_refusal;
use crate::transport::{Cut, ReadHalf, TransportError, WriteHalf};
use crate::transport_kind::{TransportKind, met};

/// A connection over any transport, before the hello.
pub(crate) struct Connection {
    pub(crate) source: Box<dyn ReadHalf>,
    pub(crate) sink: Box<dyn WriteHalf>,
    pub(crate) cut: Box<dyn Cut>,
    /// The key that the other end proved, if it had to.
    pub(crate) presented: Option<Fingerprint>,
}

/// Makes a session of a connection, with the party that is returned.
pub(crate) fn greet(
    setup: &MeshSetup<'_>,
    connection: Connection,
    dialled: Option<DialTarget>,
) -> ConnectResult {
    let Connection { source, mut sink, cut, presented } = connection;
    let settings = setup.settings;
    let is_ordered = source.is_ordered();
    let peer = match dialled {
        Some(DialTarget { party, .. }) => setup.name(party).to_owned(),
        None => setup.awaited(),
    };
    let mut reader = MessageReader::new(source, &peer, settings.timeouts.handshake);
    let ours = nonce().map_err(AttemptFailure::Settled)?;
    let mut round_trip = None;
    let (party, stream, session) = match dialled {
        Some(DialTarget { party, stream }) => {
            let hello = hello(setup, ours, &peer, stream);
            let asked = Instant::now();
            let written = say(sink.as_mut(), &hello);
            // Even if writing failed: the peer may have said why it hung up.
            let theirs = hear(setup, &mut reader, &peer, Some(party))?;
            round_trip = Some(asked.elapsed());
            written.map_err(|error| AttemptFailure::Again(format!("{error:?}")))?;
            check_answer(setup, &peer, stream, &theirs).map_err(AttemptFailure::Settled)?;
            (party, stream, hello::session(&theirs.nonce, &ours))
        }
        None => {
            let theirs = hear(setup, &mut reader, &peer, None)?;
            let party = answer(setup, sink.as_mut(), ours, &theirs, presented)?;
            (party, theirs.stream, hello::session(&ours, &theirs.nonce))
        }
    };
    reader.set_peer(setup.name(party));
    reader.set_lost(settings.timeouts.lost);
    let peer = setup.name(party).to_owned();
    let connected = Connected { peer, session, stream, is_ordered, reader, sink, cut, round_trip };
    let channel = FramedChannel::start(connected, settings.timeouts, settings.network);
    channel.map(|channel| (party, channel)).map_err(AttemptFailure::Settled)
}

fn hello(setup: &MeshSetup<'_>, nonce: Nonce, receiver: &str, stream: u16) -> Hello {
    Hello {
        protocol_version: PROTOCOL_VERSION,
        nonce,
        program_version: setup.settings.program_version.to_owned(),
        purpose: setup.settings.purpose.to_owned(),
        sender: setup.settings.me.to_owned(),
        receiver: receiver.to_owned(),
        instance: setup.instance,
        parties: u16::try_from(setup.parties()).expect("at most PARTIES_MAX"),
        streams: setup.streams_with(receiver),
        stream,
        verdict: HelloVerdict::Welcome,
    }
}

fn say(sink: &mut dyn WriteHalf, hello: &Hello) -> Result<(), TransportError> {
    let content = hello.to_bytes();
    let length = u32::try_from(content.len()).expect("a hello is short");
    let header = MessageHeader {
        kind: MessageKind::Hello,
        length,
        session: 0,
        stream: hello.stream,
        sequence: 0,
    };
    sink.write(&header.to_bytes(), &content)
}

/// A hello, or nothing more to hear.
enum FirstMessage {
    Hello(Hello),
    Notice(TransportKind),
}

fn hear(
    setup: &MeshSetup<'_>,
    reader: &mut MessageReader,
    peer: &str,
    dialled: Option<usize>,
) -> Result<Hello, AttemptFailure> {
    let read = |reader: &mut MessageReader| {
        let over = || setup.is_over().then(|| ChannelError::Stopped { party: peer.to_owned() });
        let ended = ChannelError::Closed { party: peer.to_owned() };
        let header = reader.header(&over)?.ok_or(ended)?;
        if header.kind == MessageKind::Abort && header.session == 0 {
            let mut code = [0];
            reader.payload_exact(&mut code, &over)?;
            let manner = TransportKind::from_code(code[0]);
            return manner
                .map(FirstMessage::Notice)
                .ok_or_else(|| reader.misbehaved(MessageError::Abort));
        }
        if header.kind != MessageKind::Hello {
            let fault = MessageError::Order { expected: MessageKind::Hello, found: header.kind };
            return Err(reader.misbehaved(fault));
        }
        if header.session != 0 || header.sequence != 0 {
            return Err(reader.misbehaved(MessageError::Hello));
        }
        let mut content = vec![0; header.length as usize];
        reader.payload_exact(&mut content, &over)?;
        Hello::parse(&content).map(FirstMessage::Hello).map_err(|fault| reader.misbehaved(fault))
    };
    let heard = read(reader).map_err(|error| match (error, setup.settings.security) {
        (ChannelError::TlsAlert { party, code }, ConnectionSecurity::Tls { identity, .. })
            if is_key_refusal(code) =>
        {
            AttemptFailure::Settled(key_refused(party, identity))
        }
        // Behind TLS it was the peer itself that sent this.
        (error @ ChannelError::Misbehaved { .. }, ConnectionSecurity::Tls { .. }) => {
            AttemptFailure::Settled(error)
        }
        (error, _) => AttemptFailure::Again(error.to_string()),
    })?;
    match heard {
        FirstMessage::Hello(hello) => Ok(hello),
        FirstMessage::Notice(theirs) => Err(met(setup, dialled, theirs)),
    }
}

pub(crate) fn key_refused(party: String, identity: &Identity) -> ChannelError {
    let (me, fingerprint) = (identity.name().to_owned(), identity.fingerprint());
    ChannelError::KeyRefused { party, me, fingerprint }
}

fn check_version(setup: &MeshSetup<'_>, party: &str, theirs: &Hello) -> Result<(), ChannelError> {
    if theirs.protocol_version == PROTOCOL_VERSION {
        return Ok(());
    }
    Err(ChannelError::Incompatible {
        party: party.to_owned(),
        theirs: theirs.protocol_version,
        their_program: theirs.program_version.clone(),
        our_program: setup.settings.program_version.to_owned(),
    })
}

/// Answers the hello of a party that dialled, and returns which one it is.
fn answer(
    setup: &MeshSetup<'_>,
    sink: &mut dyn WriteHalf,
    ours: Nonce,
    theirs: &Hello,
    presented: Option<Fingerprint>,
) -> Result<usize, AttemptFailure> {
    let awaited = setup.awaited();
    let judged = check_version(setup, &awaited, theirs)
        .map_err(|error| (HelloVerdict::Welcome, error))
        .and_then(|()| setup.judge(theirs, presented));
    let (verdict, judged) = match judged {
        Ok(party) => (HelloVerdict::Welcome, Ok(party)),
        Err((verdict, error)) => (verdict, Err(error)),
    };
    let receiver = if verdict == HelloVerdict::Unknown { &awaited } else { &theirs.sender };
    let answer = Hello { verdict, ..hello(setup, ours, receiver, theirs.stream) };
    let written = say(sink, &answer);
    let party = judged.map_err(AttemptFailure::Settled)?;
    written.map_err(|error| {
        setup.release(party, theirs.stream);
        AttemptFailure::Again(format!("{error:?}"))
    })?;
    Ok(party)
}

/// Checks what the party that this one dialled has answered.
fn check_answer(
    setup: &MeshSetup<'_>,
    peer: &str,
    stream: u16,
    theirs: &Hello,
) -> Result<(), ChannelError> {
    let (party, me) = (peer.to_owned(), setup.settings.me.to_owned());
    check_version(setup, peer, theirs)?;
    if theirs.sender != peer {
        return Err(ChannelError::WrongParty { party, found: theirs.sender.clone() });
    }
    match (theirs.verdict, setup.settings.security) {
        (HelloVerdict::Unknown, _) => {
            let expected = theirs.receiver.clone();
            return Err(ChannelError::WrongSelf { party, expected, me });
        }
        (HelloVerdict::Twice, _) => return Err(ChannelError::Replaced { party, me }),
        (HelloVerdict::OtherKey, ConnectionSecurity::Tls { identity, .. }) => {
            return Err(key_refused(party, identity));
        }
        _ => {}
    }
    let place = setup.settings.cluster.index_of(peer).expect("this party dialled it");
    setup.compare_counts(place, theirs)?;
    if theirs.receiver != me {
        let expected = theirs.receiver.clone();
        return Err(ChannelError::WrongSelf { party, expected, me });
    }
    if theirs.verdict != HelloVerdict::Welcome || theirs.stream != stream {
        return Err(ChannelError::Misbehaved { party, fault: MessageError::Hello });
    }
    Ok(())
}
