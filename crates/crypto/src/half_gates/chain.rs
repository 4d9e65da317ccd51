//! A chain of dependent gates, a few lanes wide: written once, made for each width by a macro.
//!
//! Gate `i` is `x[i + 1] ^= a[i] AND x[i]`: `a` is known beforehand, the other input only when the
//! gate before is done. With the names of the paper's Figure 2, `b` for `x[i]` and `p` for a select
//! bit, the garbler's output is `H(a ^ p(a) delta) ^ p(a) p(b) delta ^ H(b ^ p(b) delta)`. So the
//! hashes of `a` and all key schedules are computed ahead, several gates at once. What is left
//! between two gates is one AES call, whose last round key takes all that is added, a choice
//! between the hashes of `b` and `b ^ delta`, and two instructions of `s`: on Zen 5, where AES has
//! a latency of 4 cycles and the others of 2, 46 cycles a row. Preparing overlaps with that only in
//! part, and adds a sixth to a chain of one lane.
//!
//! Invariant: what waits on the stack, round keys, is public. Hashes wait in `x` and in the rows,
//! which are all overwritten before the caller sees them.

/// Defines `garble` and `evaluate`: chains of up to `$row::WIDTH` lanes over the operations
/// `crate::x86::$row`, prepared in sets over `crate::x86::$ops`.
///
/// A macro for the reason given at [`super::in_lane`].
macro_rules! chain_kernels {
    ($ops:ident, $row:ident, $features:literal) => {
        use crate::Block;
        use crate::half_gates::many::{first_rcon, next_rcon};
        use crate::half_gates::{AndIndex, Delta, GarbledGate};
        use crate::x86::key_words::$ops::TweakedKeys;
        use crate::x86::{RCON, ROUND_KEYS, $ops as ops, $row as row};

        /// Gates that are prepared at once.
        const SET: usize = 2 * ops::WIDTH;

        /// The round keys of the hash of `b`, round by round, for each gate of a set.
        type RoundKeys = [[Block; SET]; ROUND_KEYS];

        /// Garbles a chain; lengths and indices were checked by the caller.
        #[target_feature(enable = $features)]
        pub(in crate::half_gates) fn garble<const LANES: usize>(
            start: Block,
            delta: &Delta,
            first_index: AndIndex,
            a: &[Block],
            x: &mut [Block],
            rows: &mut [u8],
        ) {
            crate::public([a.len(), x.len(), rows.len()]);
            let gates = SET / LANES * LANES;
            let (first, x) = x.split_at_mut(LANES);
            let mut label = row::load(first);
            let mut index = first_index;
            let mut keys = [[Block::ZERO; SET]; ROUND_KEYS];
            let sets = a.chunks(gates).zip(x.chunks_mut(gates));
            for ((a, x), rows) in sets.zip(rows.chunks_mut(gates * GarbledGate::BYTES)) {
                prepare_garbling(start, delta, index, a, x, rows, &mut keys);
                index = AndIndex(index.0 + a.len() as u64);
                let labels = a.as_chunks().0.iter().zip(x.as_chunks_mut().0);
                let rows = rows.chunks_exact_mut(LANES * GarbledGate::BYTES);
                for (i, ((a, x), rows)) in labels.zip(rows).enumerate() {
                    label = garble_row::<LANES>(&keys, i * LANES, delta, label, a, x, rows);
                }
            }
        }

        /// Evaluates a chain; lengths and indices were checked by the caller.
        #[target_feature(enable = $features)]
        pub(in crate::half_gates) fn evaluate<const LANES: usize>(
            start: Block,
            first_index: AndIndex,
            a: &[Block],
            x: &mut [Block],
            rows: &[u8],
        ) {
            crate::public([a.len(), x.len(), rows.len()]);
            let gates = SET / LANES * LANES;
            let (first, x) = x.split_at_mut(LANES);
            let mut label = row::load(first);
            let mut index = first_index;
            let mut keys = [[Block::ZERO; SET]; ROUND_KEYS];
            let sets = a.chunks(gates).zip(x.chunks_mut(gates));
            for ((a, x), rows) in sets.zip(rows.chunks(gates * GarbledGate::BYTES)) {
                prepare_evaluating(start, index, a, x, rows, &mut keys);
                index = AndIndex(index.0 + a.len() as u64);
                let labels = a.as_chunks().0.iter().zip(x.as_chunks_mut().0);
                let rows = rows.chunks_exact(LANES * GarbledGate::BYTES);
                for (i, ((a, x), rows)) in labels.zip(rows).enumerate() {
                    label = evaluate_row::<LANES>(&keys, i * LANES, label, a, x, rows);
                }
            }
        }

        /// The row of the chain whose second inputs are `b` and whose first gate is gate `at` of
        /// the set; `x` and the garbler's halves in `rows` are prepared. Returns the new labels.
        #[inline]
        #[target_feature(enable = $features)]
        fn garble_row<const LANES: usize>(
            keys: &RoundKeys,
            at: usize,
            delta: &Delta,
            b: row::V,
            a: &[Block; LANES],
            x: &mut [Block; LANES],
            rows: &mut [u8],
        ) -> row::V {
            let delta = row::splat(delta.block());
            let a = row::load(a);
            let (pa, pb) = (row::select_mask(a), row::select_mask(b));
            let (garbler_half, _) = row::load_rows(rows);
            let garbler_half = row::xor_if(garbler_half, pb, delta);
            let added = row::xor_if(row::load(x), pb, row::xor_if(row::zero(), pa, delta));

            let difference = row::sigma(delta);
            let key = row_key::<LANES>(&keys[0], at);
            let mut first = row::xor_sigma(key, b);
            let mut second = row::xor_sigma(row::xor(key, difference), b);
            for keys in &keys[1..10] {
                let key = row_key::<LANES>(keys, at);
                (first, second) = (row::aesenc(first, key), row::aesenc(second, key));
            }
            let last = row::xor(row_key::<LANES>(&keys[10], at), added);
            let last = row::xor_sigma(last, b);
            // The hashes XOR what was added, which the evaluator's half loses again.
            let hb0 = row::aesenclast(first, last);
            let hb1 = row::aesenclast(second, row::xor(last, difference));

            let label = row::choose(pb, hb1, hb0);
            row::store(x, label);
            row::store_rows(rows, garbler_half, row::xor3(hb0, hb1, a));
            label
        }

        /// The row of the chain whose active second inputs are `b`, as in [`garble_row`].
        #[inline]
        #[target_feature(enable = $features)]
        fn evaluate_row<const LANES: usize>(
            keys: &RoundKeys,
            at: usize,
            b: row::V,
            a: &[Block; LANES],
            x: &mut [Block; LANES],
            rows: &[u8],
        ) -> row::V {
            let (_, evaluator_half) = row::load_rows(rows);
            let added = row::xor(evaluator_half, row::load(a));
            let added = row::xor_if(row::load(x), row::select_mask(b), added);

            let mut state = row::xor_sigma(row_key::<LANES>(&keys[0], at), b);
            for keys in &keys[1..10] {
                state = row::aesenc(state, row_key::<LANES>(keys, at));
            }
            let last = row::xor(row_key::<LANES>(&keys[10], at), added);
            let label = row::aesenclast(state, row::xor_sigma(last, b));
            row::store(x, label);
            label
        }

        /// The round keys of the row that begins with gate `at`.
        #[inline]
        #[target_feature(enable = $features)]
        fn row_key<const LANES: usize>(keys: &[Block; SET], at: usize) -> row::V {
            row::load(&keys[at..at + LANES])
        }

        /// Adds `H(a ^ p(a) delta)` to `x`, puts `H(a) ^ H(a ^ delta)` into the garbler's halves
        /// of `rows`, and fills `keys`, for at most a set of gates.
        #[inline]
        #[target_feature(enable = $features)]
        fn prepare_garbling(
            start: Block,
            delta: &Delta,
            index: AndIndex,
            a: &[Block],
            x: &mut [Block],
            rows: &mut [u8],
            keys: &mut RoundKeys,
        ) {
            crate::public([a.len(), x.len(), rows.len()]);
            let difference = ops::sigma(ops::splat(delta.block()));
            let [low, high] =
                hash_known(start, index, a, keys, |input| [input, ops::xor(input, difference)]);
            let labels = a.chunks(ops::WIDTH).zip(x.chunks_mut(ops::WIDTH));
            let rows = rows.chunks_mut(ops::WIDTH * GarbledGate::BYTES);
            for (((a, x), rows), [ha0, ha1]) in labels.zip(rows).zip([low, high]) {
                let difference = ops::xor(ha0, ha1);
                let chosen = ops::xor_if(ha0, ops::select_mask(ops::load(a)), difference);
                ops::store(x, ops::xor(ops::load(x), chosen));
                ops::store_rows(rows, difference, ops::zero());
            }
        }

        /// Adds to `x` the garbler's half gates, `H(a) ^ p(a) T_G`, and fills `keys`, for at most a
        /// set of gates.
        #[inline]
        #[target_feature(enable = $features)]
        fn prepare_evaluating(
            start: Block,
            index: AndIndex,
            a: &[Block],
            x: &mut [Block],
            rows: &[u8],
            keys: &mut RoundKeys,
        ) {
            crate::public([a.len(), x.len(), rows.len()]);
            let hashes = hash_known(start, index, a, keys, |input| [input]);
            let labels = a.chunks(ops::WIDTH).zip(x.chunks_mut(ops::WIDTH));
            let rows = rows.chunks(ops::WIDTH * GarbledGate::BYTES);
            for (((a, x), rows), [hash]) in labels.zip(rows).zip(hashes) {
                let (garbler_half, _) = ops::load_rows(rows);
                let half_gate = ops::xor_if(hash, ops::select_mask(ops::load(a)), garbler_half);
                ops::store(x, ops::xor(ops::load(x), half_gate));
            }
        }

        /// The hashes of `inputs(s(a))` in two vectors of gates, under the garbler's tweaks; fills
        /// `keys` with the evaluator's.
        #[inline]
        #[target_feature(enable = $features)]
        fn hash_known<const N: usize>(
            start: Block,
            index: AndIndex,
            a: &[Block],
            keys: &mut RoundKeys,
            inputs: impl Fn(ops::V) -> [ops::V; N],
        ) -> [[ops::V; N]; 2] {
            let (low, high) = a.split_at(a.len().min(ops::WIDTH));
            let high = if high.is_empty() { ops::zero() } else { ops::load(high) };
            let inputs = [ops::load(low), high].map(|a| inputs(ops::sigma(a)));

            let mut words = TweakedKeys::new(start, index.tweaks().0).next_keys();
            let [first_keys, evaluator_keys] = words.round_keys();
            store_keys(&mut keys[0], evaluator_keys);
            let mut state = inputs;
            for (state, key) in state.iter_mut().zip(first_keys) {
                *state = state.map(|input| ops::xor(input, key));
            }
            let (mut rcon, mut round) = (first_rcon(), 1);
            loop {
                words = words.next_round(rcon);
                let [round_keys, evaluator_keys] = words.round_keys();
                store_keys(&mut keys[round], evaluator_keys);
                for (state, key) in state.iter_mut().zip(round_keys) {
                    *state = state.map(|state| ops::aesenc(state, key));
                }
                (rcon, round) = (next_rcon(rcon), round + 1);
                if rcon == RCON[9] {
                    break;
                }
            }
            let [last_keys, evaluator_keys] = words.next_round(RCON[9]).round_keys();
            store_keys(&mut keys[10], evaluator_keys);
            for (k, (state, key)) in state.iter_mut().zip(last_keys).enumerate() {
                for (state, input) in state.iter_mut().zip(inputs[k]) {
                    *state = ops::aesenclast(*state, ops::xor(key, input));
                }
            }
            state
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn store_keys(keys: &mut [Block; SET], [low, high]: [ops::V; 2]) {
            ops::store(&mut keys[..ops::WIDTH], low);
            ops::store(&mut keys[ops::WIDTH..], high);
        }
    };
}

pub(in crate::half_gates) use chain_kernels;
