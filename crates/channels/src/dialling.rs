//! Dialling a party: all streams that are missing at once.
//!
//! Each stream is a connection of its own that waits for no other, so that meeting a party takes
//! the round trips of one connection ([`TransportKind::round_trips`]), however many streams there
//! are. Each attempt has a thread; what it finds out counts at once, and the first error ends the
//! wait for all ([`MeshSetup::fail`]).
//!
//! Memory: [`CONNECTING_MEMORY_BYTES`](crate::CONNECTING_MEMORY_BYTES) for each attempt.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::framed::FramedChannel;
use crate::limits::THREAD_STACK_BYTES;
use crate::mesh_setup::{AttemptFailure, MeshSetup};
use crate::transport_kind::TransportKind;

/// The party and stream of a connection that this party dialled.
#[derive(Clone, Copy)]
pub(crate) struct DialTarget {
    pub(crate) party: usize,
    pub(crate) stream: u16,
}

/// A session with the party of this number, or why there is none.
pub(crate) type ConnectResult = Result<(usize, FramedChannel), AttemptFailure>;

/// Dials these streams of a party at once; returns for how many a connection stands when all
/// attempts are over.
pub(crate) fn dial_at_once(
    setup: &MeshSetup<'_>,
    party: usize,
    streams: &[u16],
    dial: impl Fn(DialTarget) -> ConnectResult + Sync,
) -> usize {
    let made = AtomicUsize::new(0);
    let attempt = |stream: u16| match dial(DialTarget { party, stream }) {
        Ok((party, channel)) => {
            simulate_connecting(setup);
            setup.put(party, channel);
            made.fetch_add(1, Ordering::Relaxed);
        }
        Err(failed) => setup.settle(Some(party), failed),
    };
    thread::scope(|scope| {
        let (attempt, others) = (&attempt, streams.iter().skip(1));
        for &stream in others {
            let thread = thread::Builder::new().stack_size(THREAD_STACK_BYTES);
            if let Err(error) = thread.spawn_scoped(scope, move || attempt(stream)) {
                setup.note(Some(party), format!("cannot start a thread: {error}"));
            }
        }
        streams.first().copied().into_iter().for_each(attempt);
    });
    made.into_inner()
}

/// Holds a new connection back for as long as a simulated network would have taken to make it.
///
/// Only the party that dialled waits: what it sends first is what the other one waits for.
fn simulate_connecting(setup: &MeshSetup<'_>) {
    let settings = setup.settings;
    let round_trip = settings.network.map_or(Duration::ZERO, |network| network.rtt);
    setup.rest(round_trip * TransportKind::of(settings).round_trips());
}
