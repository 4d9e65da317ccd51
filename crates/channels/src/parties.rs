//! [`Parties`]: the other parties of a protocol, each behind a channel.
//!
//! Cost of [`Parties::exchange`] and [`Parties::open_xor`]: one round, and the payload once to
//! each peer. Nothing is added to the payload, so bytes on the channels are bytes of the protocol.

use crate::{
    Channel, ChannelError, MAX_BORROW_BYTES, MemoryChannel, SEND_AHEAD_BYTES, SEND_AHEAD_BYTES_MIN,
    Traffic, memory_pair_named,
};

/// Bytes that a party sends to each other one before it turns to the next.
const PIECE_BYTES: usize = MAX_BORROW_BYTES;

/// Pieces that all parties send before they receive the first of them, so that a long message takes
/// one latency and not one for each piece. A peer may be as far behind as this party is ahead of it,
/// and that far ahead of what it has received: all of it is no more than a channel takes without a
/// reader, so that no two parties wait for each other.
const fn pieces_ahead(ahead_bytes: usize) -> usize {
    ahead_bytes / (2 * PIECE_BYTES)
}
const _: () = assert!(pieces_ahead(SEND_AHEAD_BYTES) == 4);
const _: () = assert!(pieces_ahead(SEND_AHEAD_BYTES_MIN) == 1);
const _: () = assert!(PIECE_BYTES.is_multiple_of(16));

/// The other parties of a protocol, and which party this is.
pub struct Parties<C> {
    me: usize,
    channels: Vec<Option<C>>,
}

impl<C: Channel> Parties<C> {
    /// Party `me` with a channel to every other party, by their indices.
    ///
    /// # Panics
    /// If there is a channel to itself, or none to another party.
    pub fn new(me: usize, channels: Vec<Option<C>>) -> Parties<C> {
        assert!(channels.len() >= 2, "a protocol has two parties or more");
        let right = channels.iter().enumerate().all(|(i, channel)| channel.is_none() == (i == me));
        assert!(right && me < channels.len(), "a channel to every party but itself");
        Parties { me, channels }
    }

    /// Which party this is.
    pub fn me(&self) -> usize {
        self.me
    }

    /// How many parties there are, this one included.
    pub fn count(&self) -> usize {
        self.channels.len()
    }

    /// All other parties, ascending.
    pub fn peers(&self) -> impl Iterator<Item = usize> + use<C> {
        let me = self.me;
        (0..self.channels.len()).filter(move |&party| party != me)
    }

    /// The channel to `peer`.
    ///
    /// # Panics
    /// If `peer` is this party or no party.
    pub fn channel(&mut self, peer: usize) -> &mut C {
        self.channels[peer].as_mut().expect("a party has no channel to itself")
    }

    /// Bytes that a party may be ahead of each peer without blocking for ever; the same at all
    /// parties.
    pub fn ahead_bytes(&self) -> usize {
        let ahead = self.channels.iter().flatten().map(Channel::ahead_bytes);
        ahead.min().expect("there is another party")
    }

    /// Payload bytes to and from each party; none to this one.
    pub fn traffic(&self) -> Vec<Traffic> {
        let of = |channel: &Option<C>| channel.as_ref().map(Channel::traffic).unwrap_or_default();
        self.channels.iter().map(of).collect()
    }

    /// The channels, by party.
    pub fn into_channels(self) -> Vec<Option<C>> {
        self.channels
    }

    /// Hands everything sent so far to the transports.
    ///
    /// # Errors
    /// When a channel fails.
    pub fn flush(&mut self) -> Result<(), ChannelError> {
        self.channels.iter_mut().flatten().try_for_each(Channel::flush)
    }

    /// Sends `outgoing[p]` to each peer `p` and fills `incoming[p]` with what it sends.
    ///
    /// The lengths are part of the protocol: both ends know them.
    ///
    /// # Errors
    /// When a channel fails.
    pub fn exchange(
        &mut self,
        outgoing: &[&[u8]],
        incoming: &mut [&mut [u8]],
    ) -> Result<(), ChannelError> {
        let both = outgoing.iter().zip(&*incoming);
        let lengths: Vec<_> = both.map(|(sent, received)| (sent.len(), received.len())).collect();
        let fill = |_: &_, peer: usize, at: usize, buffer: &mut [u8]| {
            buffer.copy_from_slice(&outgoing[peer][at..at + buffer.len()]);
        };
        let take = |incoming: &mut &mut [&mut [u8]], peer: usize, at: usize, bytes: &[u8]| {
            incoming[peer][at..at + bytes.len()].copy_from_slice(bytes);
            Ok::<_, ChannelError>(())
        };
        self.exchange_in_pieces(&lengths, &mut { incoming }, fill, take)
    }

    /// As [`Parties::exchange`], without buffers: `fill` writes what goes to a peer from an offset
    /// on, `take` looks at what came from it. `lengths` are, by party, the bytes sent and received.
    ///
    /// A piece is taken only when all peers have been sent the same piece, so `state` may hold what
    /// is sent and be changed in place. Offsets and lengths of pieces are multiples of 16, but the
    /// last one's length. Some pieces are sent ahead: one round trip for a whole window of them.
    ///
    /// # Errors
    /// When a channel fails, and those of `take`.
    pub fn exchange_in_pieces<S, E: From<ChannelError>>(
        &mut self,
        lengths: &[(usize, usize)],
        state: &mut S,
        fill: impl Fn(&S, usize, usize, &mut [u8]),
        mut take: impl FnMut(&mut S, usize, usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let longest = lengths.iter().map(|&(sent, received)| sent.max(received)).max();
        let count = longest.unwrap_or(0).div_ceil(PIECE_BYTES);
        let piece = |index: usize, len: usize| {
            let start = (index * PIECE_BYTES).min(len);
            start..(start + PIECE_BYTES).min(len)
        };
        let ahead = pieces_ahead(self.ahead_bytes());
        for index in 0..count + ahead - 1 {
            for peer in self.peers() {
                let piece = piece(index, lengths[peer].0);
                if !piece.is_empty() {
                    let channel = self.channel(peer);
                    channel.send_with(piece.len(), |buffer| {
                        fill(state, peer, piece.start, buffer);
                    })?;
                    channel.flush()?;
                }
            }
            let Some(index) = (index + 1).checked_sub(ahead) else { continue };
            for peer in self.peers() {
                let piece = piece(index, lengths[peer].1);
                if !piece.is_empty() {
                    let channel = self.channel(peer);
                    channel
                        .recv_with(piece.len(), |bytes| take(state, peer, piece.start, bytes))??;
                }
            }
        }
        Ok(())
    }

    /// Opens XOR shares in place: afterwards `bytes` is the XOR of all parties' `bytes`.
    ///
    /// # Errors
    /// When a channel fails.
    pub fn open_xor(&mut self, bytes: &mut [u8]) -> Result<(), ChannelError> {
        for piece in bytes.chunks_mut(PIECE_BYTES) {
            for channel in self.channels.iter_mut().flatten() {
                channel.send(piece)?;
                channel.flush()?;
            }
            for channel in self.channels.iter_mut().flatten() {
                channel.recv_with(piece.len(), |theirs| {
                    piece.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours ^= theirs);
                })?;
            }
        }
        Ok(())
    }
}

/// All parties of a protocol inside one process, joined pairwise: for tests and dry runs.
pub fn memory_mesh(parties: usize) -> Vec<Parties<MemoryChannel>> {
    memory_mesh_ahead(parties, SEND_AHEAD_BYTES)
}

/// Returns a mesh in memory on whose channels a party may be `ahead_bytes` ahead of its peer.
pub fn memory_mesh_ahead(parties: usize, ahead_bytes: usize) -> Vec<Parties<MemoryChannel>> {
    let mut channels: Vec<Vec<Option<MemoryChannel>>> = Vec::new();
    for second in 0..parties {
        let mut own = Vec::new();
        for (first, row) in channels.iter_mut().enumerate() {
            let names = [first, second].map(|party| format!("party_{party}"));
            let (mut near, mut far) = memory_pair_named(&names[0], &names[1]);
            near.set_ahead(ahead_bytes);
            far.set_ahead(ahead_bytes);
            row.push(Some(near));
            own.push(Some(far));
        }
        own.push(None);
        channels.push(own);
    }
    channels.into_iter().enumerate().map(|(me, channels)| Parties::new(me, channels)).collect()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn everybody_gets_what_everybody_sent() {
        for (count, halvings) in [2, 3, 5].into_iter().zip(0..) {
            let handles: Vec<_> = memory_mesh_ahead(count, SEND_AHEAD_BYTES >> halvings)
                .into_iter()
                .map(|mut parties| {
                    thread::spawn(move || {
                        let me = parties.me();
                        let length = |from: usize, to: usize| 200_000 * from + to;
                        let outgoing: Vec<Vec<u8>> =
                            (0..count).map(|to| vec![me as u8; length(me, to)]).collect();
                        let mut incoming: Vec<Vec<u8>> =
                            (0..count).map(|from| vec![99; length(from, me)]).collect();
                        incoming[me].clear();
                        let sent: Vec<&[u8]> = outgoing.iter().map(Vec::as_slice).collect();
                        let mut got: Vec<&mut [u8]> =
                            incoming.iter_mut().map(Vec::as_mut_slice).collect();
                        parties.exchange(&sent, &mut got).expect("the exchange works");
                        for (from, bytes) in incoming.iter().enumerate() {
                            assert!(bytes.iter().all(|&byte| byte == from as u8));
                        }
                        let mut opened = vec![1 << me; 300_000];
                        parties.open_xor(&mut opened).expect("the opening works");
                        assert!(opened.iter().all(|&byte| byte == (1 << count) - 1));
                    })
                })
                .collect();
            handles.into_iter().for_each(|handle| handle.join().expect("no party panics"));
        }
    }
}
