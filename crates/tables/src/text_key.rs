//! [`TextKey`]: the key under which texts are hashed before they enter a computation.
//!
//! HMAC-SHA-256 (RFC 2104). The key is derived from the identifier of the session, so that all
//! parties hash alike, and differs between sessions. It is not stored after the run: who took no
//! part cannot test guesses against a hash. Whoever took part can compute the key.

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// Bytes of a block of SHA-256.
const BLOCK_BYTES: usize = 64;

/// The key of a session's texts.
#[derive(Clone)]
pub struct TextKey(Zeroizing<[u8; KEY_BYTES]>);

impl TextKey {
    /// A key of these bytes, which are chosen at random.
    pub fn new(bytes: Zeroizing<[u8; KEY_BYTES]>) -> TextKey {
        TextKey(bytes)
    }

    /// The key of a session, the same at all parties.
    pub fn of_session(session: &[u8; 32]) -> TextKey {
        let digest = Sha256::new().chain_update("phineus text key").chain_update(session);
        TextKey(Zeroizing::new(digest.finalize().into()))
    }

    /// A key that everybody knows: to compare texts of one file with each other.
    pub fn within_a_file() -> TextKey {
        TextKey(Zeroizing::new([0; KEY_BYTES]))
    }

    /// The bytes, for another process of the same party.
    pub fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// The hash of a text.
    pub fn hash(&self, text: &[u8]) -> [u8; 32] {
        let padded = |pad: u8| {
            let mut block = Zeroizing::new([pad; BLOCK_BYTES]);
            block.iter_mut().zip(self.0.iter()).for_each(|(byte, key)| *byte ^= key);
            block
        };
        let inner =
            Sha256::new().chain_update(padded(0x36).as_slice()).chain_update(text).finalize();
        Sha256::new().chain_update(padded(0x5c).as_slice()).chain_update(inner).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, section 4.2 and 4.3: shorter keys are filled with zeros.
    #[test]
    fn hashes_are_those_of_hmac() {
        let key = |bytes: &[u8]| {
            let mut key = [0; KEY_BYTES];
            key[..bytes.len()].copy_from_slice(bytes);
            TextKey(Zeroizing::new(key))
        };
        let first = key(&[0x0b; 20]).hash(b"Hi There");
        assert_eq!(first[..8], [0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53]);
        let second = key(b"Jefe").hash(b"what do ya want for nothing?");
        assert_eq!(second[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
    }

    #[test]
    fn sessions_have_keys_of_their_own() {
        let hash = |id: u8| TextKey::of_session(&[id; 32]).hash(b"ann");
        assert_eq!(hash(1), hash(1));
        assert_ne!(hash(1), hash(2));
        assert_ne!(hash(1), TextKey::within_a_file().hash(b"ann"));
    }
}
