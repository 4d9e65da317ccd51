//! Follows the children until all have ended, and finds the failure that began it.

use std::cmp::Reverse;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use phineus_session::failure::{Exit, Failure, codes};
use phineus_session::progress::{Event, Listener, Snapshot};

use super::{ChildProcess, ChildProcesses};
use crate::cancel::cancel;
use crate::display::{ChildExit, ChildMessage, Display};

/// How long the other children may take to end after the first failed.
const FAREWELL: Duration = Duration::from_secs(10);

/// Relays what the children say until all have ended.
pub(super) fn follow(
    parties: &mut ChildProcesses,
    events: &Receiver<(usize, Option<ChildMessage>)>,
    display: &Display,
) -> Result<(), Failure> {
    let count = parties.0.len();
    let mut snapshots = vec![Snapshot::default(); count];
    let mut failures: Vec<Option<Failure>> = vec![None; count];
    let mut is_over = vec![false; count];
    let mut died: Option<usize> = None;
    let mut deadline: Option<Instant> = None;
    let mut is_interrupted = false;
    loop {
        match events.recv_timeout(Duration::from_millis(100)) {
            Ok((index, Some(ChildMessage::Session(event)))) => match event {
                Event::Stage { .. } | Event::Waiting { .. } | Event::Warning { .. } => {
                    display.hear(event);
                }
                Event::Note { text } => {
                    let text = format!("{}: {text}", parties.0[index].name);
                    display.hear(Event::Note { text });
                }
                Event::Running(snapshot) => {
                    snapshots[index] = snapshot;
                    if let Some(merged) = merge(&snapshots) {
                        display.hear(Event::Running(merged));
                    }
                }
            },
            Ok((index, Some(ChildMessage::End(ChildExit::Failed { failure })))) => {
                failures[index] = Failure::from_json(&failure);
                deadline.get_or_insert(Instant::now() + FAREWELL);
            }
            Ok((index, None)) => is_over[index] = true,
            Ok((_, Some(ChildMessage::End(ChildExit::Done)))) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if cancel().is_requested() && !is_interrupted {
            is_interrupted = true;
            deadline = Some(Instant::now() + FAREWELL);
            parties.0.iter().for_each(|party| interrupt_child(&party.child));
        }
        if died.is_none() && !is_interrupted {
            let is_silent = |index: usize| is_over[index] && failures[index].is_none();
            died = died_silently(parties, is_silent)?;
            // Those who have not met it yet would wait for it until their time is over.
            if let Some(died) = died {
                deadline.get_or_insert(Instant::now() + FAREWELL);
                let others = parties.0.iter().enumerate().filter(|(index, _)| *index != died);
                others.for_each(|(_, party)| interrupt_child(&party.child));
            }
        }
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            break;
        }
    }
    display.clear();
    if is_interrupted {
        return Err(Failure::interrupted());
    }
    if died.is_some() {
        // They were told to stop.
        failures.iter_mut().for_each(|failure| {
            failure.take_if(|failure| failure.code.exit == Exit::Interrupted);
        });
    }
    judge(parties, &failures, died, deadline.is_some())
}

/// The first of the silent children that has ended badly, without a word of why.
fn died_silently(
    parties: &mut ChildProcesses,
    is_silent: impl Fn(usize) -> bool,
) -> Result<Option<usize>, Failure> {
    for (index, party) in parties.0.iter_mut().enumerate().filter(|(index, _)| is_silent(*index)) {
        if party.child.try_wait()?.is_some_and(|status| !status.success()) {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// The failure that began it: not that of a child which only lost its peer.
fn judge(
    parties: &mut ChildProcesses,
    failures: &[Option<Failure>],
    died: Option<usize>,
    is_cut_short: bool,
) -> Result<(), Failure> {
    // Of several for whom memory is too little, the one who needs the most.
    let rank = |failure: &&Failure| {
        (failure.code.exit == Exit::PeerLost, Reverse(failure.needed_bytes.unwrap_or(u64::MAX)))
    };
    let root = failures.iter().flatten().min_by_key(rank);
    if let Some(failure) = root
        && failure.code.exit != Exit::PeerLost
    {
        return Err(failure.clone());
    }
    if let Some(party) = died.map(|died| &mut parties.0[died]) {
        let status = party.child.wait()?;
        return Err(ended_badly(party, status));
    }
    for party in &mut parties.0 {
        if is_cut_short {
            let _ = party.child.kill();
        }
        let status = party.child.wait()?;
        let is_known = failures.iter().flatten().next().is_some();
        if !status.success() && (status.code().is_none() || !is_known) {
            return Err(ended_badly(party, status));
        }
    }
    root.map_or(Ok(()), |failure| Err(failure.clone()))
}

/// The failure of a run of which a party's process has ended without saying why.
fn ended_badly(party: &ChildProcess, status: ExitStatus) -> Failure {
    let message = format!("the process of {} ended with {status}", party.name);
    Failure::new(codes::PROCESS_ENDED, message)
}

fn interrupt_child(child: &Child) {
    if let Ok(id) = libc::pid_t::try_from(child.id()) {
        // SAFETY: sends a signal to a child that was not waited for, so its number is its own.
        unsafe { libc::kill(id, libc::SIGINT) };
    }
}

/// Combined progress of the parties: that of the slower one, and the memory of the larger one.
fn merge(snapshots: &[Snapshot]) -> Option<Snapshot> {
    if snapshots.iter().any(|snapshot| snapshot.total == 0) {
        return None;
    }
    let share = |s: &Snapshot| s.done as f64 / s.total as f64;
    let slowest = snapshots.iter().min_by(|a, b| share(a).total_cmp(&share(b)))?;
    let memory_bytes = snapshots.iter().map(|snapshot| snapshot.memory_bytes).max()?;
    Some(Snapshot { memory_bytes, waiting_for: None, ..slowest.clone() })
}
