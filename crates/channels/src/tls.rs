//! Making a TLS 1.3 connection in which both parties prove the keys that were pinned.
//!
//! rustls with ring does the handshake (RFC 8446); the verifier here replaces certificate chains,
//! names and dates by one comparison: the fingerprint of the presented key against the trusted
//! one. That the peer holds the private key is still proved by its signature over the handshake.
//! No tickets, no resumption, no early data, Ed25519 only; there is no way to skip the check.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature};
use rustls::kernel::KernelConnection;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::UnbufferedServerConnection;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::unbuffered::{ConnectionState, EncodeError, InsufficientSizeError, UnbufferedStatus};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error,
    ExtractedSecrets, PeerIncompatible, ServerConfig, SignatureScheme,
};
use subtle::ConstantTimeEq;

use crate::fingerprint::Fingerprint;
use crate::identity::{Identity, certificate_fingerprint};
use crate::limits::TLS_RECORD_BYTES_MAX;
use crate::message::MessageError;
use crate::record::{NextKey, TlsReadHalf, TlsWriteHalf};
use crate::transport::TransportError;

/// Records that a handshake may take: a TLS 1.3 handshake has fewer than ten.
const HANDSHAKE_RECORDS_MAX: usize = 64;

/// Which end of the connection this party is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsRole {
    /// The party that was dialled.
    Listener,
    /// The party that dialled.
    Dialler,
}

/// Why there is no TLS connection.
pub(crate) enum TlsFailure {
    /// The peer presented another key than the trusted one, or none is trusted.
    Key(Fingerprint),
    /// The connection failed.
    Transport(TransportError),
}

impl From<std::io::Error> for TlsFailure {
    fn from(error: std::io::Error) -> Self {
        TlsFailure::Transport(error.into())
    }
}

impl From<TransportError> for TlsFailure {
    fn from(error: TransportError) -> Self {
        TlsFailure::Transport(error)
    }
}

impl From<Error> for TlsFailure {
    fn from(error: Error) -> Self {
        TlsFailure::Transport(match error {
            Error::AlertReceived(alert) => TransportError::Alert(alert.into()),
            other => TransportError::Fault(MessageError::Tls { detail: other.to_string() }),
        })
    }
}

/// AES-128-GCM first: labels have 128 bits too, and AES instructions are there. X25519 only.
pub(crate) fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![
            ring::cipher_suite::TLS13_AES_128_GCM_SHA256,
            ring::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        ],
        kx_groups: vec![ring::kx_group::X25519],
        ..ring::default_provider()
    }
}

/// Accepts the keys of those parties that may be at the other end, and no others.
#[derive(Debug)]
pub(crate) struct PinVerifier {
    trusted: Vec<Fingerprint>,
    algorithms: WebPkiSupportedAlgorithms,
    presented: Mutex<Option<Fingerprint>>,
}

impl PinVerifier {
    pub(crate) fn new(trusted: &[Fingerprint], provider: &CryptoProvider) -> Arc<Self> {
        Arc::new(PinVerifier {
            trusted: trusted.to_vec(),
            algorithms: provider.signature_verification_algorithms,
            presented: Mutex::new(None),
        })
    }

    /// The key that the other end presented last.
    pub(crate) fn presented(&self) -> Option<Fingerprint> {
        *self.presented.lock().expect("no code panics while it holds this lock")
    }

    fn verify_key(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let presented = certificate_fingerprint(certificate)?;
        let held = "no code panics while it holds this lock";
        *self.presented.lock().expect(held) = Some(presented);
        if self.trusted.iter().any(|trusted| bool::from(trusted.ct_eq(&presented))) {
            return Ok(());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    /// The key that was refused, if that is what went wrong.
    fn refused(&self, error: &Error) -> Option<Fingerprint> {
        let refusal = Error::from(CertificateError::ApplicationVerificationFailure);
        if *error == refusal { self.presented() } else { None }
    }

    fn verify_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if signature.scheme != SignatureScheme::ED25519 {
            return Err(PeerIncompatible::NoSignatureSchemesInCommon.into());
        }
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }
}

impl ServerCertVerifier for PinVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verify_key(certificate).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

impl ClientCertVerifier for PinVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.verify_key(certificate).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

/// Makes a TLS connection over `stream` with a peer that holds one of the `trusted` keys, by
/// `deadline`; also returns which key that is.
///
/// Changes the stream's read timeout.
pub(crate) fn handshake(
    stream: &TcpStream,
    deadline: Instant,
    side: TlsRole,
    identity: &Identity,
    trusted: &[Fingerprint],
) -> Result<(TlsReadHalf, TlsWriteHalf, Fingerprint), TlsFailure> {
    let provider = Arc::new(provider());
    let verifier = PinVerifier::new(trusted, &provider);
    let versions = [&rustls::version::TLS13];
    let chain = vec![identity.certificate()];
    match side {
        TlsRole::Listener => {
            let mut config = ServerConfig::builder_with_provider(provider)
                .with_protocol_versions(&versions)?
                .with_client_cert_verifier(verifier.clone())
                .with_single_cert(chain, identity.key())?;
            config.send_tls13_tickets = 0;
            config.enable_secret_extraction = true;
            let mut connection = UnbufferedServerConnection::new(Arc::new(config))?;
            drive(stream, deadline, &verifier, |bytes| {
                HandshakeStep::of(connection.process_tls_records(bytes))
            })?;
            let (secrets, keys) = connection.dangerous_into_kernel_connection()?;
            halves(stream, secrets, keys, &verifier)
        }
        TlsRole::Dialler => {
            let mut config = ClientConfig::builder_with_provider(provider)
                .with_protocol_versions(&versions)?
                .dangerous()
                .with_custom_certificate_verifier(verifier.clone())
                .with_client_auth_cert(chain, identity.key())?;
            config.resumption = Resumption::disabled();
            config.enable_sni = false;
            config.enable_secret_extraction = true;
            let name = ServerName::try_from("phineus").expect("this is a valid name");
            let mut connection = UnbufferedClientConnection::new(Arc::new(config), name)?;
            drive(stream, deadline, &verifier, |bytes| {
                HandshakeStep::of(connection.process_tls_records(bytes))
            })?;
            let (secrets, keys) = connection.dangerous_into_kernel_connection()?;
            halves(stream, secrets, keys, &verifier)
        }
    }
}

/// Next step of the handshake, and the number of consumed input bytes.
struct HandshakeStep {
    discard: usize,
    next: Result<HandshakeAction, Error>,
}

enum HandshakeAction {
    Send(Vec<u8>),
    Again,
    Receive,
    Done,
}

impl HandshakeStep {
    fn of<Data>(status: UnbufferedStatus<'_, '_, Data>) -> Self {
        let discard = status.discard;
        let next = status.state.map(|state| match state {
            ConnectionState::EncodeTlsData(mut data) => {
                HandshakeAction::Send(encode(&mut |out| data.encode(out)))
            }
            ConnectionState::TransmitTlsData(data) => {
                data.done();
                HandshakeAction::Again
            }
            ConnectionState::BlockedHandshake => HandshakeAction::Receive,
            ConnectionState::WriteTraffic(_) => HandshakeAction::Done,
            // Data, or the end, before the handshake is over: the caller finds no connection.
            _ => HandshakeAction::Done,
        });
        HandshakeStep { discard, next }
    }
}

/// Encodes a handshake message, however long it is.
fn encode(encode: &mut dyn FnMut(&mut [u8]) -> Result<usize, EncodeError>) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        match encode(&mut bytes) {
            Ok(written) => {
                bytes.truncate(written);
                return bytes;
            }
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
                bytes.resize(required_size, 0);
            }
            Err(EncodeError::AlreadyEncoded) => return Vec::new(),
        }
    }
}

/// Runs the handshake to its end. Reads exactly the records of the handshake, so that none of
/// what follows is consumed here.
fn drive(
    stream: &TcpStream,
    deadline: Instant,
    verifier: &PinVerifier,
    mut process: impl FnMut(&mut [u8]) -> HandshakeStep,
) -> Result<(), TlsFailure> {
    let mut network = stream;
    let mut incoming = Vec::new();
    let mut records = 0;
    loop {
        let step = process(&mut incoming);
        incoming.drain(..step.discard);
        match step.next {
            Ok(HandshakeAction::Done) => return Ok(()),
            Ok(HandshakeAction::Again) => {}
            Ok(HandshakeAction::Send(bytes)) => network.write_all(&bytes)?,
            Ok(HandshakeAction::Receive) => {
                records += 1;
                if records > HANDSHAKE_RECORDS_MAX {
                    let detail = "a handshake that does not end".to_owned();
                    return Err(TransportError::Fault(MessageError::Tls { detail }).into());
                }
                receive_record(stream, deadline, &mut incoming)?;
            }
            Err(error) => {
                // What is left to send is the alert that tells the peer.
                loop {
                    let step = process(&mut incoming);
                    incoming.drain(..step.discard);
                    match step.next {
                        Ok(HandshakeAction::Send(alert)) if network.write_all(&alert).is_ok() => {}
                        _ => break,
                    }
                }
                return Err(match verifier.refused(&error) {
                    Some(presented) => TlsFailure::Key(presented),
                    None => error.into(),
                });
            }
        }
    }
}

/// Appends one whole record from the network.
fn receive_record(
    stream: &TcpStream,
    deadline: Instant,
    incoming: &mut Vec<u8>,
) -> Result<(), TlsFailure> {
    let no_record = || {
        let detail = "not a TLS record".to_owned();
        Err(TransportError::Fault(MessageError::Tls { detail }).into())
    };
    // Types 20 to 23 exist; anything else is not TLS, and is left for `transport_kind.rs` to look
    // at.
    let mut kind = [0];
    stream.set_read_timeout(Some(left(deadline)?))?;
    if stream.peek(&mut kind)? == 1 && !(20..=23).contains(&kind[0]) {
        return no_record();
    }
    let mut header = [0; 5];
    read_all(stream, deadline, &mut header)?;
    let body = usize::from(u16::from_be_bytes([header[3], header[4]]));
    if header.len() + body > TLS_RECORD_BYTES_MAX {
        return no_record();
    }
    let start = incoming.len();
    incoming.extend_from_slice(&header);
    incoming.resize(start + header.len() + body, 0);
    read_all(stream, deadline, &mut incoming[start + header.len()..])?;
    Ok(())
}

/// The time that is left.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left == Duration::ZERO { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Fills `target` by `deadline`, however slowly the bytes drip in.
pub(crate) fn read_all(
    mut stream: &TcpStream,
    deadline: Instant,
    mut target: &mut [u8],
) -> io::Result<()> {
    while !target.is_empty() {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(target) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => target = &mut target[read..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Splits an established connection into its two directions.
fn halves<Data: Send + 'static>(
    stream: &TcpStream,
    secrets: ExtractedSecrets,
    keys: KernelConnection<Data>,
    verifier: &PinVerifier,
) -> Result<(TlsReadHalf, TlsWriteHalf, Fingerprint), TlsFailure> {
    let suite = keys.negotiated_cipher_suite().tls13();
    let suite = suite.expect("only TLS 1.3 is configured");
    let keys = Arc::new(Mutex::new(keys));
    let held = "no code panics while it holds this lock";
    let sending = keys.clone();
    let next_sending: NextKey = Box::new(move || {
        let (_, secrets) = sending.lock().expect(held).update_tx_secret()?;
        Ok(secrets)
    });
    let next_receiving: NextKey = Box::new(move || {
        let (_, secrets) = keys.lock().expect(held).update_rx_secret()?;
        Ok(secrets)
    });
    let source = TlsReadHalf::new(stream.try_clone()?, suite, secrets.rx, next_receiving)?;
    let sink = TlsWriteHalf::new(stream.try_clone()?, suite, secrets.tx, next_sending)?;
    let presented = verifier.presented().expect("a handshake without a verified key fails");
    Ok((source, sink, presented))
}
