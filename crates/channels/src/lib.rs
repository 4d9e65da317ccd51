//! Framed, authenticated channels between parties: in-process, TCP and TLS 1.3.
//!
//! Protocol code is written against [`Channel`]: slices in, slices out. [`memory_pair`] joins two
//! ends inside one process, [`MemoryNetwork`] all parties of one, [`connect_mesh`] all over a network. What goes over the
//! wire is in `message.rs` (messages) and `hello.rs` (the first one); who may connect is decided by
//! an [`Identity`] and a [`TrustStore`].

#[cfg(feature = "testing")]
mod altering;
mod buffer_filler;
mod channel;
#[cfg(feature = "testing")]
mod clocked;
mod cluster;
mod dialling;
mod error;
mod fingerprint;
mod framed;
mod handshake;
mod hello;
mod identity;
mod limits;
mod link;
mod memory;
mod memory_network;
mod mesh;
mod mesh_setup;
mod message;
mod names;
mod ownership;
mod parties;
mod pipe;
mod quic;
mod quic_config;
mod reader;
mod receiver;
mod record;
mod reorder;
mod simulate;
mod tcp;
mod timeouts;
mod tls;
mod transport;
mod transport_kind;
mod trust;
mod writer;

#[cfg(test)]
mod tests;

#[cfg(feature = "testing")]
pub use altering::{Altering, MessagePosition, flip_bit};
pub use channel::{Channel, MAX_BORROW_BYTES, SEND_AHEAD_BYTES, SEND_AHEAD_BYTES_MIN, Traffic};
#[cfg(feature = "testing")]
pub use clocked::{ClockedChannel, clocked_mesh, clocked_mesh_beside};
pub use cluster::{
    Address, ClusterConfig, ClusterError, ClusterFault, DEFAULT_PORT, PARTIES_MAX, PartyConfig,
    Transport,
};
pub use error::ChannelError;
pub use fingerprint::{Fingerprint, FingerprintError};
pub use framed::FramedChannel;
pub use hello::PROTOCOL_VERSION;
#[cfg(feature = "fuzzing")]
pub use hello::read_greeting;
pub use identity::{Identity, IdentityError, key_path};
pub use limits::{
    BUFFER_BYTES, CHANNEL_MEMORY_BYTES, CONNECTING_MEMORY_BYTES, CONTROL_BYTES_MAX,
    INCOMING_BUFFERS, OUTGOING_BUFFERS, QUIC_MEMORY_BYTES, channel_memory_bytes,
};
pub use link::{Aborter, Monitor};
pub use memory::{MemoryChannel, memory_pair, memory_pair_named};
pub use memory_network::{MemoryNetwork, MemorySettings};
pub use mesh::{
    ConnectProgress, ConnectionSecurity, Mesh, MeshSettings, PlainLoopback, connect_mesh,
    only_channel,
};
pub use message::{
    AbortReason, FRAME_VERSION, HEADER_BYTES, MessageError, MessageHeader, MessageKind,
    parse_header,
};
pub use names::{NAME_BYTES_MAX, check_name};
pub use ownership::foreign_owner;
pub use parties::{Parties, memory_mesh, memory_mesh_ahead};
pub use simulate::{NetworkModel, NetworkModelError};
pub use timeouts::Timeouts;
pub use transport_kind::TransportKind;
pub use trust::TrustStore;
