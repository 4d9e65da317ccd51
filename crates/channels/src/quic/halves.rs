//! The two halves of a stream of QUIC, as a channel takes them.

use std::io;
use std::sync::Arc;

use quinn::{ConnectionError, ReadError, RecvStream, SendStream, VarInt};
use tokio::time::timeout;

use super::PacketThread;
use crate::fingerprint::Fingerprint;
use crate::handshake::Connection;
use crate::transport::{Cut, READ_PAUSE, ReadHalf, TransportError, WriteHalf};

/// QUIC's codes for errors of TLS are alerts above this (RFC 9001, section 4.8).
const CRYPTO_ERROR: u64 = 0x100;

/// The TLS alert with which the other end refused us.
pub(super) fn alert(error: &ConnectionError) -> Option<u8> {
    match error {
        ConnectionError::ConnectionClosed(close) => {
            let code = u64::from(close.error_code).checked_sub(CRYPTO_ERROR)?;
            u8::try_from(code).ok()
        }
        _ => None,
    }
}

/// A stream of a connection as the two halves that a channel takes.
pub(super) fn connected(
    mover: &Arc<PacketThread>,
    connection: &quinn::Connection,
    (send, receive): (SendStream, RecvStream),
    presented: Fingerprint,
) -> Connection {
    let (sent, received) = (mover.clone(), mover.clone());
    Connection {
        source: Box::new(QuicReadHalf { receive, mover: received, wire_bytes: 0 }),
        sink: Box::new(QuicWriteHalf { send, mover: sent, wire_bytes: 0 }),
        cut: Box::new(QuicCut { connection: connection.clone(), _mover: mover.clone() }),
        presented: Some(presented),
    }
}

/// The receiving half of a stream. The fields are dropped in this order: the thread last.
struct QuicReadHalf {
    receive: RecvStream,
    mover: Arc<PacketThread>,
    wire_bytes: u64,
}

impl ReadHalf for QuicReadHalf {
    fn read(&mut self, wanted: &mut [u8], _ahead: &mut [u8]) -> Result<usize, TransportError> {
        // One wait for both, as a read that is given up has taken nothing.
        let read = async { timeout(READ_PAUSE, self.receive.read(wanted)).await };
        match self.mover.handle.block_on(read) {
            Ok(Ok(Some(read))) => {
                self.wire_bytes += read as u64;
                Ok(read)
            }
            Ok(Ok(None)) => Ok(0),
            Ok(Err(ReadError::ConnectionLost(error))) => match (alert(&error), error) {
                (Some(code), _) => Err(TransportError::Alert(code)),
                // The peer's process is through with all its streams.
                (None, ConnectionError::ApplicationClosed(_)) => Ok(0),
                (None, error) => Err(lost(&error)),
            },
            Ok(Err(error)) => Err(lost(&error)),
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        }
    }

    fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }
}

fn lost(error: &dyn std::fmt::Display) -> TransportError {
    io::Error::new(io::ErrorKind::ConnectionAborted, error.to_string()).into()
}

/// The sending half of a stream.
struct QuicWriteHalf {
    send: SendStream,
    mover: Arc<PacketThread>,
    wire_bytes: u64,
}

impl WriteHalf for QuicWriteHalf {
    fn write(&mut self, header: &[u8], payload: &[u8]) -> Result<(), TransportError> {
        let write = async {
            self.send.write_all(header).await?;
            self.send.write_all(payload).await
        };
        self.mover.handle.block_on(write).map_err(|error| lost(&error))?;
        self.wire_bytes += (header.len() + payload.len()) as u64;
        Ok(())
    }

    fn close(&mut self) -> Result<(), TransportError> {
        self.send.finish().map_err(|error| lost(&error))
    }

    fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }
}

/// Ends a connection, with all its streams: they belong to one mesh and fail together.
struct QuicCut {
    connection: quinn::Connection,
    _mover: Arc<PacketThread>,
}

impl Cut for QuicCut {
    fn cut(&self) {
        self.connection.close(VarInt::from_u32(1), b"");
    }

    fn is_writable(&self, _bytes: usize) -> bool {
        // Not known without a lock that its thread holds; so the channel's thread writes.
        false
    }
}
