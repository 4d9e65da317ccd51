//! [`PageCipher`]: encrypts pages of secrets before they go to storage and finds tampered ones.
//!
//! Source: AES-128 in counter mode (NIST SP 800-38A section 6.5), then a Wegman-Carter tag over
//! the ciphertext: POLYVAL (`polyval/mod.rs`) masked by one more key-stream block, the shape of
//! GCM. Two different pages of at most `n` blocks have hashes with a given XOR under at most
//! `n + 1` keys (the difference is a polynomial of that degree in the key), and each nonce masks
//! one hash only. So one wrong guess at a tag succeeds with probability at most `(n + 1) / 2^128`,
//! 2^-115 for pages of 64 KiB, besides the advantage of telling AES from a random permutation.
//! The nonce is the number of the write, kept in memory with the tag: an older page, or one from
//! another slot, was sealed under another nonce and is found like any other change.
//! A polynomial hash and not an AES-based MAC: with four blocks per carry-less multiplication it
//! costs less than the key stream, and no assumption beyond it.
//!
//! Cost: one AES call and one field multiplication per 16 bytes; 16 bytes of tag per page.
//! Invariants: a nonce is used for at most one `seal`; keys are wiped on drop.
//! Not protected: *which* page is read or written, and when; that is public by design.

use crate::cipher::Cipher;
use crate::polyval::Polyval;
use crate::secret::{classify, declassify, declassify_choice};
use crate::{Block, Kernel};
use subtle::ConstantTimeEq;
use zerocopy::IntoBytes;

/// The authentication tag of one sealed page.
#[derive(Clone, Copy, Default)]
pub struct Tag([u8; 16]);

impl Tag {
    /// The tag as it is stored beside its page.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// The inverse of [`Tag::to_bytes`].
    pub fn from_bytes(bytes: [u8; 16]) -> Tag {
        Tag(bytes)
    }
}

/// The page is not what was sealed under this nonce: it was changed, or storage is failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stored page does not match its authentication tag")]
pub struct TagMismatch;

/// Seals and opens pages under one key.
pub struct PageCipher {
    cipher: Cipher,
    polyval: Polyval,
}

impl PageCipher {
    /// The cipher whose keys are derived from `seed`, which should come fresh from a
    /// [`crate::Prg`] and be used for nothing else.
    pub fn from_seed(seed: Block) -> PageCipher {
        PageCipher::with_kernel(Kernel::selected(), seed)
    }

    /// As [`PageCipher::from_seed`], on a given kernel.
    pub fn with_kernel(kernel: Kernel, seed: Block) -> PageCipher {
        let cipher = Cipher::new(kernel, seed);
        let mut hash_key = zeroize::Zeroizing::new(Block::ZERO);
        cipher.fill_keystream(HASH_KEY_COUNTER, hash_key.as_mut_bytes());
        PageCipher { polyval: Polyval::new(kernel, *hash_key), cipher }
    }

    /// XORs the key stream of `nonce` into `page`: encrypts or decrypts it, with no tag.
    ///
    /// # Security
    /// Two different pages under one nonce reveal their XOR; a reader must not trust the result.
    pub fn apply(&self, nonce: u64, page: &mut [u8]) {
        self.cipher.xor_keystream(page_counter(nonce), page);
    }

    /// Encrypts `page` in place and returns its tag.
    ///
    /// # Security
    /// `nonce` must never be used for a second `seal` under the same key.
    #[must_use]
    pub fn seal(&self, nonce: u64, page: &mut [u8]) -> Tag {
        self.apply(nonce, page);
        let tag = self.tag(nonce, page);
        declassify(page, "encrypted, to be written to storage");
        declassify(&tag, "tag of an encrypted page");
        Tag(tag)
    }

    /// Decrypts `page` in place if it is what [`PageCipher::seal`] made under this nonce.
    ///
    /// # Errors
    /// [`TagMismatch`] if it is not; `page` is then left encrypted.
    pub fn open(&self, nonce: u64, page: &mut [u8], tag: Tag) -> Result<(), TagMismatch> {
        let is_right = self.tag(nonce, page).ct_eq(&tag.0);
        if declassify_choice(is_right, "whether a stored page was changed") {
            self.apply(nonce, page);
            classify(page);
            Ok(())
        } else {
            Err(TagMismatch)
        }
    }

    /// POLYVAL over the padded ciphertext and its length, masked by a block that no page uses.
    fn tag(&self, nonce: u64, ciphertext: &[u8]) -> [u8; 16] {
        let length_bytes = Block::from_bits(ciphertext.len() as u128);
        let mut tag = self.polyval.hash(ciphertext, length_bytes);
        self.cipher.xor_keystream(tag_counter(nonce), tag.as_mut_bytes());
        tag.to_bits().to_le_bytes()
    }
}

/// Key-stream blocks of one nonce: the first 2^63 are the page, the rest masks its tag, of which
/// one block is used. So `counter = nonce * 2^64 + offset` separates pages from tags and nonces.
const fn page_counter(nonce: u64) -> u128 {
    (nonce as u128) << 64
}

const fn tag_counter(nonce: u64) -> u128 {
    page_counter(nonce) + (1 << 63)
}

/// The hash key is block 2^63 + 1 of nonce 0: beyond every page block and no tag mask.
const HASH_KEY_COUNTER: u128 = tag_counter(0) + 1;

#[cfg(test)]
mod tests {
    use super::*;
    use ::polyval::{Polyval, universal_hash::UniversalHash};

    fn page(length: usize) -> Vec<u8> {
        (0..length).map(|i| (i * 7 + i / 256) as u8).collect()
    }

    #[test]
    fn opens_what_it_sealed_on_any_pair_of_kernels() {
        let seed = Block::from_bits(99);
        for length in [0, 1, 15, 16, 17, 511, 4096, 65536] {
            let mut reference = page(length);
            let portable = PageCipher::with_kernel(Kernel::PORTABLE, seed);
            let want = portable.seal(5, &mut reference);
            for kernel in Kernel::supported() {
                let cipher = PageCipher::with_kernel(kernel, seed);
                let mut sealed = page(length);
                let tag = cipher.seal(5, &mut sealed);
                assert!(sealed == reference && tag.0 == want.0, "{} {length}", kernel.name());
                assert_eq!(cipher.open(5, &mut sealed, tag), Ok(()));
                assert!(sealed == page(length), "{} {length}", kernel.name());
            }
        }
    }

    /// The tag by its definition, from the cipher's key stream and the `polyval` crate, whose own
    /// vectors are those of RFC 8452.
    #[test]
    fn the_tag_is_the_documented_one() {
        let seed = Block::from_bits(7);
        let stream = |counter: u128| {
            let mut block = [0; 16];
            Cipher::new(Kernel::PORTABLE, seed).fill_keystream(counter, &mut block);
            block
        };
        let mut sealed = page(40);
        let tag = PageCipher::from_seed(seed).seal(3, &mut sealed);

        let mut hash = Polyval::new(&stream((1 << 63) + 1).into());
        hash.update_padded(&sealed);
        hash.update(&[40_u128.to_le_bytes().into()]);
        let mask = stream((3 << 64) + (1 << 63));
        let expected: Vec<u8> = hash.finalize().iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert!(tag.0[..] == expected[..]);
    }

    #[test]
    fn any_change_is_found_and_nothing_is_decrypted() {
        let cipher = PageCipher::from_seed(Block::from_bits(1));
        let mut sealed = page(300);
        let tag = cipher.seal(8, &mut sealed);
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let before = changed.clone();
            assert_eq!(cipher.open(8, &mut changed, tag), Err(TagMismatch));
            assert!(changed == before);
        }
        for bit in 0..128 {
            let mut wrong = tag;
            wrong.0[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(cipher.open(8, &mut sealed, wrong), Err(TagMismatch));
        }
        assert_eq!(cipher.open(9, &mut sealed, tag), Err(TagMismatch), "another nonce");
        assert_eq!(cipher.open(8, &mut sealed[..299], tag), Err(TagMismatch), "another length");
        assert_eq!(cipher.open(8, &mut sealed, tag), Ok(()));
    }

    #[test]
    fn nonces_give_unrelated_pages() {
        let cipher = PageCipher::from_seed(Block::from_bits(2));
        let mut pages = [[0; 64]; 4];
        for (nonce, page) in [0, 1, 2, u64::MAX].into_iter().zip(&mut pages) {
            cipher.apply(nonce, page);
        }
        let mut blocks: Vec<_> = pages.iter().flat_map(|page| page.chunks(16)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), 16, "a key-stream block was used twice");
    }
}
