//! Messages find their place by their headers: all frames of all streams and parties go through one
//! bag, from which a carrier takes them in random order.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use super::*;
use crate::framed::Connected;
use crate::limits::REORDER_MESSAGES;
use crate::reader::MessageReader;
use crate::transport::{Cut, READ_PAUSE, ReadHalf, TransportError, WriteHalf};

/// A frame on its way to a party.
type TestMessage = (usize, Vec<u8>);

/// Puts each message into the bag.
struct BagWriteHalf {
    bag: Sender<TestMessage>,
    to: usize,
    wire_bytes: u64,
}

impl WriteHalf for BagWriteHalf {
    fn write(&mut self, header: &[u8], payload: &[u8]) -> Result<(), TransportError> {
        self.wire_bytes += (header.len() + payload.len()) as u64;
        // A carrier that is gone has nothing more to carry: the test is over.
        let _ = self.bag.send((self.to, [header, payload].concat()));
        Ok(())
    }

    fn close(&mut self) -> Result<(), TransportError> {
        // The carrier ends a stream after its bye.
        Ok(())
    }

    fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }
}

/// Gives out frames as they come from the carrier.
struct BagReadHalf {
    frames: Receiver<Vec<u8>>,
    rest: Vec<u8>,
    wire_bytes: u64,
}

impl ReadHalf for BagReadHalf {
    fn read(&mut self, wanted: &mut [u8], _ahead: &mut [u8]) -> Result<usize, TransportError> {
        if self.rest.is_empty() {
            self.rest = match self.frames.recv_timeout(READ_PAUSE) {
                Ok(frame) => frame,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into());
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            };
        }
        let count = wanted.len().min(self.rest.len());
        wanted[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        self.wire_bytes += count as u64;
        Ok(count)
    }

    fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }

    fn is_ordered(&self) -> bool {
        false
    }
}

struct NoCut;

impl Cut for NoCut {
    fn cut(&self) {}

    fn is_writable(&self, _bytes: usize) -> bool {
        true
    }
}

/// A small generator, so that a failure can be repeated from its seed.
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Which receiver a frame belongs to: its party, and what its header says.
type Address = (usize, u64, u16);

/// Carries frames until all senders are gone: keeps some back and takes one of them by chance.
/// Returns how often a frame overtook another one of its stream.
fn carry(
    bag: &Receiver<TestMessage>,
    to: &mut HashMap<Address, Sender<Vec<u8>>>,
    seed: u64,
) -> usize {
    let (mut random, mut parted) = (TestRng(seed), HashSet::new());
    let (mut held, mut overtakes): (Vec<(Address, u64, Vec<u8>)>, usize) = (Vec::new(), 0);
    loop {
        let wait = if held.is_empty() { READ_PAUSE } else { Duration::from_micros(200) };
        match bag.recv_timeout(wait) {
            Ok((party, frame)) => {
                let header = parse_header(&frame).expect("parties send messages");
                held.push(((party, header.session, header.stream), header.sequence, frame));
                if held.len() < 20 {
                    continue;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) if held.is_empty() => return overtakes,
            Err(RecvTimeoutError::Disconnected) => {}
        }
        if held.is_empty() {
            continue;
        }
        // Never further ahead than the window: then the oldest of that stream goes first.
        let chosen = random.below(held.len());
        let (address, sequence) = (held[chosen].0, held[chosen].1);
        let oldest = (0..held.len())
            .filter(|&at| held[at].0 == address)
            .min_by_key(|&at| held[at].1)
            .expect("the chosen one is among them");
        let is_far = sequence - held[oldest].1 >= REORDER_MESSAGES;
        let (address, sequence, frame) = held.swap_remove(if is_far { oldest } else { chosen });
        overtakes += held.iter().filter(|other| other.0 == address && other.1 < sequence).count();
        let receiver = to.get(&address).expect("the header names a stream that exists");
        if frame[3] == MessageKind::Bye as u8 {
            parted.insert(address);
        }
        // A receiver that is done wants nothing more.
        let _ = receiver.send(frame);
        // A bye is the last that was sent: without its sender the stream ends.
        if parted.contains(&address) && !held.iter().any(|other| other.0 == address) {
            to.remove(&address);
        }
    }
}

/// Two parties with two streams over one bag.
fn shuffled(seed: u64) -> ([Vec<FramedChannel>; 2], thread::JoinHandle<usize>) {
    let (bag, frames) = channel();
    let mut receivers = HashMap::new();
    let mut ends = [Vec::new(), Vec::new()];
    // No keep-alives, so that a bye is the last of a stream.
    let timeouts = Timeouts { keep_alive: Duration::from_secs(100), ..timeouts() };
    for (session, stream) in [(11, 0), (11, 1)] {
        for (party, channels) in ends.iter_mut().enumerate() {
            let (sender, frames) = channel();
            receivers.insert((party, session, stream), sender);
            let source = BagReadHalf { frames, rest: Vec::new(), wire_bytes: 0 };
            let peer = ["site_b", "site_a"][party].to_owned();
            let connected = Connected {
                round_trip: None,
                session,
                stream,
                is_ordered: source.is_ordered(),
                reader: MessageReader::new(Box::new(source), &peer, timeouts.lost),
                peer,
                sink: Box::new(BagWriteHalf { bag: bag.clone(), to: 1 - party, wire_bytes: 0 }),
                cut: Box::new(NoCut),
            };
            let channel = FramedChannel::start(connected, timeouts, None);
            channels.push(channel.expect("the system has threads"));
        }
    }
    let carrier = thread::spawn(move || carry(&frames, &mut receivers, seed));
    (ends, carrier)
}

#[test]
fn messages_may_come_in_any_order() {
    let mut overtakes = 0;
    for seed in 1..=4u64 {
        let ([mut a, mut b], carrier) = shuffled(seed);
        let sending = thread::spawn(move || -> Result<_, ChannelError> {
            let mut next = 0u32;
            for round in 0..300 {
                for channel in &mut a {
                    for _ in 0..round % 7 + 1 {
                        channel.send(&next.to_le_bytes().repeat(1 + round as usize % 50))?;
                        channel.flush()?;
                        next += 1;
                    }
                }
            }
            let heard: Vec<_> =
                a.iter_mut().map(|a| a.exchange(b"all sent")).collect::<Result<_, _>>()?;
            assert_eq!(heard, [b"all here", b"all here"], "seed {seed}");
            Ok(a)
        });
        let mut next = 0u32;
        for round in 0..300 {
            for channel in &mut b {
                for _ in 0..round % 7 + 1 {
                    for _ in 0..1 + round % 50 {
                        let word = channel
                            .recv_with(4, |bytes| {
                                u32::from_le_bytes(bytes.try_into().expect("four"))
                            })
                            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                        assert_eq!(word, next, "seed {seed}");
                    }
                    next += 1;
                }
            }
        }
        for channel in &mut b {
            assert_eq!(
                channel.exchange(b"all here").expect("it comes"),
                b"all sent",
                "seed {seed}"
            );
        }
        let a = sending.join().expect("sending does not panic").expect("seed {seed}");
        let closing = thread::spawn(move || {
            a.into_iter().for_each(|channel| channel.close().expect("a clean end"));
        });
        b.into_iter().for_each(|channel| channel.close().expect("a clean end"));
        closing.join().expect("closing does not panic");
        overtakes += carrier.join().expect("the carrier does not panic");
    }
    assert!(overtakes > 1000, "only {overtakes} messages were overtaken: the test tests nothing");
}
