//! Four or eight key schedules on 128- or 256-bit registers: written once, made twice by a macro.
//!
//! A step of the schedule costs 7 instructions for four keys in each lane: a byte shuffle, an
//! AESENCLAST (SubBytes and the XOR with Rcon), and five XORs. Transposing the words into round
//! keys costs 8 more. With one key per lane ([`crate::x86::xmm`]) the same takes 28, of which 4
//! are AES instructions and 12 shuffles, against 1 and 9 here.

/// Defines `KeyWords` and `TweakedKeys` over the operations `crate::x86::$ops`.
macro_rules! key_words {
    ($ops:ident, $features:literal) => {
        use crate::Block;
        use crate::x86::$ops as ops;

        /// Keys in one [`KeyWords`]: four vectors.
        pub(crate) const KEYS: usize = 4 * ops::WIDTH;

        /// One key for each dword of a vector, word by word. The key in dword `4 * lane + vector`
        /// of each word is the one that [`KeyWords::round_keys`] puts into lane `lane` of vector
        /// `vector`.
        #[derive(Clone, Copy)]
        pub(crate) struct KeyWords {
            words: [ops::V; 4],
            /// The XOR of the four words.
            sum: ops::V,
        }

        /// The keys `start ^ tweak` of consecutive tweaks, as they are before the schedule.
        pub(crate) struct TweakedKeys {
            start: [ops::V; 4],
            tweak_low: ops::V,
            tweak_high: ops::V,
        }

        impl TweakedKeys {
            /// Keys for gates from the one whose garbler's tweak is `first_tweak`: vectors 0 and
            /// 1 hold the garbler's keys, vectors 2 and 3 the evaluator's of the same gates.
            #[inline]
            #[target_feature(enable = $features)]
            pub(crate) fn new(start: Block, first_tweak: u64) -> TweakedKeys {
                let bits = start.to_bits();
                let word = |i: u32| ops::splat_word((bits >> (32 * i)) as i32);
                let offsets = ops::words(|i| tweak_offset(i / 4, i % 4));
                let tweak_low = ops::add_words(ops::splat_word(first_tweak as i32), offsets);
                let tweak_high = ops::splat_word((first_tweak >> 32) as i32);
                TweakedKeys {
                    start: [word(0), word(1), word(2), word(3)],
                    tweak_low,
                    tweak_high: ops::carry_into(tweak_high, tweak_low, offsets),
                }
            }

            /// The keys of the next gates.
            #[inline]
            #[target_feature(enable = $features)]
            pub(crate) fn next_keys(&mut self) -> KeyWords {
                let [w0, w1, w2, w3] = self.start;
                let (w0, w1) = (ops::xor(w0, self.tweak_low), ops::xor(w1, self.tweak_high));
                let step = ops::splat_word(KEYS as i32);
                self.tweak_low = ops::add_words(self.tweak_low, step);
                self.tweak_high = ops::carry_into(self.tweak_high, self.tweak_low, step);
                KeyWords { words: [w0, w1, w2, w3], sum: ops::xor3(w0, w1, ops::xor(w2, w3)) }
            }
        }

        /// How far the tweak in this lane of this vector is from the first: lane `l` of vector 0
        /// is gate `l`, of vector 1 gate `WIDTH + l`; vectors 2 and 3 are the evaluator's halves.
        fn tweak_offset(lane: usize, vector: usize) -> i32 {
            (2 * (lane + ops::WIDTH * (vector % 2)) + vector / 2) as i32
        }

        impl KeyWords {
            /// The round keys that these words stand for, one in each lane: first those for `a`,
            /// in two vectors, then those for `b`.
            #[inline]
            #[target_feature(enable = $features)]
            pub(crate) fn round_keys(self) -> [[ops::V; 2]; 2] {
                let [w0, w1, w2, w3] = self.words;
                let [low01, high01] = ops::interleave_words(w0, w1);
                let [low23, high23] = ops::interleave_words(w2, w3);
                [ops::interleave_halves(low01, low23), ops::interleave_halves(high01, high23)]
            }

            /// The words of the next round, whose constant is `rcon`.
            #[inline]
            #[target_feature(enable = $features)]
            pub(crate) fn next_round(self, rcon: i32) -> KeyWords {
                let [w0, w1, w2, w3] = self.words;
                let word = ops::substitute_rotated_words(w3, ops::splat_word(rcon));
                // By FIPS 197, w0' = w0 ^ word, w1' = w1 ^ w0', w2' = w2 ^ w1', w3' = w3 ^ w2'.
                // Only w3' is waited for by the next round, so it has its own short way, from
                // w0 ^ w1 ^ w2 ^ w3; this sum of the new words is w1 ^ w3 of the old ones.
                let next_sum = ops::xor(w1, w3);
                let w3 = ops::xor(self.sum, word);
                let w0 = ops::xor(w0, word);
                let w1 = ops::xor(w1, w0);
                let w2 = ops::xor(w2, w1);
                KeyWords { words: [w0, w1, w2, w3], sum: next_sum }
            }
        }
    };
}

pub(in crate::x86::key_words) use key_words;
