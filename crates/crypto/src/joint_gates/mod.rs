//! [`JointGates`]: the linear part of half gates that several parties garble together.
//!
//! Source: the formulas of `docs/protocols/bmr.md`, after Ben-Efraim, Lindell, Omri, CCS 2016, and
//! Zahur, Rosulek, Evans, EUROCRYPT 2015; the hashes are [`crate::CrHash::add_gates`] and
//! [`crate::CrHash::add_pairs`].
//!
//! Cost: each block is read once and written once; without AES, so that memory is the limit.
//! Invariants: constant time; every kernel gives the same blocks; all slices of a call are equally
//! long.

#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
use crate::InstructionSet;
use crate::{Block, Delta, Kernel};

/// The linear part of gates, on given instructions.
#[derive(Clone, Copy, Debug)]
pub struct JointGates(Kernel);

/// Calls `$function` of the kernel, or its portable version.
macro_rules! on {
    ($kernel:expr, $function:ident($($argument:expr),*)) => {
        match $kernel.variant() {
            // SAFETY: a `Kernel` exists only for a variant whose features this CPU has.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Vaes512 => unsafe { x86::vaes512::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Vaes256 => unsafe { x86::vaes256::$function($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::AesNi => unsafe { x86::aesni::$function($($argument),*) },
            _ => portable::$function($($argument),*),
        }
    };
}

impl JointGates {
    /// On the instructions that this process uses.
    pub fn selected() -> JointGates {
        JointGates(Kernel::selected())
    }

    /// On a given kernel.
    pub fn with_kernel(kernel: Kernel) -> JointGates {
        JointGates(kernel)
    }

    /// Both keys of wires: `zero` becomes `keys` with select bits 0, `one` the others.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn both_keys(self, keys: &[Block], offset: &Delta, [zero, one]: [&mut [Block]; 2]) {
        assert!(zero.len() == keys.len() && one.len() == keys.len(), "two keys a wire");
        on!(self.0, both_keys(keys, offset.block(), zero, one));
    }

    /// Adds to a party's own rows what it knows of them: with the mask bits in the select bits of
    /// the zero-keys `a` and `b`, `mask_b R` to the first row, `mask_a R ^ a_0` to the second.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn add_own(
        self,
        [a, b]: [&[Block]; 2],
        offset: &Delta,
        [first, second]: [&mut [Block]; 2],
    ) {
        let is_even = [b.len(), first.len(), second.len()].iter().all(|&len| len == a.len());
        assert!(is_even, "as many of everything as gates");
        on!(self.0, add_own(a, b, offset.block(), first, second));
    }

    /// Sets `out` to `keys` with the select bits of `public`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn with_public(self, keys: &[Block], public: &[Block], out: &mut [Block]) {
        assert!(keys.len() == out.len() && public.len() == out.len(), "a bit for each key");
        on!(self.0, with_public(keys, public, out));
    }

    /// Sets `out` to the active keys whose public values are the select bits of `public`, from
    /// `keys`, which are zero-keys but for their select bits; these stay.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn active(self, keys: &[Block], public: &[Block], offset: &Delta, out: &mut [Block]) {
        assert!(keys.len() == out.len() && public.len() == out.len(), "a bit for each key");
        on!(self.0, active(keys, public, offset.block(), out));
    }

    /// Makes active keys of the results of sums of hashes: with the public values in the select
    /// bits of the active keys `a` and `b`, adds `alpha A ^ beta (B ^ a) ^ C`, the rows being `A`,
    /// `B` and `C`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn combine(self, [a, b]: [&[Block]; 2], rows: [&[Block]; 3], sums: &mut [Block]) {
        let is_even = [a, b].iter().chain(&rows).all(|blocks| blocks.len() == sums.len());
        assert!(is_even, "as many of everything as gates");
        on!(self.0, combine(a, b, rows, sums));
    }
}

/// Portable version, block by block.
mod portable {
    use crate::Block;

    fn cleared(key: Block) -> Block {
        Block::from_bits(key.to_bits() & !1)
    }

    pub(super) fn both_keys(keys: &[Block], offset: Block, zero: &mut [Block], one: &mut [Block]) {
        for ((zero, one), &key) in zero.iter_mut().zip(one).zip(keys) {
            *zero = cleared(key);
            *one = *zero ^ offset;
        }
    }

    pub(super) fn add_own(
        a: &[Block],
        b: &[Block],
        offset: Block,
        first: &mut [Block],
        second: &mut [Block],
    ) {
        for ((first, second), (a, b)) in first.iter_mut().zip(second).zip(a.iter().zip(b)) {
            *first ^= offset.and_bit(b.select_bit());
            *second ^= offset.and_bit(a.select_bit()) ^ cleared(*a);
        }
    }

    pub(super) fn with_public(keys: &[Block], public: &[Block], out: &mut [Block]) {
        for (out, (key, public)) in out.iter_mut().zip(keys.iter().zip(public)) {
            *out = cleared(*key) ^ Block::from_bits(1).and_bit(public.select_bit());
        }
    }

    pub(super) fn active(keys: &[Block], public: &[Block], offset: Block, out: &mut [Block]) {
        let offset = cleared(offset);
        for (out, (key, public)) in out.iter_mut().zip(keys.iter().zip(public)) {
            *out = *key ^ offset.and_bit(public.select_bit());
        }
    }

    pub(super) fn combine(a: &[Block], b: &[Block], rows: [&[Block]; 3], sums: &mut [Block]) {
        let [first, second, third] = rows;
        for (k, sum) in sums.iter_mut().enumerate() {
            let known = first[k].and_bit(a[k].select_bit());
            *sum ^= known ^ (second[k] ^ a[k]).and_bit(b[k].select_bit()) ^ third[k];
        }
    }
}
