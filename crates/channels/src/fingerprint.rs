//! Fingerprint of a public key, in a form that people can read to each other.
//!
//! `PH1-XXXX-XXXX-XXXX-XXXX-XXXX-XXXX-XXXX`: the first 135 bits of the SHA-256 of the key's
//! SubjectPublicKeyInfo as 27 characters of Crockford's base32, and one check character. Finding
//! another key with the same fingerprint takes about 2^135 hashes.
//!
//! The check character is the sum of the 27 symbols weighted with distinct powers of a generator
//! of GF(32): it catches every single wrong character and every swap of two different ones.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const PREFIX: &str = "PH1";
const SYMBOLS: usize = 27;
const GROUP: usize = 4;

// 27 symbols of 5 bits come out of the digest, and with the check they make whole groups.
const _: () = assert!(SYMBOLS * 5 <= 256 && (SYMBOLS + 1).is_multiple_of(GROUP));
// The weights are powers 1..=27 of an element of order 31: all different.
const _: () = assert!(SYMBOLS <= 31);

/// The fingerprint of a public key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; SYMBOLS]);

/// Faults in the text of a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FingerprintError {
    /// Not of the form `PH1-XXXX-…`.
    #[error("`{text}` is not a fingerprint, it looks like PH1-XXXX-XXXX-XXXX-XXXX-XXXX-XXXX-XXXX")]
    Form {
        /// The text in question.
        text: String,
    },
    /// The check character does not fit.
    #[error("`{text}` has a typing error, compare it with the original character by character")]
    Check {
        /// The text in question.
        text: String,
    },
}

impl Fingerprint {
    /// The fingerprint of a key, given as DER-encoded SubjectPublicKeyInfo.
    pub fn of_public_key(spki_der: &[u8]) -> Self {
        let digest = Sha256::digest(spki_der);
        let mut symbols = [0; SYMBOLS];
        for (i, symbol) in symbols.iter_mut().enumerate() {
            let bit = 5 * i;
            let pair = u16::from_be_bytes([digest[bit / 8], digest[bit / 8 + 1]]);
            *symbol = (pair >> (16 - 5 - bit % 8)) as u8 & 31;
        }
        Fingerprint(symbols)
    }

    fn check_symbol(&self) -> u8 {
        let mut weight = 1;
        self.0.iter().fold(0, |sum, &symbol| {
            weight = gf32_multiply(weight, 2);
            sum ^ gf32_multiply(weight, symbol)
        })
    }
}

/// Multiplies in GF(2)\[x\] modulo the primitive polynomial x^5 + x^2 + 1.
fn gf32_multiply(a: u8, b: u8) -> u8 {
    let product = (0..5).filter(|i| b >> i & 1 == 1).fold(0u16, |sum, i| sum ^ u16::from(a) << i);
    let reduced = (5..9).rev().fold(product, |rest, i| {
        if rest >> i & 1 == 1 { rest ^ 0b10_0101 << (i - 5) } else { rest }
    });
    reduced as u8
}

impl ConstantTimeEq for Fingerprint {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        for (i, &symbol) in self.0.iter().chain(&[self.check_symbol()]).enumerate() {
            if i.is_multiple_of(GROUP) {
                f.write_str("-")?;
            }
            write!(f, "{}", char::from(ALPHABET[usize::from(symbol)]))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    /// Reads a fingerprint; case, spaces and the place of hyphens do not matter, and the letters
    /// O, I and L are read as the digits they look like.
    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let form = || FingerprintError::Form { text: text.chars().take(80).collect() };
        let compact: String = text.chars().filter(|c| !matches!(c, '-' | ' ')).collect();
        let compact = compact.to_ascii_uppercase();
        let body = compact.strip_prefix(PREFIX).ok_or_else(form)?.as_bytes();
        if body.len() != SYMBOLS + 1 {
            return Err(form());
        }
        let mut symbols = [0; SYMBOLS + 1];
        for (symbol, character) in symbols.iter_mut().zip(body) {
            let character = match character {
                b'O' => b'0',
                b'I' | b'L' => b'1',
                other => *other,
            };
            let place = ALPHABET.iter().position(|&c| c == character).ok_or_else(form)?;
            *symbol = place as u8;
        }
        let (&check, body) = symbols.split_last().expect("the array is not empty");
        let fingerprint = Fingerprint(body.try_into().expect("one symbol was split off"));
        if fingerprint.check_symbol() != check {
            return Err(FingerprintError::Check { text: text.to_owned() });
        }
        Ok(fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_generator_has_order_31() {
        let mut power = 1;
        for i in 1..=31 {
            power = gf32_multiply(power, 2);
            assert_eq!(power == 1, i == 31);
        }
    }

    #[test]
    fn the_text_is_the_digest_in_base32() {
        // SHA-256("") starts e3b0c442 98fc1c14: 11100 01110 11000 01100 ...
        let text = Fingerprint::of_public_key(b"").to_string();
        assert!(text.starts_with("PH1-WERC-8GMR-ZGE1"), "{text}");
        assert_eq!(text.len(), 3 + 7 * 5);
    }

    #[test]
    fn what_people_mistype_is_read_or_refused() -> Result<(), FingerprintError> {
        let fingerprint = Fingerprint::of_public_key(b"");
        let text = fingerprint.to_string();
        assert_eq!(text.to_lowercase().replace('-', " ").parse::<Fingerprint>()?, fingerprint);
        assert_eq!(
            text.replace('1', "l").replace("PHl", "PH1").parse::<Fingerprint>()?,
            fingerprint
        );
        for wrong in ["", "PH1", "PH2-WERC", &text[..text.len() - 1], "PH1-ÄÖÜ", "x"] {
            assert!(matches!(wrong.parse::<Fingerprint>(), Err(FingerprintError::Form { .. })));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn one_wrong_character_or_one_swap_is_caught(
            key: [u8; 8], at in 4usize..38, other in 0usize..32, swap in 4usize..38,
        ) {
            let fingerprint = Fingerprint::of_public_key(&key);
            let text = fingerprint.to_string();
            prop_assert_eq!(text.parse::<Fingerprint>(), Ok(fingerprint));
            let original = text.as_bytes();
            let at = if original[at] == b'-' { at + 1 } else { at };
            let swap = if original[swap] == b'-' { swap + 1 } else { swap };
            let mut wrong = original.to_vec();
            wrong[at] = ALPHABET[other];
            let mut swapped = original.to_vec();
            swapped.swap(at, swap);
            for changed in [wrong, swapped] {
                if changed != original {
                    let changed = String::from_utf8(changed).expect("only ASCII was put in");
                    let read = changed.parse::<Fingerprint>();
                    let refused = matches!(read, Err(FingerprintError::Check { .. }));
                    prop_assert!(refused, "{} for {}", changed, text);
                }
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            if let Ok(fingerprint) = text.parse::<Fingerprint>() {
                prop_assert_eq!(fingerprint.to_string().parse::<Fingerprint>(), Ok(fingerprint));
            }
        }
    }
}
