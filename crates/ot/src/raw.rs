//! Correlated OTs as they are, and their messages later: for protocols that add correlated OTs up before they use them.
//!
//! Cost per OT: that of the correlated OT.
//! Security: a sum that is told to the other party, or used as a pad, has to be hashed, or to follow from what that party
//! has anyway. The caller argues that.

use phineus_channels::Channel;
use phineus_crypto::{Block, Delta};

use super::random::{RandomOtReceiver, RandomOtSender};
use super::{CorrelatedOtReceiver, CorrelatedOtSender};
use crate::OtError;

/// The tweaks of some OTs, one each, that nothing else uses.
#[derive(Clone, Copy, Debug)]
pub struct OtTweaks {
    first: u64,
}

impl OtTweaks {
    /// Those from the OT number `skipped` on.
    #[must_use]
    pub fn skip(self, skipped: usize) -> OtTweaks {
        OtTweaks { first: self.first + skipped as u64 }
    }
}

impl<S: CorrelatedOtSender> RandomOtSender<S> {
    /// The offset of all correlated OTs.
    pub fn delta(&self) -> &Delta {
        self.correlated.delta()
    }

    /// Makes `q.len()` correlated OTs with random choices. Only receives.
    ///
    /// # Errors
    /// When the channel fails.
    pub fn extend_correlated(
        &mut self,
        channel: &mut impl Channel,
        q: &mut [Block],
    ) -> Result<OtTweaks, OtError> {
        self.correlated.extend_random(channel, q)?;
        Ok(OtTweaks { first: self.pads.advance(q.len()) })
    }

    /// Replaces correlated OTs, with the tweaks of just these, by their messages for choice 0; `one` become those for 1.
    pub fn messages(&self, tweaks: OtTweaks, q: &mut [Block], one: &mut [Block]) {
        let delta = self.correlated.delta().block();
        q.iter().zip(one.iter_mut()).for_each(|(&q, one)| *one = q ^ delta);
        self.pads.hash.hash_blocks(tweaks.first, q);
        self.pads.hash.hash_blocks(tweaks.first, one);
    }
}

impl<R: CorrelatedOtReceiver> RandomOtReceiver<R> {
    /// Makes `t.len()` correlated OTs with random choices, which it writes. Only sends.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `choices` is not exactly long enough.
    pub fn extend_correlated(
        &mut self,
        channel: &mut impl Channel,
        choices: &mut [u64],
        t: &mut [Block],
    ) -> Result<OtTweaks, OtError> {
        self.correlated.extend_random(channel, choices, t)?;
        Ok(OtTweaks { first: self.pads.advance(t.len()) })
    }

    /// Replaces correlated OTs, with the tweaks of just these, by their messages.
    pub fn messages(&self, tweaks: OtTweaks, t: &mut [Block]) {
        self.pads.hash.hash_blocks(tweaks.first, t);
    }
}
