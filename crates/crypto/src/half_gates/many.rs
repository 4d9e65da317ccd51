//! Several gates at once: lanes are gates, two vectors of them in a set; key schedules by words.
//!
//! A set is two vectors of `a` and two of `b`, whose hash keys are one `KeyWords` of
//! [`crate::x86::key_words`]. Per round a set costs 15 instructions for the keys and 8 AES
//! instructions to garble, 4 to evaluate. Two sets in one step keep the execution units busy while
//! each waits for its S-box, where there are registers for them.
//!
//! The limit on 128-bit registers, a set being two gates: a round of a set has 9 AES instructions
//! to garble and 5 to evaluate, 9 shuffles and 5 XORs, so a gate has 45 or 25 AES and 45 shuffles
//! (a key in each lane takes 60 or 40 and 60). With three ports for both kinds that is at least
//! 30 or 23 cycles. Waiting decides: a schedule passes through a shuffle, an S-box and an XOR,
//! 7 or 8 cycles a round, so one set alone takes at least 35 to 40 cycles for a gate, two 18 to 20.
//! On 256-bit registers a set is four gates, and these figures are halved.

use crate::x86::RCON;

/// Defines `garble`, `evaluate` and `hashes_alone` over the operations `crate::x86::$ops`.
///
/// A macro for the reason given at [`super::in_lane`].
macro_rules! many_kernels {
    ($ops:ident, $features:literal) => {
        use crate::half_gates::many::{first_rcon, next_rcon};
        use crate::x86::RCON;
        use crate::x86::key_words::$ops::{KeyWords, TweakedKeys};
        use crate::x86::$ops::{
            V, WIDTH, aesenc, aesenclast, load, load_rows, select_mask, sigma, splat, store,
            store_rows, xor, xor_if, xor3, zero,
        };
        use crate::{AndIndex, Block, Delta, GarbledGate};

        /// Gates of one set.
        const SET: usize = 2 * WIDTH;
        /// Bytes of the rows of the gates in one vector.
        const ROWS: usize = WIDTH * GarbledGate::BYTES;

        /// For `a` and for `b`, two vectors of something.
        type Pairs<T> = [[T; 2]; 2];

        /// Garbles any number of gates, `SETS` sets in a step; the last step may be shorter.
        #[inline(never)]
        #[target_feature(enable = $features)]
        pub(in crate::half_gates) fn garble<const SETS: usize>(
            start: Block,
            delta: &Delta,
            first_index: AndIndex,
            a: &[Block],
            b: &[Block],
            out: &mut [Block],
            rows: &mut [u8],
        ) {
            crate::public([a.len(), b.len(), out.len(), rows.len()]);
            let delta = splat(delta.block());
            let mut keys = TweakedKeys::new(start, first_index.tweaks().0);
            let labels =
                a.chunks(SETS * SET).zip(b.chunks(SETS * SET)).zip(out.chunks_mut(SETS * SET));
            for (((a, b), out), rows) in labels.zip(rows.chunks_mut(SETS * 2 * ROWS)) {
                let labels = load_labels::<SETS>(a, b);
                let hashes = hash_both::<SETS, false>(
                    std::array::from_fn(|_| keys.next_keys()),
                    &labels,
                    delta,
                );

                let outputs = out.chunks_mut(WIDTH).zip(rows.chunks_mut(ROWS));
                for (vector, (out, rows)) in outputs.enumerate() {
                    let (set, v) = (vector / 2, vector % 2);
                    let [a0, b0] = [labels[set][0][v], labels[set][1][v]];
                    let [[ha0, ha1], [hb0, hb1]] = [hashes[set][0][v], hashes[set][1][v]];
                    let (pa, pb) = (select_mask(a0), select_mask(b0));
                    let (ha, hb) = (xor(ha0, ha1), xor(hb0, hb1));
                    let garbler_half = xor_if(ha, pb, delta);
                    let wg0 = xor_if(ha0, pa, garbler_half);
                    let we0 = xor_if(hb0, pb, hb);
                    store(out, xor(wg0, we0));
                    store_rows(rows, garbler_half, xor(hb, a0));
                }
            }
        }

        /// Evaluates any number of gates, in steps as [`garble`].
        #[inline(never)]
        #[target_feature(enable = $features)]
        pub(in crate::half_gates) fn evaluate<const SETS: usize>(
            start: Block,
            first_index: AndIndex,
            a: &[Block],
            b: &[Block],
            out: &mut [Block],
            rows: &[u8],
        ) {
            crate::public([a.len(), b.len(), out.len(), rows.len()]);
            let mut keys = TweakedKeys::new(start, first_index.tweaks().0);
            let labels =
                a.chunks(SETS * SET).zip(b.chunks(SETS * SET)).zip(out.chunks_mut(SETS * SET));
            for (((a, b), out), rows) in labels.zip(rows.chunks(SETS * 2 * ROWS)) {
                let labels = load_labels::<SETS>(a, b);
                let hashes =
                    hash_active::<SETS, false>(std::array::from_fn(|_| keys.next_keys()), &labels);

                let outputs = out.chunks_mut(WIDTH).zip(rows.chunks(ROWS));
                for (vector, (out, rows)) in outputs.enumerate() {
                    let (set, v) = (vector / 2, vector % 2);
                    let [a, b] = [labels[set][0][v], labels[set][1][v]];
                    let (garbler_half, evaluator_half) = load_rows(rows);
                    let known = xor_if(zero(), select_mask(a), garbler_half);
                    let known = xor_if(known, select_mask(b), xor(evaluator_half, a));
                    store(out, xor3(hashes[set][0][v], hashes[set][1][v], known));
                }
            }
        }

        /// The hashes of that many gates and nothing else; see `half_gates::hashes_alone`.
        #[target_feature(enable = $features)]
        pub(in crate::half_gates) fn hashes_alone<const SETS: usize, const GARBLING: bool>(
            start: Block,
            gates: usize,
        ) -> Block {
            crate::public([gates]);
            let label = splat(start);
            let labels = [[[label; 2]; 2]; SETS];
            let mut keys = TweakedKeys::new(start, 0);
            let mut sum = zero();
            for _ in 0..gates.div_ceil(labels.len() * SET) {
                let keys = std::array::from_fn(|_| keys.next_keys());
                if GARBLING {
                    let hashes = hash_both::<SETS, true>(keys, &labels, label);
                    for [first, second] in hashes.as_flattened().as_flattened() {
                        sum = xor3(sum, *first, *second);
                    }
                } else {
                    for [first, second] in hash_active::<SETS, true>(keys, &labels).as_flattened() {
                        sum = xor3(sum, *first, *second);
                    }
                }
            }
            let mut out = [Block::ZERO; WIDTH];
            store(&mut out, sum);
            out[0]
        }

        /// The labels in `a` and `b`, zeros where there are none.
        #[inline]
        #[target_feature(enable = $features)]
        fn load_labels<const SETS: usize>(a: &[Block], b: &[Block]) -> [Pairs<V>; SETS] {
            let mut labels = [[[zero(); 2]; 2]; SETS];
            for (vector, (a, b)) in a.chunks(WIDTH).zip(b.chunks(WIDTH)).enumerate() {
                labels[vector / 2][0][vector % 2] = load(a);
                labels[vector / 2][1][vector % 2] = load(b);
            }
            labels
        }

        /// `[H(x), H(x ^ delta)]` of every label: those of `a` under the garbler's keys, those of
        /// `b` under the evaluator's.
        ///
        /// `ALONE` gives [`hashes_alone`] a copy of its own: the compiler inlines a long function
        /// that has one caller but not one that has two, and then its vectors go through memory.
        #[inline]
        #[target_feature(enable = $features)]
        fn hash_both<const SETS: usize, const ALONE: bool>(
            mut keys: [KeyWords; SETS],
            labels: &[Pairs<V>; SETS],
            delta: V,
        ) -> [Pairs<[V; 2]>; SETS] {
            let difference = sigma(delta);
            let mut state = [[[[delta; 2]; 2]; 2]; SETS];
            for (set, state) in state.iter_mut().enumerate() {
                let first_keys = keys[set].round_keys();
                for (n, v) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let first = xor(sigma(labels[set][n][v]), first_keys[n][v]);
                    state[n][v] = [first, xor(first, difference)];
                }
            }
            let mut rcon = first_rcon();
            loop {
                for (keys, state) in keys.iter_mut().zip(&mut state) {
                    *keys = keys.next_round(rcon);
                    for (state, key) in
                        state.iter_mut().flatten().zip(keys.round_keys().as_flattened())
                    {
                        *state = [aesenc(state[0], *key), aesenc(state[1], *key)];
                    }
                }
                rcon = next_rcon(rcon);
                if rcon == RCON[9] {
                    break;
                }
            }
            for (set, state) in state.iter_mut().enumerate() {
                let last_keys = keys[set].next_round(RCON[9]).round_keys();
                for (n, v) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    // The feed-forward of the hash, folded into the last round key.
                    let last = xor(sigma(labels[set][n][v]), last_keys[n][v]);
                    let [first, second] = state[n][v];
                    state[n][v] =
                        [aesenclast(first, last), aesenclast(second, xor(last, difference))];
                }
            }
            state
        }

        /// `H(x)` of every label, under keys as in [`hash_both`].
        #[inline]
        #[target_feature(enable = $features)]
        fn hash_active<const SETS: usize, const ALONE: bool>(
            mut keys: [KeyWords; SETS],
            labels: &[Pairs<V>; SETS],
        ) -> [Pairs<V>; SETS] {
            let mut state = *labels;
            for (set, state) in state.iter_mut().enumerate() {
                for (state, key) in
                    state.iter_mut().flatten().zip(keys[set].round_keys().as_flattened())
                {
                    *state = xor(sigma(*state), *key);
                }
            }
            let mut rcon = first_rcon();
            loop {
                for (keys, state) in keys.iter_mut().zip(&mut state) {
                    *keys = keys.next_round(rcon);
                    for (state, key) in
                        state.iter_mut().flatten().zip(keys.round_keys().as_flattened())
                    {
                        *state = aesenc(*state, *key);
                    }
                }
                rcon = next_rcon(rcon);
                if rcon == RCON[9] {
                    break;
                }
            }
            for (set, state) in state.iter_mut().enumerate() {
                let last_keys = keys[set].next_round(RCON[9]).round_keys();
                for (n, v) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let last = xor(sigma(labels[set][n][v]), last_keys[n][v]);
                    state[n][v] = aesenclast(state[n][v], last);
                }
            }
            state
        }
    };
}

pub(in crate::half_gates) use many_kernels;

/// The first round constant, which the compiler must not know, so that the loop stays one.
///
/// Unrolled, it is ordered by register pressure: all key schedules first, then one state after
/// the other, which waits for every AES instruction and spills a hundred registers. (The loop
/// tests at its end, since a test before it makes paths that meet through memory.)
#[inline]
pub(in crate::half_gates) fn first_rcon() -> i32 {
    crate::public::unknown(RCON[0] as u64) as i32
}

/// The next round constant: the product with x in the field of AES.
#[inline]
pub(in crate::half_gates) fn next_rcon(rcon: i32) -> i32 {
    (rcon << 1) ^ ((rcon >> 7) * 0x11B)
}
