//! [`OtKind`]: an OT extension that is chosen at run time.
//!
//! Costs, invariants and what is not protected are those of the extension: `softspoken` needs
//! only AES and most bytes, `silent` fewest bytes, more time, memory and assumptions.

use phineus_channels::Channel;
use phineus_crypto::{Block, Delta, Prg};

use super::costs;
use super::lpn::LpnParameters;
use super::parameters::FieldBits;
use super::silent::{self, SilentReceiver, SilentSender};
use super::softspoken::{self, SoftSpokenReceiver, SoftSpokenSender};
use super::{CorrelatedOtReceiver, CorrelatedOtSender, SessionId};
use crate::OtError;

/// A semi-honest OT extension and its size; the same at both parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtKind {
    /// 128 / k bits per OT.
    SoftSpoken(FieldBits),
    /// Less than a bit or little more, and one more per OT where choices are chosen.
    Silent(LpnParameters),
}

impl From<FieldBits> for OtKind {
    fn from(field: FieldBits) -> OtKind {
        OtKind::SoftSpoken(field)
    }
}

impl OtKind {
    /// Bytes that the sender sends in a set-up, and the receiver.
    pub fn setup_bytes(self) -> (u64, u64) {
        match self {
            OtKind::SoftSpoken(field) => costs::setup_bytes(field),
            OtKind::Silent(size) => silent::setup_bytes(size),
        }
    }

    /// Messages of a set-up that wait for one another.
    pub fn setup_rounds(self) -> u64 {
        match self {
            OtKind::SoftSpoken(_) => 2,
            OtKind::Silent(size) => silent::setup_rounds(size),
        }
    }

    /// Messages that wait for one another when both directions are set up.
    pub fn both_setup_rounds(self) -> u64 {
        match self {
            OtKind::SoftSpoken(_) => self.setup_rounds(),
            // One direction after the other.
            OtKind::Silent(_) => 2 * self.setup_rounds(),
        }
    }

    /// Sets up both directions with a peer: as sender with `delta` in the session `outgoing`, as
    /// receiver in `incoming`. One of the two parties is `first`.
    ///
    /// # Errors
    /// When the channel fails or the peer sends what no honest peer sends.
    pub fn setup_both(
        self,
        channel: &mut impl Channel,
        prg: &mut Prg,
        (outgoing, incoming): (&SessionId, &SessionId),
        delta: Delta,
        first: bool,
    ) -> Result<(OtExtensionSender, OtExtensionReceiver), OtError> {
        if let OtKind::SoftSpoken(field) = self {
            let sessions = (outgoing, incoming);
            let (sender, receiver) = softspoken::setup_both(channel, prg, sessions, field, delta)?;
            let sender = OtExtensionSender::SoftSpoken(sender);
            return Ok((sender, OtExtensionReceiver::SoftSpoken(receiver)));
        }
        if first {
            let sender = OtExtensionSender::setup(channel, prg, outgoing, self, delta)?;
            return Ok((sender, OtExtensionReceiver::setup(channel, prg, incoming, self)?));
        }
        let receiver = OtExtensionReceiver::setup(channel, prg, incoming, self)?;
        Ok((OtExtensionSender::setup(channel, prg, outgoing, self, delta)?, receiver))
    }

    /// Bytes from receiver to sender of one `extend` by `count` OTs.
    pub fn extension_bytes(self, count: u64) -> u64 {
        match self {
            OtKind::SoftSpoken(field) => costs::extension_bytes(count, field),
            OtKind::Silent(_) => count.div_ceil(8),
        }
    }

    /// Bytes from receiver to sender of one `extend_random` by `count` OTs.
    pub fn random_extension_bytes(self, count: u64) -> u64 {
        match self {
            OtKind::SoftSpoken(field) => costs::random_extension_bytes(count, field),
            OtKind::Silent(_) => 0,
        }
    }

    /// Messages from sender to receiver that the reservations of so many OTs of a session take,
    /// if all that is reserved is used.
    pub fn reservations(self, count: u64) -> u64 {
        match self {
            OtKind::SoftSpoken(_) => 0,
            OtKind::Silent(size) => silent::iterations(count, size),
        }
    }

    /// Bytes of each of these messages.
    pub fn reservation_bytes(self) -> u64 {
        match self {
            OtKind::SoftSpoken(_) => 0,
            OtKind::Silent(size) => size.iteration_bytes(),
        }
    }

    /// Bytes of memory that either party holds from set-up to the end.
    pub fn state_bytes(self) -> usize {
        match self {
            OtKind::SoftSpoken(field) => softspoken::state_bytes(field),
            OtKind::Silent(size) => silent::state_bytes(size),
        }
    }
}

/// The sender of either extension.
pub enum OtExtensionSender {
    /// See [`SoftSpokenSender`].
    SoftSpoken(SoftSpokenSender),
    /// See [`SilentSender`].
    Silent(Box<SilentSender>),
}

/// The receiver of either extension.
pub enum OtExtensionReceiver {
    /// See [`SoftSpokenReceiver`].
    SoftSpoken(SoftSpokenReceiver),
    /// See [`SilentReceiver`].
    Silent(Box<SilentReceiver>),
}

impl OtExtensionSender {
    /// Sets up an extension of a kind; the bytes in each direction are those of
    /// [`OtKind::setup_bytes`].
    ///
    /// # Errors
    /// When the channel fails or the peer sends what no honest peer sends.
    pub fn setup(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        kind: OtKind,
        delta: Delta,
    ) -> Result<OtExtensionSender, OtError> {
        Ok(match kind {
            OtKind::SoftSpoken(field) => {
                let ot = SoftSpokenSender::setup(channel, prg, session, field, delta)?;
                OtExtensionSender::SoftSpoken(ot)
            }
            OtKind::Silent(size) => {
                let ot = SilentSender::setup(channel, prg, session, size, delta)?;
                OtExtensionSender::Silent(Box::new(ot))
            }
        })
    }
}

impl OtExtensionReceiver {
    /// The counterpart of [`OtExtensionSender::setup`].
    ///
    /// # Errors
    /// When the channel fails or the peer sends what no honest peer sends.
    pub fn setup(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        kind: OtKind,
    ) -> Result<OtExtensionReceiver, OtError> {
        Ok(match kind {
            OtKind::SoftSpoken(field) => {
                let ot = SoftSpokenReceiver::setup(channel, prg, session, field)?;
                OtExtensionReceiver::SoftSpoken(ot)
            }
            OtKind::Silent(size) => {
                let ot = SilentReceiver::setup(channel, prg, session, size)?;
                OtExtensionReceiver::Silent(Box::new(ot))
            }
        })
    }
}

impl CorrelatedOtSender for OtExtensionSender {
    fn delta(&self) -> &Delta {
        match self {
            OtExtensionSender::SoftSpoken(ot) => ot.delta(),
            OtExtensionSender::Silent(ot) => ot.delta(),
        }
    }

    fn reserve(&mut self, channel: &mut impl Channel, count: usize) -> Result<(), OtError> {
        match self {
            OtExtensionSender::SoftSpoken(ot) => ot.reserve(channel, count),
            OtExtensionSender::Silent(ot) => ot.reserve(channel, count),
        }
    }

    fn extend(&mut self, channel: &mut impl Channel, q: &mut [Block]) -> Result<(), OtError> {
        match self {
            OtExtensionSender::SoftSpoken(ot) => ot.extend(channel, q),
            OtExtensionSender::Silent(ot) => ot.extend(channel, q),
        }
    }

    fn extend_random(
        &mut self,
        channel: &mut impl Channel,
        q: &mut [Block],
    ) -> Result<(), OtError> {
        match self {
            OtExtensionSender::SoftSpoken(ot) => ot.extend_random(channel, q),
            OtExtensionSender::Silent(ot) => ot.extend_random(channel, q),
        }
    }
}

impl CorrelatedOtReceiver for OtExtensionReceiver {
    fn reserve(&mut self, channel: &mut impl Channel, count: usize) -> Result<(), OtError> {
        match self {
            OtExtensionReceiver::SoftSpoken(ot) => ot.reserve(channel, count),
            OtExtensionReceiver::Silent(ot) => ot.reserve(channel, count),
        }
    }

    fn extend(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        t: &mut [Block],
    ) -> Result<(), OtError> {
        match self {
            OtExtensionReceiver::SoftSpoken(ot) => ot.extend(channel, choices, t),
            OtExtensionReceiver::Silent(ot) => ot.extend(channel, choices, t),
        }
    }

    fn extend_random(
        &mut self,
        channel: &mut impl Channel,
        choices: &mut [u64],
        t: &mut [Block],
    ) -> Result<(), OtError> {
        match self {
            OtExtensionReceiver::SoftSpoken(ot) => ot.extend_random(channel, choices, t),
            OtExtensionReceiver::Silent(ot) => ot.extend_random(channel, choices, t),
        }
    }
}
