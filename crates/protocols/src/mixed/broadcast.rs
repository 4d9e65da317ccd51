//! [`Broadcast`]: how all parties learn the sums of their shares.
//!
//! Source: Braun et al., "MOTION" (ePrint 2020/1137), section 5.6. There one party adds all shares
//! up and sends the sums to all; here each party does that for its part of what a round opens, so
//! that all send and receive as much.
//!
//! Cost for `n` parties and `l` bytes: direct `n (n - 1) l` bytes in one round; star
//! `2 (n - 1) l` in two.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// How openings go to everybody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Broadcast {
    /// From everybody to everybody, in one round.
    #[default]
    Direct,
    /// To one party for each part and from it, in two rounds: with three parties or more in fewer
    /// bytes.
    Star,
}

/// Ring elements of one size, next to each other.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) bytes: usize,
    pub(super) count: usize,
}

impl Region {
    pub(super) fn length(self) -> usize {
        self.bytes * self.count
    }
}

/// Amount that a round opens: bytes of bits, then ring elements.
#[derive(Default)]
pub(super) struct OpenedSizes {
    pub(super) bit_bytes: usize,
    pub(super) regions: Vec<Region>,
}

impl OpenedSizes {
    /// All its bytes.
    pub(super) fn length(&self) -> usize {
        self.bit_bytes + self.regions.iter().map(|region| region.length()).sum::<usize>()
    }

    /// The bytes that `party` of so many sums: parts as long as whole elements allow.
    pub(super) fn part(&self, party: usize, parties: usize) -> Range<usize> {
        self.cut(party, parties)..self.cut(party + 1, parties)
    }

    fn cut(&self, number: usize, parties: usize) -> usize {
        let length = self.length();
        let target = length * number / parties;
        let mut start = self.bit_bytes;
        if target <= start {
            return target;
        }
        for region in &self.regions {
            if target < start + region.length() {
                return target - (target - start) % region.bytes;
            }
            start += region.length();
        }
        length
    }

    /// Adds the shares of bytes `part` to their sums.
    pub(super) fn add(&self, part: Range<usize>, sums: &mut [u8], shares: &[u8]) {
        let bits = part.len().min(self.bit_bytes.saturating_sub(part.start));
        let (sum, mut sums) = sums.split_at_mut(bits);
        let (share, mut shares) = shares.split_at(bits);
        sum.iter_mut().zip(share).for_each(|(sum, share)| *sum ^= share);
        let mut start = self.bit_bytes;
        for region in &self.regions {
            let own = start.max(part.start)..(start + region.length()).min(part.end);
            start += region.length();
            if own.is_empty() {
                continue;
            }
            let (sum, rest) = sums.split_at_mut(own.len());
            let (share, more) = shares.split_at(own.len());
            (sums, shares) = (rest, more);
            // All bits of the bytes, whatever the width: sums are not reduced.
            crate::shares::ring::add_assign(sum, share, 8 * region.bytes as u16);
        }
    }
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::SeededRng;

    use super::*;

    #[test]
    fn parts_are_even_and_whole_and_all() {
        let mut random = SeededRng::new(9);
        for _ in 0..500 {
            let regions = (0..random.below(6))
                .map(|_| Region { bytes: 1 << random.below(4), count: random.below(40) as usize });
            let regions: Vec<Region> = regions.collect();
            let opened = OpenedSizes { bit_bytes: random.below(50) as usize, regions };
            let parties = 2 + random.below(6) as usize;
            let length = opened.length();
            let mut sums: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
            let shares: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
            let mut whole = sums.clone();
            opened.add(0..length, &mut whole, &shares);
            let mut end = 0;
            for party in 0..parties {
                let part = opened.part(party, parties);
                assert_eq!(part.start, end, "parts follow one another");
                assert!(part.len() <= length / parties + 8, "parts are even");
                opened.add(part.clone(), &mut sums[part.clone()], &shares[part.clone()]);
                end = part.end;
            }
            assert_eq!(end, length);
            assert_eq!(sums, whole, "adding by parts is adding");
        }
    }
}
