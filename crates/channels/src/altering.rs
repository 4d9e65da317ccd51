//! A channel of a party that lies, for tests of protocols that must notice it.

use crate::{Channel, ChannelError, MemoryChannel, Traffic};

/// The position of a message on its channel.
#[derive(Clone, Copy)]
pub struct MessagePosition {
    /// How many messages were sent before it.
    pub message: usize,
    /// How many bytes were sent before it.
    pub first_byte: u64,
}

/// A channel of a party that lies: what it sends is altered on its way.
pub struct Altering<A> {
    channel: MemoryChannel,
    alter: A,
    message: usize,
}

impl<A: FnMut(MessagePosition, &mut [u8]) + Send> Altering<A> {
    /// Altered by `alter`, which sees each message as it is sent.
    pub fn new(channel: MemoryChannel, alter: A) -> Altering<A> {
        Altering { channel, alter, message: 0 }
    }

    /// How many messages were sent.
    pub fn messages(&self) -> usize {
        self.message
    }

    /// The name of the party at the other end.
    pub fn peer(&self) -> &str {
        self.channel.peer()
    }
}

impl<A: FnMut(MessagePosition, &mut [u8]) + Send> Channel for Altering<A> {
    fn send_with<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ChannelError> {
        let first_byte = self.channel.traffic().sent_bytes;
        let place = MessagePosition { message: self.message, first_byte };
        self.message += 1;
        self.channel.send_with(len, |bytes| {
            let result = fill(bytes);
            (self.alter)(place, bytes);
            result
        })
    }

    fn recv_with<R>(
        &mut self,
        len: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ChannelError> {
        self.channel.recv_with(len, read)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        self.channel.flush()
    }

    fn traffic(&self) -> Traffic {
        self.channel.traffic()
    }
}

/// Flips a bit of a message that has so many.
pub fn flip_bit(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] ^= 1 << (bit % 8);
}
