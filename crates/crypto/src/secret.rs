//! [`SecretBit`]: a secret bit that selects without a branch, and the marks that a test of constant
//! time needs ([`classify`], [`declassify`]).
//!
//! Compilers turn `x & -(bit as u64)` back into `if bit { x } else { 0 }` and then into a
//! conditional jump. So a [`SecretBit`] is a mask of 64 equal bits that went through an optimisation
//! barrier: the compiler does not know that it has only two values (decision 0030).
//!
//! Cost: one negation per bit; no instruction for the barrier on x86-64 and aarch64.
//! Invariants: a `SecretBit` has no `Debug`, no `==` and cannot be the condition of an `if`; it
//! becomes a `bool` only through [`SecretBit::declassify`], which states why it is public.
//! Not protected: what a secret `bool` did before it became a `SecretBit`.

use std::ops::{BitAnd, BitOr, BitXor, BitXorAssign, Not};

use zerocopy::{FromBytes, Immutable, IntoBytes};
use zeroize::Zeroize;

/// A secret bit, as a mask: all 64 bits are equal.
#[derive(Clone, Copy, Default, Zeroize)]
pub struct SecretBit(u64);

/// Hides from the compiler what is known of `mask`.
#[inline(always)]
fn barrier(mask: u64) -> u64 {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    {
        let mut mask = mask;
        // SAFETY: no instruction is executed; a register is said to change and does not.
        unsafe {
            std::arch::asm!(
                "/* {0} */", inout(reg) mask, options(pure, nomem, nostack, preserves_flags)
            );
        }
        mask
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    std::hint::black_box(mask)
}

impl SecretBit {
    /// A bit that everybody may know.
    #[inline(always)]
    pub const fn public(bit: bool) -> SecretBit {
        SecretBit((bit as u64).wrapping_neg())
    }

    /// The lowest bit of `word`.
    #[inline(always)]
    pub fn lowest(word: u64) -> SecretBit {
        SecretBit(barrier((word & 1).wrapping_neg()))
    }

    /// Bit `index` of a packed string, whose bit `i` is bit `i % 64` of word `i / 64`.
    #[inline(always)]
    pub fn of_packed(words: &[u64], index: usize) -> SecretBit {
        SecretBit::lowest(words[index / 64] >> (index % 64))
    }

    /// The carry or borrow of a sum or difference, such as `overflowing_add` gives.
    ///
    /// # Security
    /// Call it directly on the result: what happens to a `bool` before is up to the compiler.
    #[inline(always)]
    pub fn carry(carry: bool) -> SecretBit {
        SecretBit(barrier(u64::from(carry).wrapping_neg()))
    }

    /// Returns whether `word` is zero.
    #[inline(always)]
    pub fn is_zero(word: u64) -> SecretBit {
        // The highest bit of `word | -word` is set unless `word` is zero.
        !SecretBit::lowest((word | word.wrapping_neg()) >> 63)
    }

    /// Returns whether two numbers are equal.
    #[inline(always)]
    pub fn equal(a: u32, b: u32) -> SecretBit {
        // Only 0 - 1 is negative.
        SecretBit(barrier(((i64::from(a ^ b) - 1) >> 63) as u64))
    }

    /// 64 times the bit.
    #[inline(always)]
    pub const fn mask(self) -> u64 {
        self.0
    }

    /// 128 times the bit.
    #[inline(always)]
    pub const fn wide_mask(self) -> u128 {
        (self.0 as u128) << 64 | self.0 as u128
    }

    /// 0 or 1.
    #[inline(always)]
    pub const fn to_u64(self) -> u64 {
        self.0 & 1
    }

    /// `one` if the bit is 1, else `zero`.
    #[inline(always)]
    pub const fn select(self, zero: u64, one: u64) -> u64 {
        zero ^ (zero ^ one) & self.0
    }

    /// The bit as a condition, for the `reason` that makes it public; see [`declassify`].
    #[inline]
    pub fn declassify(self, reason: &'static str) -> bool {
        declassify_value(self.0, reason) != 0
    }
}

impl Not for SecretBit {
    type Output = SecretBit;

    #[inline(always)]
    fn not(self) -> SecretBit {
        SecretBit(!self.0)
    }
}

impl BitXor for SecretBit {
    type Output = SecretBit;

    #[inline(always)]
    fn bitxor(self, other: SecretBit) -> SecretBit {
        SecretBit(self.0 ^ other.0)
    }
}

impl BitXorAssign for SecretBit {
    #[inline(always)]
    fn bitxor_assign(&mut self, other: SecretBit) {
        self.0 ^= other.0;
    }
}

impl BitAnd for SecretBit {
    type Output = SecretBit;

    #[inline(always)]
    fn bitand(self, other: SecretBit) -> SecretBit {
        SecretBit(self.0 & other.0)
    }
}

impl BitOr for SecretBit {
    type Output = SecretBit;

    #[inline(always)]
    fn bitor(self, other: SecretBit) -> SecretBit {
        SecretBit(self.0 | other.0)
    }
}

/// States that `value` is public from here on, for a `reason` of one line.
///
/// Does nothing in an ordinary run. Under valgrind, the test of constant time (`scripts/constant-time`)
/// lets branches and addresses depend on it: each call is an exception to be reviewed.
#[inline]
pub fn declassify<T: IntoBytes + Immutable + ?Sized>(value: &T, _reason: &'static str) {
    memcheck::request(memcheck::MAKE_DEFINED, value.as_bytes());
}

/// As [`declassify`], for a value that may lie in a register, where a mark on memory would not reach it.
#[inline]
pub fn declassify_value<T: IntoBytes + FromBytes>(mut value: T, _reason: &'static str) -> T {
    // Lent as mutable, so that it is read from memory again.
    memcheck::request_mut(memcheck::MAKE_DEFINED, value.as_mut_bytes());
    value
}

/// The outcome of a comparison in constant time, for the `reason` that makes it public.
#[inline]
pub fn declassify_choice(choice: subtle::Choice, reason: &'static str) -> bool {
    declassify_value(choice.unwrap_u8(), reason) == 1
}

/// Marks `value` as secret for the test of constant time, which fails on any branch and any address
/// that depends on it. Does nothing in an ordinary run.
#[inline]
pub fn classify<T: IntoBytes + FromBytes + ?Sized>(value: &mut T) {
    memcheck::request_mut(memcheck::MAKE_UNDEFINED, value.as_mut_bytes());
}

/// The requests of valgrind's memcheck that a program may make of it.
mod memcheck {
    /// `VALGRIND_MAKE_MEM_UNDEFINED` of `memcheck.h`: `'M' << 24 | 'C' << 16 | 1`.
    pub(super) const MAKE_UNDEFINED: u64 = 0x4d43_0001;
    /// `VALGRIND_MAKE_MEM_DEFINED`.
    pub(super) const MAKE_DEFINED: u64 = 0x4d43_0002;

    /// As [`request_mut`], for bytes that the caller reads from memory anyway.
    #[inline]
    pub(super) fn request(request: u64, bytes: &[u8]) {
        request_at(request, bytes.as_ptr() as u64, bytes.len() as u64);
    }

    /// Makes a request about `bytes`; the instructions change nothing where there is no valgrind.
    #[inline]
    pub(super) fn request_mut(request: u64, bytes: &mut [u8]) {
        request_at(request, bytes.as_mut_ptr() as u64, bytes.len() as u64);
    }

    #[inline]
    fn request_at(request: u64, address: u64, len: u64) {
        #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
        {
            let arguments = [request, address, len, 0, 0, 0];
            // SAFETY: the rotations add up to 128 bits and `xchg` of a register with itself changes
            // nothing; only valgrind, which knows them (`valgrind.h`), reads `rax` and writes `rdx`.
            // It marks the bytes and does not change them.
            unsafe {
                std::arch::asm!(
                    "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51",
                    "xchg rbx, rbx",
                    in("rax") arguments.as_ptr(),
                    inout("rdx") 0u64 => _,
                    inout("rdi") 0u64 => _,
                    options(nostack)
                );
            }
        }
        #[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
        let _ = (request, address, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_bit_computes_like_a_bool() {
        let value = |bit: SecretBit| bit.mask() == u64::MAX;
        for a in [false, true] {
            let bit = SecretBit::lowest(u64::from(a) | 0xfe);
            assert!(bit.mask() == 0 || bit.mask() == u64::MAX, "all bits are equal");
            assert_eq!(value(bit), a);
            assert_eq!(value(SecretBit::public(a)), a);
            assert_eq!(value(SecretBit::carry(a)), a);
            assert_eq!(value(!bit), !a);
            assert_eq!(bit.to_u64(), u64::from(a));
            assert_eq!(bit.wide_mask(), if a { u128::MAX } else { 0 });
            assert_eq!(bit.select(5, 9), if a { 9 } else { 5 });
            assert_eq!(bit.declassify("a test"), a);
            for b in [false, true] {
                let other = SecretBit::public(b);
                assert_eq!(value(bit ^ other), a ^ b);
                assert_eq!(value(bit & other), a & b);
                assert_eq!(value(bit | other), a | b);
            }
        }
    }

    #[test]
    fn numbers_are_compared_over_their_whole_width() {
        for a in [0, 1, 2, 1 << 31, 1 << 63, u64::MAX] {
            assert_eq!(SecretBit::is_zero(a).to_u64(), u64::from(a == 0), "{a}");
        }
        for a in [0, 1, 2, 1 << 31, u32::MAX] {
            for b in [0, 1, 2, 1 << 31, u32::MAX] {
                assert_eq!(SecretBit::equal(a, b).to_u64(), u64::from(a == b), "{a} {b}");
            }
        }
    }

    #[test]
    fn bits_of_a_packed_string() {
        let words = [1 << 63, 0b10];
        for i in 0..128 {
            assert_eq!(SecretBit::of_packed(&words, i).to_u64(), u64::from(i == 63 || i == 65));
        }
    }

    #[test]
    fn marks_change_nothing() {
        let mut bytes = [1u8, 2, 3];
        classify(&mut bytes);
        declassify(&bytes, "a test");
        assert_eq!(bytes, [1, 2, 3]);
    }
}
