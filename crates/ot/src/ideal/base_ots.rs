//! Base OTs from the dealer, for tests of extensions and of what stands above them.
//!
//! Only with the feature `testing`: no program can use them by mistake.

use phineus_channels::Channel;
use phineus_crypto::{Block, Prg};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::base::{self, BaseOts};
use crate::{OtError, SessionId};

/// Base OTs from the dealer: the same pads at both parties, from the session alone.
pub enum IdealBaseOts {}

/// The choices of a receiver, until it takes its pads.
pub struct IdealChoices {
    session: SessionId,
    choices: Zeroizing<Vec<u64>>,
}

impl BaseOts for IdealBaseOts {
    type ReceiverSent = IdealChoices;

    fn send(
        _: &mut impl Channel,
        _: &mut Prg,
        session: &SessionId,
        pads: &mut [[Block; 2]],
    ) -> Result<(), OtError> {
        deal(session, pads);
        Ok(())
    }

    fn issue_receive(
        _: &mut impl Channel,
        _: &mut Prg,
        session: &SessionId,
        choices: &[u64],
        count: usize,
    ) -> Result<IdealChoices, OtError> {
        assert_eq!(choices.len(), count.div_ceil(64), "one choice bit per pad");
        Ok(IdealChoices { session: session.clone(), choices: Zeroizing::new(choices.to_vec()) })
    }

    fn finish_receive(
        sent: IdealChoices,
        _: &mut impl Channel,
        pads: &mut [Block],
    ) -> Result<(), OtError> {
        let mut both = Zeroizing::new(vec![[Block::ZERO; 2]; pads.len()]);
        deal(&sent.session, &mut both);
        for (i, (pad, both)) in pads.iter_mut().zip(both.iter()).enumerate() {
            *pad = both[usize::from(base::choice(&sent.choices, i))];
        }
        Ok(())
    }
}

/// Both pads of each base OT of a session.
fn deal(session: &SessionId, pads: &mut [[Block; 2]]) {
    let digest = Sha256::new().chain_update(session.as_bytes()).finalize();
    let (seed, _) = digest.split_first_chunk::<16>().expect("a digest has 32 bytes");
    let mut prg = Prg::from_seed(Block::from_bits(u128::from_le_bytes(*seed)));
    prg.fill_blocks(pads.as_flattened_mut());
}
