//! Errors of oblivious transfer.

use phineus_channels::ChannelError;

/// Why an OT session is dead. Nothing secret is in any of these.
///
/// Exhaustive, so that a protocol on OT decides what each of them means to it.
#[derive(Debug, thiserror::Error)]
pub enum OtError {
    /// The channel to the peer failed.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The peer sent bytes that an honest peer never sends.
    #[error("the peer misbehaved during {during}")]
    Misbehaved {
        /// The step of the protocol; never which check failed.
        during: &'static str,
    },
}
