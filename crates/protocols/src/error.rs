//! Errors of a running protocol.

use phineus_channels::ChannelError;
use phineus_correlated::{CorrelatedError, StoreError};
use phineus_ot::OtError;

/// Why a protocol session is dead. Nothing secret is in any of these.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The channel to the peer failed.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The plan cannot be read ahead.
    #[error(transparent)]
    Program(#[from] phineus_bytecode::Error),
    /// Correlated randomness cannot be had.
    #[error(transparent)]
    Preprocessing(#[from] StoreError),
    /// The swap file of the garbling pass failed.
    #[error(transparent)]
    Storage(#[from] phineus_engine::StorageError),
    /// Whoever makes the rows of the garbler's gates gives no more of them.
    #[error("the device that garbles has stopped")]
    NoRows,
    /// The peer sent bytes that an honest peer never sends.
    #[error("the peer misbehaved during {during}")]
    Misbehaved {
        /// The step of the protocol; never which check failed.
        during: &'static str,
    },
    /// The rows of a sorted input are in another order, or a key is there too often: its owner deviates.
    #[error(
        "{party} brought input '{input}' in another order than the program states, or with forbidden \
         repetitions"
    )]
    Unsorted {
        /// The input.
        input: String,
        /// Its owner.
        party: String,
    },
    /// Somebody told a lie about shares, MACs or what was opened; nobody has an output of it.
    #[error("a party cheated: {during} does not hold")]
    Cheated {
        /// The check of the protocol; never which value failed it.
        during: &'static str,
    },
}

impl From<OtError> for ProtocolError {
    fn from(error: OtError) -> ProtocolError {
        match error {
            OtError::Channel(error) => ProtocolError::Channel(error),
            OtError::Misbehaved { during } => ProtocolError::Misbehaved { during },
        }
    }
}

impl From<CorrelatedError> for ProtocolError {
    fn from(error: CorrelatedError) -> ProtocolError {
        match error {
            CorrelatedError::Channel(error) => ProtocolError::Channel(error),
            CorrelatedError::Program(error) => ProtocolError::Program(error),
            CorrelatedError::Store(error) => ProtocolError::Preprocessing(error),
            CorrelatedError::Misbehaved { during } => ProtocolError::Misbehaved { during },
            CorrelatedError::Cheated { during } => ProtocolError::Cheated { during },
        }
    }
}
