//! Sixteen key schedules on 512-bit registers.
//!
//! A step of the schedule costs 7 instructions for sixteen keys: a rotation, SubBytes (GFNI
//! inverts in the field of AES and applies an affine map, which is just the S-box), and five
//! XORs. Transposing the words into round keys costs 8 more. With one key per lane
//! ([`crate::x86::zmm`]) the same takes 24, and the AES units would be busy with it.

use crate::Block;
use crate::x86::zmm::{V, WIDTH};
use std::arch::x86_64::*;

/// Keys in one [`KeyWords`]: four vectors of four.
pub(crate) const KEYS: usize = 4 * WIDTH;

/// The affine map of the S-box (FIPS 197 section 5.1.1), row for output bit `i` in byte `7 - i`:
/// bits `i, i + 4, i + 5, i + 6, i + 7` modulo 8. Its constant is 0x63.
const SBOX_MATRIX: i64 = 0xF1E3_C78F_1F3E_7CF8_u64 as i64;
const SBOX_CONSTANT: i32 = 0x63;

/// Truth table of `a ^ b ^ c` for VPTERNLOG.
const XOR3: i32 = 0x96;

/// Sixteen keys, word by word. The key in dword `4 * lane + vector` of each word is the one that
/// [`KeyWords::round_keys`] puts into lane `lane` of vector `vector`.
#[derive(Clone, Copy)]
pub(crate) struct KeyWords {
    words: [V; 4],
    /// The XOR of the four words.
    sum: V,
}

/// The keys `start ^ tweak` of consecutive tweaks, as they are before the schedule.
pub(crate) struct TweakedKeys {
    start: [V; 4],
    tweak_low: V,
    tweak_high: V,
}

impl TweakedKeys {
    /// Keys for gates from the one whose garbler's tweak is `first_tweak`: vectors 0 and 1 hold
    /// the garbler's keys of gates 0..4 and 4..8, vectors 2 and 3 the evaluator's.
    #[inline]
    #[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
    pub(crate) fn new(start: Block, first_tweak: u64) -> TweakedKeys {
        let offsets = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
        let offsets = gate_offsets_to_tweaks(offsets);
        let bits = start.to_bits();
        let word = |i: u32| _mm512_set1_epi32((bits >> (32 * i)) as i32);
        let tweak_low = _mm512_add_epi32(_mm512_set1_epi32(first_tweak as i32), offsets);
        let tweak_high = _mm512_set1_epi32((first_tweak >> 32) as i32);
        TweakedKeys {
            start: [word(0), word(1), word(2), word(3)],
            tweak_low,
            tweak_high: carry_into(tweak_high, tweak_low, offsets),
        }
    }

    /// The sixteen keys of the next eight gates.
    #[inline]
    #[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
    pub(crate) fn next_keys(&mut self) -> KeyWords {
        let [w0, w1, w2, w3] = self.start;
        let (w0, w1) =
            (_mm512_xor_si512(w0, self.tweak_low), _mm512_xor_si512(w1, self.tweak_high));
        let sum = _mm512_ternarylogic_epi32::<XOR3>(w0, w1, _mm512_xor_si512(w2, w3));
        let keys = KeyWords { words: [w0, w1, w2, w3], sum };
        let step = _mm512_set1_epi32(KEYS as i32);
        self.tweak_low = _mm512_add_epi32(self.tweak_low, step);
        self.tweak_high = carry_into(self.tweak_high, self.tweak_low, step);
        keys
    }
}

impl KeyWords {
    /// The round keys that these words stand for, one in each lane: first those for `a`, in two
    /// vectors of four gates, then those for `b`.
    #[inline]
    #[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
    pub(crate) fn round_keys(self) -> [[V; 2]; 2] {
        let [w0, w1, w2, w3] = self.words;
        let (low01, high01) = (_mm512_unpacklo_epi32(w0, w1), _mm512_unpackhi_epi32(w0, w1));
        let (low23, high23) = (_mm512_unpacklo_epi32(w2, w3), _mm512_unpackhi_epi32(w2, w3));
        [
            [_mm512_unpacklo_epi64(low01, low23), _mm512_unpackhi_epi64(low01, low23)],
            [_mm512_unpacklo_epi64(high01, high23), _mm512_unpackhi_epi64(high01, high23)],
        ]
    }

    /// The words of the next round, whose constant is `rcon`.
    #[inline]
    #[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
    pub(crate) fn next_round(self, rcon: i32) -> KeyWords {
        let [w0, w1, w2, w3] = self.words;
        // RotWord moves byte 1 to byte 0: a rotation to the right of the little-endian word.
        let rotated = _mm512_ror_epi32::<8>(w3);
        let matrix = _mm512_set1_epi64(SBOX_MATRIX);
        let word = _mm512_gf2p8affineinv_epi64_epi8::<SBOX_CONSTANT>(rotated, matrix);
        let rcon = _mm512_set1_epi32(rcon);
        // By FIPS 197, w0' = w0 ^ word ^ rcon, w1' = w1 ^ w0', w2' = w2 ^ w1', w3' = w3 ^ w2'. Only
        // w3' is waited for by the next round, so it has its own short way, from
        // w0 ^ w1 ^ w2 ^ w3; this sum of the new words is w1 ^ w3 of the old ones.
        let next_sum = _mm512_xor_si512(w1, w3);
        let w3 = _mm512_ternarylogic_epi32::<XOR3>(self.sum, word, rcon);
        let w0 = _mm512_ternarylogic_epi32::<XOR3>(w0, word, rcon);
        let w1 = _mm512_xor_si512(w1, w0);
        let w2 = _mm512_xor_si512(w2, w1);
        KeyWords { words: [w0, w1, w2, w3], sum: next_sum }
    }
}

/// From `gate` (below 8) or `gate + 8` for the evaluator's half to `2 * gate` or `2 * gate + 1`.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn gate_offsets_to_tweaks(offsets: V) -> V {
    let gate = _mm512_and_si512(offsets, _mm512_set1_epi32(7));
    _mm512_add_epi32(_mm512_slli_epi32::<1>(gate), _mm512_srli_epi32::<3>(offsets))
}

/// `high + 1` where adding `added` made `low` wrap.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn carry_into(high: V, low: V, added: V) -> V {
    let wrapped = _mm512_cmplt_epu32_mask(low, added);
    _mm512_mask_add_epi32(high, wrapped, high, _mm512_set1_epi32(1))
}
