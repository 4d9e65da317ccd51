//! Keys and limits of QUIC connections: the same TLS as over TCP (`tls.rs`).

use std::sync::Arc;
use std::time::Duration;

use quinn::TransportConfig;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::ChannelError;
use crate::fingerprint::Fingerprint;
use crate::identity::certificate_fingerprint;
use crate::limits::QUIC_WINDOW_BYTES;
use crate::mesh::ConnectionSecurity;
use crate::mesh_setup::MeshSetup;
use crate::tls::{PinVerifier, provider};

/// Both parties must name the same (RFC 9001, section 8.1).
const APPLICATION: &[u8] = b"phineus";

/// The round trip that is assumed before one is measured: first packets are repeated after three
/// times as much, while the peer may not have started.
const INITIAL_RTT: Duration = Duration::from_millis(100);

pub(crate) fn presented_key(connection: &quinn::Connection) -> Option<Fingerprint> {
    let chain = connection.peer_identity()?;
    let chain = chain.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    certificate_fingerprint(chain.first()?).ok()
}

pub(crate) fn trusted_diallers(setup: &MeshSetup<'_>) -> Vec<Fingerprint> {
    setup.diallers().filter_map(|party| setup.trusted(party)).collect()
}

fn transport_config(setup: &MeshSetup<'_>) -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    let streams = u32::from(setup.settings.streams);
    // A peer that is silent is found lost by its channels; QUIC need only not be quicker.
    let idle = setup.settings.timeouts.lost + Duration::from_secs(30);
    config.initial_rtt(INITIAL_RTT);
    config.max_idle_timeout(idle.try_into().ok());
    config.max_concurrent_bidi_streams(streams.into());
    config.max_concurrent_uni_streams(0u8.into());
    config.stream_receive_window(QUIC_WINDOW_BYTES.into());
    config.receive_window((streams * QUIC_WINDOW_BYTES).into());
    config.send_window(u64::from(streams * QUIC_WINDOW_BYTES));
    config.datagram_receive_buffer_size(None);
    Arc::new(config)
}

type Failure = Box<dyn std::error::Error>;

fn identity(
    setup: &MeshSetup<'_>,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Failure> {
    match setup.settings.security {
        ConnectionSecurity::Tls { identity, .. } => {
            Ok((vec![identity.certificate()], identity.key()))
        }
        ConnectionSecurity::Plain(_) => Err(ChannelError::PlainQuic.into()),
    }
}

pub(crate) fn server_config(
    setup: &MeshSetup<'_>,
) -> Result<(quinn::ServerConfig, Arc<PinVerifier>), Failure> {
    let provider = Arc::new(provider());
    let verifier = PinVerifier::new(&trusted_diallers(setup), &provider);
    let (chain, key) = identity(setup)?;
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier.clone())
        .with_single_cert(chain, key)?;
    config.send_tls13_tickets = 0;
    config.alpn_protocols = vec![APPLICATION.to_vec()];
    let config = QuicServerConfig::try_from(config)?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(config));
    config.transport_config(transport_config(setup)).migration(false);
    Ok((config, verifier))
}

pub(crate) fn client_config(
    setup: &MeshSetup<'_>,
    party: usize,
) -> Result<(quinn::ClientConfig, Arc<PinVerifier>), Failure> {
    let provider = Arc::new(provider());
    let trusted: Vec<Fingerprint> = setup.trusted(party).into_iter().collect();
    let verifier = PinVerifier::new(&trusted, &provider);
    let (chain, key) = identity(setup)?;
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier.clone())
        .with_client_auth_cert(chain, key)?;
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    config.alpn_protocols = vec![APPLICATION.to_vec()];
    let mut config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(config)?));
    config.transport_config(transport_config(setup));
    Ok((config, verifier))
}
