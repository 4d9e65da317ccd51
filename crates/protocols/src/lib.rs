//! Protocols: two-party garbled circuits, sharing among any number of parties.

pub mod bmr;
mod error;
pub mod garbled;
#[cfg(test)]
mod harness;
pub mod mixed;
mod recorded;
pub mod rep3;
mod settings;
mod shares;
pub mod spdz;
mod templates;

pub use error::ProtocolError;
pub use settings::batch_scale;
