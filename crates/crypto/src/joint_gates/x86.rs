//! On 1, 2 or 4 blocks per instruction: written once, made three times by a macro.

/// Defines the operations over the vectors of `crate::x86::$ops`.
macro_rules! joint_kernels {
    ($ops:ident, $features:literal) => {
        use crate::Block;
        use crate::x86::$ops::{WIDTH, load, select_mask, splat, store, xor, xor_if};

        /// See [`crate::JointGates::both_keys`].
        #[target_feature(enable = $features)]
        pub(in crate::joint_gates) fn both_keys(
            keys: &[Block],
            offset: Block,
            zero: &mut [Block],
            one: &mut [Block],
        ) {
            crate::public([keys.len(), zero.len(), one.len()]);
            let (offset, bit) = (splat(offset), splat(Block::from_bits(1)));
            let targets = zero.chunks_mut(WIDTH).zip(one.chunks_mut(WIDTH));
            for (keys, (zero, one)) in keys.chunks(WIDTH).zip(targets) {
                let keys = load(keys);
                let cleared = xor_if(keys, select_mask(keys), bit);
                store(zero, cleared);
                store(one, xor(cleared, offset));
            }
        }

        /// See [`crate::JointGates::add_own`].
        #[target_feature(enable = $features)]
        pub(in crate::joint_gates) fn add_own(
            a: &[Block],
            b: &[Block],
            offset: Block,
            first: &mut [Block],
            second: &mut [Block],
        ) {
            crate::public([a.len(), b.len(), first.len(), second.len()]);
            let (offset, bit) = (splat(offset), splat(Block::from_bits(1)));
            let operands = a.chunks(WIDTH).zip(b.chunks(WIDTH));
            let rows = first.chunks_mut(WIDTH).zip(second.chunks_mut(WIDTH));
            for ((a, b), (first, second)) in operands.zip(rows) {
                let (a, b) = (load(a), load(b));
                let sum = xor_if(load(first), select_mask(b), offset);
                store(first, sum);
                let known = xor_if(a, select_mask(a), xor(offset, bit));
                let sum = xor(load(second), known);
                store(second, sum);
            }
        }

        /// See [`crate::JointGates::with_public`].
        #[target_feature(enable = $features)]
        pub(in crate::joint_gates) fn with_public(
            keys: &[Block],
            public: &[Block],
            out: &mut [Block],
        ) {
            crate::public([keys.len(), public.len(), out.len()]);
            let bit = splat(Block::from_bits(1));
            let keys = keys.chunks(WIDTH).zip(public.chunks(WIDTH));
            for (out, (keys, public)) in out.chunks_mut(WIDTH).zip(keys) {
                let keys = load(keys);
                let differ = select_mask(xor(keys, load(public)));
                store(out, xor_if(keys, differ, bit));
            }
        }

        /// See [`crate::JointGates::active`].
        #[target_feature(enable = $features)]
        pub(in crate::joint_gates) fn active(
            keys: &[Block],
            public: &[Block],
            offset: Block,
            out: &mut [Block],
        ) {
            crate::public([keys.len(), public.len(), out.len()]);
            let offset = splat(Block::from_bits(offset.to_bits() & !1));
            let keys = keys.chunks(WIDTH).zip(public.chunks(WIDTH));
            for (out, (keys, public)) in out.chunks_mut(WIDTH).zip(keys) {
                store(out, xor_if(load(keys), select_mask(load(public)), offset));
            }
        }

        /// See [`crate::JointGates::combine`].
        #[target_feature(enable = $features)]
        pub(in crate::joint_gates) fn combine(
            a: &[Block],
            b: &[Block],
            [first, second, third]: [&[Block]; 3],
            sums: &mut [Block],
        ) {
            crate::public([a.len(), b.len(), first.len(), second.len(), third.len(), sums.len()]);
            let operands = a.chunks(WIDTH).zip(b.chunks(WIDTH));
            let halves = first.chunks(WIDTH).zip(second.chunks(WIDTH));
            let rows = halves.zip(third.chunks(WIDTH));
            for (sums, ((a, b), ((first, second), third))) in
                sums.chunks_mut(WIDTH).zip(operands.zip(rows))
            {
                let (a, b) = (load(a), load(b));
                let sum = xor(load(sums), load(third));
                let sum = xor_if(sum, select_mask(a), load(first));
                let sum = xor_if(sum, select_mask(b), xor(load(second), a));
                store(sums, sum);
            }
        }
    };
}

/// SSE.
pub(super) mod aesni {
    joint_kernels!(xmm, "aes,ssse3,sse4.1");
}

/// 256-bit registers.
pub(super) mod vaes256 {
    joint_kernels!(ymm, "vaes,avx2,aes");
}

/// 512-bit registers.
pub(super) mod vaes512 {
    joint_kernels!(zmm, "vaes,avx512f,avx512bw,avx512vl,gfni,aes");
}
