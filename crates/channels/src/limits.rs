//! The limits of a channel, related to each other by compile-time assertions.

use crate::message::HEADER_BYTES;
use crate::{MAX_BORROW_BYTES, SEND_AHEAD_BYTES, SEND_AHEAD_BYTES_MIN};

/// Payload bytes of one buffer, the unit that moves between a channel and its helper threads.
///
/// Two of the longest borrowed slices, so that a buffer in which the next slice does not fit is at
/// least half full; and then a system call or a hand-over between threads (a few µs) moves about
/// 256 KiB (about 60 µs of copying), so that its own cost is a few percent. Measured with
/// `examples/throughput.rs`: half the size takes a quarter more CPU time per byte over TCP.
pub const BUFFER_BYTES: usize = 2 * MAX_BORROW_BYTES;

/// Buffers that hold received bytes until the protocol asks for them.
///
/// A buffer is appended to its predecessor where both fit into one, so two neighbours together
/// always hold more than one buffer: `2 * SEND_AHEAD_BYTES / BUFFER_BYTES` = 8 waiting buffers hold
/// the promised [`SEND_AHEAD_BYTES`]. One more is being filled and one is being read.
pub const INCOMING_BUFFERS: usize = incoming_buffers(SEND_AHEAD_BYTES);

/// Number of incoming buffers if both ends have agreed on `ahead_bytes`.
pub(crate) const fn incoming_buffers(ahead_bytes: usize) -> usize {
    2 * ahead_bytes / buffer_bytes(ahead_bytes) + 2
}

/// How far buffers are filled where both ends have agreed to be ahead by no more than
/// `ahead_bytes`: a half where memory is as short as can be, so that the other half is never
/// resident.
pub(crate) const fn buffer_bytes(ahead_bytes: usize) -> usize {
    if ahead_bytes > SEND_AHEAD_BYTES_MIN { BUFFER_BYTES } else { BUFFER_BYTES / 2 }
}

/// Buffers on the way out: one being filled, one being sent, two waiting, so that neither the
/// protocol nor the network idles while the other one is interrupted.
pub const OUTGOING_BUFFERS: usize = 4;

/// Number of outgoing buffers if both ends have agreed on `ahead_bytes`; fewer if memory is short.
pub(crate) const fn outgoing_buffers(ahead_bytes: usize) -> usize {
    if ahead_bytes < SEND_AHEAD_BYTES { 2 } else { OUTGOING_BUFFERS }
}

/// The longest payload of a control message ([`exchange`](crate::FramedChannel::exchange), hello).
pub const CONTROL_BYTES_MAX: usize = 64 * 1024;

/// The longest plaintext of one TLS 1.3 record (RFC 8446, section 5.1).
pub(crate) const TLS_PLAIN_BYTES_MAX: usize = 16 * 1024;

/// The longest TLS 1.3 record on the wire: header, plaintext and 256 bytes of expansion
/// (RFC 8446, section 5.2).
pub(crate) const TLS_RECORD_BYTES_MAX: usize = 5 + TLS_PLAIN_BYTES_MAX + 256;

/// Encrypted bytes read from the network at once: seven records and a part of one.
pub(crate) const TLS_READ_BYTES: usize = 128 * 1024;

/// Received bytes beyond the current message that one read may bring: enough for many small
/// messages, and copied only once.
pub(crate) const READ_AHEAD_BYTES: usize = 4 * 1024;

/// The longest data that its sender writes to the network itself, if that takes it at once: above it, sending and
/// encrypting beside the computation is worth a hand-over (10 to 20 µs).
pub(crate) const DIRECT_WRITE_BYTES: usize = 96 * 1024;

/// The longest message after which a waiting receiver goes on to read from the network itself, for the same reason.
pub(crate) const DIRECT_READ_BYTES: usize = DIRECT_WRITE_BYTES;

/// Bytes after a wait that a party sends in pieces of [`EARLY_PIECE_BYTES`], so that its peer works on the first ones while
/// it makes the others. Longer streams flow anyway.
pub(crate) const EARLY_BYTES: usize = 256 * 1024;

/// Data that is worth a system call (5 to 10 µs): what takes some 20 µs to compute.
pub(crate) const EARLY_PIECE_BYTES: usize = 16 * 1024;

/// More than the header and encryption add to the longest data that is written directly.
pub(crate) const WIRE_OVERHEAD_BYTES: usize = 1024;

/// Messages that may overtake a missing one, over a transport that does not keep their order.
pub(crate) const REORDER_MESSAGES: u64 = 64;

/// Payload bytes of messages that wait for a missing one. Nothing over TCP, TLS and QUIC streams.
pub(crate) const REORDER_BYTES_MAX: usize = 1024 * 1024;

/// Bytes of one QUIC stream that may be on the way: 1 Gbit/s at 8 ms. quinn keeps at most this much
/// for each stream and direction, beside the channel's own buffers.
pub(crate) const QUIC_WINDOW_BYTES: u32 = 1024 * 1024;

/// Memory of QUIC for a channel, besides the channel itself.
pub const QUIC_MEMORY_BYTES: usize = 2 * QUIC_WINDOW_BYTES as usize;

/// Stack of a thread of a channel, or of one that makes a connection: they keep their buffers on the
/// heap.
pub(crate) const THREAD_STACK_BYTES: usize = 256 * 1024;

/// Memory of a connection before it is a channel: a stack, a record, and a handshake message or a
/// hello of 64 KiB.
pub const CONNECTING_MEMORY_BYTES: usize =
    THREAD_STACK_BYTES + TLS_RECORD_BYTES_MAX + CONTROL_BYTES_MAX;

/// Everything a [`FramedChannel`](crate::FramedChannel) holds in memory, TLS included, without a
/// simulated network and QUIC ([`QUIC_MEMORY_BYTES`]): 2.5 MiB of incoming and 1 MiB of outgoing
/// buffers, the slice that joins two buffers (128 KiB), and for TLS one outgoing buffer as records
/// (at most 17, about 276 KiB) and a read buffer (128 KiB), in which records are opened in place.
/// Pages that are never used are never made resident.
pub const CHANNEL_MEMORY_BYTES: usize = channel_memory_bytes(SEND_AHEAD_BYTES);

/// Memory of a channel if both ends have agreed on `ahead_bytes`: at least 1.41 MiB.
pub const fn channel_memory_bytes(ahead_bytes: usize) -> usize {
    let buffer_bytes = buffer_bytes(ahead_bytes);
    (incoming_buffers(ahead_bytes) + outgoing_buffers(ahead_bytes)) * buffer_bytes
        + MAX_BORROW_BYTES
        + (buffer_bytes / TLS_PLAIN_BYTES_MAX + 1) * TLS_RECORD_BYTES_MAX
        + TLS_READ_BYTES
        + READ_AHEAD_BYTES
}

const _: () = assert!((INCOMING_BUFFERS - 2) / 2 * BUFFER_BYTES >= SEND_AHEAD_BYTES);
const _: () = assert!(
    (incoming_buffers(SEND_AHEAD_BYTES_MIN) - 2) / 2 * buffer_bytes(SEND_AHEAD_BYTES_MIN)
        >= SEND_AHEAD_BYTES_MIN
);
/// A buffer takes the longest slice, and control messages.
const _: () = assert!(buffer_bytes(SEND_AHEAD_BYTES_MIN) >= MAX_BORROW_BYTES);
const _: () = assert!(buffer_bytes(SEND_AHEAD_BYTES_MIN) >= CONTROL_BYTES_MAX);
const _: () = assert!(CONTROL_BYTES_MAX <= BUFFER_BYTES);
const _: () = assert!(BUFFER_BYTES <= u32::MAX as usize);
const _: () = assert!(READ_AHEAD_BYTES > 16 * HEADER_BYTES && READ_AHEAD_BYTES < BUFFER_BYTES);
const _: () = assert!(TLS_READ_BYTES >= 2 * TLS_RECORD_BYTES_MAX);
const _: () = assert!(CHANNEL_MEMORY_BYTES <= 4 * 1024 * 1024 + 256 * 1024);
const _: () = assert!(DIRECT_READ_BYTES < BUFFER_BYTES && DIRECT_WRITE_BYTES < BUFFER_BYTES);
const _: () = assert!(REORDER_BYTES_MAX >= BUFFER_BYTES);
