//! What can go wrong between two parties.

/// Why a channel is dead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The peer closed the connection or the network dropped it.
    #[error("{party} closed the connection")]
    Closed {
        /// The peer's name.
        party: String,
    },
}
