//! [`Channel`]: the ordered byte stream between two parties that protocol code is written against.

use crate::ChannelError;

/// An ordered, reliable stream of bytes to and from one peer.
///
/// Protocol code batches: it calls `send_with` and `recv_with` with up to [`MAX_BORROW_BYTES`] at
/// a time, and `flush` at the points where the peer must be able to go on. Sending never waits for
/// the peer to send (only for it to read), so two parties that both send a bounded amount before
/// they receive do not deadlock; the bound is [`Channel::ahead_bytes`].
///
/// After an error a channel is dead: every further call returns an error.
pub trait Channel: Send {
    /// Lends `len` bytes of the outgoing buffer to `fill`, which must write all of them.
    ///
    /// `len` is at most [`MAX_BORROW_BYTES`].
    fn send_with<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ChannelError>;

    /// Waits for `len` bytes and lends them to `read`.
    ///
    /// `len` is at most [`MAX_BORROW_BYTES`].
    fn recv_with<R>(
        &mut self,
        len: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ChannelError>;

    /// Hands everything sent so far to the transport.
    fn flush(&mut self) -> Result<(), ChannelError>;

    /// Payload bytes sent and received so far, framing and encryption not counted.
    fn traffic(&self) -> Traffic;

    /// Bytes that a party may send without blocking for ever while its peer sends and does not
    /// receive; the same at both ends.
    fn ahead_bytes(&self) -> usize {
        SEND_AHEAD_BYTES
    }

    /// Sends all of `bytes`, any length.
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        for piece in bytes.chunks(MAX_BORROW_BYTES) {
            self.send_with(piece.len(), |buffer| buffer.copy_from_slice(piece))?;
        }
        Ok(())
    }

    /// Fills all of `bytes`, any length.
    fn recv(&mut self, bytes: &mut [u8]) -> Result<(), ChannelError> {
        for piece in bytes.chunks_mut(MAX_BORROW_BYTES) {
            self.recv_with(piece.len(), |buffer| piece.copy_from_slice(buffer))?;
        }
        Ok(())
    }
}

/// Payload bytes sent in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes sent to the peer.
    pub sent_bytes: u64,
    /// Bytes received from the peer.
    pub received_bytes: u64,
}

/// The longest slice that [`Channel::send_with`] and [`Channel::recv_with`] lend.
pub const MAX_BORROW_BYTES: usize = 128 * 1024;

/// Bytes that a party may send without blocking for ever while its peer sends and does not receive,
/// unless both ends have agreed on less.
pub const SEND_AHEAD_BYTES: usize = 1024 * 1024;

/// The least that both ends may agree on: a slice that is sent, and one that the peer is behind.
pub const SEND_AHEAD_BYTES_MIN: usize = 2 * MAX_BORROW_BYTES;
