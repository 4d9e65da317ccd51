//! Timeouts of channels.

use std::time::Duration;

/// The clock of a channel. The default is for real use; tests shrink it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// How long to try to reach the peer, so that the start order does not matter.
    pub connect: Duration,
    /// How long one attempt may take to agree on keys and names.
    pub handshake: Duration,
    /// A party that sent nothing for this long sends a keep-alive.
    pub keep_alive: Duration,
    /// A peer that was silent for this long is lost.
    pub lost: Duration,
    /// How long a party that fails waits for its abort message to leave and to be read.
    pub farewell: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(60),
            handshake: Duration::from_secs(10),
            keep_alive: Duration::from_secs(15),
            lost: Duration::from_secs(60),
            farewell: Duration::from_secs(1),
        }
    }
}
