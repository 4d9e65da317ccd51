//! Half gates on vectors whose lanes are gates: written once, made three times by a macro.
//!
//! A vector of `WIDTH` lanes holds one label, or one round key, of each of `WIDTH` gates. The
//! key schedule runs between the rounds and its round keys are never stored. The feed-forward of
//! the hash, `E(k, s(x)) ^ s(x)`, is folded into the last round key.

/// Defines `garble` and `evaluate` over the operations `crate::x86::$ops`.
///
/// A macro and not a generic function, because `#[target_feature]` must stand on every function
/// down to the instructions.
macro_rules! in_lane_kernels {
    ($ops:ident, $features:literal) => {
        use crate::Block;
        use crate::half_gates::{AndIndex, Delta, GarbledGate};
        use crate::x86::{RCON, $ops as ops};

        /// Garbles any number of gates; lengths and indices were checked by the caller.
        #[inline]
        #[target_feature(enable = $features)]
        pub(in crate::half_gates) fn garble(
            start: Block,
            delta: &Delta,
            first_index: AndIndex,
            a: &[Block],
            b: &[Block],
            out: &mut [Block],
            rows: &mut [u8],
        ) {
            crate::public([a.len(), b.len(), out.len(), rows.len()]);
            let delta = ops::splat(delta.block());
            let start = ops::splat(start);
            let mut tweaks = ops::counters(0, first_index.tweaks().0, 2);
            let labels = a.chunks(ops::WIDTH).zip(b.chunks(ops::WIDTH));
            let rows = rows.chunks_mut(ops::WIDTH * GarbledGate::BYTES);
            for (((a, b), out), rows) in labels.zip(out.chunks_mut(ops::WIDTH)).zip(rows) {
                garble_step(ops::xor(start, tweaks), delta, a, b, out, rows);
                tweaks = ops::add_low(tweaks, 2 * ops::WIDTH as u64);
            }
        }

        /// Evaluates any number of gates; lengths and indices were checked by the caller.
        #[inline]
        #[target_feature(enable = $features)]
        pub(in crate::half_gates) fn evaluate(
            start: Block,
            first_index: AndIndex,
            a: &[Block],
            b: &[Block],
            out: &mut [Block],
            rows: &[u8],
        ) {
            crate::public([a.len(), b.len(), out.len(), rows.len()]);
            let start = ops::splat(start);
            let mut tweaks = ops::counters(0, first_index.tweaks().0, 2);
            let labels = a.chunks(ops::WIDTH).zip(b.chunks(ops::WIDTH));
            let rows = rows.chunks(ops::WIDTH * GarbledGate::BYTES);
            for (((a, b), out), rows) in labels.zip(out.chunks_mut(ops::WIDTH)).zip(rows) {
                evaluate_step(ops::xor(start, tweaks), a, b, out, rows);
                tweaks = ops::add_low(tweaks, 2 * ops::WIDTH as u64);
            }
        }

        /// Garbles at most `WIDTH` gates; `key` is the hash key of their garbler's halves.
        #[inline]
        #[target_feature(enable = $features)]
        fn garble_step(
            key: ops::V,
            delta: ops::V,
            a: &[Block],
            b: &[Block],
            out: &mut [Block],
            rows: &mut [u8],
        ) {
            let (a0, b0) = (ops::load(a), ops::load(b));
            let (pa, pb) = (ops::select_mask(a0), ops::select_mask(b0));
            let [ha0, ha1, hb0, hb1] = hash_both(key, a0, b0, delta);

            let ha = ops::xor(ha0, ha1);
            let hb = ops::xor(hb0, hb1);
            let garbler_half = ops::xor_if(ha, pb, delta);
            let wg0 = ops::xor_if(ha0, pa, garbler_half);
            let we0 = ops::xor_if(hb0, pb, hb);
            ops::store(out, ops::xor(wg0, we0));
            ops::store_rows(rows, garbler_half, ops::xor(hb, a0));
        }

        /// Evaluates at most `WIDTH` gates; `key` is the hash key of their garbler's halves.
        #[inline]
        #[target_feature(enable = $features)]
        fn evaluate_step(key: ops::V, a: &[Block], b: &[Block], out: &mut [Block], rows: &[u8]) {
            let (a, b) = (ops::load(a), ops::load(b));
            let (garbler_half, evaluator_half) = ops::load_rows(rows);
            // What the rows add is known before the hashes are.
            let known = ops::xor_if(ops::zero(), ops::select_mask(a), garbler_half);
            let known = ops::xor_if(known, ops::select_mask(b), ops::xor(evaluator_half, a));
            let [ha, hb] = hash_active(key, a, b);
            ops::store(out, ops::xor3(ha, hb, known));
        }

        /// `H(a), H(a ^ delta)` under the garbler's tweaks, `H(b), H(b ^ delta)` under the others.
        #[inline]
        #[target_feature(enable = $features)]
        fn hash_both(key: ops::V, a0: ops::V, b0: ops::V, delta: ops::V) -> [ops::V; 4] {
            let difference = ops::sigma(delta);
            let (a0, b0) = (ops::sigma(a0), ops::sigma(b0));
            let (a1, b1) = (ops::xor(a0, difference), ops::xor(b0, difference));

            let (mut ka, mut kb) = (key, evaluator_key(key));
            let mut state =
                [ops::xor(a0, ka), ops::xor(a1, ka), ops::xor(b0, kb), ops::xor(b1, kb)];
            for &rcon in &RCON[..9] {
                ka = ops::next_round_key(ka, rcon);
                kb = ops::next_round_key(kb, rcon);
                state = [
                    ops::aesenc(state[0], ka),
                    ops::aesenc(state[1], ka),
                    ops::aesenc(state[2], kb),
                    ops::aesenc(state[3], kb),
                ];
            }
            ka = ops::next_round_key(ka, RCON[9]);
            kb = ops::next_round_key(kb, RCON[9]);
            [
                ops::aesenclast(state[0], ops::xor(ka, a0)),
                ops::aesenclast(state[1], ops::xor(ka, a1)),
                ops::aesenclast(state[2], ops::xor(kb, b0)),
                ops::aesenclast(state[3], ops::xor(kb, b1)),
            ]
        }

        /// `H(a)` under the garbler's tweaks and `H(b)` under the evaluator's.
        #[inline]
        #[target_feature(enable = $features)]
        fn hash_active(key: ops::V, a: ops::V, b: ops::V) -> [ops::V; 2] {
            let (a, b) = (ops::sigma(a), ops::sigma(b));
            let (mut ka, mut kb) = (key, evaluator_key(key));
            let mut state = [ops::xor(a, ka), ops::xor(b, kb)];
            for &rcon in &RCON[..9] {
                ka = ops::next_round_key(ka, rcon);
                kb = ops::next_round_key(kb, rcon);
                state = [ops::aesenc(state[0], ka), ops::aesenc(state[1], kb)];
            }
            ka = ops::next_round_key(ka, RCON[9]);
            kb = ops::next_round_key(kb, RCON[9]);
            [ops::aesenclast(state[0], ops::xor(ka, a)), ops::aesenclast(state[1], ops::xor(kb, b))]
        }

        /// The evaluator's tweak is the garbler's plus one, and the garbler's is even.
        #[inline]
        #[target_feature(enable = $features)]
        fn evaluator_key(key: ops::V) -> ops::V {
            ops::xor(key, ops::counters(0, 1, 0))
        }
    };
}

pub(in crate::half_gates) use in_lane_kernels;
