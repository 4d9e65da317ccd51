//! Channels of a run whose messages are watched, and its secrets.

use std::thread;

use phineus_channels::{
    Channel, ChannelError, MemoryChannel, Parties, Traffic, memory_mesh, memory_pair,
};
use phineus_crypto::secret::classify;
use phineus_crypto::{Block, Prg};

use crate::watch::Log;

/// A channel whose messages are watched from the moment they are sent.
pub struct Wire {
    channel: MemoryChannel,
    log: Log,
}

impl Channel for Wire {
    fn send_with<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ChannelError> {
        let log = &mut self.log;
        self.channel.send_with(len, |bytes| {
            let result = fill(bytes);
            log.sent(bytes);
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

    fn ahead_bytes(&self) -> usize {
        self.channel.ahead_bytes()
    }
}

/// Two ends.
pub fn pair() -> (Wire, Wire) {
    let (a, b) = memory_pair();
    (Wire { channel: a, log: Log::new(0, 1) }, Wire { channel: b, log: Log::new(1, 0) })
}

/// All parties of a protocol, joined pairwise.
pub fn mesh(count: usize) -> Vec<Parties<Wire>> {
    let wired = |parties: Parties<MemoryChannel>| {
        let me = parties.me();
        let channels = parties.into_channels().into_iter().enumerate();
        let wired = channels.map(|(peer, channel)| {
            channel.map(|channel| Wire { channel, log: Log::new(me, peer) })
        });
        Parties::new(me, wired.collect())
    };
    memory_mesh(count).into_iter().map(wired).collect()
}

/// A secret block.
pub fn secret_block(number: u128) -> Block {
    let mut block = Block::from_bits(number);
    classify(&mut block);
    block
}

/// A generator with a secret seed: all that it gives is secret.
pub fn secret_prg(number: u128) -> Prg {
    Prg::from_seed(secret_block(number))
}

/// Secret words.
pub fn secret_words(prg: &mut Prg, count: usize) -> Vec<u64> {
    let mut words = vec![0u64; count];
    prg.fill_bytes(zerocopy::IntoBytes::as_mut_bytes(&mut words[..]));
    words
}

/// Runs both ends of a protocol.
pub fn both<A: Send, B: Send>(
    first: impl FnOnce(Wire) -> A + Send,
    second: impl FnOnce(Wire) -> B + Send,
) -> (A, B) {
    let (a, b) = pair();
    thread::scope(|scope| {
        let first = scope.spawn(move || first(a));
        let second = second(b);
        (first.join().expect("no party panics"), second)
    })
}

/// Runs each party on a thread of its own.
pub fn on_threads<A: Send, B: Send>(inputs: Vec<A>, run: impl Fn(A) -> B + Sync) -> Vec<B> {
    thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> =
            inputs.into_iter().map(|input| scope.spawn(move || run(input))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no party panics")).collect()
    })
}
