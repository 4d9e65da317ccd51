//! Operations on 1, 2 and 4 blocks at a time, for x86-64.
//!
//! [`xmm`], [`ymm`] and [`zmm`] offer the same names, so that a kernel is written once as a macro
//! over such a module: `#[target_feature]` does not pass through generic functions, and inside a
//! function that has the features nearly all of this is safe code. Values that hold several
//! blocks have one block in each 128-bit lane, in order.
//!
//! AES key schedule (FIPS 197 section 5.2): a round key is the previous one XOR its running XOR
//! over words XOR SubWord(RotWord(last word)) XOR Rcon. Instead of AESKEYGENASSIST, which is slow
//! and works on one key, a byte shuffle puts the rotated last word into all four columns, where
//! AESENCLAST is SubBytes and the XOR with Rcon (ShiftRows moves nothing between equal columns).

pub(crate) mod key_words;
pub(crate) mod xmm;
pub(crate) mod ymm;
pub(crate) mod zmm;

/// Round constants of FIPS 197 section 5.2, `x^(i-1)` in GF(2^8), for rounds 1 to 10.
pub(crate) const RCON: [i32; 10] = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1B, 0x36];

/// Round keys of AES-128: one before the first round and one for each of ten.
pub(crate) const ROUND_KEYS: usize = 1 + RCON.len();

/// RotWord of the last word (bytes 12..16) into every word: a shuffle control for one lane.
const ROTATED_LAST_WORD: i32 = 0x0C_0F_0E_0D;

/// RotWord of every word, then the inverse of ShiftRows: a shuffle control for one lane, low half
/// first. AESENCLAST of the result is SubWord(RotWord) of every word, in place.
///
/// ShiftRows takes byte `r + 4 * c` from `r + 4 * (c + r)`, RotWord from `(r + 1) + 4 * c`, so
/// byte `r + 4 * c` comes from `(r + 1) % 4 + 4 * ((c - r) % 4)`.
const INVERSE_SHIFT_ROT_WORDS: [i64; 2] = inverse_shift_rot_words();

const fn inverse_shift_rot_words() -> [i64; 2] {
    let mut control = [0; 2];
    let mut byte = 0;
    while byte < 16 {
        let (row, column) = (byte % 4, byte / 4);
        let from = (row + 1) % 4 + 4 * ((column + 4 - row) % 4);
        control[byte / 8] |= (from as i64) << (8 * (byte % 8));
        byte += 1;
    }
    control
}
