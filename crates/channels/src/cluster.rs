//! The parties and their addresses: `cluster.toml`.
//!
//! ```toml
//! [[party]]
//! name = "site_a"
//! address = "a.example:7710"   # where the others reach it; the port may be left out
//! bind = "0.0.0.0:7710"        # where it listens, if that is not the address
//!
//! [[party]]
//! name = "site_b"
//! address = "b.example"
//! ```
//!
//! The order of the parties is part of the configuration: of each two parties, the one further up
//! listens and the other one dials, so the last one needs no address.
//!
//! `computing = ["site_a", "site_b"]`, above all parties, says who computes; the others are clients,
//! who only share their inputs and learn outputs, dial those who compute, and need no address.
//! Without it all compute.
//!
//! `transport = "quic"`, above all parties, takes QUIC instead of TCP, at the UDP ports of the same
//! numbers; all parties must say the same.

mod address;
mod file;

use std::net::SocketAddr;

use crate::names::check_name;

pub use address::Address;
pub use file::{ClusterError, ClusterFault};

/// The port of a party whose address names none.
pub const DEFAULT_PORT: u16 = 7710;

/// The most parties that a cluster can have.
pub const PARTIES_MAX: usize = 16;

/// The parties of a computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterConfig {
    parties: Vec<PartyConfig>,
    transport: Transport,
    computing: Option<Vec<String>>,
}

/// Transport that carries the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// One TCP connection for each stream between two parties.
    #[default]
    Tcp,
    /// One QUIC connection for each two parties, with a QUIC stream for each stream.
    Quic,
}

impl Transport {
    /// Its name in `cluster.toml` and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Quic => "quic",
        }
    }

    /// The transport of this name.
    pub fn from_name(name: &str) -> Option<Transport> {
        [Transport::Tcp, Transport::Quic].into_iter().find(|known| known.name() == name)
    }
}

/// One party of a computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartyConfig {
    /// Its name.
    pub name: String,
    /// Where the others reach it; nothing if nobody dials it.
    pub address: Option<Address>,
    /// Where it listens, if that is not the address.
    pub bind: Option<SocketAddr>,
    /// The line of the file that names it, if there is a file.
    pub line: Option<usize>,
}

impl ClusterConfig {
    /// Parties on this machine at these ports.
    ///
    /// # Panics
    /// If a name cannot name a party.
    pub fn local<'a>(parties: impl IntoIterator<Item = (&'a str, u16)>) -> Self {
        let parties = parties.into_iter().map(|(name, port)| {
            assert_eq!(check_name(name), Ok(()), "the caller has checked the names");
            let address = Address { host: "127.0.0.1".to_owned(), port };
            PartyConfig { name: name.to_owned(), address: Some(address), bind: None, line: None }
        });
        let (parties, transport) = (parties.collect(), Transport::default());
        ClusterConfig { parties, transport, computing: None }
    }

    /// Returns the cluster with another transport.
    pub fn with_transport(self, transport: Transport) -> Self {
        ClusterConfig { transport, ..self }
    }

    /// Only those parties that are named, in the order of the file.
    pub fn only(&self, names: &[&str]) -> Self {
        let is_named = |party: &&PartyConfig| names.contains(&party.name.as_str());
        let parties = self.parties.iter().filter(is_named).cloned().collect();
        ClusterConfig { parties, transport: self.transport, computing: None }
    }

    /// Returns the cluster with `clients` added after all other parties.
    pub fn with_last(mut self, clients: &[&str]) -> Self {
        self.parties.sort_by_key(|party| clients.contains(&party.name.as_str()));
        self
    }

    /// Who computes, if not all do.
    pub fn computing(&self) -> Option<&[String]> {
        self.computing.as_deref()
    }

    /// Transport that carries the messages.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The parties, in the order of the file.
    pub fn parties(&self) -> &[PartyConfig] {
        &self.parties
    }

    /// The place of a party in the order of the file.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.parties.iter().position(|party| party.name == name)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<ClusterConfig, String> {
        ClusterConfig::parse(Path::new("cluster.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_cluster_is_read() {
        let config = parse(
            "[[party]]\nname = 'site_a'\naddress = 'a.example'\nbind = '0.0.0.0:7710'\n\
             [[party]]\nname = 'site_b'\naddress = '[::1]:99'\n",
        )
        .expect("this is a cluster");
        assert_eq!(config.transport(), Transport::Tcp);
        let quic = "transport = 'quic'\n[[party]]\nname='a'\naddress='h'\n\
                    [[party]]\nname='b'\naddress='g'\n";
        assert_eq!(parse(quic).map(|config| config.transport()), Ok(Transport::Quic));
        assert_eq!(config.only(&["site_b"]).parties(), &config.parties()[1..]);
        let two = |more: &str| {
            parse(&format!(
                "{more}[[party]]\nname='a'\naddress='h'\n[[party]]\nname='b'\naddress='g'\n"
            ))
        };
        let all = two("computing = ['a', 'b']\n").expect("both compute");
        assert_eq!(all.computing(), Some(&["a".to_owned(), "b".to_owned()][..]));
        let names = |config: ClusterConfig| -> String {
            config.parties().iter().map(|party| party.name.as_str()).collect()
        };
        assert_eq!((names(all.clone().with_last(&["a"])), names(all)), ("ba".into(), "ab".into()));
        for (names, expected) in [
            ("'a', 'c'", "cluster.toml:1: `c` computes, and is no [[party]]"),
            ("'a', 'a'", "cluster.toml:1: `a` is said twice to compute"),
            ("'b'", "cluster.toml:1: two parties or more compute"),
        ] {
            let told = two(&format!("computing = [{names}]\n")).expect_err("nobody can");
            assert!(told.starts_with(expected), "{told}");
        }
        let [a, b] = config.parties() else { panic!("two parties") };
        let shown = |party: &PartyConfig| party.address.as_ref().map(ToString::to_string);
        assert_eq!((shown(a), a.bind.is_some()), (Some("a.example:7710".to_owned()), true));
        assert_eq!((shown(b), b.bind.is_some()), (Some("[::1]:99".to_owned()), false));
        assert_eq!((config.index_of("site_b"), config.index_of("site_c")), (Some(1), None));
    }

    #[test]
    fn every_fault_is_told_with_its_line() {
        let told = parse(
            "[[party]]\nname = '1a'\naddress = 'a.example:0'\n\n\
             [[party]]\nname = 'site_b'\naddress = '::1'\nbind = 'here'\n",
        )
        .expect_err("much is wrong with this");
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 4, "{told}");
        assert!(lines[0].starts_with("cluster.toml:2: `1a` cannot name a party"), "{told}");
        assert!(
            lines[1].starts_with("cluster.toml:3: the address of 1a: `0` is not a port"),
            "{told}"
        );
        assert!(
            lines[2].starts_with("cluster.toml:7: the address of site_b: write an IPv6"),
            "{told}"
        );
        assert!(lines[3].starts_with("cluster.toml:8: `here` cannot be bound"), "{told}");
    }

    #[test]
    fn duplicates_and_unknown_keys_are_told() {
        let duplicates =
            "[[party]]\nname='a'\naddress='h'\n[[party]]\nname='a'\naddress='h:7710'\n";
        let told = parse(duplicates).expect_err("the same party twice");
        assert!(told.contains("cluster.toml:5: `a` is also the name in line 2"), "{told}");
        assert!(told.contains("give each its own port"), "{told}");
        for (text, expected) in [
            ("", "cluster.toml: has 0 parties"),
            ("[[party]]\nname = 'a'\naddress = 'h'\n", "cluster.toml: has 1 parties"),
            ("[[party]]\naddress = 'h'\n", "cluster.toml:1: missing field `name`"),
            ("[[party]]\nname = 'a'\nadress = 'h'\n", "cluster.toml:3: unknown field `adress`"),
            ("[[party]]\nname = \n", "cluster.toml:2: "),
            ("transport = 'udp'\n", "cluster.toml:1: `udp` is not a transport: `tcp` or `quic`"),
            ("[party]\nname = 'a'\n", "cluster.toml:1: "),
        ] {
            let told = parse(text).expect_err("not a cluster");
            assert!(told.starts_with(expected), "{text:?} gave {told:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String, address: String) {
            let _ = parse(&text);
            if let Ok(read) = Address::parse(&address) {
                prop_assert_eq!(Address::parse(&read.to_string()), Ok(read));
            }
        }
    }
}
