//! What can go wrong between two parties, each as one sentence: what, where, what to do.

use crate::frame::{AbortReason, Fault};

/// Why a channel is dead or was never made.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The peer closed the connection or the network dropped it.
    #[error("{party} closed the connection")]
    Closed {
        /// The peer's name.
        party: String,
    },
    /// Nothing was heard from the peer for too long.
    #[error("nothing was heard from {party} for {seconds} s: it or the network is down")]
    Lost {
        /// The peer's name.
        party: String,
        /// For how long.
        seconds: u64,
    },
    /// The peer said that it gave up.
    #[error("{party} stopped: {reason}")]
    PeerAborted {
        /// The peer's name.
        party: String,
        /// What it said.
        reason: AbortReason,
    },
    /// The peer sent something that no correct party sends.
    #[error("{party} sent {fault}")]
    Misbehaved {
        /// The peer's name.
        party: String,
        /// What is wrong with it.
        fault: Fault,
    },
    /// A control message of our own is too long.
    #[error("a control message of {bytes} bytes is too long, at most {max} can be exchanged")]
    ControlTooLong {
        /// Its length.
        bytes: usize,
        /// The longest allowed.
        max: usize,
    },
    /// The operating system refused something else.
    #[error("{during} failed: {detail}")]
    Io {
        /// What was being done.
        during: String,
        /// What the system says.
        detail: String,
    },
}
