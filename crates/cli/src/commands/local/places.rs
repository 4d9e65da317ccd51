//! Each child has a directory with its keys, and a free port.

use std::net::TcpListener;
use std::path::Path;

use phineus_channels::{Identity, TrustStore};
use phineus_crypto::Prg;
use phineus_session::failure::Failure;
use phineus_session::text_key;
use phineus_tables::TextKey;

/// Where a child finds the key of texts, beside its own keys.
pub(crate) const TEXT_KEY: &str = "text.key";

/// Makes each party's directory with its keys, and the common cluster.toml.
pub(super) fn prepare_places(
    directory: &Path,
    names: &[String],
    key: Option<&TextKey>,
) -> Result<(), Failure> {
    let identities: Vec<Identity> = names
        .iter()
        .map(|name| Identity::create(&directory.join(name), name))
        .collect::<Result<_, _>>()?;
    let mut cluster = String::new();
    // All ports are held until all are known, so that they differ.
    let listeners: Vec<TcpListener> =
        names.iter().map(|_| free_port()).collect::<Result<_, _>>()?;
    for (name, listener) in names.iter().zip(&listeners) {
        let own = directory.join(name);
        std::fs::create_dir(own.join("out"))?;
        if let Some(key) = key {
            text_key::store(key, &own.join(TEXT_KEY))?;
        }
        let mut trusted = TrustStore::load(&own)?;
        for peer in identities.iter().filter(|peer| peer.name() != name) {
            trusted.trust(peer.name(), peer.fingerprint())?;
        }
        let address = listener.local_addr()?;
        cluster.push_str(&format!("[[party]]\nname = \"{name}\"\naddress = \"{address}\"\n"));
    }
    std::fs::write(directory.join("cluster.toml"), cluster)?;
    Ok(())
}

/// Ports for children: below those that the system gives to outgoing connections (32768 on Linux, 49152
/// elsewhere), one of which could take a port between its choice here and its use by a child.
const PORTS: std::ops::Range<u16> = 12_288..32_768;

/// Attempts to find a free one of [`PORTS`].
const PORT_ATTEMPTS: usize = 64;

/// Listens at a free port of this machine, which another process is unlikely to look for now.
fn free_port() -> std::io::Result<TcpListener> {
    let mut prg = Prg::from_os().map_err(std::io::Error::other)?;
    for _ in 0..PORT_ATTEMPTS {
        let number = prg.next_block().to_bits() as u16 % (PORTS.end - PORTS.start);
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", PORTS.start + number)) {
            return Ok(listener);
        }
    }
    TcpListener::bind("127.0.0.1:0")
}
