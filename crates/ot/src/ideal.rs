//! OTs from a trusted dealer in the process: for tests of what stands above OT.
//!
//! Both ends know everything the dealer knows, so there is no security at all; nothing is sent.

#[cfg(any(test, feature = "testing"))]
pub mod base_ots;

use phineus_channels::Channel;
use phineus_crypto::{Block, Delta, Prg, SecretBit};

use super::{CorrelatedOtReceiver, CorrelatedOtSender};
use crate::OtError;

/// The dealer's end for the sender.
pub struct IdealSender {
    delta: Delta,
    blocks: Prg,
}

/// The dealer's end for the receiver.
pub struct IdealReceiver {
    delta: Delta,
    blocks: Prg,
    choices: Prg,
}

/// Two ends that agree on `delta` and on everything drawn from `seed`.
pub fn pair(seed: Block, delta: Delta) -> (IdealSender, IdealReceiver) {
    let blocks = || Prg::from_seed(seed);
    let choices = Prg::from_seed(seed ^ Block::from_bits(1));
    (
        IdealSender { delta: delta.clone(), blocks: blocks() },
        IdealReceiver { delta, blocks: blocks(), choices },
    )
}

impl CorrelatedOtSender for IdealSender {
    fn delta(&self) -> &Delta {
        &self.delta
    }

    fn extend(&mut self, _: &mut impl Channel, q: &mut [Block]) -> Result<(), OtError> {
        self.blocks.fill_blocks(q);
        Ok(())
    }

    fn extend_random(
        &mut self,
        channel: &mut impl Channel,
        q: &mut [Block],
    ) -> Result<(), OtError> {
        self.extend(channel, q)
    }
}

impl CorrelatedOtReceiver for IdealReceiver {
    fn extend(
        &mut self,
        _: &mut impl Channel,
        choices: &[u64],
        t: &mut [Block],
    ) -> Result<(), OtError> {
        assert_eq!(choices.len(), t.len().div_ceil(64), "one choice bit per OT");
        self.blocks.fill_blocks(t);
        for (j, t) in t.iter_mut().enumerate() {
            *t ^= self.delta.block().and_bit(SecretBit::of_packed(choices, j));
        }
        Ok(())
    }

    fn extend_random(
        &mut self,
        channel: &mut impl Channel,
        choices: &mut [u64],
        t: &mut [Block],
    ) -> Result<(), OtError> {
        for choices in choices.iter_mut() {
            *choices = self.choices.next_block().to_bits() as u64;
        }
        self.extend(channel, choices, t)
    }
}
