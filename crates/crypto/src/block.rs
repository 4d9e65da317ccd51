//! [`Block`]: 128 secret bits. Wire labels, OT outputs and seeds are all made of it.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
use zeroize::Zeroize;

use crate::SecretBit;

/// 128 bits, little-endian; bit 0 is the least significant bit of byte 0.
///
/// Has no `Debug` and no `==`: a block is nearly always secret. Tests compare [`Block::to_bits`].
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Zeroize)]
#[repr(C, align(16))]
pub struct Block(u128);

impl Block {
    /// The block of 128 zero bits.
    pub const ZERO: Block = Block(0);

    /// The block whose bit `i` is bit `i` of `bits`.
    #[inline]
    pub const fn from_bits(bits: u128) -> Block {
        Block(bits)
    }

    /// The inverse of [`Block::from_bits`].
    #[inline]
    pub const fn to_bits(self) -> u128 {
        self.0
    }

    /// Bit 0: for a wire label, its point-and-permute bit.
    #[inline(always)]
    pub fn select_bit(self) -> SecretBit {
        SecretBit::lowest(self.0 as u64)
    }

    /// Bit 0 as a number, to be packed with others.
    #[inline]
    pub const fn select_u64(self) -> u64 {
        self.0 as u64 & 1
    }

    /// The block with another bit 0.
    #[inline]
    pub const fn with_select_bit(self, bit: SecretBit) -> Block {
        Block(self.0 & !1 | bit.to_u64() as u128)
    }

    /// `self` if `bit`, else zero; without a branch.
    #[inline]
    pub const fn and_bit(self, bit: SecretBit) -> Block {
        Block(self.0 & bit.wide_mask())
    }
}

impl std::ops::BitXor for Block {
    type Output = Block;

    #[inline]
    fn bitxor(self, other: Block) -> Block {
        Block(self.0 ^ other.0)
    }
}

impl std::ops::BitXorAssign for Block {
    #[inline]
    fn bitxor_assign(&mut self, other: Block) {
        self.0 ^= other.0;
    }
}
