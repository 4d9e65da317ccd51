//! Framed, authenticated channels between parties: in-process, TCP and TLS 1.3.

mod channel;
mod error;
mod frame;
mod limits;
mod memory;
mod pipe;

pub use channel::{Channel, MAX_BORROW_BYTES, SEND_AHEAD_BYTES, Traffic};
pub use error::ChannelError;
pub use frame::{
    AbortReason, FRAME_VERSION, Fault, HEADER_BYTES, Header, Kind, parse_header,
};
pub use limits::{
    BLOCK_BYTES, CHANNEL_MEMORY_BYTES, CONTROL_BYTES_MAX, INCOMING_BLOCKS, OUTGOING_BLOCKS,
};
pub use memory::{MemoryChannel, memory_pair, memory_pair_named};
