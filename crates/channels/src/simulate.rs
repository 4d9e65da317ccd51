//! Simulates a slower network: `--simulate rtt=40ms,bw=100mbit`.
//!
//! Each party holds its own outgoing messages back, by half the round-trip time after a bandwidth
//! queue, so a round trip takes the whole. Messages are cut into pieces of at most
//! [`PIECE_BYTES`], as a network would, and wait in a line of bounded length that stands for what
//! is on the wire. Counted are payload and header; loss and jitter are not simulated. A new connection
//! waits for the round trips that making it would take (`dialling.rs`).

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::limits::BUFFER_BYTES;
use crate::message::{HEADER_BYTES, MessageKind};

/// The longest piece of data that is held back as one.
const PIECE_BYTES: usize = 16 * 1024;

/// Memory of a delayed piece besides its content: its entry in the queue and its allocation.
const PIECE_OVERHEAD_BYTES: usize = 128;

/// The most that may be on the simulated wire: 5 Gbit/s at 50 ms one way.
const LINE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The longest simulated round trip, a quarter of the time after which a peer counts as lost.
const RTT_MAX: Duration = Duration::from_secs(15);

/// The slowest simulated line: a full piece takes 1.3 s, well under the time to be lost.
const BITS_PER_SECOND_MIN: u64 = 100_000;

/// A simulated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkModel {
    /// Time for a byte to get there and back.
    pub rtt: Duration,
    /// Bits per second in each direction; `None` for as fast as the real network.
    pub bandwidth_bits_per_second: Option<u64>,
}

/// Faults in the text of a network model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkModelError {
    /// Not `rtt=…` or `bw=…`.
    #[error("`{part}` is not understood, write for example `rtt=40ms,bw=100mbit`")]
    Unknown {
        /// The part in question.
        part: String,
    },
    /// A quantity given twice.
    #[error("`{name}` is given twice")]
    Twice {
        /// Its name.
        name: &'static str,
    },
    /// Not a time with a unit.
    #[error("`{text}` is not a time, write for example `40ms` (us, ms or s, at most 15s)")]
    Time {
        /// The text in question.
        text: String,
    },
    /// Not a bandwidth with a unit.
    #[error(
        "`{text}` is not a bandwidth, write for example `100mbit` (kbit, mbit or gbit, at \
         least 100kbit)"
    )]
    Bandwidth {
        /// The text in question.
        text: String,
    },
    /// More bytes on the wire than can be held back.
    #[error(
        "a network with {bytes} bytes on the wire cannot be simulated, at most {LINE_BYTES_MAX} can"
    )]
    TooLong {
        /// Bandwidth times half the round trip.
        bytes: u64,
    },
}

impl NetworkModel {
    /// Reads a model from text such as `rtt=40ms,bw=100mbit`; either part may be left out.
    pub fn parse(text: &str) -> Result<Self, NetworkModelError> {
        let (mut rtt, mut bandwidth) = (None, None);
        for part in text.split(',') {
            let part = part.trim();
            match part.split_once('=') {
                Some(("rtt", value)) => set_once(&mut rtt, "rtt", parse_time(value)?)?,
                Some(("bw", value)) => set_once(&mut bandwidth, "bw", parse_bandwidth(value)?)?,
                _ => {
                    return Err(NetworkModelError::Unknown { part: part.to_owned() });
                }
            }
        }
        let rtt = rtt.unwrap_or(Duration::ZERO);
        let model = NetworkModel { rtt, bandwidth_bits_per_second: bandwidth };
        match model.bytes_on_the_wire() {
            Some(bytes) if bytes > LINE_BYTES_MAX => Err(NetworkModelError::TooLong { bytes }),
            _ => Ok(model),
        }
    }

    /// Bytes that are on the way when the line is busy; `None` without a limit on bandwidth.
    fn bytes_on_the_wire(&self) -> Option<u64> {
        let bits = u128::from(self.bandwidth_bits_per_second?) * (self.rtt / 2).as_nanos();
        Some(u64::try_from(bits / 8 / 1_000_000_000).unwrap_or(u64::MAX))
    }

    /// Memory that a channel over this network needs in addition.
    pub fn memory_bytes(&self) -> usize {
        let wire = self.bytes_on_the_wire().unwrap_or(LINE_BYTES_MAX).min(LINE_BYTES_MAX);
        usize::try_from(wire).expect("bounded by LINE_BYTES_MAX") + 2 * BUFFER_BYTES
    }
}

fn set_once<T>(
    place: &mut Option<T>,
    name: &'static str,
    value: T,
) -> Result<(), NetworkModelError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(NetworkModelError::Twice { name }),
    }
}

/// Splits `12.5ms` into 12.5 and `ms`.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit))
}

fn parse_time(text: &str) -> Result<Duration, NetworkModelError> {
    let wrong = || NetworkModelError::Time { text: text.to_owned() };
    let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
    let seconds = match unit {
        "us" => number * 1e-6,
        "ms" => number * 1e-3,
        "s" => number,
        _ => return Err(wrong()),
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if time <= RTT_MAX => Ok(time),
        _ => Err(wrong()),
    }
}

fn parse_bandwidth(text: &str) -> Result<u64, NetworkModelError> {
    let wrong = || NetworkModelError::Bandwidth { text: text.to_owned() };
    let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
    let bits = match unit {
        "kbit" => number * 1e3,
        "mbit" => number * 1e6,
        "gbit" => number * 1e9,
        _ => return Err(wrong()),
    };
    // Far above what can be simulated, and far below where a conversion would saturate.
    if bits < BITS_PER_SECOND_MIN as f64 || bits > 1e12 {
        return Err(wrong());
    }
    Ok(bits as u64)
}

/// Messages on the simulated wire.
pub(crate) struct DelayLine {
    model: NetworkModel,
    waiting: VecDeque<(Instant, MessageKind, Vec<u8>)>,
    waiting_bytes: usize,
    bytes_max: usize,
    /// When the last message will have left the sender.
    line_free: Instant,
}

impl DelayLine {
    pub(crate) fn new(model: NetworkModel) -> Self {
        DelayLine {
            bytes_max: model.memory_bytes() - BUFFER_BYTES,
            model,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            line_free: Instant::now(),
        }
    }

    /// Whether another buffer may enter the line.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting_bytes < self.bytes_max
    }

    /// Puts a message on the line, in pieces.
    pub(crate) fn accept(&mut self, kind: MessageKind, content: &[u8], now: Instant) {
        if kind != MessageKind::Data {
            return self.accept_piece(kind, content, now);
        }
        for piece in content.chunks(PIECE_BYTES) {
            self.accept_piece(kind, piece, now);
        }
    }

    fn accept_piece(&mut self, kind: MessageKind, content: &[u8], now: Instant) {
        let bits = 8 * (HEADER_BYTES + content.len()) as u64;
        let on_the_line = match self.model.bandwidth_bits_per_second {
            // At most 8 * 64 Ki bits times 10^9 is below 2^50: no overflow.
            Some(bandwidth) => Duration::from_nanos(bits * 1_000_000_000 / bandwidth),
            None => Duration::ZERO,
        };
        self.line_free = self.line_free.max(now) + on_the_line;
        self.waiting_bytes += content.len() + PIECE_OVERHEAD_BYTES;
        self.waiting.push_back((self.line_free + self.model.rtt / 2, kind, content.to_vec()));
    }

    /// When the next message arrives.
    pub(crate) fn next_release(&self) -> Option<Instant> {
        self.waiting.front().map(|(release, _, _)| *release)
    }

    /// The next message that has arrived by `now`.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(MessageKind, Vec<u8>)> {
        if self.next_release()? > now {
            return None;
        }
        let (_, kind, piece) = self.waiting.pop_front()?;
        self.waiting_bytes -= piece.len() + PIECE_OVERHEAD_BYTES;
        Some((kind, piece))
    }
}
