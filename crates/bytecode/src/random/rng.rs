//! [`SeededRng`]: a small seeded generator.

use crate::meaning::{Lane, mask_of};

/// A small generator, the same on every machine; not for secrets. SplitMix64 (Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014, figure 16).
#[derive(Clone, Debug)]
pub struct SeededRng(u64);

impl SeededRng {
    /// The generator of this seed.
    pub fn new(seed: u64) -> SeededRng {
        SeededRng(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A uniform integer of `width` bits.
    pub fn bits(&mut self, width: u16) -> Lane {
        self.any() >> (256 - usize::from(width))
    }

    /// 256 uniform bits.
    fn any(&mut self) -> Lane {
        Lane::from_limbs([(); 4].map(|()| self.next_u64()))
    }

    /// An integer below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of `choices`.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// An integer of `width` bits: often 0, 1, -1, the largest or the smallest, signed or unsigned,
    /// or a power of two, its negation, or a neighbour of one of these.
    pub fn lane(&mut self, width: u16) -> Lane {
        let mask = mask_of(width);
        let value = match self.below(16) {
            0 => Lane::ZERO,
            1 => Lane::ONE,
            2 => mask,
            3 => mask ^ (mask >> 1),
            4 => mask >> 1,
            5 => Lane::from(self.below(256)),
            6 | 7 => {
                let power = Lane::ONE << (self.below(u64::from(width)) as usize);
                let power = if self.one_in(3) { power.wrapping_neg() } else { power };
                power.wrapping_add(Lane::from(self.below(3))).wrapping_sub(Lane::ONE)
            }
            _ => self.any(),
        };
        value & mask
    }

    /// An integer from 1 to `max`, all magnitudes equally often.
    pub(super) fn magnitude(&mut self, max: u64) -> u64 {
        let bits = self.below(u64::from(64 - max.leading_zeros())) + 1;
        (self.next_u64() >> (64 - bits)).clamp(1, max)
    }

    /// A divisor of `n`, which is not 0.
    pub(super) fn divisor(&mut self, n: u64) -> u64 {
        let first = self.below(n) + 1;
        (1..=first).rev().find(|d| n.is_multiple_of(*d)).unwrap_or(1)
    }
}
