//! [`Address`]: a host and a port.

use std::fmt;

use super::DEFAULT_PORT;

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
