//! Errors of making, storing and drawing correlated randomness.

use phineus_channels::ChannelError;
use phineus_ot::OtError;

use crate::StoreError;

/// Why correlated randomness cannot be made or drawn. Nothing secret is in any of these.
///
/// Exhaustive, so that a protocol that draws from it decides what each of them means to it.
#[derive(Debug, thiserror::Error)]
pub enum CorrelatedError {
    /// The channel to a peer failed.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The plan cannot be read ahead for what it needs.
    #[error(transparent)]
    Program(#[from] phineus_bytecode::Error),
    /// The file that it is stored in cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A peer sent bytes that an honest peer never sends.
    #[error("the peer misbehaved during {during}")]
    Misbehaved {
        /// The step of the protocol; never which check failed.
        during: &'static str,
    },
    /// A check failed: a party deviated.
    #[error("a party cheated: {during} does not hold")]
    Cheated {
        /// The check of the protocol; never which value failed it.
        during: &'static str,
    },
}

impl From<OtError> for CorrelatedError {
    fn from(error: OtError) -> CorrelatedError {
        match error {
            OtError::Channel(error) => CorrelatedError::Channel(error),
            OtError::Misbehaved { during } => CorrelatedError::Misbehaved { during },
        }
    }
}
