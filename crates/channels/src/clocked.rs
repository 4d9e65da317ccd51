//! A mesh in memory that counts rounds: the longest chain of messages of which each was sent after the one before had come.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::{Channel, ChannelError, MemoryChannel, Parties, Traffic, memory_mesh};

/// Bytes of each message that was not read yet, and how long the chain is that ends with it.
type Log = Arc<Mutex<VecDeque<(usize, u64)>>>;

/// A channel with Lamport's clock, which all channels of a party share.
pub struct ClockedChannel {
    channel: MemoryChannel,
    clock: Arc<AtomicU64>,
    outgoing: Log,
    incoming: Log,
}

impl Channel for ClockedChannel {
    fn send_with<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ChannelError> {
        let depth = self.clock.load(Ordering::Relaxed) + 1;
        self.outgoing.lock().expect("no party panics").push_back((len, depth));
        self.channel.send_with(len, fill)
    }

    fn recv_with<R>(
        &mut self,
        len: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ChannelError> {
        let read = self.channel.recv_with(len, read)?;
        let (mut log, mut left) = (self.incoming.lock().expect("no party panics"), len);
        while left > 0 {
            let (bytes, depth) = log.front_mut().expect("what came was sent");
            let taken = left.min(*bytes);
            (*bytes, left) = (*bytes - taken, left - taken);
            self.clock.fetch_max(*depth, Ordering::Relaxed);
            if *bytes == 0 {
                log.pop_front();
            }
        }
        Ok(read)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        self.channel.flush()
    }

    fn traffic(&self) -> Traffic {
        self.channel.traffic()
    }
}

/// A mesh of so many parties, and their clocks.
pub fn clocked_mesh(count: usize) -> (Vec<Parties<ClockedChannel>>, Vec<Arc<AtomicU64>>) {
    let clocks: Vec<Arc<AtomicU64>> = (0..count).map(|_| Arc::default()).collect();
    (clocked_mesh_beside(&clocks), clocks)
}

/// Another mesh of parties with these clocks.
pub fn clocked_mesh_beside(clocks: &[Arc<AtomicU64>]) -> Vec<Parties<ClockedChannel>> {
    let count = clocks.len();
    let logs: Vec<Vec<Log>> =
        (0..count).map(|_| (0..count).map(|_| Log::default()).collect()).collect();
    let parties = memory_mesh(count).into_iter().enumerate().map(|(me, parties)| {
        let channels = parties.into_channels().into_iter().enumerate();
        let clocked = channels.map(|(peer, channel)| {
            channel.map(|channel| ClockedChannel {
                channel,
                clock: clocks[me].clone(),
                outgoing: logs[me][peer].clone(),
                incoming: logs[peer][me].clone(),
            })
        });
        Parties::new(me, clocked.collect())
    });
    parties.collect()
}
