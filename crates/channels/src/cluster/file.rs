//! Reads `cluster.toml`, and reports all that is wrong with it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::address::Address;
use super::{ClusterConfig, DEFAULT_PORT, PARTIES_MAX, PartyConfig, Transport};
use crate::names::check_name;

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

    pub(super) fn check_distinct(
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
