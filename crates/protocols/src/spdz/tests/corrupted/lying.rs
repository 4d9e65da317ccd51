//! [`TamperingChannel`]: a channel that changes one message of a corrupted party.

use std::sync::{Arc, Mutex};

use phineus_channels::{Channel, ChannelError, MemoryChannel, Traffic};

use phineus_channels::{Altering, MessagePosition, flip_bit};

/// Fault that is injected into a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageFault {
    /// One bit of it is another one.
    Flipped(usize),
    /// It is left out; as many zeros come before the corrupted party next listens.
    Dropped,
    /// It comes twice, and all after it later.
    Doubled,
    /// Only its first half comes; as many zeros as are missing come later.
    Cut,
    /// The next message comes before it, if there is one before the corrupted party next listens.
    Swapped,
    /// The corrupted party is gone, with all that it has not said.
    Gone,
}

/// Every fault that is not about a bit.
pub(super) const FRAMING: [MessageFault; 5] = [
    MessageFault::Dropped,
    MessageFault::Doubled,
    MessageFault::Cut,
    MessageFault::Swapped,
    MessageFault::Gone,
];

/// Who hears a lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    One(usize),
    All,
}

impl Audience {
    pub(super) fn contains(self, party: usize) -> bool {
        self == Audience::All || self == Audience::One(party)
    }
}

/// Which message is changed: whose to whom, of which stream, which one, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tampering {
    pub(super) from: usize,
    pub(super) to: Audience,
    pub(super) stream: usize,
    pub(super) message: usize,
    pub(super) fault: MessageFault,
}

/// The lengths of all messages of a stream.
pub(super) type Lens = Arc<Mutex<Vec<usize>>>;

/// Function that flips a bit of a message.
type Flip = Box<dyn FnMut(MessagePosition, &mut [u8]) + Send>;

/// Counts messages by their lengths, and changes one.
pub(super) struct TamperingChannel {
    channel: Altering<Flip>,
    lens: Lens,
    /// The message that is changed, and how.
    lie: Option<(usize, MessageFault)>,
    /// Messages from the changed one on that have not been sent.
    held: Option<Vec<Vec<u8>>>,
    gone: bool,
}

impl TamperingChannel {
    pub(super) fn new(
        channel: MemoryChannel,
        lens: Lens,
        lie: Option<(usize, MessageFault)>,
    ) -> TamperingChannel {
        let flip = move |place: MessagePosition, bytes: &mut [u8]| match lie {
            Some((number, MessageFault::Flipped(bit)))
                if place.message == number && !bytes.is_empty() =>
            {
                flip_bit(bytes, bit % (8 * bytes.len()));
            }
            _ => {}
        };
        let channel = Altering::new(channel, Box::new(flip) as Flip);
        TamperingChannel { channel, lens, lie, held: None, gone: false }
    }

    fn alive(&self) -> Result<(), ChannelError> {
        if self.gone {
            return Err(ChannelError::Closed { party: self.channel.peer().to_owned() });
        }
        Ok(())
    }

    /// Sends what was held back, changed.
    fn release(&mut self) -> Result<(), ChannelError> {
        let Some(mut held) = self.held.take() else { return Ok(()) };
        let (_, fault) = self.lie.expect("only lies hold messages back");
        let mut missing = 0;
        match fault {
            MessageFault::Dropped => missing = held.remove(0).len(),
            MessageFault::Doubled => held.insert(0, held[0].clone()),
            MessageFault::Cut => {
                let half = held[0].len() / 2;
                missing = held[0].len() - half;
                held[0].truncate(half);
            }
            MessageFault::Swapped if held.len() > 1 => held.swap(0, 1),
            MessageFault::Swapped | MessageFault::Flipped(_) | MessageFault::Gone => {}
        }
        for message in held.iter().filter(|message| !message.is_empty()) {
            self.channel.send(message)?;
        }
        if missing > 0 {
            self.channel.send(&vec![0; missing])?;
        }
        self.channel.flush()
    }
}

impl Channel for TamperingChannel {
    fn send_with<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ChannelError> {
        self.alive()?;
        let number = {
            let mut lens = self.lens.lock().expect("nobody panics in here");
            lens.push(len);
            lens.len() - 1
        };
        let fault = self.lie.filter(|lie| lie.0 == number && len > 0).map(|lie| lie.1);
        match fault {
            Some(MessageFault::Gone) => {
                self.gone = true;
                self.alive()?;
            }
            Some(MessageFault::Flipped(_)) | None => {}
            Some(_) => self.held = Some(Vec::new()),
        }
        if let Some(held) = &mut self.held {
            let mut bytes = vec![0; len];
            let result = fill(&mut bytes);
            held.push(bytes);
            return Ok(result);
        }
        self.channel.send_with(len, fill)
    }

    fn recv_with<R>(
        &mut self,
        len: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ChannelError> {
        self.alive()?;
        self.release()?;
        self.channel.recv_with(len, read)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        self.alive()?;
        self.channel.flush()
    }

    fn traffic(&self) -> Traffic {
        self.channel.traffic()
    }
}

impl Drop for TamperingChannel {
    fn drop(&mut self) {
        // A peer that is gone hears nothing.
        self.release().ok();
    }
}
