//! What the tests share: an independent big-integer oracle, a seeded generator, and running a
//! circuit on integers in memory that is poisoned and exactly as large as promised.

#![allow(dead_code, reason = "each test file uses a part of this")]

use phineus_circuits::ClearAlgebra;

/// An integer modulo 2^512, little-endian words; negative numbers in two's complement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Big(pub [u64; 8]);

impl Big {
    pub const ZERO: Big = Big([0; 8]);

    pub fn from_u64(value: u64) -> Big {
        let mut words = [0; 8];
        words[0] = value;
        Big(words)
    }

    pub fn bit(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 == 1
    }

    pub fn with_bit(mut self, i: usize, value: bool) -> Big {
        self.0[i / 64] = self.0[i / 64] & !(1 << (i % 64)) | u64::from(value) << (i % 64);
        self
    }

    pub fn not(self) -> Big {
        Big(self.0.map(|word| !word))
    }

    pub fn add(self, other: Big) -> Big {
        let mut carry = 0u128;
        let mut out = Big::ZERO;
        for i in 0..8 {
            let sum = u128::from(self.0[i]) + u128::from(other.0[i]) + carry;
            out.0[i] = sum as u64;
            carry = sum >> 64;
        }
        out
    }

    pub fn neg(self) -> Big {
        self.not().add(Big::from_u64(1))
    }

    pub fn sub(self, other: Big) -> Big {
        self.add(other.neg())
    }

    pub fn mul(self, other: Big) -> Big {
        let mut out = Big::ZERO;
        for i in 0..8 {
            let mut carry = 0u128;
            for j in 0..8 - i {
                let sum = u128::from(self.0[i]) * u128::from(other.0[j])
                    + u128::from(out.0[i + j])
                    + carry;
                out.0[i + j] = sum as u64;
                carry = sum >> 64;
            }
        }
        out
    }

    pub fn shl(self, amount: usize) -> Big {
        let (words, bits) = (amount / 64, amount % 64);
        let word = |i: usize| if i < words { 0 } else { self.0[i - words] };
        let below = |i: usize| {
            if bits == 0 || i == 0 { 0 } else { word(i - 1) >> (64 - bits) }
        };
        Big(std::array::from_fn(|i| word(i) << bits | below(i)))
    }

    /// Zeros come in.
    pub fn shr(self, amount: usize) -> Big {
        let (words, bits) = (amount / 64, amount % 64);
        let word = |i: usize| self.0.get(i + words).copied().unwrap_or(0);
        let above = |i: usize| {
            if bits == 0 { 0 } else { word(i + 1) << (64 - bits) }
        };
        Big(std::array::from_fn(|i| word(i) >> bits | above(i)))
    }

    pub fn less(self, other: Big) -> bool {
        self.0.iter().rev().lt(other.0.iter().rev())
    }

    pub fn is_zero(self) -> bool {
        self == Big::ZERO
    }

    /// Quotient and remainder, bit by bit; the divisor is not zero.
    pub fn divrem(self, divisor: Big) -> (Big, Big) {
        let (mut quotient, mut remainder) = (Big::ZERO, Big::ZERO);
        let bits = (0..512).rev().find(|&i| self.bit(i)).map_or(0, |top| top + 1);
        for i in (0..bits).rev() {
            remainder = remainder.shl(1).with_bit(0, self.bit(i));
            if !remainder.less(divisor) {
                remainder = remainder.sub(divisor);
                quotient = quotient.with_bit(i, true);
            }
        }
        (quotient, remainder)
    }

    /// The low `width` bits.
    pub fn low(self, width: usize) -> Big {
        let mask = |i: usize| match width.saturating_sub(64 * i) {
            0 => 0,
            bits if bits >= 64 => u64::MAX,
            bits => (1 << bits) - 1,
        };
        Big(std::array::from_fn(|i| self.0[i] & mask(i)))
    }

    /// The low `width` bits, read as a signed number.
    pub fn signed(self, width: usize) -> Big {
        let low = self.low(width);
        if self.bit(width - 1) { low.add(Big::ZERO.not().shl(width)) } else { low }
    }

    pub fn is_negative(self) -> bool {
        self.bit(511)
    }

    pub fn ones(self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// SplitMix64: a seeded generator for test inputs.
pub struct TestRng(pub u64);

impl TestRng {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A value of `width` bits: uniform, or short, or with long runs, or extreme.
    pub fn value(&mut self, width: usize) -> Big {
        let uniform = Big(std::array::from_fn(|_| self.word())).low(width);
        let cut = self.word() as usize % (width + 1);
        match self.word() % 8 {
            0 => uniform.low(cut),
            1 => Big::from_u64(1).shl(cut).sub(Big::from_u64(1)).low(width),
            2 => Big::from_u64(1).shl(cut).low(width),
            3 => uniform.low(cut).not().low(width),
            4 => Big::ZERO.not().low(width),
            _ => uniform,
        }
    }
}

/// Lays values out bit-major.
pub fn to_wires(values: &[Big], width: usize) -> Vec<u8> {
    (0..width).flat_map(|i| values.iter().map(move |value| u8::from(value.bit(i)))).collect()
}

/// Reads bit-major values.
pub fn from_wires(wires: &[u8], lanes: usize) -> Vec<Big> {
    assert!(wires.iter().all(|&wire| wire <= 1), "every output wire was written");
    (0..lanes)
        .map(|j| {
            let rows = wires.chunks_exact(lanes).enumerate();
            rows.fold(Big::ZERO, |out, (i, row)| out.with_bit(i, row[j] == 1))
        })
        .collect()
}

/// Memory that no circuit may read before it has written it.
pub fn unwritten(wires: usize) -> Vec<u8> {
    vec![ClearAlgebra::UNWRITTEN; wires]
}
