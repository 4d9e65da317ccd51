//! Correlated randomness: what preprocessing makes and computing on shares uses up.

pub mod authenticated;
pub mod demand;
mod error;
pub mod mascot;
pub mod semi_honest;
pub mod stored;
pub mod supply;

pub use error::CorrelatedError;
