//! The cipher on 1, 2 or 4 blocks per instruction: written once, made three times by a macro.

use crate::Block;
use crate::x86::{RCON, ROUND_KEYS, xmm};

/// The key schedule of FIPS 197 section 5.2.
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(super) fn expand_key(key: Block) -> [Block; ROUND_KEYS] {
    let mut rounds = [key; ROUND_KEYS];
    let mut key = xmm::load(&[key]);
    for (round, rcon) in rounds[1..].chunks_mut(1).zip(RCON) {
        key = xmm::next_round_key(key, rcon);
        xmm::store(round, key);
    }
    rounds
}

/// Defines the operations of a cipher over the vectors of `crate::x86::$ops`.
macro_rules! cipher_kernels {
    ($ops:ident, $features:literal) => {
        use crate::Block;
        use crate::x86::{ROUND_KEYS, $ops as ops};

        /// Vectors in flight: two AES units with a latency of 4 cycles want 8.
        const UNROLL: usize = 8;
        const VECTOR_BYTES: usize = ops::WIDTH * size_of::<Block>();
        const STEP_BLOCKS: usize = UNROLL * ops::WIDTH;

        /// See [`crate::cipher::Cipher::fill_keystream`].
        #[target_feature(enable = $features)]
        pub(in crate::cipher) fn fill_keystream(
            rounds: &[Block; ROUND_KEYS],
            counter: u128,
            bytes: &mut [u8],
        ) {
            crate::public([bytes.len()]);
            keystream::<false>(rounds, counter, bytes);
        }

        /// See [`crate::cipher::Cipher::xor_keystream`].
        #[target_feature(enable = $features)]
        pub(in crate::cipher) fn xor_keystream(
            rounds: &[Block; ROUND_KEYS],
            counter: u128,
            bytes: &mut [u8],
        ) {
            crate::public([bytes.len()]);
            keystream::<true>(rounds, counter, bytes);
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn keystream<const XOR: bool>(
            rounds: &[Block; ROUND_KEYS],
            counter: u128,
            bytes: &mut [u8],
        ) {
            let keys = rounds.map(|key| ops::splat(key));
            let mut counter = ops::counters((counter >> 64) as u64, counter as u64, 1);
            let mut steps = bytes.chunks_exact_mut(UNROLL * VECTOR_BYTES);
            for step in &mut steps {
                let mut state = [counter; UNROLL];
                for (i, state) in state.iter_mut().enumerate() {
                    *state = ops::add_low(counter, (i * ops::WIDTH) as u64);
                }
                counter = ops::add_low(counter, STEP_BLOCKS as u64);
                let state = encrypt(&keys, state);
                for (vector, mut state) in step.chunks_exact_mut(VECTOR_BYTES).zip(state) {
                    if XOR {
                        state = ops::xor(state, ops::load_bytes(vector));
                    }
                    ops::store_bytes(vector, state);
                }
            }
            for vector in steps.into_remainder().chunks_mut(VECTOR_BYTES) {
                let [state] = encrypt(&keys, [counter]);
                let mut stream = [0; VECTOR_BYTES];
                ops::store_bytes(&mut stream, state);
                for (byte, mask) in vector.iter_mut().zip(stream) {
                    *byte = if XOR { *byte ^ mask } else { mask };
                }
                counter = ops::add_low(counter, ops::WIDTH as u64);
            }
        }

        /// See [`crate::cipher::Cipher::hash_tweaked`].
        #[target_feature(enable = $features)]
        pub(in crate::cipher) fn hash_tweaked(
            rounds: &[Block; ROUND_KEYS],
            first_tweak: u64,
            blocks: &mut [Block],
        ) {
            crate::public([blocks.len()]);
            let keys = rounds.map(|key| ops::splat(key));
            let mut tweak = ops::counters(0, first_tweak, 1);
            let mut steps = blocks.chunks_exact_mut(STEP_BLOCKS);
            for step in &mut steps {
                let mut state = [tweak; UNROLL];
                for (state, blocks) in state.iter_mut().zip(step.chunks_exact(ops::WIDTH)) {
                    *state = ops::load(blocks);
                }
                let outer = encrypt(&keys, state);
                for (i, state) in state.iter_mut().enumerate() {
                    *state = ops::xor(outer[i], ops::add_low(tweak, (i * ops::WIDTH) as u64));
                }
                let inner = encrypt(&keys, state);
                for (i, blocks) in step.chunks_exact_mut(ops::WIDTH).enumerate() {
                    ops::store(blocks, ops::xor(inner[i], outer[i]));
                }
                tweak = ops::add_low(tweak, STEP_BLOCKS as u64);
            }
            for blocks in steps.into_remainder().chunks_mut(ops::WIDTH) {
                let [outer] = encrypt(&keys, [ops::load(blocks)]);
                let [inner] = encrypt(&keys, [ops::xor(outer, tweak)]);
                ops::store(blocks, ops::xor(inner, outer));
                tweak = ops::add_low(tweak, ops::WIDTH as u64);
            }
        }

        /// See [`crate::cipher::Cipher::permute`].
        #[target_feature(enable = $features)]
        pub(in crate::cipher) fn permute(rounds: &[Block; ROUND_KEYS], blocks: &mut [Block]) {
            crate::public([blocks.len()]);
            let keys = rounds.map(|key| ops::splat(key));
            for step in blocks.chunks_mut(STEP_BLOCKS) {
                let mut state = [ops::zero(); UNROLL];
                for (state, blocks) in state.iter_mut().zip(step.chunks(ops::WIDTH)) {
                    *state = ops::load(blocks);
                }
                let state = encrypt(&keys, state);
                for (state, blocks) in state.into_iter().zip(step.chunks_mut(ops::WIDTH)) {
                    ops::store(blocks, state);
                }
            }
        }

        /// See [`crate::cipher::Cipher::add_pairs`].
        #[target_feature(enable = $features)]
        pub(in crate::cipher) fn add_pairs(
            rounds: &[Block; ROUND_KEYS],
            first_tweaks: [u64; 2],
            permuted: [&[Block]; 2],
            sums: &mut [Block],
        ) {
            crate::public([permuted[0].len(), permuted[1].len(), sums.len()]);
            const STEP: usize = UNROLL / 2 * ops::WIDTH;
            let keys = rounds.map(|key| ops::splat(key));
            let mut tweaks = first_tweaks.map(|tweak| ops::counters(0, tweak, 1));
            let whole = sums.len() / STEP * STEP;
            for at in (0..whole).step_by(STEP) {
                let permuted = permuted.map(|blocks| &blocks[at..at + STEP]);
                pairs::<UNROLL>(&keys, tweaks, permuted, &mut sums[at..at + STEP]);
                tweaks = tweaks.map(|tweak| ops::add_low(tweak, STEP as u64));
            }
            for at in (whole..sums.len()).step_by(ops::WIDTH) {
                let end = sums.len().min(at + ops::WIDTH);
                let permuted = permuted.map(|blocks| &blocks[at..end]);
                pairs::<2>(&keys, tweaks, permuted, &mut sums[at..end]);
                tweaks = tweaks.map(|tweak| ops::add_low(tweak, ops::WIDTH as u64));
            }
        }

        /// `N / 2` vectors of sums, of which the last may be short.
        #[inline]
        #[target_feature(enable = $features)]
        fn pairs<const N: usize>(
            keys: &[ops::V; ROUND_KEYS],
            tweaks: [ops::V; 2],
            permuted: [&[Block]; 2],
            sums: &mut [Block],
        ) {
            let mut outer = [ops::zero(); N];
            let mut state = outer;
            for i in 0..N {
                let at = i / 2 * ops::WIDTH;
                outer[i] = ops::load(&permuted[i % 2][at..]);
                state[i] = ops::xor(outer[i], ops::add_low(tweaks[i % 2], at as u64));
            }
            let inner = encrypt(keys, state);
            for i in (0..N).step_by(2) {
                let sums = &mut sums[i / 2 * ops::WIDTH..];
                let hash = ops::xor(inner[i], outer[i]);
                let sum = ops::xor3(ops::load(sums), inner[i + 1], outer[i + 1]);
                ops::store(sums, ops::xor(sum, hash));
            }
        }

        /// See [`crate::cipher::Cipher::add_gates`].
        #[target_feature(enable = $features)]
        pub(in crate::cipher) fn add_gates(
            rounds: &[Block; ROUND_KEYS],
            first_tweaks: [u64; 2],
            permuted: [&[Block]; 4],
            rows: [&mut [Block]; 3],
        ) {
            crate::public([
                permuted[0].len(),
                permuted[1].len(),
                permuted[2].len(),
                permuted[3].len(),
                rows[0].len(),
                rows[1].len(),
                rows[2].len(),
            ]);
            const STEP: usize = UNROLL / 4 * ops::WIDTH;
            let keys = rounds.map(|key| ops::splat(key));
            let mut tweaks = first_tweaks.map(|tweak| ops::counters(0, tweak, 1));
            let [first, second, third] = rows;
            let gates = first.len();
            let whole = gates / STEP * STEP;
            for at in (0..whole).step_by(STEP) {
                let range = at..at + STEP;
                let permuted = permuted.map(|blocks| &blocks[range.clone()]);
                let rows = [&mut first[range.clone()], &mut second[range.clone()]];
                gate_rows::<UNROLL>(&keys, tweaks, permuted, rows, &mut third[range]);
                tweaks = tweaks.map(|tweak| ops::add_low(tweak, STEP as u64));
            }
            for at in (whole..gates).step_by(ops::WIDTH) {
                let range = at..gates.min(at + ops::WIDTH);
                let permuted = permuted.map(|blocks| &blocks[range.clone()]);
                let rows = [&mut first[range.clone()], &mut second[range.clone()]];
                gate_rows::<4>(&keys, tweaks, permuted, rows, &mut third[range]);
                tweaks = tweaks.map(|tweak| ops::add_low(tweak, ops::WIDTH as u64));
            }
        }

        /// `N / 4` vectors of gates, of which the last may be short.
        #[inline]
        #[target_feature(enable = $features)]
        fn gate_rows<const N: usize>(
            keys: &[ops::V; ROUND_KEYS],
            tweaks: [ops::V; 2],
            permuted: [&[Block]; 4],
            halves: [&mut [Block]; 2],
            third: &mut [Block],
        ) {
            let mut outer = [ops::zero(); N];
            let mut state = outer;
            for i in 0..N {
                let at = i / 4 * ops::WIDTH;
                outer[i] = ops::load(&permuted[i % 4][at..]);
                state[i] = ops::xor(outer[i], ops::add_low(tweaks[i % 4 / 2], at as u64));
            }
            let mut hashes = encrypt(keys, state);
            for (hash, outer) in hashes.iter_mut().zip(outer) {
                *hash = ops::xor(*hash, outer);
            }
            let [first, second] = halves;
            for i in (0..N).step_by(4) {
                let at = i / 4 * ops::WIDTH;
                let sum = ops::xor3(ops::load(&first[at..]), hashes[i], hashes[i + 1]);
                ops::store(&mut first[at..], sum);
                let sum = ops::xor3(ops::load(&second[at..]), hashes[i + 2], hashes[i + 3]);
                ops::store(&mut second[at..], sum);
                let sum = ops::xor3(ops::load(&third[at..]), hashes[i], hashes[i + 2]);
                ops::store(&mut third[at..], sum);
            }
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn encrypt<const N: usize>(keys: &[ops::V; ROUND_KEYS], state: [ops::V; N]) -> [ops::V; N] {
            let mut state = state.map(|state| ops::xor(state, keys[0]));
            for key in &keys[1..ROUND_KEYS - 1] {
                state = state.map(|state| ops::aesenc(state, *key));
            }
            state.map(|state| ops::aesenclast(state, keys[ROUND_KEYS - 1]))
        }
    };
}

/// AES-NI.
pub(super) mod aesni {
    cipher_kernels!(xmm, "aes,ssse3,sse4.1");
}

/// VAES on 256-bit registers.
pub(super) mod vaes256 {
    cipher_kernels!(ymm, "vaes,avx2,aes");
}

/// VAES on 512-bit registers.
pub(super) mod vaes512 {
    cipher_kernels!(zmm, "vaes,avx512f,avx512bw,avx512vl,gfni,aes");
}
