//! Two-party garbled circuits and oblivious transfer

mod error;
pub mod garbled;
pub mod ot;

pub use error::ProtocolError;
