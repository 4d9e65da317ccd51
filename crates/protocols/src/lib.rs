//! Protocols: two-party garbled circuits, sharing among any number of parties.

pub mod bmr;
pub mod demand;
mod error;
pub mod garbled;
#[cfg(test)]
mod harness;
pub mod mascot;
pub mod mixed;
pub mod preprocessing;
pub mod spdz;
pub mod stored;
pub mod supply;

pub use error::ProtocolError;
