//! [`Pads`]: AES-128 of numbers under a secret key, in any order.
//!
//! Source: FIPS 197. Cost: one AES call for each block.
//! Invariants: the key is wiped on drop. Whoever hides values by pads uses each number once.

use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use crate::cipher::Cipher;
use crate::{Block, Kernel};

/// A secret key, and its cipher.
pub struct Pads {
    key: Zeroizing<Block>,
    cipher: Cipher,
}

impl Pads {
    /// Under this key.
    pub fn new(key: Block) -> Pads {
        Pads { key: Zeroizing::new(key), cipher: Cipher::new(Kernel::selected(), key) }
    }

    /// The key.
    pub fn key(&self) -> Block {
        *self.key
    }

    /// Sets `pads` to the encryptions of the numbers from `first` on, whose low half must not wrap.
    pub fn fill(&self, first: u128, pads: &mut [Block]) {
        self.cipher.fill_keystream(first, pads.as_mut_bytes());
    }
}

#[cfg(test)]
mod tests {
    use aes::Aes128;
    use aes::cipher::{BlockCipherEncrypt, KeyInit};

    use super::*;

    #[test]
    fn pads_are_encryptions_of_numbers() {
        let key = 0x0123_4567_89ab_cdef_u128;
        let cipher = Aes128::new(&key.to_le_bytes().into());
        let pads = Pads::new(Block::from_bits(key));
        let first = (5 << 64) + 77;
        let mut found = [Block::ZERO; 9];
        pads.fill(first, &mut found);
        for (number, pad) in (first..).zip(found) {
            let mut block = u128::to_le_bytes(number).into();
            cipher.encrypt_block(&mut block);
            assert_eq!(pad.to_bits(), u128::from_le_bytes(block.into()), "number {number}");
        }
    }
}
