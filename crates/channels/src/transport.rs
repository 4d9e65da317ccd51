//! Byte transports for framed channels: a half that reads and a half that writes, each used by one
//! thread. Sockets without encryption are here, TLS is in `record.rs`.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_send_buffer_size;

use crate::message::MessageError;

/// Why a transport failed.
#[derive(Debug)]
pub(crate) enum TransportError {
    /// The operating system says so.
    Io(io::Error),
    /// The peer's TLS ended the connection with this alert (RFC 8446, section 6).
    Alert(u8),
    /// The received bytes violate the transport's protocol.
    Fault(MessageError),
}

impl From<io::Error> for TransportError {
    fn from(error: io::Error) -> Self {
        TransportError::Io(error)
    }
}

impl TransportError {
    /// Whether nothing came in the time allowed.
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self, TransportError::Io(error) if matches!(
            error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut))
    }
}

/// How long a source waits before it returns a timeout, so that its reader can look whether the
/// session has ended otherwise. Ten looks a second cost nothing; an abort is noticed in that time.
pub(crate) const READ_PAUSE: Duration = Duration::from_millis(100);

/// The receiving half of a transport.
pub(crate) trait ReadHalf: Send {
    /// Waits for bytes and fills first `wanted`, then `ahead`, with those that came; 0 at the end
    /// of the stream. One of the two may be empty. After about [`READ_PAUSE`] it may return a
    /// timeout and can then be called again.
    fn read(&mut self, wanted: &mut [u8], ahead: &mut [u8]) -> Result<usize, TransportError>;

    /// Whether a read would return at once, as far as that is known; else true.
    fn is_ready(&self) -> bool {
        true
    }

    /// Bytes taken from the network so far.
    fn wire_bytes(&self) -> u64;

    /// Whether messages come in the order in which they were sent.
    fn is_ordered(&self) -> bool {
        true
    }
}

/// The sending half of a transport.
pub(crate) trait WriteHalf: Send {
    /// Sends a header and its payload as one piece.
    fn write(&mut self, header: &[u8], payload: &[u8]) -> Result<(), TransportError>;

    /// Says that nothing more follows.
    fn close(&mut self) -> Result<(), TransportError>;

    /// Bytes given to the network so far.
    fn wire_bytes(&self) -> u64;
}

/// Ends both directions of a transport, whatever its halves are waiting for.
pub(crate) trait Cut: Send + Sync {
    fn cut(&self);

    /// Whether so many bytes can be written without waiting.
    fn is_writable(&self, bytes: usize) -> bool;
}

/// A connected stream socket, whose clones are the same connection.
pub(crate) trait Socket: Read + Write + AsFd + Send + Sync + Sized + 'static {
    /// Another handle.
    fn another(&self) -> io::Result<Self>;

    /// Ends one direction, or both.
    fn end(&self, which: Shutdown) -> io::Result<()>;
}

impl Socket for TcpStream {
    fn another(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn end(&self, which: Shutdown) -> io::Result<()> {
        self.shutdown(which)
    }
}

impl Socket for UnixStream {
    fn another(&self) -> io::Result<Self> {
        self.try_clone()
    }

    fn end(&self, which: Shutdown) -> io::Result<()> {
        self.shutdown(which)
    }
}

impl<S: Socket> Cut for S {
    fn cut(&self) {
        // An error means that the connection is gone already, which is what is wanted.
        let _ = self.end(Shutdown::Both);
    }

    fn is_writable(&self, bytes: usize) -> bool {
        let fits = socket_send_buffer_size(self).is_ok_and(|all| bytes <= all / WRITABLE_PART);
        fits && events_now(self, PollFlags::OUT) == PollFlags::OUT
    }
}

/// Of a buffer of so many times its length data can be written without waiting if the system says that there is space: at
/// least a third of the buffer is free then, and the system may need as much again for what it notes beside the data.
const WRITABLE_PART: usize = 6;

/// Which of these events a socket has, or what else is the matter with it.
fn events_now(socket: &impl AsFd, events: PollFlags) -> PollFlags {
    let mut polled = [PollFd::new(socket, events)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut polled, Some(&now)) {
        Ok(_) => polled[0].revents(),
        Err(_) => PollFlags::ERR,
    }
}

/// Whether a read from a socket would return at once.
pub(crate) fn is_readable(socket: &impl AsFd) -> bool {
    !events_now(socket, PollFlags::IN).is_empty()
}

/// The receiving half of a connection without encryption.
pub(crate) struct PlainReadHalf<S> {
    socket: S,
    wire_bytes: u64,
}

/// The sending half of a connection without encryption.
pub(crate) struct PlainWriteHalf<S> {
    socket: S,
    wire_bytes: u64,
}

/// Splits a connection into its halves.
pub(crate) fn halves<S: Socket>(socket: &S) -> io::Result<(PlainReadHalf<S>, PlainWriteHalf<S>)> {
    Ok((
        PlainReadHalf { socket: socket.another()?, wire_bytes: 0 },
        PlainWriteHalf { socket: socket.another()?, wire_bytes: 0 },
    ))
}

impl<S: Socket> ReadHalf for PlainReadHalf<S> {
    fn read(&mut self, wanted: &mut [u8], ahead: &mut [u8]) -> Result<usize, TransportError> {
        loop {
            let mut parts = [IoSliceMut::new(wanted), IoSliceMut::new(ahead)];
            match self.socket.read_vectored(&mut parts) {
                Ok(read) => {
                    self.wire_bytes += read as u64;
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn is_ready(&self) -> bool {
        is_readable(&self.socket)
    }

    fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }
}

impl<S: Socket> WriteHalf for PlainWriteHalf<S> {
    fn write(&mut self, header: &[u8], payload: &[u8]) -> Result<(), TransportError> {
        let mut parts = [IoSlice::new(header), IoSlice::new(payload)];
        write_all_parts(&mut self.socket, &mut parts)?;
        self.wire_bytes += (header.len() + payload.len()) as u64;
        Ok(())
    }

    fn close(&mut self) -> Result<(), TransportError> {
        Ok(self.socket.end(Shutdown::Write)?)
    }

    fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }
}

/// Writes all of `parts` with as few system calls as the kernel allows.
pub(crate) fn write_all_parts(
    stream: &mut impl Write,
    mut parts: &mut [IoSlice<'_>],
) -> io::Result<()> {
    IoSlice::advance_slices(&mut parts, 0);
    while !parts.is_empty() {
        match stream.write_vectored(parts) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut parts, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
