//! Oblivious transfer: base OTs, their extension, and random and chosen OTs on top.
//!
//! Read `softspoken` first. What each module is:
//!
//! | module | gives | from |
//! |---|---|---|
//! | [`base`] | 128-bit random pads | elliptic curves |
//! | [`softspoken`] | correlated OTs, any number | 128 base OTs and AES |
//! | [`silent`] | the same for less than a bit each | `softspoken`, LPN |
//! | [`ideal`] | correlated and base OTs for tests | a trusted dealer in the process |
//! | [`random`] | random OTs of blocks, and of packed bits | correlated OTs and a hash |
//! | [`correlated`] | shares of choice times x: C-XOR and C+ | random OTs |
//! | [`product`] | shares of products in `Z_2^w` | random OTs |
//! | [`precomputed`] | C-XOR and C+ made ahead, then one round | random OTs |
//! | [`chosen`] | OTs of chosen 128-bit messages | random OTs |
//!
//! [`OtKind`] chooses between the two extensions while a program runs.
//!
//! Adversary: semi-honest from the extension upwards, or any receiver with
//! [`AdversaryModel::Malicious`]; the base OTs are secure against a malicious party. Everything
//! works on slices over a [`Channel`] and is usable on its own.

pub mod base;
pub mod chosen;
mod consistency;
pub mod correlated;
pub mod costs;
pub mod deviation;
mod error;
pub mod ideal;
mod iterations;
mod kind;
pub mod limits;
mod lpn;
pub mod packing;
mod parameters;
mod pprf;
pub mod precomputed;
pub mod product;
pub mod random;
mod random_bits;
mod random_rows;
mod raw;
pub mod silent;
pub mod softspoken;
mod spcot;
mod tile;
mod vole;

#[cfg(test)]
mod tests;

use phineus_channels::Channel;
use phineus_crypto::{Block, Delta};
use sha2::{Digest, Sha256};

pub use chosen::{ChosenOtReceiver, ChosenOtSender};
pub use correlated::Correlation;
pub use costs::{extension_bytes, random_extension_bytes, setup_bytes};
pub use error::OtError;
pub use kind::{OtExtensionReceiver, OtExtensionSender, OtKind};
pub use lpn::LpnParameters;
pub use parameters::{AdversaryModel, FieldBits};
pub use precomputed::{PrecomputedReceiver, PrecomputedSender};
pub use product::product_bytes;
pub use random::{ChoiceBits, RandomOtReceiver, RandomOtSender};
pub use random_rows::ROW_BITS_MAX;
pub use raw::OtTweaks;
pub use silent::{SilentReceiver, SilentSender};
pub use softspoken::{SoftSpokenReceiver, SoftSpokenSender, setup_both, state_bytes};

/// The party that holds delta in correlated OTs.
///
/// Both parties extend by the same counts in the same order, except that a party may cut one count
/// into pieces as long as all but the last are multiples of [`limits::TILE_OTS`].
pub trait CorrelatedOtSender {
    /// The offset common to all OTs.
    fn delta(&self) -> &Delta;

    /// Makes sure that the next `count` OTs need no message from this party; only sends.
    ///
    /// Before extending, both parties reserve the same counts in the same order, and never extend
    /// by more. An extension without messages from its sender has nothing to do.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `count` is more than can be reserved at a time ([`LpnParameters::output_ots`]).
    fn reserve(&mut self, _: &mut impl Channel, _count: usize) -> Result<(), OtError> {
        Ok(())
    }

    /// Makes `q.len()` OTs with choices of the receiver; only receives.
    ///
    /// # Errors
    /// When the channel fails.
    fn extend(&mut self, channel: &mut impl Channel, q: &mut [Block]) -> Result<(), OtError>;

    /// As [`CorrelatedOtSender::extend`], with random choices.
    ///
    /// # Errors
    /// When the channel fails.
    fn extend_random(&mut self, channel: &mut impl Channel, q: &mut [Block])
    -> Result<(), OtError>;
}

/// The party that chooses in correlated OTs.
///
/// Choices are packed bits: choice `j` is bit `j % 64` of word `j / 64`.
pub trait CorrelatedOtReceiver {
    /// Takes what the sender's [`CorrelatedOtSender::reserve`] sends; only receives.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `count` is more than can be reserved at a time ([`LpnParameters::output_ots`]).
    fn reserve(&mut self, _: &mut impl Channel, _count: usize) -> Result<(), OtError> {
        Ok(())
    }

    /// Makes `t.len()` OTs: `t[j]` is the sender's `q[j]`, XOR delta if choice `j` is 1.
    ///
    /// Only sends, so a receiver may extend several times before its sender does. Bits of
    /// `choices` beyond the last OT are ignored.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `choices` is not exactly long enough.
    fn extend(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        t: &mut [Block],
    ) -> Result<(), OtError>;

    /// As [`CorrelatedOtReceiver::extend`], but with random choices, which it writes; a little
    /// cheaper. Bits of `choices` beyond the last OT mean nothing.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `choices` is not exactly long enough.
    fn extend_random(
        &mut self,
        channel: &mut impl Channel,
        choices: &mut [u64],
        t: &mut [Block],
    ) -> Result<(), OtError>;
}

/// Identifier of a session: public, the same at both parties, never used for two sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionId([u8; 32]);

impl SessionId {
    /// The session named by `bytes`, of which both parties are sure that it is new.
    pub fn new(bytes: [u8; 32]) -> SessionId {
        SessionId(bytes)
    }

    /// The name as given.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The session in which the parties of this one have changed places.
    pub fn reversed(&self) -> SessionId {
        let digest = Sha256::new().chain_update("phineus reversed session 1").chain_update(self.0);
        SessionId(digest.finalize().into())
    }

    /// The public key of a hash for `purpose` in this session.
    fn hash_key(&self, purpose: &str) -> Block {
        let digest =
            Sha256::new().chain_update(purpose).chain_update([0]).chain_update(self.0).finalize();
        let (half, _) = digest.split_first_chunk::<16>().expect("a digest has 32 bytes");
        Block::from_bits(u128::from_le_bytes(*half))
    }
}
