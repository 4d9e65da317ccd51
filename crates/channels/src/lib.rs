//! Framed, authenticated channels between parties: in-process, TCP and TLS 1.3.

mod channel;
mod error;

pub use channel::{Channel, MAX_BORROW_BYTES, SEND_AHEAD_BYTES, Traffic};
pub use error::ChannelError;
