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

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use crate::names::check_name;

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

/// A host name or an IP address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The host name or the IP address, the latter without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl Address {
    /// Reads `host`, `host:port`, `[v6]` or `[v6]:port`.
    ///
    /// # Errors
    /// Returns what is wrong with it, as the end of a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, after) =
                    rest.split_once(']').ok_or("the bracket of an IPv6 address is not closed")?;
                if host.parse::<std::net::Ipv6Addr>().is_err() {
                    return Err(format!("`{host}` is not an IPv6 address"));
                }
                (
                    host,
                    if after.is_empty() {
                        None
                    } else {
                        Some(
                            after.strip_prefix(':').ok_or(
                                "after an IPv6 address in brackets comes nothing or `:port`",
                            )?,
                        )
                    },
                )
            }
            None => match text.split_once(':') {
                Some((_, port)) if port.contains(':') => {
                    return Err("write an IPv6 address in brackets, as in `[::1]:7710`".to_owned());
                }
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        let in_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        if host.is_empty() || host.len() > 253 || !host.chars().all(in_host) {
            return Err(format!("`{host}` is not a host name or an IP address"));
        }
        let port = match port {
            None => DEFAULT_PORT,
            Some(port) => match port.parse::<u16>() {
                Ok(number) if number > 0 => number,
                _ => {
                    return Err(format!(
                        "`{port}` is not a port, which is a number from 1 to 65535"
                    ));
                }
            },
        };
        Ok(Address { host: host.to_owned(), port })
    }
}

/// All that is wrong with a `cluster.toml`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .faults.iter().map(|fault| fault.line_of(path)).collect::<Vec<_>>().join("\n"))]
pub struct ClusterError {
    /// The file.
    pub path: PathBuf,
    /// Faults of the file; at least one.
    pub faults: Vec<ClusterFault>,
}

/// One thing that is wrong with a `cluster.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterFault {
    /// The line, counted from 1; `None` if it concerns the whole file.
    pub line: Option<usize>,
    /// Description of the fault and its remedy.
    pub problem: String,
}

impl ClusterFault {
    fn line_of(&self, path: &Path) -> String {
        match self.line {
            Some(line) => format!("{}:{line}: {}", path.display(), self.problem),
            None => format!("{}: {}", path.display(), self.problem),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterFile {
    transport: Option<Spanned<String>>,
    computing: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    party: Vec<Spanned<PartyEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartyEntry {
    name: Spanned<String>,
    address: Option<Spanned<String>>,
    bind: Option<Spanned<String>>,
}

impl ClusterConfig {
    /// Reads `cluster.toml`.
    ///
    /// # Errors
    /// The file cannot be read, or all that is wrong with it.
    pub fn load(path: &Path) -> Result<Self, ClusterError> {
        let text = std::fs::read_to_string(path).map_err(|error| ClusterError {
            path: path.to_owned(),
            faults: vec![ClusterFault { line: None, problem: format!("cannot be read: {error}") }],
        })?;
        Self::parse(path, &text)
    }

    /// Reads the text of a `cluster.toml`; `path` is for messages.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ClusterError> {
        let line_of = |at: usize| 1 + text[..at.min(text.len())].matches('\n').count();
        let mut faults = Vec::new();
        let mut transport = Transport::default();
        let mut computing = None;
        let parties = match toml::from_str::<ClusterFile>(text) {
            Err(error) => {
                let line = error.span().map(|span| line_of(span.start));
                faults.push(ClusterFault { line, problem: error.message().to_owned() });
                Vec::new()
            }
            Ok(file) => {
                let mut fault = |at: usize, problem: String| {
                    faults.push(ClusterFault { line: Some(line_of(at)), problem });
                };
                if let Some(name) = &file.transport {
                    let named = Transport::from_name(name.get_ref());
                    transport = named.unwrap_or_else(|| {
                        let name_text = name.get_ref();
                        let problem = format!("`{name_text}` is not a transport: `tcp` or `quic`");
                        fault(name.span().start, problem);
                        Transport::default()
                    });
                }
                let known: Vec<&str> = file
                    .party
                    .iter()
                    .map(|entry| entry.get_ref().name.get_ref().as_str())
                    .collect();
                if let Some(names) = &file.computing {
                    let problem = computing_fault(names.get_ref(), &known);
                    problem.into_iter().for_each(|it| fault(names.span().start, it));
                    computing = Some(names.get_ref().clone());
                }
                let entries = file.party.into_iter().map(Spanned::into_inner);
                let parties: Vec<_> = entries.map(|entry| party(entry, &mut fault)).collect();
                if !(2..=PARTIES_MAX).contains(&parties.len()) {
                    let count = parties.len();
                    let problem = format!(
                        "has {count} parties, needs 2 to {PARTIES_MAX}; each is a [[party]] with a \
                         name, and an address unless nobody dials it"
                    );
                    faults.push(ClusterFault { line: None, problem });
                }
                parties
            }
        };
        if !faults.is_empty() {
            return Err(ClusterError { path: path.to_owned(), faults });
        }
        let config = ClusterConfig {
            parties: (parties.iter())
                .map(|(at, party)| PartyConfig { line: Some(line_of(*at)), ..party.clone() })
                .collect(),
            transport,
            computing,
        };
        config
            .check_distinct(&parties, line_of)
            .map_err(|faults| ClusterError { path: path.to_owned(), faults })?;
        Ok(config)
    }

    fn check_distinct(
        &self,
        placed: &[(usize, PartyConfig)],
        line_of: impl Fn(usize) -> usize,
    ) -> Result<(), Vec<ClusterFault>> {
        let mut faults = Vec::new();
        for (i, (at, party)) in placed.iter().enumerate() {
            let mut fault = |problem| {
                faults.push(ClusterFault { line: Some(line_of(*at)), problem });
            };
            for (first_at, other) in &placed[..i] {
                let line = line_of(*first_at);
                if other.name == party.name {
                    fault(format!("`{}` is also the name in line {line}; rename one", party.name));
                }
                if other.address == party.address && party.address.is_some() {
                    fault(format!(
                        "{} has the address of {} (line {line}); give each its own port",
                        party.name, other.name
                    ));
                }
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

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

/// Returns the fault in the list of computing parties, if it has one.
fn computing_fault(names: &[String], known: &[&str]) -> Option<String> {
    let repeated = names.iter().enumerate().find(|(k, name)| names[..*k].contains(name));
    let unknown = names.iter().find(|name| !known.contains(&name.as_str()));
    match (unknown, repeated) {
        (Some(name), _) => Some(format!("`{name}` computes, and is no [[party]]")),
        (None, Some((_, name))) => Some(format!("`{name}` is said twice to compute")),
        _ if names.len() < 2 => Some("two parties or more compute".to_owned()),
        _ => None,
    }
}

/// Checks one party; returns where its name stands beside it.
fn party(entry: PartyEntry, fault: &mut impl FnMut(usize, String)) -> (usize, PartyConfig) {
    let name_at = entry.name.span().start;
    let name = entry.name.into_inner();
    if let Err(problem) = check_name(&name) {
        fault(name_at, format!("`{name}` cannot name a party: {problem}"));
    }
    let address = entry.address.and_then(|address| match Address::parse(address.get_ref()) {
        Ok(read) => Some(read),
        Err(problem) => {
            fault(address.span().start, format!("the address of {name}: {problem}"));
            None
        }
    });
    let bind = entry.bind.and_then(|bind| match bind.get_ref().parse::<SocketAddr>() {
        Ok(address) => Some(address),
        Err(_) => {
            let text = bind.get_ref();
            let problem = format!(
                "`{text}` cannot be bound, `bind` is an IP address and a port, as in \
                 `0.0.0.0:{DEFAULT_PORT}`"
            );
            fault(bind.span().start, problem);
            None
        }
    });
    (name_at, PartyConfig { name, address, bind, line: None })
}

#[cfg(test)]
mod tests {
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
