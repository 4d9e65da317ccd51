//! From a connection to a session: a hello in each direction.

use std::time::Instant;

use crate::ChannelError;
use crate::dialling::{Dialled, Made};
use crate::fingerprint::Fingerprint;
use crate::frame::{Fault, Header, Kind};
use crate::framed::{Connected, FramedChannel};
use crate::gathering::{Attempt, Gathering, nonce};
use crate::hello::{self, Hello, Nonce, PROTOCOL_VERSION, Verdict};
use crate::identity::Identity;
use crate::manner::{Manner, met};
use crate::mesh::Security;
use crate::reader::Reader;
use crate::record::is_key_refusal;
use crate::transport::{Cut, Sink, Source, TransportError};

/// A connection over any transport, before the hello.
pub(crate) struct Connection {
    pub(crate) source: Box<dyn Source>,
    pub(crate) sink: Box<dyn Sink>,
    pub(crate) cut: Box<dyn Cut>,
    /// The key that the other end proved, if it had to.
    pub(crate) presented: Option<Fingerprint>,
}

/// Makes a session of a connection, with the party that is returned.
pub(crate) fn greet(
    gathering: &Gathering<'_>,
    connection: Connection,
    dialled: Option<Dialled>,
) -> Made {
    let Connection { source, mut sink, cut, presented } = connection;
    let settings = gathering.settings;
    let is_ordered = source.is_ordered();
    let peer = match dialled {
        Some(Dialled { party, .. }) => gathering.name(party).to_owned(),
        None => gathering.awaited(),
    };
    let mut reader = Reader::new(source, &peer, settings.timeouts.handshake);
    let ours = nonce().map_err(Attempt::Settled)?;
    let mut round_trip = None;
    let (party, stream, session) = match dialled {
        Some(Dialled { party, stream }) => {
            let hello = hello(gathering, ours, &peer, stream);
            let asked = Instant::now();
            let written = say(sink.as_mut(), &hello);
            // Even if writing failed: the peer may have said why it hung up.
            let theirs = hear(gathering, &mut reader, &peer, Some(party))?;
            round_trip = Some(asked.elapsed());
            written.map_err(|error| Attempt::Again(format!("{error:?}")))?;
            check_answer(gathering, &peer, stream, &theirs).map_err(Attempt::Settled)?;
            (party, stream, hello::session(&theirs.nonce, &ours))
        }
        None => {
            let theirs = hear(gathering, &mut reader, &peer, None)?;
            let party = answer(gathering, sink.as_mut(), ours, &theirs, presented)?;
            (party, theirs.stream, hello::session(&ours, &theirs.nonce))
        }
    };
    reader.set_peer(gathering.name(party));
    reader.set_lost(settings.timeouts.lost);
    let peer = gathering.name(party).to_owned();
    let connected = Connected { peer, session, stream, is_ordered, reader, sink, cut, round_trip };
    let channel = FramedChannel::start(connected, settings.timeouts, settings.network);
    channel.map(|channel| (party, channel)).map_err(Attempt::Settled)
}

fn hello(gathering: &Gathering<'_>, nonce: Nonce, receiver: &str, stream: u16) -> Hello {
    Hello {
        protocol_version: PROTOCOL_VERSION,
        nonce,
        program_version: gathering.settings.program_version.to_owned(),
        purpose: gathering.settings.purpose.to_owned(),
        sender: gathering.settings.me.to_owned(),
        receiver: receiver.to_owned(),
        instance: gathering.instance,
        parties: u16::try_from(gathering.parties()).expect("at most PARTIES_MAX"),
        streams: gathering.streams_with(receiver),
        stream,
        verdict: Verdict::Welcome,
    }
}

fn say(sink: &mut dyn Sink, hello: &Hello) -> Result<(), TransportError> {
    let content = hello.to_bytes();
    let length = u32::try_from(content.len()).expect("a hello is short");
    let header =
        Header { kind: Kind::Hello, length, session: 0, stream: hello.stream, sequence: 0 };
    sink.write(&header.to_bytes(), &content)
}

/// A hello, or nothing more to hear.
enum Heard {
    Hello(Hello),
    Notice(Manner),
}

fn hear(
    gathering: &Gathering<'_>,
    reader: &mut Reader,
    peer: &str,
    dialled: Option<usize>,
) -> Result<Hello, Attempt> {
    let read = |reader: &mut Reader| {
        let over = || gathering.is_over().then(|| ChannelError::Stopped { party: peer.to_owned() });
        let ended = ChannelError::Closed { party: peer.to_owned() };
        let header = reader.header(&over)?.ok_or(ended)?;
        if header.kind == Kind::Abort && header.session == 0 {
            let mut code = [0];
            reader.payload_exact(&mut code, &over)?;
            let manner = Manner::from_code(code[0]);
            return manner.map(Heard::Notice).ok_or_else(|| reader.misbehaved(Fault::Abort));
        }
        if header.kind != Kind::Hello {
            let fault = Fault::Order { expected: Kind::Hello, found: header.kind };
            return Err(reader.misbehaved(fault));
        }
        if header.session != 0 || header.sequence != 0 {
            return Err(reader.misbehaved(Fault::Hello));
        }
        let mut content = vec![0; header.length as usize];
        reader.payload_exact(&mut content, &over)?;
        Hello::parse(&content).map(Heard::Hello).map_err(|fault| reader.misbehaved(fault))
    };
    let heard = read(reader).map_err(|error| match (error, gathering.settings.security) {
        (ChannelError::TlsAlert { party, code }, Security::Tls { identity, .. })
            if is_key_refusal(code) =>
        {
            Attempt::Settled(key_refused(party, identity))
        }
        // Behind TLS it was the peer itself that sent this.
        (error @ ChannelError::Misbehaved { .. }, Security::Tls { .. }) => Attempt::Settled(error),
        (error, _) => Attempt::Again(error.to_string()),
    })?;
    match heard {
        Heard::Hello(hello) => Ok(hello),
        Heard::Notice(theirs) => Err(met(gathering, dialled, theirs)),
    }
}

pub(crate) fn key_refused(party: String, identity: &Identity) -> ChannelError {
    let (me, fingerprint) = (identity.name().to_owned(), identity.fingerprint());
    ChannelError::KeyRefused { party, me, fingerprint }
}

fn check_version(
    gathering: &Gathering<'_>,
    party: &str,
    theirs: &Hello,
) -> Result<(), ChannelError> {
    if theirs.protocol_version == PROTOCOL_VERSION {
        return Ok(());
    }
    Err(ChannelError::Incompatible {
        party: party.to_owned(),
        theirs: theirs.protocol_version,
        their_program: theirs.program_version.clone(),
        our_program: gathering.settings.program_version.to_owned(),
    })
}

/// Answers the hello of a party that dialled, and returns which one it is.
fn answer(
    gathering: &Gathering<'_>,
    sink: &mut dyn Sink,
    ours: Nonce,
    theirs: &Hello,
    presented: Option<Fingerprint>,
) -> Result<usize, Attempt> {
    let awaited = gathering.awaited();
    let judged = check_version(gathering, &awaited, theirs)
        .map_err(|error| (Verdict::Welcome, error))
        .and_then(|()| gathering.judge(theirs, presented));
    let (verdict, judged) = match judged {
        Ok(party) => (Verdict::Welcome, Ok(party)),
        Err((verdict, error)) => (verdict, Err(error)),
    };
    let receiver = if verdict == Verdict::Unknown { &awaited } else { &theirs.sender };
    let answer = Hello { verdict, ..hello(gathering, ours, receiver, theirs.stream) };
    let written = say(sink, &answer);
    let party = judged.map_err(Attempt::Settled)?;
    written.map_err(|error| {
        gathering.release(party, theirs.stream);
        Attempt::Again(format!("{error:?}"))
    })?;
    Ok(party)
}

/// Checks what the party that this one dialled has answered.
fn check_answer(
    gathering: &Gathering<'_>,
    peer: &str,
    stream: u16,
    theirs: &Hello,
) -> Result<(), ChannelError> {
    let (party, me) = (peer.to_owned(), gathering.settings.me.to_owned());
    check_version(gathering, peer, theirs)?;
    if theirs.sender != peer {
        return Err(ChannelError::WrongParty { party, found: theirs.sender.clone() });
    }
    match (theirs.verdict, gathering.settings.security) {
        (Verdict::Unknown, _) => {
            let expected = theirs.receiver.clone();
            return Err(ChannelError::WrongSelf { party, expected, me });
        }
        (Verdict::Twice, _) => return Err(ChannelError::Replaced { party, me }),
        (Verdict::OtherKey, Security::Tls { identity, .. }) => {
            return Err(key_refused(party, identity));
        }
        _ => {}
    }
    let place = gathering.settings.cluster.index_of(peer).expect("this party dialled it");
    gathering.compare_counts(place, theirs)?;
    if theirs.receiver != me {
        let expected = theirs.receiver.clone();
        return Err(ChannelError::WrongSelf { party, expected, me });
    }
    if theirs.verdict != Verdict::Welcome || theirs.stream != stream {
        return Err(ChannelError::Misbehaved { party, fault: Fault::Hello });
    }
    Ok(())
}
