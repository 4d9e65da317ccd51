//! Protocols: two-party garbled circuits, sharing among any number of parties.

pub mod bmr;
pub mod demand;
mod error;
pub mod garbled;
#[cfg(test)]
mod harness;
pub mod mascot;
pub mod mixed;
mod parties;
pub mod preprocessing;
pub mod rep3;
mod settings;
mod shares;
pub mod spdz;
pub mod stored;
pub mod supply;

pub use error::ProtocolError;
pub use parties::{Parties, memory_mesh, memory_mesh_scaled};
pub use settings::batch_scale;
