//! cluster.toml, and what else names parties: addresses, fingerprints, networks.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use phineus_channels::{Address, ClusterConfig, Fingerprint, NetworkModel};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = ClusterConfig::parse(Path::new("cluster.toml"), text);
    let _ = NetworkModel::parse(text);
    if let Ok(address) = Address::parse(text) {
        assert_eq!(Address::parse(&address.to_string()), Ok(address));
    }
    if let Ok(fingerprint) = text.parse::<Fingerprint>() {
        assert!(fingerprint.to_string().parse::<Fingerprint>().is_ok_and(|f| f == fingerprint));
    }
});
