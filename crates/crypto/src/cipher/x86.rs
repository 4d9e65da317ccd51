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
            keystream::<false>(rounds, counter, bytes);
        }

        /// See [`crate::cipher::Cipher::xor_keystream`].
        #[target_feature(enable = $features)]
        pub(in crate::cipher) fn xor_keystream(
            rounds: &[Block; ROUND_KEYS],
            counter: u128,
            bytes: &mut [u8],
        ) {
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
