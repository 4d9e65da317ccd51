//! [`RecordCipher`]: AES-128-GCM, with which TLS 1.3 protects its records.
//!
//! Source: NIST SP 800-38D, algorithms 4 (encryption) and 5 (decryption), nonces of 96 bits; GHASH
//! by POLYVAL as RFC 8452, appendix A, says. It reads from one place and writes to another, so that
//! records are not copied besides, and uses the widest instructions of this CPU.
//!
//! Cost: one AES call and one field multiplication per 16 bytes.
//! Invariants: keys are wiped on drop; a tag is compared in constant time.
//! Not protected: anything, once a nonce has sealed twice under a key.

use crate::cipher::Cipher;
use crate::polyval::Polyval;
use crate::{Block, Kernel};
use subtle::ConstantTimeEq;
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

/// Bytes of a tag, which stands behind the ciphertext.
pub const TAG_BYTES: usize = 16;

const BLOCK_BYTES: usize = size_of::<Block>();

/// Seals and opens records under one key.
pub struct RecordCipher {
    cipher: Cipher,
    hash: Polyval,
}

impl RecordCipher {
    /// The cipher under `key`.
    pub fn new(kernel: Kernel, key: &[u8; 16]) -> RecordCipher {
        let key = Zeroizing::new(Block::from_bits(u128::from_le_bytes(*key)));
        let cipher = Cipher::new(kernel, *key);
        let mut hash_key = Zeroizing::new([0; BLOCK_BYTES]);
        cipher.xor_big_endian(0, &[0; BLOCK_BYTES], &mut *hash_key);
        let hash_key = Zeroizing::new(times_x(u128::from_be_bytes(*hash_key)));
        RecordCipher { cipher, hash: Polyval::new(kernel, Block::from_bits(*hash_key)) }
    }

    /// Writes the ciphertext of all `pieces`, one behind the other, and its tag to `sealed`, which
    /// has that length.
    ///
    /// # Security
    /// `nonce` must never be used for a second `seal` under the same key.
    pub fn seal(&self, nonce: &[u8; 12], associated: &[u8], pieces: &[&[u8]], sealed: &mut [u8]) {
        let (text, tag) = sealed.split_at_mut(sealed.len() - TAG_BYTES);
        // What of the pieces so far is no whole block.
        let mut part = Zeroizing::new([0; BLOCK_BYTES]);
        let (mut in_part, mut at) = (0, 0);
        for piece in pieces {
            let mut piece = *piece;
            if in_part > 0 {
                let count = piece.len().min(BLOCK_BYTES - in_part);
                part[in_part..in_part + count].copy_from_slice(&piece[..count]);
                (in_part, piece) = (in_part + count, &piece[count..]);
                if in_part < BLOCK_BYTES {
                    continue;
                }
                self.apply(nonce, at, &*part, &mut text[at..at + BLOCK_BYTES]);
                at += BLOCK_BYTES;
            }
            let (whole, rest) = piece.split_at(piece.len() / BLOCK_BYTES * BLOCK_BYTES);
            self.apply(nonce, at, whole, &mut text[at..at + whole.len()]);
            at += whole.len();
            part[..rest.len()].copy_from_slice(rest);
            in_part = rest.len();
        }
        self.apply(nonce, at, &part[..in_part], &mut text[at..]);
        tag.copy_from_slice(&self.tag(nonce, associated, text));
    }

    /// Whether `sealed` is what [`RecordCipher::seal`] makes of something.
    #[must_use]
    pub fn is_authentic(&self, nonce: &[u8; 12], associated: &[u8], sealed: &[u8]) -> bool {
        let Some((text, tag)) = sealed.split_last_chunk::<TAG_BYTES>() else {
            return false;
        };
        self.tag(nonce, associated, text).ct_eq(tag).into()
    }

    /// Encrypts or decrypts `source`, which begins at byte `from` of a record, a multiple of 16, to
    /// `target`.
    ///
    /// # Security
    /// What is decrypted is to be trusted only if the record [is authentic](Self::is_authentic).
    pub fn apply(&self, nonce: &[u8; 12], from: usize, source: &[u8], target: &mut [u8]) {
        debug_assert!(from.is_multiple_of(BLOCK_BYTES), "key streams begin at blocks");
        // Block 1 masks the tag.
        let counter = first_counter(nonce) + 1 + (from / BLOCK_BYTES) as u128;
        self.cipher.xor_big_endian(counter, source, target);
    }

    /// GHASH of what is authenticated, masked.
    fn tag(&self, nonce: &[u8; 12], associated: &[u8], text: &[u8]) -> [u8; TAG_BYTES] {
        let [of_associated, of_text] = [associated, text].map(|bytes| 8 * bytes.len() as u128);
        let lengths = Block::from_bits((of_associated << 64 | of_text).swap_bytes());
        let hash = self.hash.hash_reversed(associated, text, lengths);
        let hash = Block::from_bits(hash.to_bits().swap_bytes());
        let mut tag = [0; TAG_BYTES];
        self.cipher.xor_big_endian(first_counter(nonce), hash.as_bytes(), &mut tag);
        tag
    }
}

/// The first counter block of a nonce, as a number. 2^32 blocks have the same nonce: 64 GiB.
fn first_counter(nonce: &[u8; 12]) -> u128 {
    let number = nonce.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
    number << 32 | 1
}

/// `mulX_POLYVAL` of RFC 8452, appendix A: shifts, and reduces without a branch.
fn times_x(value: u128) -> u128 {
    const MODULUS: u128 = 0xC200_0000_0000_0000_0000_0000_0000_0001;
    (value << 1) ^ ((value >> 127).wrapping_neg() & MODULUS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits");
        (0..hex.len()).step_by(2).map(digits).collect()
    }

    fn sealed(cipher: &RecordCipher, nonce: &[u8], associated: &[u8], text: &[&[u8]]) -> Vec<u8> {
        let length: usize = text.iter().map(|piece| piece.len()).sum();
        let mut sealed = vec![0xEE; length + TAG_BYTES];
        cipher.seal(nonce.try_into().expect("96 bits"), associated, text, &mut sealed);
        sealed
    }

    /// Test cases 1 to 4 of McGrew, Viega, "The Galois/Counter Mode of Operation (GCM)", appendix
    /// B.
    #[test]
    fn the_published_vectors() {
        let text = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
                    1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255";
        let sealed_text = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
                           21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985";
        let (zeros, key) = ("00".repeat(16), "feffe9928665731c6d6a8f9467308308");
        let (no_nonce, nonce) = ("00".repeat(12), "cafebabefacedbaddecaf888");
        let associated = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
        let cases = [
            (&*zeros, &*no_nonce, "", "", "", "58e2fccefa7e3061367f1d57a4e7455a"),
            (
                &zeros,
                &no_nonce,
                "",
                &zeros,
                "0388dace60b6a392f328c2b971b2fe78",
                "ab6e47d42cec13bdf53a67b21257bddf",
            ),
            (key, nonce, "", text, sealed_text, "4d5c2af327cd64a62cf35abd2ba6fab4"),
            (
                key,
                nonce,
                associated,
                &text[..120],
                &sealed_text[..120],
                "5bc94fbc3221a5db94fae95ae7121a47",
            ),
        ];
        for kernel in Kernel::supported() {
            for (key, nonce, associated, text, sealed_text, tag) in cases {
                let cipher = RecordCipher::new(kernel, &bytes(key).try_into().expect("128 bits"));
                let found = sealed(&cipher, &bytes(nonce), &bytes(associated), &[&bytes(text)]);
                let expected = bytes(&format!("{sealed_text}{tag}"));
                assert!(found == expected, "{}, {} bytes", kernel.name(), text.len() / 2);
            }
        }
    }

    #[test]
    fn any_kernel_opens_what_any_other_sealed_in_any_pieces() {
        let (key, nonce) = ([7; 16], [9; 12]);
        let portable = RecordCipher::new(Kernel::PORTABLE, &key);
        for length in [0, 1, 15, 16, 17, 63, 64, 511, 1023, 1024, 1025, 2049, 16_385] {
            let text: Vec<u8> = (0..length).map(|i| (i * 7 + i / 256) as u8).collect();
            let expected = sealed(&portable, &nonce, &[1, 2, 3], &[&text]);
            for kernel in Kernel::supported() {
                let cipher = RecordCipher::new(kernel, &key);
                for cut in [0, 1, 15, 16, 20, 33, length / 2] {
                    let (first, rest) = text.split_at(cut.min(length));
                    let (second, third) = rest.split_at(rest.len() / 3);
                    let found = sealed(&cipher, &nonce, &[1, 2, 3], &[first, second, &[], third]);
                    assert!(found == expected, "{} {length} {cut}", kernel.name());
                }
                assert!(cipher.is_authentic(&nonce, &[1, 2, 3], &expected));
                let mut opened = vec![0; length];
                cipher.apply(&nonce, 0, &expected[..length], &mut opened);
                assert!(opened == text, "{} {length}", kernel.name());
                let from = length / 2 / 16 * 16;
                cipher.apply(&nonce, from, &expected[from..length], &mut opened[from..]);
                assert!(opened == text, "{} {length} from {from}", kernel.name());
            }
        }
    }

    #[test]
    fn any_change_is_found() {
        for kernel in Kernel::supported() {
            let (cipher, nonce) = (RecordCipher::new(kernel, &[3; 16]), [5; 12]);
            let mut record = sealed(&cipher, &nonce, &[1, 2, 3], &[&[6; 77]]);
            assert!(cipher.is_authentic(&nonce, &[1, 2, 3], &record));
            assert!(!cipher.is_authentic(&nonce, &[1, 2], &record), "other associated data");
            assert!(!cipher.is_authentic(&[6; 12], &[1, 2, 3], &record), "another nonce");
            assert!(!cipher.is_authentic(&nonce, &[1, 2, 3], &record[..92]), "another length");
            assert!(!cipher.is_authentic(&nonce, &[1, 2, 3], &record[..15]), "no tag");
            for bit in 0..8 * record.len() {
                record[bit / 8] ^= 1 << (bit % 8);
                assert!(!cipher.is_authentic(&nonce, &[1, 2, 3], &record), "bit {bit}");
                record[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}
